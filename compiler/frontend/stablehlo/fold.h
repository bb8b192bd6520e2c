/* SPDX-License-Identifier: MIT */
/* Private to the conversion of StableHLO: values whose numbers the program says (fold.c) */
#ifndef NCC_STABLEHLO_FOLD_H
#define NCC_STABLEHLO_FOLD_H

#include "convert.h"

#define FOLD_OPERANDS 64

/* Numbers of a constant, integers or floats; each is as its type has it */
struct fold_numbers {
	int type; /* XLA's */
	int64_t n;
	const struct mlir_type *shape;
	int64_t *whole;
	double *real;
};

/* An operation being evaluated: in are known, out has room */
struct folding {
	struct scope *s;
	const struct mlir_op *op;
	const struct fold_numbers *in[FOLD_OPERANDS];
	struct fold_numbers *out;
};

/* fold_number.c. Bits of a type that is evaluated, else 0; a number as its type has it */
unsigned int fold_bits(int type);
int64_t fold_wrap(int type, int64_t v);
/* Compute an operation's values, element by element; false: it is left */
bool fold_arithmetic(struct folding *f);
bool fold_compare(struct folding *f);
bool fold_convert(struct folding *f);

#endif
