/* SPDX-License-Identifier: MIT */
/* A fixed set of threads that run queued work in order. Owned by server.c; any thread may add. */
#ifndef RTD_POOL_H
#define RTD_POOL_H

struct rtd_pool;

int rtd_pool_new(unsigned int threads, struct rtd_pool **pool);
int rtd_pool_add(struct rtd_pool *pool, void (*run)(void *arg), void *arg);
void rtd_pool_free(struct rtd_pool *pool); /* executes what is queued, then ends the threads */

#endif
