/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: sort and topk by places (order.c) */
#ifndef NCC_HLO_ORDER_H
#define NCC_HLO_ORDER_H

#include "hlo.h"

/*
 * Sorts the instruction's operands along dimension d. 1: done; 0: a network of any values is to do
 * it; or -errno, and the message has been given.
 */
int hlo_sort_by_place(struct hlo_inst *in, struct ncc_op **x, unsigned int d);
/* Takes the first n of x[0] along its last dimension, x[1] their places; 0 or -errno as before */
int hlo_top_by_place(struct hlo_inst *in, struct ncc_op **x, int64_t n, bool largest);

#endif
