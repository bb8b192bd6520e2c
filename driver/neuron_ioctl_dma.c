// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls on DMA engines, queues and descriptors.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_gate.h"
#include "neuron_h2tq.h"
#include "neuron_ioctl.h"
#include "neuron_mem.h"
#include "neuron_queue.h"
#include "neuron_user.h"
#include "neuron_trace.h"

#define DESC_MAX 65536 /* descriptors in one call */

static int do_eng_init(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_eng_init *a = arg;

	trace_dma_engine_init(nd->index, a->eng_id);
	return a->eng_id < nd->gen->dma_engines ? 0 : -EINVAL;
}

static int do_eng_set_state(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_eng_set_state *a = arg;
	u32 hw;
	int ret = nhal_engine_asked(nd->gen, a->eng_id, a->state, &hw);

	if (ret)
		return ret;
	/* the module's own copy queue lives on this one */
	if (neuron_gen_is_copy_engine(nd->gen, a->eng_id) && hw != NEURON_UDMA_STATE_NORMAL)
		return -EACCES;
	mutex_lock(&nd->lock);
	ret = neuron_core_claim(nd, neuron_gen_dma_core(nd->gen, a->eng_id));
	if (!ret)
		nhal_engine_state_set(&nd->hal, a->eng_id, hw);
	mutex_unlock(&nd->lock);
	return ret;
}

static int do_eng_get_state(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_eng_get_state *a = arg;
	struct neuron_dma_eng_state state;
	int ret;

	ret = neuron_engine_state(nd, a->eng_id, &state);
	if (ret)
		return ret;
	return neuron_call_write(call, a->state, &state, sizeof(state), sizeof(state));
}

static int do_queue_init(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_queue_setup(nd, arg);
}

static int do_queue_init_batch(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	u32 count = *(u32 *)arg, i;
	struct neuron_ioctl_dma_queue_init_batch __user *batch = call->user;
	struct neuron_ioctl_dma_queue_init *entries;
	int ret;

	if (count >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	if (!count)
		return 0;
	ret = neuron_call_fetch(call, batch->entries, count * sizeof(*entries), (void **)&entries);
	for (i = 0; i < count && !ret; i++)
		ret = neuron_queue_setup(nd, &entries[i]);
	return ret;
}

static int do_queue_release(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_queue_release *a = arg;

	return neuron_queue_release(nd, a->eng_id, a->qid);
}

static int do_queue_copy_start(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return neuron_queue_start(nd, arg);
}

static int do_ack_completed(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_ack_completed *a = arg;
	struct neuron_queue *q;
	int ret = 0;

	trace_dma_ack_completed(nd->index, a->eng_id, a->qid, a->count);
	if (nhal_queue_check(nd->gen, a->eng_id, a->qid))
		return -EINVAL;
	q = &nd->queues[a->eng_id][a->qid];
	mutex_lock(&nd->lock);
	if (!q->used)
		ret = -EINVAL;
	else if (q->owner != current->tgid)
		ret = -EACCES;
	else
		q->acked += a->count;
	mutex_unlock(&nd->lock);
	return ret;
}

static int do_queue_get_state(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_queue_get_state *a = arg;
	struct neuron_dma_queue_state tx, rx;
	int ret;

	ret = neuron_queue_state(nd, a->eng_id, a->qid, &tx, &rx);
	if (ret)
		return ret;
	ret = neuron_call_write(call, a->tx, &tx, sizeof(tx), sizeof(tx));
	return ret ?: neuron_call_write(call, a->rx, &rx, sizeof(rx), sizeof(rx));
}

static int do_quiesce(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return -ENOTTY;
}

static bool host_owned(void *nd, u64 addr, u32 len)
{
	return neuron_host_range_owned(nd, addr, len);
}

/* Checks that host addresses are the caller's; descriptors into a PE FIFO mark the ring */
static int descs_check(struct neuron_device *nd, struct neuron_mc *mc,
		       const struct nhal_descs *descs)
{
	const struct nhal_owner caller = { host_owned, nd };
	u32 models;
	int ret = nhal_descs_check(nd->gen, descs, &caller, &models);

	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	mc->model_map |= models;
	mutex_unlock(&nd->lock);
	return 0;
}

static int descs_store(struct neuron_mc *mc, u64 offset, const u8 *descs, size_t size)
{
	struct neuron_h2t *h2t = &mc->nd->h2t[mc->nc];
	size_t done, n;
	int ret = 0;

	if (mc->host) {
		memcpy(mc->va + offset, descs, size);
		return 0;
	}
	for (done = 0; done < size && !ret; done += n) {
		n = min_t(size_t, size - done, NEURON_BOUNCE_SIZE);
		ret = neuron_dma_from_kernel(h2t, mc->pa + offset + done, descs + done, n);
	}
	return ret;
}

static int copy_descriptors(struct neuron_device *nd, struct neuron_call *call,
			    const struct neuron_ioctl_dma_copy_descriptors64 *a)
{
	size_t size = (size_t)a->num_descs * NEURON_UDMA_DESC_SIZE;
	struct neuron_mc *mc;
	void *descs;
	int ret = -EINVAL;

	if (a->num_descs > DESC_MAX)
		return -E2BIG;
	if (a->queue_type > NEURON_DMA_QUEUE_COMPLETION)
		return -EINVAL;
	mc = neuron_mc_lookup(nd, a->mem_handle, NEURON_MAY_WRITE);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	if (!neuron_mc_range(mc, a->offset, size))
		goto put;
	ret = 0;
	if (!call->again)
		trace_dma_desc_copy(nd->index, a->mem_handle, a->offset, a->num_descs);
	if (!size)
		goto put;
	ret = neuron_call_fetch(call, a->buffer, size, &descs);
	if (!ret)
		ret = descs_check(nd, mc,
				  &(struct nhal_descs){ descs, a->num_descs,
							a->queue_type == NEURON_DMA_QUEUE_RX });
	if (!ret)
		ret = descs_store(mc, a->offset, descs, size);
put:
	neuron_mc_put(mc);
	return ret;
}

static int do_copy_descriptors64(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return copy_descriptors(nd, call, arg);
}

static int do_copy_descriptors(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_copy_descriptors *a = arg;
	struct neuron_ioctl_dma_copy_descriptors64 wide = { a->mem_handle, a->buffer, a->num_descs,
							    a->offset, a->queue_type };

	return copy_descriptors(nd, call, &wide);
}

/* Finds the ring that the hardware uses now, if it is memory of the caller */
static struct neuron_mc *ring_of(struct neuron_device *nd,
				 const struct neuron_ioctl_dma_descriptor_copyout *a, u64 *offset)
{
	struct neuron_dma_queue_state tx, rx, *s = a->type == NEURON_DMA_QUEUE_TX ? &tx : &rx;
	u64 base, first, bytes = (u64)a->count * NEURON_UDMA_DESC_SIZE;
	struct neuron_mc *mc;
	int ret;

	*offset = 0;
	ret = neuron_queue_state(nd, a->eng_id, a->qid, &tx, &rx);
	if (ret)
		return ERR_PTR(ret);
	if ((u64)a->start_index + a->count > s->length)
		return ERR_PTR(-EFBIG);
	base = nhal_addr_is_host(nd->gen, s->base_addr) ? s->base_addr
							: s->base_addr & ~nd->gen->window.alias;
	mc = neuron_mc_at(nd, base);
	if (!mc)
		return ERR_PTR(-EINVAL);
	first = base - mc->pa + (u64)a->start_index * NEURON_UDMA_DESC_SIZE;
	if (neuron_mc_owned(mc) && neuron_mc_range(mc, first, bytes)) {
		*offset = first;
		return mc;
	}
	neuron_mc_put(mc);
	return ERR_PTR(-EACCES);
}

static int do_descriptor_copyout(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_dma_descriptor_copyout *a = arg;
	struct neuron_mc *mc;
	u64 offset, bytes;
	int ret;

	if (!a->count || a->type > NEURON_DMA_QUEUE_RX)
		return -EINVAL;
	if (a->count > DESC_MAX)
		return -E2BIG;
	mc = ring_of(nd, a, &offset);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	bytes = (u64)a->count * NEURON_UDMA_DESC_SIZE;
	if (mc->host)
		ret = neuron_call_write(call, a->buffer, mc->va + offset, bytes, bytes);
	else
		ret = neuron_dma_to_user(&nd->h2t[mc->nc], call, mc->pa + offset, a->buffer, bytes);
	neuron_mc_put(mc);
	return ret;
}

static int do_ask_queues(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_h2t_dma_alloc_queues *a = arg;
	struct neuron_h2tq_maps maps;
	int ret;

	if (a->nc_id >= nd->gen->cores ||
	    a->copy_queue_cnt + a->service_queue_cnt >= NEURON_DMA_QUEUES_PER_ENG)
		return -E2BIG;
	ret = neuron_h2tq_ask(nd, a->nc_id, a->copy_queue_cnt, a->service_queue_cnt, &maps);
	if (ret)
		return ret;
	a->copy_queue_bmap = maps.copy;
	a->service_queue_bmap = maps.service;
	a->copy_default_queue = nd->gen->copy[a->nc_id].queue;
	ret = neuron_call_write(call, call->user, a, sizeof(*a), sizeof(*a));
	/* nobody would know which they are */
	if (ret)
		neuron_h2tq_free(nd, a->nc_id, maps.copy | maps.service);
	return ret;
}

static int do_free_queues(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_h2t_dma_free_queues *a = arg;

	return a->nc_id < nd->gen->cores ? neuron_h2tq_free(nd, a->nc_id, a->queue_bmap) : -E2BIG;
}

#define S(name) sizeof(struct neuron_ioctl_##name)
#define HWA (NIOC_HW | NIOC_ATTACHED)

const struct neuron_ioctl_entry neuron_ioctl_dma[] = {
	NEURON_IOC(DMA_QUEUE_COPY_START, S(dma_queue_copy_start), HWA, do_queue_copy_start),
	NEURON_IOC(DMA_ACK_COMPLETED, S(dma_ack_completed), NIOC_ATTACHED, do_ack_completed),
	NEURON_IOC(DMA_COPY_DESCRIPTORS64, S(dma_copy_descriptors64), HWA, do_copy_descriptors64),
	NEURON_IOC(DMA_COPY_DESCRIPTORS, S(dma_copy_descriptors), HWA, do_copy_descriptors),
	NEURON_IOC(DMA_ENG_INIT, S(dma_eng_init), NIOC_ATTACHED, do_eng_init),
	NEURON_IOC(DMA_ENG_SET_STATE, S(dma_eng_set_state), HWA, do_eng_set_state),
	NEURON_IOC(DMA_ENG_GET_STATE, S(dma_eng_get_state), NIOC_HW, do_eng_get_state),
	NEURON_IOC(DMA_QUEUE_INIT, S(dma_queue_init), HWA, do_queue_init),
	/* only the count: the entries are copied by the handler */
	NEURON_IOC(DMA_QUEUE_INIT_BATCH, sizeof(u32), HWA, do_queue_init_batch),
	NEURON_IOC(DMA_QUEUE_RELEASE, S(dma_queue_release), HWA, do_queue_release),
	NEURON_IOC(DMA_QUEUE_GET_STATE, S(dma_queue_get_state), NIOC_HW, do_queue_get_state),
	NEURON_IOC(DMA_DESCRIPTOR_COPYOUT, S(dma_descriptor_copyout), HWA, do_descriptor_copyout),
	NEURON_IOC(DMA_QUIESCE_QUEUES, 0, 0, do_quiesce),
	NEURON_IOC(H2T_DMA_ALLOC_QUEUES, S(h2t_dma_alloc_queues), HWA, do_ask_queues),
	NEURON_IOC(H2T_DMA_FREE_QUEUES, S(h2t_dma_free_queues), HWA, do_free_queues),
};

const unsigned int neuron_ioctl_dma_count = ARRAY_SIZE(neuron_ioctl_dma);
