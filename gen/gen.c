// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Figures that follow from the description of a generation: places of blocks, queues, owners. */
#include "neuron/hw/gen.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#define NOWHERE (~(uint64_t)0)

static const struct neuron_gen *const generations[] = {
	&neuron_gen_inferentia,
	&neuron_gen_trainium,
	&neuron_gen_inferentia2,
	&neuron_gen_trainium2,
};

/* The compiler's targets: families of instances, by the chip that they have */
static const struct {
	const char *name;
	const struct neuron_gen *gen;
} targets[] = {
	{ "inf1", &neuron_gen_inferentia }, { "inf2", &neuron_gen_inferentia2 },
	{ "trn1", &neuron_gen_trainium },   { "trn1n", &neuron_gen_trainium },
	{ "trn2", &neuron_gen_trainium2 },
};

const struct neuron_gen *neuron_gen_of_pci(uint16_t device)
{
	unsigned int i, k;

	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		for (k = 0; k < generations[i]->pci_ids; k++)
			if (generations[i]->pci_id[k] == device)
				return generations[i];
	return NULL;
}

const struct neuron_target *neuron_target_of_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(targets[i].name, name))
			return targets[i].gen->target;
	return NULL;
}

static const struct neuron_block *block_of(const struct neuron_gen *gen,
					   enum neuron_block_kind kind, unsigned int index)
{
	unsigned int i;

	for (i = 0; i < gen->blocks; i++) {
		const struct neuron_block *b = &gen->block[i];

		if (b->kind == kind && index >= b->first && index - b->first < b->count)
			return b;
	}
	return NULL;
}

const struct neuron_block *neuron_gen_block(const struct neuron_gen *gen,
					    enum neuron_block_kind kind)
{
	return block_of(gen, kind, 0);
}

uint64_t neuron_gen_address(const struct neuron_gen *gen, enum neuron_block_kind kind,
			    unsigned int index)
{
	const struct neuron_block *b = block_of(gen, kind, index);

	return b ? b->address + (index - b->first) * b->stride : NOWHERE;
}

uint64_t neuron_gen_offset(const struct neuron_gen *gen, enum neuron_block_kind kind,
			   unsigned int index)
{
	const struct neuron_block *b = block_of(gen, kind, index);

	return b ? b->offset + (index - b->first) * b->stride : NOWHERE;
}

/* Does at, counted from where the first of the blocks begins, fall into one of them? */
static bool in_block(const struct neuron_block *b, uint64_t at, struct neuron_place *place)
{
	uint64_t n = 0, rel = at;

	/* mostly the first, or none: no division */
	if (at >= b->size) {
		if (at >= b->stride * b->count)
			return false;
		n = at / b->stride;
		rel = at % b->stride;
	}
	if (n >= b->count || rel >= b->size)
		return false;
	place->kind = b->kind;
	place->index = b->first + (unsigned int)n;
	place->rel = rel;
	place->left = b->size - rel;
	return true;
}

bool neuron_gen_find(const struct neuron_gen *gen, uint64_t address, struct neuron_place *place)
{
	unsigned int i;

	for (i = 0; i < gen->blocks; i++)
		if (in_block(&gen->block[i], address - gen->block[i].address, place))
			return true;
	return false;
}

bool neuron_gen_decode(const struct neuron_gen *gen, unsigned int bar, uint64_t offset,
		       struct neuron_place *place)
{
	unsigned int i;

	for (i = 0; i < gen->blocks; i++)
		if (gen->block[i].bar == bar &&
		    in_block(&gen->block[i], offset - gen->block[i].offset, place))
			return true;
	return false;
}

uint64_t neuron_gen_memory_start(const struct neuron_gen *gen, unsigned int memory)
{
	uint64_t size = 0;
	unsigned int i;

	for (i = 0; i < memory; i++)
		size += gen->memory[i].size;
	return size;
}

uint64_t neuron_gen_memory(const struct neuron_gen *gen)
{
	return neuron_gen_memory_start(gen, gen->memories);
}

unsigned int neuron_gen_dma_core(const struct neuron_gen *gen, unsigned int engine)
{
	unsigned int nc;

	if (engine < gen->cores * gen->dma_engines_per_core)
		return engine / gen->dma_engines_per_core;
	for (nc = 0; nc + 1 < gen->cores; nc++)
		if (gen->copy[nc].engine == engine)
			break;
	return nc;
}

unsigned int neuron_gen_queue_core(const struct neuron_gen *gen, unsigned int engine,
				   unsigned int queue)
{
	unsigned int nc;

	for (nc = 0; nc < gen->cores; nc++)
		if (gen->copy[nc].engine == engine && gen->copy[nc].queue == queue)
			return nc;
	return neuron_gen_dma_core(gen, engine);
}

bool neuron_gen_is_copy_queue(const struct neuron_gen *gen, unsigned int engine, unsigned int queue)
{
	unsigned int nc;

	for (nc = 0; nc < gen->cores; nc++)
		if (gen->copy[nc].engine == engine && gen->copy[nc].queue == queue)
			return true;
	return false;
}

bool neuron_gen_is_copy_engine(const struct neuron_gen *gen, unsigned int engine)
{
	unsigned int nc;

	for (nc = 0; nc < gen->cores; nc++)
		if (gen->copy[nc].engine == engine)
			return true;
	return false;
}

unsigned int neuron_gen_route(const struct neuron_gen *gen, unsigned int index)
{
	if (!gen->routing)
		return index;
	return gen->routing[index % NEURON_ROUTES] + index / NEURON_ROUTES * NEURON_ROUTES;
}

unsigned int neuron_gen_index_of_route(const struct neuron_gen *gen, unsigned int route)
{
	unsigned int first = route / NEURON_ROUTES * NEURON_ROUTES, i;

	for (i = 0; i < NEURON_ROUTES; i++)
		if (neuron_gen_route(gen, first + i) == route)
			return first + i;
	return route;
}

uint64_t neuron_gen_far_window(const struct neuron_gen *gen, unsigned int index)
{
	const struct neuron_windows *w = &gen->window;
	const uint64_t route = neuron_gen_route(gen, index), unit = w->far_id & -w->far_id;

	return w->far && route <= w->far_id / unit ? w->far | route * unit : 0;
}

int neuron_gen_far_index(const struct neuron_gen *gen, uint64_t window)
{
	const struct neuron_windows *w = &gen->window;

	if (!w->far || (window & ~w->far_id) != w->far)
		return -1;
	return (int)neuron_gen_index_of_route(
		gen, (unsigned int)((window & w->far_id) / (w->far_id & -w->far_id)));
}

static const struct neuron_shape *shape_of(const struct neuron_gen *gen, unsigned int chips)
{
	unsigned int i;

	for (i = 0; i < gen->shapes; i++)
		if (chips == gen->shape[i].chips ||
		    (chips && gen->shape[i].repeats && chips % gen->shape[i].chips == 0))
			return &gen->shape[i];
	return NULL;
}

unsigned int neuron_gen_neighbours(const struct neuron_gen *gen, unsigned int chips,
				   unsigned int index, int id[NEURON_PORTS_MAX])
{
	const struct neuron_shape *shape = shape_of(gen, chips);
	unsigned int i, n = 0, other;

	for (i = 0; i < NEURON_PORTS_MAX; i++)
		id[i] = -1;
	for (i = 0; shape && i < shape->ports; i++) {
		other = shape->neighbour[index % shape->chips * shape->ports + i];
		if (other != NEURON_NO_NEIGHBOUR)
			id[n++] = (int)(index / shape->chips * shape->chips + other);
	}
	return n;
}

unsigned int neuron_gen_topsps(const struct neuron_gen *gen)
{
	return (unsigned int)gen->cores * gen->topsps_per_core;
}

unsigned int neuron_gen_topsp_core(const struct neuron_gen *gen, unsigned int topsp)
{
	return topsp / gen->topsps_per_core;
}

int neuron_gen_topsp_of_kept(const struct neuron_gen *gen, unsigned int index)
{
	return index - gen->kept_topsp < neuron_gen_topsps(gen) ? (int)(index - gen->kept_topsp)
								: -1;
}

static uint32_t reset_bit(const struct neuron_gen *gen, unsigned int topsp)
{
	return 1u << (gen->topsp_reset + topsp / gen->topsps_per_reset);
}

bool neuron_gen_resets_topsp(const struct neuron_gen *gen, uint32_t map, unsigned int topsp)
{
	return map & reset_bit(gen, topsp);
}

uint32_t neuron_gen_reset_map(const struct neuron_gen *gen, uint32_t cores)
{
	uint32_t map = cores;
	unsigned int i;

	for (i = 0; i < neuron_gen_topsps(gen); i++)
		if (cores >> neuron_gen_topsp_core(gen, i) & 1)
			map |= reset_bit(gen, i);
	return map;
}

unsigned int neuron_gen_ordered_core(const struct neuron_gen *gen, unsigned int index,
				     unsigned int nc)
{
	return gen->core_order ? gen->core_order[index / 4 % 2 * 2 + index % 2][nc] : nc;
}

unsigned int neuron_gen_nqs(const struct neuron_gen *gen)
{
	unsigned int i, n = 0;

	for (i = 0; i < gen->nq_maps; i++)
		n += gen->nq[i].count;
	return n;
}

int neuron_gen_nq(const struct neuron_gen *gen, unsigned int type, unsigned int engine)
{
	unsigned int i, n = 0;

	for (i = 0; i < gen->nq_maps; i++) {
		const struct neuron_nq_map *map = &gen->nq[i];

		if (map->type == type && map->count == 1)
			return (int)n;
		if (map->type == type)
			return engine < map->count ? (int)(n + engine) : -1;
		n += map->count;
	}
	return -1;
}

unsigned int neuron_gen_nq_slot(const struct neuron_gen *gen, unsigned int type,
				unsigned int engine)
{
	int nq = neuron_gen_nq(gen, type, engine);

	if (!gen->nq_slot.count || nq < 0)
		return engine;
	return (neuron_gen_nq_regs(gen, (unsigned int)nq) - gen->nq_slot.regs) /
	       gen->nq_slot.stride;
}

uint32_t neuron_gen_nq_regs(const struct neuron_gen *gen, unsigned int nq)
{
	const struct neuron_nq_map *map = gen->nq;

	while (nq >= map->count)
		nq -= map++->count;
	return map->regs + nq * map->stride;
}
