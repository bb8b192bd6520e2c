/* SPDX-License-Identifier: MIT */
/* Private to layout.c: dimensions along which elements move (shifts.c) */
#ifndef NCC_SHIFTS_H
#define NCC_SHIFTS_H

#include "ir/ir.h"

/* Changes pdim of some of the n operations in order; their ids are their places. 0, or -1: memory */
int shifts_avoid(struct ncc_op **line, unsigned int n);
/* The dimensions of the result or the operands along which elements go to other partitions */
uint32_t shifts_moved(const struct ncc_op *op);

#endif
