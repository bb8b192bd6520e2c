/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What programs of the GpSimd engine's processors, the runtime and the chip agree on
 * (docs/gpsimd.md): the address space of a processor, the calls, the argument block of CUSTOM_OP,
 * the ring of printed text and the causes of faults. Plain C of both sides: the device library
 * includes it too. All of it is this project's choice.
 */
#ifndef NEURON_HW_GPSIMD_H
#define NEURON_HW_GPSIMD_H

#include <stdint.h>

#define NEURON_GPS_CORES 8
#define NEURON_GPS_TCM 0x10000u /* bytes, at address 0 */
#define NEURON_GPS_NULL \
	0x100u /* its first bytes are not there: the end of the stack, null pointers */
#define NEURON_GPS_LIB 0x80000000u /* the library, read-only */
#define NEURON_GPS_LIB_MAX 0x100000u /* bytes */
#define NEURON_GPS_VECTOR 64 /* bytes of a vector register */
#define NEURON_GPS_SLICE 4096 /* instructions of one processor before it is the next one's turn */

/* Calls: ecall with the number in a7, operands in a0 to a3, the result in a0 */
enum neuron_gps_call {
	NEURON_GPS_EXIT = 0,
	NEURON_GPS_READ = 1, /* argument, first element, elements, address in TCM */
	NEURON_GPS_WRITE = 2, /* the same, the other way; the address may be of the library */
	NEURON_GPS_PRINT = 3, /* address, bytes */
	NEURON_GPS_CPU_ID = 4,
	NEURON_GPS_CPU_COUNT = 5,
	/* address and bytes of a message; where in the library it failed, 0: here. Does not come
	   back */
	NEURON_GPS_FAIL = 6,
	NEURON_GPS_COPY = 7, /* address in TCM, address, bytes */
	NEURON_GPS_ARG_COUNT = 8,
	NEURON_GPS_ARG =
		9, /* argument, address in TCM: its struct neuron_gps_arg, places left out */
};

/* Why a processor was stopped; bits 47:40 of the error's data */
enum neuron_gps_cause {
	NEURON_GPS_OK = 0,
	NEURON_GPS_ILLEGAL, /* not an instruction of these processors; data2 the word */
	NEURON_GPS_FETCH, /* outside of the library; data2 the address */
	NEURON_GPS_LOAD, /* neither TCM nor library; data2 the address */
	NEURON_GPS_STORE, /* not TCM */
	NEURON_GPS_ALIGN, /* not a multiple of the size */
	NEURON_GPS_STACK, /* below NEURON_GPS_NULL, or less than 64 KiB below 0 */
	NEURON_GPS_CALL, /* no such call, or operands that it refuses; data2 the call */
	NEURON_GPS_FAILED, /* the operator said so */
	NEURON_GPS_LIMIT, /* as many slices as the instruction allows; data2 how many */
	NEURON_GPS_LIBRARY, /* CUSTOM_OP itself: no such library; data2 its low address */
	NEURON_GPS_ARGUMENT, /* ... or no such argument; data2 its number */
	NEURON_GPS_CAUSES,
};

/* Kinds of arguments */
enum neuron_gps_kind {
	NEURON_GPS_DRAM = 1, /* elements side by side from a device address on */
	NEURON_GPS_ONCHIP = 2, /* an access pattern in SBUF or PSUM, partition after partition */
	NEURON_GPS_SCALAR = 3, /* a double */
};
#define NEURON_GPS_READS 1u /* the processors may read it */
#define NEURON_GPS_WRITES 2u

#define NEURON_GPS_ARGS 32
#define NEURON_GPS_DIMS 8

/* One argument in the block, little-endian */
struct neuron_gps_arg {
	uint8_t kind; /* enum neuron_gps_kind */
	uint8_t dtype; /* of its elements */
	uint8_t access; /* NEURON_GPS_READS, _WRITES */
	uint8_t ndim; /* up to NEURON_GPS_DIMS */
	uint32_t partitions; /* of an access pattern */
	uint64_t place; /* a device address, or a double's bits */
	uint32_t size[NEURON_GPS_DIMS]; /* the slowest first; 1 from ndim on */
	uint8_t pattern[20]; /* as in instructions (docs/isa.md, 2.4) */
	uint32_t zero;
};

/* The block: this, then count arguments */
struct neuron_gps_block {
	uint32_t magic;
	uint32_t count;
	uint64_t ring; /* device address; 0: what is printed goes nowhere */
	uint32_t ring_bytes; /* of text, a power of two */
	uint32_t zero[3];
};
#define NEURON_GPS_MAGIC 0x31475047u /* "GPG1" */

/*
 * The ring at its address: written, bytes since the ring was cleared, then the text. Byte n of
 * what was printed lies at n mod ring_bytes.
 */
#define NEURON_GPS_RING_HEAD 64u
#define NEURON_GPS_RING_MAX 0x20000u

#endif
