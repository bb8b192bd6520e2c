/* SPDX-License-Identifier: MIT */
/*
 * Requests that a thread of the runtime carries out (queue.c). Every core has execution units, each
 * unit has queues, and a queue has a thread from its first request on. Queues live as long as the
 * process, so that numbers are not given twice. The units of the two levels of the API
 * (nrt_async.h) are different ones, so that each level's numbers are without gaps.
 */
#ifndef RT_QUEUE_H
#define RT_QUEUE_H

#include "nrt/nrt_async.h"
#include "rt_tensor.h"

/* Execution units: nrta_xu_t of level 2.0, and behind them nrta_xu_t of level 3.0 */
enum rt_unit {
	RT_UNIT_READ,
	RT_UNIT_WRITE,
	RT_UNIT_OP,
	RT_UNIT_COMPUTE, /* nrt_execute's as well, in the asynchronous mode */
	RT_UNIT_COLLECTIVES,
	RT_UNITS_2, /* how many level 2.0 has */
	RT_UNIT_3 = RT_UNITS_2, /* the first one of level 3.0 */
	RT_UNITS = RT_UNIT_3 + 3
};

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

struct rt_request;

/* The queue of a request, and who is told how it ended */
struct rt_order {
	int vnc; /* -1: the core of the tensors, or the model's */
	enum rt_unit unit;
	int queue;
	nrta_seq_t *seq; /* gets the sequence id */
	/* Called before the request counts as completed; may be NULL */
	void (*done)(struct rt_request *request, NRT_STATUS status);
	void *told; /* done's */
	/*
	 * A timeout or an error of the hardware ends the unit: what is queued there ends with
	 * NRT_EXEC_UNIT_UNRECOVERABLE, and no more is taken until nrt_init.
	 */
	bool ends_unit;
};

struct rt_request {
	struct rt_request *next;
	nrta_seq_t seq;
	NRT_STATUS (*run)(struct rt_request *request);
	struct rt_order order;
	nrt_tensor_t *tensor, *to; /* what it has; either may be NULL */
	void *buf;
	uint64_t offset, to_offset, size;
	struct nrt_model *model; /* pinned until the request has been carried out */
	struct rt_set in, out; /* copies of the caller's sets */
	int repeat;
	nrt_cc_context_t *cc; /* its own once it is queued */
	struct { /* of the asynchronous mode */
		uint64_t id;
		uint32_t vnc, model_id;
	} job;
};

struct rt_queue;

void rt_queues_start(void); /* at nrt_init: requests are taken */
void rt_queues_stop(void); /* at nrt_close: the queued ones are carried out, no more are taken */

struct rt_request *rt_request_new(NRT_STATUS (*run)(struct rt_request *),
				  const struct rt_order *order); /* NULL, with details */
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
/* Queues the request as its order says, for that core if it names none, or frees it. */
NRT_STATUS rt_request_submit(struct rt_request *request, uint32_t vnc);
/* Waits until fewer than most requests are under way. */
void rt_queue_wait(struct rt_queue *queue, uint64_t most);
/* The last number that was completed */
uint64_t rt_queue_completed(struct rt_queue *queue);
/* The queue of a request that was given its id; NULL, with details: there was none */
struct rt_queue *rt_queue_of(nrta_seq_t seq);
/* A descriptor that becomes readable once the number is completed; 0 or -errno */
int rt_queue_handle(struct rt_queue *queue, uint64_t number, int *fd);
/*
 * Signals the caller's eventfd when the number is completed, at once if it is; a negative one takes
 * back all that were given for the number. 0 or -errno; -EINVAL: not an eventfd
 */
int rt_queue_signal(struct rt_queue *queue, uint64_t number, int fd);
/*
 * Signals the eventfd at each completion of the queue until nrt_close; another one takes its place.
 */
int rt_queue_signal_all(struct rt_queue *queue, int fd);

/* The executions of a core that nrt_execute queues, when this thread calls it; 0: it does not */
uint32_t rt_async_limit(void);

#endif
