// SPDX-License-Identifier: MIT
/*
 * What the module reports: versions, addresses, neighbours, pods; the limits of the two open modes;
 * bad numbers and bad pointers; answers that leave no byte of the kernel behind. The expected
 * values are those of the public driver (docs/driver.md).
 */
#include "chip.h"

#include <sys/mman.h>

#define MIB (1ull << 20)
#define SIDE 4 /* of the torus that sixteen chips are */

/* Answers recorded under the public driver: tests/data/abi/answers*.txt */
static const struct type {
	uint16_t id;
	uint32_t architecture, level_min, level_max;
	uint64_t bar0, bar2;
	bool sides; /* neighbours are an east and a west one, and sysfs has a file for each */
} types[] = {
	{ 0x7064, 1, 2, 7, 16 * MIB, 256 * MIB, true },
	{ 0x7164, 2, 5, 7, 1024 * MIB, 0, false },
	{ 0x7264, 2, 5, 7, 1024 * MIB, 0, false },
	{ 0x7364, 3, 10, 11, 4096 * MIB, 0, false },
};
static const struct type *type;

static bool find_type(void)
{
	const struct neuron_gen *chip = chip_of(0);

	for (unsigned int i = 0; chip && i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].id == chip->pci_id[0])
			type = &types[i];
	return type;
}

static void test_versions(int fd)
{
	struct neuron_ioctl_compatible_version v = { 0 };
	struct neuron_ioctl_device_driver_info d;
	struct neuron_ioctl_device_basic_info b = { 0 };
	const char *version = line_of("/sys/module/neuron/version");

	is(call(fd, NEURON_IOCTL_COMPATIBLE_VERSION, &v), 0, "compatible version");
	is(v.min, type->level_min, "lowest runtime level");
	is(v.max, type->level_max, "highest runtime level");
	memset(&d, 0xff, sizeof(d));
	is(call(fd, NEURON_IOCTL_DRIVER_INFO_GET, &d), 0, "driver info");
	is(d.architecture, type->architecture, "architecture");
	is(d.revision, 1, "revision");
	is(d.version, 0, "version");
	is(d.size, 24, "size");
	is((long long)d.feature_flags1, 0x1ff, "features of level 2.26");
	memset(&d, 0xff, sizeof(d));
	is(call(fd, _IOC(_IOC_READ, 'N', 110, 64), &d), 0, "driver info with a larger size");
	is(d.size, 24, "says how much it filled");
	is(call(fd, NEURON_IOCTL_DEVICE_BASIC_INFO, &b), 0, "basic info");
	is(b.architecture, type->architecture, "basic architecture");
	ok(version && !strcmp(version, "2.24.7.0"), "module version %s", version);
}

static void test_places(int fd, int index)
{
	unsigned int bus = 99, slot = 99;
	struct neuron_ioctl_device_bdf_ext ext = { 0 };
	struct neuron_ioctl_device_bdf bdf;
	struct neuron_ioctl_host_device_id id = { 99 };

	ok(sscanf(chip_address(index), "%*x:%x:%x", &bus, &slot) == 2, "nd%d: sysfs has it", index);
	memset(&bdf, 0xff, sizeof(bdf));
	is(call(fd, NEURON_IOCTL_DEVICE_BDF, &bdf), 0, "nd%d: bdf", index);
	is(bdf.bus_number, bus, "nd%d: bus", index);
	is(bdf.slot, slot, "nd%d: slot", index);
	is(bdf.func, 0, "nd%d: function", index);
	ok(all_bytes((uint8_t *)&bdf + 6, 2, 0), "nd%d: padding is zero", index);
	is(call(fd, NEURON_IOCTL_DEVICE_BDF_EXT, &ext), 0, "nd%d: bdf_ext", index);
	is(ext.slot, slot, "nd%d: its index counts from the opened node", index);
	ext.nd_index = 60;
	is(call(fd, NEURON_IOCTL_DEVICE_BDF_EXT, &ext), -EINVAL, "nd%d: unknown index", index);
	is(call(fd, NEURON_IOCTL_HOST_DEVICE_ID, &id), 0, "nd%d: host device id", index);
	is(id.host_device_id, index, "nd%d: is its index", index);
}

/* Machines of chips after Inferentia: a torus of sixteen, less than that in a line */
static bool are_neighbors(int a, int b, int devices)
{
	int rows = abs(a / SIDE - b / SIDE), columns = abs(a % SIDE - b % SIDE);

	if (devices < SIDE * SIDE)
		return abs(a - b) == 1;
	return (!rows && (columns == 1 || columns == SIDE - 1)) ||
	       (!columns && (rows == 1 || rows == SIDE - 1));
}

static void test_network(int fd, int index, int devices)
{
	struct neuron_ioctl_device_info info = { 0 };
	uint32_t found = 0, wanted = 0;

	is(call(fd, NEURON_IOCTL_DEVICE_INFO, &info), 0, "nd%d: device info", index);
	for (unsigned int i = 0; i < 8 && i < info.connected_device_count; i++)
		found |= 1u << info.connected_devices[i];
	for (int other = 0; other < devices; other++)
		if (are_neighbors(index, other, devices))
			wanted |= 1u << other;
	is(found, wanted, "nd%d: its neighbours", index);
	is(info.connected_device_count, __builtin_popcount(wanted), "nd%d: each once", index);
}

static void test_bars(int fd, int index)
{
	struct neuron_ioctl_device_info info = { 0 };

	is(call(fd, NEURON_IOCTL_DEVICE_INFO, &info), 0, "nd%d: device info", index);
	ok(info.bar_address[0] < 1ull << 47 && info.bar_address[1] < 1ull << 47,
	   "nd%d: cookies are no kernel addresses", index);
	is((long long)info.bar_size[0], (long long)type->bar0, "nd%d: BAR0 size", index);
	is((long long)info.bar_size[1], (long long)type->bar2, "nd%d: BAR2 size", index);
}

static void test_neighbors(int fd, int index, int devices)
{
	struct neuron_ioctl_device_info info;
	unsigned int wanted = (index + 1 < devices) + (index > 0), i;
	const char *east;

	memset(&info, 0xff, sizeof(info));
	is(call(fd, NEURON_IOCTL_DEVICE_INFO, &info), 0, "nd%d: device info", index);
	is(info.connected_device_count, wanted, "nd%d: neighbours", index);
	if (index + 1 < devices)
		is(info.connected_devices[0], index + 1, "nd%d: east first", index);
	if (index)
		is(info.connected_devices[wanted - 1], index - 1, "nd%d: west last", index);
	for (i = wanted; i < 8; i++)
		if (info.connected_devices[i])
			break;
	is(i, 8, "nd%d: the rest is zero", index);
	east = line_of("/sys/class/neuron_device/neuron%d/info/link_east", index);
	ok(east && !strcmp(east, index + 1 < devices ? "1" : "0"), "nd%d: link_east %s", index,
	   east);
}

static void test_pods(int fd)
{
	struct neuron_ioctl_pod_status_v2 st = { .v1.sz = sizeof(st) };
	struct neuron_ioctl_pod_ctrl ctrl = { .sz = sizeof(ctrl) };
	struct neuron_ioctl_pod_info info = { .sz = 3 };

	is(call(fd, NEURON_IOCTL_POD_STATUS_V2, &st), 0, "pod status");
	is(st.v1.state, 4, "single node");
	is(st.v1.node_id, -1, "no node id");
	is(call(fd, NEURON_IOCTL_POD_CTRL, &ctrl), 0, "pod control");
	is(ctrl.state, 4, "single node again");
	is(call(fd, NEURON_IOCTL_POD_INFO, &info), -EINVAL, "pod info of a wrong size");
}

static void test_gates(void)
{
	struct neuron_ioctl_device_info info;
	struct neuron_ioctl_device_bdf_ext ext = { 0 };
	uint64_t handle;
	int fd = node(0, O_WRONLY), attached = node(0, O_RDWR);

	is(call(fd, NEURON_IOCTL_DEVICE_BDF_EXT, &ext), 0, "write-only: bdf_ext");
	is(call(fd, NEURON_IOCTL_DEVICE_INFO, &info), -EINVAL, "write-only: device info");
	is(chunk(fd, true, 4096, 0, &handle), -EINVAL, "write-only: allocation");
	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "write-only: no mmap");
	is(call(attached, 0x4eff, NULL), -EINVAL, "unknown number");
	is(call(attached, _IOC(_IOC_READ, 'N', 21, 16), NULL), -EINVAL, "known nr, wrong size");
	is(call(attached, NEURON_IOCTL_DRIVER_INFO_SET, &info), -524, "driver info set");
	close(fd);
	close(attached);
}

/* The argument ends where the page ends, and everything the driver does not fill comes back zero */
static void test_page_end(int fd)
{
	uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const struct {
		const char *name;
		unsigned long cmd;
		unsigned int size;
	} row[] = {
		{ "device_info", NEURON_IOCTL_DEVICE_INFO, 80 },
		{ "device_bdf", NEURON_IOCTL_DEVICE_BDF, 8 },
		{ "compatible_version", NEURON_IOCTL_COMPATIBLE_VERSION, 8 },
		{ "driver_info", NEURON_IOCTL_DRIVER_INFO_GET, 24 },
		{ "rid map", NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, 260 },
		{ "host_device_id", NEURON_IOCTL_HOST_DEVICE_ID, 4 },
	};
	unsigned int i;

	munmap(two + 4096, 4096);
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memset(two, 0xff, 4096);
		is(call(fd, row[i].cmd, two + 4096 - row[i].size), 0, "%s at a page's end",
		   row[i].name);
		ok(all_bytes(two, 4096 - row[i].size, 0xff), "%s stays inside", row[i].name);
		is(call(fd, row[i].cmd, two + 4096 - row[i].size + 1), -EFAULT, "%s across the end",
		   row[i].name);
		is(call(fd, row[i].cmd, NULL), -EFAULT, "%s at NULL", row[i].name);
	}
	memset(two, 0xff, 4096);
	call(fd, NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, two + 4096 - 260);
	ok(all_bytes(two + 4096 - 260 + 4 + 16 * 4, 260 - 4 - 16 * 4, 0), "rid map: "
									  "the rest is zero");
	munmap(two, 4096);
}

static void test_apps(int fd)
{
	struct {
		struct neuron_ioctl_get_apps_info head;
		struct neuron_app_info app[16];
	} a;
	uint64_t handle;

	memset(&a, 0xff, sizeof(a));
	a.head.capacity = 16;
	a.head.apps_info_flags = NEURON_APP_INFO_ALL;
	is(chunk(fd, false, 1 << 20, 0, &handle), 0, "a chunk to be counted");
	is(call(fd, NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, &a), 0, "apps info");
	is(a.head.size, 1, "one process");
	is(a.app[0].pid, getpid(), "this one");
	is((long long)a.app[0].device_mem_size, 1 << 20, "with its memory");
	is(a.app[0].nc_lock_map, 0, "and no lock");
	ok(all_bytes((uint8_t *)a.app[0].uuid_data, 128, 0), "uuids are zero");
	chunk_free(fd, handle);
}

static void test_printk(int fd)
{
	struct neuron_ioctl_printk p = { (void *)"hello from a test", 0, 0 };
	static char big[600];

	is(call(fd, NEURON_IOCTL_PRINTK, &p), -EINVAL, "printk of nothing");
	p.size = 600;
	p.buffer = big;
	is(call(fd, NEURON_IOCTL_PRINTK, &p), -EFAULT, "printk of too much");
	p.size = 5;
	p.buffer = (void *)"hello";
	is(call(fd, NEURON_IOCTL_PRINTK, &p), -EBADMSG, "printk without an end");
	p.size = 6;
	is(call(fd, NEURON_IOCTL_PRINTK, &p), 0, "printk");
}

int main(void)
{
	int fd, i, devices;

	for (devices = 0; (fd = node(devices, O_WRONLY)) >= 0; devices++)
		close(fd);
	if (!ok(find_type(), "a type that is known"))
		return tap_done();
	is(devices, type->sides ? 4 : type->id == 0x7264 ? 6 : 16, "all devices of the instance");
	for (i = 0; i < devices; i++) {
		fd = node(i, O_RDWR);
		if (!ok(fd >= 0, "open nd%d", i))
			return tap_done();
		test_places(fd, i);
		test_bars(fd, i);
		if (type->sides)
			test_neighbors(fd, i, devices);
		else
			test_network(fd, i, devices);
		close(fd);
	}
	fd = node(0, O_RDWR);
	test_versions(fd);
	test_pods(fd);
	test_page_end(fd);
	test_apps(fd);
	test_printk(fd);
	close(fd);
	test_gates();
	return tap_done();
}
