/* SPDX-License-Identifier: MIT */
/*
 * Custom operators for GpSimd's processors in C (docs/gpsimd.md). An operator is a function
 * neuron_op_NAME(void), which NEURON_CUSTOM_OP(NAME) begins; its arguments are numbered, inputs
 * first, then scalars in the order of the call, then results. Tensors are reached by number and
 * element only. C++ sources use <torch/torch.h> instead.
 */
#ifndef NEURON_CUSTOM_OP_H
#define NEURON_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/dtype.h"
#include "neuron/hw/gpsimd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEURON_CUSTOM_OP(name)       \
	void neuron_op_##name(void); \
	void neuron_op_##name(void)

static inline uint32_t neuron_call(uint32_t number, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	register uint32_t a0 __asm__("a0") = a;
	register uint32_t a1 __asm__("a1") = b;
	register uint32_t a2 __asm__("a2") = c;
	register uint32_t a3 __asm__("a3") = d;
	register uint32_t a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
	return a0;
}

/* The processor's number among those that run the operator, and how many they are */
static inline uint32_t neuron_cpu_id(void)
{
	return neuron_call(NEURON_GPS_CPU_ID, 0, 0, 0, 0);
}

static inline uint32_t neuron_cpu_count(void)
{
	return neuron_call(NEURON_GPS_CPU_COUNT, 0, 0, 0, 0);
}

static inline uint32_t neuron_arg_count(void)
{
	return neuron_call(NEURON_GPS_ARG_COUNT, 0, 0, 0, 0);
}

/* Type, dimensions and sizes of argument k. An argument that does not exist ends the operator. */
static inline struct neuron_gps_arg neuron_arg(uint32_t k)
{
	struct neuron_gps_arg arg;

	neuron_call(NEURON_GPS_ARG, k, (uint32_t)(uintptr_t)&arg, 0, 0);
	return arg;
}

static inline uint32_t neuron_arg_elements(uint32_t k)
{
	struct neuron_gps_arg arg = neuron_arg(k);
	uint32_t n = 1;

	for (uint32_t d = 0; d < arg.ndim; d++)
		n *= arg.size[d];
	return n;
}

static inline double neuron_arg_scalar(uint32_t k)
{
	union {
		uint64_t bits;
		double value;
	} u = { neuron_arg(k).place };

	return u.value;
}

/* n elements of argument k from number first on, in row-major order, to and from own memory */
static inline void neuron_read(uint32_t k, uint32_t first, uint32_t n, void *to)
{
	neuron_call(NEURON_GPS_READ, k, first, n, (uint32_t)(uintptr_t)to);
}

static inline void neuron_write(uint32_t k, uint32_t first, uint32_t n, const void *from)
{
	neuron_call(NEURON_GPS_WRITE, k, first, n, (uint32_t)(uintptr_t)from);
}

/* printf() to the runtime's log, of the first processor only */
int neuron_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the operator, and the execution with an error that has the message */
void neuron_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* 16 KiB of the TCM; NULL when there is no such room left */
void *neuron_tcm_malloc(size_t bytes);
void neuron_tcm_free(void *p);

#ifdef __cplusplus
}
#endif

#endif
