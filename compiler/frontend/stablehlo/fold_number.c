// SPDX-License-Identifier: MIT
/* Arithmetic on the numbers of constants, as XLA defines it: see fold.c */
#include <math.h>
#include <string.h>

#include "fold.h"

unsigned int fold_bits(int type)
{
	switch (type) {
	case HLO_PRED:
		return 1;
	case HLO_S8:
	case HLO_U8:
		return 8;
	case HLO_S16:
	case HLO_U16:
		return 16;
	case HLO_S32:
	case HLO_U32:
	case HLO_F32:
		return 32;
	case HLO_S64:
	case HLO_U64:
	case HLO_F64:
		return 64;
	default:
		return 0;
	}
}

static bool is_signed(int type)
{
	return type == HLO_S8 || type == HLO_S16 || type == HLO_S32 || type == HLO_S64;
}

/* An integer as its type has it: its low bits */
int64_t fold_wrap(int type, int64_t v)
{
	const unsigned int rest = 64 - fold_bits(type);

	if (type == HLO_PRED)
		return v != 0;
	v = (int64_t)((uint64_t)v << rest);
	return is_signed(type) ? v >> rest : (int64_t)((uint64_t)v >> rest);
}

static int64_t whole_of(int type, double v)
{
	const unsigned int bits = fold_bits(type);
	const double most = ldexp(1, (int)bits - is_signed(type));

	if (type == HLO_PRED)
		return v != 0;
	if (isnan(v))
		return 0;
	v = trunc(v);
	if (v >= most)
		return is_signed(type) ? (int64_t)(~0ull >> (65 - bits)) : fold_wrap(type, -1);
	if (v < (is_signed(type) ? -most : 0))
		return is_signed(type) ? fold_wrap(type, (int64_t)(1ull << (bits - 1))) : 0;
	return is_signed(type) ? (int64_t)v : (int64_t)(uint64_t)v;
}

bool fold_convert(struct folding *f)
{
	const struct fold_numbers *x = f->in[0];

	for (int64_t i = 0; i < x->n && x->n == f->out->n; i++) {
		if (f->out->whole) {
			f->out->whole[i] = x->whole ? fold_wrap(f->out->type, x->whole[i])
						    : whole_of(f->out->type, x->real[i]);
			continue;
		}
		if (!x->whole)
			f->out->real[i] = f->out->type == HLO_F32 ? (float)x->real[i] : x->real[i];
		else if (f->out->type == HLO_F32)
			f->out->real[i] = x->type == HLO_U64 ? (float)(uint64_t)x->whole[i]
							     : (float)x->whole[i];
		else
			f->out->real[i] = x->type == HLO_U64 ? (double)(uint64_t)x->whole[i]
							     : (double)x->whole[i];
	}
	return x->n == f->out->n;
}

bool fold_compare(struct folding *f)
{
	static const struct {
		const char *word;
		bool less, equal, more;
	} of[] = {
		{ "EQ", false, true, false }, { "GE", false, true, true },
		{ "GT", false, false, true }, { "LE", true, true, false },
		{ "LT", true, false, false }, { "NE", true, false, true },
	};
	const struct fold_numbers *a = f->in[0], *b = f->in[1];
	const char *word = "";
	unsigned int k = 0;

	if (attr_text(f->s, f->op, "comparison_direction", &word) || a->type != b->type ||
	    !a->whole)
		return false;
	while (k < sizeof(of) / sizeof(of[0]) && strcmp(of[k].word, word))
		k++;
	if (k == sizeof(of) / sizeof(of[0]))
		return false;
	for (int64_t i = 0; i < a->n; i++) {
		const bool less = a->type == HLO_U64 ? (uint64_t)a->whole[i] < (uint64_t)b->whole[i]
						     : a->whole[i] < b->whole[i];
		const bool equal = a->whole[i] == b->whole[i];

		f->out->whole[i] = less ? of[k].less : equal ? of[k].equal : of[k].more;
	}
	return true;
}

/* Arithmetic: of integers, with the type, and of floats. What has no fn of floats is refused. */
struct arithmetic {
	const char *name;
	unsigned int nin;
	uint64_t (*whole)(uint64_t a, uint64_t b, int type);
	double (*real)(double a, double b);
};

static uint64_t whole_add(uint64_t a, uint64_t b, int type)
{
	return a + b;
}

static uint64_t whole_subtract(uint64_t a, uint64_t b, int type)
{
	return a - b;
}

static uint64_t whole_multiply(uint64_t a, uint64_t b, int type)
{
	return a * b;
}

/* XLA's division of integers: by 0 it is -1, and the least number by -1 is itself */
static uint64_t whole_divide(uint64_t a, uint64_t b, int type)
{
	if (!b)
		return ~0ull;
	if (!is_signed(type))
		return a / b;
	return b == ~0ull ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t whole_remainder(uint64_t a, uint64_t b, int type)
{
	if (!b)
		return a;
	if (!is_signed(type))
		return a % b;
	return b == ~0ull ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

static bool less(uint64_t a, uint64_t b, int type)
{
	return is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t whole_maximum(uint64_t a, uint64_t b, int type)
{
	return less(a, b, type) ? b : a;
}

static uint64_t whole_minimum(uint64_t a, uint64_t b, int type)
{
	return less(a, b, type) ? a : b;
}

static uint64_t whole_and(uint64_t a, uint64_t b, int type)
{
	return a & b;
}

static uint64_t whole_or(uint64_t a, uint64_t b, int type)
{
	return a | b;
}

static uint64_t whole_negate(uint64_t a, uint64_t b, int type)
{
	return -a;
}

static uint64_t whole_abs(uint64_t a, uint64_t b, int type)
{
	return less(a, 0, type) ? -a : a;
}

static double real_add(double a, double b)
{
	return a + b;
}

static double real_subtract(double a, double b)
{
	return a - b;
}

static double real_multiply(double a, double b)
{
	return a * b;
}

static double real_divide(double a, double b)
{
	return a / b;
}

static double real_negate(double a, double b)
{
	return -a;
}

static double real_abs(double a, double b)
{
	return fabs(a);
}

static double real_ceil(double a, double b)
{
	return ceil(a);
}

static double real_floor(double a, double b)
{
	return floor(a);
}

static double real_sqrt(double a, double b)
{
	return sqrt(a);
}

static double real_maximum(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static double real_minimum(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

static const struct arithmetic arithmetics[] = {
	{ "abs", 1, whole_abs, real_abs },
	{ "add", 2, whole_add, real_add },
	{ "and", 2, whole_and, NULL },
	{ "ceil", 1, NULL, real_ceil },
	{ "divide", 2, whole_divide, real_divide },
	{ "floor", 1, NULL, real_floor },
	{ "maximum", 2, whole_maximum, real_maximum },
	{ "minimum", 2, whole_minimum, real_minimum },
	{ "multiply", 2, whole_multiply, real_multiply },
	{ "negate", 1, whole_negate, real_negate },
	{ "or", 2, whole_or, NULL },
	{ "remainder", 2, whole_remainder, NULL },
	{ "sqrt", 1, NULL, real_sqrt },
	{ "subtract", 2, whole_subtract, real_subtract },
};

/* Floats of 32 bits are not computed: the chip's may differ. */
bool fold_arithmetic(struct folding *f)
{
	const struct arithmetic *a = arithmetics;
	struct fold_numbers *to = f->out;

	while (strcmp(a->name, f->op->name))
		a++;
	for (unsigned int i = 0; i < a->nin; i++)
		if (f->in[i]->n != to->n || f->in[i]->type != to->type)
			return false;
	if (to->whole ? !a->whole : !a->real || to->type != HLO_F64)
		return false;
	for (int64_t i = 0; i < to->n; i++) {
		const unsigned int second = a->nin - 1;

		if (to->whole)
			to->whole[i] = fold_wrap(
				to->type,
				(int64_t)a->whole((uint64_t)f->in[0]->whole[i],
						  (uint64_t)f->in[second]->whole[i], to->type));
		else
			to->real[i] = a->real(f->in[0]->real[i], f->in[second]->real[i]);
	}
	return true;
}
