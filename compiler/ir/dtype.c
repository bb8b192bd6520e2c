// SPDX-License-Identifier: MIT
/* The types of elements */
#include "ir.h"
#include "neuron/isa/table.h"

/* What operands of that type are; NULL: there are none */
static const struct neuron_isa_dtype *operand(uint8_t dtype)
{
	return dtype < NEURON_ISA_DTYPE_COUNT && neuron_isa_dtypes[dtype].size
		       ? &neuron_isa_dtypes[dtype]
		       : NULL;
}

bool ncc_is_float(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t && !t->integer;
}

bool ncc_is_unsigned(uint8_t dtype)
{
	return dtype == NEURON_DT_UINT8 || dtype == NEURON_DT_UINT16 || dtype == NEURON_DT_UINT32;
}

unsigned int ncc_dtype_size(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t ? t->size : 4;
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
	case NEURON_DT_TF32:
		return "tf32";
	case NEURON_DT_FP8_E3:
		return "f8e3m4";
	case NEURON_DT_FP8_E4:
		return "f8e4m3";
	case NEURON_DT_FP8_E5:
		return "f8e5m2";
	default:
		return "?";
	}
}
