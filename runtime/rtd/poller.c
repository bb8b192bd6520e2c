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

#define TICK_NS 5000000 /* of the watch: an event that takes longer holds its thread up */
#define QUIET_TICKS 20 /* without an event, after which the watch sleeps */
#define PROCESSORS_EACH 2 /* of the machine's: not more threads than this leaves the clients one */
/* Percent of a tick for which the threads run: above it one more joins in, below it one leaves */
#define FULL 90
#define SPARE 50

struct poller {
	struct rtd_pollers *all;
	pthread_t thread;
	atomic_uint step; /* odd: an event is being handled */
	atomic_bool held; /* not among the threads that take events */
	/* the watch's, of the tick before */
	unsigned int seen;
	uint64_t ran_ns;
};

struct rtd_pollers {
	grpc_completion_queue *cq;
	void (*event)(void *arg, const grpc_event *event);
	void *arg;
	unsigned int most; /* threads at a time where none is held up */

	/* written with the lock held */
	atomic_uint active, wanted; /* threads that take events; that shall */
	atomic_bool watching; /* the watch looks at each tick */
	bool end;

	pthread_mutex_t lock;
	pthread_cond_t turn, watch; /* for the threads that wait; for the watch */
	unsigned int waiting, called; /* threads without a turn; of these, let go on */
	pthread_t watcher;
	bool watched; /* the watch was started */
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

static void poller_watched(struct rtd_pollers *p)
{
	if (p->watching)
		return;
	pthread_mutex_lock(&p->lock);
	p->watching = true;
	pthread_cond_signal(&p->watch);
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
		poller_watched(p);
		p->event(p->arg, &event);
		atomic_fetch_add(&poller->step, 1);
	}
}

/* ---- the watch */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The processor's time that the thread has taken since it was asked for last */
static uint64_t poller_ran(struct poller *poller)
{
	uint64_t then = poller->ran_ns;
	clockid_t clock;

	if (pthread_getcpuclockid(poller->thread, &clock))
		return 0;
	poller->ran_ns = clock_ns(clock);
	return poller->ran_ns - then;
}

/*
 * With the lock held. A thread that has ended the step before it is marked so may not look for the
 * mark any more; one that ends it later does.
 */
static void watch_hold(struct poller *poller, unsigned int step)
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

/* With the lock held: threads that are held up lose their turn. Returns the time that all ran. */
static uint64_t watch_look(struct rtd_pollers *p, bool *quiet)
{
	uint64_t ran = 0;

	*quiet = true;
	for (unsigned int i = 0; i < p->count; i++) {
		struct poller *poller = &p->poller[i];
		unsigned int step = poller->step;

		if (step % 2 && step == poller->seen)
			watch_hold(poller, step);
		if (step % 2 || step != poller->seen)
			*quiet = false;
		poller->seen = step;
		ran += poller_ran(poller);
	}
	return ran;
}

/* With the lock held: one thread more or less, by the time that all have run in so many ns */
static void watch_adjust(struct rtd_pollers *p, uint64_t ran, uint64_t ns)
{
	unsigned int wanted = p->wanted;

	if (ran * 100 > ns * wanted * FULL && wanted < p->most)
		p->wanted = wanted + 1;
	else if (wanted > 1 && ran * 100 < ns * (wanted - 1) * SPARE)
		p->wanted = wanted - 1;
	turn_call(p);
}

/* With the lock held. */
static void watch_tick(struct rtd_pollers *p)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!p->end && pthread_cond_timedwait(&p->watch, &p->lock, &until) != ETIMEDOUT)
		;
}

static void *watch_thread(void *arg)
{
	struct rtd_pollers *p = arg;
	unsigned int quiet_ticks = 0;
	uint64_t then = 0, now, ran;
	bool quiet;

	pthread_mutex_lock(&p->lock);
	while (!p->end) {
		if (!p->watching) {
			pthread_cond_wait(&p->watch, &p->lock);
			watch_look(p, &quiet);
			then = clock_ns(CLOCK_MONOTONIC);
			quiet_ticks = 0;
			continue;
		}
		watch_tick(p);
		ran = watch_look(p, &quiet);
		now = clock_ns(CLOCK_MONOTONIC);
		watch_adjust(p, ran, now - then);
		then = now;
		quiet_ticks = quiet ? quiet_ticks + 1 : 0;
		p->watching = quiet_ticks < QUIET_TICKS;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- all of them */

static unsigned int most_threads(unsigned int count)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int most = processors > PROCESSORS_EACH ? processors / PROCESSORS_EACH : 1;

	return most < count ? most : count;
}

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
		err = pthread_create(&p->watcher, NULL, watch_thread, p);
	p->watched = !err;
	return -err;
}

int rtd_pollers_new(grpc_completion_queue *cq, unsigned int count,
		    void (*event)(void *arg, const grpc_event *event), void *arg,
		    struct rtd_pollers **out)
{
	struct rtd_pollers *p = calloc(1, sizeof(*p) + count * sizeof(p->poller[0]));
	pthread_condattr_t attr;
	int err;

	if (!p)
		return -ENOMEM;
	p->cq = cq;
	p->event = event;
	p->arg = arg;
	p->most = most_threads(count);
	p->wanted = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->turn, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->watch, &attr);
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
	pthread_cond_signal(&p->watch);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->count; i++)
		pthread_join(p->poller[i].thread, NULL);
	if (p->watched)
		pthread_join(p->watcher, NULL);
	pthread_cond_destroy(&p->watch);
	pthread_cond_destroy(&p->turn);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
