/* SPDX-License-Identifier: MIT */
/*
 * Sets of small numbers, such as the loops and calls of a module that an operation depends on. Most
 * operations have the set of one of their operands, so that a set never changes once it is there,
 * and is whoever's that needs it. Called by loops_find.c.
 */
#ifndef NCC_SUBSETS_H
#define NCC_SUBSETS_H

#include <stdbool.h>
#include <stdint.h>

typedef const uint64_t *ncc_subset; /* NULL: the empty one */

/* Numbers below 64 times words. failed: there was no memory, and some set is not what it should be */
struct ncc_subsets {
	unsigned int words;
	bool failed;
	struct ncc_subset_block *blocks;
};

void ncc_subsets_begin(struct ncc_subsets *s, unsigned int numbers);
void ncc_subsets_end(struct ncc_subsets *s);

static inline bool ncc_subset_has(ncc_subset a, unsigned int i)
{
	return a && a[i / 64] >> i % 64 & 1;
}

ncc_subset ncc_subset_with(struct ncc_subsets *s, ncc_subset a, unsigned int i);
ncc_subset ncc_subset_without(struct ncc_subsets *s, ncc_subset a, unsigned int i);
ncc_subset ncc_subset_both(struct ncc_subsets *s, ncc_subset a, ncc_subset b);
/* Has each number of a, but for that one, a place in b? */
bool ncc_subset_within(const struct ncc_subsets *s, ncc_subset a, unsigned int but, ncc_subset b);
bool ncc_subset_intersects(const struct ncc_subsets *s, ncc_subset a, ncc_subset b);
/* The first number from there on; -1: there is none */
int ncc_subset_next(const struct ncc_subsets *s, ncc_subset a, unsigned int from);
unsigned int ncc_subset_count(const struct ncc_subsets *s, ncc_subset a);

#endif
