/* SPDX-License-Identifier: MIT */
/* The in-process machine: an instance's chips on one fabric and one pool of threads. */
#include "emu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "instance.h"

const char *ndlx_machine_name(unsigned int i)
{
	return i < neuron_instances_count ? neuron_instances[i].name : NULL;
}

static void machine_close(void *state)
{
	struct emu_machine *m = state;

	for (int i = 0; m->chip && i < m->nchips; i++)
		emu_chip_fini(&m->chip[i]);
	if (m->pool)
		ncore_pool_free(m->pool);
	if (m->fabric)
		ncore_fabric_free(m->fabric);
	if (m->host.arena[EMU_OWN].base)
		emu_host_fini(&m->host);
	free(m->chip);
	free(m);
}

static int machine_build(struct emu_machine *m, const struct neuron_instance *inst)
{
	const struct ncore_pool_config pool = { 0 };
	int ret;

	snprintf(m->name, sizeof(m->name), "%s", inst->name);
	m->instance = inst;
	m->gen = inst->gen;
	m->user[EMU_OWN] = (struct emu_user){ .used = true, .pid = getpid() };
	pthread_mutex_init(&m->users_lock, NULL);
	pthread_mutex_init(&m->mark_lock, NULL);
	pthread_rwlock_init(&m->ids, NULL);
	m->chip = calloc(inst->chips, sizeof(*m->chip));
	if (!m->chip)
		return -ENOMEM;
	ret = emu_host_init(&m->host);
	if (!ret)
		ret = ncore_pool_new(&pool, &m->pool);
	if (!ret && inst->chips > 1)
		ret = ncore_fabric_new(inst->topology, inst->chips, &m->fabric);
	for (int i = 0; !ret && i < inst->chips; i++) {
		m->nchips = i + 1;
		ret = emu_chip_init(&m->chip[i], m, i);
	}
	return ret;
}

static int machine_open(const char *name, void **state)
{
	const struct neuron_instance *inst = neuron_instance_find(name);
	struct emu_machine *m;
	int ret;

	if (!inst)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	ret = machine_build(m, inst);
	if (!ret)
		ret = emu_faults_from_environment(m);
	if (ret) {
		machine_close(m);
		return ret;
	}
	*state = m;
	return 0;
}

static int machine_available(void *state, int *indexes, int size)
{
	struct emu_machine *m = state;
	int n = 0;

	for (int i = 0; i < m->nchips && n < size; i++)
		if (!__atomic_load_n(&m->chip[i].gone, __ATOMIC_ACQUIRE))
			indexes[n++] = i;
	return n;
}

static int machine_bdf(void *state, int index, struct ndlx_bdf *bdf)
{
	const struct neuron_instance_chip *chip;
	struct emu_machine *m = state;

	if (index < 0 || index >= m->nchips)
		return -ENODEV;
	chip = &m->instance->chip[index];
	*bdf = (struct ndlx_bdf){ .bus = chip->bus, .slot = chip->slot, .func = chip->function };
	return 0;
}

static int neighbours_by_table(const struct emu_chip *chip, unsigned int id[NEURON_PORTS_MAX],
			       unsigned int port[NEURON_PORTS_MAX])
{
	const struct emu_machine *m = chip->machine;
	bool left[NEURON_PORTS_MAX];
	int told[NEURON_PORTS_MAX];
	unsigned int n = neuron_gen_neighbours(chip->gen, (unsigned int)m->nchips,
					       (unsigned int)chip->index, told);

	memset(left, true, sizeof(left));
	for (unsigned int i = 0; i < n; i++) {
		int found = link_port(m->name, chip->index, told[i], left);

		if (found < 0)
			return found;
		id[i] = (unsigned int)told[i];
		port[i] = (unsigned int)found;
		left[found] = false; /* two links may lead to one neighbour */
	}
	return (int)n;
}

/*
 * Neighbours in the order in which drivers name them, and the ports that lead to them: as the chip
 * tells, or by the tables that drivers have. Returns their number.
 */
static int neighbours(struct emu_chip *chip, unsigned int id[NEURON_PORTS_MAX],
		      unsigned int port[NEURON_PORTS_MAX])
{
	int told[NEURON_PORTS_MAX], ret, n = 0;

	if (!chip->gen->ready_links)
		return neighbours_by_table(chip, id, port);
	pthread_rwlock_wrlock(&chip->machine->ids);
	pthread_mutex_lock(&chip->fwio);
	ret = nhal_neighbors_read(&chip->hal, told);
	pthread_mutex_unlock(&chip->fwio);
	pthread_rwlock_unlock(&chip->machine->ids);
	for (unsigned int p = 0; !ret && p < NEURON_PORTS_MAX; p++) {
		if (told[p] < 0)
			continue;
		port[n] = p;
		id[n++] = (unsigned int)told[p];
	}
	return ret ? ret : n;
}

static int machine_links(void *state, int index, bool up[NEURON_PORTS_MAX])
{
	unsigned int id[NEURON_PORTS_MAX], port[NEURON_PORTS_MAX];
	struct emu_machine *m = state;
	int n;

	if (index < 0 || index >= m->nchips)
		return -ENODEV;
	n = neighbours(&m->chip[index], id, port);
	memset(up, 0, NEURON_PORTS_MAX * sizeof(*up));
	for (int i = 0; i < n; i++)
		up[port[i]] = true;
	return n < 0 ? n : 0;
}

static int machine_gen(void *state, int index, const struct neuron_gen **gen)
{
	struct emu_machine *m = state;

	if (index < 0 || index >= m->nchips)
		return -ENODEV;
	*gen = m->gen;
	return 0;
}

static int machine_fault(void *state, int index, const char *fault)
{
	struct emu_machine *m = state;

	if (index < 0 || index >= m->nchips)
		return -ENODEV;
	return emu_fault(&m->chip[index], fault, strlen(fault));
}

static int machine_version(void *state, char *version, size_t size)
{
	snprintf(version, size, "emu");
	return 0;
}

static int machine_compatible(void *state, uint32_t *min, uint32_t *max)
{
	*min = 2;
	*max = 7;
	return 0;
}

static int machine_features(void *state, uint64_t *features)
{
	*features = NEURON_FEATURE_BATCH_DMAQ_INIT | NEURON_FEATURE_BIG_CORE_MAPS |
		    NEURON_FEATURE_MEM_ALLOC_TYPE | NEURON_FEATURE_MEM_ALLOC64 |
		    NEURON_FEATURE_ZEROCOPY;
	return 0;
}

static const char *machine_instance(void *state)
{
	return ((struct emu_machine *)state)->name;
}

/* They are the process's own. */
static uint64_t machine_key(void *state)
{
	return 2ull << 32 | (uint32_t)getpid();
}

static int machine_mark(void *state, uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			uint32_t *available)
{
	return emu_mark(state, EMU_OWN, count, start, end, first, available);
}

static int machine_unmark(void *state, uint32_t first, uint32_t count)
{
	return emu_unmark(state, EMU_OWN, first, count);
}

/* Devices */

/* One more open of the user's; -EBUSY: as many processes as a device may have have it already */
static int seat_take(struct emu_chip *chip, uint8_t user)
{
	unsigned int taken = 0;
	int ret = 0;

	pthread_mutex_lock(&chip->open_lock);
	for (unsigned int i = 0; i < EMU_USERS; i++)
		taken += i != user && chip->seat[i].opens;
	if (taken >= NEURON_MAX_PROCESS_PER_DEVICE) {
		ret = -EBUSY;
	} else {
		pthread_mutex_lock(&chip->lock);
		chip->seat[user].opens++;
		pthread_mutex_unlock(&chip->lock);
	}
	pthread_mutex_unlock(&chip->open_lock);
	return ret;
}

static void seat_leave(struct emu_chip *chip, uint8_t user)
{
	pthread_mutex_lock(&chip->open_lock);
	if (chip->seat[user].opens == 1)
		emu_chip_released(chip, user);
	pthread_mutex_lock(&chip->lock);
	chip->seat[user].opens--;
	pthread_mutex_unlock(&chip->lock);
	pthread_mutex_unlock(&chip->open_lock);
}

int emu_device_open(struct emu_machine *m, int index, uint8_t user, ndlx_device_t *dev)
{
	unsigned int id[NEURON_PORTS_MAX], port[NEURON_PORTS_MAX];
	struct emu_device *priv;
	struct emu_chip *chip;
	int n;

	if (index < 0 || index >= m->nchips)
		return -ENODEV;
	chip = &m->chip[index];
	if (__atomic_load_n(&chip->gone, __ATOMIC_ACQUIRE))
		return -ENODEV;
	n = neighbours(chip, id, port);
	if (n < 0)
		return n;

	dev->device_type = chip->gen->arch;
	dev->device_revision = NEURON_PCI_REVISION;
	for (int i = 0; i < n; i++)
		dev->connected_devices[dev->connected_device_count++] = (uint8_t)id[i];

	dev->csr_size[0] = chip->gen->bar_size[chip->gen->bar_regs];
	dev->csr_size[1] = chip->gen->bar_size[chip->gen->bar_cores];
	dev->gen = chip->gen;
	dev->ops = &emu_ops;
	dev->gone = &chip->gone;

	priv = malloc(sizeof(*priv));
	if (!priv)
		return -ENOMEM;
	*priv = (struct emu_device){ chip, user };
	dev->priv = priv;
	n = seat_take(chip, user);
	if (n)
		free(priv);
	return n;
}

static int device_open(void *state, int index, const ndlx_device_init_param_t *params,
		       ndlx_device_t *dev)
{
	return emu_device_open(state, index, EMU_OWN, dev);
}

static int device_close(ndlx_device_t *dev)
{
	seat_leave(emu_chip(dev), emu_user(dev));
	free(dev->priv);
	return 0;
}

static int bar_check(const struct neuron_gen *gen, unsigned int bar, const uint64_t *offset,
		     uint32_t count)
{
	if (bar != gen->bar_regs && bar != gen->bar_cores)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		if (offset[i] % 4 || !ndlx_range_ok(offset[i], 4, gen->bar_size[bar]))
			return -EINVAL;
	return 0;
}

static int bar_read(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset, uint32_t *data,
		    uint32_t count)
{
	int ret = bar_check(dev->gen, bar, offset, count);
	uint64_t addr;

	for (uint32_t i = 0; !ret && i < count; i++) {
		ret = nhal_bar_to_addr(dev->gen, bar, offset[i], &addr);
		if (!ret)
			ret = emu_reg_check(emu_chip(dev), emu_user(dev), &addr, 1);
		if (!ret)
			ret = emu_reg_read(emu_chip(dev), &addr, &data[i], 1);
	}
	return ret;
}

/*
 * The core that an address belongs to, or -EINVAL for those that the kernel module refuses:
 * everything but cores, TOP_SPs and notification queues, and of those all but the heads
 */
static int bar_core(const struct neuron_gen *gen, unsigned int bar, uint64_t offset)
{
	struct neuron_place place;
	int topsp;

	if (!neuron_gen_decode(gen, bar, offset, &place))
		return -EINVAL;
	switch (place.kind) {
	case NEURON_BLOCK_CORE:
	case NEURON_BLOCK_NQ:
		return (int)place.index;
	case NEURON_BLOCK_TOPSP:
		return (int)neuron_gen_topsp_core(gen, place.index);
	case NEURON_BLOCK_KEPT:
		topsp = neuron_gen_topsp_of_kept(gen, place.index);
		return topsp < 0 ? -EINVAL : (int)neuron_gen_topsp_core(gen, (unsigned int)topsp);
	default:
		return -EINVAL;
	}
}

/* A served user writes no base of a notification queue: the heads alone, as in the module. */
static bool bar_head(const struct neuron_gen *gen, unsigned int bar, uint64_t offset)
{
	struct neuron_place place;

	if (!neuron_gen_decode(gen, bar, offset, &place))
		return false;
	if (place.kind == NEURON_BLOCK_KEPT)
		place.rel += gen->nq_slot.regs;
	else if (place.kind != NEURON_BLOCK_NQ)
		return true;
	for (unsigned int nq = 0; nq < neuron_gen_nqs(gen); nq++)
		if (place.rel == neuron_gen_nq_regs(gen, nq) + gen->nq_reg.head)
			return true;
	return false;
}

static int bar_claim(ndlx_device_t *dev, unsigned int bar, uint64_t offset)
{
	struct emu_chip *chip = emu_chip(dev);
	int nc = bar_core(dev->gen, bar, offset), ret;

	if (nc < 0)
		return nc;
	if (emu_user(dev) != EMU_OWN && !bar_head(dev->gen, bar, offset))
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	ret = emu_claim(chip, emu_user(dev), (unsigned int)nc);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

static int bar_write(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
		     const uint32_t *data, uint32_t count)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = bar_check(dev->gen, bar, offset, count);

	for (uint32_t i = 0; !ret && i < count; i++)
		ret = bar_claim(dev, bar, offset[i]);
	for (uint32_t i = 0; !ret && i < count; i++)
		chip->hal.ops->write32(chip, bar, offset[i], data[i]);
	return ret;
}

static int read_hw_counters(ndlx_device_t *dev, const uint64_t *addr, uint32_t *data,
			    uint32_t count)
{
	int ret = emu_reg_check(emu_chip(dev), emu_user(dev), addr, count);

	return ret ? ret : emu_reg_read(emu_chip(dev), addr, data, count);
}

static bool others_use(struct emu_chip *chip, uint8_t user, uint32_t nc_map)
{
	bool used = false;

	pthread_mutex_lock(&chip->lock);
	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		used |= nc_map >> nc & 1 && chip->nc[nc].owner != EMU_NOBODY &&
			chip->nc[nc].owner != user;
	pthread_mutex_unlock(&chip->lock);
	return used;
}

static int reset(ndlx_device_t *dev, uint32_t nc_map, uint32_t *request_id)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret;

	if (others_use(chip, emu_user(dev), nc_map))
		return -EBUSY;
	/* what a whole device's reset does to what several users share is left to its owner */
	if (emu_user(dev) != EMU_OWN && nc_map == NEURON_NC_MAP_DEVICE)
		nc_map = (1u << chip->gen->cores) - 1;
	ret = emu_chip_reset(chip, nc_map);
	if (ret == -EINVAL)
		return ret;
	chip->seat[emu_user(dev)].reset_result = ret ? 1 : 0;
	*request_id = 1;
	return 0;
}

static int ready(ndlx_device_t *dev, uint32_t request_id, int *result)
{
	*result = request_id == 1 ? (int)emu_chip(dev)->seat[emu_user(dev)].reset_result : 1;
	return 0;
}

static int emu_printk(ndlx_device_t *dev, const char *text)
{
	size_t n = strlen(text) + 1;

	return n > NEURON_PRINTK_MAX ? -EFAULT : 0; /* a chip in this process has no kernel log */
}

static int queue_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx, uint32_t rx)
{
	emu_doorbell(emu_chip(dev));
	return device_gone(dev) ?: emu_queue_start(dev, eng, qid, tx, rx);
}

const struct ndlx_ops emu_ops = {
	.close = device_close,
	.bar_read = bar_read,
	.bar_write = bar_write,
	.read_hw_counters = read_hw_counters,
	.mem_alloc = emu_mem_alloc,
	.mem_free = emu_mem_free,
	.mem_info = emu_mem_info,
	.mem_map = emu_mem_map,
	.mem_unmap = emu_mem_unmap,
	.mem_copy = emu_mem_copy,
	.mem_move = emu_mem_move,
	.mem_forget = emu_mem_forget,
	.buf_copy = emu_buf_copy,
	.mem_set = emu_mem_set,
	.block_map = emu_block_map,
	.dram_chunks = emu_dram_chunks,
	.core_write = emu_core_write,
	.dmabuf_fd = emu_dmabuf_fd,
	.eng_set_state = emu_eng_set_state,
	.eng_get_state = emu_eng_get_state,
	.queue_init = emu_queue_init,
	.queue_release = emu_queue_release,
	.queue_start = queue_start,
	.queue_state = emu_queue_state,
	.copy_descs = emu_copy_descs,
	.descs_out = emu_descs_out,
	.semaphore = emu_semaphore,
	.event = emu_event,
	.nq_init = emu_nq_init,
	.nq_destroy = emu_nq_destroy,
	.wait_open = emu_wait_open,
	.wait_look = emu_wait_look,
	.wait = emu_wait,
	.wait_wake = emu_wait_wake,
	.wait_lend = emu_wait_lend,
	.wait_work = emu_wait_work,
	.wait_leave = emu_wait_leave,
	.wait_close = emu_wait_close,
	.datastore_open = emu_nds_open,
	.datastore_close = emu_nds_close,
	.crwl = emu_crwl,
	.reset = reset,
	.ready = ready,
	.cinit = emu_cinit,
	.started_count = emu_started_count,
	.apps = emu_apps,
	.printk = emu_printk,
};

/* The threads that would work are the parent's. */
static void machine_forked(void *state)
{
}

const struct ndlx_machine_ops ndlx_emu_machine = {
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
	.fault = machine_fault,
	.forked = machine_forked,
};
