// SPDX-License-Identifier: MIT
/*
 * Fusion: the element-wise operations after a product (a bias, a relu, GELU, what a residual
 * connection adds) are its epilogue. The instruction that takes the product out of PSUM does the
 * first of them, and more instructions on the same box do the rest. Each keeps fp32 between its
 * operations, and so does the place between two instructions, so that no bit changes. Part of the
 * code generator.
 */
#include <math.h>
#include <string.h>

#include "buffer.h"
#include "contract.h"
#include "elem.h"
#include "emit.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

static const uint8_t alu_of[NCC_KINDS] = {
	[NCC_ADD] = NEURON_ALU_ADD,  [NCC_SUB] = NEURON_ALU_SUB, [NCC_MUL] = NEURON_ALU_MULT,
	[NCC_MAX] = NEURON_ALU_MAX,  [NCC_MIN] = NEURON_ALU_MIN, [NCC_DIV] = NEURON_ALU_MULT,
	[NCC_NEG] = NEURON_ALU_MULT, /* times -1 */
};

#define TENSOR_BYTES 32768 /* of a partition: no other tensor beside larger results */
#define TENSOR_ROOM 106496 /* for all of them: some of SBUF is left for fragments */

/* The product that x is, or whose epilogue x ends; NULL: neither */
static struct ncc_op *product_of(struct ncc_op *x)
{
	if (x->gen->fused)
		return x->gen->nepilogue ? NULL : x->gen->fused;
	return x->kind == NCC_DOT || (x->kind == NCC_CONV && x->conv->groups == 1) ? x : NULL;
}

/* Is it a constant, or the same along every dimension but the one along the partitions? */
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

/* The bytes that the value takes in a partition, roughly */
static int64_t spread_bytes(const struct ncc_op *op)
{
	return ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype) / NEURON_PARTITIONS;
}

/* Is there room for the product's operands, its result and one more tensor of that shape? */
static bool fits_beside(const struct ncc_op *product)
{
	int64_t p = product->shape.dim[product->pdim],
		chunks = (p + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
	int64_t result = ncc_elems(&product->shape) / p * chunks * 4;

	return result <= TENSOR_BYTES &&
	       spread_bytes(product->in[0]) + spread_bytes(product->in[1]) + 2 * result <=
		       TENSOR_ROOM;
}

/* Can op be done while its operand k is still in PSUM? */
static bool can_follow(const struct ncc_op *op, unsigned int k, const struct ncc_op *product)
{
	const struct ncc_op *other = op->nin > 1 ? op->in[1 - k] : NULL;
	double c;

	if (!other)
		return alu_of[op->kind] || gen_act_func(op->kind);
	if (!alu_of[op->kind] || other == op->in[k])
		return false;
	if (op->kind == NCC_DIV)
		return !k && ncc_scalar_value(other, &c) && fabs(frexp(c, &(int){ 0 })) == 0.5;
	return is_scalar(other, op->pdim) || fits_beside(product);
}

static void fuse(struct ncc_op *op)
{
	unsigned int later = op->nin == 2 && op->in[1]->id > op->in[0]->id;

	if (op->nin < 1 || op->nin > 2 || op->shape.dtype != NEURON_DT_FP32)
		return;
	for (unsigned int i = 0; i < op->nin; i++) {
		/* The later operand is tried first: the other one exists by then. */
		unsigned int k = i ? !later : later;
		struct ncc_op *x = op->in[k], *p = product_of(x);

		if (!p || x->users != 1 || x->gen->write_dtype ||
		    p->gen->nepilogue == NCC_MAX_EPILOGUE || p->shape.dtype != NEURON_DT_FP32 ||
		    op->pdim < 0 || op->pdim != p->pdim || !can_follow(op, k, p))
			continue;
		op->gen->fused = p;
		p->gen->epilogue[p->gen->nepilogue++] = op;
		return;
	}
}

void gen_find_fusions(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		op->gen->fused = NULL;
		op->gen->nepilogue = 0;
	}
	for (struct ncc_op *op = m->first; op; op = op->next)
		fuse(op);
}

const struct ncc_op *gen_last_of(const struct ncc_op *product)
{
	return product->gen->nepilogue ? product->gen->epilogue[product->gen->nepilogue - 1]
				       : product;
}

/* Prepares one operation of the epilogue; x is the operation before it. */
static int begin_epilogue(struct ncc_gen *g, struct ncc_op *op, const struct ncc_op *x,
			  struct gen_epilogue *t)
{
	struct ncc_op *other;

	*t = (struct gen_epilogue){ .alu = alu_of[op->kind], .reverse = op->in[0] != x };
	if (op->nin == 1) {
		t->form = t->alu ? EPILOGUE_CONSTANT : EPILOGUE_FUNCTION;
		t->func = gen_act_func(op->kind);
		t->value = -1;
		return 0;
	}

	other = op->in[t->reverse ? 0 : 1];
	if (ncc_scalar_value(other, &t->value)) {
		t->form = EPILOGUE_CONSTANT;
		if (op->kind == NCC_DIV)
			t->value = 1 / t->value;
		return 0;
	}

	t->form = is_scalar(other, op->pdim) ? EPILOGUE_SCALAR : EPILOGUE_TENSOR;
	return gen_fetch_op(g, other, op->pdim, 0, &t->view);
}

int gen_epilogue_begin(struct ncc_gen *g, const struct ncc_op *product, const struct ncc_view *dst)
{
	const struct ncc_op *x = product;

	g->nepilogue = 0;
	g->whole = *dst;
	for (unsigned int i = 0; i < product->gen->nepilogue; i++) {
		int rc = begin_epilogue(g, product->gen->epilogue[i], x, &g->epilogue[i]);

		if (rc)
			return rc;
		x = product->gen->epilogue[i];
	}
	g->nepilogue = product->gen->nepilogue;
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
	for (unsigned int d = 0; t->form == EPILOGUE_TENSOR && d < whole->ndim; d++) {
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
	unsigned int engine, n;
	struct neuron_insn insn;
	const struct gen_epilogue *scalar[2], *tensor;
};

static bool is_scale(const struct gen_epilogue *t, uint8_t alu)
{
	return t->form <= EPILOGUE_SCALAR && t->alu == alu;
}

/* func(a * scale + bias) */
static bool try_function(const struct gen_epilogue *t, unsigned int left, struct step *s)
{
	unsigned int k = 0;

	*s = (struct step){ .engine = NEURON_ENG_ACT,
			    .insn = { .opcode = NEURON_OP_ACTIVATE,
				      .scalar0 = { .f = 1 },
				      .scalar1 = { .f = -0.0f } } };
	if (is_scale(&t[k], NEURON_ALU_MULT))
		s->scalar[0] = &t[k++];
	if (k < left && is_scale(&t[k], NEURON_ALU_ADD))
		s->scalar[1] = &t[k++];
	if (k == left || t[k].form != EPILOGUE_FUNCTION)
		return false;
	s->insn.func = t[k].func;
	s->n = k + 1;
	return true;
}

static void next_step(const struct gen_epilogue *t, unsigned int left, struct step *s)
{
	if (try_function(t, left, s))
		return;
	*s = (struct step){ .engine = NEURON_ENG_POOL, .n = 1 };
	s->insn.op0 = t[0].alu;
	s->insn.reverse0 = t[0].reverse;
	if (t[0].form == EPILOGUE_TENSOR) {
		s->insn.opcode = NEURON_OP_TENSOR_TENSOR;
		s->tensor = &t[0];
		return;
	}

	s->insn.opcode = NEURON_OP_TENSOR_SCALAR;
	s->insn.op1 = NEURON_ALU_BYPASS;
	s->scalar[0] = &t[0];
	if (left == 1 || t[1].form == EPILOGUE_FUNCTION)
		return;
	s->n = 2;
	s->insn.op1 = t[1].alu;
	s->insn.reverse1 = t[1].reverse;
	if (t[1].form == EPILOGUE_TENSOR) {
		s->insn.opcode = NEURON_OP_SCALAR_TENSOR_TENSOR;
		s->tensor = &t[1];
	} else {
		s->scalar[1] = &t[1];
	}
}

static void set_scalar(const struct gen_epilogue *t, const struct neuron_ap *ap,
		       struct neuron_scalar *s)
{
	if (t->form == EPILOGUE_CONSTANT) {
		s->f = (float)t->value;
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
		if (!t[i] || t[i]->form == EPILOGUE_CONSTANT)
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
	struct step s;
	int rc = 0;

	mid.buf = NULL;
	g->box = *dst;
	for (unsigned int i = 0; !rc && i < g->nepilogue; i += s.n) {
		next_step(&g->epilogue[i], g->nepilogue - i, &s);
		if (i + s.n == g->nepilogue)
			return run_step(g, &s, dst, &src);
		if (!mid.buf)
			rc = between(g, dst, &mid);
		rc = rc ? rc : run_step(g, &s, &mid, &src);
		src = mid;
	}
	return rc;
}
