/* SPDX-License-Identifier: MIT */
/*
 * Where a subgraph's variables lie in device memory. Small ones share chunks, and a chunk lies in
 * one region of one channel. Constants are copied once, at load.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_subgraph.h"

#define VAR_ALIGN 64

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

static bool placed_here(const struct rt_var *var, uint32_t type)
{
	return var->neff->type != NEFF_VAR_STATE_BUFFER && var->neff->type != NEFF_VAR_VIRTUAL &&
	       chunk_type(var->neff->type) == type && !var->chunk && !var->remote;
}

static bool align_up(uint64_t *value, uint64_t align)
{
	if (__builtin_add_overflow(*value, align - 1, value))
		return false;
	*value &= ~(align - 1);
	return true;
}

/*
 * Fills the next chunk of a type with as many variables, in order, as a region holds. Returns false
 * if none is left.
 */
static bool fill_chunk(struct rt_subgraph *sg, uint32_t type, uint64_t *size, uint64_t *align,
		       unsigned int *first, unsigned int *last)
{
	uint64_t region = ndl_region_size(sg->core->dev->gen);
	bool any = false;

	*size = 0;
	*align = VAR_ALIGN;
	for (unsigned int i = *first; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];
		uint64_t end = *size, a = var->neff->alignment;

		if (!placed_here(var, type))
			continue;

		a = a > VAR_ALIGN ? a : VAR_ALIGN;
		if (!align_up(&end, a) || end + var->neff->size > region) {
			if (any)
				break;
			/* larger than a region: the allocation is left to fail with its size */
			end = 0;
		}

		if (!any)
			*first = i;
		any = true;
		var->offset = end;
		*size = end + var->neff->size;
		*align = a > *align ? a : *align;
		*last = i;
		if (*size > region)
			break;
	}
	return any;
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
	unsigned int first = 0, last = 0;
	uint64_t size, align;

	while (fill_chunk(sg, type, &size, &align, &first, &last)) {
		NRT_STATUS status;
		struct rt_chunk *chunk = new_chunk(sg, size, align, type, &status);

		if (!chunk)
			return status;
		for (unsigned int i = first; i <= last; i++) {
			struct rt_var *var = &sg->vars[i];

			if (!placed_here(var, type))
				continue;
			var->chunk = chunk;
			var->pa = chunk->pa + var->offset;
		}
		first = last + 1;
	}
	return NRT_SUCCESS;
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

/* What the two programs of a logical core share lies where the first one has it */
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

static NRT_STATUS copy_constants(struct rt_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct rt_var *var = &sg->vars[i];
		int err;

		if (var->neff->type != NEFF_VAR_FILE)
			continue;
		err = ndl_memory_buf_copyin(sg->core->dev, var->chunk->handle, var->neff->data,
					    var->offset, var->neff->size);
		if (err)
			return rt_fail(rt_status_from_errno(err), "TDRV", "constant '%s': %s",
				       var->neff->name, strerror(-err));
	}
	return NRT_SUCCESS;
}

static NRT_STATUS make_one(struct rt_subgraph *sg)
{
	const uint32_t one = 1;
	NRT_STATUS status = rt_chunk_alloc(sg->core, sizeof(one), 0,
					   NEURON_MEMALLOC_TYPE_MISC_DEVICE, &sg->one);
	int err;

	if (status)
		return status;
	err = ndl_memory_buf_copyin(sg->core->dev, sg->one.handle, &one, 0, sizeof(one));
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "completion word: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_place_begin(struct rt_subgraph *sg)
{
	sg->nvars = sg->neff->nvars;
	sg->vars = calloc(sg->nvars ? sg->nvars : 1, sizeof(*sg->vars));
	/* at most one chunk for each variable, and the scratchpad */
	sg->chunks = calloc(sg->nvars + 1, sizeof(*sg->chunks));
	if (!sg->vars || !sg->chunks)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < sg->nvars; i++) {
		sg->vars[i].neff = &sg->neff->vars[i];
		if (sg->vars[i].neff->type == NEFF_VAR_STATE_BUFFER)
			sg->vars[i].pa = ndl_core_address(sg->core->dev, sg->core->nc);
	}
	return NRT_SUCCESS;
}

NRT_STATUS rt_place(struct rt_subgraph *sg)
{
	static const uint32_t types[] = {
		NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
		NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE,
		NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE,
	};
	NRT_STATUS status = NRT_SUCCESS;

	put_twins(sg);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]) && !status; t++)
		status = place_type(sg, types[t]);
	if (!status)
		status = rt_place_virtual(sg, 1);
	if (!status)
		status = copy_constants(sg);
	return status ? status : make_one(sg);
}
