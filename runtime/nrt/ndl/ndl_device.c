/* SPDX-License-Identifier: MIT */
/*
 * The public driver library: devices, and what the driver knows of them and of the machine. A
 * device that is not open here is refused, whatever the pointer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ndl.h"

_Static_assert(offsetof(ndlx_device_t, hbm_offset) == offsetof(ndl_device_t, hbm_offset) &&
		       offsetof(ndlx_device_t, gen) == sizeof(ndl_device_t),
	       "a device begins with the public layout");
_Static_assert(sizeof(ndlx_device_init_param_t) == sizeof(ndl_device_init_param_t), "the "
										    "parameters "
										    "are the same");

int rt_ndl_any(ndlx_device_t **device)
{
	static const ndlx_device_init_param_t look = { 0 };
	int index, n = ndlx_available_devices(&index, 1);

	if (n < 1)
		return n ? n : -ENODEV;
	return ndlx_open_device(index, &look, device);
}

/* Versions and features */

int ndl_get_version(ndl_version_info_t *version)
{
	unsigned int major = 2, minor = 24; /* in process: the level of the ABI */
	char text[64];

	if (!version)
		return -EINVAL;
	*version = (ndl_version_info_t){
		.library_major_version = NEURON_DRIVER_LIBRARY_MAJOR,
		.library_minor_version = NEURON_DRIVER_LIB_MINOR,
	};
	if (ndlx_get_version(text, sizeof(text)))
		return -1;
	sscanf(text, "%5u.%5u", &major, &minor);
	version->driver_major_version = (uint16_t)major;
	version->driver_minor_version = (uint16_t)minor;
	snprintf(version->driver_full_version, sizeof(version->driver_full_version), "%.31s", text);
	return 0;
}

int ndl_get_compatible_version(uint32_t *min_version, uint32_t *max_version)
{
	return min_version && max_version ? ndlx_get_compatible_version(min_version, max_version)
					  : -EINVAL;
}

bool ndl_feature_supported(int nd_fd, uint64_t feature)
{
	bool supported;

	return !ndlx_feature_supported(feature, &supported) && supported;
}

/* Every driver that libndl talks to is one that it fits. */
int ndl_register_soft_incompat_callback(void (*callback)(const char *))
{
	return callback ? 0 : -EINVAL;
}

/* Devices */

int ndl_available_devices(int *device_indexes, int device_indexes_size)
{
	if (!device_indexes || device_indexes_size < 0)
		return -EINVAL;
	return ndlx_available_devices(device_indexes, device_indexes_size);
}

int ndl_open_device(int device_index, ndl_device_init_param_t *params, ndl_device_t **device)
{
	ndlx_device_t *dev;
	int ret;

	if (!device)
		return -EINVAL;
	*device = NULL;
	if (params && params->num_dram_regions < 0)
		return -EINVAL;
	ret = ndlx_open_device(device_index, (const void *)params, &dev);
	if (ret)
		return ret;
	if (!rt_ndl_device_add(dev)) {
		ndlx_close_device(dev);
		return -ENOMEM;
	}
	*device = (void *)dev;
	return 0;
}

int ndl_close_device(ndl_device_t *device)
{
	ndlx_device_t *dev = rt_ndl_device_take(device);

	if (!dev)
		return -EINVAL;
	rt_ndl_nq_drop(dev);
	rt_ndl_memory_drop(dev);
	return ndlx_close_device(dev);
}

/* libndl keeps no descriptor that an open device does not need. */
void ndl_device_cached_fd_close_all(void)
{
}

int ndl_get_board_info(uint32_t *architecture, uint32_t *revision)
{
	ndlx_device_t *dev;
	int ret;

	if (!architecture || !revision)
		return -EINVAL;
	ret = rt_ndl_any(&dev);
	if (ret)
		return ret;
	*architecture = dev->device_type;
	*revision = dev->device_revision;
	return ndlx_close_device(dev);
}

int ndl_get_device_bdf_ext(int device_index, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
			   uint8_t *dev_func)
{
	struct ndlx_bdf bdf;
	int ret;

	if (!domain || !bus_num || !pci_slot || !dev_func)
		return -EINVAL;
	ret = ndlx_get_device_bdf(device_index, &bdf);
	if (ret)
		return ret;
	*domain = bdf.domain;
	*bus_num = bdf.bus;
	*pci_slot = bdf.slot;
	*dev_func = bdf.func;
	return 0;
}

int ndl_get_device_bdf(int device_index, uint32_t *bus_num, uint8_t *pci_slot, uint8_t *dev_func)
{
	uint32_t domain;

	return ndl_get_device_bdf_ext(device_index, &domain, bus_num, pci_slot, dev_func);
}

int ndl_get_host_device_id(ndl_device_t *device, uint32_t *host_device_id)
{
	struct neuron_ioctl_host_device_id arg = { 0 };
	ndlx_device_t *dev = rt_ndl_device(device);
	int ret;

	if (!dev || !host_device_id)
		return -EINVAL;
	ret = ndlx_ioctl(dev, NEURON_IOCTL_HOST_DEVICE_ID, &arg);
	if (ret && ret != -ENOTSUP)
		return ret;
	*host_device_id = ret ? dev->device_index : arg.host_device_id;
	return 0;
}

/* The map as the module makes it, of chips in process */
static int rid_map(struct neuron_ioctl_host_device_id_to_rid_map *map)
{
	int index[NDLX_MAX_DEVICES], n = ndlx_available_devices(index, NDLX_MAX_DEVICES), ret = n;
	const struct neuron_gen *gen;

	*map = (struct neuron_ioctl_host_device_id_to_rid_map){ 0 };
	for (int i = 0; i < n; i++) {
		ret = ndlx_get_gen(index[i], &gen);
		if (ret)
			break;
		map->host_did_to_rid_map[index[i]] = neuron_gen_route(gen, (unsigned int)index[i]);
		map->count = (uint32_t)index[i] + 1;
	}
	return ret < 0 ? ret : 0;
}

int ndl_get_host_device_id_to_rid_map(uint32_t *count, uint32_t *host_did_to_rid_map)
{
	struct neuron_ioctl_host_device_id_to_rid_map map = { 0 };
	int ret;

	if (!count || !host_did_to_rid_map)
		return -EINVAL;
	ret = ndlx_ioctl(NULL, NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &map);
	if (ret == -ENOTSUP)
		ret = rid_map(&map);
	if (ret)
		return ret;
	if (map.count > NDLX_MAX_DEVICES)
		return -EPROTO;
	if (*count > map.count)
		*count = map.count;
	memcpy(host_did_to_rid_map, map.host_did_to_rid_map, *count * sizeof(uint32_t));
	return 0;
}

static int nc_map(struct neuron_ioctl_nc_map *map, uint32_t capacity)
{
	const struct neuron_gen *gen;
	int ret = ndlx_get_gen(0, &gen);
	uint32_t n;

	if (ret)
		return ret;
	if (!gen->core_order)
		return -ENOTSUP;
	n = NEURON_ROUTES * gen->cores;
	map->num_entries = capacity < n ? capacity : n;
	for (uint32_t i = 0; i < map->num_entries; i++)
		map->mappings[i] = (struct neuron_ioctl_nc_map_entry){
			i / gen->cores,
			neuron_gen_ordered_core(gen, i / gen->cores, i % gen->cores),
		};
	return 0;
}

int ndl_get_logical_to_physical_nc_map(struct neuron_ioctl_nc_map *map, uint32_t max_num_entries,
				       enum neuron_ioctl_nc_mapping_type mapping_version)
{
	struct neuron_ioctl_get_logical_to_physical_nc_map arg = {
		.map = map,
		.max_map_entries = max_num_entries,
		.mapping_version = mapping_version,
	};
	int ret;

	if (!map || max_num_entries > NEURON_NC_MAP_MAX_ENTRIES ||
	    mapping_version != NEURON_IOCTL_NC_MAPPING_TYPE_V0)
		return -EINVAL;
	ret = ndlx_ioctl(NULL, NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &arg);
	return ret == -ENOTSUP && ndlx_machine_is_emu() ? nc_map(map, max_num_entries) : ret;
}

int ndl_get_all_apps_info(ndl_device_t *device, struct neuron_app_info **info, size_t *count,
			  uint16_t apps_info_flags)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return dev && info && count ? ndlx_get_all_apps_info(dev, info, count, apps_info_flags)
				    : -EINVAL;
}

int ndl_dump_nc_pid_info(uint32_t nc_id, bool filter_log_owner, uint32_t log_dump_limit)
{
	struct neuron_ioctl_nc_pid_state_dump arg = {
		.size = sizeof(arg),
		.nc_id = nc_id,
		.filter_log_owner = filter_log_owner,
		.log_dump_limit = log_dump_limit,
	};
	int ret = ndlx_ioctl(NULL, NEURON_IOCTL_NC_PID_STATE_DUMP, &arg);

	return ret == -ENOTSUP ? rt_ndl_absent("chips in this process have no kernel log") : ret;
}

int ndl_set_performance_profile(ndl_device_t *device, uint32_t profile)
{
	if (!rt_ndl_device(device))
		return -EINVAL;
	return rt_ndl_absent("chips have one performance profile");
}

int ndl_enable_throttling_notifications(ndl_device_t *device, bool enable)
{
	if (!rt_ndl_device(device))
		return -EINVAL;
	return rt_ndl_absent("chips do not throttle");
}

int ndl_metrics_ctrl(ndl_device_t *device, enum neuron_metrics_mode mode)
{
	if (!rt_ndl_device(device))
		return -EINVAL;
	return rt_ndl_absent("the driver posts no metrics");
}

int ndl_printk(char *str, uint32_t size, uint32_t action)
{
	struct neuron_ioctl_printk arg = { .buffer = str, .size = size, .action = action };
	int ret;

	if (!str || !size || size > NEURON_PRINTK_MAX || str[size - 1]) {
		errno = str && size && size <= NEURON_PRINTK_MAX ? EBADMSG : EFAULT;
		return -1;
	}
	ret = ndlx_ioctl(NULL, NEURON_IOCTL_PRINTK, &arg);
	if (!ret || ret == -ENOTSUP) /* chips in this process have no kernel log */
		return 0;
	errno = -ret;
	return -1;
}

/* Pods */

int ndl_pod_status(uint8_t *pod_id, uint32_t *state, uint32_t *pod_type, uint32_t *pod_sz,
		   int *node_id, enum neuron_ultraserver_mode *mode, uint32_t *modes_supported)
{
	struct neuron_ioctl_pod_status_v2 arg = { .v1.sz = sizeof(arg) };
	int ret;

	if (!pod_id || !state || !pod_type || !pod_sz || !node_id || !mode || !modes_supported)
		return -EINVAL;
	ret = ndlx_ioctl(NULL, NEURON_IOCTL_POD_STATUS_V2, &arg);
	if (ret == -ENOTSUP)
		arg = (struct neuron_ioctl_pod_status_v2){
			.v1 = { .state = NEURON_POD_STATE_SINGLE_NODE, .node_id = -1 }
		};
	else if (ret)
		return ret;
	memcpy(pod_id, arg.v1.pod_id, sizeof(arg.v1.pod_id));
	*state = arg.v1.state;
	*pod_type = arg.v1.pod_type;
	*pod_sz = arg.v1.pod_sz;
	*node_id = arg.v1.node_id;
	*mode = (enum neuron_ultraserver_mode)arg.mode;
	*modes_supported = arg.modes_supported;
	return 0;
}

struct pod {
	uint8_t id[256];
	uint32_t state, type, size, modes;
	int node;
	enum neuron_ultraserver_mode mode;
};

static int pod_get(struct pod *pod)
{
	return ndl_pod_status(pod->id, &pod->state, &pod->type, &pod->size, &pod->node, &pod->mode,
			      &pod->modes);
}

int ndl_pod_info(uint32_t *pod_type, uint32_t *pod_sz)
{
	struct pod pod;
	int ret = pod_type && pod_sz ? pod_get(&pod) : -EINVAL;

	if (ret)
		return ret;
	*pod_type = pod.type;
	*pod_sz = pod.size;
	return 0;
}

int ndl_pod_election_state(uint32_t *state)
{
	struct pod pod;
	int ret = state ? pod_get(&pod) : -EINVAL;

	if (!ret)
		*state = pod.state;
	return ret;
}

int ndl_pod_mapping_info(int *node_id)
{
	struct pod pod;
	int ret = node_id ? pod_get(&pod) : -EINVAL;

	if (!ret)
		*node_id = pod.node;
	return ret;
}

/* A machine that is in no pod stays a single node, whatever is asked. */
int ndl_pod_ctrl(uint32_t ctrl, enum neuron_ultraserver_mode mode, uint32_t timeout,
		 uint32_t *state)
{
	struct neuron_ioctl_pod_ctrl_v2 arg = {
		.v1 = { .sz = sizeof(arg), .ctrl = ctrl, .timeout = timeout },
		.mode = mode,
	};
	int ret;

	if (!state || ctrl > NEURON_NPE_POD_CTRL_SET_MODE)
		return -EINVAL;
	ret = ndlx_ioctl(NULL, NEURON_IOCTL_POD_CTRL_V2, &arg);
	if (ret && ret != -ENOTSUP)
		return ret;
	*state = ret ? NEURON_POD_STATE_SINGLE_NODE : arg.v1.state;
	return 0;
}

/* Registers */

/* Public addresses count from where the BAR begins; libndl's are offsets in it */
static int bar_offsets(const ndlx_device_t *dev, uint8_t bar, const uint64_t *addresses,
		       uint32_t count, uint64_t **offsets)
{
	const uint64_t base = dev->csr_base[bar != dev->gen->bar_regs];

	*offsets = reallocarray(NULL, count, sizeof(**offsets));
	if (!*offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (addresses[i] < base) {
			free(*offsets);
			return -EINVAL;
		}
		(*offsets)[i] = addresses[i] - base;
	}
	return 0;
}

int ndl_bar_read(ndl_device_t *device, uint8_t bar, uint64_t *addresses, uint32_t count,
		 uint32_t *buffer)
{
	ndlx_device_t *dev = rt_ndl_device(device);
	uint64_t *offsets;
	int ret;

	if (!dev || !addresses || !buffer || !count)
		return -EINVAL;
	ret = bar_offsets(dev, bar, addresses, count, &offsets);
	if (ret)
		return ret;
	ret = ndlx_bar_read(dev, bar, offsets, buffer, count);
	free(offsets);
	return ret;
}

int ndl_bar_write(ndl_device_t *device, uint8_t bar, uint64_t *addresses, uint32_t count,
		  uint32_t *data)
{
	ndlx_device_t *dev = rt_ndl_device(device);
	uint64_t *offsets;
	int ret;

	if (!dev || !addresses || !data || !count)
		return -EINVAL;
	ret = bar_offsets(dev, bar, addresses, count, &offsets);
	if (ret)
		return ret;
	ret = ndlx_bar_write(dev, bar, offsets, data, count);
	free(offsets);
	return ret;
}

int ndl_read_hw_counters(ndl_device_t *device, uint64_t *addresses, uint32_t count, uint32_t *data)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	return dev && addresses && data ? ndlx_read_hw_counters(dev, addresses, data, count)
					: -EINVAL;
}

/* The runtime's form of the same map */
EXPORT NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map)
{
	RT_ENTER(status);
	int err;

	if (status)
		return status;
	err = ndl_get_host_device_id_to_rid_map(count, host_did_to_rid_map);
	return err ? rt_fail(NRT_INVALID, "TDRV", "no map of routing ids: %s", strerror(-err))
		   : NRT_SUCCESS;
}
