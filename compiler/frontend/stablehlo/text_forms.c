// SPDX-License-Identifier: MIT
/*
 * Which operations have a form of their own in text, and what it is (text_pretty.c), in the order
 * of strcmp. Those of StableHLO that are not here are written in the generic form only.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define UNARY "$ {} :same"
#define SHAPED "$ {} :fn"
#define CHLO_UNARY "$ {} :arrow"
#define CHLO_BINARY "$ , $ {} :arrow"
#define BROADCAST "$ , $ {} :fn"
#define VALUE "{} value {}"
#define RETURN "{} $* {} :operands"
#define NOTHING "{} :out"
#define CALL "callee ( $* ) {} :fn"

/* One object, by which what is applied in a reduction is known */
static const char binary[] = "$ , $ {} :same";

static const struct form forms[] = {
	/* clang-format off */
	{ "arith.constant", VALUE, NULL },
	{ "builtin.module", NULL, form_module },
	{ "call", CALL, NULL },
	{ "chlo.acos", CHLO_UNARY, NULL },
	{ "chlo.acosh", CHLO_UNARY, NULL },
	{ "chlo.asin", CHLO_UNARY, NULL },
	{ "chlo.asinh", CHLO_UNARY, NULL },
	{ "chlo.atan", CHLO_UNARY, NULL },
	{ "chlo.atanh", CHLO_UNARY, NULL },
	{ "chlo.bessel_i1e", CHLO_UNARY, NULL },
	{ "chlo.broadcast_add", BROADCAST, NULL },
	{ "chlo.broadcast_and", BROADCAST, NULL },
	{ "chlo.broadcast_atan2", BROADCAST, NULL },
	{ "chlo.broadcast_compare", "$ , $ {} :fn", NULL },
	{ "chlo.broadcast_complex", BROADCAST, NULL },
	{ "chlo.broadcast_divide", BROADCAST, NULL },
	{ "chlo.broadcast_maximum", BROADCAST, NULL },
	{ "chlo.broadcast_minimum", BROADCAST, NULL },
	{ "chlo.broadcast_multiply", BROADCAST, NULL },
	{ "chlo.broadcast_next_after", BROADCAST, NULL },
	{ "chlo.broadcast_or", BROADCAST, NULL },
	{ "chlo.broadcast_polygamma", BROADCAST, NULL },
	{ "chlo.broadcast_power", BROADCAST, NULL },
	{ "chlo.broadcast_remainder", BROADCAST, NULL },
	{ "chlo.broadcast_select", "$ , $ , $ {} :fn", NULL },
	{ "chlo.broadcast_shift_left", BROADCAST, NULL },
	{ "chlo.broadcast_shift_right_arithmetic", BROADCAST, NULL },
	{ "chlo.broadcast_shift_right_logical", BROADCAST, NULL },
	{ "chlo.broadcast_subtract", BROADCAST, NULL },
	{ "chlo.broadcast_xor", BROADCAST, NULL },
	{ "chlo.broadcast_zeta", BROADCAST, NULL },
	{ "chlo.conj", CHLO_UNARY, NULL },
	{ "chlo.constant", VALUE, NULL },
	{ "chlo.cosh", CHLO_UNARY, NULL },
	{ "chlo.digamma", CHLO_UNARY, NULL },
	{ "chlo.erf", CHLO_UNARY, NULL },
	{ "chlo.erf_inv", CHLO_UNARY, NULL },
	{ "chlo.erfc", CHLO_UNARY, NULL },
	{ "chlo.is_inf", CHLO_UNARY, NULL },
	{ "chlo.is_neg_inf", CHLO_UNARY, NULL },
	{ "chlo.is_pos_inf", CHLO_UNARY, NULL },
	{ "chlo.lgamma", CHLO_UNARY, NULL },
	{ "chlo.mulhi", CHLO_BINARY, NULL },
	{ "chlo.next_after", CHLO_BINARY, NULL },
	{ "chlo.polygamma", CHLO_BINARY, NULL },
	{ "chlo.sinh", CHLO_UNARY, NULL },
	{ "chlo.square", CHLO_UNARY, NULL },
	{ "chlo.tan", CHLO_UNARY, NULL },
	{ "chlo.top_k", "( $ , k = i:k ) {} :arrow", NULL },
	{ "chlo.zeta", CHLO_BINARY, NULL },
	{ "func.call", CALL, NULL },
	{ "func.func", NULL, form_func },
	{ "func.return", RETURN, NULL },
	{ "module", NULL, form_module },
	{ "return", RETURN, NULL },
	{ "sdy.manual_computation", NULL, form_manual },
	{ "sdy.mesh", NULL, form_mesh },
	{ "sdy.return", RETURN, NULL },
	{ "sdy.sharding_constraint", NULL, form_sharding },
	{ "stablehlo.abs", UNARY, NULL },
	{ "stablehlo.add", binary, NULL },
	{ "stablehlo.after_all", "$* {} :same", NULL },
	{ "stablehlo.and", binary, NULL },
	{ "stablehlo.atan2", binary, NULL },
	{ "stablehlo.bitcast_convert", SHAPED, NULL },
	{ "stablehlo.broadcast", "$ , sizes = l:broadcast_sizes {} :fn", NULL },
	{ "stablehlo.broadcast_in_dim", "$ , dims = l:broadcast_dimensions {} :fn", NULL },
	{ "stablehlo.cbrt", UNARY, NULL },
	{ "stablehlo.ceil", UNARY, NULL },
	{ "stablehlo.cholesky", "$ ?( , lower = b:lower )? {} :same", NULL },
	{ "stablehlo.clamp", "$ , $ , $ {} :same", NULL },
	{ "stablehlo.compare", "w:comparison_direction , $ , $ ?( , w:compare_type )? {} :fn", NULL },
	{ "stablehlo.complex", "$ , $ {} :out", NULL },
	{ "stablehlo.composite", NULL, form_composite },
	{ "stablehlo.concatenate", "$* , dim = i:dimension {} :fn", NULL },
	{ "stablehlo.constant", VALUE, NULL },
	{ "stablehlo.convert", UNARY, NULL },
	{ "stablehlo.convolution", NULL, form_convolution },
	{ "stablehlo.cosine", UNARY, NULL },
	{ "stablehlo.count_leading_zeros", UNARY, NULL },
	{ "stablehlo.create_token", NOTHING, NULL },
	{ "stablehlo.custom_call", NULL, form_custom_call },
	{ "stablehlo.divide", binary, NULL },
	{ "stablehlo.dot", "$ , $ ?( , precision = p:precision_config )? {} :fn", NULL },
	{ "stablehlo.dot_general", NULL, form_dot_general },
	{ "stablehlo.dynamic_broadcast_in_dim", "$ , $ , dims = l:broadcast_dimensions {} :fn", NULL },
	{ "stablehlo.dynamic_iota", "$ , dim = i:iota_dimension {} :fn", NULL },
	{ "stablehlo.dynamic_pad", "$ , $ , $ , $ , $ {} :fn", NULL },
	{ "stablehlo.dynamic_reshape", "$ , $ {} :fn", NULL },
	{ "stablehlo.dynamic_slice", "$* , sizes = l:slice_sizes {} :fn", NULL },
	{ "stablehlo.dynamic_update_slice", "$* {} :fn", NULL },
	{ "stablehlo.einsum", "$ , $ , config = s:einsum_config {} :fn", NULL },
	{ "stablehlo.exponential", UNARY, NULL },
	{ "stablehlo.exponential_minus_one", UNARY, NULL },
	{ "stablehlo.fft", "$ , type = w:fft_type , length = l:fft_length {} :fn", NULL },
	{ "stablehlo.floor", UNARY, NULL },
	{ "stablehlo.get_dimension_size", "$ , dim = i:dimension {} :fn", NULL },
	{ "stablehlo.get_tuple_element", "$ [ i32:index ] {} :fn", NULL },
	{ "stablehlo.imag", UNARY, NULL },
	{ "stablehlo.iota", "dim = i:iota_dimension {} :out", NULL },
	{ "stablehlo.is_finite", SHAPED, NULL },
	{ "stablehlo.log", UNARY, NULL },
	{ "stablehlo.log_plus_one", UNARY, NULL },
	{ "stablehlo.logistic", UNARY, NULL },
	{ "stablehlo.maximum", binary, NULL },
	{ "stablehlo.minimum", binary, NULL },
	{ "stablehlo.multiply", binary, NULL },
	{ "stablehlo.negate", UNARY, NULL },
	{ "stablehlo.not", UNARY, NULL },
	{ "stablehlo.optimization_barrier", "{} $* {} ?( ( ) )? :pairs", NULL },
	{ "stablehlo.or", binary, NULL },
	{ "stablehlo.pad", "$ , $ , low = l:edge_padding_low , high = l:edge_padding_high , interior = l:interior_padding {} :fn", NULL },
	{ "stablehlo.partition_id", NOTHING, NULL },
	{ "stablehlo.popcnt", UNARY, NULL },
	{ "stablehlo.power", binary, NULL },
	{ "stablehlo.real", UNARY, NULL },
	{ "stablehlo.real_dynamic_slice", "$ , $ , $ , $ {} :fn", NULL },
	{ "stablehlo.reduce", NULL, form_reduce },
	{ "stablehlo.reduce_precision", "$ , format = <format> {} :same", NULL },
	{ "stablehlo.remainder", binary, NULL },
	{ "stablehlo.replica_id", NOTHING, NULL },
	{ "stablehlo.reshape", SHAPED, NULL },
	{ "stablehlo.return", RETURN, NULL },
	{ "stablehlo.reverse", "$ , dims = l:dimensions {} :same", NULL },
	{ "stablehlo.rng", "$ , $ , $ , distribution = w:rng_distribution {} :fn", NULL },
	{ "stablehlo.rng_bit_generator", "$ , algorithm = w:rng_algorithm {} :fn", NULL },
	{ "stablehlo.round_nearest_afz", UNARY, NULL },
	{ "stablehlo.round_nearest_even", UNARY, NULL },
	{ "stablehlo.rsqrt", UNARY, NULL },
	{ "stablehlo.select", "$ , $ , $ {} :select", NULL },
	{ "stablehlo.set_dimension_size", "$ , $ , dim = i:dimension {} :fn", NULL },
	{ "stablehlo.shift_left", binary, NULL },
	{ "stablehlo.shift_right_arithmetic", binary, NULL },
	{ "stablehlo.shift_right_logical", binary, NULL },
	{ "stablehlo.sign", UNARY, NULL },
	{ "stablehlo.sine", UNARY, NULL },
	{ "stablehlo.slice", NULL, form_slice },
	{ "stablehlo.sqrt", UNARY, NULL },
	{ "stablehlo.subtract", binary, NULL },
	{ "stablehlo.tan", UNARY, NULL },
	{ "stablehlo.tanh", UNARY, NULL },
	{ "stablehlo.transpose", "$ , dims = l:permutation {} :fn", NULL },
	{ "stablehlo.tuple", "$* {} :tuple", NULL },
	{ "stablehlo.unary_einsum", "$ , config = s:einsum_config {} :fn", NULL },
	{ "stablehlo.uniform_dequantize", UNARY, NULL },
	{ "stablehlo.uniform_quantize", UNARY, NULL },
	{ "stablehlo.while", NULL, form_while },
	{ "stablehlo.xor", binary, NULL },
	/* clang-format on */
};

struct key {
	const char *p;
	size_t n;
};

static int by_name(const void *key, const void *form)
{
	const struct key *k = key;
	const char *name = ((const struct form *)form)->name;
	const int order = strncmp(k->p, name, k->n);

	return order ? order : name[k->n] ? -1 : 0;
}

const struct form *text_form_of(const char *name, size_t n)
{
	const struct key key = { name, n };

	return bsearch(&key, forms, sizeof(forms) / sizeof(forms[0]), sizeof(forms[0]), by_name);
}
