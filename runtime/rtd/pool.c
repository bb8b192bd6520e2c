// SPDX-License-Identifier: MIT
/* The work pool. One lock protects the queue and the end flag. */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct pool_work {
	STAILQ_ENTRY(pool_work) link;
	void (*run)(void *arg);
	void *arg;
};

struct rtd_pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	STAILQ_HEAD(, pool_work) queue;
	bool end;
	unsigned int nthreads;
	pthread_t threads[];
};

static void *pool_thread(void *arg)
{
	struct rtd_pool *pool = arg;
	struct pool_work *work;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		work = STAILQ_FIRST(&pool->queue);
		if (work) {
			STAILQ_REMOVE_HEAD(&pool->queue, link);
			pthread_mutex_unlock(&pool->lock);
			work->run(work->arg);
			free(work);
			pthread_mutex_lock(&pool->lock);
		} else if (pool->end) {
			break;
		} else {
			pthread_cond_wait(&pool->more, &pool->lock);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int rtd_pool_new(unsigned int threads, struct rtd_pool **out)
{
	struct rtd_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pthread_t));
	int err;

	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->more, NULL);
	STAILQ_INIT(&pool->queue);
	for (; pool->nthreads < threads; pool->nthreads++) {
		err = pthread_create(&pool->threads[pool->nthreads], NULL, pool_thread, pool);
		if (err) {
			rtd_pool_free(pool);
			return -err;
		}
	}
	*out = pool;
	return 0;
}

int rtd_pool_add(struct rtd_pool *pool, void (*run)(void *arg), void *arg)
{
	struct pool_work *work = malloc(sizeof(*work));

	if (!work)
		return -ENOMEM;
	work->run = run;
	work->arg = arg;
	pthread_mutex_lock(&pool->lock);
	STAILQ_INSERT_TAIL(&pool->queue, work, link);
	pthread_cond_signal(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

void rtd_pool_free(struct rtd_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->end = true;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->nthreads; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->more);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
