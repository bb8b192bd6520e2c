// SPDX-License-Identifier: MIT
/*
 * Arithmetic and functions of complex numbers, which are pairs of fp32 tensors of one shape. The
 * formulas avoid what would overflow, or lose all digits, where the result does not. Called by the
 * front ends.
 */
#include <math.h>

#include "expand.h"

typedef struct ncc_op *part;

static part times(struct ncc_build *bl, part a, part b)
{
	return build_binary(bl, NCC_MUL, a, b);
}

static part plus(struct ncc_build *bl, part a, part b)
{
	return build_binary(bl, NCC_ADD, a, b);
}

static part minus(struct ncc_build *bl, part a, part b)
{
	return build_binary(bl, NCC_SUB, a, b);
}

static part divided(struct ncc_build *bl, part a, part b)
{
	return build_binary(bl, NCC_DIV, a, b);
}

/* A number throughout x's shape */
static part all(struct ncc_build *bl, part x, double v)
{
	return x ? build_splat(bl, &x->shape, v) : NULL;
}

/* Is x this number? */
static part is(struct ncc_build *bl, part x, double v)
{
	return build_compare(bl, NCC_EQ, x, all(bl, x, v));
}

static part chosen(struct ncc_build *bl, part p, part a, part b)
{
	return build_select(bl, p, a, b);
}

/* The larger and the smaller part's size, and the smaller over the larger one; 0 for 0 and Inf */
struct sizes {
	part large, small, ratio;
};

static struct sizes part_sizes(struct ncc_build *bl, struct ncc_complex x)
{
	part a = build_unary(bl, NCC_ABS, x.re), b = build_unary(bl, NCC_ABS, x.im), odd;
	struct sizes s = { .large = build_binary(bl, NCC_MAX, a, b),
			   .small = build_binary(bl, NCC_MIN, a, b) };

	odd = is(bl, s.large, 0);
	odd = build_binary(bl, NCC_OR, odd, is(bl, s.large, INFINITY));
	s.ratio = chosen(bl, odd, all(bl, a, 0), divided(bl, s.small, s.large));
	return s;
}

part expand_complex_abs(struct ncc_build *bl, struct ncc_complex x)
{
	struct sizes s = part_sizes(bl, x);
	part r = build_number(bl, NCC_ADD, times(bl, s.ratio, s.ratio), 1);

	return times(bl, s.large, build_unary(bl, NCC_SQRT, r));
}

/* Both parts of b are divided by its larger one (Smith's way). */
struct ncc_complex expand_complex_divide(struct ncc_build *bl, struct ncc_complex a,
					 struct ncc_complex b)
{
	part p = build_compare(bl, NCC_GE, build_unary(bl, NCC_ABS, b.re),
			       build_unary(bl, NCC_ABS, b.im));
	part large = chosen(bl, p, b.re, b.im), small = chosen(bl, p, b.im, b.re), none, r, d, u, v;

	none = is(bl, large, 0);
	r = divided(bl, small, chosen(bl, none, all(bl, large, 1), large));
	d = plus(bl, large, times(bl, small, r));
	u = chosen(bl, p, plus(bl, a.re, times(bl, a.im, r)), plus(bl, times(bl, a.re, r), a.im));
	v = chosen(bl, p, minus(bl, a.im, times(bl, a.re, r)), minus(bl, times(bl, a.im, r), a.re));
	return (struct ncc_complex){ divided(bl, u, d), divided(bl, v, d) };
}

static struct ncc_complex product(struct ncc_build *bl, struct ncc_complex a, struct ncc_complex b)
{
	return (struct ncc_complex){ minus(bl, times(bl, a.re, b.re), times(bl, a.im, b.im)),
				     plus(bl, times(bl, a.re, b.im), times(bl, a.im, b.re)) };
}

/* The number of this size and angle; its imaginary part is 0 if the angle is, also for Inf. */
static struct ncc_complex of_angle(struct ncc_build *bl, part size, part angle)
{
	part im = times(bl, size, expand_sin(bl, angle));

	return (struct ncc_complex){ times(bl, size, expand_cos(bl, angle)),
				     chosen(bl, is(bl, angle, 0), angle, im) };
}

struct ncc_complex expand_complex_exp(struct ncc_build *bl, struct ncc_complex x)
{
	return of_angle(bl, build_unary(bl, NCC_EXP, x.re), x.im);
}

/* exp(a) cos(b) - 1 is (exp(a) - 1) cos(b) - 2 sin(b / 2)^2. */
struct ncc_complex expand_complex_expm1(struct ncc_build *bl, struct ncc_complex x)
{
	part half = expand_sin(bl, build_number(bl, NCC_MUL, x.im, 0.5));
	part re = times(bl, expand_expm1(bl, x.re), expand_cos(bl, x.im));

	re = minus(bl, re, build_number(bl, NCC_MUL, times(bl, half, half), 2));
	return (struct ncc_complex){ re, expand_complex_exp(bl, x).im };
}

struct ncc_complex expand_complex_log(struct ncc_build *bl, struct ncc_complex x)
{
	struct sizes s = part_sizes(bl, x);
	part r = expand_log1p(bl, times(bl, s.ratio, s.ratio));

	return (struct ncc_complex){ plus(bl, build_unary(bl, NCC_LOG, s.large),
					  build_number(bl, NCC_MUL, r, 0.5)),
				     expand_atan2(bl, x.im, x.re) };
}

/* |1 + x|^2 - 1 is computed as a (2 + a) + b^2, which is exact enough where x is small. */
struct ncc_complex expand_complex_log1p(struct ncc_build *bl, struct ncc_complex x)
{
	struct ncc_complex moved = { build_number(bl, NCC_ADD, x.re, 1), x.im };
	struct ncc_complex far = expand_complex_log(bl, moved);
	struct sizes s = part_sizes(bl, x);
	part is_small = build_compare(bl, NCC_LT, s.large, all(bl, s.large, 0.5));
	part near = times(bl, x.re, build_number(bl, NCC_ADD, x.re, 2));

	near = plus(bl, near, times(bl, x.im, x.im));
	near = chosen(bl, is_small, near, all(bl, near, 0));
	near = build_number(bl, NCC_MUL, expand_log1p(bl, near), 0.5);
	return (struct ncc_complex){ chosen(bl, is_small, near, far.re), far.im };
}

struct ncc_complex expand_complex_power(struct ncc_build *bl, struct ncc_complex a,
					struct ncc_complex b)
{
	struct ncc_complex r = expand_complex_exp(bl, product(bl, expand_complex_log(bl, a), b));
	part none = build_binary(bl, NCC_AND, is(bl, a.re, 0), is(bl, a.im, 0)), one;

	one = build_binary(bl, NCC_AND, is(bl, b.re, 0), is(bl, b.im, 0));
	one = chosen(bl, one, all(bl, b.re, 1), all(bl, b.re, 0));
	return (struct ncc_complex){ chosen(bl, none, one, r.re),
				     chosen(bl, none, all(bl, b.re, 0), r.im) };
}

struct ncc_complex expand_complex_logistic(struct ncc_build *bl, struct ncc_complex x)
{
	struct ncc_complex e, one = { all(bl, x.re, 1), all(bl, x.re, 0) };

	x.re = build_unary(bl, NCC_NEG, x.re);
	x.im = build_unary(bl, NCC_NEG, x.im);
	e = expand_complex_exp(bl, x);
	e.re = build_number(bl, NCC_ADD, e.re, 1);
	return expand_complex_divide(bl, one, e);
}

static part with_sign(struct ncc_build *bl, part x, part sign)
{
	part below = build_compare(bl, NCC_LT, sign, all(bl, sign, 0));

	return chosen(bl, below, build_unary(bl, NCC_NEG, x), x);
}

/* One part is t = sqrt((|a| + |x|) / 2), the other one follows from a b = 2 re im. */
struct ncc_complex expand_complex_sqrt(struct ncc_build *bl, struct ncc_complex x)
{
	part size = expand_complex_abs(bl, x), t, rest, right;

	t = plus(bl, build_number(bl, NCC_MUL, build_unary(bl, NCC_ABS, x.re), 0.5),
		 build_number(bl, NCC_MUL, size, 0.5));
	t = build_unary(bl, NCC_SQRT, t);
	rest = divided(bl, build_number(bl, NCC_MUL, x.im, 0.5), t);
	rest = chosen(bl, is(bl, t, 0), x.im, rest);
	right = build_compare(bl, NCC_GE, x.re, all(bl, x.re, 0));
	return (struct ncc_complex){ chosen(bl, right, t, build_unary(bl, NCC_ABS, rest)),
				     chosen(bl, right, rest, with_sign(bl, t, x.im)) };
}

struct ncc_complex expand_complex_rsqrt(struct ncc_build *bl, struct ncc_complex x)
{
	const struct ncc_complex one = { all(bl, x.re, 1), all(bl, x.re, 0) };

	return expand_complex_divide(bl, one, expand_complex_sqrt(bl, x));
}

struct ncc_complex expand_complex_sign(struct ncc_build *bl, struct ncc_complex x)
{
	part size = expand_complex_abs(bl, x);

	size = chosen(bl, is(bl, size, 0), all(bl, size, 1), size);
	return (struct ncc_complex){ divided(bl, x.re, size), divided(bl, x.im, size) };
}

/* The hyperbolic functions of x */
static void hyperbolic(struct ncc_build *bl, part x, part *sinh, part *cosh)
{
	part up = expand_expm1(bl, x), down = expand_expm1(bl, build_unary(bl, NCC_NEG, x));

	*sinh = build_number(bl, NCC_MUL, minus(bl, up, down), 0.5);
	*cosh = build_number(bl, NCC_MUL, plus(bl, up, down), 0.5);
	*cosh = build_number(bl, NCC_ADD, *cosh, 1);
}

struct ncc_complex expand_complex_sin(struct ncc_build *bl, struct ncc_complex x)
{
	part sinh, cosh;

	hyperbolic(bl, x.im, &sinh, &cosh);
	return (struct ncc_complex){ times(bl, expand_sin(bl, x.re), cosh),
				     times(bl, expand_cos(bl, x.re), sinh) };
}

struct ncc_complex expand_complex_cos(struct ncc_build *bl, struct ncc_complex x)
{
	part sinh, cosh;

	hyperbolic(bl, x.im, &sinh, &cosh);
	return (struct ncc_complex){ times(bl, expand_cos(bl, x.re), cosh),
				     build_unary(bl, NCC_NEG,
						 times(bl, expand_sin(bl, x.re), sinh)) };
}

#define FLAT 20.0 /* beyond it tanh is 1 in fp32 */

/*
 * (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b); large a give the limit and do not
 * overflow.
 */
struct ncc_complex expand_complex_tanh(struct ncc_build *bl, struct ncc_complex x)
{
	part a = build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, x.re, -FLAT), FLAT), sinh,
	     cosh;
	part sin = expand_sin(bl, x.im), cos = expand_cos(bl, x.im), d;

	hyperbolic(bl, a, &sinh, &cosh);
	d = plus(bl, times(bl, sinh, sinh), times(bl, cos, cos));
	return (struct ncc_complex){ divided(bl, times(bl, sinh, cosh), d),
				     divided(bl, times(bl, sin, cos), d) };
}

/* -i tanh(i x) */
struct ncc_complex expand_complex_tan(struct ncc_build *bl, struct ncc_complex x)
{
	struct ncc_complex turned = { build_unary(bl, NCC_NEG, x.im), x.re };

	turned = expand_complex_tanh(bl, turned);
	return (struct ncc_complex){ turned.im, build_unary(bl, NCC_NEG, turned.re) };
}
