// SPDX-License-Identifier: MIT
/*
 * The operations of HLO, in alphabetical order. This is the one list of them: the importer,
 * neuronx-cc list-operators and, by a test, docs/compiler-operations.md follow it.
 */
#include "empty.h"
#include "sizes.h"

#include <stdlib.h>
#include <string.h>

static const struct hlo_rule rules[] = {
	/* clang-format off */
	{ "abs", 1, .kind = NCC_ABS, .complex = hlo_complex_abs },
	{ "add", 2, .kind = NCC_ADD, .complex = hlo_complex_parts },
	{ "after-all", -1, .value = hlo_after_all },
	{ "all-gather", -1, .value = hlo_all_gather, .complex = hlo_all_gather },
	{ "all-reduce", -1, .value = hlo_all_reduce, .complex = hlo_all_reduce },
	{ "all-to-all", -1, .value = hlo_all_to_all, .complex = hlo_all_to_all },
	{ "and", 2, .kind = NCC_AND },
	{ "atan2", 2, .array = hlo_binary, .binary = expand_atan2, .sizes = hlo_sizes_elements },
	{ "batch-norm-grad", 5, .value = hlo_norm_grad },
	{ "batch-norm-inference", 5, .value = hlo_norm_inference },
	{ "batch-norm-training", 3, .value = hlo_norm_training },
	{ "bitcast-convert", 1, .array = hlo_bitcast, .value = hlo_bitcast_halves, .halves = true, .sizes = hlo_sizes_bitcast },
	{ "broadcast", 1, .kind = NCC_BROADCAST, .attrs = hlo_attrs_broadcast, .complex = hlo_complex_parts },
	{ "call", -1, .value = hlo_inline, .complex = hlo_inline, .sizes = hlo_sizes_own, .passes_on = true },
	{ "cbrt", 1, .array = hlo_unary, .unary = expand_cbrt, .sizes = hlo_sizes_elements },
	{ "ceil", 1, .array = hlo_unary, .unary = expand_ceil, .sizes = hlo_sizes_elements },
	{ "cholesky", -1, .value = hlo_cholesky, .sizes = hlo_sizes_matrices },
	{ "clamp", 3, .array = hlo_clamp, .sizes = hlo_sizes_elements },
	{ "collective-broadcast", -1, .value = hlo_collective_broadcast, .complex = hlo_collective_broadcast },
	{ "collective-permute", -1, .value = hlo_collective_permute, .complex = hlo_collective_permute },
	{ "compare", 2, .kind = NCC_EQ, .attrs = hlo_attrs_compare, .complex = hlo_complex_compare },
	{ "complex", 2, .value = hlo_complex_make, .complex = hlo_complex_make, .sizes = hlo_sizes_elements },
	{ "concatenate", -1, .kind = NCC_CONCAT, .attrs = hlo_attrs_concat, .complex = hlo_complex_parts, .sizes = hlo_sizes_concat, .empty = hlo_empty_concat, .least = 1 },
	{ "conditional", -1, .value = hlo_conditional, .complex = hlo_conditional, .sizes = hlo_sizes_own, .passes_on = true },
	{ "constant", 0, .array = hlo_constant, .complex = hlo_complex_parts },
	{ "convert", 1, .kind = NCC_CONVERT, .array = hlo_convert, .complex = hlo_complex_convert },
	{ "convolution", 2, .kind = NCC_CONV, .attrs = hlo_attrs_conv, .complex = hlo_complex_product, .sizes = hlo_sizes_conv, .empty = hlo_empty_product },
	{ "copy", 1, .kind = NCC_CONVERT, .array = hlo_convert, .complex = hlo_complex_parts },
	{ "cosine", 1, .array = hlo_unary, .unary = expand_cos, .complex = hlo_complex_unary, .of_pair = expand_complex_cos, .sizes = hlo_sizes_elements },
	{ "count-leading-zeros", 1, .array = hlo_count_bits, .unary = expand_leading_zeros, .sizes = hlo_sizes_elements },
	{ "custom-call", -1, .value = hlo_custom_call, .complex = hlo_complex_call, .sizes = hlo_sizes_custom, .empty = hlo_empty_custom_call, .least = 1 },
	{ "divide", 2, .kind = NCC_DIV, .complex = hlo_complex_binary, .of_pairs = expand_complex_divide },
	{ "dot", 2, .kind = NCC_DOT, .array = hlo_dot, .attrs = hlo_attrs_dot, .complex = hlo_complex_product, .sizes = hlo_sizes_dot, .empty = hlo_empty_product },
	{ "dynamic-reshape", -1, .value = hlo_dynamic_reshape, .complex = hlo_dynamic_reshape, .sizes = hlo_sizes_own },
	{ "dynamic-slice", -1, .array = hlo_dynamic_slice, .complex = hlo_complex_parts, .sizes = hlo_sizes_dynamic_slice },
	{ "dynamic-update-slice", -1, .array = hlo_dynamic_update, .complex = hlo_complex_parts, .sizes = hlo_sizes_dynamic_update, .empty = hlo_empty_update, .least = 2 },
	{ "erf", 1, .kind = NCC_ERF },
	{ "exponential", 1, .kind = NCC_EXP, .complex = hlo_complex_unary, .of_pair = expand_complex_exp },
	{ "exponential-minus-one", 1, .array = hlo_unary, .unary = expand_expm1, .complex = hlo_complex_unary, .of_pair = expand_complex_expm1, .sizes = hlo_sizes_elements },
	{ "fft", 1, .value = hlo_fft, .complex = hlo_fft, .sizes = hlo_sizes_transform },
	{ "floor", 1, .array = hlo_unary, .unary = expand_floor, .sizes = hlo_sizes_elements },
	{ "fusion", -1, .value = hlo_inline, .complex = hlo_inline, .sizes = hlo_sizes_own, .passes_on = true },
	{ "gather", 2, .array = hlo_gather, .complex = hlo_complex_parts, .sizes = hlo_sizes_gather, .empty = hlo_empty_gather },
	{ "get-dimension-size", 1, .value = hlo_get_size, .complex = hlo_get_size, .sizes = hlo_sizes_own, .empty = hlo_empty_size },
	{ "get-tuple-element", 1, .value = hlo_tuple_element, .complex = hlo_tuple_element, .sizes = hlo_sizes_own, .passes_on = true },
	{ "imag", 1, .array = hlo_imag, .complex = hlo_complex_imag, .sizes = hlo_sizes_elements },
	{ "iota", 0, .array = hlo_iota, .complex = hlo_complex_parts },
	{ "is-finite", 1, .array = hlo_is_finite, .sizes = hlo_sizes_elements },
	{ "log", 1, .kind = NCC_LOG, .complex = hlo_complex_unary, .of_pair = expand_complex_log },
	{ "log-plus-one", 1, .array = hlo_unary, .unary = expand_log1p, .complex = hlo_complex_unary, .of_pair = expand_complex_log1p, .sizes = hlo_sizes_elements },
	{ "logistic", 1, .kind = NCC_LOGISTIC, .complex = hlo_complex_unary, .of_pair = expand_complex_logistic },
	{ "map", -1, .value = hlo_map, .complex = hlo_map, .sizes = hlo_sizes_elements },
	{ "maximum", 2, .kind = NCC_MAX },
	{ "minimum", 2, .kind = NCC_MIN },
	{ "multiply", 2, .kind = NCC_MUL, .complex = hlo_complex_product },
	{ "negate", 1, .kind = NCC_NEG, .complex = hlo_complex_parts },
	{ "not", 1, .kind = NCC_NOT },
	{ "opt-barrier", 1, .value = hlo_barrier, .complex = hlo_barrier, .sizes = hlo_sizes_own, .passes_on = true },
	{ "or", 2, .kind = NCC_OR },
	{ "pad", 2, .kind = NCC_PAD, .attrs = hlo_attrs_pad, .complex = hlo_complex_parts, .sizes = hlo_sizes_pad, .empty = hlo_empty_pad },
	{ "parameter", -1, .value = hlo_parameter, .complex = hlo_parameter, .sizes = hlo_sizes_own, .passes_on = true },
	{ "partition-id", 0, .array = hlo_rank },
	{ "popcnt", 1, .array = hlo_count_bits, .unary = expand_popcount, .sizes = hlo_sizes_elements },
	{ "power", 2, .kind = NCC_POW, .array = hlo_binary, .whole = expand_power_whole, .complex = hlo_complex_binary, .of_pairs = expand_complex_power },
	{ "real", 1, .array = hlo_real, .complex = hlo_complex_real, .sizes = hlo_sizes_elements },
	{ "reduce", -1, .kind = NCC_REDUCE, .attrs = hlo_attrs_reduce, .value = hlo_reduce, .complex = hlo_complex_reduce, .sizes = hlo_sizes_reduce, .empty = hlo_empty_reduce, .least = 2 },
	{ "reduce-precision", 1, .array = hlo_reduce_precision, .sizes = hlo_sizes_elements },
	{ "reduce-scatter", -1, .value = hlo_reduce_scatter, .complex = hlo_reduce_scatter },
	{ "reduce-window", -1, .kind = NCC_REDUCE_WINDOW, .attrs = hlo_attrs_reduce_window, .value = hlo_reduce_window, .complex = hlo_complex_reduce_window, .sizes = hlo_sizes_window, .empty = hlo_empty_reduce, .least = 2 },
	{ "remainder", 2, .array = hlo_binary, .binary = expand_remainder, .whole = expand_rest_whole, .sizes = hlo_sizes_elements },
	{ "replica-id", 0, .array = hlo_rank },
	{ "reshape", 1, .kind = NCC_RESHAPE, .complex = hlo_complex_parts, .sizes = hlo_sizes_reshape },
	{ "reverse", 1, .kind = NCC_REVERSE, .attrs = hlo_attrs_reverse, .complex = hlo_complex_parts, .sizes = hlo_sizes_reverse },
	{ "rng", 2, .array = hlo_rng },
	{ "rng-bit-generator", 1, .value = hlo_rng_bits, .halves = true, .empty = hlo_empty_random_bits },
	{ "round-nearest-afz", 1, .array = hlo_unary, .unary = expand_round_away, .sizes = hlo_sizes_elements },
	{ "round-nearest-even", 1, .array = hlo_unary, .unary = expand_round_even, .sizes = hlo_sizes_elements },
	{ "rsqrt", 1, .kind = NCC_RSQRT, .complex = hlo_complex_unary, .of_pair = expand_complex_rsqrt },
	{ "scatter", -1, .value = hlo_scatter, .complex = hlo_complex_scatter, .sizes = hlo_sizes_scatter, .empty = hlo_empty_scatter, .least = 3 },
	{ "select", 3, .kind = NCC_SELECT, .complex = hlo_complex_parts },
	{ "select-and-scatter", -1, .value = hlo_select_and_scatter, .empty = hlo_empty_select_and_scatter, .least = 3 },
	{ "set-dimension-size", 2, .value = hlo_set_size, .complex = hlo_set_size, .sizes = hlo_sizes_own },
	{ "shift-left", 2, .kind = NCC_SHL },
	{ "shift-right-arithmetic", 2, .array = hlo_whole, .whole = expand_shift_arithmetic, .sizes = hlo_sizes_elements },
	{ "shift-right-logical", 2, .kind = NCC_SHR },
	{ "sign", 1, .kind = NCC_SIGN, .complex = hlo_complex_unary, .of_pair = expand_complex_sign },
	{ "sine", 1, .array = hlo_unary, .unary = expand_sin, .complex = hlo_complex_unary, .of_pair = expand_complex_sin, .sizes = hlo_sizes_elements },
	{ "slice", 1, .kind = NCC_SLICE, .attrs = hlo_attrs_slice, .complex = hlo_complex_parts, .sizes = hlo_sizes_slice },
	{ "sort", -1, .value = hlo_sort, .sizes = hlo_sizes_elements },
	{ "sqrt", 1, .kind = NCC_SQRT, .complex = hlo_complex_unary, .of_pair = expand_complex_sqrt },
	{ "subtract", 2, .kind = NCC_SUB, .complex = hlo_complex_parts },
	{ "tan", 1, .array = hlo_unary, .unary = expand_tan, .complex = hlo_complex_unary, .of_pair = expand_complex_tan, .sizes = hlo_sizes_elements },
	{ "tanh", 1, .kind = NCC_TANH, .complex = hlo_complex_unary, .of_pair = expand_complex_tanh },
	{ "topk", -1, .value = hlo_topk, .sizes = hlo_sizes_top },
	{ "transpose", 1, .kind = NCC_TRANSPOSE, .attrs = hlo_attrs_transpose, .complex = hlo_complex_parts },
	{ "triangular-solve", -1, .value = hlo_triangular_solve, .sizes = hlo_sizes_matrices },
	{ "tuple", -1, .value = hlo_tuple, .complex = hlo_tuple, .sizes = hlo_sizes_own, .passes_on = true },
	{ "while", -1, .value = hlo_while, .complex = hlo_while, .sizes = hlo_sizes_own, .passes_on = true },
	{ "xor", 2, .kind = NCC_XOR },
	/* clang-format on */
};

static int by_opcode(const void *opcode, const void *rule)
{
	return strcmp(opcode, ((const struct hlo_rule *)rule)->opcode);
}

const struct hlo_rule *hlo_find(const char *opcode)
{
	return bsearch(opcode, rules, sizeof(rules) / sizeof(rules[0]), sizeof(rules[0]),
		       by_opcode);
}

const char *ncc_hlo_operator(unsigned int i)
{
	return i < sizeof(rules) / sizeof(rules[0]) ? rules[i].opcode : NULL;
}
