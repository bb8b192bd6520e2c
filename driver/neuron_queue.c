// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA queues of processes: one owner each until release or exit, rings held while in use, stopped
 * queues parked on a dummy ring. Owns nd->queues (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_mem.h"
#include "neuron_queue.h"
#include "neuron_trace.h"

/* Finds the chunk of a ring, NULL for handle 0 */
static struct neuron_mc *ring_get(struct neuron_device *nd, u64 handle, u32 len)
{
	struct neuron_mc *mc;

	if (!handle)
		return NULL;
	mc = neuron_mc_lookup(nd, handle, NEURON_MAY_WRITE);
	if (IS_ERR(mc))
		return mc;
	if (nhal_ring_valid(mc->pa, len) &&
	    neuron_mc_range(mc, 0, (u64)len * NEURON_UDMA_DESC_SIZE))
		return mc;
	neuron_mc_put(mc);
	return ERR_PTR(-EINVAL);
}

static u64 ring_base(const struct neuron_gen *gen, const struct neuron_mc *mc, u32 axi_port)
{
	if (!mc)
		return 0;
	return mc->host || axi_port != 1 ? mc->pa : mc->pa | gen->window.alias;
}

/* Makes the guard let the queue reach what is its owner's; nd->lock is held */
static void domain_set(struct neuron_device *nd, struct neuron_queue *q, u32 eng, u32 qid)
{
	struct neuron_proc *proc = neuron_proc_find(nd, q->owner);
	u8 domain = proc ? proc->domain : NEURON_GUARD_NONE;

	if (q->domain == domain)
		return;
	neuron_guard_queue(nd, eng, qid, domain);
	q->domain = domain;
}

/* The core that a queue goes with: an engine for copies may serve two, from Trainium on */
static unsigned int queue_core(struct neuron_device *nd, unsigned int eng, unsigned int qid)
{
	const struct neuron_queue *q = &nd->queues[eng][qid];

	if (q->asked.by)
		return q->asked.nc;
	return q->used ? q->nc : neuron_gen_dma_core(nd->gen, eng);
}

static int queue_take(struct neuron_device *nd, const struct neuron_ioctl_dma_queue_init *arg,
		      struct neuron_mc **tx, struct neuron_mc **rx)
{
	struct neuron_queue *q = &nd->queues[arg->eng_id][arg->qid];
	unsigned int nc;
	int ret;

	lockdep_assert_held(&nd->lock);
	/* a process gives its queues back before its cores: who has the core has its queues */
	nc = queue_core(nd, arg->eng_id, arg->qid);
	ret = neuron_core_claim(nd, nc);
	if (ret)
		return ret;
	/* a copy queue is the module's own */
	if (q->asked.ring)
		return -EALREADY;
	q->used = true;
	q->nc = nc;
	q->owner = current->tgid;
	swap(q->tx, *tx);
	swap(q->rx, *rx);
	q->tx_len = arg->tx_desc_count;
	q->rx_len = arg->rx_desc_count;
	q->acked = 0;
	domain_set(nd, q, arg->eng_id, arg->qid);
	nhal_queue_init(&nd->hal, arg->eng_id, arg->qid, ring_base(nd->gen, q->tx, arg->axi_port),
			q->tx_len, ring_base(nd->gen, q->rx, arg->axi_port), q->rx_len);
	return 0;
}

int neuron_queue_setup(struct neuron_device *nd, const struct neuron_ioctl_dma_queue_init *arg)
{
	struct neuron_mc *tx, *rx;
	int ret;

	trace_dma_queue_init(nd->index, arg);
	if (nhal_queue_check(nd->gen, arg->eng_id, arg->qid) || arg->rxc_handle)
		return -EINVAL;
	if (neuron_gen_is_copy_queue(nd->gen, arg->eng_id, arg->qid))
		return -EACCES;
	tx = ring_get(nd, arg->tx_handle, arg->tx_desc_count);
	if (IS_ERR(tx))
		return PTR_ERR(tx);
	rx = ring_get(nd, arg->rx_handle, arg->rx_desc_count);
	if (IS_ERR(rx)) {
		neuron_mc_put(tx);
		return PTR_ERR(rx);
	}
	mutex_lock(&nd->lock);
	ret = queue_take(nd, arg, &tx, &rx);
	mutex_unlock(&nd->lock);
	/* on success these are the rings it had before */
	neuron_mc_put(tx);
	neuron_mc_put(rx);
	return ret;
}

/* Finds the caller's own queue or returns an error; nd->lock is held */
static struct neuron_queue *queue_own(struct neuron_device *nd, u32 eng, u32 qid)
{
	struct neuron_queue *q;

	if (nhal_queue_check(nd->gen, eng, qid))
		return ERR_PTR(-EINVAL);
	q = &nd->queues[eng][qid];
	if (!q->used)
		return ERR_PTR(-EINVAL);
	return q->owner == current->tgid ? q : ERR_PTR(-EACCES);
}

static void models_count(struct neuron_device *nd, const struct neuron_mc *rx)
{
	unsigned int nc;

	for (nc = 0; rx && nc < nd->gen->cores; nc++)
		if (rx->model_map & BIT(nc))
			nd->model_started[nc]++;
}

int neuron_queue_start(struct neuron_device *nd,
		       const struct neuron_ioctl_dma_queue_copy_start *arg)
{
	struct nhal_rings rings = { 0 };
	struct neuron_queue *q;
	int ret = 0;

	mutex_lock(&nd->lock);
	q = queue_own(nd, arg->eng_id, arg->qid);
	if (IS_ERR(q)) {
		ret = PTR_ERR(q);
	} else {
		rings.tx = q->tx ? q->tx_len : 0;
		rings.rx = q->rx ? q->rx_len : 0;
		ret = nhal_start_check(&rings, arg->tx_desc_count, arg->rx_desc_count);
	}
	if (!ret) {
		models_count(nd, q->rx);
		trace_dma_queue_copy_start(nd->index, arg->eng_id, arg->qid, arg->tx_desc_count,
					   arg->rx_desc_count);
		nhal_queue_start(&nd->hal, arg->eng_id, arg->qid, arg->tx_desc_count,
				 arg->rx_desc_count);
	}
	mutex_unlock(&nd->lock);
	return ret;
}

/* nd->lock held; the rings are the caller's to put */
static void queue_park(struct neuron_device *nd, unsigned int eng, unsigned int qid,
		       struct neuron_mc **tx, struct neuron_mc **rx)
{
	struct neuron_queue *q = &nd->queues[eng][qid];
	u64 dummy = nhal_host_addr(nd->gen, nd->dummy_dma);

	trace_dma_queue_release(nd->index, eng, qid);
	if (!READ_ONCE(nd->gone))
		nhal_queue_init(&nd->hal, eng, qid, dummy, NEURON_DUMMY_RING_LEN,
				dummy + NEURON_DUMMY_RING_LEN * NEURON_UDMA_DESC_SIZE,
				NEURON_DUMMY_RING_LEN);
	neuron_guard_queue(nd, eng, qid, NEURON_GUARD_NONE);
	*tx = q->tx;
	*rx = q->rx;
	*q = (struct neuron_queue){ .asked = q->asked };
}

int neuron_queue_release(struct neuron_device *nd, u32 eng, u32 qid)
{
	struct neuron_mc *tx = NULL, *rx = NULL;
	struct neuron_queue *q;

	mutex_lock(&nd->lock);
	q = queue_own(nd, eng, qid);
	if (!IS_ERR(q))
		queue_park(nd, eng, qid, &tx, &rx);
	mutex_unlock(&nd->lock);
	neuron_mc_put(tx);
	neuron_mc_put(rx);
	return PTR_ERR_OR_ZERO(q);
}

/* Parks the queues of a process, or with owner 0 those of the cores in the map */
void neuron_queues_stop(struct neuron_device *nd, pid_t owner, u32 nc_map)
{
	struct neuron_mc *tx, *rx;
	struct neuron_queue *q;
	unsigned int eng, qid;
	bool hit;

	for (eng = 0; eng < nd->gen->dma_engines; eng++) {
		for (qid = 0; qid < QUEUE_COUNT; qid++) {
			q = &nd->queues[eng][qid];
			mutex_lock(&nd->lock);
			hit = q->used && (owner ? q->owner == owner : nc_map & BIT(q->nc));
			tx = NULL;
			rx = NULL;
			if (hit)
				queue_park(nd, eng, qid, &tx, &rx);
			mutex_unlock(&nd->lock);
			neuron_mc_put(tx);
			neuron_mc_put(rx);
		}
	}
}

/* Has somebody initialised it? */
static bool queue_enabled(struct neuron_device *nd, u32 eng, u32 qid)
{
	const struct neuron_queue *q = &nd->queues[eng][qid];

	return neuron_gen_is_copy_queue(nd->gen, eng, qid) || READ_ONCE(q->used) ||
	       READ_ONCE(q->asked.ring);
}

static int half_state(struct neuron_device *nd, u32 eng, enum nhal_half half, u32 qid,
		      struct neuron_dma_queue_state *state)
{
	u64 addr[NHAL_QUEUE_REGS];
	u32 v[NHAL_QUEUE_REGS];
	int ret;

	nhal_queue_regs(nd->gen, eng, half, qid, addr);
	ret = neuron_reg_read(nd, addr, v, NHAL_QUEUE_REGS);
	if (!ret)
		nhal_queue_answer(v, queue_enabled(nd, eng, qid), state);
	return ret;
}

int neuron_queue_state(struct neuron_device *nd, u32 eng, u32 qid,
		       struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	int ret = nhal_queue_check(nd->gen, eng, qid);

	if (!ret)
		ret = half_state(nd, eng, NHAL_M2S, qid, tx);
	return ret ? ret : half_state(nd, eng, NHAL_S2M, qid, rx);
}

int neuron_engine_state(struct neuron_device *nd, u32 eng, struct neuron_dma_eng_state *state)
{
	u64 addr[2];
	u32 v[2];
	int ret;

	if (eng >= nd->gen->dma_engines)
		return -EINVAL;
	nhal_engine_regs(nd->gen, eng, addr);
	ret = neuron_reg_read(nd, addr, v, 2);
	if (!ret)
		nhal_engine_answer(v, state);
	return ret;
}
