/* SPDX-License-Identifier: MIT */
/*
 * The public functions: the choice of the machine, and the dispatch to its backend. There is one
 * machine in a process; its lock protects the choice and the count of open devices, nothing else.
 */
#include "ndl_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	bool forked; /* this process is a child of the one that opened the machine */
	char name[128];
	const struct ndlx_machine_ops *ops; /* NULL: no machine is in use yet */
	void *state;
	unsigned int devices;
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void after_fork(void)
{
	if (!machine.ops || !machine.ops->forked)
		return;
	machine.forked = true;
	machine.ops->forked(machine.state);
}

static void once(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

/* Parses "node", "unix:X", "emu:X", or "X" where bare names mean instances. Returns 0 or -EINVAL. */
static int parse(const char *name, const struct ndlx_machine_ops **ops, const char **instance)
{
	*instance = "";
	if (!strcmp(name, "node")) {
		*ops = &ndlx_node_machine;
		return 0;
	}
	if (!strncmp(name, "unix:", 5)) {
		*ops = &ndlx_served_machine;
		*instance = name + 5;
		return **instance ? 0 : -EINVAL;
	}
	*ops = &ndlx_emu_machine;
	*instance = strncmp(name, "emu:", 4) ? name : name + 4;
	return **instance ? 0 : -EINVAL;
}

/* Returns 0 with the lock held, or -errno without it. */
static int machine_get(void)
{
	const struct ndlx_machine_ops *ops;
	const char *instance, *name = machine.name;
	int ret;

	pthread_once(&machine.once, once);
	if (machine.forked)
		return -EOWNERDEAD;

	pthread_mutex_lock(&machine.lock);
	if (machine.ops)
		return 0;

	if (!*name)
		name = getenv("NEURON_EMU") ?: "";
	ret = parse(*name ? name : "node", &ops, &instance);
	if (!ret)
		ret = ops->open(instance, &machine.state);

	if (ret) {
		pthread_mutex_unlock(&machine.lock);
		return ret;
	}
	machine.ops = ops;
	return 0;
}

static void machine_put(void)
{
	pthread_mutex_unlock(&machine.lock);
}

int ndlx_machine_set(const char *name)
{
	const struct ndlx_machine_ops *ops;
	const char *instance;
	int ret;

	if (!name || strlen(name) >= sizeof(machine.name))
		return -EINVAL;
	ret = parse(name, &ops, &instance);
	if (ret)
		return ret;

	if (machine.forked)
		return -EOWNERDEAD;
	pthread_mutex_lock(&machine.lock);
	if (machine.ops && strcmp(machine.name, name))
		ret = -EBUSY;
	else
		strcpy(machine.name, name);
	machine_put();

	/* an instance that does not exist, or is not served, is refused here, not at the first use */
	if (!ret && ops != &ndlx_node_machine) {
		ret = machine_get();
		if (!ret)
			machine_put();
		else
			machine.name[0] = '\0';
	}
	return ret;
}

int ndlx_machine_close(void)
{
	int ret = 0;

	if (machine.forked)
		return -EOWNERDEAD;
	pthread_mutex_lock(&machine.lock);
	if (machine.devices) {
		ret = -EBUSY;
	} else if (machine.ops) {
		machine.ops->close(machine.state);
		machine.ops = NULL;
		machine.name[0] = '\0';
	}
	machine_put();
	return ret;
}

int ndlx_fault(int index, const char *fault)
{
	int ret = machine_get();

	if (ret)
		return ret;
	ret = machine.ops->fault ? machine.ops->fault(machine.state, index, fault) : -ENOTSUP;
	machine_put();
	return ret;
}

bool ndlx_machine_is_emu(void)
{
	bool emu;

	if (machine_get())
		return false;
	emu = machine.ops != &ndlx_node_machine;
	machine_put();
	return emu;
}

bool ndlx_machine_is_own(void)
{
	bool own;

	if (machine_get())
		return false;
	own = machine.ops == &ndlx_emu_machine;
	machine_put();
	return own;
}

const char *ndlx_machine_instance(void)
{
	const char *name;

	if (machine_get())
		return "";
	name = machine.ops->instance(machine.state);
	machine_put();
	return name;
}

uint64_t ndlx_machine_key(void)
{
	uint64_t key;

	if (machine_get())
		return 0;
	key = machine.ops->key ? machine.ops->key(machine.state) : 0;
	machine_put();
	return key;
}

/* Ends a call of the machine that machine_get() began, with its result. */
static int machine_done(int result)
{
	machine_put();
	return result;
}

int ndlx_get_version(char *version, size_t size)
{
	if (!version || !size)
		return -EINVAL;
	return machine_get()
		       ?: machine_done(machine.ops->driver_version(machine.state, version, size));
}

int ndlx_get_compatible_version(uint32_t *min, uint32_t *max)
{
	return machine_get() ?: machine_done(machine.ops->compatible(machine.state, min, max));
}

static int features_get(uint64_t *features)
{
	return machine_get() ?: machine_done(machine.ops->features(machine.state, features));
}

int ndlx_feature_supported(uint64_t feature, bool *supported)
{
	uint64_t features = 0;
	int ret = features_get(&features);

	*supported = !ret && (features & feature) == feature;
	return ret;
}

int ndlx_available_devices(int *indexes, int size)
{
	return machine_get() ?: machine_done(machine.ops->available(machine.state, indexes, size));
}

int ndlx_get_device_bdf(int index, struct ndlx_bdf *bdf)
{
	return machine_get() ?: machine_done(machine.ops->bdf(machine.state, index, bdf));
}

int ndlx_get_gen(int index, const struct neuron_gen **gen)
{
	return machine_get() ?: machine_done(machine.ops->gen(machine.state, index, gen));
}

int ndlx_get_links(int index, bool up[NEURON_PORTS_MAX])
{
	return machine_get() ?: machine_done(machine.ops->links(machine.state, index, up));
}

int ndlx_device_links(ndlx_device_t *dev, bool up[NEURON_PORTS_MAX])
{
	const struct ndlx_machine_ops *ops;
	void *state;
	int ret = machine_get();

	if (ret)
		return ret;
	ops = machine.ops;
	state = machine.state;
	machine_put();
	return ops->device_links ? ops->device_links(dev, up)
				 : ops->links(state, dev->device_index, up);
}

const char *ndlx_error_text(int err)
{
	static _Thread_local char text[80];

	return err == -ENOTSUP && node_level_text(text, sizeof(text)) ? text : strerror(-err);
}

const char *ndlx_machine_error(int err)
{
	const char *name = *machine.name ? machine.name : getenv("NEURON_EMU");

	if (!name || strncmp(name, "unix:", 5))
		return strerror(-err);
	switch (err) {
	case -ENODEV:
		return "no neuron-emud is there";
	case -EBUSY:
		return "neuron-emud has as many processes as it serves";
	case -EPROTO:
		return "neuron-emud is of another version";
	default:
		return strerror(-err);
	}
}

int ndlx_crwl_nc_range_mark(uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			    uint32_t *available)
{
	*available = 0;
	return machine_get()
		       ?: machine_done(machine.ops->range_mark(machine.state, count, start, end,
							       first, available));
}

int ndlx_crwl_nc_range_unmark(uint32_t first, uint32_t count)
{
	return machine_get()
		       ?: machine_done(machine.ops->range_unmark(machine.state, first, count));
}

/* The public layout's answer about memory, and the mappings that the caller wants */
static int fill_memory(ndlx_device_t *dev, bool map)
{
	uint64_t size = dev->gen->memory[0].size;

	dev->hbm_size = size;
	while (1ull << dev->shift_hbm_size < size)
		dev->shift_hbm_size++;
	for (unsigned int i = 0; i < dev->gen->memories; i++)
		dev->hbm_offset[i] = dev->gen->memory[i].address;
	for (unsigned int i = 0; map && i < dev->gen->memories; i++) {
		int ret = dev->ops->block_map(dev, NEURON_MMAP_BLOCK_HBM, i,
					      NEURON_MMAP_RESOURCE_DMEM, &dev->hbm_va[i], &size);

		if (ret)
			return ret == -ENOTSUP ? 0 : ret;
		dev->hbm_va_cnt++;
	}
	return 0;
}

int ndlx_open_device(int index, const ndlx_device_init_param_t *params, ndlx_device_t **device)
{
	static const ndlx_device_init_param_t use = { .initialize_device = true };
	ndlx_device_t *dev = calloc(1, sizeof(*dev));
	int ret;

	*device = NULL;
	if (!dev)
		return -ENOMEM;

	ret = machine_get();
	if (ret) {
		free(dev);
		return ret;
	}
	dev->device_index = (uint8_t)index;
	ret = index < 0 || index >= NDLX_MAX_DEVICES
		      ? -ENODEV
		      : machine.ops->device_open(machine.state, index, params ?: &use, dev);
	if (!ret)
		machine.devices++;
	machine_put();

	if (ret) {
		free(dev);
		return ret;
	}
	for (unsigned int i = 0; i < NEURON_MAX_NC_PER_DEVICE; i++)
		pthread_mutex_init(&dev->cpy_bufs[i].lock, NULL);
	ret = fill_memory(dev, params && params->map_hbm);
	if (ret)
		ndlx_close_device(dev);
	else
		*device = dev;
	return ret;
}

int ndlx_close_device(ndlx_device_t *dev)
{
	int ret;

	/* only the parent has the threads that would bring the chip to rest */
	if (machine.forked) {
		free(dev);
		return -EOWNERDEAD;
	}
	ret = dev->ops->close(dev);
	pthread_mutex_lock(&machine.lock);
	machine.devices--;
	machine_put();
	free(dev);
	return ret;
}

int machine_usable(void)
{
	return machine.forked ? -EOWNERDEAD : 0;
}

int ndlx_ioctl(ndlx_device_t *dev, unsigned long request, void *arg)
{
	if (dev)
		return dev->ops->call ? NDLX_CALL(call, request, arg) : -ENOTSUP;
	return machine_get()
		       ?: machine_done(machine.ops->call
					       ? machine.ops->call(machine.state, request, arg)
					       : -ENOTSUP);
}
