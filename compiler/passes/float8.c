// SPDX-License-Identifier: MIT
/*
 * Floats of 8 and 4 bits that the target has not: f8e4m3fn and others (dtype.c) on every one, all
 * of them on the first. Their values are kept in bf16, which has each of them; what is computed is
 * so in fp32, and rounded once; the model's user has their bytes. Products take them as they are:
 * bf16's are exact.
 */
#include <errno.h>

#include "pass.h"
#include "passes.h"
#include "ir/traits.h"

struct float8s {
	struct ncc_pass p;
	struct ncc_build bl;
	int64_t const_bytes;
	uint8_t *was; /* by id: the types that operations had before */
};

/* The format of a type that the target has not; NULL: it has it, or it is another type */
static const struct ncc_float8 *missing(const struct float8s *x, uint8_t dtype)
{
	const struct ncc_float8 *f = ncc_float8(dtype);
	const bool has = f && f->io_dtype == dtype && ncc_target(x->p.opt)->dtypes >> dtype & 1;

	return has ? NULL : f;
}

/* Makes a constant of bf16, in place */
static int constant(struct float8s *x, struct ncc_op *op)
{
	const int64_t n = ncc_elems(&op->shape);
	void *data = ncc_alloc_data(x->p.m, (size_t)n * 2);

	if (!data)
		return ncc_no_memory(x->p.err);
	for (int64_t i = 0; i < n; i++)
		ncc_set(NEURON_DT_BF16, data, i, ncc_get(op->shape.dtype, op->data, i));
	op->data = data;
	op->shape.dtype = NEURON_DT_BF16;
	return 0;
}

static struct ncc_op *parameter(struct float8s *x, struct ncc_op *op, const struct ncc_float8 *f)
{
	struct ncc_module *m = x->p.m;
	struct ncc_op *bytes = ncc_op_clone(m, op, 0);

	if (!bytes)
		return NULL;
	bytes->shape.dtype = NEURON_DT_UINT8;
	bytes->io_dtype = f->io_dtype;
	for (unsigned int i = 0; i < m->nparams; i++)
		if (m->params[i] == op)
			m->params[i] = bytes;
	return expand_float8_values(&x->bl, bytes, f);
}

static struct ncc_op *bitcast(struct float8s *x, const struct ncc_op *op,
			      const struct ncc_float8 *from, const struct ncc_float8 *to)
{
	struct ncc_op *bytes = op->in[0];

	bytes = from ? expand_float8_bytes(&x->bl, bytes, from) : bytes;
	bytes = build_bitcast(&x->bl, bytes, to ? NEURON_DT_UINT8 : op->shape.dtype);
	return to ? expand_float8_values(&x->bl, bytes, to) : bytes;
}

/* Has the format the negative, the magnitude and the sign of each of its numbers? */
static bool has_signs(const struct ncc_float8 *f)
{
	return f->end != NCC_FLOAT8_UNSIGNED_ZERO && f->end != NCC_FLOAT8_POWERS;
}

/* Is the result another number of the format than those of the operands and their relatives? */
static bool is_computed(const struct ncc_op *op, const struct ncc_float8 *to)
{
	switch (op->kind) {
	case NCC_NEG:
	case NCC_ABS:
	case NCC_SIGN:
		return !has_signs(to);
	case NCC_MAX:
	case NCC_MIN:
		return false;
	case NCC_REDUCE:
	case NCC_REDUCE_WINDOW:
	case NCC_COMBINE:
		return op->func == NCC_ADD || op->func == NCC_MUL;
	default:
		break;
	}
	switch (ncc_traits_of(op->kind)->class) {
	case NCC_CLASS_UNARY:
	case NCC_CLASS_BINARY:
	case NCC_CLASS_PRODUCT:
		return true;
	default:
		return false;
	}
}

/* Operations whose operands of 8-bit floats are multiplied as bf16 */
static bool is_product(const struct ncc_op *op)
{
	return op->kind == NCC_DOT || op->kind == NCC_CONV;
}

static struct ncc_op *computed(struct float8s *x, const struct ncc_op *op,
			       const struct ncc_float8 *to)
{
	struct ncc_op *r = ncc_op_clone(x->p.m, op, op->nin);

	for (unsigned int i = 0; r && i < op->nin; i++) {
		r->in[i] = op->in[i];
		if (ncc_is_float(op->in[i]->shape.dtype) && !is_product(op))
			r->in[i] = build_cast(&x->bl, op->in[i], NEURON_DT_FP32);
		if (!r->in[i])
			return NULL;
	}
	if (!r)
		return NULL;
	r->shape.dtype = NEURON_DT_FP32;
	r->exact = true;
	return expand_float8(&x->bl, r, r, to, false);
}

/* Operands of types that the target has, beside those in bf16 now */
static int same_operands(struct float8s *x, struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		if (ncc_float8(op->in[i]->shape.dtype))
			op->in[i] = build_cast(&x->bl, op->in[i], NEURON_DT_BF16);
		if (!op->in[i])
			return ncc_no_memory(x->p.err);
	}
	return 0;
}

static struct ncc_op *rewrite(struct float8s *x, struct ncc_op *op, const struct ncc_float8 *from,
			      const struct ncc_float8 *to)
{
	struct ncc_op *wide;

	switch (op->kind) {
	case NCC_PARAM:
		return parameter(x, op, to);
	case NCC_BITCAST:
		return bitcast(x, op, from, to);
	case NCC_CONVERT:
		wide = to ? build_cast(&x->bl, op->in[0], NEURON_DT_FP32) : op->in[0];
		return to ? expand_float8(&x->bl, wide, wide, to, false)
			  : build_cast(&x->bl, wide, op->shape.dtype);
	default:
		return computed(x, op, to);
	}
}

static int one(struct float8s *x, struct ncc_op *op)
{
	const struct ncc_float8 *to = missing(x, op->shape.dtype), *from = NULL;
	int rc = 0;

	x->was[op->id] = op->shape.dtype;
	for (unsigned int i = 0; i < op->nin; i++) {
		const struct ncc_float8 *f = missing(x, x->was[op->in[i]->id]);

		from = f ? f : from;
		while (op->in[i]->replaced)
			op->in[i] = op->in[i]->replaced;
	}
	if (!from && !to)
		return 0;
	if (op->kind == NCC_CUSTOM || op->kind == NCC_KERNEL || op->kind == NCC_HOST_CALL ||
	    op->kind == NCC_HOST_RESULT)
		return ncc_fail_op(
			x->p.err, -ENOTSUP, op, "%s take and give no %s",
			op->kind == NCC_CUSTOM	 ? "custom operators"
			: op->kind == NCC_KERNEL ? "kernels"
						 : "calls of the host",
			to ? ncc_dtype_name(&op->shape)
			   : ncc_dtype_name(&(struct ncc_shape){ .dtype = from->dtype }));

	x->bl.name = op->name;
	x->bl.kind = ncc_kind_name(op->kind);
	x->bl.where = op->where;
	if (to && op->kind == NCC_CONST)
		return constant(x, op);
	if (is_product(op))
		rc = same_operands(x, op);
	if (rc)
		return rc;
	if (op->kind == NCC_PARAM || op->kind == NCC_BITCAST || op->kind == NCC_CONVERT ||
	    (to && is_computed(op, to))) {
		op->replaced = rewrite(x, op, from, to);
		return op->replaced ? 0 : ncc_no_memory(x->p.err);
	}
	if (to)
		op->shape.dtype = NEURON_DT_BF16;
	return 0;
}

/* The outputs' bytes, and the types that the model's user has them as */
static int give_bytes(struct float8s *x)
{
	struct ncc_module *m = x->p.m;
	uint8_t *dtype = m->out_dtype ? m->out_dtype : ncc_alloc(m, m->nouts + 1);

	if (!dtype)
		return ncc_no_memory(x->p.err);
	for (unsigned int i = 0; i < m->nouts; i++) {
		struct ncc_op *out = m->outs[i];
		const struct ncc_float8 *f = missing(x, x->was[out->id]);

		if (f || !dtype[i])
			dtype[i] = f ? f->io_dtype : x->was[out->id];
		if (!f)
			continue;
		while (out->replaced)
			out = out->replaced;
		x->bl.name = out->name;
		x->bl.kind = ncc_kind_name(out->kind);
		x->bl.where = out->where;
		m->outs[i] = expand_float8_bytes(&x->bl, out, f);
		if (!m->outs[i])
			return ncc_no_memory(x->p.err);
	}
	m->out_dtype = dtype;
	return 0;
}

int ncc_widen_float8(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err)
{
	struct float8s x = { .p = { m, opt, err }, .bl = { .m = m, .err = err } };
	bool any = false;
	int rc = 0;

	for (const struct ncc_op *op = m->first; op; op = op->next)
		any = any || missing(&x, op->shape.dtype);
	if (!any)
		return 0;
	x.bl.const_bytes = &x.const_bytes;
	ncc_number(m);
	x.was = ncc_alloc(m, m->nops + 1);
	if (!x.was)
		return ncc_no_memory(err);
	for (struct ncc_op *op = m->first; op && !rc; op = op->next)
		rc = one(&x, op);
	rc = rc ? rc : give_bytes(&x);
	if (rc)
		return rc;
	ncc_sweep(m);
	return ncc_verify(m, err);
}
