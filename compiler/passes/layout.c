// SPDX-License-Identifier: MIT
/*
 * Layout: which dimension of each value lies along the 128 partitions. In a backward walk every
 * operation tells its operands what it would like; in a forward walk each value takes what its own
 * operation can give: a convolution gives output features, a product one of its free dimensions, a
 * window never its windowed dimension. The code generator moves data where the two disagree.
 */
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "neuron/hw/ext.h"
#include "pass.h"
#include "shifts.h"

#define NONE -1

/* How many read a value: all, of them slices of one row and concatenations; and along which
 * dimensions these are */
struct uses {
	unsigned int all, rows, joins;
	uint32_t axes;
};

struct layout {
	int *want; /* by id: the dimension that a user would like along the partitions */
	struct uses *uses; /* by id */
	struct ncc_op **line;
	unsigned int n;
};

static void wish(int *want, const struct ncc_op *op, int d)
{
	if (d >= 0 && want[op->id] == NONE && op->shape.dim[d] > 1)
		want[op->id] = d;
}

static int largest(const struct ncc_op *op, uint32_t not_these)
{
	int best = NONE;

	for (unsigned int d = 0; d < op->shape.ndim; d++)
		if (!(not_these >> d & 1) && (best < 0 || op->shape.dim[d] > op->shape.dim[best]))
			best = (int)d;
	return best;
}

static int through_broadcast(const struct ncc_op *op, int d)
{
	for (unsigned int i = 0; i < op->in[0]->shape.ndim; i++)
		if (op->map[i] == d)
			return (int)i;
	return NONE;
}

static int through_transpose(const struct ncc_op *op, int d)
{
	return op->map[d];
}

static int through_reduce(const struct ncc_op *op, int d)
{
	for (unsigned int i = 0; i < op->in[0]->shape.ndim; i++)
		if (!(op->mask >> i & 1) && d-- == 0)
			return (int)i;
	return NONE;
}

static int through_reshape(const struct ncc_op *op, int d)
{
	const struct ncc_shape *a = &op->in[0]->shape, *b = &op->shape;
	int64_t before = 1, seen = 1;

	for (int i = 0; i < d; i++)
		before *= b->dim[i];
	for (unsigned int i = 0; i < a->ndim; i++) {
		if (seen == before && a->dim[i] == b->dim[d])
			return (int)i;
		seen *= a->dim[i];
	}
	return NONE;
}

/* The operand's dimension that result dimension d is, or none */
static int through(const struct ncc_op *op, int d)
{
	static int (*const by_kind[NCC_KINDS])(const struct ncc_op *op, int d) = {
		[NCC_BROADCAST] = through_broadcast,
		[NCC_TRANSPOSE] = through_transpose,
		[NCC_REDUCE] = through_reduce,
		[NCC_RESHAPE] = through_reshape,
	};

	if (d < 0)
		return NONE;
	if (by_kind[op->kind])
		return by_kind[op->kind](op, d);
	return d < (int)op->in[0]->shape.ndim ? d : NONE;
}

/* The result's dimension that operand dimension d is, or none */
static int forward(const struct ncc_op *op, int d)
{
	for (unsigned int i = 0; i < op->shape.ndim; i++)
		if (d >= 0 && through(op, (int)i) == d)
			return (int)i;
	return NONE;
}

static int largest_of(const struct ncc_op *op, const uint8_t *dims, unsigned int n)
{
	int best = NONE;

	for (unsigned int i = 0; i < n; i++)
		if (best < 0 || op->shape.dim[dims[i]] > op->shape.dim[best])
			best = dims[i];
	return best;
}

static uint32_t windowed(const struct ncc_op *op)
{
	uint32_t mask = 0;

	for (unsigned int d = 0; op->kind == NCC_REDUCE_WINDOW && d < op->shape.ndim; d++)
		if (op->window[d].size > 1 || op->window[d].stride > 1)
			mask |= 1u << d;
	/* The part that a slice cuts out would have to move to other partitions. */
	for (unsigned int d = 0; op->kind == NCC_SLICE && d < op->shape.ndim; d++)
		if (op->shape.dim[d] != op->in[0]->shape.dim[d] &&
		    (op->start[d] % NEURON_PARTITIONS || op->stride[d] > 1))
			mask |= 1u << d;
	for (unsigned int d = 0; op->kind == NCC_PAD && d < op->shape.ndim; d++)
		if (op->low[d] || op->high[d] || op->interior[d])
			mask |= 1u << d;
	return mask;
}

static void wishes_of_dot(int *want, const struct ncc_op *op)
{
	wish(want, op->in[0], largest_of(op->in[0], op->dot->lhs_contract, op->dot->ncontract));
	wish(want, op->in[1], largest_of(op->in[1], op->dot->rhs_contract, op->dot->ncontract));
}

static void wishes_of_conv(int *want, const struct ncc_op *op)
{
	wish(want, op->in[0], op->conv->in_feature);
	wish(want, op->in[1], op->conv->k_in);
}

static void wishes_of_reduce(int *want, const struct ncc_op *op)
{
	int d = want[op->id];

	if (d < 0 && op->shape.ndim)
		d = largest(op, 0);
	d = op->shape.ndim ? through(op, d) : largest(op->in[0], 0);
	if (d >= 0 && op->in[0]->shape.dim[d] >= NEURON_PARTITIONS / 4)
		want[op->in[0]->id] = NONE; /* others can transpose it */
	wish(want, op->in[0], d);
}

/* A gather reads its table from DRAM and puts rows wherever they are wanted. */
static void wishes_of_gather(int *want, const struct ncc_op *op)
{
	(void)want;
	(void)op;
}

/* A scatter has everything in DRAM, with rows contiguous. */
static void wishes_of_scatter(int *want, const struct ncc_op *op)
{
	wish(want, op->in[0], 0);
	wish(want, op->in[2], 0);
}

/* Rows lie along the partitions, whole; their places too, unless all rows share them. */
static void wishes_of_lines(int *want, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++)
		wish(want, op->in[i], 0);
}

static void wishes_of_window(int *want, const struct ncc_op *op)
{
	int d = want[op->id];

	if (d >= 0 && windowed(op) >> d & 1)
		d = NONE;
	wish(want, op->in[0], d);
}

/* A custom operator takes all of them row-major, from DRAM; a seed is one word */
static void wishes_of_custom(int *want, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++)
		wish(want, op->in[i], NONE);
}

/* Records what an operation would like of its operands. */
static void wishes_of(int *want, const struct ncc_op *op)
{
	static void (*const by_kind[NCC_KINDS])(int *want, const struct ncc_op *op) = {
		[NCC_DOT] = wishes_of_dot,
		[NCC_CONV] = wishes_of_conv,
		[NCC_REDUCE] = wishes_of_reduce,
		[NCC_GATHER] = wishes_of_gather,
		[NCC_SCATTER] = wishes_of_scatter,
		[NCC_TAKE] = wishes_of_lines,
		[NCC_COMBINE] = wishes_of_lines,
		[NCC_ORDER] = wishes_of_lines,
		[NCC_CUSTOM] = wishes_of_custom,
		[NCC_KERNEL] = wishes_of_custom,
		[NCC_RANDOM] = wishes_of_custom,
		[NCC_PAD] = wishes_of_window,
		[NCC_REDUCE_WINDOW] = wishes_of_window,
	};

	if (by_kind[op->kind]) {
		by_kind[op->kind](want, op);
		return;
	}
	for (unsigned int i = 0; i < op->nin; i++)
		wish(want, op->in[i],
		     i && op->kind == NCC_RESHAPE ? NONE : through(op, want[op->id]));
}

/*
 * A product gives one of its free dimensions: the wish, or the one of the operand that is better
 * stationary.
 */
static int give_dot(const struct ncc_op *op, int d)
{
	unsigned int nb = op->dot->nbatch;
	int best = NONE;

	if (op->dot->neighbours) /* sparse weights are stationary */
		return (int)op->shape.ndim - 1;
	if (d >= (int)nb)
		return d;
	for (unsigned int i = nb; i < op->shape.ndim; i++)
		if (best < 0 || op->shape.dim[i] > op->shape.dim[best])
			best = (int)i;
	return best;
}

/*
 * If all operands of an element-wise operation or a slice lie in one way, its result does too:
 * otherwise they would have to be transposed.
 */
static int as_operands(const struct ncc_op *op, int d)
{
	int found = NONE;

	if (op->kind == NCC_CONVERT || (op->kind != NCC_SLICE && !ncc_is_elementwise(op->kind)))
		return d;
	for (unsigned int i = 0; i < op->nin; i++) {
		const struct ncc_op *in = op->in[i];

		if (in->kind == NCC_CONST || in->kind == NCC_PARAM || in->kind == NCC_BROADCAST)
			continue;
		if (in->pdim == d || (found >= 0 && in->pdim != found))
			return d;
		found = in->pdim;
	}
	return found >= 0 && op->shape.dim[found] >= NEURON_PARTITIONS / 4 ? found : d;
}

static int give_conv(const struct ncc_op *op, int d)
{
	(void)d;
	return op->conv->out_feature;
}

static int give_gather(const struct ncc_op *op, int d)
{
	(void)op;
	(void)d;
	return 0;
}

static int give_custom(const struct ncc_op *op, int d)
{
	(void)d;
	return op->shape.ndim ? 0 : NONE;
}

static int give_lines(const struct ncc_op *op, int d)
{
	(void)d;
	return op->shape.dim[0] > 1 ? 0 : NONE;
}

/* The dimension along the partitions that an operand has: a concatenation takes its largest one,
 * other operations the first that has one */
static int as_operand(const struct ncc_op *op)
{
	int64_t most = 0;
	int d = NONE;

	for (unsigned int i = 0; i < op->nin && (d < 0 || op->kind == NCC_CONCAT); i++) {
		const struct ncc_op *in = op->in[i];

		if (in->kind == NCC_CONST || in->kind == NCC_PARAM ||
		    (i && op->kind && in->shape.ndim != op->shape.ndim) ||
		    ncc_elems(&in->shape) <= most)
			continue;
		d = forward(op, in->pdim);
		most = op->kind == NCC_CONCAT ? ncc_elems(&in->shape) : 0;
	}
	return d;
}

/* Bytes of a row that goes to another partition as a whole */
#define LONG_ROW 256

/*
 * Pieces that are only put together again (as a roll does it) may lie as the whole: long rows of
 * them go to other partitions, which costs less than all elements that turn there and back.
 */
static uint32_t rolled(const struct layout *l, const struct ncc_op *op)
{
	const struct uses *u = &l->uses[op->id];
	uint32_t mask = 0;

	if (op->kind != NCC_SLICE || u->joins != u->all)
		return 0;
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		if (op->stride[d] == 1 &&
		    ncc_elems(&op->shape) / op->shape.dim[d] * ncc_dtype_size(op->shape.dtype) >=
			    LONG_ROW)
			mask |= 1u << d;
	return mask & u->axes;
}

/* Rows that are gathered together and read one by one: turned once, not each of them */
static bool turns_rows(const struct layout *l, const struct ncc_op *op, int d)
{
	const struct uses *u = &l->uses[op->id];

	return op->kind == NCC_GATHER && d == 1 && u->all > 1 && u->rows == u->all;
}

/* Chooses the dimension of an operation's result along the partitions; d: the wish */
static int give(const struct layout *l, const struct ncc_op *op, int d)
{
	static int (*const by_kind[NCC_KINDS])(const struct ncc_op *op, int d) = {
		[NCC_CONV] = give_conv,	     [NCC_DOT] = give_dot,	 [NCC_GATHER] = give_gather,
		[NCC_SCATTER] = give_gather, [NCC_TAKE] = give_lines,	 [NCC_COMBINE] = give_lines,
		[NCC_ORDER] = give_lines,    [NCC_CUSTOM] = give_custom, [NCC_KERNEL] = give_custom,
		[NCC_RANDOM] = give_lines,
	};
	uint32_t mask = windowed(op) & ~rolled(l, op);

	if (turns_rows(l, op, d))
		return d;
	if (by_kind[op->kind])
		return by_kind[op->kind](op, d);
	if (d < 0)
		d = as_operand(op);
	if (d >= 0 && !(mask >> d & 1) && op->shape.dim[d] > 1)
		return d;
	for (unsigned int i = 0; i < op->shape.ndim; i++) /* the first that fills the partitions */
		if (!(mask >> i & 1) && op->shape.dim[i] >= NEURON_PARTITIONS / 4)
			return (int)i;
	d = largest(op, mask);
	return d;
}

static void count_uses(struct layout *l, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct uses *u = &l->uses[op->in[i]->id];

		u->all++;
		u->joins += op->kind == NCC_CONCAT;
		u->rows += op->kind == NCC_SLICE && op->shape.dim[0] == 1;
		if (op->kind == NCC_CONCAT)
			u->axes |= 1u << op->axis;
	}
}

static void choose(struct layout *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		count_uses(l, l->line[i]);
	for (unsigned int i = l->n; i-- > 0;)
		wishes_of(l->want, l->line[i]);
	for (unsigned int i = 0; i < l->n; i++) {
		struct ncc_op *op = l->line[i];

		op->pdim = op->shape.ndim ? give(l, op, as_operands(op, l->want[i])) : NONE;
	}
}

int pass_layout(struct ncc_pass *p)
{
	struct layout l = {
		.want = malloc((p->m->nops + 1) * sizeof(*l.want)),
		.uses = calloc(p->m->nops + 1, sizeof(*l.uses)),
		.line = malloc((p->m->nops + 1) * sizeof(struct ncc_op *)),
	};
	int rc = l.want && l.uses && l.line ? 0 : -1;

	for (struct ncc_op *op = rc ? NULL : p->m->first; op; op = op->next) {
		l.want[l.n] = op->upright && op->shape.ndim && op->shape.dim[0] > 1 ? 0 : NONE;
		l.line[l.n++] = op;
	}
	if (!rc) {
		choose(&l);
		rc = shifts_avoid(l.line, l.n);
		rc = rc ? rc : lanes_choose(p->m, l.line, l.n, through);
	}
	free(l.want);
	free(l.uses);
	free(l.line);
	return rc ? ncc_no_memory(p->err) : 0;
}
