/* SPDX-License-Identifier: MIT */
/*
 * The chip as a library: what its users (the QEMU device, libndl's in-process backend, unit tests,
 * fuzzers) call, and what it asks of them. Plain C11, no QEMU or kernel header, no global state;
 * several chips a process.
 *
 * Threads: every function may be called from any thread unless it says otherwise; MMIO of one chip
 * is serialised by the chip's own lock. A pool's workers run what does not fit an MMIO write.
 * Memory: DRAM, SBUF and PSUM come from alloc_mem; nothing else grows with what a guest does.
 * Files, signals, environment: none is touched; nothing is printed.
 */
#ifndef NCORE_H
#define NCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/gen.h"
#include "neuron/hw/topology.h"

struct ncore_chip;
struct ncore_pool;
struct ncore_fabric;

/* A guest's errors (docs/hardware.md, Guest errors); each is counted per chip */
enum ncore_guest_error {
	NCORE_GE_UNDEFINED, /* the record says nothing and hardware would be unpredictable */
	NCORE_GE_UNSUPPORTED, /* real hardware has it, this generation does not */
	NCORE_GE_UNIMPLEMENTED, /* real hardware has it, the model does not yet */
	NCORE_GE_IMPL_DEFINED, /* allowed, and our choice decides */
	NCORE_GE_COUNT,
};

/* Trace points; names in ncore_event_name(), the same in QEMU's trace-events */
enum ncore_event {
	NCORE_EV_MMIO_READ, /* bar, offset, size, value */
	NCORE_EV_MMIO_WRITE, /* bar, offset, size, value */
	NCORE_EV_FWIO, /* seq, cmd, size, error */
	NCORE_EV_RESET, /* kind, map */
	NCORE_EV_DOORBELL, /* engine, queue, half (0 M2S, 1 S2M), count */
	NCORE_EV_DESC, /* engine, queue, source, destination (of one copied run) */
	NCORE_EV_DMA_ERROR, /* engine, queue, error code, address */
	NCORE_EV_INSN, /* core, engine, opcode, virtual time in picoseconds */
	/* core: or behind those of all cores a TOP_SP */
	NCORE_EV_ENGINE_ERROR, /* core, engine, error code, data */
	NCORE_EV_NOTIFY, /* core, type, engine, address */
	NCORE_EV_SEMAPHORE, /* core, index, old, new */
	NCORE_EV_GUEST_ERROR, /* kind, offset or address, value, 0 */
	NCORE_EV_LINK, /* slot, port, up, 0 */
	NCORE_EV_FAULT, /* enum ncore_fault, core, how often it has struck, 0 */
	NCORE_EV_COUNT,
};
const char *ncore_event_name(enum ncore_event ev);

/*
 * The host's side, one table. opaque is the chip's host pointer. Host addresses are physical
 * addresses with the window bit stripped. Callbacks never call back into the chip, and never wait
 * for a lock that a caller of this header's functions may hold: they are called with locks of the
 * chip held, and a caller may be waiting for the thread that calls back (in QEMU: DMA reaches RAM
 * only and takes no big lock).
 */
struct ncore_host_ops {
	/* zeroed, sparse memory; fd -1 if it has none. 0 or -errno. NULL: the core uses mmap */
	int (*alloc_mem)(void *opaque, const char *name, uint64_t size, void **ptr, int *fd);
	void (*free_mem)(void *opaque, const char *name, void *ptr, uint64_t size, int fd);
	/*
	 * the core wrote [offset, offset + len) of a memory it got from alloc_mem; what
	 * instructions wrote is said when the chip comes to rest. May be NULL
	 */
	void (*mark_dirty)(void *opaque, const char *name, uint64_t offset, uint64_t len);
	/*
	 * copy to or from host memory; 0 or -errno (a hole, the chip's own BARs). buf may lie in a
	 * memory of the chip, which ncore_copy_sparse() keeps sparse
	 */
	int (*dma_rw)(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write);
	/* direct pointer to host memory, *len may shrink; NULL: use dma_rw. May be NULL */
	void *(*dma_map)(void *opaque, uint64_t addr, uint64_t *len, bool write);
	void (*dma_unmap)(void *opaque, void *ptr, uint64_t len, bool write, uint64_t accessed);
	/*
	 * the vector of core number vector is raised: the host armed it, and an entry it has not
	 * seen is in one of the core's notification queues. Any thread; or NULL
	 */
	void (*irq)(void *opaque, unsigned int vector);
	uint64_t (*clock)(void *opaque); /* ns, monotonic; NULL: CLOCK_MONOTONIC */
	/* trace, any thread; NULL: off. events is a bit mask asked once for each chip */
	void (*event)(void *opaque, enum ncore_event ev, const uint64_t arg[4]);
	uint64_t event_mask;
};

/*
 * Copies what a host's dma_rw reads: memcpy() but for whole pages of zeros that are to go where
 * zeros are, which are not stored. A driver clears memory before it hands it out; of private memory
 * that nobody has touched, reading takes no page and storing zeros does.
 */
void ncore_copy_sparse(void *dst, const void *src, uint64_t len);
/*
 * The same of a part of far more than caches hold: what is stored goes past them, which saves
 * reading the lines that are stored to.
 */
void ncore_copy_past(void *dst, const void *src, uint64_t len);

/* A pool of worker threads; threads 0: the host's CPUs. Outlives its chips. */
struct ncore_pool_config {
	unsigned int threads;
	void (*thread_enter)(void *opaque); /* in each worker, before it works; may be NULL */
	void (*thread_leave)(void *opaque);
	void *opaque;
};
int ncore_pool_new(const struct ncore_pool_config *config, struct ncore_pool **pool);
void ncore_pool_free(struct ncore_pool *pool);

/*
 * The links between chips. A chip has ports (its generation says how many), a topology says which
 * port of which slot is linked with which (neuron/hw/topology.h). Weak pointers.
 */
/* 0, -ENOMEM, or -EINVAL: no such topology of so many slots */
int ncore_fabric_new(enum neuron_topology topology, unsigned int slots,
		     struct ncore_fabric **fabric);
void ncore_fabric_free(struct ncore_fabric *fabric);

struct ncore_chip_config {
	const struct neuron_gen *gen; /* required */
	const struct ncore_host_ops *ops;
	void *opaque;
	struct ncore_pool *pool; /* required */
	struct ncore_fabric *fabric; /* NULL: alone */
	unsigned int slot;
	unsigned int first; /* the slot of its instance's first chip; drivers number from there */
	_Atomic uint32_t *shown; /* where MISC RAM is kept for other processes to read, or NULL */
	uint64_t serial; /* 0: derived from slot */
	uint32_t firmware_version; /* up to NEURON_FIRMWARE_MAX, and what follows; 0: the
				      generation's */
	uint16_t server; /* a word of MISC RAM, of generations that number themselves; 0: none */
	bool no_ring_id_check; /* accept descriptors whose ring id does not match the lap */
	bool nan_fill; /* reset fills SBUF and PSUM with NaN instead of zero */
};

/* 0, -ENOMEM, -EBUSY (the slot is taken), -EINVAL (also: the fabric wants more ports, firmware) */
int ncore_chip_new(const struct ncore_chip_config *config, struct ncore_chip **chip);
void ncore_chip_free(struct ncore_chip *chip); /* stops it, detaches it from the fabric */

/*
 * A chip of another process stands in a slot of this one's fabric. Its owner shows its memories and
 * its MISC RAM, which both processes map; semaphores and events are written by the owner, who is
 * sent them. Its cores' memories and registers cannot be reached. While nothing is shown, words
 * read as a chip's that does not answer, and what copies memory stops as behind an address where
 * nothing is.
 */
struct ncore_foreign;
struct ncore_foreign_config {
	const struct neuron_gen *gen;
	struct ncore_fabric *fabric;
	unsigned int slot;
	/* sends a write; 0, or -EAGAIN: again later. Called with the fabric's lock held */
	int (*write)(void *opaque, unsigned int slot, uint64_t addr, uint32_t value, uint64_t time);
	void *opaque;
};
/* 0, -ENOMEM, -EBUSY or -EINVAL, as ncore_chip_new() */
int ncore_foreign_new(const struct ncore_foreign_config *config, struct ncore_foreign **foreign);
/*
 * dram: as ncore_dram() has it, of neuron_gen_memory() bytes; misc: NEURON_MISC_RAM_SIZE bytes.
 * NULL: no longer; what was shown is not looked at after the return.
 */
void ncore_foreign_show(struct ncore_foreign *foreign, void *dram, const _Atomic uint32_t *misc);
void ncore_foreign_free(struct ncore_foreign *foreign);
/*
 * A write that came for a chip from another process, whoever sent it: 0, -EAGAIN (again later) or
 * -EACCES: no semaphore or event is there, or the chip's guard is on, which knows no one elsewhere
 */
int ncore_chip_written(struct ncore_chip *chip, uint64_t addr, uint32_t value, uint64_t time);

/* size 1, 2, 4 or 8; undefined registers read 0. The BAR numbers are PCI's */
uint64_t ncore_mmio_read(struct ncore_chip *chip, unsigned int bar, uint64_t offset,
			 unsigned int size);
void ncore_mmio_write(struct ncore_chip *chip, unsigned int bar, uint64_t offset, unsigned int size,
		      uint64_t value);
/* what the DRAM BAR shows: the device's memories, one after the other. Size in bytes. */
void *ncore_dram(struct ncore_chip *chip, uint64_t *size, int *fd);

enum ncore_reset { NCORE_RESET_POWER, NCORE_RESET_PCI };
void ncore_chip_reset(struct ncore_chip *chip,
		      enum ncore_reset kind); /* DRAM reads zero after it */

/*
 * A thread that starts a core and waits for it may execute it itself, without a worker in between.
 * (The core whose number is that of all cores stands for the queues that are the host's own.)
 * It lends itself, rings doorbells, calls work until that is false (nothing is left, or a worker is
 * at it; the thread no longer lends itself) or it has what it waits for, and leaves: workers go on
 * with what is left.
 */
void ncore_core_lend(struct ncore_chip *chip, unsigned int core);
bool ncore_core_work(struct ncore_chip *chip, unsigned int core); /* one batch */
void ncore_core_leave(struct ncore_chip *chip, unsigned int core);

/*
 * Rest: returns when the chip's queues and cores stand at a boundary; nested calls count. Before a
 * state is saved every chip of a fabric has to rest, as neighbours write to each other.
 */
void ncore_chip_pause(struct ncore_chip *chip);
void ncore_chip_resume(struct ncore_chip *chip);
/* true when no queue and no core has work it could do now */
bool ncore_chip_idle(struct ncore_chip *chip);
/* wait until idle; 0 or -ETIMEDOUT. timeout_ns < 0: for ever */
int ncore_chip_wait_idle(struct ncore_chip *chip, int64_t timeout_ns);

/* Versioned state of a paused chip, without its memories. 0 or -errno; load says why in *reason */
int ncore_chip_save(struct ncore_chip *chip, void **buf, size_t *size); /* free() it */
int ncore_chip_load(struct ncore_chip *chip, const void *buf, size_t size, const char **reason);

uint64_t ncore_guest_errors(struct ncore_chip *chip, enum ncore_guest_error kind);

/* Settable from outside (QOM properties): sensors and counters the mailbox shows */
enum ncore_sensor {
	NCORE_SENSOR_SRAM_ECC_CORR,
	NCORE_SENSOR_SRAM_ECC_UNCORR,
	NCORE_SENSOR_DRAM_ECC_CORR, /* of memory 0, the uncorrected ones next, then of the others */
	NCORE_SENSOR_POWER_BP =
		NCORE_SENSOR_DRAM_ECC_CORR + 2 * NEURON_MEMORIES_MAX, /* basis points, 0..10000 */
	/* where the firmware repairs memories: uncorrected errors of each that can be; how it went */
	NCORE_SENSOR_REPAIRABLE,
	NCORE_SENSOR_REPAIR = NCORE_SENSOR_REPAIRABLE + NEURON_MEMORIES_MAX,
	NCORE_SENSOR_COUNT,
};
#define NCORE_SENSOR_DRAM_REPAIRABLE(memory) \
	((enum ncore_sensor)(NCORE_SENSOR_REPAIRABLE + (memory)))
#define NCORE_SENSOR_DRAM(memory, uncorrected) \
	((enum ncore_sensor)(NCORE_SENSOR_DRAM_ECC_CORR + 2 * (memory) + (uncorrected)))
uint64_t ncore_sensor_get(struct ncore_chip *chip, enum ncore_sensor sensor);
void ncore_sensor_set(struct ncore_chip *chip, enum ncore_sensor sensor, uint64_t value);

/* Fault injection (docs/hardware.md, Fault injection); the list is neuron/hw/faults.def */
enum ncore_fault {
#define NEURON_FAULT(symbol, name, kind, text) NCORE_FAULT_##symbol,
#include "neuron/hw/faults.def"
#undef NEURON_FAULT
	NCORE_FAULT_COUNT,
};
const char *ncore_fault_name(enum ncore_fault fault);
const char *ncore_fault_text(enum ncore_fault fault);
int ncore_fault_find(const char *name, size_t len); /* enum ncore_fault, or -ENOENT */
/*
 * spec: "off"; "on" (STATE); a number (VALUE); or, for TIMES, a count or "always", then as wished
 * ":after=N" (let N occasions pass first), ":core=N" (occasions of this core alone), for errors of
 * DRAM ":memory=N" (of this channel or stack alone), and ":queue=copy" or ":queue=program"
 * (descriptors of the driver's copy queues, or of all others).
 * 0, or -EINVAL and nothing has changed. check is the same without a chip: of a generation.
 */
int ncore_fault_set(struct ncore_chip *chip, enum ncore_fault fault, const char *spec);
int ncore_fault_check(const struct neuron_gen *gen, enum ncore_fault fault, const char *spec);
/* The faults that are injected now, in the same form; a count is what is left of it. */
#define NCORE_FAULT_SPEC_MAX 96
void ncore_fault_get(struct ncore_chip *chip, enum ncore_fault fault,
		     char spec[NCORE_FAULT_SPEC_MAX]);
uint64_t ncore_fault_fired(struct ncore_chip *chip, enum ncore_fault fault);

#endif
