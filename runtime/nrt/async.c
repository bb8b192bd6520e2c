/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous requests: queues, their threads, sequence numbers, what is told of completions, and
 * the callers of both APIs. A queue's number is its core's, its unit's and its own in 16 bits;
 * queues live as long as the process, so that numbers are not given twice.
 *
 * Locks: a queue's own protects its list and numbers; `starting` the making of queues; none is held
 * while a request is carried out or a callback is called. pending_lock is innermost.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rt_async.h"
#include "rt_log.h"
#include "rt_trace.h"

#define QUEUES 16 /* of a unit */
#define CORES 512
#define QUEUE_DEPTH 4096 /* requests that a queue takes */
#define ID(core, unit, queue) ((uint32_t)((core) << 7 | (unit) << 4 | (queue)))
_Static_assert(NRTA_XU_TYPE_NUM <= 8 && ID(CORES - 1, 7, QUEUES - 1) <= UINT16_MAX, "16 bits");

struct nrta_error_tracker {
	pthread_mutex_t lock;
	nrta_error_t *error, *given; /* being collected; the last list that was given out */
	size_t n, room;
};

struct nrt_cc_context {
	uint32_t vnc;
	size_t n;
	nrt_tensor_t **in, **out; /* n of each */
};

/* The end of a job in the asynchronous mode */
struct job {
	uint64_t id;
	uint32_t vnc, model_id;
};

struct request {
	struct request *next;
	nrta_seq_t seq;
	NRT_STATUS (*run)(struct request *request);
	void (*done)(struct request *request, NRT_STATUS status); /* may be NULL */
	nrta_error_tracker_t *tracker;
	nrt_tensor_t *tensor, *to; /* what it has; either may be NULL */
	void *buf;
	uint64_t offset, to_offset, size;
	struct nrt_model *model;
	struct rt_set in, out; /* copies of the caller's sets */
	int repeat;
	nrt_cc_context_t *cc;
	struct job job;
};

struct handle {
	struct handle *next;
	uint64_t number;
	int fd;
};

struct queue {
	uint32_t id;
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	pthread_t thread;
	bool runs; /* thread is valid */
	struct request *first, **last;
	uint64_t issued, completed; /* numbers */
	struct handle *handles;
};

static _Atomic(struct queue *) queues[UINT16_MAX + 1];
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool taking;
static _Thread_local bool in_queue; /* this thread is a queue's */

/* Pending requests of storages; waits are rare, so one condition serves all */
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pending_less = PTHREAD_COND_INITIALIZER;

void rt_tensor_pending(const nrt_tensor_t *tensor, bool on)
{
	if (!tensor || !tensor->storage)
		return;
	pthread_mutex_lock(&pending_lock);
	tensor->storage->pending += on ? 1 : -1u;
	if (!tensor->storage->pending)
		pthread_cond_broadcast(&pending_less);
	pthread_mutex_unlock(&pending_lock);
}

void rt_tensor_settle(const nrt_tensor_t *tensor)
{
	struct rt_storage *s = tensor ? tensor->storage : NULL;
	uint64_t event;

	/* a callback waits for nothing that comes behind it */
	if (!s || in_queue || !__atomic_load_n(&s->pending, __ATOMIC_ACQUIRE))
		return;
	event = rt_trace_begin(RT_EVENT_tensor_block_while_exec, -1,
			       &(struct rt_event_data){ .name = tensor->name });
	pthread_mutex_lock(&pending_lock);
	while (s->pending)
		pthread_cond_wait(&pending_less, &pending_lock);
	pthread_mutex_unlock(&pending_lock);
	rt_trace_end(RT_EVENT_tensor_block_while_exec, -1, event,
		     &(struct rt_event_data){ .name = tensor->name });
}

static void set_pending(const struct rt_set *set, bool on)
{
	for (unsigned int i = 0; i < set->n; i++)
		rt_tensor_pending(set->item[i].tensor, on);
}

static void request_pending(const struct request *r, bool on)
{
	rt_tensor_pending(r->tensor, on);
	rt_tensor_pending(r->to, on);
	set_pending(&r->in, on);
	set_pending(&r->out, on);
	for (size_t i = 0; r->cc && i < r->cc->n; i++) {
		rt_tensor_pending(r->cc->in[i], on);
		rt_tensor_pending(r->cc->out[i], on);
	}
}

static void cc_free(nrt_cc_context_t *cc)
{
	if (!cc)
		return;
	free(cc->in);
	free(cc->out);
	free(cc);
}

static void request_free(struct request *r)
{
	rt_set_drop(&r->in);
	rt_set_drop(&r->out);
	cc_free(r->cc);
	free(r);
}

/* Trackers */

static void track(nrta_error_tracker_t *tracker, nrta_seq_t seq, NRT_STATUS status)
{
	pthread_mutex_lock(&tracker->lock);
	if (tracker->n == tracker->room) {
		size_t room = tracker->room ? tracker->room * 2 : 16;
		nrta_error_t *more = reallocarray(tracker->error, room, sizeof(*more));

		if (!more) {
			pthread_mutex_unlock(&tracker->lock);
			rt_log(RT_LOG_ERROR, "out of memory: an error of request %#llx is lost",
			       (unsigned long long)seq);
			return;
		}
		tracker->error = more;
		tracker->room = room;
	}
	tracker->error[tracker->n++] = (nrta_error_t){ seq, status };
	pthread_mutex_unlock(&tracker->lock);
}

EXPORT NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!error_tracker || !rt_core(lnc_idx))
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", lnc_idx, rt.ncores);
	*error_tracker = calloc(1, sizeof(**error_tracker));
	if (!*error_tracker)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	pthread_mutex_init(&(*error_tracker)->lock, NULL);
	return NRT_SUCCESS;
}

EXPORT void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker)
{
	if (!error_tracker)
		return;
	pthread_mutex_destroy(&error_tracker->lock);
	free(error_tracker->error);
	free(error_tracker->given);
	free(error_tracker);
}

EXPORT NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
					      const nrta_error_t **list, size_t *error_count)
{
	rt_details_clear();
	if (!error_tracker || !list || !error_count)
		return rt_fail(NRT_INVALID, "NRT", "tracker or place missing");
	pthread_mutex_lock(&error_tracker->lock);
	free(error_tracker->given);
	*list = error_tracker->given = error_tracker->error;
	*error_count = error_tracker->n;
	error_tracker->error = NULL;
	error_tracker->n = error_tracker->room = 0;
	pthread_mutex_unlock(&error_tracker->lock);
	return NRT_SUCCESS;
}

/* Queues */

/* Tells who waits for requests up to this number; the lock is held. */
static void complete(struct queue *queue, uint64_t number)
{
	struct handle **at = &queue->handles;
	const uint64_t one = 1;

	if (number > queue->completed) /* a request's callback may have drained its queue */
		queue->completed = number;
	while (*at) {
		struct handle *handle = *at;

		if (handle->number > number) {
			at = &handle->next;
			continue;
		}
		*at = handle->next;
		/* the caller has a duplicate, and may have closed it */
		if (write(handle->fd, &one, sizeof(one)) != sizeof(one))
			rt_log(RT_LOG_ERROR, "a completion is not told: %s", strerror(errno));
		close(handle->fd);
		free(handle);
	}
	pthread_cond_broadcast(&queue->ended);
}

static void carry_out(struct queue *queue, struct request *r)
{
	NRT_STATUS status;

	rt_details_clear();
	status = r->run(r);
	request_pending(r, false);
	if (status && r->tracker)
		track(r->tracker, r->seq, status);
	if (r->done)
		r->done(r, status);
	pthread_mutex_lock(&queue->lock);
	complete(queue, NRTA_SEQ_GET_SEQ_NUM(r->seq));
	pthread_mutex_unlock(&queue->lock);
	request_free(r);
}

/* The next request; with wait, NULL only when no more are taken */
static struct request *next(struct queue *queue, bool wait)
{
	struct request *r;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && wait && atomic_load(&taking))
		pthread_cond_wait(&queue->work, &queue->lock);
	r = queue->first;
	if (r)
		queue->first = r->next;
	if (!queue->first)
		queue->last = &queue->first;
	pthread_mutex_unlock(&queue->lock);
	return r;
}

static void *work(void *arg)
{
	struct queue *queue = arg;
	struct request *r;

	in_queue = true;
	while ((r = next(queue, true)))
		carry_out(queue, r);
	return NULL;
}

static struct queue *queue_make(uint32_t id)
{
	struct queue *queue;

	pthread_mutex_lock(&starting);
	queue = atomic_load(&queues[id]);
	if (!queue) {
		queue = calloc(1, sizeof(*queue));
		if (queue) {
			queue->id = id;
			queue->last = &queue->first;
			pthread_mutex_init(&queue->lock, NULL);
			pthread_cond_init(&queue->work, NULL);
			pthread_cond_init(&queue->ended, NULL);
			atomic_store(&queues[id], queue);
		}
	}
	pthread_mutex_unlock(&starting);
	return queue;
}

/* The thread takes no signals: those are the program's. */
static int queue_run(struct queue *queue)
{
	sigset_t all, before;
	int err;

	if (queue->runs)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&queue->thread, NULL, work, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	queue->runs = !err;
	return err;
}

/* Appends with the lock held; what it has is pending from here on. */
static NRT_STATUS append(struct queue *queue, struct request *r)
{
	if (!atomic_load(&taking))
		return rt_fail(NRT_CLOSED, "NRT", "the runtime is being closed");
	if (queue->issued - queue->completed >= QUEUE_DEPTH)
		return rt_fail(NRT_QUEUE_FULL, "NRT", "%d requests are under way", QUEUE_DEPTH);
	if (queue->issued == NRTA_SEQ_NUM_MAX || queue_run(queue))
		return rt_fail(NRT_RESOURCE, "NRT", "no thread or number for the queue");
	r->seq = (nrta_seq_t)queue->id << 48 | ++queue->issued;
	request_pending(r, true);
	*queue->last = r;
	queue->last = &r->next;
	pthread_cond_signal(&queue->work);
	return NRT_SUCCESS;
}

/* Queues the request, or frees it. */
static NRT_STATUS submit(struct request *r, uint32_t vnc, nrta_xu_t unit, int number,
			 nrta_seq_t *seq)
{
	struct queue *queue = NULL;
	NRT_STATUS status;

	if (number < 0 || number >= QUEUES)
		status = rt_fail(NRT_INVALID, "NRT", "queue %d of %d", number, QUEUES);
	else if (vnc >= CORES)
		status = rt_fail(NRT_INVALID, "NRT", "core %u", vnc);
	else if (!(queue = queue_make(ID(vnc, unit, (unsigned int)number))))
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	else
		status = NRT_SUCCESS;
	if (!status) {
		pthread_mutex_lock(&queue->lock);
		status = append(queue, r);
		if (!status && seq)
			*seq = r->seq;
		pthread_mutex_unlock(&queue->lock);
	}
	if (status)
		request_free(r);
	return status;
}

void rt_async_start(void)
{
	atomic_store(&taking, true);
}

/* Ends a queue's thread when it has carried out what is queued. */
static void queue_stop(struct queue *queue)
{
	struct request *r;
	bool runs;

	pthread_mutex_lock(&queue->lock);
	runs = queue->runs;
	queue->runs = false;
	pthread_cond_broadcast(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	if (!runs)
		return;
	if (!pthread_equal(queue->thread, pthread_self())) {
		pthread_join(queue->thread, NULL);
		return;
	}
	/* closed from a callback: what is left is carried out here */
	pthread_detach(queue->thread);
	while ((r = next(queue, false)))
		carry_out(queue, r);
}

void rt_async_stop(void)
{
	static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;

	/* a second nrt_close waits for the first, unless the first waits for its thread */
	if (!in_queue)
		pthread_mutex_lock(&stopping);
	if (atomic_exchange(&taking, false))
		for (uint32_t i = 0; i <= UINT16_MAX; i++)
			if (atomic_load(&queues[i]))
				queue_stop(atomic_load(&queues[i]));
	if (!in_queue)
		pthread_mutex_unlock(&stopping);
}

/* Tensors */

/* The core whose unit does it: a device tensor's own */
static uint32_t core_of(const nrt_tensor_t *tensor)
{
	return tensor->storage->core ? tensor->storage->core->vnc : 0;
}

static struct request *request_new(NRT_STATUS (*run)(struct request *),
				   nrta_error_tracker_t *tracker)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		return NULL;
	}
	r->run = run;
	r->tracker = tracker;
	return r;
}

static NRT_STATUS run_write(struct request *r)
{
	RT_HOLD(held);

	return rt_tensor_write(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_read(struct request *r)
{
	RT_HOLD(held);

	return rt_tensor_read(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_copy(struct request *r)
{
	RT_HOLD(held);

	return rt_tensor_copy(r->tensor, r->offset, r->to, r->to_offset, r->size);
}

static NRT_STATUS transfer(nrt_tensor_t *tensor, void *buf, uint64_t offset, uint64_t size,
			   int queue, nrta_error_tracker_t *err, nrta_seq_t *seq, bool write)
{
	RT_ENTER(status);
	struct request *r;

	if (!status)
		status = rt_tensor_check(tensor, offset, size);
	if (!status && ((size && !buf) || !seq))
		status = rt_fail(NRT_INVALID, "NRT", "buffer or place for the number missing");
	if (status)
		return status;
	r = request_new(write ? run_write : run_read, err);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = tensor;
	r->buf = buf;
	r->offset = offset;
	r->size = size;
	return submit(r, core_of(tensor), write ? NRTA_XU_TENSOR_WRITE : NRTA_XU_TENSOR_READ, queue,
		      seq);
}

EXPORT NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
				    uint64_t size, int queue, nrta_error_tracker_t *err,
				    nrta_seq_t *req_sequence)
{
	return transfer(tensor, (void *)(uintptr_t)buf, offset, size, queue, err, req_sequence,
			true);
}

EXPORT NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
				   int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	return transfer(tensor, buf, offset, size, queue, err, req_sequence, false);
}

EXPORT NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
				   uint64_t dst_offset, uint64_t size, int queue,
				   nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	RT_ENTER(status);
	struct request *r;

	if (!status)
		status = rt_tensor_check(src, src_offset, size);
	if (!status)
		status = rt_tensor_check(dst, dst_offset, size);
	if (!status && !req_sequence)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the number");
	if (!status && (!src->storage->core || src->storage->core != dst->storage->core))
		status = rt_fail(NRT_INVALID, "NRT",
				 "'%s' and '%s' are not device tensors of one core", src->name,
				 dst->name);
	if (status)
		return status;
	r = request_new(run_copy, err);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = src;
	r->offset = src_offset;
	r->to = dst;
	r->to_offset = dst_offset;
	r->size = size;
	return submit(r, core_of(src), NRTA_XU_TENSOR_OP, queue, req_sequence);
}

/* Executions */

static NRT_STATUS run_model(struct request *r)
{
	const struct rt_io io = { &r->in, &r->out };
	NRT_STATUS status;
	RT_HOLD(held);

	status = rt_execute(r->model, &io, r->repeat);
	rt_model_unpin(r->model);
	return status;
}

/* A request of a pinned model; NULL: out of memory, and it is unpinned */
static struct request *execution(struct nrt_model *model, const struct rt_io *io, int repeat,
				 nrta_error_tracker_t *err)
{
	struct request *r = request_new(run_model, err);

	if (r && (!rt_set_copy(&r->in, io->inputs) || !rt_set_copy(&r->out, io->outputs))) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		request_free(r);
		r = NULL;
	}
	if (!r) {
		rt_model_unpin(model);
		return NULL;
	}
	r->model = model;
	r->repeat = repeat;
	return r;
}

EXPORT NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
					nrt_tensor_set_t *output, int queue,
					nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_io io = { input, output };
	RT_ENTER(status);
	struct request *r;
	uint64_t event;
	uint32_t core;

	if (status)
		return status;
	if (!input || !output || queue || !req_sequence)
		return rt_fail(NRT_INVALID, "NRT", "sets or place missing, or queue %d is not 0",
			       queue);
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	core = model->core->vnc;
	event = rt_trace_begin(RT_EVENT_nrta_execute_schedule, core,
			       &(struct rt_event_data){ .model_id = model->id });
	r = execution(model, &io, 1, err);
	status = NRT_RESOURCE;
	if (r) {
		status = submit(r, core, NRTA_XU_COMPUTE, 0, req_sequence);
		if (status)
			rt_model_unpin(model);
	}
	rt_trace_end(RT_EVENT_nrta_execute_schedule, core, event, &(struct rt_event_data){ 0 });
	return status;
}

/* Collectives: of one member, whose output is its input */

static NRT_STATUS run_cc(struct request *r)
{
	NRT_STATUS status = NRT_SUCCESS;
	RT_HOLD(held);

	for (size_t i = 0; i < r->cc->n && !status; i++) {
		nrt_tensor_t *in = r->cc->in[i], *out = r->cc->out[i];
		size_t size = nrt_tensor_get_size(in);

		status = rt_tensor_check(in, 0, size);
		if (!status && in != out)
			status = rt_tensor_copy(in, 0, out, 0, size);
	}
	return status;
}

static NRT_STATUS cc_check(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
			   const nrt_tensor_list_t *output, nrt_op_type_t op,
			   nrt_cc_op_type_t cc_op)
{
	if (!comm || !comm->replica_group || !comm->rank_n || comm->rank >= comm->rank_n ||
	    !rt_core(comm->vnc))
		return rt_fail(NRT_INVALID, "NRT", "no communicator, or not a member of it");
	if (!input || !output || input->num_tensors != output->num_tensors ||
	    (input->num_tensors && (!input->tensors || !output->tensors)))
		return rt_fail(NRT_INVALID, "NRT", "lists of tensors do not fit");
	if (cc_op > NRT_CC_REDUCESCATTER || (cc_op != NRT_CC_ALLGATHER && op > NRT_OP_MIN))
		return rt_fail(NRT_INVALID, "NRT", "collective %d, operation %d", (int)cc_op,
			       (int)op);
	for (size_t i = 0; i < input->num_tensors; i++) {
		const nrt_tensor_t *in = input->tensors[i], *out = output->tensors[i];
		size_t size = in ? nrt_tensor_get_size(in) : 0;
		NRT_STATUS status = rt_tensor_check(in, 0, size);

		if (!status)
			status = rt_tensor_check(out, 0, size);
		if (status)
			return status;
	}
	return comm->rank_n == 1 ? NRT_SUCCESS
				 : rt_absent(NRT_INVALID, "a collective has one member: this "
							  "runtime connects "
							  "no processes");
}

static nrt_tensor_t **list_copy(const nrt_tensor_list_t *list)
{
	nrt_tensor_t **copy = calloc(list->num_tensors + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < list->num_tensors; i++)
		copy[i] = list->tensors[i];
	return copy;
}

EXPORT NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
				  nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
				  nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
	RT_ENTER(status);
	nrt_cc_context_t *cc;

	if (!status && !cc_ctx)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the context");
	if (!status)
		status = cc_check(comm, input, output, op, cc_op);
	if (status)
		return status;
	cc = calloc(1, sizeof(*cc));
	if (cc) {
		cc->vnc = comm->vnc;
		cc->n = input->num_tensors;
		cc->in = list_copy(input);
		cc->out = list_copy(output);
	}
	if (!cc || !cc->in || !cc->out) {
		cc_free(cc);
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}
	*cc_ctx = cc;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
				   nrta_seq_t *req_sequence)
{
	RT_ENTER(status);
	struct request *r;

	if (status)
		return status;
	if (!cc_ctx || !*cc_ctx || queue || !req_sequence)
		return rt_fail(NRT_INVALID, "NRT", "context or place missing, or queue %d is not 0",
			       queue);
	r = request_new(run_cc, err);
	if (!r)
		return NRT_RESOURCE;
	r->cc = *cc_ctx;
	*cc_ctx = NULL;
	return submit(r, r->cc->vnc, NRTA_XU_COLLECTIVES, 0, req_sequence);
}

/* Completions */

/* The queue of a request that was given its number; NULL: there was none */
static struct queue *queue_of(nrta_seq_t seq)
{
	struct queue *queue = atomic_load(&queues[NRTA_SEQ_GET_XU_ID(seq)]);
	uint64_t number = NRTA_SEQ_GET_SEQ_NUM(seq);
	bool known = false;

	if (queue) {
		pthread_mutex_lock(&queue->lock);
		known = number && number <= queue->issued;
		pthread_mutex_unlock(&queue->lock);
	}
	if (!known)
		rt_fail(NRT_INVALID, "NRT", "no request %#llx", (unsigned long long)seq);
	return known ? queue : NULL;
}

EXPORT NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
	struct queue *queue;

	rt_details_clear();
	queue = queue_of(seq);
	if (!queue || !is_completed)
		return NRT_INVALID;
	pthread_mutex_lock(&queue->lock);
	*is_completed = NRTA_SEQ_GET_SEQ_NUM(seq) <= queue->completed;
	pthread_mutex_unlock(&queue->lock);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
	RT_ENTER(status);
	struct queue *q;
	uint32_t id;

	if (status)
		return status;
	if (!seq || !rt_core(lnc) || lnc >= CORES || xu >= NRTA_XU_TYPE_NUM || queue < 0 ||
	    queue >= QUEUES)
		return rt_fail(NRT_INVALID, "NRT", "core %u unit %d queue %d", lnc, (int)xu, queue);
	id = ID(lnc, xu, (unsigned int)queue);
	q = atomic_load(&queues[id]);
	*seq = (nrta_seq_t)id << 48;
	if (!q)
		return NRT_SUCCESS;
	pthread_mutex_lock(&q->lock);
	*seq |= q->completed;
	pthread_mutex_unlock(&q->lock);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd)
{
	struct handle *handle;
	struct queue *queue;
	bool done;
	int mine;

	rt_details_clear();
	queue = queue_of(seq);
	if (!queue || !fd)
		return NRT_INVALID;
	handle = malloc(sizeof(*handle));
	mine = handle ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	*fd = mine < 0 ? -1 : fcntl(mine, F_DUPFD_CLOEXEC, 0);
	if (*fd < 0) {
		if (mine >= 0)
			close(mine);
		free(handle);
		return rt_fail(NRT_RESOURCE, "NRT", "no descriptor: %s", strerror(errno));
	}
	*handle = (struct handle){ .number = NRTA_SEQ_GET_SEQ_NUM(seq), .fd = mine };
	pthread_mutex_lock(&queue->lock);
	done = handle->number <= queue->completed;
	handle->next = queue->handles;
	queue->handles = handle;
	if (done)
		complete(queue, queue->completed);
	pthread_mutex_unlock(&queue->lock);
	return NRT_SUCCESS;
}

/* The asynchronous mode of nrt_execute */

static struct {
	pthread_once_t once;
	uint32_t most; /* executions of a core that may be under way; 0: the mode is off */
	pthread_mutex_t lock; /* protects the callback */
	NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
	void *params;
} mode = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void mode_read(void)
{
	const char *text = secure_getenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	mode.most = n > QUEUE_DEPTH ? QUEUE_DEPTH : (uint32_t)n;
}

bool rt_async_mode(void)
{
	pthread_once(&mode.once, mode_read);
	/* a callback that executes does it at once: it would wait for itself */
	return mode.most && !in_queue;
}

static void tell(struct request *r, NRT_STATUS status)
{
	NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
	void *params;

	pthread_mutex_lock(&mode.lock);
	callback = mode.callback;
	params = mode.params;
	pthread_mutex_unlock(&mode.lock);
	if (callback)
		callback(params, r->job.model_id, r->job.vnc, r->job.id, status);
	else if (status)
		rt_log(RT_LOG_ERROR, "job %llu of model %u ended with %s, and nobody is told",
		       (unsigned long long)r->job.id, r->job.model_id,
		       nrt_get_status_as_str(status));
}

/* Waits until fewer than most requests are under way. */
static void wait_room(struct queue *queue, uint64_t most)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->issued - queue->completed >= most)
		pthread_cond_wait(&queue->ended, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

NRT_STATUS rt_async_execute(struct nrt_model *model, const struct rt_io *io, int repeat)
{
	const uint32_t vnc = model->core->vnc;
	struct queue *queue = queue_make(ID(vnc, NRTA_XU_COMPUTE, 0));
	NRT_STATUS status = rt_io_check(model, io);
	struct request *r;

	/* what is wrong with the tensors is told at once */
	if (status || !queue) {
		rt_model_unpin(model);
		return status ? status : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}
	r = execution(model, io, repeat, NULL);
	if (!r)
		return NRT_RESOURCE;
	r->done = tell;
	r->job = (struct job){ .vnc = vnc, .model_id = model->id };
	wait_room(queue, mode.most);
	pthread_mutex_lock(&queue->lock);
	r->job.id = queue->issued + 1;
	status = append(queue, r);
	pthread_mutex_unlock(&queue->lock);
	if (status) {
		request_free(r);
		rt_model_unpin(model);
	}
	return status;
}

EXPORT NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback,
						   void *params)
{
	rt_details_clear();
	pthread_mutex_lock(&mode.lock);
	mode.callback = callback;
	mode.params = params;
	pthread_mutex_unlock(&mode.lock);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc)
{
	RT_ENTER(status);
	struct queue *queue;

	if (status)
		return status;
	if (vnc < 0 || !rt_core((uint32_t)vnc))
		return rt_fail(NRT_INVALID, "NRT", "core %d of %u", vnc, rt.ncores);
	if (in_queue)
		return rt_fail(NRT_INVALID, "NRT", "a callback cannot wait for itself");
	queue = atomic_load(&queues[ID((uint32_t)vnc, NRTA_XU_COMPUTE, 0)]);
	if (queue)
		wait_room(queue, 1);
	return NRT_SUCCESS;
}
