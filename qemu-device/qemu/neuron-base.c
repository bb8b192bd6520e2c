/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * neuron-base: what every generation of Neuron devices has in common as a PCI
 * function: BARs, our capability, the chip's life from realize to exit
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "neuron.h"

/*
 * The chip goes at unplug, its BARs' last users a grace period later: a virtual
 * CPU may have looked the region up and be waiting for the big lock.
 */
static uint64_t neuron_bar_read(void *opaque, hwaddr addr, unsigned size)
{
    NeuronBar *bar = opaque;

    return bar->s->chip ?
           ncore_mmio_read(bar->s->chip, bar->number, addr, size) : UINT64_MAX;
}

static void neuron_bar_write(void *opaque, hwaddr addr, uint64_t value,
                             unsigned size)
{
    NeuronBar *bar = opaque;

    if (bar->s->chip) {
        ncore_mmio_write(bar->s->chip, bar->number, addr, size, value);
    }
}

static const MemoryRegionOps neuron_bar_ops = {
    .read = neuron_bar_read,
    .write = neuron_bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* docs/hardware.md, "The capability" and part 3 */
static void neuron_set_places(uint8_t *cap, const struct neuron_ext_map *ext)
{
    const uint32_t place[] = {
        ext->nq_overflows, ext->dma_stopped, ext->nq_entries, ext->guard_core,
        ext->guard_queue, ext->perf, ext->perf_stride, ext->perf_core,
    };
    int i;

    for (i = 0; i < ARRAY_SIZE(place); i++) {
        pci_set_long(cap + NEURON_CAP_PLACES + 4 * i, place[i]);
    }
}

static bool neuron_add_capability(PCIDevice *pdev, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(NEURON_BASE(pdev));
    bool places = gen->ext.version >= NEURON_CAP_VERSION_PLACES;
    uint8_t size = places ? NEURON_CAP_SIZE_PLACES : NEURON_CAP_SIZE;
    uint32_t features = NEURON_CAP_F_FAST_RESET | NEURON_CAP_F_TPB_MAP |
                        NEURON_CAP_F_PERF | NEURON_CAP_F_GUARD;
    int pos = pci_add_capability(pdev, PCI_CAP_ID_VNDR, 0, size, errp);
    const struct neuron_block *ext = neuron_gen_block(gen, NEURON_BLOCK_EXT);
    uint8_t *cap = pdev->config + pos;

    if (pos < 0) {
        return false;
    }
    pci_set_byte(cap + NEURON_CAP_LEN, size);
    pci_set_long(cap + NEURON_CAP_MAGIC, NEURON_CAP_MAGIC_VALUE);
    pci_set_word(cap + NEURON_CAP_VERSION, gen->ext.version);
    if (places) {
        neuron_set_places(cap, &gen->ext);
    }
    pci_set_byte(cap + NEURON_CAP_BAR, ext->bar);
    if (neuron_irq_present(NEURON_BASE(pdev))) {
        features |= NEURON_CAP_F_IRQ;
    }
    pci_set_long(cap + NEURON_CAP_FEATURES, features);
    pci_set_long(cap + NEURON_CAP_OFFSET,
                 neuron_gen_offset(gen, NEURON_BLOCK_EXT, 0));
    pci_set_long(cap + NEURON_CAP_LENGTH, ext->size);
    return true;
}

static bool neuron_check_properties(NeuronState *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    uint64_t dram_size = gen->bar_size[gen->bar_dram];

    if (!is_power_of_2(s->dram_bar_size) || s->dram_bar_size < 1 * MiB ||
        s->dram_bar_size > dram_size) {
        error_setg(errp, "dram-bar-size %" PRIu64 ": a power of two from 1 MiB"
                   " to %" PRIu64 " MiB expected", s->dram_bar_size,
                   dram_size / MiB);
        return false;
    }
    if (s->slot && !s->fabric) {
        error_setg(errp, "slot needs fabric");
        return false;
    }
    if (neuron_fabric_has_peers(s->fabric) && s->slot >= PEERS_CHIPS_MAX) {
        error_setg(errp, "slot %" PRIu32 ": 0 to %d expected in an UltraServer",
                   s->slot, PEERS_CHIPS_MAX - 1);
        return false;
    }
    if (s->firmware_version < 1 || s->firmware_version > NEURON_FIRMWARE_MAX) {
        error_setg(errp, "firmware-version %" PRIu32 ": 1 to %d expected",
                   s->firmware_version, NEURON_FIRMWARE_MAX);
        return false;
    }
    if (s->server_id < -1 || s->server_id >= (int)NEURON_MISC_SERVER_VALID ||
        (s->server_id >= 0 && !gen->routing)) {
        error_setg(errp, "server-id %" PRId32 ": %s", s->server_id,
                   gen->routing ? "0 to 32767 expected, or -1"
                                : "this chip has none");
        return false;
    }
    return true;
}

static void neuron_free_chip(NeuronState *s)
{
    if (s->peers) {
        peers_remove(s->peers, s->slot);
    }
    ncore_chip_free(s->chip);
    s->chip = NULL;
}

static bool neuron_create_chip(NeuronState *s, Error **errp)
{
    const unsigned first = neuron_fabric_first(s->fabric);
    struct ncore_chip_config config = {
        .gen = neuron_gen(s),
        .ops = &s->ops,
        .opaque = s,
        .fabric = neuron_fabric_core(s->fabric),
        .slot = first + s->slot,
        .first = first,
        .serial = s->serial,
        .firmware_version = s->firmware_version,
        .server = s->server_id < 0 ? 0
                                   : NEURON_MISC_SERVER_VALID | s->server_id,
        .no_ring_id_check = !s->ring_id_check,
        .nan_fill = s->nan_fill,
    };
    int ret, i;

    if (!s->pool) {
        s->pool = neuron_pool_default(errp);
        if (!s->pool) {
            return false;
        }
        object_ref(OBJECT(s->pool)); /* the link's, until the device is freed */
    }
    config.pool = neuron_pool_core(s->pool);
    if (neuron_fabric_has_peers(s->fabric)) {
        s->peers = neuron_fabric_peers(s->fabric, config.gen, errp);
        if (!s->peers) {
            return false;
        }
        config.shown = peers_page(s->peers, s->slot);
    }
    ret = ncore_chip_new(&config, &s->chip);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot create the chip in slot %u",
                         s->slot);
        return false;
    }
    if (s->peers) {
        peers_add(s->peers, s->slot, s->chip);
    }
    for (i = 0; i < NCORE_SENSOR_COUNT; i++) {
        ncore_sensor_set(s->chip, i, s->sensor[i]);
    }
    for (i = 0; i < NCORE_FAULT_COUNT; i++) {
        if (s->fault[i][0]) {
            ncore_fault_set(s->chip, i, s->fault[i]);
        }
    }
    return true;
}

static const char *neuron_bar_name(const struct neuron_gen *gen, int bar)
{
    return bar == gen->bar_regs ? "neuron-apb" :
           bar == gen->bar_cores ? "neuron-axi" : "neuron-ext";
}

/* The memories at their places in a BAR of that size; what lies between is nothing */
static void neuron_create_dram_bar(NeuronState *s, MemoryRegion *dram,
                                   MemoryRegion *bar)
{
    const struct neuron_gen *gen = neuron_gen(s);

    memory_region_init(bar, OBJECT(s), "neuron-dram-bar", s->dram_bar_size);
    for (s->drams = 0; s->drams < gen->memories; s->drams++) {
        const struct neuron_memory *mem = &gen->memory[s->drams];
        MemoryRegion *mr = &s->dram[s->drams];
        g_autofree char *name = g_strdup_printf("neuron-dram%u", s->drams);

        if (mem->offset >= s->dram_bar_size) {
            break;
        }
        memory_region_init_alias(mr, OBJECT(s), name, dram,
                                 neuron_gen_memory_start(gen, s->drams),
                                 MIN(mem->size,
                                     s->dram_bar_size - mem->offset));
        memory_region_add_subregion(bar, mem->offset, mr);
    }
}

/* The regions of DRAM hold the device, which would never go otherwise */
static void neuron_remove_dram_bar(NeuronState *s)
{
    while (s->drams) {
        memory_region_del_subregion(&s->bar[neuron_gen(s)->bar_dram].mr,
                                    &s->dram[--s->drams]);
    }
}

static bool neuron_create_bars(NeuronState *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    PCIDevice *pdev = PCI_DEVICE(s);
    uint8_t type = PCI_BASE_ADDRESS_MEM_TYPE_64 |
                   (gen->bars_prefetchable ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0);
    MemoryRegion *dram;
    uint64_t size;
    int fd, i;

    dram = neuron_host_find_mem(s, ncore_dram(s->chip, &size, &fd));
    if (!dram || size < neuron_gen_memory(gen)) {
        error_setg(errp, "the chip has no DRAM to show");
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(s->bar); i++) {
        NeuronBar *bar = &s->bar[i];

        if (!gen->bar_size[i] || i == gen->bar_dram) {
            continue;
        }
        bar->s = s;
        bar->number = i;
        memory_region_init_io(&bar->mr, OBJECT(s), &neuron_bar_ops, bar,
                              neuron_bar_name(gen, i),
                              gen->bar_size[i]);
        pci_register_bar(pdev, i, type, &bar->mr);
    }
    neuron_create_dram_bar(s, dram, &s->bar[gen->bar_dram].mr);
    pci_register_bar(pdev, gen->bar_dram, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->bar[gen->bar_dram].mr);
    return true;
}

static void neuron_realize(PCIDevice *pdev, Error **errp)
{
    NeuronState *s = NEURON_BASE(pdev);

    if (!neuron_check_properties(s, errp)) {
        return;
    }
    neuron_host_init(s);
    neuron_irq_init(s);
    if (!neuron_create_chip(s, errp)) {
        neuron_irq_fini(s);
        return;
    }
    if (!neuron_create_bars(s, errp) || !neuron_irq_add_vectors(s, errp) ||
        !neuron_add_capability(pdev, errp)) {
        neuron_remove_dram_bar(s);
        neuron_free_chip(s);
        neuron_irq_fini(s);
        return;
    }
    s->vmstate_change =
        qdev_add_vm_change_state_handler(DEVICE(s), neuron_vm_change_state,
                                         NULL, s);
    neuron_vm_change_state(s, runstate_is_running(), RUN_STATE_PRELAUNCH);
}

static void neuron_exit(PCIDevice *pdev)
{
    NeuronState *s = NEURON_BASE(pdev);

    qemu_del_vm_change_state_handler(s->vmstate_change);
    neuron_remove_dram_bar(s);
    neuron_free_chip(s);
    neuron_irq_fini(s);
    g_free(s->saved);
    s->saved = NULL;
}

static void neuron_reset(DeviceState *dev)
{
    NeuronState *s = NEURON_BASE(dev);

    ncore_chip_reset(s->chip, NCORE_RESET_PCI);
    neuron_irq_reset(s);
}

void neuron_class_set_gen(ObjectClass *oc, const struct neuron_gen *gen,
                          const char *desc)
{
    PCIDeviceClass *k = PCI_DEVICE_CLASS(oc);

    DEVICE_CLASS(oc)->desc = desc;
    NEURON_BASE_CLASS(oc)->gen = gen;
    k->vendor_id = NEURON_PCI_VENDOR;
    k->device_id = gen->pci_id[0];
    k->subsystem_vendor_id = NEURON_PCI_VENDOR;
    k->subsystem_id = gen->pci_id[0];
    k->revision = NEURON_PCI_REVISION;
    k->class_id = PCI_CLASS_SYSTEM_OTHER;
    neuron_props_class_set_gen(oc, gen);
}

static void neuron_class_init(ObjectClass *oc, NeuronClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(oc);

    k->realize = neuron_realize;
    k->exit = neuron_exit;
    device_class_set_legacy_reset(dc, neuron_reset);
    dc->vmsd = &vmstate_neuron;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    neuron_props_class_init(oc);
}

static void neuron_instance_init(Object *obj)
{
    NeuronState *s = NEURON_BASE(obj);
    const struct neuron_gen *gen = neuron_gen(s);

    s->dram_bar_size = gen->bar_size[gen->bar_dram];
    s->firmware_version = gen->firmware_version;
}

static const TypeInfo neuron_base_info = {
    .name = TYPE_NEURON_BASE,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(NeuronState),
    .instance_init = neuron_instance_init,
    .class_size = sizeof(NeuronClass),
    .class_init = neuron_class_init,
    .abstract = true,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { },
    },
};

static void neuron_base_register(void)
{
    type_register_static(&neuron_base_info);
}

type_init(neuron_base_register)
