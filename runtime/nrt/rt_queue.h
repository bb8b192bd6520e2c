/* SPDX-License-Identifier: MIT */
/*
 * Requests that a thread of the runtime carries out (queue.c). Every core has execution units, each
 * unit has queues, and a queue has a thread from its first request on. Queues live as long as the
 * process, so that numbers are not given twice.
 */
#ifndef RT_QUEUE_H
#define RT_QUEUE_H

#include "nrt/nrt_async.h"
#include "rt_tensor.h"

#define RT_QUEUES 16 /* of a unit */
#define RT_QUEUE_CORES 512
#define RT_QUEUE_DEPTH 4096 /* requests that a queue takes */
/* The number of a queue, in 16 bits: its core's, its unit's and its own */
#define RT_QUEUE_ID(core, unit, queue) ((uint32_t)((core) << 7 | (unit) << 4 | (queue)))

struct nrt_model;

/* A collective of one member */
struct nrt_cc_context {
	uint32_t vnc;
	size_t n;
	nrt_tensor_t **in, **out; /* n of each */
};

struct rt_request {
	struct rt_request *next;
	nrta_seq_t seq;
	NRT_STATUS (*run)(struct rt_request *request);
	void (*done)(struct rt_request *request, NRT_STATUS status); /* may be NULL */
	nrta_error_tracker_t *tracker; /* may be NULL */
	nrt_tensor_t *tensor, *to; /* what it has; either may be NULL */
	void *buf;
	uint64_t offset, to_offset, size;
	struct nrt_model *model;
	struct rt_set in, out; /* copies of the caller's sets */
	int repeat;
	nrt_cc_context_t *cc;
	struct { /* of the asynchronous mode */
		uint64_t id;
		uint32_t vnc, model_id;
	} job;
};

struct rt_queue;

extern _Thread_local bool rt_in_queue; /* this thread is a queue's */

void rt_queues_start(void); /* at nrt_init: requests are taken */
void rt_queues_stop(void); /* at nrt_close: the queued ones are carried out, no more are taken */

struct rt_request *rt_request_new(NRT_STATUS (*run)(struct rt_request *),
				  nrta_error_tracker_t *tracker); /* NULL, with details */
void rt_request_free(struct rt_request *request);
void rt_cc_free(nrt_cc_context_t *cc);

/* The queue of a number, which is made if there is none, or NULL */
struct rt_queue *rt_queue_make(uint32_t id);
struct rt_queue *rt_queue_get(uint32_t id);
/*
 * Queues a request; its tensors are pending until it is completed. The caller frees it if that
 * fails. number, if not NULL, gets its number before it can be carried out.
 */
NRT_STATUS rt_queue_append(struct rt_queue *queue, struct rt_request *request, uint64_t *number);
/* Queues the request and says its sequence id, or frees it. */
NRT_STATUS rt_request_submit(struct rt_request *request, uint32_t vnc, nrta_xu_t unit, int number,
			     nrta_seq_t *seq);
/* Waits until fewer than most requests are under way. */
void rt_queue_wait(struct rt_queue *queue, uint64_t most);
/* The last number that was completed */
uint64_t rt_queue_completed(struct rt_queue *queue);
/* The queue of a request that was given its id; NULL, with details: there was none */
struct rt_queue *rt_queue_of(nrta_seq_t seq);
/* A descriptor that becomes readable once the number is completed; 0 or -errno */
int rt_queue_handle(struct rt_queue *queue, uint64_t number, int *fd);

/* How many executions of a core nrt_execute queues, when this thread calls it; 0: it does not */
uint32_t rt_async_limit(void);

#endif
