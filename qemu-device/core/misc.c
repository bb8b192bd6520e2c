/* SPDX-License-Identifier: MIT */
/*
 * MISC RAM, the page that the driver shares with the firmware, and the registers of the
 * emulator extension. Words that
 * the firmware owns are made up when they are read; the others hold what was written.
 */
#include "chip.h"

static uint32_t sensor(struct ncore_chip *chip, enum ncore_sensor which)
{
	return (uint32_t)atomic_load(&chip->sensor[which]);
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

static uint32_t sram_errors(struct ncore_chip *chip)
{
	return sensor(chip, NCORE_SENSOR_SRAM_ECC_UNCORR) | sensor(chip, NCORE_SENSOR_SRAM_ECC_CORR)
								    << 16;
}

/* Later firmware has less room for uncorrected ones, and tells those that can be repaired apart */
static uint32_t memory_errors(struct ncore_chip *chip, unsigned int memory)
{
	uint32_t n = sensor(chip, NCORE_SENSOR_DRAM(memory, 1));
	uint32_t repairable = sensor(chip, NCORE_SENSOR_DRAM_REPAIRABLE(memory));

	if (chip->cfg.firmware_version >= NEURON_FIRMWARE_ECC)
		n = at_most(n, 15) << 12 | repairable;
	else
		n = at_most(n + repairable, 0xffff);
	return n | sensor(chip, NCORE_SENSOR_DRAM(memory, 0)) << 16;
}

/* The memory whose errors a word counts, or the number of memories: no such word */
static unsigned int ecc_memory(struct ncore_chip *chip, uint32_t rel)
{
	const unsigned int memories = chip->gen->memories;
	unsigned int m = 0;

	while (m < memories && rel != NEURON_MISC_ECC_DRAM(m))
		m++;
	return m;
}

/* A word for each die, all of which show the chip's one reading */
static bool is_power(struct ncore_chip *chip, uint32_t rel)
{
	return rel - NEURON_MISC_POWER(0) < chip->gen->dies * 4u;
}

/* Each read is a new sample; the driver would drop an old one. */
static uint32_t power_word(struct ncore_chip *chip)
{
	bool stale = ncore_fault_injected(chip, NCORE_FAULT_BIT(POWER_STALE));
	uint32_t sample = atomic_fetch_add(&chip->power_samples, !stale) + !stale;
	uint32_t reading = (uint32_t)atomic_load(&chip->sensor[NCORE_SENSOR_POWER_BP]);

	if (ncore_fault_injected(chip, NCORE_FAULT_BIT(POWER_READING)))
		ncore_fault_value(chip, NCORE_FAULT_POWER_READING, &reading);
	return reading | sample << 16;
}

static uint32_t ready_word(struct ncore_chip *chip)
{
	const struct neuron_gen *gen = chip->gen;

	if (!atomic_load(&chip->up))
		return gen->ready_mask & ~gen->ready_value;
	return gen->ready_value | (gen->ready_links ? ncore_load(&chip->links) : 0);
}

/* The driver's word; or the firmware's, the chip's place among the others of its instance */
static uint32_t device_id(struct ncore_chip *chip)
{
	const uint32_t slot = chip->cfg.slot;

	if (!chip->gen->routing)
		return ncore_load(&chip->misc[NEURON_MISC_DEVICE_ID / 4]);
	return chip->gen->routing[slot % NEURON_ROUTES] + slot / NEURON_ROUTES * NEURON_ROUTES;
}

uint32_t ncore_misc_read(struct ncore_chip *chip, uint32_t rel)
{
	unsigned int memory = ecc_memory(chip, rel);

	if (rel == chip->gen->ready_word)
		return ready_word(chip);
	if (is_power(chip, rel))
		return chip->cfg.firmware_version < NEURON_FIRMWARE_POWER ? 0 : power_word(chip);
	if (memory < chip->gen->memories)
		return memory_errors(chip, memory);
	switch (rel) {
	case NEURON_MISC_DEVICE_ID:
		return device_id(chip);
	case NEURON_MISC_FW_API_VERSION:
		return chip->cfg.firmware_version;
	case NEURON_MISC_SERIAL_LO:
		return (uint32_t)chip->cfg.serial;
	case NEURON_MISC_SERIAL_HI:
		return (uint32_t)(chip->cfg.serial >> 32);
	case NEURON_MISC_ECC_SRAM:
		return sram_errors(chip);
	case NEURON_MISC_REPAIR:
		if (chip->gen->repairs)
			return sensor(chip, NCORE_SENSOR_REPAIR);
		return ncore_load(&chip->misc[rel / 4]);
	case NEURON_MISC_SERVER:
		if (chip->gen->routing)
			return chip->cfg.server;
		/* fall through */
	default:
		return ncore_load(&chip->misc[rel / 4]);
	}
}

bool ncore_misc_plain(struct ncore_chip *chip, uint32_t rel)
{
	if (rel == chip->gen->ready_word || ecc_memory(chip, rel) < chip->gen->memories ||
	    is_power(chip, rel))
		return false;
	switch (rel) {
	case NEURON_MISC_DEVICE_ID:
	case NEURON_MISC_SERVER:
		return !chip->gen->routing;
	case NEURON_MISC_REPAIR:
		return !chip->gen->repairs;
	case NEURON_MISC_PROFILE:
	case NEURON_MISC_FEATURES:
		return !ncore_fwio_words(chip);
	case NEURON_MISC_FW_API_VERSION:
	case NEURON_MISC_SERIAL_LO:
	case NEURON_MISC_SERIAL_HI:
	case NEURON_MISC_ECC_SRAM:
	case NEURON_MISC_RESET:
	case NEURON_MISC_DOORBELL:
		return false;
	default:
		return true;
	}
}

bool ncore_misc_resetting(struct ncore_chip *chip)
{
	return ncore_load(&chip->misc[NEURON_MISC_RESET / 4]) == NEURON_MISC_RESET_DEVICE &&
	       !chip->reset_armed;
}

/* A reset that does not begin: the word stays, and the chip is lost until one does */
static bool reset_hangs(struct ncore_chip *chip, uint32_t kind)
{
	if ((kind != NEURON_MISC_RESET_DEVICE && kind != NEURON_MISC_RESET_TPB) ||
	    !ncore_fault_injected(chip, NCORE_FAULT_BIT(RESET_HANG)) ||
	    !ncore_fault_occasion(chip, NCORE_FAULT_RESET_HANG, NCORE_CORE_ANY, NCORE_FQ_ANY))
		return false;
	if (kind == NEURON_MISC_RESET_DEVICE) {
		atomic_store(&chip->up, false);
		ncore_link_sync(chip);
	}
	return true;
}

static void start_reset(struct ncore_chip *chip)
{
	uint32_t kind = ncore_load(&chip->misc[NEURON_MISC_RESET / 4]);
	uint32_t map = ncore_load(&chip->misc[NEURON_MISC_TPB_RESET_MAP / 4]);

	chip->reset_armed = false;
	if (reset_hangs(chip, kind))
		return;
	ncore_store(&chip->misc[NEURON_MISC_RESET / 4], 0);
	switch (kind) {
	case NEURON_MISC_RESET_DEVICE:
		ncore_reset_device(chip);
		break;
	case NEURON_MISC_RESET_TPB:
		ncore_reset_cores(chip, map);
		break;
	default:
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_MISC, 0, NEURON_MISC_RESET,
				kind);
		return;
	}
	ncore_event(chip, NCORE_EV_RESET, kind, map, 0, 0);
}

void ncore_misc_write(struct ncore_chip *chip, uint32_t rel, uint32_t value)
{
	switch (rel) {
	case NEURON_MISC_RESET:
		ncore_store(&chip->misc[rel / 4], value);
		chip->reset_armed = value != 0;
		break;
	case NEURON_MISC_DOORBELL:
		if (!value)
			break;
		if (chip->reset_armed)
			start_reset(chip);
		else
			ncore_fwio_doorbell(chip);
		break;
	default:
		if (ncore_misc_plain(chip, rel))
			ncore_store(&chip->misc[rel / 4], value);
		else
			ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_MISC, 0, rel, value);
	}
}

/* A reset keeps what the host wrote but the device id, which the driver writes again */
void ncore_misc_reset(struct ncore_chip *chip, bool all)
{
	unsigned int i;

	ncore_store(&chip->misc[NEURON_MISC_DEVICE_ID / 4], 0);
	ncore_store(&chip->misc[NEURON_MISC_DOORBELL / 4], 0);
	if (!all)
		return;
	for (i = 0; i < NEURON_MISC_RAM_SIZE / 4; i++)
		ncore_store(&chip->misc[i], 0);
	chip->reset_armed = false;
}

/* Registers of the emulator extension */

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

uint32_t ncore_ext_read(struct ncore_chip *chip, uint32_t rel)
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

bool ncore_ext_write(struct ncore_chip *chip, uint32_t rel, uint32_t value)
{
	const uint32_t at = rel - chip->gen->ext.nq_entries;

	if (at >= chip->gen->cores * 4u)
		return ncore_guard_write(chip, rel, value);
	ncore_irq_arm(chip, at / 4, value);
	return true;
}
