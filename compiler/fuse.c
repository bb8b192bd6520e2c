// SPDX-License-Identifier: MIT
/*
 * Fusion: one or two element-wise operations behind a product, whose other operand is a constant or
 * one number for each partition (a bias, a relu), are done by the very instruction that takes the
 * product out of PSUM. TENSOR_SCALAR keeps fp32 between the two, so not a bit changes. Part of the
 * code generator.
 */
#include "gen.h"

static const uint8_t alu_of[NCC_KINDS] = {
	[NCC_ADD] = NEURON_ALU_ADD, [NCC_SUB] = NEURON_ALU_SUB, [NCC_MUL] = NEURON_ALU_MULT,
	[NCC_MAX] = NEURON_ALU_MAX, [NCC_MIN] = NEURON_ALU_MIN,
};

/* The product that x is, or ends the fused operations of; NULL: x is neither */
static struct ncc_op *product_of(struct ncc_op *x)
{
	if (x->fused)
		return x->ntail ? NULL : x->fused;
	return x->kind == NCC_DOT || (x->kind == NCC_CONV && x->conv.groups == 1) ? x : NULL;
}

/* A constant, or the same along every dimension but the one along the partitions? */
static bool is_scalar(const struct ncc_op *op, int pdim)
{
	double v;

	if (ncc_scalar_value(op, &v))
		return true;
	for (unsigned int i = 0; op->kind == NCC_BROADCAST && i < op->in[0]->shape.ndim; i++)
		if (op->in[0]->shape.dim[i] > 1 && op->map[i] != pdim)
			return false;
	return op->kind == NCC_BROADCAST;
}

static void fuse(struct ncc_op *op)
{
	if (!alu_of[op->kind] || op->shape.dtype != NEURON_DT_FP32)
		return;
	for (unsigned int k = 0; k < 2; k++) {
		struct ncc_op *x = op->in[k], *p = product_of(x);

		if (!p || x->users != 1 || x->write_dtype || p->ntail == NCC_MAX_TAIL ||
		    p->shape.dtype != NEURON_DT_FP32 || op->pdim != p->pdim || op->in[1 - k] == x ||
		    !is_scalar(op->in[1 - k], op->pdim))
			continue;
		op->fused = p;
		p->tail[p->ntail++] = op;
		return;
	}
}

void gen_find_fusions(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		op->fused = NULL;
		op->ntail = 0;
	}
	for (struct ncc_op *op = m->first; op; op = op->next)
		fuse(op);
}

const struct ncc_op *gen_last_of(const struct ncc_op *product)
{
	return product->ntail ? product->tail[product->ntail - 1] : product;
}

int gen_epilogue_begin(struct ncc_gen *g, const struct ncc_op *product)
{
	const struct ncc_op *x = product;

	g->ntail = 0;
	for (unsigned int i = 0; i < product->ntail; i++) {
		struct ncc_op *op = product->tail[i], *other;
		struct ncc_tail *t = &g->tail[i];
		int rc = 0;

		t->reverse = op->in[0] != x;
		t->alu = alu_of[op->kind];
		other = op->in[t->reverse ? 0 : 1];
		t->constant = ncc_scalar_value(other, &t->value);
		if (!t->constant)
			rc = gen_fetch_op(g, other, op->pdim, 0, &t->view);
		if (rc)
			return rc;
		x = op;
	}
	g->ntail = product->ntail;
	return 0;
}

/* The scalar of the partitions that dst is: one number for each, whatever the other dimensions */
static struct ncc_view beside(const struct ncc_tail *t, const struct ncc_view *dst)
{
	struct ncc_view v = *dst;

	v.buf = t->view.buf;
	v.dtype = t->view.dtype;
	v.off = t->view.off;
	v.pstart = t->view.pstart + dst->pstart;
	for (unsigned int d = 0; d < v.ndim; d++)
		v.stride[d] = 0;
	return v;
}

static void set_scalar(const struct ncc_tail *t, const struct neuron_ap *ap,
		       struct neuron_scalar *s)
{
	if (t->constant) {
		s->f = (float)t->value;
		return;
	}
	s->kind = NEURON_SCALAR_PTR;
	s->dtype = ap->dtype;
	s->offset = ap->offset;
}

int gen_epilogue(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *psum)
{
	struct ncc_view side[NCC_MAX_TAIL];
	const struct ncc_view *v[2 + NCC_MAX_TAIL] = { dst, psum };
	unsigned int n = 2, at[NCC_MAX_TAIL] = { 0 };
	struct walk w;

	for (unsigned int i = 0; i < g->ntail; i++) {
		if (g->tail[i].constant)
			continue;
		side[i] = beside(&g->tail[i], dst);
		at[i] = n;
		v[n++] = &side[i];
	}
	walk_begin(&w, v, n, 0, NEURON_PSUM_BANK_SIZE / 4);
	while (walk_next(&w)) {
		struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR,
					    .partitions = (uint8_t)w.partitions,
					    .dst = w.ap[0],
					    .src0 = w.ap[1],
					    .op0 = g->tail[0].alu,
					    .reverse0 = g->tail[0].reverse };
		int rc;

		set_scalar(&g->tail[0], &w.ap[at[0]], &insn.scalar0);
		if (g->ntail > 1) {
			insn.op1 = g->tail[1].alu;
			insn.reverse1 = g->tail[1].reverse;
			set_scalar(&g->tail[1], &w.ap[at[1]], &insn.scalar1);
		}
		rc = gen_insn(g, NEURON_ENG_POOL, &insn);
		if (rc)
			return rc;
	}
	return 0;
}
