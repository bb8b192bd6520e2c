/* SPDX-License-Identifier: MIT */
/*
 * What collective libraries ask the runtime: devices, their places and their neighbours. A device
 * is told by its number in this process (nec_dev_id), its number in the machine (mla_idx) or its
 * routing id. Structures of the vendor's own collective library are not here: nothing of this
 * runtime takes one.
 */
#ifndef NEC_H
#define NEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEC_MAX_CHANNELS 32
#define NEC_MAX_NR_CHANNEL_CHUNKS 32
#define NEC_MAX_FOLD_N 16
#define NEC_MAX_COMM_N 12
#define NEC_MAX_NET_BUFFERS (2 * NEC_MAX_COMM_N)
#define NEC_CACHE_LINE_SIZE 128
#define NEC_NET_CONNECTOR_RANK -1
#define NEC_NET_MLA_DEV -1
#define NEC_POD_MLA_DEV -2
#define NEC_UNKNOWN_RANK -3
#define NEC_UNKNOWN_MLA_DEV -3
#define NEC_HIER_CC_PIPELINE_STAGE_N (3)
#define NCCL_NET_NEURON_MAX_REQUESTS 128
#define NEC_MAX_STREAM_N 4

typedef enum nec_pod_type {
	NEC_POD_TYPE_NONE = 0,
	NEC_POD_TYPE_P2P = 1,
	NEC_POD_TYPE_SWITCH = 2,
	NEC_POD_TYPE_INVALID = 3,
} nec_pod_type_t;

typedef uint64_t dma_addr_t;

typedef struct enc_host_mem {
	void *mem_handle;
	void *va;
	dma_addr_t pa;
	size_t size;
} enc_host_mem_t;

typedef struct nec_version_info {
	uint64_t major;
	uint64_t minor;
	uint64_t patch;
	uint64_t maintenance;
	char git_hash[16];
	uint64_t compatibility_version;
	uint8_t future_fields[];
} nec_version_info_t;

/* Adds to a mapped semaphore register. */
void nec_inc_semaphore(volatile uint32_t *sem_inc_addr, uint32_t val);

/* The size of transfers that is known only at execution; there are none here: 0 */
size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz, int dst_rank,
				       int rank_n);
size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
					 int dst_rank, int rank_n);
size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
					 int src_rank, int rank_n);
void nec_set_recv_size_bytes(enc_host_mem_t *dyn_input, size_t recv_size_bytes, size_t data_type_sz,
			     int src_rank, int rank_n);

/* The number of devices, whose numbers are put into the array as far as it goes */
int nec_get_device_count(int *available_devices_array, uint32_t array_size);
int nec_get_device_pci_bdf(int neuron_dev, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
			   uint8_t *dev_func);
NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size);
NRT_STATUS nec_get_version_info(nec_version_info_t *version_info);

/* Tells which devices take part; without it all of the machine do */
NRT_STATUS nec_build_port_and_rid_map(int local_nec_dev_id, int *mla_indexes, int *host_device_ids,
				      int count);
bool nec_is_mla_available(int local_nec_dev_id, int mla_idx);
int nec_mla_idx_to_rid(int local_nec_dev_id, int mla_idx);
int nec_rid_to_mla_idx(int local_nec_dev_id, int rid);
/* The device behind a port of another; NEC_UNKNOWN_MLA_DEV: none */
int nec_get_peer_mla_idx(int local_nec_dev_id, int mla_idx, int port);
/* No instance here is part of a pod */
int nec_get_p2p_pod_peer_node(uint32_t nec_dev_id, int node, uint32_t port_distance,
			      int *peer_node);
NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t pod_type, uint32_t local_rid,
					     uint32_t local_node_id, uint32_t remote_rid,
					     uint32_t remote_node_id, int *can_access_peer);

/* Into the kernel's log, where there is a driver */
void nec_ndl_printk(char *str, uint32_t size, uint32_t action);

#ifdef __cplusplus
}
#endif
#endif
