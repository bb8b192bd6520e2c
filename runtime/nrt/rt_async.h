/* SPDX-License-Identifier: MIT */
/* An execution as a request (async.c) */
#ifndef RT_ASYNC_H
#define RT_ASYNC_H

#include "rt_exec.h"
#include "rt_queue.h"

/* A request of a pinned model, which is unpinned at its end; NULL: out of memory, and it is */
struct rt_request *rt_execution_new(struct nrt_model *model, const struct rt_io *io, int repeat,
				    nrta_error_tracker_t *tracker);

#endif
