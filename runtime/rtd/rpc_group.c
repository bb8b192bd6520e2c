// SPDX-License-Identifier: MIT
/* create_eg, destroy_eg, list_egs, random_seed, unload_all; and what all handlers share */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "log.h"
#include "rpc.h"

void rtd_rpc_status(struct rtd_call *call, Nrt__Status *status, struct rtd_err *err)
{
	const char *method = rtd_call_method(call);

	nrt__status__init(status);
	status->code = err->code;
	if (!err->code)
		return;
	rtd_err_add(err, err->code, "NRTD", method, "%s() failed, error: %d", method, err->code);
	status->details.data = (uint8_t *)err->text;
	status->details.len = err->len;
	rtd_debug("NRTD", "%s", err->text);
}

int rtd_rpc_refuse(struct rtd_err *err)
{
	return rtd_fail(err, NERR_RESOURCE, "NRTD",
			"the message does not fit into what this user, or all, may hold");
}

struct rtd_owner rtd_rpc_owner(struct rtd_call *call, uint64_t session)
{
	struct rtd_owner owner = { .peer = *rtd_call_peer(call), .session = session };

	owner.peer.groups = NULL;
	owner.peer.ngroups = 0;
	return owner;
}

void rtd_rpc_create_eg(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__CreateEgRequest *req = (const void *)message;
	Nrt__CreateEgResponse resp = NRT__CREATE_EG_RESPONSE__INIT;
	struct rtd_owner owner = rtd_rpc_owner(call, req->session_id);
	struct rtd *rtd = rtd_call_rtd(call);
	Nrt__HEg handle = NRT__H_EG__INIT;
	struct rtd_err err = { 0 };
	struct rtd_eg *eg;
	Nrt__Status status;

	if (!rtd_ready(rtd, &err) &&
	    !rtd_session_check(rtd, rtd_call_peer(call), req->session_id, &err) &&
	    !rtd_eg_create(rtd, req->nc_count, &owner, false, &eg, &err)) {
		handle.id = eg->id;
		resp.nc_count = eg->count;
		resp.h_eg = &handle;
		rtd_eg_put(rtd, eg);
	}
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

static void destroy_done(struct rtd_err *err, void *arg)
{
	Nrt__DestroyEgResponse resp = NRT__DESTROY_EG_RESPONSE__INIT;
	Nrt__Status status;

	rtd_rpc_status(arg, &status, err);
	resp.status = &status;
	rtd_call_reply(arg, &resp.base);
}

void rtd_rpc_destroy_eg(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__DestroyEgRequest *req = (const void *)message;
	uint32_t id = req->h_eg ? req->h_eg->id : 0;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };

	if (!rtd_ready(rtd, &err) &&
	    !rtd_access_eg(rtd, rtd_call_peer(call), id, RTD_CONTROL, &err))
		rtd_eg_destroy(rtd, id, destroy_done, call);
	else
		destroy_done(&err, call);
}

void rtd_rpc_random_seed(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__RandomSeedRequest *req = (const void *)message;
	Nrt__RandomSeedResponse resp = NRT__RANDOM_SEED_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rtd_ready(rtd, &err))
		rtd_eg_seed(rtd, rtd_call_peer(call), req->h_eg ? req->h_eg->id : 0, req->seed,
			    &err);
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

static void eg_info_fill(struct rtd *rtd, const struct rtd_eg *eg, Nrt__EgInfo *info,
			 Nrt__HEg *handle)
{
	const struct rtd_device *devices;
	unsigned int n = rtd_engine_devices(rtd->engine, &devices);

	nrt__eg_info__init(info);
	nrt__h_eg__init(handle);
	handle->id = eg->id;
	info->eg = handle;
	info->vnc_start_index = eg->start;
	info->nc_count = eg->count;
	for (unsigned int i = 0; i < n; i++) {
		if (eg->start < devices[i].vnc_start)
			break;
		info->mla_start_index = devices[i].index;
		info->nc_start_index = eg->start - devices[i].vnc_start;
	}
}

/* There are at most as many groups as cores; the arrays have that size. */
static void egs_collect(struct rtd *rtd, Nrt__OutListEgs *resp, Nrt__EgInfo *infos,
			Nrt__HEg *handles)
{
	struct rtd_eg *eg;

	pthread_mutex_lock(&rtd->lock);
	TAILQ_FOREACH(eg, &rtd->egs, link) {
		size_t i = resp->n_eg_info++;

		eg_info_fill(rtd, eg, &infos[i], &handles[i]);
		resp->eg_info[i] = &infos[i];
	}
	pthread_mutex_unlock(&rtd->lock);
}

void rtd_rpc_list_egs(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__OutListEgs resp = NRT__OUT_LIST_EGS__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	const struct rtd_device *devices;
	Nrt__EgInfo *infos = NULL;
	Nrt__HEg *handles = NULL;
	struct rtd_err err = { 0 };
	Nrt__Status status;
	unsigned int n;

	if (!rtd_ready(rtd, &err)) {
		n = rtd_engine_nc_count(rtd->engine);
		resp.nc_count = n;
		resp.mla_count = rtd_engine_devices(rtd->engine, &devices);
		infos = calloc(n, sizeof(*infos));
		handles = calloc(n, sizeof(*handles));
		resp.eg_info = calloc(n, sizeof(*resp.eg_info));
		if (infos && handles && resp.eg_info)
			egs_collect(rtd, &resp, infos, handles);
		else
			rtd_fail(&err, NERR_RESOURCE, "NMGR", "out of memory");
	}

	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);

	free(resp.eg_info);
	free(handles);
	free(infos);
}

static void unload_all_done(struct rtd_err *err, void *arg)
{
	Nrt__Status status;

	rtd_rpc_status(arg, &status, err);
	rtd_call_reply(arg, &status.base);
}

void rtd_rpc_unload_all(struct rtd_call *call, const ProtobufCMessage *message)
{
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };

	if (rtd_ready(rtd, &err))
		unload_all_done(&err, call);
	else
		rtd_unload_own(rtd, rtd_call_peer(call), unload_all_done, call);
}
