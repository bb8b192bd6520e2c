/* SPDX-License-Identifier: MIT */
/*
 * The chip's own map: which memory, word or register lies at a local device address. Every address
 * here came from a guest; a hole is -EFAULT. Nothing is read or written here.
 */
#include "chip.h"

#include <errno.h>

bool ncore_find(struct ncore_chip *chip, uint64_t local, struct neuron_place *at)
{
	return neuron_gen_find(chip->gen, local, at);
}

ncore_reg *ncore_kept(struct ncore_chip *chip, unsigned int index)
{
	const struct neuron_block *b = chip->gen->block;
	ncore_reg *word = chip->kept;

	for (; b->kind != NEURON_BLOCK_KEPT || index - b->first >= b->count; b++)
		if (b->kind == NEURON_BLOCK_KEPT)
			word += b->count * b->size / 4;
	return word + (index - b->first) * b->size / 4;
}

uint64_t ncore_word_offset(const struct neuron_gen *gen, const struct neuron_place *at)
{
	return at->kind == NEURON_BLOCK_TOPSP ? gen->core.events + at->rel : at->rel;
}

enum ncore_word ncore_word_kind(const struct neuron_gen *gen, const struct neuron_place *at,
				unsigned int *index, uint64_t *left)
{
	const uint32_t events = 4u * gen->target->events, sems = 4u * gen->target->semaphores;
	uint64_t rel = ncore_word_offset(gen, at), off = rel - gen->core.events;
	unsigned int access;

	*index = 0;
	if (at->kind != NEURON_BLOCK_CORE && at->kind != NEURON_BLOCK_TOPSP)
		return NCORE_WORD_NONE;
	if (off < events) {
		*index = (unsigned int)(off / 4);
		*left = events - off;
		return NCORE_WORD_EVENT;
	}
	off = rel - gen->core.semaphores;
	access = (unsigned int)(off / gen->core.sem_stride);
	off %= gen->core.sem_stride;
	if (rel < gen->core.semaphores || access > NEURON_SEM_DEC || off >= sems)
		return NCORE_WORD_NONE;
	*index = (unsigned int)(off / 4);
	*left = sems - off;
	return NCORE_WORD_SEM_READ + access;
}

static bool writable(enum ncore_word what)
{
	return what == NCORE_WORD_EVENT || what > NCORE_WORD_SEM_READ;
}

/* A word that may be written; NCORE_WORD_NONE: there is none at the address */
enum ncore_word ncore_word_written(struct ncore_chip *chip, uint64_t local, struct neuron_place *at,
				   unsigned int *index)
{
	enum ncore_word what;
	uint64_t left;

	if (local & 3 || !ncore_find(chip, local, at))
		return NCORE_WORD_NONE;
	what = ncore_word_kind(chip->gen, at, index, &left);
	return writable(what) ? what : NCORE_WORD_NONE;
}

int ncore_core_word(struct ncore_chip *chip, uint64_t local)
{
	struct neuron_place at;
	unsigned int index;

	return ncore_word_written(chip, local, &at, &index) != NCORE_WORD_NONE &&
			       at.kind == NEURON_BLOCK_CORE
		       ? (int)at.index
		       : -1;
}

int ncore_word_owner(struct ncore_chip *chip, uint64_t local)
{
	struct neuron_place at;
	unsigned int index;

	if (ncore_word_written(chip, local, &at, &index) == NCORE_WORD_NONE)
		return -1;
	return (int)(at.kind == NEURON_BLOCK_CORE ? at.index
						  : neuron_gen_topsp_core(chip->gen, at.index));
}

/* SBUF and PSUM of a core, at offset off of its window */
static bool partitions(struct ncore_chip *chip, unsigned int index, uint64_t off,
		       struct ncore_plain *p)
{
	const struct neuron_target *target = chip->gen->target;
	struct ncore_core *core = &chip->core[index];
	bool psum = off >= NEURON_PSUM_OFFSET;
	uint64_t stride = psum ? NEURON_PSUM_PART_STRIDE : NEURON_SBUF_PART_STRIDE;

	off -= psum ? NEURON_PSUM_OFFSET : 0;
	*p = (struct ncore_plain){
		.address = -off,
		.size = NEURON_PARTITIONS * stride,
		.part = psum ? target->psum_part_size : target->sbuf_part_size,
		.shift = (unsigned int)__builtin_ctzll(stride),
		.stride = psum ? chip->psum_stride : chip->sbuf_stride,
		.mem = psum ? &core->psum : &core->sbuf,
		.way = (uint8_t)(NCORE_WAY_CORE + index),
		.core = index,
	};
	p->ptr = p->mem->ptr;
	return off < p->size;
}

bool ncore_plain_find(struct ncore_chip *chip, uint64_t addr, struct ncore_plain *plain)
{
	const struct neuron_memory *mem = chip->gen->memory;
	uint64_t a = addr & ~chip->gen->window.alias, start = 0;
	struct neuron_place at;

	for (unsigned int i = 0; i < chip->gen->memories; start += mem[i++].size) {
		if (a - mem[i].address >= mem[i].size)
			continue;
		*plain = (struct ncore_plain){
			.address = addr - (a - mem[i].address),
			.size = mem[i].size,
			.part = mem[i].size,
			.shift = 63,
			.ptr = chip->dram.ptr + start,
			.mem = &chip->dram,
			.way = NCORE_WAY_DRAM,
			.core = NCORE_EP_NO_CORE,
		};
		return true;
	}
	if (!ncore_find(chip, a, &at) || at.kind != NEURON_BLOCK_CORE ||
	    !partitions(chip, at.index, at.rel, plain))
		return false;
	plain->address += addr;
	return true;
}

static int route_core(struct ncore_chip *chip, const struct neuron_place *at, struct ncore_ep *ep)
{
	const struct neuron_gen *gen = chip->gen;
	uint64_t fifos = (uint64_t)gen->target->engines * gen->core.fifo_stride;
	uint64_t off = ncore_word_offset(gen, at);
	unsigned int index;

	ep->core =
		at->kind == NEURON_BLOCK_TOPSP ? neuron_gen_topsp_core(gen, at->index) : at->index;
	ep->way = NCORE_WAY_FREE;
	if (off - gen->core.fifo < fifos) {
		off -= gen->core.fifo;
		ep->kind = NCORE_EP_FIFO;
		ep->engine = (unsigned int)(off / gen->core.fifo_stride);
		/* Writes append at whatever offset, so only the end of the window ends a run. */
		ep->len = gen->core.fifo_stride - off % gen->core.fifo_stride;
		return 0;
	}
	ep->kind = NCORE_EP_WORD;
	return ncore_word_kind(gen, at, &index, &ep->len) == NCORE_WORD_NONE ? -EFAULT : 0;
}

/* Register space is contiguous, whatever its blocks are: a copy runs to its end. */
static uint64_t regs_left(const struct neuron_gen *gen, uint64_t addr, uint64_t left)
{
	unsigned int i;

	for (i = 0; i < gen->blocks; i++)
		if (gen->block[i].kind == NEURON_BLOCK_REGS &&
		    addr - gen->block[i].address < gen->block[i].size)
			return gen->block[i].size - (addr - gen->block[i].address);
	return left;
}

int ncore_route_local(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	uint64_t a = addr & ~chip->gen->window.alias;
	struct ncore_plain plain;
	struct neuron_place at;

	ep->end = &chip->end;
	ep->addr = a;
	ep->core = NCORE_EP_NO_CORE;
	if (ncore_plain_find(chip, addr, &plain)) {
		uint64_t in = (addr - plain.address) & ((1ull << plain.shift) - 1);

		ep->kind = NCORE_EP_MEM;
		ep->way = plain.way;
		ep->core = plain.core;
		ep->mem = plain.mem;
		ep->ptr = ncore_plain_at(&plain, addr, 1);
		ep->len = plain.part - in;
		return ep->ptr ? 0 : -EFAULT;
	}
	if (!ncore_find(chip, a, &at))
		return -EFAULT;
	if (at.kind == NEURON_BLOCK_CORE || at.kind == NEURON_BLOCK_TOPSP)
		return route_core(chip, &at, ep);
	ep->kind = NCORE_EP_WORD;
	ep->way = NCORE_WAY_FREE;
	ep->len = regs_left(chip->gen, a, at.left);
	return 0;
}
