/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: what lies at an address of the chip's own map (map.c): memories,
 * words of cores and TOP_SPs, registers. Nothing here reads or writes what lies there.
 */
#ifndef NCORE_MAP_H
#define NCORE_MAP_H

#include "bytes.h"
#include "fabric.h"
#include "memory.h"

/* One of the chip's memories as device addresses see it: parts of equal size at equal distances */
struct ncore_plain {
	uint64_t address, size; /* of all parts, with what lies between */
	uint64_t part; /* bytes of each */
	unsigned int shift; /* log2 of the distance in addresses */
	uint64_t stride; /* the distance in bytes of the host */
	uint8_t *ptr;
	struct ncore_mem *mem;
	uint8_t way; /* NCORE_WAY_* */
	unsigned int core; /* NCORE_EP_NO_CORE: DRAM */
};

/* False: none of the chip's memories lies there, as behind a window */
bool ncore_plain_find(struct ncore_chip *chip, uint64_t addr, struct ncore_plain *plain);
/* len bytes in one part, or NULL */
static inline uint8_t *ncore_plain_at(const struct ncore_plain *p, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - p->address, in = off & ((1ull << p->shift) - 1);

	return off < p->size && in < p->part && len <= p->part - in
		       ? p->ptr + (off >> p->shift) * p->stride + in
		       : NULL;
}

/* The block that a local device address lies in; false: in none */
bool ncore_find(struct ncore_chip *chip, uint64_t local, struct neuron_place *at);
/* addr in chip's own map, no window bits but aliases; 0 or -EFAULT */
int ncore_route_local(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep);
/* Words of block number index of those that only hold what was written */
ncore_reg *ncore_kept(struct ncore_chip *chip, unsigned int index);

/* The kind of a word in a core's window, or a TOP_SP's */
enum ncore_word {
	NCORE_WORD_NONE,
	NCORE_WORD_EVENT,
	NCORE_WORD_SEM_READ,
	NCORE_WORD_SEM_SET,
	NCORE_WORD_SEM_INC,
	NCORE_WORD_SEM_DEC,
};

/* A TOP_SP's window is what a core's is from its events on: the offset in a core's */
uint64_t ncore_word_offset(const struct neuron_gen *gen, const struct neuron_place *at);
/* *index: its number; *left: bytes of its array from there on */
enum ncore_word ncore_word_kind(const struct neuron_gen *gen, const struct neuron_place *at,
				unsigned int *index, uint64_t *left);

/* The kind of a word that may be written; NCORE_WORD_NONE: there is none at the address */
enum ncore_word ncore_word_written(struct ncore_chip *chip, uint64_t local, struct neuron_place *at,
				   unsigned int *index);
/* The core of a semaphore or event word that may be written, or -1 */
int ncore_core_word(struct ncore_chip *chip, uint64_t local);
/* The core of such a word, or of the TOP_SP that has it; or -1 */
int ncore_word_owner(struct ncore_chip *chip, uint64_t local);

#endif
