/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What QEMU 7.2 (Debian 12), 10.0 (Debian 13) and 10.2 call by different names.
 * The files here are written for the newest; scripts/build-qemu builds each.
 */
#ifndef HW_MISC_NEURON_COMPAT_H
#define HW_MISC_NEURON_COMPAT_H

#if QEMU_VERSION_MAJOR >= 10

#include "exec/tb-flush.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci_device.h"
#include "system/runstate.h"
#include "system/system.h"
#include "system/tcg.h"

/* the array's length is known, so nothing marks its end */
#define NEURON_PROPERTY const Property
#define NEURON_PROPERTY_END

#else

#include "exec/memory.h"
#include "hw/qdev-core.h"
#include "sysemu/runstate.h"
#include "sysemu/sysemu.h"
#include "sysemu/tcg.h"
#ifdef NEED_CPU_H
#include "exec/exec-all.h"
#endif

#define NEURON_PROPERTY Property
#define NEURON_PROPERTY_END DEFINE_PROP_END_OF_LIST(),

#define memory_access_is_direct(mr, is_write, attrs) \
    memory_access_is_direct(mr, is_write)

static inline void device_class_set_legacy_reset(DeviceClass *dc,
                                                 DeviceReset reset)
{
    dc->reset = reset;
}

#endif

#if QEMU_VERSION_MAJOR * 100 + QEMU_VERSION_MINOR >= 1002

typedef const void NeuronClassData;

#else

typedef void NeuronClassData;

#define queue_tb_flush tb_flush
#define qdev_add_vm_change_state_handler(dev, cb, cb_ret, opaque) \
    qdev_add_vm_change_state_handler(dev, cb, opaque)

#endif

#endif
