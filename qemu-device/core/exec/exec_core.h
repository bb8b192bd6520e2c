/* SPDX-License-Identifier: MIT */
/*
 * Inside a NeuronCore: struct tpb, its state, on which instructions work and which tpb.c and its
 * neighbours sequence. Private to the core library.
 */
#ifndef NCORE_EXEC_CORE_H
#define NCORE_EXEC_CORE_H

#include "exec_loops.h"
#include "tpb.h"

#define TPB_FIFO_BYTES (NEURON_FIFO_WORDS * NEURON_INSN_WORD)

enum tpb_head {
	TPB_HEAD_NONE,
	TPB_HEAD_READY,
	TPB_HEAD_ILLEGAL,
	TPB_HEAD_OUTSIDE, /* of the window from which instructions come */
	TPB_HEAD_REFUSED, /* the window is not, or no longer, the core's to read */
};

/* A word that a wait looks at, or an update changes: a semaphore's number, an event's from EVENT */
enum { TPB_WORD_EVENT = NEURON_SEMAPHORES_MAX, TPB_WORD_NONE = 0xffff };

struct tpb_cached;

/* The window of memory that instructions come from, while it is on */
struct tpb_window {
	bool on;
	uint64_t base; /* device address */
	uint32_t length;
	uint64_t pc; /* byte of the head: outside, the engine stops where it would start */
	/* not state */
	const uint8_t *code; /* the window; NULL: refused */
	struct tpb_cached *cache; /* instructions decoded before; the head's words are state */
};

struct tpb_engine {
	uint8_t fifo[TPB_FIFO_BYTES];
	uint64_t fifo_time[NEURON_FIFO_WORDS];
	unsigned int fifo_head, fifo_count; /* words */
	struct tpb_window window; /* the other source */
	uint32_t reg[NEURON_REGISTERS];
	/* the instruction at the head, decoded once; not state: made again from its words */
	enum tpb_head head;
	unsigned int head_words;
	const struct neuron_insn *insn;
	struct tpb_cached *cached; /* where insn is in the window's cache; NULL: insn is decoded */
	struct neuron_insn decoded;
	uint64_t arrived; /* the time of its last word */
	uint64_t start; /* when it starts, as far as is known; TPB_NEVER: it waits */
	uint16_t wait_word; /* what its wait looks at */

	bool stopped; /* by an error, until reset */
	bool told; /* of a NaN; the next program tells again */
	uint64_t time; /* virtual, picoseconds: the end of the last instruction's issue */
	bool at_random; /* its results are rounded so, and not to nearest */
	struct exec_draws draws;
	/* its last update: it waits behind that, where others look at their own time */
	uint16_t own;
	uint64_t own_time;
	/* not state, for any thread: what its head waits for as far as is known, and where it is */
	uint16_t stands;
	uint64_t stands_at;
};

/* The stationary operand, packed as struct exec_mm says, zeros beyond fs */
struct tpb_weights {
	unsigned int k, fs;
	uint8_t dtype; /* 0: none loaded */
	bool doubled; /* k is two rows a partition */
	bool paired, in_quads; /* as struct exec_pairs, exec_quads say */
	unsigned int least; /* then: the exponent of the least one */
	float w[EXEC_MM_W_SIZE];
};

struct tpb {
	struct tpb_config cfg;
	const struct exec_kernels *kern;
	struct tpb_engine eng[NEURON_ENGINES_MAX];
	struct tpb_words words;
	uint32_t refill; /* engines whose FIFO others wait for: a bit each */
	bool leave; /* others have work now: an instruction wrote, or such a FIFO has room */
	struct tpb_perf perf; /* times in picoseconds */
	struct tpb_weights weights; /* of the whole array */
	/* of its parts: which there are, and all in their places; of a core that has parts */
	struct neuron_isa_array parts;
	float part_weights[NEURON_PARTITIONS][NEURON_ISA_MAX_STATIONARY];
	struct neuron_isa_operands at; /* of the instruction that is being executed */
	struct exec_draws *draws; /* of its engine, which rounds by them; or NULL */
	struct neuron_insn patched; /* that instruction, if it has patches */
	float acc[NEURON_PARTITIONS]; /* ACT's accumulator registers */
	/* the Vector engine's, and its random numbers; GpSimd's: each lane has its own */
	float vector_acc[NEURON_PARTITIONS];
	uint32_t xorshift[NEURON_PARTITIONS];
	uint32_t xorwow[NEURON_PARTITIONS][NEURON_ISA_XORWOW_WORDS];
	struct exec_scratch *scratch;
	struct gps *gps; /* of a core that has the engine, or NULL */
};

/* Loaded weights, as the checker is told of them */
static inline struct neuron_isa_weights exec_weights_loaded(const struct tpb_weights *w)
{
	return (struct neuron_isa_weights){ .k = !w->dtype    ? 0
						 : w->doubled ? w->k / 2
							      : w->k,
					    .columns = w->fs,
					    .dtype = w->dtype,
					    .doubled = w->doubled };
}

/* The weights that an instruction uses, as the checker is told of them */
static inline struct neuron_isa_weights exec_weights_for(const struct tpb *t,
							 const struct neuron_insn *insn)
{
	return insn->tile ? *neuron_isa_weights_for(&t->parts, insn)
			  : exec_weights_loaded(&t->weights);
}

#endif
