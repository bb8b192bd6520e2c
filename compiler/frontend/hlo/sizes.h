/* SPDX-License-Identifier: MIT */
/*
 * Private to the HLO front end: bounded dynamic dimensions. A value has the bound's shape, and its
 * sizes beside it (hlo_value.size): s32 scalars from 0 to the bound. sizes.c carries and masks,
 * dynamic.c does what the table of operations says of them, and its siblings have the rules.
 */
#ifndef NCC_HLO_SIZES_H
#define NCC_HLO_SIZES_H

#include "build/sizes.h"
#include "operations.h"

/* The sizes of one leaf; NULL: that dimension is static */
struct hlo_sizes {
	struct ncc_op *dim[NCC_MAX_DIMS];
};

/* Is dimension d of the shape, which need not exist, dynamic? */
static inline bool hlo_is_dynamic_dim(const Ncc__Hlo__Shape *p, size_t d)
{
	return d < p->n_is_dynamic_dimension && p->is_dynamic_dimension[d];
}

/* Is d in the list? */
static inline bool hlo_has_dim(size_t n, const int64_t *list, int64_t d)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == d)
			return true;
	return false;
}

/* Is it of dynamic values, or does it make them? */
bool hlo_is_dynamic(const struct hlo_inst *in);
/* Imports such an instruction; run imports it on the bounds. */
int hlo_dynamic(struct hlo_inst *in, struct hlo_value *v, hlo_run run);

/* A size that is always this number */
struct ncc_op *hlo_fixed_size(struct hlo_inst *in, int64_t n);
/* The size of operand i's dimension d, which need not exist; NULL: it is static */
struct ncc_op *hlo_size(const struct hlo_inst *in, unsigned int i, int64_t d);
/* The size, or the number that it always is */
struct ncc_op *hlo_size_or_bound(struct hlo_inst *in, unsigned int i, unsigned int d);
/* The smaller one; either may be NULL */
struct ncc_op *hlo_smaller(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b);
/* The smaller ones of n operands from the given one on, whose dimensions are alike, or which are
 * scalars */
void hlo_merge_sizes(struct hlo_inst *in, unsigned int first, unsigned int n, struct hlo_sizes *to);
/* Gives them to every leaf of the result. */
int hlo_give_sizes(struct hlo_inst *in, struct hlo_value *v, const struct hlo_sizes *s);
/*
 * The result's, which follow from the operands' by the kind of the rule (build/sizes.h); its
 * operands and attributes are as they have been imported
 */
int hlo_follow(struct hlo_inst *in, struct hlo_value *v);
/* What the rule is asked by; shape: the result's */
int hlo_following(struct hlo_inst *in, const struct ncc_shape *shape, struct ncc_follow *f);
/* Is there one? */
bool hlo_is_sized(const struct hlo_value *v);
/* Operand i with `with` (for each leaf, a scalar) beyond the size of dimension d */
int hlo_fill(struct hlo_inst *in, unsigned int i, unsigned int d, struct ncc_op *size,
	     struct ncc_op *const *with);
int hlo_fill_number(struct hlo_inst *in, unsigned int i, unsigned int d, struct ncc_op *size,
		    double number);
/* A predicate of that shape: is an element within the size of dimension d? */
struct ncc_op *hlo_inside(struct hlo_inst *in, const struct ncc_shape *s, unsigned int d,
			  struct ncc_op *size);
/* Refuses the instruction because of its operand i's dimension d. */
int hlo_refuse_size(struct hlo_inst *in, unsigned int i, unsigned int d);

/*
 * Values that a loop or a conditional passes on: the sizes become leaves behind the others. Which
 * ones: those that the shape has, or the value (or NULL).
 */
struct hlo_layout {
	unsigned int leaves, sizes;
	uint32_t *dims; /* of each leaf, a mask */
};
int hlo_layout(struct hlo_inst *in, const Ncc__Hlo__Shape *p, const struct hlo_value *v,
	       struct hlo_layout *l);
int hlo_pack(struct hlo_inst *in, const struct hlo_layout *l, struct hlo_value *v);
int hlo_unpack(struct hlo_inst *in, const struct hlo_layout *l, struct hlo_value *v);

/*
 * Of the module: s32 parameters behind the others for the sizes of the others, and results for
 * those of the results, whose elements beyond them become 0
 */
unsigned int hlo_count_sizes(const Ncc__Hlo__Computation *c);
/* number: the parameter's in the program */
int hlo_size_parameter(struct hlo_inst *in, unsigned int number, struct hlo_value *arg);
int hlo_results(struct hlo_inst *in, struct hlo_value *v);

/*
 * dynamic.c and its siblings: what an operation does with sizes, for its row in the table; run
 * imports it on the bounds. own: the importer takes care of them itself
 */
int hlo_sizes_own(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_elements(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_matrices(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_transform(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_bitcast(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_custom(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_reshape(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_reduce(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_window(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_dot(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_conv(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_top(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_concat(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_slice(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_pad(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_reverse(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_gather(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_scatter(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_dynamic_slice(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
int hlo_sizes_dynamic_update(struct hlo_inst *in, struct hlo_value *v, hlo_run run);

#endif
