// SPDX-License-Identifier: MIT
/* Rules (spmd_rules.c) of products and reductions, whose parts are summed, and of indexing */
#include <string.h>

#include "spmd.h"

/* A list of dimensions among an operation's attributes */
struct dims {
	unsigned int n;
	int64_t d[SPMD_MOST_RANK];
};

static struct dims dims_of(const struct mlir_op *op, const char *name)
{
	struct dims l;

	l.n = spmd_list_of(op, name, l.d, SPMD_MOST_RANK);
	return l;
}

/* The place of a dimension in the list; -1: nowhere */
static int find(const struct dims *l, unsigned int d)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->d[i] == d)
			return (int)i;
	return -1;
}

static bool in_range(const struct dims *l, unsigned int rank)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->d[i] < 0 || l->d[i] >= rank)
			return false;
	return true;
}

int spmd_rule_reduce(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->in[0]->type);
	const struct dims reduced = dims_of(op, "dimensions");
	enum spmd_sum sum = SPMD_NO_SUM;
	unsigned int to = 0;

	if (op->nin != 2 * op->nout || !in_range(&reduced, rank))
		return 0;
	if (op->nout == 1 && spmd_sum_of(op, &sum) && !spmd_neutral(op->in[1], sum))
		sum = SPMD_NO_SUM;
	for (unsigned int d = 0; d < rank; d++) {
		const bool kept = find(&reduced, d) < 0;
		const int f = kept || sum ? spmd_new_factor(p, kept ? SPMD_NO_SUM : sum) : -1;

		for (size_t i = 0; i < op->nout; i++) {
			spmd_in(p, i)[d] = (int8_t)f;
			if (kept && to < SPMD_MOST_RANK)
				spmd_out(p, i)[to] = (int8_t)f;
		}
		to += kept;
	}
	return 0;
}

int spmd_rule_dot_general(struct spmd *p, const struct mlir_op *op)
{
	struct dims batch[2] = { dims_of(op, "lhs_batching_dimensions"), dims_of(op, "rhs_batching_"
										     "dimension"
										     "s") };
	struct dims summed[2] = { dims_of(op, "lhs_contracting_dimensions"), dims_of(op, "rhs_"
											 "contracti"
											 "ng_"
											 "dimension"
											 "s") };
	unsigned int rank[2], to = 0;

	if (op->nin != 2)
		return 0;
	for (unsigned int k = 0; k < 2; k++)
		rank[k] = spmd_rank(op->in[k]->type);
	if (!strcmp(op->name, "dot") && rank[0] && rank[1]) {
		summed[0] = (struct dims){ 1, { (int64_t)rank[0] - 1 } };
		summed[1] = (struct dims){ 1, { 0 } };
	}
	if (batch[0].n != batch[1].n || summed[0].n != summed[1].n ||
	    !in_range(&batch[0], rank[0]) || !in_range(&batch[1], rank[1]) ||
	    !in_range(&summed[0], rank[0]) || !in_range(&summed[1], rank[1]))
		return 0;
	for (unsigned int i = 0; i < summed[0].n; i++)
		spmd_in(p, 0)[summed[0].d[i]] = spmd_in(p, 1)[summed[1].d[i]] =
			(int8_t)spmd_new_factor(p, SPMD_ADD);
	for (unsigned int i = 0; i < batch[0].n && to < SPMD_MOST_RANK; i++)
		spmd_in(p, 0)[batch[0].d[i]] = spmd_in(p, 1)[batch[1].d[i]] = spmd_out(p, 0)[to++] =
			(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	for (unsigned int k = 0; k < 2; k++)
		for (unsigned int d = 0; d < rank[k] && to < SPMD_MOST_RANK; d++)
			if (find(&batch[k], d) < 0 && find(&summed[k], d) < 0)
				spmd_in(p, k)[d] = spmd_out(p, 0)[to++] =
					(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	return 0;
}

/* Sets one factor on a dimension of each of the three; -1: not on this one */
static void conv_factor(struct spmd *p, const struct mlir_op *op, enum spmd_sum sum,
			const int64_t *dim)
{
	const int f = spmd_new_factor(p, sum);

	for (unsigned int k = 0; k < 3; k++)
		if (dim[k] >= 0 && dim[k] < spmd_rank(k == 2 ? op->out[0].type : op->in[k]->type))
			(k == 2 ? spmd_out(p, 0) : spmd_in(p, k))[dim[k]] = (int8_t)f;
}

/* Divides a convolution without groups, not along its pixels */
int spmd_rule_convolution(struct spmd *p, const struct mlir_op *op)
{
	const int64_t batch = spmd_int_of(op, "input_batch_dimension", -1);
	const int64_t in = spmd_int_of(op, "input_feature_dimension", -1);
	const int64_t k_in = spmd_int_of(op, "kernel_input_feature_dimension", -1);
	const int64_t k_out = spmd_int_of(op, "kernel_output_feature_dimension", -1);
	const int64_t out_batch = spmd_int_of(op, "output_batch_dimension", -1);
	const int64_t out = spmd_int_of(op, "output_feature_dimension", -1);

	if (op->nin != 2 || spmd_int_of(op, "batch_group_count", 1) != 1)
		return 0;
	conv_factor(p, op, SPMD_NO_SUM, (const int64_t[]){ batch, -1, out_batch });
	if (spmd_int_of(op, "feature_group_count", 1) != 1)
		return 0;
	conv_factor(p, op, SPMD_NO_SUM, (const int64_t[]){ -1, k_out, out });
	conv_factor(p, op, SPMD_ADD, (const int64_t[]){ in, k_in, -1 });
	return 0;
}

/* Dimensions of a value that are in neither list, in order */
static struct dims others(unsigned int rank, const struct dims *a, const struct dims *b)
{
	struct dims l = { 0 };

	for (unsigned int d = 0; d < rank; d++)
		if (find(a, d) < 0 && (!b || find(b, d) < 0))
			l.d[l.n++] = d;
	return l;
}

/* The common parts of gather and scatter: operand (in 0), indices (in 1) and slices */
struct indexing {
	unsigned int rank, nindex, nslice;
	const struct mlir_type *operand, *slice;
	struct dims window, batch, index_batch, left_out, index;
	int64_t vector; /* the dimension of the indices that has the parts of one */
	int8_t *of_slice;
	bool scatter;
};

/* Dimensions of the indices, each with that of the slices, and the operand's if it is in a batch */
static void batches(struct spmd *p, struct indexing *x, enum spmd_sum sum)
{
	const struct dims to = others(x->nslice, &x->window, NULL);
	unsigned int n = 0;

	for (unsigned int d = 0; d < x->nindex; d++) {
		const int b = find(&x->index_batch, d);
		int f;

		if (d == x->vector)
			continue;
		f = b < 0 && sum == SPMD_NO_SUM && x->scatter
			    ? -1
			    : spmd_new_factor(p, b < 0 ? sum : SPMD_NO_SUM);
		spmd_in(p, 1)[d] = (int8_t)f;
		if (n < to.n)
			x->of_slice[to.d[n++]] = (int8_t)f;
		if (b >= 0 && b < (int)x->batch.n)
			spmd_in(p, 0)[x->batch.d[b]] = (int8_t)f;
	}
}

/* Dimensions of which a slice has all: their index is nothing but 0 */
static void windows(struct spmd *p, struct indexing *x)
{
	const struct dims of = others(x->rank, &x->left_out, &x->batch);

	for (unsigned int i = 0; i < of.n && i < x->window.n; i++)
		if (x->operand->dim[of.d[i]] == x->slice->dim[x->window.d[i]])
			spmd_in(p, 0)[of.d[i]] = x->of_slice[x->window.d[i]] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
}

static bool is_sound(const struct indexing *x)
{
	return in_range(&x->window, x->nslice) && in_range(&x->batch, x->rank) &&
	       in_range(&x->index_batch, x->nindex) && in_range(&x->left_out, x->rank) &&
	       x->batch.n == x->index_batch.n &&
	       others(x->rank, &x->left_out, &x->batch).n == x->window.n;
}

int spmd_rule_gather(struct spmd *p, const struct mlir_op *op)
{
	struct indexing x = { .window = dims_of(op, "offset_dims"),
			      .batch = dims_of(op, "operand_batching_dims"),
			      .index_batch = dims_of(op, "start_indices_batching_dims"),
			      .left_out = dims_of(op, "collapsed_slice_dims"),
			      .vector = spmd_int_of(op, "index_vector_dim", -1) };

	if (op->nin != 2)
		return 0;
	x.operand = op->in[0]->type;
	x.slice = op->out[0].type;
	x.rank = spmd_rank(x.operand);
	x.nindex = spmd_rank(op->in[1]->type);
	x.nslice = spmd_rank(x.slice);
	x.of_slice = spmd_out(p, 0);
	if (!is_sound(&x))
		return 0;
	batches(p, &x, SPMD_NO_SUM);
	windows(p, &x);
	return 0;
}

/*
 * Where indices are divided each device adds the slices that it has to a copy of the operand, which
 * adds nothing of its own.
 */
int spmd_rule_scatter(struct spmd *p, const struct mlir_op *op)
{
	struct indexing x = { .window = dims_of(op, "update_window_dims"),
			      .batch = dims_of(op, "input_batching_dims"),
			      .index_batch = dims_of(op, "scatter_indices_batching_dims"),
			      .left_out = dims_of(op, "inserted_window_dims"),
			      .scatter = true,
			      .vector = spmd_int_of(op, "index_vector_dim", -1) };
	enum spmd_sum sum = SPMD_NO_SUM;

	if (op->nin != 3)
		return 0;
	x.operand = op->in[0]->type;
	x.slice = op->in[2]->type;
	x.rank = spmd_rank(x.operand);
	x.nindex = spmd_rank(op->in[1]->type);
	x.nslice = spmd_rank(x.slice);
	x.of_slice = spmd_in(p, 2);
	if (!is_sound(&x))
		return 0;
	if (spmd_sum_of(op, &sum) && !spmd_neutral(op->in[0], sum))
		sum = SPMD_NO_SUM;
	batches(p, &x, sum);
	windows(p, &x);
	memcpy(spmd_out(p, 0), spmd_in(p, 0), SPMD_MOST_RANK);
	return 0;
}
