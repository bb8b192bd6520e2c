// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bus addresses of mapped device memory for other kernel modules. A registration holds its chunk,
 * so nobody else gets the memory while a card may still reach it. Its owner is told once, when the
 * mapping or the device goes: from then on the addresses are not to be used. It lives until its
 * owner gives it back, which may be in that callback.
 *
 * p2p_lock protects the list; it is taken inside mmap_lock and never while a callback runs.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/completion.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_mem.h"
#include "neuron_mmap.h"
#include "neuron_p2p.h"

/* The size from which pages of 2 MiB are reported, if everything is aligned to them */
#define HUGE_FROM SZ_256M

struct neuron_p2p {
	struct list_head link;
	bool listed; /* nobody has been told */
	struct neuron_mc *mc;
	struct mm_struct *mm; /* to compare, never followed */
	void (*callback)(void *data);
	void *data;
	struct task_struct *teller; /* while it runs the callback; to compare */
	bool *gone; /* the teller's, set when the callback gives the registration back */
	struct completion told;
	struct neuron_p2p_va_info info; /* and one page_info */
};

static DEFINE_MUTEX(p2p_lock);
static LIST_HEAD(p2p_list);

static struct neuron_p2p *p2p_new(void (*callback)(void *data), void *data)
{
	struct neuron_p2p *p = kzalloc(struct_size(p, info.page_info, 1), GFP_KERNEL);

	if (!p)
		return NULL;
	init_completion(&p->told);
	p->mm = current->mm;
	p->callback = callback;
	p->data = data;
	return p;
}

/* Tells the one run of pages that a chunk's window is */
static int info_fill(struct neuron_p2p_va_info *info, struct neuron_mc *mc, u64 va, u64 offset,
		     u64 size)
{
	struct neuron_device *nd = mc->nd;
	unsigned int bar;
	u64 at, pa;

	if (mc->host || nhal_addr_to_bar(nd->gen, mc->pa + offset, size, &bar, &at) ||
	    bar != nd->gen->bar_dram || at > nd->dram_len || size > nd->dram_len - at)
		return -EINVAL;
	pa = nd->dram_base + at;
	info->virtual_address = (void *)(uintptr_t)va;
	info->size = size;
	info->shift_page_size = PAGE_SHIFT;
	if (size >= HUGE_FROM && IS_ALIGNED(size | va | pa, SZ_2M))
		info->shift_page_size = ilog2(SZ_2M);
	info->device_index = nd->index;
	info->entries = 1;
	info->page_info[0].physical_address = pa;
	info->page_info[0].page_count = size >> info->shift_page_size;
	return 0;
}

/* mmap_lock held, so that the mapping cannot go between the look and the entry in the list */
static int p2p_add(struct neuron_p2p *p, u64 va, u64 size)
{
	struct neuron_device *nd;
	u64 offset;
	int idx, ret;

	p->mc = neuron_mmap_chunk_locked(va, size, &offset);
	if (IS_ERR(p->mc))
		return PTR_ERR(p->mc);
	nd = p->mc->nd;
	idx = neuron_enter(nd); /* removal tells everybody after it has drained this */
	ret = idx < 0 ? idx : info_fill(&p->info, p->mc, va, offset, size);
	if (ret) {
		neuron_mc_put(p->mc);
	} else {
		mutex_lock(&p2p_lock);
		list_add(&p->link, &p2p_list);
		p->listed = true;
		mutex_unlock(&p2p_lock);
	}
	if (idx >= 0)
		neuron_exit(nd, idx);
	return ret;
}

/**
 * neuron_p2p_register_va() - bus addresses of device memory that the caller has mapped
 * @virtual_address: in a mapping of the current process, page-aligned
 * @length: bytes, a multiple of the page size, inside that one mapping
 * @vainfo: the addresses, valid until neuron_p2p_unregister_va()
 * @free_callback: called once, in process context, when the mapping or the device goes; may be
 *	NULL, may call neuron_p2p_unregister_va()
 * @data: for the callback
 *
 * Return: 0; -EINVAL for what is no mapping of device memory, -EACCES for memory of another
 * process, -ENODEV, -ENOMEM.
 */
int neuron_p2p_register_va(u64 virtual_address, u64 length, struct neuron_p2p_va_info **vainfo,
			   void (*free_callback)(void *data), void *data)
{
	struct neuron_p2p *p;
	int ret;

	if (!vainfo || !length || !PAGE_ALIGNED(virtual_address) || !PAGE_ALIGNED(length) ||
	    !current->mm)
		return -EINVAL;
	p = p2p_new(free_callback, data);
	if (!p)
		return -ENOMEM;
	mmap_read_lock(current->mm);
	ret = p2p_add(p, virtual_address, length);
	mmap_read_unlock(current->mm);
	if (ret) {
		kfree(p);
		return ret;
	}
	*vainfo = &p->info;
	return 0;
}
EXPORT_SYMBOL_GPL(neuron_p2p_register_va);

/**
 * neuron_p2p_unregister_va() - the addresses are no longer used
 * @vainfo: from neuron_p2p_register_va(), freed here
 *
 * A callback that runs has ended when this returns, unless it is the caller.
 *
 * Return: 0, or -EINVAL for NULL.
 */
int neuron_p2p_unregister_va(struct neuron_p2p_va_info *vainfo)
{
	struct neuron_p2p *p = container_of(vainfo, struct neuron_p2p, info);
	bool listed;

	if (!vainfo)
		return -EINVAL;
	mutex_lock(&p2p_lock);
	listed = p->listed;
	if (listed)
		list_del(&p->link);
	p->listed = false;
	mutex_unlock(&p2p_lock);
	if (!listed && p->teller == current)
		*p->gone = true;
	else if (!listed)
		wait_for_completion(&p->told);
	neuron_mc_put(p->mc);
	kfree(p);
	return 0;
}
EXPORT_SYMBOL_GPL(neuron_p2p_unregister_va);

/* A registration becomes invalid when its mapping ends, or its device goes */
struct p2p_end {
	struct mm_struct *mm;
	u64 start, end;
	struct neuron_device *nd;
};

static bool p2p_ends(const struct neuron_p2p *p, const struct p2p_end *e)
{
	u64 va = (uintptr_t)p->info.virtual_address;

	if (e->nd)
		return p->mc->nd == e->nd;
	return p->mm == e->mm && va < e->end && e->start < va + p->info.size;
}

/* Takes the next registration to be told off the list; it is now the teller's */
static struct neuron_p2p *p2p_take(const struct p2p_end *e, bool *gone)
{
	struct neuron_p2p *p, *found = NULL;

	mutex_lock(&p2p_lock);
	list_for_each_entry(p, &p2p_list, link) {
		if (!p2p_ends(p, e))
			continue;
		list_del(&p->link);
		p->listed = false;
		p->teller = current;
		p->gone = gone;
		found = p;
		break;
	}
	mutex_unlock(&p2p_lock);
	return found;
}

static void p2p_tell(const struct p2p_end *e)
{
	struct neuron_p2p *p;
	bool gone = false;

	for (; (p = p2p_take(e, &gone)); gone = false) {
		if (p->callback)
			p->callback(p->data);
		if (gone)
			continue;
		p->teller = NULL;
		complete_all(&p->told);
	}
}

/* mmap_lock held */
static void p2p_unmapped(struct vm_area_struct *vma)
{
	struct p2p_end e = { .mm = vma->vm_mm, .start = vma->vm_start, .end = vma->vm_end };

	p2p_tell(&e);
}

void neuron_p2p_removed(struct neuron_device *nd)
{
	struct p2p_end e = { .nd = nd };

	p2p_tell(&e);
}

void neuron_p2p_init(void)
{
	neuron_mmap_on_end(p2p_unmapped);
}
