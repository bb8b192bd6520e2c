/* SPDX-License-Identifier: MIT */
/*
 * Activation functions and power for exec_kernels.h: evaluated in fp64 with additions,
 * multiplications, divisions and square roots only, so that IEEE fixes every bit, then rounded to
 * fp32 once. The fp64 error is below 2^-30 of the result, so a result is off by less than 0.52 ulp
 * (docs/isa.md, Activation functions). Coefficients of erfcx, erf and about the zeros of
 * derivatives: tests/unit/isa/fit_erfcx.py; the others are Taylor series.
 */
#ifndef NCORE_EXEC_KERNELS_MATH_H
#define NCORE_EXEC_KERNELS_MATH_H

#define MAGIC52 0x1.8p52 /* adding it rounds to an integer, which the low bits then hold */
#define PI_HI 0x1.921fb54442d18p+1
#define PI_LO 0x1.1a62633145c07p-53
#define LN2_HI 0x1.62e42fefa0000p-1
#define LN2_LO 0x1.cf79abc9e3b3ap-40
#define LOG2E 0x1.71547652b82fep+0

KINLINE vd dsplat(double x)
{
	return x - (vd){};
}

KINLINE vd dsel(vl mask, vd a, vd b)
{
	return (vd)((mask & (vl)a) | (~mask & (vl)b));
}

KINLINE vd dabs(vd x)
{
	return (vd)((vl)x & 0x7fffffffffffffffll);
}

/* |x| with the sign of s */
KINLINE vd dsign(vd x, vd s)
{
	return (vd)((vl)x ^ ((vl)s & ~0x7fffffffffffffffll));
}

/* NaN stays NaN in both */
KINLINE vd dclamp_lo(vd x, double lo)
{
	return dsel(x < dsplat(lo), dsplat(lo), x);
}

KINLINE vd dclamp_hi(vd x, double hi)
{
	return dsel(x > dsplat(hi), dsplat(hi), x);
}

/* a * b + c, in one rounding where a processor can and the caller may: else in two */
KINLINE vd dmuladd(vd a, vd b, vd c, bool fused)
{
#ifdef KFMA
	if (fused)
		return KFMA(a, b, c);
#endif
	return a * b + c;
}

/* Four short chains in place of a long one: every fourth coefficient, in powers of x^4 */
KINLINE vd dpoly_of(vd x, const double *c, int n, bool fused)
{
	vd s = x * x, q = s * s, part[4];

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		int last = j + (n - 1 - j) / 4 * 4;

		part[j] = dsplat(c[last]);
#pragma GCC unroll 8
		for (int i = last - 4; i >= j; i -= 4)
			part[j] = dmuladd(part[j], q, dsplat(c[i]), fused);
	}
	return dmuladd(dmuladd(part[3], x, part[2], fused), s, dmuladd(part[1], x, part[0], fused),
		       fused);
}

KINLINE vd dpoly(vd x, const double *c, int n)
{
	return dpoly_of(x, c, n, false);
}

KINLINE vd dsqrt(vd x)
{
	vd r;

	for (int i = 0; i < LANES / 2; i++)
		r[i] = exec_sqrt(x[i]);
	return r;
}

/* 1 / n! */
static const double dexp_terms[] = { 1.0,
				     1.0,
				     1.0 / 2,
				     1.0 / 6,
				     1.0 / 24,
				     1.0 / 120,
				     1.0 / 720,
				     1.0 / 5040,
				     1.0 / 40320,
				     1.0 / 362880,
				     1.0 / 3628800,
				     1.0 / 39916800,
				     1.0 / 479001600,
				     1.0 / 6227020800.0 };

KINLINE vd dexp(vd x)
{
	vd t, k, r;

	x = dclamp_hi(dclamp_lo(x, -700), 700);
	t = x * LOG2E + MAGIC52;
	k = t - MAGIC52;
	r = x - k * LN2_HI - k * LN2_LO;
	return dpoly(r, dexp_terms, 14) * (vd)(((vul)t + 1023) << 52);
}

/* x positive, finite and normal */
KINLINE vd dlog_finite(vd x)
{
	static const double c[] = { 1.0,      1.0 / 3,	1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
				    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21 };
	vl e = (vl)((vul)x - 0x3fe6a09e667f3bcdull) >> 52; /* 1/sqrt(2) <= x / 2^e < sqrt(2) */
	vd m = (vd)((vul)x - ((vul)e << 52));
	vd k = (vd)(e + (vl)dsplat(MAGIC52)) - MAGIC52;
	vd s = (m - 1) / (m + 1);

	return k * LN2_HI + (k * LN2_LO + 2 * s * dpoly(s * s, c, 11));
}

KINLINE vd dlog(vd x)
{
	vd r = dlog_finite(x);

	r = dsel(x == dsplat(__builtin_inf()), x, r);
	r = dsel(x == dsplat(0), dsplat(-__builtin_inf()), r);
	return dsel(~(x >= dsplat(0)), dsplat(__builtin_nan("")), r);
}

/* log(1 + t), 0 <= t <= 1 */
KINLINE vd dlog1p(vd t)
{
	vd series = t - t * t * (0.5 - t * (1.0 / 3));

	return dsel(t < dsplat(0x1p-20), series, dlog_finite(1 + t));
}

KINLINE vd dsigmoid(vd x)
{
	return 1 / (1 + dexp(-x));
}

KINLINE vd dtanh(vd x)
{
	static const double c[] = { 1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315 };
	vd a = dclamp_hi(dabs(x), 40), e = dexp(2 * a), r = (e - 1) / (e + 1);

	return dsign(dsel(a < dsplat(0x1p-8), a * dpoly(a * a, c, 4), r), x);
}

static const double derfcx_terms[] = {
	0x1.46e80e227795cp+0,	-0x1.7bf5ec16edd39p-4,	-0x1.5407bebf31280p-3,
	0x1.4ffa1e11d50bdp-3,	-0x1.bc2b95684464ep-5,	-0x1.07422f54ebd26p-7,
	0x1.1dd2f06f58bc6p-7,	0x1.4d448256dcc73p-10,	-0x1.7de6dc433d1eap-10,
	-0x1.dc44a860addbap-12, 0x1.b12b82d96f6efp-13,	0x1.3be1d0d405115p-13,
	-0x1.2b935634d4c97p-19, -0x1.2c84d0019c1dbp-15, -0x1.900df1ae80dccp-17,
	0x1.e8eaf91b5b00ep-19,	0x1.d3270d32636d2p-19,	0x1.591195acfc32dp-21,
	-0x1.5b5c0977b78bfp-25
};

/* exp(z * z) erfc(z), 0 <= z; beyond 12 it does not matter: exp(-z * z) is 0 in fp32 */
KINLINE vd derfcx(vd z)
{
	z = dclamp_hi(z, 12);
	return dpoly((z - 2) / (z + 2), derfcx_terms, 19) / (1 + 2 * z);
}

KINLINE vd derf(vd x)
{
	static const double c[] = { 0x1.20dd750429b19p+0,  -0x1.812746b0271ecp-2,
				    0x1.ce2f2197bc2efp-4,  -0x1.b82ce15c3b7f8p-6,
				    0x1.565ba0406c001p-8,  -0x1.c0286cad68e02p-11,
				    0x1.f941bed7e7847p-14, -0x1.f0705a1dde9aap-17,
				    0x1.9ae0986f9de4fp-20, -0x1.c1a515de8637ap-24 };
	vd a = dclamp_hi(dabs(x), 12), s = a * a;
	vd r = dsel(a < dsplat(1), a * dpoly(s, c, 10), 1 - dexp(-s) * derfcx(a));

	return dsign(r, x);
}

/* x times the normal distribution function; x * x is exact, so the tail keeps its accuracy */
KINLINE vd dgelu(vd x)
{
	vd tail, a;

	x = dclamp_lo(x, -40);
	a = dabs(x);
	tail = 0.5 * dexp(-0.5 * (a * a)) * derfcx(a * 0x1.6a09e667f3bcdp-1);
	return x * dsel(x < dsplat(0), tail, 1 - tail);
}

KINLINE vd dgelu_tanh(vd x)
{
	x = dclamp_lo(x, -40);
	return x * dsigmoid(0x1.9884533d43651p+0 * (x + 0.044715 * x * x * x));
}

KINLINE vd dsilu_scaled(vd x, double scale)
{
	x = dclamp_lo(x, -150); /* the limit at -inf is -0 */
	return x * dsigmoid(scale * x);
}

/*
 * A derivative about its zero, where what it consists of cancels: the Taylor series at zero, which
 * is high + low, of which c has no constant
 */
#define NEAR_ZERO 0x1p-6
KINLINE vd dnear_zero(vd x, vd other, double high, double low, const double *c)
{
	vd d = (x - high) - low;

	return dsel(dabs(d) < dsplat(NEAR_ZERO), d * dpoly(d, c, 8), other);
}

/* f(x) + f(-x) is 1: the tail keeps its accuracy */
KINLINE vd dgelu_dx(vd x)
{
	static const double c[] = { 0x1.b9d98fa5a3215p-2,  0x1.8d9a941de3ac5p-2,
				    -0x1.2a2ef9bb865aep-6, -0x1.d2fa4c17c7e84p-4,
				    -0x1.e4088244f901dp-7, 0x1.3e346def42057p-6,
				    0x1.297b9d6ffaacdp-8,  -0x1.258a6d85633afp-9 };
	vd a, tail;

	x = dclamp_hi(dclamp_lo(x, -40), 40);
	a = dabs(x);
	tail = dexp(-0.5 * (a * a)) *
	       (0.5 * derfcx(a * 0x1.6a09e667f3bcdp-1) - a * 0x1.9884533d43651p-2);
	return dnear_zero(x, dsel(x < dsplat(0), tail, 1 - tail), -0x1.80ead197f00b4p-1,
			  0x1.13e74c58cada8p-56, c);
}

KINLINE vd dsilu_slope(vd x)
{
	x = dclamp_hi(dclamp_lo(x, -150), 150); /* the limits are -0 and 1 */
	return dsigmoid(x) * (1 + x * dsigmoid(-x));
}

KINLINE vd dsilu_dx(vd x)
{
	static const double c[] = { 0x1.be1410460527fp-3,  0x1.2c563458cc0adp-3,
				    0x1.353eb573ca457p-6,  -0x1.f2d0e32bc2994p-7,
				    -0x1.b0f82c498fd2fp-8, 0x1.098e92b8f076dp-13,
				    0x1.a2a7caf0ee747p-11, 0x1.8574d136d4cb4p-13 };

	return dnear_zero(x, dsilu_slope(x), -0x1.474973c84120bp+0, -0x1.f8d74bc9ac154p-54, c);
}

KINLINE vd dgelu_sigmoid_dx(vd x)
{
	static const double c[] = { 0x1.7b9cd99ff06b7p-2,  0x1.b30221e11c035p-2,
				    0x1.7d2c1a07340c0p-4,  -0x1.059cd091d8f47p-3,
				    -0x1.827cb3ec2a6d7p-4, 0x1.937473c2b253fp-9,
				    0x1.0ea41b4547dcfp-5,  0x1.ac811c6cde71fp-7 };

	return dnear_zero(x, dsilu_slope(1.702 * x), -0x1.80974a62be3dfp-1, 0x1.b12c858d26bf0p-55,
			  c);
}

KINLINE vd derf_dx(vd x)
{
	return 0x1.20dd750429b6dp+0 * dexp(-(x * x));
}

KINLINE vd dsoftplus(vd x)
{
	return dclamp_lo(x, 0) + dlog1p(dexp(-dabs(x)));
}

/* x tanh(log(1 + e)) with e = exp(x): no cancellation */
KINLINE vd dmish(vd x)
{
	vd e, q;

	x = dclamp_lo(x, -150);
	e = dexp(dclamp_hi(x, 40));
	q = e * (e + 2);
	return x * (q / (q + 2));
}

/* Beyond pi the cubic about pi: the last segment of the documented table */
KINLINE vd dsin(vd x)
{
	static const double c[] = { 1.0,
				    -1.0 / 6,
				    1.0 / 120,
				    -1.0 / 5040,
				    1.0 / 362880,
				    -1.0 / 39916800,
				    1.0 / 6227020800.0,
				    -1.0 / 1307674368000.0,
				    1.0 / 355687428096000.0,
				    -1.0 / 121645100408832000.0 };
	vd a = dabs(x), d = (a - PI_HI) - PI_LO;
	vd y = dsel(a > dsplat(PI_HI / 2), -d, a);
	vd r = dsel(a > dsplat(PI_HI), d * d * d / 6 - d, y * dpoly(y * y, c, 10));

	return dsign(r, x);
}

KINLINE vd darctan(vd x)
{
	static const double c[] = { 1.0,      -1.0 / 3,	 1.0 / 5,  -1.0 / 7,  1.0 / 9,	-1.0 / 11,
				    1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23,
				    1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33 };
	vd a = dabs(x), b = dsel(a > dsplat(1), 1 / a, a);
	vl upper = b > dsplat(0x1.a827999fcef32p-2); /* tan(pi / 8) */
	vd y = dsel(upper, (b - 1) / (b + 1), b), r = y * dpoly(y * y, c, 17);

	r = dsel(upper, PI_HI / 4 + r, r);
	r = dsel(a > dsplat(1), PI_HI / 2 - r, r);
	return dsign(r, x);
}

KINLINE vd drint(vd x)
{
	return (x + MAGIC52) - MAGIC52; /* |x| < 2^51 */
}

/* IEEE 754 pow: what is not covered by exp(y log |x|) is its special cases */
KINLINE vd dpow(vd x, vd y)
{
	vd a = dabs(x), ay = dabs(y), half = 0.5 * dclamp_hi(ay, 0x1p40);
	vl integer = drint(2 * half) == 2 * half;
	vl odd = integer & (drint(half) != half) & (ay < dsplat(0x1p40));
	vd r = dexp(y * dlog(a));

	r = dsel(a == dsplat(1), dsplat(1), r);
	r = dsel((x < dsplat(0)) & ~integer & (a < dsplat(__builtin_inf())),
		 dsplat(__builtin_nan("")), r);
	r = dsel(odd, dsign(r, x), r);
	r = dsel((x != x) | (y != y), x + y, r);
	return dsel((y == dsplat(0)) | (x == dsplat(1)), dsplat(1), r);
}

KINLINE vd dsilu(vd x)
{
	return dsilu_scaled(x, 1);
}

KINLINE vd dgelu_sigmoid(vd x)
{
	return dsilu_scaled(x, 1.702);
}

KINLINE vd drsqrt(vd x)
{
	return 1 / dsqrt(x);
}

#include "exec_kernels_quick.h"

#ifndef KTOF64
#define KTOF64(x) __builtin_convertvector(x, vd)
#define KTOF32(x) __builtin_convertvector(x, vfh)
#endif

/* Two halves in fp64, joined again */
#define MAP_F64(x, fn)                                  \
	({                                              \
		struct {                                \
			vfh h[2];                       \
		} v_;                                   \
		vf joined_, arg_ = (x);                 \
		memcpy(&v_, &arg_, sizeof(arg_));       \
		v_.h[0] = KTOF32(fn(KTOF64(v_.h[0])));  \
		v_.h[1] = KTOF32(fn(KTOF64(v_.h[1])));  \
		memcpy(&joined_, &v_, sizeof(joined_)); \
		joined_;                                \
	})

#define ACT_F64(name, fn)              \
	KINLINE vf act_##name(vf x)    \
	{                              \
		return MAP_F64(x, fn); \
	}

ACT_F64(sigmoid, dsigmoid)
ACT_F64(gelu, QUICK(dgelu))
ACT_F64(gelu_tanh, dgelu_tanh)
ACT_F64(gelu_sigmoid, dgelu_sigmoid)
ACT_F64(silu, dsilu)
ACT_F64(tanh, dtanh)
ACT_F64(softplus, dsoftplus)
ACT_F64(mish, dmish)
ACT_F64(erf, derf)
ACT_F64(gelu_dx, dgelu_dx)
ACT_F64(gelu_sigmoid_dx, dgelu_sigmoid_dx)
ACT_F64(silu_dx, dsilu_dx)
ACT_F64(erf_dx, derf_dx)
ACT_F64(exp, QUICK(dexp))
ACT_F64(log, dlog)
ACT_F64(sin, dsin)
ACT_F64(arctan, darctan)
ACT_F64(sqrt, dsqrt)
ACT_F64(rsqrt, drsqrt)

/* Zeros keep their sign */
KINLINE vf act_sign(vf x)
{
	vf one = (vf)((vu)splat(1.0f) | ((vu)x & 0x80000000u));

	return self((x == splat(0)) | (x != x), x, one);
}

KINLINE vf vpow(vf a, vf b)
{
	vfh x[2], y[2], r[2];
	vf out;

	memcpy(x, &a, sizeof(a));
	memcpy(y, &b, sizeof(b));
	for (int h = 0; h < 2; h++)
		r[h] = KTOF32(dpow(KTOF64(x[h]), KTOF64(y[h])));
	memcpy(&out, r, sizeof(out));
	return out;
}

#endif
