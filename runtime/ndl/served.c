/* SPDX-License-Identifier: MIT */
/*
 * libndl's served backend: the machine and its devices. One call of the wire for each function; the
 * server, like the module, checks the arguments.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "served.h"

static int call(ndlx_device_t *dev, struct wire_call *c)
{
	return served_call(served_device(dev)->m, c, NULL);
}

static int call_out(ndlx_device_t *dev, struct wire_call *c, void *out, size_t size)
{
	const struct served_data data = { .out = out, .out_size = size };

	return served_call(served_device(dev)->m, c, &data);
}

/* The machine */

static void machine_close(void *state)
{
	struct served *m = state;

	served_disconnect(m);
	for (unsigned int i = 0; i < NDLX_MAX_DEVICES; i++) {
		free(m->chip[i].chunk);
		free(m->chip[i].queue);
	}
	free(m);
}

static int machine_open(const char *path, void **state)
{
	struct served *m = calloc(1, sizeof(*m));
	char instance[32];
	int ret;

	if (!m)
		return -ENOMEM;
	ret = served_connect(m, path, instance);
	if (ret) {
		free(m);
		return ret;
	}
	for (unsigned int i = 0; i < NDLX_MAX_DEVICES; i++)
		pthread_mutex_init(&m->chip[i].lock, NULL);
	*state = m;
	m->instance = neuron_instance_find(instance);
	if (m->instance)
		return 0;
	machine_close(m);
	return -EPROTO;
}

static int machine_available(void *state, int *indexes, int size)
{
	const struct served *m = state;
	int n = m->instance->chips < size ? m->instance->chips : size;

	if (atomic_load(&m->dead))
		return -ENODEV;
	for (int i = 0; i < n; i++)
		indexes[i] = i;
	return n;
}

static bool is_chip(const struct served *m, int index)
{
	return index >= 0 && index < m->instance->chips;
}

static int machine_bdf(void *state, int index, struct ndlx_bdf *bdf)
{
	const struct neuron_instance_chip *chip;
	struct served *m = state;

	if (!is_chip(m, index))
		return -ENODEV;
	chip = &m->instance->chip[index];
	*bdf = (struct ndlx_bdf){ .bus = chip->bus, .slot = chip->slot, .func = chip->function };
	return 0;
}

static int machine_gen(void *state, int index, const struct neuron_gen **gen)
{
	struct served *m = state;

	if (!is_chip(m, index))
		return -ENODEV;
	*gen = m->instance->gen;
	return 0;
}

static int machine_links(void *state, int index, bool up[NEURON_PORTS_MAX])
{
	uint8_t told[NEURON_PORTS_MAX] = { 0 };
	const struct served_data data = { .out = told, .out_size = sizeof(told) };
	struct wire_call c = { .op = WIRE_LINKS, .arg = { (uint64_t)index } };
	struct served *m = state;
	int ret = is_chip(m, index) ? served_call(m, &c, &data) : -ENODEV;

	for (unsigned int i = 0; i < NEURON_PORTS_MAX; i++)
		up[i] = told[i];
	return ret;
}

static int machine_version(void *state, char *version, size_t size)
{
	return ndlx_emu_machine.driver_version(NULL, version, size);
}

static int machine_compatible(void *state, uint32_t *min, uint32_t *max)
{
	return ndlx_emu_machine.compatible(NULL, min, max);
}

static int machine_features(void *state, uint64_t *features)
{
	return ndlx_emu_machine.features(NULL, features);
}

static const char *machine_instance(void *state)
{
	return ((struct served *)state)->instance->name;
}

static uint64_t machine_key(void *state)
{
	return 1ull << 32 | ((struct served *)state)->server;
}

static int machine_mark(void *state, uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			uint32_t *available)
{
	struct wire_call c = { .op = WIRE_MARK, .arg = { count, start, end } };
	int ret = served_call(state, &c, NULL);

	*available = ret && ret != -EBUSY ? 0 : (uint32_t)c.arg[1];
	if (!ret)
		*first = (uint32_t)c.arg[0];
	return ret;
}

static int machine_unmark(void *state, uint32_t first, uint32_t count)
{
	struct wire_call c = { .op = WIRE_UNMARK, .arg = { first, count } };

	return served_call(state, &c, NULL);
}

/* Devices */

/* The chip is the process's once, however many devices it has of it; its lock is held. */
static int chip_open(struct served *m, int index)
{
	struct served_chip *chip = &m->chip[index];
	const struct served_data data = { .out = &chip->info, .out_size = sizeof(chip->info) };
	struct wire_call c = { .op = WIRE_OPEN, .device = (uint8_t)index };
	int ret;

	if (!chip->queue)
		chip->queue = calloc(m->instance->gen->dma_engines, sizeof(*chip->queue));
	if (!chip->queue)
		return -ENOMEM;
	if (chip->opens)
		return 0;
	ret = served_call(m, &c, &data);
	return !ret && chip->info.neighbours > NEURON_MAX_NEIGHBORS ? -EPROTO : ret;
}

static int device_open(void *state, int index, const ndlx_device_init_param_t *params,
		       ndlx_device_t *dev)
{
	struct served_device *d;
	struct served *m = state;
	struct served_chip *chip;
	int ret;

	if (!is_chip(m, index) || atomic_load(&m->dead))
		return -ENODEV;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	chip = &m->chip[index];
	pthread_mutex_lock(&chip->lock);
	ret = chip_open(m, index);
	chip->opens += !ret;
	pthread_mutex_unlock(&chip->lock);
	if (ret) {
		free(d);
		return ret;
	}
	d->m = m;
	d->chip = chip;
	pthread_mutex_init(&d->lock, NULL);
	dev->gen = m->instance->gen;
	dev->device_type = (uint8_t)chip->info.type;
	dev->device_revision = (uint16_t)chip->info.revision;
	dev->connected_device_count = (uint8_t)chip->info.neighbours;
	memcpy(dev->connected_devices, chip->info.neighbour, sizeof(dev->connected_devices));
	dev->csr_size[0] = dev->gen->bar_size[dev->gen->bar_regs];
	dev->csr_size[1] = dev->gen->bar_size[dev->gen->bar_cores];
	dev->ops = &served_ops;
	dev->priv = d;
	return 0;
}

static int device_close(ndlx_device_t *dev)
{
	struct served_device *d = served_device(dev);
	struct served_chip *chip = d->chip;

	served_unmap_all(dev);
	pthread_mutex_lock(&chip->lock);
	if (!--chip->opens) {
		call(dev, CALL(dev, .op = WIRE_CLOSE));
		served_chunks_drop(chip);
		free(chip->queue);
		chip->queue = NULL;
	}
	pthread_mutex_unlock(&chip->lock);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

/* Registers */

static int bar_read(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset, uint32_t *data,
		    uint32_t count)
{
	const struct served_data d = { offset, count * sizeof(*offset), data,
				       count * sizeof(*data) };

	return served_call(served_device(dev)->m,
			   CALL(dev, .op = WIRE_BAR_READ, .arg = { bar, count }), &d);
}

static int bar_write(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
		     const uint32_t *data, uint32_t count)
{
	const size_t head = count * sizeof(*offset), size = head + count * sizeof(*data);
	uint8_t *in = malloc(size + 1);
	const struct served_data d = { .in = in, .in_size = size };
	int ret;

	if (!in)
		return -ENOMEM;
	memcpy(in, offset, head);
	memcpy(in + head, data, size - head);
	ret = served_call(served_device(dev)->m,
			  CALL(dev, .op = WIRE_BAR_WRITE, .arg = { bar, count }), &d);
	free(in);
	return ret;
}

static int read_hw_counters(ndlx_device_t *dev, const uint64_t *addr, uint32_t *data,
			    uint32_t count)
{
	const struct served_data d = { addr, count * sizeof(*addr), data, count * sizeof(*data) };

	return served_call(served_device(dev)->m, CALL(dev, .op = WIRE_COUNTERS, .arg = { count }),
			   &d);
}

/* Whole memories and blocks are other processes' as well. */
static int block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		     enum neuron_mmap_resource resource, void **va, uint64_t *size)
{
	return -ENOTSUP;
}

static int dram_chunks(ndlx_device_t *dev, uint32_t channel,
		       struct neuron_ioctl_mem_chunk_info *info, uint32_t *count)
{
	uint32_t most = WIRE_DATA / sizeof(*info), capacity = *count < most ? *count : most;
	struct wire_call *c = CALL(dev, .op = WIRE_CHUNKS, .arg = { channel, capacity });
	struct neuron_ioctl_mem_chunk_info *list = calloc(capacity + 1, sizeof(*list));
	int ret = list ? call_out(dev, c, list, capacity * sizeof(*list)) : -ENOMEM;

	if (!ret || ret == -EAGAIN) {
		*count = (uint32_t)c->arg[0];
		for (uint32_t i = 0; i < capacity && i < *count; i++)
			info[i] = list[i];
	}
	free(list);
	return ret;
}

/* Memory of a server has no kernel object that a descriptor could stand for. */
static int dmabuf_fd(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd)
{
	return -ENOTSUP;
}

/* Queues */

static int eng_set_state(ndlx_device_t *dev, uint32_t eng, uint32_t state)
{
	return call(dev, CALL(dev, .op = WIRE_ENG_SET, .arg = { eng, state }));
}

static int eng_get_state(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	return call_out(dev, CALL(dev, .op = WIRE_ENG_GET, .arg = { eng }), state, sizeof(*state));
}

static bool queue_is(const ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	return eng < dev->gen->dma_engines && qid < NEURON_DMA_QUEUES_PER_ENG;
}

/* The process's record of its queues, for their doorbells */
static void queue_note(ndlx_device_t *dev, uint32_t eng, uint32_t qid, struct served_queue q)
{
	struct served_chip *chip = served_device(dev)->chip;

	if (!queue_is(dev, eng, qid))
		return;
	pthread_mutex_lock(&chip->lock);
	chip->queue[eng][qid] = q;
	pthread_mutex_unlock(&chip->lock);
}

static int queue_init(ndlx_device_t *dev, const struct ndlx_queue_params *p, uint32_t count)
{
	const struct served_data data = { .in = p, .in_size = count * sizeof(*p) };
	int ret;

	for (uint32_t i = 0; i < count; i++)
		queue_note(dev, p[i].eng, p[i].qid, (struct served_queue){ 0 });
	ret = served_call(served_device(dev)->m, CALL(dev, .op = WIRE_QUEUE_INIT, .arg = { count }),
			  &data);
	for (uint32_t i = 0; !ret && i < count; i++)
		queue_note(dev, p[i].eng, p[i].qid, (struct served_queue){ true, p[i].rx_handle });
	return ret;
}

static int queue_release(ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	queue_note(dev, eng, qid, (struct served_queue){ 0 });
	return call(dev, CALL(dev, .op = WIRE_QUEUE_RELEASE, .arg = { eng, qid }));
}

static bool queue_ready(ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	struct served_chip *chip = served_device(dev)->chip;
	struct served_queue q = { 0 };

	if (!queue_is(dev, eng, qid))
		return false;
	pthread_mutex_lock(&chip->lock);
	q = chip->queue[eng][qid];
	pthread_mutex_unlock(&chip->lock);
	return q.used && q.rx_handle && served_chunk_known(chip, q.rx_handle);
}

/* A doorbell of the process's own queue cannot fail, and nobody waits for it. */
static int queue_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx, uint32_t rx)
{
	struct wire_call *c = CALL(dev, .op = WIRE_QUEUE_START, .arg = { eng, qid, tx, rx });

	return queue_ready(dev, eng, qid) ? served_post(served_device(dev)->m, c) : call(dev, c);
}

static int queue_state(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
		       struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	struct neuron_dma_queue_state state[2];
	int ret = call_out(dev, CALL(dev, .op = WIRE_QUEUE_STATE, .arg = { eng, qid }), state,
			   sizeof(state));

	if (!ret) {
		*tx = state[0];
		*rx = state[1];
	}
	return ret;
}

static int copy_descs(ndlx_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
		      uint32_t count, enum neuron_dma_queue_type type)
{
	const uint32_t most = WIRE_DATA / NEURON_UDMA_DESC_SIZE;
	struct served_data data = { .in = descs };
	uint32_t n = count < most ? count : most;
	int ret;

	data.in_size = (size_t)n * NEURON_UDMA_DESC_SIZE;
	ret = served_call(served_device(dev)->m,
			  CALL(dev, .op = WIRE_DESCS_IN, .arg = { handle, offset, n, type }),
			  &data);
	return ret || n == count ? ret
				 : copy_descs(dev, handle, (const uint8_t *)descs + data.in_size,
					      offset + data.in_size, count - n, type);
}

static int descs_out(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
		     enum neuron_dma_queue_type type, uint32_t start, uint32_t count, void *descs)
{
	return call_out(dev,
			CALL(dev, .op = WIRE_DESCS_OUT, .arg = { eng, qid, type, start, count }),
			descs, (size_t)count * NEURON_UDMA_DESC_SIZE);
}

/* Cores */

static int semaphore(ndlx_device_t *dev, enum neuron_sem_access op, uint32_t nc, uint32_t index,
		     uint32_t *value)
{
	struct wire_call *c = CALL(dev, .op = WIRE_SEMAPHORE,
				   .arg = { op, nc, index, op == NEURON_SEM_READ ? 0 : *value });
	int ret = call(dev, c);

	if (!ret && op == NEURON_SEM_READ)
		*value = (uint32_t)c->arg[0];
	return ret;
}

static int event(ndlx_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value)
{
	struct wire_call *c =
		CALL(dev, .op = WIRE_EVENT, .arg = { set, nc, index, set ? *value : 0 });
	int ret = call(dev, c);

	if (!ret && !set)
		*value = (uint32_t)c->arg[0];
	return ret;
}

static int nq_init(ndlx_device_t *dev, const struct ndlx_nq_params *p, void **va)
{
	const struct served *m = served_device(dev)->m;
	struct wire_call *c =
		CALL(dev, .op = WIRE_NQ, .arg = { p->nc, p->type, p->engine, p->size, p->fresh });
	int ret = call(dev, c);

	if (ret)
		return ret;
	if (!ndlx_range_ok(c->arg[0], p->size, m->size))
		return -EPROTO;
	*va = m->base + c->arg[0];
	return 0;
}

static int nq_destroy(ndlx_device_t *dev, void *va)
{
	/* the queue lives as long as the device, and its mapping as long as the process's file */
	return va ? 0 : -EINVAL;
}

static int crwl(ndlx_device_t *dev, enum ndlx_crwl op, uint32_t nc, const struct neuron_uuid *uuid)
{
	struct wire_call *c = CALL(dev, .op = WIRE_CRWL, .arg = { op, nc });

	memcpy(&c->arg[2], uuid, sizeof(*uuid));
	return call(dev, c);
}

static int reset(ndlx_device_t *dev, uint32_t nc_map, uint32_t *request_id)
{
	struct wire_call *c = CALL(dev, .op = WIRE_RESET, .arg = { nc_map });
	int ret = call(dev, c);

	*request_id = (uint32_t)c->arg[0];
	return ret;
}

static int ready(ndlx_device_t *dev, uint32_t request_id, int *result)
{
	struct wire_call *c = CALL(dev, .op = WIRE_READY, .arg = { request_id });
	int ret = call(dev, c);

	*result = (int)c->arg[0];
	return ret;
}

static int cinit(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	struct wire_call *c = CALL(dev, .op = WIRE_CINIT, .arg = { nc, state });
	int ret = call(dev, c);

	*new_state = (uint32_t)c->arg[0];
	return ret;
}

static int started_count(ndlx_device_t *dev, uint32_t nc, uint64_t *count)
{
	struct wire_call *c = CALL(dev, .op = WIRE_STARTED, .arg = { nc });
	int ret = call(dev, c);

	*count = c->arg[0];
	return ret;
}

static int apps(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count, uint16_t flags)
{
	struct wire_call *c = CALL(dev, .op = WIRE_APPS, .arg = { flags });
	struct neuron_app_info *list = calloc(NEURON_MAX_PROCESS_PER_DEVICE, sizeof(*list));
	int ret = list ? call_out(dev, c, list, NEURON_MAX_PROCESS_PER_DEVICE * sizeof(*list))
		       : -ENOMEM;

	if (!ret && c->arg[0] > NEURON_MAX_PROCESS_PER_DEVICE)
		ret = -EPROTO;
	if (ret) {
		free(list);
		return ret;
	}
	*info = list;
	*count = c->arg[0];
	return 0;
}

static int print(ndlx_device_t *dev, const char *text)
{
	const struct served_data data = { .in = text, .in_size = strlen(text) + 1 };

	return data.in_size > NEURON_PRINTK_MAX
		       ? -EFAULT
		       : served_call(served_device(dev)->m, CALL(dev, .op = WIRE_PRINTK), &data);
}

const struct ndlx_ops served_ops = {
	.close = device_close,
	.bar_read = bar_read,
	.bar_write = bar_write,
	.read_hw_counters = read_hw_counters,
	.mem_alloc = served_mem_alloc,
	.mem_free = served_mem_free,
	.mem_info = served_mem_info,
	.mem_map = served_mem_map,
	.mem_unmap = served_mem_unmap,
	.mem_copy = served_mem_copy,
	.buf_copy = served_buf_copy,
	.mem_set = served_mem_set,
	.block_map = block_map,
	.dram_chunks = dram_chunks,
	.core_write = served_core_write,
	.dmabuf_fd = dmabuf_fd,
	.eng_set_state = eng_set_state,
	.eng_get_state = eng_get_state,
	.queue_init = queue_init,
	.queue_release = queue_release,
	.queue_start = queue_start,
	.queue_state = queue_state,
	.copy_descs = copy_descs,
	.descs_out = descs_out,
	.semaphore = semaphore,
	.event = event,
	.nq_init = nq_init,
	.nq_destroy = nq_destroy,
	.wait_open = served_wait_open,
	.wait_look = served_wait_look,
	.wait = served_wait,
	.wait_wake = served_wait_wake,
	.wait_lend = served_wait_lend,
	.wait_work = served_wait_work,
	.wait_leave = served_wait_leave,
	.wait_close = served_wait_close,
	.datastore_open = served_nds_open,
	.datastore_close = served_nds_close,
	.crwl = crwl,
	.reset = reset,
	.ready = ready,
	.cinit = cinit,
	.started_count = started_count,
	.apps = apps,
	.printk = print,
};

const struct ndlx_machine_ops ndlx_served_machine = {
	.open = machine_open,
	.close = machine_close,
	.available = machine_available,
	.device_open = device_open,
	.bdf = machine_bdf,
	.links = machine_links,
	.gen = machine_gen,
	.driver_version = machine_version,
	.compatible = machine_compatible,
	.features = machine_features,
	.instance = machine_instance,
	.key = machine_key,
	.range_mark = machine_mark,
	.range_unmark = machine_unmark,
	.forked = served_forked,
};
