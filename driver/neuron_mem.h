/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory chunks, neuron_mem.c. */
#ifndef NEURON_MEM_H
#define NEURON_MEM_H

#include "neuron_device.h"

enum neuron_lifespan {
	NEURON_LIFE_PROCESS, /* until the owner's last file goes */
	NEURON_LIFE_DEVICE,
};

struct neuron_mc {
	struct kref ref;
	struct neuron_device *nd;
	struct rb_node node; /* nd->chunks, by address */
	struct list_head link; /* nd->mcs, while it has a handle */
	u64 pa; /* device-side address, also the mmap offset */
	u64 size;
	void *va; /* host chunks */
	dma_addr_t dma;
	bool host;
	u8 pool;
	u8 nc;
	u8 type;
	u8 model_map; /* cores whose PE FIFO a descriptor in this chunk feeds */
	u8 domain; /* to which the guard grants it, 0: to none; neuron_guard.c */
	enum neuron_lifespan life;
	pid_t tgid;
	kuid_t uid;
	u32 handle; /* 0 once freed */
	struct list_head scratch; /* nd->scratch: a chunk of the contiguous scratchpad */
	struct neuron_mc *above; /* the owner's next one there, held; a span may go on in it */
	struct page *void_page; /* what mappings show once the chip has gone */
};

struct neuron_mc_args {
	u64 size, align;
	bool host;
	u32 channel, region, nc, type;
	enum neuron_lifespan life;
};

int neuron_mem_init(struct neuron_device *nd);
void neuron_mem_exit(struct neuron_device *nd);
/*
 * Makes a chunk with a handle, and a reference for the caller: others may free the handle at any
 * time
 */
int neuron_mc_alloc(struct neuron_device *nd, const struct neuron_mc_args *args,
		    struct neuron_mc **mc);
void neuron_mc_get(struct neuron_mc *mc);
void neuron_mc_put(struct neuron_mc *mc);
/* Takes handle and list away and drops the handle's reference */
void neuron_mc_free(struct neuron_mc *mc);
/* Finds the chunk of a handle, with a reference; access: what the caller wants to do with it */
enum neuron_access { NEURON_MAY_READ, NEURON_MAY_WRITE };
struct neuron_mc *neuron_mc_lookup(struct neuron_device *nd, u64 handle, enum neuron_access access);
struct neuron_mc *neuron_mc_at(struct neuron_device *nd, u64 pa); /* containing pa, referenced */
unsigned int neuron_mc_memory(const struct neuron_mc *mc); /* of the chip's, that it lies in */
bool neuron_mc_range(const struct neuron_mc *mc, u64 offset, u64 size);
bool neuron_mc_owned(const struct neuron_mc *mc);
bool neuron_mc_readable(const struct neuron_mc *mc);
bool neuron_host_range_owned(struct neuron_device *nd, u64 pa, u64 size);
int neuron_mem_scrub(struct neuron_device *nd, unsigned int memory, unsigned int nc, u32 value);
int neuron_mem_scrub_result(struct neuron_device *nd, unsigned int memory);
void neuron_mem_free_all(struct neuron_device *nd, pid_t tgid);
void neuron_mem_usage(struct neuron_device *nd, pid_t tgid, u64 *host, u64 *device);

#endif
