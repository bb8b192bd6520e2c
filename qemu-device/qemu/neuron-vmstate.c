/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stopping, saving and loading a chip. The run-state handler brings the chip to
 * rest before anything of the VM is saved; its memories are RAM blocks and
 * travel as such; the rest is the core's own versioned state.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "migration/vmstate.h"
#include "neuron.h"

void neuron_vm_change_state(void *opaque, bool running, RunState state)
{
    NeuronState *s = opaque;

    if (running && s->paused) {
        s->paused = false;
        ncore_chip_resume(s->chip);
    } else if (!running && !s->paused) {
        s->paused = true;
        ncore_chip_pause(s->chip);
        /* raised and not delivered is no state of its own: nothing saved it */
        neuron_irq_flush(s);
    }
}

/* A chip saves about a megabyte; what an incoming stream says is not to be trusted */
#define NEURON_SAVED_MAX (64 * MiB)

static bool neuron_saved_size_ok(void *opaque, int version_id)
{
    NeuronState *s = opaque;

    return s->saved_size <= NEURON_SAVED_MAX;
}

static int neuron_pre_save(void *opaque)
{
    NeuronState *s = opaque;
    void *buf = NULL;
    size_t size = 0;
    int ret;

    if (s->peers) {
        error_report("neuron %u: cannot be saved: other nodes of its "
                     "UltraServer write to its memory", s->slot);
        return -ENOTSUP;
    }
    ret = ncore_chip_save(s->chip, &buf, &size);
    if (ret < 0) {
        return ret;
    }
    if (size > UINT32_MAX) {
        free(buf);
        return -EFBIG;
    }
    g_free(s->saved);
    s->saved = g_memdup2(buf, size);
    s->saved_size = size;
    free(buf);
    return 0;
}

static int neuron_post_save(void *opaque)
{
    NeuronState *s = opaque;

    g_free(s->saved);
    s->saved = NULL;
    return 0;
}

static int neuron_post_load(void *opaque, int version_id)
{
    NeuronState *s = opaque;
    const char *reason = "";
    int ret = ncore_chip_load(s->chip, s->saved, s->saved_size, &reason);

    if (ret < 0) {
        error_report("neuron %u: cannot load the chip's state: %s", s->slot,
                     reason);
    }
    g_free(s->saved);
    s->saved = NULL;
    return ret;
}

const VMStateDescription vmstate_neuron = {
    .name = "neuron",
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_save = neuron_pre_save,
    .post_save = neuron_post_save,
    .post_load = neuron_post_load,
    .fields = (VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NeuronState),
        VMSTATE_MSIX(parent_obj, NeuronState),
        VMSTATE_UINT32_EQUAL(slot, NeuronState, NULL),
        VMSTATE_UINT32(saved_size, NeuronState),
        VMSTATE_VALIDATE("size of the chip's state", neuron_saved_size_ok),
        VMSTATE_VBUFFER_ALLOC_UINT32(saved, NeuronState, 1, NULL, saved_size),
        VMSTATE_END_OF_LIST()
    },
};
