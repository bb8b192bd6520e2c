/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * MSI-X vectors. The core raises one from any thread and with its locks held,
 * so only a bit is set there; a bottom half delivers under the big lock. What
 * is raised again before it runs is delivered once. Mask and pending bits are
 * QEMU's; both lie behind our registers.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "neuron.h"

bool neuron_irq_present(NeuronState *s)
{
    return msix_present(PCI_DEVICE(s));
}

void neuron_irq_raise(void *opaque, unsigned vector)
{
    NeuronState *s = opaque;

    if (vector < neuron_gen(s)->cores &&
        !qatomic_fetch_or(&s->irq_raised, 1u << vector)) {
        qemu_bh_schedule(s->irq_bh);
    }
}

void neuron_irq_flush(NeuronState *s)
{
    uint32_t raised = qatomic_xchg(&s->irq_raised, 0);
    unsigned i;

    for (i = 0; i < neuron_gen(s)->cores; i++) {
        if (raised & 1u << i && neuron_irq_present(s)) {
            msix_notify(PCI_DEVICE(s), i);
        }
    }
}

static void neuron_irq_bh(void *opaque)
{
    neuron_irq_flush(opaque);
}

/* Interrupts that an earlier life of the chip raised are nobody's any more */
void neuron_irq_reset(NeuronState *s)
{
    qatomic_set(&s->irq_raised, 0);
}

/* Before the chip, which may raise vectors from its first moment on */
void neuron_irq_init(NeuronState *s)
{
    s->irq_bh = qemu_bh_new(neuron_irq_bh, s);
}

/* The BAR of the emulator's registers has the table as well */
static unsigned neuron_irq_bar(NeuronState *s)
{
    return neuron_gen_block(neuron_gen(s), NEURON_BLOCK_EXT)->bar;
}

/* A machine without MSI has no vectors, and the capability says so */
bool neuron_irq_add_vectors(NeuronState *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    unsigned bar = neuron_irq_bar(s);
    MemoryRegion *mr = &s->bar[bar].mr;
    PCIDevice *pdev = PCI_DEVICE(s);
    Error *err = NULL;
    int ret, i;

    ret = msix_init(pdev, gen->cores, mr, bar, gen->ext.msix_table, mr, bar,
                    gen->ext.msix_pba, 0, &err);
    if (ret == -ENOTSUP) {
        error_free(err);
        return true;
    }
    if (ret < 0) {
        error_propagate(errp, err);
        return false;
    }
    for (i = 0; i < gen->cores; i++) {
        msix_vector_use(pdev, i);
    }
    return true;
}

/* The chip is gone: nothing raises a vector any more */
void neuron_irq_fini(NeuronState *s)
{
    if (neuron_irq_present(s)) {
        MemoryRegion *mr = &s->bar[neuron_irq_bar(s)].mr;

        msix_uninit(PCI_DEVICE(s), mr, mr);
    }
    qemu_bh_delete(s->irq_bh);
    s->irq_bh = NULL;
}
