/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of GpSimd's processors on a word, integers and bits of fp32 alike, as scalar and
 * vector instructions need it. The host rounds to nearest even, with gradual underflow (tpb.c has
 * set it up). Header-only; private to gps.c and gps_vector*.c.
 */
#ifndef NCORE_GPS_MATH_H
#define NCORE_GPS_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exec/exec.h"

static inline float gps_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint32_t gps_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* A result of arithmetic: RISC-V's canonical NaN is the other engines' */
static inline uint32_t gps_result(float x)
{
	return x != x ? EXEC_NAN : gps_bits(x);
}

static inline bool gps_is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/* The number if only one is, -0 below +0 */
static inline uint32_t gps_least(uint32_t a, uint32_t b, uint32_t flip)
{
	float x = gps_float(a ^ flip), y = gps_float(b ^ flip);

	if (gps_is_nan(a))
		return gps_is_nan(b) ? EXEC_NAN : b;
	if (gps_is_nan(b))
		return a;
	if (x == y)
		return ((a ^ flip) | (b ^ flip)) ^ flip;
	return x < y ? a : b;
}

static inline double gps_rounded(float x, int32_t mode)
{
	double d = x, down, up;

	switch (mode) {
	case 0:
		return rint(d);
	case 1:
		return trunc(d);
	case 2:
		return floor(d);
	case 3:
		return ceil(d);
	default: /* to nearest, of two the one farther from 0; exact: d has 24 bits */
		down = trunc(d);
		up = d - down;
		return down + (up >= 0.5) - (up <= -0.5);
	}
}

static inline uint32_t gps_to_signed(uint32_t bits, int32_t mode)
{
	double d;

	if (gps_is_nan(bits))
		return INT32_MAX;
	d = gps_rounded(gps_float(bits), mode);
	return d >= 2147483648.0   ? INT32_MAX
	       : d < -2147483648.0 ? 0x80000000u
				   : (uint32_t)(int32_t)d;
}

static inline uint32_t gps_to_unsigned(uint32_t bits, int32_t mode)
{
	double d;

	if (gps_is_nan(bits))
		return UINT32_MAX;
	d = gps_rounded(gps_float(bits), mode);
	return d >= 4294967296.0 ? UINT32_MAX : d <= 0 ? 0 : (uint32_t)d;
}

/* -inf, negative normal, subnormal, zero, then the same of positive ones; signalling, quiet NaN */
static inline uint32_t gps_class(uint32_t bits)
{
	uint32_t magnitude = bits & 0x7fffffff;
	unsigned int place;

	if (magnitude > 0x7f800000)
		return magnitude & 0x400000 ? 1 << 9 : 1 << 8;
	place = magnitude == 0x7f800000 ? 0 : magnitude >= 0x800000 ? 1 : magnitude ? 2 : 3;
	return 1u << (bits >> 31 ? place : 7 - place);
}

static inline uint32_t gps_divide(uint32_t a, uint32_t b)
{
	if (!b)
		return UINT32_MAX;
	return b == UINT32_MAX ? -a : (uint32_t)((int32_t)a / (int32_t)b);
}

static inline uint32_t gps_remainder(uint32_t a, uint32_t b)
{
	if (!b)
		return a;
	return b == UINT32_MAX ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
}

#endif
