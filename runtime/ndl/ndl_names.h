/* SPDX-License-Identifier: MIT */
/*
 * libnrt.so.1 exports the public driver library (<ndl/ndl.h>), whose functions have names of this
 * one with other arguments. So that one library can hold both, these have other names for the
 * linker. Included by ndl.h alone.
 */
#ifndef NDL_NAMES_H
#define NDL_NAMES_H

#define ndl_available_devices ndlx_available_devices
#define ndl_bar_read ndlx_bar_read
#define ndl_bar_write ndlx_bar_write
#define ndl_close_device ndlx_close_device
#define ndl_crwl_nc_range_mark ndlx_crwl_nc_range_mark
#define ndl_crwl_nc_range_unmark ndlx_crwl_nc_range_unmark
#define ndl_crwl_reader_enter ndlx_crwl_reader_enter
#define ndl_crwl_reader_exit ndlx_crwl_reader_exit
#define ndl_crwl_writer_downgrade ndlx_crwl_writer_downgrade
#define ndl_crwl_writer_enter ndlx_crwl_writer_enter
#define ndl_dma_copy_descriptors ndlx_dma_copy_descriptors
#define ndl_dma_descriptor_copyout ndlx_dma_descriptor_copyout
#define ndl_dma_eng_get_state ndlx_dma_eng_get_state
#define ndl_dma_eng_set_state ndlx_dma_eng_set_state
#define ndl_dma_queue_copy_start ndlx_dma_queue_copy_start
#define ndl_dma_queue_get_state ndlx_dma_queue_get_state
#define ndl_dma_queue_init ndlx_dma_queue_init
#define ndl_dma_queue_init_batch ndlx_dma_queue_init_batch
#define ndl_dma_queue_release ndlx_dma_queue_release
#define ndl_feature_supported ndlx_feature_supported
#define ndl_get_all_apps_info ndlx_get_all_apps_info
#define ndl_get_compatible_version ndlx_get_compatible_version
#define ndl_get_device_bdf ndlx_get_device_bdf
#define ndl_get_dmabuf_fd ndlx_get_dmabuf_fd
#define ndl_get_version ndlx_get_version
#define ndl_memory_alloc ndlx_memory_alloc
#define ndl_memory_buf_copyin ndlx_memory_buf_copyin
#define ndl_memory_buf_copyout ndlx_memory_buf_copyout
#define ndl_memory_copy ndlx_memory_copy
#define ndl_memory_free ndlx_memory_free
#define ndl_memory_get_pa ndlx_memory_get_pa
#define ndl_memory_map ndlx_memory_map
#define ndl_memory_unmap ndlx_memory_unmap
#define ndl_memset ndlx_memset
#define ndl_nc_event_get ndlx_nc_event_get
#define ndl_nc_event_set ndlx_nc_event_set
#define ndl_nc_init_set_state ndlx_nc_init_set_state
#define ndl_nc_model_started_count ndlx_nc_model_started_count
#define ndl_nc_semaphore_decrement ndlx_nc_semaphore_decrement
#define ndl_nc_semaphore_increment ndlx_nc_semaphore_increment
#define ndl_nc_semaphore_read ndlx_nc_semaphore_read
#define ndl_nc_semaphore_write ndlx_nc_semaphore_write
#define ndl_nds_close ndlx_nds_close
#define ndl_nds_open ndlx_nds_open
#define ndl_notification_destroy ndlx_notification_destroy
#define ndl_notification_init ndlx_notification_init
#define ndl_open_device ndlx_open_device
#define ndl_printk ndlx_printk
#define ndl_read_hw_counters ndlx_read_hw_counters
#define ndl_ready_ncs ndlx_ready_ncs
#define ndl_reset_ncs ndlx_reset_ncs

#endif
