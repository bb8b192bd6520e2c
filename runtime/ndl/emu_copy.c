/* SPDX-License-Identifier: MIT */
/*
 * Copies of an in-process chip: they go through the core's copy ring, descriptor by descriptor, as
 * in the kernel module. Small buffers go through a staging buffer, large ones are pinned.
 */
#include "emu.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

/*
 * The public deadline of V1 is 16 ms for a descriptor. The chip runs on this machine's CPUs, which
 * may be busy, so five seconds are added to it.
 */
#define DEADLINE_FLOOR_US (5ull * 1000000)
#define DEADLINE_DESC_US 16000ull
#define SPINS 200
#define LARGE ((uint64_t)4 << 20) /* the chip's workers do no less than this (NCORE_INLINE_DESCS) */
/* Moving pages costs the host a mapping, of which it gives a process some 65,000. */
#define MOVE_MIN (1u << 20)
#define SLEEP_MAX_NS 200000

/* True if an error has stopped the ring's queue; its entry is in the core's error queue. */
static bool h2t_stopped(struct emu_core *core)
{
	struct emu_chip *chip = core->h2t.hal->opaque;

	return emu_ext_read(chip, chip->gen->ext.dma_stopped + 4 * core->h2t.eng) >> core->h2t.qid &
	       1;
}

/*
 * After a batch was lost: starts the ring again, so that none of its descriptors touches memory any
 * more.
 */
static int h2t_lost(struct emu_core *core, int error)
{
	struct nhal_h2t_mem mem = core->h2t_mem;

	nhal_h2t_init(&core->h2t, core->h2t.hal, core->h2t.nc, &mem);
	return error;
}

/*
 * A large copy is the chip's work for milliseconds: this thread does it instead of waiting for one
 * that does. What it does not do, workers go on with.
 */
static void h2t_work(struct emu_core *core)
{
	struct emu_chip *chip = core->h2t.hal->opaque;

	while (!nhal_h2t_done(&core->h2t, 0) && ncore_core_work(chip->core, chip->gen->cores))
		;
	ncore_core_leave(chip->core, chip->gen->cores);
}

static int h2t_wait(struct emu_core *core, unsigned int descs)
{
	const struct nhal_ops *ops = core->h2t.hal->ops;
	uint64_t start = ops->now_us(core->h2t.hal->opaque);
	struct timespec ts = { 0, 2000 };

	for (unsigned int i = 0; !nhal_h2t_done(&core->h2t, 0); i++) {
		if (h2t_stopped(core))
			return h2t_lost(core, -EIO);
		if (i < SPINS) {
			sched_yield();
			continue;
		}
		if (ops->now_us(core->h2t.hal->opaque) - start >
		    DEADLINE_FLOOR_US + descs * DEADLINE_DESC_US)
			return h2t_lost(core, -ETIMEDOUT);
		nanosleep(&ts, NULL);
		ts.tv_nsec = ts.tv_nsec * 2 < SLEEP_MAX_NS ? ts.tv_nsec * 2 : SLEEP_MAX_NS;
	}
	return 0;
}

/* core.lock is held. */
static int h2t_run(struct emu_core *core, uint64_t src, uint64_t dst, uint64_t len)
{
	struct emu_chip *chip = core->h2t.hal->opaque;
	int ret = core->broken ? -EIO : 0;

	while (!ret && len) {
		uint64_t n = nhal_h2t_push(&core->h2t, src, dst, len);
		const bool large = n >= LARGE;
		unsigned int descs;

		if (large)
			ncore_core_lend(chip->core, chip->gen->cores);
		descs = nhal_h2t_submit(&core->h2t, 0);
		if (large)
			h2t_work(core);
		ret = h2t_wait(core, descs);
		src += n;
		dst += n;
		len -= n;
	}
	return ret;
}

/*
 * Copies the chunk's place, and holds the chunk: memory that its owner frees meanwhile is nobody
 * else's before the copy is over. Returns 0, or -errno for a bad handle or range.
 */
static int chunk_at(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint64_t size,
		    struct emu_chunk *out)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *c;
	int ret;

	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c && !ndlx_range_ok(offset, size, c->size))
		ret = -EINVAL;
	if (!ret) {
		*out = *c;
		out->addr += offset;
		out->ptr = (uint8_t *)c->ptr + offset;
		emu_chunk_hold(chip, handle, true);
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

static void chunk_done(struct emu_chip *chip, uint64_t handle)
{
	pthread_mutex_lock(&chip->lock);
	emu_chunk_hold(chip, handle, false);
	pthread_mutex_unlock(&chip->lock);
}

/*
 * Puts the pages of one part of the DRAM in the place of another's; what they leave reads as zeros.
 * A host that cannot has the other part cleared.
 */
static bool pages_move(void *to, void *from, uint64_t size)
{
	const int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	if (mremap(from, size, size, how, to) != MAP_FAILED)
		return true;
	emu_dram_renew(to, size);
	return false;
}

/* core.lock is held. The bytes before the first page and those behind the last one are copied. */
static int move_run(struct emu_core *core, const struct emu_chunk *from, const struct emu_chunk *to,
		    uint64_t size)
{
	const uint64_t head = -(uintptr_t)from->ptr % EMU_PAGE;
	const uint64_t pages = (size - head) & ~(uint64_t)(EMU_PAGE - 1), tail = head + pages;
	int ret = h2t_run(core, from->addr, to->addr, head);

	if (!ret)
		ret = h2t_run(core, from->addr + tail, to->addr + tail, size - tail);
	if (ret)
		return ret;
	if (pages_move((uint8_t *)to->ptr + head, (uint8_t *)from->ptr + head, pages))
		return 1;
	return h2t_run(core, from->addr + head, to->addr + head, pages);
}

/* Has each part pages of its own, in the same places? */
static bool can_move(const struct emu_chunk *from, const struct emu_chunk *to, uint64_t size)
{
	const uintptr_t a = (uintptr_t)from->ptr, b = (uintptr_t)to->ptr;

	return size >= MOVE_MIN && a % EMU_PAGE == b % EMU_PAGE && !from->host && !to->host &&
	       !from->fd && !to->fd && (a + size <= b || b + size <= a);
}

/* move: the source may give its pages away, then 1 is returned */
static int between(ndlx_device_t *dev, const uint64_t handle[2], const uint64_t offset[2],
		   uint64_t size, bool move)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk from, to;
	struct emu_core *core;
	int ret = chunk_at(dev, handle[0], offset[0], size, &from);

	if (ret)
		return ret;
	ret = chunk_at(dev, handle[1], offset[1], size, &to);
	if (!ret) {
		core = &chip->nc[to.nc];
		pthread_mutex_lock(&core->lock);
		ret = move && can_move(&from, &to, size) ? move_run(core, &from, &to, size)
							 : h2t_run(core, from.addr, to.addr, size);
		pthread_mutex_unlock(&core->lock);
		if (ret == 1) {
			pthread_mutex_lock(&chip->lock);
			chip->chunk[handle[1]].moved = true;
			pthread_mutex_unlock(&chip->lock);
		}
		chunk_done(chip, handle[1]);
	}
	chunk_done(chip, handle[0]);
	return ret;
}

int emu_mem_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		 uint64_t dst_offset, uint64_t size)
{
	const uint64_t handle[2] = { src, dst }, offset[2] = { src_offset, dst_offset };

	return between(dev, handle, offset, size, false);
}

int emu_mem_move(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		 uint64_t dst_offset, uint64_t size)
{
	const uint64_t handle[2] = { src, dst }, offset[2] = { src_offset, dst_offset };

	return between(dev, handle, offset, size, true);
}

/* Memory at a host address, which is not the caller's to free meanwhile */
static int copy_at(struct emu_chip *chip, const struct emu_chunk *c, uint64_t addr, uint64_t size,
		   bool to_device)
{
	addr = nhal_host_addr(chip->gen, addr);
	return to_device ? h2t_run(&chip->nc[c->nc], addr, c->addr, size)
			 : h2t_run(&chip->nc[c->nc], c->addr, addr, size);
}

static int copy_pinned(struct emu_chip *chip, const struct emu_chunk *c, void *buf, uint64_t size,
		       bool to_device)
{
	uint64_t addr;
	int ret = emu_host_pin(&chip->machine->host, buf, size, &addr);

	if (ret)
		return ret;
	ret = copy_at(chip, c, addr, size, to_device);
	emu_host_unpin(&chip->machine->host, addr);
	return ret;
}

static int copy_staged(struct emu_core *core, const struct emu_chunk *c, uint8_t *buf,
		       uint64_t size, bool to_device)
{
	uint64_t done = 0, n;
	int ret = 0;

	for (; !ret && done < size; done += n) {
		n = size - done < EMU_STAGING_SIZE ? size - done : EMU_STAGING_SIZE;
		if (to_device) {
			memcpy(core->staging, buf + done, n);
			ret = h2t_run(core, core->staging_addr, c->addr + done, n);
		} else {
			ret = h2t_run(core, c->addr + done, core->staging_addr, n);
			memcpy(buf + done, core->staging, n);
		}
	}
	return ret;
}

static int copy_by_ring(ndlx_device_t *dev, const struct emu_chunk *c, void *buf, uint64_t size,
			bool to_device, bool zerocopy)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_core *core = &chip->nc[c->nc];
	uint64_t addr;
	int ret;

	pthread_mutex_lock(&core->lock);
	if (emu_host_has(&chip->machine->host, emu_user(dev), buf, size, &addr))
		ret = copy_at(chip, c, addr, size, to_device);
	else if (zerocopy)
		ret = copy_pinned(chip, c, buf, size, to_device);
	else
		ret = copy_staged(core, c, buf, size, to_device);
	pthread_mutex_unlock(&core->lock);
	return ret;
}

int emu_buf_copy(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset, uint64_t size,
		 bool to_device, bool zerocopy)
{
	struct emu_chunk c;
	int ret = chunk_at(dev, handle, offset, size, &c);

	if (ret)
		return ret;
	if (c.host)
		memcpy(to_device ? c.ptr : buf, to_device ? buf : c.ptr, size);
	else if (size)
		ret = copy_by_ring(dev, &c, buf, size, to_device, zerocopy);
	chunk_done(emu_chip(dev), handle);
	return ret;
}

int emu_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		   uint64_t size)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk window = { .addr = address };
	unsigned int owner;
	int ret;

	if (nhal_addr_to_core(chip->gen, address, size, &owner))
		return -ENOMEM;
	pthread_mutex_lock(&chip->lock);
	ret = emu_claim(chip, emu_user(dev), owner);
	pthread_mutex_unlock(&chip->lock);
	if (ret)
		return ret;
	pthread_mutex_lock(&chip->nc[owner].lock);
	ret = copy_staged(&chip->nc[owner], &window, (uint8_t *)(uintptr_t)buf, size, true);
	pthread_mutex_unlock(&chip->nc[owner].lock);
	return ret;
}

static int set_by_ring(struct emu_core *core, const struct emu_chunk *c, uint32_t value,
		       uint64_t size)
{
	uint64_t done = 0, n;
	int ret = 0;

	pthread_mutex_lock(&core->lock);
	memset(core->staging, (int)value, size < EMU_STAGING_SIZE ? size : EMU_STAGING_SIZE);
	for (; !ret && done < size; done += n) {
		n = size - done < EMU_STAGING_SIZE ? size - done : EMU_STAGING_SIZE;
		ret = h2t_run(core, core->staging_addr, c->addr + done, n);
	}
	pthread_mutex_unlock(&core->lock);
	return ret;
}

int emu_mem_set(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value, uint64_t size)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk c;
	int ret = chunk_at(dev, handle, offset, size, &c);

	if (ret)
		return ret;
	if (c.host)
		memset(c.ptr, (int)value, size);
	else if (size)
		ret = set_by_ring(&chip->nc[c.nc], &c, value, size);
	chunk_done(chip, handle);
	return ret;
}
