/* SPDX-License-Identifier: MIT */
/*
 * The guard (docs/hardware.md, The guard): what queues and cores of a domain may reach. A table in
 * host memory says for each page of host memory which domain it belongs to; registers say it of
 * queues and cores. Off, or for NEURON_GUARD_HOST, there are no limits.
 *
 * The executor of a strand asks before each run it copies and keeps the last run of pages it was
 * granted. A write to a register of the guard stops all strands and makes what was kept invalid, so
 * that nothing granted before it is used after it.
 */
#include "guard.h"

#include "chip.h"
#include "map.h"

#include <errno.h>

#define PAGE (1u << NEURON_GUARD_PAGE_SHIFT)
#define AHEAD 64 /* pages looked at at once */

static uint64_t root(struct ncore_chip *chip)
{
	return (uint64_t)ncore_load(&chip->guard.root[1]) << 32 | ncore_load(&chip->guard.root[0]);
}

static bool table_read(struct ncore_chip *chip, uint64_t addr, void *buf, uint64_t len)
{
	return !chip->ops->dma_rw(chip->cfg.opaque, addr, buf, len, false);
}

/* An entry of a directory: the address of the next level, 0 for none */
static uint64_t entry(struct ncore_chip *chip, uint64_t table, uint64_t index)
{
	uint8_t e[8];

	return table && table_read(chip, table + index * sizeof(e), e, sizeof(e))
		       ? ncore_get64(e) & ~(uint64_t)(PAGE - 1)
		       : 0;
}

/* The number of pages from addr's on that belong to the domain, in the stretch that is looked at */
static unsigned int granted(struct ncore_chip *chip, uint8_t domain, uint64_t addr)
{
	uint64_t leaf = entry(chip, root(chip), addr >> NEURON_GUARD_ROOT_SHIFT), n, at;
	uint8_t owner[AHEAD];
	unsigned int i;

	leaf = entry(chip, leaf, (addr >> NEURON_GUARD_MID_SHIFT) % NEURON_GUARD_MID_ENTRIES);
	at = (addr >> NEURON_GUARD_PAGE_SHIFT) % NEURON_GUARD_LEAF_ENTRIES;
	n = NEURON_GUARD_LEAF_ENTRIES - at;
	if (n > AHEAD)
		n = AHEAD;
	if (!leaf || !table_read(chip, leaf + at, owner, n))
		return 0;
	for (i = 0; i < n && owner[i] == domain; i++)
		;
	return i;
}

/* The number of bytes, at most len, from a host address on that the domain may reach */
static uint64_t host_bytes(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
			   uint64_t addr, uint64_t len)
{
	uint32_t generation = ncore_load(&chip->guard.generation);

	if (hit->generation != generation || hit->domain != domain ||
	    addr - hit->start >= hit->size) {
		hit->generation = generation;
		hit->domain = domain;
		hit->start = addr & ~(uint64_t)(PAGE - 1);
		hit->size = (uint64_t)granted(chip, domain, addr) * PAGE;
		if (!hit->size)
			return 0;
	}
	addr -= hit->start;
	return len < hit->size - addr ? len : hit->size - addr;
}

bool ncore_guard_core(struct ncore_chip *chip, uint8_t domain, unsigned int core)
{
	return domain == NEURON_GUARD_HOST || !atomic_load(&chip->guard.on) ||
	       (domain && ncore_load(&chip->guard.core[core]) == domain);
}

bool ncore_guard_memory(struct ncore_chip *chip, uint8_t domain, unsigned int core)
{
	return core == NCORE_EP_NO_CORE ? domain != NEURON_GUARD_NONE
					: ncore_guard_core(chip, domain, core);
}

uint8_t ncore_guard_core_domain(struct ncore_chip *chip, unsigned int core)
{
	return atomic_load(&chip->guard.on) ? (uint8_t)ncore_load(&chip->guard.core[core])
					    : NEURON_GUARD_HOST;
}

uint8_t ncore_guard_queue_domain(struct ncore_chip *chip, struct ncore_queue *q)
{
	return atomic_load(&chip->guard.on) ? atomic_load(&q->domain) : NEURON_GUARD_HOST;
}

int ncore_guard_ep(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		   const struct ncore_ep *ep, uint64_t *len)
{
	uint64_t n;

	if (domain == NEURON_GUARD_HOST)
		return 0;
	if (ep->kind == NCORE_EP_HOST) {
		n = domain ? host_bytes(chip, domain, hit, ep->addr, *len) : 0;
		*len = n < *len ? n : *len;
		return n ? 0 : -EACCES;
	}
	return ep->end->ops->granted(ep->end, domain, ep) ? 0 : -EACCES;
}

bool ncore_guard_whole(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		       const struct ncore_ep *ep, uint64_t len)
{
	struct ncore_ep part = *ep;
	uint64_t n;

	for (; len && domain != NEURON_GUARD_HOST; len -= n, part.addr += n) {
		n = len;
		if (ncore_guard_ep(chip, domain, hit, &part, &n))
			return false;
	}
	return true;
}

bool ncore_guard_word(struct ncore_chip *chip, uint8_t domain, uint64_t local)
{
	struct neuron_place at;
	struct ncore_queue *q;
	int core;

	if (domain == NEURON_GUARD_HOST)
		return true;
	core = ncore_word_owner(chip, local);
	if (core >= 0)
		return ncore_guard_core(chip, domain, (unsigned int)core);
	if (!ncore_find(chip, local, &at) || at.kind != NEURON_BLOCK_UDMA ||
	    !ncore_udma_is_doorbell((uint32_t)at.rel))
		return false;
	q = ncore_udma_queue(chip, at.index, (uint32_t)at.rel);
	return domain && q && atomic_load(&q->domain) == domain;
}
