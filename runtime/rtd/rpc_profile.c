// SPDX-License-Identifier: MIT
/* profile_start and profile_stop of package nrtx */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "nrtx.pb-c.h"
#include "rpc.h"

static void profile_status(struct rtd_call *call, Nrtx__Status *status, struct rtd_err *err)
{
	Nrt__Status plain;

	rtd_rpc_status(call, &plain, err);
	nrtx__status__init(status);
	status->code = plain.code;
	status->details = plain.details;
}

void rtd_rpc_profile_start(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t id = ((const Nrtx__ProfileStartRequest *)message)->id;
	Nrtx__ProfileStartResponse resp = NRTX__PROFILE_START_RESPONSE__INIT;
	const struct rtd_peer *peer = rtd_call_peer(call);
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	if (!rtd_ready(rtd, &err) && !rtd_access_model(rtd, peer, id, RTD_CONTROL, &err))
		rtd_profile_start(rtd, peer, id, &err);
	profile_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

/* An answer and everything it points at */
struct profile_storage {
	Nrtx__ProfileStopResponse resp;
	char name[257], uuid[33];
	Nrtx__ProfileInfer infer[RTD_PROFILE_INFERS], *infers[RTD_PROFILE_INFERS];
	struct {
		Nrtx__ProfileCore core;
		Nrtx__ProfileEngine engine[RTD_MAX_ENGINES], *engines[RTD_MAX_ENGINES];
	} core[RTD_PROFILE_CORES];
	Nrtx__ProfileCore *cores[RTD_PROFILE_CORES];
};

static void fill_infers(const struct rtd_profile *from, struct profile_storage *storage)
{
	size_t n = from->total < RTD_PROFILE_INFERS ? from->total : RTD_PROFILE_INFERS;

	for (size_t i = 0; i < n; i++) {
		Nrtx__ProfileInfer *to = &storage->infer[i];

		nrtx__profile_infer__init(to);
		to->posted_ns = from->infer[i].posted_ns;
		to->queued_ns = from->infer[i].queued_ns;
		to->device_ns = from->infer[i].device_ns;
		to->cycles = from->infer[i].cycles;
		to->code = from->infer[i].code;
		storage->infers[i] = to;
	}
	storage->resp.infer_count = from->total;
	storage->resp.infer = storage->infers;
	storage->resp.n_infer = n;
}

static void fill_core(const struct rtd_core_counters *from, struct profile_storage *storage,
		      size_t i)
{
	Nrtx__ProfileCore *to = &storage->core[i].core;

	nrtx__profile_core__init(to);
	to->device = from->device;
	to->nc = from->nc;
	to->macs = from->macs;
	for (size_t e = 0; e < from->nengines; e++) {
		Nrtx__ProfileEngine *engine = &storage->core[i].engine[e];

		nrtx__profile_engine__init(engine);
		engine->name = (char *)from->engine[e].name;
		engine->instructions = from->engine[e].executed;
		engine->busy_cycles = from->engine[e].busy;
		engine->idle_cycles = from->engine[e].idle;
		engine->wait_cycles = from->engine[e].wait;
		storage->core[i].engines[e] = engine;
	}
	to->engine = storage->core[i].engines;
	to->n_engine = from->nengines;
	storage->cores[i] = to;
}

static void fill_name(struct rtd *rtd, uint32_t id, struct profile_storage *storage)
{
	struct rtd_model *model;

	pthread_mutex_lock(&rtd->lock);
	model = rtd_model_find(rtd, id);
	if (model) {
		memcpy(storage->name, model->info.name, sizeof(storage->name));
		memcpy(storage->uuid, model->info.uuid, sizeof(storage->uuid));
	}
	pthread_mutex_unlock(&rtd->lock);
	storage->resp.name = storage->name;
	storage->resp.uuid = storage->uuid;
}

static void fill_profile(struct rtd *rtd, uint32_t id, const struct rtd_profile *from,
			 struct profile_storage *storage)
{
	fill_name(rtd, id, storage);
	storage->resp.begun_ns = from->begun_ns;
	fill_infers(from, storage);
	for (size_t i = 0; i < from->ncores; i++)
		fill_core(&from->core[i], storage, i);
	storage->resp.core = storage->cores;
	storage->resp.n_core = from->ncores;
}

void rtd_rpc_profile_stop(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t id = ((const Nrtx__ProfileStopRequest *)message)->id;
	Nrtx__ProfileStopResponse failed = NRTX__PROFILE_STOP_RESPONSE__INIT, *resp = &failed;
	struct profile_storage *storage = calloc(1, sizeof(*storage));
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_profile *profile = NULL;
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	if (!storage)
		rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	else if (!rtd_ready(rtd, &err) &&
		 !rtd_access_model(rtd, rtd_call_peer(call), id, RTD_CONTROL, &err) &&
		 !rtd_profile_stop(rtd, id, &profile, &err)) {
		nrtx__profile_stop_response__init(&storage->resp);
		fill_profile(rtd, id, profile, storage);
		resp = &storage->resp;
	}
	profile_status(call, &status, &err);
	resp->status = &status;
	rtd_call_reply(call, &resp->base);
	rtd_profile_free(rtd, profile);
	free(storage);
}
