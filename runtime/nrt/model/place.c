/* SPDX-License-Identifier: MIT */
/*
 * Where a subgraph's variables lie in device memory. Small ones share chunks, and a chunk lies in
 * one region of one channel. Constants are copied once, at load; they may lie in the memory of
 * other chips (homes.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"
#include "rt_homes.h"
#include "rt_subgraph.h"

#define VAR_ALIGN 64
/* Constants that may lie elsewhere leave room here for what is placed behind them. */
#define RESERVE_FROM (64ull << 20) /* if they are so many */
#define RESERVE_MORE (32ull << 20) /* besides the programs */
#define PIECE (16u << 20) /* of a constant that is copied at once */

static uint32_t chunk_type(enum neff_var_type type)
{
	switch (type) {
	case NEFF_VAR_FILE:
		return NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE;
	case NEFF_VAR_TMP_BUF:
	case NEFF_VAR_VIRTUAL:
		return NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE;
	default:
		return NEURON_MEMALLOC_TYPE_TENSORS_DEVICE;
	}
}

/* Chunks of a type in one chip's memory */
struct run {
	uint32_t type;
	unsigned int home; /* that of its variables */
	uint64_t most; /* bytes of a chunk of several variables */
	/* the chunk to be made next, and its variables: n from first to last */
	uint64_t size, align;
	unsigned int n, first, last;
};

static bool placed_here(const struct rt_var *var, const struct run *run)
{
	return var->neff->type != NEFF_VAR_STATE_BUFFER && var->neff->type != NEFF_VAR_VIRTUAL &&
	       chunk_type(var->neff->type) == run->type && var->home == run->home && !var->chunk &&
	       !var->remote;
}

static bool align_up(uint64_t *value, uint64_t align)
{
	if (__builtin_add_overflow(*value, align - 1, value))
		return false;
	*value &= ~(align - 1);
	return true;
}

/*
 * Fills the next chunk with as many variables, in order, as it holds. Returns false if none is
 * left.
 */
static bool fill_chunk(struct rt_subgraph *sg, struct run *run)
{
	run->size = 0;
	run->align = VAR_ALIGN;
	run->n = 0;
	for (unsigned int i = run->first; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];
		uint64_t end = run->size, a = var->neff->alignment;

		if (!placed_here(var, run))
			continue;

		a = a > VAR_ALIGN ? a : VAR_ALIGN;
		if (rt_var_is_io(var) && a < rt_large_align(var->neff->size))
			a = rt_large_align(var->neff->size);
		if (!align_up(&end, a) || end + var->neff->size > run->most) {
			if (run->n)
				break;
			/* larger than a region: the allocation is left to fail with its size */
			end = 0;
		}

		if (!run->n++)
			run->first = i;
		var->offset = end;
		run->size = end + var->neff->size;
		run->align = a > run->align ? a : run->align;
		run->last = i;
		if (run->size > run->most)
			break;
	}
	return run->n;
}

static void put_chunk(struct rt_subgraph *sg, struct run *run, struct rt_chunk *chunk)
{
	for (unsigned int i = run->first; i <= run->last; i++) {
		struct rt_var *var = &sg->vars[i];

		if (!placed_here(var, run))
			continue;
		var->chunk = chunk;
		var->pa = chunk->pa + var->offset;
	}
	run->first = run->last + 1;
}

static struct rt_chunk *new_chunk(struct rt_subgraph *sg, uint64_t size, uint64_t align,
				  uint32_t type, NRT_STATUS *status)
{
	struct rt_chunk *chunk = &sg->chunks[sg->nchunks];

	*status = rt_chunk_alloc(sg->core, size ? size : 1, align, type, chunk);
	if (*status)
		return NULL;
	sg->nchunks++;
	return chunk;
}

static NRT_STATUS place_type(struct rt_subgraph *sg, uint32_t type)
{
	struct run run = { .type = type, .most = ndlx_region_size(sg->core->dev->gen) };

	while (fill_chunk(sg, &run)) {
		NRT_STATUS status;
		struct rt_chunk *chunk = new_chunk(sg, run.size, run.align, type, &status);

		if (!chunk)
			return status;
		put_chunk(sg, &run, chunk);
	}
	return NRT_SUCCESS;
}

/* Gives each constant the chip that has the fewest bytes of them so far. */
static void spread(struct rt_subgraph *sg, const struct rt_homes *homes)
{
	const struct run all = { .type = NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE };
	uint64_t bytes[NDLX_MAX_DEVICES] = { 0 };

	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];
		unsigned int least = 0;

		if (!placed_here(var, &all))
			continue;
		for (unsigned int k = 1; k < homes->n && !var->here; k++)
			least = bytes[k] < bytes[least] ? k : least;
		var->home = least;
		bytes[least] += var->neff->size;
	}
}

/*
 * Chips that constants are spread over are tried twice: those behind the first may have room, too.
 */
static unsigned int attempts_of(const struct rt_homes *homes)
{
	return homes->spread ? 2 * homes->n : homes->n;
}

static bool is_next(const struct rt_subgraph *sg, struct rt_homes *homes, unsigned int attempt)
{
	if (homes->more)
		rt_homes_extend(sg->core, homes);
	return attempt + 1 < attempts_of(homes);
}

/* The constants that are to lie in one chip; what finds no place there is tried in the next. */
static NRT_STATUS place_attempt(struct rt_subgraph *sg, struct rt_homes *homes,
				unsigned int attempt)
{
	const uint32_t type = NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE;
	struct run run = { .type = type,
			   .home = attempt,
			   .most = ndlx_region_size(sg->core->dev->gen) };

	while (fill_chunk(sg, &run)) {
		struct rt_chunk *chunk = &sg->chunks[sg->nchunks];
		int err = rt_homes_alloc(homes, attempt % homes->n, sg->core,
					 run.size ? run.size : 1, run.align, type, chunk);

		if (!err) {
			sg->nchunks++;
			put_chunk(sg, &run, chunk);
		} else if (err == -ENOMEM && run.n > 1 && run.size) {
			run.most = run.size / 2;
		} else if (!sg->vars[run.first].here && is_next(sg, homes, attempt)) {
			for (unsigned int i = run.first; i <= run.last; i++)
				if (placed_here(&sg->vars[i], &run))
					sg->vars[i].home++;
		} else {
			return rt_fail(rt_status_from_errno(err), "TDRV",
				       "Failed to allocate buffer in MLA DRAM for %llu bytes, "
				       "on any of %u devices: %s",
				       (unsigned long long)run.size,
				       sg->vars[run.first].here ? 1 : homes->n, strerror(-err));
		}
	}
	return NRT_SUCCESS;
}

static uint64_t constants_size(const struct rt_subgraph *sg)
{
	uint64_t size = 0;

	for (unsigned int i = 0; i < sg->nvars; i++)
		if (sg->vars[i].neff->type == NEFF_VAR_FILE && !sg->vars[i].twin)
			size += sg->vars[i].neff->size;
	return size;
}

static uint64_t programs_size(const struct rt_subgraph *sg)
{
	uint64_t size = 0;

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		size += sg->neff->engine[e].instr_size;
	return size;
}

static NRT_STATUS place_constants(struct rt_subgraph *sg)
{
	struct rt_chunk reserve = { 0 };
	struct rt_homes homes;
	NRT_STATUS status = rt_homes_make(sg->core, &homes);

	if (status)
		return status;
	if (homes.spread)
		spread(sg, &homes);
	/* if there is no such room, it is not the constants that are too many */
	if ((homes.more || homes.spread) && constants_size(sg) >= RESERVE_FROM)
		rt_chunk_try(sg->core, sg->core->dev, 2 * programs_size(sg) + RESERVE_MORE, 0,
			     NEURON_MEMALLOC_TYPE_CODE_DEVICE, &reserve);
	for (unsigned int attempt = 0; attempt < attempts_of(&homes) && !status; attempt++)
		status = place_attempt(sg, &homes, attempt);
	rt_chunk_free(&reserve);
	return status;
}

/* The end of a subgraph's virtual variables in the scratchpad */
static NRT_STATUS virtual_end(const struct rt_subgraph *sg, uint64_t *size)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct neff_var *neff = sg->vars[i].neff;
		uint64_t end;

		if (neff->type != NEFF_VAR_VIRTUAL || sg->vars[i].chunk)
			continue;
		if (__builtin_add_overflow(neff->backing_off, neff->size, &end))
			return rt_fail(NRT_INVALID, "TDRV", "variable '%s': offset", neff->name);
		*size = end > *size ? end : *size;
	}
	return NRT_SUCCESS;
}

static void put_virtual(struct rt_subgraph *sg, struct rt_chunk *chunk)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];

		if (var->neff->type != NEFF_VAR_VIRTUAL || var->chunk)
			continue;
		var->chunk = chunk;
		var->offset = var->neff->backing_off;
		var->pa = chunk->pa + var->offset;
	}
}

NRT_STATUS rt_place_virtual(struct rt_subgraph *sg, unsigned int n)
{
	struct rt_chunk *chunk;
	NRT_STATUS status = NRT_SUCCESS;
	uint64_t size = 0;

	for (unsigned int i = 0; i < n && !status; i++)
		status = virtual_end(&sg[i], &size);
	if (status || !size)
		return status;
	chunk = new_chunk(sg, size, 0, NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE, &status);
	for (unsigned int i = 0; chunk && i < n; i++)
		put_virtual(&sg[i], chunk);
	return status;
}

/* A subgraph's share with one before lies where that one has it. */
static void put_twins(struct rt_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];

		if (!var->twin)
			continue;
		var->chunk = var->twin->chunk;
		var->offset = var->twin->offset;
		var->pa = var->twin->pa;
	}
}

static NRT_STATUS copy_constant(const struct rt_subgraph *sg, const struct rt_var *var)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (uint64_t at = 0, n; at < var->neff->size && !status; at += n) {
		int err;

		n = var->neff->size - at < PIECE ? var->neff->size - at : PIECE;
		status = rt_load_wanted(sg->model);
		if (status)
			return status;
		err = ndlx_memory_buf_copyin(var->chunk->dev, var->chunk->handle,
					     (uint8_t *)var->neff->data + at, var->offset + at, n);
		if (err)
			status = rt_fail(rt_status_from_errno(err), "TDRV",
					 "constant '%s', nd%u: %s", var->neff->name,
					 var->chunk->dev->device_index, strerror(-err));
	}
	return status;
}

static NRT_STATUS copy_constants(struct rt_subgraph *sg)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < sg->nvars && !status; i++)
		if (sg->vars[i].neff->type == NEFF_VAR_FILE && !sg->vars[i].twin)
			status = copy_constant(sg, &sg->vars[i]);
	return status;
}

static NRT_STATUS make_one(struct rt_subgraph *sg)
{
	const uint32_t one = 1;
	NRT_STATUS status = rt_chunk_alloc(sg->core, sizeof(one), 0,
					   NEURON_MEMALLOC_TYPE_MISC_DEVICE, &sg->one);
	int err;

	if (status)
		return status;
	err = ndlx_memory_buf_copyin(sg->core->dev, sg->one.handle, &one, 0, sizeof(one));
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "completion word: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

/* Constants of subgraphs before lie where those have them, which libneff has checked. */
static void share_constants(struct rt_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i], *twin;
		const struct neff_var *neff = var->neff;

		if (neff->type != NEFF_VAR_FILE || !neff->shared)
			continue;
		twin = &sg->model->subgraph[neff->of_graph].vars[neff->of_var];
		twin->here |= var->here;
		var->twin = twin;
	}
}

static int name_order(const void *a, const void *b)
{
	return strcmp((*(struct rt_var *const *)a)->neff->name,
		      (*(struct rt_var *const *)b)->neff->name);
}

NRT_STATUS rt_place_begin(struct rt_subgraph *sg)
{
	sg->nvars = sg->neff->nvars;
	sg->vars = calloc(sg->nvars ? sg->nvars : 1, sizeof(*sg->vars));
	/* at most one chunk for each variable, and the scratchpad */
	sg->chunks = calloc(sg->nvars + 1, sizeof(*sg->chunks));
	sg->by_name = calloc(sg->nvars + 1, sizeof(struct rt_var *));
	if (!sg->vars || !sg->chunks || !sg->by_name)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < sg->nvars; i++) {
		sg->vars[i].neff = &sg->neff->vars[i];
		sg->by_name[i] = &sg->vars[i];
		if (sg->vars[i].neff->type == NEFF_VAR_STATE_BUFFER)
			sg->vars[i].pa = ndlx_core_address(sg->core->dev, sg->core->nc);
	}
	qsort(sg->by_name, sg->nvars, sizeof(*sg->by_name), name_order);
	/* custom operators reach the memory of their own chip alone */
	for (unsigned int i = 0; i < sg->neff->ncustom; i++)
		for (unsigned int k = 0; k < sg->neff->custom[i].nargs; k++)
			if (!sg->neff->custom[i].arg[k].scalar)
				sg->vars[sg->neff->custom[i].arg[k].var].here = true;
	share_constants(sg);
	return NRT_SUCCESS;
}

NRT_STATUS rt_place(struct rt_subgraph *sg)
{
	NRT_STATUS status;

	put_twins(sg);
	/* constants come last: they can lie in another chip, the rest cannot */
	status = place_type(sg, NEURON_MEMALLOC_TYPE_TENSORS_DEVICE);
	if (!status)
		status = place_type(sg, NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE);
	if (!status)
		status = rt_place_virtual(sg, 1);
	if (!status)
		status = place_constants(sg);
	if (!status)
		status = copy_constants(sg);
	return status ? status : make_one(sg);
}
