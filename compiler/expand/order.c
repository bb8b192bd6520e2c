// SPDX-License-Identifier: MIT
/*
 * The first elements of rows in order. Each element's rank is the number of those that come before
 * it: a comparison of all pairs, added up; a scatter puts its place there. Where few are wanted of
 * many, the first elements of runs are ordered before (and of runs of those): the runs of the first
 * k of them have the first k of all.
 *
 * A key and its place are one number, whose digits are whole numbers that fp32 holds. One number is
 * below another one if the difference of their first digits is below 0, or below 1 and the rest is.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "expand.h"
#include "neuron/hw/ext.h"

#define EXACT_BITS 24 /* whole numbers of so many are fp32 */
#define LOW_BITS 8 /* of a key of 32 bits that are left to the second digit */
#define LOW_PLACES (1ll << (EXACT_BITS - LOW_BITS)) /* places that it has room for besides */
#define MAX_DIGITS 3
#define MOST_COLUMNS 2048 /* of elements that others are compared with at one time */
#define MOVE 200 /* comparisons that take as long as moving one element by its index */
#define BLOCK 60000 /* the same for a block of 128 elements that are compared with all others */
#define LEVEL 50000 /* comparisons that take as long as a level of runs by itself */

/* One element of the same row for each index [rows, n, 1] */
static const struct ncc_slices of_each_row = {
	.dropped = 1u << 1,
	.nbatch = 1,
	.nmap = 1,
	.map = { 1 },
	.vector = 2,
	.size = { 1, 1 },
};

struct order {
	struct ncc_build *bl;
	int64_t rows;
	uint8_t dtype; /* of the elements */
	unsigned int bits; /* of a key */
	bool descending;
};

static struct ncc_op *upright(struct ncc_op *x)
{
	if (x)
		x->upright = true;
	return x;
}

static struct ncc_op *as_float(const struct order *o, struct ncc_op *x)
{
	return build_cast(o->bl, x, NEURON_DT_FP32);
}

/* The digits, fp32, of keys whose places are below n; the first is the most significant. */
static unsigned int digits_of(const struct order *o, struct ncc_op *key, struct ncc_op *place,
			      int64_t n, struct ncc_op **digit)
{
	struct ncc_op *low;

	place = as_float(o, place);
	if (o->bits <= EXACT_BITS) {
		digit[0] = as_float(o, key);
		digit[1] = place;
		return 2;
	}
	digit[0] = as_float(o, key ? expand_shift_arithmetic(
					     o->bl, key, build_splat(o->bl, &key->shape, LOW_BITS))
				   : NULL);
	low = as_float(o, build_number(o->bl, NCC_AND, key, (1 << LOW_BITS) - 1));
	if (n <= LOW_PLACES) {
		digit[1] =
			build_binary(o->bl, NCC_ADD,
				     build_number(o->bl, NCC_MUL, low, (double)LOW_PLACES), place);
		return 2;
	}
	digit[1] = low;
	digit[2] = place;
	return 3;
}

/* Of pairs of numbers: does the other one come before? 0 or 1, of shape s */
static struct ncc_op *comes_before(const struct order *o, const struct ncc_shape *s,
				   struct ncc_op *const *other, struct ncc_op *const *one,
				   unsigned int ndigit)
{
	static const uint8_t lane = 0;
	struct ncc_op *before = NULL, *a, *b;

	for (unsigned int d = ndigit; d--;) {
		a = other[d];
		b = one[d] ? build_spread(o->bl, s, one[d], &lane) : NULL;
		if (d + 1 < ndigit) {
			a = build_binary(o->bl, NCC_SUB, a, b);
			b = before;
		}
		before = a && b ? as_float(o, build_compare(o->bl, NCC_LT, a, b)) : NULL;
	}
	return before;
}

static struct ncc_op *sum_of_columns(const struct order *o, struct ncc_op *x)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	struct ncc_op *zero = build_splat(o->bl, &s, 0);

	s.ndim = 1;
	s.dim[0] = x ? x->shape.dim[0] : 0;
	x = x && zero ? build_node(o->bl, NCC_REDUCE, &s, x, zero, NULL) : NULL;
	if (x) {
		x->func = NCC_ADD;
		x->mask = 1u << 1;
	}
	return x;
}

/* Elements of a row, [lanes, n]: the same in every lane, and there once for all who compare */
static struct ncc_op *in_lanes(const struct order *o, struct ncc_op *x, int64_t lanes)
{
	static const uint8_t column = 1;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { lanes } };

	if (!x)
		return NULL;
	s.dim[1] = x->shape.dim[0];
	return upright(build_number(o->bl, NCC_ADD, build_spread(o->bl, &s, x, &column), 0));
}

static int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

/* How many of all n elements of a row come before each one? Adds the sums to part. */
static int rank_row(const struct order *o, struct ncc_op *const *digit, unsigned int ndigit,
		    int64_t row, struct ncc_op **part)
{
	int64_t n = digit[0]->shape.dim[1], lanes = at_most(n, NEURON_PARTITIONS);
	struct ncc_op *all[MAX_DIGITS], *other[MAX_DIGITS], *one[MAX_DIGITS], *some;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2 }, line = { .ndim = 1 };

	line.dim[0] = n;
	for (unsigned int d = 0; d < ndigit; d++)
		all[d] = build_reshape(o->bl, build_slice(o->bl, digit[d], 0, row, 1), &line);
	for (int64_t j = 0; j < n; j += MOST_COLUMNS) {
		s.dim[1] = at_most(n - j, MOST_COLUMNS);
		for (unsigned int d = 0; d < ndigit; d++)
			other[d] = in_lanes(o, build_slice(o->bl, all[d], 0, j, s.dim[1]), lanes);
		for (int64_t i = 0, k = 0; i < n; i += lanes, k++) {
			struct ncc_op *these[MAX_DIGITS];

			s.dim[0] = at_most(n - i, lanes);
			for (unsigned int d = 0; d < ndigit; d++) {
				these[d] = build_slice(o->bl, other[d], 0, 0, s.dim[0]);
				one[d] = build_slice(o->bl, all[d], 0, i, s.dim[0]);
			}
			some = sum_of_columns(o, comes_before(o, &s, these, one, ndigit));
			part[k] = j ? build_binary(o->bl, NCC_ADD, part[k], some) : some;
			if (!part[k])
				return -ENOMEM;
		}
	}
	return 0;
}

/* How many elements of its row come before each one? fp32[rows, n] */
static struct ncc_op *ranks(const struct order *o, struct ncc_op *const *digit, unsigned int ndigit)
{
	struct ncc_op **part, *r = NULL;
	int64_t n = digit[0] ? digit[0]->shape.dim[1] : 0, blocks;
	struct ncc_shape s = { .ndim = 2, .dim = { o->rows, n } };

	blocks = (n + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
	part = n ? calloc((size_t)(o->rows * blocks), sizeof(*part)) : NULL;
	for (int64_t i = 0; part && i < o->rows; i++) {
		if (rank_row(o, digit, ndigit, i, part + i * blocks))
			goto out;
	}
	if (part)
		r = build_reshape(
			o->bl, build_concat(o->bl, part, (unsigned int)(o->rows * blocks), 0), &s);
out:
	free(part);
	return r;
}

/* The places of the elements whose ranks are below k, by rank: s32[rows, k] */
static struct ncc_op *by_rank(const struct order *o, struct ncc_op *rank, struct ncc_op *place,
			      int64_t k)
{
	const struct ncc_combine put = { .by = NCC_COMBINE_SECOND };
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { o->rows, k } };
	struct ncc_shape index = { .ndim = 3, .dim = { o->rows, 0, 1 } };
	struct ncc_op *to = build_splat(o->bl, &s, 0), *out;

	if (!rank || !place || !to)
		return NULL;
	index.dim[1] = rank->shape.dim[1];
	rank = build_reshape(o->bl, build_cast(o->bl, rank, NEURON_DT_INT32), &index);
	if (!rank || expand_scatter(o->bl, 1, &to, rank, &place, &of_each_row, &put, &out))
		return NULL;
	return out;
}

/* The places, all below `places`, of the first k keys */
static struct ncc_op *first_of_all(const struct order *o, struct ncc_op *key, struct ncc_op *place,
				   int64_t places, int64_t k)
{
	struct ncc_op *digit[MAX_DIGITS];
	unsigned int n = digits_of(o, key, place, places, digit);

	return by_rank(o, ranks(o, digit, n), place, k);
}

/* What it takes to order n elements of a row, in comparisons */
static double effort_of_all(double n)
{
	return n * n + MOVE * n + BLOCK * ceil(n / NEURON_PARTITIONS);
}

/* The same for the first k of them, and the best runs */
static double effort(int64_t n, int64_t k, int64_t *best)
{
	double least = effort_of_all((double)n), e;
	int64_t other;

	*best = 1;
	for (int64_t run = 2; run <= 16 && n / run > k; run *= 2) {
		double some = (double)k * (double)run;

		e = effort((n + run - 1) / run, k, &other) + effort_of_all(some) +
		    MOVE * (double)k + LEVEL;
		if (e < least) {
			least = e;
			*best = run;
		}
	}
	return least;
}

bool expand_has_order(int64_t rows, int64_t n, int64_t k, double most)
{
	int64_t run;

	return n < 1 << EXACT_BITS && (double)rows * effort(n, k, &run) <= most;
}

/* Integers that are ordered as x, the elements' bits, is to be: the first one is the smallest. */
static struct ncc_op *keys_of(const struct order *o, struct ncc_op *x)
{
	struct ncc_op *key;

	if (ncc_is_float(o->dtype))
		key = expand_total_order(o->bl, build_bitcast(o->bl, x, o->dtype));
	else
		key = build_cast(o->bl, x, NEURON_DT_INT32);
	if (o->dtype == NEURON_DT_UINT32)
		key = build_number(o->bl, NCC_XOR, key, -0x1p31);
	return o->descending ? build_number(o->bl, NCC_XOR, key, -1) : key;
}

/* The bits of an element, as a number of their type, that comes after all others or with them */
static double last_bits(const struct order *o)
{
	const double half = (double)(1ll << (8 * ncc_dtype_size(o->dtype) - 1));

	if (ncc_is_float(o->dtype))
		return o->descending ? -1 : half - 1;
	if (!ncc_is_unsigned(o->dtype))
		return o->descending ? -half : half - 1;
	return o->descending ? 0 : 2 * half - 1;
}

/* So many of n elements that a partition has its own, if they can be divided so */
static int64_t partitions_of(int64_t n)
{
	int64_t p = NEURON_PARTITIONS;

	while (n % p)
		p--;
	return p;
}

/* x, [rows, n], as runs [partitions, runs, run]; what is missing comes after all others. */
static struct ncc_op *in_runs(const struct order *o, struct ncc_op *x, int64_t run, double last)
{
	int64_t n = x->shape.dim[1], runs = (n + run - 1) / run, even = NEURON_PARTITIONS;
	struct ncc_shape s = { .dtype = x->shape.dtype, .ndim = 2, .dim = { o->rows } };
	struct ncc_op *part[2] = { x, NULL };

	while (even > 1 && o->rows % 2 == 0 && even * o->rows > NEURON_PARTITIONS)
		even /= 2;
	if (partitions_of(o->rows * runs) < NEURON_PARTITIONS / 2 && runs > even)
		runs = (runs + even - 1) / even * even;
	s.dim[1] = runs * run - n;
	if (s.dim[1]) {
		part[1] = build_splat(o->bl, &s, last);
		x = build_concat(o->bl, part, 2, 1);
	}
	s.ndim = 3;
	s.dim[0] = partitions_of(o->rows * runs);
	s.dim[1] = o->rows * runs / s.dim[0];
	s.dim[2] = run;
	return build_reshape(o->bl, x, &s);
}

/* The smallest of each run of keys: [rows, runs] */
static struct ncc_op *least_of(const struct order *o, struct ncc_op *key)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32 }, rows = { .ndim = 2 };
	struct ncc_op *most = build_splat(o->bl, &s, (double)INT32_MAX), *r;

	if (!key || !most)
		return NULL;
	s.ndim = 2;
	s.dim[0] = key->shape.dim[0];
	s.dim[1] = key->shape.dim[1];
	r = build_node(o->bl, NCC_REDUCE, &s, key, most, NULL);
	if (r) {
		r->func = NCC_MIN;
		r->mask = 1u << 2;
	}
	rows.dim[0] = o->rows;
	rows.dim[1] = s.dim[0] * s.dim[1] / o->rows;
	return build_reshape(o->bl, r, &rows);
}

/* The first k of each row of bits or, where they have been made of them, of keys */
static struct ncc_op *first_places(const struct order *o, struct ncc_op *x, bool bits, int64_t k)
{
	static const uint8_t of_run[2] = { 0, 1 }, within = 2;
	int64_t n = x ? x->shape.dim[1] : 0, run = 1;
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 3 };
	struct ncc_shape flat = { .dtype = NEURON_DT_INT32, .ndim = 2 };
	struct ncc_op *at, *first, *place;
	const uint8_t column = 1;

	flat.dim[0] = s.dim[0] = o->rows;
	flat.dim[1] = n;
	if (n)
		effort(n, k, &run);
	if (run == 1) {
		place = n ? build_count(o->bl, n) : NULL;
		place = place ? build_spread(o->bl, &flat, place, &column) : NULL;
		return first_of_all(o, bits ? keys_of(o, x) : x, place, n, k);
	}

	x = in_runs(o, x, run, bits ? last_bits(o) : (double)INT32_MAX);
	if (bits)
		x = keys_of(o, x);
	first = least_of(o, x);
	at = first_places(o, first, false, k);
	x = at ? expand_rows(o->bl, at, x, o->rows, first->shape.dim[1]) : NULL;
	s.dim[1] = k;
	s.dim[2] = run;
	flat.dim[1] = k * run;
	place = build_count(o->bl, run);
	place = place && at
			? build_binary(o->bl, NCC_ADD,
				       build_spread(o->bl, &s,
						    build_number(o->bl, NCC_MUL, at, (double)run),
						    of_run),
				       build_spread(o->bl, &s, place, &within))
			: NULL;
	return first_of_all(o, build_reshape(o->bl, x, &flat), build_reshape(o->bl, place, &flat),
			    first ? first->shape.dim[1] * run : 0, k);
}

static struct ncc_op *order_init(struct order *o, struct ncc_op *x)
{
	unsigned int size = ncc_dtype_size(x->shape.dtype);

	o->rows = x->shape.dim[0];
	o->dtype = x->shape.dtype;
	o->bits = 8 * size + (size < 4); /* of unsigned ones and with a sign */
	if (ncc_is_float(o->dtype) || size == 4)
		x = build_bitcast(o->bl, x, size == 4 ? NEURON_DT_INT32 : NEURON_DT_INT16);
	return x;
}

struct ncc_op *expand_order(struct ncc_build *bl, struct ncc_op *x, int64_t k, bool descending)
{
	struct order o = { .bl = bl, .descending = descending };

	return x ? first_places(&o, order_init(&o, x), true, k) : NULL;
}

bool expand_order_digits(struct ncc_build *bl, struct ncc_op *x, bool descending,
			 struct ncc_op **digit)
{
	struct order o = { .bl = bl, .descending = descending };
	const uint8_t column = 1;
	struct ncc_op *key = order_init(&o, x), *place;

	key = key ? keys_of(&o, key) : NULL;
	place = build_count(bl, x->shape.dim[1]);
	place = key && place ? build_spread(bl, &key->shape, place, &column) : NULL;
	return place && digits_of(&o, key, place, x->shape.dim[1], digit) == 2 && digit[0] &&
	       digit[1];
}

struct ncc_op *expand_take_places(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place)
{
	struct ncc_shape index, s;
	struct ncc_op *out;

	if (!x || !place)
		return NULL;
	s = index = place->shape;
	index.dim[index.ndim++] = 1;
	s.dtype = x->shape.dtype;
	s.pred = x->shape.pred;
	place = build_reshape(bl, place, &index);
	return place && !expand_gather(bl, x, place, &of_each_row, &s, &out) ? out : NULL;
}

struct ncc_op *expand_as_rows(struct ncc_build *bl, struct ncc_op *x, unsigned int d)
{
	struct ncc_shape s = { .ndim = 3, .dim = { 1, 1, 1 } };
	static const uint8_t map[3] = { 0, 2, 1 };

	if (!x)
		return NULL;
	s.dim[1] = x->shape.dim[d];
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		s.dim[i < d ? 0 : 2] *= i == d ? 1 : x->shape.dim[i];
	if (s.dim[2] > 1)
		x = build_transpose(bl, build_reshape(bl, x, &s), map);
	s.ndim = 2;
	s.dim[0] *= s.dim[2];
	return build_reshape(bl, x, &s);
}

struct ncc_op *expand_from_rows(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s,
				unsigned int d)
{
	struct ncc_shape r = { .ndim = 3, .dim = { 1, 1, s->dim[d] } };
	static const uint8_t map[3] = { 0, 2, 1 };

	for (unsigned int i = 0; i < s->ndim; i++)
		r.dim[i < d ? 0 : 1] *= i == d ? 1 : s->dim[i];
	if (r.dim[1] > 1)
		x = build_transpose(bl, build_reshape(bl, x, &r), map);
	return build_reshape(bl, x, s);
}
