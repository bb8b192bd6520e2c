// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy ring of each core: batches, completion, deadlines, and the simple operations on top
 * (copy, fill, to and from user memory through a bounce buffer).
 *
 * h2t->op_lock lets one synchronous operation use the ring's two synchronous contexts and the
 * bounce buffer; h2t->ring_lock covers the descriptors of one batch from push to doorbell. All
 * callers hold nd->reset_sem, so a ring never changes under an operation except when a batch has
 * timed out; then the ring starts again with a new generation and batches of the old one fail.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/delay.h>

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_hwerr.h"
#include "neuron_inject.h"
#include "neuron_log.h"
#include "neuron_user.h"
#include "neuron_health.h"
#include "neuron_trace.h"

/*
 * The public deadline of V1 is about 16 ms for each descriptor of a batch. Emulated chips share
 * their host with others, so a floor of two seconds goes on top.
 */
#define DEADLINE_FLOOR_NS (2ull * NSEC_PER_SEC)
#define DEADLINE_DESC_NS (16ull * NSEC_PER_MSEC)
/* Most batches are done when the doorbell returns: look a few times before sleeping */
#define SPIN_LOOKS 64
#define POLL_MIN_US 20
#define POLL_MAX_US 60

/* Makes a ring, which is of no queue yet */
int neuron_h2t_create(struct neuron_device *nd, struct neuron_h2t *h2t, unsigned int nc,
		      bool bounce)
{
	u64 addr;

	mutex_init(&h2t->op_lock);
	mutex_init(&h2t->async_lock);
	mutex_init(&h2t->ring_lock);
	h2t->nd = nd;
	h2t->nc = nc;
	h2t->page_size = 2 * NHAL_H2T_RING_BYTES + PAGE_SIZE + (bounce ? NEURON_BOUNCE_SIZE : 0);
	h2t->page = dma_alloc_coherent(&nd->pdev->dev, h2t->page_size, &h2t->page_dma, GFP_KERNEL);
	if (!h2t->page)
		return -ENOMEM;
	addr = nhal_host_addr(h2t->nd->gen, h2t->page_dma);
	h2t->mem.tx = h2t->page;
	h2t->mem.tx_addr = addr;
	h2t->mem.rx = h2t->page + NHAL_H2T_RING_BYTES;
	h2t->mem.rx_addr = addr + NHAL_H2T_RING_BYTES;
	h2t->mem.completion = h2t->page + 2 * NHAL_H2T_RING_BYTES;
	h2t->mem.completion_addr = addr + 2 * NHAL_H2T_RING_BYTES;
	if (bounce) {
		h2t->bounce = h2t->page + 2 * NHAL_H2T_RING_BYTES + PAGE_SIZE;
		h2t->bounce_addr = addr + 2 * NHAL_H2T_RING_BYTES + PAGE_SIZE;
	}
	return 0;
}

/* The ring is off its queue */
void neuron_h2t_destroy(struct neuron_h2t *h2t)
{
	dma_free_coherent(&h2t->nd->pdev->dev, h2t->page_size, h2t->page, h2t->page_dma);
	h2t->page = NULL;
}

int neuron_dma_init(struct neuron_device *nd)
{
	size_t dummy = 2 * NEURON_DUMMY_RING_LEN * NEURON_UDMA_DESC_SIZE;
	unsigned int nc;

	nd->dummy_ring = dma_alloc_coherent(&nd->pdev->dev, dummy, &nd->dummy_dma, GFP_KERNEL);
	if (!nd->dummy_ring)
		return -ENOMEM;
	for (nc = 0; nc < nd->gen->cores; nc++) {
		nd->h2t[nc].qid = nd->gen->copy[nc].queue;
		if (neuron_h2t_create(nd, &nd->h2t[nc], nc, true))
			goto fail;
	}
	return 0;
fail:
	neuron_dma_exit(nd);
	return -ENOMEM;
}

void neuron_dma_exit(struct neuron_device *nd)
{
	size_t dummy = 2 * NEURON_DUMMY_RING_LEN * NEURON_UDMA_DESC_SIZE;
	unsigned int nc;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		if (!nd->h2t[nc].page)
			continue;
		neuron_h2t_park(&nd->h2t[nc]);
		neuron_h2t_destroy(&nd->h2t[nc]);
	}
	if (nd->dummy_ring)
		dma_free_coherent(&nd->pdev->dev, dummy, nd->dummy_ring, nd->dummy_dma);
}

/* Begins a generation of the ring, under ring_lock; whoever waits for a batch looks without it */
static void generation_next(struct neuron_h2t *h2t)
{
	lockdep_assert_held(&h2t->ring_lock);
	WRITE_ONCE(h2t->generation, h2t->generation + 1);
}

/* Puts the ring on its queue */
void neuron_h2t_start(struct neuron_h2t *h2t)
{
	mutex_lock(&h2t->ring_lock);
	generation_next(h2t);
	nhal_h2t_init_queue(&h2t->ring, &h2t->nd->hal, h2t->nc, h2t->qid, &h2t->mem);
	WRITE_ONCE(h2t->ready, true);
	mutex_unlock(&h2t->ring_lock);
}

/* Takes the ring from the queue; batches in flight fail */
void neuron_h2t_park(struct neuron_h2t *h2t)
{
	struct neuron_device *nd = h2t->nd;
	u64 dummy = nhal_host_addr(nd->gen, nd->dummy_dma);
	unsigned int half = NEURON_DUMMY_RING_LEN * NEURON_UDMA_DESC_SIZE;

	mutex_lock(&h2t->ring_lock);
	generation_next(h2t);
	if (h2t->ready && !READ_ONCE(nd->gone))
		nhal_queue_init(&nd->hal, h2t->ring.eng, h2t->ring.qid, dummy,
				NEURON_DUMMY_RING_LEN, dummy + half, NEURON_DUMMY_RING_LEN);
	WRITE_ONCE(h2t->ready, false);
	mutex_unlock(&h2t->ring_lock);
}

/* Descriptors that the ring has to go through until the end of what was submitted last */
static unsigned int descs_ahead(struct neuron_h2t *h2t)
{
	unsigned int i, n = 0;

	for (i = 0; i < NHAL_H2T_CONTEXTS; i++)
		if (READ_ONCE(h2t->ctx[i].busy))
			n += h2t->ctx[i].descs;
	return n;
}

/* Closes the batch that was pushed under ring_lock and rings the doorbell */
static void ctx_submit_locked(struct neuron_h2t *h2t, unsigned int ctx)
{
	struct neuron_ctx *c = &h2t->ctx[ctx];
	unsigned int n = nhal_h2t_submit(&h2t->ring, ctx);

	trace_dma_memcpy(h2t->nd->index, h2t->nc, ctx, n);
	c->descs = n;
	WRITE_ONCE(c->busy, true);
	c->tgid = current->tgid;
	c->generation = h2t->generation;
	/* a small batch waits behind a large one */
	c->deadline = ktime_get_ns() + DEADLINE_FLOOR_NS + descs_ahead(h2t) * DEADLINE_DESC_NS;
}

/* Submits one batch of what push() supplies. Returns its result, or -EIO when the ring is down */
int neuron_ctx_batch(struct neuron_h2t *h2t, unsigned int ctx, neuron_push_fn push, void *arg)
{
	int more;

	mutex_lock(&h2t->ring_lock);
	if (!h2t->ready) {
		mutex_unlock(&h2t->ring_lock);
		return -EIO;
	}
	more = push(&h2t->ring, arg);
	ctx_submit_locked(h2t, ctx);
	mutex_unlock(&h2t->ring_lock);
	return more;
}

bool neuron_ctx_poll(struct neuron_h2t *h2t, unsigned int ctx)
{
	return h2t->ctx[ctx].generation != READ_ONCE(h2t->generation) ||
	       nhal_h2t_done(&h2t->ring, ctx);
}

/* Starts the ring again after a batch was lost, so that nothing of it touches memory any more */
static void ring_restart(struct neuron_h2t *h2t, unsigned int ctx)
{
	mutex_lock(&h2t->ring_lock);
	if (h2t->ctx[ctx].generation == h2t->generation && h2t->ready) {
		generation_next(h2t);
		nhal_h2t_init_queue(&h2t->ring, &h2t->nd->hal, h2t->nc, h2t->qid, &h2t->mem);
	}
	mutex_unlock(&h2t->ring_lock);
}

/* The ring as it stands goes into the dump before it starts again */
static void copy_hangs(struct neuron_h2t *h2t, unsigned int ctx, int error)
{
	struct neuron_hang hang = {
		.reason = NEURON_HANG_REASON_COPY,
		.cores = BIT(h2t->nc),
		.engine = h2t->ring.eng,
		.queue = h2t->ring.qid,
		.pid = h2t->ctx[ctx].tgid,
		.error = error,
	};

	neuron_hang(h2t->nd, &hang);
}

/* An error has stopped the ring's queue, which only our own register tells */
static bool copy_stopped(struct neuron_h2t *h2t)
{
	struct neuron_device *nd = h2t->nd;
	u32 reg = nd->gen->ext.dma_stopped + 4 * h2t->ring.eng;

	return nd->ext && READ_ONCE(h2t->ready) && !READ_ONCE(nd->gone) &&
	       readl(nd->ext + reg) & BIT(h2t->ring.qid);
}

/*
 * The batch is lost. Its descriptors are the module's own, so it was not a program's fault; if a
 * memory's error stopped it, the counters say so.
 */
static int copy_lost(struct neuron_h2t *h2t, unsigned int ctx, int error)
{
	struct neuron_device *nd = h2t->nd;

	copy_hangs(h2t, ctx, error);
	ring_restart(h2t, ctx);
	nd_err(nd, "DMA of core %u %s\n", h2t->nc, error == -EIO ? "was aborted" : "timed out");
	if (!READ_ONCE(nd->gone)) {
		neuron_hwerr(nd, NEURON_HWERR_DMA, h2t->nc);
		neuron_health_poll(nd, NULL);
	}
	return error;
}

int neuron_ctx_wait(struct neuron_h2t *h2t, unsigned int ctx)
{
	struct neuron_ctx *c = &h2t->ctx[ctx];
	unsigned int look = 0;
	int ret = 0;

	if (neuron_fail(NEURON_FAIL_DMA_WAIT)) {
		ring_restart(h2t, ctx);
		WRITE_ONCE(c->busy, false);
		return -ETIMEDOUT;
	}

	while (!neuron_ctx_poll(h2t, ctx)) {
		if (look++ < SPIN_LOOKS) {
			cpu_relax();
			continue;
		}
		if (ktime_get_ns() > c->deadline || READ_ONCE(h2t->nd->gone)) {
			ret = copy_lost(h2t, ctx, -ETIMEDOUT);
			break;
		}
		/* another batch of the ring may have been lost, and this one with it */
		if (copy_stopped(h2t) && !neuron_ctx_poll(h2t, ctx)) {
			ret = copy_lost(h2t, ctx, -EIO);
			break;
		}
		usleep_range(POLL_MIN_US, POLL_MAX_US);
	}

	if (!ret && c->generation != READ_ONCE(h2t->generation))
		ret = -EIO;
	WRITE_ONCE(c->busy, false);
	return ret;
}

struct copy_run {
	u64 src, dst, len;
	u64 src_step; /* 0: the same source again and again */
	u64 chunk; /* largest piece of the source */
};

static int push_run(struct nhal_h2t *ring, void *arg)
{
	struct copy_run *run = arg;
	u64 n;

	while (run->len) {
		n = nhal_h2t_push(ring, run->src, run->dst, min(run->len, run->chunk));
		if (!n)
			return 1;
		run->dst += n;
		run->len -= n;
		run->src += run->src_step ? n : 0;
	}
	return 0;
}

/* Batches alternate between the two synchronous contexts, so the chip always has the next one */
static int run_all(struct neuron_h2t *h2t, struct copy_run *run)
{
	static const unsigned int ctxs[2] = { NEURON_CTX_SYNC0, NEURON_CTX_SYNC1 };
	bool busy[2] = { false, false };
	unsigned int i = 0;
	int ret = 0, more = 1, err;

	while (more > 0) {
		if (busy[i]) {
			busy[i] = false;
			ret = neuron_ctx_wait(h2t, ctxs[i]);
			if (ret)
				break;
		}
		more = neuron_ctx_batch(h2t, ctxs[i], push_run, run);
		if (more < 0) {
			ret = more;
			break;
		}
		busy[i] = true;
		i ^= 1;
	}
	for (i = 0; i < 2; i++) {
		if (!busy[i])
			continue;
		err = neuron_ctx_wait(h2t, ctxs[i]);
		if (!ret)
			ret = err;
	}
	return ret;
}

int neuron_dma_copy(struct neuron_h2t *h2t, u64 src, u64 dst, u64 len)
{
	struct copy_run run = { src, dst, len, 1, U64_MAX };
	int ret;

	if (!len)
		return 0;
	mutex_lock(&h2t->op_lock);
	ret = run_all(h2t, &run);
	mutex_unlock(&h2t->op_lock);
	return ret;
}

/* Fills with a word again and again, from its first byte on */
int neuron_dma_fill(struct neuron_h2t *h2t, u64 dst, u64 len, u32 pattern)
{
	struct copy_run run = { h2t->bounce_addr, dst, len, 0, NEURON_UDMA_DESC_LEN_MAX };
	int ret;

	if (!len)
		return 0;
	mutex_lock(&h2t->op_lock);
	memset32(h2t->bounce, pattern, NEURON_UDMA_DESC_LEN_MAX / sizeof(pattern));
	ret = run_all(h2t, &run);
	mutex_unlock(&h2t->op_lock);
	return ret;
}

/* Copies at most NEURON_BOUNCE_SIZE bytes */
int neuron_dma_from_kernel(struct neuron_h2t *h2t, u64 dst, const void *buf, u64 len)
{
	struct copy_run run = { h2t->bounce_addr, dst, len, 1, U64_MAX };
	int ret;

	mutex_lock(&h2t->op_lock);
	memcpy(h2t->bounce, buf, len);
	ret = run_all(h2t, &run);
	mutex_unlock(&h2t->op_lock);
	return ret;
}

int neuron_dma_to_kernel(struct neuron_h2t *h2t, u64 src, void *buf, u64 len)
{
	struct copy_run run = { src, h2t->bounce_addr, len, 1, U64_MAX };
	int ret;

	mutex_lock(&h2t->op_lock);
	ret = run_all(h2t, &run);
	if (!ret)
		memcpy(buf, h2t->bounce, len);
	mutex_unlock(&h2t->op_lock);
	return ret;
}

/* Copies, and counts in call->done what is done of it, also when it is not all */
int neuron_dma_from_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 dst,
			 const void __user *buf, u64 len)
{
	struct copy_run run;
	int ret = 0;
	u64 left, n;

	mutex_lock(&h2t->op_lock);
	for (; call->done < len && !ret; call->done += ret ? 0 : n) {
		left = len - call->done;
		n = min_t(u64, left, NEURON_BOUNCE_SIZE);
		run = (struct copy_run){ h2t->bounce_addr, dst + call->done, n, 1, U64_MAX };
		ret = neuron_call_read(call, h2t->bounce, buf + call->done, n, left);
		if (!ret)
			ret = run_all(h2t, &run);
	}
	mutex_unlock(&h2t->op_lock);
	return ret;
}

int neuron_dma_to_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 src, void __user *buf,
		       u64 len)
{
	struct copy_run run;
	int ret = 0;
	u64 left, n;

	mutex_lock(&h2t->op_lock);
	for (; call->done < len && !ret; call->done += ret ? 0 : n) {
		left = len - call->done;
		n = min_t(u64, left, NEURON_BOUNCE_SIZE);
		run = (struct copy_run){ src + call->done, h2t->bounce_addr, n, 1, U64_MAX };
		ret = neuron_call_there(call, buf + call->done, n, left);
		if (!ret)
			ret = run_all(h2t, &run);
		if (!ret)
			ret = neuron_call_write(call, buf + call->done, h2t->bounce, n, left);
	}
	mutex_unlock(&h2t->op_lock);
	return ret;
}
