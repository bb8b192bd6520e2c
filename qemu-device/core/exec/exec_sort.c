/* SPDX-License-Identifier: MIT */
/*
 * POOL's SORT (docs/isa.md, Vector engine): the order of a row's keys. Short rows by counting what
 * comes before each key, long ones digit by digit from the least significant; of few keys out of
 * many, those that cannot be among them are left out as they are met. Called by exec_pool.c.
 */
#include "exec_walk.h"

#include <string.h>

#define NARROW 2048 /* of fewer keys the digits are narrow ones: they have fewer values to count */
#define DIGIT_MAX 11
#define DIGITS_MAX 4
#define RANKED_MAX 192
#define FEW 32 /* of so many keys one: to look for the best is quicker than to sort all */
#define BEST_LEAST 256 /* keys at least that are looked at together for the best */

/* The digits of the keys in which they differ, the least significant first */
struct digits {
	unsigned int bits, count;
	unsigned int shift[DIGITS_MAX];
	uint32_t place[DIGITS_MAX][1 << DIGIT_MAX]; /* where keys with that value begin */
};

/* A signed key as an unsigned one in the same order */
static inline uint32_t digit_of(uint32_t key, unsigned int shift, unsigned int bits)
{
	return (key ^ 0x80000000u) >> shift & ((1u << bits) - 1);
}

static void digits_count(struct digits *d, const int32_t *keys, uint32_t n)
{
	unsigned int all;

	d->bits = n < NARROW ? 8 : DIGIT_MAX;
	all = (32 + d->bits - 1) / d->bits;
	for (unsigned int i = 0; i < all; i++)
		memset(d->place[i], 0, sizeof(uint32_t) << d->bits);
	for (uint32_t k = 0; k < n; k++)
		for (unsigned int i = 0; i < all; i++)
			d->place[i][digit_of((uint32_t)keys[k], i * d->bits, d->bits)]++;
	d->count = 0;
	for (unsigned int i = 0; i < all; i++) {
		uint32_t *to = d->place[d->count], sum = 0;

		if (d->place[i][digit_of((uint32_t)keys[0], i * d->bits, d->bits)] == n)
			continue;
		for (uint32_t v = 0; v < 1u << d->bits; v++) {
			uint32_t these = d->place[i][v];

			to[v] = sum;
			sum += these;
		}
		d->shift[d->count++] = i * d->bits;
	}
}

/* By the last digit: to the places of the first k */
static void digits_last(struct digits *d, const struct exec_pair *from, uint32_t n, uint32_t *out,
			uint32_t k)
{
	unsigned int shift = d->shift[d->count - 1], bits = d->bits;
	uint32_t *place = d->place[d->count - 1];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = place[digit_of(from[i].key, shift, bits)]++;

		if (to < k)
			out[to] = from[i].at;
	}
}

static void digits_step(struct digits *d, unsigned int i, const struct exec_pair *from, uint32_t n,
			struct exec_pair *to)
{
	unsigned int shift = d->shift[i], bits = d->bits;
	uint32_t *place = d->place[i];

	for (; n; n--, from++)
		to[place[digit_of(from->key, shift, bits)]++] = *from;
}

/* The numbers of the first k of n keys in their order */
static void order_by_digits(const struct tpb *t, const int32_t *keys, uint32_t n, uint32_t *out,
			    uint32_t k)
{
	struct exec_pair *from = t->scratch->pairs[0], *to = t->scratch->pairs[1];
	struct digits d;

	digits_count(&d, keys, n);
	for (uint32_t i = 0; i < n; i++)
		from[i] = (struct exec_pair){ (uint32_t)keys[i], i };
	for (unsigned int i = 0; i + 1 < d.count; i++) {
		struct exec_pair *done = to;

		digits_step(&d, i, from, n, to);
		to = from;
		from = done;
	}
	if (d.count)
		digits_last(&d, from, n, out, k);
	else
		for (uint32_t i = 0; i < k; i++)
			out[i] = i;
}

static void order_by_rank(const struct tpb *t, const int32_t *keys, uint32_t n, uint32_t *out,
			  uint32_t k)
{
	uint32_t rank[RANKED_MAX + 16];

	t->kern->rank(rank, keys, n);
	for (uint32_t i = 0; i < n; i++)
		if (rank[i] < k)
			out[rank[i]] = i;
}

static void order_all(const struct tpb *t, const int32_t *keys, uint32_t n, uint32_t *out,
		      uint32_t k)
{
	if (n <= t->kern->ranked && n <= RANKED_MAX)
		order_by_rank(t, keys, n, out, k);
	else
		order_by_digits(t, keys, n, out, k);
}

/* Candidates for the first k: the first k of the elements before come first, in order */
struct best {
	int32_t *key;
	uint32_t *at;
	uint32_t count, capacity;
};

/* Keeps the first k; out has room for them */
static void best_sort(const struct tpb *t, struct best *b, uint32_t *out, uint32_t k)
{
	int32_t *key = (int32_t *)t->scratch->x;
	uint32_t *at = (uint32_t *)t->scratch->x + k;

	order_all(t, b->key, b->count, out, k);
	for (uint32_t i = 0; i < k; i++) {
		key[i] = b->key[out[i]];
		at[i] = b->at[out[i]];
	}
	memcpy(b->key, key, k * sizeof(*key));
	memcpy(b->at, at, k * sizeof(*at));
	b->count = k;
}

/*
 * The first k of many. A key that is not smaller than the k-th smallest of those before it is none
 * of them; of equal ones the first comes first.
 */
static void order_best(const struct tpb *t, const int32_t *keys, uint32_t n, uint32_t *out,
		       uint32_t k)
{
	uint32_t *words = t->scratch->result[0];
	struct best b = { .key = (int32_t *)words,
			  .at = words + NEURON_ISA_MAX_ELEMS_SBUF / 2,
			  .count = 0,
			  .capacity = 4 * k < BEST_LEAST ? BEST_LEAST : 4 * k };
	uint32_t i = b.capacity;

	memcpy(b.key, keys, b.capacity * sizeof(*keys));
	for (; b.count < b.capacity; b.count++)
		b.at[b.count] = b.count;
	for (;;) {
		best_sort(t, &b, out, k);
		if (i == n)
			break;
		while (b.count < b.capacity) {
			i = t->kern->below(keys, i, n, b.key[k - 1]);
			if (i == n)
				break;
			b.key[b.count] = keys[i];
			b.at[b.count++] = i++;
		}
	}
	memcpy(out, b.at, k * sizeof(*out));
}

void exec_sort(struct tpb *t, const struct neuron_insn *insn)
{
	int32_t *keys = (int32_t *)t->scratch->acc;
	uint32_t flip = insn->reverse0 ? ~0u : 0; /* turns the order of signed integers */
	struct exec_operand dst, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		uint32_t n = src.r.count, k = dst.r.count, *out;
		const uint32_t *in;

		exec_operand_row(&src, p);
		exec_operand_row(&dst, p);
		in = exec_stream_get(&src.s, keys, n);
		for (uint32_t i = 0; i < n; i++)
			keys[i] = (int32_t)(in[i] ^ flip);
		out = exec_stream_at(&dst.s, k);
		if (n >= 2 * BEST_LEAST && k <= n / FEW)
			order_best(t, keys, n, out ? out : t->scratch->row, k);
		else
			order_all(t, keys, n, out ? out : t->scratch->row, k);
		if (!out)
			exec_stream_put(&dst.s, t->scratch->row, k);
	}
}
