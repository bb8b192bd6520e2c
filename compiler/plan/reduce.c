// SPDX-License-Identifier: MIT
/* What reductions do with two elements, and with their initial value. Part of the plan. */
#include "find.h"
#include "ir/range.h"

static uint8_t reduce_alu(const struct ncc_op *op)
{
	switch (op->func) {
	case NCC_ADD:
		return NEURON_ALU_ADD;
	case NCC_MUL:
		return NEURON_ALU_MULT;
	case NCC_MAX:
		return NEURON_ALU_MAX;
	case NCC_MIN:
		return NEURON_ALU_MIN;
	case NCC_AND:
		return op->shape.pred ? NEURON_ALU_LOGICAL_AND : NEURON_ALU_AND;
	default:
		return op->shape.pred ? NEURON_ALU_LOGICAL_OR : NEURON_ALU_OR;
	}
}

/* Is the initial value such that nothing is to be done with it? */
static bool is_neutral(const struct ncc_op *op, double init)
{
	return init == ncc_neutral(op->func, &op->shape);
}

void plan_reduction(struct plan_op *p)
{
	const struct ncc_op *op = p->op;
	struct plan_step *s = &p->step;

	*s = (struct plan_step){ .form = PLAN_STEP_SCALAR,
				 .alu = reduce_alu(op),
				 .other = op->in[1] };
	if (plan_number(op->in[1], &s->value))
		s->form = is_neutral(op, s->value) ? PLAN_STEP_NONE : PLAN_STEP_CONSTANT;
}
