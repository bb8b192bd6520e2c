// SPDX-License-Identifier: MIT
/*
 * Operations of HLO that the tensor IR does not have: the table from opcode to what makes them
 * (expand/math.c). Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "hlo.h"
#include "make.h"

typedef struct ncc_op *(*unary_fn)(struct ncc_build *bl, struct ncc_op *x);
typedef struct ncc_op *(*binary_fn)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);

static const struct {
	const char *opcode;
	unary_fn fn;
} unary[] = {
	{ "floor", expand_floor },
	{ "ceil", expand_ceil },
	{ "round-nearest-even", expand_round_even },
	{ "round-nearest-afz", expand_round_away },
	{ "cbrt", expand_cbrt },
	{ "log-plus-one", expand_log1p },
	{ "exponential-minus-one", expand_expm1 },
	{ "sine", expand_sin },
	{ "cosine", expand_cos },
	{ "tan", expand_tan },
};

static struct ncc_op *to_f32(struct hlo_inst *in, struct ncc_op *x)
{
	return build_cast(&in->b, x, NEURON_DT_FP32);
}

static struct ncc_op *from_f32(struct hlo_inst *in, struct ncc_op *x)
{
	return build_cast(&in->b, x, in->shape.dtype);
}

static int same_shapes(struct hlo_inst *in, unsigned int n)
{
	if (in->nin != n)
		return hlo_fail(in, -EINVAL, "%u operands, expected %u", in->nin, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct ncc_shape *s = &in->in[i].op[0]->shape;

		if (!ncc_same_dims(s, &in->shape))
			return hlo_fail(in, -EINVAL,
					"the shape of operand %u differs from the result's", i);
		if (s->dtype != in->in[0].op[0]->shape.dtype)
			return hlo_fail(in, -EINVAL, "operands of two types");
	}
	return 0;
}

static int import_unary(struct hlo_inst *in, unary_fn fn, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 1);

	if (rc)
		return rc;
	if (!ncc_is_float(x->shape.dtype) || x->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -ENOTSUP, "of %s is not supported", ncc_dtype_name(&x->shape));
	*out = from_f32(in, fn(&in->b, to_f32(in, x)));
	return 0;
}

static int import_binary(struct hlo_inst *in, binary_fn fn, struct ncc_op **out)
{
	int rc = same_shapes(in, 2);

	if (rc)
		return rc;
	if (in->in[0].op[0]->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "the result's type is not the operands'");
	*out = from_f32(in, fn(&in->b, to_f32(in, in->in[0].op[0]), to_f32(in, in->in[1].op[0])));
	return 0;
}

static int import_is_finite(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 1);

	if (rc)
		return rc;
	if (!ncc_is_float(x->shape.dtype) || !in->shape.pred)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	*out = expand_is_finite(&in->b, x);
	return 0;
}

static int import_shift_arithmetic(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 2);

	if (rc)
		return rc;
	if (ncc_is_float(in->shape.dtype) || in->shape.pred || in->shape.dtype != x->shape.dtype)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	*out = expand_shift_arithmetic(&in->b, x, in->in[1].op[0]);
	return 0;
}

static int import_integer(struct hlo_inst *in, unsigned int nin, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, nin);

	if (rc)
		return rc;
	if (ncc_is_float(in->shape.dtype) || in->shape.pred || in->shape.dtype != x->shape.dtype)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	if (!strcmp(in->p->opcode, "power"))
		*out = expand_power_whole(&in->b, x, in->in[1].op[0]);
	else if (nin == 2)
		*out = expand_rest_whole(&in->b, x, in->in[1].op[0]);
	else if (!strcmp(in->p->opcode, "popcnt"))
		*out = expand_popcount(&in->b, x);
	else
		*out = expand_leading_zeros(&in->b, x);
	return 0;
}

/* Of another size: one of the two shapes has a last dimension of as many as make an element */
static int import_resize(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	unsigned int from = ncc_dtype_size(x->shape.dtype), to = ncc_dtype_size(in->shape.dtype);
	bool split = from > to;
	struct ncc_shape large = split ? x->shape : in->shape, parts = split ? in->shape : x->shape;

	if (parts.ndim != large.ndim + 1 ||
	    parts.dim[large.ndim] != (split ? from / to : to / from))
		return hlo_fail(in, -EINVAL, "from %s to %s does not fit the shapes",
				ncc_dtype_name(&x->shape), ncc_dtype_name(&in->shape));
	parts.ndim--;
	if (!ncc_same_dims(&parts, &large))
		return hlo_fail(in, -EINVAL, "the shapes differ");
	*out = split ? expand_split_bits(&in->b, x, in->shape.dtype)
		     : expand_join_bits(&in->b, x, in->shape.dtype);
	return 0;
}

static int import_bitcast(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];

	if (in->nin != 1)
		return hlo_fail(in, -EINVAL, "%u operands, expected 1", in->nin);
	if (x->shape.pred != in->shape.pred)
		return hlo_fail(in, -ENOTSUP, "from %s to %s is not supported",
				ncc_dtype_name(&x->shape), ncc_dtype_name(&in->shape));
	if (ncc_dtype_size(x->shape.dtype) != ncc_dtype_size(in->shape.dtype))
		return import_resize(in, out);
	if (!ncc_same_dims(&x->shape, &in->shape))
		return hlo_fail(in, -EINVAL, "the shapes differ");
	*out = x->shape.pred ? x : build_bitcast(&in->b, x, in->shape.dtype);
	return 0;
}

static int import_precision(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = same_shapes(in, 1);
	int e = in->p->exponent_bits, f = in->p->mantissa_bits;

	if (rc)
		return rc;
	if (!ncc_is_float(in->shape.dtype) || in->in[0].op[0]->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&in->in[0].op[0]->shape));
	if (e < 1 || f < 0)
		return hlo_fail(in, -EINVAL, "to %d bits of exponent and %d of fraction", e, f);
	*out = expand_reduce_precision(&in->b, in->in[0].op[0], e > 8 ? 8 : (unsigned int)e,
				       f > 23 ? 23 : (unsigned int)f);
	return 0;
}

/* Of what is real already */
static int import_part(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 1);

	if (rc)
		return rc;
	if (!ncc_is_float(x->shape.dtype) || x->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	*out = in->p->opcode[0] == 'r' ? x : build_splat(&in->b, &x->shape, 0);
	return 0;
}

int hlo_expand(struct hlo_inst *in, struct ncc_op **out)
{
	const char *opcode = in->p->opcode;
	bool whole = !ncc_is_float(in->shape.dtype) && !in->shape.pred;
	int rc = 1;

	*out = NULL;
	if (!in->nin)
		return rc;
	for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); i++)
		if (!strcmp(unary[i].opcode, opcode))
			rc = import_unary(in, unary[i].fn, out);
	if (!strcmp(opcode, "is-finite"))
		rc = import_is_finite(in, out);
	else if (!strcmp(opcode, "shift-right-arithmetic"))
		rc = import_shift_arithmetic(in, out);
	else if (!strcmp(opcode, "remainder"))
		rc = whole ? import_integer(in, 2, out) : import_binary(in, expand_remainder, out);
	else if (!strcmp(opcode, "power") && whole)
		rc = import_integer(in, 2, out);
	else if (!strcmp(opcode, "atan2"))
		rc = import_binary(in, expand_atan2, out);
	else if (!strcmp(opcode, "popcnt") || !strcmp(opcode, "count-leading-zeros"))
		rc = import_integer(in, 1, out);
	else if (!strcmp(opcode, "bitcast-convert"))
		rc = import_bitcast(in, out);
	else if (!strcmp(opcode, "real") || !strcmp(opcode, "imag"))
		rc = import_part(in, out);
	else if (!strcmp(opcode, "reduce-precision"))
		rc = import_precision(in, out);
	if (!rc && !*out)
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	return rc;
}
