/* SPDX-License-Identifier: MIT */
/*
 * Products of weights that are sparse in a pattern of the chip's, in the order in which
 * passes/sparse.c finds them, and which of them stay dense: ncc.c decides, report.c says it
 */
#ifndef NCC_SPARSE_H
#define NCC_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#define NCC_SPARSE_MAX 64 /* products; more are as the last one is */

struct ncc_error;
struct ncc_module;
struct ncc_options;

struct ncc_sparse {
	/*
	 * Once: tells how long a product by itself takes, sparse or not; passes/sparse.c asks it of
	 * each that it finds, and the faster of the two it is. NULL: dense says which
	 */
	int (*alone)(struct ncc_module *product, const struct ncc_options *opt, bool sparse,
		     uint64_t *ps, struct ncc_error *err);
	unsigned int n;
	uint64_t dense; /* a bit for each */
	struct ncc_sparse_product {
		char name[100];
		int64_t rows, columns;
		unsigned int neighbours, of;
		bool taken;
		uint64_t sparse, as_dense; /* picoseconds that it takes by itself */
	} product[NCC_SPARSE_MAX];
};

/* Do all that were found stay dense? */
static inline bool ncc_sparse_none(const struct ncc_sparse *s)
{
	const uint64_t all = s->n == 64 ? ~0ull : (1ull << s->n) - 1;

	return (s->dense & all) == all;
}

#endif
