/* SPDX-License-Identifier: MIT */
/* Inside libndl's node backend: a device is an open /dev/neuronN. */
#ifndef NDL_NODE_H
#define NDL_NODE_H

#include <pthread.h>

#include "ndl_priv.h"

struct node_mapping {
	struct node_mapping *next;
	void *va;
	size_t size;
};

struct node_device { /* a device's priv */
	int fd;
	pthread_mutex_t lock; /* protects mappings */
	struct node_mapping *mappings;
};

extern const struct ndl_ops node_ops;

static inline struct node_device *node_device(ndl_device_t *dev)
{
	return dev->priv;
}

/*
 * ioctl with the errors of this library: the public driver returns a positive count of bytes for
 * a bad pointer, which is -EFAULT.
 */
int node_ioctl(int fd, unsigned long request, void *arg);

int node_open(int index, int flags); /* O_RDWR: attached; a descriptor or -errno */
int node_read_line(const char *path, char *line, size_t size); /* a file's first line; -errno */

/* node_level.c: read when a node is opened; set: for tests */
void node_level_read(void);
void node_level_set(const char *version);
bool node_has(unsigned long request); /* the loaded driver is new enough for the number */
int node_level_error(unsigned long request, int err); /* -ENOTSUP if that is why it was refused */

/* node_wait.c */
int node_wait_open(ndl_device_t *dev, struct ndl_waiter *waiter);
int node_wait_look(ndl_device_t *dev, struct ndl_waiter *waiter);
int node_wait(ndl_device_t *dev, struct ndl_waiter *waiter, uint64_t timeout_us);
void node_wait_wake(ndl_device_t *dev, struct ndl_waiter *waiter);
void node_wait_close(ndl_device_t *dev, struct ndl_waiter *waiter);

/* Mappings of the node at a driver's offset, remembered for node_unmap() */
int node_map(struct node_device *node, uint64_t offset, uint64_t size, bool writable, void **va);
int node_unmap(struct node_device *node, void *va);

#endif
