/* SPDX-License-Identifier: MIT */
/*
 * The part of the public API that its vendor calls experimental: a model's tensors, asynchronous
 * execution, host-side barriers. docs/nrt.md says what each function does here.
 */
#ifndef NRT_EXPERIMENTAL_H
#define NRT_EXPERIMENTAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt.h"
#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as a model has it */
typedef enum nrt_tensor_usage {
	NRT_TENSOR_USAGE_INPUT = 0,
	NRT_TENSOR_USAGE_OUTPUT = 1,
} nrt_tensor_usage_t;

#define NRT_TENSOR_NAME_MAX 256

typedef struct nrt_tensor_info {
	char name[NRT_TENSOR_NAME_MAX];
	nrt_tensor_usage_t usage;
	size_t size; /* bytes */
	nrt_dtype_t dtype;
	uint32_t *shape;
	uint32_t ndim;
} nrt_tensor_info_t;

typedef struct nrt_tensor_info_array {
	uint64_t tensor_count;
	nrt_tensor_info_t tensor_array[];
} nrt_tensor_info_array_t;

typedef struct nrt_model_info {
	uint32_t vnc;
} nrt_model_info_t;

/* Images of the pool engine's microcode */
typedef struct nrt_ucode_img {
	uint8_t *bin;
	size_t size;
} nrt_ucode_img;

typedef struct nrt_ucode_info {
	nrt_ucode_img iram;
	nrt_ucode_img dram;
} nrt_ucode_info;

/*
 * With NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS above 0 nrt_execute returns when the execution is
 * queued, and its end is told here. job_id counts the executions of a core from 1.
 */
typedef void (*NRT_ASYNC_EXEC_STATUS_CALLBACK)(void *params, uint32_t model_id, uint32_t vnc,
					       uint64_t job_id, NRT_STATUS status);

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info);
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info);
NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count);
NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t size_in,
			      size_t *size_out);

/* A later call replaces the callback of an earlier one; NULL takes it away. */
NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params);
/* Waits until all executions that were queued on the core have ended and were told. */
NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc);

/* Traces all cores of this process; stop writes the events as JSON. */
NRT_STATUS nrt_trace_start(bool trace_mem);
NRT_STATUS nrt_trace_stop(const char *filename);

/* Copies to an address of nrt_tensor_get_va */
NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t n);

/* Of all members of the job (nrt_build_global_comm); one member alone needs none */
NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
			  uint32_t rank_input_size, void *input, void *output);

/*
 * Functions without effect: there is no network plug-in, and the pool engine has no microcode to
 * replace
 */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size);
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info);

#ifdef __cplusplus
}
#endif
#endif
