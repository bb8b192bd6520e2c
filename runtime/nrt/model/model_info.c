/* SPDX-License-Identifier: MIT */
/* Queries about a model */
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"

static bool fill_info(nrt_tensor_info_t *info, const struct neff_var *var)
{
	*info = (nrt_tensor_info_t){
		.usage = var->type == NEFF_VAR_INPUT ? NRT_TENSOR_USAGE_INPUT
						     : NRT_TENSOR_USAGE_OUTPUT,
		.size = var->size,
		.dtype = (nrt_dtype_t)var->dtype,
		.ndim = var->ndim,
	};
	strncpy(info->name, var->name, sizeof(info->name) - 1);
	info->shape = calloc(var->ndim ? var->ndim : 1, sizeof(*info->shape));
	for (unsigned int i = 0; info->shape && i < var->ndim; i++)
		info->shape[i] = (uint32_t)var->shape[i];
	return info->shape;
}

/* An input that several subgraphs read is one tensor and listed once. */
static bool is_listed(const nrt_tensor_info_array_t *array, const struct neff_var *var)
{
	for (uint64_t i = 0; i < array->tensor_count; i++)
		if (!strncmp(array->tensor_array[i].name, var->name,
			     sizeof(array->tensor_array[i].name) - 1))
			return true;
	return false;
}

/* Lists the tensors of a subgraph that are not listed yet. */
static bool list_tensors(nrt_tensor_info_array_t *array, const struct rt_subgraph *sg)
{
	const bool first = sg == sg->model->subgraph;

	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct rt_var *var = &sg->vars[i];

		if (!rt_var_is_io(var) || (!first && is_listed(array, var->neff)))
			continue;
		if (!fill_info(&array->tensor_array[array->tensor_count++], var->neff))
			return false;
	}
	return true;
}

EXPORT NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **result)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);
	nrt_tensor_info_array_t *array;
	unsigned int most = 0;
	bool ok = true;

	if (status)
		return status;
	if (!model || !result)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");

	for (unsigned int k = 0; k < model->neff->nsubgraphs; k++)
		most += model->neff->subgraphs[k].nvars;
	array = calloc(1, sizeof(*array) + most * sizeof(array->tensor_array[0]));
	if (!array)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");

	for (unsigned int k = 0; ok && k < model->nsubgraphs; k++)
		ok = list_tensors(array, &model->subgraph[k]);
	if (!ok) {
		nrt_free_model_tensor_info(array);
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}

	*result = array;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *array)
{
	for (uint64_t i = 0; array && i < array->tensor_count; i++)
		free(array->tensor_array[i].shape);
	free(array);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!model || !nc_count)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	*nc_count = model->kind->siblings ? 2 * model->ncores : model->ncores;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!model || !vnc_count)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	*vnc_count = model->ncores;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
	return nrt_get_model_vnc_count(model, instance_count);
}

EXPORT NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info,
				     size_t size_in, size_t *size_out)
{
	nrt_model_info_t mine;
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!model || !info || !size_out)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	mine.vnc = model->core->vnc;
	*size_out = size_in < sizeof(mine) ? size_in : sizeof(mine);
	memcpy(info, &mine, *size_out);
	return NRT_SUCCESS;
}

EXPORT const char *nrtx_tensor_source(const nrt_model_t *model, const char *name)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status || !model || !name || !pinned)
		return NULL;
	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		const struct rt_subgraph *sg = &model->subgraph[k];

		for (unsigned int i = 0; i < sg->nvars; i++)
			if (rt_var_is_io(&sg->vars[i]) && !strcmp(sg->vars[i].neff->name, name))
				return sg->vars[i].neff->source;
	}
	return NULL;
}

EXPORT NRT_STATUS nrtx_model_info(const nrt_model_t *model, struct nrtx_model_info *info)
{
	const struct neff_header *header;
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!model || !info)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	header = &model->neff->header;
	memset(info, 0, sizeof(*info));
	memcpy(info->name, header->name, sizeof(info->name));
	memcpy(info->uuid, header->uuid, sizeof(info->uuid));
	info->cores = model->ncores;
	info->start_core = model->core->vnc;
	info->version_major = header->version_major;
	info->version_minor = header->version_minor;
	info->timeout_ms = model->timeout_ms;
	return NRT_SUCCESS;
}
