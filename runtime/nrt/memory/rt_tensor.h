/* SPDX-License-Identifier: MIT */
/* Tensors (tensor.c) and sets of them (tensor_set.c) */
#ifndef RT_TENSOR_H
#define RT_TENSOR_H

#include "rt_memory.h"

struct rt_storage {
	unsigned int refs;
	nrt_tensor_placement_t placement;
	struct rt_core *core; /* of a DEVICE tensor */
	struct rt_chunk chunk; /* of a DEVICE tensor */
	void *va; /* host memory, or the mapping of device memory once somebody asked for it */
	size_t size;
	bool owned; /* va is freed with the storage */
	pthread_mutex_t lock; /* protects the creation of the mapping */
	unsigned int pending; /* queued requests that have it; see rt_tensor_settle */
	struct rt_storage *next_mapped; /* of device memory that is mapped */
};

struct nrt_tensor {
	char *name;
	struct rt_storage *storage; /* NULL: an empty tensor */
	size_t offset, size;
	uint64_t completions; /* executions that delivered this output */
};

struct rt_set_item {
	char *name;
	nrt_tensor_t *tensor;
};

/* The set of tensors that an nrt_tensor_set_t points to */
struct rt_set {
	pthread_mutex_t lock;
	unsigned int n, cap;
	struct rt_set_item *item;
	bool copied; /* by rt_set_copy, or made by rt_set_init */
};

/*
 * In pending.c: a queued request has a tensor (on) until it is completed. settle waits until none
 * has; a NULL or empty tensor has none.
 */
void rt_tensor_pending(const nrt_tensor_t *tensor, bool on);
void rt_tensor_settle(const nrt_tensor_t *tensor);
extern _Thread_local bool rt_in_queue; /* this thread carries out a queue's requests */

/* The calls without that wait, in a call that has begun */
NRT_STATUS rt_tensor_check(const nrt_tensor_t *tensor, size_t offset, size_t size);
NRT_STATUS rt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
NRT_STATUS rt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);
NRT_STATUS rt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			  size_t dst_offset, size_t size);

/* In mapped.c: the storage's va was set, or is about to go */
void rt_mapped_add(struct rt_storage *storage);
void rt_mapped_remove(struct rt_storage *storage);
/* True if a device tensor's mapping on the device has the address; and in which memory it lies */
bool rt_tensor_placement(const void *va, int device, int *memory);

/* An empty set, zeroed before; and a tensor more, in the place of one of that name. No lock */
void rt_set_init(struct rt_set *set);
NRT_STATUS rt_set_add(struct rt_set *set, const char *name, nrt_tensor_t *tensor);
/* A copy of a set's names and tensors; false: out of memory. drop frees what a copy holds. */
bool rt_set_copy(struct rt_set *copy, const nrt_tensor_set_t *set);
void rt_set_drop(struct rt_set *copy);

nrt_tensor_t *rt_set_find(const nrt_tensor_set_t *set, const char *name);

#endif
