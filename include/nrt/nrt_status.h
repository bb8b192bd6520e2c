/* SPDX-License-Identifier: MIT */
/* Results of libnrt calls: the public names and values. */
#ifndef NRT_STATUS_H
#define NRT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(suffix, value, meaning) */
#define NRT_STATUS_LIST(X)                                                       \
	X(SUCCESS, 0, "success")                                                 \
	X(FAILURE, 1, "failure")                                                 \
	X(INVALID, 2, "invalid argument or model")                               \
	X(INVALID_HANDLE, 3, "invalid handle")                                   \
	X(RESOURCE, 4, "out of a resource")                                      \
	X(TIMEOUT, 5, "timed out")                                               \
	X(HW_ERROR, 6, "hardware error")                                         \
	X(QUEUE_FULL, 7, "queue full")                                           \
	X(LOAD_NOT_ENOUGH_NC, 9, "not enough NeuronCores")                       \
	X(UNSUPPORTED_NEFF_VERSION, 10, "unsupported NEFF version")              \
	X(FAIL_HOST_MEM_ALLOC, 11, "host memory allocation failed")              \
	X(UNINITIALIZED, 13, "the runtime is not initialized")                   \
	X(CLOSED, 14, "the runtime is closed")                                   \
	X(QUEUE_EMPTY, 15, "queue empty")                                        \
	X(EXEC_UNIT_UNRECOVERABLE, 101, "execution unit needs a reset")          \
	X(EXEC_BAD_INPUT, 1002, "bad input")                                     \
	X(EXEC_COMPLETED_WITH_NUM_ERR, 1003, "completed with numerical errors")  \
	X(EXEC_COMPLETED_WITH_ERR, 1004, "completed with errors")                \
	X(EXEC_NC_BUSY, 1005, "NeuronCore busy")                                 \
	X(EXEC_OOB, 1006, "access out of bounds")                                \
	X(COLL_PENDING, 1100, "collective operation pending")                    \
	X(EXEC_HW_ERR_COLLECTIVES, 1200, "hardware error in collectives")        \
	X(EXEC_HW_ERR_HBM_UE, 1201, "uncorrectable device memory error")         \
	X(EXEC_HW_ERR_NC_UE, 1202, "uncorrectable NeuronCore memory error")      \
	X(EXEC_HW_ERR_DMA_ABORT, 1203, "DMA abort")                              \
	X(EXEC_SW_NQ_OVERFLOW, 1204, "notification queue overflow")              \
	X(EXEC_HW_ERR_REPAIRABLE_HBM_UE, 1205, "repairable device memory error") \
	X(NETWORK_PROXY_FAILURE, 1206, "network proxy failure")

#define NRT_STATUS_ENUM(name, value, text) NRT_##name = value,
typedef enum { NRT_STATUS_LIST(NRT_STATUS_ENUM) } NRT_STATUS;
#undef NRT_STATUS_ENUM

/* "NRT_SUCCESS", ...; "NRT_UNKNOWN" for a value that is none. Never NULL. */
const char *nrt_get_status_as_str(NRT_STATUS status);

#ifdef __cplusplus
}
#endif
#endif
