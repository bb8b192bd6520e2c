/* SPDX-License-Identifier: MIT */
/*
 * The BARs: which block a register belongs to. Called by the host's MMIO (ncore.h), by the mailbox
 * and by descriptors that reach APB space.
 */
#include "chip.h"

#include <errno.h>
#include <string.h>

enum block { B_NONE, B_TDMA, B_UDMA, B_PUTILS, B_MISC, B_OURS };

static enum block decode(uint64_t off, unsigned int *index, uint32_t *rel)
{
	unsigned int nc = (unsigned int)(off >> 20);
	uint32_t in = off & 0xfffff;

	if (off - NEURON_V1_APB_PUTILS(0) < NCORE_CORES * NEURON_V1_APB_PUTILS_SIZE) {
		off -= NEURON_V1_APB_PUTILS(0);
		*index = (unsigned int)(off / NEURON_V1_APB_PUTILS_SIZE);
		*rel = off % NEURON_V1_APB_PUTILS_SIZE;
		return B_PUTILS;
	}
	if (off - NEURON_V1_APB_MISC_RAM < NEURON_V1_APB_MISC_RAM_SIZE) {
		*rel = (uint32_t)(off - NEURON_V1_APB_MISC_RAM);
		return B_MISC;
	}
	if (off - NEURON_OURS_BAR0_OFFSET < NEURON_OURS_BAR0_SIZE) {
		*rel = (uint32_t)(off - NEURON_OURS_BAR0_OFFSET);
		return B_OURS;
	}
	if (nc >= NCORE_CORES)
		return B_NONE;
	if (in < NEURON_V1_APB_TDMA(0, NEURON_V1_DMA_ENG_PER_NC)) {
		*index = nc * NEURON_V1_DMA_ENG_PER_NC + in / 0x1000;
		*rel = in % 0x1000;
		return B_TDMA;
	}
	in -= NEURON_V1_APB_UDMA(0);
	if (in >= NEURON_V1_DMA_ENG_PER_NC * 0x40000 || in % 0x40000 >= NEURON_UDMA_SIZE)
		return B_NONE;
	*index = nc * NEURON_V1_DMA_ENG_PER_NC + in / 0x40000;
	*rel = in % 0x40000;
	return B_UDMA;
}

int ncore_udma_decode(uint64_t offset, uint32_t *rel)
{
	unsigned int engine;

	return decode(offset, &engine, rel) == B_UDMA ? (int)engine : -1;
}

static ncore_reg *plain_word(struct ncore_chip *chip, enum block b, unsigned int index,
			     uint32_t rel)
{
	if (b == B_TDMA && rel < sizeof(chip->udma[0].tdma))
		return &chip->udma[index].tdma[rel / 4];
	if (b == B_PUTILS && rel < sizeof(chip->core[0].putils))
		return &chip->core[index].putils[rel / 4];
	return NULL;
}

uint32_t ncore_apb_read(struct ncore_chip *chip, uint64_t offset)
{
	unsigned int index = 0;
	uint32_t rel = 0;
	enum block b = decode(offset & ~3ull, &index, &rel);
	ncore_reg *word;

	switch (b) {
	case B_UDMA:
		return ncore_udma_read(chip, index, rel);
	case B_MISC:
		return ncore_misc_read(chip, rel);
	case B_OURS:
		return ncore_ours_read(chip, rel);
	default:
		word = plain_word(chip, b, index, rel);
		return word ? ncore_load(word) : 0;
	}
}

void ncore_apb_write(struct ncore_chip *chip, uint64_t offset, uint32_t value)
{
	unsigned int index = 0;
	uint32_t rel = 0;
	enum block b = decode(offset, &index, &rel);
	ncore_reg *word;

	switch (b) {
	case B_UDMA:
		ncore_udma_write(chip, index, rel, value);
		return;
	case B_MISC:
		ncore_misc_write(chip, rel, value);
		return;
	case B_OURS:
		if (!ncore_ours_write(chip, rel, value))
			ncore_guest_error(chip, NCORE_GE_UNDEFINED, offset, value);
		return;
	default:
		word = plain_word(chip, b, index, rel);
		if (!word) {
			ncore_guest_error(chip, NCORE_GE_UNDEFINED, offset, value);
			return;
		}
		ncore_store(word, value);
		if (b == B_PUTILS)
			ncore_nq_reg_written(chip, index, rel);
	}
}

int ncore_apb_post(struct ncore_chip *chip, struct ncore_lane *lane, uint64_t offset,
		   uint32_t value, uint64_t time)
{
	unsigned int index = 0;
	uint32_t rel = 0;
	enum block b = decode(offset, &index, &rel);

	if (b == B_UDMA && ncore_udma_is_doorbell(rel)) {
		pthread_mutex_lock(&chip->lock);
		ncore_udma_ring(chip, lane, index, rel, value, time);
		pthread_mutex_unlock(&chip->lock);
		return 0;
	}
	if (b == B_MISC && ncore_misc_plain(rel)) {
		ncore_store(&chip->misc[rel / 4], value);
		return 0;
	}
	ncore_guest_error(chip, NCORE_GE_UNSUPPORTED, offset, value);
	return -EACCES;
}

/* BAR2: the cores' windows */

static uint64_t axi_read(struct ncore_chip *chip, uint64_t off, unsigned int size)
{
	uint64_t local = NEURON_V1_TPB_BASE + off;
	uint8_t buf[8] = { 0 };
	struct ncore_ep ep;
	uint64_t word;

	if (ncore_route_local(chip, local, &ep))
		return 0;
	if (ep.kind == NCORE_EP_MEM) {
		memcpy(buf, ep.ptr, size < ep.len ? size : ep.len);
		return ncore_get64(buf);
	}
	if (ep.kind != NCORE_EP_WORD)
		return 0;
	if (atomic_load(&chip->lane[ep.core].inbox.count)) {
		pthread_mutex_lock(&chip->lock);
		ncore_lane_sync(&chip->lane[ep.core]);
		pthread_mutex_unlock(&chip->lock);
	}
	word = ncore_word_read(chip, local & ~3ull);
	if (size == 8 && ep.len >= 8)
		word |= (uint64_t)ncore_word_read(chip, (local & ~3ull) + 4) << 32;
	return word >> 8 * (local & 3);
}

static void axi_write_word(struct ncore_chip *chip, uint64_t local, uint32_t value)
{
	int core = ncore_core_word(local);
	struct ncore_lane *lane;

	if (core < 0) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, local, value);
		return;
	}
	lane = &chip->lane[core];
	pthread_mutex_lock(&chip->lock);
	ncore_lane_stop(lane);
	ncore_lane_drain(lane);
	ncore_core_word_write(lane, local, value, 0);
	ncore_lane_start(lane);
	pthread_mutex_unlock(&chip->lock);
}

static void axi_write(struct ncore_chip *chip, uint64_t off, unsigned int size, uint64_t value)
{
	uint64_t local = NEURON_V1_TPB_BASE + off;
	struct ncore_ep ep;
	uint8_t buf[8];

	if (ncore_route_local(chip, local, &ep)) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, local, value);
	} else if (ep.kind == NCORE_EP_MEM) {
		ncore_put64(buf, value);
		if (size > ep.len)
			size = (unsigned int)ep.len;
		memcpy(ep.ptr, buf, size);
		ncore_mem_dirty(chip, ep.mem, ep.ptr, size);
	} else if (ep.kind == NCORE_EP_FIFO) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, local, value);
		ncore_notify(chip, ep.core, NEURON_NQ_ERROR, ep.engine, NEURON_NERR_FIFO_WRITE, 0,
			     local, size, 0);
	} else if (size < 4 || local & 3) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, local, value);
	} else {
		axi_write_word(chip, local, (uint32_t)value);
		if (size == 8)
			axi_write_word(chip, local + 4, (uint32_t)(value >> 32));
	}
}

static void apb_mmio_write(struct ncore_chip *chip, uint64_t off, unsigned int size, uint64_t value)
{
	if (size < 4 || off & 3) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, off, value);
		return;
	}
	pthread_mutex_lock(&chip->lock);
	ncore_apb_write(chip, off, (uint32_t)value);
	if (size == 8 && off + 4 < NEURON_V1_BAR0_SIZE)
		ncore_apb_write(chip, off + 4, (uint32_t)(value >> 32));
	pthread_mutex_unlock(&chip->lock);
}

static uint64_t apb_mmio_read(struct ncore_chip *chip, uint64_t off, unsigned int size)
{
	uint64_t v = ncore_apb_read(chip, off);

	if (size == 8 && off + 4 < NEURON_V1_BAR0_SIZE)
		v |= (uint64_t)ncore_apb_read(chip, off + 4) << 32;
	return v >> 8 * (off & 3);
}

static bool access_ok(uint64_t offset, unsigned int size, uint64_t limit)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) && offset < limit &&
	       size <= limit - offset;
}

static uint64_t bar_size(unsigned int bar)
{
	switch (bar) {
	case NEURON_BAR_APB:
		return NEURON_V1_BAR0_SIZE;
	case NEURON_BAR_AXI:
		return NEURON_V1_BAR2_SIZE;
	case NEURON_BAR_DRAM:
		return NCORE_DRAM_SIZE;
	default:
		return 0;
	}
}

uint64_t ncore_mmio_read(struct ncore_chip *chip, unsigned int bar, uint64_t offset,
			 unsigned int size)
{
	uint8_t buf[8] = { 0 };
	uint64_t v;

	if (!access_ok(offset, size, bar_size(bar)))
		return 0;
	if (bar == NEURON_BAR_APB) {
		v = apb_mmio_read(chip, offset, size);
	} else if (bar == NEURON_BAR_AXI) {
		v = axi_read(chip, offset, size);
	} else {
		memcpy(buf, chip->dram.ptr + offset, size);
		v = ncore_get64(buf);
	}
	if (size < 8)
		v &= (1ull << 8 * size) - 1;
	ncore_event(chip, NCORE_EV_MMIO_READ, bar, offset, size, v);
	return v;
}

void ncore_mmio_write(struct ncore_chip *chip, unsigned int bar, uint64_t offset, unsigned int size,
		      uint64_t value)
{
	uint8_t buf[8];

	if (!access_ok(offset, size, bar_size(bar)))
		return;
	ncore_event(chip, NCORE_EV_MMIO_WRITE, bar, offset, size, value);
	if (bar == NEURON_BAR_APB) {
		apb_mmio_write(chip, offset, size, value);
	} else if (bar == NEURON_BAR_AXI) {
		axi_write(chip, offset, size, value);
	} else {
		ncore_put64(buf, value);
		memcpy(chip->dram.ptr + offset, buf, size);
		ncore_mem_dirty(chip, &chip->dram, chip->dram.ptr + offset, size);
	}
}
