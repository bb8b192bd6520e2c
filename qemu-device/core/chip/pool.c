/* SPDX-License-Identifier: MIT */
/*
 * Worker threads. A strand with work is queued once; a worker takes the oldest, lets it execute one
 * batch, and queues it again at the end when it has more. A thread that will wait for a strand
 * lends itself to it: no worker is woken for what it starts there, and it takes the strand as one
 * would. pool->lock protects the list and the strands' queued, in_worker and again flags; it is a
 * leaf.
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
	pthread_cond_t work; /* a strand was queued, or stop */
	pthread_cond_t left; /* a worker left a strand */
	struct ncore_strand *first, *last;
	bool stop;
	unsigned int started;
	pthread_t thread[];
};

/*
 * The strand to which this thread lends itself: what the thread starts there, it executes itself.
 */
static _Thread_local const struct ncore_strand *lent;

static void append(struct ncore_pool *pool, struct ncore_strand *strand)
{
	strand->queued = true;
	strand->pool_next = NULL;
	if (pool->last)
		pool->last->pool_next = strand;
	else
		pool->first = strand;
	pool->last = strand;
}

static struct ncore_strand *take(struct ncore_pool *pool)
{
	struct ncore_strand *strand = pool->first;

	pool->first = strand->pool_next;
	if (!pool->first)
		pool->last = NULL;
	strand->queued = false;
	return strand;
}

static void *worker(void *arg)
{
	struct ncore_pool *pool = arg;
	struct ncore_strand *strand;
	bool more;

	if (pool->cfg.thread_enter)
		pool->cfg.thread_enter(pool->cfg.opaque);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->stop)
			break;
		strand = take(pool);
		strand->in_worker = true;
		strand->again = false;
		pthread_mutex_unlock(&pool->lock);

		more = strand->work(strand);

		pthread_mutex_lock(&pool->lock);
		strand->in_worker = false;
		if (more || strand->again) {
			/* This worker takes the first strand itself; a second strand is for another
			 * worker. */
			if (pool->first)
				pthread_cond_signal(&pool->work);
			append(pool, strand);
		}
		pthread_cond_broadcast(&pool->left);
	}
	pthread_mutex_unlock(&pool->lock);
	if (pool->cfg.thread_leave)
		pool->cfg.thread_leave(pool->cfg.opaque);
	return NULL;
}

void ncore_pool_submit(struct ncore_pool *pool, struct ncore_strand *strand)
{
	pthread_mutex_lock(&pool->lock);
	if (strand->in_worker) {
		strand->again = true;
	} else if (!strand->queued) {
		append(pool, strand);
		if (strand != lent)
			pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void unlink_strand(struct ncore_pool *pool, struct ncore_strand *strand)
{
	struct ncore_strand **p, *prev = NULL;

	for (p = &pool->first; *p && *p != strand; p = &(*p)->pool_next)
		prev = *p;
	if (!*p)
		return;
	*p = strand->pool_next;
	if (pool->last == strand)
		pool->last = prev;
	strand->queued = false;
}

void ncore_pool_lend(struct ncore_strand *strand)
{
	lent = strand;
}

/* strand->queued, and this thread has taken it; pool->lock is held, and dropped meanwhile */
static void work_here(struct ncore_pool *pool, struct ncore_strand *strand)
{
	bool more;

	unlink_strand(pool, strand);
	strand->in_worker = true;
	strand->again = false;
	pthread_mutex_unlock(&pool->lock);
	more = strand->work(strand);
	pthread_mutex_lock(&pool->lock);
	strand->in_worker = false;
	if (more || strand->again)
		append(pool, strand);
	pthread_cond_broadcast(&pool->left);
}

bool ncore_pool_lent(const struct ncore_strand *strand)
{
	return strand == lent;
}

bool ncore_pool_work(struct ncore_pool *pool, struct ncore_strand *strand)
{
	bool mine;

	pthread_mutex_lock(&pool->lock);
	mine = strand->queued;
	if (mine)
		work_here(pool, strand);
	else
		lent = NULL;
	pthread_mutex_unlock(&pool->lock);
	return mine;
}

void ncore_pool_leave(struct ncore_pool *pool, struct ncore_strand *strand)
{
	lent = NULL;
	pthread_mutex_lock(&pool->lock);
	if (strand->queued)
		pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

void ncore_pool_cancel(struct ncore_pool *pool, struct ncore_strand *strand)
{
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		if (strand->queued)
			unlink_strand(pool, strand);
		if (!strand->in_worker)
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
