/* SPDX-License-Identifier: MIT */
/*
 * Private to the IR's text form: the attributes of each kind of operation, in the order in which
 * they are printed (print.c) and may be read (parse.c).
 *
 *   module "jit_first"
 *     %0 = f32[4,64] parameter index=0 "x" "first.py:3"
 *     %1 = f32[64,10] constant {0.5, -1, ...} "w"
 *     %2 = f32[4,10] dot %0, %1 lhs_batch={} rhs_batch={} lhs_contract={1} rhs_contract={0} p=0 "d"
 *     return %2
 *
 * return %2:u8 gives a result's type for the model's user where it is not the operation's.
 *
 * A line that begins with // is a comment. {*v} is a constant of one element's bits throughout,
 * 0xBITS an element by its bits (a NaN). A constant that was cut short with ... is not readable.
 */
#ifndef NCC_IR_TEXT_H
#define NCC_IR_TEXT_H

#include "ir.h"

enum ir_attr_type {
	IR_I64, /* a number */
	IR_UINT,
	IR_BOOL, /* its name alone */
	IR_KIND, /* func */
	IR_DTYPE, /* left out when it is 0 */
	IR_COUNT, /* a small number, left out when it is 0 */
	IR_MASK, /* set bits of a word as a list */
	IR_LIST8, /* {1,2} */
	IR_LIST64,
	IR_WINDOW, /* {3/2 pad 1_1 wdil 2 bdil 2 reversed, ...} */
};

/* The length of a list */
enum ir_attr_count {
	IR_N_RANK, /* the result's dimensions */
	IR_N_OPERAND, /* the first operand's */
	IR_N_BATCH, /* dot.nbatch, set by the list */
	IR_N_CONTRACT,
	IR_N_SPATIAL, /* conv.nspatial */
	IR_N_CONV, /* batch or input, feature or output, the spatial ones */
};

#define IR_NOT_POINTED UINT16_MAX

struct ir_attr {
	const char *name;
	uint8_t type, count;
	uint16_t offset; /* within struct ncc_op */
	uint16_t within; /* what is pointed to there */
	const uint8_t *kinds; /* the kinds that have it, up to NCC_KINDS; NULL: all */
};

extern const struct ir_attr ir_attrs[]; /* the last has no name */
bool ir_attr_of(const struct ir_attr *a, enum ncc_kind kind);
void *ir_attr_field(const struct ir_attr *a, const struct ncc_op *op);
unsigned int ir_attr_length(const struct ir_attr *a, const struct ncc_op *op);

#define IR_MAX_SPLAT (1 << 20) /* elements of {*v} */

#endif
