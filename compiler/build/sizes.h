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
struct ncc_op *sizes_at(struct ncc_build *bl, const struct ncc_sizes *s, unsigned int d);
/* A number that the data say, as a size: from 0 to the bound */
struct ncc_op *sizes_clamped(struct ncc_build *bl, struct ncc_op *size, int64_t bound);

/*
 * sizes_fill.c. What lies beyond the sizes is any, and nobody may read it: an operation that mixes
 * elements along a dimension gets what does not count there. A predicate, [bound]: is an element of
 * a dimension of that size there?
 */
struct ncc_op *sizes_within(struct ncc_build *bl, int64_t bound, struct ncc_op *size);
/*
 * The same of a value of these sizes, as far as those of the mask's dimensions say. It has the
 * value's rank, and its dimensions or (where operands broadcast, ncc_build.now) 1. NULL: all are
 * there, or it could not be made
 */
struct ncc_op *sizes_there(struct ncc_build *bl, const struct ncc_sizes *s, uint32_t mask);
/* x, a value of these sizes, with a scalar of its type in place of what is not there */
struct ncc_op *sizes_filled(struct ncc_build *bl, struct ncc_op *x, const struct ncc_sizes *s,
			    uint32_t mask, struct ncc_op *with);

/*
 * sizes.c: an operation whose result has sizes that follow from those of its operands. Of the
 * operation the kind, the attributes, the result's shape and the number of operands are read; it
 * need not be one of the module.
 */
struct ncc_follow {
	struct ncc_build *bl;
	const struct ncc_op *op;
	const struct ncc_sizes *in; /* of each operand; of a scatter, operand 0's */
	bool clamped; /* by operations, between 0 and the bound: nothing else shows that they are */
	/*
	 * Of two sizes of one dimension the smaller one holds, as in HLO; alike: they have to be
	 * the same number, as in ONNX, which is an error if that is not known
	 */
	bool alike;
	bool *lost; /* becomes true where a size could not be made; NULL: who asks finds NULL */
};
/*
 * Those of the result's dimensions that have one, by the rule of the operation's kind. false: one
 * could not be made
 */
bool sizes_follow(const struct ncc_follow *f, struct ncc_op **to);
/*
 * The same of n values from the given one on that are combined element by element, in a result of
 * rank ndim: they broadcast, so that their last dimensions belong together
 */
void sizes_of_elements(const struct ncc_follow *f, unsigned int first, unsigned int n,
		       unsigned int ndim, struct ncc_op **to);
/* The one size of what is one dimension in two values; either may be NULL: then it is the other */
struct ncc_op *sizes_both(const struct ncc_follow *f, struct ncc_op *a, struct ncc_op *b);
/*
 * The operation was done on the bounds, so that elements of dimension d which are there do not come
 * first (a concatenation has gaps, a reversal begins with what is not there). s32[the result's
 * bound]: the place there of the element that each place is to have. NULL: all are where they
 * belong, or it could not be made
 */
struct ncc_op *sizes_places(const struct ncc_follow *f, unsigned int d);
/* Does an operand of a concatenation along d end before its bound, and another one follow? */
bool sizes_has_gaps(const struct ncc_follow *f, unsigned int d);
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

/*
 * sizes_known.c: what is known of a whole number before the program runs. It is not outside of
 * these; both the same: it is known
 */
#define NCC_NO_BOUND INT32_MAX
struct ncc_bound {
	int64_t least, most;
};
/* Numbers that are sizes, so that they are not negative */
struct ncc_noted {
	const struct ncc_op *op;
	const struct ncc_noted *next;
};
bool sizes_is_noted(const struct ncc_noted *noted, const struct ncc_op *op);
struct ncc_bound sizes_bound(const struct ncc_noted *noted, const struct ncc_op *op, int64_t i);
/* The operation, and *i its element, that element *i of op always is, moved as it may be */
const struct ncc_op *sizes_source(const struct ncc_noted *noted, const struct ncc_op *op,
				  int64_t *i);
/* Do they have the same value? false: it may be another */
bool sizes_same(const struct ncc_op *a, const struct ncc_op *b);

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
