// SPDX-License-Identifier: MIT
/*
 * Device memory that was let go and is kept for what next needs as much: a training step's results
 * are as large as the last one's, and the runtime gives memory back to the host, which clears each
 * page before the next one has it. Each device keeps NPJ_POOL_BYTES at most; when that is full, or
 * when there is no room for something, all of it goes.
 */
#include <stdlib.h>

#include "nrt/nrt.h"
#include "pjrt.h"

#define BINS 64

struct kept {
	struct kept *next;
	nrt_tensor_t *tensor;
	size_t bytes;
};

struct npj_pool {
	pthread_mutex_t lock; /* of all that follows */
	struct kept *bin[BINS]; /* by bytes */
	size_t bytes;
};

struct npj_pool *npj_pool_new(void)
{
	struct npj_pool *p = calloc(1, sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

static struct kept **bin_of(struct npj_pool *p, size_t bytes)
{
	return &p->bin[(bytes * 0x9e3779b97f4a7c15u) >> 58];
}

nrt_tensor_t *npj_pool_take(struct npj_pool *p, size_t bytes)
{
	struct kept **at, *k;
	nrt_tensor_t *tensor = NULL;

	pthread_mutex_lock(&p->lock);
	at = bin_of(p, bytes);
	while (*at && (*at)->bytes != bytes)
		at = &(*at)->next;
	k = *at;
	if (k) {
		*at = k->next;
		p->bytes -= bytes;
	}
	pthread_mutex_unlock(&p->lock);
	if (k)
		tensor = k->tensor;
	free(k);
	return tensor;
}

static void let_go(struct kept *k)
{
	while (k) {
		struct kept *next = k->next;

		nrt_tensor_free(&k->tensor);
		free(k);
		k = next;
	}
}

bool npj_pool_empty(struct npj_pool *p)
{
	struct kept *all[BINS];
	bool any;

	pthread_mutex_lock(&p->lock);
	any = p->bytes > 0;
	for (unsigned int i = 0; i < BINS; i++) {
		all[i] = p->bin[i];
		p->bin[i] = NULL;
	}
	p->bytes = 0;
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < BINS; i++)
		let_go(all[i]);
	return any;
}

void npj_pool_keep(struct npj_pool *p, nrt_tensor_t *tensor, size_t bytes)
{
	struct kept *k = bytes <= NPJ_POOL_BYTES / 2 ? malloc(sizeof(*k)) : NULL;
	bool full;

	if (!k) {
		nrt_tensor_free(&tensor);
		return;
	}
	pthread_mutex_lock(&p->lock);
	full = p->bytes + bytes > NPJ_POOL_BYTES; /* others may have kept some meanwhile */
	pthread_mutex_unlock(&p->lock);
	/* what nothing took for so long is of sizes that are not needed any more */
	if (full)
		npj_pool_empty(p);
	pthread_mutex_lock(&p->lock);
	*k = (struct kept){ *bin_of(p, bytes), tensor, bytes };
	*bin_of(p, bytes) = k;
	p->bytes += bytes;
	pthread_mutex_unlock(&p->lock);
}

void npj_pool_free(struct npj_pool *p)
{
	if (!p)
		return;
	/* in a child of fork the chip is the parent's, and so is who has the lock */
	if (!npj_forked()) {
		npj_pool_empty(p);
		pthread_mutex_destroy(&p->lock);
	}
	free(p);
}

bool npj_pools_empty(const PJRT_Client *c)
{
	bool any = false;

	for (unsigned int i = 0; i < c->n; i++)
		any |= npj_pool_empty(c->device[i].pool);
	return any;
}
