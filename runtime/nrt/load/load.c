/* SPDX-License-Identifier: MIT */
/* Loading and unloading of models */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_calls.h"
#include "rt_clock.h"
#include "rt_env.h"
#include "rt_kinds.h"
#include "rt_log.h"
#include "rt_print.h"
#include "rt_ranks.h"
#include "rt_trace.h"

/*
 * What an execution may take if nobody says: the least, and what it grows by with the program's own
 * estimate. A host takes some hundred times as long as the chip, and 50 microseconds besides to
 * begin a part of a program; a busy one, several times that.
 */
#define DEFAULT_TIMEOUT_MS 30000
#define MOST_TIMEOUT_MS 3600000
#define SLOWER 1000
#define PART_US 500

/*
 * Where a model is loaded: its first core (NULL: the one with the fewest models), and how many
 * cores it may take
 */
struct place {
	struct rt_core *core;
	uint32_t most; /* 0: as many as the model needs */
	uint32_t timeout_ms, default_timeout_ms;
	uint64_t owner;
	bool numerical; /* executions tell of numerical errors */
	uint32_t rank, nranks; /* of those who load it together; 0: alone */
	uint64_t group;
	struct nrtx_load_params asked; /* who is asked for memory, and whether to go on */
	struct nrtx_neff *file; /* NULL: the NEFF is to be read */
};

/* Gives the model its NEFF: one that was read before, or one of its own that nobody else loads */
static NRT_STATUS read_neff(struct nrt_model *model, const void *bytes, size_t size,
			    const struct place *place)
{
	NRT_STATUS status;

	if (place->file) {
		rt_neff_get(place->file);
		model->file = place->file;
	} else {
		status = rt_neff_read(
			&(struct rt_neff_source){ .bytes = bytes, .fd = -1, .size = size },
			&place->asked, &model->file);
		if (status)
			return status;
	}
	model->neff = rt_neff_model(model->file);
	return rt_calls_check(model->neff);
}

/* Do the two variables of the public library ask for numerical errors? */
static bool wants_numerical_errors(void)
{
	const char *verbosity = secure_getenv("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY");

	return (verbosity && !strcasecmp(verbosity, "critical")) ||
	       rt_env_on("NEURON_FAIL_ON_NAN", false);
}

static double iterations(const struct neff_loop *loop)
{
	return loop->iterations ? (double)loop->iterations : 1; /* not known: as one */
}

/*
 * What all parts of a core's program take, in milliseconds. Loops are in the order in which they
 * begin, and each is inside another one or behind it.
 */
static double estimate(const struct nrt_model *model, struct rt_subgraph *sg)
{
	const struct neff_loop *loop = model->neff->loops;
	const unsigned int n = neff_programs(model->neff);
	unsigned int next = 0;
	double often = 1, ms = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (next < model->neff->nloops && loop[next].first == i)
			often *= iterations(&loop[next++]);
		ms += often * ((double)rt_subgraph_time(&sg[i]) * SLOWER / 1e9 + PART_US / 1e3);
		if (model->loops && rt_loop_ends(model, i))
			often /= iterations(&loop[rt_loop_ends(model, i) - 1]);
	}
	return ms;
}

static uint32_t default_timeout(const struct nrt_model *model, uint32_t least)
{
	const char *text = least ? NULL : secure_getenv("NEURON_RT_EXEC_TIMEOUT");
	unsigned long seconds = text ? strtoul(text, NULL, 10) : 0;
	double ms = least ? least : DEFAULT_TIMEOUT_MS;

	if (seconds && seconds < 1000000)
		return (uint32_t)seconds * 1000;
	for (unsigned int i = 0; i < model->nsubgraphs; i += neff_programs(model->neff))
		ms += estimate(model, &model->subgraph[i]);
	return ms < MOST_TIMEOUT_MS ? (uint32_t)ms : MOST_TIMEOUT_MS;
}

static const struct rt_kind *kind_of(const struct neff_model *neff)
{
	if (neff->header.lnc_size > 1)
		return neff_in_parts(neff) ? &rt_kind_logical_loops : &rt_kind_logical;
	if (neff_in_parts(neff))
		return &rt_kind_loops;
	return neff->nsubgraphs > 1 ? &rt_kind_pipeline : &rt_kind_single;
}

static NRT_STATUS build(struct nrt_model *model)
{
	unsigned int n = model->neff->nsubgraphs;
	NRT_STATUS status = NRT_SUCCESS;

	model->subgraph = calloc(n, sizeof(*model->subgraph));
	if (!model->subgraph)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	model->nsubgraphs = n;
	for (unsigned int i = 0; i < n && !status; i++) {
		struct rt_subgraph *sg = &model->subgraph[i];

		sg->model = model;
		sg->neff = &model->neff->subgraphs[i];
		sg->target = model->neff->target;
		sg->nparts = 1;
		status = rt_subgraph_begin(sg, model->kind->siblings && i >= n / 2
						       ? model->core->sibling
						       : model->core + i % model->ncores);
	}
	if (!status && model->kind->join)
		status = model->kind->join(model);
	for (unsigned int i = 0; i < n && !status; i++) {
		status = rt_load_wanted(model);
		if (!status)
			status = rt_subgraph_build(&model->subgraph[i]);
		if (!status && model->subgraph[i].nparts == 1)
			status = rt_subgraph_finish(&model->subgraph[i]);
		model->counters.macs_per_infer += model->subgraph[i].macs;
		model->jumps |= model->subgraph[i].jumps;
	}
	/* several parts: all of them are built first */
	for (unsigned int i = 0; i < n && !status; i++)
		if (model->subgraph[i].nparts > 1)
			status = rt_subgraph_finish(&model->subgraph[i]);
	return status;
}

static unsigned int models_on(const struct rt_core *core)
{
	unsigned int n = 0;

	for (struct nrt_model *m = rt.models; m; m = m->next)
		n += core >= m->core && core < m->core + m->ncores;
	return n;
}

/* Picks the first run of n cores with the fewest models. */
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

/*
 * Gives the model its cores: all it needs, or as many as it may have, which its stages then share.
 */
static NRT_STATUS take_cores(struct nrt_model *model, const struct place *place)
{
	const uint32_t version = model->neff->target->isa_version;
	const uint32_t lnc = model->neff->header.lnc_size;
	uint32_t n = model->kind->spreads ? model->neff->nsubgraphs : 1, first;

	if (lnc > rt.lnc)
		return rt_fail(NRT_INVALID, "NMGR",
			       "the model is for logical cores of %u cores (--lnc %u), "
			       "here they have %u (NEURON_LOGICAL_NC_CONFIG)",
			       lnc, lnc, rt.lnc);
	if (place->most && place->most < n)
		n = place->most;
	model->core = place->core ? place->core : pick_cores(n);
	model->ncores = n;
	first = model->core ? model->core->vnc : 0;
	if (!model->core || first + n > rt.ncores)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NMGR",
			       "Insufficient number of VNCs: %u, required: %u", rt.ncores,
			       first + n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t device = model->core[i].device;

		if (rt.devices[device].isa_version != version)
			return rt_fail(NRT_UNSUPPORTED_NEFF_VERSION, "NMGR",
				       "nd%u: instruction set version %u, the model has %u", device,
				       rt.devices[device].isa_version, version);
	}
	return NRT_SUCCESS;
}

/* Tells monitors of the model's subgraphs, or that they are gone. */
static void show(const struct nrt_model *model, bool there)
{
	for (unsigned int i = 0; i < model->nsubgraphs; i++) {
		const struct rt_subgraph *sg = &model->subgraph[i];
		void *nds = rt.devices[sg->core->device].nds;
		struct rt_nds_node_info info = {
			.model_id = model->id,
			.node = i,
			.name = model->neff->header.name,
			.uuid = (const uint8_t *)model->neff->header.uuid,
			.nc = sg->core->nc,
			.code = sg->code.size,
		};

		for (unsigned int c = 0; c < sg->nchunks; c++) {
			if (sg->chunks[c].type == NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE)
				info.constants += sg->chunks[c].size;
			else if (sg->chunks[c].type == NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE)
				info.scratchpad += sg->chunks[c].size;
		}
		if (nds && there)
			rt_nds_node_add(nds, &info);
		else if (nds)
			rt_nds_model_remove(nds, model->id);
	}
}

static NRT_STATUS load(const void *bytes, size_t size, const struct place *place,
		       nrt_model_t **result)
{
	struct nrt_model *model = rt_model_new();
	struct rt_event_data data = { 0 };
	NRT_STATUS status;
	uint64_t event;

	if (!model)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	model->timeout_given = place->timeout_ms || place->default_timeout_ms;
	model->timeout_ms = place->timeout_ms;
	model->owner = place->owner;
	model->rank = place->rank;
	model->nranks = place->nranks;
	model->group_token = place->group;
	model->printer = rt_printer_get(place->asked.user, rt_now_us() / 1000);
	model->cancelled = place->asked.cancelled;
	model->cancelled_arg = place->asked.cancelled_arg;

	data.model_id = model->id;
	event = rt_trace_begin(RT_EVENT_nrt_load, place->core ? place->core->vnc : 0, &data);
	status = read_neff(model, bytes, size, place);
	if (!status) {
		model->kind = kind_of(model->neff);
		status = take_cores(model, place);
	}
	if (!status)
		status = build(model);
	model->cancelled = NULL;
	/* the constants and programs are on the device now; names, shapes and the header stay */
	if (model->file)
		rt_neff_loaded(model->file);
	if (status) {
		rt_trace_end(RT_EVENT_nrt_load, place->core ? place->core->vnc : 0, event, &data);
		rt_ranks_leave(model);
		rt_model_go(model);
		return rt_fail(status, "NMGR", "Failed to load NN");
	}

	if (!model->timeout_ms)
		model->timeout_ms = default_timeout(model, place->default_timeout_ms);
	model->numerical = place->numerical || wants_numerical_errors();
	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		rt_subgraph_drop_bulk(&model->subgraph[i]);
	for (uint32_t i = 0; i < model->ncores; i++)
		rt_nds_add(model->core + i, NDS_NC_COUNTER_MODEL_LOAD_COUNT, 1);

	show(model, true);
	pthread_mutex_lock(&rt.lock);
	model->next = rt.models;
	rt.models = model;
	pthread_mutex_unlock(&rt.lock);

	data.name = model->neff->header.name;
	rt_trace_end(RT_EVENT_nrt_load, place->core ? place->core->vnc : 0, event, &data);
	*result = model;
	return NRT_SUCCESS;
}

static NRT_STATUS load_on(const void *neff_bytes, size_t size, int32_t vnc, struct place *place,
			  nrt_model_t **model)
{
	if (!model)
		return rt_fail(NRT_INVALID, "NRT", "no place for the model");
	place->core = vnc < 0 ? NULL : rt_core((uint32_t)vnc);
	if (vnc >= 0 && !place->core)
		return rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NRT", "core %d: this process has %u", vnc,
			       rt.ncores);
	return load(neff_bytes, size, place, model);
}

EXPORT NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
			   nrt_model_t **model)
{
	RT_ENTER(status);
	struct place place = { .most = vnc_count > 0 ? (uint32_t)vnc_count : 0 };

	return status ? status : load_on(neff_bytes, size, vnc, &place, model);
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
	place.default_timeout_ms = params->default_timeout_ms;
	place.owner = params->owner;
	place.numerical = params->numerical_errors;
	place.rank = params->rank;
	place.nranks = params->ranks;
	place.group = params->group;
	place.asked = *params;
	place.file = params->neff;
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
	RT_ENTER(status);
	struct place place = { .most = vnc_count > 0 ? (uint32_t)vnc_count : 0,
			       .rank = ctx_device_id,
			       .nranks = ctx_device_count };

	return status ? status : load_on(neff_bytes, size, vnc, &place, model);
}

EXPORT NRT_STATUS nrt_unload(nrt_model_t *model)
{
	RT_ENTER(status);
	struct rt_event_data data = { 0 };
	struct nrt_model **p;
	uint64_t event;
	uint32_t core;

	if (status)
		return status;
	pthread_mutex_lock(&rt.lock);
	for (p = &rt.models; *p && *p != model; p = &(*p)->next)
		;
	if (!*p) {
		pthread_mutex_unlock(&rt.lock);
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	}

	*p = model->next;
	while (model->running)
		pthread_cond_wait(&model->idle, &rt.lock);
	pthread_mutex_unlock(&rt.lock);

	show(model, false);
	core = model->core->vnc;
	data.model_id = model->id;
	event = rt_trace_begin(RT_EVENT_nrt_unload, core, &data);
	rt_ranks_leave(model);
	rt_model_go(model);
	rt_stale_retry();
	rt_trace_end(RT_EVENT_nrt_unload, core, event, &data);
	return NRT_SUCCESS;
}

/* Queries */
