// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma-buf export of a mapped chunk: other drivers (network cards) reach host chunks as pages and
 * device chunks through the DRAM window. A buffer holds its chunk, and so the pages of a host chunk
 * beyond the device's removal, because an importer may still be working on them. Nobody can be told
 * of a removal: kernels pass move_notify() on only with an experimental option, and network cards
 * pin what they import. What they do with a removed chip's window is between them and that chip.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_compat.h"
#include "neuron_dmabuf.h"
#include "neuron_gate.h"
#include "neuron_mem.h"
#include "neuron_mmap.h"

struct neuron_export {
	struct neuron_mc *mc;
	u64 offset, size;
};

static int sgt_host(struct neuron_export *e, struct device *dev, struct sg_table *sgt,
		    enum dma_data_direction dir)
{
	int ret;

	ret = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (ret)
		return ret;
	sg_set_page(sgt->sgl, virt_to_page(e->mc->va + e->offset), e->size, 0);
	/* others have them mapped as well, for what they share */
	ret = dma_map_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		sg_free_table(sgt);
	return ret;
}

/* A device chunk has no pages: its bus address in the window is one segment */
static int sgt_device(struct neuron_export *e, struct device *dev, struct sg_table *sgt,
		      enum dma_data_direction dir)
{
	struct neuron_device *nd = e->mc->nd;
	unsigned int bar;
	dma_addr_t addr;
	u64 offset;
	int ret;

	if (nhal_addr_to_bar(nd->gen, e->mc->pa + e->offset, e->size, &bar, &offset) ||
	    bar != nd->gen->bar_dram || offset > nd->dram_len || e->size > nd->dram_len - offset)
		return -EINVAL;
	ret = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (ret)
		return ret;
	addr = dma_map_resource(dev, nd->dram_base + offset, e->size, dir, 0);
	if (dma_mapping_error(dev, addr)) {
		sg_free_table(sgt);
		return -EIO;
	}
	sg_dma_address(sgt->sgl) = addr;
	sg_dma_len(sgt->sgl) = e->size;
	return 0;
}

static struct sg_table *export_map(struct dma_buf_attachment *at, enum dma_data_direction dir)
{
	struct neuron_export *e = at->dmabuf->priv;
	struct neuron_device *nd = e->mc->nd;
	struct sg_table *sgt;
	int idx, ret;

	idx = neuron_enter(nd);
	if (idx < 0)
		return ERR_PTR(idx);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	ret = -ENOMEM;
	if (sgt)
		ret = e->mc->host ? sgt_host(e, at->dev, sgt, dir)
				  : sgt_device(e, at->dev, sgt, dir);
	neuron_exit(nd, idx);
	if (!ret)
		return sgt;
	kfree(sgt);
	return ERR_PTR(ret);
}

static void export_unmap(struct dma_buf_attachment *at, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct neuron_export *e = at->dmabuf->priv;

	if (e->mc->host)
		dma_unmap_sgtable(at->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	else
		dma_unmap_resource(at->dev, sg_dma_address(sgt->sgl), e->size, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static void export_free(struct neuron_export *e)
{
	neuron_mc_put(e->mc);
	kfree(e);
}

static void export_release(struct dma_buf *buf)
{
	export_free(buf->priv);
}

static const struct dma_buf_ops export_ops = {
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.release = export_release,
};

/* va must lie in one of the caller's mappings of a chunk that it owns */
struct dma_buf *neuron_dmabuf_export(u64 va, u64 size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;
	struct neuron_export *e;
	int ret;

	if (!size || !PAGE_ALIGNED(va) || !PAGE_ALIGNED(size) || size > UINT_MAX)
		return ERR_PTR(-EINVAL);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->size = size;
	e->mc = neuron_mmap_chunk(va, size, &e->offset);
	if (IS_ERR(e->mc)) {
		ret = PTR_ERR(e->mc);
		kfree(e);
		return ERR_PTR(ret);
	}
	info.ops = &export_ops;
	info.size = size;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = e;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf))
		export_free(e);
	return buf;
}

NEURON_IMPORT_NS_DMA_BUF;
