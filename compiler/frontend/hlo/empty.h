/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: values without elements (empty.c). */
#ifndef NCC_HLO_EMPTY_H
#define NCC_HLO_EMPTY_H

#include "operations.h"
#include "sizes.h"

/* Is it a placeholder for a value without elements? No operation may have one as an operand. */
bool hlo_is_empty(const struct ncc_op *op);
/* Has an operand or a result no elements? Not so of what passes values on. */
bool hlo_touches_empty(const struct hlo_inst *in);
/* A placeholder of that shape, and that of a token; NULL: out of memory */
struct ncc_op *hlo_placeholder(struct hlo_inst *in, const struct ncc_shape *s);
struct ncc_op *hlo_empty_token(struct hlo_inst *in);
/* An instruction's result: its arrays in order, a complex one twice */
#define HLO_LEAVES (2 * HLO_MANY)
struct hlo_leaves {
	unsigned int n, without; /* elements */
	struct ncc_shape shape[HLO_LEAVES];
};
/* What an instruction gives then, for its row in the table */
int hlo_empty_concat(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run);
int hlo_empty_custom_call(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
			  hlo_run run);
int hlo_empty_gather(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run);
int hlo_empty_pad(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		  hlo_run run);
int hlo_empty_product(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		      hlo_run run);
int hlo_empty_random_bits(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
			  hlo_run run);
int hlo_empty_reduce(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run);
int hlo_empty_scatter(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		      hlo_run run);
int hlo_empty_select_and_scatter(struct hlo_inst *in, const struct hlo_leaves *l,
				 struct hlo_value *v, hlo_run run);
int hlo_empty_size(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		   hlo_run run);
int hlo_empty_update(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run);
/* Imports such an instruction; run: as if all had some */
int hlo_of_empty(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
/*
 * Indices that have no component have no elements, and slices begin at the first element of an
 * operand of that shape: *idx becomes indices of one component that say so.
 */
int hlo_start_at_zero(struct hlo_inst *in, const struct ncc_shape *x, struct ncc_slices *s,
		      struct ncc_op **idx);
/* Has the array no elements? */
bool hlo_is_empty_array(const Ncc__Hlo__Shape *p);
/* The value of a parameter of the module that has none: a placeholder, twice of a complex one */
int hlo_empty_parameter(struct hlo_inst *in, struct hlo_value *v);
/* The module's results without those that have no elements */
int hlo_drop_empty(struct hlo_inst *in, struct hlo_value *v);

#endif
