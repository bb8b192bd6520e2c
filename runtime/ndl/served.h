/* SPDX-License-Identifier: MIT */
/*
 * Private to libndl's served backend: chips that a server on this machine hosts (runtime/emud).
 * What is said is in wire.h.
 *
 * Locks, in this order: chip.lock (opens, and what the process has on a chip), channel.lock (one
 * thread speaks at a time), socket_lock (what goes over the socket and comes back).
 */
#ifndef NDLX_SERVED_H
#define NDLX_SERVED_H

#include <pthread.h>

#include "instance.h"
#include "ndl_priv.h"
#include "wire.h"

/* A call of a device, for the next function alone */
#define CALL(dev, ...) (&(struct wire_call){ .device = (dev)->device_index, __VA_ARGS__ })

struct served_channel {
	pthread_mutex_t lock;
	struct wire_channel *shared; /* NULL: not open yet */
	uint8_t *data;
	uint32_t head; /* calls so far; what is beyond the shared one is not shared yet */
	bool corked; /* calls are held back, to be seen at once (as TCP_CORK does) */
};

/* A chunk of device memory that is copied to and from again and again, mapped to do it without
 * calls */
struct served_view {
	uint8_t *va;
	uint64_t size;
	unsigned int users; /* copies under way, and the chunk */
};

struct served_chunk {
	uint64_t addr, size; /* 0: none of the process's */
	unsigned int copies; /* by calls */
	struct served_view *view; /* may be NULL */
};

struct served_queue {
	bool used;
	uint64_t rx_handle;
};

/* The process's holdings on a chip, whichever of its devices took them */
struct served_chip {
	pthread_mutex_t lock;
	unsigned int opens;
	struct wire_device info;
	struct served_chunk *chunk; /* by handle */
	uint64_t chunks;
	unsigned int views;
	struct served_queue (*queue)[NEURON_DMA_QUEUES_PER_ENG];
	void *nds; /* its own datastore */
	unsigned int nds_users;
};

struct served {
	int fd;
	uint8_t *base; /* of the file */
	uint64_t size, physical; /* of it, and where the chips see it */
	bool direct; /* copies need not go through the chip */
	uint32_t server; /* its process, as it says */
	const struct neuron_instance *instance;
	atomic_bool dead; /* the server is gone */
	pthread_t watcher;
	int stop; /* an eventfd that ends the watcher */
	pthread_mutex_t socket_lock;
	struct served_channel channel[WIRE_CHANNELS];
	struct served_chip chip[NDLX_MAX_DEVICES];
};

struct served_mapping {
	struct served_mapping *next;
	void *va;
	size_t size;
};

struct served_device { /* the priv of a device */
	struct served *m;
	struct served_chip *chip;
	pthread_mutex_t lock; /* protects mappings */
	struct served_mapping *mappings;
};

static inline struct served_device *served_device(const ndlx_device_t *dev)
{
	return dev->priv;
}

extern const struct ndlx_ops served_ops;

/* served_channel.c */
/* Opens the connection; -ENODEV: no server listens there, -EPROTO: one of another version */
int served_connect(struct served *m, const char *path, char instance[32]);
void served_disconnect(struct served *m);
void served_forked(void *state); /* in a child, which has nothing here */

/* A call that waits for its answer, with data that goes in and data that comes out; NULL: none */
struct served_data {
	const void *in;
	size_t in_size;
	void *out;
	size_t out_size;
};
int served_call(struct served *m, struct wire_call *call, const struct served_data *data);
/* served_call() that takes the file which comes with the answer */
int served_call_fd(struct served *m, struct wire_call *call, int *fd);
/* A call that has no answer */
int served_post(struct served *m, const struct wire_call *call);
/* Keeps this thread's posted calls back until there is one to wait for, or served_flush(). */
void served_cork(struct served *m);
void served_flush(struct served *m);
/*
 * Looks for a while whether the server executes a core that this thread lent; true: it still does
 */
bool served_works(struct served *m);

/* served_mem.c */
int served_mem_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *p, uint64_t *handle);
int served_mem_free(ndlx_device_t *dev, uint64_t handle);
int served_mem_info(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size);
int served_mem_map(ndlx_device_t *dev, uint64_t handle, void **va);
int served_mem_unmap(ndlx_device_t *dev, uint64_t handle, void *va);
int served_mem_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size);
int served_buf_copy(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset, uint64_t size,
		    bool to_device, bool zerocopy);
int served_mem_set(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
		   uint64_t size);
int served_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		      uint64_t size);
bool served_chunk_known(struct served_chip *chip, uint64_t handle);
void served_unmap_all(ndlx_device_t *dev);
void served_chunks_drop(struct served_chip *chip); /* its lock is held */
int served_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size);
int served_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size);

/* served_wait.c */
int served_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int served_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter);
int served_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us);
void served_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void served_wait_lend(ndlx_device_t *dev, struct ndlx_waiter *waiter);
bool served_wait_work(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void served_wait_leave(ndlx_device_t *dev, struct ndlx_waiter *waiter);
void served_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter);

#endif
