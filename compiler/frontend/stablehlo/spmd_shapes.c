// SPDX-License-Identifier: MIT
/* Rules (spmd_rules.c) of operations that move elements without looking at them */
#include "spmd.h"

int spmd_rule_broadcast(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_type *from = op->in[0]->type, *to = op->out[0].type;
	const unsigned int rank = spmd_rank(to);
	int64_t dims[SPMD_MOST_RANK];
	const unsigned int n = spmd_list_of(op, "broadcast_dimensions", dims, SPMD_MOST_RANK);

	if (n != spmd_rank(from))
		return 0;
	for (unsigned int d = 0; d < rank; d++)
		spmd_out(p, 0)[d] = (int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	for (unsigned int i = 0; i < n; i++)
		if (dims[i] >= 0 && dims[i] < rank && from->dim[i] == to->dim[dims[i]])
			spmd_in(p, 0)[i] = spmd_out(p, 0)[dims[i]];
	return 0;
}

/* The first dimension of more than one element among [from, to); to: there is none */
static unsigned int first_of(const struct mlir_type *t, unsigned int from, unsigned int to)
{
	while (from < to && t->dim[from] == 1)
		from++;
	return from;
}

/*
 * Dimensions fall into groups of as many elements on both sides. The slowest of a group may be
 * divided on both: so many rows of one side are so many of the other.
 */
int spmd_rule_reshape(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_type *a = op->in[0]->type, *b = op->out[0].type;
	const unsigned int na = spmd_rank(a), nb = spmd_rank(b);
	unsigned int i = 0, k = 0;

	if (mlir_elems(a) <= 0 || mlir_elems(a) != mlir_elems(b))
		return 0;
	p->factors.loose = true;
	while (i < na && k < nb) {
		const unsigned int i0 = i, k0 = k;
		int64_t x = a->dim[i++], y = b->dim[k++];

		while (x != y && (x < y ? i < na : k < nb))
			if (x < y)
				x *= a->dim[i++];
			else
				y *= b->dim[k++];
		if (x != y)
			return 0;
		if (first_of(a, i0, i) < i && first_of(b, k0, k) < k)
			spmd_in(p, 0)[first_of(a, i0, i)] = spmd_out(p, 0)[first_of(b, k0, k)] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	}
	return 0;
}

int spmd_rule_slice(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_type *t = op->in[0]->type;
	const unsigned int rank = spmd_rank(t);
	int64_t start[SPMD_MOST_RANK], limit[SPMD_MOST_RANK], stride[SPMD_MOST_RANK];

	if (spmd_list_of(op, "start_indices", start, SPMD_MOST_RANK) != rank ||
	    spmd_list_of(op, "limit_indices", limit, SPMD_MOST_RANK) != rank ||
	    spmd_list_of(op, "strides", stride, SPMD_MOST_RANK) != rank)
		return 0;
	for (unsigned int d = 0; d < rank; d++)
		if (!start[d] && limit[d] == t->dim[d] && stride[d] == 1)
			spmd_in(p, 0)[d] = spmd_out(p, 0)[d] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	return 0;
}

/* A dimension that is taken whole starts nowhere but at 0. */
int spmd_rule_dynamic_slice(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_type *from = op->in[0]->type, *to = op->out[0].type;
	const unsigned int rank = spmd_rank(from);

	if (spmd_rank(to) != rank)
		return 0;
	for (unsigned int d = 0; d < rank; d++)
		if (from->dim[d] == to->dim[d])
			spmd_in(p, 0)[d] = spmd_out(p, 0)[d] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	return 0;
}

int spmd_rule_update(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_type *to = op->out[0].type, *update;
	const unsigned int rank = spmd_rank(to);

	if (op->nin < 2)
		return 0;
	update = op->in[1]->type;
	if (spmd_rank(op->in[0]->type) != rank || spmd_rank(update) != rank)
		return 0;
	for (unsigned int d = 0; d < rank; d++)
		if (update->dim[d] == to->dim[d])
			spmd_in(p, 0)[d] = spmd_in(p, 1)[d] = spmd_out(p, 0)[d] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	return 0;
}

int spmd_rule_pad(struct spmd *p, const struct mlir_op *op)
{
	static const char *const names[] = { "edge_padding_low", "edge_padding_high",
					     "interior_padding" };
	const unsigned int rank = spmd_rank(op->out[0].type);
	int64_t v[3][SPMD_MOST_RANK];

	for (unsigned int i = 0; i < 3; i++)
		if (spmd_list_of(op, names[i], v[i], SPMD_MOST_RANK) != rank)
			return 0;
	if (spmd_rank(op->in[0]->type) != rank)
		return 0;
	for (unsigned int d = 0; d < rank; d++)
		if (!v[0][d] && !v[1][d] && !v[2][d])
			spmd_in(p, 0)[d] = spmd_out(p, 0)[d] =
				(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	return 0;
}

/* Is one of a list of numbers, of which there may be none, other than 1? */
static bool is_not_one(const struct mlir_op *op, const char *name, unsigned int d)
{
	int64_t v[SPMD_MOST_RANK];
	const unsigned int n = spmd_list_of(op, name, v, SPMD_MOST_RANK);

	return d < n && v[d] != 1;
}

/* Windows of one element, one for each */
int spmd_rule_window(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->out[0].type);
	int64_t window[SPMD_MOST_RANK], padding[2 * SPMD_MOST_RANK];
	const unsigned int npad = spmd_list_of(op, "padding", padding, 2 * SPMD_MOST_RANK);

	if (spmd_list_of(op, "window_dimensions", window, SPMD_MOST_RANK) != rank ||
	    (npad && npad != 2 * rank))
		return 0;
	for (unsigned int d = 0; d < rank; d++) {
		int f;

		if (window[d] != 1 || is_not_one(op, "window_strides", d) ||
		    is_not_one(op, "base_dilations", d) || is_not_one(op, "window_dilations", d) ||
		    (npad && (padding[2 * d] || padding[2 * d + 1])))
			continue;
		f = spmd_new_factor(p, SPMD_NO_SUM);
		for (size_t i = 0; i < op->nin; i++)
			if (spmd_rank(op->in[i]->type) == rank)
				spmd_in(p, i)[d] = (int8_t)f;
		for (size_t i = 0; i < op->nout; i++)
			spmd_out(p, i)[d] = (int8_t)f;
	}
	return 0;
}
