/* SPDX-License-Identifier: MIT */
/* Generic vectors of KBYTES: the ground of exec_kernels.h and exec_kernels_mm.h. */
#ifndef NCORE_EXEC_KERNELS_VECTOR_H
#define NCORE_EXEC_KERNELS_VECTOR_H

#include <string.h>

#include "exec_walk.h"

#define KINLINE static inline __attribute__((always_inline)) KTARGET

/* v: a whole vector of 4-byte lanes; half as many 8-byte ones; names end in the element's kind */
typedef float vf __attribute__((vector_size(KBYTES)));
typedef int32_t vi __attribute__((vector_size(KBYTES)));
typedef uint32_t vu __attribute__((vector_size(KBYTES)));
typedef uint16_t vh __attribute__((vector_size(KBYTES / 2)));
typedef uint16_t vhh __attribute__((vector_size(KBYTES)));
typedef int16_t vsh __attribute__((vector_size(KBYTES / 2)));
typedef int8_t vb __attribute__((vector_size(KBYTES / 4)));
typedef uint8_t vub __attribute__((vector_size(KBYTES / 4)));
typedef float vfh __attribute__((vector_size(KBYTES / 2)));
typedef uint32_t vuh __attribute__((vector_size(KBYTES / 2)));
typedef double vd __attribute__((vector_size(KBYTES)));
typedef int64_t vl __attribute__((vector_size(KBYTES)));
typedef uint64_t vul __attribute__((vector_size(KBYTES)));

#define LANES (KBYTES / 4)

KINLINE vf ld(const float *p)
{
	vf v;

	memcpy(&v, p, sizeof(v));
	return v;
}

KINLINE void st(float *p, vf v)
{
	memcpy(p, &v, sizeof(v));
}

KINLINE vu sel(vi mask, vu a, vu b)
{
	return ((vu)mask & a) | (~(vu)mask & b);
}

KINLINE vf self(vi mask, vf a, vf b)
{
	return (vf)sel(mask, (vu)a, (vu)b);
}

KINLINE vf splat(float x)
{
	return x - (vf){}; /* keeps -0 */
}

KINLINE vf canonical(vf x)
{
	return (vf)sel(x != x, (vu){} + EXEC_NAN, (vu)x);
}

#endif
