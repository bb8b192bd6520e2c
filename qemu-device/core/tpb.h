/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore (Tensor Processing Block) as the rest of the chip sees it: memories, instruction
 * FIFOs, semaphores and events, and a run function. Private to the core library: chip.c and udma.c
 * call it; tpb.c and exec_*.c implement it.
 *
 * Locking: the caller holds the TPB's run right (one executor at a time) for every function but
 * those marked "any thread". A TPB never calls into a queue while it runs: what it wants of the
 * rest of the chip (a doorbell, a notification) goes through struct tpb_ops, which queue it.
 */
#ifndef NCORE_TPB_H
#define NCORE_TPB_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/hw/ext.h"
#include "neuron/hw/gen.h"
#include "neuron/isa/isa.h"
#include "neuron/hw/target.h"
#include "tpb_words.h"

struct tpb;

/* Effects of an injected fault on an engine before its next instruction */
enum tpb_fault { TPB_FAULT_NONE, TPB_FAULT_HANG, TPB_FAULT_SRAM };

/* A transfer that an instruction makes: runs of bytes, as many of the source as of the destination */
struct tpb_transfer {
	uint64_t addr[2]; /* device addresses: source, destination */
	int32_t step[2][NEURON_DMA_DIMS]; /* bytes, the slowest first */
	uint16_t num[2][NEURON_DMA_DIMS];
	uint32_t run; /* bytes */
	uint8_t engine, queue;
	uint8_t semaphore; /* + 1 when it is done */
};

struct tpb_ops {
	/* an instruction's 32-bit write to a device address; 0, or -EACCES when refused */
	int (*write)(void *opaque, uint64_t addr, uint32_t value, uint64_t time);
	/*
	 * moves len bytes between buf and the chip's DRAM, all of which the core may reach; buf
	 * NULL: only asks. 0 or -EACCES. May be NULL: there is none
	 */
	int (*dram)(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write);
	/*
	 * what instructions may be fetched from: len bytes of the device's memory, or NULL when
	 * refused; asked again after tpb_windows_again(). May be NULL: there is none
	 */
	const uint8_t *(*window)(void *opaque, uint64_t addr, uint64_t len);
	/* into a queue, from a time on; 0, or -EACCES when refused. May be NULL */
	int (*dma)(void *opaque, const struct tpb_transfer *transfer, uint64_t time);
	/* a notification entry; type is NEURON_NQ_* */
	void (*notify)(void *opaque, unsigned int type, unsigned int engine, uint16_t code,
		       uint32_t id, uint64_t data, uint32_t data2, uint64_t time);
	/* asked before each instruction while *faults is not 0; datapath: it reads memories */
	enum tpb_fault (*fault)(void *opaque, bool datapath);
	/* trace; NULL when off */
	void (*insn)(void *opaque, unsigned int engine, unsigned int opcode, uint64_t time);
};

#define TPB_SLACK 64 /* vectors are read whole */

struct tpb_config {
	unsigned int index; /* core number in its chip */
	const struct neuron_target *target;
	const struct tpb_ops *ops;
	void *opaque;
	const _Atomic uint32_t *faults; /* not 0: ask ops->fault; NULL: never */
	/* 128 partitions; TPB_SLACK bytes behind the last one of each memory are readable */
	uint8_t *sbuf;
	uint64_t sbuf_host_stride; /* bytes between partitions in the host's memory, padded */
	uint8_t *psum;
	uint64_t psum_host_stride;
};

int tpb_new(const struct tpb_config *config, struct tpb **tpb);
void tpb_free(struct tpb *tpb);
/*
 * Halts, empties FIFOs, clears semaphores and events. The memories are cleared (or filled with NaN)
 * by the caller, which punches them: writing 18 MiB a core would make an idle chip resident.
 */
void tpb_reset(struct tpb *tpb);

/* Virtual times are picoseconds; none is as late as this */
#define TPB_NEVER UINT64_MAX

/* Why tpb_run() returned */
enum tpb_state {
	TPB_BLOCKED, /* every engine waits: for instructions, or for a semaphore or event */
	TPB_BUDGET, /* the budget is used up; run again */
};
/*
 * Always the instruction that starts first, in equal cases that of the first engine of the target's
 * table; budget counts instructions. Never waits. An engine in error has stopped; the others go on.
 */
enum tpb_state tpb_run(struct tpb *tpb, unsigned int budget);
/*
 * The same for those that start up to a time. Comes back early when others may have something to do
 * before the next one: an instruction wrote, or a FIFO of tpb_refill() has room.
 */
void tpb_run_until(struct tpb *tpb, uint64_t last, unsigned int budget);
void tpb_refill(struct tpb *tpb, uint32_t engines); /* a bit each: whose FIFOs others wait for */
uint64_t tpb_next(const struct tpb *tpb); /* when the next instruction starts, or TPB_NEVER */
bool tpb_runnable(const struct tpb *tpb); /* Whether tpb_run() would execute an instruction now */

/* A queue that found a FIFO full waits until half of it is free: fewer, larger refills */
#define TPB_FIFO_REFILL (NEURON_FIFO_WORDS / 2)

/* Free words of an engine's FIFO; append n 64-byte words (n <= free). time: virtual, of the write */
unsigned int tpb_fifo_space(const struct tpb *tpb, unsigned int engine);
void tpb_fifo_push(struct tpb *tpb, unsigned int engine, const void *words, unsigned int n,
		   uint64_t time);

/* Tells a core that the memory that it may reach has changed */
void tpb_windows_again(struct tpb *t);

/* Semaphores and events; set/inc/dec report overflow and double set themselves (ops->notify) */
const struct tpb_words *tpb_words(const struct tpb *tpb);
uint32_t tpb_sem_read(const struct tpb *tpb, unsigned int index); /* any thread; the last value */
uint32_t tpb_sem_at(const struct tpb *tpb, unsigned int index, uint64_t time);
void tpb_sem_write(struct tpb *tpb, enum tpb_sem_op op, unsigned int index, uint32_t value,
		   uint64_t time);
uint32_t tpb_event_read(const struct tpb *tpb, unsigned int index); /* any thread */
void tpb_event_write(struct tpb *tpb, unsigned int index, uint32_t value, uint64_t time);

/* Times in cycles of the engine */
struct tpb_perf {
	struct {
		uint64_t insn, busy, idle, wait, matmul_insn, matmul_wait;
	} eng[NEURON_ENGINES_MAX];
	uint64_t macs;
	/* of the tensor engine's array, by groups of rows: busy with products, with loading weights
	 */
	uint64_t products[NEURON_ARRAY_ROWS], weights[NEURON_ARRAY_ROWS];
};
void tpb_perf(const struct tpb *tpb, struct tpb_perf *perf); /* any thread */
/* NEURON_STANDS_*: what an engine waits for, and the byte where (any thread); 0: for nothing */
uint32_t tpb_stands(const struct tpb *tpb, unsigned int engine, uint64_t *at);
uint64_t tpb_time(const struct tpb *tpb, unsigned int engine); /* virtual */

/* Versioned state without SBUF and PSUM; returns bytes written or needed (buf NULL), load 0/-errno */
int64_t tpb_save(const struct tpb *tpb, void *buf, uint64_t size);
int tpb_load(struct tpb *tpb, const void *buf, uint64_t size);

#endif
