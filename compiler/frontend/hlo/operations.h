/* SPDX-License-Identifier: MIT */
/*
 * Private to the HLO front end: the table of operations (operations.c) and the importers that its
 * rows name. An importer of arrays finds the result's shape in in->shape, and its operands have
 * been checked to be arrays; the row says how many there are.
 */
#ifndef NCC_HLO_OPERATIONS_H
#define NCC_HLO_OPERATIONS_H

#include "hlo.h"

typedef int (*hlo_run)(struct hlo_inst *in, struct hlo_value *v);

struct hlo_leaves;
struct hlo_rule {
	const char *opcode;
	int nin; /* number of operands; -1: the importer checks it */
	/* One operation of the IR (plain.c), and the function that sets its attributes */
	enum ncc_kind kind;
	int (*attrs)(struct hlo_inst *in, struct ncc_op *op);
	/* Otherwise: several operations, or a constant */
	int (*array)(struct hlo_inst *in, struct ncc_op **out);
	/* Otherwise: what takes or gives tuples, or runs computations */
	int (*value)(struct hlo_inst *in, struct hlo_value *v);
	/* For the importer: how it is made of fp32, or of integers */
	struct ncc_op *(*unary)(struct ncc_build *bl, struct ncc_op *x);
	struct ncc_op *(*binary)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
	struct ncc_op *(*whole)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
	bool halves; /* the importer takes the halves of 64-bit integers (halves.c) */
	/* With complex operands or a complex result; NULL: not at all */
	int (*complex)(struct hlo_inst *in, struct hlo_value *v);
	expand_complex_unary of_pair;
	expand_complex_binary of_pairs;
	/*
	 * With dynamic dimensions (sizes.h). NULL: as the operation's kind says (build/sizes.h); if
	 * it has none, not at all
	 */
	int (*sizes)(struct hlo_inst *in, struct hlo_value *v, hlo_run run);
	bool passes_on; /* values, whatever they are */
	/* With values without elements, and a result that has some (empty.h); NULL: not at all */
	int (*empty)(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run);
	unsigned int least; /* operands that it needs there, if nin does not say it */
};

/*
 * ranks.c: an instruction with in->longest gets shapes without dimensions of one element, or is
 * refused. Shapes that are too long are none of a computation's parameters or results.
 */
bool hlo_is_long(const Ncc__Hlo__Shape *s);
int hlo_shorten(struct hlo_inst *in);
const struct hlo_rule *hlo_find(const char *opcode); /* NULL: not supported */

/* plain.c: an array, by in->rule's kind and attributes */
int hlo_array(struct hlo_inst *in, struct hlo_value *v);
int hlo_plain(struct hlo_inst *in, struct ncc_op **out);
int hlo_attrs_broadcast(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_compare(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_concat(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_conv(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_dot(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_pad(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_reduce(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_reduce_window(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_reverse(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_slice(struct hlo_inst *in, struct ncc_op *op);
int hlo_attrs_transpose(struct hlo_inst *in, struct ncc_op *op);
int hlo_clamp(struct hlo_inst *in, struct ncc_op **out);
int hlo_convert(struct hlo_inst *in, struct ncc_op **out);
int hlo_dot(struct hlo_inst *in, struct ncc_op **out);

/* literal.c */
int hlo_constant(struct hlo_inst *in, struct ncc_op **out);
int hlo_iota(struct hlo_inst *in, struct ncc_op **out);

/* elementwise.c */
int hlo_unary(struct hlo_inst *in, struct ncc_op **out);
/* Imports an operation of two operands: integers by rule->whole, others by rule->binary, else by
 * the rule's kind */
int hlo_binary(struct hlo_inst *in, struct ncc_op **out);
int hlo_whole(struct hlo_inst *in, struct ncc_op **out);
int hlo_count_bits(struct hlo_inst *in, struct ncc_op **out);
int hlo_is_finite(struct hlo_inst *in, struct ncc_op **out);
int hlo_bitcast(struct hlo_inst *in, struct ncc_op **out);
/* small.c: between numbers of less than a byte, and others or floats */
bool hlo_is_small_bitcast(const struct hlo_inst *in);
int hlo_small_bitcast(struct hlo_inst *in, struct ncc_op **out);
int hlo_reduce_precision(struct hlo_inst *in, struct ncc_op **out);
int hlo_real(struct hlo_inst *in, struct ncc_op **out);
int hlo_imag(struct hlo_inst *in, struct ncc_op **out);

/* halves.c: bitcast-convert of 64-bit integers of which all bits are kept, and of others */
int hlo_bitcast_halves(struct hlo_inst *in, struct hlo_value *v);

/* random.c */
int hlo_rng(struct hlo_inst *in, struct ncc_op **out);
int hlo_rng_bits(struct hlo_inst *in, struct hlo_value *v);

/* index.c */
int hlo_gather(struct hlo_inst *in, struct ncc_op **out);
int hlo_gather_slices(struct hlo_inst *in, struct ncc_slices *s);
int hlo_dynamic_slice(struct hlo_inst *in, struct ncc_op **out);
int hlo_dynamic_update(struct hlo_inst *in, struct ncc_op **out);

/* dynamic.c, reshape.c */
int hlo_get_size(struct hlo_inst *in, struct hlo_value *v);
int hlo_set_size(struct hlo_inst *in, struct hlo_value *v);
int hlo_dynamic_reshape(struct hlo_inst *in, struct hlo_value *v);

/* tuple.c */
int hlo_parameter(struct hlo_inst *in, struct hlo_value *v);
int hlo_tuple(struct hlo_inst *in, struct hlo_value *v);
int hlo_tuple_element(struct hlo_inst *in, struct hlo_value *v);
int hlo_barrier(struct hlo_inst *in, struct hlo_value *v);
int hlo_after_all(struct hlo_inst *in, struct hlo_value *v);

/* flow.c */
int hlo_inline(struct hlo_inst *in, struct hlo_value *v);
int hlo_conditional(struct hlo_inst *in, struct hlo_value *v);
int hlo_while(struct hlo_inst *in, struct hlo_value *v);

/* reduce.c, window.c: by one operation of the IR, or (many) by any computation */
int hlo_map(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce_many(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce_window(struct hlo_inst *in, struct hlo_value *v);
int hlo_window_many(struct hlo_inst *in, struct hlo_value *v);

/* collective.c: what devices pass to each other, and their numbers */
int hlo_all_gather(struct hlo_inst *in, struct hlo_value *v);
int hlo_all_reduce(struct hlo_inst *in, struct hlo_value *v);
int hlo_all_to_all(struct hlo_inst *in, struct hlo_value *v);
int hlo_collective_broadcast(struct hlo_inst *in, struct hlo_value *v);
int hlo_collective_permute(struct hlo_inst *in, struct hlo_value *v);
int hlo_reduce_scatter(struct hlo_inst *in, struct hlo_value *v);
int hlo_rank(struct hlo_inst *in, struct ncc_op **out);
/* *x as the partition of that number has it, and this one's number */
int hlo_from_partition(struct hlo_inst *in, unsigned int partition, struct ncc_op **x);
int hlo_partition(struct hlo_inst *in, struct ncc_op **number);

/* complex.c: each part by itself; four products of parts; by rule->of_pair and of_pairs; others */
int hlo_complex_parts(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_product(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_unary(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_binary(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_abs(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_call(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_compare(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_convert(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_imag(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_make(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_real(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_reduce(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_reduce_window(struct hlo_inst *in, struct hlo_value *v);
int hlo_complex_scatter(struct hlo_inst *in, struct hlo_value *v);
int hlo_fft(struct hlo_inst *in, struct hlo_value *v);

/* norm.c */
int hlo_norm_grad(struct hlo_inst *in, struct hlo_value *v);
int hlo_norm_inference(struct hlo_inst *in, struct hlo_value *v);
int hlo_norm_training(struct hlo_inst *in, struct hlo_value *v);

/* sort.c, scatter.c, select.c, linear.c */
int hlo_sort(struct hlo_inst *in, struct hlo_value *v);
int hlo_topk(struct hlo_inst *in, struct hlo_value *v);
int hlo_scatter(struct hlo_inst *in, struct hlo_value *v);
int hlo_select_and_scatter(struct hlo_inst *in, struct hlo_value *v);
int hlo_cholesky(struct hlo_inst *in, struct hlo_value *v);
int hlo_triangular_solve(struct hlo_inst *in, struct hlo_value *v);
int hlo_custom_call(struct hlo_inst *in, struct hlo_value *v);
int hlo_resize(struct hlo_inst *in, struct hlo_value *v);
int hlo_vendor(struct hlo_inst *in, struct hlo_value *v); /* vendor.c: else it is refused */
/* custom.c: a call of the user's own, and its import; its operands are arrays */
bool hlo_is_custom(const struct hlo_inst *in);
int hlo_custom(struct hlo_inst *in, struct hlo_value *v);

#endif
