/* SPDX-License-Identifier: MIT */
/*
 * libndl's node backend, mappings, and what is asked of a device beside its work: views of its
 * blocks, chunks of its memories, what goes into a core's window, and any other ioctl
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "node.h"

#define CALL(dev, request, ...) node_ioctl(node_device(dev)->fd, (request), &(__VA_ARGS__))

int node_map(struct node_device *node, uint64_t offset, uint64_t size, bool writable, void **va)
{
	struct node_mapping *mapping = malloc(sizeof(*mapping));

	if (!mapping)
		return -ENOMEM;
	mapping->size = size;
	mapping->va = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
			   node->fd, (off_t)offset);
	if (mapping->va == MAP_FAILED) {
		int err = -errno;

		free(mapping);
		return err;
	}
	pthread_mutex_lock(&node->lock);
	mapping->next = node->mappings;
	node->mappings = mapping;
	pthread_mutex_unlock(&node->lock);
	*va = mapping->va;
	return 0;
}

int node_unmap(struct node_device *node, void *va)
{
	struct node_mapping **p, *mapping;

	pthread_mutex_lock(&node->lock);
	for (p = &node->mappings; *p && (*p)->va != va; p = &(*p)->next)
		;
	mapping = *p;
	if (mapping)
		*p = mapping->next;
	pthread_mutex_unlock(&node->lock);
	if (!mapping)
		return -EINVAL;
	munmap(mapping->va, mapping->size);
	free(mapping);
	return 0;
}

int node_block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		   enum neuron_mmap_resource resource, void **va, uint64_t *size)
{
	struct neuron_ioctl_resource_mmap_info arg = {
		.block = block,
		.block_id = id,
		.resource = resource,
	};
	int err = CALL(dev, NEURON_IOCTL_RESOURCE_MMAP_INFO, arg);

	if (err || !arg.size)
		return err == -EINVAL || !err ? -ENOTSUP : err;
	*size = arg.size;
	return node_map(node_device(dev), arg.offset, arg.size,
			resource != NEURON_MMAP_RESOURCE_ALL, va);
}

int node_dram_chunks(ndlx_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		     uint32_t *count)
{
	struct neuron_ioctl_dump_mem_chunks arg = {
		.hbm_index = channel,
		.num_entries_in = *count,
		.data = info,
	};
	int err = CALL(dev, NEURON_IOCTL_DUMP_MEM_CHUNKS, arg);

	if (!err || err == -EAGAIN)
		*count = arg.num_entries_out;
	return err;
}

int node_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		    uint64_t size)
{
	struct neuron_ioctl_program_engine_nc64 arg = {
		.nc_id = nc,
		.dst = address,
		.buffer = (void *)(uintptr_t)buf,
		.size = size,
	};

	return CALL(dev, NEURON_IOCTL_PROGRAM_ENGINE_NC64, arg);
}

int node_call(ndlx_device_t *dev, unsigned long request, void *arg)
{
	return node_ioctl(node_device(dev)->fd, request, arg);
}
