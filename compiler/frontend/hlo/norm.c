// SPDX-License-Identifier: MIT
/*
 * batch-norm-inference, -training and -grad, as StableHLO's specification has them: a feature is
 * normalized over all other dimensions. Computed in fp32. Part of the HLO front end.
 */
#include <errno.h>

#include "operations.h"

struct norm {
	struct hlo_inst *in;
	struct ncc_build *bl;
	struct ncc_shape full,
		each; /* of the operand, and of one number for each feature, in fp32 */
	uint8_t feature;
	double n; /* elements of a feature */
};

static int init(struct norm *s, struct hlo_inst *in)
{
	const int64_t d = in->p->feature_index;
	int rc = hlo_no_tuples(in, in->nin);

	if (rc)
		return rc;
	s->in = in;
	s->bl = &in->b;
	s->full = in->in[0].op[0]->shape;
	if (!ncc_is_float(s->full.dtype))
		return hlo_fail(in, -ENOTSUP, "of %s is not supported", ncc_dtype_name(&s->full));
	if (d < 0 || d >= s->full.ndim)
		return hlo_fail(in, -EINVAL, "feature_index %lld of rank %u", (long long)d,
				s->full.ndim);
	s->feature = (uint8_t)d;
	s->full.dtype = NEURON_DT_FP32;
	s->each =
		(struct ncc_shape){ .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { s->full.dim[d] } };
	s->n = (double)(ncc_elems(&s->full) / s->full.dim[d]);
	for (unsigned int i = 1; i < in->nin; i++) {
		const bool grad = i == 4 && in->rule->value == hlo_norm_grad;
		const struct ncc_shape *x = &in->in[i].op[0]->shape;

		if (x->dtype != in->in[0].op[0]->shape.dtype ||
		    !ncc_same_dims(x, grad ? &s->full : &s->each))
			return hlo_fail(in, -EINVAL, "the shape or type of operand %u", i);
	}
	return 0;
}

static struct ncc_op *operand(struct norm *s, unsigned int i)
{
	return build_cast(s->bl, s->in->in[i].op[0], NEURON_DT_FP32);
}

/* A number of each feature for all its elements */
static struct ncc_op *wide(struct norm *s, struct ncc_op *x)
{
	return x ? build_spread(s->bl, &s->full, x, &s->feature) : NULL;
}

/* The sum of all elements of each feature */
static struct ncc_op *sum(struct norm *s, struct ncc_op *x)
{
	const struct ncc_shape scalar = { .dtype = NEURON_DT_FP32 };
	const uint32_t mask = ((1u << s->full.ndim) - 1) & ~(1u << s->feature);

	if (!x || s->full.ndim == 1)
		return x;
	x = build_reduce_from(s->bl, x, build_scalar(s->bl, &scalar, 0), NCC_ADD, mask);
	return !x || ncc_verify_op(x, s->bl->err) ? NULL : x;
}

static struct ncc_op *mean(struct norm *s, struct ncc_op *x)
{
	return build_number(s->bl, NCC_DIV, sum(s, x), s->n);
}

static struct ncc_op *pair(struct norm *s, enum ncc_kind kind, struct ncc_op *a, struct ncc_op *b)
{
	return a && b ? build_binary(s->bl, kind, a, b) : NULL;
}

/* The root of the variance and a little more, of each feature */
static struct ncc_op *deviation(struct norm *s, struct ncc_op *variance)
{
	struct ncc_op *x = build_number(s->bl, NCC_ADD, variance, s->in->p->epsilon);

	return x ? build_node(s->bl, NCC_SQRT, &s->each, x, NULL, NULL) : NULL;
}

static struct ncc_op *normalized(struct norm *s, struct ncc_op *average, struct ncc_op *variance)
{
	struct ncc_op *x = pair(s, NCC_SUB, operand(s, 0), wide(s, average));

	x = pair(s, NCC_DIV, x, wide(s, deviation(s, variance)));
	x = pair(s, NCC_MUL, wide(s, operand(s, 1)), x);
	return pair(s, NCC_ADD, x, wide(s, operand(s, 2)));
}

static int results(struct norm *s, struct ncc_op **x, unsigned int n, struct hlo_value *v)
{
	for (unsigned int i = 0; i < n; i++)
		x[i] = x[i] ? build_cast(s->bl, x[i], s->in->in[0].op[0]->shape.dtype) : NULL;
	return hlo_take_results(s->in, x, n, v);
}

int hlo_norm_inference(struct hlo_inst *in, struct hlo_value *v)
{
	struct norm s;
	struct ncc_op *x;
	int rc = init(&s, in);

	if (rc)
		return rc;
	x = normalized(&s, operand(&s, 3), operand(&s, 4));
	return results(&s, &x, 1, v);
}

int hlo_norm_training(struct hlo_inst *in, struct hlo_value *v)
{
	struct norm s;
	struct ncc_op *x[3], *centred;
	int rc = init(&s, in);

	if (rc)
		return rc;
	x[1] = mean(&s, operand(&s, 0));
	centred = pair(&s, NCC_SUB, operand(&s, 0), wide(&s, x[1]));
	x[2] = mean(&s, pair(&s, NCC_MUL, centred, centred));
	x[0] = normalized(&s, x[1], x[2]);
	return results(&s, x, 3, v);
}

/* Operands: the forward ones but the offset, mean, variance, and the gradient of the output */
int hlo_norm_grad(struct hlo_inst *in, struct hlo_value *v)
{
	struct norm s;
	struct ncc_op *x[3], *centred, *grad, *product, *root, *moved;
	int rc = init(&s, in);

	if (rc)
		return rc;
	grad = operand(&s, 4);
	centred = pair(&s, NCC_SUB, operand(&s, 0), wide(&s, operand(&s, 2)));
	root = deviation(&s, operand(&s, 3));
	product = sum(&s, pair(&s, NCC_MUL, grad, centred));
	x[1] = pair(&s, NCC_DIV, product, root);
	x[2] = sum(&s, grad);
	moved = pair(&s, NCC_MUL, wide(&s, product), centred);
	moved = pair(&s, NCC_DIV, moved,
		     wide(&s, build_number(s.bl, NCC_ADD, operand(&s, 3), in->p->epsilon)));
	x[0] = pair(&s, NCC_SUB, build_number(s.bl, NCC_MUL, grad, s.n), wide(&s, x[2]));
	x[0] = pair(&s, NCC_SUB, x[0], moved);
	root = build_number(s.bl, NCC_DIV, pair(&s, NCC_DIV, operand(&s, 1), root), s.n);
	x[0] = pair(&s, NCC_MUL, wide(&s, root), x[0]);
	return results(&s, x, 3, v);
}
