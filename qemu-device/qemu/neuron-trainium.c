/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Trainium, Inferentia2, Trainium2 and Trainium3 (PCI 1d0f:7164, 7264, 7364
 * and 7564): the Neuron devices after the first generation
 *
 *   -object neuron-fabric,id=f0,topology=torus,slots=16
 *   -device neuron-trainium,addr=1e.0,fabric=f0,slot=0
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "neuron.h"

static void neuron_trainium_class_init(ObjectClass *oc, NeuronClassData *data)
{
    neuron_class_set_gen(oc, &neuron_gen_trainium,
                         "Trainium: two NeuronCores v2, 32 GiB");
}

static void neuron_inferentia2_class_init(ObjectClass *oc,
                                          NeuronClassData *data)
{
    neuron_class_set_gen(oc, &neuron_gen_inferentia2,
                         "Inferentia2: two NeuronCores v2, 32 GiB");
}

static void neuron_trainium2_class_init(ObjectClass *oc,
                                        NeuronClassData *data)
{
    neuron_class_set_gen(oc, &neuron_gen_trainium2,
                         "Trainium2: eight NeuronCores v3, 96 GiB");
}

static void neuron_trainium3_class_init(ObjectClass *oc,
                                        NeuronClassData *data)
{
    neuron_class_set_gen(oc, &neuron_gen_trainium3,
                         "Trainium3: eight NeuronCores v4, 144 GiB");
}

static const TypeInfo neuron_trainium_types[] = {
    {
        .name = TYPE_NEURON_TRAINIUM,
        .parent = TYPE_NEURON_BASE,
        .class_init = neuron_trainium_class_init,
    }, {
        .name = TYPE_NEURON_INFERENTIA2,
        .parent = TYPE_NEURON_BASE,
        .class_init = neuron_inferentia2_class_init,
    }, {
        .name = TYPE_NEURON_TRAINIUM2,
        .parent = TYPE_NEURON_BASE,
        .class_init = neuron_trainium2_class_init,
    }, {
        .name = TYPE_NEURON_TRAINIUM3,
        .parent = TYPE_NEURON_BASE,
        .class_init = neuron_trainium3_class_init,
    },
};

DEFINE_TYPES(neuron_trainium_types)
