/* SPDX-License-Identifier: MIT */
/* Operations of HLO that become several of the tensor IR: private to the HLO front end. */
#ifndef NCC_HLO_MAKE_H
#define NCC_HLO_MAKE_H

#include "hlo.h"

/* 0, 1 (not one of theirs), or -errno */
int hlo_expand(struct hlo_inst *in, struct ncc_op **out);
int hlo_index(struct hlo_inst *in, struct ncc_op **out); /* gather, dynamic slices */
int hlo_take_list(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int *count,
		  uint8_t *out); /* dimension numbers */
/* the same of gather and scatter; batches: of the operand and of the indices */
int hlo_take_slices(struct hlo_inst *in, struct ncc_slices *s, size_t ndropped,
		    const int64_t *dropped, const int64_t *index_batch, size_t nindex_batch);
/* NULL: the computation has none of that id */
const Ncc__Hlo__Instruction *hlo_by_id(const Ncc__Hlo__Computation *c, int64_t id);
/* linear.c */
int hlo_cholesky(struct hlo_inst *in, struct hlo_value *v);
int hlo_triangular_solve(struct hlo_inst *in, struct hlo_value *v);
int hlo_custom_call(struct hlo_inst *in, struct hlo_value *v);
/* scatter.c */
int hlo_scatter(struct hlo_inst *in, struct hlo_value *v);

/* flow.c */
const Ncc__Hlo__Computation *hlo_called(struct hlo_inst *in, size_t i); /* NULL: it was said why */
int hlo_call(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct hlo_value *args,
	     unsigned int nargs, struct hlo_value *v);
/* a computation of scalars on n tensors of one shape */
int hlo_lift(struct hlo_inst *in, const Ncc__Hlo__Computation *c, const struct ncc_shape *s,
	     struct ncc_op *const *x, unsigned int n, struct hlo_value *v);
int hlo_conditional(struct hlo_inst *in, struct hlo_value *v);
int hlo_while(struct hlo_inst *in, struct hlo_value *v);

/* many.c */
#define HLO_MANY NCC_MANY
int hlo_no_tuples(struct hlo_inst *in, unsigned int n); /* the first n operands: arrays? */
int hlo_arrays(struct hlo_inst *in, unsigned int n); /* the first n operands: of one shape? */
/* a = computation(a, b), of n values each */
int hlo_combine(struct hlo_inst *in, struct ncc_op **a, struct ncc_op *const *b, unsigned int n);
int hlo_take_results(struct hlo_inst *in, struct ncc_op *const *x, unsigned int n,
		     struct hlo_value *v);
int hlo_map(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce_many(struct hlo_inst *in, struct hlo_value *v);
int hlo_sort(struct hlo_inst *in, struct hlo_value *v);
int hlo_topk(struct hlo_inst *in, struct hlo_value *v);

/* select.c */
int hlo_select_and_scatter(struct hlo_inst *in, struct hlo_value *v);

/* window.c */
int hlo_window_many(struct hlo_inst *in, struct hlo_value *v);

/* ops.c: -ENOTSUP, with the name */
int hlo_unsupported(struct hlo_inst *in);
/* a small result of constants becomes one */
void hlo_fold(struct hlo_inst *in, struct ncc_op *op);
/* does the computation that is called reduce by one operation of the IR? */
bool hlo_simple_reducer(struct hlo_inst *in);
/*
 * What makes result i of n of the computation that is called: one operation of the IR on parameters
 * i and n + i, NCC_SELECT (it is parameter n + i), or NCC_PARAM (something else)
 */
enum ncc_kind hlo_combiner(const struct hlo_inst *in, unsigned int i, unsigned int n);
enum ncc_kind hlo_of_truth(enum ncc_kind kind, const struct ncc_shape *s);
/* reduce of (values, their indices): argmax and argmin, as JAX makes them; 1: it is
 * something else */
int hlo_arg_reduce(struct hlo_inst *in, struct hlo_value *v);

#endif
