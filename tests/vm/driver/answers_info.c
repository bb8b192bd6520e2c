// SPDX-License-Identifier: MIT
/* Answers about versions, places, neighbours, pods, processes, registers. */
#include "answers.h"

static void versions(int fd)
{
	struct neuron_ioctl_compatible_version v = { 0 };
	struct neuron_ioctl_device_basic_info b = { 0 };
	struct neuron_ioctl_device_driver_info d = { 0 };

	ASK(fd, COMPATIBLE_VERSION, "", &v);
	field("min", v.min), field("max", v.max), end();
	ASK(fd, DEVICE_BASIC_INFO, "", &b);
	field("architecture", b.architecture), field("revision", b.revision), end();
	ASK(fd, DRIVER_INFO_GET, "", &d);
	field("architecture", d.architecture), field("revision", d.revision);
	field("version", d.version), field("size", d.size);
	field("features", (long long)d.feature_flags1), end();
}

static void places(int fd)
{
	struct neuron_ioctl_device_bdf bdf = { 0 };
	struct neuron_ioctl_device_bdf_ext ext = { 0 };
	struct neuron_ioctl_host_device_id id = { 99 };
	struct neuron_ioctl_host_device_id_to_rid_map map = { 0 };
	struct neuron_ioctl_device_info info = { 0 };
	unsigned int i;
	char what[16];

	ASK(fd, DEVICE_BDF, "", &bdf);
	field("bus", bdf.bus_number), field("slot", bdf.slot), field("func", bdf.func), end();
	for (i = 0; i < 4; i++) {
		ext.nd_index = i;
		snprintf(what, sizeof(what), "device %u", i);
		ASK(fd, DEVICE_BDF_EXT, what, &ext);
		field("domain", ext.domain), field("bus", ext.bus_number);
		field("slot", ext.slot), field("func", ext.func), end();
	}
	ASK(fd, HOST_DEVICE_ID, "", &id);
	field("id", id.host_device_id), end();
	ASK(fd, HOST_DEVICE_ID_TO_RID_MAP, "", &map);
	field("count", map.count), end();
	ASK(fd, DEVICE_INFO, "", &info);
	field("architecture", info.architecture), field("revision", info.revision);
	field("neighbours", info.connected_device_count);
	for (i = 0; i < info.connected_device_count && i < 8; i++)
		field("nd", info.connected_devices[i]);
	field("bar0", (long long)info.bar_size[0]), field("bar2", (long long)info.bar_size[1]);
	end();
}

static void resources(int fd)
{
	struct neuron_ioctl_resource_mmap_info r = { NEURON_MMAP_BLOCK_TPB, 0,
						     NEURON_MMAP_RESOURCE_SEMAPHORE, 1, 1 };

	ASK(fd, RESOURCE_MMAP_INFO, "semaphores", &r);
	field("offset", (long long)r.offset), field("size", (long long)r.size);
	end();
}

/* Every view of every block: where it is and how large; the first number past the last is refused */
static void views(int fd)
{
	struct neuron_ioctl_resource_mmap_info r;
	char what[48];

	for (uint32_t i = 0; chip->views && i < 12; i++) {
		for (uint32_t id = 0; id < 17; id++) {
			r = (struct neuron_ioctl_resource_mmap_info){ i / 4, id, i % 4, 1, 1 };
			if (call(fd, NEURON_IOCTL_RESOURCE_MMAP_INFO, &r))
				continue;
			snprintf(what, sizeof(what), "block %u of %u resource %u", id, i / 4,
				 i % 4);
			printf("RESOURCE_MMAP_INFO %s = 0", what);
			field("offset", (long long)r.offset), field("size", (long long)r.size),
				end();
		}
	}
}

/* The order of all chips' cores for programs: three digits for each chip */
static void core_order(int fd)
{
	struct {
		struct neuron_ioctl_nc_map head;
		struct neuron_ioctl_nc_map_entry entry[128];
	} map = { 0 };
	struct neuron_ioctl_get_logical_to_physical_nc_map a = { &map.head, 128, 0 };

	if (!chip->core_order)
		return;
	ASK(fd, GET_LOGICAL_TO_PHYSICAL_NC_MAP, "all", &a);
	field("entries", map.head.num_entries);
	for (unsigned int i = 0; i < 128; i++)
		printf(" %u.%u", map.entry[i].device_id, map.entry[i].device_nc_idx);
	end();
	a.max_map_entries = 3;
	ASK(fd, GET_LOGICAL_TO_PHYSICAL_NC_MAP, "three", &a);
	field("entries", map.head.num_entries), end();
}

static void pods(int fd)
{
	struct neuron_ioctl_pod_info info = { .sz = sizeof(info) };
	struct neuron_ioctl_pod_status st = { .sz = sizeof(st) };
	struct neuron_ioctl_pod_status_v2 st2 = { .v1.sz = sizeof(st2) };
	struct neuron_ioctl_pod_ctrl ctrl = { .sz = sizeof(ctrl) };
	struct neuron_ioctl_pod_ctrl_v2 ctrl2 = { .v1.sz = sizeof(ctrl2) };

	ASK(fd, POD_INFO, "", &info);
	field("type", info.pod_type), field("size", info.pod_sz), end();
	ASK(fd, POD_STATUS, "", &st);
	field("state", st.state), field("node", st.node_id), end();
	ASK(fd, POD_STATUS_V2, "", &st2);
	field("state", st2.v1.state), field("node", st2.v1.node_id);
	field("mode", st2.mode), field("modes", st2.modes_supported), end();
	ASK(fd, POD_CTRL, "", &ctrl);
	field("state", ctrl.state), end();
	ASK(fd, POD_CTRL_V2, "", &ctrl2);
	field("state", ctrl2.v1.state), end();
}

static void processes(int fd)
{
	struct {
		struct neuron_ioctl_get_apps_info head;
		struct neuron_app_info app[16];
	} a = { .head = { NEURON_APP_INFO_ALL, 16, 0 } };
	struct neuron_ioctl_nc_pid_state_dump dump = { sizeof(dump), 0, 0, 10 };
	struct neuron_ioctl_printk p = { (void *)"a word", 7, 0 };
	int32_t pid = 0;

	ASK(fd, DEVICE_APP_PID, "", &pid);
	field("own", pid == getpid()), end();
	ASK(fd, DEVICE_GET_ALL_APPS_INFO, "", &a);
	field("size", a.head.size), field("own", a.app[0].pid == getpid());
	field("locks", a.app[0].nc_lock_map), field("host", (long long)a.app[0].host_mem_size);
	field("device", (long long)a.app[0].device_mem_size), end();
	a.head.capacity = 0;
	ASK(fd, DEVICE_GET_ALL_APPS_INFO, "no room", &a);
	field("size", a.head.size), end();
	SAY(fd, NC_PID_STATE_DUMP, "", &dump);
	SAY(fd, PRINTK, "", &p);
}

static void registers(int fd)
{
	struct neuron_ioctl_device_info info = { 0 };
	__u64 addr[2], device[2], sem;
	uint32_t w[2] = { 0, 0 }, out[1] = { 0 };
	struct neuron_ioctl_bar_rw rw = { 0, addr, w, 2 };
	struct neuron_ioctl_read_hw_counters hw = { device, w, 2 };
	struct neuron_ioctl_post_metric metric = { w, 8 };

	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	addr[0] = info.bar_address[0] + neuron_gen_offset(chip, NEURON_BLOCK_MISC, 0);
	addr[1] = addr[0] + chip->ready_word;
	ASK(fd, BAR_READ, "firmware version and status", &rw);
	field("version", w[0]);
	field("ready", (w[1] & chip->ready_mask) == chip->ready_value), end();
	/* core 0's semaphore 5 by the BAR of the cores: what is set is read */
	sem = info.bar_address[chip->bar_cores == 2] +
	      neuron_gen_offset(chip, NEURON_BLOCK_CORE, 0) + chip->core.semaphores + 4 * 5;
	addr[0] = sem + NEURON_SEM_SET * chip->core.sem_stride;
	rw = (struct neuron_ioctl_bar_rw){ chip->bar_cores, addr, out, 1 };
	out[0] = 9;
	SAY(fd, BAR_WRITE, "set semaphore 5", &rw);
	addr[0] = sem;
	out[0] = 0;
	ASK(fd, BAR_READ, "semaphore 5", &rw);
	field("value", out[0]), end();
	device[0] = neuron_gen_address(chip, NEURON_BLOCK_MISC, 0);
	device[1] = device[0] + 0x40;
	ASK(fd, READ_HW_COUNTERS, "firmware version and ECC", &hw);
	field("version", w[0]), field("ecc", w[1]), end();
	SAY(fd, POST_METRIC, "", &metric);
}

void answers_info(int fd)
{
	uint8_t byte = 99;

	versions(fd);
	places(fd);
	resources(fd);
	views(fd);
	core_order(fd);
	pods(fd);
	processes(fd);
	registers(fd);
	SAY(fd, DEVICE_INIT, "", &byte);
	SAY(fd, DEVICE_RELEASE, "", &byte);
	ASK(fd, DEVICE_READY, "nothing asked for", &byte);
	field("ready", byte), end();
	ASK(fd, DEVICE_RESET_STATUS, "", &byte);
	field("status", byte), end();
}
