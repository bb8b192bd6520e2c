/* SPDX-License-Identifier: MIT */
/*
 * The host's reads and writes of the BARs (ncore.h): registers, the windows of cores and TOP_SPs,
 * memory.
 */
#include "event.h"
#include "map.h"
#include "notify.h"
#include "word.h"

#include <string.h>

/* The windows of cores and TOP_SPs */

static uint32_t host_read_word(struct ncore_chip *chip, uint64_t local)
{
	uint32_t value = ncore_word_read(chip, local);

	ncore_word_seen(chip, local);
	return value;
}

static uint64_t core_read(struct ncore_chip *chip, uint64_t local, unsigned int size)
{
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
	if (atomic_load(&chip->strand[ep.core].inbox.count)) {
		pthread_mutex_lock(&chip->lock);
		ncore_strand_sync(&chip->strand[ep.core]);
		pthread_mutex_unlock(&chip->lock);
	}
	word = host_read_word(chip, local & ~3ull);
	if (size == 8 && ep.len >= 8)
		word |= (uint64_t)host_read_word(chip, (local & ~3ull) + 4) << 32;
	return word >> 8 * (local & 3);
}

static void core_write_word(struct ncore_chip *chip, uint64_t local, uint32_t value)
{
	int core = ncore_core_word(chip, local);
	struct ncore_strand *strand;

	if (core < 0) {
		if (ncore_topsp_word_write(chip, local, value, 0, NCORE_BY_HOST))
			ncore_guest_error(chip, NCORE_GE_UNDEFINED, local, value);
		return;
	}
	strand = &chip->strand[core];
	pthread_mutex_lock(&chip->lock);
	ncore_strand_stop(strand);
	ncore_strand_drain(strand);
	ncore_core_word_write(strand, local, value, 0, NCORE_BY_HOST);
	ncore_strand_start(strand);
	pthread_mutex_unlock(&chip->lock);
}

static void core_write(struct ncore_chip *chip, uint64_t local, unsigned int size, uint64_t value)
{
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
		core_write_word(chip, local, (uint32_t)value);
		if (size == 8)
			core_write_word(chip, local + 4, (uint32_t)(value >> 32));
	}
}

/* Registers, which are 32 bits wide; the second half of 64 may lie in another block */

static void regs_write(struct ncore_chip *chip, unsigned int bar, uint64_t off, unsigned int size,
		       uint64_t value)
{
	struct neuron_place at;

	if (size < 4 || off & 3) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, off, value);
		return;
	}
	pthread_mutex_lock(&chip->lock);
	if (neuron_gen_decode(chip->gen, bar, off, &at))
		ncore_reg_write(chip, &at, (uint32_t)value);
	if (size == 8 && neuron_gen_decode(chip->gen, bar, off + 4, &at))
		ncore_reg_write(chip, &at, (uint32_t)(value >> 32));
	pthread_mutex_unlock(&chip->lock);
}

static uint64_t regs_read(struct ncore_chip *chip, unsigned int bar, uint64_t off,
			  unsigned int size)
{
	struct neuron_place at;
	uint64_t v = 0;

	if (neuron_gen_decode(chip->gen, bar, off, &at))
		v = ncore_reg_read(chip, &at);
	if (size == 8 && neuron_gen_decode(chip->gen, bar, off + 4, &at))
		v |= (uint64_t)ncore_reg_read(chip, &at) << 32;
	return v >> 8 * (off & 3);
}

static bool access_ok(uint64_t offset, unsigned int size, uint64_t limit)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) && offset < limit &&
	       size <= limit - offset;
}

/* Device address of what a window shows at an offset of a BAR; false: no core's or TOP_SP's */
static bool core_local(struct ncore_chip *chip, unsigned int bar, uint64_t off, uint64_t *local)
{
	struct neuron_place at;

	if (!neuron_gen_decode(chip->gen, bar, off, &at) ||
	    (at.kind != NEURON_BLOCK_CORE && at.kind != NEURON_BLOCK_TOPSP))
		return false;
	*local = neuron_gen_address(chip->gen, at.kind, at.index) + at.rel;
	return true;
}

/* size bytes at an offset of the DRAM BAR; NULL: they are not of one memory */
static uint8_t *dram_at(struct ncore_chip *chip, uint64_t offset, unsigned int size)
{
	const struct neuron_memory *mem = chip->gen->memory;
	uint64_t start = 0;

	for (unsigned int i = 0; i < chip->gen->memories; start += mem[i++].size)
		if (offset - mem[i].offset < mem[i].size)
			return size <= mem[i].size - (offset - mem[i].offset)
				       ? chip->dram.ptr + start + (offset - mem[i].offset)
				       : NULL;
	return NULL;
}

uint64_t ncore_mmio_read(struct ncore_chip *chip, unsigned int bar, uint64_t offset,
			 unsigned int size)
{
	uint8_t buf[8] = { 0 }, *dram;
	uint64_t v, local;

	if (bar > 5 || !access_ok(offset, size, chip->gen->bar_size[bar]))
		return 0;
	if (bar == chip->gen->bar_dram) {
		dram = dram_at(chip, offset, size);
		if (dram)
			memcpy(buf, dram, size);
		v = ncore_get64(buf);
	} else if (core_local(chip, bar, offset, &local)) {
		v = core_read(chip, local, size);
	} else {
		v = regs_read(chip, bar, offset, size);
	}
	if (size < 8)
		v &= (1ull << 8 * size) - 1;
	ncore_event(chip, NCORE_EV_MMIO_READ, bar, offset, size, v);
	return v;
}

void ncore_mmio_write(struct ncore_chip *chip, unsigned int bar, uint64_t offset, unsigned int size,
		      uint64_t value)
{
	uint8_t buf[8], *dram;
	uint64_t local;

	if (bar > 5 || !access_ok(offset, size, chip->gen->bar_size[bar]))
		return;
	ncore_event(chip, NCORE_EV_MMIO_WRITE, bar, offset, size, value);
	if (bar == chip->gen->bar_dram) {
		dram = dram_at(chip, offset, size);
		ncore_put64(buf, value);
		if (dram) {
			memcpy(dram, buf, size);
			ncore_mem_dirty(chip, &chip->dram, dram, size);
		}
	} else if (core_local(chip, bar, offset, &local)) {
		core_write(chip, local, size, value);
	} else {
		regs_write(chip, bar, offset, size, value);
	}
}
