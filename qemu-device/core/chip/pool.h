/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: worker threads, which do lanes' work (pool.c).
 */
#ifndef NCORE_POOL_H
#define NCORE_POOL_H

#include "lane.h"

void ncore_pool_submit(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_lend(struct ncore_lane *lane); /* ncore_core_lend() and what follows it */
bool ncore_pool_lent(const struct ncore_lane *lane); /* this thread lends itself to it */
bool ncore_pool_work(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_leave(struct ncore_pool *pool, struct ncore_lane *lane);
void ncore_pool_cancel(struct ncore_pool *pool, struct ncore_lane *lane); /* waits */

#endif
