/* SPDX-License-Identifier: MIT */
/* Private to libndl's node backend: a device is an open /dev/neuronN */
#ifndef NDLX_NODE_H
#define NDLX_NODE_H

#include <pthread.h>
#include <sys/ioctl.h>

#include "ndl_priv.h"

struct node_mapping {
	struct node_mapping *next;
	void *va;
	size_t size;
};

struct node_device { /* the priv of a device */
	int fd;
	bool zerocopy_v2; /* the driver announces the form of zero-copy that came with 2.25 */
	pthread_mutex_t lock; /* protects mappings */
	struct node_mapping *mappings;
};

extern const struct ndlx_ops node_ops;

static inline struct node_device *node_device(ndlx_device_t *dev)
{
	return dev->priv;
}

/*
 * ioctl with the errors of this library: for a bad pointer the public driver returns a positive
 * count of bytes, which becomes -EFAULT. A number that the driver is too old for is not passed.
 */
int node_ioctl(int fd, unsigned long request, void *arg);

/* Opens a node; with O_RDWR the process is attached. Returns a descriptor or -errno */
int node_open(int index, int flags);
/* a file's first line; 0 or -errno */
int node_read_line(const char *path, char *line, size_t size);

/* In node_level.c. The level is read when a node is opened; tests set it. */
void node_level_read(void);
void node_level_set(const char *version);
bool node_has(unsigned long request); /* true if the loaded driver is new enough for the number */
int node_refused(unsigned long request); /* the same as 0 or -ENOTSUP, for ndlx_error_text() */
/* A NEURON_MEMALLOC_TYPE_*, or the one that a driver before it has for the same */
uint32_t node_memory_type(uint32_t type);

/* node_wait.c */
int node_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int node_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int node_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us);
void node_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void node_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter);

/* node_view.c */
int node_block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		   enum neuron_mmap_resource resource, void **va, uint64_t *size);
int node_dram_chunks(ndlx_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		     uint32_t *count);
int node_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		    uint64_t size);
int node_call(ndlx_device_t *dev, unsigned long request, void *arg);

/* Maps the node at one of the driver's offsets; the mapping is remembered for node_unmap(). */
int node_map(struct node_device *node, uint64_t offset, uint64_t size, bool writable, void **va);
int node_unmap(struct node_device *node, void *va);

#endif
