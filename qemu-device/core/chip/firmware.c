/* SPDX-License-Identifier: MIT */
/*
 * What writes to MISC RAM make the firmware do: the reset protocol, and the mailbox's doorbell
 * (fwio.c). chip->lock is held.
 */
#include "event.h"
#include "link.h"
#include "misc.h"
#include "reset.h"

/* A reset that does not begin: the word stays, and the chip is lost until one does */
static bool reset_hangs(struct ncore_chip *chip, uint32_t kind)
{
	if ((kind != NEURON_MISC_RESET_DEVICE && kind != NEURON_MISC_RESET_TPB) ||
	    !ncore_fault_injected(chip, NCORE_FAULT_BIT(RESET_HANG)) ||
	    !ncore_fault_occasion(chip, NCORE_FAULT_RESET_HANG, NCORE_CORE_ANY, NCORE_FQ_ANY))
		return false;
	if (kind == NEURON_MISC_RESET_DEVICE) {
		ncore_misc_up(chip, false);
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
	ncore_misc_store(chip, NEURON_MISC_RESET, 0);
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

void ncore_misc_write(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value)
{
	switch (rel) {
	case NEURON_MISC_RESET:
		ncore_misc_store(chip, rel, value);
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
			ncore_misc_store(chip, rel, value);
		else
			ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_MISC, 0, rel, value);
	}
}
