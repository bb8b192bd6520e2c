// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs map of a chip beside their chunks: semaphores and memory of cores and TOP_SPs, and
 * whole memories for who may map anything. Which there are says struct neuron_gen.
 *
 * A view of a core, or of a TOP_SP, which is a core's, is for the core's owner. Pages are put in
 * when they are touched, under nd->lock, and only for the owner; when cores lose their owner all
 * views' pages are taken away, and the next touch finds a stranger's core.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_compat.h"
#include "neuron_gate.h"
#include "neuron_params.h"
#include "neuron_view.h"

#define NO_CORE NEURON_CORES_MAX

struct view_map {
	refcount_t ref;
	struct neuron_device *nd;
	unsigned int core; /* NO_CORE: nobody's */
	pid_t tgid; /* who mapped it */
	phys_addr_t at; /* of the whole view's first page */
	unsigned long pgoff;
};

static unsigned int view_core(const struct neuron_gen *gen, const struct neuron_view *view,
			      unsigned int n)
{
	switch (view->block) {
	case NEURON_VIEW_CORE:
		return n;
	case NEURON_VIEW_TOPSP:
		return neuron_gen_topsp_core(gen, n);
	default:
		return NO_CORE;
	}
}

int neuron_view_info(struct neuron_device *nd, struct neuron_ioctl_resource_mmap_info *info)
{
	const struct neuron_view *view = nd->gen->view;
	unsigned int i;

	BUILD_BUG_ON(NEURON_VIEW_TOPSP != NEURON_MMAP_BLOCK_TOP_SP);
	BUILD_BUG_ON(NEURON_VIEW_MEMORY != NEURON_MMAP_BLOCK_HBM);
	BUILD_BUG_ON(NEURON_VIEW_ALL != NEURON_MMAP_RESOURCE_ALL);
	BUILD_BUG_ON(NEURON_VIEW_BANK != NEURON_MMAP_RESOURCE_DMEM);
	for (i = 0; i < nd->gen->views; i++, view++) {
		if (view->block != info->block || view->resource != info->resource ||
		    info->block_id < view->first || info->block_id - view->first >= view->count)
			continue;
		info->offset = view->offset + (info->block_id - view->first) * view->stride;
		info->size = view->size;
		return 0;
	}
	/* a chip without views is asked for its semaphores all the same */
	if (nd->gen->views || info->block != NEURON_VIEW_CORE || info->block_id >= nd->gen->cores ||
	    info->resource != NEURON_VIEW_SEMAPHORES)
		return -EINVAL;
	info->offset = 0;
	info->size = 0;
	return 0;
}

/* The view that begins at an offset and is that long; n: which of its row */
static const struct neuron_view *view_at(const struct neuron_gen *gen, u64 offset, u64 size,
					 unsigned int *n)
{
	const struct neuron_view *view;
	unsigned int i;

	for (i = 0; i < gen->views; i++) {
		view = &gen->view[i];
		if (view->size != size)
			continue;
		for (*n = 0; *n < view->count; ++*n)
			if (offset == view->offset + *n * view->stride)
				return view;
	}
	return NULL;
}

static void map_open(struct vm_area_struct *vma)
{
	struct view_map *map = vma->vm_private_data;

	refcount_inc(&map->ref);
}

static void map_close(struct vm_area_struct *vma)
{
	struct view_map *map = vma->vm_private_data;

	if (!refcount_dec_and_test(&map->ref))
		return;
	neuron_device_put(map->nd);
	kfree(map);
}

static bool still_allowed(const struct view_map *map)
{
	lockdep_assert_held(&map->nd->lock);
	return map->core == NO_CORE || map->nd->core_owner[map->core] == map->tgid;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct view_map *map = vmf->vma->vm_private_data;
	struct neuron_device *nd = map->nd;
	u64 page = vmf->pgoff - map->pgoff;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	int idx = neuron_enter(nd);

	if (idx < 0)
		return VM_FAULT_SIGBUS;
	mutex_lock(&nd->lock);
	if (still_allowed(map))
		ret = vmf_insert_pfn(vmf->vma, vmf->address, (map->at >> PAGE_SHIFT) + page);
	mutex_unlock(&nd->lock);
	neuron_exit(nd, idx);
	return ret;
}

static const struct vm_operations_struct view_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_fault,
};

/* May the caller map it? A core that nobody has becomes its own */
static int view_claim(struct neuron_device *nd, unsigned int core)
{
	int ret;

	if (neuron_lost(nd))
		return -EIO;
	if (core == NO_CORE)
		return capable(CAP_SYS_RAWIO) ? 0 : -EACCES;
	mutex_lock(&nd->lock);
	/* the last descriptor may have been closed meanwhile */
	ret = neuron_attached_locked(nd) ? neuron_core_claim(nd, core) : -EACCES;
	mutex_unlock(&nd->lock);
	return ret;
}

static void flags_set(struct neuron_device *nd, const struct neuron_view *view,
		      struct vm_area_struct *vma)
{
	if (view->read_only) {
		vm_flags_clear(vma, VM_WRITE | VM_MAYWRITE);
		vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	}
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_page_prot = view->bar == nd->gen->bar_dram && neuron_wc_enable
				    ? pgprot_writecombine(vma->vm_page_prot)
				    : pgprot_noncached(vma->vm_page_prot);
}

int neuron_view_map(struct neuron_device *nd, struct vm_area_struct *vma)
{
	u64 size = vma->vm_end - vma->vm_start, at;
	const struct neuron_view *view;
	struct view_map *map;
	unsigned int n;
	int ret;

	view = view_at(nd->gen, (u64)vma->vm_pgoff << PAGE_SHIFT, size, &n);
	if (!view)
		return -ENOENT;
	at = view->bar_offset + n * view->bar_stride;
	if (!(vma->vm_flags & VM_SHARED) || at + size > pci_resource_len(nd->pdev, view->bar))
		return -EINVAL;
	ret = view_claim(nd, view_core(nd->gen, view, view->first + n));
	if (ret)
		return ret;
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	refcount_set(&map->ref, 1);
	map->nd = neuron_device_get(nd);
	map->core = view_core(nd->gen, view, view->first + n);
	map->tgid = current->tgid;
	map->at = pci_resource_start(nd->pdev, view->bar) + at;
	map->pgoff = vma->vm_pgoff;
	flags_set(nd, view, vma);
	vma->vm_private_data = map;
	vma->vm_ops = &view_ops;
	return 0;
}

/* Cores have lost their owners: whoever still has one gets its pages again when it touches them */
void neuron_views_end(struct neuron_device *nd)
{
	const struct neuron_view *view;
	unsigned int i, n;

	for (i = 0; nd->inode && i < nd->gen->views; i++) {
		view = &nd->gen->view[i];
		for (n = 0; n < view->count && view->block != NEURON_VIEW_MEMORY; n++)
			unmap_mapping_range(nd->inode->i_mapping, view->offset + n * view->stride,
					    view->size, 1);
	}
}
