/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The time that work takes, in one place for the chip, which keeps its virtual time by it, for the
 * compiler's estimates and for libnrt's time-outs: instructions (docs/isa.md, Costs;
 * timing/insn.c), DMA and links (docs/hardware.md, Virtual time). The numbers are the target's
 * (struct neuron_costs).
 */
#ifndef NEURON_TIMING_H
#define NEURON_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa/table.h"

/* Does it work on the memories, through an engine's datapath? */
static inline bool neuron_isa_datapath(const struct neuron_insn *insn)
{
	return neuron_isa_ops[insn->opcode].fields & NEURON_FB(PARTITIONS);
}

/*
 * Cycles that its engine is busy with the issue of an instruction that was checked; columns: of the
 * weights that are loaded
 */
uint64_t neuron_insn_cost(const struct neuron_insn *insn, unsigned int engine,
			  const struct neuron_target *target, unsigned int columns);
/* ... and those from then until its update happens */
static inline uint64_t neuron_insn_latency(const struct neuron_insn *insn,
					   const struct neuron_target *target)
{
	return neuron_isa_datapath(insn) && insn->trigger == NEURON_TRIG_COMPLETE
		       ? target->cost.startup
		       : 0;
}

/* All times that follow are in picoseconds. */

/* The time of so many bytes, at so many picoseconds a KiB */
static inline uint64_t neuron_transfer_time(uint64_t bytes, uint32_t kib)
{
	return bytes * kib >> 10;
}

/* Bytes through a DMA engine, by so many descriptors */
static inline uint64_t neuron_dma_time(const struct neuron_costs *cost, uint64_t descriptors,
				       uint64_t bytes)
{
	return cost->descriptor * descriptors + neuron_transfer_time(bytes, cost->dma_kib);
}

/*
 * Rows that are gathered or scattered: each takes a descriptor in each of three queues, for its
 * index, its address and its bytes.
 */
static inline uint64_t neuron_dma_rows_time(const struct neuron_costs *cost, uint64_t rows,
					    uint64_t bytes)
{
	return neuron_dma_time(cost, 3 * rows, bytes);
}

/* Bytes behind others through a server that queues share, which is free at *free */
static inline uint64_t neuron_shared_time(uint64_t *free, uint64_t begin, uint64_t bytes,
					  uint32_t kib)
{
	*free = (*free > begin ? *free : begin) + neuron_transfer_time(bytes, kib);
	return *free;
}

/* The time that bytes take beyond the first link on their way */
static inline uint64_t neuron_links_time(const struct neuron_costs *cost, unsigned int links,
					 uint64_t bytes)
{
	return links * neuron_transfer_time(bytes, cost->link_kib);
}

/*
 * What a computing engine takes beyond the copy. Sums halve the rate, as they do before
 * NeuronCore-v4; a transpose reads nine bytes while it writes eight.
 */
static inline uint64_t neuron_dma_sum_time(const struct neuron_costs *cost, unsigned int sources,
					   uint64_t bytes)
{
	return sources > 1 ? neuron_transfer_time(bytes, cost->dma_kib) : 0;
}

static inline uint64_t neuron_dma_transpose_time(const struct neuron_costs *cost, uint64_t bytes)
{
	return neuron_transfer_time(bytes / 9, cost->dma_kib);
}

/* A compressed stream: what is written leaves the engine at twice the rate at which it reads. */
static inline uint64_t neuron_dma_unpack_time(const struct neuron_costs *cost, uint64_t stream,
					      uint64_t raw)
{
	return raw / 2 <= stream ? 0 : neuron_transfer_time(raw / 2 - stream, cost->dma_kib);
}

/* ... and the whole of it, as one transfer of the longer one */
static inline uint64_t neuron_dma_stream_time(const struct neuron_costs *cost, uint64_t stream,
					      uint64_t raw)
{
	return neuron_dma_time(cost, 1, stream > raw / 2 ? stream : raw / 2);
}

/*
 * Before it is known how a product is computed: steps, each the time that a vector engine takes for
 * an element, measured on stages of ResNet-50
 */
#define NEURON_STEP_MACS 50 /* multiply-accumulates of PE in a step */
#define NEURON_STEPS_WEIGHT 3 /* for a constant operand's element: fetching, loading */
#define NEURON_STEPS_RESULT 3 /* for an element of a product: out of PSUM, to its reader */

/* terms: multiply-accumulates of a result */
static inline uint64_t neuron_product_steps(uint64_t results, uint64_t terms, uint64_t weights)
{
	return results * NEURON_STEPS_RESULT + results * terms / NEURON_STEP_MACS +
	       weights * NEURON_STEPS_WEIGHT;
}

#endif
