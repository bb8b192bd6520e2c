/* SPDX-License-Identifier: MIT */
/*
 * libndl's node backend, the machine: which nodes exist, and what can be asked without attaching to
 * a device. One write-only ("free access") descriptor serves all of that and stays open, because
 * the public driver drops a process's marks whenever such a descriptor is closed.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node.h"

#define INSTANCE_MAX 64 /* characters of the name */
#define MARK_COUNT 512 /* cores that the module's marks are for */
#define SYSFS_DEVICE "/sys/devices/virtual/neuron_device/neuron%d/%s"

/* The machine's state; every call that has it is made with ndl.c's lock held */
struct node_machine {
	int free_fd; /* -1: none is open */
	int free_index; /* the device it belongs to */
	char instance[INSTANCE_MAX];
};

/*
 * 0, -ENODEV or -EPERM. A control group that refuses a device (a scheduler's, a container's) hides
 * it from this process, though its node is there; access() asks it, too, and a node that the file's
 * mode refuses is EACCES.
 */
static int node_there(int index)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/dev/neuron%d", index);
	if (stat(path, &st) || !S_ISCHR(st.st_mode))
		return -ENODEV;
	return access(path, R_OK | W_OK) && errno == EPERM ? -EPERM : 0;
}

static bool node_exists(int index)
{
	return !node_there(index);
}

#define ANY_DEVICE (NDLX_MAX_DEVICES - 1)

/*
 * Opens the first device's free-access descriptor, in the place of the one that is open, which is
 * closed only then, so that the process keeps its marks. Returns 0 or -errno.
 */
static int free_open(struct node_machine *machine, int end)
{
	int fd = -ENODEV, err = -ENODEV, index;

	for (index = 0; index < end; index++) {
		fd = node_exists(index) ? node_open(index, O_WRONLY) : -ENODEV;
		if (fd >= 0)
			break;
		if (err == -ENODEV) /* what is not there says nothing of one that is */
			err = fd;
	}
	if (fd < 0)
		return err;

	if (machine->free_fd >= 0)
		close(machine->free_fd);
	machine->free_fd = fd;
	machine->free_index = index;
	return 0;
}

/*
 * Returns the free-access descriptor or -errno. What the module is asked through it about devices
 * and cores counts from the descriptor's own device, which is therefore `index` or one before it,
 * where there is one: a descriptor of a later device was opened when this one was unplugged, and
 * gives way. So does one whose device was unplugged since.
 */
static int free_access(struct node_machine *machine, int index)
{
	struct neuron_ioctl_compatible_version version = { 0 };
	int err = 0;

	if (machine->free_fd < 0)
		err = free_open(machine, NDLX_MAX_DEVICES);
	else if (machine->free_index > index)
		free_open(machine, machine->free_index);

	if (err)
		return err;

	err = node_ioctl(machine->free_fd, NEURON_IOCTL_COMPATIBLE_VERSION, &version);
	if (err == -ENODEV)
		err = free_open(machine, NDLX_MAX_DEVICES);
	return err == -ENODEV ? err : machine->free_fd;
}

static int free_ioctl(struct node_machine *machine, unsigned long request, void *arg)
{
	int fd = free_access(machine, ANY_DEVICE);

	return fd < 0 ? fd : node_ioctl(fd, request, arg);
}

static int node_machine_call(void *state, unsigned long request, void *arg)
{
	return free_ioctl(state, request, arg);
}

static void read_instance(char name[INSTANCE_MAX])
{
	if (node_read_line("/sys/devices/virtual/dmi/id/product_name", name, INSTANCE_MAX))
		name[0] = '\0';
}

static int node_machine_open(const char *instance, void **state)
{
	struct node_machine *machine = calloc(1, sizeof(*machine));

	if (!machine)
		return -ENOMEM;
	machine->free_fd = -1;
	read_instance(machine->instance);
	*state = machine;
	return 0;
}

static void node_machine_close(void *state)
{
	struct node_machine *machine = state;

	if (machine->free_fd >= 0)
		close(machine->free_fd);
	free(machine);
}

static const char *node_instance(void *state)
{
	return ((struct node_machine *)state)->instance;
}

static int node_version(void *state, char *text, size_t size)
{
	return node_read_line("/sys/module/neuron/version", text, size);
}

static int node_compatible(void *state, uint32_t *min, uint32_t *max)
{
	struct neuron_ioctl_compatible_version arg = { 0 };
	int err = free_ioctl(state, NEURON_IOCTL_COMPATIBLE_VERSION, &arg);

	if (!err) {
		*min = arg.min;
		*max = arg.max;
	}
	return err;
}

static int node_features(void *state, uint64_t *flags)
{
	struct neuron_ioctl_device_driver_info arg = { .size = sizeof(arg) };
	int err = free_ioctl(state, NEURON_IOCTL_DRIVER_INFO_GET, &arg);

	/* the driver is older than the flags */
	if (err == -ENOTSUP)
		err = 0;
	*flags = arg.feature_flags1;
	return err;
}

static bool announces_zerocopy(int fd)
{
	struct neuron_ioctl_device_driver_info arg = { .size = sizeof(arg) };

	return node_has(NEURON_IOCTL_DRIVER_INFO_GET) &&
	       !node_ioctl(fd, NEURON_IOCTL_DRIVER_INFO_GET, &arg) &&
	       arg.feature_flags1 & NEURON_FEATURE_ZEROCOPY;
}

static int node_available(void *state, int *indexes, int size)
{
	bool refused = false;
	int n = 0;

	for (int i = 0; i < NDLX_MAX_DEVICES && n < size; i++) {
		int err = node_there(i);

		if (!err)
			indexes[n++] = i;
		refused |= err == -EPERM;
	}
	return !n && refused ? -EPERM : n;
}

static int device_info(int fd, ndlx_device_t *dev)
{
	struct neuron_ioctl_device_info info = { 0 };
	int err = node_ioctl(fd, NEURON_IOCTL_DEVICE_INFO, &info);

	if (err)
		return err;
	if (info.connected_device_count > NEURON_MAX_NEIGHBORS)
		return -EPROTO;
	dev->device_type = (uint8_t)info.architecture;
	dev->device_revision = (uint16_t)info.revision;
	dev->connected_device_count = (uint8_t)info.connected_device_count;
	for (uint32_t i = 0; i < info.connected_device_count; i++)
		dev->connected_devices[i] = (uint8_t)info.connected_devices[i];
	for (int i = 0; i < 2; i++) {
		dev->csr_base[i] = info.bar_address[i];
		dev->csr_size[i] = info.bar_size[i];
	}
	return 0;
}

/* Asks the device itself, which needs an attached descriptor. */
static int bdf_attached(int index, struct ndlx_bdf *bdf)
{
	struct neuron_ioctl_device_bdf arg = { 0 };
	int err, fd = node_open(index, O_RDWR);

	if (fd < 0)
		return fd;
	err = node_ioctl(fd, NEURON_IOCTL_DEVICE_BDF, &arg);
	close(fd);
	if (!err)
		*bdf = (struct ndlx_bdf){ 0, (uint8_t)arg.bus_number, arg.slot, arg.func };
	return err;
}

/* The address of a device whose driver cannot say it: it numbers the functions it is bound to in
 * the order of the bus. */
static int bdf_in_order(int index, struct ndlx_bdf *bdf)
{
	unsigned int domain, bus, slot, func;
	int n = 0, err = -ENODEV;
	glob_t found;

	if (glob("/sys/module/neuron/drivers/pci:*/*:*:*.*", 0, NULL, &found))
		return -ENODEV;
	for (size_t i = 0; i < found.gl_pathc && err; i++) {
		if (sscanf(strrchr(found.gl_pathv[i], '/'), "/%x:%x:%x.%x", &domain, &bus, &slot,
			   &func) != 4 ||
		    n++ != index)
			continue;
		*bdf = (struct ndlx_bdf){ domain, (uint8_t)bus, (uint8_t)slot, (uint8_t)func };
		err = 0;
	}
	globfree(&found);
	return err;
}

static int node_bdf(void *state, int index, struct ndlx_bdf *bdf)
{
	struct neuron_ioctl_device_bdf_ext arg = { 0 };
	struct node_machine *machine = state;
	int err, fd;

	if (!node_exists(index))
		return -ENODEV;

	fd = free_access(machine, index);
	if (fd < 0)
		return fd;

	if (!node_has(NEURON_IOCTL_DEVICE_BDF))
		return bdf_in_order(index, bdf);
	if (!node_has(NEURON_IOCTL_DEVICE_BDF_EXT))
		return bdf_attached(index, bdf);

	arg.nd_index = (uint32_t)(index - machine->free_index);
	err = node_ioctl(fd, NEURON_IOCTL_DEVICE_BDF_EXT, &arg);
	if (err == -EINVAL)
		return -ENODEV;
	if (!err)
		*bdf = (struct ndlx_bdf){ arg.domain, (uint8_t)arg.bus_number, arg.slot, arg.func };
	return err;
}

/*
 * The generation by the PCI function's id. Where neither driver nor system say the id, it is the
 * first generation.
 */
static int node_gen(void *state, int index, const struct neuron_gen **gen)
{
	char path[80], line[16];
	struct ndlx_bdf bdf;

	*gen = &neuron_gen_inferentia;
	if (!node_exists(index))
		return -ENODEV;
	if (free_access(state, index) < 0)
		return 0;
	/* All chips are of one generation: their order will do, which takes no open node. */
	if (node_has(NEURON_IOCTL_DEVICE_BDF_EXT) ? node_bdf(state, index, &bdf)
						  : bdf_in_order(index, &bdf))
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/device", bdf.domain,
		 bdf.bus, bdf.slot, bdf.func);
	if (!node_read_line(path, line, sizeof(line)))
		*gen = neuron_gen_of_pci((uint16_t)strtoul(line, NULL, 16));
	return *gen ? 0 : -ENOTSUP;
}

static int sysfs_flag(int index, const char *file, bool *flag)
{
	char path[96], line[16];
	int err;

	snprintf(path, sizeof(path), SYSFS_DEVICE, index, file);
	err = node_read_line(path, line, sizeof(line));
	if (!err)
		*flag = line[0] == '1';
	return err;
}

/* The sysfs files of this project's module, by port */
static const char *const link_file[] = {
	[NDLX_PORT_EAST] = "info/link_east",
	[NDLX_PORT_WEST] = "info/link_west",
};

static bool links_told(int index, bool up[NEURON_PORTS_MAX])
{
	memset(up, 0, NEURON_PORTS_MAX * sizeof(*up));
	for (size_t port = 0; port < sizeof(link_file) / sizeof(link_file[0]); port++)
		if (sysfs_flag(index, link_file[port], &up[port]))
			return false;
	return true;
}

/*
 * This project's module says which links are up; another driver names the neighbours, and the
 * topology says which ports lead to them.
 */
static int node_device_links(ndlx_device_t *dev, bool up[NEURON_PORTS_MAX])
{
	bool left[NEURON_PORTS_MAX];
	char instance[INSTANCE_MAX];
	int index = dev->device_index;

	if (links_told(index, up))
		return 0;
	read_instance(instance);
	for (int port = 0; port < NEURON_PORTS_MAX; port++) {
		up[port] = false;
		left[port] = true;
	}
	for (int i = 0; i < dev->connected_device_count; i++) {
		int port = link_port(instance, index, dev->connected_devices[i], left);

		if (port < 0)
			continue;
		up[port] = true;
		left[port] = false; /* two links may lead to one neighbour */
	}
	return 0;
}

static int node_links(void *state, int index, bool up[NEURON_PORTS_MAX])
{
	ndlx_device_t dev = { .device_index = (uint8_t)index };
	int err, fd;

	if (links_told(index, up))
		return 0;
	fd = node_open(index, O_RDWR);
	if (fd < 0)
		return fd;
	err = device_info(fd, &dev);
	close(fd);
	return err ? err : node_device_links(&dev, up);
}

/* Looking needs an attached descriptor as well: the public driver answers nothing without one. */
static int node_device_open(void *state, int index, const ndlx_device_init_param_t *params,
			    ndlx_device_t *dev)
{
	struct node_device *node;
	int err = node_gen(state, index, &dev->gen), fd;

	if (err)
		return err;
	fd = node_open(index, O_RDWR);
	if (fd < 0)
		return fd;
	err = device_info(fd, dev);
	node = err ? NULL : calloc(1, sizeof(*node));
	if (!node) {
		close(fd);
		return err ? err : -ENOMEM;
	}
	node->fd = fd;
	node->zerocopy_v2 = announces_zerocopy(fd);
	pthread_mutex_init(&node->lock, NULL);
	dev->priv = node;
	dev->ops = &node_ops;
	return 0;
}

/*
 * Sets or clears marks through the descriptor `fd`, in both forms of the call; the older one has a
 * map of 64 cores.
 */
static int mark_ioctl(int fd, bool set, struct neuron_ioctl_crwl_nc_map_ext *arg)
{
	struct neuron_ioctl_crwl_nc_map old = {
		.nc_count = arg->nc_count,
		.start_nc_index = arg->start_nc_index,
		.end_nc_index = arg->end_nc_index,
		.bitmap = arg->bitmap[0],
	};
	int err;

	if (node_has(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0))
		return node_ioctl(fd,
				  set ? NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0
				      : NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0,
				  arg);
	if (arg->end_nc_index >= 64)
		return -EINVAL;
	err = node_ioctl(fd,
			 set ? NEURON_IOCTL_CRWL_NC_RANGE_MARK : NEURON_IOCTL_CRWL_NC_RANGE_UNMARK,
			 &old);
	arg->max_nc_available = old.max_nc_available;
	arg->bitmap[0] = old.bitmap;
	return err;
}

/*
 * The descriptor for marks of cores from `core` on, or -errno. *base: the first core of its device,
 * from which the module counts.
 */
static int mark_access(struct node_machine *machine, uint32_t core, uint32_t *base)
{
	const struct neuron_gen *gen;
	int fd = free_access(machine, ANY_DEVICE), err;

	if (fd < 0)
		return fd;
	err = node_gen(machine, machine->free_index, &gen);
	if (err)
		return err;

	fd = free_access(machine, (int)(core / gen->cores));
	*base = (uint32_t)machine->free_index * gen->cores;
	return fd;
}

static int node_mark(void *state, uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
		     uint32_t *available)
{
	struct neuron_ioctl_crwl_nc_map_ext arg = { .nc_count = count };
	uint32_t base = 0;
	int fd = mark_access(state, start, &base), err;

	if (fd < 0)
		return fd;
	if (start > end)
		return -EINVAL;
	if (end < base)
		return -ENODEV;

	if (start < base) /* those cores' devices are not there */
		start = base;
	arg.start_nc_index = start - base;
	arg.end_nc_index = end - base;
	err = mark_ioctl(fd, true, &arg);
	*available = arg.max_nc_available;
	for (uint32_t nc = 0; !err && nc <= end - base && nc < MARK_COUNT; nc++) {
		if (arg.bitmap[nc / 64] & (1ull << (nc % 64))) {
			*first = base + nc;
			return 0;
		}
	}
	return err ? err : -EPROTO;
}

static int node_unmark(void *state, uint32_t first, uint32_t count)
{
	struct neuron_ioctl_crwl_nc_map_ext arg = { .nc_count = count };
	uint32_t base = 0, end = first + count;
	int fd;

	if (!count || first >= MARK_COUNT || count > MARK_COUNT - first)
		return -EINVAL;
	fd = mark_access(state, first, &base);
	if (fd < 0)
		return fd;
	if (first < base) /* those cores' devices took their marks along */
		first = base;
	if (first >= end)
		return 0;

	arg.start_nc_index = first - base;
	arg.end_nc_index = end - 1 - base;
	for (uint32_t nc = arg.start_nc_index; nc <= arg.end_nc_index; nc++)
		arg.bitmap[nc / 64] |= 1ull << (nc % 64);
	return mark_ioctl(fd, false, &arg);
}

const struct ndlx_machine_ops ndlx_node_machine = {
	.open = node_machine_open,
	.close = node_machine_close,
	.available = node_available,
	.device_open = node_device_open,
	.bdf = node_bdf,
	.gen = node_gen,
	.links = node_links,
	.device_links = node_device_links,
	.driver_version = node_version,
	.compatible = node_compatible,
	.features = node_features,
	.instance = node_instance,
	.range_mark = node_mark,
	.range_unmark = node_unmark,
	.call = node_machine_call,
};
