// SPDX-License-Identifier: MIT
/* A handler's questions to its call (server.h). */
#include "call.h"

#include <string.h>

#include "poller.h"

struct rtd *rtd_call_rtd(struct rtd_call *call)
{
	return call->server->config.rtd;
}

const struct rtd_peer *rtd_call_peer(struct rtd_call *call)
{
	return &call->peer;
}

const ProtobufCMessage *rtd_call_request(struct rtd_call *call)
{
	return call->request;
}

bool rtd_call_gone(struct rtd_call *call)
{
	return call->gone || call->broken;
}

const char *rtd_call_method(struct rtd_call *call)
{
	return strrchr(call->method->path, '/') + 1;
}

void rtd_call_set_data(struct rtd_call *call, void *data)
{
	call->data = data;
}

void *rtd_call_data(struct rtd_call *call)
{
	return call->data;
}

void rtd_call_hold(struct rtd_call *call)
{
	rtd_pollers_hold(call->server->pollers);
}
