// SPDX-License-Identifier: MIT
/* The types of elements */
#include "ir.h"

bool ncc_is_float(uint8_t dtype)
{
	return dtype == NEURON_DT_FP32 || dtype == NEURON_DT_BF16 || dtype == NEURON_DT_FP16;
}

bool ncc_is_unsigned(uint8_t dtype)
{
	return dtype == NEURON_DT_UINT8 || dtype == NEURON_DT_UINT16 || dtype == NEURON_DT_UINT32;
}

unsigned int ncc_dtype_size(uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_INT8:
	case NEURON_DT_UINT8:
		return 1;
	case NEURON_DT_INT16:
	case NEURON_DT_UINT16:
	case NEURON_DT_BF16:
	case NEURON_DT_FP16:
		return 2;
	default:
		return 4;
	}
}

const char *ncc_dtype_name(const struct ncc_shape *s)
{
	if (s->pred)
		return "pred";
	switch (s->dtype) {
	case NEURON_DT_INT8:
		return "s8";
	case NEURON_DT_INT16:
		return "s16";
	case NEURON_DT_INT32:
		return "s32";
	case NEURON_DT_UINT8:
		return "u8";
	case NEURON_DT_UINT16:
		return "u16";
	case NEURON_DT_UINT32:
		return "u32";
	case NEURON_DT_BF16:
		return "bf16";
	case NEURON_DT_FP16:
		return "f16";
	case NEURON_DT_FP32:
		return "f32";
	default:
		return "?";
	}
}
