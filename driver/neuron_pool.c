// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pools that device chunks come from, and which of their pages hold someone's data. Each of
 * the chip's memories has the pools that struct neuron_gen says. Owns nd->pools and nd->used, under
 * nd->lock.
 *
 * Pages that held a chunk before are remembered and cleared by DMA when they are handed out again,
 * so that untouched DRAM stays untouched.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/bitmap.h>
#include <linux/genalloc.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_params.h"
#include "neuron_pool.h"

/* One fill takes no longer than a fatal signal may wait */
#define FILL_PIECE BIT_ULL(28)

/* The pools of a memory: its regions, in order, then the one of small chunks */
unsigned int neuron_pools_each(const struct neuron_gen *gen)
{
	return max_t(unsigned int, gen->regions, 1) + gen->small_apart;
}

static unsigned int pool_count(const struct neuron_device *nd)
{
	return nd->gen->memories * neuron_pools_each(nd->gen);
}

/* The start of pool i in its memory; the start of the one behind the last is the last one's end */
static u64 pool_start(const struct neuron_gen *gen, unsigned int memory, unsigned int i)
{
	u64 size = gen->memory[memory].size;
	u64 small = gen->small_apart ? neuron_small_pool(size) : 0;
	const u32 regions = max_t(u32, gen->regions, 1);

	if (!i)
		return gen->firmware_bytes;
	if (i < regions)
		return div_u64(size, regions) * i;
	return i == regions ? size - small : size;
}

u64 neuron_pool_size(const struct neuron_device *nd, unsigned int pool)
{
	unsigned int each = neuron_pools_each(nd->gen), memory = pool / each, i = pool % each;

	return pool_start(nd->gen, memory, i + 1) - pool_start(nd->gen, memory, i);
}

u64 neuron_pool_base(const struct neuron_device *nd, unsigned int pool)
{
	unsigned int each = neuron_pools_each(nd->gen);

	return nd->gen->memory[pool / each].address +
	       pool_start(nd->gen, pool / each, pool % each);
}

static int pool_init(struct neuron_device *nd, unsigned int i)
{
	u64 size = neuron_pool_size(nd, i);

	INIT_LIST_HEAD(&nd->scratch[i]);
	nd->pools[i] = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);
	nd->used[i] = vzalloc((BITS_TO_LONGS(size / PAGE_SIZE) + 1) * sizeof(long));
	if (!nd->pools[i] || !nd->used[i])
		return -ENOMEM;
	if (!size)
		return 0;
	return gen_pool_add(nd->pools[i], NEURON_POOL_BIAS + neuron_pool_base(nd, i), size,
			    NUMA_NO_NODE);
}

void neuron_pools_free(struct neuron_device *nd)
{
	unsigned int i;

	for (i = 0; i < pool_count(nd); i++) {
		if (nd->pools[i])
			gen_pool_destroy(nd->pools[i]);
		vfree(nd->used[i]);
	}
}

int neuron_pools_init(struct neuron_device *nd)
{
	unsigned int i;
	int ret;

	for (i = 0; i < pool_count(nd); i++) {
		ret = pool_init(nd, i);
		if (ret) {
			neuron_pools_free(nd);
			return ret;
		}
	}
	return 0;
}

static u64 page_of(const struct neuron_device *nd, unsigned int pool, u64 pa)
{
	return (pa - neuron_pool_base(nd, pool)) >> PAGE_SHIFT;
}

void neuron_pages_mark(struct neuron_device *nd, unsigned int pool, u64 pa, u64 size)
{
	lockdep_assert_held(&nd->lock);
	bitmap_set(nd->used[pool], page_of(nd, pool, pa), size >> PAGE_SHIFT);
}

/* Finds the next run of used pages in [from, end) of a pool; false when there is none */
static bool pages_next(struct neuron_device *nd, unsigned int pool, unsigned long from,
		       unsigned long end, unsigned long *start, unsigned long *stop)
{
	mutex_lock(&nd->lock); /* a word of the map has bits of others */
	*start = find_next_bit(nd->used[pool], end, from);
	*stop = find_next_zero_bit(nd->used[pool], end, *start);
	mutex_unlock(&nd->lock);
	return *start < end;
}

static int fill_pieces(struct neuron_device *nd, unsigned int nc, u64 pa, u64 size, u32 value)
{
	int ret = 0;
	u64 n;

	for (; size && !ret; pa += n, size -= n) {
		n = min_t(u64, size, FILL_PIECE);
		ret = fatal_signal_pending(current) && !READ_ONCE(nd->finish) ? -EINTR : 0;
		if (!ret)
			ret = neuron_dma_fill(&nd->h2t[nc], pa, n, value);
	}
	return ret;
}

/* Fills the pages of [first, end) of a pool that hold data; reset_sem is held */
static int pages_fill(struct neuron_device *nd, unsigned int pool, unsigned int nc, u64 first,
		      u64 end, u32 value)
{
	unsigned long start, stop = first;
	int ret = 0;

	while (!ret && pages_next(nd, pool, stop, end, &start, &stop))
		ret = fill_pieces(nd, nc, neuron_pool_base(nd, pool) + start * PAGE_SIZE,
				  (u64)(stop - start) * PAGE_SIZE, value);
	return ret;
}

/* Makes [pa, pa + size) of a pool read as zero; reset_sem is held */
int neuron_pages_clear(struct neuron_device *nd, unsigned int pool, unsigned int nc, u64 pa,
		       u64 size)
{
	u64 first = page_of(nd, pool, pa), n = size >> PAGE_SHIFT;
	int ret;

	ret = pages_fill(nd, pool, nc, first, first + n, 0);
	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	bitmap_clear(nd->used[pool], first, n);
	mutex_unlock(&nd->lock);
	return 0;
}

/* Clears all that was used; reset_sem is held */
int neuron_pools_clear(struct neuron_device *nd)
{
	unsigned int i;
	int ret = 0, err;

	for (i = 0; i < pool_count(nd); i++) {
		err = neuron_pages_clear(nd, i, 0, neuron_pool_base(nd, i),
					 neuron_pool_size(nd, i));
		ret = ret ?: err;
	}
	return ret;
}

/*
 * Fills all of a memory but what the firmware has; reset_sem is held, and who has chunks there
 * knows of it. Pages that were never used are zero.
 */
int neuron_memory_fill(struct neuron_device *nd, unsigned int memory, unsigned int nc, u32 value)
{
	unsigned int each = neuron_pools_each(nd->gen), i;
	int ret = 0;
	u64 pages;

	for (i = memory * each; i < (memory + 1) * each && !ret; i++) {
		pages = neuron_pool_size(nd, i) / PAGE_SIZE;
		if (value) {
			mutex_lock(&nd->lock);
			bitmap_set(nd->used[i], 0, pages);
			mutex_unlock(&nd->lock);
		}
		ret = pages_fill(nd, i, nc, 0, pages, value);
	}
	return ret;
}
