// SPDX-License-Identifier: MIT
/*
 * Short rows put in order by masks: each row lies in a partition, all pairs of places and elements
 * are compared, and of the bits that a mask leaves the or is taken. An element's rank is the number
 * of those that come before it. Called by the front ends.
 */
#include <stdlib.h>

#include "expand.h"
#include "neuron/hw/ext.h"

#define PAIRS 4096 /* of a row at one time, so that they stay in SBUF */
#define HALF 16 /* bits */
#define MOST_SHORT 128 /* elements of a row to sort */
#define MANY 16 /* rows of them: fewer leave the partitions empty */

/* All pairs of k chosen elements and n of each row, some at a time */
struct masks {
	struct ncc_build *bl;
	int64_t rows, k, n;
};

/* A block of them: rows from row, chosen ones from at */
struct block {
	struct ncc_shape pairs; /* [rows, n, k], so that results lie side by side */
	int64_t row, at;
};

static int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

static int64_t chosen_at_once(const struct masks *m)
{
	return at_most(m->k, m->n < PAIRS ? PAIRS / m->n : 1);
}

/* The part of x, [rows, k] or (if it is of what there is) [rows, n], for each pair */
static struct ncc_op *of_pairs(const struct masks *m, const struct block *b, struct ncc_op *x,
			       bool chosen)
{
	const uint8_t map[2] = { 0, chosen ? 2 : 1 };
	struct ncc_shape s = b->pairs;

	x = build_slice(m->bl, x, 0, b->row, s.dim[0]);
	if (chosen)
		x = build_slice(m->bl, x, 1, b->at, s.dim[2]);
	if (!x)
		return NULL;
	s.dtype = x->shape.dtype;
	return build_spread(m->bl, &s, x, map);
}

/* from, from + 1, ... for the chosen ones of each pair, or for those there are */
static struct ncc_op *number_of_pairs(const struct masks *m, const struct block *b, bool chosen)
{
	struct ncc_shape s = b->pairs, line = { .dtype = NEURON_DT_FP32, .ndim = 1 };
	const uint8_t map = chosen ? 2 : 1;
	struct ncc_op *c;

	line.dim[0] = s.dim[map];
	c = build_const(m->bl, &line);
	for (int64_t i = 0; c && i < line.dim[0]; i++)
		ncc_set(line.dtype, c->data, i, (double)(i + (chosen ? b->at : 0)));
	s.dtype = line.dtype;
	return c ? build_spread(m->bl, &s, c, &map) : NULL;
}

/* The sums over those that there are: [rows, k] */
static struct ncc_op *over_row(const struct masks *m, struct ncc_op *x)
{
	struct ncc_op *zero = ncc_const_scalar(m->bl->m, NEURON_DT_FP32, 0), *r;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2 };

	if (!x || !zero)
		return NULL;
	s.dim[0] = x->shape.dim[0];
	s.dim[1] = x->shape.dim[2];
	r = build_node(m->bl, NCC_REDUCE, &s, x, zero, NULL);
	if (r) {
		r->func = NCC_ADD;
		r->mask = 1u << 1;
	}
	return r;
}

typedef struct ncc_op *(*block_fn)(const struct masks *m, const struct block *b, const void *of);

/* What fn gives of every block: [rows, k] */
static struct ncc_op *all_blocks(const struct masks *m, block_fn fn, const void *of)
{
	int64_t each = chosen_at_once(m),
		lines = (m->rows + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
	int64_t across = (m->k + each - 1) / each, n = 0;
	struct ncc_op **line = calloc((size_t)(lines + across), sizeof(struct ncc_op *)), *r = NULL;
	struct block b = { .pairs = { .ndim = 3 } };

	for (; line && n < lines; n++) {
		b.row = n * NEURON_PARTITIONS;
		b.pairs.dim[0] = at_most(m->rows - b.row, NEURON_PARTITIONS);
		b.pairs.dim[1] = m->n;
		for (int64_t i = 0; i < across; i++) {
			b.at = i * each;
			b.pairs.dim[2] = at_most(m->k - b.at, each);
			line[lines + i] = fn(m, &b, of);
			if (!line[lines + i])
				goto out;
		}
		line[n] = build_concat(m->bl, line + lines, (unsigned int)across, 1);
		if (!line[n])
			goto out;
	}
	r = line ? build_concat(m->bl, line, (unsigned int)lines, 0) : NULL;
out:
	free(line);
	return r;
}

/* Numbers, fp32, [rows, n], that say for which place each element is */
struct chosen {
	struct ncc_op *number;
	struct ncc_op *half[2]; /* halves of the elements' bits, fp32, the lower one first */
};

/* s32[rows, k]: all sums but one number are of zeros. */
static struct ncc_op *choose_block(const struct masks *m, const struct block *b, const void *of)
{
	const struct chosen *c = of;
	struct ncc_op *mask = of_pairs(m, b, c->number, false), *word = NULL;
	struct ncc_op *other = number_of_pairs(m, b, true);

	if (!mask || !other)
		return NULL;
	mask = build_cast(m->bl, build_compare(m->bl, NCC_EQ, mask, other), NEURON_DT_FP32);
	for (unsigned int i = 0; i < 2 && c->half[i]; i++) {
		struct ncc_op *half = of_pairs(m, b, c->half[i], false);

		half = over_row(m, build_binary(m->bl, NCC_MUL, mask, half));
		half = build_cast(m->bl, half, NEURON_DT_INT32);
		word = i ? build_binary(m->bl, NCC_OR, word,
					build_number(m->bl, NCC_SHL, half, HALF))
			 : half;
	}
	return word;
}

/* Elements of x by their bits, which arrive whatever they mean */
static struct ncc_op *choose_bits(const struct masks *m, struct ncc_op *x, struct ncc_op *number)
{
	struct chosen c = { .number = build_cast(m->bl, number, NEURON_DT_FP32) };
	uint8_t whole = x->shape.dtype;
	struct ncc_op *r, *word;

	if (ncc_is_float(whole))
		whole = ncc_dtype_size(whole) == 4 ? NEURON_DT_INT32 : NEURON_DT_INT16;
	word = build_cast(m->bl, build_bitcast(m->bl, x, whole), NEURON_DT_INT32);
	if (!c.number || !word)
		return NULL;
	c.half[0] = build_cast(m->bl, build_number(m->bl, NCC_AND, word, (1 << HALF) - 1),
			       NEURON_DT_FP32);
	if (ncc_dtype_size(whole) == 4) {
		struct ncc_op *shift = build_splat(m->bl, &word->shape, HALF);

		c.half[1] = build_cast(m->bl,
				       build_node(m->bl, NCC_SHR, &word->shape, word, shift, NULL),
				       NEURON_DT_FP32);
		if (!c.half[1])
			return NULL;
	}
	r = c.half[0] ? all_blocks(m, choose_block, &c) : NULL;
	if (r && x->shape.pred)
		return build_compare(m->bl, NCC_NE, r, build_splat(m->bl, &r->shape, 0));
	return build_bitcast(m->bl, build_cast(m->bl, r, whole), x->shape.dtype);
}

/* How many elements of its row come before each chosen one? */
static struct ncc_op *rank_block(const struct masks *m, const struct block *b, const void *of)
{
	struct ncc_op *const *digit = of, *before = NULL;

	for (unsigned int d = 2; d--;) {
		struct ncc_op *other = of_pairs(m, b, digit[d], false);
		struct ncc_op *one = of_pairs(m, b, digit[d], true);

		if (!other || !one)
			return NULL;
		before = before ? build_compare(m->bl, NCC_LT,
						build_binary(m->bl, NCC_SUB, other, one), before)
				: build_compare(m->bl, NCC_LT, other, one);
		before = build_cast(m->bl, before, NEURON_DT_FP32);
	}
	return over_row(m, before);
}

bool expand_is_short(int64_t rows, int64_t n)
{
	return rows >= MANY && n <= MOST_SHORT;
}

struct ncc_op *expand_short_ranks(struct ncc_build *bl, struct ncc_op *const *digit)
{
	struct masks m = { .bl = bl };

	m.rows = digit[0]->shape.dim[0];
	m.k = m.n = digit[0]->shape.dim[1];
	return all_blocks(&m, rank_block, digit);
}

struct ncc_op *expand_by_short_ranks(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *rank,
				     int64_t k)
{
	struct masks m = { .bl = bl, .k = k };

	if (!x || !rank)
		return NULL;
	m.rows = x->shape.dim[0];
	m.n = x->shape.dim[1];
	return choose_bits(&m, x, rank);
}
