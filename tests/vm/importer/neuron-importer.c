// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for a network card's driver: a test asks it through /dev/neuron-importer to register a
 * mapping with neuron.ko (found with symbol_get, as such drivers do) or to import a dma-buf, and to
 * copy the bytes it finds at the bus addresses it was given.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "importer.h"
#include "neuron_p2p.h"

struct importer {
	struct neuron_p2p_va_info *info;
	int (*unregister)(struct neuron_p2p_va_info *info);
	atomic_t told;
	bool in_callback; /* unregister from there */
	struct dma_buf *held;
	struct dma_buf_attachment *held_at;
	struct sg_table *held_sgt;
};

static void told(void *data)
{
	struct importer *im = data;

	atomic_inc(&im->told);
	if (im->in_callback) {
		im->unregister(im->info);
		im->info = NULL;
	}
}

static void drop(struct importer *im)
{
	if (im->info)
		im->unregister(im->info);
	im->info = NULL;
	if (im->unregister)
		symbol_put(neuron_p2p_unregister_va);
	im->unregister = NULL;
}

static int do_register(struct importer *im, struct importer_register *a)
{
	int (*reg)(u64 va, u64 length, struct neuron_p2p_va_info * *info, void (*cb)(void *data),
		   void *data) = symbol_get(neuron_p2p_register_va);
	int ret;

	if (!reg)
		return -EOPNOTSUPP;
	drop(im);
	im->unregister = symbol_get(neuron_p2p_unregister_va);
	im->in_callback = a->in_callback;
	ret = reg(a->va, a->size, &im->info, told, im);
	symbol_put(neuron_p2p_register_va);
	if (ret) {
		drop(im);
		return ret;
	}
	a->shift = im->info->shift_page_size;
	a->device = im->info->device_index;
	a->entries = im->info->entries;
	a->address = im->info->page_info[0].physical_address;
	a->count = im->info->page_info[0].page_count;
	return 0;
}

/* Reads the first bytes at a bus address of the DRAM window, as a card would */
static int peek_bus(u64 address, void *bytes, size_t n)
{
	void __iomem *p = ioremap_wc(address, n);

	if (!p)
		return -ENOMEM;
	memcpy_fromio(bytes, p, n);
	iounmap(p);
	return 0;
}

static int do_peek(struct importer *im, struct importer_peek *a)
{
	return im->info ? peek_bus(im->info->page_info[0].physical_address, a->bytes,
				   sizeof(a->bytes))
			: -ENOENT;
}

static int import_look(struct sg_table *sgt, struct importer_import *a)
{
	a->address = sg_dma_address(sgt->sgl);
	a->length = sg_dma_len(sgt->sgl);
	a->segments = sgt->nents;
	if (!a->host)
		return peek_bus(a->address, a->bytes, sizeof(a->bytes));
	/* without an IOMMU a bus address of RAM is its physical address */
	memcpy(a->bytes, phys_to_virt(a->address), sizeof(a->bytes));
	return 0;
}

static int import_map(struct dma_buf_attachment *at, struct importer_import *a)
{
	struct sg_table *sgt;
	int ret;

	sgt = dma_buf_map_attachment(at, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = import_look(sgt, a);
	dma_buf_unmap_attachment(at, sgt, DMA_BIDIRECTIONAL);
	return ret;
}

static void let_go(struct importer *im)
{
	if (im->held_sgt)
		dma_buf_unmap_attachment(im->held_at, im->held_sgt, DMA_BIDIRECTIONAL);
	if (im->held_at)
		dma_buf_detach(im->held, im->held_at);
	if (im->held)
		dma_buf_put(im->held);
	im->held = NULL;
	im->held_at = NULL;
	im->held_sgt = NULL;
}

/* Imports by a function that is not the chip: its driver stays when neuron.ko releases the chip. */
static int do_hold(struct importer *im, struct importer_import *a)
{
	struct pci_dev *pdev = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, PCI_ANY_ID, NULL);
	struct dma_buf *buf = dma_buf_get(a->fd);
	struct dma_buf_attachment *at;
	struct sg_table *sgt;

	let_go(im);
	if (!pdev || IS_ERR(buf))
		return -ENODEV;
	im->held = buf;
	at = dma_buf_attach(buf, &pdev->dev);
	pci_dev_put(pdev);
	if (IS_ERR(at))
		return PTR_ERR(at);
	im->held_at = at;
	sgt = dma_buf_map_attachment(at, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	im->held_sgt = sgt;
	return import_look(sgt, a);
}

/* The importing device has to be one that can do DMA: the chip's own function is at hand */
static int do_import(struct importer_import *a)
{
	struct pci_dev *pdev = pci_get_class(PCI_CLASS_SYSTEM_OTHER << 8, NULL);
	struct dma_buf_attachment *at[2];
	struct dma_buf *buf;
	int ret;

	if (!pdev)
		return -ENODEV;
	buf = dma_buf_get(a->fd);
	if (IS_ERR(buf)) {
		pci_dev_put(pdev);
		return PTR_ERR(buf);
	}
	at[0] = dma_buf_attach(buf, &pdev->dev);
	at[1] = dma_buf_attach(buf, &pdev->dev);
	ret = IS_ERR(at[0]) ? PTR_ERR(at[0]) : IS_ERR(at[1]) ? PTR_ERR(at[1]) : 0;
	if (!ret)
		ret = import_map(at[0], a);
	if (!ret)
		ret = import_map(at[1], a);
	if (!IS_ERR(at[0]))
		dma_buf_detach(buf, at[0]);
	if (!IS_ERR(at[1]))
		dma_buf_detach(buf, at[1]);
	dma_buf_put(buf);
	pci_dev_put(pdev);
	return ret;
}

static int dispatch(struct importer *im, unsigned int cmd, void *arg)
{
	switch (cmd) {
	case IMPORTER_REGISTER:
		return do_register(im, arg);
	case IMPORTER_PEEK:
		return do_peek(im, arg);
	case IMPORTER_UNREGISTER:
		drop(im);
		return 0;
	case IMPORTER_TOLD:
		return atomic_read(&im->told);
	case IMPORTER_IMPORT:
		return do_import(arg);
	case IMPORTER_HOLD:
		return do_hold(im, arg);
	case IMPORTER_HELD:
		return im->held_sgt ? import_look(im->held_sgt, arg) : -ENOENT;
	case IMPORTER_LET_GO:
		let_go(im);
		return 0;
	}
	return -ENOTTY;
}

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	u8 buf[IMPORTER_ARG_MAX] __aligned(8) = {};
	size_t size = _IOC_SIZE(cmd);
	long ret;

	if (size > sizeof(buf) || copy_from_user(buf, (void __user *)arg, size))
		return -EFAULT;
	ret = dispatch(file->private_data, cmd, buf);
	if (ret >= 0 && copy_to_user((void __user *)arg, buf, size))
		return -EFAULT;
	return ret;
}

static int importer_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(struct importer), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int importer_release(struct inode *inode, struct file *file)
{
	drop(file->private_data);
	let_go(file->private_data);
	kfree(file->private_data);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
};

static struct miscdevice importer = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "neuron-importer",
	.fops = &importer_fops,
};

module_misc_device(importer);
MODULE_DESCRIPTION("test: what other modules see of neuron.ko");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif
