/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The host's side of the chip core: memories as RAM blocks, DMA into guest RAM,
 * the clock, trace and guest errors. Called by the core from any thread, with
 * or without the big lock, often with the chip's own lock held: nothing here
 * may take the big lock or run another device's MMIO handlers.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/log.h"
#include "qemu/range.h"
#include "qemu/timer.h"
#include "migration/vmstate.h"
#include "neuron.h"
#include "sealed.h"
#include "trace.h"

static const MemTxAttrs neuron_dma_attrs = { .memory = 1 };

static NeuronMem *neuron_mem_by_name(NeuronState *s, const char *name)
{
    int i;

    for (i = 0; i < NEURON_MEM_MAX; i++) {
        if (!g_strcmp0(s->mem[i].name, name)) {
            return &s->mem[i];
        }
    }
    return NULL;
}

MemoryRegion *neuron_host_find_mem(NeuronState *s, const void *ptr)
{
    int i;

    for (i = 0; i < NEURON_MEM_MAX; i++) {
        if (s->mem[i].name && s->mem[i].ptr == ptr) {
            return &s->mem[i].mr;
        }
    }
    return NULL;
}

/* Realize only, under the big lock */
static int neuron_alloc_mem(void *opaque, const char *name, uint64_t size,
                            void **ptr, int *fd)
{
    NeuronState *s = opaque;
    NeuronMem *mem = neuron_mem_by_name(s, NULL);
    Error *err = NULL;

    if (!mem || neuron_mem_by_name(s, name)) {
        return -ENOSPC;
    }
    if (s->peers && !strcmp(name, "dram")) {
        int shared = sealed_new(name, size);

        if (shared < 0) {
            return shared;
        }
        memory_region_init_ram_from_fd(&mem->mr, OBJECT(s), name, size,
                                       RAM_SHARED | RAM_NORESERVE, shared, 0,
                                       &err);
        if (err) {
            close(shared);
        }
    } else {
        memory_region_init_ram_flags_nomigrate(&mem->mr, OBJECT(s), name, size,
                                               RAM_NORESERVE, &err);
    }
    if (err) {
        error_report_err(err);
        return -ENOMEM;
    }
    vmstate_register_ram(&mem->mr, DEVICE(s));
    mem->name = g_strdup(name);
    mem->ptr = memory_region_get_ram_ptr(&mem->mr);
    *ptr = mem->ptr;
    *fd = memory_region_get_fd(&mem->mr);
    return 0;
}

static void neuron_free_mem(void *opaque, const char *name, void *ptr,
                            uint64_t size, int fd)
{
    NeuronState *s = opaque;
    NeuronMem *mem = neuron_mem_by_name(s, name);

    if (!mem) {
        return;
    }
    vmstate_unregister_ram(&mem->mr, DEVICE(s));
    object_unparent(OBJECT(&mem->mr));
    g_free(mem->name);
    mem->name = NULL;
    mem->ptr = NULL;
}

static void neuron_mark_dirty(void *opaque, const char *name, uint64_t offset,
                              uint64_t len)
{
    NeuronState *s = opaque;
    NeuronMem *mem;

    /*
     * Dirty bits have a reader only while a migration runs, or dirty rates are
     * measured. A region's own mask is never empty under TCG.
     */
    if (!global_dirty_tracking) {
        return;
    }
    mem = neuron_mem_by_name(s, name);
    if (mem && memory_region_get_dirty_log_mask(&mem->mr)) {
        memory_region_set_dirty(&mem->mr, offset, len);
    }
}

/* A host address that falls into the chip's own BARs is a guest error */
static bool neuron_addr_is_own(NeuronState *s, uint64_t addr, uint64_t len)
{
    static const int bars[] = { NEURON_BAR_APB, NEURON_BAR_AXI,
                                NEURON_BAR_DRAM };
    PCIDevice *pdev = PCI_DEVICE(s);
    int i;

    for (i = 0; i < ARRAY_SIZE(bars); i++) {
        const PCIIORegion *r = &pdev->io_regions[bars[i]];
        pcibus_t base = qatomic_read(&r->addr);

        if (base != PCI_BAR_UNMAPPED &&
            ranges_overlap(addr, len, base, r->size)) {
            return true;
        }
    }
    return false;
}

static bool neuron_dma_allowed(NeuronState *s, uint64_t addr, uint64_t len)
{
    uint64_t last;

    return len && !uadd64_overflow(addr, len - 1, &last) &&
           !neuron_addr_is_own(s, addr, len);
}

/*
 * A pointer to guest RAM, *len may shrink; NULL where there is none. Everything
 * else than RAM that can be written (ROM too, which MemTxAttrs.memory lets
 * through) would make address_space_rw() take the big lock, and who holds it
 * may be waiting for the very thread that copies.
 */
static void *neuron_dma_map(void *opaque, uint64_t addr, uint64_t *len,
                            bool write)
{
    NeuronState *s = opaque;
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    hwaddr xlat, plen = *len;
    MemoryRegion *mr;
    ram_addr_t offset;
    void *ptr;

    if (!neuron_dma_allowed(s, addr, *len)) {
        return NULL;
    }
    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, addr, &xlat, &plen, write,
                                 neuron_dma_attrs);
    if (!memory_access_is_direct(mr, write, neuron_dma_attrs)) {
        return NULL;
    }
    ptr = address_space_map(as, addr, &plen, write, neuron_dma_attrs);
    if (ptr && !memory_region_from_host(ptr, &offset)) {
        /* no longer RAM: give the bounce buffer back without its write */
        address_space_unmap(as, ptr, plen, false, 0);
        return NULL;
    }
    *len = plen;
    return ptr;
}

static void neuron_dma_unmap(void *opaque, void *ptr, uint64_t len, bool write,
                             uint64_t accessed)
{
    NeuronState *s = opaque;

    address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), ptr, len, write,
                        accessed);
}

static int neuron_dma_rw(void *opaque, uint64_t addr, void *buf, uint64_t len,
                         bool write)
{
    uint64_t part;
    void *ptr;

    /* while we read, nobody else's last reference can become ours to drop */
    RCU_READ_LOCK_GUARD();
    smp_mb(); /* as pci_dma_rw() does: after what made the guest ask for this */
    if (!len) {
        return -EFAULT;
    }
    for (; len; addr += part, buf += part, len -= part) {
        part = len;
        ptr = neuron_dma_map(opaque, addr, &part, write);
        if (!ptr || !part) {
            return -EFAULT;
        }
        if (write) {
            memcpy(ptr, buf, part);
        } else {
            ncore_copy_sparse(buf, ptr, part);
        }
        neuron_dma_unmap(opaque, ptr, part, write, part);
    }
    return 0;
}

static uint64_t neuron_clock(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void neuron_guest_error(NeuronState *s, const uint64_t arg[4])
{
    static const char *const kind[NCORE_GE_COUNT] = {
        [NCORE_GE_UNDEFINED] = "undefined",
        [NCORE_GE_UNSUPPORTED] = "unsupported",
        [NCORE_GE_UNIMPLEMENTED] = "unimplemented",
        [NCORE_GE_IMPL_DEFINED] = "implementation-defined",
    };

    trace_ncore_guest_error(s->slot, arg[0], arg[1], arg[2]);
    qemu_log_mask(arg[0] == NCORE_GE_UNIMPLEMENTED ? LOG_UNIMP
                                                   : LOG_GUEST_ERROR,
                  "neuron %u: %s: 0x%" PRIx64 " value 0x%" PRIx64 "\n",
                  s->slot, arg[0] < NCORE_GE_COUNT ? kind[arg[0]] : "?",
                  arg[1], arg[2]);
    if (s->on_guest_error == NEURON_GUEST_ERROR_STOP_VM) {
        qemu_system_vmstop_request_prepare();
        qemu_system_vmstop_request(RUN_STATE_PAUSED);
    }
}

static void neuron_event(void *opaque, enum ncore_event ev,
                         const uint64_t arg[4])
{
    NeuronState *s = opaque;

    switch (ev) {
#define NEURON_TRACE(EV, name)                                              \
    case NCORE_EV_##EV:                                                     \
        trace_ncore_##name(s->slot, arg[0], arg[1], arg[2], arg[3]);        \
        break;
    NEURON_TRACE(MMIO_READ, mmio_read)
    NEURON_TRACE(MMIO_WRITE, mmio_write)
    NEURON_TRACE(FWIO, fwio)
    NEURON_TRACE(DOORBELL, doorbell)
    NEURON_TRACE(DESC, desc)
    NEURON_TRACE(DMA_ERROR, dma_error)
    NEURON_TRACE(INSN, insn)
    NEURON_TRACE(ENGINE_ERROR, engine_error)
    NEURON_TRACE(NOTIFY, notify)
    NEURON_TRACE(SEMAPHORE, semaphore)
#undef NEURON_TRACE
    case NCORE_EV_RESET:
        trace_ncore_reset(s->slot, arg[0], arg[1]);
        break;
    case NCORE_EV_LINK:
        trace_ncore_link(s->slot, arg[0], arg[1], arg[2]);
        break;
    case NCORE_EV_FAULT:
        trace_ncore_fault(s->slot, ncore_fault_name(arg[0]), arg[1], arg[2]);
        break;
    case NCORE_EV_GUEST_ERROR:
        neuron_guest_error(s, arg);
        break;
    case NCORE_EV_COUNT:
        break;
    }
}

/* Trace points chosen on the command line; guest errors are always wanted */
static uint64_t neuron_event_mask(void)
{
    uint64_t mask = 1ull << NCORE_EV_GUEST_ERROR;

#define NEURON_WANT(EV)                                                     \
    if (trace_event_get_state_backends(TRACE_NCORE_##EV)) {               \
        mask |= 1ull << NCORE_EV_##EV;                                      \
    }
    NEURON_WANT(MMIO_READ)
    NEURON_WANT(MMIO_WRITE)
    NEURON_WANT(FWIO)
    NEURON_WANT(RESET)
    NEURON_WANT(DOORBELL)
    NEURON_WANT(DESC)
    NEURON_WANT(DMA_ERROR)
    NEURON_WANT(INSN)
    NEURON_WANT(ENGINE_ERROR)
    NEURON_WANT(NOTIFY)
    NEURON_WANT(SEMAPHORE)
    NEURON_WANT(LINK)
    NEURON_WANT(FAULT)
#undef NEURON_WANT
    return mask;
}

void neuron_host_init(NeuronState *s)
{
    s->ops = (struct ncore_host_ops) {
        .alloc_mem = neuron_alloc_mem,
        .free_mem = neuron_free_mem,
        .mark_dirty = neuron_mark_dirty,
        .dma_rw = neuron_dma_rw,
        .dma_map = neuron_dma_map,
        .dma_unmap = neuron_dma_unmap,
        .irq = neuron_irq_raise,
        .clock = neuron_clock,
        .event = neuron_event,
        .event_mask = neuron_event_mask(),
    };
}
