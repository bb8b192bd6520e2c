/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: what loops (flow.c) and conditionals (branch.c) share */
#ifndef NCC_HLO_FLOW_H
#define NCC_HLO_FLOW_H

#include "hlo.h"

/* Are they of the same types and shapes? */
bool hlo_same_leaves(const struct hlo_value *a, const struct hlo_value *b);
/* Chooses leaf by leaf: a's where the scalar p holds, else b's. */
int hlo_choose_leaves(struct hlo_inst *in, struct ncc_op *p, const struct hlo_value *a,
		      struct hlo_value *b);

#endif
