// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zero-copy: DMA straight to and from pinned user pages.
 *
 * It works in windows: while the chip copies one, the next is pinned. Contiguous pages become one
 * segment, and a segment becomes descriptors of 64 KiB. A window whose pages are not there ends
 * the run of the handler; the next run goes on with that window (neuron_user.c).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_dma.h"
#include "neuron_user.h"

#define WINDOW_SIZE (8ul * 1024 * 1024)
#define WINDOW_PAGES (WINDOW_SIZE / PAGE_SIZE + 1)
#define WINDOWS 2

struct window {
	unsigned int ctx;
	struct neuron_call *call;
	struct page **pages;
	unsigned int pinned;
	u64 len;
	unsigned long first, last; /* pages, by their addresses */
	bool ends; /* its operation */
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
	int ret = neuron_call_pin(w->call, uaddr, n, w->to_user, w->pages);

	w->pinned = ret ? 0 : n;
	return ret;
}

static int window_map(struct neuron_device *nd, struct window *w, unsigned long uaddr, u64 len)
{
	/* a bounce buffer holds no more than so many bytes in a row */
	size_t most = min_t(size_t, dma_max_mapping_size(&nd->pdev->dev), UINT_MAX);
	int ret;

	ret = sg_alloc_table_from_pages_segment(&w->sgt, w->pages, w->pinned,
						offset_in_page(uaddr), len,
						round_down(most, PAGE_SIZE), GFP_KERNEL);
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
		host = nhal_host_addr(ring->hal->gen, sg_dma_address(w->sg)) + w->sg_done;
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

/* Waits for the window; scattered pages may need more than one batch */
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
	if (!ret)
		w->call->done += w->len;
	if (!ret && w->ends) {
		w->call->op++;
		w->call->done = 0;
	}
	return ret;
}

static int window_start(struct neuron_h2t *h2t, struct window *w, u64 addr, unsigned long uaddr,
			u64 len)
{
	int ret;

	w->addr = addr;
	w->len = len;
	w->first = uaddr / PAGE_SIZE;
	w->last = (uaddr + len - 1) / PAGE_SIZE;
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

/* Two windows that are mapped at once must share no cache line if the chip writes to them */
static int window_part(struct neuron_h2t *h2t, struct window *w, unsigned long uaddr, u64 len)
{
	if (!w->busy || !w->to_user || w->last < uaddr / PAGE_SIZE ||
	    w->first > (uaddr + len - 1) / PAGE_SIZE)
		return 0;
	return window_finish(h2t, w);
}

/*
 * Copies from what call counts as done; a window that has failed is the last one that is looked at.
 * addr: of the memory that the offsets count from
 */
static int windows_run(struct neuron_h2t *h2t, struct window *w, u64 addr,
		       const struct neuron_tensor_batch_op *ops, u32 count)
{
	struct neuron_call *call = w->call;
	u64 at = call->done, n;
	unsigned int i = 0, k;
	unsigned long uaddr;
	u32 op = call->op;
	int ret = 0, err;

	for (; op < count && !ret; i ^= 1) {
		uaddr = (unsigned long)ops[op].buffer + at;
		/* ends with a page */
		n = min_t(u64, ops[op].size - at, WINDOW_SIZE - offset_in_page(uaddr));
		ret = neuron_call_work(call, n);
		if (ret)
			break;
		ret = window_finish(h2t, &w[i]);
		if (!ret)
			ret = window_part(h2t, &w[i ^ 1], uaddr, n);
		w[i].ends = at + n == ops[op].size;
		if (!ret)
			ret = window_start(h2t, &w[i], addr + ops[op].offset + at, uaddr, n);
		at += n;
		if (w[i].ends) {
			at = 0;
			op++;
		}
	}
	/* the older one first; that a copy failed is worse than a page that is missing */
	for (k = 0; k < WINDOWS; k++, i ^= 1) {
		err = window_finish(h2t, &w[i]);
		if (err && (!ret || ret == -EFAULT))
			ret = err;
	}
	return ret;
}

/*
 * Copies of a list of operations what call does not count as done, and counts it there; who calls
 * has checked the operations. to_user: from the device into the user's memory, else the other way
 */
int neuron_zerocopy(struct neuron_h2t *h2t, struct neuron_call *call, u64 addr,
		    const struct neuron_tensor_batch_op *ops, u32 count, bool to_user)
{
	struct window w[WINDOWS] = {
		{ .ctx = NEURON_CTX_SYNC0, .to_user = to_user, .call = call },
		{ .ctx = NEURON_CTX_SYNC1, .to_user = to_user, .call = call },
	};
	unsigned long pages = 0;
	struct page **buf;
	u32 i;
	int ret;

	for (i = call->op; i < count; i++)
		pages = max_t(u64, pages, min_t(u64, WINDOW_PAGES, ops[i].size / PAGE_SIZE + 2));
	buf = kvmalloc_array(WINDOWS * pages, sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	w[0].pages = buf;
	w[1].pages = buf + pages;
	mutex_lock(&h2t->op_lock);
	ret = windows_run(h2t, w, addr, ops, count);
	mutex_unlock(&h2t->op_lock);
	kvfree(buf);
	return ret;
}
