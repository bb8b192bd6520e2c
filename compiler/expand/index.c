// SPDX-License-Identifier: MIT
/*
 * Elements chosen by an index. Whole rows of a large table come by DMA. As no engine addresses
 * indirectly, everything else is a product with a matrix of ones and zeros. Bits must arrive
 * whatever they mean (an infinity times 0 would be NaN), so they are taken as integers of 11 bits,
 * which fp16 holds and a sum with zeros does not change. Called by the front ends.
 */
#include <string.h>

#include "expand.h"
#include "neuron/hw/ext.h"

#define PART_BITS 11
#define MOST_PARTS 3
#define SHORT_ROW 64 /* bytes: of shorter ones, descriptors are most of the cost */
#define SMALLEST_TABLE 8192 /* elements: with a smaller one a product is faster */
#define SMALLEST_OF_SHORT 512 /* rows: the same for a table of short ones */
#define FEWEST_TURNED 512 /* indices: as many as one product takes side by side */
#define MOST_TURNED 8 /* columns of a table that is the stationary operand */
#define FEWEST_LANES 64 /* partitions that work on rows which came together */
#define MOST_TABLES 16 /* a longer table is cut into at most so many */

struct ncc_op *expand_one_hot(struct ncc_build *bl, struct ncc_op *idx, int64_t n)
{
	struct ncc_shape s;
	uint8_t map[NCC_MAX_DIMS], last;
	struct ncc_op *a, *b;

	if (!idx || idx->shape.ndim == NCC_MAX_DIMS)
		return NULL;
	s = idx->shape;
	last = (uint8_t)s.ndim;
	for (unsigned int i = 0; i < s.ndim; i++)
		map[i] = (uint8_t)i;
	s.dim[s.ndim++] = n;
	a = build_spread(bl, &s, idx, map);
	b = build_count(bl, n);
	b = b ? build_spread(bl, &s, b, &last) : NULL;
	return build_cast(bl, build_compare(bl, NCC_EQ, a, b), NEURON_DT_FP16);
}

/* The bits of element i of a constant */
static uint32_t raw_bits(const struct ncc_op *c, int64_t i)
{
	unsigned int esz = ncc_dtype_size(c->shape.dtype);
	uint8_t b[4] = { 0 };

	memcpy(b, (const uint8_t *)c->data + i * esz, esz);
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Part k of x's bits as fp16; a constant's is computed now, so that it costs nothing. */
static struct ncc_op *take_part(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *word,
				unsigned int k)
{
	const uint32_t mask = (1u << PART_BITS) - 1;
	struct ncc_shape s = x->shape;
	struct ncc_op *p;

	if (x->kind == NCC_CONST) {
		s.dtype = NEURON_DT_FP16;
		s.pred = false;
		p = build_const(bl, &s);
		for (int64_t i = 0; p && i < ncc_elems(&s); i++)
			ncc_set(NEURON_DT_FP16, p->data, i, raw_bits(x, i) >> k * PART_BITS & mask);
		return p;
	}
	s = word->shape;
	p = k ? build_node(bl, NCC_SHR, &s, word, build_splat(bl, &s, k * PART_BITS), NULL) : word;
	if ((k + 1) * PART_BITS < 32)
		p = build_node(bl, NCC_AND, &s, p, build_splat(bl, &s, mask), NULL);
	return build_cast(bl, p, NEURON_DT_FP16);
}

/* The integers of x's bits */
static uint8_t whole_of(const struct ncc_op *x)
{
	static const uint8_t whole[5] = { [2] = NEURON_DT_INT16, [4] = NEURON_DT_INT32 };
	unsigned int size = ncc_dtype_size(x->shape.dtype);

	return size > 1 ? whole[size] : x->shape.dtype;
}

/* One part of the choice, in fp32: [shared, hot's other dimensions..., x's other dimensions...] */
static struct ncc_op *choose_part(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
				  unsigned int d, unsigned int shared)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	struct ncc_op *op;

	if (!hot || !x)
		return NULL;
	for (unsigned int i = 0; i + 1 < hot->shape.ndim; i++)
		s.dim[s.ndim++] = hot->shape.dim[i];

	for (unsigned int i = shared; i < x->shape.ndim; i++)
		if (i != d)
			s.dim[s.ndim++] = x->shape.dim[i];

	op = build_node(bl, NCC_DOT, &s, hot, x, NULL);
	if (!op)
		return NULL;
	op->dot->nbatch = shared;
	for (unsigned int i = 0; i < shared; i++)
		op->dot->lhs_batch[i] = op->dot->rhs_batch[i] = (uint8_t)i;
	op->dot->ncontract = 1;
	op->dot->lhs_contract[0] = (uint8_t)(hot->shape.ndim - 1);
	op->dot->rhs_contract[0] = (uint8_t)d;
	return op;
}

static struct ncc_op *choose_parts(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
				   unsigned int d, unsigned int shared)
{
	unsigned int size = ncc_dtype_size(x->shape.dtype), n = size == 4 ? MOST_PARTS : 2;
	uint8_t whole = whole_of(x);
	struct ncc_op *word = NULL, *sum = NULL;

	if (x->kind != NCC_CONST)
		word = build_cast(bl, build_bitcast(bl, x, whole), NEURON_DT_INT32);
	if (!word && x->kind != NCC_CONST)
		return NULL;
	if (word && size == 2)
		word = build_number(bl, NCC_AND, word, 0xffff);
	for (unsigned int k = 0; k < n; k++) {
		struct ncc_op *p = choose_part(bl, hot, take_part(bl, x, word, k), d, shared);

		p = build_cast(bl, p, NEURON_DT_INT32);
		if (!p)
			return NULL;
		if (k)
			p = build_number(bl, NCC_SHL, p, k * PART_BITS);
		sum = sum ? build_node(bl, NCC_OR, &p->shape, sum, p, NULL) : p;
	}
	return build_bitcast(bl, build_cast(bl, sum, whole), x->shape.dtype);
}

struct ncc_op *expand_choose(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
			     unsigned int d, unsigned int shared)
{
	struct ncc_op *sum;

	if (!hot || !x || hot->shape.ndim - 1 + x->shape.ndim - 1 - shared > NCC_MAX_DIMS)
		return NULL;
	if (ncc_dtype_size(x->shape.dtype) > 1)
		return choose_parts(bl, hot, x, d, shared);
	sum = choose_part(bl, hot, build_cast(bl, x, NEURON_DT_FP16), d, shared);
	if (sum && x->shape.pred) /* 0 or 1 */
		return build_compare(bl, NCC_GT, sum, build_splat(bl, &sum->shape, 0.5));
	return build_cast(bl, sum, x->shape.dtype);
}

/* Parts of x's bits, fp16, side by side: [rows, parts * columns]; elements of a byte are one part. */
static struct ncc_op *parts_of(struct ncc_build *bl, struct ncc_op *x, unsigned int n)
{
	struct ncc_op *word = NULL, *part[MOST_PARTS];

	if (n == 1)
		return build_cast(bl, x, NEURON_DT_FP16);
	if (x->kind != NCC_CONST) {
		word = build_cast(bl, build_bitcast(bl, x, whole_of(x)), NEURON_DT_INT32);
		if (word && whole_of(x) == NEURON_DT_INT16)
			word = build_number(bl, NCC_AND, word, 0xffff);
		if (!word)
			return NULL;
	}
	for (unsigned int k = 0; k < n; k++) {
		part[k] = take_part(bl, x, word, k);
		if (!part[k])
			return NULL;
	}
	return build_concat(bl, part, n, 1);
}

bool expand_is_narrow(const struct ncc_op *x, int64_t n)
{
	return n >= FEWEST_TURNED && x->shape.dim[1] <= MOST_TURNED;
}

struct ncc_op *expand_choose_narrow(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx)
{
	static const uint8_t first = 0, second = 1, turn[2] = { 1, 0 };
	struct ncc_shape hot = { .dtype = NEURON_DT_FP32, .ndim = 2 }, flat = { .ndim = 1 };
	unsigned int size = ncc_dtype_size(x->shape.dtype), n = size == 4 ? MOST_PARTS : size;
	int64_t columns = x->shape.dim[1];
	struct ncc_op *number = build_cast(bl, build_count(bl, x->shape.dim[0]), NEURON_DT_FP32);
	struct ncc_op *parts = parts_of(bl, x, n), *ones, *all, *r = NULL;

	idx = build_cast(bl, idx, NEURON_DT_FP32);
	if (!idx || !number || !parts)
		return NULL;
	hot.dim[0] = x->shape.dim[0];
	hot.dim[1] = idx->shape.dim[0];
	ones = build_cast(bl,
			  build_compare(bl, NCC_EQ, build_spread(bl, &hot, number, &first),
					build_spread(bl, &hot, idx, &second)),
			  NEURON_DT_FP16);
	all = choose_part(bl, build_transpose(bl, parts, turn), ones, 0, 0);
	if (!all)
		return NULL;
	all->upright = true; /* so the table's parts are the stationary operand */
	flat.dim[0] = columns * hot.dim[1];
	for (unsigned int k = 0; k < n; k++) {
		struct ncc_op *p = build_slice(bl, all, 0, k * columns, columns);

		p = build_cast(bl, build_reshape(bl, p, &flat), NEURON_DT_INT32);
		p = k ? build_number(bl, NCC_SHL, p, k * PART_BITS) : p;
		r = k ? build_binary(bl, NCC_OR, r, p) : p;
	}
	if (r && x->shape.pred)
		r = build_compare(bl, NCC_NE, r, build_splat(bl, &r->shape, 0));
	else
		r = build_bitcast(bl, build_cast(bl, r, whole_of(x)), x->shape.dtype);
	hot.dim[0] = columns;
	return build_transpose(bl, build_reshape(bl, r, &hot), turn);
}

struct ncc_op *expand_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most)
{
	struct ncc_op *x = build_cast(bl, idx, NEURON_DT_INT32);

	return build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, x, 0), (double)most);
}

/* How many short rows are fetched as one, so that a table has fewer of them: a power of 2 */
static int64_t rows_together(const struct ncc_op *x, int64_t rows, int64_t columns)
{
	int64_t n = 1;

	while (rows > n * NCC_MAX_TABLE &&
	       2 * n * columns * ncc_dtype_size(x->shape.dtype) <= SHORT_ROW)
		n *= 2;
	return n;
}

bool expand_has_rows(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns)
{
	if (shared * rows > MOST_TABLES * NCC_MAX_TABLE * rows_together(x, shared * rows, columns))
		return false;
	if (columns * ncc_dtype_size(x->shape.dtype) < SHORT_ROW)
		return rows >= SMALLEST_OF_SHORT;
	return rows * columns >= SMALLEST_TABLE;
}

/*
 * Gathers from the n rows from lo on. Indices of other rows are clamped; theirs come from
 * elsewhere.
 */
static struct ncc_op *rows_of_part(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
				   int64_t lo, int64_t n)
{
	struct ncc_shape s = x->shape;

	if (n < s.dim[0]) {
		if (lo)
			idx = build_number(bl, NCC_SUB, idx, (double)lo);
		x = build_slice(bl, x, 0, lo, n);
		idx = idx ? expand_clamp_index(bl, idx, n - 1) : NULL;
	}
	s.dim[0] = idx ? idx->shape.dim[0] : 0;
	return x && idx ? build_node(bl, NCC_GATHER, &s, x, idx, NULL) : NULL;
}

/*
 * Gathers rows of a matrix by a vector of indices from as many parts of the table as are needed.
 * The last part that has the row wins.
 */
static struct ncc_op *rows_of_parts(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x)
{
	struct ncc_op *sum = NULL;
	uint8_t map = 0;

	for (int64_t lo = 0; lo < x->shape.dim[0]; lo += NCC_MAX_TABLE) {
		int64_t left = x->shape.dim[0] - lo;
		struct ncc_op *r = rows_of_part(bl, idx, x, lo,
						left < NCC_MAX_TABLE ? left : NCC_MAX_TABLE),
			      *has;
		struct ncc_shape s;

		if (lo && r) {
			has = build_compare(bl, NCC_GE, idx,
					    build_splat(bl, &idx->shape, (double)lo));
			s = r->shape;
			s.dtype = NEURON_DT_INT8;
			s.pred = true;
			r = build_select(bl, has ? build_spread(bl, &s, has, &map) : NULL, r, sum);
		}
		if (!r)
			return NULL;
		sum = r;
	}
	return sum;
}

static struct ncc_op *pad_to(struct ncc_build *bl, struct ncc_op *v, const struct ncc_shape *to,
			     const int64_t *start)
{
	struct ncc_op *zero = v ? ncc_const_scalar(bl->m, v->shape.dtype, 0) : NULL, *op;
	struct ncc_shape s = *to;

	if (!zero)
		return NULL;
	zero->shape.pred = v->shape.pred;
	s.dtype = v->shape.dtype;
	s.pred = v->shape.pred;
	op = build_node(bl, NCC_PAD, &s, v, zero, NULL);
	for (unsigned int d = 0; op && d < s.ndim; d++) {
		op->low[d] = start[d];
		op->high[d] = s.dim[d] - start[d] - v->shape.dim[d];
	}
	return op;
}

/*
 * Rows of a matrix, `together` of which are fetched at a time: halves of what came are chosen by
 * the index's lowest bits, in a matrix of many partitions; for that there may be a few indices
 * more.
 */
static struct ncc_op *rows_of_groups(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
				     int64_t together)
{
	struct ncc_shape s = x->shape, each = idx->shape, lines, p;
	static const int64_t start[2] = { 0 };
	static const uint8_t map[2] = { 0, 1 };
	int64_t n = idx->shape.dim[0], columns = x->shape.dim[1], lanes = NEURON_PARTITIONS;
	struct ncc_op *high, *r;

	s.dim[0] = (s.dim[0] + together - 1) / together * together;
	x = s.dim[0] > x->shape.dim[0] ? pad_to(bl, x, &s, start) : x;
	s.dim[0] /= together;
	s.dim[1] *= together;
	x = build_reshape(bl, x, &s);
	while (lanes > FEWEST_LANES && n % lanes)
		lanes--;
	if (n % lanes)
		lanes = NEURON_PARTITIONS;
	each.dim[0] = (n + lanes - 1) / lanes * lanes;
	idx = each.dim[0] > n ? pad_to(bl, idx, &each, start) : idx;
	high = idx ? build_node(bl, NCC_SHR, &each, idx,
				build_splat(bl, &each, __builtin_ctzll((uint64_t)together)), NULL)
		   : NULL;
	r = high && x ? rows_of_parts(bl, high, x) : NULL;
	lines = (struct ncc_shape){ .ndim = 3, .dim = { lanes, each.dim[0] / lanes, s.dim[1] } };
	r = build_reshape(bl, r, &lines);
	lines.ndim = 2;
	idx = build_reshape(bl, idx, &lines);
	for (int64_t half = together / 2; half && r; half /= 2) {
		struct ncc_op *second = build_number(bl, NCC_AND, idx, (double)half);

		second = second ? build_compare(bl, NCC_NE, second,
						build_splat(bl, &second->shape, 0))
				: NULL;
		p = r->shape;
		p.dim[2] /= 2;
		p.dtype = NEURON_DT_INT8;
		p.pred = true;
		second = second ? build_spread(bl, &p, second, map) : NULL;
		r = build_select(bl, second, build_slice(bl, r, 2, p.dim[2], p.dim[2]),
				 build_slice(bl, r, 2, 0, p.dim[2]));
	}
	each.ndim = 2;
	each.dim[1] = columns;
	return build_slice(bl, build_reshape(bl, r, &each), 0, 0, n);
}

/* Each shared table follows the one before. */
static struct ncc_op *in_its_table(struct ncc_build *bl, struct ncc_op *idx, int64_t shared,
				   int64_t rows)
{
	int64_t each = ncc_elems(&idx->shape) / shared;
	struct ncc_op *at = build_const(bl, &idx->shape);

	for (int64_t i = 0; at && i < each * shared; i++)
		ncc_set(idx->shape.dtype, at->data, i, (double)(i / each * rows));
	return at ? build_node(bl, NCC_ADD, &idx->shape, idx, at, NULL) : NULL;
}

struct ncc_op *expand_rows(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			   int64_t shared, int64_t rows)
{
	struct ncc_shape table = { .ndim = 2 }, flat = { .ndim = 1 };
	int64_t together;

	if (!idx || !x)
		return NULL;
	if (shared > 1)
		idx = in_its_table(bl, idx, shared, rows);
	if (!idx)
		return NULL;
	flat.dim[0] = ncc_elems(&idx->shape);
	table.dim[0] = shared * rows;
	table.dim[1] = ncc_elems(&x->shape) / (shared * rows);
	x = build_reshape(bl, x, &table);
	idx = build_reshape(bl, idx, &flat);
	if (!x || !idx)
		return NULL;
	together = rows_together(x, table.dim[0], table.dim[1]);
	return together > 1 ? rows_of_groups(bl, idx, x, together) : rows_of_parts(bl, idx, x);
}

/* Moves dimensions: [idx's, x's others] -> [x's before d, idx's, x's after d]. */
static struct ncc_op *in_place(struct ncc_build *bl, struct ncc_op *r, unsigned int nidx,
			       unsigned int d)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	if (!r || !d)
		return r;
	for (unsigned int i = 0; i < d; i++)
		map[n++] = (uint8_t)(nidx + i);
	for (unsigned int i = 0; i < nidx; i++)
		map[n++] = (uint8_t)i;
	for (unsigned int i = nidx + d; i < r->shape.ndim; i++)
		map[n++] = (uint8_t)i;
	return build_transpose(bl, r, map);
}

static int64_t product_of(const struct ncc_shape *s, unsigned int first, unsigned int last)
{
	int64_t n = 1;

	for (unsigned int i = first; i < last; i++)
		n *= s->dim[i];
	return n;
}

static bool take_rows(const struct ncc_op *x, unsigned int d)
{
	return expand_has_rows(x, product_of(&x->shape, 0, d), x->shape.dim[d],
			       product_of(&x->shape, d + 1, x->shape.ndim));
}

/* Takes along dimension d: the dimensions before it are shared, those after it are a row. */
static struct ncc_op *take_by_rows(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				   unsigned int d)
{
	struct ncc_shape s = { 0 }, each = idx->shape;
	int64_t before = product_of(&x->shape, 0, d);
	uint8_t map[NCC_MAX_DIMS];

	if (idx->shape.ndim + x->shape.ndim - 1 > NCC_MAX_DIMS)
		return NULL;
	for (unsigned int i = 0; i < d; i++)
		s.dim[s.ndim++] = x->shape.dim[i];
	for (unsigned int i = 0; i < idx->shape.ndim; i++)
		s.dim[s.ndim++] = idx->shape.dim[i];
	for (unsigned int i = d + 1; i < x->shape.ndim; i++)
		s.dim[s.ndim++] = x->shape.dim[i];
	each.ndim = 2;
	each.dim[0] = before;
	each.dim[1] = ncc_elems(&idx->shape);
	map[0] = 1;
	idx = build_reshape(bl, idx, &(struct ncc_shape){ .ndim = 1, .dim = { each.dim[1] } });
	idx = build_spread(bl, &each, idx, map);
	return build_reshape(bl, expand_rows(bl, idx, x, before, x->shape.dim[d]), &s);
}

struct ncc_op *expand_place(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *v,
			    const int64_t *start)
{
	struct ncc_op *ones, *u;
	struct ncc_shape s;

	if (!x || !v || ncc_same_dims(&v->shape, &x->shape))
		return x ? v : NULL;
	s = v->shape;
	s.dtype = NEURON_DT_INT8;
	s.pred = true;
	ones = build_splat(bl, &s, 1);
	if (!ones)
		return NULL;
	ones->in[0]->shape.pred = true;
	ones = pad_to(bl, ones, &x->shape, start);
	u = pad_to(bl, v, &x->shape, start);
	return ones && u ? build_select(bl, ones, u, x) : NULL;
}

struct ncc_op *expand_take_inside(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				  unsigned int d)
{
	struct ncc_op *hot;

	if (!x || !idx)
		return NULL;
	if (take_rows(x, d))
		return take_by_rows(bl, x, idx, d);
	hot = expand_one_hot(bl, idx, x->shape.dim[d]);
	return in_place(bl, expand_choose(bl, hot, x, d, 0), idx->shape.ndim, d);
}

struct ncc_op *expand_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			   unsigned int d)
{
	if (!x || !idx || d >= x->shape.ndim)
		return NULL;
	return expand_take_inside(bl, x, expand_clamp_index(bl, idx, x->shape.dim[d] - 1), d);
}
