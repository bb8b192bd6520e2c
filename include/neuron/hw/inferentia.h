/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The Inferentia device (PCI 1d0f:7064), first generation ("V1"): its counts and where it has what.
 * Read by its description in gen/ and by tests; what all generations share is in pci.h, udma.h,
 * firmware.h and notify.h, what is our own in ext.h. Plain integer macros of the public record,
 * docs/hardware.md names the section.
 */
#ifndef NEURON_HW_INFERENTIA_H
#define NEURON_HW_INFERENTIA_H

#define NEURON_PCI_DEVICE_INF1 0x7064
#define NEURON_V1_BAR0_SIZE 0x1000000ull
#define NEURON_V1_BAR2_SIZE 0x10000000ull

/* Counts */
#define NEURON_V1_NC_PER_DEVICE 4
#define NEURON_V1_DMA_ENG_PER_NC 3
#define NEURON_V1_DMA_ENGINES 12
#define NEURON_V1_SEMAPHORES 32
#define NEURON_V1_EVENTS 256
#define NEURON_V1_DRAM_CHANNELS 2
#define NEURON_V1_DRAM_CHANNEL_SIZE 0x100000000ull

/* Device-side addresses (docs/hardware.md, Address map) */
#define NEURON_V1_DRAM0_BASE 0x0ull
#define NEURON_V1_DRAM1_BASE 0x1000000000ull
#define NEURON_V1_AXI_PORT1 0x100000000000ull /* bit 44: the same memory through another port */
#define NEURON_V1_TPB_BASE 0xfffc0000000ull
#define NEURON_V1_TPB_SIZE 0x4000000ull
#define NEURON_V1_APB_BASE 0xffff0000000ull
#define NEURON_V1_WINDOW_SHIFT 46 /* bits 47:46 select the window */
#define NEURON_V1_WINDOW_MASK 0xc00000000000ull
#define NEURON_V1_WINDOW_LOCAL 0x0ull
#define NEURON_V1_WINDOW_HOST 0x400000000000ull
#define NEURON_V1_WINDOW_EAST 0x800000000000ull
#define NEURON_V1_WINDOW_WEST 0xc00000000000ull

/* Inside a NeuronCore (TPB) window */
#define NEURON_V1_TPB_SBUF 0x0 /* chosen; the geometry is in ext.h */
#define NEURON_V1_TPB_PE_FIFO 0x265c000
#define NEURON_V1_TPB_FIFO_SIZE 0x4000
#define NEURON_V1_TPB_EVENTS 0x2700000
#define NEURON_V1_TPB_SEM_READ 0x2701000
#define NEURON_V1_TPB_SEM_SET 0x2701100
#define NEURON_V1_TPB_SEM_INC 0x2701200
#define NEURON_V1_TPB_SEM_DEC 0x2701300
#define NEURON_V1_TPB_SEM_APERTURE 0x80 /* bytes used of each 0x100 aperture */

/* Inside BAR0 (APB) */
#define NEURON_V1_APB_TDMA(nc, k) (0x100000 * (nc) + 0x1000 * (k))
#define NEURON_V1_APB_UDMA(eng) (0x40000 + ((eng) / 3) * 0x100000 + ((eng) % 3) * 0x40000)
#define NEURON_V1_APB_PUTILS(nc) (0x404000 + 0x10000 * (nc))
#define NEURON_V1_APB_PUTILS_SIZE 0x10000
#define NEURON_V1_APB_MISC_RAM 0x78e000
#define NEURON_V1_APB_MISC_RAM_SIZE 0x1000

/* The queue the driver itself copies with, one a core */
#define NEURON_V1_H2T_ENGINE(nc) (3 * (nc) + 2)
#define NEURON_V1_H2T_QUEUE 15

#define NEURON_V1_UDMA_DESC_PER_PACKET 128

/* Notification queues: register groups inside PUTILS; eng = 0..3 */
#define NEURON_V1_NQ_ENGINES 4
#define NEURON_V1_NQ_ERROR_REGS 0x1074
#define NEURON_V1_NQ_EVENT_REGS 0x1094
#define NEURON_V1_NQ_NOTIFY_REGS(eng) (0xbfc + 0x104 * (eng))
#define NEURON_V1_NQ_TRACE_REGS(eng) (0xc7c + 0x104 * (eng))
#define NEURON_V1_NQ_BASE_LO 0x0 /* offsets inside a register group */
#define NEURON_V1_NQ_BASE_HI 0x4
#define NEURON_V1_NQ_SIZE 0x8 /* bytes, a power of two; 0 disables */
#define NEURON_V1_NQ_HEAD 0x18

#endif
