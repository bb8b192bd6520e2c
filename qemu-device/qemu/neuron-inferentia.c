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
#include "neuron.h"

static void neuron_inferentia_class_init(ObjectClass *oc,
                                         NeuronClassData *data)
{
    neuron_class_set_gen(oc, &neuron_gen_inferentia,
                         "Inferentia: four NeuronCores v1, 8 GiB");
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
