/* SPDX-License-Identifier: MIT */
/*
 * What becomes of elements: a loop for each instruction and width of gps_vector.def, over all
 * elements of the group, masked or not; the one that walks (gps_vector.c) keeps those that are to
 * be kept. Called through gps_vops.
 */
/*
 * Loops become vectors of the host's: elements of groups are apart, or the same. Said before the
 * functions that loops have in them, which only have the options that stand before them.
 */
#if defined(__clang__)
#define LOOP
#else
#pragma GCC optimize("O3", "fp-contract=off")
#define LOOP _Pragma("GCC ivdep")
#endif

#include "gps_vector.h"

#include "gps_math.h"

#define SIGN 0x80000000u
#define BITS(type) (8 * (unsigned int)sizeof(type))
#define UMAX ((u)-1)
#define SMAX ((int64_t)(UMAX >> 1))
#define SMIN (-SMAX - 1)
#define FL(bits) gps_float(bits)
#define CLIP(value, least, most) (u) clip(k, i, &sat, value, (int64_t)(least), (int64_t)(most))
#define SCALE(value, by) scale((int64_t)(value), by, k->v->vxrm)

static inline int64_t clip(const struct gps_vk *k, uint32_t i, bool *sat, int64_t v, int64_t least,
			   int64_t most)
{
	if (v >= least && v <= most)
		return v;
	*sat |= gps_vactive(k, i);
	return v < least ? least : most;
}

/* v / 2^by, rounded as vxrm says: up from the half, to even, down, to odd */
static inline int64_t scale(int64_t v, unsigned int by, unsigned int mode)
{
	int64_t lost, half;

	if (!by)
		return v;
	lost = v & ((INT64_C(1) << by) - 1);
	half = INT64_C(1) << (by - 1);
	v >>= by;
	switch (mode) {
	case 0:
		return v + (lost >= half);
	case 1:
		return v + (lost > half || (lost == half && v & 1));
	case 2:
		return v;
	default:
		return v | (lost != 0);
	}
}

static inline uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t short_of(uint32_t bits)
{
	int32_t v = (int32_t)bits;

	return (uint32_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

/* 256 / x of the middle x of the 2^-7 that begins with 1.fraction, less 128, to nearest */
static uint32_t inverse_of(uint32_t fraction)
{
	uint32_t twice = 2 * (257 + 2 * fraction);

	return (2 * 65536 + twice / 2) / twice - 128;
}

/* vfrec7.v, to nearest even: seven bits of 1 / x */
static uint32_t inverse_guess(uint32_t x)
{
	uint32_t sign = x & SIGN, fraction = x & 0x7fffff, out;
	int exp = (int)(x >> 23 & 0xff);

	if (exp == 0xff)
		return fraction ? EXEC_NAN : sign;
	if (!exp && fraction < 0x200000) /* infinite, or beyond what is finite */
		return sign | 0x7f800000;
	if (!exp) {
		exp = fraction & 0x400000 ? 0 : -1;
		fraction = fraction << (1 - exp) & 0x7fffff;
	}
	out = inverse_of(fraction >> 16) << 16;
	exp = 253 - exp;
	if (exp <= 0)
		return sign | (out | 0x800000) >> (1 - exp);
	return sign | (uint32_t)exp << 23 | out;
}

/* 256 / sqrt(x) of such a middle x, of 2 x where the exponent is even, less 128 */
static uint32_t root_of(uint32_t fraction, bool even)
{
	double x = (1 + (fraction + 0.5) / 64) * (even ? 2 : 1);

	return (uint32_t)rint(256 / sqrt(x)) - 128;
}

static uint32_t root_guess(uint32_t x)
{
	uint32_t fraction = x & 0x7fffff;
	int exp = (int)(x >> 23 & 0xff);

	if (!(x & ~SIGN))
		return x | 0x7f800000;
	if (x > 0x7f800000)
		return EXEC_NAN;
	if (x == 0x7f800000)
		return 0;
	if (!exp) {
		exp = 9 - __builtin_clz(fraction);
		fraction = fraction << (1 - exp) & 0x7fffff;
	}
	return (uint32_t)((3 * 127 - 1 - exp) / 2) << 23 | root_of(fraction >> 17, !(exp & 1))
								   << 16;
}

#define KERNEL(name, D, A, B, U, S, UW, SW, value)                 \
	static void name(struct gps_vk *k)                         \
	{                                                          \
		typedef U u __attribute__((unused));               \
		typedef S s __attribute__((unused));               \
		typedef UW uw __attribute__((unused));             \
		typedef SW sw __attribute__((unused));             \
		typedef D of_d __attribute__((may_alias));         \
		typedef A of_a __attribute__((may_alias));         \
		typedef B of_b __attribute__((may_alias));         \
		of_d *const vd = (void *)k->d;                     \
		const of_a *const va = (const void *)k->a;         \
		const of_b *const vb = (const void *)k->b;         \
		const uint32_t n = k->n;                           \
		bool sat = false;                                  \
                                                                   \
		LOOP for (uint32_t i = 0; i < n; i++)              \
		{                                                  \
			const D d __attribute__((unused)) = vd[i]; \
			const A a = va[i];                         \
			const B b __attribute__((unused)) = vb[i]; \
                                                                   \
			vd[i] = (D)(value);                        \
		}                                                  \
		k->v->vxsat |= sat;                                \
	}
/* Operations with the bits of v0 as carry */
#define KERNEL_CARRY(name, D, U, value)                    \
	static void name(struct gps_vk *k)                 \
	{                                                  \
		typedef U u __attribute__((may_alias));    \
		typedef D of_d __attribute__((may_alias)); \
		of_d *const vd = (void *)k->d;             \
		const u *const va = (const void *)k->a;    \
		const u *const vb = (const void *)k->b;    \
		const uint32_t n = k->n;                   \
		const uint8_t *const carry = k->carry;     \
                                                           \
		LOOP for (uint32_t i = 0; i < n; i++)      \
		{                                          \
			const u a = va[i], b = vb[i];      \
			const u c = gps_vbit(carry, i);    \
                                                           \
			vd[i] = (D)(value);                \
		}                                          \
	}
/* vd's first element is the result */
#define KERNEL_FOLD(name, D, U, S, UW, SW, value)          \
	static void name(struct gps_vk *k)                 \
	{                                                  \
		typedef S s __attribute__((unused));       \
		typedef UW uw __attribute__((unused));     \
		typedef SW sw __attribute__((unused));     \
		typedef U of_a __attribute__((may_alias)); \
		const of_a *const va = (const void *)k->a; \
		D d;                                       \
                                                           \
		memcpy(&d, k->b, sizeof(d));               \
		for (uint32_t i = 0; i < k->n; i++)        \
			if (gps_vactive(k, i)) {           \
				const U a = va[i];         \
                                                           \
				d = (D)(value);            \
			}                                  \
		memcpy(k->d, &d, sizeof(d));               \
	}

#define T8 uint8_t, int8_t, uint16_t, int16_t
#define T16 uint16_t, int16_t, uint32_t, int32_t
#define T32 uint32_t, int32_t, uint64_t, int64_t
#define MAKE(...) KERNEL(__VA_ARGS__)
#define MAKE_FOLD(...) KERNEL_FOLD(__VA_ARGS__)

#define GPS_VE(name, c, f, forms, value)                          \
	MAKE(name##_8, uint8_t, uint8_t, uint8_t, T8, value)      \
	MAKE(name##_16, uint16_t, uint16_t, uint16_t, T16, value) \
	MAKE(name##_32, uint32_t, uint32_t, uint32_t, T32, value)
#define GPS_VW(name, c, f, forms, value)                      \
	MAKE(name##_8, uint16_t, uint8_t, uint8_t, T8, value) \
	MAKE(name##_16, uint32_t, uint16_t, uint16_t, T16, value)
#define GPS_VWW(name, c, f, forms, value)                      \
	MAKE(name##_8, uint16_t, uint16_t, uint8_t, T8, value) \
	MAKE(name##_16, uint32_t, uint32_t, uint16_t, T16, value)
#define GPS_VN(name, c, f, forms, value)                      \
	MAKE(name##_8, uint8_t, uint16_t, uint8_t, T8, value) \
	MAKE(name##_16, uint16_t, uint32_t, uint16_t, T16, value)
#define GPS_VC(name, c, f, forms, value)                         \
	MAKE(name##_8, uint8_t, uint8_t, uint8_t, T8, value)     \
	MAKE(name##_16, uint8_t, uint16_t, uint16_t, T16, value) \
	MAKE(name##_32, uint8_t, uint32_t, uint32_t, T32, value)
#define GPS_VA(name, c, f, forms, value)                   \
	KERNEL_CARRY(name##_8, uint8_t, uint8_t, value)    \
	KERNEL_CARRY(name##_16, uint16_t, uint16_t, value) \
	KERNEL_CARRY(name##_32, uint32_t, uint32_t, value)
#define GPS_VM GPS_VA
#define GPS_VAC(name, c, f, forms, value)                 \
	KERNEL_CARRY(name##_8, uint8_t, uint8_t, value)   \
	KERNEL_CARRY(name##_16, uint8_t, uint16_t, value) \
	KERNEL_CARRY(name##_32, uint8_t, uint32_t, value)
#define GPS_VR(name, c, f, forms, value)           \
	MAKE_FOLD(name##_8, uint8_t, T8, value)    \
	MAKE_FOLD(name##_16, uint16_t, T16, value) \
	MAKE_FOLD(name##_32, uint32_t, T32, value)
#define GPS_VRW(name, c, f, forms, value)        \
	MAKE_FOLD(name##_8, uint16_t, T8, value) \
	MAKE_FOLD(name##_16, uint32_t, T16, value)
#define GPS_VF(name, c, f, forms, value) MAKE(name##_32, uint32_t, uint32_t, uint32_t, T32, value)
#define GPS_VFM(name, c, f, forms, value) KERNEL_CARRY(name##_32, uint32_t, uint32_t, value)
#define GPS_VFC(name, c, f, forms, value) MAKE(name##_32, uint8_t, uint32_t, uint32_t, T32, value)
#define GPS_VFR(name, c, f, forms, value) MAKE_FOLD(name##_32, uint32_t, T32, value)
#define GPS_VX2(name, c, f, forms, code, value)                \
	MAKE(name##_16, uint16_t, uint8_t, uint8_t, T8, value) \
	MAKE(name##_32, uint32_t, uint16_t, uint8_t, T16, value)
#define GPS_VX4(name, c, f, forms, code, value) \
	MAKE(name##_32, uint32_t, uint8_t, uint8_t, T8, value)
#define GPS_VFU(name, c, f, forms, code, value) \
	MAKE(name##_32, uint32_t, uint32_t, uint8_t, T32, value)
#define GPS_VFW(name, c, f, forms, code, value) \
	MAKE(name##_16, uint32_t, uint16_t, uint8_t, T16, value)
#define GPS_VFN(name, c, f, forms, code, value) \
	MAKE(name##_16, uint16_t, uint32_t, uint8_t, T32, value)
#define GPS_VS(name, c, f, forms, code, function)
#include "gps_vector.def"

enum { CLASS_I, CLASS_M, CLASS_F };
enum { V = GPS_FORM_V, X = GPS_FORM_X, I = GPS_FORM_I, ANY = GPS_VANY };

#define ENTRY(name, class, f, taken, sub, how, first, last, ...) \
	[GPS_##name] = { .shape = GPS_SHAPE_##how,               \
			 .forms = (taken),                       \
			 .group = CLASS_##class,                 \
			 .funct6 = (f),                          \
			 .code = (sub),                          \
			 .narrowest = (first),                   \
			 .widest = (last),                       \
			 __VA_ARGS__ },
#define K1(at, name) .kernel[at] = name
#define K12(name) .kernel = { name##_8, name##_16 }
#define K123(name) .kernel = { name##_8, name##_16, name##_32 }
#define GPS_VE(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, SAME, 0, 2, K123(n))
#define GPS_VW(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, WIDE, 0, 1, K12(n))
#define GPS_VWW(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, WIDE2, 0, 1, K12(n))
#define GPS_VN(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, NARROW, 0, 1, K12(n))
#define GPS_VC(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, MASK, 0, 2, K123(n))
#define GPS_VA(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, CARRY, 0, 2, K123(n))
#define GPS_VM(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, MERGE, 0, 2, K123(n))
#define GPS_VAC(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, CARRY_MASK, 0, 2, K123(n))
#define GPS_VR(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, REDUCE, 0, 2, K123(n))
#define GPS_VRW(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, REDUCE_WIDE, 0, 1, K12(n))
#define GPS_VF(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, SAME, 2, 2, K1(2, n##_32))
#define GPS_VFM(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, MERGE, 2, 2, K1(2, n##_32))
#define GPS_VFC(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, MASK, 2, 2, K1(2, n##_32))
#define GPS_VFR(n, c, f, forms, v) ENTRY(n, c, f, forms, ANY, REDUCE, 2, 2, K1(2, n##_32))
#define GPS_VX2(n, c, f, forms, code, v) \
	ENTRY(n, c, f, forms, code, EXTEND2, 1, 2, .kernel = { NULL, n##_16, n##_32 })
#define GPS_VX4(n, c, f, forms, code, v) ENTRY(n, c, f, forms, code, EXTEND4, 2, 2, K1(2, n##_32))
#define GPS_VFU(n, c, f, forms, code, v) ENTRY(n, c, f, forms, code, SAME, 2, 2, K1(2, n##_32))
#define GPS_VFW(n, c, f, forms, code, v) ENTRY(n, c, f, forms, code, WIDE, 1, 1, K1(1, n##_16))
#define GPS_VFN(n, c, f, forms, code, v) ENTRY(n, c, f, forms, code, NARROW, 1, 1, K1(1, n##_16))
#define GPS_VS(n, c, f, forms, code, function) \
	ENTRY(n, c, f, forms, code, SPECIAL, CLASS_##c == CLASS_F ? 2 : 0, 2, .special = (function))

const struct gps_vop gps_vops[GPS_VNAMES] = {
#include "gps_vector.def"
};
