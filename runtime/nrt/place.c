/* SPDX-License-Identifier: MIT */
/*
 * Where a model's variables lie in device memory. Small ones share chunks, a chunk lies in one
 * region of one channel; constants are copied in once, at load.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nrt_priv.h"

#define VAR_ALIGN 64

NRT_STATUS rt_chunk_alloc(struct rt_core *core, uint64_t size, uint64_t align, uint32_t type,
			  struct rt_chunk *chunk)
{
	struct ndl_mem_params params = {
		.size = size,
		.align = align > 4096 ? align : 0,
		.nc = core->nc,
		.type = type,
	};
	const struct neuron_gen *gen = core->dev->gen;
	int err = -ENOMEM;

	/* a core's own channel first, so that cores share them */
	for (uint32_t i = 0; i < gen->memories && err == -ENOMEM; i++) {
		params.channel = (core->nc + i) % gen->memories;
		for (params.region = 0; params.region < NDL_REGIONS && err == -ENOMEM;
		     params.region++)
			err = ndl_memory_alloc(core->dev, &params, &chunk->handle);
	}
	if (!err) {
		*chunk = (struct rt_chunk){
			core, core->dev, chunk->handle, 0, size, type, rt.epoch
		};
		rt_memory_add(core, type, (int64_t)size);
		err = ndl_memory_get_pa(core->dev, chunk->handle, &chunk->pa);
		if (err)
			rt_chunk_free(chunk);
	}
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV",
			       "Failed to allocate buffer in MLA DRAM for %llu bytes: %s",
			       (unsigned long long)size, strerror(-err));
	return NRT_SUCCESS;
}

void rt_chunk_free(struct rt_chunk *chunk)
{
	if (rt_chunk_alive(chunk)) {
		ndl_memory_free(chunk->dev, chunk->handle);
		rt_memory_add(chunk->core, chunk->type, -(int64_t)chunk->size);
	}
	*chunk = (struct rt_chunk){ 0 };
}

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

/* The next chunk of a type: as many variables in order as a region holds. False: none is left */
static bool fill_chunk(struct nrt_model *model, uint32_t type, uint64_t *size, uint64_t *align,
		       unsigned int *first, unsigned int *last)
{
	uint64_t region = ndl_region_size(model->core->dev->gen);
	bool any = false;

	*size = 0;
	*align = VAR_ALIGN;
	for (unsigned int i = *first; i < model->nvars; i++) {
		struct rt_var *var = &model->vars[i];
		uint64_t end = *size, a = var->neff->alignment;

		if (!placed_here(var, type))
			continue;
		a = a > VAR_ALIGN ? a : VAR_ALIGN;
		if (!align_up(&end, a) || end + var->neff->size > region) {
			if (any)
				break;
			/* larger than a region: let the allocation fail with its size */
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

static struct rt_chunk *new_chunk(struct nrt_model *model, uint64_t size, uint64_t align,
				  uint32_t type, NRT_STATUS *status)
{
	struct rt_chunk *chunk = &model->chunks[model->nchunks];

	*status = rt_chunk_alloc(model->core, size ? size : 1, align, type, chunk);
	if (*status)
		return NULL;
	model->nchunks++;
	return chunk;
}

static NRT_STATUS place_type(struct nrt_model *model, uint32_t type)
{
	unsigned int first = 0, last = 0;
	uint64_t size, align;

	while (fill_chunk(model, type, &size, &align, &first, &last)) {
		NRT_STATUS status;
		struct rt_chunk *chunk = new_chunk(model, size, align, type, &status);

		if (!chunk)
			return status;
		for (unsigned int i = first; i <= last; i++) {
			struct rt_var *var = &model->vars[i];

			if (!placed_here(var, type))
				continue;
			var->chunk = chunk;
			var->pa = chunk->pa + var->offset;
		}
		first = last + 1;
	}
	return NRT_SUCCESS;
}

/* How far a model's virtual variables reach into the scratchpad */
static NRT_STATUS virtual_end(const struct nrt_model *model, uint64_t *size)
{
	for (unsigned int i = 0; i < model->nvars; i++) {
		const struct neff_var *neff = model->vars[i].neff;
		uint64_t end;

		if (neff->type != NEFF_VAR_VIRTUAL || model->vars[i].chunk)
			continue;
		if (__builtin_add_overflow(neff->backing_off, neff->size, &end))
			return rt_fail(NRT_INVALID, "TDRV", "variable '%s': offset", neff->name);
		*size = end > *size ? end : *size;
	}
	return NRT_SUCCESS;
}

static void put_virtual(struct nrt_model *model, struct rt_chunk *chunk)
{
	for (unsigned int i = 0; i < model->nvars; i++) {
		struct rt_var *var = &model->vars[i];

		if (var->neff->type != NEFF_VAR_VIRTUAL || var->chunk)
			continue;
		var->chunk = chunk;
		var->offset = var->neff->backing_off;
		var->pa = chunk->pa + var->offset;
	}
}

NRT_STATUS rt_place_virtual(struct nrt_model *owner, struct nrt_model **models, unsigned int n)
{
	struct rt_chunk *chunk;
	NRT_STATUS status = NRT_SUCCESS;
	uint64_t size = 0;

	for (unsigned int i = 0; i < n && !status; i++)
		status = virtual_end(models[i], &size);
	if (status || !size)
		return status;
	chunk = new_chunk(owner, size, 0, NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE, &status);
	for (unsigned int i = 0; chunk && i < n; i++)
		put_virtual(models[i], chunk);
	return status;
}

static NRT_STATUS copy_constants(struct nrt_model *model)
{
	for (unsigned int i = 0; i < model->nvars; i++) {
		struct rt_var *var = &model->vars[i];
		int err;

		if (var->neff->type != NEFF_VAR_FILE)
			continue;
		err = ndl_memory_buf_copyin(model->core->dev, var->chunk->handle, var->neff->data,
					    var->offset, var->neff->size);
		if (err)
			return rt_fail(rt_status_from_errno(err), "TDRV", "constant '%s': %s",
				       var->neff->name, strerror(-err));
	}
	return NRT_SUCCESS;
}

static NRT_STATUS make_one(struct nrt_model *model)
{
	const uint32_t one = 1;
	NRT_STATUS status = rt_chunk_alloc(model->core, sizeof(one), 0,
					   NEURON_MEMALLOC_TYPE_MISC_DEVICE, &model->one);
	int err;

	if (status)
		return status;
	err = ndl_memory_buf_copyin(model->core->dev, model->one.handle, &one, 0, sizeof(one));
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "completion word: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_place_begin(struct nrt_model *model)
{
	model->nvars = model->sg->nvars;
	model->vars = calloc(model->nvars ? model->nvars : 1, sizeof(*model->vars));
	/* a chunk a variable at most, and the scratchpad */
	model->chunks = calloc(model->nvars + 1, sizeof(*model->chunks));
	if (!model->vars || !model->chunks)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < model->nvars; i++) {
		model->vars[i].neff = &model->sg->vars[i];
		if (model->vars[i].neff->type == NEFF_VAR_STATE_BUFFER)
			model->vars[i].pa = ndl_core_address(model->core->dev, model->core->nc);
	}
	return NRT_SUCCESS;
}

NRT_STATUS rt_place(struct nrt_model *model)
{
	static const uint32_t types[] = {
		NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
		NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE,
		NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE,
	};
	NRT_STATUS status = NRT_SUCCESS;

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]) && !status; t++)
		status = place_type(model, types[t]);
	if (!status)
		status = rt_place_virtual(model, &model, 1);
	if (!status)
		status = copy_constants(model);
	return status ? status : make_one(model);
}
