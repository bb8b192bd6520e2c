/* SPDX-License-Identifier: MIT */
/* Registers of an in-process chip: the emulator's own, and any register through the mailbox */
#include "emu.h"

static uint64_t ext_offset(const struct emu_chip *chip, uint32_t reg)
{
	return neuron_gen_offset(chip->gen, NEURON_BLOCK_EXT, 0) + reg;
}

static unsigned int ext_bar(const struct emu_chip *chip)
{
	return neuron_gen_block(chip->gen, NEURON_BLOCK_EXT)->bar;
}

uint32_t emu_ext_read(struct emu_chip *chip, uint32_t reg)
{
	return (uint32_t)ncore_mmio_read(chip->core, ext_bar(chip), ext_offset(chip, reg), 4);
}

void emu_ext_write(struct emu_chip *chip, uint32_t reg, uint32_t value)
{
	ncore_mmio_write(chip->core, ext_bar(chip), ext_offset(chip, reg), 4, value);
}

int emu_reg_read(struct emu_chip *chip, const uint64_t *addr, uint32_t *value, unsigned int n)
{
	int ret = 0;

	pthread_mutex_lock(&chip->fwio);
	while (!ret && n) {
		unsigned int k = n < NHAL_FWIO_READ_MAX ? n : NHAL_FWIO_READ_MAX;

		ret = nhal_reg_read(&chip->hal, addr, value, k);
		addr += k;
		value += k;
		n -= k;
	}
	pthread_mutex_unlock(&chip->fwio);
	return ret;
}
