// SPDX-License-Identifier: MIT
/*
 * Blocks of device memory: what tensors lie in. A block that a tensor let go is kept for the next
 * one of its size, as eager programs ask for the same sizes again and again, and mapping device
 * memory takes longer than an operation does.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "blocks.h"

#define LEAST 256u /* bytes of a block */
#define STEPS 4u /* sizes of blocks between two powers of two */
#define BINS 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct nt_block *in_use[BINS]; /* by address */
static struct nt_block *kept[BINS]; /* by size and device */
static struct nt_statistics counts[NT_DEVICES + 1]; /* the last one's are the host's */
static int32_t only_core = -1; /* that all devices are; -1: each is its own */
static pid_t owner; /* the process that has the chips; 0: none yet */

static struct nt_block **bin(struct nt_block **bins, uint64_t key)
{
	return &bins[(key * 0x9e3779b97f4a7c15u) >> 54];
}

static struct nt_statistics *of(int32_t device)
{
	return &counts[device == NT_HOST ? NT_DEVICES : device];
}

/* The size of blocks for so many bytes: at most a fourth more */
static uint64_t rounded(uint64_t bytes)
{
	uint64_t step = LEAST;

	while (step * 2 * STEPS <= bytes)
		step *= 2;
	return (bytes + step - 1) / step * step;
}

static void keep(struct nt_block *b)
{
	struct nt_block **at = bin(kept, b->size ^ (uint64_t)b->device << 56);

	b->next = *at;
	*at = b;
}

static struct nt_block *take(int32_t device, uint64_t size)
{
	struct nt_block **at = bin(kept, size ^ (uint64_t)device << 56), *b;

	while (*at && ((*at)->size != size || (*at)->device != device))
		at = &(*at)->next;
	b = *at;
	if (b)
		*at = b->next;
	return b;
}

/* Of all devices; whether there was something */
static bool let_go(void)
{
	bool any = false;

	for (unsigned int i = 0; i < BINS; i++) {
		while (kept[i]) {
			struct nt_block *b = kept[i];

			kept[i] = b->next;
			of(b->device)->reserved -= b->size;
			nrt_tensor_free(&b->tensor);
			free(b);
			any = true;
		}
	}
	return any;
}

static NRT_STATUS new_block(int32_t device, uint64_t size, struct nt_block **block)
{
	struct nt_block *b = calloc(1, sizeof(*b));
	NRT_STATUS status;

	if (!b)
		return NRT_FAIL_HOST_MEM_ALLOC;
	b->device = device;
	b->size = size;
	status = nrt_tensor_allocate(device == NT_HOST ? NRT_TENSOR_PLACEMENT_HOST
						       : NRT_TENSOR_PLACEMENT_DEVICE,
				     device == NT_HOST ? 0
				     : only_core < 0   ? device
						       : only_core,
				     size, NULL, &b->tensor);
	if (!status) {
		b->base = nrt_tensor_get_va(b->tensor);
		if (!b->base) {
			nrt_tensor_free(&b->tensor);
			status = NRT_RESOURCE; /* the driver has no room for a mapping */
		}
	}
	if (status) {
		free(b);
		return status;
	}
	of(device)->reserved += size;
	of(device)->segments++;
	if (of(device)->reserved > of(device)->reserved_peak)
		of(device)->reserved_peak = of(device)->reserved;
	*block = b;
	return NRT_SUCCESS;
}

NRT_STATUS nt_block_get(int32_t device, uint64_t bytes, struct nt_block **block)
{
	uint64_t size = rounded(bytes);
	NRT_STATUS status = NRT_SUCCESS;
	struct nt_statistics *c;
	struct nt_block *b, **at;

	if (device < NT_HOST || device >= NT_DEVICES || bytes > UINT64_MAX / 2)
		return NRT_INVALID;
	if (owner && owner != getpid())
		return NRT_CLOSED;
	c = of(device);
	pthread_mutex_lock(&lock);
	owner = getpid();
	b = take(device, size);
	if (!b) {
		status = new_block(device, size, &b);
		if (status == NRT_RESOURCE && let_go()) {
			c->retries++;
			status = new_block(device, size, &b);
		}
		c->failures += status == NRT_RESOURCE;
	}
	if (!status) {
		at = bin(in_use, (uintptr_t)b->base >> 6);
		b->next = *at;
		*at = b;
		c->allocated += size;
		if (c->allocated > c->allocated_peak)
			c->allocated_peak = c->allocated;
		c->allocations++;
		*block = b;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void nt_block_put(struct nt_block *block)
{
	struct nt_block **at = bin(in_use, (uintptr_t)block->base >> 6);

	if (owner != getpid())
		return; /* the chips are the parent's, and so is who has the lock */
	pthread_mutex_lock(&lock);
	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	of(block->device)->allocated -= block->size;
	of(block->device)->frees++;
	keep(block);
	pthread_mutex_unlock(&lock);
}

static struct nt_block *at(const void *base)
{
	struct nt_block *b;

	if (owner != getpid())
		return NULL;
	pthread_mutex_lock(&lock);
	b = *bin(in_use, (uintptr_t)base >> 6);
	while (b && b->base != base)
		b = b->next;
	pthread_mutex_unlock(&lock);
	return b;
}

nrt_tensor_t *nt_block_at(const void *base)
{
	struct nt_block *b = at(base);

	return b ? b->tensor : NULL;
}

bool nt_is_pinned(const void *base)
{
	struct nt_block *b = at(base);

	return b && b->device == NT_HOST;
}

void nt_only_core(int32_t core)
{
	only_core = core;
}

void nt_statistics(int32_t device, struct nt_statistics *statistics)
{
	pthread_mutex_lock(&lock);
	*statistics =
		device >= 0 && device < NT_DEVICES ? counts[device] : (struct nt_statistics){ 0 };
	pthread_mutex_unlock(&lock);
}

void nt_reset_peaks(int32_t device)
{
	if (device < 0 || device >= NT_DEVICES)
		return;
	pthread_mutex_lock(&lock);
	counts[device].allocated_peak = counts[device].allocated;
	counts[device].reserved_peak = counts[device].reserved;
	pthread_mutex_unlock(&lock);
}

void nt_empty_cache(void)
{
	if (owner != getpid())
		return;
	pthread_mutex_lock(&lock);
	let_go();
	pthread_mutex_unlock(&lock);
}
