/* SPDX-License-Identifier: MIT */
/*
 * Inside libndl: what a backend provides. ndl.c checks arguments that are wrong for every backend
 * and calls through these tables; node*.c talk to /dev/neuronN, emu*.c to chips in this process.
 * Every function returns 0 or -errno unless ndl.h says otherwise.
 */
#ifndef NDL_PRIV_H
#define NDL_PRIV_H

#include "ndl.h"

/* The machine: one at a time in a process. start's instance is "inf1.6xlarge", or "" for nodes */
struct ndl_backend {
	int (*start)(const char *instance);
	int (*stop)(void); /* -EBUSY while a device is open */
	const char *(*instance)(void);
	int (*version)(char *text, size_t size);
	int (*compatible)(uint32_t *min, uint32_t *max);
	int (*features)(uint64_t *flags);
	int (*available)(int *indexes, int size);
	int (*open)(int index, const ndl_device_init_param_t *params, ndl_device_t **device);
	int (*bdf)(int index, struct ndl_bdf *bdf);
	int (*links)(int index, bool *east, bool *west);
	int (*mark)(uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
		    uint32_t *available);
	int (*unmark)(uint32_t first, uint32_t count);
};

extern const struct ndl_backend ndl_node_backend;
extern const struct ndl_backend ndl_emu_backend;

/* How a core is asked for a lock, and how a semaphore is changed: one entry each in ndl_ops */
enum ndl_crwl_op { NDL_CRWL_READ_ENTER, NDL_CRWL_READ_EXIT, NDL_CRWL_WRITE_ENTER,
		   NDL_CRWL_DOWNGRADE };
enum ndl_sem_op { NDL_SEM_INC, NDL_SEM_DEC, NDL_SEM_READ, NDL_SEM_WRITE };

/* A device */
struct ndl_ops {
	int (*close)(ndl_device_t *dev);
	int (*nc_count)(ndl_device_t *dev, uint32_t *count);
	int (*dram_size)(ndl_device_t *dev, uint32_t channel, uint64_t *size);

	int (*bar_read)(ndl_device_t *dev, unsigned int bar, const uint64_t *offset,
			uint32_t *data, uint32_t count);
	int (*bar_write)(ndl_device_t *dev, unsigned int bar, const uint64_t *offset,
			 const uint32_t *data, uint32_t count);
	int (*read_hw_counters)(ndl_device_t *dev, const uint64_t *addr, uint32_t *data,
				uint32_t count);

	int (*mem_alloc)(ndl_device_t *dev, const struct ndl_mem_params *params, uint64_t *handle);
	int (*mem_free)(ndl_device_t *dev, uint64_t handle);
	int (*mem_info)(ndl_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size);
	int (*mem_map)(ndl_device_t *dev, uint64_t handle, void **va);
	int (*mem_unmap)(ndl_device_t *dev, uint64_t handle, void *va);
	int (*mem_copy)(ndl_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
			uint64_t dst_offset, uint64_t size);
	int (*buf_copy)(ndl_device_t *dev, uint64_t handle, void *buf, uint64_t offset,
			uint64_t size, bool in);
	int (*mem_set)(ndl_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
		       uint64_t size);
	int (*dmabuf_fd)(ndl_device_t *dev, uint64_t va, uint64_t size, int *fd);

	int (*eng_set_state)(ndl_device_t *dev, uint32_t eng, uint32_t state);
	int (*eng_get_state)(ndl_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state);
	int (*queue_init)(ndl_device_t *dev, const struct ndl_queue_params *params,
			  uint32_t count);
	int (*queue_release)(ndl_device_t *dev, uint32_t eng, uint32_t qid);
	int (*queue_start)(ndl_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx,
			   uint32_t rx);
	int (*queue_state)(ndl_device_t *dev, uint32_t eng, uint32_t qid,
			   struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
	int (*copy_descriptors)(ndl_device_t *dev, uint64_t handle, const void *descs,
				uint64_t offset, uint32_t count, enum neuron_dma_queue_type type);
	int (*descriptor_copyout)(ndl_device_t *dev, uint32_t eng, uint32_t qid,
				  enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
				  void *descs);

	int (*semaphore)(ndl_device_t *dev, enum ndl_sem_op op, uint32_t nc, uint32_t index,
			 uint32_t *value);
	int (*event)(ndl_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value);

	int (*nq_init)(ndl_device_t *dev, const struct ndl_nq_params *params, void **va);
	int (*nq_destroy)(ndl_device_t *dev, void *va);

	int (*nds_open)(ndl_device_t *dev, int pid, void **data, size_t *size);
	int (*nds_close)(ndl_device_t *dev, int pid, void *data, size_t size);

	int (*crwl)(ndl_device_t *dev, enum ndl_crwl_op op, uint32_t nc,
		    const struct neuron_uuid *uuid);
	int (*reset)(ndl_device_t *dev, uint32_t nc_map, uint32_t *request_id);
	int (*ready)(ndl_device_t *dev, uint32_t request_id, int *result);
	int (*cinit)(ndl_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state);
	int (*started_count)(ndl_device_t *dev, uint32_t nc, uint64_t *count);
	int (*apps_info)(ndl_device_t *dev, struct neuron_app_info **info, size_t *count,
			 uint16_t flags);
	int (*printk)(ndl_device_t *dev, const char *text);
};

#endif
