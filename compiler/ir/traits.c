// SPDX-License-Identifier: MIT
/* The table of the kinds of operations (traits.h), and what each kind does to an element */
#include "traits.h"

#include <math.h>

static double add(double a, double b)
{
	return a + b;
}

static double subtract(double a, double b)
{
	return a - b;
}

static double multiply(double a, double b)
{
	return a * b;
}

static double divide(double a, double b)
{
	return a / b;
}

static double larger(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static double smaller(double a, double b)
{
	return isnan(a) || a < b ? a : b;
}

static double negate(double a)
{
	return -a;
}

static double sign(double a)
{
	return a > 0 ? 1 : a < 0 ? -1 : a;
}

static double logistic(double a)
{
	return 1 / (1 + exp(-a));
}

static double reciprocal_root(double a)
{
	return 1 / sqrt(a);
}

static double softplus(double a)
{
	return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
}

static double gelu(double a)
{
	return a * 0.5 * (1 + erf(a * M_SQRT1_2));
}

static double gelu_tanh(double a)
{
	return a * 0.5 * (1 + tanh(sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
}

static double mish(double a)
{
	return a * tanh(softplus(a));
}

static double equal(double a, double b)
{
	return a == b;
}

static double differs(double a, double b)
{
	return a != b;
}

static double at_least(double a, double b)
{
	return a >= b;
}

static double above(double a, double b)
{
	return a > b;
}

static double at_most(double a, double b)
{
	return a <= b;
}

static double below(double a, double b)
{
	return a < b;
}

static int64_t whole_negate(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	(void)b;
	return -a;
}

static int64_t whole_magnitude(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	(void)b;
	return a < 0 ? -a : a;
}

static int64_t whole_sign(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	(void)b;
	return (a > 0) - (a < 0);
}

static int64_t whole_not(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)b;
	return s->pred ? !a : ~a;
}

static int64_t whole_add(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a + b;
}

static int64_t whole_subtract(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a - b;
}

/* The operands have 33 bits each: an overflow does not reach the low bits that count. */
static int64_t whole_multiply(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* A quotient by 0 is all ones. */
static int64_t whole_divide(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return b ? a / b : -1;
}

static int64_t whole_larger(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a > b ? a : b;
}

static int64_t whole_smaller(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a < b ? a : b;
}

static int64_t whole_and(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a & b;
}

static int64_t whole_or(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a | b;
}

static int64_t whole_xor(const struct ncc_shape *s, int64_t a, int64_t b)
{
	(void)s;
	return a ^ b;
}

static int64_t whole_shift_left(const struct ncc_shape *s, int64_t a, int64_t b)
{
	const unsigned int bits = 8 * ncc_dtype_size(s->dtype);
	const uint64_t mask = (1ull << bits) - 1, n = (uint64_t)b & mask;

	return n < bits ? (int64_t)(((uint64_t)a & mask) << n) : 0;
}

static int64_t whole_shift_right(const struct ncc_shape *s, int64_t a, int64_t b)
{
	const unsigned int bits = 8 * ncc_dtype_size(s->dtype);
	const uint64_t mask = (1ull << bits) - 1, n = (uint64_t)b & mask;

	return n < bits ? (int64_t)(((uint64_t)a & mask) >> n) : 0;
}

/* clang-format off */
static const struct ncc_traits traits[NCC_KINDS] = {
	[NCC_PARAM] = { .name = "parameter" },
	[NCC_CONST] = { .name = "constant" },
	[NCC_NEG] = { "negate", NCC_CLASS_UNARY, 1, .unary = negate, .whole = whole_negate },
	[NCC_ABS] = { "abs", NCC_CLASS_UNARY, 1, .unary = fabs, .whole = whole_magnitude },
	[NCC_SIGN] = { "sign", NCC_CLASS_UNARY, 1, .unary = sign, .whole = whole_sign },
	[NCC_EXP] = { "exponential", NCC_CLASS_UNARY, 1, .unary = exp },
	[NCC_LOG] = { "log", NCC_CLASS_UNARY, 1, .unary = log },
	[NCC_TANH] = { "tanh", NCC_CLASS_UNARY, 1, .unary = tanh },
	[NCC_LOGISTIC] = { "logistic", NCC_CLASS_UNARY, 1, .unary = logistic },
	[NCC_SQRT] = { "sqrt", NCC_CLASS_UNARY, 1, .unary = sqrt },
	[NCC_RSQRT] = { "rsqrt", NCC_CLASS_UNARY, 1, .unary = reciprocal_root },
	[NCC_ERF] = { "erf", NCC_CLASS_UNARY, 1, .unary = erf },
	[NCC_SIN] = { "sine", NCC_CLASS_UNARY, 1, .unary = sin },
	[NCC_ATAN] = { "arctan", NCC_CLASS_UNARY, 1, .unary = atan },
	[NCC_SOFTPLUS] = { "softplus", NCC_CLASS_UNARY, 1, .unary = softplus },
	[NCC_GELU] = { "gelu", NCC_CLASS_UNARY, 1, .unary = gelu },
	[NCC_GELU_TANH] = { "gelu-tanh", NCC_CLASS_UNARY, 1, .unary = gelu_tanh },
	[NCC_MISH] = { "mish", NCC_CLASS_UNARY, 1, .unary = mish },
	[NCC_NOT] = { "not", NCC_CLASS_UNARY, 1, .whole = whole_not },
	[NCC_CONVERT] = { "convert", NCC_CLASS_UNARY, .nin = 1 },
	[NCC_ADD] = { "add", NCC_CLASS_BINARY, 2, .binary = add, .as_datapath = true, .whole = whole_add },
	[NCC_SUB] = { "subtract", NCC_CLASS_BINARY, 2, .binary = subtract, .as_datapath = true, .whole = whole_subtract },
	[NCC_MUL] = { "multiply", NCC_CLASS_BINARY, 2, .binary = multiply, .as_datapath = true, .whole = whole_multiply },
	[NCC_DIV] = { "divide", NCC_CLASS_BINARY, 2, .binary = divide, .whole = whole_divide },
	[NCC_MAX] = { "maximum", NCC_CLASS_BINARY, 2, .binary = larger, .whole = whole_larger },
	[NCC_MIN] = { "minimum", NCC_CLASS_BINARY, 2, .binary = smaller, .whole = whole_smaller },
	[NCC_POW] = { "power", NCC_CLASS_BINARY, 2, .binary = pow },
	[NCC_AND] = { "and", NCC_CLASS_BINARY, 2, .whole = whole_and },
	[NCC_OR] = { "or", NCC_CLASS_BINARY, 2, .whole = whole_or },
	[NCC_XOR] = { "xor", NCC_CLASS_BINARY, 2, .whole = whole_xor },
	[NCC_SHL] = { "shift-left", NCC_CLASS_BINARY, 2, .whole = whole_shift_left },
	[NCC_SHR] = { "shift-right-logical", NCC_CLASS_BINARY, 2, .whole = whole_shift_right },
	[NCC_EQ] = { "compare-eq", NCC_CLASS_COMPARE, 2, .binary = equal },
	[NCC_NE] = { "compare-ne", NCC_CLASS_COMPARE, 2, .binary = differs },
	[NCC_GE] = { "compare-ge", NCC_CLASS_COMPARE, 2, .binary = at_least },
	[NCC_GT] = { "compare-gt", NCC_CLASS_COMPARE, 2, .binary = above },
	[NCC_LE] = { "compare-le", NCC_CLASS_COMPARE, 2, .binary = at_most },
	[NCC_LT] = { "compare-lt", NCC_CLASS_COMPARE, 2, .binary = below },
	[NCC_SELECT] = { "select", NCC_CLASS_SELECT, .nin = 3 },
	[NCC_BROADCAST] = { "broadcast", NCC_CLASS_MOVE, .nin = 1 },
	[NCC_BITCAST] = { "bitcast", NCC_CLASS_MOVE, .nin = 1 },
	[NCC_RESHAPE] = { "reshape", NCC_CLASS_MOVE, .nin = 1 },
	[NCC_TRANSPOSE] = { "transpose", NCC_CLASS_MOVE, .nin = 1 },
	[NCC_SLICE] = { "slice", NCC_CLASS_MOVE, 1, .attrs = NCC_ATTRS_SLICE },
	[NCC_REVERSE] = { "reverse", NCC_CLASS_MOVE, .nin = 1 },
	[NCC_CONCAT] = { "concatenate", NCC_CLASS_MOVE, .nin = NCC_ANY_NUMBER },
	[NCC_PAD] = { "pad", NCC_CLASS_MOVE, 2, .attrs = NCC_ATTRS_PAD },
	[NCC_GATHER] = { "gather", NCC_CLASS_MOVE, .nin = 2 },
	[NCC_SCATTER] = { "scatter", NCC_CLASS_MOVE, .nin = 3 },
	[NCC_TAKE] = { "take", NCC_CLASS_MOVE, .nin = 2 },
	[NCC_COMBINE] = { "combine", NCC_CLASS_REDUCTION, .nin = 3 },
	[NCC_ORDER] = { "order", NCC_CLASS_REDUCTION, .nin = 1 },
	[NCC_RANDOM] = { "random", .nin = 1 },
	[NCC_DOT] = { "dot", NCC_CLASS_PRODUCT, NCC_ANY_NUMBER, .attrs = NCC_ATTRS_DOT },
	[NCC_CONV] = { "convolution", NCC_CLASS_PRODUCT, 2, .attrs = NCC_ATTRS_CONV },
	[NCC_REDUCE] = { "reduce", NCC_CLASS_REDUCTION, .nin = 2 },
	[NCC_REDUCE_WINDOW] = { "reduce-window", NCC_CLASS_REDUCTION, 2, .attrs = NCC_ATTRS_WINDOW },
	[NCC_CUSTOM] = { "custom", .nin = NCC_ANY_NUMBER },
	[NCC_KERNEL] = { "kernel", .nin = NCC_ANY_NUMBER },
	[NCC_EXCHANGE] = { "exchange", .nin = 1 },
	[NCC_TRANSFER] = { "transfer", .nin = 1 },
	[NCC_RANK] = { "rank", .nin = 0 },
	[NCC_LOOP] = { "loop", .nin = 1 },
	[NCC_STATE] = { "state", .nin = 2 },
	[NCC_LOOP_END] = { "loop-end", .nin = NCC_ANY_NUMBER },
	[NCC_LOOP_RESULT] = { "loop-result", .nin = 2 },
	[NCC_HOST_CALL] = { "host-call", .nin = NCC_ANY_NUMBER },
	[NCC_HOST_RESULT] = { "host-result", .nin = 1 },
};
/* clang-format on */

const struct ncc_traits *ncc_traits_of(enum ncc_kind kind)
{
	static const struct ncc_traits unknown = { .name = "?" };

	return kind < NCC_KINDS ? &traits[kind] : &unknown;
}

const char *ncc_kind_name(enum ncc_kind kind)
{
	return ncc_traits_of(kind)->name;
}

bool ncc_is_unary(enum ncc_kind kind)
{
	return ncc_traits_of(kind)->class == NCC_CLASS_UNARY;
}

bool ncc_is_compare(enum ncc_kind kind)
{
	return ncc_traits_of(kind)->class == NCC_CLASS_COMPARE;
}

bool ncc_is_binary(enum ncc_kind kind)
{
	return ncc_traits_of(kind)->class == NCC_CLASS_BINARY || ncc_is_compare(kind);
}

bool ncc_is_elementwise(enum ncc_kind kind)
{
	return ncc_is_unary(kind) || ncc_is_binary(kind) || kind == NCC_SELECT;
}

bool ncc_compares(enum ncc_kind kind, double a, double b)
{
	return ncc_traits_of(kind)->binary(a, b) != 0;
}

bool ncc_integer(enum ncc_kind kind, const struct ncc_shape *s, int64_t a, int64_t b, int64_t *r)
{
	const struct ncc_traits *t = ncc_traits_of(kind);

	if (!t->whole)
		return false;
	*r = t->whole(s, a, b);
	return true;
}
