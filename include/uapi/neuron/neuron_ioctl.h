/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface between programs and the Neuron kernel module: ioctl numbers and structures of
 * /dev/neuronN, level 2.24 of the public driver's ABI. Used by the module (driver/) and by libndl.
 *
 * Most numbers encode the size of a pointer, not of the structure, and the direction bits are
 * often "wrong": they are an ABI, not a description. The module looks at nr first and then at the
 * whole number. tests/data/abi holds the reference tables; every number, size and offset here is
 * checked against them when the tests and the module are built.
 *
 * Only 64-bit programs: the structures carry pointers. in, out: seen from the driver.
 */
#ifndef UAPI_NEURON_IOCTL_H
#define UAPI_NEURON_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#if !defined(__KERNEL__) && !defined(__user)
#define __user
#endif

#define NEURON_IOCTL_BASE 'N'

#define NEURON_MAX_DEVICES 64
#define NEURON_MAX_PROCESS_PER_DEVICE 16
#define NEURON_MAX_NEIGHBORS 8
#define NEURON_MAX_NC_PER_DEVICE 8

/* nc_map of NC_RESET: the whole device */
#define NEURON_NC_MAP_DEVICE 0xffffffffu

enum neuron_dma_queue_type {
	NEURON_DMA_QUEUE_TX = 0,
	NEURON_DMA_QUEUE_RX = 1,
	NEURON_DMA_QUEUE_COMPLETION = 2,
};

enum neuron_cinit_state {
	NEURON_CINIT_STATE_STARTED = 1,
	NEURON_CINIT_STATE_COMPLETED = 2,
	NEURON_CINIT_STATE_INVALID = 3,
};

enum neuron_nq_device_type {
	NEURON_NQ_DEV_NC = 0,
	NEURON_NQ_DEV_TOP_SP = 1,
};

/* wait_handle and pwait_handle of MEM_COPY_ASYNC */
#define NEURON_DMA_H2T_CTX_HANDLE_NONE 0xffffffffu
#define NEURON_DMA_H2T_CTX_HANDLE_SYNC 0
#define NEURON_DMA_H2T_CTX_HANDLE_ASYNC1 1
#define NEURON_DMA_H2T_CTX_HANDLE_ASYNC2 2

/* apps_info_flags */
#define NEURON_APP_INFO_LOCK_INFO 0x1
#define NEURON_APP_INFO_MEM_USAGE 0x2
#define NEURON_APP_INFO_ALL 0xf

/* RESOURCE_MMAP_INFO */
enum neuron_mmap_block {
	NEURON_MMAP_BLOCK_TPB = 0,
	NEURON_MMAP_BLOCK_TOP_SP = 1,
	NEURON_MMAP_BLOCK_HBM = 2,
};

enum neuron_mmap_resource {
	NEURON_MMAP_RESOURCE_SEMAPHORE = 0,
	NEURON_MMAP_RESOURCE_ALL = 1,
	NEURON_MMAP_RESOURCE_SBUF = 2,
	NEURON_MMAP_RESOURCE_DMEM = 3,
};

/* mem_type of MEM_ALLOC_V2MT */
enum neuron_memalloc_type {
	NEURON_MEMALLOC_TYPE_UNKNOWN_HOST = 0,
	NEURON_MEMALLOC_TYPE_CODE_HOST = 1,
	NEURON_MEMALLOC_TYPE_TENSORS_HOST = 2,
	NEURON_MEMALLOC_TYPE_CONSTANTS_HOST = 3,
	NEURON_MEMALLOC_TYPE_MISC_HOST = 4,
	NEURON_MEMALLOC_TYPE_NCDEV_HOST = 5,
	NEURON_MEMALLOC_TYPE_NOTIFICATION_HOST = 6,
	NEURON_MEMALLOC_TYPE_UNKNOWN_DEVICE = 7,
	NEURON_MEMALLOC_TYPE_CODE_DEVICE = 8,
	NEURON_MEMALLOC_TYPE_TENSORS_DEVICE = 9,
	NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE = 10,
	NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE = 11,
	NEURON_MEMALLOC_TYPE_MISC_DEVICE = 12,
	NEURON_MEMALLOC_TYPE_NCDEV_DEVICE = 13,
	NEURON_MEMALLOC_TYPE_COLLECTIVES_DEVICE = 14,
	NEURON_MEMALLOC_TYPE_SCRATCHPAD_NONSHARED_DEVICE = 15,
	NEURON_MEMALLOC_TYPE_NOTIFICATION_DEVICE = 16,
	NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST = 17,
	NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE = 18,
	NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE = 19,
	NEURON_MEMALLOC_TYPE_MAX = 20,
};

/* feature_flags1 of DRIVER_INFO_GET */
#define NEURON_FEATURE_DMABUF (1u << 0)
#define NEURON_FEATURE_ASYNC_DMA (1u << 1)
#define NEURON_FEATURE_BATCH_DMAQ_INIT (1u << 2)
#define NEURON_FEATURE_BIG_CORE_MAPS (1u << 3)
#define NEURON_FEATURE_MEM_ALLOC_TYPE (1u << 4)
#define NEURON_FEATURE_HBM_SCRUB (1u << 5)
#define NEURON_FEATURE_MEM_ALLOC64 (1u << 6)
#define NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD (1u << 7)
#define NEURON_FEATURE_ZEROCOPY (1u << 8)
#define NEURON_FEATURE_PINNED_HOST_MEM (1u << 9)
#define NEURON_FEATURE_ALLOC_WITH_PA (1u << 10)
#define NEURON_FEATURE_ASYNC_IO (1u << 11)

/* pod_type */
#define NEURON_POD_P2P 1
/* POD_STATUS state */
#define NEURON_POD_STATE_IN_PROGRESS 1
#define NEURON_POD_STATE_ULTRASERVER 2
#define NEURON_POD_STATE_SINGLE_NODE 4
/* POD_CTRL ctrl */
#define NEURON_POD_CTRL_POD 0 /* an election */
#define NEURON_POD_CTRL_SINGLE_NODE 1
#define NEURON_POD_CTRL_KILL 2 /* the election */
#define NEURON_POD_CTRL_SET_MODE 3
/* mode: four nodes; two beside each other, one above the other; one */
#define NEURON_POD_MODE_UNSET 0
#define NEURON_POD_MODE_X4 1
#define NEURON_POD_MODE_X2H 2
#define NEURON_POD_MODE_X2V 3
#define NEURON_POD_MODE_X1 4

/* h2t_qid: the copy queue that the driver sets up for each core */
#define NEURON_H2T_QUEUE_DEFAULT (-1)

#define NEURON_POST_METRIC_MAX 128
#define NEURON_PRINTK_MAX 512
#define NEURON_DMA_QUEUE_INIT_BATCH_MAX 256
#define NEURON_NC_MAP_VERSION_0 0

/* Results and elements */

struct neuron_uuid { /* 32 bytes */
	__u8 value[32];
};

struct neuron_app_info { /* 152 bytes */
	__s32 pid;
	__u8 nc_lock_map;
	struct neuron_uuid uuid_data[4];
	__u64 host_mem_size;
	__u64 device_mem_size;
};

struct neuron_tensor_batch_op { /* 24 bytes */
	__u64 offset;
	__u64 size;
	void __user *buffer;
};

struct neuron_copy_batch { /* 40 bytes */
	__u64 mem_handle;
	__u64 mem_handle_offset; /* added to each offset */
	struct neuron_tensor_batch_op __user *ops_ptr;
	__u32 num_ops;
	__u16 bar4_wr_threshold; /* as in mem_buf_copy64zc, if every write is as small */
	__u16 flags;
	void __user *context;
};

struct neuron_dma_eng_state { /* 20 bytes */
	__u32 revision_id;
	__u32 max_queues;
	__u32 num_queues;
	__u32 tx_state;
	__u32 rx_state;
};

struct neuron_dma_queue_state { /* 48 bytes */
	__u32 hw_status;
	__u32 sw_status;
	__u64 base_addr;
	__u32 length;
	__u32 head_pointer;
	__u32 tail_pointer;
	__u64 completion_base_addr;
	__u32 completion_head;
};

struct neuron_ioctl_mem_chunk_info { /* 24 bytes */
	__u64 pa;
	__u64 size;
	__u32 mem_type;
};

struct neuron_ioctl_nc_map_entry { /* 8 bytes */
	__u32 device_id;
	__u32 device_nc_idx;
};

struct neuron_ioctl_nc_map { /* 4 bytes */
	__u32 num_entries;
	struct neuron_ioctl_nc_map_entry mappings[];
};

/* Arguments, in the order of the table of the ABI */

struct neuron_ioctl_mem_alloc { /* 32 bytes */
	__u64 size; /* in */
	__u32 host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 nc_id; /* in */
	__u64 __user *mem_handle; /* out */
};

struct neuron_ioctl_mem_alloc_v2 { /* 40 bytes */
	__u64 size; /* in */
	__u64 align; /* in */
	__u32 host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 nc_id; /* in */
	__u64 __user *mem_handle; /* out */
};

struct neuron_ioctl_mem_alloc_v2_mem_type { /* 48 bytes */
	__u64 size; /* in */
	__u64 align; /* in */
	__u32 host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 nc_id; /* in */
	__u32 mem_type; /* in */
	__u64 __user *mem_handle; /* out */
};

struct neuron_ioctl_mem_alloc_v2_mem_type64 { /* 56 bytes */
	__u64 size; /* in */
	__u64 align; /* in */
	__u32 host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 nc_id; /* in */
	__u32 mem_type; /* in */
	__u64 __user *mem_handle; /* out */
	__u32 pad; /* in */
};

struct neuron_ioctl_device_init { /* 4 bytes */
	__u32 mem_regions; /* in */
};

struct neuron_ioctl_device_reset { /* 8 bytes */
	__u32 nc_map; /* in */
	__u32 request_id; /* out */
};

struct neuron_ioctl_device_ready { /* 8 bytes */
	__u32 request_id; /* in */
	__s32 result; /* out */
};

struct neuron_ioctl_mem_get_info { /* 24 bytes */
	__u64 mem_handle; /* in */
	__u64 __user *mmap_offset; /* out */
	__u64 __user *pa; /* out */
};

struct neuron_ioctl_get_apps_info { /* 16 bytes */
	__u16 apps_info_flags; /* in */
	__u32 capacity; /* in */
	__u32 size; /* out */
	struct neuron_app_info app_data[]; /* out */
};

struct neuron_ioctl_mem_get_pa { /* 16 bytes */
	__u64 mem_handle; /* in */
	__u64 __user *pa; /* out */
};

struct neuron_ioctl_mem_get_extended_info { /* 48 bytes */
	__u64 mem_handle; /* in */
	__u32 version; /* out */
	__u32 host_memory; /* out */
	__u64 mmap_offset; /* out */
	__u64 pa; /* out */
	__u64 pid; /* out */
	__u64 size; /* out */
};

struct neuron_ioctl_mem_free { /* 8 bytes */
	__u64 mem_handle; /* in */
};

struct neuron_ioctl_mem_copy { /* 32 bytes */
	__u64 src_mem_handle; /* in */
	__u64 dst_mem_handle; /* in */
	__u32 size; /* in */
	__u32 src_offset; /* in */
	__u32 dst_offset; /* in */
};

struct neuron_ioctl_mem_copy64 { /* 40 bytes */
	__u64 src_mem_handle; /* in */
	__u64 dst_mem_handle; /* in */
	__u64 size; /* in */
	__u64 src_offset; /* in */
	__u64 dst_offset; /* in */
};

struct neuron_ioctl_mem_copy_async { /* 48 bytes */
	__u64 src_mem_handle; /* in */
	__u64 dst_mem_handle; /* in */
	__u32 size; /* in */
	__u32 src_offset; /* in */
	__u32 dst_offset; /* in */
	__u64 host_prefetch_addr; /* in */
	__u32 pwait_handle; /* in */
	__u32 wait_handle; /* out */
};

struct neuron_ioctl_mem_copy_async64 { /* 56 bytes */
	__u64 src_mem_handle; /* in */
	__u64 dst_mem_handle; /* in */
	__u64 size; /* in */
	__u64 src_offset; /* in */
	__u64 dst_offset; /* in */
	__u64 host_prefetch_addr; /* in */
	__u32 pwait_handle; /* in */
	__u32 wait_handle; /* out */
};

struct neuron_ioctl_mem_copy_async_wait { /* 24 bytes */
	__u64 src_mem_handle; /* in */
	__u64 dst_mem_handle; /* in */
	__u32 pwait_handle; /* in */
};

struct neuron_ioctl_memset { /* 24 bytes */
	__u64 mem_handle; /* in */
	__u64 offset; /* in */
	__u32 value; /* in */
	__u32 size; /* in */
};

struct neuron_ioctl_memset64 { /* 32 bytes */
	__u64 mem_handle; /* in */
	__u64 offset; /* in */
	__u32 value; /* in */
	__u64 size; /* in */
};

struct neuron_ioctl_mem_buf_copy { /* 32 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in/out */
	__u32 size; /* in */
	__u32 offset; /* in */
	__u32 copy_to_mem_handle; /* in */
};

struct neuron_ioctl_mem_buf_copy64 { /* 40 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in/out */
	__u64 size; /* in */
	__u64 offset; /* in */
	__u32 copy_to_mem_handle; /* in */
};

struct neuron_ioctl_program_engine { /* 24 bytes */
	__u64 dst; /* in */
	void __user *buffer; /* in */
	__u32 size; /* in */
	__u32 offset; /* in */
};

struct neuron_ioctl_program_engine_nc { /* 32 bytes */
	__u32 nc_id; /* in */
	__u64 dst; /* in */
	void __user *buffer; /* in */
	__u32 size; /* in */
	__u32 offset; /* in */
};

struct neuron_ioctl_program_engine_nc64 { /* 40 bytes */
	__u32 nc_id; /* in */
	__u64 dst; /* in */
	void __user *buffer; /* in */
	__u64 size; /* in */
	__u64 offset; /* in */
};

struct neuron_ioctl_bar_rw { /* 32 bytes */
	__u32 bar; /* in */
	__u64 __user *address; /* in */
	__u32 __user *data; /* in/out */
	__u32 count; /* in */
};

struct neuron_ioctl_post_metric { /* 16 bytes */
	__u32 __user *data; /* in */
	__u32 data_size; /* in */
};

struct neuron_ioctl_dma_copy_descriptors { /* 32 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in */
	__u32 num_descs; /* in */
	__u32 offset; /* in */
	__u32 queue_type; /* in */
};

struct neuron_ioctl_dma_copy_descriptors64 { /* 40 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in */
	__u32 num_descs; /* in */
	__u64 offset; /* in */
	__u32 queue_type; /* in */
};

struct neuron_ioctl_dma_queue_init { /* 48 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
	__u32 tx_desc_count; /* in */
	__u32 rx_desc_count; /* in */
	__u64 tx_handle; /* in */
	__u64 rx_handle; /* in */
	__u64 rxc_handle; /* in */
	__u32 axi_port; /* in */
};

struct neuron_ioctl_dma_queue_init_batch { /* 12296 bytes */
	__u32 count; /* in */
	struct neuron_ioctl_dma_queue_init entries[256]; /* in */
};

struct neuron_ioctl_dma_queue_release { /* 8 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
};

struct neuron_ioctl_dma_quiesce_queues { /* 264 bytes */
	__u32 nc_id; /* in */
	__u32 engine_count; /* in */
	__u32 queue_mask[64]; /* in */
};

struct neuron_ioctl_dma_ack_completed { /* 12 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
	__u32 count; /* in */
};

struct neuron_ioctl_dma_queue_copy_start { /* 16 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
	__u32 tx_desc_count; /* in */
	__u32 rx_desc_count; /* in */
};

struct neuron_ioctl_dma_eng_init { /* 4 bytes */
	__u32 eng_id; /* in */
};

struct neuron_ioctl_dma_eng_set_state { /* 8 bytes */
	__u32 eng_id; /* in */
	__u32 state; /* in */
};

struct neuron_ioctl_dma_eng_get_state { /* 16 bytes */
	__u32 eng_id; /* in */
	struct neuron_dma_eng_state __user *state; /* out */
};

struct neuron_ioctl_dma_queue_get_state { /* 24 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
	struct neuron_dma_queue_state __user *tx; /* out */
	struct neuron_dma_queue_state __user *rx; /* out */
};

struct neuron_ioctl_dma_descriptor_copyout { /* 32 bytes */
	__u32 eng_id; /* in */
	__u32 qid; /* in */
	__u32 type; /* in */
	__u32 start_index; /* in */
	__u32 count; /* in */
	void __user *buffer; /* out */
};

struct neuron_ioctl_semaphore { /* 12 bytes */
	__u32 nc_id; /* in */
	__u32 semaphore_index; /* in */
	__u32 value; /* in/out */
};

struct neuron_ioctl_event { /* 12 bytes */
	__u32 nc_id; /* in */
	__u32 event_index; /* in */
	__u32 value; /* in/out */
};

struct neuron_ioctl_notifications_init_v1 { /* 24 bytes */
	__u32 nc_id; /* in */
	__u32 nq_type; /* in */
	__u32 engine_index; /* in */
	__u32 size; /* in */
	__u64 mmap_offset; /* out */
};

struct neuron_ioctl_notifications_init_v2 { /* 48 bytes */
	__u32 nq_dev_id; /* in */
	__u32 nq_dev_type; /* in */
	__u32 nq_type; /* in */
	__u32 engine_index; /* in */
	__u32 size; /* in */
	__u32 on_host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u64 mmap_offset; /* out */
	__u64 mem_handle; /* out */
};

struct neuron_ioctl_notifications_init_with_realloc_v2 { /* 56 bytes */
	__u32 nq_dev_id; /* in */
	__u32 nq_dev_type; /* in */
	__u32 nq_type; /* in */
	__u32 engine_index; /* in */
	__u32 size; /* in */
	__u32 on_host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 force_alloc_mem; /* in */
	__u64 mmap_offset; /* out */
	__u64 mem_handle; /* out */
};

struct neuron_ioctl_neuron_ds_info { /* 24 bytes */
	__s32 pid; /* in */
	__u64 mmap_offset; /* out */
	__u32 size; /* out */
};

struct neuron_ioctl_notifications_destroy { /* 8 bytes */
	__u64 mmap_offset; /* in */
};

struct neuron_ioctl_notifications_destroy_nq { /* 12 bytes */
	__u32 nq_dev_id; /* in */
	__u32 nq_type; /* in */
	__u32 engine_index; /* in */
};

struct neuron_ioctl_notifications_queue_info { /* 12 bytes */
	__u8 nq_dev_id; /* in */
	__u8 nq_dev_type; /* in */
	__u8 nq_type; /* in */
	__u8 engine_index; /* in */
	__u32 head; /* out */
	__u32 phase_bit; /* out */
};

struct neuron_ioctl_read_hw_counters { /* 24 bytes */
	__u64 __user *address; /* in */
	__u32 __user *data; /* out */
	__u32 count; /* in */
};

struct neuron_ioctl_crwl { /* 36 bytes */
	__u32 nc_id; /* in */
	struct neuron_uuid uuid; /* in */
};

struct neuron_ioctl_crwl_nc_map { /* 24 bytes */
	__u32 nc_count; /* in */
	__u32 start_nc_index; /* in */
	__u32 end_nc_index; /* in */
	__u32 max_nc_available; /* out */
	__u64 bitmap; /* in/out */
};

struct neuron_ioctl_crwl_nc_map_ext { /* 80 bytes */
	__u32 nc_count; /* in */
	__u32 start_nc_index; /* in */
	__u32 end_nc_index; /* in */
	__u32 max_nc_available; /* out */
	__u64 bitmap[8]; /* in/out */
};

struct neuron_ioctl_cinit_set { /* 12 bytes */
	__u32 nc_id; /* in */
	__u32 state; /* in */
	__u32 new_state; /* out */
};

struct neuron_ioctl_nc_model_started_count { /* 16 bytes */
	__u32 nc_id; /* in */
	__u64 started_count; /* out */
};

struct neuron_ioctl_compatible_version { /* 8 bytes */
	__u32 max; /* out */
	__u32 min; /* out */
};

struct neuron_ioctl_device_basic_info { /* 8 bytes */
	__u32 architecture; /* out */
	__u32 revision; /* out */
};

struct neuron_ioctl_device_bdf { /* 8 bytes */
	__u32 bus_number; /* out */
	__u8 slot; /* out */
	__u8 func; /* out */
};

struct neuron_ioctl_device_bdf_ext { /* 16 bytes */
	__u32 nd_index; /* in */
	__u32 domain; /* out */
	__u32 bus_number; /* out */
	__u8 slot; /* out */
	__u8 func; /* out */
};

struct neuron_ioctl_resource_mmap_info { /* 32 bytes */
	__u32 block; /* in */
	__u32 block_id; /* in */
	__u32 resource; /* in */
	__u64 offset; /* out */
	__u64 size; /* out */
};

struct neuron_ioctl_device_info { /* 80 bytes */
	__u32 architecture; /* out */
	__u32 revision; /* out */
	__u32 connected_device_count; /* out */
	__u32 connected_devices[8]; /* out */
	__u64 bar_address[2]; /* out */
	__u64 bar_size[2]; /* out */
};

struct neuron_ioctl_dmabuf_fd { /* 24 bytes */
	__u64 va; /* in */
	__u64 size; /* in */
	__s32 __user *fd; /* out */
};

struct neuron_ioctl_device_driver_info { /* 24 bytes */
	__u32 architecture; /* out */
	__u32 revision; /* out */
	__u32 version; /* out */
	__u32 size; /* out */
	__u64 feature_flags1; /* out */
};

struct neuron_ioctl_mem_get_mc_mmap_info { /* 24 bytes */
	__u64 pa; /* in */
	__u64 mmap_offset; /* out */
	__u64 size; /* out */
};

struct neuron_ioctl_mem_get_mc_mmap_info_v2 { /* 32 bytes */
	__u64 pa; /* in */
	__u64 mmap_offset; /* out */
	__u64 size; /* out */
	__u64 mem_handle; /* out */
};

struct neuron_ioctl_printk { /* 16 bytes */
	void __user *buffer; /* in */
	__u32 size; /* in */
	__u32 action; /* in */
};

struct neuron_ioctl_host_device_id { /* 4 bytes */
	__u32 host_device_id; /* out */
};

struct neuron_ioctl_dump_mem_chunks { /* 24 bytes */
	__u32 hbm_index; /* in */
	__u32 num_entries_in; /* in */
	__u32 num_entries_out; /* out */
	struct neuron_ioctl_mem_chunk_info __user *data; /* out */
};

struct neuron_ioctl_nc_pid_state_dump { /* 16 bytes */
	__u32 size; /* in */
	__u32 nc_id; /* in */
	__u32 filter_log_owner; /* in */
	__u32 log_dump_limit; /* in */
};

struct neuron_ioctl_host_device_id_to_rid_map { /* 260 bytes */
	__u32 count; /* out */
	__u32 host_did_to_rid_map[64]; /* out */
};

struct neuron_ioctl_hbm_scrub_start { /* 16 bytes */
	__u32 nc_id; /* in */
	__u32 hbm_index; /* in */
	__u32 axi_port; /* in */
	__u32 init_val; /* in */
};

struct neuron_ioctl_hbm_scrub_wait { /* 8 bytes */
	__u32 nc_id; /* in */
	__u32 hbm_index; /* in */
};

struct neuron_ioctl_get_logical_to_physical_nc_map { /* 16 bytes */
	struct neuron_ioctl_nc_map __user *map; /* out */
	__u32 max_map_entries; /* in */
	__u32 mapping_version; /* in */
};

struct neuron_ioctl_pod_info { /* 260 bytes */
	__u16 sz; /* in/out */
	__u8 pod_type; /* out */
	__u8 pod_id[256]; /* out */
	__u8 pod_sz; /* out */
};

struct neuron_ioctl_pod_status { /* 268 bytes */
	__u16 sz; /* in/out */
	__u8 pod_id[256]; /* out */
	__u32 state; /* out */
	__u8 pod_type; /* out */
	__u8 pod_sz; /* out */
	__s8 node_id; /* out */
};

struct neuron_ioctl_pod_status_v2 { /* 276 bytes */
	struct neuron_ioctl_pod_status v1; /* in/out */
	__u32 mode; /* out */
	__u32 modes_supported; /* out */
};

struct neuron_ioctl_pod_ctrl { /* 16 bytes */
	__u16 sz; /* in */
	__u32 ctrl; /* in */
	__u32 timeout; /* in */
	__u32 state; /* out */
};

struct neuron_ioctl_pod_ctrl_v2 { /* 20 bytes */
	struct neuron_ioctl_pod_ctrl v1; /* in/out */
	__u32 mode; /* in */
};

struct neuron_ioctl_mem_buf_copy64zc { /* 48 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in/out */
	__u64 size; /* in */
	__u64 offset; /* in */
	__u32 is_copy_to_device; /* in */
	__u32 bar4_wr_threshold; /* in: writes up to it need no queue; 0: all do */
	__s32 h2t_qid; /* in: NEURON_H2T_QUEUE_DEFAULT or one of H2T_DMA_ALLOC_QUEUES */
	__u32 dummy;
};

struct neuron_ioctl_h2t_dma_alloc_queues { /* 20 bytes */
	__u16 sz; /* in */
	__u16 nc_id; /* in */
	__u16 copy_queue_cnt; /* in */
	__u16 service_queue_cnt; /* in */
	__u32 copy_queue_bmap; /* out */
	__u32 service_queue_bmap; /* out */
	__u32 copy_default_queue; /* out */
};

struct neuron_ioctl_h2t_dma_free_queues { /* 8 bytes */
	__u16 sz; /* in */
	__u8 nc_id; /* in */
	__u8 fill0;
	__u32 queue_bmap; /* in */
};

struct neuron_ioctl_power_profile { /* 8 bytes */
	__u16 sz; /* in */
	__u16 ctrl; /* in: 0 sets */
	__u32 profile; /* in */
};

struct neuron_ioctl_metrics_ctrl { /* 4 bytes */
	__u32 mode; /* in: 0 posts now and then, 1 does not */
};

struct neuron_ioctl_mem_buf_copy64zc_batches { /* 32 bytes */
	__u64 sequence_num; /* in */
	struct neuron_copy_batch __user *batches_ptr; /* in */
	__u32 num_batches; /* in */
	__u16 is_copy_to_device; /* in */
	__s32 h2t_qid; /* in */
	__u16 flags; /* in */
};

struct neuron_ioctl_throttling_notifications { /* 4 bytes */
	__u32 enable; /* in */
};

struct neuron_ioctl_get_va_placement { /* 16 bytes */
	__u64 va; /* in */
	__s32 device_index; /* out: -1, not a mapping of device memory */
	__s32 hbm_index; /* out */
};

/* 2.27.4.0 */
struct neuron_ioctl_available_perf_profiles { /* 36 bytes */
	__u16 requested_feature; /* in: 0, all */
	__u8 num_profiles; /* out */
	__u8 bitmap[32]; /* out */
};

struct neuron_ioctl_get_async_h2t_dma_compl_queues { /* 264 bytes */
	__u32 nc_id; /* in */
	__u32 qid_bitmap; /* in */
	struct {
		__u64 mmap_offset;
		__u32 mmap_size;
	} compl_queue_info[16]; /* out */
};

/* 2.28.0.0 */
struct neuron_ioctl_mem_alloc_v2_mem_type64_pa { /* 64 bytes */
	__u64 size; /* in */
	__u64 align; /* in */
	__u32 host_memory; /* in */
	__u32 dram_channel; /* in */
	__u32 dram_region; /* in */
	__u32 nc_id; /* in */
	__u32 mem_type; /* in */
	__u64 __user *mem_handle; /* out */
	__u32 pad;
	__u64 pa; /* out */
};

struct neuron_ioctl_host_mem_pin { /* 24 bytes */
	__u64 va; /* in */
	__u64 size; /* in */
	__u64 pa; /* out: ~0, it is not contiguous */
};

struct neuron_ioctl_host_mem_unpin { /* 8 bytes */
	__u64 va; /* in */
};

/* 2.29.0.0 */
struct neuron_ioctl_mem_buf_copy64zc_async { /* 64 bytes */
	__u64 mem_handle; /* in */
	void __user *buffer; /* in/out */
	__u64 size; /* in */
	__u64 offset; /* in */
	__u32 is_copy_to_device; /* in */
	__u32 bar4_wr_threshold; /* in */
	__s32 h2t_qid; /* in */
	__u32 dummy;
	__u64 sequence_num; /* in */
	void __user *context; /* in */
};

struct neuron_ioctl_dmabuf_fd_v2 { /* 32 bytes */
	__u64 va; /* in */
	__u64 size; /* in */
	__s32 __user *fd; /* out */
	__u64 __user *offset; /* out: of va in the buffer, whose pages are whole */
};

/*
 * Numbers: nr, encoded size, and the argument behind the pointer.
 * M: also accepted on an O_WRONLY descriptor; A: the process must be attached in the public
 * driver (the module asks for it wherever state changes).
 */
#define NEURON_IO(nr) _IOC(_IOC_NONE, NEURON_IOCTL_BASE, nr, 0)
#define NEURON_IOR(nr, size) _IOC(_IOC_READ, NEURON_IOCTL_BASE, nr, size)
#define NEURON_IOW(nr, size) _IOC(_IOC_WRITE, NEURON_IOCTL_BASE, nr, size)
#define NEURON_IOWR(nr, size) _IOC(_IOC_READ | _IOC_WRITE, NEURON_IOCTL_BASE, nr, size)

#define NEURON_IOCTL_DEVICE_RESET NEURON_IO(1)
#define NEURON_IOCTL_DEVICE_READY NEURON_IOR(2, 1) /* u8 out */
#define NEURON_IOCTL_DEVICE_INFO NEURON_IOR(3, 8) /* device_info */
#define NEURON_IOCTL_DEVICE_INIT NEURON_IOR(4, 8) /* device_init (ignored) */
#define NEURON_IOCTL_DEVICE_RELEASE NEURON_IO(5)
#define NEURON_IOCTL_DEVICE_APP_PID NEURON_IOR(6, 4) /* s32 out */
#define NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO NEURON_IOR(7, 8) /* get_apps_info + app_info[] */
#define NEURON_IOCTL_BAR_READ NEURON_IOR(11, 8) /* bar_rw */
#define NEURON_IOCTL_BAR_WRITE NEURON_IOW(12, 8) /* bar_rw, A */
#define NEURON_IOCTL_POST_METRIC NEURON_IOW(13, 8) /* post_metric, A */
#define NEURON_IOCTL_MEM_ALLOC NEURON_IOR(21, 8) /* mem_alloc, A */
#define NEURON_IOCTL_MEM_FREE NEURON_IOR(22, 8) /* mem_free, A */
#define NEURON_IOCTL_MEM_COPY NEURON_IOR(23, 8) /* mem_copy, A */
#define NEURON_IOCTL_MEM_COPY64 NEURON_IOR(23, 40) /* mem_copy64 */
#define NEURON_IOCTL_MEM_BUF_COPY NEURON_IOWR(24, 8) /* mem_buf_copy */
#define NEURON_IOCTL_MEM_BUF_COPY64 NEURON_IOWR(24, 40) /* mem_buf_copy64 */
#define NEURON_IOCTL_MEM_GET_PA NEURON_IOR(25, 8) /* mem_get_pa, A */
#define NEURON_IOCTL_MEM_GET_INFO NEURON_IOR(26, 8) /* mem_get_info, A */
#define NEURON_IOCTL_PROGRAM_ENGINE NEURON_IOWR(27, 8) /* program_engine */
#define NEURON_IOCTL_MEMSET NEURON_IOR(28, 8) /* memset */
#define NEURON_IOCTL_MEMSET64 NEURON_IOR(28, 32) /* memset64 */
#define NEURON_IOCTL_MEM_GET_EXTENDED_INFO NEURON_IOR(29, 8) /* mem_get_extended_info */
#define NEURON_IOCTL_DMA_ENG_INIT NEURON_IOR(30, 8) /* dma_eng_init, A */
#define NEURON_IOCTL_DMA_ENG_SET_STATE NEURON_IOR(31, 8) /* dma_eng_set_state, A */
#define NEURON_IOCTL_DMA_ENG_GET_STATE NEURON_IOWR(32, 8) /* dma_eng_get_state */
#define NEURON_IOCTL_DMA_QUEUE_INIT NEURON_IOR(33, 8) /* dma_queue_init, A */
#define NEURON_IOCTL_DMA_QUEUE_RELEASE NEURON_IOR(34, 8) /* dma_queue_release, A */
#define NEURON_IOCTL_DMA_QUEUE_COPY_START NEURON_IOR(35, 8) /* dma_queue_copy_start */
#define NEURON_IOCTL_DMA_ACK_COMPLETED NEURON_IOR(36, 8) /* dma_ack_completed, A */
#define NEURON_IOCTL_DMA_QUEUE_GET_STATE NEURON_IOWR(37, 8) /* dma_queue_get_state */
#define NEURON_IOCTL_DMA_COPY_DESCRIPTORS NEURON_IOR(38, 8) /* dma_copy_descriptors, A */
#define NEURON_IOCTL_DMA_COPY_DESCRIPTORS64 NEURON_IOR(38, 40) /* dma_copy_descriptors64 */
#define NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT NEURON_IOWR(39, 8) /* dma_descriptor_copyout */
#define NEURON_IOCTL_DMA_QUIESCE_QUEUES NEURON_IOR(40, 8) /* dma_quiesce_queues */
#define NEURON_IOCTL_SEMAPHORE_INCREMENT NEURON_IOR(41, 8) /* semaphore */
#define NEURON_IOCTL_SEMAPHORE_DECREMENT NEURON_IOR(42, 8) /* semaphore */
#define NEURON_IOCTL_SEMAPHORE_READ NEURON_IOWR(43, 8) /* semaphore */
#define NEURON_IOCTL_SEMAPHORE_WRITE NEURON_IOR(44, 8) /* semaphore */
#define NEURON_IOCTL_EVENT_SET NEURON_IOR(45, 8) /* event */
#define NEURON_IOCTL_EVENT_GET NEURON_IOWR(46, 8) /* event */
#define NEURON_IOCTL_NOTIFICATIONS_INIT_V1 NEURON_IOR(51, 8) /* notifications_init_v1, A */
#define NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1 NEURON_IOR(52, 8) /* notifications_destroy */
#define NEURON_IOCTL_NOTIFICATIONS_INIT_V2 NEURON_IOR(53, 8) /* notifications_init_v2, A */
#define NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2 NEURON_IOR(54, 8) /* A */
#define NEURON_IOCTL_NOTIFICATIONS_QUEUE_INFO NEURON_IOR(58, 8) /* notifications_queue_info */
#define NEURON_IOCTL_READ_HW_COUNTERS NEURON_IOR(61, 8) /* read_hw_counters */
#define NEURON_IOCTL_ACQUIRE_NEURON_DS NEURON_IOR(71, 8) /* neuron_ds_info */
#define NEURON_IOCTL_RELEASE_NEURON_DS NEURON_IOR(72, 8) /* neuron_ds_info */
#define NEURON_IOCTL_CRWL_READER_ENTER NEURON_IOW(81, 8) /* crwl */
#define NEURON_IOCTL_CRWL_READER_EXIT NEURON_IOW(82, 8) /* crwl */
#define NEURON_IOCTL_CRWL_WRITER_ENTER NEURON_IOW(83, 8) /* crwl */
#define NEURON_IOCTL_CRWL_WRITER_DOWNGRADE NEURON_IOW(84, 8) /* crwl */
#define NEURON_IOCTL_CRWL_NC_RANGE_MARK NEURON_IOW(85, 8) /* crwl_nc_map, M */
#define NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0 NEURON_IOWR(85, 80) /* crwl_nc_map_ext, M */
#define NEURON_IOCTL_CRWL_NC_RANGE_UNMARK NEURON_IOW(86, 8) /* crwl_nc_map, M */
#define NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0 NEURON_IOW(86, 80) /* crwl_nc_map_ext, M */
#define NEURON_IOCTL_CINIT_SET_STATE NEURON_IOW(91, 8) /* cinit_set */
#define NEURON_IOCTL_NC_MODEL_STARTED_COUNT NEURON_IOW(92, 8) /* nc_model_started_count */
#define NEURON_IOCTL_COMPATIBLE_VERSION NEURON_IOW(93, 8) /* compatible_version, M */
#define NEURON_IOCTL_DEVICE_BASIC_INFO NEURON_IOW(100, 8) /* device_basic_info, M */
#define NEURON_IOCTL_DEVICE_BDF NEURON_IOR(101, 8) /* device_bdf */
#define NEURON_IOCTL_MEM_ALLOC_V2 NEURON_IOR(102, 8) /* mem_alloc_v2 */
#define NEURON_IOCTL_MEM_ALLOC_V2MT NEURON_IOR(102, 48) /* mem_alloc_v2_mem_type */
#define NEURON_IOCTL_MEM_ALLOC_V2MT64 NEURON_IOR(102, 56) /* mem_alloc_v2_mem_type64 */
#define NEURON_IOCTL_MEM_ALLOC_V2MT64_PA NEURON_IOWR(102, 64) /* mem_alloc_v2_mem_type64_pa */
#define NEURON_IOCTL_NC_RESET NEURON_IOR(103, 8) /* device_reset */
#define NEURON_IOCTL_NC_RESET_READY NEURON_IOR(104, 8) /* device_ready */
#define NEURON_IOCTL_PROGRAM_ENGINE_NC NEURON_IOWR(105, 8) /* program_engine_nc */
#define NEURON_IOCTL_PROGRAM_ENGINE_NC64 NEURON_IOWR(105, 40) /* program_engine_nc64 */
#define NEURON_IOCTL_DEVICE_RESET_STATUS NEURON_IOR(106, 1) /* u8 out */
#define NEURON_IOCTL_DEVICE_BDF_EXT NEURON_IOR(106, 8) /* device_bdf_ext, M */
#define NEURON_IOCTL_DMABUF_FD NEURON_IOR(107, 8) /* dmabuf_fd, M */
#define NEURON_IOCTL_MEM_COPY_ASYNC NEURON_IOWR(108, 48) /* mem_copy_async, A */
#define NEURON_IOCTL_MEM_COPY_ASYNC64 NEURON_IOWR(108, 56) /* mem_copy_async64 */
#define NEURON_IOCTL_MEM_COPY_ASYNC_WAIT NEURON_IOW(109, 24) /* mem_copy_async_wait, A */
#define NEURON_IOCTL_DRIVER_INFO_GET NEURON_IOR(110, 24) /* device_driver_info, M */
#define NEURON_IOCTL_DRIVER_INFO_SET NEURON_IOW(110, 24) /* device_driver_info, M, A */
#define NEURON_IOCTL_MEM_MC_GET_INFO NEURON_IOWR(111, 24) /* mem_get_mc_mmap_info */
#define NEURON_IOCTL_MEM_MC_GET_INFO_V2 NEURON_IOWR(111, 32) /* mem_get_mc_mmap_info_v2 */
#define NEURON_IOCTL_RESOURCE_MMAP_INFO NEURON_IOWR(112, 32) /* resource_mmap_info */
#define NEURON_IOCTL_PRINTK NEURON_IOW(113, 16) /* printk, M */
#define NEURON_IOCTL_HOST_DEVICE_ID NEURON_IOR(114, 4) /* host_device_id */
#define NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP NEURON_IOWR(115, 260) /* M */
#define NEURON_IOCTL_DUMP_MEM_CHUNKS NEURON_IOR(116, 8) /* dump_mem_chunks */
#define NEURON_IOCTL_NC_PID_STATE_DUMP NEURON_IOWR(117, 16) /* nc_pid_state_dump, M */
#define NEURON_IOCTL_HBM_SCRUB_START NEURON_IOWR(118, 16) /* hbm_scrub_start */
#define NEURON_IOCTL_HBM_SCRUB_WAIT NEURON_IOWR(119, 8) /* hbm_scrub_wait */
#define NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP NEURON_IOWR(120, 16) /* M */
#define NEURON_IOCTL_POD_INFO NEURON_IOWR(121, 260) /* pod_info, M */
#define NEURON_IOCTL_POD_STATUS NEURON_IOWR(122, 268) /* pod_status, M */
#define NEURON_IOCTL_POD_STATUS_V2 NEURON_IOWR(122, 276) /* pod_status_v2, M */
#define NEURON_IOCTL_POD_CTRL NEURON_IOWR(123, 16) /* pod_ctrl, M */
#define NEURON_IOCTL_POD_CTRL_V2 NEURON_IOWR(123, 20) /* pod_ctrl_v2, M */
#define NEURON_IOCTL_MEM_BUF_ZEROCOPY64 NEURON_IOWR(124, 40) /* mem_buf_copy64; in 2.24 alone */
#define NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V2 NEURON_IOWR(124, 48) /* mem_buf_copy64zc */
#define NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V3 NEURON_IOWR(124, 64) /* mem_buf_copy64zc_async */
#define NEURON_IOCTL_H2T_DMA_ALLOC_QUEUES NEURON_IOWR(125, 20) /* h2t_dma_alloc_queues */
#define NEURON_IOCTL_H2T_DMA_FREE_QUEUES NEURON_IOWR(126, 8) /* h2t_dma_free_queues */
#define NEURON_IOCTL_POWER_PROFILE NEURON_IOW(127, 8) /* power_profile */
#define NEURON_IOCTL_METRICS_CTRL NEURON_IOW(128, 4) /* metrics_ctrl */
#define NEURON_IOCTL_MEM_BUF_ZEROCOPY64_BATCHES NEURON_IOWR(129, 32) /* mem_buf_copy64zc_batches */
#define NEURON_IOCTL_THROTTLING_NOTIFICATIONS NEURON_IOW(130, 4) /* throttling_notifications */
#define NEURON_IOCTL_GET_VA_PLACEMENT NEURON_IOW(131, 16) /* get_va_placement, M */
#define NEURON_IOCTL_GET_PERFORMANCE_PROFILE NEURON_IOWR(132, 8) /* power_profile */
#define NEURON_IOCTL_DMA_QUEUE_INIT_BATCH NEURON_IOR(133, 12296) /* dma_queue_init_batch */
#define NEURON_IOCTL_AVAILABLE_PERF_PROFILES NEURON_IOWR(134, 36) /* available_perf_profiles */
#define NEURON_IOCTL_GET_ASYNC_H2T_DMA_COMPL_QUEUES NEURON_IOWR(135, 264)
#define NEURON_IOCTL_HOST_MEM_PIN NEURON_IOWR(136, 24) /* host_mem_pin, M */
#define NEURON_IOCTL_HOST_MEM_UNPIN NEURON_IOW(137, 8) /* host_mem_unpin, M */
#define NEURON_IOCTL_DMABUF_FD_V2 NEURON_IOR(138, 8) /* dmabuf_fd_v2, M */

#endif
