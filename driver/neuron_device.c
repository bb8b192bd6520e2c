// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chip's life: resources, index, bring-up in order, removal in reverse. Called by the PCI driver.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_cdev.h"
#include "neuron_crwl.h"
#include "neuron_dma.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_h2tq.h"
#include "neuron_hwerr.h"
#include "neuron_hwmon.h"
#include "neuron_irq.h"
#include "neuron_log.h"
#include "neuron_mem.h"
#include "neuron_nds.h"
#include "neuron_p2p.h"
#include "neuron_params.h"
#include "neuron_proc.h"
#include "neuron_reset.h"
#include "neuron_sysfs.h"
#include "neuron_health.h"

static DEFINE_IDA(neuron_index_ida);

/* The public driver's: what the word of the routing id shows before it is known */
#define ROUTE_UNKNOWN 0xdeadbeef
#define ROUTE_TRIES 20
#define ROUTE_SLEEP_MS 1000

/* Limits that hold without the emulator's own registers */
#define FEATURES_BARE (NEURON_CAP_F_FAST_RESET | NEURON_CAP_F_TPB_MAP)

/* The emulator's own registers are where the header says, or none is used */
static bool capability_registers(struct pci_dev *pdev, const struct neuron_gen *gen, u8 pos)
{
	struct neuron_place place;
	u32 offset, length;
	u8 bar;

	pci_read_config_byte(pdev, pos + NEURON_CAP_BAR, &bar);
	pci_read_config_dword(pdev, pos + NEURON_CAP_OFFSET, &offset);
	pci_read_config_dword(pdev, pos + NEURON_CAP_LENGTH, &length);
	return neuron_gen_decode(gen, bar, offset, &place) && place.kind == NEURON_BLOCK_EXT &&
	       !place.rel && length >= place.left &&
	       pci_resource_len(pdev, bar) >= (u64)offset + length;
}

/* Checks the places of registers that each core or engine has, where the capability names them */
static bool capability_places(struct pci_dev *pdev, const struct neuron_gen *gen, u8 pos)
{
	const struct neuron_ext_map *ext = &gen->ext;
	const u32 want[] = { ext->nq_overflows, ext->dma_stopped, ext->nq_entries,
			     ext->guard_core,	ext->guard_queue, ext->perf,
			     ext->perf_stride,	ext->perf_core };
	unsigned int i;
	u32 place;

	for (i = 0; i < ARRAY_SIZE(want) && ext->version >= NEURON_CAP_VERSION_PLACES; i++) {
		pci_read_config_dword(pdev, pos + NEURON_CAP_PLACES + 4 * i, &place);
		if (place != want[i])
			return false;
	}
	return true;
}

static u32 capability_features(struct pci_dev *pdev, const struct neuron_gen *gen)
{
	u32 magic, features;
	u16 version;
	u8 pos;

	for (pos = pci_find_capability(pdev, PCI_CAP_ID_VNDR); pos;
	     pos = pci_find_next_capability(pdev, pos, PCI_CAP_ID_VNDR)) {
		pci_read_config_dword(pdev, pos + NEURON_CAP_MAGIC, &magic);
		pci_read_config_word(pdev, pos + NEURON_CAP_VERSION, &version);
		if (magic != NEURON_CAP_MAGIC_VALUE || version != gen->ext.version)
			continue;
		pci_read_config_dword(pdev, pos + NEURON_CAP_FEATURES, &features);
		if (!capability_registers(pdev, gen, pos) || !capability_places(pdev, gen, pos))
			features &= FEATURES_BARE;
		return features;
	}
	return 0;
}

/* Returns where a block of the registers' BAR ends */
static u64 block_end(const struct neuron_gen *gen, enum neuron_block_kind kind)
{
	u64 at = neuron_gen_offset(gen, kind, 0);
	struct neuron_place place;

	return neuron_gen_decode(gen, gen->bar_regs, at, &place) ? at + place.left : 0;
}

/* The emulator's own registers, where the capability says that they can be relied on */
static int map_ext(struct neuron_device *nd, u32 features)
{
	unsigned int bar = neuron_gen_block(nd->gen, NEURON_BLOCK_EXT)->bar;
	int ret = 0;

	if (!(features & ~FEATURES_BARE))
		return 0;
	if (bar != nd->gen->bar_regs && bar != nd->gen->bar_cores)
		ret = pcim_iomap_regions(nd->pdev, BIT(bar), "neuron");
	if (!ret)
		nd->ext = pcim_iomap_table(nd->pdev)[bar] +
			  neuron_gen_offset(nd->gen, NEURON_BLOCK_EXT, 0);
	return ret;
}

static int map_bars(struct neuron_device *nd, u32 features)
{
	const struct neuron_gen *gen = nd->gen;
	struct pci_dev *pdev = nd->pdev;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	pci_set_master(pdev);

	/* addresses must stay inside the host window */
	ret = dma_set_mask_and_coherent(&pdev->dev, gen->window.host_size - 1);
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ret = pcim_iomap_regions(pdev, BIT(gen->bar_regs) | BIT(gen->bar_cores), "neuron");
	if (!ret)
		ret = map_ext(nd, features);
	if (ret)
		return ret;

	nd->regs = pcim_iomap_table(pdev)[gen->bar_regs];
	nd->cores = pcim_iomap_table(pdev)[gen->bar_cores];
	nd->regs_len = pci_resource_len(pdev, gen->bar_regs);
	nd->cores_len = pci_resource_len(pdev, gen->bar_cores);
	nd->dram_base = pci_resource_start(pdev, gen->bar_dram);
	nd->dram_len = pci_resource_len(pdev, gen->bar_dram);

	/*
	 * a chip that is plugged may find no room for its memory's BAR, which copies need not;
	 * mappings are made page by page: if they do not combine writes they are only slower
	 */
	if (!nd->dram_len)
		pci_warn(pdev, "BAR%u has no place: device memory is not mapped\n", gen->bar_dram);
	else if (neuron_wc_enable &&
		 devm_arch_io_reserve_memtype_wc(&pdev->dev, nd->dram_base, nd->dram_len))
		pci_info(pdev, "device memory is not write-combining\n");

	if (nd->regs_len < block_end(gen, NEURON_BLOCK_MISC) ||
	    nd->cores_len < gen->bar_size[gen->bar_cores]) {
		pci_err(pdev, "BAR%u %#llx or BAR%u %#llx is too small\n", gen->bar_regs,
			nd->regs_len, gen->bar_cores, nd->cores_len);
		return -ENODEV;
	}
	return 0;
}

static struct neuron_device *device_new(struct pci_dev *pdev, const struct neuron_gen *gen)
{
	struct neuron_device *nd = kvzalloc(sizeof(*nd), GFP_KERNEL);
	int ret;

	if (!nd)
		return ERR_PTR(-ENOMEM);

	ret = -ENOMEM;
	nd->gen = gen;
	nd->queues = kvcalloc(gen->dma_engines, sizeof(*nd->queues), GFP_KERNEL);
	if (!nd->queues)
		goto free_nd;
	ret = init_srcu_struct(&nd->srcu);
	if (ret)
		goto free_nd;
	nd->index = -1;
	kref_init(&nd->ref);
	nd->pdev = pci_dev_get(pdev);
	mutex_init(&nd->lock);
	mutex_init(&nd->fwio_lock);
	init_rwsem(&nd->reset_sem);
	init_waitqueue_head(&nd->wait);
	INIT_LIST_HEAD(&nd->reset_reqs);
	INIT_LIST_HEAD(&nd->mcs);
	spin_lock_init(&nd->stats_lock);
	mutex_init(&nd->notify_lock);
	neuron_dump_init(nd);
	neuron_hwerr_init(&nd->hwerr);
	xa_init(&nd->handles);
	nd->chunks = RB_ROOT;
	nd->next_handle = 1;

	return nd;

free_nd:
	kvfree(nd->queues);
	kvfree(nd);
	return ERR_PTR(ret);
}

/*
 * Chips that know their place in the machine have its number, which the word may not show at once
 * after power came; the others are numbered as they are found
 */
static int index_take(struct neuron_device *nd)
{
	unsigned int tries = ROUTE_TRIES, first = 0, last = NEURON_MAX_DEVICES - 1;
	u64 at = neuron_gen_offset(nd->gen, NEURON_BLOCK_MISC, 0) + NEURON_MISC_DEVICE_ID;
	int index;
	u32 route;

	if (nd->gen->routing) {
		while ((route = readl(nd->regs + at)) == ROUTE_UNKNOWN && --tries)
			msleep(ROUTE_SLEEP_MS);
		if (route >= NEURON_MAX_DEVICES) {
			pci_err(nd->pdev, "routing id %#x\n", route);
			return -ENODEV;
		}
		first = neuron_gen_index_of_route(nd->gen, route);
		last = first;
	}
	index = ida_alloc_range(&neuron_index_ida, first, last, GFP_KERNEL);
	if (index == -ENOSPC && nd->gen->routing) {
		pci_err(nd->pdev, "there is a device %u already\n", first);
		return -EEXIST;
	}
	if (index < 0)
		return index;
	nd->index = index;
	return 0;
}

struct neuron_device *neuron_device_create(struct pci_dev *pdev, const struct neuron_gen *gen)
{
	struct neuron_device *nd = device_new(pdev, gen);
	u32 features = capability_features(pdev, gen);
	int ret;

	if (IS_ERR(nd))
		return nd;

	ret = map_bars(nd, features);
	if (!ret)
		ret = index_take(nd);
	if (ret)
		goto put;
	ret = neuron_fwio_init(nd, features);
	if (ret)
		goto put;
	ret = neuron_mem_init(nd);
	if (ret)
		goto fwio_exit;
	ret = neuron_dma_init(nd);
	if (ret)
		goto mem_exit;

	neuron_irq_init(nd);
	neuron_guard_init(nd);
	neuron_reset_init(nd);
	neuron_health_init(nd, neuron_sysfs_scan);

	neuron_device_list(nd, true);
	ret = neuron_cdev_add(nd);
	if (ret)
		goto table_clear;
	ret = neuron_sysfs_add(nd);
	if (ret)
		goto cdev_del;
	neuron_health_start(nd);
	neuron_hwmon_add(nd);
	neuron_event_device(nd, true);

	/* the first reset; opens wait for it */
	ret = neuron_reset_request(nd, 0, NEURON_NC_MAP_DEVICE);
	if (ret < 0)
		goto health_stop;
	nd_info(nd, "%s rev %02x, features %#x\n", pci_name(pdev), pdev->revision,
		nd->hal.features);
	return nd;

health_stop:
	neuron_event_device(nd, false);
	neuron_hwmon_del(nd);
	neuron_health_stop(nd);
	neuron_sysfs_del(nd);
cdev_del:
	/* the node was there: somebody may be in it */
	WRITE_ONCE(nd->dead, true);
	neuron_changed(nd);
	neuron_cdev_del(nd);
	synchronize_srcu(&nd->srcu);
table_clear:
	neuron_device_list(nd, false);
	neuron_reset_stop(nd);
	neuron_guard_exit(nd);
	neuron_irq_exit(nd);
	neuron_dma_exit(nd);
mem_exit:
	neuron_mem_exit(nd);
fwio_exit:
	neuron_fwio_exit(nd);
put:
	if (nd->index >= 0)
		ida_free(&neuron_index_ida, nd->index);
	neuron_device_put(nd);
	return ERR_PTR(ret);
}

/*
 * Lets nobody enter any more, drains the calls that run, takes everything back, then frees it.
 * Open files stay and get -ENODEV; their mappings are taken away.
 */
void neuron_device_destroy(struct neuron_device *nd)
{
	WRITE_ONCE(nd->dead, true);
	if (!pci_device_is_present(nd->pdev))
		WRITE_ONCE(nd->gone, true);
	neuron_changed(nd);

	neuron_hwmon_del(nd);
	neuron_sysfs_del(nd);
	neuron_cdev_del(nd);
	synchronize_srcu(&nd->srcu);
	neuron_health_stop(nd);
	neuron_reset_stop(nd);
	neuron_device_list(nd, false);
	neuron_event_device(nd, false);
	neuron_proc_remove_all(nd);
	/* a process that went since the device is dead took nothing back itself */
	neuron_h2tq_stop(nd, 0, neuron_cores_all(nd));
	neuron_marks_drop(nd);
	neuron_p2p_removed(nd);

	if (nd->inode)
		unmap_mapping_range(nd->inode->i_mapping, 0, 0, 1);
	neuron_nds_exit(nd);
	neuron_mem_exit(nd); /* clears with DMA */
	neuron_guard_exit(nd);
	neuron_irq_exit(nd);

	/* rings and buffers go when the chip can no longer reach them */
	pci_clear_master(nd->pdev);
	neuron_dma_exit(nd);
	neuron_fwio_exit(nd);

	/* open files may keep the structure, but the index is free for the next device */
	ida_free(&neuron_index_ida, nd->index);
	neuron_device_put(nd);
}
