// SPDX-License-Identifier: MIT
/* The types of elements */
#include "ir.h"
#include "neuron/isa/table.h"

/* A type that operands can have; NULL: they cannot have this one */
static const struct neuron_isa_dtype *operand(uint8_t dtype)
{
	return dtype < NEURON_ISA_DTYPE_COUNT && neuron_isa_dtypes[dtype].size
		       ? &neuron_isa_dtypes[dtype]
		       : NULL;
}

static const struct ncc_float8 float8s[] = {
	/* the public types of tensors have no name for it */
	{ NCC_DT_F8E4M3FN, NEURON_DT_UINT8, 3, -6, 448, false },
	{ NEURON_DT_FP8_E3, NEURON_DT_FP8_E3, 4, -2, 15.5, true },
	{ NEURON_DT_FP8_E4, NEURON_DT_FP8_E4, 3, -6, 240, true },
	{ NEURON_DT_FP8_E5, NEURON_DT_FP8_E5, 2, -14, 57344, true },
};

const struct ncc_float8 *ncc_float8(uint8_t dtype)
{
	for (unsigned int i = 0; i < sizeof(float8s) / sizeof(float8s[0]); i++)
		if (float8s[i].dtype == dtype)
			return &float8s[i];
	return NULL;
}

bool ncc_is_float(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t ? !t->integer : dtype == NCC_DT_F8E4M3FN;
}

bool ncc_is_unsigned(uint8_t dtype)
{
	return dtype == NEURON_DT_UINT8 || dtype == NEURON_DT_UINT16 || dtype == NEURON_DT_UINT32;
}

unsigned int ncc_dtype_size(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t ? t->size : dtype == NCC_DT_F8E4M3FN ? 1 : 4;
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
	case NCC_DT_F8E4M3FN:
		return "f8e4m3fn";
	default:
		return "?";
	}
}
