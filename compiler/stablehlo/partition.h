/* SPDX-License-Identifier: MIT */
/*
 * The program of one partition (partition.c): values and where they lie, how they are moved
 * (partition_move.c), and what each operation does with values that lie on all partitions
 * (partition_rules.c). An operation without a rule gets whole operands, which is right for any, and
 * computes on every partition what one device would.
 */
#ifndef NCC_STABLEHLO_PARTITION_H
#define NCC_STABLEHLO_PARTITION_H

#include "tiling.h"

/* A value in the program of a partition */
struct value {
	hlo_instruction *p;
	const Ncc__Hlo__Shape *whole; /* its shape on all of them together */
	const struct ncc_tiling *t; /* NULL: every partition has it whole, or it is its own */
	bool own; /* of a computation on partitions (sdy.manual_computation) */
	struct value *elem; /* of a tuple that is no instruction; p is NULL */
	size_t n;
};

struct part {
	struct convert *v;
	struct scope s; /* the computation being made */
	hlo_instruction *rank; /* s32: the partition's number; NULL: not asked yet */
	const hlo_instruction *at; /* the operation that is looked at, for messages */
	const struct ncc_tiling **in, **out; /* of the program's leaves */
	size_t nin, nout;
	unsigned int depth;
};

/* partition_move.c */
int part_fail(struct part *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The instruction with other operands and dimensions (NULL: its own) */
hlo_instruction *part_copy(struct part *c, const hlo_instruction *p, hlo_instruction *const *in,
			   size_t n, const int64_t *dims);
const Ncc__Hlo__Shape *part_shape(struct part *c, const Ncc__Hlo__Shape *like, const int64_t *dims);
/* The dimensions of a part of a shape */
bool part_dims(const Ncc__Hlo__Shape *whole, const struct ncc_tiling *t, int64_t *dims);
/* x so that it lies as t says (NULL: whole); 0 or -errno */
int part_move(struct part *c, struct value *x, const struct ncc_tiling *t);
/* The instruction that has all of x, a tuple's too; NULL: an error */
hlo_instruction *part_whole(struct part *c, struct value *x);
/* Sums up, by a computation of scalars, what partitions have of x that differ in `along` alone */
hlo_instruction *part_reduce(struct part *c, hlo_instruction *x, int64_t computation,
			     const struct ncc_tiling *keep, const struct ncc_tiling *along);
int64_t part_add(struct part *c, int type); /* a computation that adds; 0: an error */
/* Is each tile on as many partitions, and each combination of them there? */
bool part_is_even(const struct convert *v, const struct ncc_tiling *t);
struct ncc_tiling *part_without(struct part *c, const struct ncc_tiling *t, unsigned int d);

/* partition_rules.c: 1: there is none, and nothing was done; 0 or -errno */
int part_rule(struct part *c, const hlo_instruction *p, struct value *in, struct value *out);

#endif
