// SPDX-License-Identifier: MIT
/* session_monitor, get_version, shm_map, shm_unmap */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "rpc.h"

static void version_fill(Nrt__Version *version)
{
	nrt__version__init(version);
	version->full_version = (char *)RTD_VERSION;
	version->major_num = RTD_VERSION_MAJOR;
	version->minor_num = RTD_VERSION_MINOR;
}

void rtd_rpc_get_version(struct rtd_call *call, const ProtobufCMessage *message)
{
	Nrt__GetVersionResponse resp = NRT__GET_VERSION_RESPONSE__INIT;
	Nrt__Version version;

	version_fill(&version);
	resp.runtime_version = &version;
	rtd_call_reply(call, &resp.base);
}

/*
 * Clients read before they write, and read once: one answer goes out when the stream opens, and
 * none after it (an unread one would hold up the client's Finish). An answer has no field for a
 * code, and id 0 means "not tracked": a client would go on, and what it makes would outlive it. So
 * when no session can be had, the stream ends with RESOURCE_EXHAUSTED.
 */
void rtd_rpc_session_open(struct rtd_call *call)
{
	Nrt__SessionMonitorResponse resp = NRT__SESSION_MONITOR_RESPONSE__INIT;
	struct rtd_err err = { 0 };
	struct rtd_session *session =
		rtd_session_open(rtd_call_rtd(call), rtd_call_peer(call), &err);
	Nrt__Version version;

	if (!session) {
		rtd_call_exhausted(call, err.text);
		return;
	}
	rtd_call_set_data(call, session);
	version_fill(&version);
	resp.runtime_version = &version;
	resp.session_id = session->id;
	rtd_call_send(call, &resp.base);
}

void rtd_rpc_session_message(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__SessionMonitorRequest *req = (const void *)message;

	rtd_session_name(rtd_call_rtd(call), rtd_call_data(call), req->framework_name);
	rtd_call_next(call);
}

static void session_closed(struct rtd_err *err, void *arg)
{
	rtd_call_finish(arg);
}

void rtd_rpc_session_end(struct rtd_call *call)
{
	struct rtd_session *session = rtd_call_data(call);

	if (session)
		rtd_session_close(rtd_call_rtd(call), session, session_closed, call);
	else
		rtd_call_finish(call);
}

void rtd_rpc_shm_map(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__ShmMapRequest *req = (const void *)message;
	Nrt__ShmMapResponse resp = NRT__SHM_MAP_RESPONSE__INIT;
	const struct rtd_peer *peer = rtd_call_peer(call);
	struct rtd *rtd = rtd_call_rtd(call);
	const char *path = NULL;
	struct rtd_err err = { 0 };
	uint64_t huge = 0;
	Nrt__Status status;

	if (req->data_case == NRT__SHM_MAP_REQUEST__DATA_PATH) {
		path = req->path;
	} else if (req->data_case == NRT__SHM_MAP_REQUEST__DATA_PATH_HUGETLB) {
		path = req->path_hugetlb->path;
		huge = req->path_hugetlb->size;
	}
	if (rtd_ready(rtd, &err))
		;
	else if (!path)
		rtd_fail(&err, NERR_INVALID, "NRTD", "no path");
	else if (!rtd_session_check(rtd, peer, req->session_id, &err))
		rtd_shm_map(rtd, peer, req->session_id, path, huge, req->mmap_prot, &err);
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

void rtd_rpc_shm_unmap(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__ShmUnmapRequest *req = (const void *)message;
	Nrt__ShmUnmapResponse resp = NRT__SHM_UNMAP_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	if (!rtd_ready(rtd, &err))
		rtd_shm_unmap(rtd, rtd_call_peer(call), req->path, &err);
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}
