// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous copies between chunks: two at a time on each copy ring.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_dma.h"
#include "neuron_gate.h"
#include "neuron_mem.h"

/* Drops what a copy that is over held; async_lock is held */
static int async_end(struct neuron_h2t *h2t, unsigned int ctx)
{
	struct neuron_ctx *c = &h2t->ctx[ctx];
	int ret;

	if (!c->busy)
		return 0;
	ret = neuron_ctx_wait(h2t, ctx);
	neuron_mc_put(c->src);
	neuron_mc_put(c->dst);
	c->src = NULL;
	c->dst = NULL;
	return ret;
}

/*
 * A context is taken from a copy that nobody has waited for yet: its process still may. async_lock
 * held; result: how the copy ended
 */
static void async_over(struct neuron_h2t *h2t, pid_t tgid, unsigned int ctx, int result)
{
	struct neuron_proc *proc;

	mutex_lock(&h2t->nd->lock);
	proc = neuron_proc_find(h2t->nd, tgid);
	if (proc)
		proc->async_over[h2t->nc][ctx] = result ?: 1;
	mutex_unlock(&h2t->nd->lock);
}

/*
 * Finds the caller's copy behind the handle, which ends the handle's use. -EINVAL: it is not in
 * use
 */
static int async_wait(struct neuron_h2t *h2t, unsigned int ctx)
{
	struct neuron_proc *proc;
	int ret = -EINVAL;

	if (h2t->ctx[ctx].busy && h2t->ctx[ctx].tgid == current->tgid)
		return async_end(h2t, ctx);
	mutex_lock(&h2t->nd->lock);
	proc = neuron_proc_find(h2t->nd, current->tgid);
	if (proc && proc->async_over[h2t->nc][ctx]) {
		ret = min(proc->async_over[h2t->nc][ctx], 0);
		proc->async_over[h2t->nc][ctx] = 0;
	}
	mutex_unlock(&h2t->nd->lock);
	return ret;
}

/*
 * A free context; one whose copy is over counts as free, as its owner loses nothing. What waits for
 * the first gets the second, as under the public driver.
 */
static unsigned int async_pick(struct neuron_h2t *h2t, u32 pwait)
{
	const unsigned int ctxs[2] = {
		pwait == NEURON_CTX_ASYNC1 ? NEURON_CTX_ASYNC2 : NEURON_CTX_ASYNC1,
		pwait == NEURON_CTX_ASYNC1 ? NEURON_CTX_ASYNC1 : NEURON_CTX_ASYNC2,
	};
	unsigned int i;
	pid_t tgid;

	for (i = 0; i < 2; i++)
		if (!h2t->ctx[ctxs[i]].busy || neuron_ctx_poll(h2t, ctxs[i]))
			break;
	i = i < 2 ? i : 0;
	if (h2t->ctx[ctxs[i]].busy) {
		tgid = h2t->ctx[ctxs[i]].tgid;
		async_over(h2t, tgid, ctxs[i], async_end(h2t, ctxs[i]));
	}
	return ctxs[i];
}

struct async_run {
	u64 src, dst, len;
};

static int async_push(struct nhal_h2t *ring, void *arg)
{
	struct async_run *run = arg;

	return nhal_h2t_push(ring, run->src, run->dst, run->len) < run->len;
}

static bool async_handle(u32 handle)
{
	return handle == NEURON_CTX_ASYNC1 || handle == NEURON_CTX_ASYNC2;
}

/* Submits a copy. The caller has checked the ranges; size is at most one batch */
int neuron_copy_async(struct neuron_device *nd, struct neuron_mc *src, u64 src_offset,
		      struct neuron_mc *dst, u64 dst_offset, u64 size, u32 pwait, u32 *handle)
{
	struct neuron_h2t *h2t = &nd->h2t[dst->host ? src->nc : dst->nc];
	struct async_run run = { src->pa + src_offset, dst->pa + dst_offset, size };
	unsigned int ctx;
	int ret = 0;

	if (pwait != NEURON_DMA_H2T_CTX_HANDLE_NONE && !async_handle(pwait))
		return -EINVAL;
	if (size > (u64)NHAL_H2T_BATCH_MAX * NEURON_UDMA_DESC_LEN_MAX)
		return -EINVAL;

	mutex_lock(&h2t->async_lock);
	if (async_handle(pwait))
		ret = async_wait(h2t, pwait);
	if (ret)
		goto unlock;

	if (!size) { /* over already */
		*handle = NEURON_CTX_ASYNC1;
		async_over(h2t, current->tgid, NEURON_CTX_ASYNC1, 0);
		goto unlock;
	}

	ctx = async_pick(h2t, pwait);
	ret = neuron_ctx_batch(h2t, ctx, async_push, &run);
	if (ret)
		goto unlock;

	neuron_mc_get(src);
	neuron_mc_get(dst);
	h2t->ctx[ctx].src = src;
	h2t->ctx[ctx].dst = dst;
	*handle = ctx;
unlock:
	mutex_unlock(&h2t->async_lock);
	return ret;
}

int neuron_copy_async_wait(struct neuron_device *nd, unsigned int nc, u32 handle)
{
	struct neuron_h2t *h2t = &nd->h2t[nc];
	int ret;

	if (!async_handle(handle))
		return -EINVAL;
	mutex_lock(&h2t->async_lock);
	ret = async_wait(h2t, handle);
	mutex_unlock(&h2t->async_lock);
	return ret;
}

void neuron_copy_forget(struct neuron_device *nd, pid_t tgid)
{
	unsigned int nc, ctx;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		mutex_lock(&nd->h2t[nc].async_lock);
		for (ctx = NEURON_CTX_ASYNC1; ctx <= NEURON_CTX_ASYNC2; ctx++)
			if (nd->h2t[nc].ctx[ctx].tgid == tgid)
				async_end(&nd->h2t[nc], ctx);
		mutex_unlock(&nd->h2t[nc].async_lock);
	}
}
