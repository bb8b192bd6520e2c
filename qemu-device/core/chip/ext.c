/* SPDX-License-Identifier: MIT */
/*
 * Registers of the emulator extension (neuron/hw/ext.h): counters, what stands still, the guard,
 * interrupts. A register that only shows something takes no write.
 */
#include "event.h"
#include "guard.h"
#include "misc.h"
#include "notify.h"

static uint32_t half_of(uint64_t v, uint32_t rel)
{
	return (uint32_t)(rel & 4 ? v >> 32 : v);
}

static uint32_t stream_read(struct ncore_core *core, uint32_t rel)
{
	uint32_t i = (rel - NEURON_PERF_DECOMPRESSED_FROM) / 8;

	return i < NEURON_PERF_STREAMS ? half_of(atomic_load(&core->streams[i]), rel) : 0;
}

static uint32_t perf_read(struct ncore_chip *chip, unsigned int nc, uint32_t rel)
{
	const uint32_t core = chip->gen->ext.perf_core;
	unsigned int e = rel / NEURON_PERF_ENG(1);
	struct tpb_perf perf;
	uint32_t stands;
	uint64_t at;

	if (rel >= core) {
		switch ((rel - core) & ~4u) {
		case NEURON_PERF_MACS:
			break;
		case NEURON_PERF_DMA_BYTES:
			return half_of(atomic_load(&chip->core[nc].dma_bytes), rel);
		case NEURON_PERF_DMA_DESCS:
			return half_of(atomic_load(&chip->core[nc].dma_descs), rel);
		default:
			return stream_read(&chip->core[nc], rel - core);
		}
		tpb_perf(chip->core[nc].tpb, &perf);
		return half_of(perf.macs, rel);
	}

	if (e >= chip->gen->target->engines)
		return 0;

	tpb_perf(chip->core[nc].tpb, &perf);
	switch (rel % NEURON_PERF_ENG(1) & ~4u) {
	case NEURON_PERF_INSN:
		return half_of(perf.eng[e].insn, rel);
	case NEURON_PERF_BUSY:
		return half_of(perf.eng[e].busy, rel);
	case NEURON_PERF_IDLE:
		return half_of(perf.eng[e].idle, rel);
	case NEURON_PERF_WAIT:
		return half_of(perf.eng[e].wait, rel);
	case NEURON_PERF_MATMUL_INSN:
		return half_of(perf.eng[e].matmul_insn, rel);
	case NEURON_PERF_MATMUL_WAIT:
		return half_of(perf.eng[e].matmul_wait, rel);
	case NEURON_PERF_STANDS:
	case NEURON_PERF_STANDS_AT:
		stands = tpb_stands(chip->core[nc].tpb, e, &at);
		return half_of(rel & 8 ? at : stands, rel);
	default:
		return 0;
	}
}

static uint32_t stopped_queues(struct ncore_chip *chip, unsigned int engine)
{
	uint32_t map = 0;
	unsigned int i;

	for (i = 0; i < NCORE_QUEUES; i++)
		if (atomic_load(&chip->udma[engine].queue[i].stopped) == NCORE_Q_ERROR)
			map |= 1u << i;
	return map;
}

uint32_t ncore_ext_read(struct ncore_chip *chip, unsigned int index, uint32_t rel)
{
	const struct neuron_ext_map *ext = &chip->gen->ext;
	const unsigned int cores = chip->gen->cores;
	uint64_t errors = 0;
	unsigned int i;
	uint32_t value;

	if (rel - ext->perf < cores * ext->perf_stride)
		return perf_read(chip, (rel - ext->perf) / ext->perf_stride,
				 (rel - ext->perf) % ext->perf_stride);
	if (rel - ext->nq_overflows < cores * 4)
		return ncore_load(&chip->core[(rel - ext->nq_overflows) / 4].nq_overflows);
	if (rel - ext->nq_entries < cores * 4)
		return ncore_load(&chip->core[(rel - ext->nq_entries) / 4].nq_entries);
	if (rel - ext->dma_stopped < chip->gen->dma_engines * 4u)
		return stopped_queues(chip, (rel - ext->dma_stopped) / 4);
	if (ncore_guard_read(chip, rel, &value))
		return value;
	switch (rel) {
	case NEURON_EXT_ISA_VERSION:
		return chip->gen->target->isa_version;
	case NEURON_EXT_GUEST_ERRORS:
		for (i = 0; i < NCORE_GE_COUNT; i++)
			errors += atomic_load(&chip->guest_errors[i]);
		return (uint32_t)errors;
	case NEURON_EXT_SBUF_SIZE:
		return NEURON_PARTITIONS * chip->gen->target->sbuf_part_size;
	default:
		return 0;
	}
}

void ncore_ext_write(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value)
{
	const uint32_t at = rel - chip->gen->ext.nq_entries;

	if (at < chip->gen->cores * 4u)
		ncore_irq_arm(chip, at / 4, value);
	else if (!ncore_guard_write(chip, rel, value))
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_EXT, index, rel, value);
}
