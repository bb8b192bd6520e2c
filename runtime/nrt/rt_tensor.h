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

/* What an nrt_tensor_set_t points to */
struct rt_set {
	pthread_mutex_t lock;
	unsigned int n, cap;
	struct rt_set_item *item;
};

/* True if a device tensor's mapping on the device has the address; and in which memory it lies */
bool rt_tensor_placement(const void *va, int device, int *memory);

nrt_tensor_t *rt_set_find(const nrt_tensor_set_t *set, const char *name);

#endif
