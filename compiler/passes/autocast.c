// SPDX-License-Identifier: MIT
/*
 * Casts to what the tensor engine takes. fp32 operands of products are cast (--auto-cast matmult,
 * the default, and all). With --auto-cast none they stay fp32 where the target multiplies it; else
 * they are split into three bf16 parts each, whose six largest products are summed: nearly what an
 * fp32 product would give. --auto-cast all also keeps every other fp32 value in the narrow type.
 */
#include <errno.h>
#include <string.h>

#include "pass.h"

static uint8_t cast_type(const struct ncc_pass *p)
{
	return p->opt->auto_cast_type ? p->opt->auto_cast_type : NEURON_DT_BF16;
}

static struct ncc_op *convert(struct ncc_pass *p, const struct ncc_op *like, struct ncc_op *x,
			      uint8_t dtype);

/* Makes pad(convert(x)) of convert(pad(x)): it takes half the room, and the pad's copy casts. */
static struct ncc_op *convert_pad(struct ncc_pass *p, const struct ncc_op *like, struct ncc_op *x,
				  const struct ncc_shape *shape)
{
	struct ncc_op *pad = pass_new(p, NCC_PAD, x, shape, NULL, x->in[1]);

	if (!pad)
		return NULL;
	ncc_copy_attrs(pad, x);
	pad->in[0] = convert(p, like, x->in[0], shape->dtype);
	pad->in[1] = convert(p, like, x->in[1], shape->dtype);
	return pad->in[0] && pad->in[1] ? pad : NULL;
}

static struct ncc_op *convert(struct ncc_pass *p, const struct ncc_op *like, struct ncc_op *x,
			      uint8_t dtype)
{
	struct ncc_shape s = x->shape;

	if (x->shape.dtype == dtype)
		return x;
	s.dtype = dtype;
	s.pred = false;
	if (x->kind == NCC_PAD && x->users <= 1)
		return convert_pad(p, like, x, &s);
	if (!x->cast || x->cast->shape.dtype != dtype)
		x->cast = pass_new(p, NCC_CONVERT, like, &s, x, NULL);
	return x->cast;
}

/* Splits x = part[0] + part[1] + part[2]; all but the last are exact in bf16. */
static int split(struct ncc_pass *p, const struct ncc_op *like, struct ncc_op *x,
		 struct ncc_op *part[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		struct ncc_op *back;

		part[i] = convert(p, like, x, NEURON_DT_BF16);
		if (!part[i] || i == 2)
			break;
		back = convert(p, like, part[i], NEURON_DT_FP32);
		x = back ? pass_new(p, NCC_SUB, like, &x->shape, x, back) : NULL;
		if (!x)
			return ncc_no_memory(p->err);
	}
	return part[2] ? 0 : ncc_no_memory(p->err);
}

static struct ncc_op *product(struct ncc_pass *p, const struct ncc_op *op, struct ncc_op *a,
			      struct ncc_op *b)
{
	struct ncc_op *r = pass_new(p, op->kind, op, &op->shape, a, b);

	if (!r)
		return NULL;
	ncc_copy_attrs(r, op);
	return r;
}

/* The smallest products are added first, so that the sum loses least. */
static int split_product(struct ncc_pass *p, struct ncc_op *op)
{
	static const uint8_t order[6][2] = { { 0, 2 }, { 1, 1 }, { 2, 0 },
					     { 0, 1 }, { 1, 0 }, { 0, 0 } };
	struct ncc_op *a[3] = { NULL }, *b[3] = { NULL }, *sum = NULL, *r;
	int rc = split(p, op, op->in[0], a);

	rc = rc ? rc : split(p, op, op->in[1], b);
	for (unsigned int i = 0; !rc && i < 6; i++) {
		r = product(p, op, a[order[i][0]], b[order[i][1]]);
		if (r && sum)
			r = pass_new(p, NCC_ADD, op, &op->shape, sum, r);
		if (!r)
			return ncc_no_memory(p->err);
		sum = r;
	}
	if (!rc)
		op->replaced = sum;
	return rc;
}

static bool pe_takes(const struct ncc_pass *p, uint8_t dtype)
{
	return ncc_target(p->opt)->pe_dtypes >> dtype & 1;
}

/* Is it an operand that is cast: of fp32, or of a type that is not multiplied at all? */
static bool is_cast(const struct ncc_pass *p, const struct ncc_op *x)
{
	return x->shape.dtype == NEURON_DT_FP32 || !pe_takes(p, x->shape.dtype);
}

/* Casts both operands to types that multiply each other */
static int cast_operands(struct ncc_pass *p, struct ncc_op *op)
{
	const bool none = p->opt->auto_cast == NCC_CAST_NONE && pe_takes(p, NEURON_DT_FP32);
	const uint8_t to = none ? NEURON_DT_FP32 : cast_type(p);
	const bool wide = to == NEURON_DT_FP32 || to == NEURON_DT_TF32;
	const bool any = is_cast(p, op->in[0]) || is_cast(p, op->in[1]);

	for (unsigned int i = 0; any && i < 2; i++) {
		/* the narrow floats multiply each other; the wide ones only themselves */
		if (!is_cast(p, op->in[i]) && !wide)
			continue;
		op->in[i] = convert(p, op, op->in[i], to);
		if (!op->in[i])
			return ncc_no_memory(p->err);
	}
	return 0;
}

static int cast_product(struct ncc_pass *p, struct ncc_op *op)
{
	uint8_t a = op->in[0]->shape.dtype, b = op->in[1]->shape.dtype;

	if (op->in[0]->shape.pred || op->in[1]->shape.pred || a == NEURON_DT_INT32 ||
	    a == NEURON_DT_INT16 || b == NEURON_DT_INT32 || b == NEURON_DT_INT16)
		return ncc_fail_op(p->err, -ENOTSUP, op,
				   "products of %s and %s are not supported (f32, bf16, f16, s8 "
				   "are)",
				   ncc_dtype_name(&op->in[0]->shape),
				   ncc_dtype_name(&op->in[1]->shape));
	if ((a == NEURON_DT_INT8) != (b == NEURON_DT_INT8))
		return ncc_fail_op(p->err, -ENOTSUP, op,
				   "products of an integer and a float are not supported");
	if (p->opt->auto_cast == NCC_CAST_NONE && !pe_takes(p, NEURON_DT_FP32) &&
	    a == NEURON_DT_FP32 && b == NEURON_DT_FP32)
		return split_product(p, op);
	return cast_operands(p, op);
}

/* Gives an operation that must stay exact its fp32 operands back, if they were narrowed. */
static int keep_types(struct ncc_pass *p, struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		if (op->in[i]->narrowed)
			op->in[i] = convert(p, op, op->in[i], NEURON_DT_FP32);
		if (!op->in[i])
			return ncc_no_memory(p->err);
	}
	return 0;
}

/* Every fp32 value but inputs and outputs becomes narrow */
static int cast_everything(struct ncc_pass *p)
{
	uint8_t t = cast_type(p);

	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		if (op->exact) {
			if (keep_types(p, op))
				return -ENOMEM;
			continue;
		}
		for (unsigned int i = 0; i < op->nin; i++) {
			struct ncc_op *in = op->in[i];

			if (in->shape.dtype == NEURON_DT_FP32) /* a parameter, a constant */
				op->in[i] = convert(p, op, in, t);
			if (!op->in[i])
				return ncc_no_memory(p->err);
		}
		if (op->shape.dtype == NEURON_DT_FP32 && op->kind != NCC_PARAM &&
		    op->kind != NCC_CONST) {
			op->shape.dtype = t;
			op->narrowed = true;
		}
	}
	return 0;
}

int pass_autocast(struct ncc_pass *p)
{
	struct ncc_shape was;

	for (struct ncc_op *op = p->m->first; op; op = op->next)
		op->cast = NULL;
	if (p->opt->auto_cast == NCC_CAST_ALL) {
		uint8_t *dtype = ncc_alloc(p->m, p->m->nouts + 1);
		int rc;

		for (unsigned int i = 0; dtype && i < p->m->nouts; i++)
			dtype[i] = p->m->outs[i]->shape.dtype;
		rc = dtype ? cast_everything(p) : ncc_no_memory(p->err);
		if (rc)
			return rc;
		for (unsigned int i = 0; i < p->m->nouts; i++) {
			was = p->m->outs[i]->shape;
			if (was.dtype == dtype[i])
				continue;
			p->m->outs[i] = convert(p, p->m->outs[i], p->m->outs[i], dtype[i]);
			if (!p->m->outs[i])
				return ncc_no_memory(p->err);
		}
	}

	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		int rc = op->kind == NCC_DOT || op->kind == NCC_CONV ? cast_product(p, op) : 0;

		if (rc)
			return rc;
	}
	return 0;
}
