/* SPDX-License-Identifier: MIT */
/* Private to layout.c: partitions of small values (lanes.c) */
#ifndef NCC_LANES_H
#define NCC_LANES_H

#include "ir/ir.h"

/* The operand's dimension that result dimension d is; -1: none */
typedef int layout_through(const struct ncc_op *op, int d);

/*
 * Changes pdim of some of the module's n operations in order; their ids are their places. 0, or -1:
 * memory
 */
int lanes_choose(const struct ncc_module *m, struct ncc_op **line, unsigned int n,
		 layout_through *through);

#endif
