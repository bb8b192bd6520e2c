// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap of chunks: the offset is the chunk's device-side address and the length its size. A mapping
 * keeps its chunk; a process that does not own the chunk gets no write permission, nor the
 * permission to ask for it later.
 *
 * Pages are put in when they are touched, many at once, and only while the device is entered: once
 * removal has drained its users and taken the mappings' pages away, none comes back. From then on
 * one page of zeros stands for all of a chunk's: who looks there for a notification sees none,
 * asks, and gets -ENODEV.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "neuron_device.h"
#include "neuron_compat.h"
#include "neuron_gate.h"
#include "neuron_inject.h"
#include "neuron_log.h"
#include "neuron_mem.h"
#include "neuron_mmap.h"
#include "neuron_params.h"
#include "neuron_view.h"

/* Called when a mapping ends */
static void (*mapping_end)(struct vm_area_struct *vma);

/**
 * neuron_mmap_on_end() - have it told when a mapping ends
 * @end: called with the mapping and its mmap_lock held
 *
 * Once, while the module starts.
 */
void neuron_mmap_on_end(void (*end)(struct vm_area_struct *vma))
{
	mapping_end = end;
}

static void vm_open(struct vm_area_struct *vma)
{
	neuron_mc_get(vma->vm_private_data);
}

static void vm_close(struct vm_area_struct *vma)
{
	if (mapping_end)
		mapping_end(vma);
	neuron_mc_put(vma->vm_private_data);
}

/* One page for all of the chunk, so that a dead chip costs no memory */
static struct page *void_page(struct neuron_mc *mc)
{
	struct page *page = READ_ONCE(mc->void_page), *mine;

	if (page)
		return page;
	mine = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!mine)
		return NULL;
	page = cmpxchg(&mc->void_page, NULL, mine);
	if (page)
		__free_page(mine);
	return page ?: mine;
}

static vm_fault_t void_fault(struct vm_fault *vmf, struct neuron_mc *mc)
{
	struct page *page = void_page(mc);

	return page ? vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page)) : VM_FAULT_OOM;
}

/* Returns the first page frame of what is mapped; the DRAM window may be smaller than the memory */
static int chunk_pfn(struct neuron_mc *mc, u64 size, unsigned long *pfn)
{
	struct neuron_device *nd = mc->nd;
	unsigned int bar;
	u64 offset;

	if (mc->host) {
		*pfn = page_to_pfn(virt_to_page(mc->va));
		return 0;
	}
	if (nhal_addr_to_bar(nd->gen, mc->pa, size, &bar, &offset) || bar != nd->gen->bar_dram)
		return -EINVAL;
	if (offset > nd->dram_len || size > nd->dram_len - offset)
		return -EINVAL;
	*pfn = (nd->dram_base + offset) >> PAGE_SHIFT;
	return 0;
}

/* Maps the page that was touched, and what else of the mapping one table of pages covers */
static vm_fault_t chunk_fault(struct vm_fault *vmf, struct neuron_mc *mc)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long block = vmf->address & PMD_MASK;
	unsigned long addr = max(vma->vm_start, block), pfn;
	unsigned long end = min(vma->vm_end - 1, block + (PMD_SIZE - 1));
	vm_fault_t ret, wanted = VM_FAULT_SIGBUS;

	/* what was mapped has passed; a split mapping knows no more how much that was */
	if (chunk_pfn(mc, PAGE_SIZE, &pfn))
		return VM_FAULT_SIGBUS;
	pfn += linear_page_index(vma, addr) - (mc->pa >> PAGE_SHIFT);
	for (; addr < end; addr += PAGE_SIZE, pfn++) {
		ret = vmf_insert_pfn(vma, addr, pfn);
		if (addr == vmf->address)
			wanted = ret;
		if (ret != VM_FAULT_NOPAGE && addr >= vmf->address)
			break;
	}
	return wanted;
}

static vm_fault_t vm_fault(struct vm_fault *vmf)
{
	struct neuron_mc *mc = vmf->vma->vm_private_data;
	int idx = neuron_enter(mc->nd);
	vm_fault_t ret;

	if (idx < 0)
		return void_fault(vmf, mc);
	ret = chunk_fault(vmf, mc);
	neuron_exit(mc->nd, idx);
	return ret;
}

static const struct vm_operations_struct neuron_vm_ops = {
	.open = vm_open,
	.close = vm_close,
	.fault = vm_fault,
};

/*
 * What may be mapped is the whole chunk; of the scratchpad any part from its start on, over chunks
 * of the owner too
 */
static bool map_size_fits(const struct neuron_mc *mc, u64 size)
{
	if (mc->type == NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE && !mc->host)
		return neuron_mc_range(mc, 0, size);
	return size == mc->size;
}

static int map_chunk(struct neuron_mc *mc, struct vm_area_struct *vma)
{
	u64 size = vma->vm_end - vma->vm_start;
	unsigned long pfn;

	if (!map_size_fits(mc, size))
		return -EINVAL;
	if (!neuron_mc_readable(mc) && mc->life != NEURON_LIFE_DEVICE)
		return -EACCES;
	/* a private writable mapping would be a copy that nobody else sees */
	if (!(vma->vm_flags & VM_SHARED) && vma->vm_flags & VM_WRITE)
		return -EINVAL;
	/* nor may mprotect make it one */
	if (!neuron_mc_owned(mc) || !(vma->vm_flags & VM_SHARED)) {
		vm_flags_clear(vma, VM_WRITE | VM_MAYWRITE);
		vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	}
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	if (!mc->host)
		vma->vm_page_prot = neuron_wc_enable ? pgprot_writecombine(vma->vm_page_prot)
						     : pgprot_noncached(vma->vm_page_prot);
	return chunk_pfn(mc, size, &pfn);
}

static struct neuron_mc *chunk_of(struct vm_area_struct *vma, u64 va, u64 size, u64 *offset)
{
	struct neuron_mc *mc;

	if (!vma || vma->vm_ops != &neuron_vm_ops || va < vma->vm_start || size > vma->vm_end - va)
		return ERR_PTR(-EINVAL);
	mc = vma->vm_private_data;
	if (!neuron_mc_owned(mc))
		return ERR_PTR(-EACCES);
	/* a split mapping starts inside the chunk */
	*offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) - mc->pa + (va - vma->vm_start);
	if (!neuron_mc_range(mc, *offset, size))
		return ERR_PTR(-EINVAL);
	neuron_mc_get(mc);
	return mc;
}

struct neuron_mc *neuron_mmap_chunk_locked(u64 va, u64 size, u64 *offset)
{
	return chunk_of(vma_lookup(current->mm, va), va, size, offset);
}

struct neuron_mc *neuron_mmap_chunk(u64 va, u64 size, u64 *offset)
{
	struct neuron_mc *mc;

	mmap_read_lock(current->mm);
	mc = neuron_mmap_chunk_locked(va, size, offset);
	mmap_read_unlock(current->mm);
	return mc;
}

/* Finds the device and the memory that an address of the caller's is mapped from; -ENXIO: none */
int neuron_mmap_placement(u64 va, int *index, unsigned int *memory)
{
	struct vm_area_struct *vma;
	struct neuron_mc *mc;
	int ret = -ENXIO;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, va);
	mc = vma && vma->vm_ops == &neuron_vm_ops ? vma->vm_private_data : NULL;
	if (mc && !mc->host) {
		*index = mc->nd->index;
		*memory = neuron_mc_memory(mc);
		ret = 0;
	}
	mmap_read_unlock(current->mm);
	return ret;
}

static int mmap_checked(struct file *file, struct vm_area_struct *vma)
{
	struct neuron_file *nf = file->private_data;
	struct neuron_device *nd = nf->nd;
	struct neuron_mc *mc;
	int idx, ret;

	/* a file that is open for writing alone does not get here: the kernel refuses to map it */
	if (neuron_fail(NEURON_FAIL_MMAP))
		return -ENOMEM;

	idx = neuron_enter(nd);
	if (idx < 0)
		return idx;
	if (!neuron_attached(nd)) {
		ret = -EACCES;
		goto exit;
	}

	ret = -EINVAL;
	mc = neuron_mc_at(nd, (u64)vma->vm_pgoff << PAGE_SHIFT);
	if (!mc) {
		ret = neuron_view_map(nd, vma);
		ret = ret == -ENOENT ? -EINVAL : ret;
		goto exit;
	}
	if (mc->pa == (u64)vma->vm_pgoff << PAGE_SHIFT)
		ret = map_chunk(mc, vma);
	if (ret) {
		neuron_mc_put(mc);
		goto exit;
	}

	vma->vm_private_data = mc;
	vma->vm_ops = &neuron_vm_ops;
exit:
	neuron_exit(nd, idx);
	return ret;
}

int neuron_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct neuron_file *nf = file->private_data;
	int ret = mmap_checked(file, vma);

	neuron_refused(nf->nd, "mmap", ret);
	return ret;
}
