/* SPDX-License-Identifier: MIT */
/* Chunks of an in-process chip: handles, pools of its DRAM, host memory from the arena */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What memory holds with the fault stale-memory: no number that a sum would hide, and no index */
#define STALE 0x7f

int emu_mem_init(struct emu_chip *chip)
{
	chip->chunk = calloc(EMU_HANDLES, sizeof(*chip->chunk));
	chip->chunks = 1;
	if (!chip->chunk)
		return -ENOMEM;
	for (unsigned int c = 0; c < chip->gen->memories; c++)
		for (unsigned int r = 0; r < NDLX_REGIONS; r++)
			if (emu_heap_init(&chip->heap[c][r], region_size(chip->gen)))
				return -ENOMEM;
	return 0;
}

void emu_mem_fini(struct emu_chip *chip)
{
	for (unsigned int c = 0; c < chip->gen->memories; c++)
		for (unsigned int r = 0; r < NDLX_REGIONS; r++)
			emu_heap_fini(&chip->heap[c][r]);
	free(chip->chunk);
}

struct emu_chunk *emu_chunk_get(struct emu_chip *chip, uint64_t handle)
{
	struct emu_chunk *c = handle && handle < chip->chunks ? &chip->chunk[handle] : NULL;

	return c && c->size && !c->freed ? c : NULL;
}

struct emu_chunk *emu_chunk_find(struct emu_chip *chip, uint8_t user, uint64_t handle, int *err)
{
	struct emu_chunk *c = emu_chunk_get(chip, handle);

	*err = !c ? -EINVAL : c->user == user ? 0 : -EACCES;
	return *err ? NULL : c;
}

static int place_device(struct emu_chip *chip, struct emu_chunk *c, uint64_t align)
{
	uint64_t start;
	int ret = emu_heap_alloc(&chip->heap[c->channel][c->region], c->size,
				 align > EMU_PAGE ? align : EMU_PAGE, &start);

	if (ret)
		return ret;
	start += c->region * region_size(chip->gen);
	c->addr = chip->gen->memory[c->channel].address + start;
	c->ptr = chip->dram + neuron_gen_memory_start(chip->gen, c->channel) + start;
	if (__atomic_load_n(&chip->stale, __ATOMIC_RELAXED))
		memset(c->ptr, STALE, c->size);
	return 0;
}

static int place_host(struct emu_chip *chip, struct emu_chunk *c)
{
	uint64_t addr;
	int ret = emu_host_alloc(&chip->machine->host, c->user, c->size, &addr, &c->ptr);

	if (!ret)
		c->addr = nhal_host_addr(chip->gen, addr);
	return ret;
}

void emu_dram_renew(void *ptr, uint64_t size)
{
	mmap(ptr, size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	/* as its neighbours are (core/chip/memory.c), or the host would count it as a mapping of
	 * its own
	 */
	madvise(ptr, size, MADV_HUGEPAGE);
}

/*
 * Puts the process's own memory in the place of a chunk's file, which its last user may still have
 */
static void file_drop(struct emu_chip *chip, struct emu_chunk *c)
{
	if (!c->fd)
		return;
	emu_dram_renew(c->ptr, c->size);
	close(c->fd);
	c->fd = 0;
	chip->seat[c->user].files--;
}

/* Drops a chunk's pages, which read as zeros next. */
static void pages_drop(struct emu_chunk *c)
{
	if (c->moved)
		emu_dram_renew(c->ptr, c->size);
	else
		madvise(c->ptr, c->size, MADV_DONTNEED);
	c->moved = false;
}

static void unplace(struct emu_chip *chip, struct emu_chunk *c)
{
	uint64_t start;

	if (c->host) {
		emu_host_free(&chip->machine->host, c->user, nhal_host_physical(chip->gen, c->addr),
			      c->size);
		return;
	}
	file_drop(chip, c);
	/*
	 * the next owner must find zeros; the kernel module clears a chunk before another process
	 * gets it
	 */
	pages_drop(c);
	start = c->addr - chip->gen->memory[c->channel].address -
		c->region * region_size(chip->gen);
	emu_heap_free(&chip->heap[c->channel][c->region], start, c->size);
}

static int params_check(const struct neuron_gen *gen, const struct ndlx_mem_params *p)
{
	if (!p->size)
		return -ENOMEM;
	if (p->size > INT64_MAX)
		return -EINVAL;
	if (p->nc >= gen->cores)
		return -EINVAL;
	if (p->host)
		return p->align ? -EINVAL : 0;
	if (p->channel >= gen->memories || p->region >= NDLX_REGIONS)
		return -EINVAL;
	return p->align & (p->align - 1) || p->align > INT32_MAX ? -EINVAL : 0;
}

/* The handle that was freed last is taken first, as in the kernel module. */
static uint32_t handle_take(struct emu_chip *chip, uint8_t user)
{
	uint32_t h = chip->free_handle;

	if (chip->seat[user].chunks == EMU_USER_HANDLES)
		return 0;
	if (h)
		chip->free_handle = chip->chunk[h].nc;
	else if (chip->chunks < EMU_HANDLES)
		h = chip->chunks++;
	chip->seat[user].chunks += !!h;
	return h;
}

static void handle_give(struct emu_chip *chip, uint32_t h, uint8_t user)
{
	chip->seat[user].chunks--;
	chip->chunk[h] = (struct emu_chunk){ .nc = chip->free_handle };
	chip->free_handle = h;
}

static void chunk_put(struct emu_chip *chip, uint32_t h)
{
	if (!chip->chunk[h].freed || chip->chunk[h].queues)
		return;
	unplace(chip, &chip->chunk[h]);
	handle_give(chip, h, chip->chunk[h].user);
}

int emu_mem_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *p, uint64_t *handle)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk c = {
		.size = (p->size + EMU_PAGE - 1) & ~(uint64_t)(EMU_PAGE - 1),
		.host = p->host,
		.user = emu_user(dev),
		.channel = p->channel,
		.region = p->region,
		.nc = p->nc,
		.type = p->type,
	};
	uint32_t h;
	int ret = params_check(chip->gen, p);

	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	h = handle_take(chip, c.user);
	if (!h) {
		pthread_mutex_unlock(&chip->lock);
		return -ENOMEM;
	}
	ret = p->host ? place_host(chip, &c) : place_device(chip, &c, p->align);
	if (ret)
		handle_give(chip, h, c.user);
	else
		chip->chunk[h] = c;
	pthread_mutex_unlock(&chip->lock);
	*handle = ret ? 0 : h;
	return ret;
}

int emu_mem_free(ndlx_device_t *dev, uint64_t handle)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c) {
		c->freed = true;
		chunk_put(chip, (uint32_t)handle);
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_mem_forget(ndlx_device_t *dev, uint64_t handle)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	/* others may have a file's pages too */
	if (c && !c->host && !c->fd && !__atomic_load_n(&chip->stale, __ATOMIC_RELAXED))
		pages_drop(c);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/*
 * A ring belongs to its queue as well as to its owner; its memory is freed when both have released
 * it.
 */
void emu_chunk_hold(struct emu_chip *chip, uint64_t handle, bool hold)
{
	if (!handle)
		return;
	if (hold) {
		chip->chunk[handle].queues++;
		return;
	}
	chip->chunk[handle].queues--;
	chunk_put(chip, (uint32_t)handle);
}

void emu_mem_free_all(struct emu_chip *chip, uint8_t user)
{
	bool empty = true;

	pthread_mutex_lock(&chip->lock);
	for (uint32_t h = 1; h < chip->chunks; h++) {
		if (!chip->chunk[h].size)
			continue;
		if (chip->chunk[h].user != user) {
			empty = false;
			continue;
		}
		unplace(chip, &chip->chunk[h]);
		handle_give(chip, h, user);
	}
	if (empty) { /* handles count from the beginning again */
		memset(chip->chunk, 0, chip->chunks * sizeof(*chip->chunk));
		chip->chunks = 1;
		chip->free_handle = 0;
	}
	pthread_mutex_unlock(&chip->lock);
}

int emu_mem_info(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c) {
		*pa = c->addr;
		*size = c->size;
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_mem_map(ndlx_device_t *dev, uint64_t handle, void **va)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c)
		*va = c->ptr;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_mem_unmap(ndlx_device_t *dev, uint64_t handle, void *va)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c && c->ptr != va)
		ret = -EINVAL;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/* Maps a block where a generation has views of its memories, and refuses it as the module does */
int emu_block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t channel,
		  enum neuron_mmap_resource resource, void **va, uint64_t *size)
{
	struct emu_chip *chip = emu_chip(dev);

	/* registers and SBUF of a chip in the process are no memory of its */
	if (block != NEURON_MMAP_BLOCK_HBM || resource != NEURON_MMAP_RESOURCE_DMEM)
		return -ENOTSUP;

	for (unsigned int i = 0; i < chip->gen->views; i++) {
		const struct neuron_view *view = &chip->gen->view[i];

		if (view->block != NEURON_VIEW_MEMORY || channel < view->first ||
		    channel - view->first >= view->count)
			continue;
		*va = chip->dram + neuron_gen_memory_start(chip->gen, channel);
		*size = chip->gen->memory[channel].size;
		return 0;
	}
	return -ENOTSUP;
}

int emu_dram_chunks(ndlx_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		    uint32_t *count)
{
	struct emu_chip *chip = emu_chip(dev);
	uint32_t n = 0, capacity = *count;

	pthread_mutex_lock(&chip->lock);
	for (uint32_t h = 1; h < chip->chunks; h++) {
		const struct emu_chunk *c = &chip->chunk[h];

		if (!c->size || c->host || c->channel != channel)
			continue;
		if (n < capacity)
			info[n] = (struct neuron_ioctl_mem_chunk_info){ c->addr, c->size, c->type };
		n++;
	}
	pthread_mutex_unlock(&chip->lock);
	*count = n;
	return n > capacity ? -EAGAIN : 0;
}

/* Memory of the same process has no kernel object that a descriptor could stand for. */
int emu_dmabuf_fd(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd)
{
	return -ENOTSUP;
}
