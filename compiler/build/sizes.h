/* SPDX-License-Identifier: MIT */
/*
 * Dimensions of which the data say how many elements there are. A value's operation has the bounds
 * in its shape, and what lies beyond the sizes counts for nobody. What follows from the sizes of
 * operands is here, for both front ends: they know where the sizes come from, fill what an
 * operation would mix in, and refuse what is ambiguous.
 */
#ifndef NCC_SIZES_H
#define NCC_SIZES_H

#include "build.h"

/* The dimensions of a value */
struct ncc_sizes {
	unsigned int ndim;
	int64_t bound[NCC_MAX_DIMS]; /* elements, at most */
	struct ncc_op *size[NCC_MAX_DIMS]; /* s32, how many there are; NULL: as many as the bound */
};

/* Those of a shape; size: of its dimensions, or NULL */
struct ncc_sizes sizes_of(const struct ncc_shape *s, struct ncc_op *const *size);
/* A size, or the number that it always is */
struct ncc_op *sizes_at(struct ncc_build *bl, const struct ncc_sizes *s,
			unsigned int d); /* A predicate, [bound]: is an element of a dimension of
					    that size there? */
struct ncc_op *sizes_within(struct ncc_build *bl, int64_t bound, struct ncc_op *size);

/*
 * sizes.c: an operation whose result has sizes that follow from those of its operands. Of the
 * operation the kind, the attributes, the result's shape and the number of operands are read; it
 * need not be one of the module.
 */
struct ncc_follow {
	struct ncc_build *bl;
	const struct ncc_op *op;
	const struct ncc_sizes *in; /* of each operand that may have any */
	bool clamped; /* by operations, between 0 and the bound: nothing else shows that they are */
};
/* Those of the result's dimensions that have one, by the rule of the operation's kind */
void sizes_follow(const struct ncc_follow *f, struct ncc_op **to);
/* How many windows of a dimension there are, at most `bound` */
struct ncc_op *sizes_windows(const struct ncc_follow *f, struct ncc_op *size,
			     const struct ncc_window *w, int64_t bound);

/* The slices that are gathered or scattered: HLO's dimension numbers */
struct ncc_slices {
	unsigned int nwindow; /* the dimensions of the result (or the updates) within a slice */
	uint8_t window[NCC_MAX_DIMS];
	uint32_t dropped; /* mask: the operand's dimensions, of size 1, that a slice lacks */
	unsigned int nbatch; /* shared dimensions: the operand's, and the indices' */
	uint8_t batch[NCC_MAX_DIMS], index_batch[NCC_MAX_DIMS];
	unsigned int nmap; /* component i of an index is along dimension map[i] of the operand */
	uint8_t map[NCC_MAX_DIMS];
	unsigned int vector; /* dimension of the indices along which an index's components lie */
	int64_t size[NCC_MAX_DIMS]; /* of a slice, for each dimension of the operand */
};
/* Those of the result, of so many dimensions, when slices of x are taken at indices */
struct ncc_gathered {
	struct ncc_sizes x, idx;
	struct ncc_slices slices;
	unsigned int ndim;
};
void sizes_gathered(const struct ncc_gathered *g, struct ncc_op **to);

/* The product of n of them; NULL: n is 0, or it could not be made */
struct ncc_op *sizes_product(struct ncc_build *bl, const struct ncc_sizes *s, unsigned int first,
			     unsigned int n);

/*
 * sizes_reshape.c. Dimensions of the operand, from `from` on, that become those of the result from
 * `to` on: the fewest with the same product of bounds. Dimensions of one element that is there are
 * in no group.
 */
struct ncc_group {
	unsigned int from, nfrom, to, nto;
};
/* The group behind g, or the first one of { 0 }. A group without dimensions of one is the last. */
bool sizes_next_group(const struct ncc_sizes *x, const struct ncc_sizes *y, struct ncc_group *g);
/*
 * s32[the group's bounds of the result]: where in those of the operand the element lies that
 * belongs there. What is there keeps its order: it is counted in the result, and that number is
 * found in the operand. What is not there has any place; clamped: one from 0 on also where the
 * operand's first size is too small for it, which costs a division, and each front end has its
 * programs as they are.
 */
struct ncc_op *sizes_regrouped(struct ncc_build *bl, const struct ncc_sizes *x,
			       const struct ncc_sizes *y, const struct ncc_group *g, bool clamped);

#endif
