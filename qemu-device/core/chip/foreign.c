/* SPDX-License-Identifier: MIT */
/*
 * What stands in a slot for a chip of another process: memory that both map, and writes of words
 * that the process sends. It may show and go at any time; the fabric's lock is what accesses in
 * flight hold.
 */
#include "fabric.h"
#include "map.h"
#include "neuron/hw/firmware.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ncore_foreign {
	struct ncore_end end;
	struct ncore_foreign_config cfg;
	_Atomic(uint8_t *) dram;
	_Atomic(const _Atomic uint32_t *) misc;
};

static struct ncore_foreign *foreign_of(struct ncore_end *end)
{
	return (struct ncore_foreign *)((char *)end - offsetof(struct ncore_foreign, end));
}

static bool foreign_up(struct ncore_end *end)
{
	return true;
}

static bool foreign_port_up(struct ncore_end *end, unsigned int port)
{
	return true;
}

static void foreign_links(struct ncore_end *end, uint32_t up)
{
}

/* An address in the device's memories, as the DRAM BAR has them; false: none of them is there */
static bool memory_at(const struct neuron_gen *gen, uint64_t addr, uint64_t *offset, uint64_t *left)
{
	uint64_t before = 0, in;
	unsigned int i;

	for (i = 0; i < gen->memories; before += gen->memory[i++].size) {
		in = addr - gen->memory[i].address;
		if (in >= gen->memory[i].size)
			continue;
		*offset = before + in;
		*left = gen->memory[i].size - in;
		return true;
	}
	return false;
}

static int foreign_route(struct ncore_end *end, uint64_t addr, struct ncore_ep *ep)
{
	const struct neuron_gen *gen = foreign_of(end)->cfg.gen;
	const uint64_t a = addr & ~gen->window.alias;
	enum ncore_word what;
	struct neuron_place at;
	unsigned int index;

	ep->end = end;
	ep->core = NCORE_EP_NO_CORE;
	ep->kind = NCORE_EP_REMOTE;
	if (memory_at(gen, a, &ep->addr, &ep->len))
		return 0;
	ep->kind = NCORE_EP_WORD;
	ep->addr = a;
	if (!neuron_gen_find(gen, a, &at))
		return -EFAULT;
	if (at.kind == NEURON_BLOCK_MISC) {
		ep->len = at.left;
		return 0;
	}
	what = ncore_word_kind(gen, &at, &index, &ep->len);
	return what == NCORE_WORD_NONE ? -EFAULT : 0;
}

static int foreign_rw(struct ncore_end *end, const struct ncore_ep *ep, void *buf, uint64_t len,
		      bool write)
{
	uint8_t *dram = atomic_load(&foreign_of(end)->dram);

	if (!dram)
		return -EFAULT;
	if (write)
		ncore_mem_copy(dram + ep->addr, buf, len);
	else
		memcpy(buf, dram + ep->addr, len);
	return 0;
}

static uint32_t foreign_word_read(struct ncore_end *end, uint64_t addr)
{
	struct ncore_foreign *f = foreign_of(end);
	const _Atomic uint32_t *misc = atomic_load(&f->misc);
	struct neuron_place at;

	if (!misc || !neuron_gen_find(f->cfg.gen, addr, &at) || at.kind != NEURON_BLOCK_MISC)
		return NEURON_NO_ANSWER;
	return atomic_load(&misc[at.rel / 4]);
}

static int foreign_word_write(struct ncore_end *end, uint64_t addr, uint32_t value, uint64_t time)
{
	struct ncore_foreign *f = foreign_of(end);
	enum ncore_word what;
	struct neuron_place at;
	unsigned int index;
	uint64_t left;

	if (!neuron_gen_find(f->cfg.gen, addr, &at))
		return -EACCES;
	what = ncore_word_kind(f->cfg.gen, &at, &index, &left);
	if (what == NCORE_WORD_NONE || what == NCORE_WORD_SEM_READ)
		return -EACCES;
	return f->cfg.write(f->cfg.opaque, f->end.slot, addr, value, time);
}

/* As a chip's guard grants DRAM; of words its owner decides, when they have come */
static bool foreign_granted(struct ncore_end *end, uint8_t domain, const struct ncore_ep *ep)
{
	return domain != NEURON_GUARD_NONE;
}

static bool foreign_word_granted(struct ncore_end *end, uint8_t domain, uint64_t addr)
{
	return domain != NEURON_GUARD_NONE;
}

static const struct ncore_end_ops foreign_ops = {
	.up = foreign_up,
	.port_up = foreign_port_up,
	.links = foreign_links,
	.route = foreign_route,
	.rw = foreign_rw,
	.word_read = foreign_word_read,
	.word_write = foreign_word_write,
	.granted = foreign_granted,
	.word_granted = foreign_word_granted,
};

int ncore_foreign_new(const struct ncore_foreign_config *config, struct ncore_foreign **out)
{
	struct ncore_foreign *f;
	int ret;

	if (!config->gen || !config->fabric || !config->write)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->cfg = *config;
	f->end = (struct ncore_end){ &foreign_ops, config->slot, config->gen->window.ports };
	ret = ncore_fabric_attach(config->fabric, &f->end);
	if (ret) {
		free(f);
		return ret;
	}
	*out = f;
	return 0;
}

void ncore_foreign_show(struct ncore_foreign *f, void *dram, const _Atomic uint32_t *misc)
{
	atomic_store(&f->dram, dram);
	atomic_store(&f->misc, misc);
	ncore_fabric_sync(f->cfg.fabric, &f->end);
}

void ncore_foreign_free(struct ncore_foreign *f)
{
	if (!f)
		return;
	ncore_fabric_detach(f->cfg.fabric, &f->end);
	free(f);
}
