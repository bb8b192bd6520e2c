// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zero-copy (DMA straight to and from pinned user pages) and asynchronous copies between chunks.
 *
 * Zero-copy works in windows: while the chip copies one, the next is pinned. Contiguous pages
 * become one segment, and a segment becomes descriptors of 64 KiB.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "neuron.h"

#define WINDOW_SIZE (8ul * 1024 * 1024)
#define WINDOW_PAGES (WINDOW_SIZE / PAGE_SIZE + 1)
#define WINDOWS 2

struct window {
	unsigned int ctx;
	struct page **pages;
	unsigned int pinned;
	struct sg_table sgt;
	bool mapped;
	bool busy;
	/* what is still to be pushed */
	struct scatterlist *sg;
	u64 sg_done;
	u64 addr;
	bool to_user;
};

static int window_pin(struct window *w, unsigned long uaddr, u64 len)
{
	unsigned int n = DIV_ROUND_UP(offset_in_page(uaddr) + len, PAGE_SIZE);
	int ret;

	ret = pin_user_pages_fast(uaddr & PAGE_MASK, n, w->to_user ? FOLL_WRITE : 0, w->pages);
	if (ret < 0)
		return ret;
	w->pinned = ret;
	return ret == n ? 0 : -EFAULT;
}

static int window_map(struct neuron_device *nd, struct window *w, unsigned long uaddr, u64 len)
{
	int ret;

	ret = sg_alloc_table_from_pages(&w->sgt, w->pages, w->pinned, offset_in_page(uaddr), len,
					GFP_KERNEL);
	if (ret)
		return ret;
	ret = dma_map_sgtable(&nd->pdev->dev, &w->sgt, w->to_user ? DMA_FROM_DEVICE : DMA_TO_DEVICE,
			      0);
	if (ret) {
		sg_free_table(&w->sgt);
		return ret;
	}
	w->mapped = true;
	w->sg = w->sgt.sgl;
	w->sg_done = 0;
	return 0;
}

static void window_drop(struct neuron_device *nd, struct window *w)
{
	if (w->mapped) {
		dma_unmap_sgtable(&nd->pdev->dev, &w->sgt,
				  w->to_user ? DMA_FROM_DEVICE : DMA_TO_DEVICE, 0);
		sg_free_table(&w->sgt);
		w->mapped = false;
	}
	if (w->pinned)
		unpin_user_pages_dirty_lock(w->pages, w->pinned, w->to_user);
	w->pinned = 0;
}

static int window_push(struct nhal_h2t *ring, void *arg)
{
	struct window *w = arg;
	u64 host, left, n;

	while (w->sg) {
		host = nhal_host_addr(sg_dma_address(w->sg)) + w->sg_done;
		left = sg_dma_len(w->sg) - w->sg_done;
		n = w->to_user ? nhal_h2t_push(ring, w->addr, host, left)
			       : nhal_h2t_push(ring, host, w->addr, left);
		w->addr += n;
		w->sg_done += n;
		if (n < left)
			return 1;
		w->sg = sg_next(w->sg);
		w->sg_done = 0;
	}
	return 0;
}

/* Wait for the window; scattered pages may need more than one batch */
static int window_finish(struct neuron_h2t *h2t, struct window *w)
{
	int ret;

	if (!w->busy)
		return 0;
	for (;;) {
		ret = neuron_ctx_wait(h2t, w->ctx);
		if (ret || !w->sg)
			break;
		ret = neuron_ctx_batch(h2t, w->ctx, window_push, w);
		if (ret < 0)
			break;
	}
	w->busy = false;
	window_drop(h2t->nd, w);
	return ret;
}

static int window_start(struct neuron_h2t *h2t, struct window *w, u64 addr, unsigned long uaddr,
			u64 len)
{
	int ret;

	w->addr = addr;
	ret = window_pin(w, uaddr, len);
	if (!ret)
		ret = window_map(h2t->nd, w, uaddr, len);
	if (!ret)
		ret = neuron_ctx_batch(h2t, w->ctx, window_push, w);
	if (ret < 0) {
		window_drop(h2t->nd, w);
		return ret;
	}
	w->busy = true;
	return 0;
}

static int windows_run(struct neuron_h2t *h2t, struct window *w, u64 addr, unsigned long uaddr,
		       u64 size)
{
	unsigned int i = 0;
	int ret = 0, err;
	u64 n;

	for (; size && !ret; size -= n, addr += n, uaddr += n, i ^= 1) {
		/* ends with a page: two windows that are mapped at once must share no cache line */
		n = min_t(u64, size, WINDOW_SIZE - offset_in_page(uaddr));
		ret = window_finish(h2t, &w[i]);
		if (!ret)
			ret = window_start(h2t, &w[i], addr, uaddr, n);
	}
	for (i = 0; i < WINDOWS; i++) {
		err = window_finish(h2t, &w[i]);
		if (!ret)
			ret = err;
	}
	return ret;
}

/* to_user: from the device address into the user's memory, else the other way */
int neuron_zerocopy(struct neuron_h2t *h2t, u64 addr, unsigned long uaddr, u64 size, bool to_user)
{
	struct window w[WINDOWS] = {
		{ .ctx = NEURON_CTX_SYNC0, .to_user = to_user },
		{ .ctx = NEURON_CTX_SYNC1, .to_user = to_user },
	};
	unsigned long pages = min_t(u64, WINDOW_PAGES, size / PAGE_SIZE + 2);
	struct page **buf;
	int ret;

	if (!access_ok((void __user *)uaddr, size))
		return -EFAULT;
	buf = kvmalloc_array(WINDOWS * pages, sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	w[0].pages = buf;
	w[1].pages = buf + pages;
	mutex_lock(&h2t->op_lock);
	ret = windows_run(h2t, w, addr, uaddr, size);
	mutex_unlock(&h2t->op_lock);
	kvfree(buf);
	return ret;
}

/* async_lock held: the copy is over, drop what it held */
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

	for (i = 0; i < 2; i++)
		if (!h2t->ctx[ctxs[i]].busy || neuron_ctx_poll(h2t, ctxs[i]))
			break;
	i = i < 2 ? i : 0;
	async_end(h2t, ctxs[i]);
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

/* Ranges are checked by the caller; size is at most one batch */
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
	if (async_handle(pwait) && h2t->ctx[pwait].tgid == current->tgid)
		ret = async_end(h2t, pwait);
	if (ret)
		goto unlock;
	if (!size) { /* over already: waiting for it finds nothing to wait for, or an older copy */
		*handle = NEURON_CTX_ASYNC1;
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
	int ret = 0;

	if (!async_handle(handle))
		return -EINVAL;
	mutex_lock(&h2t->async_lock);
	/* somebody else's by now: the caller's own copy was over before */
	if (h2t->ctx[handle].tgid == current->tgid)
		ret = async_end(h2t, handle);
	mutex_unlock(&h2t->async_lock);
	return ret;
}

void neuron_copy_forget(struct neuron_device *nd, pid_t tgid)
{
	unsigned int nc, ctx;

	for (nc = 0; nc < NC_COUNT; nc++) {
		mutex_lock(&nd->h2t[nc].async_lock);
		for (ctx = NEURON_CTX_ASYNC1; ctx <= NEURON_CTX_ASYNC2; ctx++)
			if (nd->h2t[nc].ctx[ctx].tgid == tgid)
				async_end(&nd->h2t[nc], ctx);
		mutex_unlock(&nd->h2t[nc].async_lock);
	}
}
