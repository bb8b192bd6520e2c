/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What Debian 12's QEMU 7.2 and QEMU 10.2 call by different names. The files
 * here are written for the newer one; scripts/build-qemu builds either.
 */
#ifndef HW_MISC_NEURON_COMPAT_H
#define HW_MISC_NEURON_COMPAT_H

#if QEMU_VERSION_MAJOR >= 10

#include "exec/tb-flush.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci_device.h"
#include "system/runstate.h"
#include "system/tcg.h"

typedef const void NeuronClassData;

/* the array's length is known, so nothing marks its end */
#define NEURON_PROPERTY const Property
#define NEURON_PROPERTY_END

#else

#include "exec/memory.h"
#include "hw/qdev-core.h"
#include "sysemu/runstate.h"
#include "sysemu/tcg.h"
#ifdef NEED_CPU_H
#include "exec/exec-all.h"
#define queue_tb_flush tb_flush
#endif

typedef void NeuronClassData;

#define NEURON_PROPERTY Property
#define NEURON_PROPERTY_END DEFINE_PROP_END_OF_LIST(),

#define memory_access_is_direct(mr, is_write, attrs) \
    memory_access_is_direct(mr, is_write)

#define qdev_add_vm_change_state_handler(dev, cb, cb_ret, opaque) \
    qdev_add_vm_change_state_handler(dev, cb, opaque)

static inline void device_class_set_legacy_reset(DeviceClass *dc,
                                                 DeviceReset reset)
{
    dc->reset = reset;
}

#endif

#endif
