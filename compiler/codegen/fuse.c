// SPDX-License-Identifier: MIT
/*
 * Fusion: the element-wise operations after a product (a bias, a relu, GELU, what a residual
 * connection adds) are its epilogue. The instruction that takes the product out of PSUM does the
 * first of them, and more instructions on the same box do the rest. Each keeps fp32 between its
 * operations, and so does the place between two instructions, so that no bit changes. Part of the
 * code generator.
 */
#include <string.h>

#include "buffer.h"
#include "contract.h"
#include "emit.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

int gen_epilogue_begin(struct ncc_gen *g, const struct ncc_op *product, const struct ncc_view *dst)
{
	unsigned int n = 0;

	g->nepilogue = 0;
	g->whole = *dst;
	for (const struct ncc_op *x = product->plan->next; x; x = x->plan->next) {
		struct gen_epilogue *t = &g->epilogue[n++];
		int rc;

		t->step = &x->plan->step;
		rc = t->step->form == PLAN_STEP_SCALAR || t->step->form == PLAN_STEP_TENSOR
			     ? gen_fetch_op(g, t->step->other, x->pdim, 0, &t->view)
			     : 0;
		if (rc)
			return rc;
	}
	g->nepilogue = n;
	return 0;
}

/*
 * The part of an epilogue's other operand that belongs to dst, a box of the whole result. The box's
 * index along each dimension follows from its offset, because the result's dimensions lie in order.
 */
static struct ncc_view beside(const struct ncc_view *whole, const struct gen_epilogue *t,
			      const struct ncc_view *dst)
{
	struct ncc_view v = *dst;
	int64_t rest = dst->off - whole->off;

	v.buf = t->view.buf;
	v.dtype = t->view.dtype;
	v.off = t->view.off;
	v.pstart = t->view.pstart + dst->pstart - whole->pstart;
	memset(v.stride, 0, sizeof(v.stride));
	for (unsigned int d = 0; t->step->form == PLAN_STEP_TENSOR && d < whole->ndim; d++) {
		if ((int)d == whole->pdim || whole->dim[d] == 1)
			continue;
		v.off += rest / whole->stride[d] * t->view.stride[d];
		rest %= whole->stride[d];
		for (unsigned int i = 0; i < v.ndim; i++)
			if ((int)i != v.pdim && v.dim[i] > 1 && dst->stride[i] == whole->stride[d])
				v.stride[i] = t->view.stride[d];
	}
	return v;
}

/* One instruction's part of the epilogue: the operations that are its scalars and its tensor */
struct step {
	unsigned int engine;
	struct neuron_insn insn;
	const struct gen_epilogue *scalar[2], *tensor;
};

/* func(a * scale + bias) */
static void function_of(const struct gen_epilogue *t, unsigned int n, struct step *s)
{
	*s = (struct step){ .engine = NEURON_ENG_ACT,
			    .insn = { .opcode = NEURON_OP_ACTIVATE,
				      .func = t[n - 1].step->func,
				      .scalar0 = { .f = 1 },
				      .scalar1 = { .f = -0.0f } } };
	for (unsigned int k = 0; k + 1 < n; k++)
		s->scalar[t[k].step->alu == NEURON_ALU_ADD] = &t[k];
}

static void step_of(const struct gen_epilogue *t, struct step *s)
{
	const unsigned int n = t[0].step->together;

	if (t[n - 1].step->form == PLAN_STEP_FUNCTION) {
		function_of(t, n, s);
		return;
	}
	*s = (struct step){ .engine = NEURON_ENG_POOL };
	s->insn.op0 = t[0].step->alu;
	s->insn.reverse0 = t[0].step->reverse;
	if (t[0].step->form == PLAN_STEP_TENSOR) {
		s->insn.opcode = NEURON_OP_TENSOR_TENSOR;
		s->tensor = &t[0];
		return;
	}

	s->insn.opcode = NEURON_OP_TENSOR_SCALAR;
	s->insn.op1 = NEURON_ALU_BYPASS;
	s->scalar[0] = &t[0];
	if (n == 1)
		return;
	s->insn.op1 = t[1].step->alu;
	s->insn.reverse1 = t[1].step->reverse;
	if (t[1].step->form == PLAN_STEP_TENSOR) {
		s->insn.opcode = NEURON_OP_SCALAR_TENSOR_TENSOR;
		s->tensor = &t[1];
	} else {
		s->scalar[1] = &t[1];
	}
}

static void set_scalar(const struct gen_epilogue *t, const struct neuron_ap *ap,
		       struct neuron_scalar *s)
{
	if (t->step->form == PLAN_STEP_CONSTANT) {
		s->f = (float)t->step->value;
		return;
	}
	s->kind = NEURON_SCALAR_PTR;
	s->dtype = ap->dtype;
	s->offset = ap->offset;
}

static int run_step(struct ncc_gen *g, const struct step *s, const struct ncc_view *dst,
		    const struct ncc_view *src)
{
	const struct gen_epilogue *t[3] = { s->scalar[0], s->scalar[1], s->tensor };
	const struct ncc_view *v[4] = { dst, src };
	unsigned int n = 2, at[3] = { 0 };
	struct ncc_view side[3];
	struct walk w;

	for (unsigned int i = 0; i < 3; i++) {
		if (!t[i] || t[i]->step->form == PLAN_STEP_CONSTANT)
			continue;
		side[i] = beside(&g->whole, t[i], &g->box);
		at[i] = n;
		v[n++] = &side[i];
	}

	walk_begin(&w, v, n, 0, NEURON_PSUM_BANK_SIZE / 4);
	while (walk_next(&w)) {
		struct neuron_insn insn = s->insn;
		int rc;

		insn.partitions = (uint8_t)w.partitions;
		insn.dst = w.ap[0];
		insn.src0 = w.ap[1];
		if (s->scalar[0])
			set_scalar(s->scalar[0], &w.ap[at[0]], &insn.scalar0);
		if (s->scalar[1])
			set_scalar(s->scalar[1], &w.ap[at[1]], &insn.scalar1);
		if (s->tensor && insn.opcode == NEURON_OP_TENSOR_TENSOR && insn.reverse0) {
			insn.src0 = w.ap[at[2]];
			insn.src1 = w.ap[1];
			insn.reverse0 = false;
		} else if (s->tensor) {
			insn.src1 = w.ap[at[2]];
		}
		rc = gen_insn(g, s->engine, &insn);
		if (rc)
			return rc;
	}
	return 0;
}

/* A place for the fp32 values between two instructions: the result's own, or a temporary */
static int between(struct ncc_gen *g, const struct ncc_view *dst, struct ncc_view *v)
{
	struct ncc_shape s;
	int rc;

	*v = *dst;
	if (dst->dtype == NEURON_DT_FP32)
		return 0;
	view_shape(dst, &s);
	s.dtype = NEURON_DT_FP32;
	rc = gen_sbuf_view(g, &s, dst->pdim, v);
	return rc ? rc : gen_temp(g, v->buf);
}

int gen_epilogue(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *psum)
{
	struct ncc_view mid, src = *psum;
	unsigned int together;
	struct step s;
	int rc = 0;

	mid.buf = NULL;
	g->box = *dst;
	for (unsigned int i = 0; !rc && i < g->nepilogue; i += together) {
		together = g->epilogue[i].step->together;
		step_of(&g->epilogue[i], &s);
		if (i + together == g->nepilogue)
			return run_step(g, &s, dst, &src);
		if (!mid.buf)
			rc = between(g, dst, &mid);
		rc = rc ? rc : run_step(g, &s, &mid, &src);
		src = mid;
	}
	return rc;
}
