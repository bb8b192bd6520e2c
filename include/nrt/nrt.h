/* SPDX-License-Identifier: MIT */
/*
 * libnrt.so.1: load compiled models onto NeuronCores and execute them. Names, values and argument
 * orders are the public API's (level 2.0), so programs written for the vendor's library build and
 * link unchanged; docs/nrt.md says what differs.
 *
 * Threads: every call from any thread; executions of one NeuronCore are serialised, different
 * cores run in parallel. Core indices are relative to the process: the first visible core is 0.
 * A call before nrt_init gives NRT_UNINITIALIZED, after nrt_close NRT_CLOSED, but for the counts.
 */
#ifndef NRT_H
#define NRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndl/neuron_driver_shared_tensor_batch_op.h"
#include "nrt/nrt_status.h"
#include "nrt/nrt_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface, not the project's version */
#define NRT_MAJOR_VERSION 2
#define NRT_MINOR_VERSION 0

typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef struct nrt_cc_context nrt_cc_context_t;
typedef void nrt_tensor_set_t; /* as in the public header, where it has no tag */

typedef enum {
	NRT_TENSOR_PLACEMENT_DEVICE = 0,
	NRT_TENSOR_PLACEMENT_HOST = 1,
	NRT_TENSOR_PLACEMENT_VIRTUAL = 2,
} nrt_tensor_placement_t;

typedef enum {
	NRT_FRAMEWORK_TYPE_INVALID = 0,
	NRT_FRAMEWORK_TYPE_NO_FW = 1,
	NRT_FRAMEWORK_TYPE_TENSORFLOW = 2,
	NRT_FRAMEWORK_TYPE_PYTORCH = 3,
	NRT_FRAMEWORK_TYPE_MXNET = 4,
	NRT_FRAMEWORK_TYPE_PRECHECK = 5,
} nrt_framework_type_t;

typedef enum nrt_dtype {
	NRT_DTYPE_UNKNOWN = 0x0,
	NRT_DTYPE_INVALID = 0x0,
	NRT_DTYPE_UINT64 = 0x1,
	NRT_DTYPE_INT8 = 0x2,
	NRT_DTYPE_UINT8 = 0x3,
	NRT_DTYPE_INT16 = 0x4,
	NRT_DTYPE_UINT16 = 0x5,
	NRT_DTYPE_BFLOAT16 = 0x6,
	NRT_DTYPE_FLOAT16 = 0x7,
	NRT_DTYPE_INT32 = 0x8,
	NRT_DTYPE_UINT32 = 0x9,
	NRT_DTYPE_FLOAT32 = 0xa,
	NRT_DTYPE_FP32R = 0xb,
	NRT_DTYPE_INT64 = 0xc,
	NRT_DTYPE_FP8_E3 = 0xd,
	NRT_DTYPE_FP8_E4 = 0xe,
	NRT_DTYPE_FP8_E5 = 0xf,
} nrt_dtype_t;

/* The operation of an out-of-NEFF collective on two elements */
typedef enum nrt_op_type {
	NRT_OP_ADD = 0x0,
	NRT_OP_FMA = 0x1,
	NRT_OP_MAX = 0x2,
	NRT_OP_MIN = 0x3,
	NRT_OP_INVALID = 0xf,
} nrt_op_type_t;

typedef enum nrt_cc_op_type {
	NRT_CC_ALLGATHER = 0,
	NRT_CC_ALLREDUCE = 1,
	NRT_CC_REDUCESCATTER = 2,
} nrt_cc_op_type_t;

typedef enum {
	NRT_INSTANCE_UNKNOWN = 0,
	NRT_INSTANCE_INF1 = 1,
	NRT_INSTANCE_TRN1 = 2,
	NRT_INSTANCE_TRN1N = 3,
	NRT_INSTANCE_INF2 = 4,
	NRT_INSTANCE_TRN2 = 5,
	NRT_INSTANCE_TRN2N = 6,
	NRT_INSTANCE_INF2E = 7,
	NRT_INSTANCE_TRN2P = 8,
	NRT_INSTANCE_TRN2U = 9,
	NRT_INSTANCE_TRN2E = 10,
	NRT_INSTANCE_TRN2EU = 11,
	NRT_INSTANCE_TRN2AC = 12,
	NRT_INSTANCE_TRN2UAC = 13,
	NRT_INSTANCE_TRN3 = 14,
	NRT_INSTANCE_TRN3PDS98 = 15,
} nrt_instance_family_t;

typedef enum {
	NRT_INSTANCE_SIZE_1XL = 0,
	NRT_INSTANCE_SIZE_2XL = 1,
	NRT_INSTANCE_SIZE_4XL = 2,
	NRT_INSTANCE_SIZE_6XL = 3,
	NRT_INSTANCE_SIZE_8XL = 4,
	NRT_INSTANCE_SIZE_24XL = 5,
	NRT_INSTANCE_SIZE_32XL = 6,
	NRT_INSTANCE_SIZE_48XL = 7,
	NRT_INSTANCE_SIZE_3XL = 8,
	NRT_INSTANCE_SIZE_UNKNOWN = 9,
	NRT_INSTANCE_SIZE_NUM = NRT_INSTANCE_SIZE_UNKNOWN,
} nrt_instance_size_t;

typedef struct nrt_instance_info {
	uint32_t family;
	uint32_t size;
	char arch_name[16];
	char device_revision[8];
} nrt_instance_info_t;

typedef struct nrt_tensor_batch {
	const nrt_tensor_t *tensor;
	const nrt_tensor_batch_op_t *ops;
	uint32_t num_ops;
} nrt_tensor_batch_t;

typedef struct nrt_tensor_device_allocation_info {
	uint64_t physical_address;
	size_t size; /* may exceed the tensor's */
	int hbm_index;
} nrt_tensor_device_allocation_info_t;

typedef struct nrt_vnc_memory_stats {
	size_t bytes_used;
	size_t bytes_limit;
} nrt_vnc_memory_stats_t;

/* The members of a collective, and the tensors of one of them */
typedef struct nrt_cc_comm {
	uint32_t *replica_group; /* rank_n of them */
	uint32_t rank; /* this one's place in the group */
	uint32_t rank_n;
	uint32_t ctx_device_id;
	uint32_t ctx_device_count;
	uint32_t vnc;
} nrt_cc_comm_t;

typedef struct nrt_tensor_list {
	nrt_tensor_t **tensors;
	size_t num_tensors;
} nrt_tensor_list_t;

/* Lifecycle */
NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
		    const char *fal_version);
void nrt_close(void);
NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t length);

/* Counts; the total ones also before nrt_init */
NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count);
NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count);
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count);

/* Models. vnc -1: the first core with enough room; vnc_count is ignored, pass -1 */
NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
		    nrt_model_t **model);
NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
				uint32_t ctx_device_id, uint32_t ctx_device_count,
				nrt_model_t **model);
NRT_STATUS nrt_unload(nrt_model_t *model);
NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *nc_count);
NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count);

/* Tensor sets: names to tensors; a tensor outlives the sets it is in */
NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **set);
void nrt_destroy_tensor_set(nrt_tensor_set_t **set);
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *set, const char *name,
					nrt_tensor_t *tensor);
NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *set, const char *name,
					  nrt_tensor_t **tensor);

/* Execution */
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
		       nrt_tensor_set_t *outputs);
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			      nrt_tensor_set_t *outputs, int repeat_count);

/* Tensors */
NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t placement, int vnc, size_t size,
			       const char *name, nrt_tensor_t **tensor);
NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor);
NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *source, size_t offset, size_t size,
				     const char *name, nrt_tensor_t **slice);
NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size);
void nrt_tensor_free(nrt_tensor_t **tensor);
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				 bool unsafe);
NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
				  bool unsafe);
NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			   size_t dst_offset, size_t size);
NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size);
size_t nrt_tensor_get_size(const nrt_tensor_t *tensor);
/*
 * The tensor's core, as the vendor's own program asks for it; its headers do not have it yet. -1:
 * of no core
 */
NRT_STATUS nrt_tensor_get_lnc_index(const nrt_tensor_t *tensor, int *lnc_idx);
void *nrt_tensor_get_va(const nrt_tensor_t *tensor);
NRT_STATUS nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
						 nrt_tensor_device_allocation_info_t *info);
NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *tensor, int64_t timeout_us,
					      uint64_t expected_count);
NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *tensor);

/* Memory */
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd);
NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_index, void **addr, size_t *size);
NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats, size_t size_in,
				    size_t *size_out);
NRT_STATUS nrt_host_device_id_get(int device_id, uint32_t *host_device_id);
/* count: in the entries that there is room for, out those that there are */
NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map);
NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len);

/*
 * A job: members of one or several processes of this host, each of which calls this in a thread of
 * its own, and waits for the others. They find each other by NEURON_RT_ROOT_COMM_ID (host:port).
 * From then on models for several ranks are loaded with the job's other processes.
 */
NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count);

#ifdef __cplusplus
}
#endif
#endif
