/* SPDX-License-Identifier: MIT */
/* The host processor's part: the kernels that run, and the floating-point environment. */
#include "exec.h"

#include <stdatomic.h>

#ifdef __SSE2__
#include <xmmintrin.h>

#define MXCSR_DEFAULT 0x1f80u /* round to nearest, all exceptions masked, no flush to zero */

unsigned int exec_fp_enter(void)
{
	unsigned int env = _mm_getcsr();

	_mm_setcsr(MXCSR_DEFAULT);
	return env;
}

void exec_fp_leave(unsigned int env)
{
	_mm_setcsr(env);
}

#elif defined(__aarch64__)

unsigned int exec_fp_enter(void)
{
	uint64_t env, zero = 0;

	__asm__ volatile("mrs %0, fpcr" : "=r"(env));
	__asm__ volatile("msr fpcr, %0" : : "r"(zero));
	return env;
}

void exec_fp_leave(unsigned int env)
{
	uint64_t v = env;

	__asm__ volatile("msr fpcr, %0" : : "r"(v));
}

#else

unsigned int exec_fp_enter(void)
{
	return 0;
}

void exec_fp_leave(unsigned int env)
{
	(void)env;
}

#endif

const struct exec_kernels *const exec_kernels_all[] = {
#if defined(__x86_64__)
	&exec_kernels_avx512_bf16, &exec_kernels_avx512_vnni,
	&exec_kernels_avx512,	   &exec_kernels_avx2,
#endif
	&exec_kernels_scalar,	   NULL,
};

const struct exec_kernels *exec_kernels_best(void)
{
	static _Atomic(const struct exec_kernels *) best; /* what two threads find is either's */
	const struct exec_kernels *const *kern = exec_kernels_all;

	if (atomic_load(&best))
		return atomic_load(&best);
	while (!(*kern)->usable() || ((*kern)->quicker && !(*kern)->quicker()))
		kern++;
	atomic_store(&best, *kern);
	return *kern;
}
