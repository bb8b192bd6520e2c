// SPDX-License-Identifier: MIT
/*
 * The operations of StableHLO, and of the dialects that come with it, in the order of strcmp: what
 * each is in HLO. The importer of HLO says which of those are not supported, and lists them all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"

static const struct conversion conversions[] = {
	/* clang-format off */
	{ "abs", "abs", .nin = 1, .one = true },
	{ "add", "add", .nin = 2, .one = true },
	{ "after_all", "after-all", .nin = -1, .one = true },
	{ "all_gather", "all-gather", .nin = -1, .whole = whole_collective },
	{ "all_reduce", "all-reduce", .nin = -1, .nregions = 1, .whole = whole_collective },
	{ "all_to_all", NULL, .nin = -1, .whole = whole_all_to_all },
	{ "and", "and", .nin = 2, .one = true },
	{ "async_done", "async-done", .nin = -1, .partly = true },
	{ "async_start", "stablehlo.async_start", .nin = -1, .nregions = 1, .partly = true },
	{ "atan2", "atan2", .nin = 2, .one = true },
	{ "batch_norm_grad", "batch-norm-grad", .nin = 5, .fields = fields_batch_norm },
	{ "batch_norm_inference", "batch-norm-inference", .nin = 5, .one = true, .fields = fields_batch_norm },
	{ "batch_norm_training", "batch-norm-training", .nin = 3, .fields = fields_batch_norm },
	{ "bitcast_convert", "bitcast-convert", .nin = 1, .one = true },
	{ "broadcast", "broadcast", .nin = 1, .one = true, .fields = fields_broadcast },
	{ "broadcast_in_dim", NULL, .nin = 1, .one = true, .whole = whole_broadcast_in_dim },
	{ "builtin.unrealized_conversion_cast", NULL, .nin = -1, .whole = whole_cast },
	{ "call", NULL, .nin = -1, .whole = whole_call },
	{ "case", NULL, .nin = 1, .whole = whole_case },
	{ "cbrt", "cbrt", .nin = 1, .one = true },
	{ "ceil", "ceil", .nin = 1, .one = true },
	{ "cholesky", "cholesky", .nin = 1, .one = true, .fields = fields_cholesky },
	{ "clamp", "clamp", .nin = 3, .one = true },
	{ "collective_broadcast", "collective-broadcast", .nin = 1, .one = true, .whole = whole_collective },
	{ "collective_permute", "collective-permute", .nin = 1, .one = true, .whole = whole_collective },
	{ "collective_reduce", "collective-reduce", .nin = -1, .nregions = 1, .partly = true },
	{ "compare", "compare", .nin = 2, .one = true, .fields = fields_compare },
	{ "complex", "complex", .nin = 2, .one = true },
	{ "composite", NULL, .nin = -1, .whole = whole_composite },
	{ "concatenate", "concatenate", .nin = -1, .one = true, .fields = fields_concatenate },
	{ "constant", NULL, .nin = 0, .one = true, .whole = whole_constant },
	{ "convert", "convert", .nin = 1, .one = true },
	{ "convolution", "convolution", .nin = 2, .one = true, .fields = fields_convolution },
	{ "cosine", "cosine", .nin = 1, .one = true },
	{ "count_leading_zeros", "count-leading-zeros", .nin = 1, .one = true },
	{ "create_token", "after-all", .nin = -1, .one = true },
	{ "custom_call", NULL, .nin = -1, .whole = whole_custom_call },
	{ "divide", "divide", .nin = 2, .one = true },
	{ "dot", "dot", .nin = 2, .one = true, .fields = fields_dot },
	{ "dot_general", "dot", .nin = 2, .one = true, .fields = fields_dot_general },
	{ "dynamic_broadcast_in_dim", NULL, .nin = 2, .one = true, .whole = whole_static },
	{ "dynamic_conv", NULL, .nin = 3, .one = true, .whole = whole_computed },
	{ "dynamic_gather", NULL, .nin = 3, .one = true, .whole = whole_computed },
	{ "dynamic_iota", NULL, .nin = 1, .one = true, .whole = whole_static },
	{ "dynamic_pad", NULL, .nin = 5, .one = true, .whole = whole_computed },
	{ "dynamic_reshape", NULL, .nin = 2, .one = true, .whole = whole_static },
	{ "dynamic_slice", "dynamic-slice", .nin = -1, .one = true, .fields = fields_dynamic_slice },
	{ "dynamic_update_slice", "dynamic-update-slice", .nin = -1, .one = true },
	{ "einsum", NULL, .nin = 2, .one = true, .whole = whole_einsum },
	{ "exponential", "exponential", .nin = 1, .one = true },
	{ "exponential_minus_one", "exponential-minus-one", .nin = 1, .one = true },
	{ "fft", "fft", .nin = 1, .one = true, .fields = fields_fft },
	{ "floor", "floor", .nin = 1, .one = true },
	{ "gather", "gather", .nin = 2, .one = true, .fields = fields_gather },
	{ "get_dimension_size", "get-dimension-size", .nin = 1, .one = true, .fields = fields_concatenate },
	{ "get_tuple_element", "get-tuple-element", .nin = 1, .one = true, .fields = fields_tuple_element },
	{ "if", NULL, .nin = 1, .whole = whole_case },
	{ "imag", "imag", .nin = 1, .one = true },
	{ "infeed", "infeed", .nin = -1, .partly = true },
	{ "iota", "iota", .nin = 0, .one = true, .fields = fields_iota },
	{ "is_finite", "is-finite", .nin = 1, .one = true },
	{ "log", "log", .nin = 1, .one = true },
	{ "log_plus_one", "log-plus-one", .nin = 1, .one = true },
	{ "logistic", "logistic", .nin = 1, .one = true },
	{ "map", "map", .nin = -1, .nregions = 1, .fields = fields_dimensions },
	{ "maximum", "maximum", .nin = 2, .one = true },
	{ "minimum", "minimum", .nin = 2, .one = true },
	{ "multiply", "multiply", .nin = 2, .one = true },
	{ "negate", "negate", .nin = 1, .one = true },
	{ "not", "not", .nin = 1, .one = true },
	{ "optimization_barrier", NULL, .nin = -1, .whole = whole_barrier },
	{ "or", "or", .nin = 2, .one = true },
	{ "outfeed", "outfeed", .nin = -1, .partly = true },
	{ "pad", "pad", .nin = 2, .one = true, .fields = fields_pad },
	{ "partition_id", "partition-id", .nin = -1, .one = true },
	{ "popcnt", "popcnt", .nin = 1, .one = true },
	{ "power", "power", .nin = 2, .one = true },
	{ "real", "real", .nin = 1, .one = true },
	{ "real_dynamic_slice", NULL, .nin = 4, .one = true, .whole = whole_computed },
	{ "recv", "recv", .nin = -1, .partly = true },
	{ "reduce", "reduce", .nin = -1, .nregions = 1, .fields = fields_dimensions },
	{ "reduce_precision", "reduce-precision", .nin = 1, .one = true, .fields = fields_precision },
	{ "reduce_scatter", "reduce-scatter", .nin = -1, .nregions = 1, .whole = whole_collective },
	{ "reduce_window", "reduce-window", .nin = -1, .nregions = 1, .fields = fields_reduce_window },
	{ "remainder", "remainder", .nin = 2, .one = true },
	{ "replica_id", "replica-id", .nin = -1, .one = true },
	{ "reshape", "reshape", .nin = 1, .one = true },
	{ "reverse", "reverse", .nin = 1, .one = true, .fields = fields_dimensions },
	{ "rng", NULL, .nin = 3, .one = true, .whole = whole_rng },
	{ "rng_bit_generator", "rng-bit-generator", .nin = 1, .fields = fields_rng_bits },
	{ "round_nearest_afz", "round-nearest-afz", .nin = 1, .one = true },
	{ "round_nearest_even", "round-nearest-even", .nin = 1, .one = true },
	{ "rsqrt", "rsqrt", .nin = 1, .one = true },
	{ "scatter", "scatter", .nin = -1, .nregions = 1, .fields = fields_scatter },
	{ "sdy.manual_computation", NULL, .nin = -1, .whole = whole_manual },
	{ "sdy.mesh", NULL, .nin = 0, .whole = whole_nothing },
	{ "sdy.sharding_constraint", NULL, .nin = 1, .one = true, .whole = whole_constraint },
	{ "select", NULL, .nin = 3, .one = true, .whole = whole_select },
	{ "select_and_scatter", "select-and-scatter", .nin = 3, .one = true, .nregions = 2, .fields = fields_select_and_scatter },
	{ "send", "send", .nin = -1, .partly = true },
	{ "set_dimension_size", "set-dimension-size", .nin = 2, .one = true, .fields = fields_concatenate },
	{ "shift_left", "shift-left", .nin = 2, .one = true },
	{ "shift_right_arithmetic", "shift-right-arithmetic", .nin = 2, .one = true },
	{ "shift_right_logical", "shift-right-logical", .nin = 2, .one = true },
	{ "sign", "sign", .nin = 1, .one = true },
	{ "sine", "sine", .nin = 1, .one = true },
	{ "slice", "slice", .nin = 1, .one = true, .fields = fields_slice },
	{ "sort", "sort", .nin = -1, .nregions = 1, .fields = fields_sort },
	{ "sqrt", "sqrt", .nin = 1, .one = true },
	{ "subtract", "subtract", .nin = 2, .one = true },
	{ "tan", "tan", .nin = 1, .one = true },
	{ "tanh", "tanh", .nin = 1, .one = true },
	{ "torch_index_select", NULL, .nin = 2, .one = true, .whole = whole_index_select },
	{ "transpose", "transpose", .nin = 1, .one = true, .fields = fields_permutation },
	{ "triangular_solve", "triangular-solve", .nin = 2, .one = true, .fields = fields_triangular_solve },
	{ "tuple", "tuple", .nin = -1, .one = true },
	{ "unary_einsum", NULL, .nin = 1, .one = true, .whole = whole_einsum },
	{ "uniform_dequantize", NULL, .nin = 1, .one = true, .whole = whole_dequantize },
	{ "uniform_quantize", NULL, .nin = 1, .one = true, .whole = whole_quantize },
	{ "while", NULL, .nin = -1, .whole = whole_while },
	{ "xor", "xor", .nin = 2, .one = true },
	/* clang-format on */
};

static int by_name(const void *name, const void *c)
{
	return strcmp(name, ((const struct conversion *)c)->name);
}

const struct conversion *conversion_of(const char *name)
{
	return bsearch(name, conversions, sizeof(conversions) / sizeof(conversions[0]),
		       sizeof(conversions[0]), by_name);
}

static int add_region(struct scope *s, const struct mlir_region *r, hlo_instruction *p)
{
	const hlo_computation_message *c;
	int rc = convert_region(s, r, &c);

	return rc ? rc : convert_calls(p, s->v, c);
}

/* One instruction, whose name is not known to the importer either if c is NULL */
static int convert_plain(struct scope *s, const struct mlir_op *op, const struct conversion *c)
{
	hlo_instruction **in = convert_operands(s, op), *p;
	int rc = 0;

	if (!in)
		return -ENOTSUP;
	p = convert_add(s, c ? c->opcode : op->name, convert_result_shape(s, op), in, op->nin);
	if (!p)
		return -ENOTSUP;
	for (size_t i = 0; c && !rc && i < op->nregions; i++)
		rc = add_region(s, &op->regions[i], p);
	if (!rc && c && c->fields)
		rc = c->fields(s, op, p);
	if (!c || c->partly)
		s->v->partly = s->v->partly ?: op;
	return rc ? rc : convert_results(s, op, p);
}

int convert_op(struct scope *s, const struct mlir_op *op)
{
	const struct conversion *c = conversion_of(op->name);

	s->v->err->text[0] = 0;
	if (c && c->nin >= 0 && op->nin != (size_t)c->nin)
		return convert_fail(s, -EINVAL, "%zu operands, expected %d", op->nin, c->nin);
	if (c && c->one && op->nout != 1)
		return convert_fail(s, -EINVAL, "%zu results, expected 1", op->nout);
	if (c && !c->whole && op->nregions != c->nregions)
		return convert_fail(s, -EINVAL, "%zu regions, expected %u", op->nregions,
				    c->nregions);
	if (quant_computes(op))
		return quant_compute(s, op, convert_op);
	if (quant_check(s, op))
		return -ENOTSUP;
	return (c && c->whole ? c->whole(s, op) : convert_plain(s, op, c)) ?: fold(s, op);
}
