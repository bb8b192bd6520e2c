/* SPDX-License-Identifier: MIT */
/* Operations of HLO that become several of the tensor IR: private to the HLO front end. */
#ifndef NCC_HLO_MAKE_H
#define NCC_HLO_MAKE_H

#include "hlo.h"

/* 0, 1 (not one of theirs), or -errno */
int hlo_expand(struct hlo_inst *in, struct ncc_op **out);
int hlo_index(struct hlo_inst *in, struct ncc_op **out); /* gather, dynamic slices */
/* hlo_flow.c */
const Ncc__Hlo__Computation *hlo_called(struct hlo_inst *in, size_t i); /* NULL: it was said why */
int hlo_call(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct hlo_value *args,
	     unsigned int nargs, struct hlo_value *v);
/* a computation of scalars on n tensors of one shape */
int hlo_lift(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct ncc_shape *s,
	     struct ncc_op *const *x, unsigned int n, struct hlo_value *v);
int hlo_conditional(struct hlo_inst *in, struct hlo_value *v);
int hlo_while(struct hlo_inst *in, struct hlo_value *v);

/* hlo_many.c */
#define HLO_MANY 16 /* operands of what may have several */
int hlo_arrays(struct hlo_inst *in, unsigned int n); /* the first n operands: of one shape? */
/* a = computation(a, b), of n values each */
int hlo_combine(struct hlo_inst *in, struct ncc_op **a, struct ncc_op *const *b, unsigned int n);
int hlo_take_results(struct hlo_inst *in, struct ncc_op *const *x, unsigned int n,
		     struct hlo_value *v);
int hlo_map(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce_many(struct hlo_inst *in, struct hlo_value *v);
int hlo_sort(struct hlo_inst *in, struct hlo_value *v);
int hlo_topk(struct hlo_inst *in, struct hlo_value *v);

/* hlo_window.c */
int hlo_window_many(struct hlo_inst *in, struct hlo_value *v);

/* hlo_ops.c: does the computation that is called reduce by one operation of the IR? */
bool hlo_simple_reducer(struct hlo_inst *in);
enum ncc_kind hlo_reducer(struct hlo_inst *in); /* which; NCC_PARAM: none */
/* reduce of (values, their indices): argmax and argmin, as JAX makes them; 1: it is
 * something else */
int hlo_arg_reduce(struct hlo_inst *in, struct hlo_value *v);

#endif
