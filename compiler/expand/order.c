// SPDX-License-Identifier: MIT
/*
 * The first elements of rows in order: POOL sorts keys, integers that are ordered as the elements
 * are to be. Of a row that is too long for that it takes the first ones of parts, then the first
 * ones of those, or sorts blocks of it two by two.
 */
#include "expand.h"
#include "lines.h"

#define MOST_BLOCKS 64 /* of a row: of more a network takes less */

struct order {
	struct ncc_build *bl;
	int64_t rows;
	uint8_t dtype; /* of the elements */
	bool descending;
};

/* Integers that are ordered as x, elements or (of floats) their bits */
static struct ncc_op *keys_of(const struct order *o, struct ncc_op *x)
{
	struct ncc_op *key;

	if (ncc_is_float(o->dtype))
		key = expand_total_order(o->bl, build_bitcast(o->bl, x, o->dtype));
	else
		key = build_cast(o->bl, x, NEURON_DT_INT32);
	return o->dtype == NEURON_DT_UINT32 ? build_number(o->bl, NCC_XOR, key, -0x1p31) : key;
}

static double last_key(const struct order *o)
{
	return o->descending ? INT32_MIN : INT32_MAX;
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

/* The places of the first k of each row of keys */
static struct ncc_op *first_places(const struct order *o, struct ncc_op *key, int64_t k)
{
	struct ncc_shape s;
	struct ncc_op *r;

	if (!key)
		return NULL;
	s = key->shape;
	s.dim[1] = k;
	r = build_node(o->bl, NCC_ORDER, &s, key, NULL, NULL);
	if (r)
		r->func = o->descending ? NCC_GT : NCC_LT;
	return r;
}

/* Into how many parts a row of n is cut: if one can, without a rest */
static int64_t parts_of(int64_t n)
{
	const int64_t least = (n + NCC_MAX_ORDER - 1) / NCC_MAX_ORDER;

	for (int64_t parts = least; parts < 2 * least; parts++)
		if (n % parts == 0)
			return parts;
	return least;
}

/* Cuts each row into parts, which become rows; the value `last` fills what is missing, and sorts
 * last. */
static struct ncc_op *cut(const struct order *o, struct ncc_op *x, int64_t parts, double last)
{
	const int64_t n = x->shape.dim[1], part = (n + parts - 1) / parts;
	struct ncc_shape rest = x->shape, s = { .ndim = 2, .dim = { o->rows * parts, part } };
	struct ncc_op *all[2] = { x, NULL };

	rest.dim[1] = part * parts - n;
	if (rest.dim[1]) {
		all[0] = build_bits(o->bl, x);
		rest.dtype = all[0] ? all[0]->shape.dtype : rest.dtype;
		all[1] = build_splat(o->bl, &rest, last);
		x = build_concat(o->bl, all, 2, 1);
	}
	return build_reshape(o->bl, x, &s);
}

/* Small floats have their last bits in different places: what is missing of them is a key. */
static struct ncc_op *keys_in_parts(const struct order *o, struct ncc_op *x, int64_t parts)
{
	if (ncc_float8(o->dtype))
		return cut(o, keys_of(o, x), parts, last_key(o));
	return keys_of(o, cut(o, x, parts, last_bits(o)));
}

static struct ncc_op *first_of_keys(const struct order *o, struct ncc_op *key, int64_t k);

/* The first k of each row, whose keys come as parts: they are among the first k of each part. */
static struct ncc_op *first_of_parts(const struct order *o, struct ncc_op *key, int64_t parts,
				     int64_t k)
{
	static const uint8_t of_part = 1;
	struct ncc_shape each = { .dtype = NEURON_DT_INT32, .ndim = 3 }, all = { .ndim = 2 };
	struct ncc_op *at = first_places(o, key, k), *base = build_count(o->bl, parts);

	if (!at || !base)
		return NULL;
	each.dim[0] = all.dim[0] = o->rows;
	each.dim[1] = parts;
	each.dim[2] = k;
	all.dim[1] = parts * k;
	base = build_number(o->bl, NCC_MUL, base, (double)key->shape.dim[1]);
	base = base ? build_spread(o->bl, &each, base, &of_part) : NULL;
	key = build_reshape(o->bl, lines_take(o->bl, key, at), &all);
	at = build_binary(o->bl, NCC_ADD, build_reshape(o->bl, at, &each), base);
	at = build_reshape(o->bl, at, &all);
	return expand_take_places(o->bl, at, first_of_keys(o, key, k));
}

static struct ncc_op *first_of_keys(const struct order *o, struct ncc_op *key, int64_t k)
{
	int64_t parts = key ? parts_of(key->shape.dim[1]) : 0;

	if (parts <= 1)
		return first_places(o, key, k);
	return first_of_parts(o, cut(o, key, parts, last_key(o)), parts, k);
}

/* Rows of blocks, [rows * blocks, block], while they are being sorted */
struct blocks {
	int64_t count; /* of a row */
	struct ncc_op *key, *at;
	struct ncc_op *inner; /* the numbers of those that are neither first nor last of a row */
};

/* Two rows of x as one, which is the same the other way round: [rows, n] */
static struct ncc_op *as_rows_of(const struct order *o, struct ncc_op *x, int64_t n)
{
	struct ncc_shape s = { .ndim = 2, .dim = { x ? ncc_elems(&x->shape) / n : 0, n } };

	return build_reshape(o->bl, x, &s);
}

static struct ncc_op *numbers_of_inner(const struct order *o, int64_t count)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32,
			       .ndim = 1,
			       .dim = { o->rows * (count - 2) } };
	struct ncc_op *c = build_const(o->bl, &s);

	for (int64_t i = 0; c && i < s.dim[0]; i++)
		ncc_set_int(NEURON_DT_INT32, c->data, i,
			    i / (count - 2) * count + 1 + i % (count - 2));
	return c;
}

/* x, in which pairs of blocks, all or the inner ones, have the order that says so */
static struct ncc_op *exchange(const struct order *o, const struct blocks *b, struct ncc_op *x,
			       struct ncc_op *pairs, struct ncc_op *order, bool all)
{
	int64_t block = x ? x->shape.dim[1] : 1;

	pairs = as_rows_of(o, lines_take(o->bl, pairs, order), block);
	if (all || !pairs)
		return pairs;
	return build_node(o->bl, NCC_SCATTER, &x->shape, x, b->inner, pairs);
}

static struct ncc_op *pairs_of(const struct order *o, const struct blocks *b, struct ncc_op *x,
			       bool all)
{
	struct ncc_shape s = b->inner->shape;

	if (!x)
		return NULL;
	s.ndim = 2;
	s.dim[1] = x->shape.dim[1];
	if (!all)
		x = build_node(o->bl, NCC_GATHER, &s, x, b->inner, NULL);
	return as_rows_of(o, x, 2 * s.dim[1]);
}

/*
 * Sorts rows of blocks: always two beside each other, from the first or from the second one on, in
 * as many turns as there are blocks. Equal ones never pass each other.
 */
static struct ncc_op *sort_blocks(const struct order *o, struct ncc_op *key, int64_t count)
{
	static const uint8_t column = 1;
	struct blocks b = { .count = count, .key = key, .inner = numbers_of_inner(o, count) };
	struct ncc_op *keys, *places, *order;
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { o->rows } };

	if (!key || !b.inner)
		return NULL;
	s.dim[1] = key->shape.dim[1] * count;
	b.at = build_count(o->bl, s.dim[1]);
	b.at = b.at ? build_spread(o->bl, &s, b.at, &column) : NULL;
	b.at = as_rows_of(o, b.at, key->shape.dim[1]);
	for (int64_t turn = 0; turn < count && b.key && b.at; turn++) {
		bool all = turn % 2 == 0;

		keys = pairs_of(o, &b, b.key, all);
		places = pairs_of(o, &b, b.at, all);
		order = keys ? first_places(o, keys, keys->shape.dim[1]) : NULL;
		b.key = exchange(o, &b, b.key, keys, order, all);
		b.at = exchange(o, &b, b.at, places, order, all);
	}
	return b.key ? as_rows_of(o, b.at, s.dim[1]) : NULL;
}

static int64_t blocks_of(int64_t n)
{
	return 2 * ((n + NCC_MAX_ORDER - 1) / NCC_MAX_ORDER);
}

/* Is k so small that the first k of each part are much fewer than all? Else all are sorted. */
static bool is_few(int64_t k)
{
	return k <= NCC_MAX_ORDER / 4;
}

bool expand_has_order(const struct ncc_shape *s, unsigned int d, int64_t k)
{
	const int64_t n = s->dim[d], rows = ncc_elems(s) / n;

	return ncc_dtype_size(s->dtype) <= 4 &&
	       (n <= NCC_MAX_ORDER || is_few(k) || rows * blocks_of(n) <= NCC_MAX_TABLE);
}

bool expand_order_pays(int64_t n)
{
	return blocks_of(n) <= MOST_BLOCKS;
}

/* The places of the first k of each row that is longer than what is ordered at once */
static struct ncc_op *first_of_long(const struct order *o, struct ncc_op *x, int64_t k)
{
	const int64_t n = x->shape.dim[1], blocks = blocks_of(n), parts = parts_of(n);

	if (is_few(k))
		return first_of_parts(o, keys_in_parts(o, x, parts), parts, k);
	x = keys_in_parts(o, x, blocks);
	return build_slice(o->bl, sort_blocks(o, x, blocks), 1, 0, k);
}

struct ncc_op *expand_order(struct ncc_build *bl, struct ncc_op *x, int64_t k, bool descending)
{
	struct order o = { .bl = bl, .descending = descending };

	if (x && x->shape.pred)
		x = build_cast(bl, x, NEURON_DT_INT32);
	if (!x)
		return NULL;
	o.rows = x->shape.dim[0];
	o.dtype = x->shape.dtype;
	if (x->shape.dim[1] > NCC_MAX_ORDER)
		return first_of_long(&o, x, k);
	return first_places(&o, keys_of(&o, x), k);
}

struct ncc_op *expand_take_places(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place)
{
	struct ncc_shape table = { .ndim = 3, .dim = { 0, 0, 1 } };

	if (!x || !place)
		return NULL;
	table.dim[0] = x->shape.dim[0];
	table.dim[1] = x->shape.dim[1];
	x = expand_choose_rows(bl, build_reshape(bl, x, &table), place);
	return build_reshape(bl, x, &place->shape);
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
