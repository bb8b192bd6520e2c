// SPDX-License-Identifier: MIT
/* The types of elements */
#include "ir.h"
#include "neuron/isa/table.h"

#include <strings.h>

/* A type that operands can have; NULL: they cannot have this one */
static const struct neuron_isa_dtype *operand(uint8_t dtype)
{
	return dtype < NEURON_ISA_DTYPE_COUNT && neuron_isa_dtypes[dtype].size
		       ? &neuron_isa_dtypes[dtype]
		       : NULL;
}

static const struct ncc_float8 float8s[] = {
#define CHIPS(name, type, fraction, least, most)                                    \
	{                                                                           \
		name, NEURON_DT_##type, NEURON_DT_##type, 8, fraction, least, most, \
			NCC_FLOAT8_INFINITE                                         \
	}
/* the public types of tensors have no names for them */
#define OTHER(name, type, bits, fraction, least, most, end)                        \
	{                                                                          \
		name, NCC_DT_##type, NEURON_DT_UINT8, bits, fraction, least, most, \
			NCC_FLOAT8_##end                                           \
	}
	CHIPS("f8e3m4", FP8_E3, 4, -2, 15.5),
	CHIPS("f8e4m3", FP8_E4, 3, -6, 240),
	CHIPS("f8e5m2", FP8_E5, 2, -14, 57344),
	OTHER("f8e4m3fn", F8E4M3FN, 8, 3, -6, 448, NAN),
	OTHER("f8e4m3fnuz", F8E4M3FNUZ, 8, 3, -7, 240, UNSIGNED_ZERO),
	OTHER("f8e4m3b11fnuz", F8E4M3B11FNUZ, 8, 3, -10, 30, UNSIGNED_ZERO),
	OTHER("f8e5m2fnuz", F8E5M2FNUZ, 8, 2, -15, 57344, UNSIGNED_ZERO),
	OTHER("f8e8m0fnu", F8E8M0FNU, 8, 0, -127, 0x1p127f, POWERS),
	OTHER("f4e2m1fn", F4E2M1FN, 4, 1, 0, 6, FINITE),
};

const struct ncc_float8 *ncc_float8(uint8_t dtype)
{
	for (unsigned int i = 0; i < sizeof(float8s) / sizeof(float8s[0]); i++)
		if (float8s[i].dtype == dtype)
			return &float8s[i];
	return NULL;
}

const struct ncc_float8 *ncc_float8_named(const char *name)
{
	for (unsigned int i = 0; i < sizeof(float8s) / sizeof(float8s[0]); i++)
		if (!strcasecmp(float8s[i].name, name))
			return &float8s[i];
	return NULL;
}

bool ncc_is_float(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t ? !t->integer : ncc_float8(dtype) != NULL;
}

bool ncc_is_unsigned(uint8_t dtype)
{
	return dtype == NEURON_DT_UINT8 || dtype == NEURON_DT_UINT16 || dtype == NEURON_DT_UINT32;
}

unsigned int ncc_dtype_size(uint8_t dtype)
{
	const struct neuron_isa_dtype *t = operand(dtype);

	return t ? t->size : ncc_float8(dtype) ? 1 : 4;
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
	default:
		return ncc_float8(s->dtype) ? ncc_float8(s->dtype)->name : "?";
	}
}
