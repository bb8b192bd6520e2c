// SPDX-License-Identifier: MIT
/*
 * Element types: the interface's numbers and XLA's, and how many bytes an element has for the
 * framework and on the device. Types of less than a byte have one on both sides. The chips have no
 * 64-bit types: on a device these are of 32 bits, where they are taken at all.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pjrt.h"

#define T(name, xla, host, device)                                \
	{                                                         \
		PJRT_Buffer_Type_##name, xla, host, device, #name \
	}
static const struct npj_type types[] = {
	T(PRED, 1, 1, 1),	 T(S8, 2, 1, 1),
	T(S16, 3, 2, 2),	 T(S32, 4, 4, 4),
	T(S64, 5, 8, 4),	 T(U8, 6, 1, 1),
	T(U16, 7, 2, 2),	 T(U32, 8, 4, 4),
	T(U64, 9, 8, 4),	 T(F16, 10, 2, 2),
	T(F32, 11, 4, 4),	 T(F64, 12, 8, 4),
	T(C64, 15, 8, 8),	 T(BF16, 16, 2, 2),
	T(C128, 18, 16, 8),	 T(F8E5M2, 19, 1, 1),
	T(F8E4M3FN, 20, 1, 1),	 T(S4, 21, 1, 1),
	T(U4, 22, 1, 1),	 T(F8E4M3B11FNUZ, 23, 1, 1),
	T(F8E5M2FNUZ, 24, 1, 1), T(F8E4M3FNUZ, 25, 1, 1),
	T(S2, 26, 1, 1),	 T(U2, 27, 1, 1),
	T(F8E4M3, 28, 1, 1),	 T(F8E3M4, 29, 1, 1),
	T(S1, 30, 1, 1),	 T(U1, 31, 1, 1),
	T(F4E2M1FN, 32, 1, 1),	 T(F8E8M0FNU, 33, 1, 1),
	T(TOKEN, 17, 0, 0), /* a value of no bytes, by which programs say an order */
};
#define NTYPES (sizeof(types) / sizeof(types[0]))

const struct npj_type *npj_type(PJRT_Buffer_Type type)
{
	/* programs alone make tokens */
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].type == type && types[i].host)
			return &types[i];
	return NULL;
}

const struct npj_type *npj_type_of_xla(int xla)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].xla == xla)
			return &types[i];
	return NULL;
}

const struct npj_type *npj_type_named(const char *name)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (!strcasecmp(types[i].name, name))
			return &types[i];
	return NULL;
}

/* The floats of an element of a complex type are two elements. */
static bool floats(const struct npj_type *t)
{
	return t->type == PJRT_Buffer_Type_F64 || t->type == PJRT_Buffer_Type_C128;
}

void npj_narrow(const struct npj_type *t, void *to, const void *from, size_t n)
{
	float *f = to;
	int32_t *i = to;

	n *= t->device / 4u;
	for (size_t k = 0; k < n; k++) {
		double d;
		int64_t v;

		if (floats(t)) {
			memcpy(&d, (const char *)from + 8 * k, 8);
			f[k] = (float)d;
		} else {
			memcpy(&v, (const char *)from + 8 * k, 8);
			i[k] = (int32_t)(uint32_t)v;
		}
	}
}

void npj_widen(const struct npj_type *t, void *to, const void *from, size_t n)
{
	const float *f = from;
	const int32_t *i = from;

	n *= t->device / 4u;
	for (size_t k = 0; k < n; k++) {
		double d;
		int64_t v;

		if (floats(t)) {
			d = f[k];
			memcpy((char *)to + 8 * k, &d, 8);
		} else {
			v = t->type == PJRT_Buffer_Type_U64 ? (int64_t)(uint32_t)i[k] : i[k];
			memcpy((char *)to + 8 * k, &v, 8);
		}
	}
}

PJRT_Error *npj_shape_set(struct npj_shape *s, PJRT_Buffer_Type type, const int64_t *dims, size_t n)
{
	size_t bytes;

	s->type = npj_type(type);
	if (!s->type)
		return NPJ_INVALID("there is no element type %d for a buffer", (int)type);
	if (n > NPJ_MAX_DIMS)
		return NPJ_INVALID("a buffer of %zu dimensions: at most %d", n, NPJ_MAX_DIMS);
	if (n && !dims)
		return NPJ_INVALID("dims is NULL and num_dims %zu", n);
	s->ndim = (unsigned int)n;
	s->elements = 1;
	for (size_t i = 0; i < n; i++) {
		s->dim[i] = dims[i];
		if (dims[i] < 0)
			return NPJ_INVALID("dimension %zu is %lld", i, (long long)dims[i]);
		if (__builtin_mul_overflow(s->elements, (size_t)dims[i], &s->elements))
			return NPJ_INVALID("an array has more elements than memory has bytes");
	}
	if (__builtin_mul_overflow(s->elements, (size_t)s->type->host, &bytes) || bytes > INT64_MAX)
		return NPJ_INVALID("an array has more elements than memory has bytes");
	return NULL;
}

PJRT_Error *npj_type_allowed(const PJRT_Client *c, const struct npj_type *t)
{
	if (!npj_type_wide(t) || c->narrow_64bit)
		return NULL;
	return npj_error(PJRT_Error_Code_UNIMPLEMENTED, "type %s: " NPJ_NO_64BIT, t->name);
}
