// SPDX-License-Identifier: MIT
/*
 * Extremes of floats in blocks of rows, each along the partitions, and of updates, which are there
 * in every partition: what is chosen never leaves SBUF. Called by updates.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "ir/range.h"
#include "neuron/hw/ext.h"
#include "updates.h"

#define EXACT (1ll << 24) /* whole numbers up to it are fp32 */
#define MOST_TOGETHER 4096 /* updates of which extremes are found at one time */
#define MOST_BLOCKS 2048 /* of rows and updates, and columns of them */

static int64_t rows_of(const struct scatter *s)
{
	return s->x[0]->shape.dim[1];
}

static int64_t columns_of(const struct scatter *s)
{
	return s->x[0]->shape.dim[2];
}

struct ncc_op *updates_numbers(const struct scatter *s, struct ncc_op *row)
{
	return rows_of(s) <= EXACT ? build_cast(s->bl, row, NEURON_DT_FP32) : row;
}

struct blocks {
	struct ncc_op *update; /* fp32[shared * columns, slices] */
	struct ncc_op *row; /* fp32[shared, slices]: which one each hits */
	struct ncc_op *number; /* fp32[shared, n] */
	int64_t n, count; /* rows, and blocks of all shared ones */
	struct ncc_op **found; /* fp32[rows of the block], of each block and column */
};

static int64_t blocks_of(const struct scatter *s, int64_t n)
{
	return s->x[0]->shape.dim[0] * ((n + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS);
}

bool updates_fit_blocks(const struct scatter *s, int64_t n)
{
	int64_t chunks = (s->slices + MOST_TOGETHER - 1) / MOST_TOGETHER;

	return ncc_is_float(s->x[0]->shape.dtype) && rows_of(s) <= EXACT &&
	       blocks_of(s, n) * chunks * (1 + columns_of(s)) <= MOST_BLOCKS;
}

/* Numbers from..from + n of line `line` of x, as a vector */
static struct ncc_op *part_of_line(const struct scatter *s, struct ncc_op *x, int64_t line,
				   int64_t from, int64_t n)
{
	const struct ncc_shape flat = { .ndim = 1, .dim = { n } };

	x = build_slice(s->bl, build_slice(s->bl, x, 0, line, 1), 1, from, n);
	return build_reshape(s->bl, x, &flat);
}

/* A vector in each of so many partitions: adding -0 keeps every number */
static struct ncc_op *in_partitions(const struct scatter *s, struct ncc_op *x, int64_t lanes)
{
	static const uint8_t column = 1;
	struct ncc_shape all = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { lanes } };

	if (!x)
		return NULL;
	all.dim[1] = x->shape.dim[0];
	x = build_number(s->bl, NCC_ADD, build_spread(s->bl, &all, x, &column), -0.0);
	if (x)
		x->upright = true;
	return x;
}

/* fp32[rows]: of the updates, [rows, n], those that hit */
static struct ncc_op *extreme_of(const struct scatter *s, struct ncc_op *hit, struct ncc_op *update)
{
	const struct ncc_shape one = { .dtype = NEURON_DT_FP32 };
	double neutral = ncc_neutral(s->c->kind, &one);
	struct ncc_op *init = ncc_const_scalar(s->bl->m, NEURON_DT_FP32, neutral), *v;
	struct ncc_shape rows = { .dtype = NEURON_DT_FP32, .ndim = 1 };

	if (!hit || !update || !init)
		return NULL;
	rows.dim[0] = hit->shape.dim[0];
	update = build_slice(s->bl, update, 0, 0, rows.dim[0]);
	v = update ? build_select(s->bl, hit, update, build_splat(s->bl, &update->shape, neutral))
		   : NULL;
	v = v ? build_node(s->bl, NCC_REDUCE, &rows, v, init, NULL) : NULL;
	if (v) {
		v->func = s->c->kind;
		v->mask = 1u << 1;
	}
	return v;
}

/* Adds updates from..from + n of the shared one b to what was found. */
static int extremes_of_chunk(const struct scatter *s, struct blocks *k, int64_t b, int64_t from,
			     int64_t n)
{
	static const uint8_t of_row = 0;
	int64_t lanes = k->n < NEURON_PARTITIONS ? k->n : NEURON_PARTITIONS;
	int64_t columns = columns_of(s), each = k->count / s->x[0]->shape.dim[0];
	struct ncc_op *row = in_partitions(s, part_of_line(s, k->row, b, from, n), lanes);

	for (int64_t c = 0; c < columns; c++) {
		struct ncc_op *u = part_of_line(s, k->update, b * columns + c, from, n);

		u = in_partitions(s, u, lanes);
		for (int64_t i = 0; i < each; i++) {
			int64_t lo = i * lanes, m = k->n - lo < lanes ? k->n - lo : lanes;
			struct ncc_op **found = &k->found[(b * each + i) * columns + c], *hit, *v;
			struct ncc_op *these = build_slice(s->bl, row, 0, 0, m);
			struct ncc_op *number = part_of_line(s, k->number, b, lo, m);

			if (!these || !number)
				return -ENOMEM;
			hit = build_compare(s->bl, NCC_EQ, these,
					    build_spread(s->bl, &these->shape, number, &of_row));
			v = extreme_of(s, hit, u);
			*found = from ? build_binary(s->bl, s->c->kind, *found, v) : v;
			if (!*found)
				return -ENOMEM;
		}
	}
	return 0;
}

/* What was found, of x's type: [shared, n, columns] */
static struct ncc_op *join_blocks(const struct scatter *s, const struct blocks *k)
{
	int64_t columns = columns_of(s), shared = s->x[0]->shape.dim[0];
	struct ncc_shape to = { .ndim = 3, .dim = { shared, k->n, columns } };
	struct ncc_op **line = calloc((size_t)(k->count + columns), sizeof(struct ncc_op *)),
		      *r = NULL;
	int64_t c = 0;

	for (; line && c < columns; c++) {
		for (int64_t i = 0; i < k->count; i++)
			line[columns + i] = k->found[i * columns + c];
		r = build_concat(s->bl, line + columns, (unsigned int)k->count, 0);
		to.dim[2] = 1;
		line[c] = build_reshape(s->bl, r, &to);
		if (!line[c])
			break;
	}
	r = line && c == columns ? build_concat(s->bl, line, (unsigned int)columns, 2) : NULL;
	free(line);
	return build_cast(s->bl, r, s->x[0]->shape.dtype);
}

struct ncc_op *updates_extremes(const struct scatter *s, bool moved)
{
	static const uint8_t map[3] = { 0, 2, 1 }, of_count = 1;
	int64_t shared = s->x[0]->shape.dim[0], columns = columns_of(s);
	struct ncc_shape lines = { .ndim = 2, .dim = { shared * columns, s->slices } };
	struct blocks k = { .n = moved ? s->slices : rows_of(s) };
	struct ncc_shape numbers = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { shared, k.n } };
	struct ncc_op *r = NULL;

	k.count = blocks_of(s, k.n);
	k.row = updates_numbers(s, s->row);
	k.number = moved ? k.row
			 : build_spread(s->bl, &numbers,
					updates_numbers(s, build_count(s->bl, k.n)), &of_count);
	k.update = build_cast(s->bl, build_transpose(s->bl, s->u[0], map), NEURON_DT_FP32);
	k.update = build_reshape(s->bl, k.update, &lines);
	k.found = calloc((size_t)(k.count * columns), sizeof(struct ncc_op *));
	if (!k.row || !k.number || !k.update || !k.found)
		goto out;
	for (int64_t b = 0; b < shared; b++)
		for (int64_t from = 0; from < s->slices; from += MOST_TOGETHER) {
			int64_t left = s->slices - from;

			if (extremes_of_chunk(s, &k, b, from,
					      left < MOST_TOGETHER ? left : MOST_TOGETHER))
				goto out;
		}
	r = join_blocks(s, &k);
out:
	free(k.found);
	return r;
}
