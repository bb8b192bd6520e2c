// SPDX-License-Identifier: MIT
/*
 * The attributes and types of VHLO, the versioned StableHLO of portable artifacts, in bytecode, by
 * their codes (StableHLO's VhloBytecode.cpp is the public record of those)
 */
#include <errno.h>

#include "bytecode.h"

#define WORDS 8

/* Enumerated values, by their numbers; NULL: there is none */
static const struct words {
	uint64_t code;
	const char *what, *word[WORDS];
} words[] = {
	/* clang-format off */
	{ 3, "a direction of comparison", { "EQ", "NE", "GE", "GT", "LE", "LT" } },
	{ 4, "a type of comparison", { "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED" } },
	{ 5, "a version of custom calls", { "UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "UNIFIED", "TYPED_FFI" } },
	{ 7, "a kind of Fourier transform", { "FFT", "IFFT", "RFFT", "IRFFT" } },
	{ 11, "a precision", { "DEFAULT", "HIGH", "HIGHEST" } },
	{ 12, "a generator of random numbers", { "DEFAULT", "THREE_FRY", "PHILOX" } },
	{ 13, "a distribution", { NULL, "UNIFORM", "NORMAL" } },
	{ 16, "a kind of transposition", { "INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT" } },
	{ 19, "an accuracy", { "DEFAULT", "HIGHEST", "TOLERANCE" } },
	/* clang-format on */
};

static const struct mlir_attr *word(struct cursor *c, const struct words *w)
{
	const uint64_t v = cursor_number(c);

	if (cursor_bad(c))
		return NULL;
	if (v < WORDS && w->word[v])
		return attr_of_text(c->r, MLIR_WORD, w->word[v]);
	reader_fail(c->r, -ENOTSUP, "%s that is not known (%llu)", w->what, (unsigned long long)v);
	return NULL;
}

static const struct mlir_attr *signed_number(struct cursor *c)
{
	return attr_of_int(c->r, MLIR_INTEGER, cursor_signed(c));
}

static const struct mlir_attr *output_operand_alias(struct cursor *c)
{
	static const char *const names[] = { "output_tuple_indices", "operand_index",
					     "operand_tuple_indices", NULL };
	const struct mlir_attr *out = attr_of_signed(c), *operand = signed_number(c);
	const struct mlir_attr *in = attr_of_signed(c), *v[] = { out, operand, in };

	return cursor_bad(c) ? NULL
			     : attr_of_fields(c->r, "stablehlo.output_operand_alias", names, v);
}

static const struct mlir_attr *f64(struct cursor *c)
{
	union {
		uint64_t bits;
		double real;
	} v = { .bits = cursor_integer(c, 64) };
	struct mlir_attr *a = new_attr(c->r, MLIR_FLOAT);

	if (a)
		a->real = v.real;
	return a;
}

static const struct mlir_attr *result_accuracy(struct cursor *c)
{
	static const char *const names[] = { "atol", "rtol", "ulps", "mode", NULL };
	const struct mlir_attr *atol = f64(c), *rtol = f64(c), *ulps = signed_number(c);
	const struct mlir_attr *v[] = { atol, rtol, ulps, cursor_attr(c) };

	return cursor_bad(c) ? NULL : attr_of_fields(c->r, "stablehlo.result_accuracy", names, v);
}

/* Attributes of several fields, of which nothing is asked but their kind: meshes and their axes */
static const struct mlir_attr *unknown(struct cursor *c, const char *kind)
{
	c->p = c->end;
	return attr_of_text(c->r, MLIR_UNKNOWN, kind);
}

const struct mlir_attr *vhlo_attr(struct cursor *c, uint64_t code)
{
	static const char *const later[] = { "sub_axis_info", "axis_ref", "replica_group_mesh_axes",
					     "mesh_axis", "mesh" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].code == code)
			return word(c, &words[i]);
	switch (code) {
	case 1:
		return attr_of_array(c);
	case 2:
		return attr_of_int(c->r, MLIR_BOOL, cursor_number(c) != 0);
	case 6:
		return attr_of_dictionary(c);
	case 8:
		return attr_of_float(c);
	case 9:
		return attr_of_integer(c);
	case 10:
		return output_operand_alias(c);
	case 14:
		return attr_of_string(c);
	case 15:
		return attr_of_dense(c);
	case 17:
		return attr_of_type(c);
	case 18:
		return attr_of_signed(c);
	case 20:
		return result_accuracy(c);
	case 21 ... 25:
		return unknown(c, later[code - 21]);
	default:
		reader_fail(c->r, -ENOTSUP, "an attribute of VHLO that is not known (code %llu)",
			    (unsigned long long)code);
		return NULL;
	}
}

/* Types that are their code alone */
static const char *const plain_types[] = {
	[0] = "i1",	     [2] = "bf16",
	[3] = "f16",	     [4] = "f32",
	[5] = "f64",	     [6] = "f8E4M3FN",
	[7] = "f8E5M2",	     [9] = "index",
	[10] = "i4",	     [11] = "i8",
	[12] = "i16",	     [13] = "i32",
	[14] = "i64",	     [15] = "ui4",
	[16] = "ui8",	     [17] = "ui16",
	[18] = "ui32",	     [19] = "ui64",
	[26] = "witness",    [27] = "f8E4M3FNUZ",
	[28] = "f8E5M2FNUZ", [29] = "f8E4M3B11FNUZ",
	[31] = "i2",	     [32] = "ui2",
	[34] = "tf32",	     [35] = "f8E4M3",
	[36] = "f8E3M4",     [37] = "f4E2M1FN",
	[38] = "f6E2M3FN",   [39] = "f6E3M2FN",
	[40] = "f8E8M0FNU",
};

/* Types that HLO has not, or that are not read; their fields are left out */
static const struct mlir_type *other(struct cursor *c, const char *name)
{
	c->p = c->end;
	return new_type(c->r, MLIR_OTHER, name);
}

static double real(struct cursor *c)
{
	const struct mlir_attr *a = f64(c);

	return a ? a->real : 0;
}

/* One scale and zero point, or lists of those along a dimension */
static const struct mlir_type *quantized(struct cursor *c, bool lists)
{
	const bool is_signed = cursor_number(c) & 1;
	struct mlir_quant q = { .axis = -1 };
	double *scale;
	int64_t *zero;

	q.storage = cursor_type(c);
	q.expressed = cursor_type(c);
	if (cursor_bad(c) || !q.storage || !q.expressed)
		return NULL;
	if (!is_signed && q.storage->name[0] == 'i')
		q.storage = type_of_number(c->r, quant_unsigned(q.storage->name));
	if (lists) {
		q.axis = (int64_t)cursor_number(c);
		q.least = cursor_signed(c);
		q.most = cursor_signed(c);
	}
	q.n = lists ? cursor_count(c) : 1;
	scale = reader_alloc(c->r, q.n + 1, sizeof(*scale));
	zero = reader_alloc(c->r, q.n + 1, sizeof(*zero));
	for (size_t i = 0; scale && i < q.n && !cursor_bad(c); i++)
		scale[i] = real(c);
	if (lists && !cursor_bad(c) && cursor_count(c) != q.n)
		reader_bad(c->r, c->p, "another number of zero points than of scales");
	for (size_t i = 0; zero && i < q.n && !cursor_bad(c); i++)
		zero[i] = cursor_signed(c);
	if (!lists) {
		q.least = cursor_signed(c);
		q.most = cursor_signed(c);
	}
	q.scale = scale;
	q.zero = zero;
	return cursor_bad(c) || !q.storage ? NULL : type_of_quant(c->r, &q, "!quant.uniform");
}

const struct mlir_type *vhlo_type(struct cursor *c, uint64_t code)
{
	const struct mlir_attr *encoding;

	if (code < sizeof(plain_types) / sizeof(plain_types[0]) && plain_types[code])
		return type_of_number(c->r, plain_types[code]);
	switch (code) {
	case 1:
		return type_of_complex(c);
	case 8:
		return type_of_list(c, MLIR_FUNCTION);
	case 20:
		return type_of_tensor(c, NULL);
	case 21:
		encoding = cursor_attr(c);
		return encoding ? type_of_tensor(c, encoding) : NULL;
	case 22:
		return new_type(c->r, MLIR_TOKEN, "token");
	case 23:
		return type_of_list(c, MLIR_TUPLE);
	case 24:
	case 30:
		return quantized(c, code == 30);
	case 25:
		return other(c, "a tensor of any rank");
	case 33:
		return new_type(c->r, MLIR_NONE, "none");
	case 41:
		return other(c, "a buffer");
	case 42:
		return other(c, "a future");
	default:
		reader_fail(c->r, -ENOTSUP, "a type of VHLO that is not known (code %llu)",
			    (unsigned long long)code);
		return NULL;
	}
}
