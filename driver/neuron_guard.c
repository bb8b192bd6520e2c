// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chip's guard (docs/hardware.md, The guard): which host memory, cores and queues a process's
 * queues and instructions reach, whatever it writes into its rings. Owns the table that all chips
 * share, the domains of processes, and the guard registers.
 *
 * A domain is a process on all devices that it is attached to. Host chunks are granted to their
 * owner's domain when they are made, and taken away when they are given back or their owner goes.
 * Zero-copy needs no grant: its queue is the module's own.
 *
 * guard_lock is a leaf.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/mm.h>

#include "neuron_device.h"
#include "neuron_guard.h"
#include "neuron_log.h"
#include "neuron_mem.h"

#define ROOT_SIZE (NEURON_GUARD_ROOT_ENTRIES * sizeof(u64))
#define DOMAINS (NEURON_GUARD_HOST - 1) /* 1 to 254 */

static DEFINE_MUTEX(guard_lock); /* all that follows */
static __le64 *guard_root;
static LIST_HEAD(guard_devices);
static struct {
	pid_t tgid;
	unsigned int users; /* devices it is attached to */
} guard_domains[DOMAINS];

/* Takes the process's domain on one more device; 0: there are too many processes */
u8 neuron_guard_domain_get(pid_t tgid)
{
	unsigned int i, spare = DOMAINS;

	mutex_lock(&guard_lock);
	for (i = 0; i < DOMAINS; i++) {
		if (guard_domains[i].users && guard_domains[i].tgid == tgid)
			break;
		if (!guard_domains[i].users && spare == DOMAINS)
			spare = i;
	}
	if (i == DOMAINS)
		i = spare;
	if (i < DOMAINS) {
		guard_domains[i].tgid = tgid;
		guard_domains[i].users++;
	}
	mutex_unlock(&guard_lock);
	return i < DOMAINS ? i + 1 : NEURON_GUARD_NONE;
}

/* True: the process was attached to no other device */
bool neuron_guard_domain_put(u8 domain)
{
	bool last = false;

	mutex_lock(&guard_lock);
	if (domain)
		last = !--guard_domains[domain - 1].users;
	mutex_unlock(&guard_lock);
	return last;
}

/* Finds the next level behind an entry, which is made if it is not there and shall be */
static void *level(__le64 *entry, bool make)
{
	void *page;

	if (*entry)
		return phys_to_virt(le64_to_cpu(*entry));
	page = make ? (void *)get_zeroed_page(GFP_KERNEL) : NULL;
	if (page)
		WRITE_ONCE(*entry, cpu_to_le64(virt_to_phys(page)));
	return page;
}

/* Finds the byte of a page of host memory */
static u8 *owner_of(u64 addr, bool make)
{
	__le64 *mid;
	u8 *leaf;

	mid = level(&guard_root[addr >> NEURON_GUARD_ROOT_SHIFT], make);
	if (!mid)
		return NULL;
	leaf = level(&mid[(addr >> NEURON_GUARD_MID_SHIFT) % NEURON_GUARD_MID_ENTRIES], make);
	if (!leaf)
		return NULL;
	return &leaf[(addr >> NEURON_GUARD_PAGE_SHIFT) % NEURON_GUARD_LEAF_ENTRIES];
}

static int pages_set(u64 addr, u64 size, u8 domain)
{
	u64 end = addr + size;
	u8 *owner;

	lockdep_assert_held(&guard_lock);
	for (; addr < end; addr += BIT(NEURON_GUARD_PAGE_SHIFT)) {
		owner = owner_of(addr, domain != NEURON_GUARD_NONE);
		if (owner)
			WRITE_ONCE(*owner, domain);
		else if (domain)
			return -ENOMEM;
	}
	return 0;
}

/* Lets the owner's queues reach a host chunk */
int neuron_guard_grant(struct neuron_mc *mc, u8 domain)
{
	int ret = 0;

	mutex_lock(&guard_lock);
	if (guard_root && domain) {
		mc->domain = domain;
		ret = pages_set(mc->dma, mc->size, domain);
	}
	mutex_unlock(&guard_lock);
	return ret;
}

/* Nobody's queues reach the chunk any more, on any chip, when this returns */
void neuron_guard_revoke(struct neuron_mc *mc)
{
	struct neuron_device *nd;

	mutex_lock(&guard_lock);
	if (mc->domain) {
		pages_set(mc->dma, mc->size, NEURON_GUARD_NONE);
		mc->domain = NEURON_GUARD_NONE;
		list_for_each_entry(nd, &guard_devices, guard_link)
			writel(1, nd->ext + NEURON_EXT_GUARD_FENCE);
	}
	mutex_unlock(&guard_lock);
}

static void reg_set(struct neuron_device *nd, u32 reg, u32 value)
{
	if (nd->guarded && !READ_ONCE(nd->gone))
		writel(value, nd->ext + reg);
}

/* nd->lock held */
void neuron_guard_core(struct neuron_device *nd, unsigned int nc, u8 domain)
{
	nd->core_domain[nc] = domain;
	reg_set(nd, nd->gen->ext.guard_core + 4 * nc, domain);
}

void neuron_guard_queue(struct neuron_device *nd, unsigned int eng, unsigned int qid, u8 domain)
{
	reg_set(nd, nd->gen->ext.guard_queue + 4 * (QUEUE_COUNT * eng + qid), domain);
}

/* Are the chip's addresses of host memory other ones than the table's? */
static bool translated(struct neuron_device *nd)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&nd->pdev->dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return true;
	return nd->dummy_dma != virt_to_phys(nd->dummy_ring);
}

/* Called before the first reset */
void neuron_guard_init(struct neuron_device *nd)
{
	INIT_LIST_HEAD(&nd->guard_link);
	if (!(nd->hal.features & NEURON_CAP_F_GUARD))
		return;
	if (translated(nd)) {
		nd_info(nd, "behind an IOMMU: queues are not guarded\n");
		return;
	}
	mutex_lock(&guard_lock);
	if (!guard_root)
		guard_root = alloc_pages_exact(ROOT_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (guard_root) {
		nd->guarded = true;
		list_add(&nd->guard_link, &guard_devices);
	}
	mutex_unlock(&guard_lock);
	if (!nd->guarded)
		nd_err(nd, "no memory for a table: queues are not guarded\n");
}

/* Turns the guard on again after a device reset; nothing runs yet, reset_sem is held for writing */
void neuron_guard_start(struct neuron_device *nd)
{
	u64 root = nd->guarded ? virt_to_phys(guard_root) : 0;
	unsigned int eng, nc;

	for (eng = 0; eng < nd->gen->dma_engines * QUEUE_COUNT; eng++)
		neuron_guard_queue(nd, eng / QUEUE_COUNT, eng % QUEUE_COUNT, NEURON_GUARD_NONE);
	mutex_lock(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++) {
		neuron_guard_core(nd, nc,
				  nd->core_owner[nc] ? nd->core_domain[nc] : NEURON_GUARD_NONE);
		neuron_guard_queue(nd, nd->gen->copy[nc].engine, nd->gen->copy[nc].queue,
				   NEURON_GUARD_HOST);
	}
	mutex_unlock(&nd->lock);
	reg_set(nd, NEURON_EXT_GUARD_ROOT_LO, lower_32_bits(root));
	reg_set(nd, NEURON_EXT_GUARD_ROOT_HI, upper_32_bits(root));
	reg_set(nd, NEURON_EXT_GUARD_CTRL, 1);
}

/* Takes the chip off the guard; its queues are parked */
void neuron_guard_exit(struct neuron_device *nd)
{
	reg_set(nd, NEURON_EXT_GUARD_CTRL, 0);
	mutex_lock(&guard_lock);
	list_del_init(&nd->guard_link);
	mutex_unlock(&guard_lock);
}

/* The module goes, and all chips have let go of the table */
void neuron_guard_free(void)
{
	__le64 *mid;
	unsigned int i, k;

	for (i = 0; guard_root && i < NEURON_GUARD_ROOT_ENTRIES; i++) {
		mid = level(&guard_root[i], false);
		for (k = 0; mid && k < NEURON_GUARD_MID_ENTRIES; k++)
			free_page((unsigned long)level(&mid[k], false));
		free_page((unsigned long)mid);
	}
	if (guard_root)
		free_pages_exact(guard_root, ROOT_SIZE);
	guard_root = NULL;
}
