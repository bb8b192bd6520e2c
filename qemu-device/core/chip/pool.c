/* SPDX-License-Identifier: MIT */
/*
 * Worker threads. A lane with work is queued once; a worker takes the oldest, lets it execute one
 * batch, and queues it again at the end when it has more. A thread that will wait for a lane lends
 * itself to it: no worker is woken for what it starts there, and it takes the lane as one would.
 * pool->lock protects the list and the lanes' queued, in_worker and again flags; it is a leaf.
 */
#include "pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define POOL_THREADS_MAX 256

struct ncore_pool {
	struct ncore_pool_config cfg;
	pthread_mutex_t lock;
	pthread_cond_t work; /* a lane was queued, or stop */
	pthread_cond_t left; /* a worker left a lane */
	struct ncore_lane *first, *last;
	bool stop;
	unsigned int started;
	pthread_t thread[];
};

/* The lane to which this thread lends itself: what the thread starts there, it executes itself. */
static _Thread_local const struct ncore_lane *lent;

static void append(struct ncore_pool *pool, struct ncore_lane *lane)
{
	lane->queued = true;
	lane->pool_next = NULL;
	if (pool->last)
		pool->last->pool_next = lane;
	else
		pool->first = lane;
	pool->last = lane;
}

static struct ncore_lane *take(struct ncore_pool *pool)
{
	struct ncore_lane *lane = pool->first;

	pool->first = lane->pool_next;
	if (!pool->first)
		pool->last = NULL;
	lane->queued = false;
	return lane;
}

static void *worker(void *arg)
{
	struct ncore_pool *pool = arg;
	struct ncore_lane *lane;
	bool more;

	if (pool->cfg.thread_enter)
		pool->cfg.thread_enter(pool->cfg.opaque);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->stop)
			break;
		lane = take(pool);
		lane->in_worker = true;
		lane->again = false;
		pthread_mutex_unlock(&pool->lock);

		more = lane->work(lane);

		pthread_mutex_lock(&pool->lock);
		lane->in_worker = false;
		if (more || lane->again) {
			/* This worker takes the first lane itself; a second lane is for another
			 * worker. */
			if (pool->first)
				pthread_cond_signal(&pool->work);
			append(pool, lane);
		}
		pthread_cond_broadcast(&pool->left);
	}
	pthread_mutex_unlock(&pool->lock);
	if (pool->cfg.thread_leave)
		pool->cfg.thread_leave(pool->cfg.opaque);
	return NULL;
}

void ncore_pool_submit(struct ncore_pool *pool, struct ncore_lane *lane)
{
	pthread_mutex_lock(&pool->lock);
	if (lane->in_worker) {
		lane->again = true;
	} else if (!lane->queued) {
		append(pool, lane);
		if (lane != lent)
			pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void unlink_lane(struct ncore_pool *pool, struct ncore_lane *lane)
{
	struct ncore_lane **p, *prev = NULL;

	for (p = &pool->first; *p && *p != lane; p = &(*p)->pool_next)
		prev = *p;
	if (!*p)
		return;
	*p = lane->pool_next;
	if (pool->last == lane)
		pool->last = prev;
	lane->queued = false;
}

void ncore_pool_lend(struct ncore_lane *lane)
{
	lent = lane;
}

/* lane->queued, and this thread has taken it; pool->lock is held, and dropped meanwhile */
static void work_here(struct ncore_pool *pool, struct ncore_lane *lane)
{
	bool more;

	unlink_lane(pool, lane);
	lane->in_worker = true;
	lane->again = false;
	pthread_mutex_unlock(&pool->lock);
	more = lane->work(lane);
	pthread_mutex_lock(&pool->lock);
	lane->in_worker = false;
	if (more || lane->again)
		append(pool, lane);
	pthread_cond_broadcast(&pool->left);
}

bool ncore_pool_lent(const struct ncore_lane *lane)
{
	return lane == lent;
}

bool ncore_pool_work(struct ncore_pool *pool, struct ncore_lane *lane)
{
	bool mine;

	pthread_mutex_lock(&pool->lock);
	mine = lane->queued;
	if (mine)
		work_here(pool, lane);
	else
		lent = NULL;
	pthread_mutex_unlock(&pool->lock);
	return mine;
}

void ncore_pool_leave(struct ncore_pool *pool, struct ncore_lane *lane)
{
	lent = NULL;
	pthread_mutex_lock(&pool->lock);
	if (lane->queued)
		pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

void ncore_pool_cancel(struct ncore_pool *pool, struct ncore_lane *lane)
{
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		if (lane->queued)
			unlink_lane(pool, lane);
		if (!lane->in_worker)
			break;
		pthread_cond_wait(&pool->left, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void stop_threads(struct ncore_pool *pool)
{
	unsigned int i;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->started; i++)
		pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->left);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

int ncore_pool_new(const struct ncore_pool_config *config, struct ncore_pool **out)
{
	unsigned int n = config ? config->threads : 0;
	struct ncore_pool *pool;
	sigset_t all, old;
	int ret = 0;

	if (!n) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);

		n = cpus > 0 ? (unsigned int)cpus : 1;
	}
	if (n > POOL_THREADS_MAX)
		n = POOL_THREADS_MAX;

	pool = calloc(1, sizeof(*pool) + n * sizeof(pool->thread[0]));
	if (!pool)
		return -ENOMEM;
	if (config)
		pool->cfg = *config;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->left, NULL);

	/* signals are the host program's business: workers block them all */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool->started < n && !ret) {
		ret = -pthread_create(&pool->thread[pool->started], NULL, worker, pool);
		if (!ret)
			pool->started++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);

	if (!pool->started) {
		stop_threads(pool);
		return ret;
	}
	*out = pool;
	return 0;
}

void ncore_pool_free(struct ncore_pool *pool)
{
	if (pool)
		stop_threads(pool);
}
