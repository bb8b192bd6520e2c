/* SPDX-License-Identifier: MIT */
/*
 * Queues of requests: their threads, numbers, what is told of completions
 *
 * Locks: a queue's own protects its list and numbers; `starting` the making of queues; none is held
 * while a request is carried out or a callback is called.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rt_log.h"
#include "rt_model.h"
#include "rt_queue.h"

_Static_assert(RT_UNITS <= 8 && RT_QUEUE_ID(RT_QUEUE_CORES - 1, 7, RT_QUEUES - 1) <= UINT16_MAX,
	       "16 bits");

/* An eventfd that is told of one number */
struct handle {
	struct handle *next;
	uint64_t number;
	int fd; /* a duplicate: the caller closes its own when it likes */
	bool given; /* by the caller, who may take it back */
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
	int event; /* an eventfd that is told of each number, a duplicate; -1: none */
};

static _Atomic(struct rt_queue *) queues[UINT16_MAX + 1];
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool taking;
/* Units that a request has ended, by core and unit */
static atomic_bool lost[RT_QUEUE_CORES << 3];

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
	if (r->model)
		rt_model_unpin(r->model);
	free(r);
}

struct rt_request *rt_request_new(NRT_STATUS (*run)(struct rt_request *),
				  const struct rt_order *order)
{
	struct rt_request *r = calloc(1, sizeof(*r));

	if (!r) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		return NULL;
	}
	r->run = run;
	r->order = *order;
	return r;
}

/* Queues */

/* Signals an eventfd. One whose counter is full is readable as it is, and a write would wait. */
static void signal_event(int fd)
{
	struct pollfd writable = { .fd = fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (poll(&writable, 1, 0) == 1 && write(fd, &one, sizeof(one)) != sizeof(one))
		rt_log(RT_LOG_ERROR, "a completion is not told: %s", strerror(errno));
}

/* Forgets the handles that `gone` is true of, and first signals them if told; the lock is held. */
static void drop_handles(struct rt_queue *queue, uint64_t number, bool told,
			 bool (*gone)(const struct handle *handle, uint64_t number))
{
	struct handle **at = &queue->handles;

	while (*at) {
		struct handle *handle = *at;

		if (!gone(handle, number)) {
			at = &handle->next;
			continue;
		}
		*at = handle->next;
		if (told)
			signal_event(handle->fd);
		close(handle->fd);
		free(handle);
	}
}

static bool is_reached(const struct handle *handle, uint64_t number)
{
	return handle->number <= number;
}

static bool is_given(const struct handle *handle, uint64_t number)
{
	return handle->given && handle->number == number;
}

/* Tells who waits for requests up to this number; the lock is held. */
static void complete(struct rt_queue *queue, uint64_t number)
{
	if (number > queue->completed) /* a request's callback may have drained its queue */
		queue->completed = number;
	drop_handles(queue, number, true, is_reached);
	if (queue->event >= 0)
		signal_event(queue->event);
	pthread_cond_broadcast(&queue->ended);
}

/* After these a unit has to be taken for broken: the chip did not answer, or reported itself */
static bool is_loss(NRT_STATUS status)
{
	switch (status) {
	case NRT_TIMEOUT:
	case NRT_HW_ERROR:
	case NRT_EXEC_UNIT_UNRECOVERABLE:
	case NRT_EXEC_HW_ERR_COLLECTIVES:
	case NRT_EXEC_HW_ERR_HBM_UE:
	case NRT_EXEC_HW_ERR_NC_UE:
	case NRT_EXEC_HW_ERR_DMA_ABORT:
	case NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE:
		return true;
	default:
		return false;
	}
}

static atomic_bool *lost_at(const struct rt_queue *queue)
{
	return &lost[queue->id >> 4];
}

static NRT_STATUS tell_lost(const struct rt_queue *queue)
{
	return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "NRT",
		       "unit %u of core %u had a timeout or an error of the hardware: "
		       "nrt_close and nrt_init",
		       queue->id >> 4 & 7, queue->id >> 7);
}

/* Runs it unless its unit has ended; it has neither tensors nor a model afterwards. */
static NRT_STATUS perform(struct rt_queue *queue, struct rt_request *r)
{
	NRT_STATUS status;
	RT_HOLD(held);

	rt_details_clear();
	if (r->order.ends_unit && atomic_load(lost_at(queue)))
		status = tell_lost(queue);
	else
		status = r->run(r);
	if (r->order.ends_unit && is_loss(status))
		atomic_store(lost_at(queue), true);
	request_pending(r, false);
	if (r->model)
		rt_model_unpin(r->model);
	r->model = NULL;
	return status;
}

static void carry_out(struct rt_queue *queue, struct rt_request *r)
{
	NRT_STATUS status = perform(queue, r);

	if (r->order.done)
		r->order.done(r, status);
	pthread_mutex_lock(&queue->lock);
	complete(queue, NRTA_SEQ_GET_SEQ_NUM(r->seq));
	pthread_mutex_unlock(&queue->lock);
	rt_cc_free(r->cc);
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
			queue->event = -1;
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
	if (r->order.ends_unit && atomic_load(lost_at(queue)))
		return tell_lost(queue);
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

NRT_STATUS rt_request_submit(struct rt_request *r, uint32_t vnc)
{
	const struct rt_order *order = &r->order;
	struct rt_queue *queue = NULL;
	NRT_STATUS status;

	if (order->vnc >= 0)
		vnc = (uint32_t)order->vnc;
	if (order->queue < 0 || order->queue >= RT_QUEUES)
		status = rt_fail(NRT_INVALID, "NRT", "queue %d of %d", order->queue, RT_QUEUES);
	else if (vnc >= RT_QUEUE_CORES)
		status = rt_fail(NRT_INVALID, "NRT", "core %u", vnc);
	else if (!(queue = rt_queue_make(RT_QUEUE_ID(vnc, order->unit, (unsigned int)order->queue))))
		status = rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	else
		status = NRT_SUCCESS;
	if (!status) {
		pthread_mutex_lock(&queue->lock);
		status = append(queue, r);
		if (!status)
			*order->seq = r->seq;
		pthread_mutex_unlock(&queue->lock);
	}
	if (status)
		rt_request_free(r);
	return status;
}

void rt_queues_start(void)
{
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		atomic_store(&lost[i], false);
	atomic_store(&taking, true);
}

/* Ends a queue's thread when it has carried out what is queued. */
static void queue_end(struct rt_queue *queue)
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

/* The eventfd of all completions becomes this duplicate. */
static void set_event(struct rt_queue *queue, int fd)
{
	if (queue->event >= 0)
		close(queue->event);
	queue->event = fd;
}

static void queue_stop(struct rt_queue *queue)
{
	queue_end(queue);
	pthread_mutex_lock(&queue->lock);
	set_event(queue, -1);
	pthread_mutex_unlock(&queue->lock);
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

/* Has a duplicate told of the number, which is now the queue's to close; 0 or -ENOMEM */
static int add_handle(struct rt_queue *queue, uint64_t number, int fd, bool given)
{
	struct handle *handle = malloc(sizeof(*handle));

	if (!handle)
		return -ENOMEM;
	*handle = (struct handle){ .number = number, .fd = fd, .given = given };
	pthread_mutex_lock(&queue->lock);
	handle->next = queue->handles;
	queue->handles = handle;
	drop_handles(queue, queue->completed, true, is_reached);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

int rt_queue_handle(struct rt_queue *queue, uint64_t number, int *fd)
{
	int mine = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), err;

	*fd = mine < 0 ? -1 : fcntl(mine, F_DUPFD_CLOEXEC, 0);
	err = *fd < 0 ? -errno : add_handle(queue, number, mine, false);
	if (!err)
		return 0;
	if (*fd >= 0)
		close(*fd);
	if (mine >= 0)
		close(mine);
	*fd = -1;
	return err;
}

/*
 * A duplicate of the caller's eventfd, or -errno. Where there is no /proc to look at, the caller is
 * believed.
 */
static int event_duplicate(int fd)
{
	static const char kind[] = "anon_inode:[eventfd]";
	char path[32], text[sizeof(kind)];
	int mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ssize_t n;

	if (mine < 0)
		return errno == EBADF ? -EINVAL : -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mine);
	n = readlink(path, text, sizeof(text));
	if (n < 0 || (n == sizeof(kind) - 1 && !memcmp(text, kind, sizeof(kind) - 1)))
		return mine;
	close(mine);
	return -EINVAL;
}

int rt_queue_signal(struct rt_queue *queue, uint64_t number, int fd)
{
	int mine, err;

	if (fd < 0) {
		pthread_mutex_lock(&queue->lock);
		drop_handles(queue, number, false, is_given);
		pthread_mutex_unlock(&queue->lock);
		return 0;
	}
	mine = event_duplicate(fd);
	if (mine < 0)
		return mine;
	err = add_handle(queue, number, mine, true);
	if (err)
		close(mine);
	return err;
}

int rt_queue_signal_all(struct rt_queue *queue, int fd)
{
	int mine = fd < 0 ? -1 : event_duplicate(fd);

	if (fd >= 0 && mine < 0)
		return mine;
	pthread_mutex_lock(&queue->lock);
	set_event(queue, mine);
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
