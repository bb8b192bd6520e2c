/* SPDX-License-Identifier: MIT */
/*
 * Queues of requests: their threads, numbers, what is told of completions and failures
 *
 * Locks: a queue's own protects its list and numbers; `starting` the making of queues; none is held
 * while a request is carried out or a callback is called.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rt_log.h"
#include "rt_queue.h"

_Static_assert(NRTA_XU_TYPE_NUM <= 8 &&
		       RT_QUEUE_ID(RT_QUEUE_CORES - 1, 7, RT_QUEUES - 1) <= UINT16_MAX,
	       "16 bits");

struct nrta_error_tracker {
	pthread_mutex_t lock;
	nrta_error_t *error, *given; /* being collected; the last list that was given out */
	size_t n, room;
};

struct handle {
	struct handle *next;
	uint64_t number;
	int fd;
};

struct rt_queue {
	uint32_t id;
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	pthread_t thread;
	bool runs; /* thread is valid */
	struct rt_request *first, **last;
	uint64_t issued, completed; /* numbers */
	struct handle *handles;
};

static _Atomic(struct rt_queue *) queues[UINT16_MAX + 1];
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool taking;

static void set_pending(const struct rt_set *set, bool on)
{
	for (unsigned int i = 0; i < set->n; i++)
		rt_tensor_pending(set->item[i].tensor, on);
}

static void request_pending(const struct rt_request *r, bool on)
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

void rt_cc_free(nrt_cc_context_t *cc)
{
	if (!cc)
		return;
	free(cc->in);
	free(cc->out);
	free(cc);
}

void rt_request_free(struct rt_request *r)
{
	rt_set_drop(&r->in);
	rt_set_drop(&r->out);
	rt_cc_free(r->cc);
	free(r);
}

struct rt_request *rt_request_new(NRT_STATUS (*run)(struct rt_request *),
				  nrta_error_tracker_t *tracker)
{
	struct rt_request *r = calloc(1, sizeof(*r));

	if (!r) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		return NULL;
	}
	r->run = run;
	r->tracker = tracker;
	return r;
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
static void complete(struct rt_queue *queue, uint64_t number)
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

static void carry_out(struct rt_queue *queue, struct rt_request *r)
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
	rt_request_free(r);
}

/* The next request; with wait, NULL only when no more are taken */
static struct rt_request *next(struct rt_queue *queue, bool wait)
{
	struct rt_request *r;

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
	struct rt_queue *queue = arg;
	struct rt_request *r;

	rt_in_queue = true;
	while ((r = next(queue, true)))
		carry_out(queue, r);
	return NULL;
}

struct rt_queue *rt_queue_make(uint32_t id)
{
	struct rt_queue *queue;

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
static int queue_run(struct rt_queue *queue)
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

/* With the lock held; what it has is pending from here on. */
static NRT_STATUS append(struct rt_queue *queue, struct rt_request *r)
{
	if (!atomic_load(&taking))
		return rt_fail(NRT_CLOSED, "NRT", "the runtime is being closed");
	if (queue->issued - queue->completed >= RT_QUEUE_DEPTH)
		return rt_fail(NRT_QUEUE_FULL, "NRT", "%d requests are under way", RT_QUEUE_DEPTH);
	if (queue->issued == NRTA_SEQ_NUM_MAX || queue_run(queue))
		return rt_fail(NRT_RESOURCE, "NRT", "no thread or number for the queue");
	r->seq = (nrta_seq_t)queue->id << 48 | ++queue->issued;
	request_pending(r, true);
	*queue->last = r;
	queue->last = &r->next;
	pthread_cond_signal(&queue->work);
	return NRT_SUCCESS;
}

NRT_STATUS rt_queue_append(struct rt_queue *queue, struct rt_request *r, uint64_t *number)
{
	NRT_STATUS status;

	pthread_mutex_lock(&queue->lock);
	if (number)
		*number = queue->issued + 1;
	status = append(queue, r);
	pthread_mutex_unlock(&queue->lock);
	return status;
}

NRT_STATUS rt_request_submit(struct rt_request *r, uint32_t vnc, nrta_xu_t unit, int number,
			     nrta_seq_t *seq)
{
	struct rt_queue *queue = NULL;
	NRT_STATUS status;

	if (number < 0 || number >= RT_QUEUES)
		status = rt_fail(NRT_INVALID, "NRT", "queue %d of %d", number, RT_QUEUES);
	else if (vnc >= RT_QUEUE_CORES)
		status = rt_fail(NRT_INVALID, "NRT", "core %u", vnc);
	else if (!(queue = rt_queue_make(RT_QUEUE_ID(vnc, unit, (unsigned int)number))))
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	else
		status = NRT_SUCCESS;
	if (!status) {
		pthread_mutex_lock(&queue->lock);
		status = append(queue, r);
		if (!status)
			*seq = r->seq;
		pthread_mutex_unlock(&queue->lock);
	}
	if (status)
		rt_request_free(r);
	return status;
}

void rt_queues_start(void)
{
	atomic_store(&taking, true);
}

/* Ends a queue's thread when it has carried out what is queued. */
static void queue_stop(struct rt_queue *queue)
{
	struct rt_request *r;
	bool runs;

	pthread_mutex_lock(&queue->lock);
	runs = queue->runs;
	queue->runs = false;
	pthread_cond_broadcast(&queue->work);
	pthread_cond_broadcast(&queue->ended);
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

void rt_queues_stop(void)
{
	static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;

	/* a second nrt_close waits for the first, unless the first waits for its thread */
	if (!rt_in_queue)
		pthread_mutex_lock(&stopping);
	if (atomic_exchange(&taking, false))
		for (uint32_t i = 0; i <= UINT16_MAX; i++)
			if (atomic_load(&queues[i]))
				queue_stop(atomic_load(&queues[i]));
	if (!rt_in_queue)
		pthread_mutex_unlock(&stopping);
}

void rt_queue_wait(struct rt_queue *queue, uint64_t most)
{
	pthread_mutex_lock(&queue->lock);
	/* nrt_close, which a callback may call, waits for no one who waits for that callback */
	while (queue->issued - queue->completed >= most && atomic_load(&taking))
		pthread_cond_wait(&queue->ended, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

uint64_t rt_queue_completed(struct rt_queue *queue)
{
	uint64_t number;

	pthread_mutex_lock(&queue->lock);
	number = queue->completed;
	pthread_mutex_unlock(&queue->lock);
	return number;
}

struct rt_queue *rt_queue_get(uint32_t id)
{
	return atomic_load(&queues[id]);
}

struct rt_queue *rt_queue_of(nrta_seq_t seq)
{
	struct rt_queue *queue = rt_queue_get((uint32_t)NRTA_SEQ_GET_XU_ID(seq));
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

int rt_queue_handle(struct rt_queue *queue, uint64_t number, int *fd)
{
	struct handle *handle = malloc(sizeof(*handle));
	int mine = handle ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1, err;

	*fd = mine < 0 ? -1 : fcntl(mine, F_DUPFD_CLOEXEC, 0);
	if (*fd < 0) {
		err = handle ? -errno : -ENOMEM;
		if (mine >= 0)
			close(mine);
		free(handle);
		return err;
	}
	*handle = (struct handle){ .number = number, .fd = mine };
	pthread_mutex_lock(&queue->lock);
	handle->next = queue->handles;
	queue->handles = handle;
	if (number <= queue->completed)
		complete(queue, queue->completed);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

/* The asynchronous mode */

static pthread_once_t limit_once = PTHREAD_ONCE_INIT;
static uint32_t limit;

static void limit_read(void)
{
	const char *text = secure_getenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	limit = n > RT_QUEUE_DEPTH ? RT_QUEUE_DEPTH : (uint32_t)n;
}

uint32_t rt_async_limit(void)
{
	pthread_once(&limit_once, limit_read);
	/* a callback that executes does it at once: it would wait for itself */
	return rt_in_queue ? 0 : limit;
}
