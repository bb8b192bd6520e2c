/* SPDX-License-Identifier: MIT */
/* Going over views in pieces that one instruction can take. */
#ifndef NCC_GEN_WALK_H
#define NCC_GEN_WALK_H

#include "view.h"

/*
 * A walk over views of equal dimensions in pieces that one instruction can take. All have the same
 * pdim (or, with pdim -1, lie in one partition). Access patterns have at most 4 - reserve
 * dimensions and max elements. walk_begin_chunks: whole chunks of partitions are one more
 * dimension, if they are one for all views (walk_has_chunks), and what is left over follows.
 */
struct walk {
	const struct ncc_view *v[4];
	unsigned int reserve;
	int64_t max;
	bool chunked;
	unsigned int nv, nd, nap; /* views; free dimensions after joining; those in the pattern */
	int64_t dim[NCC_MAX_DIMS], stride[4][NCC_MAX_DIMS], at[NCC_MAX_DIMS], block;
	int64_t p, np;
	bool done;
	unsigned int partitions; /* of this piece */
	struct neuron_ap ap[4];
};
void walk_begin(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		unsigned int reserve, int64_t max);
void walk_begin_chunks(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		       unsigned int reserve, int64_t max);
bool walk_has_chunks(const struct ncc_view *const *v, unsigned int nv);
bool walk_next(struct walk *w);
/* Elements of a partition in one instruction: our choice; it may have 64 K. */
#define WALK_MAX 16384

#endif
