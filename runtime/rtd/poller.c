// SPDX-License-Identifier: MIT
/* The threads of the completion queue (poller.h). */
#include "poller.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000 /* of the watchdog: an event that takes longer holds its thread up */
#define QUIET_TICKS 20 /* without an event, after which the watchdog sleeps */
#define FEW_CLIENTS 4 /* that called in a tick, for whom one thread is enough */

struct poller {
	struct rtd_pollers *all;
	pthread_t thread;
	atomic_uint step; /* odd: an event is being handled */
	atomic_bool held; /* not among the threads that take events */
	unsigned int seen; /* by the watchdog: step at the tick before */
};

struct rtd_pollers {
	grpc_completion_queue *cq;
	void (*event)(void *arg, const grpc_event *event);
	unsigned int (*clients)(void *arg);
	void *arg;
	unsigned int most; /* threads that take events for many clients */

	/* written with the lock held */
	atomic_uint active, wanted; /* threads that take events; that shall */
	atomic_bool looking; /* the watchdog looks at each tick */
	bool end;

	pthread_mutex_t lock;
	pthread_cond_t turn, watchdog; /* for the threads that wait; for the watchdog */
	unsigned int waiting, called; /* threads without a turn; of these, let go on */
	pthread_t watchdog_thread;
	bool guarded; /* the watchdog was started */
	unsigned int count;
	struct poller poller[];
};

static _Thread_local struct poller *self;

/* ---- turns, all with the lock held */

static void turn_call(struct rtd_pollers *p)
{
	while (p->active < p->wanted && p->called < p->waiting) {
		p->called++;
		p->active++;
		pthread_cond_signal(&p->turn);
	}
}

static void turn_wait(struct rtd_pollers *p)
{
	p->active--;
	p->waiting++;
	while (!p->called && !p->end)
		pthread_cond_wait(&p->turn, &p->lock);
	p->waiting--;
	if (p->called)
		p->called--;
}

void rtd_pollers_hold(struct rtd_pollers *p)
{
	if (!self || self->all != p || self->held)
		return;
	pthread_mutex_lock(&p->lock);
	if (!self->held) {
		self->held = true;
		p->active--;
		turn_call(p);
	}
	pthread_mutex_unlock(&p->lock);
}

/* ---- the threads */

/* Another thread may have taken this one's place, or be one too many. */
static void poller_return(struct poller *poller)
{
	struct rtd_pollers *p = poller->all;

	if (!poller->held && p->active <= p->wanted)
		return;
	pthread_mutex_lock(&p->lock);
	if (poller->held) {
		poller->held = false;
		p->active++;
	}
	if (p->active > p->wanted && !p->end)
		turn_wait(p);
	pthread_mutex_unlock(&p->lock);
}

static void poller_guarded(struct rtd_pollers *p)
{
	if (p->looking)
		return;
	pthread_mutex_lock(&p->lock);
	p->looking = true;
	pthread_cond_signal(&p->watchdog);
	pthread_mutex_unlock(&p->lock);
}

static void *poller_thread(void *arg)
{
	struct poller *poller = arg;
	struct rtd_pollers *p = poller->all;
	grpc_event event;

	self = poller;
	for (;;) {
		poller_return(poller);
		event = grpc_completion_queue_next(p->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		atomic_fetch_add(&poller->step, 1);
		poller_guarded(p);
		p->event(p->arg, &event);
		atomic_fetch_add(&poller->step, 1);
	}
}

/* ---- the watchdog */

/*
 * With the lock held. A thread that has ended the step before it is marked so may not look for the
 * mark any more; one that ends it later does.
 */
static void watchdog_hold(struct poller *poller, unsigned int step)
{
	if (poller->held)
		return;
	poller->held = true;
	if (poller->step != step) {
		poller->held = false;
		return;
	}
	poller->all->active--;
	turn_call(poller->all);
}

/* With the lock held: threads that are held up lose their turn. False: none did anything. */
static bool watchdog_look(struct rtd_pollers *p)
{
	bool any = false;

	for (unsigned int i = 0; i < p->count; i++) {
		struct poller *poller = &p->poller[i];
		unsigned int step = poller->step;

		if (step % 2 && step == poller->seen)
			watchdog_hold(poller, step);
		any |= step % 2 || step != poller->seen;
		poller->seen = step;
	}
	return any;
}

/* With the lock held. */
static void watchdog_tick(struct rtd_pollers *p)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!p->end && pthread_cond_timedwait(&p->watchdog, &p->lock, &until) != ETIMEDOUT)
		;
}

static void *watchdog_main(void *arg)
{
	struct rtd_pollers *p = arg;
	unsigned int quiet = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->end) {
		if (!p->looking) {
			pthread_cond_wait(&p->watchdog, &p->lock);
			quiet = 0;
			continue;
		}
		watchdog_tick(p);
		quiet = watchdog_look(p) ? 0 : quiet + 1;
		p->wanted = p->clients(p->arg) > FEW_CLIENTS ? p->most : 1;
		turn_call(p);
		p->looking = quiet < QUIET_TICKS;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- all of them */

/* With the lock held. */
static int pollers_start(struct rtd_pollers *p, unsigned int count)
{
	int err = 0;

	while (!err && p->count < count) {
		struct poller *poller = &p->poller[p->count];

		poller->all = p;
		err = pthread_create(&poller->thread, NULL, poller_thread, poller);
		p->count += !err;
		p->active += !err;
	}
	if (!err)
		err = pthread_create(&p->watchdog_thread, NULL, watchdog_main, p);
	p->guarded = !err;
	return -err;
}

int rtd_pollers_new(grpc_completion_queue *cq, unsigned int count,
		    void (*event)(void *arg, const grpc_event *event),
		    unsigned int (*clients)(void *arg), void *arg, struct rtd_pollers **out)
{
	struct rtd_pollers *p = calloc(1, sizeof(*p) + count * sizeof(p->poller[0]));
	pthread_condattr_t attr;
	int err;

	if (!p)
		return -ENOMEM;
	p->cq = cq;
	p->event = event;
	p->clients = clients;
	p->arg = arg;
	p->most = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? count : 1;
	p->wanted = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->turn, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->watchdog, &attr);
	pthread_condattr_destroy(&attr);

	pthread_mutex_lock(&p->lock);
	err = pollers_start(p, count);
	pthread_mutex_unlock(&p->lock);
	if (!p->count) {
		rtd_pollers_free(p);
		p = NULL;
	}
	*out = p;
	return err;
}

void rtd_pollers_free(struct rtd_pollers *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->end = true;
	pthread_cond_broadcast(&p->turn);
	pthread_cond_signal(&p->watchdog);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->count; i++)
		pthread_join(p->poller[i].thread, NULL);
	if (p->guarded)
		pthread_join(p->watchdog_thread, NULL);
	pthread_cond_destroy(&p->watchdog);
	pthread_cond_destroy(&p->turn);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
