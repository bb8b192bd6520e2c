// SPDX-License-Identifier: MIT
/* Numbers in MLIR's text as elements of tensors: see text.h */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "ir/ir.h"

#define MOST_DIGITS 400 /* the longest double that is written in full has 327 */

/* Floats of less than 32 bits: with their sign, and of them the fraction */
struct small {
	const char *name;
	unsigned int bits, fraction;
	int least; /* the exponent of the smallest normal number */
	/* the largest number; one above it is infinity, or where there is none refused */
	double largest;
	bool infinity, negative_zero;
};

/* Those that ncc_float8_named() has not */
static const struct small smalls[] = {
	{ "f16", 16, 10, -14, 65504.0, true, true },
	{ "bf16", 16, 7, -126, 0x1.fep127, true, true },
	{ "f6E2M3FN", 6, 3, 0, 7.5, false, true },
	{ "f6E3M2FN", 6, 2, -2, 28.0, false, true },
};

static bool small_of(const char *name, struct small *s)
{
	const struct ncc_float8 *f = ncc_float8_named(name);

	for (size_t i = 0; i < sizeof(smalls) / sizeof(smalls[0]); i++)
		if (!strcmp(smalls[i].name, name)) {
			*s = smalls[i];
			return true;
		}
	if (!f || f->end == NCC_FLOAT8_POWERS)
		return false;
	*s = (struct small){ name,
			     f->bits,
			     f->fraction,
			     f->least,
			     (double)f->most,
			     f->end == NCC_FLOAT8_INFINITE,
			     f->end != NCC_FLOAT8_UNSIGNED_ZERO };
	return true;
}

/* Nearest, ties to even. -1: there is none so large */
static int64_t small_bits(const struct small *s, double v)
{
	const int64_t sign = signbit(v) ? 1ll << (s->bits - 1) : 0;
	const int64_t most = ncc_round_small(s->largest, s->fraction, s->least);
	const int64_t code = ncc_round_small(fabs(v), s->fraction, s->least);

	if (code > most)
		return s->infinity ? sign | (most + 1) : -1;
	return code || s->negative_zero ? sign | code : 0;
}

/* An unsigned number's digits with a NUL behind them; false: there is none */
static bool take_digits(struct text *x, char digits[MOST_DIGITS + 1])
{
	if ((x->t.kind != TOKEN_FLOAT && x->t.kind != TOKEN_INTEGER) || x->t.n > MOST_DIGITS) {
		text_expected(x, "a number");
		return false;
	}
	memcpy(digits, x->t.p, x->t.n);
	digits[x->t.n] = 0;
	text_next(x);
	return !text_bad(x);
}

/*
 * A double with which a number that is between two doubles is rounded again as if it was itself:
 * the one nearer to zero with its last bit set
 */
static double rounded_to_odd(const char *digits)
{
	const int mode = fegetround();
	union {
		double d;
		uint64_t u;
	} v;
	double above;

	fesetround(FE_TOWARDZERO);
	v.d = strtod(digits, NULL);
	fesetround(FE_UPWARD);
	above = strtod(digits, NULL);
	fesetround(mode);
	if (v.d < above)
		v.u |= 1;
	return v.d;
}

static bool is_hex(const struct text *x)
{
	return x->t.kind == TOKEN_INTEGER && x->t.n > 2 && x->t.p[1] == 'x';
}

static unsigned int bits_of(const char *name)
{
	const size_t digits = strcspn(name, "0123456789");

	if (!strcmp(name, "index"))
		return 64;
	return (unsigned int)strtoul(name + digits, NULL, 10);
}

unsigned int text_bytes_of(const struct mlir_type *type)
{
	if (!strcmp(type->name, "complex<f32>"))
		return 8;
	if (!strcmp(type->name, "complex<f64>"))
		return 16;
	if (!type->number && strcmp(type->name, "index"))
		return 0;
	return (bits_of(type->name) + 7) / 8;
}

static void store(uint64_t v, unsigned int n, uint8_t *out)
{
	for (unsigned int i = 0; i < n; i++)
		out[i] = (uint8_t)(v >> 8 * i);
}

/* A float that is written as its bits: as many as it has */
static int take_bits(struct text *x, unsigned int bits, uint8_t *out)
{
	const char *at = x->t.p;
	const uint64_t v = (uint64_t)text_integer(x);

	if (!text_bad(x) && bits < 64 && v >> bits)
		text_fail_at(x, at, -EINVAL, "more than %u bits", bits);
	store(v, (bits + 7) / 8, out);
	return x->r.rc;
}

static int take_float(struct text *x, const char *name, uint8_t *out)
{
	const unsigned int bits = bits_of(name);
	const char *at = x->t.p;
	char digits[MOST_DIGITS + 1];
	union {
		double d;
		float f;
		uint64_t u;
	} v = { .u = 0 };
	struct small s;
	bool negative;
	int64_t b;

	if (is_hex(x))
		return take_bits(x, bits, out);
	negative = text_take(x, '-');
	if (!take_digits(x, digits))
		return x->r.rc;
	if (small_of(name, &s)) {
		b = small_bits(&s, negative ? -rounded_to_odd(digits) : rounded_to_odd(digits));
		if (b < 0)
			return text_fail_at(x, at, -EINVAL, "a number that no %s is", name);
		v.u = (uint64_t)b;
	} else if (bits == 32) {
		v.f = negative ? -strtof(digits, NULL) : strtof(digits, NULL);
	} else if (bits == 64) {
		v.d = negative ? -strtod(digits, NULL) : strtod(digits, NULL);
	} else {
		return text_fail_at(x, at, -ENOTSUP, "a number of the type %s that is no 0x...",
				    name);
	}
	store(v.u, (bits + 7) / 8, out);
	return 0;
}

static int take_integer(struct text *x, const char *name, uint8_t *out)
{
	const unsigned int bits = bits_of(name);
	const bool is_unsigned = name[0] == 'u';
	const char *at = x->t.p;
	const bool negative = text_is(x, '-');
	const int64_t v = text_integer(x);

	if (text_bad(x))
		return x->r.rc;
	if (negative && is_unsigned)
		return text_fail_at(x, at, -EINVAL, "a negative number in a tensor of %s", name);
	/* a signless one may be as large as its bits */
	if (bits < 64 && (negative ? v < -(1ll << (bits - 1)) : (uint64_t)v >> bits))
		return text_fail_at(x, at, -EINVAL, "a number of more than %u bits", bits);
	store((uint64_t)v & (bits < 64 ? (1ull << bits) - 1 : ~0ull), (bits + 7) / 8, out);
	return 0;
}

static int take_complex(struct text *x, const char *part, uint8_t *out)
{
	text_expect(x, '(');
	take_float(x, part, out);
	text_expect(x, ',');
	take_float(x, part, out + bits_of(part) / 8);
	text_expect(x, ')');
	return x->r.rc;
}

int text_element(struct text *x, const struct mlir_type *type, uint8_t *out)
{
	const char *name = type->name;

	if (!strcmp(name, "i1") && (text_is_word(x, "true") || text_is_word(x, "false"))) {
		*out = text_is_word(x, "true");
		text_next(x);
		return x->r.rc;
	}
	if (!strncmp(name, "complex<", strlen("complex<")))
		return take_complex(x, name[strlen("complex<f")] == '3' ? "f32" : "f64", out);
	if (name[0] == 'i' || name[0] == 'u')
		return take_integer(x, name, out);
	return take_float(x, name, out);
}

double text_real(struct text *x, const char *type)
{
	uint8_t bytes[8] = { 0 };
	double d;
	float f;

	if (strcmp(type, "f32") && strcmp(type, "f64")) {
		take_float(x, type, bytes);
		return __builtin_nan("");
	}
	take_float(x, type, bytes);
	memcpy(&d, bytes, sizeof(d));
	memcpy(&f, bytes, sizeof(f));
	return !strcmp(type, "f32") ? f : d;
}
