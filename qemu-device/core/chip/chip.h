/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: what a chip is made of. chip.c creates and rests it, reset.c resets
 * it, state.c saves and loads it. Each part has a header of its own, which says what its files do.
 *
 * Execution. A strand is what one thread at a time may execute: one for each NeuronCore (the core
 * and the queues that feed or are rung by it) and one for the queues the host rings. The right to
 * execute is strand->running, taken and given back under chip->lock, never held by a sleeping
 * thread. Register writes that touch what a strand owns stop it first (ncore_strand_stop) at the
 * next boundary.
 *
 * Locks, in order: chip->lock, the fabric's, then the leaves: strand->inbox.lock, chip->nq_lock,
 * chip->topsp_lock, pool->lock, faults.lock. An executing strand holds none of them while it
 * copies, but fabric->lock for reading when a neighbour is involved; it never waits for a
 * chip->lock with fabric->lock held. Register reads take no lock: every register is an atomic word.
 */
#ifndef NCORE_CHIP_H
#define NCORE_CHIP_H

#include <pthread.h>
#include <stdatomic.h>

#include "block.h"
#include "bytes.h"
#include "fabric.h"
#include "fault.h"
#include "memory.h"
#include "ncore.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"
#include "notify.h"
#include "strand.h"
#include "topsp.h"
#include "udma.h"

struct ncore_core {
	struct tpb *tpb;
	struct ncore_mem sbuf, psum;
	struct ncore_nqs nqs;
	ncore_reg nq_overflows;
	ncore_reg nq_entries; /* written under nq_lock */
	bool irq_armed; /* nq_lock: the next entry raises the core's vector */
	_Atomic uint64_t told; /* latest time of what the host knows of it, who acts after that */
	_Atomic uint64_t dma_bytes, dma_descs;
	_Atomic uint64_t streams[NEURON_PERF_STREAMS]; /* in the order of their registers */
};

struct ncore_chip {
	struct ncore_chip_config cfg;
	const struct neuron_gen *gen;
	const struct ncore_host_ops *ops;
	uint64_t event_mask;

	pthread_mutex_t lock;
	pthread_cond_t cond; /* a strand stopped, or has nothing to do */
	unsigned int paused;
	_Atomic bool up; /* not resetting: neighbours may reach it */
	struct ncore_end end; /* what they reach: end.c */
	ncore_reg links; /* a bit for each port that is up; written under the fabric's lock */

	unsigned int nqs; /* notification queues of a core */
	uint32_t nq_regs[NEURON_NQ_MAX]; /* offset of each one's registers */
	struct ncore_mem dram;
	uint64_t sbuf_stride, psum_stride; /* of partitions in the host's memory */
	uint64_t own_window; /* in which any chip of the instance finds it, or 0 */
	uint32_t way_kib[NCORE_WAYS]; /* picoseconds of a KiB */
	struct ncore_core *core; /* gen->cores */
	unsigned int topsps;
	struct ncore_topsp *topsp; /* their words: topsp_lock */
	struct tpb_words *topsp_words;
	pthread_mutex_t topsp_lock;
	struct ncore_udma *udma; /* gen->dma_engines */
	const struct ncore_block_ops *block; /* ncore_blocks: by enum neuron_block_kind */
	ncore_reg *kept; /* words of NEURON_BLOCK_KEPT, in the order of their rows */
	unsigned int kepts;
	unsigned int strands;
	struct ncore_strand *strand; /* one for each core, then the host's */
	ncore_reg misc[NEURON_MISC_RAM_SIZE / 4];
	bool reset_armed;
	pthread_mutex_t nq_lock;
	struct {
		_Atomic bool on;
		ncore_reg root[2], core[NEURON_CORES_MAX];
		ncore_reg generation; /* of what was granted; not saved */
	} guard; /* written with all strands stopped */
	_Atomic uint64_t guest_errors[NCORE_GE_COUNT];
	_Atomic uint64_t sensor[NCORE_SENSOR_COUNT];
	ncore_reg power_samples;
	struct ncore_faults faults;
	uint8_t fwio[NEURON_FWIO_BUF_SIZE]; /* chip->lock */
};

uint64_t ncore_sensor_max(enum ncore_sensor sensor);

static inline bool ncore_fault_injected(struct ncore_chip *chip, uint32_t bits)
{
	return atomic_load_explicit(&chip->faults.injected, memory_order_relaxed) & bits;
}

static inline struct ncore_strand *ncore_host_strand(struct ncore_chip *chip)
{
	return &chip->strand[chip->gen->cores];
}

#endif
