// SPDX-License-Identifier: MIT
/* See subsets.h */
#include "subsets.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ncc_subset_block {
	struct ncc_subset_block *next;
	uint64_t bits[];
};

void ncc_subsets_begin(struct ncc_subsets *s, unsigned int numbers)
{
	*s = (struct ncc_subsets){ .words = numbers / 64 + 1 };
}

void ncc_subsets_end(struct ncc_subsets *s)
{
	struct ncc_subset_block *next;

	for (struct ncc_subset_block *b = s->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	s->blocks = NULL;
}

/* A copy that its maker may still change; NULL: there is no memory */
static uint64_t *copy(struct ncc_subsets *s, ncc_subset a)
{
	const size_t size = s->words * sizeof(uint64_t);
	struct ncc_subset_block *b = calloc(1, sizeof(*b) + size);

	if (!b) {
		s->failed = true;
		return NULL;
	}
	b->next = s->blocks;
	s->blocks = b;
	if (a)
		memcpy(b->bits, a, size);
	return b->bits;
}

ncc_subset ncc_subset_with(struct ncc_subsets *s, ncc_subset a, unsigned int i)
{
	uint64_t *x = ncc_subset_has(a, i) ? NULL : copy(s, a);

	if (x)
		x[i / 64] |= 1ull << i % 64;
	return x ? x : a;
}

ncc_subset ncc_subset_without(struct ncc_subsets *s, ncc_subset a, unsigned int i)
{
	uint64_t *x = ncc_subset_has(a, i) ? copy(s, a) : NULL;

	if (!x)
		return a;
	x[i / 64] &= ~(1ull << i % 64);
	return ncc_subset_next(s, x, 0) < 0 ? NULL : x;
}

static bool has_all(const struct ncc_subsets *s, ncc_subset a, ncc_subset b)
{
	for (unsigned int w = 0; w < s->words; w++)
		if (b[w] & ~a[w])
			return false;
	return true;
}

ncc_subset ncc_subset_both(struct ncc_subsets *s, ncc_subset a, ncc_subset b)
{
	uint64_t *x;

	if (!a || !b || a == b)
		return a ? a : b;
	if (has_all(s, a, b))
		return a;
	if (has_all(s, b, a))
		return b;
	x = copy(s, a);
	for (unsigned int w = 0; x && w < s->words; w++)
		x[w] |= b[w];
	return x ? x : a;
}

bool ncc_subset_within(const struct ncc_subsets *s, ncc_subset a, unsigned int but, ncc_subset b)
{
	for (unsigned int w = 0; a && w < s->words; w++) {
		const uint64_t left = a[w] & ~(w == but / 64 ? 1ull << but % 64 : 0);

		if (left & ~(b ? b[w] : 0))
			return false;
	}
	return true;
}

bool ncc_subset_intersects(const struct ncc_subsets *s, ncc_subset a, ncc_subset b)
{
	for (unsigned int w = 0; a && b && w < s->words; w++)
		if (a[w] & b[w])
			return true;
	return false;
}

int ncc_subset_next(const struct ncc_subsets *s, ncc_subset a, unsigned int from)
{
	for (unsigned int w = from / 64; a && w < s->words; w++) {
		const uint64_t left = a[w] & (w == from / 64 ? ~0ull << from % 64 : ~0ull);

		if (left)
			return (int)(w * 64 + (unsigned int)__builtin_ctzll(left));
	}
	return -1;
}

unsigned int ncc_subset_count(const struct ncc_subsets *s, ncc_subset a)
{
	unsigned int n = 0;

	for (unsigned int w = 0; a && w < s->words; w++)
		n += (unsigned int)__builtin_popcountll(a[w]);
	return n;
}
