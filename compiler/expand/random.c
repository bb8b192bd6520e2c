// SPDX-License-Identifier: MIT
/*
 * Random bits as XLA's RngBitGenerator gives them: Threefry2x32 with 20 rounds and Philox4x32 with
 * 10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011), each block of which
 * encrypts a counter. Words are u32, which wrap around; a counter is of words, the lowest first.
 */
#include "random.h"

static struct ncc_op *rotated(struct ncc_build *bl, struct ncc_op *x, unsigned int n)
{
	return build_binary(bl, NCC_OR, build_number(bl, NCC_SHL, x, n),
			    build_number(bl, NCC_SHR, x, 32 - n));
}

/* A word for all blocks */
static struct ncc_op *spread(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s)
{
	return x ? build_spread(bl, s, x, NULL) : NULL;
}

static struct ncc_op *is_zero(struct ncc_build *bl, struct ncc_op *x)
{
	return x ? build_compare(bl, NCC_EQ, x, build_splat(bl, &x->shape, 0)) : NULL;
}

/* The upper words of a counter whose lowest one overflows */
static void carried(struct ncc_build *bl, struct ncc_op *const *c, unsigned int n,
		    struct ncc_op **to)
{
	struct ncc_op *carry = NULL;

	for (unsigned int i = 1; i < n; i++) {
		to[i] = build_number(bl, NCC_ADD, c[i], 1);
		if (i > 1)
			to[i] = build_select(bl, carry, to[i], c[i]);
		carry = i > 1 ? build_binary(bl, NCC_AND, carry, is_zero(bl, to[i]))
			      : is_zero(bl, to[i]);
	}
}

/* The counter c of n words, and so many blocks more */
static void advance(struct ncc_build *bl, struct ncc_op *const *c, unsigned int n, int64_t blocks,
		    struct ncc_op **to)
{
	struct ncc_op *up[RANDOM_COUNTER], *carry;

	to[0] = build_number(bl, NCC_ADD, c[0], (double)blocks);
	carry = build_compare(bl, NCC_LT, to[0], c[0]);
	carried(bl, c, n, up);
	for (unsigned int i = 1; i < n; i++)
		to[i] = build_select(bl, carry, up[i], c[i]);
}

#define PART_STEP 0x6c078965u /* from a part's seed to the next one's, times its number */
#define ROWS 128 /* of many blocks: one for each partition, so that their words meet in it */
#define MOST (ROWS * 2048) /* blocks at a time */
#define FEW 512

/* The shape of so many blocks, or a few more */
static struct ncc_shape grid(int64_t blocks)
{
	if (blocks <= FEW)
		return (struct ncc_shape){ .dtype = NEURON_DT_UINT32,
					   .ndim = 1,
					   .dim = { blocks } };
	return (struct ncc_shape){ .dtype = NEURON_DT_UINT32,
				   .ndim = 2,
				   .dim = { ROWS, (blocks + ROWS - 1) / ROWS } };
}

/* first, first + 1, ... in row-major order */
static struct ncc_op *numbers(struct ncc_build *bl, const struct ncc_shape *s, int64_t first)
{
	return s->ndim == 1 ? build_steps(bl, s->dtype, s->dim[0], first, 1)
			    : build_numbers(bl, s, first);
}

/* The counter of each block of s, of which the first one has this number */
static void count(struct ncc_build *bl, struct ncc_op *const *c, unsigned int n,
		  const struct ncc_shape *s, int64_t number, struct ncc_op **to)
{
	struct ncc_op *up[RANDOM_COUNTER], *carry, *first = spread(bl, c[0], s);

	to[0] = build_binary(bl, NCC_ADD, first, numbers(bl, s, number));
	carry = build_compare(bl, NCC_LT, to[0], first);
	carried(bl, c, n, up);
	for (unsigned int i = 1; i < n; i++)
		to[i] = build_select(bl, carry, spread(bl, up[i], s), spread(bl, c[i], s));
}

static void threefry_blocks(struct ncc_build *bl, struct ncc_op *const *key,
			    const struct ncc_shape *s, struct ncc_op **x)
{
	static const uint8_t rotation[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };
	struct ncc_op *k[3] = { key[0], key[1],
				build_number(bl, NCC_XOR, build_binary(bl, NCC_XOR, key[0], key[1]),
					     0x1bd11bda) };

	for (unsigned int i = 0; i < 2; i++)
		x[i] = build_binary(bl, NCC_ADD, x[i], spread(bl, k[i], s));
	for (unsigned int group = 1; group <= 5; group++) {
		for (unsigned int i = 0; i < 4; i++) {
			x[0] = build_binary(bl, NCC_ADD, x[0], x[1]);
			x[1] = rotated(bl, x[1], rotation[(group - 1) % 2][i]);
			x[1] = build_binary(bl, NCC_XOR, x[0], x[1]);
		}
		for (unsigned int i = 0; i < 2; i++) {
			struct ncc_op *word = k[(group + i) % 3];

			word = i ? build_number(bl, NCC_ADD, word, group) : word;
			x[i] = build_binary(bl, NCC_ADD, x[i], spread(bl, word, s));
		}
	}
}

#define LIMB 11 /* bits: three products of two limbs, and what is carried to them, are below 2^24 */
#define LIMB_MASK ((1u << LIMB) - 1)

static void limbs(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **limb)
{
	limb[0] = build_number(bl, NCC_AND, x, LIMB_MASK);
	limb[1] = build_number(bl, NCC_AND, build_number(bl, NCC_SHR, x, LIMB), LIMB_MASK);
	limb[2] = build_number(bl, NCC_SHR, x, 2 * LIMB);
}

/* The halves of the 64-bit product of x and limbs b: sums of products of limbs stay exact in fp32. */
static void product(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *const *b,
		    struct ncc_op **high, struct ncc_op **low)
{
	struct ncc_op *a[3], *sum[5], *carry = NULL;

	limbs(bl, x, a);
	for (unsigned int i = 0; i < 5; i++) {
		sum[i] = carry;
		for (unsigned int j = i < 3 ? 0 : i - 2; j < 3 && j <= i; j++) {
			struct ncc_op *p = build_binary(bl, NCC_MUL, a[j], b[i - j]);

			sum[i] = sum[i] ? build_binary(bl, NCC_ADD, sum[i], p) : p;
		}
		carry = build_number(bl, NCC_SHR, sum[i], LIMB);
	}

	*low = build_binary(bl, NCC_OR, build_number(bl, NCC_AND, sum[0], LIMB_MASK),
			    build_number(bl, NCC_SHL, build_number(bl, NCC_AND, sum[1], LIMB_MASK),
					 LIMB));
	*low = build_binary(bl, NCC_OR, *low, build_number(bl, NCC_SHL, sum[2], 2 * LIMB));
	*high = build_number(bl, NCC_AND, build_number(bl, NCC_SHR, sum[2], 32 - 2 * LIMB), 1);
	*high = build_binary(bl, NCC_OR, *high,
			     build_number(bl, NCC_SHL, build_number(bl, NCC_AND, sum[3], LIMB_MASK),
					  1));
	*high = build_binary(bl, NCC_OR, *high, build_number(bl, NCC_SHL, sum[4], 4 * LIMB - 32));
}

static void product_with(struct ncc_build *bl, struct ncc_op *x, uint32_t k, struct ncc_op **high,
			 struct ncc_op **low)
{
	const uint32_t part[3] = { k & LIMB_MASK, k >> LIMB & LIMB_MASK, k >> 2 * LIMB };
	struct ncc_op *b[3];

	for (unsigned int i = 0; i < 3; i++)
		b[i] = x ? build_splat(bl, &x->shape, part[i]) : NULL;
	product(bl, x, b, high, low);
}

#define PHILOX_ROUNDS 10

/* The key's word in each round: more by a constant than in the one before */
static struct ncc_op *raised(struct ncc_build *bl, struct ncc_op *key, uint32_t by)
{
	struct ncc_op *add = build_steps(bl, NEURON_DT_UINT32, PHILOX_ROUNDS, 0, by);

	return add ? build_binary(bl, NCC_ADD, spread(bl, key, &add->shape), add) : NULL;
}

static struct ncc_op *word_of(struct ncc_build *bl, struct ncc_op *x, int64_t i)
{
	return build_reshape(bl, build_slice(bl, x, 0, i, 1), &(struct ncc_shape){ 0 });
}

static void philox_blocks(struct ncc_build *bl, struct ncc_op *const *key,
			  const struct ncc_shape *s, struct ncc_op **x)
{
	struct ncc_op *keys[2] = { raised(bl, key[0], 0x9e3779b9), raised(bl, key[1], 0xbb67ae85) };

	for (unsigned int round = 0; round < PHILOX_ROUNDS; round++) {
		struct ncc_op *high[2], *low[2], *k[2];

		product_with(bl, x[0], 0xd2511f53, &high[0], &low[0]);
		product_with(bl, x[2], 0xcd9e8d57, &high[1], &low[1]);
		for (unsigned int i = 0; i < 2; i++)
			k[i] = spread(bl, word_of(bl, keys[i], round), s);
		x[0] = build_binary(bl, NCC_XOR, build_binary(bl, NCC_XOR, high[1], x[1]), k[0]);
		x[1] = low[1];
		x[2] = build_binary(bl, NCC_XOR, build_binary(bl, NCC_XOR, high[0], x[3]), k[1]);
		x[3] = low[0];
	}
}

/* The first so many elements as a list */
static struct ncc_op *first_of(struct ncc_build *bl, struct ncc_op *x, int64_t n)
{
	struct ncc_shape flat = { .ndim = 1 };

	if (!x)
		return NULL;
	flat.dim[0] = ncc_elems(&x->shape);
	return build_slice(bl, build_reshape(bl, x, &flat), 0, 0, n);
}

/* The words of so many blocks, side by side */
static struct ncc_op *woven(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    int64_t blocks)
{
	struct ncc_op *column[RANDOM_COUNTER];
	struct ncc_shape s = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		if (!x[i])
			return NULL;
		s = x[i]->shape;
		s.dim[s.ndim++] = 1;
		column[i] = build_reshape(bl, x[i], &s);
	}
	return first_of(bl, build_concat(bl, column, n, s.ndim - 1), n * blocks);
}

static struct ncc_op *as_type(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s)
{
	static const uint8_t by_size[] = {
		[1] = NEURON_DT_UINT8, [2] = NEURON_DT_UINT16, [4] = NEURON_DT_UINT32
	};

	x = build_cast(bl, x, by_size[ncc_dtype_size(s->dtype)]);
	return build_bitcast(bl, x, s->dtype);
}

/* A request to a generator */
struct asked {
	enum ncc_random by;
	struct ncc_op *const *key;
	struct ncc_op *const *counter;
	const struct ncc_shape *s; /* of the numbers' type */
	bool wide;
	struct ncc_op *seed; /* of the chip's generator */
};

/* The words of so many blocks: side by side as out[0], or each as a list of its own */
static void generate(struct ncc_build *bl, const struct asked *a, int64_t blocks, bool weave,
		     struct ncc_op **out)
{
	const bool is_philox = a->by == NCC_RANDOM_PHILOX;
	const unsigned int words = is_philox ? 4 : 2, lists = weave ? 1 : words;
	const int64_t parts = (blocks + MOST - 1) / MOST;
	struct ncc_op **part = ncc_alloc(bl->m, (size_t)parts * lists * sizeof(*part));
	struct ncc_op *x[RANDOM_COUNTER];

	for (int64_t i = 0; part && i < parts; i++) {
		const int64_t n = i + 1 < parts ? MOST : blocks - i * MOST;
		const struct ncc_shape s = grid(n);

		count(bl, a->counter, words, &s, i * MOST, x);
		(is_philox ? philox_blocks : threefry_blocks)(bl, a->key, &s, x);
		for (unsigned int k = 0; k < words; k++)
			x[k] = as_type(bl, x[k], a->s);
		for (unsigned int k = 0; k < lists; k++)
			part[k * parts + i] =
				weave ? woven(bl, x, words, n) : first_of(bl, x[k], n);
	}
	for (unsigned int k = 0; k < lists; k++)
		out[k] = part ? build_concat(bl, &part[k * parts], (unsigned int)parts, 0) : NULL;
}

/*
 * The dimension of a shape that Threefry halves, since the two words of a block go to two places
 * along it: the first even one, else the first of the longest
 */
static unsigned int halved(const struct ncc_shape *s)
{
	unsigned int longest = 0;

	for (unsigned int d = 0; d < s->ndim; d++) {
		if (s->dim[d] % 2 == 0)
			return d;
		if (s->dim[d] > s->dim[longest])
			longest = d;
	}
	return longest;
}

/* The words of blocks in their places along the dimension that is halved */
static struct ncc_op *paired(struct ncc_build *bl, const struct asked *a, int64_t *blocks)
{
	const struct ncc_shape *s = a->s;
	const unsigned int d = halved(s);
	struct ncc_shape whole = *s, one = { .ndim = 3, .dim = { 1, 1, 1 } };
	struct ncc_op *x[2];

	*blocks = 1;
	if (!s->ndim) {
		generate(bl, a, *blocks, false, x);
		return build_reshape(bl, x[0], s);
	}

	whole.dim[d] += whole.dim[d] % 2;
	*blocks = ncc_elems(&whole) / 2;
	for (unsigned int k = d + 1; k < s->ndim; k++)
		one.dim[2] *= s->dim[k];
	one.dim[0] = *blocks / one.dim[2];
	generate(bl, a, *blocks, one.dim[2] == 1, x);
	if (one.dim[2] > 1) {
		for (unsigned int i = 0; i < 2; i++)
			x[i] = build_reshape(bl, x[i], &one);
		x[0] = build_concat(bl, x, 2, 1);
	}
	return build_slice(bl, build_reshape(bl, x[0], &whole), d, 0, s->dim[d]);
}

static int64_t threefry(struct ncc_build *bl, const struct asked *a, struct ncc_op **bits)
{
	int64_t blocks = ncc_elems(a->s);

	if (a->wide)
		generate(bl, a, blocks, true, bits);
	else
		*bits = paired(bl, a, &blocks);
	return blocks;
}

/*
 * A list of n words of the chip's generator (docs/compiler-operations.md, Random numbers): few are
 * one lane's, more are drawn in parts, each with a seed of its own
 */
static struct ncc_op *drawn(struct ncc_build *bl, struct ncc_op *seed, int64_t n)
{
	const struct ncc_shape one = { .ndim = 2, .dim = { 1, 1 } };
	const int64_t parts = (n + MOST - 1) / MOST;
	struct ncc_op **part = ncc_alloc(bl->m, (size_t)parts * sizeof(struct ncc_op *));

	seed = build_reshape(bl, seed, &one);
	for (int64_t i = 0; part && i < parts; i++) {
		const int64_t m = i + 1 < parts ? MOST : n - i * MOST;
		const struct ncc_shape s = { .dtype = NEURON_DT_UINT32,
					     .ndim = 2,
					     .dim = { m <= FEW ? 1 : ROWS,
						      m <= FEW ? m : (m + ROWS - 1) / ROWS } };
		struct ncc_op *of =
			i ? build_number(bl, NCC_XOR, seed, (uint32_t)((uint32_t)i * PART_STEP))
			  : seed;

		part[i] = of ? build_node(bl, NCC_RANDOM, &s, of, NULL, NULL) : NULL;
		part[i] = first_of(bl, part[i], m);
	}
	return part ? build_concat(bl, part, (unsigned int)parts, 0) : NULL;
}

/* A seed of all words of a state */
static struct ncc_op *seed_of(struct ncc_build *bl, struct ncc_op *const *word, unsigned int n)
{
	struct ncc_op *seed = word[0];

	for (unsigned int i = 1; i < n; i++)
		seed = build_binary(bl, NCC_XOR, seed,
				    i % 4 ? rotated(bl, word[i], i % 4 * 8) : word[i]);
	return seed;
}

static int64_t philox(struct ncc_build *bl, const struct asked *a, struct ncc_op **bits)
{
	const int64_t words = ncc_elems(a->s) * (a->wide ? 2 : 1), blocks = (words + 3) / 4;

	if (a->by == NCC_RANDOM_HARDWARE)
		*bits = as_type(bl, drawn(bl, a->seed, words), a->s);
	else
		generate(bl, a, blocks, true, bits);
	*bits = build_slice(bl, *bits, 0, 0, words);
	return blocks;
}

bool expand_random(struct ncc_build *bl, enum ncc_random by, struct ncc_op *state,
		   const struct ncc_shape *s, bool wide, struct ncc_op **bits, struct ncc_op **next)
{
	const bool is_philox = by != NCC_RANDOM_THREEFRY;
	struct ncc_op *word[2 + RANDOM_COUNTER], *counter[RANDOM_COUNTER], *to[RANDOM_COUNTER];
	const unsigned int n = state ? (unsigned int)(2 * state->shape.dim[0]) : 0;
	struct asked asked = { by, word, counter, s, wide, NULL };
	struct ncc_shape flat = { .ndim = 1, .dim = { n } }, to_shape = *s;
	int64_t blocks;

	*bits = *next = NULL;
	state = build_reshape(bl, state, &flat);
	for (unsigned int i = 0; i < n; i++)
		word[i] = word_of(bl, state, i);
	/* a state without room for Philox's upper half of the counter has its key there */
	for (unsigned int i = 0; i < RANDOM_COUNTER && state; i++)
		counter[i] = word[2 + i < n ? 2 + i : i - 2];
	if (!state)
		return false;
	if (by == NCC_RANDOM_HARDWARE)
		asked.seed = seed_of(bl, word, n);
	blocks = (is_philox ? philox : threefry)(bl, &asked, bits);
	advance(bl, counter, is_philox ? RANDOM_COUNTER : 2, blocks, to);

	for (unsigned int i = 0; i < n; i++)
		word[i] = build_reshape(bl, i < 2 ? word[i] : to[i - 2],
					&(struct ncc_shape){ .ndim = 1, .dim = { 1 } });
	flat = (struct ncc_shape){ .ndim = 2, .dim = { n / 2, 2 } };
	*next = build_reshape(bl, build_concat(bl, word, n, 0), &flat);
	if (wide)
		to_shape.dim[to_shape.ndim++] = 2;
	*bits = build_reshape(bl, *bits, &to_shape);
	return *bits && *next;
}

#define KEY_STEP 0x85ebca6bu

uint32_t expand_random_text(const char *text)
{
	uint32_t h = 2166136261u;

	while (text && *text)
		h = (h ^ (uint8_t)*text++) * 16777619u;
	return h;
}

static struct ncc_op *seed_of_key(struct ncc_build *bl, const struct ncc_random_key *key)
{
	struct ncc_op *seed = build_const(bl, &(struct ncc_shape){ .dtype = NEURON_DT_UINT32 });

	if (seed)
		ncc_set_int(NEURON_DT_UINT32, seed->data, 0, key->text ^ key->number * KEY_STEP);
	return seed;
}

/* u32 of shape s: what Philox gives for a key, from 0 on, or the chip's generator */
static struct ncc_op *words(struct ncc_build *bl, const struct ncc_random_key *key,
			    const struct ncc_shape *s)
{
	const struct ncc_shape state = { .dtype = NEURON_DT_UINT32, .ndim = 2, .dim = { 3, 2 } };
	struct ncc_shape to = *s;
	struct ncc_op *start, *bits, *next;

	if (bl->m->hardware_rng)
		return build_reshape(bl, drawn(bl, seed_of_key(bl, key), ncc_elems(s)), s);
	start = build_const(bl, &state);
	if (!start)
		return NULL;
	ncc_set_int(NEURON_DT_UINT32, start->data, 0, key->text);
	ncc_set_int(NEURON_DT_UINT32, start->data, 1, key->number);
	to.dtype = NEURON_DT_UINT32;
	to.pred = false;
	return expand_random(bl, NCC_RANDOM_PHILOX, start, &to, false, &bits, &next) ? bits : NULL;
}

#define FRACTION 0x1p-24 /* the upper bits of a word that fp32 holds */

static struct ncc_op *upper_bits(struct ncc_build *bl, struct ncc_op *word)
{
	return build_cast(bl, build_number(bl, NCC_SHR, word, 8), NEURON_DT_FP32);
}

struct ncc_op *expand_uniform(struct ncc_build *bl, const struct ncc_random_key *key,
			      const struct ncc_shape *s)
{
	return build_number(bl, NCC_MUL, upper_bits(bl, words(bl, key, s)), FRACTION);
}

/*
 * Pairs by Box and Muller: of a radius, whose square is exponential, and an angle in [-pi, pi), the
 * products with its sine and its cosine
 */
struct ncc_op *expand_normal(struct ncc_build *bl, const struct ncc_random_key *key,
			     const struct ncc_shape *s)
{
	const int64_t n = ncc_elems(s), pairs = (n + 1) / 2;
	const struct ncc_shape two = { .ndim = 2, .dim = { 2, pairs } };
	const struct ncc_shape flat = { .ndim = 1, .dim = { 2 * pairs } };
	const double turn = 0x1.921fb4p2; /* 2 pi, rounded towards 0: the sine ends at pi */
	struct ncc_op *w = upper_bits(bl, words(bl, key, &two)), *radius, *angle, *part[2];

	radius = build_number(bl, NCC_ADD, build_slice(bl, w, 0, 0, 1), 1);
	radius = build_number(bl, NCC_MUL, radius, FRACTION);
	if (!radius)
		return NULL;
	radius = build_unary(bl, NCC_LOG, radius);
	radius = build_number(bl, NCC_MUL, radius, -2);
	radius = build_unary(bl, NCC_SQRT, radius);

	angle = build_number(bl, NCC_MUL, build_slice(bl, w, 0, 1, 1), FRACTION);
	angle = build_number(bl, NCC_MUL, build_number(bl, NCC_SUB, angle, 0.5), turn);
	if (!angle || !radius)
		return NULL;
	part[0] = build_unary(bl, NCC_SIN, angle);
	angle = build_unary(bl, NCC_ABS, angle);
	angle = build_number(bl, NCC_ADD, build_number(bl, NCC_MUL, angle, -1), turn / 4);
	part[1] = build_unary(bl, NCC_SIN, angle);
	for (unsigned int i = 0; i < 2; i++)
		part[i] = build_binary(bl, NCC_MUL, radius, part[i]);
	w = build_reshape(bl, build_concat(bl, part, 2, 0), &flat);
	return build_reshape(bl, build_slice(bl, w, 0, 0, n), s);
}

/* The upper half of a word's product with how many numbers there are is below that. */
struct ncc_op *expand_uniform_whole(struct ncc_build *bl, const struct ncc_random_key *key,
				    struct ncc_op *low, struct ncc_op *high,
				    const struct ncc_shape *s)
{
	struct ncc_op *span = build_binary(bl, NCC_SUB, high, low), *limb[3], *up, *down;

	limbs(bl, span, limb);
	product(bl, words(bl, key, s), limb, &up, &down);
	return as_type(bl, build_binary(bl, NCC_ADD, low, up), s);
}
