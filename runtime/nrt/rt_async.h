/* SPDX-License-Identifier: MIT */
/*
 * Requests that a thread of the runtime carries out (async.c). Every core has execution units, each
 * unit has queues, and a queue has a thread from its first request on. What the explicit API
 * (nrta_*) and nrt_execute in the asynchronous mode queue is the same.
 */
#ifndef RT_ASYNC_H
#define RT_ASYNC_H

#include "nrt/nrt_async.h"
#include "rt_exec.h"

void rt_async_start(void); /* at nrt_init: requests are taken */
void rt_async_stop(void); /* at nrt_close: the queued ones are carried out, no more are taken */

/* NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS is above 0 */
bool rt_async_mode(void);
/* Queues an execution of a pinned model, which is unpinned at its end or when this fails. */
NRT_STATUS rt_async_execute(struct nrt_model *model, const struct rt_io *io, int repeat);

#endif
