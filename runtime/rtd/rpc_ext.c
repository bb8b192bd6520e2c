// SPDX-License-Identifier: MIT
/* Package nrtx: the daemon, its models and their owners, for neuron-cli and neuron-ls */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "nrtx.pb-c.h"
#include "rpc.h"

static void ext_status(struct rtd_call *call, Nrtx__Status *status, struct rtd_err *err)
{
	Nrt__Status same;

	rtd_rpc_status(call, &same, err);
	nrtx__status__init(status);
	status->code = same.code;
	status->details = same.details;
}

/* ---- the daemon */

void rtd_rpc_describe_daemon(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrtx__DescribeDaemonResponse resp = NRTX__DESCRIBE_DAEMON_RESPONSE__INIT;
	Nrtx__DeviceInfo devices[RTD_MAX_DEVICES], *list[RTD_MAX_DEVICES];
	struct rtd *rtd = rtd_call_rtd(call);
	const struct rtd_device *from;
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	resp.pid = getpid();
	resp.version = (char *)RTD_VERSION;
	resp.address = rtd->config->endpoints;
	resp.n_address = rtd->config->nendpoints;
	resp.instance = rtd->config->instance ? rtd->config->instance : (char *)"";
	resp.in_process = rtd_engine_in_process();
	resp.device = list;

	if (!rtd_ready(rtd, &err))
		resp.n_device = rtd_engine_devices(rtd->engine, &from);
	for (size_t i = 0; i < resp.n_device; i++) {
		nrtx__device_info__init(&devices[i]);
		devices[i].index = from[i].index;
		devices[i].bdf = (char *)from[i].bdf;
		devices[i].nc_count = from[i].nc_count;
		devices[i].vnc_start_index = from[i].vnc_start;
		list[i] = &devices[i];
	}

	ext_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

/* ---- owners */

struct owner_storage {
	Nrtx__Owner owner;
	char framework[64];
};

/* Called with the lock held. */
static void owner_fill(struct rtd *rtd, const struct rtd_owner *from, struct owner_storage *storage)
{
	struct rtd_session *session;

	nrtx__owner__init(&storage->owner);
	storage->owner.pid = from->peer.pid;
	storage->owner.uid = from->peer.uid;
	storage->framework[0] = 0;
	TAILQ_FOREACH(session, &rtd->sessions, link)
		if (session->id == from->session)
			memcpy(storage->framework, session->framework, sizeof(storage->framework));
	/* the session id is shown to its owner only */
	storage->owner.framework = storage->framework;
	storage->owner.has_session = from->session != 0;
}

/* ---- models */

struct model_storage {
	Nrtx__ModelInfo info;
	struct owner_storage owner;
	char name[257], uuid[33];
};

/* Called with the lock held. */
static void model_fill(struct rtd *rtd, const struct rtd_model *model,
		       struct model_storage *storage)
{
	const struct rtd_device *devices;
	unsigned int n = rtd_engine_devices(rtd->engine, &devices);
	Nrtx__ModelInfo *to = &storage->info;

	nrtx__model_info__init(to);
	memcpy(storage->name, model->info.name, sizeof(storage->name));
	memcpy(storage->uuid, model->info.uuid, sizeof(storage->uuid));

	to->id = model->id;
	to->name = storage->name;
	to->uuid = storage->uuid;
	to->state = model->state == RTD_READY	 ? NRTX__MODEL_STATE__MODEL_READY
		    : model->state == RTD_FAILED ? NRTX__MODEL_STATE__MODEL_FAILED
						 : NRTX__MODEL_STATE__MODEL_STANDBY;

	to->eg = model->eg->id;
	to->nc_count = model->eg->count < model->info.nc_normal ? model->info.nc_shared
								: model->info.nc_normal;
	to->vnc_start_index = model->eg->start;

	for (unsigned int i = 0; i < n && model->eg->start >= devices[i].vnc_start; i++) {
		to->mla_start_index = devices[i].index;
		to->nc_start_index = model->eg->start - devices[i].vnc_start;
	}

	owner_fill(rtd, &model->owner, &storage->owner);
	to->owner = &storage->owner.owner;

	to->ninfer = model->ninfer;
	to->timeout_ms = model->timeout_ms;
	to->infer_count = model->infer_count;
	to->neff_size = model->neff_size;
}

/*
 * With the lock held; *list and *storages are malloc'ed. A client sees the models that it may use.
 */
static size_t models_collect(struct rtd *rtd, const struct rtd_peer *peer,
			     struct model_storage **storages, Nrtx__ModelInfo ***list)
{
	struct rtd_model *model;
	size_t n = 0;

	*storages = calloc(rtd->nmodels + 1, sizeof(**storages));
	*list = calloc(rtd->nmodels + 1, sizeof(**list));
	if (!*storages || !*list)
		return 0;
	TAILQ_FOREACH(model, &rtd->models, link) {
		if (!rtd_may_model(peer, model, RTD_USE))
			continue;
		model_fill(rtd, model, &(*storages)[n]);
		(*list)[n] = &(*storages)[n].info;
		n++;
	}
	return n;
}

void rtd_rpc_list_models(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrtx__ListModelsResponse resp = NRTX__LIST_MODELS_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct model_storage *storages = NULL;
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	if (!rtd_ready(rtd, &err)) {
		pthread_mutex_lock(&rtd->lock);
		resp.n_model = models_collect(rtd, rtd_call_peer(call), &storages, &resp.model);
		pthread_mutex_unlock(&rtd->lock);
		if (!storages || !resp.model)
			rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	}
	ext_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
	free(resp.model);
	free(storages);
}

static Nrtx__TensorInfo **tensors_fill(const struct rtd_tensor *from, size_t n)
{
	Nrtx__TensorInfo **list = calloc(n + 1, sizeof(*list));
	Nrtx__TensorInfo *tensors = calloc(n + 1, sizeof(*tensors));

	if (!list || !tensors) {
		free(list);
		free(tensors);
		return NULL;
	}

	list[0] = tensors; /* frees it with an empty list too */
	for (size_t i = 0; i < n; i++) {
		nrtx__tensor_info__init(&tensors[i]);
		tensors[i].name = (char *)from[i].name;
		if (from[i].source)
			tensors[i].source_name = (char *)from[i].source;
		tensors[i].usage =
			from[i].output ? NRTX__USAGE__USAGE_OUTPUT : NRTX__USAGE__USAGE_INPUT;
		tensors[i].size = from[i].size;
		tensors[i].dtype = from[i].dtype;
		tensors[i].n_shape = from[i].ndim;
		tensors[i].shape = (uint64_t *)from[i].shape;
		list[i] = &tensors[i];
	}
	return list;
}

/* A reference keeps the model, and its tensors' names, until the answer is packed. */
void rtd_rpc_describe_model(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint32_t id = ((const Nrtx__DescribeModelRequest *)message)->id;
	Nrtx__DescribeModelResponse resp = NRTX__DESCRIBE_MODEL_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	const struct rtd_tensor *tensors;
	struct rtd_model *model = NULL;
	struct model_storage storage;
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	if (!rtd_ready(rtd, &err) &&
	    !rtd_access_model(rtd, rtd_call_peer(call), id, RTD_USE, &err)) {
		pthread_mutex_lock(&rtd->lock);
		model = rtd_model_find(rtd, id);
		if (model) {
			model->refs++;
			model_fill(rtd, model, &storage);
		}
		pthread_mutex_unlock(&rtd->lock);
		if (!model)
			rtd_fail(&err, NERR_INVALID_HANDLE, "NMGR", "Failed to find model: %u", id);
	}

	if (model) {
		resp.model = &storage.info;
		resp.n_tensor = rtd_program_tensors(model->program, &tensors);
		resp.tensor = tensors_fill(tensors, resp.n_tensor);
		if (!resp.tensor)
			resp.n_tensor = 0;
	}

	ext_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);

	if (resp.tensor)
		free(resp.tensor[0]);
	free(resp.tensor);

	if (model) {
		pthread_mutex_lock(&rtd->lock);
		model->refs--;
		pthread_cond_broadcast(&rtd->idle);
		pthread_mutex_unlock(&rtd->lock);
	}
}

void rtd_rpc_list_owners(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrtx__ListOwnersResponse resp = NRTX__LIST_OWNERS_RESPONSE__INIT;
	const struct rtd_peer *peer = rtd_call_peer(call);
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrtx__EgOwner *egs = NULL;
	struct owner_storage *owners = NULL;
	Nrtx__Status status;
	struct rtd_eg *eg;
	unsigned int n;

	if (!rtd_ready(rtd, &err)) {
		n = rtd_engine_nc_count(rtd->engine);
		egs = calloc(n, sizeof(*egs));
		owners = calloc(n, sizeof(*owners));
		resp.eg = calloc(n, sizeof(*resp.eg));
		if (!egs || !owners || !resp.eg)
			rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	}
	if (!err.code) {
		pthread_mutex_lock(&rtd->lock);
		TAILQ_FOREACH(eg, &rtd->egs, link) {
			size_t i = resp.n_eg++;

			nrtx__eg_owner__init(&egs[i]);
			owner_fill(rtd, &eg->owner, &owners[i]);
			if (!rtd_may_eg(peer, eg, RTD_USE)) {
				owners[i].owner.pid = 0;
				owners[i].owner.has_session = false;
				owners[i].framework[0] = 0;
			}
			egs[i].sharing = (Nrtx__Sharing)eg->sharing;
			egs[i].eg = eg->id;
			egs[i].random_seed = eg->seed;
			egs[i].implicit = eg->implicit;
			egs[i].owner = &owners[i].owner;
			resp.eg[i] = &egs[i];
		}
		pthread_mutex_unlock(&rtd->lock);
	}
	ext_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
	free(resp.eg);
	free(owners);
	free(egs);
}

void rtd_rpc_share_eg(struct rtd_call *call, const ProtobufCMessage *message)
{
	static_assert((int)NRTX__SHARING__SHARE_ALL == (int)RTD_SHARE_ALL, "one enum");
	const Nrtx__ShareEgRequest *req = (const void *)message;
	Nrtx__ShareEgResponse resp = NRTX__SHARE_EG_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	unsigned int sharing = req->sharing;
	struct rtd_err err = { 0 };
	Nrtx__Status status;

	if (rtd_ready(rtd, &err))
		;
	else if (sharing > RTD_SHARE_ALL)
		rtd_fail(&err, NERR_INVALID, "NRTD", "sharing %u, expected 0 to %d", sharing,
			 RTD_SHARE_ALL);
	else
		rtd_eg_share(rtd, rtd_call_peer(call), req->eg, sharing, &err);
	ext_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}
