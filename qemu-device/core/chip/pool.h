/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: worker threads, which do strands' work (pool.c).
 */
#ifndef NCORE_POOL_H
#define NCORE_POOL_H

#include "strand.h"

void ncore_pool_submit(struct ncore_pool *pool, struct ncore_strand *strand);
void ncore_pool_lend(struct ncore_strand *strand); /* ncore_core_lend() and what follows it */
bool ncore_pool_lent(const struct ncore_strand *strand); /* this thread lends itself to it */
bool ncore_pool_work(struct ncore_pool *pool, struct ncore_strand *strand);
void ncore_pool_leave(struct ncore_pool *pool, struct ncore_strand *strand);
void ncore_pool_cancel(struct ncore_pool *pool, struct ncore_strand *strand); /* waits */

#endif
