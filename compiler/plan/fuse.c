// SPDX-License-Identifier: MIT
/*
 * Fusion: the element-wise operations after a product (a bias, a relu, GELU, what a residual
 * connection adds) are its epilogue, which is done on the product's boxes as they leave PSUM, all
 * of it in the place of its last operation. Part of the plan.
 */
#include <math.h>

#include "find.h"

static const uint8_t act_func[NCC_KINDS] = {
	[NCC_SIGN] = NEURON_ACT_SIGN,	     [NCC_EXP] = NEURON_ACT_EXP,
	[NCC_LOG] = NEURON_ACT_LOG,	     [NCC_TANH] = NEURON_ACT_TANH,
	[NCC_LOGISTIC] = NEURON_ACT_SIGMOID, [NCC_SQRT] = NEURON_ACT_SQRT,
	[NCC_RSQRT] = NEURON_ACT_RSQRT,	     [NCC_ERF] = NEURON_ACT_ERF,
	[NCC_ABS] = NEURON_ACT_ABS,	     [NCC_SIN] = NEURON_ACT_SIN,
	[NCC_ATAN] = NEURON_ACT_ARCTAN,	     [NCC_SOFTPLUS] = NEURON_ACT_SOFTPLUS,
	[NCC_GELU] = NEURON_ACT_GELU,	     [NCC_GELU_TANH] = NEURON_ACT_GELU_TANH,
	[NCC_MISH] = NEURON_ACT_MISH,
};

uint8_t ncc_act_func(enum ncc_kind kind)
{
	return act_func[kind];
}

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
	if (x->plan->first)
		return x->plan->first;
	return x->kind == NCC_DOT || (x->kind == NCC_CONV && x->conv->groups == 1) ? x : NULL;
}

/* Is it a constant, or the same along every dimension but the one along the partitions? */
static bool is_scalar(const struct ncc_op *op, int pdim)
{
	double v;

	if (plan_number(op, &v))
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
		return alu_of[op->kind] || act_func[op->kind];
	if (!alu_of[op->kind] || other == op->in[k])
		return false;
	if (op->kind == NCC_DIV)
		return !k && plan_number(other, &c) && fabs(frexp(c, &(int){ 0 })) == 0.5;
	return is_scalar(other, op->pdim) || fits_beside(product);
}

/* What the operation does with x, the one before it */
static struct plan_step step_of(const struct ncc_op *op, const struct ncc_op *x)
{
	struct plan_step s = { .alu = alu_of[op->kind], .reverse = op->in[0] != x };

	if (op->nin == 1) {
		s.form = s.alu ? PLAN_STEP_CONSTANT : PLAN_STEP_FUNCTION;
		s.func = act_func[op->kind];
		s.value = -1;
		return s;
	}
	s.other = op->in[!s.reverse];
	if (plan_number(s.other, &s.value)) {
		s.form = PLAN_STEP_CONSTANT;
		if (op->kind == NCC_DIV)
			s.value = 1 / s.value;
		return s;
	}
	s.form = is_scalar(s.other, op->pdim) ? PLAN_STEP_SCALAR : PLAN_STEP_TENSOR;
	return s;
}

/* Adds an operation to the end of a product's epilogue; x is the one before it. */
static void add_step(struct ncc_op *product, struct ncc_op *op, struct ncc_op *x)
{
	x->plan->next = op;
	op->plan->first = product;
	op->plan->step = step_of(op, x);
	product->plan->with = op;
	product->plan->n++;
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

		if (!p || x->users != 1 || x->plan->dtype != x->shape.dtype ||
		    p->plan->n == PLAN_MAX_EPILOGUE || p->shape.dtype != NEURON_DT_FP32 ||
		    op->pdim < 0 || op->pdim != p->pdim || !can_follow(op, k, p))
			continue;
		add_step(p, op, x);
		return;
	}
}

static bool is_scale(const struct plan_step *s, uint8_t alu)
{
	return s->form <= PLAN_STEP_SCALAR && s->alu == alu;
}

/* So many of the steps left are func(a * scale + bias), one instruction of ACT; 0: they are not */
static unsigned int in_function(struct plan_step *const *s, unsigned int left)
{
	unsigned int k = is_scale(s[0], NEURON_ALU_MULT);

	k += k < left && is_scale(s[k], NEURON_ALU_ADD);
	return k < left && s[k]->form == PLAN_STEP_FUNCTION ? k + 1 : 0;
}

/* POOL's instruction takes two of them, if the first is no tensor. */
static unsigned int in_instruction(struct plan_step *const *s, unsigned int left)
{
	const unsigned int n = in_function(s, left);

	if (n)
		return n;
	return s[0]->form == PLAN_STEP_TENSOR || left == 1 || s[1]->form == PLAN_STEP_FUNCTION ? 1
											       : 2;
}

void plan_epilogue(const struct plan_op *product)
{
	struct plan_step *s[PLAN_MAX_EPILOGUE];
	unsigned int n = 0;

	for (struct ncc_op *x = product->next; x; x = x->plan->next)
		s[n++] = &x->plan->step;
	for (unsigned int i = 0; i < n; i += s[i]->together)
		s[i]->together = (uint8_t)in_instruction(&s[i], n - i);
}

void plan_find_epilogues(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		fuse(op);
}
