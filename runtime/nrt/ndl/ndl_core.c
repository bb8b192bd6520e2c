/* SPDX-License-Identifier: MIT */
/*
 * The public driver library: what is of cores: synchronisation, notification queues, datastore,
 * reservation, reset
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ndl.h"

int ndl_nc_semaphore_increment(ndl_device_t *device, int nc_index, uint32_t semaphore_index,
			       uint32_t value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index) ? ndlx_nc_semaphore_increment(dev, (uint32_t)nc_index,
									   semaphore_index, value)
					     : -EINVAL;
}

int ndl_nc_semaphore_decrement(ndl_device_t *device, int nc_index, uint32_t semaphore_index,
			       uint32_t value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index) ? ndlx_nc_semaphore_decrement(dev, (uint32_t)nc_index,
									   semaphore_index, value)
					     : -EINVAL;
}

int ndl_nc_semaphore_read(ndl_device_t *device, int nc_index, uint32_t semaphore_index,
			  uint32_t *value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index) && value
		       ? ndlx_nc_semaphore_read(dev, (uint32_t)nc_index, semaphore_index, value)
		       : -EINVAL;
}

int ndl_nc_semaphore_write(ndl_device_t *device, int nc_index, uint32_t semaphore_index,
			   uint32_t value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index)
		       ? ndlx_nc_semaphore_write(dev, (uint32_t)nc_index, semaphore_index, value)
		       : -EINVAL;
}

int ndl_nc_event_get(ndl_device_t *device, int nc_index, uint32_t event_index, uint32_t *value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index) && value
		       ? ndlx_nc_event_get(dev, (uint32_t)nc_index, event_index, value)
		       : -EINVAL;
}

int ndl_nc_event_set(ndl_device_t *device, int nc_index, uint32_t event_index, uint32_t value)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_index)
		       ? ndlx_nc_event_set(dev, (uint32_t)nc_index, event_index, value)
		       : -EINVAL;
}

/* Notification queues: a context is an entry of a list, told by a number that is not used again. */

struct nq {
	struct nq *next;
	uint64_t id;
	ndlx_device_t *dev;
	uint32_t size;
	void *va;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct nq *list;
static uint64_t last_id;

static int nq_init(ndlx_device_t *dev, const struct ndlx_nq_params *params, uint64_t *context)
{
	struct nq *nq = malloc(sizeof(*nq));
	int ret;

	if (!nq)
		return -ENOMEM;
	*nq = (struct nq){ .dev = dev, .size = params->size };
	ret = ndlx_notification_init(dev, params, &nq->va);
	if (ret) {
		free(nq);
		return ret;
	}
	pthread_mutex_lock(&lock);
	*context = nq->id = ++last_id;
	nq->next = list;
	list = nq;
	pthread_mutex_unlock(&lock);
	return 0;
}

int ndl_notification_init_with_realloc(ndl_device_t *device, int nq_dev_id,
				       ndl_nq_dev_t nq_dev_type, uint8_t nq_type,
				       uint8_t engine_index, uint32_t size, bool on_host_memory,
				       uint32_t dram_channel, uint32_t dram_region,
				       bool force_alloc_mem, uint64_t *notification_context)
{
	const struct ndlx_nq_params params = {
		.nc = (uint32_t)nq_dev_id,
		.type = nq_type,
		.engine = engine_index,
		.size = size,
		.fresh = force_alloc_mem,
	};
	ndlx_device_t *dev = rt_ndl_device(device);

	if (!notification_context)
		return -EINVAL;
	if (nq_dev_type != NQ_DEV_TYPE_NEURON_CORE || !on_host_memory)
		return rt_ndl_absent("notification queues are cores' and lie in host memory");
	if (!rt_ndl_core_ok(dev, nq_dev_id))
		return -EINVAL;
	return nq_init(dev, &params, notification_context);
}

int ndl_notification_init(ndl_device_t *device, int nq_dev_id, ndl_nq_dev_t nq_dev_type,
			  uint8_t nq_type, uint8_t engine_index, uint32_t size, bool on_host_memory,
			  uint32_t dram_channel, uint32_t dram_region,
			  uint64_t *notification_context)
{
	return ndl_notification_init_with_realloc(device, nq_dev_id, nq_dev_type, nq_type,
						  engine_index, size, on_host_memory, dram_channel,
						  dram_region, false, notification_context);
}

static bool nq_get(uint64_t id, struct nq *copy)
{
	struct nq *nq;

	pthread_mutex_lock(&lock);
	for (nq = list; nq && nq->id != id; nq = nq->next)
		;
	if (nq)
		*copy = *nq;
	pthread_mutex_unlock(&lock);
	return nq;
}

/* The ring is the driver's: it has no handle that memory functions take. 1 is the public failure. */
int ndl_notification_get_mem_handle(uint64_t notification_context, uint64_t *mem_handle)
{
	struct nq nq;

	if (!mem_handle || !nq_get(notification_context, &nq))
		return 1;
	rt_absent(NRT_INVALID, "a notification queue's memory is the driver's");
	return 1;
}

int ndl_notification_get_size(uint64_t notification_context, uint32_t *size)
{
	struct nq nq;

	if (!size || !nq_get(notification_context, &nq))
		return 1;
	*size = nq.size;
	return 0;
}

int ndl_notification_map(uint64_t notification_context, void **va)
{
	struct nq nq;

	if (!va || !nq_get(notification_context, &nq))
		return -EINVAL;
	*va = nq.va;
	return 0;
}

static struct nq *nq_take(uint64_t id, const ndlx_device_t *dev)
{
	struct nq **at, *nq;

	pthread_mutex_lock(&lock);
	for (at = &list; *at && (dev ? (*at)->dev != dev : (*at)->id != id); at = &(*at)->next)
		;
	nq = *at;
	if (nq)
		*at = nq->next;
	pthread_mutex_unlock(&lock);
	return nq;
}

static int nq_end(struct nq *nq)
{
	int ret = ndlx_notification_destroy(nq->dev, nq->va);

	free(nq);
	return ret;
}

int ndl_notification_destroy(uint64_t notification_context)
{
	struct nq *nq = nq_take(notification_context, NULL);

	return nq ? nq_end(nq) : -EINVAL;
}

void rt_ndl_nq_drop(const ndlx_device_t *dev)
{
	struct nq *nq;

	while ((nq = nq_take(0, dev)))
		nq_end(nq);
}

/* Datastore */

int ndl_nds_open(ndl_device_t *device, int32_t pid, void **data, size_t *size)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return dev && data && size && pid >= 0 ? ndlx_nds_open(dev, pid, data, size) : -EINVAL;
}

int ndl_nds_close(ndl_device_t *device, int32_t pid, void *data, size_t size)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return dev && data && pid >= 0 ? ndlx_nds_close(dev, pid, data, size) : -EINVAL;
}

/* Reservation */

typedef int crwl_fn(ndlx_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid);

static int crwl(ndl_device_t *device, int nc, const struct neuron_uuid *uuid, crwl_fn *fn)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc) ? fn(dev, (uint32_t)nc, uuid) : -EINVAL;
}

int ndl_crwl_reader_enter(ndl_device_t *device, int nc_index, struct neuron_uuid uuid)
{
	return crwl(device, nc_index, &uuid, ndlx_crwl_reader_enter);
}

int ndl_crwl_reader_exit(ndl_device_t *device, int nc_index, struct neuron_uuid uuid)
{
	return crwl(device, nc_index, &uuid, ndlx_crwl_reader_exit);
}

int ndl_crwl_writer_enter(ndl_device_t *device, int nc_index, struct neuron_uuid uuid)
{
	return crwl(device, nc_index, &uuid, ndlx_crwl_writer_enter);
}

int ndl_crwl_writer_downgrade(ndl_device_t *device, int nc_index, struct neuron_uuid uuid)
{
	return crwl(device, nc_index, &uuid, ndlx_crwl_writer_downgrade);
}

int ndl_crwl_nc_range_mark(uint32_t nc_count, uint32_t start_nc, uint32_t end_nc,
			   uint32_t *max_nc_available, uint64_t *bitmap, size_t size)
{
	uint32_t first;
	int ret;

	/* an answer that the bit map has no room for would leave marks that nobody knows of */
	if (!max_nc_available || !bitmap || size % sizeof(*bitmap) || end_nc / 8 >= size)
		return -EINVAL;
	ret = ndlx_crwl_nc_range_mark(nc_count, start_nc, end_nc, &first, max_nc_available);
	if (ret)
		return ret;
	memset(bitmap, 0, size);
	for (uint32_t i = 0; i < nc_count; i++)
		nbitmap_set_bit(first + i, bitmap);
	return 0;
}

int ndl_crwl_nc_range_unmark(uint64_t *bitmap, size_t size)
{
	uint32_t bits = (uint32_t)(size < 64 ? size : 64) * 8, n;
	int ret = 0;

	if (!bitmap || !size || size % sizeof(*bitmap))
		return -EINVAL;
	for (uint32_t i = 0; i < bits && !ret; i += n + 1) {
		for (n = 0; i + n < bits && nbitmap_test_bit(i + n, bitmap); n++)
			;
		if (n)
			ret = ndlx_crwl_nc_range_unmark(i, n);
	}
	return ret;
}

/* Reset and start-up */

int ndl_reset_ncs(int device_index, int nc_map, uint32_t *request_id)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);

	if (!request_id)
		return -EINVAL;
	return dev ? ndlx_reset_ncs(dev, (uint32_t)nc_map, request_id) : -ENODEV;
}

int ndl_ready_ncs(int device_index, uint32_t request_id, uint8_t *result)
{
	ndlx_device_t *dev = rt_ndl_indexed(device_index);
	int failed, ret;

	if (!result)
		return -EINVAL;
	if (!dev)
		return -ENODEV;
	ret = ndlx_ready_ncs(dev, request_id, &failed);
	*result = !ret && !failed;
	return ret;
}

int ndl_nc_init_set_state(ndl_device_t *device, uint32_t nc_id, uint32_t state, uint32_t *new_state)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_id) && new_state
		       ? ndlx_nc_init_set_state(dev, nc_id, state, new_state)
		       : -EINVAL;
}

int ndl_nc_model_started_count(ndl_device_t *device, uint32_t nc_id, uint64_t *started_count)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return rt_ndl_core_ok(dev, nc_id) && started_count
		       ? ndlx_nc_model_started_count(dev, nc_id, started_count)
		       : -EINVAL;
}
