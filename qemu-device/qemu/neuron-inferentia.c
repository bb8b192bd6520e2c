/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inferentia (PCI 1d0f:7064): the first generation of the Neuron devices
 *
 *   -object neuron-fabric,id=f0,topology=line,slots=4
 *   -device neuron-inferentia,addr=1c.0,fabric=f0,slot=0
 *
 * "-device neuron-inferentia,help" lists the properties (neuron-props.c).
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "neuron.h"

#define PCI_VENDOR_ID_NEURON 0x1d0f
#define PCI_DEVICE_ID_INFERENTIA 0x7064
/* 0xf0 and 0xff put the public driver into modes for other emulators */
#define INFERENTIA_REVISION 0x01

static void neuron_inferentia_class_init(ObjectClass *oc,
                                         NeuronClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(oc);
    NeuronClass *nc = NEURON_BASE_CLASS(oc);

    dc->desc = "Inferentia: four NeuronCores v1, 8 GiB";
    k->vendor_id = PCI_VENDOR_ID_NEURON;
    k->device_id = PCI_DEVICE_ID_INFERENTIA;
    k->subsystem_vendor_id = PCI_VENDOR_ID_NEURON;
    k->subsystem_id = PCI_DEVICE_ID_INFERENTIA;
    k->revision = INFERENTIA_REVISION;
    k->class_id = PCI_CLASS_SYSTEM_OTHER;
    nc->generation = NCORE_INFERENTIA;
    nc->apb_size = 16 * MiB;
    nc->axi_size = 256 * MiB;
    nc->dram_size = 8 * GiB;
}

static const TypeInfo neuron_inferentia_info = {
    .name = TYPE_NEURON_INFERENTIA,
    .parent = TYPE_NEURON_BASE,
    .class_init = neuron_inferentia_class_init,
};

static void neuron_inferentia_register(void)
{
    type_register_static(&neuron_inferentia_info);
}

type_init(neuron_inferentia_register)
