/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels the module builds for (6.1 to 7.3), in one place. */
#ifndef NEURON_COMPAT_H
#define NEURON_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define NEURON_DEVNODE_CONST
#else
#define NEURON_DEVNODE_CONST const
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define NEURON_CLASS_ATTR_CONST
#define neuron_class_create(name) class_create(THIS_MODULE, name)
#else
#define NEURON_CLASS_ATTR_CONST const
#define neuron_class_create(name) class_create(name)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define NEURON_BIN_ATTR_CONST
#else
#define NEURON_BIN_ATTR_CONST const
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define NEURON_IMPORT_NS_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#else
#define NEURON_IMPORT_NS_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#endif

#endif
