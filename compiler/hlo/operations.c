// SPDX-License-Identifier: MIT
/*
 * The operations of HLO, in alphabetical order. This is the one list of them: the importer,
 * neuronx-cc list-operators and, by a test, docs/compiler-operations.md follow it.
 */
#include "operations.h"

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
	{ "atan2", 2, .array = hlo_binary, .binary = expand_atan2 },
	{ "batch-norm-grad", 5, .value = hlo_norm_grad },
	{ "batch-norm-inference", 5, .value = hlo_norm_inference },
	{ "batch-norm-training", 3, .value = hlo_norm_training },
	{ "bitcast-convert", 1, .array = hlo_bitcast, .value = hlo_bitcast_halves, .halves = true },
	{ "broadcast", 1, .kind = NCC_BROADCAST, .attrs = hlo_attrs_broadcast, .complex = hlo_complex_parts },
	{ "call", -1, .value = hlo_inline, .complex = hlo_inline },
	{ "cbrt", 1, .array = hlo_unary, .unary = expand_cbrt },
	{ "ceil", 1, .array = hlo_unary, .unary = expand_ceil },
	{ "cholesky", -1, .value = hlo_cholesky },
	{ "clamp", 3, .array = hlo_clamp },
	{ "collective-broadcast", -1, .value = hlo_collective_broadcast, .complex = hlo_collective_broadcast },
	{ "collective-permute", -1, .value = hlo_collective_permute, .complex = hlo_collective_permute },
	{ "compare", 2, .kind = NCC_EQ, .attrs = hlo_attrs_compare, .complex = hlo_complex_compare },
	{ "complex", 2, .value = hlo_complex_make, .complex = hlo_complex_make },
	{ "concatenate", -1, .kind = NCC_CONCAT, .attrs = hlo_attrs_concat, .complex = hlo_complex_parts },
	{ "conditional", -1, .value = hlo_conditional, .complex = hlo_conditional },
	{ "constant", 0, .array = hlo_constant, .complex = hlo_complex_parts },
	{ "convert", 1, .kind = NCC_CONVERT, .array = hlo_convert, .complex = hlo_complex_convert },
	{ "convolution", 2, .kind = NCC_CONV, .attrs = hlo_attrs_conv, .complex = hlo_complex_product },
	{ "copy", 1, .kind = NCC_CONVERT, .array = hlo_convert, .complex = hlo_complex_parts },
	{ "cosine", 1, .array = hlo_unary, .unary = expand_cos, .complex = hlo_complex_unary, .of_pair = expand_complex_cos },
	{ "count-leading-zeros", 1, .array = hlo_count_bits, .unary = expand_leading_zeros },
	{ "custom-call", -1, .value = hlo_custom_call, .complex = hlo_complex_call },
	{ "divide", 2, .kind = NCC_DIV, .complex = hlo_complex_binary, .of_pairs = expand_complex_divide },
	{ "dot", 2, .kind = NCC_DOT, .array = hlo_dot, .attrs = hlo_attrs_dot, .complex = hlo_complex_product },
	{ "dynamic-reshape", -1, .value = hlo_dynamic_reshape, .complex = hlo_dynamic_reshape },
	{ "dynamic-slice", -1, .array = hlo_dynamic_slice, .complex = hlo_complex_parts },
	{ "dynamic-update-slice", -1, .array = hlo_dynamic_update, .complex = hlo_complex_parts },
	{ "erf", 1, .kind = NCC_ERF },
	{ "exponential", 1, .kind = NCC_EXP, .complex = hlo_complex_unary, .of_pair = expand_complex_exp },
	{ "exponential-minus-one", 1, .array = hlo_unary, .unary = expand_expm1, .complex = hlo_complex_unary, .of_pair = expand_complex_expm1 },
	{ "fft", 1, .value = hlo_fft, .complex = hlo_fft },
	{ "floor", 1, .array = hlo_unary, .unary = expand_floor },
	{ "fusion", -1, .value = hlo_inline, .complex = hlo_inline },
	{ "gather", 2, .array = hlo_gather, .complex = hlo_complex_parts },
	{ "get-dimension-size", 1, .value = hlo_get_size, .complex = hlo_get_size },
	{ "get-tuple-element", 1, .value = hlo_tuple_element, .complex = hlo_tuple_element },
	{ "imag", 1, .array = hlo_imag, .complex = hlo_complex_imag },
	{ "iota", 0, .array = hlo_iota, .complex = hlo_complex_parts },
	{ "is-finite", 1, .array = hlo_is_finite },
	{ "log", 1, .kind = NCC_LOG, .complex = hlo_complex_unary, .of_pair = expand_complex_log },
	{ "log-plus-one", 1, .array = hlo_unary, .unary = expand_log1p, .complex = hlo_complex_unary, .of_pair = expand_complex_log1p },
	{ "logistic", 1, .kind = NCC_LOGISTIC, .complex = hlo_complex_unary, .of_pair = expand_complex_logistic },
	{ "map", -1, .value = hlo_map, .complex = hlo_map },
	{ "maximum", 2, .kind = NCC_MAX },
	{ "minimum", 2, .kind = NCC_MIN },
	{ "multiply", 2, .kind = NCC_MUL, .complex = hlo_complex_product },
	{ "negate", 1, .kind = NCC_NEG, .complex = hlo_complex_parts },
	{ "not", 1, .kind = NCC_NOT },
	{ "opt-barrier", 1, .value = hlo_barrier, .complex = hlo_barrier },
	{ "or", 2, .kind = NCC_OR },
	{ "pad", 2, .kind = NCC_PAD, .attrs = hlo_attrs_pad, .complex = hlo_complex_parts },
	{ "parameter", -1, .value = hlo_parameter, .complex = hlo_parameter },
	{ "partition-id", 0, .array = hlo_rank },
	{ "popcnt", 1, .array = hlo_count_bits, .unary = expand_popcount },
	{ "power", 2, .kind = NCC_POW, .array = hlo_binary, .whole = expand_power_whole, .complex = hlo_complex_binary, .of_pairs = expand_complex_power },
	{ "real", 1, .array = hlo_real, .complex = hlo_complex_real },
	{ "reduce", -1, .kind = NCC_REDUCE, .attrs = hlo_attrs_reduce, .value = hlo_reduce, .complex = hlo_complex_reduce },
	{ "reduce-precision", 1, .array = hlo_reduce_precision },
	{ "reduce-scatter", -1, .value = hlo_reduce_scatter, .complex = hlo_reduce_scatter },
	{ "reduce-window", -1, .kind = NCC_REDUCE_WINDOW, .attrs = hlo_attrs_reduce_window, .value = hlo_reduce_window, .complex = hlo_complex_reduce_window },
	{ "remainder", 2, .array = hlo_binary, .binary = expand_remainder, .whole = expand_rest_whole },
	{ "replica-id", 0, .array = hlo_rank },
	{ "reshape", 1, .kind = NCC_RESHAPE, .complex = hlo_complex_parts },
	{ "reverse", 1, .kind = NCC_REVERSE, .attrs = hlo_attrs_reverse, .complex = hlo_complex_parts },
	{ "rng", 2, .array = hlo_rng },
	{ "rng-bit-generator", 1, .value = hlo_rng_bits, .halves = true },
	{ "round-nearest-afz", 1, .array = hlo_unary, .unary = expand_round_away },
	{ "round-nearest-even", 1, .array = hlo_unary, .unary = expand_round_even },
	{ "rsqrt", 1, .kind = NCC_RSQRT, .complex = hlo_complex_unary, .of_pair = expand_complex_rsqrt },
	{ "scatter", -1, .value = hlo_scatter, .complex = hlo_complex_scatter },
	{ "select", 3, .kind = NCC_SELECT, .complex = hlo_complex_parts },
	{ "select-and-scatter", -1, .value = hlo_select_and_scatter },
	{ "set-dimension-size", 2, .value = hlo_set_size, .complex = hlo_set_size },
	{ "shift-left", 2, .kind = NCC_SHL },
	{ "shift-right-arithmetic", 2, .array = hlo_whole, .whole = expand_shift_arithmetic },
	{ "shift-right-logical", 2, .kind = NCC_SHR },
	{ "sign", 1, .kind = NCC_SIGN, .complex = hlo_complex_unary, .of_pair = expand_complex_sign },
	{ "sine", 1, .array = hlo_unary, .unary = expand_sin, .complex = hlo_complex_unary, .of_pair = expand_complex_sin },
	{ "slice", 1, .kind = NCC_SLICE, .attrs = hlo_attrs_slice, .complex = hlo_complex_parts },
	{ "sort", -1, .value = hlo_sort },
	{ "sqrt", 1, .kind = NCC_SQRT, .complex = hlo_complex_unary, .of_pair = expand_complex_sqrt },
	{ "subtract", 2, .kind = NCC_SUB, .complex = hlo_complex_parts },
	{ "tan", 1, .array = hlo_unary, .unary = expand_tan, .complex = hlo_complex_unary, .of_pair = expand_complex_tan },
	{ "tanh", 1, .kind = NCC_TANH, .complex = hlo_complex_unary, .of_pair = expand_complex_tanh },
	{ "topk", -1, .value = hlo_topk },
	{ "transpose", 1, .kind = NCC_TRANSPOSE, .attrs = hlo_attrs_transpose, .complex = hlo_complex_parts },
	{ "triangular-solve", -1, .value = hlo_triangular_solve },
	{ "tuple", -1, .value = hlo_tuple, .complex = hlo_tuple },
	{ "while", -1, .value = hlo_while, .complex = hlo_while },
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
