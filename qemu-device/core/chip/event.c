/* SPDX-License-Identifier: MIT */
/*
 * Trace events, and what a guest did wrong, which is counted and traced. Everything else of a chip
 * may call this.
 */
#include "event.h"

static const char *const event_names[NCORE_EV_COUNT] = {
	[NCORE_EV_MMIO_READ] = "mmio_read",
	[NCORE_EV_MMIO_WRITE] = "mmio_write",
	[NCORE_EV_FWIO] = "fwio",
	[NCORE_EV_RESET] = "reset",
	[NCORE_EV_DOORBELL] = "doorbell",
	[NCORE_EV_DESC] = "desc",
	[NCORE_EV_DMA_ERROR] = "dma_error",
	[NCORE_EV_INSN] = "insn",
	[NCORE_EV_ENGINE_ERROR] = "engine_error",
	[NCORE_EV_NOTIFY] = "notify",
	[NCORE_EV_SEMAPHORE] = "semaphore",
	[NCORE_EV_GUEST_ERROR] = "guest_error",
	[NCORE_EV_LINK] = "link",
	[NCORE_EV_FAULT] = "fault",
};

const char *ncore_event_name(enum ncore_event ev)
{
	return (unsigned int)ev < NCORE_EV_COUNT ? event_names[ev] : NULL;
}

void ncore_event_send(struct ncore_chip *chip, enum ncore_event ev, uint64_t a, uint64_t b,
		      uint64_t c, uint64_t d)
{
	const uint64_t arg[4] = { a, b, c, d };

	chip->ops->event(chip->cfg.opaque, ev, arg);
}

void ncore_guest_error(struct ncore_chip *chip, enum ncore_guest_error kind, uint64_t where,
		       uint64_t value)
{
	atomic_fetch_add(&chip->guest_errors[kind], 1);
	ncore_event(chip, NCORE_EV_GUEST_ERROR, kind, where, value, 0);
}

uint64_t ncore_guest_errors(struct ncore_chip *chip, enum ncore_guest_error kind)
{
	return (unsigned int)kind < NCORE_GE_COUNT ? atomic_load(&chip->guest_errors[kind]) : 0;
}

void ncore_reg_error(struct ncore_chip *chip, enum ncore_guest_error kind,
		     enum neuron_block_kind block, unsigned int index, uint64_t rel, uint32_t value)
{
	ncore_guest_error(chip, kind, neuron_gen_offset(chip->gen, block, index) + rel, value);
}
