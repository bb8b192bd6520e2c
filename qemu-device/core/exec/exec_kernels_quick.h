/* SPDX-License-Identifier: MIT */
/*
 * The same bits of activation functions in less time, for exec_kernels_math.h: where a processor
 * multiplies and adds at once and has an estimate of a reciprocal (KFMA, KESTIMATE), a function is
 * evaluated by the same formula with these, which is within 2^-39 of what it is without. Rounded to
 * fp32 both are the same number, unless one of them is so near the middle between two numbers that
 * the other may lie beyond it: then, seldom, it is evaluated as exec_kernels_math.h says.
 */
#ifndef NCORE_EXEC_KERNELS_QUICK_H
#define NCORE_EXEC_KERNELS_QUICK_H

#ifndef KFMA
#define QUICK(fn) fn
#else
#define QUICK(fn) quick_##fn

#define QUICK_NEAR 0x4000 /* last places of fp64, 2^29 to one of fp32: 2^-38 */

/* May what lies nearby round to other numbers of fp32? Subnormal ones have other middles. */
KINLINE bool quick_doubtful(vd r)
{
	vul bits = (vul)r, a = bits & 0x7fffffffffffffffull;
	vul near = (bits & 0x1fffffff) - (0x10000000 - QUICK_NEAR);
	vul small = a - 0x3670000000000000ull; /* from 2^-152 */

	return KBELOW(near, 2 * QUICK_NEAR) |
	       KBELOW(small, 0x3820000000000000ull - 0x3670000000000000ull) | /* to 2^-125 */
	       !KBELOW_ALL(a, 0x7ff0000000000000ull);
}

/* 1 / x, of 1 <= x < 2^1000 */
KINLINE vd quick_reciprocal(vd x)
{
	vd r = KESTIMATE(x), one = dsplat(1); /* within 2^-14, 2^-28, 2^-52 */

	r = KFMA(KFMA(-x, r, one), r, r);
	return KFMA(KFMA(-x, r, one), r, r);
}

/* Terms that are below 2^-44 of the sum are left out */
KINLINE vd quick_exp(vd x)
{
	vd t, k, r;

	x = KLEAST(700, KMOST64(-700, x));
	t = x * LOG2E + MAGIC52;
	k = t - MAGIC52;
	r = KFMA(-k, dsplat(LN2_LO), KFMA(-k, dsplat(LN2_HI), x));
	return dpoly_of(r, dexp_terms, 12, true) * (vd)(((vul)t + 1023) << 52);
}

/* exp(-y) erfcx(z) */
KINLINE vd quick_tail(vd y, vd z)
{
	vd a, b, r;

	z = KLEAST(12, z);
	a = z + 2;
	b = KFMA(z, dsplat(2), dsplat(1));
	r = quick_reciprocal(a * b);
	return quick_exp(-y) * (dpoly_of((z - 2) * b * r, derfcx_terms, 19, true) * (a * r));
}

KINLINE vd quick_gelu(vd x)
{
	vd tail, a;

	x = KMOST64(-40, x);
	a = dabs(x);
	tail = 0.5 * quick_tail(0.5 * (a * a), a * 0x1.6a09e667f3bcdp-1);
	return x * dsel(x < dsplat(0), tail, 1 - tail);
}

KINLINE vd quick_dexp(vd x)
{
	vd r = quick_exp(x);

	return __builtin_expect(quick_doubtful(r), 0) ? dexp(x) : r;
}

KINLINE vd quick_dgelu(vd x)
{
	vd r = quick_gelu(x);

	return __builtin_expect(quick_doubtful(r), 0) ? dgelu(x) : r;
}
#endif

#endif
