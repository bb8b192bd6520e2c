/* SPDX-License-Identifier: MIT */
/*
 * How a value lies on the partitions of a program: along each dimension it is cut into equal tiles,
 * and each partition has one of them. What says so in a program (Shardy's attributes, XLA's text)
 * becomes this, as a backend_config of custom calls that partition.c takes out again. Private to
 * the conversion of StableHLO.
 */
#ifndef NCC_STABLEHLO_TILING_H
#define NCC_STABLEHLO_TILING_H

#include "convert.h"

#define TILING_MOST NCC_MAX_RANKS /* tiles of a dimension, and partitions */

/*
 * Custom calls that stand for what is not HLO's, which are known by these very pointers: a program
 * may have others of the same names
 */
enum tiling_mark {
	TILING_NONE,
	TILING_ARGUMENT,
	TILING_RESULT,
	TILING_CONSTRAINT,
	TILING_TO_PART, /* what a partition has of it, whatever that is called */
	TILING_TO_WHOLE,
	TILING_TO_WHOLE_INSIDE, /* of a computation in another one */
};

struct ncc_tiling *tiling_new(struct convert *v, unsigned int ndim); /* nothing is cut */
bool tiling_is_whole(const struct ncc_tiling *t);
bool tiling_same(const struct convert *v, const struct ncc_tiling *a, const struct ncc_tiling *b,
		 unsigned int d);
/*
 * What an sdy.sharding, or a text of mhlo.sharding, says, of the axes of a list of names alone
 * (NULL: of all). *t is NULL if it says nothing of where the
 * value is ("{manual}"). 0, or -errno with the error
 */
int tiling_read(struct scope *s, const struct mlir_attr *sharding, const struct mlir_attr *axes,
		unsigned int ndim, struct ncc_tiling **t);
/* One of them on x, which has a shape behind it; t may be NULL: it says nothing */
hlo_instruction *tiling_mark(struct scope *s, enum tiling_mark mark, const Ncc__Hlo__Shape *shape,
			     hlo_instruction *x, const struct ncc_tiling *t);
enum tiling_mark tiling_mark_of(const hlo_instruction *p);
const struct ncc_tiling *
tiling_of(const hlo_instruction *p); /* of one of them; NULL: it says nothing */

/* manual.c: the arguments and results of main, as its attributes say */
int manual_argument(struct scope *s, size_t i, struct mlir_value *value, hlo_instruction **p);
int manual_results(struct scope *s, hlo_instruction **out, size_t n);
/* ... and XLA's custom calls that say where a value lies */
bool manual_is_call(const char *target);
int manual_call(struct scope *s, const struct mlir_op *op, const char *target);

/* partition.c: makes the module that of one partition, which passes what it has to to the others */
int partition_module(struct convert *v, const hlo_computation_message **entry);

#endif
