// SPDX-License-Identifier: MIT
/*
 * Element-wise operations: functions on ACT, arithmetic on POOL. An operand that is one constant
 * becomes an immediate; one that does not change along the free dimensions becomes a scalar for
 * each partition. Part of the code generator.
 */
#include "elem.h"

#include <errno.h>
#include <math.h>

#include "buffer.h"
#include "emit.h"
#include "move.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

static const uint8_t alu_of[NCC_KINDS] = {
	[NCC_ADD] = NEURON_ALU_ADD,  [NCC_SUB] = NEURON_ALU_SUB, [NCC_MUL] = NEURON_ALU_MULT,
	[NCC_DIV] = NEURON_ALU_MULT, /* times the reciprocal */
	[NCC_MAX] = NEURON_ALU_MAX,  [NCC_MIN] = NEURON_ALU_MIN, [NCC_POW] = NEURON_ALU_POW,
	[NCC_EQ] = NEURON_ALU_EQ,    [NCC_NE] = NEURON_ALU_NE,	 [NCC_GE] = NEURON_ALU_GE,
	[NCC_GT] = NEURON_ALU_GT,    [NCC_LE] = NEURON_ALU_LE,	 [NCC_LT] = NEURON_ALU_LT,
	[NCC_AND] = NEURON_ALU_AND,  [NCC_OR] = NEURON_ALU_OR,	 [NCC_XOR] = NEURON_ALU_XOR,
	[NCC_SHL] = NEURON_ALU_SHL,  [NCC_SHR] = NEURON_ALU_SHR,
};

static uint8_t alu_for(const struct ncc_op *op)
{
	if (op->shape.pred && op->kind == NCC_AND)
		return NEURON_ALU_LOGICAL_AND;
	if (op->shape.pred && op->kind == NCC_OR)
		return NEURON_ALU_LOGICAL_OR;
	if (op->shape.pred && op->kind == NCC_XOR)
		return NEURON_ALU_LOGICAL_XOR;
	return alu_of[op->kind];
}

static void point(struct neuron_scalar *s, const struct neuron_ap *at)
{
	s->kind = NEURON_SCALAR_PTR;
	s->dtype = at->dtype;
	s->offset = at->offset;
}

/*
 * Applies one instruction, made from a template, to every piece of dst, of up to two sources and of
 * scalars that are not immediate; four views at most.
 */
static int over(struct ncc_gen *g, unsigned int engine, struct neuron_insn insn,
		const struct ncc_view *dst, const struct ncc_view *a, const struct ncc_view *b,
		const struct ncc_view *scalar0, const struct ncc_view *scalar1)
{
	const struct ncc_view *v[4] = { dst, a };
	unsigned int n = 2, bi = 0, si = 0, ti = 0;
	struct walk w;

	if (b)
		v[bi = n++] = b;
	if (scalar0)
		v[si = n++] = scalar0;
	if (scalar1)
		v[ti = n++] = scalar1;
	if (scalar0 || scalar1) /* one number for each partition, whatever the chunk */
		walk_begin(&w, v, n, 0, WALK_MAX);
	else
		walk_begin_chunks(&w, v, n, 0, WALK_MAX);
	while (walk_next(&w)) {
		int rc;

		insn.partitions = (uint8_t)w.partitions;
		insn.dst = w.ap[0];
		insn.src0 = w.ap[1];
		if (b)
			insn.src1 = w.ap[bi];
		if (scalar0)
			point(&insn.scalar0, &w.ap[si]);
		if (scalar1)
			point(&insn.scalar1, &w.ap[ti]);
		rc = gen_insn(g, engine, &insn);
		if (rc)
			return rc;
	}
	return 0;
}

static int tensor_scalar(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *a,
			 uint8_t alu, double c, bool reverse)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR,
				    .op0 = alu,
				    .scalar0 = { .f = (float)c },
				    .op1 = NEURON_ALU_BYPASS,
				    .reverse0 = reverse };

	if (alu >= NEURON_ALU_AND)
		insn.scalar0.bits = (uint32_t)(int32_t)c;
	return over(g, NEURON_ENG_POOL, insn, dst, a, NULL, NULL, NULL);
}

static int gen_unary(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_ACTIVATE,
				    .func = ncc_act_func(op->kind),
				    .scalar0 = { .f = 1.0f },
				    .scalar1 = { .f = -0.0f } }; /* x + -0 is x, also for x = -0 */
	struct ncc_view a;
	int rc;

	if (op->kind == NCC_CONVERT)
		return gen_copy(g, dst, &op->in[0]->gen->value->view);
	rc = gen_fetch_op(g, op->in[0], dst->pdim, 0, &a);
	if (rc)
		return rc;
	if (op->kind == NCC_NEG)
		return tensor_scalar(g, dst, &a, NEURON_ALU_MULT, -1, false);
	if (op->kind == NCC_NOT && op->shape.pred)
		return tensor_scalar(g, dst, &a, NEURON_ALU_EQ, 0, false);
	if (op->kind == NCC_NOT || (op->kind == NCC_ABS && op->shape.dtype == NEURON_DT_INT32)) {
		insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_SCALAR,
					     .op0 = op->kind == NCC_NOT ? NEURON_ALU_NOT
									: NEURON_ALU_ABS };
		return over(g, NEURON_ENG_POOL, insn, dst, &a, NULL, NULL, NULL);
	}
	return over(g, NEURON_ENG_ACT, insn, dst, &a, NULL, NULL, NULL);
}

bool elem_per_partition(const struct ncc_view *v)
{
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != v->pdim && v->dim[d] != 1 && v->stride[d])
			return false;
	return true;
}

/* Computes 1 / b into a temporary that lies as b does. */
static int gen_reciprocal(struct ncc_gen *g, struct ncc_view *b)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_RECIPROCAL };
	struct ncc_view src = *b, dst;
	struct ncc_shape s;
	int rc;

	view_shape(b, &s);
	s.dtype = NEURON_DT_FP32;
	for (unsigned int d = 0; d < s.ndim; d++)
		if (!b->stride[d] && (int)d != b->pdim)
			src.dim[d] = s.dim[d] = 1;
	rc = gen_sbuf_view(g, &s, b->pdim, &dst);
	rc = rc ? rc : gen_temp(g, dst.buf);
	rc = rc ? rc : over(g, NEURON_ENG_POOL, insn, &dst, &src, NULL, NULL, NULL);
	for (unsigned int d = 0; d < s.ndim; d++) {
		if (s.dim[d] == 1)
			dst.stride[d] = 0;
		dst.dim[d] = b->dim[d];
	}
	*b = dst;
	return rc;
}

static bool is_int(uint8_t dtype)
{
	return dtype == NEURON_DT_INT8 || dtype == NEURON_DT_INT16 || dtype == NEURON_DT_INT32;
}

static int gen_binary(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_TENSOR, .op0 = alu_for(op) };
	bool bitvec = insn.op0 >= NEURON_ALU_AND;
	struct ncc_view a, b;
	double c;
	int rc;

	if (op->kind == NCC_DIV && is_int(op->shape.dtype))
		return gen_fail(g, -ENOTSUP, "division of integers is not supported");
	if (plan_number(op->in[1], &c) &&
	    (op->kind != NCC_DIV || fabs(frexp(c, &(int){ 0 })) == 0.5)) {
		rc = gen_fetch_op(g, op->in[0], dst->pdim, 0, &a);
		if (op->kind == NCC_DIV)
			c = 1 / c;
		return rc ? rc : tensor_scalar(g, dst, &a, insn.op0, c, false);
	}

	rc = gen_fetch_op(g, op->in[1], dst->pdim, 0, &b);
	if (!rc && op->kind == NCC_DIV)
		rc = gen_reciprocal(g, &b);
	if (rc)
		return rc;
	if (plan_number(op->in[0], &c))
		return tensor_scalar(g, dst, &b, insn.op0, c, true);
	rc = gen_fetch_op(g, op->in[0], dst->pdim, 0, &a);
	if (rc)
		return rc;
	if (bitvec || (!elem_per_partition(&a) && !elem_per_partition(&b)) ||
	    walk_has_chunks((const struct ncc_view *[]){ dst, &a, &b }, 3))
		return over(g, NEURON_ENG_POOL, insn, dst, &a, &b, NULL, NULL);
	insn.opcode = NEURON_OP_TENSOR_SCALAR;
	insn.reverse0 = !elem_per_partition(&b);
	return over(g, NEURON_ENG_POOL, insn, dst, insn.reverse0 ? &b : &a, NULL,
		    insn.reverse0 ? &a : &b, NULL);
}

bool elem_can_end_chain(enum ncc_kind kind)
{
	return elem_can_chain(kind) || ncc_is_compare(kind);
}

bool elem_can_chain(enum ncc_kind kind)
{
	return kind == NCC_ADD || kind == NCC_SUB || kind == NCC_MUL || kind == NCC_MAX ||
	       kind == NCC_MIN;
}

int gen_chain(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *a,
	      const struct elem_step step[2])
{
	const bool array = step[1].view && !elem_per_partition(step[1].view);
	struct neuron_insn insn = {
		.opcode = array ? NEURON_OP_SCALAR_TENSOR_TENSOR : NEURON_OP_TENSOR_SCALAR,
		.op0 = alu_of[step[0].kind],
		.op1 = alu_of[step[1].kind],
		.reverse0 = step[0].second,
		.reverse1 = step[1].second,
		.scalar0 = { .f = (float)step[0].value },
	};

	if (array)
		return over(g, NEURON_ENG_POOL, insn, dst, a, step[1].view, step[0].view, NULL);
	insn.scalar1.f = (float)step[1].value;
	return over(g, NEURON_ENG_POOL, insn, dst, a, NULL, step[0].view, step[1].view);
}

static bool is_place_of(const struct ncc_view *dst, const struct ncc_op *op)
{
	return op->gen->value && op->gen->value->view.buf == dst->buf &&
	       op->gen->value->view.off == dst->off;
}

/*
 * Copies every element of one side, then those selected from the other. The result may take the
 * place of one side.
 */
static int gen_select(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_COPY_PREDICATED };
	bool in_place = is_place_of(dst, op->in[1]);
	struct ncc_view p, t;
	double c;
	int rc = gen_fetch_op(g, op->in[0], dst->pdim, 0, &p);

	insn.reverse0 = in_place;
	rc = rc ? rc : gen_fetch_op(g, op->in[in_place ? 2 : 1], dst->pdim, 0, &t);
	if (rc || in_place || is_place_of(dst, op->in[2]))
		return rc ? rc : over(g, NEURON_ENG_POOL, insn, dst, &t, &p, NULL, NULL);
	if (op->shape.dtype != NEURON_DT_INT32 && plan_number(op->in[2], &c) && !isnan(c))
		rc = gen_memset(g, dst, c);
	else
		rc = gen_copy(g, dst, &op->in[2]->gen->value->view);
	return rc ? rc : over(g, NEURON_ENG_POOL, insn, dst, &t, &p, NULL, NULL);
}

int gen_elementwise(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	if (op->kind == NCC_SELECT)
		return gen_select(g, op, dst);
	return ncc_is_unary(op->kind) ? gen_unary(g, op, dst) : gen_binary(g, op, dst);
}
