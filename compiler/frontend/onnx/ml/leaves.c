// SPDX-License-Identifier: MIT
/*
 * Which leaf of each tree a row reaches, in three steps that are products of small integers, exact
 * in bf16 and fp32. A column is what comparisons of one feature in one mode have in common: of its
 * values, count those for which the comparison holds. A comparison holds if that number is large
 * enough, whichever its value is; a product chooses it for every comparison, less what it has to
 * exceed. Leaves are cut into blocks, in the order of the trees, with all comparisons on their
 * paths, a leaf that several ways lead to once for each; a second product counts for each leaf those
 * that hold as they have to (1: holds, -1: does not), less all but one of those that have to hold,
 * so that it is 1 for a leaf that is reached and at most 0 for others. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define BLOCK 128 /* comparisons, with one that always holds, and leaves of a block */
#define MOST_PATHS (1 << 26) /* numbers of all blocks */
#define DIGIT 256 /* numbers up to it are exact in bf16 */
#define MOST_DIGITS 3
#define MOST_WAYS (1 << 20)

static const enum ncc_kind kind_of[MODES] = {
	[MODE_LEQ] = NCC_LE, [MODE_LT] = NCC_LT, [MODE_GTE] = NCC_GE,
	[MODE_GT] = NCC_GT,  [MODE_EQ] = NCC_EQ, [MODE_NEQ] = NCC_NE,
};

/* Has each value a column of its own? */
static bool is_alone(const struct tree_node *x)
{
	return x->mode == MODE_EQ || x->mode == MODE_NEQ;
}

static bool same_group(const struct tree_node *a, const struct tree_node *b)
{
	return a->mode == b->mode && a->missing_is_true == b->missing_is_true;
}

static bool same_column(const struct tree_node *a, const struct tree_node *b)
{
	return same_group(a, b) && a->feature == b->feature &&
	       (!is_alone(a) || a->value == b->value);
}

/* Orders comparisons by group, feature and value; NaN comes last. */
static int by_column(const void *a, const void *b)
{
	const struct tree_node *x = *(struct tree_node *const *)a,
			       *y = *(struct tree_node *const *)b;

	if (x->mode != y->mode)
		return x->mode < y->mode ? -1 : 1;
	if (x->missing_is_true != y->missing_is_true)
		return x->missing_is_true ? 1 : -1;
	if (x->feature != y->feature)
		return x->feature < y->feature ? -1 : 1;
	if (isnan(x->value) || isnan(y->value))
		return !!isnan(x->value) - !!isnan(y->value);
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Numbers the columns, and in each the values from 1 on; 0 is NaN, for which no order holds. */
static int find_columns(struct onnx_node *n, struct forest *f)
{
	f->compare = calloc(f->n, sizeof(struct tree_node *));
	f->size = calloc(f->n, sizeof(*f->size));
	if (!f->compare || !f->size)
		return onnx_fail(n, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < f->n; i++)
		if (f->node[i].mode)
			f->compare[f->ncompares++] = &f->node[i];
	if (f->ncompares)
		qsort(f->compare, f->ncompares, sizeof(struct tree_node *), by_column);
	for (unsigned int i = 0; i < f->ncompares; i++) {
		struct tree_node *x = f->compare[i], *before = i ? f->compare[i - 1] : NULL;
		bool first = !before || !same_column(before, x);

		f->ncolumns += first;
		x->column = f->ncolumns - 1;
		if (isnan(x->value) && !is_alone(x))
			continue;
		f->size[x->column] += first || before->value != x->value;
		x->rank = f->size[x->column];
	}
	return 0;
}

/* If x's comparison holds for its own value: for how many values of its column does it hold at
 * least? */
static unsigned int needed(const struct forest *f, const struct tree_node *x)
{
	unsigned int size = f->size[x->column];

	if (!x->rank)
		return size + 1;
	return x->mode == MODE_LEQ || x->mode == MODE_LT ? size - x->rank + 1 : x->rank;
}

/* The columns of one mode */
struct columns {
	unsigned int from, to; /* of the comparisons */
	unsigned int first, n;
	unsigned int most; /* values of a column */
};

static struct columns columns_at(const struct forest *f, unsigned int from)
{
	struct columns c = { .from = from, .to = from, .first = f->compare[from]->column };

	while (c.to < f->ncompares && same_group(f->compare[from], f->compare[c.to]))
		c.to++;
	c.n = f->compare[c.to - 1]->column + 1 - c.first;
	for (unsigned int i = c.first; i < c.first + c.n; i++)
		c.most = f->size[i] > c.most ? f->size[i] : c.most;
	return c;
}

/* [rows, columns]: the features of columns */
static onnx_op features_of(struct onnx_node *n, const struct forest *f, const struct columns *c,
			   onnx_op x)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { c->n } };
	onnx_op of = ox_data(n, &s);
	bool all = c->n == f->features;

	for (unsigned int i = c->from; of && i < c->to; i++) {
		const struct tree_node *y = f->compare[i];

		ncc_set(s.dtype, of->data, y->column - c->first, (double)y->feature);
		all = all && y->feature == y->column - c->first;
	}
	return all ? x : ox_take(n, x, of, 1);
}

/* [columns, most]: their values; for others, which are NaN, nothing holds */
static onnx_op values_of(struct onnx_node *n, const struct forest *f, const struct columns *c)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { c->n, c->most } };
	onnx_op v = ox_data(n, &s);

	for (int64_t i = 0; v && i < ncc_elems(&s); i++)
		ncc_set(s.dtype, v->data, i, NAN);
	for (unsigned int i = c->from; v && i < c->to; i++) {
		const struct tree_node *y = f->compare[i];

		if (y->rank)
			ncc_set(s.dtype, v->data,
				(int64_t)(y->column - c->first) * c->most + y->rank - 1,
				(double)y->value);
	}
	return v;
}

/* [rows, columns]: for how many of a column's values the comparison holds */
static onnx_op count_columns(struct onnx_node *n, const struct forest *f, struct columns *c,
			     onnx_op x)
{
	const struct tree_node *of = f->compare[c->from];
	int64_t dim[3] = { x->shape.dim[0], c->n, 1 };
	onnx_op r, nan;

	c->most = c->most ? c->most : 1; /* of NaN alone */
	x = features_of(n, f, c, x);
	r = ox_bin(n, kind_of[of->mode], ox_reshape(n, x, 3, dim), values_of(n, f, c));
	r = r ? ox_reduce(n, ox_f32(n, r), NCC_ADD, 1u << 2, false) : NULL;
	if (!of->missing_is_true)
		return r;
	nan = ox_f32(n, ox_bin(n, NCC_NE, x, x));
	return ox_bin(n, NCC_ADD, r, ox_binc(n, NCC_MUL, nan, c->most + 1));
}

/* The number of digits of a row's numbers */
static unsigned int digits_of(const struct forest *f)
{
	unsigned int most = 0, digits = 1;

	for (unsigned int i = 0; i < f->ncolumns; i++)
		most = f->size[i] > most ? f->size[i] : most;
	for (most += 2; most > DIGIT; most /= DIGIT)
		digits++;
	return digits;
}

/* [columns * digits + digits, rows] of bf16: each column's count, by digits, and ones */
static onnx_op count_all(struct onnx_node *n, const struct forest *f, onnx_op x)
{
	const unsigned int digits = digits_of(f);
	const struct ncc_shape one = { .dtype = NEURON_DT_FP32 };
	const uint8_t map[2] = { 1, 0 };
	int64_t dim[2] = { x->shape.dim[0], digits };
	onnx_op part[MODES * 2], all, row[MOST_DIGITS + 1];
	unsigned int nparts = 0;

	for (unsigned int i = 0; i < f->ncompares;) {
		struct columns c = columns_at(f, i);

		part[nparts++] = count_columns(n, f, &c, x);
		i = c.to;
	}
	row[digits] = ox_expand(n, ox_scalar(n, &one, 1), 2, dim);
	all = nparts && !n->rc ? ox_concat(n, part, nparts, 1) : NULL;
	for (unsigned int i = digits; all && i-- > 0;) {
		double whole = 0x1.8p23 * pow(DIGIT, i); /* rounds to multiples of DIGIT^i */

		row[i] = i ? ox_binc(n, NCC_SUB, ox_binc(n, NCC_ADD, all, whole), whole) : all;
		all = ox_bin(n, NCC_SUB, all, row[i]);
	}
	if (n->rc)
		return NULL;
	all = nparts ? ox_concat(n, row, digits + 1, 1) : row[digits];
	return ox_transpose(n, ox_cast(n, all, NEURON_DT_BF16, false), map);
}

/*
 * The numbers by which a row's are multiplied for a comparison, see count_all(): above 0 if it
 * holds
 */
static void choose(const struct forest *f, const struct tree_node *x)
{
	const unsigned int digits = digits_of(f);
	const size_t each = (size_t)f->most_blocks * f->compares;
	float *chosen = f->chosen + (size_t)(f->nblocks - 1) * f->compares + x->place;
	double left = needed(f, x) - 1.0;

	for (const struct tree_node *y = x; y; y = y->also ? &f->node[y->also] : NULL) {
		/* One of a set has to be the value, or all have to be others. */
		left += y != x && y->mode == MODE_NEQ && !chosen[y->column * each];
		for (unsigned int i = 0; i < digits; i++)
			chosen[(i * f->ncolumns + y->column) * each] = 1;
	}
	for (unsigned int i = digits; i-- > 0;) {
		double digit = i ? nearbyint(left / pow(DIGIT, i)) * pow(DIGIT, i) : left;

		chosen[(digits * f->ncolumns + i) * each] = (float)-digit;
		left -= digit;
	}
}

static size_t numbers_of_row(const struct forest *f)
{
	return (size_t)(f->ncolumns + 1) * digits_of(f);
}

/* Cuts blocks: the comparisons and leaves of the last one */
struct cut {
	unsigned int compares, leaves;
};

static float *path_at(const struct forest *f, unsigned int place, const struct tree_way *to)
{
	return f->paths + ((size_t)place * f->most_blocks + to->block - 1) * f->leaves + to->place;
}

/* One more way to a leaf; the second walk finds those of the first */
static struct tree_way *way_to(struct onnx_node *n, struct forest *f, struct tree_node *leaf)
{
	struct tree_way *more = f->way;

	if (f->nways == MOST_WAYS) {
		onnx_fail(n, -EFBIG, "more than %d ways to leaves", MOST_WAYS);
		return NULL;
	}
	if (!f->paths && !(f->nways & (f->nways - 1)))
		more = realloc(more, (f->nways ? 2 * (size_t)f->nways : 1) * sizeof(*more));
	if (!more) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return NULL;
	}
	f->way = more;
	more += f->nways++;
	if (!f->paths) {
		more->next = leaf->ways;
		leaf->ways = f->nways;
	}
	return more;
}

/* Puts a leaf into the last block, or into a new one if there is no room. */
static void put_leaf(struct onnx_node *n, struct forest *f, struct cut *c,
		     const unsigned int *which, const bool *hold, unsigned int depth)
{
	struct tree_way *leaf = way_to(n, f, &f->node[which[depth]]);
	unsigned int more = 0, held = 0;

	if (!leaf)
		return;

	for (unsigned int i = 0; i < depth; i++)
		more += f->node[which[i]].block != f->nblocks;
	if (!f->nblocks || c->leaves == BLOCK || (c->leaves && c->compares + more >= BLOCK)) {
		f->nblocks++;
		*c = (struct cut){ 0 };
	}
	leaf->block = f->nblocks;
	leaf->place = c->leaves++;
	for (unsigned int i = 0; i < depth; i++) {
		struct tree_node *x = &f->node[which[i]];

		if (x->block != f->nblocks) {
			x->block = f->nblocks;
			x->place = c->compares++;
			if (f->paths)
				choose(f, x);
		}
		if (f->paths)
			*path_at(f, x->place, leaf) = hold[i] ? 1 : -1;
		held += hold[i];
	}
	if (f->paths) {
		*path_at(f, f->compares - 1, leaf) = 1 - (float)held;
		return;
	}
	f->compares = c->compares + 1 > f->compares ? c->compares + 1 : f->compares;
	f->leaves = c->leaves > f->leaves ? c->leaves : f->leaves;
}

/* The node behind x if it holds or does not, behind all that ask for more values */
static unsigned int next_of(const struct forest *f, const struct tree_node *x, bool holds)
{
	const struct tree_node *last = x;

	while (last->also)
		last = &f->node[last->also];
	if (x->mode == MODE_EQ)
		return holds ? x->yes : last->no;
	return holds ? last->yes : x->no;
}

/* Walks from a root to every leaf: which[] are the nodes above, hold[] whether they must hold */
static int walk(struct onnx_node *n, struct forest *f, struct cut *c, unsigned int root)
{
	unsigned int which[MOST_DEPTH + 1], depth = 0;
	bool hold[MOST_DEPTH + 1];

	which[0] = root;
	while (!n->rc) {
		struct tree_node *x = &f->node[which[depth]];

		if (x->mode) {
			hold[depth] = true;
			if (depth == MOST_DEPTH)
				return onnx_fail(n, -ENOTSUP, "a tree is deeper than %d",
						 MOST_DEPTH);
			which[++depth] = next_of(f, x, true);
			continue;
		}
		put_leaf(n, f, c, which, hold, depth);
		while (depth && !hold[depth - 1])
			depth--;
		if (!depth)
			return n->rc;
		hold[depth - 1] = false;
		which[depth] = next_of(f, &f->node[which[depth - 1]], false);
	}
	return n->rc;
}

static int walk_all(struct onnx_node *n, struct forest *f)
{
	struct cut c = { 0 };

	f->nblocks = 0;
	f->nways = 0;
	for (unsigned int i = 0; i < f->n; i++) {
		f->node[i].block = 0;
		f->node[i].place = 0;
	}
	for (unsigned int i = 0; i < f->n && !n->rc; i++) /* a tree's root is its first node */
		if (!i || f->node[i].tree != f->node[i - 1].tree)
			walk(n, f, &c, i);
	return n->rc;
}

/* The first walk finds how many blocks there are and what they have, the second fills them. */
static int make_blocks(struct onnx_node *n, struct forest *f)
{
	size_t compares;

	if (find_columns(n, f) || walk_all(n, f))
		return n->rc;
	f->most_blocks = f->nblocks;
	compares = (size_t)f->nblocks * f->compares;
	if (compares * f->leaves > MOST_PATHS || compares * numbers_of_row(f) > MOST_PATHS)
		return onnx_fail(n, -EFBIG,
				 "too large: %u blocks of up to %u comparisons and %u leaves",
				 f->nblocks, f->compares, f->leaves);
	f->paths = calloc(compares * f->leaves, sizeof(*f->paths));
	f->chosen = calloc(compares * numbers_of_row(f), sizeof(*f->chosen));
	if (!f->paths || !f->chosen)
		return onnx_fail(n, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < f->nblocks; i++)
		f->chosen[(digits_of(f) * f->ncolumns * (size_t)f->nblocks + i + 1) * f->compares -
			  1] = 1;
	return walk_all(n, f);
}

static onnx_op bf16_constant(struct onnx_node *n, unsigned int ndim, const int64_t *dim,
			     const float *v)
{
	struct ncc_shape s = { .dtype = NEURON_DT_BF16, .ndim = ndim };
	onnx_op c;

	memcpy(s.dim, dim, ndim * sizeof(*dim));
	c = ox_data(n, &s);
	for (int64_t i = 0; c && i < ncc_elems(&s); i++)
		ncc_set(s.dtype, c->data, i, (double)v[i]);
	return c;
}

onnx_op ml_leaves(struct onnx_node *n, struct forest *f, onnx_op x)
{
	const struct ncc_dot choice = { .ncontract = 1,
					.lhs_contract = { 0 },
					.rhs_contract = { 0 } },
			     path = { .nbatch = 1,
				      .ncontract = 1,
				      .lhs_batch = { 1 },
				      .rhs_batch = { 0 },
				      .lhs_contract = { 0 },
				      .rhs_contract = { 1 } };
	int64_t dim[3];
	onnx_op r;

	if (make_blocks(n, f))
		return NULL;
	memcpy(dim, (int64_t[]){ (int64_t)numbers_of_row(f), f->nblocks, f->compares },
	       sizeof(dim));
	r = ox_dot(n, bf16_constant(n, 3, dim, f->chosen), count_all(n, f, x), &choice,
		   NEURON_DT_FP32);
	r = r ? ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, ox_f32(n, r), 0), 1) : NULL;
	memcpy(dim, (int64_t[]){ f->compares, f->nblocks, f->leaves }, sizeof(dim));
	r = ox_dot(n, bf16_constant(n, 3, dim, f->paths), ox_cast(n, r, NEURON_DT_BF16, false),
		   &path, NEURON_DT_FP32);
	r = r ? ox_binc(n, NCC_MAX, ox_f32(n, r), 0) : NULL;
	return ox_cast(n, r, NEURON_DT_BF16, false);
}
