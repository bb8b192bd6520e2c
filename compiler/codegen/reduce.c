// SPDX-License-Identifier: MIT
/*
 * Reductions on POOL. The reduced dimensions are the inner ones of the source's access pattern, so
 * that no data move for them. A reduction over the partitions first brings its partial results into
 * one partition. Windows of one dimension are reductions whose source dimensions overlap
 * (passes/windows.c has split the others). Part of the code generator.
 */
#include "reduce.h"

#include <errno.h>
#include <string.h>

#include "buffer.h"
#include "emit.h"
#include "move.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

/* The reduced dimensions, innermost last */
struct inner {
	unsigned int n;
	int64_t dim[NCC_MAX_DIMS], stride[NCC_MAX_DIMS];
};

static void inner_add(struct inner *in, int64_t dim, int64_t stride)
{
	if (dim == 1)
		return;
	if (in->n && in->stride[in->n - 1] == stride * dim) {
		in->stride[in->n - 1] = stride;
		in->dim[in->n - 1] *= dim;
		return;
	}
	in->dim[in->n] = dim;
	in->stride[in->n++] = stride;
}

/*
 * Reduces src into dst, which has the same outer dimensions; the inner ones follow in src's
 * pattern.
 */
static int reduce_over(struct ncc_gen *g, uint8_t alu, const struct ncc_view *dst,
		       const struct ncc_view *src, const struct inner *in)
{
	const struct ncc_view *v[2] = { dst, src };
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_REDUCE,
				    .op0 = alu,
				    .reduce_dims = (uint8_t)in->n };
	int64_t inner = 1;
	struct walk w;

	for (unsigned int i = 0; i < in->n; i++) {
		inner *= in->dim[i];
		if (in->stride[i] <= INT16_MAX && in->stride[i] >= INT16_MIN)
			continue;
		g->no_room = true;
		return gen_fail(g, -EFBIG, "too large: reduced elements %lld apart",
				(long long)in->stride[i]);
	}

	if (in->n > NEURON_AP_DIMS || inner > 65535) {
		g->no_room = true;
		return gen_fail(g, -ENOTSUP, "reduces %lld elements in %u separate dimensions",
				(long long)inner, in->n);
	}

	walk_begin_chunks(&w, v, 2, in->n, WALK_MAX / inner > 0 ? WALK_MAX / inner : 1);
	while (walk_next(&w)) {
		int rc;

		insn.partitions = (uint8_t)w.partitions;
		insn.dst = w.ap[0];
		insn.src0 = w.ap[1];
		for (unsigned int k = 0; k + in->n < NEURON_AP_DIMS; k++) {
			insn.src0.step[k] = w.ap[1].step[k + in->n];
			insn.src0.num[k] = w.ap[1].num[k + in->n];
		}
		for (unsigned int i = 0; i < in->n; i++) {
			insn.src0.step[NEURON_AP_DIMS - in->n + i] = (int16_t)in->stride[i];
			insn.src0.num[NEURON_AP_DIMS - in->n + i] = (uint16_t)in->dim[i];
		}
		rc = gen_insn(g, NEURON_ENG_POOL, &insn);
		if (rc)
			return rc;
	}
	return 0;
}

int gen_reduce_init(struct ncc_gen *g, const struct plan_step *step, const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR, .op0 = step->alu };
	const struct ncc_view *v[2] = { dst, NULL };
	struct ncc_view init;
	struct walk w;

	if (step->form == PLAN_STEP_NONE)
		return 0;
	if (step->form == PLAN_STEP_CONSTANT) {
		insn.scalar0.f = (float)step->value;
		if (insn.op0 >= NEURON_ALU_AND)
			insn.scalar0.bits = (uint32_t)(int32_t)step->value;
	} else {
		struct ncc_view spread;
		int rc = gen_place(g, step->other, -1);

		if (rc)
			return rc;
		spread = step->other->gen->value->view;
		spread.ndim = dst->ndim;
		for (unsigned int d = 0; d < dst->ndim; d++) {
			spread.dim[d] = dst->dim[d];
			spread.stride[d] = 0;
		}
		rc = gen_fetch(g, &spread, dst->pdim, 0, &init);
		if (rc)
			return rc;
		v[1] = &init;
	}

	if (v[1])
		walk_begin(&w, v, 2, 0, WALK_MAX);
	else
		walk_begin_chunks(&w, v, 1, 0, WALK_MAX);
	while (walk_next(&w)) {
		int rc;

		insn.partitions = (uint8_t)w.partitions;
		insn.dst = insn.src0 = w.ap[0];
		if (v[1]) {
			insn.scalar0.kind = NEURON_SCALAR_PTR;
			insn.scalar0.dtype = w.ap[1].dtype;
			insn.scalar0.offset = w.ap[1].offset;
		}
		rc = gen_insn(g, NEURON_ENG_POOL, &insn);
		if (rc)
			return rc;
	}
	return 0;
}

/* Splits a fetched source into outer dimensions (a view like the result) and inner ones. */
static void split(const struct ncc_view *src, uint32_t mask, struct ncc_view *outer,
		  struct inner *in)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	memset(in, 0, sizeof(*in));
	for (unsigned int d = 0; d < src->ndim; d++) {
		if (mask >> d & 1)
			inner_add(in, src->dim[d], src->stride[d]);
		else
			map[n++] = (uint8_t)d;
	}
	if (!in->n) { /* only dimensions of 1 are reduced */
		in->n = 1;
		in->dim[0] = 1;
		in->stride[0] = 0;
	}
	*outer = view_permute(src, map, n);
}

int gen_reduce_part(struct ncc_gen *g, uint8_t alu, const struct ncc_view *dst,
		    const struct ncc_view *src, uint32_t mask)
{
	struct ncc_view outer;
	struct inner in;

	split(src, mask, &outer, &in);
	return reduce_over(g, alu, dst, &outer, &in);
}

int gen_reduce_combine(struct ncc_gen *g, uint8_t alu, const struct ncc_view *acc,
		       const struct ncc_view *part)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_TENSOR, .op0 = alu };
	const struct ncc_view *v[2] = { acc, part };
	struct walk w;
	int rc = 0;

	walk_begin_chunks(&w, v, 2, 0, WALK_MAX);
	while (!rc && walk_next(&w)) {
		insn.partitions = (uint8_t)w.partitions;
		insn.dst = insn.src0 = w.ap[0];
		insn.src1 = w.ap[1];
		rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	}
	return rc;
}

/* Reduces to a scalar: first within every partition, then across them in one. */
static int reduce_all(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	const struct ncc_view *x = &op->in[0]->gen->value->view;
	int pd = x->pdim >= 0 ? x->pdim : op->in[0]->pdim;
	struct ncc_view src, outer, part, one;
	struct ncc_shape s;
	struct inner in;
	int rc;

	if (pd < 0 || x->dim[pd] == 1) {
		rc = gen_fetch(g, x, -1, 0, &src);
		if (rc)
			return rc;
		split(&src, op->mask, &outer, &in);
		return reduce_over(g, op->plan->step.alu, dst, &outer, &in);
	}

	rc = gen_fetch(g, x, pd, 0, &src);
	if (rc)
		return rc;
	split(&src, op->mask & ~(1u << pd), &outer, &in);
	view_shape(&outer, &s);
	if (s.dtype == NEURON_DT_BF16 || s.dtype == NEURON_DT_FP16)
		s.dtype = NEURON_DT_FP32; /* rounded once, at the end */
	rc = gen_sbuf_view(g, &s, 0, &part);
	rc = rc ? rc : gen_temp(g, part.buf);
	rc = rc ? rc : reduce_over(g, op->plan->step.alu, &part, &outer, &in);
	rc = rc ? rc : gen_fetch(g, &part, -1, 0, &one);
	if (rc)
		return rc;
	split(&one, 1, &outer, &in);
	return reduce_over(g, op->plan->step.alu, dst, &outer, &in);
}

/* The operand's dimension that result dimension d is */
static int operand_dim(const struct ncc_op *op, int d)
{
	for (unsigned int i = 0; i < op->in[0]->shape.ndim; i++)
		if (!(op->mask >> i & 1) && d-- == 0)
			return (int)i;
	return -1;
}

int gen_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view src, outer;
	struct inner in;
	int rc;

	if (!op->shape.ndim) {
		rc = reduce_all(g, op, dst);
	} else {
		rc = gen_fetch_op(g, op->in[0], operand_dim(op, dst->pdim), 0, &src);
		if (rc)
			return rc;
		split(&src, op->mask, &outer, &in);
		rc = reduce_over(g, op->plan->step.alu, dst, &outer, &in);
	}
	return rc ? rc : gen_reduce_init(g, &op->plan->step, dst);
}

int gen_window_part(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct inner in = { 0 };
	struct ncc_view src;
	int rc = gen_fetch_op(g, op->in[0], dst->pdim, 0, &src);

	if (rc)
		return rc;
	for (unsigned int d = 0; d < dst->ndim; d++) {
		const struct ncc_window *w = &op->window[d];

		if (w->size == 1 && w->stride == 1)
			continue;
		if (w->size > 1)
			inner_add(&in, w->size, src.stride[d] * w->window_dilation);
		src = view_slice(&src, d, 0, dst->dim[d], w->stride);
	}
	if (!in.n) {
		in.n = 1;
		in.dim[0] = 1;
	}
	return reduce_over(g, op->plan->step.alu, dst, &src, &in);
}

/*
 * There is one windowed dimension without padding and base dilation: passes/windows.c sees to it.
 */
int gen_reduce_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int rc = gen_window_part(g, op, dst);

	return rc ? rc : gen_reduce_init(g, &op->plan->step, dst);
}
