// SPDX-License-Identifier: MIT
/* The attributes of operations in the IR's text form. Called by print.c and parse.c. */
#include "text.h"

static const uint8_t param[] = { NCC_PARAM, NCC_KINDS },
		     numbered[] = { NCC_PARAM,	     NCC_CUSTOM,   NCC_KERNEL, NCC_EXCHANGE,
				    NCC_HOST_RESULT, NCC_TRANSFER, NCC_RANK,   NCC_KINDS },
		     concat[] = { NCC_CONCAT, NCC_KINDS },
		     reduces[] = { NCC_REDUCE, NCC_REDUCE_WINDOW, NCC_COMBINE, NCC_ORDER,
				   NCC_KINDS },
		     masked[] = { NCC_REVERSE, NCC_REDUCE, NCC_KINDS },
		     broadcast[] = { NCC_BROADCAST, NCC_KINDS },
		     transpose[] = { NCC_TRANSPOSE, NCC_KINDS }, slice[] = { NCC_SLICE, NCC_KINDS },
		     pad[] = { NCC_PAD, NCC_KINDS }, window[] = { NCC_REDUCE_WINDOW, NCC_KINDS },
		     conv[] = { NCC_CONV, NCC_KINDS }, dot[] = { NCC_DOT, NCC_KINDS };

#define AT(field) offsetof(struct ncc_op, field), IR_NOT_POINTED
#define POINTED(field) offsetof(struct ncc_op, field), 0
#define DOT(field) offsetof(struct ncc_op, dot), offsetof(struct ncc_dot, field)
#define CONV(field) offsetof(struct ncc_op, conv), offsetof(struct ncc_conv, field)

const struct ir_attr ir_attrs[] = {
	{ "index", IR_I64, 0, AT(index), numbered },
	{ "io", IR_DTYPE, 0, AT(io_dtype), param },
	{ "axis", IR_UINT, 0, AT(axis), concat },
	{ "func", IR_KIND, 0, AT(func), reduces },
	{ "dims", IR_MASK, 0, AT(mask), masked },
	{ "map", IR_LIST8, IR_N_OPERAND, AT(map), broadcast },
	{ "map", IR_LIST8, IR_N_RANK, AT(map), transpose },
	{ "start", IR_LIST64, IR_N_RANK, POINTED(start), slice },
	{ "stride", IR_LIST64, IR_N_RANK, POINTED(stride), slice },
	{ "low", IR_LIST64, IR_N_RANK, POINTED(low), pad },
	{ "high", IR_LIST64, IR_N_RANK, POINTED(high), pad },
	{ "interior", IR_LIST64, IR_N_RANK, POINTED(interior), pad },
	{ "lhs_batch", IR_LIST8, IR_N_BATCH, DOT(lhs_batch), dot },
	{ "rhs_batch", IR_LIST8, IR_N_BATCH, DOT(rhs_batch), dot },
	{ "lhs_contract", IR_LIST8, IR_N_CONTRACT, DOT(lhs_contract), dot },
	{ "rhs_contract", IR_LIST8, IR_N_CONTRACT, DOT(rhs_contract), dot },
	{ "neighbours", IR_COUNT, 0, DOT(neighbours), dot },
	{ "in", IR_LIST8, IR_N_CONV, CONV(in_batch), conv },
	{ "kernel", IR_LIST8, IR_N_CONV, CONV(k_in), conv },
	{ "out", IR_LIST8, IR_N_CONV, CONV(out_batch), conv },
	{ "groups", IR_I64, 0, CONV(groups), conv },
	{ "window", IR_WINDOW, IR_N_SPATIAL, POINTED(window), conv },
	{ "window", IR_WINDOW, IR_N_RANK, POINTED(window), window },
	{ "exact", IR_BOOL, 0, AT(exact), NULL },
	{ "upright", IR_BOOL, 0, AT(upright), NULL },
	{ "narrowed", IR_BOOL, 0, AT(narrowed), NULL },
	{ NULL, 0, 0, 0, 0, NULL },
};

/*
 * in_batch, in_feature and in_spatial are printed as one list, and so are the kernel's and the
 * output's.
 */
_Static_assert(offsetof(struct ncc_conv, in_spatial) == offsetof(struct ncc_conv, in_batch) + 2 &&
		       offsetof(struct ncc_conv, k_spatial) ==
			       offsetof(struct ncc_conv, k_in) + 2 &&
		       offsetof(struct ncc_conv, out_spatial) ==
			       offsetof(struct ncc_conv, out_batch) + 2,
	       "dimensions of a convolution");

bool ir_attr_of(const struct ir_attr *a, enum ncc_kind kind)
{
	for (unsigned int i = 0; a->kinds && a->kinds[i] != NCC_KINDS; i++)
		if (a->kinds[i] == kind)
			return true;
	return !a->kinds;
}

void *ir_attr_field(const struct ir_attr *a, const struct ncc_op *op)
{
	char *field = (char *)(uintptr_t)op + a->offset;

	return a->within == IR_NOT_POINTED ? field : *(char **)(void *)field + a->within;
}

unsigned int ir_attr_length(const struct ir_attr *a, const struct ncc_op *op)
{
	switch (a->count) {
	case IR_N_OPERAND:
		return op->nin ? op->in[0]->shape.ndim : 0;
	case IR_N_BATCH:
		return op->dot->nbatch;
	case IR_N_CONTRACT:
		return op->dot->ncontract;
	case IR_N_SPATIAL:
		return op->conv->nspatial;
	case IR_N_CONV:
		return op->conv->nspatial + 2;
	default:
		return op->shape.ndim;
	}
}
