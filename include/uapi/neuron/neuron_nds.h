/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Layout of a datastore entry (NDS): the counters a process shares with the module and with
 * monitoring programs through ACQUIRE_NEURON_DS and mmap. The runtime fills it, the module adds
 * the counters to sysfs when the entry is released, tools read it. All counters are u64 in the
 * machine's byte order; offsets are bytes from the start of the mapping.
 *
 * Bytes 1248..44587 are private to the runtime that owns the entry. What libnrt of this project
 * keeps there begins at NDS_PRIVATE_OFFSET.
 */
#ifndef UAPI_NEURON_NDS_H
#define UAPI_NEURON_NDS_H

#define NDS_ENTRY_SIZE 262144
#define NDS_ENTRIES_PER_DEVICE 16

/* Header: 'n' 'd' 's' 0, then an s32 version */
#define NDS_HEADER_OFFSET 0
#define NDS_HEADER_UNITS 1
#define NDS_HEADER_SIZE 8
#define NDS_HEADER_MAGIC "nds"

#define NDS_DEVICE_COUNTERS_OFFSET 8
#define NDS_DEVICE_COUNTERS_PER_UNIT 31
#define NDS_DEVICE_COUNTERS_UNITS 1
#define NDS_DEVICE_COUNTERS_SIZE 248

/* Cores 0..3: indices 0..30 here, 31.. in the extended section */
#define NDS_CORE_COUNTERS_OFFSET 256
#define NDS_CORE_COUNTERS_PER_UNIT 31
#define NDS_CORE_COUNTERS_UNITS 4
#define NDS_CORE_COUNTERS_SIZE 992

#define NDS_PRIVATE_OFFSET 1248
#define NDS_PRIVATE_SIZE 43340

#define NDS_CORE_COUNTERS_EXTENDED_OFFSET 55936
#define NDS_CORE_COUNTERS_EXTENDED_PER_UNIT 64
#define NDS_CORE_COUNTERS_EXTENDED_UNITS 4
#define NDS_CORE_COUNTERS_EXTENDED_SIZE 2048

/* Cores 4..15: the full set, 95 counters and one word of padding each */
#define NDS_ADDITIONAL_CORES_OFFSET 57984
#define NDS_ADDITIONAL_CORES_PER_UNIT 96
#define NDS_ADDITIONAL_CORES_UNITS 12
#define NDS_ADDITIONAL_CORES_SIZE 9216

/* Offset of counter idx of the device, and of counter idx of core nc (0..15) */
#define NDS_ND_OFFSET(idx) (NDS_DEVICE_COUNTERS_OFFSET + 8 * (idx))
#define NDS_NC_OFFSET(nc, idx)                                                                    \
	((nc) >= NDS_CORE_COUNTERS_UNITS                                                          \
		 ? NDS_ADDITIONAL_CORES_OFFSET + 8 * (NDS_ADDITIONAL_CORES_PER_UNIT *             \
							      (-NDS_CORE_COUNTERS_UNITS + (nc)) + \
						      (idx))                                      \
	 : (idx) < NDS_CORE_COUNTERS_PER_UNIT                                                     \
		 ? NDS_CORE_COUNTERS_OFFSET + 8 * (NDS_CORE_COUNTERS_PER_UNIT * (nc) + (idx))     \
		 : NDS_CORE_COUNTERS_EXTENDED_OFFSET +                                            \
			   8 * (NDS_CORE_COUNTERS_EXTENDED_PER_UNIT * (nc) + (idx) +              \
				-NDS_CORE_COUNTERS_PER_UNIT))

/* Device counters */
#define NDS_ND_COUNTER_RUNTIME_VERSION 0 /* build 31:0, minor 39:32, major 47:40, type 63:48 */
#define NDS_ND_COUNTER_FRAMEWORK_VERSION 1
#define NDS_ND_COUNTER_FAL_VERSION 2
#define NDS_ND_COUNTER_FEATURE_BITMAP 3
#define NDS_ND_COUNTER_MIN_NEFF_VERSION 4
#define NDS_ND_COUNTER_MAX_NEFF_VERSION 5
#define NDS_ND_COUNTER_MEM_USAGE_CODE_HOST 6
#define NDS_ND_COUNTER_MEM_USAGE_TENSORS_HOST 7
#define NDS_ND_COUNTER_MEM_USAGE_CONSTANTS_HOST 8
#define NDS_ND_COUNTER_MEM_USAGE_SCRATCHPAD_HOST 9
#define NDS_ND_COUNTER_MEM_USAGE_MISC_HOST 10
#define NDS_ND_COUNTER_DYNAMIC_SYSFS_METRIC_BITMAP 11
#define NDS_ND_COUNTER_DEVICE_CLUSTER_ID 12

/* Core counters */
#define NDS_NC_COUNTER_TIME_IN_USE 0 /* microseconds */
#define NDS_NC_COUNTER_INFER_COMPLETED 1
#define NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR 2
#define NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR 3
#define NDS_NC_COUNTER_INFER_TIMED_OUT 4
#define NDS_NC_COUNTER_INFER_INCORRECT_INPUT 5
#define NDS_NC_COUNTER_INFER_FAILED_TO_QUEUE 6
#define NDS_NC_COUNTER_ERR_GENERIC 7
#define NDS_NC_COUNTER_ERR_NUMERICAL 8
#define NDS_NC_COUNTER_ERR_MODEL 9
#define NDS_NC_COUNTER_ERR_TRANSIENT 10
#define NDS_NC_COUNTER_ERR_HW 11
#define NDS_NC_COUNTER_ERR_RT 12
#define NDS_NC_COUNTER_LATENCY_DEVICE 13
#define NDS_NC_COUNTER_LATENCY_TOTAL 14
#define NDS_NC_COUNTER_NC_TIME 15
#define NDS_NC_COUNTER_GENERIC_FAIL 16
#define NDS_NC_COUNTER_ERR_RESOURCE 17
#define NDS_NC_COUNTER_ERR_RESOURCE_NC 18
#define NDS_NC_COUNTER_ERR_INVALID 19
#define NDS_NC_COUNTER_ERR_UNSUPPORTED_NEFF_VERSION 20
#define NDS_NC_COUNTER_CC_TIME 21
#define NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE 22
#define NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE 23
#define NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE 24
#define NDS_NC_COUNTER_MEM_USAGE_SCRATCHPAD_DEVICE 25
#define NDS_NC_COUNTER_MEM_USAGE_MISC_DEVICE 26
#define NDS_NC_COUNTER_MODEL_LOAD_COUNT 27
#define NDS_NC_COUNTER_INFERENCE_COUNT 28
#define NDS_NC_COUNTER_MAC_COUNT 29
#define NDS_NC_COUNTER_OOB 30
#define NDS_EXT_NC_COUNTER_HW_ERR_COLLECTIVES 31
#define NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE 32
#define NDS_EXT_NC_COUNTER_HW_ERR_NC_UE 33
#define NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT 34
#define NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW 35
#define NDS_EXT_NC_COUNTER_ERR_SW_SEMAPHORE_ERROR 36
#define NDS_EXT_NC_COUNTER_ERR_SW_EVENT_ERROR 37
#define NDS_EXT_NC_COUNTER_ERR_SW_PSUM_COLLISION 38
#define NDS_EXT_NC_COUNTER_ERR_SW_SEQUENCER_FATAL 39
#define NDS_EXT_NC_COUNTER_HW_ERR_REPAIRABLE_HBM_UE 40
#define NDS_EXT_NC_COUNTER_LAST 41

#endif
