// SPDX-License-Identifier: MIT
/*
 * What the elements of an instruction's result can be, from what those of its operands can be. Of
 * floats only what constants are and moves make of them is followed. Called by wide.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "range.h"

#define SUM_LIMIT (1ll << 62) /* ends of ranges are kept within it, so that none overflows */

/* Returns false: not known */
typedef bool (*range_fn)(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			 struct hlo_range *to);

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool is_float(const Ncc__Hlo__Instruction *in)
{
	return in->shape->element_type == HLO_F64;
}

/* Takes numbers, the ends of the result among them. */
static bool ends(const int64_t *v, unsigned int n, struct hlo_range *to)
{
	to->low = to->high = v[0];
	for (unsigned int i = 1; i < n; i++) {
		to->low = least(to->low, v[i]);
		to->high = most(to->high, v[i]);
	}
	return to->low >= -SUM_LIMIT && to->high <= SUM_LIMIT;
}

static bool range_sum(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		      struct hlo_range *to)
{
	return !is_float(in) &&
	       ends((int64_t[]){ r[0].low + r[1].low, r[0].high + r[1].high }, 2, to);
}

static bool range_difference(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			     struct hlo_range *to)
{
	return !is_float(in) &&
	       ends((int64_t[]){ r[0].low - r[1].high, r[0].high - r[1].low }, 2, to);
}

static bool range_product(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			  struct hlo_range *to)
{
	int64_t v[4];
	bool large = __builtin_mul_overflow(r[0].low, r[1].low, &v[0]);

	large |= __builtin_mul_overflow(r[0].low, r[1].high, &v[1]);
	large |= __builtin_mul_overflow(r[0].high, r[1].low, &v[2]);
	large |= __builtin_mul_overflow(r[0].high, r[1].high, &v[3]);
	return !is_float(in) && !large && ends(v, 4, to);
}

static bool range_quotient(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			   struct hlo_range *to)
{
	if (is_float(in) || (r[1].low <= 0 && r[1].high >= 0))
		return false;
	return ends((int64_t[]){ r[0].low / r[1].low, r[0].low / r[1].high, r[0].high / r[1].low,
				 r[0].high / r[1].high,
				 r[0].low < 0 && r[0].high > 0 ? 0 : r[0].low / r[1].low },
		    5, to);
}

/* A remainder has the sign of what is divided, and is smaller than the divisor. */
static bool range_remainder(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			    struct hlo_range *to)
{
	const int64_t n = most(llabs(r[1].low), llabs(r[1].high)) - 1;

	if (is_float(in) || (r[1].low <= 0 && r[1].high >= 0))
		return false;
	to->low = r[0].low < 0 ? most(r[0].low, -n) : 0;
	to->high = r[0].high > 0 ? least(r[0].high, n) : 0;
	return true;
}

static bool range_negate(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			 struct hlo_range *to)
{
	to->rounded = r[0].rounded;
	return ends((int64_t[]){ -r[0].low, -r[0].high }, 2, to);
}

static bool range_abs(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		      struct hlo_range *to)
{
	const bool both = r[0].low < 0 && r[0].high > 0;

	to->rounded = r[0].rounded;
	return ends((int64_t[]){ llabs(r[0].low), llabs(r[0].high), both ? 0 : llabs(r[0].low) }, 3,
		    to);
}

static bool range_larger(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			 struct hlo_range *to)
{
	*to = (struct hlo_range){ most(r[0].low, r[1].low), most(r[0].high, r[1].high),
				  r[0].rounded || r[1].rounded, false };
	return true;
}

static bool range_smaller(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			  struct hlo_range *to)
{
	*to = (struct hlo_range){ least(r[0].low, r[1].low), least(r[0].high, r[1].high),
				  r[0].rounded || r[1].rounded, false };
	return true;
}

static bool range_clamp(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			struct hlo_range *to)
{
	struct hlo_range up = { 0 };

	return range_larger(in, r, &up) && range_smaller(in, (struct hlo_range[]){ up, r[2] }, to);
}

static bool range_bits(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		       struct hlo_range *to)
{
	const int64_t high = most(r[0].high, r[1].high);

	if (r[0].low < 0 || r[1].low < 0)
		return false;
	to->high = high ? (int64_t)(~0ull >> __builtin_clzll((unsigned long long)high)) : 0;
	return true;
}

static bool range_and(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		      struct hlo_range *to)
{
	if (r[0].low < 0 && r[1].low < 0)
		return false;
	to->high = r[0].low < 0	  ? r[1].high
		   : r[1].low < 0 ? r[0].high
				  : least(r[0].high, r[1].high);
	return true;
}

static bool range_shift_logical(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
				struct hlo_range *to)
{
	to->high = r[0].high;
	return r[0].low >= 0;
}

static bool range_shift_arithmetic(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
				   struct hlo_range *to)
{
	to->low = least(r[0].low, 0);
	to->high = most(r[0].high, 0);
	return true;
}

/* What is moved */
static bool range_first(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			struct hlo_range *to)
{
	*to = r[0];
	return true;
}

static bool join(const struct hlo_range *r, size_t n, struct hlo_range *to)
{
	*to = r[0];
	for (size_t i = 1; i < n; i++) {
		to->low = least(to->low, r[i].low);
		to->high = most(to->high, r[i].high);
		to->rounded |= r[i].rounded;
	}
	return true;
}

static bool range_all(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		      struct hlo_range *to)
{
	return join(r, in->n_operand_ids, to);
}

static bool range_both(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		       struct hlo_range *to)
{
	return join(r, 2, to);
}

static bool range_choice(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			 struct hlo_range *to)
{
	return join(r + 1, 2, to);
}

static bool range_sign(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		       struct hlo_range *to)
{
	*to = (struct hlo_range){ -(r[0].low < 0), r[0].high > 0, false, false };
	return !is_float(in);
}

/* Floats come from integers that fp32 has all of; integers do not come from floats. */
static bool range_convert(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			  struct hlo_range *to)
{
	*to = r[0];
	if (r[0].real || !is_float(in))
		return r[0].real == is_float(in);
	return r[0].low >= -(1 << 24) && r[0].high <= 1 << 24;
}

static bool range_iota(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
		       struct hlo_range *to)
{
	int64_t d = in->n_dimensions == 1 ? in->dimensions[0] : -1;

	if (d < 0 || (size_t)d >= in->shape->n_dimensions || in->shape->dimensions[d] < 0)
		return false;
	to->high = in->shape->dimensions[d];
	return !is_float(in) || to->high <= 1 << 24;
}

static bool range_constant(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
			   struct hlo_range *to)
{
	const Ncc__Hlo__Literal *l = in->literal;
	bool any = false;

	if (!l || l->n_tuple_literals)
		return false;
	for (size_t i = 0; i < l->n_f64s; i++)
		to->rounded |= (double)(float)l->f64s[i] != l->f64s[i] && !isnan(l->f64s[i]);
	for (size_t i = 0; i < l->n_u64s + l->n_s64s; i++) {
		const bool is_signed = i >= l->n_u64s;
		const int64_t v = is_signed ? l->s64s[i - l->n_u64s] : (int64_t)l->u64s[i];

		if (v > SUM_LIMIT || v < (is_signed ? -SUM_LIMIT : 0))
			return false;
		to->low = any ? least(to->low, v) : v;
		to->high = any ? most(to->high, v) : v;
		any = true;
	}
	return true;
}

static const struct {
	const char *opcode;
	size_t nin; /* operands that fn looks at; more are indices */
	range_fn fn;
} rules[] = {
	/* clang-format off */
	{ "abs", 1, range_abs },
	{ "add", 2, range_sum },
	{ "and", 2, range_and },
	{ "broadcast", 1, range_first },
	{ "clamp", 3, range_clamp },
	{ "concatenate", 1, range_all },
	{ "constant", 0, range_constant },
	{ "convert", 1, range_convert },
	{ "copy", 1, range_first },
	{ "divide", 2, range_quotient },
	{ "dynamic-slice", 1, range_first },
	{ "dynamic-update-slice", 2, range_both },
	{ "gather", 1, range_first },
	{ "iota", 0, range_iota },
	{ "maximum", 2, range_larger },
	{ "minimum", 2, range_smaller },
	{ "multiply", 2, range_product },
	{ "negate", 1, range_negate },
	{ "or", 2, range_bits },
	{ "pad", 2, range_both },
	{ "remainder", 2, range_remainder },
	{ "reshape", 1, range_first },
	{ "reverse", 1, range_first },
	{ "select", 3, range_choice },
	{ "shift-right-arithmetic", 2, range_shift_arithmetic },
	{ "shift-right-logical", 2, range_shift_logical },
	{ "sign", 1, range_sign },
	{ "slice", 1, range_first },
	{ "subtract", 2, range_difference },
	{ "transpose", 1, range_first },
	{ "xor", 2, range_bits },
	/* clang-format on */
};

static int by_opcode(const void *opcode, const void *rule)
{
	return strcmp(opcode, *(const char *const *)rule);
}

bool hlo_range(const Ncc__Hlo__Instruction *in, const struct hlo_range *r, struct hlo_range *result)
{
	const void *found = bsearch(in->opcode, rules, sizeof(rules) / sizeof(rules[0]),
				    sizeof(rules[0]), by_opcode);
	const size_t i =
		found ? (size_t)((const char *)found - (const char *)rules) / sizeof(rules[0]) : 0;

	*result = (struct hlo_range){ 0 };
	if (!found || in->n_operand_ids < rules[i].nin || !rules[i].fn(in, r, result))
		return false;
	result->real = is_float(in);
	return true;
}

bool hlo_range_of_type(int32_t type, struct hlo_range *r)
{
	static const struct {
		enum hlo_type type;
		int64_t low, high;
	} of[] = {
		{ HLO_PRED, 0, 1 },
		{ HLO_S4, -8, 7 },
		{ HLO_S8, INT8_MIN, INT8_MAX },
		{ HLO_S16, INT16_MIN, INT16_MAX },
		{ HLO_S32, INT32_MIN, INT32_MAX },
		{ HLO_U4, 0, 15 },
		{ HLO_U8, 0, UINT8_MAX },
		{ HLO_U16, 0, UINT16_MAX },
		{ HLO_U32, 0, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if ((int32_t)of[i].type == type) {
			*r = (struct hlo_range){ of[i].low, of[i].high, false, false };
			return true;
		}
	return false;
}

bool hlo_range_fits(int32_t type, const struct hlo_range *r)
{
	if (type == HLO_F64)
		return true;
	if (type == HLO_U64)
		return r->low >= 0 && r->high <= UINT32_MAX;
	return r->low >= INT32_MIN && r->high <= INT32_MAX;
}
