// SPDX-License-Identifier: MIT
/*
 * watch_events of package nrtx. While a client waits, its call has a watcher; when that is told,
 * the answer goes out, and the next request is read once it is sent.
 */
#include <assert.h>
#include <stdlib.h>

#include "nrtx.pb-c.h"
#include "rpc.h"

static_assert((int)RTD_EVENT_MODEL_UNLOADED == (int)NRTX__EVENT_KIND__EVENT_MODEL_UNLOADED &&
		      (int)RTD_EVENT_EG_CREATED == (int)NRTX__EVENT_KIND__EVENT_EG_CREATED,
	      "one enum");

static bool watch_gone(void *arg)
{
	return rtd_call_gone(arg);
}

static void watch_told(struct rtd_watcher *watcher, const struct rtd_event *events, unsigned int n,
		       uint64_t lost)
{
	Nrtx__WatchEventsResponse resp = NRTX__WATCH_EVENTS_RESPONSE__INIT;
	Nrtx__Event event[RTD_EVENT_BATCH], *list[RTD_EVENT_BATCH];
	struct rtd_call *call = watcher->arg;

	if (!n && !lost) { /* the daemon ends, or the client has left */
		rtd_call_finish(call);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		nrtx__event__init(&event[i]);
		event[i].number = events[i].number;
		event[i].time_ns = events[i].time_ns;
		event[i].kind = (Nrtx__EventKind)events[i].kind;
		event[i].eg = events[i].eg;
		event[i].model = events[i].model;
		list[i] = &event[i];
	}
	resp.event = list;
	resp.n_event = n;
	resp.next = watcher->next;
	resp.lost = lost;
	rtd_call_send(call, &resp.base);
}

void rtd_rpc_watch_events(struct rtd_call *call, const ProtobufCMessage *message)
{
	uint64_t from = ((const Nrtx__WatchEventsRequest *)message)->from;
	struct rtd_watcher *watcher = rtd_call_data(call);
	struct rtd *rtd = rtd_call_rtd(call);
	uint64_t next = rtd_events_next(rtd);

	if (!watcher) {
		watcher = calloc(1, sizeof(*watcher));
		if (!watcher) {
			rtd_call_exhausted(call, "out of memory");
			return;
		}
		watcher->peer = *rtd_call_peer(call);
		watcher->peer.groups = NULL;
		watcher->peer.ngroups = 0;
		watcher->next = next;
		watcher->gone = watch_gone;
		watcher->told = watch_told;
		watcher->arg = call;
		rtd_call_set_data(call, watcher);
	}
	if (from)
		watcher->next = from < next ? from : next;
	rtd_events_watch(rtd, watcher);
}

void rtd_rpc_watch_events_end(struct rtd_call *call)
{
	rtd_call_finish(call);
}

void rtd_rpc_watch_events_closed(struct rtd_call *call)
{
	free(rtd_call_data(call));
}
