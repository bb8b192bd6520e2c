// SPDX-License-Identifier: MIT
/*
 * How operations go on with parts of arrays: one row for each kind, whose rule gives dimensions of
 * operands and results their factors (spmd.h). What a rule does not speak of is whole, which is
 * always right; of operations without a row all is. A rule believes nothing of the operation's
 * attributes: what makes no sense has no factor, and is refused when it becomes HLO.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spmd.h"

static int rule_elementwise(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->out[0].type);

	for (unsigned int d = 0; d < rank; d++) {
		const int f = spmd_new_factor(p, SPMD_NO_SUM);

		spmd_out(p, 0)[d] = (int8_t)f;
		for (size_t i = 0; i < op->nin; i++)
			if (op->in[i]->type->ndim == rank)
				spmd_in(p, i)[d] = (int8_t)f;
	}
	return 0;
}

/* A factor for each of the first n dimensions, but except, which operands and results all have */
static int leading(struct spmd *p, const struct mlir_op *op, unsigned int n, int64_t except)
{
	for (unsigned int d = 0; d < n; d++) {
		const int f = d == except ? -1 : spmd_new_factor(p, SPMD_NO_SUM);

		for (size_t i = 0; i < op->nin; i++)
			if (d < spmd_rank(op->in[i]->type))
				spmd_in(p, i)[d] = (int8_t)f;
		for (size_t i = 0; i < op->nout; i++)
			if (d < spmd_rank(op->out[i].type))
				spmd_out(p, i)[d] = (int8_t)f;
	}
	return 0;
}

static int rule_dimension(struct spmd *p, const struct mlir_op *op)
{
	return leading(p, op, spmd_rank(op->out[0].type), spmd_int_of(op, "dimension", 0));
}

/* All but the last two are a batch of matrices. */
static int rule_matrices(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->out[0].type);

	return leading(p, op, rank < 2 ? 0 : rank - 2, -1);
}

static int rule_fft(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->out[0].type);
	int64_t length[SPMD_MOST_RANK];
	const unsigned int n = spmd_list_of(op, "fft_length", length, SPMD_MOST_RANK);

	return leading(p, op, n && n < rank ? rank - n : 0, -1);
}

static int rule_bits(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int a = spmd_rank(op->in[0]->type), b = spmd_rank(op->out[0].type);

	return leading(p, op, a < b ? a : b, -1);
}

static int rule_composite(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_attr *name = mlir_attr_of(op, "name");
	const unsigned int rank = spmd_rank(op->out[0].type);

	if (name && name->text && !strcmp(name->text, "chlo.erf"))
		return rule_elementwise(p, op);
	return leading(p, op, rank ? rank - 1 : 0, -1);
}

static int rule_constant(struct spmd *p, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_of(op, "value");

	return a && a->kind == MLIR_DENSE && a->one ? rule_elementwise(p, op) : 0;
}

static int rule_iota(struct spmd *p, const struct mlir_op *op)
{
	return leading(p, op, spmd_rank(op->out[0].type), spmd_int_of(op, "iota_dimension", 0));
}

static int rule_transpose(struct spmd *p, const struct mlir_op *op)
{
	const unsigned int rank = spmd_rank(op->out[0].type);
	int64_t perm[SPMD_MOST_RANK];

	if (spmd_list_of(op, "permutation", perm, SPMD_MOST_RANK) != rank)
		return 0;
	for (unsigned int d = 0; d < rank; d++) {
		if (perm[d] < 0 || perm[d] >= rank)
			return 0;
		spmd_out(p, 0)[d] = spmd_in(p, 0)[perm[d]] =
			(int8_t)spmd_new_factor(p, SPMD_NO_SUM);
	}
	return 0;
}

static int rule_reverse(struct spmd *p, const struct mlir_op *op)
{
	int64_t dims[SPMD_MOST_RANK];
	const unsigned int n = spmd_list_of(op, "dimensions", dims, SPMD_MOST_RANK);
	int rc = rule_elementwise(p, op);

	for (unsigned int i = 0; i < n; i++)
		if (dims[i] >= 0 && dims[i] < SPMD_MOST_RANK)
			spmd_in(p, 0)[dims[i]] = spmd_out(p, 0)[dims[i]] = -1;
	return rc;
}

static const struct row {
	const char *name;
	spmd_rule rule;
} rows[] = {
	/* clang-format off */
	{ "abs", rule_elementwise },
	{ "add", rule_elementwise },
	{ "and", rule_elementwise },
	{ "atan2", rule_elementwise },
	{ "bitcast_convert", rule_bits },
	{ "broadcast_in_dim", spmd_rule_broadcast },
	{ "cbrt", rule_elementwise },
	{ "ceil", rule_elementwise },
	{ "cholesky", rule_matrices },
	{ "clamp", rule_elementwise },
	{ "compare", rule_elementwise },
	{ "complex", rule_elementwise },
	{ "composite", rule_composite },
	{ "concatenate", rule_dimension },
	{ "constant", rule_constant },
	{ "convert", rule_elementwise },
	{ "convolution", spmd_rule_convolution },
	{ "cosine", rule_elementwise },
	{ "count_leading_zeros", rule_elementwise },
	{ "divide", rule_elementwise },
	{ "dot", spmd_rule_dot_general },
	{ "dot_general", spmd_rule_dot_general },
	{ "dynamic_slice", spmd_rule_dynamic_slice },
	{ "dynamic_update_slice", spmd_rule_update },
	{ "exponential", rule_elementwise },
	{ "exponential_minus_one", rule_elementwise },
	{ "fft", rule_fft },
	{ "floor", rule_elementwise },
	{ "gather", spmd_rule_gather },
	{ "imag", rule_elementwise },
	{ "iota", rule_iota },
	{ "is_finite", rule_elementwise },
	{ "log", rule_elementwise },
	{ "log_plus_one", rule_elementwise },
	{ "logistic", rule_elementwise },
	{ "maximum", rule_elementwise },
	{ "minimum", rule_elementwise },
	{ "multiply", rule_elementwise },
	{ "negate", rule_elementwise },
	{ "not", rule_elementwise },
	{ "or", rule_elementwise },
	{ "pad", spmd_rule_pad },
	{ "popcnt", rule_elementwise },
	{ "power", rule_elementwise },
	{ "real", rule_elementwise },
	{ "reduce", spmd_rule_reduce },
	{ "reduce_precision", rule_elementwise },
	{ "reduce_window", spmd_rule_window },
	{ "remainder", rule_elementwise },
	{ "reshape", spmd_rule_reshape },
	{ "reverse", rule_reverse },
	{ "round_nearest_afz", rule_elementwise },
	{ "round_nearest_even", rule_elementwise },
	{ "rsqrt", rule_elementwise },
	{ "scatter", spmd_rule_scatter },
	{ "select", rule_elementwise },
	{ "select_and_scatter", spmd_rule_window },
	{ "shift_left", rule_elementwise },
	{ "shift_right_arithmetic", rule_elementwise },
	{ "shift_right_logical", rule_elementwise },
	{ "sign", rule_elementwise },
	{ "sine", rule_elementwise },
	{ "slice", spmd_rule_slice },
	{ "sort", rule_dimension },
	{ "sqrt", rule_elementwise },
	{ "subtract", rule_elementwise },
	{ "tan", rule_elementwise },
	{ "tanh", rule_elementwise },
	{ "transpose", rule_transpose },
	{ "triangular_solve", rule_matrices },
	{ "xor", rule_elementwise },
	/* clang-format on */
};

static int by_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct row *)row)->name);
}

static int make_room(struct spmd *p, size_t n)
{
	struct spmd_factors *f = &p->factors;

	f->n = 0;
	f->loose = false;
	if (n > f->room) {
		f->room = 2 * n;
		f->in = spmd_alloc(p, f->room, SPMD_MOST_RANK);
		f->out = spmd_alloc(p, f->room, SPMD_MOST_RANK);
	}
	if (!f->in || !f->out)
		return -ENOMEM;
	memset(f->in, -1, n * SPMD_MOST_RANK);
	memset(f->out, -1, n * SPMD_MOST_RANK);
	return 0;
}

/* Are dimensions of one factor of one size, and are there such dimensions at all? */
static bool agree(const struct mlir_type *t, const int8_t *map, int64_t *size, bool loose)
{
	const unsigned int rank = spmd_rank(t);

	for (unsigned int d = 0; d < SPMD_MOST_RANK; d++) {
		if (map[d] < 0)
			continue;
		if (d >= rank || (!loose && size[map[d]] >= 0 && size[map[d]] != t->dim[d]))
			return false;
		size[map[d]] = t->dim[d];
	}
	return true;
}

static void check(struct spmd *p, const struct mlir_op *op)
{
	const size_t n = op->nin > op->nout ? op->nin : op->nout;
	struct spmd_factors *f = &p->factors;
	int64_t size[SPMD_MOST_FACTORS];
	bool ok = true;

	memset(size, -1, sizeof(size));
	for (size_t i = 0; ok && i < op->nin; i++)
		ok = agree(op->in[i]->type, spmd_in(p, i), size, f->loose);
	for (size_t i = 0; ok && i < op->nout; i++)
		ok = agree(op->out[i].type, spmd_out(p, i), size, f->loose);
	if (ok)
		return;
	f->n = 0;
	memset(f->in, -1, n * SPMD_MOST_RANK);
	memset(f->out, -1, n * SPMD_MOST_RANK);
}

int spmd_factors_of(struct spmd *p, const struct mlir_op *op)
{
	const struct row *row =
		bsearch(op->name, rows, sizeof(rows) / sizeof(rows[0]), sizeof(rows[0]), by_name);
	const size_t n = op->nin > op->nout ? op->nin : op->nout;
	int rc = make_room(p, n + 1);

	if (rc || !row || !op->nout ||
	    (!op->nin && row->rule != rule_constant && row->rule != rule_iota))
		return rc;
	rc = row->rule(p, op);
	if (!rc)
		check(p, op);
	return rc;
}
