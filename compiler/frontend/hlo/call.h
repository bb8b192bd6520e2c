/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: computations that an instruction calls (call.c). */
#ifndef NCC_HLO_CALL_H
#define NCC_HLO_CALL_H

#include "hlo.h"

/* Inlines the computation c. NULL: there is none, and the message has been given. */
int hlo_call(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct hlo_value *args,
	     unsigned int nargs, struct hlo_value *v);
/* Runs a computation of scalars on n tensors of one shape; complex ones are two. */
int hlo_lift(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct ncc_shape *s,
	     struct ncc_op *const *x, unsigned int n, struct hlo_value *v);
/* a = computation(a, b), with n values each */
int hlo_combine(struct hlo_inst *in, struct ncc_op **a, struct ncc_op *const *b, unsigned int n);

/* The way from the called computation's parameters i and n + i to its result i of n */
struct ncc_combine hlo_combiner(const struct hlo_inst *in, unsigned int i, unsigned int n);
/* Is p (may be NULL) its computation's parameter of this number? */
bool hlo_is_parameter(const Ncc__Hlo__Instruction *p, int64_t n);
/* Does the called computation reduce by one operation of the IR? */
bool hlo_simple_reducer(const struct hlo_inst *in);
/* XLA's arithmetic on predicates: a sum is "or", a product "and". */
enum ncc_kind hlo_of_truth(enum ncc_kind kind, const struct ncc_shape *s);
/* Refuses control flow in a computation of scalars that is run on whole tensors. */
int hlo_is_of_elements(struct hlo_inst *in);

#endif
