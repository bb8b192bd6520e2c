// SPDX-License-Identifier: MIT
/*
 * Work in order: a thread for each device, and one for reads that wait. What is put is done one
 * after the other. A device's work may wait for values of others: what makes these was put before,
 * so that nobody waits in a circle.
 *
 * Work of a few microseconds is not worth waking a thread for: npj_queue_try has the caller do it,
 * as if it were the queue's thread.
 */
#include <stdlib.h>

#include "pjrt.h"

struct work {
	struct work *next;
	void (*run)(void *arg);
	void *arg;
};

struct npj_queue {
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t filled, space;
	struct work *first, **last;
	unsigned int waiting;
	bool busy; /* something is done, by the thread or by a caller */
	unsigned int begun; /* how much was */
	unsigned int callers; /* in npj_queue_try, who come back to the queue after what they did */
	bool stop;
};

/* The next item, off the list; NULL: nothing will come any more. With the lock */
static struct work *take(struct npj_queue *q)
{
	struct work *w;

	while (!q->first || q->busy) {
		if (q->stop && !q->first && !q->busy && !q->callers)
			return NULL;
		pthread_cond_wait(&q->filled, &q->lock);
	}
	w = q->first;
	q->first = w->next;
	if (!q->first)
		q->last = &q->first;
	q->waiting--;
	q->busy = true;
	q->begun++;
	pthread_cond_signal(&q->space);
	return w;
}

/* Unless npj_queue_end has said so. With the lock */
static void end(struct npj_queue *q, unsigned int begun)
{
	if (!q->busy || q->begun != begun)
		return;
	q->busy = false;
	if (q->first || q->stop)
		pthread_cond_signal(&q->filled);
}

static void *serve(void *arg)
{
	struct npj_queue *q = arg;
	unsigned int begun;
	struct work *w;

	pthread_mutex_lock(&q->lock);
	while ((w = take(q))) {
		begun = q->begun;
		pthread_mutex_unlock(&q->lock);
		w->run(w->arg);
		free(w);
		pthread_mutex_lock(&q->lock);
		end(q, begun);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct npj_queue *npj_queue_new(const char *name)
{
	struct npj_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->last = &q->first;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	pthread_cond_init(&q->space, NULL);
	if (pthread_create(&q->thread, NULL, serve, q)) {
		free(q);
		return NULL;
	}
	pthread_setname_np(q->thread, name);
	return q;
}

void npj_queue_free(struct npj_queue *q)
{
	/* a child of fork has no such thread, and the lock may be the parent's */
	if (!q || npj_forked())
		return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	pthread_cond_destroy(&q->space);
	pthread_cond_destroy(&q->filled);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

PJRT_Error *npj_queue_put(struct npj_queue *q, void (*run)(void *arg), void *arg)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		return npj_no_memory();
	*w = (struct work){ .run = run, .arg = arg };
	pthread_mutex_lock(&q->lock);
	while (q->waiting >= NPJ_QUEUE_MAX && !pthread_equal(pthread_self(), q->thread))
		pthread_cond_wait(&q->space, &q->lock);
	*q->last = w;
	q->last = &w->next;
	q->waiting++;
	if (!q->busy)
		pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

bool npj_queue_try(struct npj_queue *q, void (*run)(void *arg), void *arg)
{
	unsigned int begun;
	bool here;

	pthread_mutex_lock(&q->lock);
	here = !q->first && !q->busy && !q->stop;
	if (here) {
		q->busy = true;
		q->callers++;
		begun = ++q->begun;
	}
	pthread_mutex_unlock(&q->lock);
	if (!here)
		return false;
	run(arg);
	pthread_mutex_lock(&q->lock);
	end(q, begun);
	q->callers--;
	if (q->stop)
		pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return true;
}

void npj_queue_end(struct npj_queue *q)
{
	pthread_mutex_lock(&q->lock);
	end(q, q->begun);
	pthread_mutex_unlock(&q->lock);
}
