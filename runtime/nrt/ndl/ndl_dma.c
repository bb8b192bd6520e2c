/* SPDX-License-Identifier: MIT */
/*
 * The public driver library: DMA engines and queues. Its functions name a device by its index; it
 * has to be open.
 */
#include <errno.h>
#include <stdlib.h>

#include "rt_ndl.h"

int ndl_dma_eng_set_state(int device_index, uint32_t eng_id, uint32_t state)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	return dev ? ndlx_dma_eng_set_state(dev, eng_id, state) : -ENODEV;
}

int ndl_dma_eng_get_state(int device_index, uint32_t eng_id, struct neuron_dma_eng_state *state)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	if (!state)
		return -EINVAL;
	return dev ? ndlx_dma_eng_get_state(dev, eng_id, state) : -ENODEV;
}

int ndl_dma_queue_get_state(int device_index, uint8_t eng_id, uint8_t qid,
			    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	if (!tx || !rx)
		return -EINVAL;
	return dev ? ndlx_dma_queue_get_state(dev, eng_id, qid, tx, rx) : -ENODEV;
}

int ndl_dma_descriptor_copyout(int device_index, uint8_t eng_id, uint8_t qid,
			       enum neuron_dma_queue_type type, uint32_t start_index,
			       uint32_t count, void *buffer)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	if (!buffer || type > NEURON_DMA_QUEUE_TYPE_RX)
		return -EINVAL;
	return dev ? ndlx_dma_descriptor_copyout(dev, eng_id, qid, type, start_index, count, buffer)
		   : -ENODEV;
}

/* The chunk of a ring, which lies on the same device; handle 0 is none. */
static int ring(const ndlx_device_t *dev, uint64_t handle, uint64_t *chunk)
{
	ndlx_device_t *owner;
	int ret;

	*chunk = 0;
	if (!handle)
		return 0;
	ret = rt_ndl_chunk(handle, &owner, chunk);
	return ret || owner->device_index == dev->device_index ? ret : -EINVAL;
}

static int queue_params(const ndlx_device_t *dev, const struct ndl_queue_init *q,
			struct ndlx_queue_params *params)
{
	*params = (struct ndlx_queue_params){
		.eng = q->eng_id,
		.qid = q->qid,
		.tx_count = q->tx_desc_count,
		.rx_count = q->rx_desc_count,
		.axi_port = q->axi_port,
	};
	if (q->rxc_handle) /* completions go into the queue's own words */
		return rt_ndl_absent("queues have no completion rings");
	return ring(dev, q->tx_handle, &params->tx_handle)
		       ?: ring(dev, q->rx_handle, &params->rx_handle);
}

int ndl_dma_queue_init(int device_index, uint32_t eng_id, uint32_t qid, uint32_t tx_desc_count,
		       uint32_t rx_desc_count, uint64_t tx_handle, uint64_t rx_handle,
		       uint64_t rxc_handle, uint32_t axi_port)
{
	const struct ndl_queue_init q = { eng_id,    qid,	tx_desc_count, rx_desc_count,
					  tx_handle, rx_handle, rxc_handle,    axi_port };
	ndlx_device_t *dev = rt_ndl_indexed(device_index);
	struct ndlx_queue_params params;

	if (!dev)
		return -ENODEV;
	return queue_params(dev, &q, &params) ?: ndlx_dma_queue_init(dev, &params);
}

int ndl_dma_queue_init_batch(int device_idx, struct ndl_queue_init_batch *batch)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_idx);
	struct ndlx_queue_params *params;
	int ret = 0;

	if (!batch)
		return -EINVAL;
	if (!dev)
		return -ENODEV;
	if (batch->count > MAX_NDL_QUEUE_INIT_BATCH)
		return -E2BIG;
	params = calloc(batch->count + 1, sizeof(*params));
	if (!params)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->count && !ret; i++)
		ret = queue_params(dev, &batch->entries[i], &params[i]);
	if (!ret)
		ret = ndlx_dma_queue_init_batch(dev, params, batch->count);
	free(params);
	return ret;
}

int ndl_dma_queue_release(int device_index, uint32_t eng_id, uint32_t qid)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	return dev ? ndlx_dma_queue_release(dev, eng_id, qid) : -ENODEV;
}

int ndl_dma_queue_copy_start(int device_index, uint32_t eng_id, uint32_t qid,
			     uint32_t tx_desc_count, uint32_t rx_desc_count)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	return dev ? ndlx_dma_queue_copy_start(dev, eng_id, qid, tx_desc_count, rx_desc_count)
		   : -ENODEV;
}

/* A queue's descriptors are done when its words say so; nobody waits for an acknowledgement. */
int ndl_dma_ack_completed_desc(int device_index, uint32_t eng_id, uint32_t qid, uint32_t count)
{
	struct neuron_ioctl_dma_ack_completed arg = { eng_id, qid, count };
	ndlx_device_t *dev = rt_ndl_indexed(device_index);
	struct neuron_dma_queue_state tx, rx;
	int ret;

	if (!dev)
		return -ENODEV;
	ret = ndlx_ioctl(dev, NEURON_IOCTL_DMA_ACK_COMPLETED, &arg);
	return ret == -ENOTSUP ? ndlx_dma_queue_get_state(dev, eng_id, qid, &tx, &rx) : ret;
}

int ndl_dma_copy_descriptors(uint64_t mem_handle, void *buffer, uint64_t offset, uint32_t num_descs,
			     enum neuron_dma_queue_type queue_type)
{
	ndlx_device_t *dev;
	uint64_t chunk;
	int ret;

	if (!buffer || queue_type > NEURON_DMA_QUEUE_TYPE_RX)
		return -EINVAL;
	ret = rt_ndl_chunk(mem_handle, &dev, &chunk);
	return ret ? ret
		   : ndlx_dma_copy_descriptors(dev, chunk, buffer, offset, num_descs, queue_type);
}

/* A core's copies have one queue, which is the driver's. */
int ndl_h2t_dma_queue_alloc(ndl_device_t *device, uint32_t nc_id, uint32_t copy_queue_cnt,
			    uint32_t service_queue_cnt, uint32_t *copy_queue_bmap,
			    uint32_t *service_queue_bmap, uint32_t *copy_default_queue)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	if (!rt_ndl_core_ok(dev, nc_id) || !copy_queue_bmap || !service_queue_bmap ||
	    !copy_default_queue)
		return -EINVAL;
	return rt_ndl_absent("the driver gives out no queues of its copies");
}

int ndl_h2t_dma_queue_free(ndl_device_t *device, uint32_t nc_id, uint32_t queue_bmap)
{
	if (!rt_ndl_core_ok(rt_ndl_device(device), nc_id))
		return -EINVAL;
	return rt_ndl_absent("the driver gives out no queues of its copies");
}
