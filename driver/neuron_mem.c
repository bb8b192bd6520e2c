// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory chunks: host memory of contiguous pages, device memory first fit from the pools of
 * neuron_pool.c, handles, look-up, ownership. Owns handles and the tree of chunks under nd->lock.
 *
 * Host memory is pages that are mapped for the chip, not memory of the DMA interface: whoever still
 * has pages of a chunk when the chip goes (the importer of a dma-buf) keeps them, and the chip's
 * mapping ends all the same. A chunk in the tree is one that the chip can reach.
 *
 * The contiguous scratchpad grows down from the end of each pool, whoever asks. A chunk of it holds
 * the one above if that is its owner's, so that what spans both, a copy or a mapping, needs to hold
 * only the first; freed in another order than from the lowest up, memory comes back later.
 *
 * A chunk reads as zero when it is handed out. Pages that held a chunk before are remembered and
 * cleared by DMA when they are handed out again, so that untouched DRAM stays untouched.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_inject.h"
#include "neuron_log.h"
#include "neuron_mem.h"
#include "neuron_params.h"
#include "neuron_pool.h"
#include "neuron_stats.h"

#define MAX_HANDLES (512u * 8192)
#define FREE_STACK_STEP 256
/* Host chunks of all devices together take at most this part of the machine's memory */
#define HOST_SHARE 2

static atomic64_t host_bytes = ATOMIC64_INIT(0);

int neuron_mem_init(struct neuron_device *nd)
{
	return neuron_pools_init(nd);
}

unsigned int neuron_mc_memory(const struct neuron_mc *mc)
{
	return mc->pool / neuron_pools_each(mc->nd->gen);
}

static void host_free(struct neuron_mc *mc)
{
	free_pages_exact(mc->va, mc->size);
	atomic64_sub(mc->size, &host_bytes);
}

/* Takes the pages from the chip's queues */
static void host_unmap(struct neuron_mc *mc)
{
	neuron_guard_revoke(mc);
	dma_unmap_single(&mc->nd->pdev->dev, mc->dma, mc->size, DMA_BIDIRECTIONAL);
}

/*
 * Whether the chip would work on other memory than these pages: a bounce buffer, or the memory
 * below a cache that it does not look into. Behind an IOMMU dma_need_sync() says less: before
 * Linux 6.10 yes to every address, and later to all of them once one went through a buffer.
 */
static bool host_apart(struct device *dev, dma_addr_t dma, phys_addr_t phys, size_t size)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (!domain)
		return dma_need_sync(dev, dma);
	return !dev_is_dma_coherent(dev) || iommu_iova_to_phys(domain, dma) != phys ||
	       iommu_iova_to_phys(domain, dma + size - 1) != phys + size - 1;
}

/* Program and chip work on it at once, so that nothing may lie between them */
static int host_map(struct neuron_mc *mc)
{
	struct device *dev = &mc->nd->pdev->dev;

	mc->dma = dma_map_single(dev, mc->va, mc->size, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, mc->dma))
		return -ENOMEM;
	if (host_apart(dev, mc->dma, virt_to_phys(mc->va), mc->size)) {
		dma_unmap_single(dev, mc->dma, mc->size, DMA_BIDIRECTIONAL);
		nd_err(mc->nd, "host memory that needs bounce buffers cannot be shared\n");
		return -ENOMEM;
	}
	mc->pa = nhal_host_addr(mc->nd->gen, mc->dma);
	return 0;
}

static void pages_free(struct neuron_mc *mc)
{
	struct neuron_device *nd = mc->nd;

	lockdep_assert_held(&nd->lock);
	neuron_pages_mark(nd, mc->pool, mc->pa, mc->size);
	gen_pool_free(nd->pools[mc->pool], NEURON_POOL_BIAS + mc->pa, mc->size);
	list_del_init(&mc->scratch);
}

static int backing_alloc_host(struct neuron_mc *mc)
{
	s64 limit = (s64)(totalram_pages() / HOST_SHARE) << PAGE_SHIFT;
	int ret;

	/* kernel memory that any process with a node can ask for: never all of it */
	if (atomic64_add_return(mc->size, &host_bytes) <= limit)
		mc->va = alloc_pages_exact(mc->size,
					   GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!mc->va) {
		atomic64_sub(mc->size, &host_bytes);
		return -ENOMEM;
	}
	ret = host_map(mc);
	if (ret)
		host_free(mc);
	return ret;
}

/* Right below the scratchpad of a memory's pool, as under the public driver */
static unsigned long scratch_alloc(struct neuron_mc *mc)
{
	struct neuron_device *nd = mc->nd;
	struct genpool_data_fixed at;
	struct neuron_mc *lowest;
	unsigned long addr = 0;
	u64 end = neuron_pool_size(nd, mc->pool);

	mutex_lock(&nd->lock);
	lowest = list_first_entry_or_null(&nd->scratch[mc->pool], struct neuron_mc, scratch);
	if (lowest)
		end = lowest->pa - neuron_pool_base(nd, mc->pool);
	if (mc->size <= end) {
		at.offset = end - mc->size;
		addr = gen_pool_alloc_algo(nd->pools[mc->pool], mc->size, gen_pool_fixed_alloc,
					   &at);
	}
	if (addr) {
		mc->pa = addr - NEURON_POOL_BIAS;
		list_add(&mc->scratch, &nd->scratch[mc->pool]);
		if (lowest && lowest->handle && lowest->tgid == mc->tgid &&
		    kref_get_unless_zero(&lowest->ref))
			mc->above = lowest;
	}
	mutex_unlock(&nd->lock);
	return addr;
}

static unsigned long pool_take(struct neuron_mc *mc, unsigned int pool, u64 align)
{
	struct genpool_data_align data = { .align = max_t(u64, align, PAGE_SIZE) };

	mc->pool = pool;
	return gen_pool_alloc_algo(mc->nd->pools[pool], mc->size, gen_pool_first_fit_align, &data);
}

static int backing_alloc_device(struct neuron_mc *mc, const struct neuron_mc_args *args)
{
	const struct neuron_gen *gen = mc->nd->gen;
	unsigned int first = args->channel * neuron_pools_each(gen), last = first + gen->regions;
	unsigned long addr;
	bool small;

	mc->pool = first + (gen->regions > 1 ? args->region : 0);
	small = gen->small_apart && mc->size <= neuron_small_max;
	if (mc->type == NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE)
		addr = scratch_alloc(mc);
	else
		addr = pool_take(mc, small ? last : mc->pool, args->align);
	/* what finds no place where it belongs may lie in the other of the two */
	if (!addr && gen->small_apart &&
	    mc->type != NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE)
		addr = pool_take(mc, small ? first : last, args->align);
	if (!addr)
		return -ENOMEM;
	mc->pa = addr - NEURON_POOL_BIAS;
	return 0;
}

static void tree_insert(struct neuron_device *nd, struct neuron_mc *mc)
{
	struct rb_node **link = &nd->chunks.rb_node, *parent = NULL;
	struct neuron_mc *other;

	while (*link) {
		parent = *link;
		other = rb_entry(parent, struct neuron_mc, node);
		link = mc->pa < other->pa ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&mc->node, parent, link);
	rb_insert_color(&mc->node, &nd->chunks);
}

/* Off its list in one step, or removal finds the chunk gone and memory in use; nd->lock is held */
static void mc_take_off(struct neuron_mc *mc)
{
	struct neuron_device *nd = mc->nd;

	lockdep_assert_held(&nd->lock);
	if (RB_EMPTY_NODE(&mc->node))
		return;
	rb_erase(&mc->node, &nd->chunks);
	RB_CLEAR_NODE(&mc->node);
	if (mc->host)
		host_unmap(mc);
	else
		pages_free(mc);
}

static void mc_release(struct kref *ref)
{
	struct neuron_mc *mc = container_of(ref, struct neuron_mc, ref);
	struct neuron_device *nd = mc->nd;

	mutex_lock(&nd->lock);
	mc_take_off(mc);
	mutex_unlock(&nd->lock);
	neuron_stat_memory(nd, mc, false);
	if (mc->host)
		host_free(mc);
	if (mc->void_page)
		__free_page(mc->void_page);
	kfree(mc);
	neuron_device_put(nd);
}

void neuron_mc_get(struct neuron_mc *mc)
{
	kref_get(&mc->ref);
}

/* Not under nd->lock. The last reference to a chunk of the scratchpad drops its own, in a loop */
void neuron_mc_put(struct neuron_mc *mc)
{
	struct neuron_mc *above;

	for (; mc; mc = above) {
		above = mc->above;
		if (!kref_put(&mc->ref, mc_release))
			break;
	}
}

/* A freed handle comes back first; room to give it back is made when it is handed out */
static int handle_alloc(struct neuron_device *nd, struct neuron_mc *mc)
{
	u32 handle, *stack;
	int ret;

	if (nd->next_handle >= nd->free_cap) {
		stack = kvmalloc_array(nd->free_cap + FREE_STACK_STEP, sizeof(*stack), GFP_KERNEL);
		if (!stack)
			return -ENOMEM;
		if (nd->free_count)
			memcpy(stack, nd->free_stack, nd->free_count * sizeof(*stack));
		kvfree(nd->free_stack);
		nd->free_stack = stack;
		nd->free_cap += FREE_STACK_STEP;
	}
	handle = nd->free_count ? nd->free_stack[nd->free_count - 1] : nd->next_handle;
	if (handle >= MAX_HANDLES)
		return -ENOMEM;
	ret = xa_err(xa_store(&nd->handles, handle, mc, GFP_KERNEL));
	if (ret)
		return ret;
	if (nd->free_count)
		nd->free_count--;
	else
		nd->next_handle++;
	WRITE_ONCE(mc->handle, handle);
	list_add_tail(&mc->link, &nd->mcs);
	return 0;
}

static int args_check(const struct neuron_gen *gen, const struct neuron_mc_args *args)
{
	if (args->nc >= NEURON_MAX_NC_PER_DEVICE || args->size > S64_MAX)
		return -EINVAL;
	/* nothing is no size the public driver finds memory for */
	if (!args->size || args->size > gen->memory[0].size)
		return -ENOMEM;
	if (args->host)
		return args->align ? -EINVAL : 0;
	if (args->channel >= gen->memories || (gen->regions > 1 && args->region >= gen->regions))
		return -EINVAL;
	if (args->align > INT_MAX || (args->align > PAGE_SIZE && !is_power_of_2(args->align)))
		return -EINVAL;
	return 0;
}

static struct neuron_mc *mc_new(struct neuron_device *nd, const struct neuron_mc_args *args)
{
	struct neuron_mc *mc = kzalloc(sizeof(*mc), GFP_KERNEL);

	if (!mc)
		return NULL;
	kref_init(&mc->ref);
	RB_CLEAR_NODE(&mc->node);
	INIT_LIST_HEAD(&mc->link);
	INIT_LIST_HEAD(&mc->scratch);
	mc->nd = nd;
	mc->size = neuron_chunk_size(args->size);
	mc->host = args->host;
	mc->nc = args->nc % nd->gen->cores;
	mc->type = min_t(u32, args->type, NEURON_MEMALLOC_TYPE_MAX);
	mc->life = args->life;
	mc->tgid = current->tgid;
	mc->uid = current_euid();
	return mc;
}

/* Descriptors may name host memory of the process, but not its datastore, which others use later */
static int guard_grant(struct neuron_device *nd, struct neuron_mc *mc)
{
	struct neuron_proc *proc = neuron_proc_find(nd, mc->tgid);

	if (!mc->host || !proc)
		return 0;
	if (mc->life == NEURON_LIFE_DEVICE && mc->type != NEURON_MEMALLOC_TYPE_NOTIFICATION_HOST)
		return 0;
	return neuron_guard_grant(mc, proc->domain);
}

/* Clears memory that a process has filled before another gets it; nd->lock is held */
static bool scrub_blocks(struct neuron_device *nd, const struct neuron_mc *mc)
{
	pid_t by = mc->host ? 0 : nd->scrub[neuron_mc_memory(mc)].running;

	return by && by != mc->tgid;
}

/* Begins a scrub, which is the caller's to do: all chunks in the memory must be its own */
static int scrub_begin(struct neuron_device *nd, unsigned int memory)
{
	struct neuron_mc *mc;

	lockdep_assert_held(&nd->lock);
	if (nd->scrub[memory].running)
		return -EBUSY;
	list_for_each_entry(mc, &nd->mcs, link)
		if (!mc->host && neuron_mc_memory(mc) == memory && mc->tgid != current->tgid)
			return -EBUSY;
	list_for_each_entry(mc, &nd->mcs, link)
		if (!mc->host && neuron_mc_memory(mc) == memory)
			neuron_pages_mark(nd, mc->pool, mc->pa, mc->size);
	nd->scrub[memory].running = current->tgid;
	nd->scrub[memory].waiter = current->tgid;
	return 0;
}

/* Fills a memory, the caller's chunks in it too, with a word; reset_sem is held */
int neuron_mem_scrub(struct neuron_device *nd, unsigned int memory, unsigned int nc, u32 value)
{
	int ret;

	mutex_lock(&nd->lock);
	ret = neuron_core_claim(nd, nc);
	if (!ret)
		ret = scrub_begin(nd, memory);
	mutex_unlock(&nd->lock);
	if (ret)
		return ret;
	ret = neuron_memory_fill(nd, memory, nc, value);
	mutex_lock(&nd->lock);
	nd->scrub[memory].running = 0;
	nd->scrub[memory].result = ret;
	mutex_unlock(&nd->lock);
	return ret;
}

/* The end of the caller's last scrub, told once; -EPERM as under the public driver: no scrub */
int neuron_mem_scrub_result(struct neuron_device *nd, unsigned int memory)
{
	int ret = -EPERM;

	mutex_lock(&nd->lock);
	if (nd->scrub[memory].waiter == current->tgid && !nd->scrub[memory].running) {
		ret = nd->scrub[memory].result;
		nd->scrub[memory].waiter = 0;
	}
	mutex_unlock(&nd->lock);
	return ret;
}

int neuron_mc_alloc(struct neuron_device *nd, const struct neuron_mc_args *args,
		    struct neuron_mc **out)
{
	struct neuron_mc *mc;
	int ret;

	ret = args_check(nd->gen, args);
	if (ret)
		return ret;
	if (neuron_fail(NEURON_FAIL_MC_ALLOC))
		return -ENOMEM;

	mc = mc_new(nd, args);
	if (!mc)
		return -ENOMEM;
	ret = mc->host ? backing_alloc_host(mc) : backing_alloc_device(mc, args);
	if (ret) {
		kfree(mc);
		return ret;
	}

	if (!mc->host) {
		ret = neuron_pages_clear(nd, mc->pool, mc->nc, mc->pa, mc->size);
		if (ret) {
			mutex_lock(&nd->lock);
			pages_free(mc);
			mutex_unlock(&nd->lock);
			neuron_mc_put(mc->above);
			kfree(mc);
			return ret;
		}
	}

	neuron_device_get(nd);
	neuron_stat_memory(nd, mc, true);
	mutex_lock(&nd->lock);
	tree_insert(nd, mc);
	ret = scrub_blocks(nd, mc) ? -EBUSY : guard_grant(nd, mc);
	if (!ret)
		ret = handle_alloc(nd, mc);
	if (!ret)
		neuron_mc_get(mc);
	mutex_unlock(&nd->lock);
	if (ret) {
		neuron_mc_put(mc);
		return ret;
	}

	*out = mc;
	return 0;
}

/* Takes a chunk's handle away; nd->lock is held. Returns false when somebody was faster */
static bool mc_unlink(struct neuron_mc *mc)
{
	struct neuron_device *nd = mc->nd;

	lockdep_assert_held(&nd->lock);
	if (!mc->handle)
		return false;
	xa_erase(&nd->handles, mc->handle);
	nd->free_stack[nd->free_count++] = mc->handle;
	WRITE_ONCE(mc->handle, 0);
	list_del_init(&mc->link);
	return true;
}

void neuron_mc_free(struct neuron_mc *mc)
{
	struct neuron_device *nd = mc->nd;
	bool mine;

	mutex_lock(&nd->lock);
	mine = mc_unlink(mc);
	mutex_unlock(&nd->lock);
	if (mine)
		neuron_mc_put(mc);
}

/* Frees the memory of a process, or with tgid 0 every chunk that has a handle */
void neuron_mem_free_all(struct neuron_device *nd, pid_t tgid)
{
	struct neuron_mc *mc, *next;
	LIST_HEAD(gone);

	mutex_lock(&nd->lock);
	list_for_each_entry_safe(mc, next, &nd->mcs, link) {
		if (tgid && (mc->tgid != tgid || mc->life != NEURON_LIFE_PROCESS))
			continue;
		mc_unlink(mc);
		list_add(&mc->link, &gone);
	}
	mutex_unlock(&nd->lock);
	list_for_each_entry_safe(mc, next, &gone, link) {
		list_del_init(&mc->link);
		/* somebody may still hold it, but its owner's domain will be another's */
		neuron_guard_revoke(mc);
		neuron_mc_put(mc);
	}
}

/* Used memory is cleared before the module lets go of the chip */
static void mem_wipe(struct neuron_device *nd)
{
	if (READ_ONCE(nd->gone) || READ_ONCE(nd->state) != NEURON_STATE_READY)
		return;
	down_read(&nd->reset_sem);
	if (neuron_pools_clear(nd))
		nd_err(nd, "device memory was not cleared\n");
	up_read(&nd->reset_sem);
}

/*
 * Before neuron_dma_exit(), after the removal of mappings. Chunks that a mapping or a dma-buf still
 * holds lose the chip here; the pages of host memory go with the last reference, because an
 * importer may be using them.
 */
void neuron_mem_exit(struct neuron_device *nd)
{
	struct rb_node *node;

	neuron_mem_free_all(nd, 0);
	mutex_lock(&nd->lock);
	while ((node = rb_first(&nd->chunks)))
		mc_take_off(rb_entry(node, struct neuron_mc, node));
	mutex_unlock(&nd->lock);
	mem_wipe(nd);
	neuron_pools_free(nd);
}

bool neuron_mc_owned(const struct neuron_mc *mc)
{
	return mc->tgid == current->tgid;
}

/* Other processes may read a chunk when they run as the same user, or may look at anything */
bool neuron_mc_readable(const struct neuron_mc *mc)
{
	return neuron_mc_owned(mc) || uid_eq(mc->uid, current_euid()) || capable(CAP_SYS_RAWIO);
}

struct neuron_mc *neuron_mc_lookup(struct neuron_device *nd, u64 handle, enum neuron_access access)
{
	struct neuron_mc *mc;

	if (!handle || handle >= MAX_HANDLES)
		return ERR_PTR(-EINVAL);
	mutex_lock(&nd->lock);
	mc = xa_load(&nd->handles, handle);
	if (mc)
		neuron_mc_get(mc);
	mutex_unlock(&nd->lock);
	if (!mc)
		return ERR_PTR(-EINVAL);
	if (access == NEURON_MAY_WRITE ? neuron_mc_owned(mc) : neuron_mc_readable(mc))
		return mc;
	neuron_mc_put(mc);
	return ERR_PTR(-EACCES);
}

static struct neuron_mc *tree_find(struct neuron_device *nd, u64 pa)
{
	struct rb_node *node = nd->chunks.rb_node;
	struct neuron_mc *mc;

	lockdep_assert_held(&nd->lock);
	while (node) {
		mc = rb_entry(node, struct neuron_mc, node);
		if (pa < mc->pa)
			node = node->rb_left;
		else if (pa - mc->pa >= mc->size)
			node = node->rb_right;
		else
			return mc;
	}
	return NULL;
}

struct neuron_mc *neuron_mc_at(struct neuron_device *nd, u64 pa)
{
	struct neuron_mc *mc;

	mutex_lock(&nd->lock);
	mc = tree_find(nd, pa);
	if (mc && (!mc->handle || !kref_get_unless_zero(&mc->ref)))
		mc = NULL;
	mutex_unlock(&nd->lock);
	return mc;
}

/* Is a range inside the chunk, or inside it and what follows of its owner's scratchpad? */
bool neuron_mc_range(const struct neuron_mc *mc, u64 offset, u64 size)
{
	u64 end = mc->size;

	if (check_add_overflow(offset, size, &size))
		return false;
	while (size > end && mc->above) {
		mc = mc->above;
		end += mc->size;
	}
	return size <= end;
}

static bool device_has(struct neuron_device *nd, u64 pa, u64 size)
{
	struct neuron_proc *proc;
	struct neuron_mc *mc;
	bool has;

	mutex_lock(&nd->lock);
	proc = neuron_proc_find(nd, current->tgid);
	mc = tree_find(nd, pa);
	has = proc && mc && mc->handle && mc->host && neuron_mc_owned(mc) &&
	      neuron_mc_range(mc, pa - mc->pa, size);
	mutex_unlock(&nd->lock);
	return has;
}

/* Is the range host memory of the caller, on this device or another one that it is attached to? */
bool neuron_host_range_owned(struct neuron_device *nd, u64 pa, u64 size)
{
	struct neuron_device *other;
	unsigned int i, n;
	bool has = device_has(nd, pa, size);

	for (i = 0, n = has ? 0 : neuron_device_count(); i < n && !has; i++) {
		other = neuron_device_find(i);
		if (!other)
			continue;
		if (other != nd)
			has = device_has(other, pa, size);
		neuron_device_put(other);
	}
	return has;
}

/* tgid 0: everybody's */
void neuron_mem_usage(struct neuron_device *nd, pid_t tgid, u64 *host, u64 *device)
{
	struct neuron_mc *mc;

	*host = 0;
	*device = 0;
	mutex_lock(&nd->lock);
	list_for_each_entry(mc, &nd->mcs, link) {
		if (tgid && mc->tgid != tgid)
			continue;
		*(mc->host ? host : device) += mc->size;
	}
	mutex_unlock(&nd->lock);
}
