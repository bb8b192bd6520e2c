// SPDX-License-Identifier: MIT
/*
 * The first elements of rows in order: POOL sorts keys, integers that are ordered as the elements
 * are to be. Of a row that is too long for that it takes the first ones of parts, then the first
 * ones of those.
 *
 * For a network that sorts what is longer (hlo/sort.c) a key and its place are two numbers, whose
 * digits are whole numbers that fp32 holds. One number is below another one if the difference of
 * their first digits is below 0, or below 1 and the rest is.
 */
#include "expand.h"
#include "lines.h"

#define EXACT_BITS 24 /* whole numbers of so many are fp32 */
#define LOW_BITS 8 /* of a key of 32 bits that are left to the second digit */
#define LOW_PLACES (1ll << (EXACT_BITS - LOW_BITS)) /* places that it has room for besides */

struct order {
	struct ncc_build *bl;
	int64_t rows;
	uint8_t dtype; /* of the elements */
	unsigned int bits; /* of a key */
	bool descending;
};

/* Integers that are ordered as x, the elements' bits. */
static struct ncc_op *keys_of(const struct order *o, struct ncc_op *x)
{
	struct ncc_op *key;

	if (ncc_is_float(o->dtype))
		key = expand_total_order(o->bl, build_bitcast(o->bl, x, o->dtype));
	else
		key = build_cast(o->bl, x, NEURON_DT_INT32);
	return o->dtype == NEURON_DT_UINT32 ? build_number(o->bl, NCC_XOR, key, -0x1p31) : key;
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

/* Of so many parts of each row, as rows of their own; what is missing comes after all others. */
static struct ncc_op *cut(const struct order *o, struct ncc_op *x, int64_t parts, double last)
{
	const int64_t n = x->shape.dim[1], part = (n + parts - 1) / parts;
	struct ncc_shape rest = x->shape, s = { .ndim = 2, .dim = { o->rows * parts, part } };
	struct ncc_op *all[2] = { x, NULL };

	rest.dim[1] = part * parts - n;
	if (rest.dim[1]) {
		all[1] = build_splat(o->bl, &rest, last);
		x = build_concat(o->bl, all, 2, 1);
	}
	return build_reshape(o->bl, x, &s);
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
	return first_of_parts(o, cut(o, key, parts, o->descending ? INT32_MIN : INT32_MAX), parts,
			      k);
}

/* Each level of parts leaves some two thirds of what there is, or less. */
bool expand_has_order(const struct ncc_shape *s, int64_t n, int64_t k)
{
	return ncc_dtype_size(s->dtype) <= 4 && (n <= NCC_MAX_ORDER || k <= NCC_MAX_ORDER / 4);
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
	int64_t parts;

	if (!x)
		return NULL;
	x = order_init(&o, x);
	parts = x ? parts_of(x->shape.dim[1]) : 0;
	if (parts <= 1)
		return first_places(&o, keys_of(&o, x), k);
	return first_of_parts(&o, keys_of(&o, cut(&o, x, parts, last_bits(&o))), parts, k);
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

bool expand_order_digits(struct ncc_build *bl, struct ncc_op *x, bool descending,
			 struct ncc_op **digit)
{
	struct order o = { .bl = bl, .descending = descending };
	const uint8_t column = 1;
	struct ncc_op *key = order_init(&o, x), *place;

	key = key ? keys_of(&o, key) : NULL;
	if (descending)
		key = build_number(bl, NCC_XOR, key, -1);
	place = build_count(bl, x->shape.dim[1]);
	place = key && place ? build_spread(bl, &key->shape, place, &column) : NULL;
	return place && digits_of(&o, key, place, x->shape.dim[1], digit) == 2 && digit[0] &&
	       digit[1];
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
