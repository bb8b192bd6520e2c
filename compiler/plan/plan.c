// SPDX-License-Identifier: MIT
/* What becomes of each operation (plan.h). */
#include "plan.h"

#include <errno.h>

#include "find.h"
#include "ir/range.h"
#include "neuron/isa/check.h"

#define LOOK_BACK 8 /* operations */
#define SHORT_ROW 32 /* bytes of a gathered row that is not put into a partition by itself */

static bool is_lazy(const struct ncc_op *op)
{
	return op->kind == NCC_CONST || (op->kind == NCC_BROADCAST && op->in[0]->kind == NCC_CONST);
}

/*
 * Short rows are gathered in DRAM, where they lie one behind the other: users take them in longer
 * pieces.
 */
static bool gathers_short_rows(const struct ncc_op *op)
{
	return op->kind == NCC_GATHER && op->shape.dim[0] > NEURON_PARTITIONS &&
	       op->shape.dim[1] * ncc_dtype_size(op->shape.dtype) < SHORT_ROW;
}

int64_t plan_chunk_bytes(const struct ncc_shape *s, int pdim, int64_t *chunks)
{
	const int64_t rows = pdim < 0 ? 1 : s->dim[pdim];

	*chunks = (rows + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
	return (ncc_elems(s) / rows * ncc_dtype_size(s->dtype) + NCC_SBUF_ALIGN - 1) /
	       NCC_SBUF_ALIGN * NCC_SBUF_ALIGN;
}

/* A result is computed in its own place, or in that of the pad that alone reads it. */
static enum plan_how at_once_or_not(const struct ncc_op *op, const struct neuron_target *target)
{
	const struct ncc_op *place = op->plan->pad ? op->plan->pad : op;
	struct ncc_shape s = place->shape;
	int64_t chunks, bytes;

	s.dtype = op->plan->dtype;
	bytes = plan_chunk_bytes(&s, place->pdim, &chunks);
	return !gathers_short_rows(op) && plan_has_room(bytes, chunks, target->sbuf_part_size)
		       ? PLAN_WHOLE
		       : PLAN_PIECES;
}

static enum plan_how how_of(const struct ncc_op *op, const struct neuron_target *target)
{
	if (is_lazy(op))
		return PLAN_LAZY;
	switch (op->kind) {
	case NCC_PARAM:
		return PLAN_INPUT;
	case NCC_BROADCAST:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_REVERSE:
	case NCC_BITCAST:
	case NCC_RESHAPE:
		return PLAN_VIEW;
	case NCC_SCATTER:
		return PLAN_SCATTER;
	case NCC_CUSTOM:
		return PLAN_CUSTOM;
	case NCC_KERNEL:
		return PLAN_KERNEL;
	case NCC_EXCHANGE:
		return PLAN_EXCHANGE;
	case NCC_CONVERT:
		if (op->plan->cast != PLAN_CAST_SELF)
			return PLAN_CAST;
		break;
	default:
		break;
	}
	return at_once_or_not(op, target);
}

/* Is each index the number of a row? */
static bool hits_rows(const struct ncc_op *op)
{
	const struct ncc_range r = ncc_bounds(op->in[1], LOOK_BACK);

	return ncc_range_within(&r, 0, op->shape.dim[0] - 1);
}

/* Part of an epilogue is done in the place of its last operation. */
static void decide_how(struct plan_op *p, const struct neuron_target *target)
{
	const struct ncc_op *product = p->first ? p->first : p->op;

	if (p->how)
		return;
	if (product->plan->n && product->plan->with != p->op) {
		p->how = PLAN_LATER;
		p->with = product->plan->with;
		return;
	}
	p->how = (uint8_t)how_of(p->op, target);
	if (p->how == PLAN_PIECES && p->pad) {
		p->pad->plan->how = 0; /* it comes behind and is decided on then */
		p->pad = NULL;
	}
}

/* Is the result's dimension along the partitions alone one of the product's dimensions? */
static bool is_whole_side(const struct ncc_op *dot)
{
	unsigned int first = dot->dot->nbatch, end = dot->shape.ndim;
	unsigned int rhs = dot->in[0]->shape.ndim - dot->dot->ncontract;

	if (dot->pdim >= (int)rhs)
		first = rhs;
	else
		end = rhs;
	for (unsigned int d = first; d < end; d++)
		if ((int)d != dot->pdim && dot->shape.dim[d] > 1)
			return false;
	return true;
}

/* The operand whose free dimensions have the one along the result's partitions is stationary. */
static unsigned int stationary(const struct ncc_op *dot)
{
	const unsigned int rhs = dot->in[0]->shape.ndim - dot->dot->ncontract;

	return dot->pdim < (int)dot->dot->nbatch || dot->pdim >= (int)rhs;
}

static int64_t boxes(int64_t rows, int64_t columns)
{
	const int64_t most = (int64_t)PLAN_BOXES * NEURON_ISA_MAX_MOVING;

	return (rows + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS * ((columns + most - 1) / most);
}

/* In pieces it is the one with which there are fewer boxes; sparse weights always are. */
static unsigned int stationary_in_pieces(const struct ncc_op *dot)
{
	const unsigned int rhs = dot->in[0]->shape.ndim - dot->dot->ncontract;
	int64_t rows = 1, columns = 1;

	for (unsigned int d = dot->dot->nbatch; d < rhs; d++)
		rows *= dot->shape.dim[d];
	for (unsigned int d = rhs; d < dot->shape.ndim; d++)
		columns *= dot->shape.dim[d];
	return dot->dot->neighbours || boxes(rows, columns) > boxes(columns, rows);
}

static int dram_pdim(const struct ncc_op *op)
{
	if (op->kind == NCC_REDUCE || op->kind == NCC_CONCAT || op->kind == NCC_PAD)
		return -1;
	return op->kind != NCC_DOT || is_whole_side(op) ? op->pdim : -1;
}

/* What of an operation's operands must have places before it is computed, at once or in pieces */
enum operands {
	NO_OPERANDS, /* it sees to constants and kernels itself */
	FIRST, /* operand 0 */
	FIRST_AND_VALUE, /* and in pieces operand 1, unless it is a number */
	ALL,
};
static const struct {
	uint8_t whole, pieces; /* enum operands */
} operands_of[NCC_KINDS] = {
	[NCC_SELECT] = { ALL, NO_OPERANDS },
	[NCC_CONCAT] = { ALL, ALL },
	[NCC_PAD] = { FIRST, FIRST_AND_VALUE },
	[NCC_DOT] = { NO_OPERANDS, ALL },
	[NCC_CONV] = { FIRST, ALL },
	[NCC_REDUCE] = { FIRST, FIRST_AND_VALUE },
	[NCC_REDUCE_WINDOW] = { FIRST, FIRST_AND_VALUE },
};

static unsigned int number_of(const struct ncc_op *op, enum operands which)
{
	switch (which) {
	case FIRST:
		return 1;
	case FIRST_AND_VALUE:
		return 1 + !op->in[1]->plan->is_number;
	case ALL:
		return op->nin;
	default:
		return 0;
	}
}

static int8_t pdim_if(const struct ncc_op *op, bool same)
{
	return (int8_t)(same ? op->pdim : -1);
}

static void decide_operands(struct plan_op *p)
{
	const struct ncc_op *op = p->op;
	const unsigned int ndim = op->in[0]->shape.ndim;

	p->whole.n = number_of(op, ncc_is_unary(op->kind) ? FIRST : operands_of[op->kind].whole);
	p->whole.pdim =
		pdim_if(op, op->kind != NCC_REDUCE && op->kind != NCC_CONV && op->pdim < (int)ndim);
	p->whole.rest = p->whole.pdim;
	p->pieces.n = number_of(op, operands_of[op->kind].pieces);
	p->pieces.pdim = pdim_if(op, op->kind != NCC_DOT && ndim == op->shape.ndim);
	p->pieces.rest = pdim_if(op, op->kind == NCC_CONCAT);
}

/* Which operands' places the result may take: rows that one instruction combines change in theirs. */
static void decide_takes(struct plan_op *p)
{
	const struct ncc_op *op = p->op;

	p->takes[0] = op->kind == NCC_SELECT;
	if (op->kind == NCC_COMBINE)
		p->takes[1] = op->shape.dim[0] <= NEURON_PARTITIONS &&
			      op->in[1]->shape.dim[1] <= PLAN_MOST_PLACES;
	else if (!p->first && p->elementwise)
		p->takes[1] = (uint8_t)op->nin;
}

/*
 * Does it lie where no instruction changes it: an input, a constant, what came from another core or
 * lies in a table, or a view of one?
 */
static bool is_unchanged(const struct plan_op *p)
{
	switch (p->how) {
	case PLAN_LAZY:
	case PLAN_INPUT:
	case PLAN_SCATTER:
	case PLAN_EXCHANGE:
		return true;
	case PLAN_VIEW:
	case PLAN_CAST:
		return p->op->in[0]->plan->unchanged;
	default:
		return false;
	}
}

/* What follows from how it is done */
static void decide_rest(struct plan_op *p)
{
	p->unchanged = is_unchanged(p);
	p->kept = p->unchanged && p->op->users > 1;
	switch (p->how) {
	case PLAN_LATER:
		if (p->n) { /* a product */
			decide_operands(p);
			plan_epilogue(p);
		}
		break;
	case PLAN_CAST:
	case PLAN_AROUND:
	case PLAN_WHOLE:
	case PLAN_PIECES:
		decide_operands(p);
		decide_takes(p);
		break;
	case PLAN_SCATTER:
		p->hits = hits_rows(p->op);
		return;
	case PLAN_GROUP:
		break;
	default:
		return;
	}
	p->dram_pdim = (int8_t)dram_pdim(p->op);
	if (p->op->kind == NCC_DOT) {
		p->stationary = (uint8_t)stationary(p->op);
		p->stationary_in_pieces = (uint8_t)stationary_in_pieces(p->op);
	}
	if (p->op->kind == NCC_REDUCE || p->op->kind == NCC_REDUCE_WINDOW)
		plan_reduction(p);
}

/* Operands come before their readers. */
static void find_number(struct plan_op *p)
{
	const struct ncc_op *op = p->op;

	if (op->kind == NCC_CONST) {
		p->is_number = ncc_scalar_value(op, &p->number);
	} else if (op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE) {
		p->is_number = op->in[0]->plan->is_number;
		p->number = op->in[0]->plan->number;
	}
}

static int begin(struct ncc_module *m, struct plan *plan)
{
	struct plan_op *p = ncc_alloc(m, (m->nops + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	*plan = (struct plan){ .name = m->name, .op = p };
	for (struct ncc_op *op = m->first; op; op = op->next, p++) {
		op->plan = p;
		p->op = op;
		p->dtype = op->shape.dtype;
		p->elementwise = ncc_is_elementwise(op->kind);
		find_number(p);
		plan->n++;
	}
	return 0;
}

int ncc_plan(struct ncc_module *m, const struct neuron_target *target, bool fused,
	     struct plan *plan)
{
	int rc = begin(m, plan);

	if (rc)
		return rc;
	plan_find_casts(m);
	if (fused) {
		plan_find_epilogues(m);
		plan_find_groups(m);
		plan_find_places(m);
	}
	for (unsigned int i = 0; i < plan->n; i++) {
		decide_how(&plan->op[i], target);
		decide_rest(&plan->op[i]);
	}
	return 0;
}
