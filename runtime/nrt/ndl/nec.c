/* SPDX-License-Identifier: MIT */
/*
 * What collective libraries ask of devices and their places. A device has one number here, in the
 * process and in the machine; its routing id is what the driver numbers it by.
 */
#include <errno.h>
#include <string.h>

#include "rt_ndl.h"

/* The devices that take part, once nec_build_port_and_rid_map said so */
static struct {
	pthread_mutex_t lock;
	bool told;
	bool part[NDLX_MAX_DEVICES];
} map = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool exists(int index)
{
	int indexes[NDLX_MAX_DEVICES], n = ndlx_available_devices(indexes, NDLX_MAX_DEVICES);

	while (n-- > 0)
		if (indexes[n] == index)
			return true;
	return false;
}

int nec_get_device_count(int *available_devices_array, uint32_t array_size)
{
	int indexes[NDLX_MAX_DEVICES], n = ndlx_available_devices(indexes, NDLX_MAX_DEVICES);

	for (int i = 0; available_devices_array && i < n && (uint32_t)i < array_size; i++)
		available_devices_array[i] = indexes[i];
	return n < 0 ? 0 : n;
}

int nec_get_device_pci_bdf(int neuron_dev, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
			   uint8_t *dev_func)
{
	return ndl_get_device_bdf_ext(neuron_dev, domain, bus_num, pci_slot, dev_func);
}

NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	if (!virtual_core_size)
		return rt_fail(NRT_INVALID, "NRT", "no place for the size");
	status = rt_machine(&machine);
	if (!status)
		*virtual_core_size = machine.lnc;
	return status;
}

NRT_STATUS nec_get_version_info(nec_version_info_t *version_info)
{
	rt_details_clear();
	if (!version_info)
		return rt_fail(NRT_INVALID, "NRT", "no place for the version");
	*version_info = (nec_version_info_t){
		.major = NRT_MAJOR_VERSION,
		.minor = NRT_MINOR_VERSION,
	};
	return NRT_SUCCESS;
}

NRT_STATUS nec_build_port_and_rid_map(int local_nec_dev_id, int *mla_indexes, int *host_device_ids,
				      int count)
{
	bool part[NDLX_MAX_DEVICES] = { false };

	rt_details_clear();
	if (!exists(local_nec_dev_id) || !mla_indexes || !host_device_ids || count < 1 ||
	    count > NDLX_MAX_DEVICES)
		return rt_fail(NRT_INVALID, "NRT", "device %d, %d devices", local_nec_dev_id,
			       count);
	for (int i = 0; i < count; i++) {
		if (mla_indexes[i] != host_device_ids[i] || !exists(mla_indexes[i]))
			return rt_fail(NRT_INVALID, "NRT", "device %d is not %d of the machine",
				       mla_indexes[i], host_device_ids[i]);
		part[mla_indexes[i]] = true;
	}
	pthread_mutex_lock(&map.lock);
	memcpy(map.part, part, sizeof(part));
	map.told = true;
	pthread_mutex_unlock(&map.lock);
	return NRT_SUCCESS;
}

bool nec_is_mla_available(int local_nec_dev_id, int mla_idx)
{
	bool part;

	if (!exists(local_nec_dev_id) || !exists(mla_idx))
		return false;
	pthread_mutex_lock(&map.lock);
	part = !map.told || map.part[mla_idx];
	pthread_mutex_unlock(&map.lock);
	return part;
}

int nec_mla_idx_to_rid(int local_nec_dev_id, int mla_idx)
{
	const struct neuron_gen *gen;

	if (!exists(local_nec_dev_id) || !exists(mla_idx) || ndlx_get_gen(mla_idx, &gen))
		return -1;
	return (int)neuron_gen_route(gen, (unsigned int)mla_idx);
}

int nec_rid_to_mla_idx(int local_nec_dev_id, int rid)
{
	const struct neuron_gen *gen;
	int index;

	if (rid < 0 || !exists(local_nec_dev_id) || ndlx_get_gen(local_nec_dev_id, &gen))
		return -1;
	index = (int)neuron_gen_index_of_route(gen, (unsigned int)rid);
	return exists(index) ? index : -1;
}

/* The neighbour of an open device to which the port leads */
static int peer(ndlx_device_t *dev, int port)
{
	for (int i = 0; i < dev->connected_device_count; i++) {
		int other = dev->connected_devices[i];
		uint64_t window;

		if (!ndlx_neighbor_window(dev, other, &window) &&
		    window == dev->gen->window.port[port])
			return other;
	}
	return NEC_UNKNOWN_MLA_DEV;
}

int nec_get_peer_mla_idx(int local_nec_dev_id, int mla_idx, int port)
{
	static const ndlx_device_init_param_t look = { 0 };
	ndlx_device_t *dev;
	int other;

	if (!nec_is_mla_available(local_nec_dev_id, mla_idx) || port < 0 ||
	    ndlx_open_device(mla_idx, &look, &dev))
		return NEC_UNKNOWN_MLA_DEV;
	other = port < dev->gen->window.ports ? peer(dev, port) : NEC_UNKNOWN_MLA_DEV;
	ndlx_close_device(dev);
	return other;
}

int nec_get_p2p_pod_peer_node(uint32_t nec_dev_id, int node, uint32_t port_distance, int *peer_node)
{
	if (!peer_node)
		return -EINVAL;
	*peer_node = -1;
	return rt_ndl_absent("no instance is part of a pod");
}

NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t pod_type, uint32_t local_rid,
					     uint32_t local_node_id, uint32_t remote_rid,
					     uint32_t remote_node_id, int *can_access_peer)
{
	rt_details_clear();
	if (!can_access_peer || pod_type >= NEC_POD_TYPE_INVALID)
		return rt_fail(NRT_INVALID, "NRT", "pod type %d", (int)pod_type);
	*can_access_peer = 0;
	if (pod_type != NEC_POD_TYPE_NONE)
		return rt_absent(NRT_INVALID, "no instance is part of a pod");
	*can_access_peer = local_node_id == remote_node_id;
	return NRT_SUCCESS;
}

void nec_ndl_printk(char *str, uint32_t size, uint32_t action)
{
	ndl_printk(str, size, action);
}

void nec_inc_semaphore(volatile uint32_t *sem_inc_addr, uint32_t val)
{
	if (sem_inc_addr)
		*sem_inc_addr = val; /* the register adds what is written to it */
}

/* No program has transfers whose sizes are known only at execution: every one is of 0 bytes. */
static size_t dynamic(const char *function)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	rt_absent_at(&said, NRT_INVALID, function, "no transfer has a size of its own");
	return 0;
}

size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz, int dst_rank,
				       int rank_n)
{
	return dynamic(__func__);
}

size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
					 int dst_rank, int rank_n)
{
	return dynamic(__func__);
}

size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
					 int src_rank, int rank_n)
{
	return dynamic(__func__);
}

void nec_set_recv_size_bytes(enc_host_mem_t *dyn_input, size_t recv_size_bytes, size_t data_type_sz,
			     int src_rank, int rank_n)
{
	dynamic(__func__);
}
