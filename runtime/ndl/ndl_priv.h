/* SPDX-License-Identifier: MIT */
/*
 * Private to libndl: what a backend provides. Argument checks that all backends need are in
 * ndl_device.c.
 */
#ifndef NDLX_PRIV_H
#define NDLX_PRIV_H

#include <errno.h>
#include <stdatomic.h>

#include "ndlx.h"

struct ndlx_waiter {
	ndlx_device_t *dev;
	uint32_t nc;
	uint32_t seen; /* emu, served: the number of entries when it last looked */
	unsigned int works; /* served: how often it looked at its core at work */
	int fd; /* node: a file of its own, which remembers the entries that were seen */
	int wake_fd; /* node: an eventfd that ndlx_wait_wake() writes */
	atomic_bool woken; /* ndlx_wait_wake() was called since it last looked */
};

/* The operations on a core's lock */
enum ndlx_crwl {
	NDLX_CRWL_READER_ENTER,
	NDLX_CRWL_READER_EXIT,
	NDLX_CRWL_WRITER_ENTER,
	NDLX_CRWL_WRITER_DOWNGRADE,
};

/* The functions of the machine as a whole; state is the backend's */
struct ndlx_machine_ops {
	int (*open)(const char *instance, void **state);
	void (*close)(void *state);
	int (*available)(void *state, int *indexes, int size);
	int (*device_open)(void *state, int index, const ndlx_device_init_param_t *params,
			   ndlx_device_t *dev);
	int (*bdf)(void *state, int index, struct ndlx_bdf *bdf);
	int (*gen)(void *state, int index, const struct neuron_gen **gen);
	int (*links)(void *state, int index, bool up[NEURON_PORTS_MAX]);
	/* NULL: the same as links */
	int (*device_links)(ndlx_device_t *dev, bool up[NEURON_PORTS_MAX]);
	int (*driver_version)(void *state, char *version, size_t size);
	int (*compatible)(void *state, uint32_t *min, uint32_t *max);
	int (*features)(void *state, uint64_t *features);
	const char *(*instance)(void *state);
	uint64_t (*key)(void *state); /* NULL: the machine is the host's */
	int (*range_mark)(void *state, uint32_t count, uint32_t start, uint32_t end,
			  uint32_t *first, uint32_t *available);
	int (*range_unmark)(void *state, uint32_t first, uint32_t count);
	int (*call)(void *state, unsigned long request, void *arg); /* NULL: there is no module */
	/* NULL: faults cannot be injected */
	int (*fault)(void *state, int index, const char *fault);
	/* NULL: a child goes on with what it inherited. Else in the child, which has no chips */
	void (*forked)(void *state);
};

struct ndlx_ops {
	int (*close)(ndlx_device_t *dev);
	int (*bar_read)(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
			uint32_t *data, uint32_t count);
	int (*bar_write)(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
			 const uint32_t *data, uint32_t count);
	int (*read_hw_counters)(ndlx_device_t *dev, const uint64_t *addr, uint32_t *data,
				uint32_t count);
	int (*mem_alloc)(ndlx_device_t *dev, const struct ndlx_mem_params *p, uint64_t *handle);
	int (*mem_free)(ndlx_device_t *dev, uint64_t handle);
	int (*mem_info)(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size);
	int (*mem_map)(ndlx_device_t *dev, uint64_t handle, void **va);
	int (*mem_unmap)(ndlx_device_t *dev, uint64_t handle, void *va);
	int (*mem_copy)(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
			uint64_t dst_offset, uint64_t size);
	/* optional */
	int (*mem_move)(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
			uint64_t dst_offset, uint64_t size);
	int (*mem_forget)(ndlx_device_t *dev, uint64_t handle); /* optional */
	int (*buf_copy)(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset,
			uint64_t size, bool to_device, bool zerocopy);
	int (*mem_set)(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
		       uint64_t size);
	int (*block_map)(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
			 enum neuron_mmap_resource resource, void **va, uint64_t *size);
	int (*dram_chunks)(ndlx_device_t *dev, uint32_t channel,
			   struct neuron_ioctl_mem_chunk_info *info, uint32_t *count);
	int (*core_write)(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
			  uint64_t size);
	int (*call)(ndlx_device_t *dev, unsigned long request, void *arg); /* NULL: no module */
	int (*dmabuf_fd)(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd);
	int (*eng_set_state)(ndlx_device_t *dev, uint32_t eng, uint32_t state);
	int (*eng_get_state)(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state);
	int (*queue_init)(ndlx_device_t *dev, const struct ndlx_queue_params *p, uint32_t count);
	int (*queue_release)(ndlx_device_t *dev, uint32_t eng, uint32_t qid);
	int (*queue_start)(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx,
			   uint32_t rx);
	int (*queue_state)(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
			   struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
	int (*copy_descs)(ndlx_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
			  uint32_t count, enum neuron_dma_queue_type type);
	int (*descs_out)(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
			 enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
			 void *descs);
	int (*semaphore)(ndlx_device_t *dev, enum neuron_sem_access op, uint32_t nc, uint32_t index,
			 uint32_t *value);
	int (*event)(ndlx_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value);
	int (*nq_init)(ndlx_device_t *dev, const struct ndlx_nq_params *p, void **va);
	int (*nq_destroy)(ndlx_device_t *dev, void *va);
	int (*wait_open)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	int (*wait_look)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	int (*wait)(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us);
	void (*wait_wake)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	/* these three are NULL where the chip is no program */
	void (*wait_lend)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	bool (*wait_work)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	void (*wait_leave)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	void (*wait_close)(ndlx_device_t *dev, struct ndlx_waiter *waiter);
	int (*datastore_open)(ndlx_device_t *dev, int pid, void **data, size_t *size);
	int (*datastore_close)(ndlx_device_t *dev, int pid, void *data, size_t size);
	int (*crwl)(ndlx_device_t *dev, enum ndlx_crwl op, uint32_t nc,
		    const struct neuron_uuid *uuid);
	int (*reset)(ndlx_device_t *dev, uint32_t nc_map, uint32_t *request_id);
	int (*ready)(ndlx_device_t *dev, uint32_t request_id, int *result);
	int (*cinit)(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state);
	int (*started_count)(ndlx_device_t *dev, uint32_t nc, uint64_t *count);
	int (*apps)(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count,
		    uint16_t flags);
	int (*printk)(ndlx_device_t *dev, const char *text);
};

/*
 * In node_level.c: the reason why the node's driver refused a number with -ENOTSUP; false if that
 * did not happen
 */
bool node_level_text(char *text, size_t size);

extern const struct ndlx_machine_ops ndlx_node_machine;
extern const struct ndlx_machine_ops ndlx_emu_machine;
extern const struct ndlx_machine_ops ndlx_served_machine;

/* True if [offset, offset + size) lies inside [0, limit) */
static inline bool ndlx_range_ok(uint64_t offset, uint64_t size, uint64_t limit)
{
	return offset <= limit && size <= limit - offset;
}

/* In ndl.c: 0, or -EOWNERDEAD in a child of the process that has the machine */
int machine_usable(void);
/* -ENODEV of a device that was unplugged */
static inline int device_gone(const ndlx_device_t *dev)
{
	return dev->gone && __atomic_load_n(dev->gone, __ATOMIC_ACQUIRE) ? -ENODEV : 0;
}
#define NDLX_CALL(fn, ...) (machine_usable() ?: device_gone(dev) ?: dev->ops->fn(dev, __VA_ARGS__))

/* A channel's regions have one size. */
static inline uint64_t region_size(const struct neuron_gen *gen)
{
	return gen->memory[0].size / NDLX_REGIONS;
}

/*
 * In ndl_link.c: the port of a device, of those in up, by which an instance's topology leads to
 * another device. An instance that is not known is taken as a line. Returns -ENOENT if there is
 * none.
 */
int link_port(const char *instance, int from, int to, const bool up[NEURON_PORTS_MAX]);
/* The number of links between two devices; -ENOENT: none lead there */
int link_distance(const char *instance, int from, int to);

#endif
