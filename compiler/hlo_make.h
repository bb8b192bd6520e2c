/* SPDX-License-Identifier: MIT */
/*
 * Making operations of the tensor IR for one instruction of HLO: private to hlo_expand.c and
 * hlo_index.c. They are named after the instruction and keep their types (ncc_op.exact). An operand
 * that could not be made (NULL) makes the result NULL, so that only the last need be looked at.
 */
#ifndef NCC_HLO_MAKE_H
#define NCC_HLO_MAKE_H

#include "hlo.h"

/* up to three operands; those after the first NULL are absent, the first must be there */
struct ncc_op *hlo_node(struct hlo_inst *in, enum ncc_kind kind, const struct ncc_shape *s,
			struct ncc_op *a, struct ncc_op *b, struct ncc_op *c);
/* one number all over a shape */
struct ncc_op *hlo_splat(struct hlo_inst *in, const struct ncc_shape *s, double v);
/* a predicate of a's shape */
struct ncc_op *hlo_compare(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a,
			   struct ncc_op *b);
/* x with its dimensions spread over a shape: map[i] is where dimension i goes */
struct ncc_op *hlo_spread(struct hlo_inst *in, const struct ncc_shape *s, struct ncc_op *x,
			  const uint8_t *map);

/* 0, 1 (not one of theirs), or -errno */
int hlo_expand(struct hlo_inst *in, struct ncc_op **out);
int hlo_index(struct hlo_inst *in, struct ncc_op **out); /* gather, dynamic slices */
/* reduce of (values, their indices): argmax and argmin, as JAX makes them; a tuple of two */
int hlo_arg_reduce(struct hlo_inst *in, struct hlo_value *v);

#endif
