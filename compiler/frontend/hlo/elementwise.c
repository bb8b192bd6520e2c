// SPDX-License-Identifier: MIT
/* Element-wise operations of HLO that the tensor IR lacks, and that are expanded */
#include <errno.h>

#include "operations.h"

static struct ncc_op *to_f32(struct hlo_inst *in, struct ncc_op *x)
{
	return build_cast(&in->b, x, NEURON_DT_FP32);
}

static struct ncc_op *from_f32(struct hlo_inst *in, struct ncc_op *x)
{
	return build_cast(&in->b, x, in->shape.dtype);
}

static int same_shapes(struct hlo_inst *in)
{
	for (unsigned int i = 0; i < in->nin; i++) {
		const struct ncc_shape *s = &in->in[i].op[0]->shape;

		if (!ncc_same_dims(s, &in->shape))
			return hlo_fail(in, -EINVAL,
					"the shape of operand %u differs from the result's", i);
		if (s->dtype != in->in[0].op[0]->shape.dtype)
			return hlo_fail(in, -EINVAL, "operands of two types");
	}
	return 0;
}

static bool is_whole(const struct ncc_shape *s)
{
	return !ncc_is_float(s->dtype) && !s->pred;
}

/* Checks that operands and result are integers of one type. */
static int whole_numbers(struct hlo_inst *in)
{
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	int rc = same_shapes(in);

	if (rc || (is_whole(&in->shape) && in->shape.dtype == s->dtype))
		return rc;
	return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(s));
}

int hlo_whole(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = whole_numbers(in);

	if (rc)
		return rc;
	*out = in->rule->whole(&in->b, in->in[0].op[0], in->in[1].op[0]);
	return hlo_done(in, *out);
}

int hlo_count_bits(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = whole_numbers(in);

	if (rc)
		return rc;
	*out = in->rule->unary(&in->b, in->in[0].op[0]);
	return hlo_done(in, *out);
}

int hlo_binary(struct hlo_inst *in, struct ncc_op **out)
{
	int rc;

	if (in->rule->whole && is_whole(&in->shape))
		return hlo_whole(in, out);
	if (!in->rule->binary)
		return hlo_plain(in, out);
	rc = same_shapes(in);
	if (rc)
		return rc;
	if (in->in[0].op[0]->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "the result's type is not the operands'");
	*out = from_f32(in, in->rule->binary(&in->b, to_f32(in, in->in[0].op[0]),
					     to_f32(in, in->in[1].op[0])));
	return hlo_done(in, *out);
}

/* Checks that the operand is a float and the result has its type. */
static int same_float(struct hlo_inst *in, int code, const char *what)
{
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	int rc = same_shapes(in);

	if (rc || (ncc_is_float(s->dtype) && s->dtype == in->shape.dtype))
		return rc;
	return hlo_fail(in, code, "of %s%s", ncc_dtype_name(s), what);
}

int hlo_unary(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = same_float(in, -ENOTSUP, " is not supported");

	if (rc)
		return rc;
	*out = from_f32(in, in->rule->unary(&in->b, to_f32(in, in->in[0].op[0])));
	return hlo_done(in, *out);
}

int hlo_is_finite(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in);

	if (rc)
		return rc;
	if (!ncc_is_float(x->shape.dtype) || !in->shape.pred)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	*out = expand_is_finite(&in->b, x);
	return hlo_done(in, *out);
}

/*
 * bitcast-convert to a type of another size: one of the two shapes has a last dimension that makes
 * up the difference.
 */
static int resize(struct hlo_inst *in, struct ncc_op **out)
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
	return hlo_done(in, *out);
}

int hlo_bitcast(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];

	if (hlo_is_small_bitcast(in))
		return hlo_small_bitcast(in, out);
	if (x->shape.pred != in->shape.pred)
		return hlo_fail(in, -ENOTSUP, "from %s to %s is not supported",
				ncc_dtype_name(&x->shape), ncc_dtype_name(&in->shape));
	if (ncc_dtype_size(x->shape.dtype) != ncc_dtype_size(in->shape.dtype))
		return resize(in, out);
	if (!ncc_same_dims(&x->shape, &in->shape))
		return hlo_fail(in, -EINVAL, "the shapes differ");
	*out = x->shape.pred ? x : build_bitcast(&in->b, x, in->shape.dtype);
	return hlo_done(in, *out);
}

int hlo_reduce_precision(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = same_float(in, -EINVAL, "");
	int e = in->p->exponent_bits, f = in->p->mantissa_bits;

	if (rc)
		return rc;
	if (e < 1 || f < 0)
		return hlo_fail(in, -EINVAL, "to %d bits of exponent and %d of fraction", e, f);
	*out = expand_reduce_precision(&in->b, in->in[0].op[0], e > 8 ? 8 : (unsigned int)e,
				       f > 23 ? 23 : (unsigned int)f);
	return hlo_done(in, *out);
}

/* real and imag of what is real already */
int hlo_real(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = same_float(in, -EINVAL, "");

	if (rc)
		return rc;
	*out = in->in[0].op[0];
	return hlo_done(in, *out);
}

int hlo_imag(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = same_float(in, -EINVAL, "");

	if (rc)
		return rc;
	*out = build_splat(&in->b, &in->shape, 0);
	return hlo_done(in, *out);
}
