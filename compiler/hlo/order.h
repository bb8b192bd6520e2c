/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: sort and topk by places (order.c) */
#ifndef NCC_HLO_ORDER_H
#define NCC_HLO_ORDER_H

#include "hlo.h"

/* Are the rows so few and long that a network spreads each over the partitions? */
bool hlo_sort_is_wide(int64_t rows, int64_t length);
/*
 * A network (sort.c) that finds the places, s32[rows, n], of the elements of rows in order, of
 * which expand_order_digits() has made two numbers; 0 or -errno, and the message has been given
 */
typedef int (*hlo_digits_fn)(struct hlo_inst *in, struct ncc_op **digit, struct ncc_op **place);

/*
 * Sorts the instruction's operands along dimension d; takes the first n of x[0] along its last
 * dimension, x[1] their places. 1: done; 0: a network of any values is to do it; or -errno, and the
 * message has been given.
 */
int hlo_sort_by_place(struct hlo_inst *in, struct ncc_op **x, unsigned int d, hlo_digits_fn sort);
int hlo_top_by_place(struct hlo_inst *in, struct ncc_op **x, int64_t n, bool largest);

#endif
