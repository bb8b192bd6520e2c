/* SPDX-License-Identifier: MIT */
/* Models: load, unload, and what can be asked about them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nrt_priv.h"

struct nrt_model *rt_model_new(struct rt_core *core)
{
	struct nrt_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->core = core;
	model->head = model;
	pthread_cond_init(&model->idle, NULL);
	pthread_cond_init(&model->edge_taken, NULL);
	pthread_mutex_init(&model->edge_lock, NULL);
	pthread_mutex_init(&model->serial, NULL);
	pthread_mutex_init(&model->count_lock, NULL);
	return model;
}

void rt_model_free(struct nrt_model *model)
{
	rt_pipeline_free(model);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		free(model->engine[e].triggers);
		free(model->engine[e].stream);
		rt_ring_free(&model->engine[e].ring);
	}
	for (unsigned int q = 0; model->queues && q < model->nqueues; q++)
		rt_ring_free(&model->queues[q]);
	free(model->queues);
	rt_gather_free(model);
	for (unsigned int i = 0; i < model->nchunks; i++)
		rt_chunk_free(&model->chunks[i]);
	free(model->chunks);
	free(model->loops);
	free(model->vars);
	rt_chunk_free(&model->code);
	rt_chunk_free(&model->one);
	neff_free(model->neff);
	pthread_cond_destroy(&model->idle);
	pthread_cond_destroy(&model->edge_taken);
	pthread_mutex_destroy(&model->edge_lock);
	pthread_mutex_destroy(&model->serial);
	pthread_mutex_destroy(&model->count_lock);
	free(model);
}

bool rt_model_pin(const struct nrt_model *model)
{
	struct nrt_model *m;

	pthread_mutex_lock(&rt.lock);
	for (m = rt.models; m && m != model; m = m->next_model)
		;
	if (m)
		m->running++;
	pthread_mutex_unlock(&rt.lock);
	return m;
}

void rt_model_unpin(const struct nrt_model *model)
{
	struct nrt_model *m = (struct nrt_model *)model;

	pthread_mutex_lock(&rt.lock);
	if (!--m->running)
		pthread_cond_broadcast(&m->idle);
	pthread_mutex_unlock(&rt.lock);
}

/* Constants and programs are on the device now; names, shapes and the header stay */
static void drop_bulk(struct nrt_model *model)
{
	for (unsigned int k = 0; k < model->neff->nsubgraphs; k++) {
		struct neff_subgraph *sg = &model->neff->subgraphs[k];
		struct nrt_model *stage = model->nstages ? model->stage[k] : model;

		for (unsigned int i = 0; i < sg->nvars; i++) {
			free(sg->vars[i].data);
			sg->vars[i].data = NULL;
		}
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
			free(sg->engine[e].instr);
			sg->engine[e].instr = NULL;
			free(stage->engine[e].triggers);
			stage->engine[e].triggers = NULL;
			stage->engine[e].ntriggers = 0;
		}
	}
}

/* Where a model goes: its first core (NULL: wherever there is least), and how many there may be */
struct place {
	struct rt_core *core;
	uint32_t most; /* 0: as many as it needs */
	uint32_t timeout_ms;
	uint64_t owner;
	int (*account)(void *arg, int64_t bytes); /* of the memory that reading takes, or NULL */
	void *account_arg;
};

static NRT_STATUS read_neff(const void *bytes, size_t size, const struct place *place,
			    struct neff_model **neff)
{
	const char *validate = secure_getenv("NEURON_RT_VALIDATE_HASH");
	struct neff_limits limits = {
		.validate_hash = validate && (!strcmp(validate, "true") || !strcmp(validate, "1")),
		.account = place->account,
		.account_arg = place->account_arg,
	};
	struct neff_error error = { 0 };
	int err;

	if (!bytes || !size)
		return rt_fail(NRT_INVALID, "NMGR", "no NEFF");
	err = neff_read(bytes, size, &limits, neff, &error);
	if (!err)
		return NRT_SUCCESS;
	return rt_fail(error.version ? NRT_UNSUPPORTED_NEFF_VERSION : rt_status_from_errno(err),
		       "NMGR", "%s", error.text);
}

static uint32_t default_timeout(void)
{
	const char *text = secure_getenv("NEURON_RT_EXEC_TIMEOUT");
	unsigned long seconds = text ? strtoul(text, NULL, 10) : 0;

	return seconds && seconds < 1000000 ? (uint32_t)seconds * 1000 : RT_DEFAULT_TIMEOUT_MS;
}

NRT_STATUS rt_model_build(struct nrt_model *model)
{
	NRT_STATUS status = rt_place(model);

	if (!status)
		status = rt_build_rings(model);
	if (!status)
		status = rt_build_streams(model);
	return status;
}

static NRT_STATUS build(struct nrt_model *model, uint32_t ncores)
{
	NRT_STATUS status;

	model->sg = model->neff->subgraphs;
	if (model->neff->nloops)
		return rt_loops_build(model);
	if (model->neff->nsubgraphs > 1)
		return rt_pipeline_build(model, ncores);
	status = rt_place_begin(model);
	return status ? status : rt_model_build(model);
}

static uint32_t cores_of(const struct nrt_model *model)
{
	uint32_t n = 1;

	while (n < model->nstages && model->stage[n]->core != model->core)
		n++;
	return n;
}

static unsigned int models_on(const struct rt_core *core)
{
	unsigned int n = 0;

	for (struct nrt_model *m = rt.models; m; m = m->next_model)
		n += core >= m->core && core < m->core + cores_of(m);
	return n;
}

/* The first run of n cores with the fewest models */
static struct rt_core *pick_cores(uint32_t n)
{
	struct rt_core *best = NULL;
	unsigned int fewest = ~0u;

	pthread_mutex_lock(&rt.lock);
	for (uint32_t i = 0; i + n <= rt.ncores; i++) {
		unsigned int there = 0;

		for (uint32_t k = 0; k < n; k++)
			there += models_on(&rt.cores[i + k]);
		if (there < fewest) {
			fewest = there;
			best = &rt.cores[i];
		}
	}
	pthread_mutex_unlock(&rt.lock);
	return best;
}

/* The cores a model gets: all it needs, or as many as it may have and its stages take turns */
static NRT_STATUS take_cores(struct nrt_model *model, const struct place *place, uint32_t *n)
{
	uint32_t first;

	*n = model->neff->nloops ? 1 : model->neff->nsubgraphs;
	if (place->most && place->most < *n)
		*n = place->most;
	model->core = place->core ? place->core : pick_cores(*n);
	first = model->core ? model->core->vnc : 0;
	if (!model->core || first + *n > rt.ncores)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NMGR",
			       "Insufficient number of VNCs: %u, required: %u", rt.ncores,
			       first + *n);
	for (uint32_t i = 0; i < *n; i++) {
		uint32_t device = model->core[i].device;

		if (rt.devices[device].isa_version != rt_target(model)->isa_version)
			return rt_fail(NRT_UNSUPPORTED_NEFF_VERSION, "NMGR",
				       "nd%u: instruction set version %u, the model has %u", device,
				       rt.devices[device].isa_version,
				       rt_target(model)->isa_version);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS load(const void *bytes, size_t size, const struct place *place,
		       nrt_model_t **result)
{
	struct nrt_model *model = rt_model_new(place->core ? place->core : rt.cores);
	NRT_STATUS status;
	uint32_t ncores;

	if (!model)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	model->timeout_ms = place->timeout_ms ? place->timeout_ms : default_timeout();
	model->owner = place->owner;
	status = read_neff(bytes, size, place, &model->neff);
	if (!status)
		status = take_cores(model, place, &ncores);
	if (!model->core)
		model->core = rt.cores;
	if (!status)
		status = build(model, ncores);
	if (status) {
		rt_model_go(model);
		return rt_fail(status, "NMGR", "Failed to load NN");
	}
	drop_bulk(model);
	for (uint32_t i = 0; i < ncores; i++)
		rt_nds_add(model->core + i, NDS_NC_COUNTER_MODEL_LOAD_COUNT, 1);
	pthread_mutex_lock(&rt.lock);
	model->next_model = rt.models;
	rt.models = model;
	pthread_mutex_unlock(&rt.lock);
	*result = model;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
			   nrt_model_t **model)
{
	RT_ENTER(status);
	struct place place = { .most = vnc_count > 0 ? (uint32_t)vnc_count : 0 };

	if (status)
		return status;
	if (!model)
		return rt_fail(NRT_INVALID, "NRT", "no place for the model");
	place.core = vnc < 0 ? NULL : rt_core((uint32_t)vnc);
	if (vnc >= 0 && !place.core)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NRT", "core %d: this process has %u", vnc,
			       rt.ncores);
	return load(neff_bytes, size, &place, model);
}

EXPORT NRT_STATUS nrtx_load(const void *neff_bytes, size_t size,
			    const struct nrtx_load_params *params, nrt_model_t **model)
{
	RT_ENTER(status);
	struct place place = { 0 };

	if (status)
		return status;
	if (!model || !params)
		return rt_fail(NRT_INVALID, "NRT", "no parameters");
	place.core = rt_core(params->start_core);
	place.most = params->core_count;
	place.timeout_ms = params->timeout_ms;
	place.owner = params->owner;
	place.account = params->account;
	place.account_arg = params->account_arg;
	if (!place.core)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NRT",
			       "Insufficient number of VNCs: %u, required: %u", rt.ncores,
			       params->start_core + 1);
	return load(neff_bytes, size, &place, model);
}

EXPORT NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc,
				       int32_t vnc_count, uint32_t ctx_device_id,
				       uint32_t ctx_device_count, nrt_model_t **model)
{
	if (ctx_device_count > 1) {
		rt_details_clear();
		return rt_fail(NRT_INVALID, "NRT",
			       "collectives exist from the second generation on");
	}
	return nrt_load(neff_bytes, size, vnc, vnc_count, model);
}

EXPORT NRT_STATUS nrt_unload(nrt_model_t *model)
{
	RT_ENTER(status);
	struct nrt_model **p;

	if (status)
		return status;
	pthread_mutex_lock(&rt.lock);
	for (p = &rt.models; *p && *p != model; p = &(*p)->next_model)
		;
	if (!*p) {
		pthread_mutex_unlock(&rt.lock);
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	}
	*p = model->next_model;
	while (model->running)
		pthread_cond_wait(&model->idle, &rt.lock);
	pthread_mutex_unlock(&rt.lock);
	rt_model_go(model);
	rt_stale_retry();
	return NRT_SUCCESS;
}

/* Questions */

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

/* An input that several stages read is one tensor */
static bool is_listed(const nrt_tensor_info_array_t *array, const struct neff_var *var)
{
	for (uint64_t i = 0; i < array->tensor_count; i++)
		if (!strncmp(array->tensor_array[i].name, var->name,
			     sizeof(array->tensor_array[i].name) - 1))
			return true;
	return false;
}

/* The tensors of a model of one subgraph, or of a stage, after those that are listed already */
static bool list_tensors(nrt_tensor_info_array_t *array, const struct nrt_model *model)
{
	for (unsigned int i = 0; i < model->nvars; i++) {
		const struct rt_var *var = &model->vars[i];

		if (!rt_var_is_io(var) || (model->prev && is_listed(array, var->neff)))
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
	bool ok;

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
	ok = list_tensors(array, model);
	for (unsigned int k = 0; ok && k < model->nstages; k++)
		ok = list_tensors(array, model->stage[k]);
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
	*nc_count = cores_of(model);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
	return nrt_get_model_nc_count(model, vnc_count);
}

EXPORT NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
	return nrt_get_model_nc_count(model, instance_count);
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
	info->cores = cores_of(model);
	info->start_core = model->core->vnc;
	info->version_major = header->version_major;
	info->version_minor = header->version_minor;
	return NRT_SUCCESS;
}
