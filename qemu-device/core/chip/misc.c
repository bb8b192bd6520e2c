/* SPDX-License-Identifier: MIT */
/*
 * MISC RAM, the page that the driver shares with the firmware. Words that the firmware owns are
 * made up when they are read; the others hold what was written. What writes make the firmware do is
 * firmware.c's.
 */
#include "misc.h"

#include <errno.h>

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
	const uint32_t slot = chip->cfg.slot - chip->cfg.first;

	if (!chip->gen->routing)
		return ncore_load(&chip->misc[NEURON_MISC_DEVICE_ID / 4]);
	return chip->gen->routing[slot % NEURON_ROUTES] + slot / NEURON_ROUTES * NEURON_ROUTES;
}

uint32_t ncore_misc_read(struct ncore_chip *chip, unsigned int index, uint32_t rel)
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

int ncore_misc_post(struct ncore_chip *chip, struct ncore_strand *strand, unsigned int index,
		    const struct ncore_post *post)
{
	const uint32_t rel = (uint32_t)post->addr;

	if (!ncore_misc_plain(chip, rel))
		return -EACCES;
	ncore_misc_store(chip, rel, post->value);
	return 0;
}

/* What a neighbour in another process reads. Of power there are no samples for it. */
static void show(struct ncore_chip *chip, uint32_t rel)
{
	atomic_store(&chip->cfg.shown[rel / 4], !atomic_load(&chip->up) ? NEURON_NO_ANSWER
						: is_power(chip, rel)
							? 0
							: ncore_misc_read(chip, 0, rel));
}

void ncore_misc_store(struct ncore_chip *chip, uint32_t rel, uint32_t value)
{
	ncore_store(&chip->misc[rel / 4], value);
	if (chip->cfg.shown)
		show(chip, rel);
}

void ncore_misc_up(struct ncore_chip *chip, bool up)
{
	uint32_t rel;

	atomic_store(&chip->up, up);
	for (rel = 0; chip->cfg.shown && rel < NEURON_MISC_RAM_SIZE; rel += 4)
		show(chip, rel);
}

bool ncore_misc_resetting(struct ncore_chip *chip)
{
	return ncore_load(&chip->misc[NEURON_MISC_RESET / 4]) == NEURON_MISC_RESET_DEVICE &&
	       !chip->reset_armed;
}

/* A reset keeps what the host wrote but the device id, which the driver writes again */
void ncore_misc_reset(struct ncore_chip *chip, bool all)
{
	unsigned int i;

	ncore_misc_store(chip, NEURON_MISC_DEVICE_ID, 0);
	ncore_misc_store(chip, NEURON_MISC_DOORBELL, 0);
	if (!all)
		return;
	for (i = 0; i < NEURON_MISC_RAM_SIZE / 4; i++)
		ncore_store(&chip->misc[i], 0);
	chip->reset_armed = false;
}
