/* SPDX-License-Identifier: MIT */
/*
 * The GpSimd engine's eight processors (docs/gpsimd.md): RV32IMF without C, A and most CSRs, each
 * with registers and 64 KiB of tightly coupled memory, all with one library of code and constants.
 * gps.c executes, gps_decode.c makes words ready for it, gps_call.c serves their calls,
 * gps_custom.c is the instruction that starts them. Private to those and to tpb_state.c; unit
 * tests may call it.
 *
 * What a processor reaches: its own TCM and the library. Tensors it moves by calls that name an
 * argument and an element, never an address of the device.
 */
#ifndef NCORE_GPS_H
#define NCORE_GPS_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/hw/gpsimd.h"

struct neuron_insn;
struct tpb;

/* An access to the TCM, the usual one, has one comparison, and one with the alignment */
static inline bool gps_in_tcm(uint32_t addr, uint32_t size)
{
	return addr - NEURON_GPS_NULL < NEURON_GPS_TCM - NEURON_GPS_NULL && !(addr & (size - 1));
}

enum gps_op {
#define GPS_OP(name) GPS_##name,
#include "gps_ops.def"
#undef GPS_OP
	GPS_OP_COUNT,
};

/* A word of the library, decoded. rd of integers is 32 where the word says x0: a place for waste */
struct gps_insn {
	uint8_t op; /* enum gps_op */
	uint8_t rd, rs1, rs2;
	/* an immediate; of a branch or jal the number of the word it goes to; of an fma rs3; of a
	 * conversion the rounding mode; of vectors as gps_vector.c says */
	int32_t imm;
};

/* Vectors' registers and what governs them */
struct gps_vector {
	uint8_t v[32 * NEURON_GPS_VECTOR]; /* one behind the other: a group is several */
	uint32_t vl, vtype, vstart;
	uint8_t vxrm, vxsat;
};

struct gps_core {
	uint32_t x[33]; /* x[32]: see struct gps_insn */
	uint32_t pc;
	bool live; /* takes part, and has not ended */
	uint32_t f[32]; /* bits of fp32 */
	uint64_t retired;
	uint8_t *tcm; /* NEURON_GPS_TCM bytes */
	struct gps_vector vector;
};

/* One operand of the instruction that runs, checked */
struct gps_arg {
	struct neuron_gps_arg raw;
	uint64_t count; /* elements */
	uint8_t size; /* of an element, bytes */
};

struct gps {
	struct gps_core core[NEURON_GPS_CORES];
	uint8_t *tcm; /* of all */
	/* the library as it was when the instruction started, and decoded; code has one more */
	uint8_t *lib;
	uint8_t *fresh; /* the one that the next instruction brings */
	struct gps_insn *code;
	uint32_t lib_bytes;
	/* what runs */
	bool running;
	uint8_t next; /* the processor that has the next slice */
	uint32_t round; /* most instructions that one processor took in this round */
	uint64_t limit; /* instructions of one processor; 0: none */
	uint32_t mask;
	uint32_t args;
	struct gps_arg arg[NEURON_GPS_ARGS];
	uint64_t ring; /* device address of the printed text, 0: nowhere */
	uint32_t ring_bytes;
	/* why a processor was stopped */
	uint8_t cause; /* enum neuron_gps_cause */
	uint8_t culprit; /* its number */
	uint32_t fault_data; /* the address, word or call */
};

/* 0 or -ENOMEM */
int gps_new(struct gps **gps);
void gps_free(struct gps *gps);
void gps_reset(struct gps *gps);
/* The words of a library that lies in gps->lib, lib_bytes of it */
void gps_library_decode(struct gps *gps);
struct gps_insn gps_decode(uint32_t word, uint32_t at, uint32_t words);
/* Every processor of the mask at the entry, with cleared registers and TCM and a0 */
void gps_start(struct gps *gps, uint32_t mask, uint32_t entry, uint32_t a0);

static inline bool gps_in_lib(const struct gps *g, uint32_t addr, uint32_t size)
{
	return addr - NEURON_GPS_LIB < g->lib_bytes && !(addr & (size - 1));
}

/* Why an address is no processor's to access, be it for its alignment */
static inline enum neuron_gps_cause gps_foreign(uint32_t addr, unsigned int size, bool store)
{
	if (addr & (size - 1))
		return NEURON_GPS_ALIGN;
	if (addr < NEURON_GPS_NULL || addr >= (uint32_t)-0x10000)
		return NEURON_GPS_STACK;
	return store ? NEURON_GPS_STORE : NEURON_GPS_LOAD;
}

enum gps_stop {
	GPS_RAN, /* as many instructions as it was given */
	GPS_ENDED, /* it has ended by itself */
	GPS_FAULT, /* cause, culprit and fault_data say why; pc is the instruction's */
};
/* Executes at most n instructions of a processor; what calls cost counts as instructions */
enum gps_stop gps_run(struct tpb *t, struct gps *gps, unsigned int core, uint32_t n);

/* gps_vector.c: a word with one of the vectors' opcodes; an instruction that was decoded so, with
 * what it costs beyond the first cycle. 0, or a fault and its data */
void gps_vector_decode(struct gps_insn *in, uint32_t word);
enum neuron_gps_cause gps_vector(struct gps *gps, unsigned int core, const struct gps_insn *in,
				 uint32_t *cost, uint32_t *data);
/* may a state that was loaded go on with these? */
bool gps_vector_sane(const struct gps_vector *v);

/* gps_call.c: the call that the registers ask for. 0, or a fault that is noted in gps */
enum neuron_gps_cause gps_call(struct tpb *t, struct gps *gps, unsigned int core, uint32_t *cost,
			       bool *ended);
/* an argument as it lies in the block, and is it there? NULL or what is wrong with it */
const char *gps_arg_check(struct tpb *t, struct gps_arg *arg, bool there);
/* may a state that was loaded go on? */
bool gps_sane(struct tpb *t, struct gps *gps);

/*
 * gps_custom.c: a checked CUSTOM_OP; 0 or -EINVAL, and gps_custom_fault() says why. Then its
 * slices until one is not MORE, each as many cycles of the engine as *cycles says.
 */
enum gps_custom_slice { GPS_CUSTOM_MORE, GPS_CUSTOM_DONE, GPS_CUSTOM_FAULT };
int gps_custom_start(struct tpb *t, const struct neuron_insn *insn);
enum gps_custom_slice gps_custom_slice(struct tpb *t, uint64_t *cycles);
bool gps_custom_running(const struct tpb *t);
/* the data of the error's entry */
uint64_t gps_custom_fault(const struct tpb *t, uint32_t *data2);

#endif
