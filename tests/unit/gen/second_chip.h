/* SPDX-License-Identifier: MIT */
/*
 * A made-up chip: other counts, another order of its blocks, other windows than Inferentia's. Code
 * that works on both reads its numbers from the description.
 */
#ifndef UNIT_GEN_SECOND_CHIP_H
#define UNIT_GEN_SECOND_CHIP_H

#include "neuron/hw/gen.h"
#include "second.h"

#define SECOND_NC_PER_DEVICE 2
#define SECOND_ENGINES 5
#define SECOND_DMA_ENG_PER_NC 8
#define SECOND_DMA_ENGINES 16
#define SECOND_SEMAPHORES 256
#define SECOND_EVENTS 128
#define SECOND_UDMA_DESC_PER_PACKET 64
#define SECOND_SBUF_PART_SIZE 0x30000

#define SECOND_BAR0_SIZE 0x2000000ull
#define SECOND_BAR2_SIZE 0x10000000ull
#define SECOND_DRAM_CHANNELS 2
#define SECOND_DRAM_CHANNEL_SIZE 0x100000000ull
#define SECOND_DRAM0_BASE 0x0ull
#define SECOND_DRAM1_BASE 0x4000000000ull
#define SECOND_AXI_PORT1 0x80000000000ull
#define SECOND_TPB_BASE 0x7ff80000000ull
#define SECOND_TPB_SIZE 0x8000000ull
#define SECOND_APB_BASE 0x7ffe0000000ull
#define SECOND_TPB(nc) (SECOND_TPB_BASE + (nc)*SECOND_TPB_SIZE)
#define SECOND_TPB_BAR(nc) ((nc)*SECOND_TPB_SIZE)
#define SECOND_REG(offset) (SECOND_APB_BASE + (offset))
#define SECOND_LAST_REG (SECOND_BAR0_SIZE - 4)
#define SECOND_LAST_CORE_NAME "1"
#define SECOND_NO_CORE_NAME "2"

/* Bit 44 is the host's; ports have bits 52 and 53 */
#define SECOND_WINDOW_SHIFT 44
#define SECOND_WINDOW_HOST 0x100000000000ull
#define SECOND_WINDOW_EAST 0x10000000000000ull
#define SECOND_WINDOW_WEST 0x20000000000000ull
/* ports 2 and 3, which a torus and a fully connected instance have */
#define SECOND_WINDOW_SOUTH 0x30000000000000ull
#define SECOND_WINDOW_NORTH 0x40000000000000ull
/* any chip of the instance, by its number */
#define SECOND_WINDOW_FAR(id) (0x200000000000ull | (uint64_t)(id) << 48)
#define SECOND_FAR_IDS 16
#define SECOND_FAR_LINKS 2
#define SECOND_NUMBERS                                               \
	{                                                            \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 \
	}
#define SECOND_WINDOW_MASK                                                                      \
	(SECOND_WINDOW_FAR(15) | SECOND_WINDOW_HOST | SECOND_WINDOW_EAST | SECOND_WINDOW_WEST | \
	 SECOND_WINDOW_NORTH)
#define SECOND_WINDOW_LIMIT 0x80000000000000ull

#define SECOND_TPB_PE_FIFO 0x2600000
#define SECOND_TPB_FIFO_SIZE 0x8000
#define SECOND_TPB_FIFO(eng) (SECOND_TPB_PE_FIFO + SECOND_TPB_FIFO_SIZE * (eng))
#define SECOND_TPB_EVENTS 0x2712000
#define SECOND_TPB_SEM_READ 0x2714000
#define SECOND_TPB_SEM_SET 0x2714400
#define SECOND_TPB_SEM_INC 0x2714800
#define SECOND_TPB_SEM_DEC 0x2714c00
#define SECOND_TPB_SEM_APERTURE 0x400

#define SECOND_APB_UDMA(eng) (0x1000000 + 0x80000 * (eng))
#define SECOND_APB_TDMA(nc, k) (0x20000 + 0x2000 * (SECOND_DMA_ENG_PER_NC * (nc) + (k)))
#define SECOND_APB_PUTILS(nc) (0x60000 + 0x8000 * (nc))
#define SECOND_APB_PUTILS_SIZE 0x8000
#define SECOND_APB_MISC_RAM 0x7a000
#define SECOND_APB_MISC_RAM_SIZE 0x1000
#define SECOND_H2T_ENGINE(nc) (SECOND_DMA_ENG_PER_NC * (nc) + 7)
#define SECOND_H2T_QUEUE 15

#define SECOND_NQ_ENGINES SECOND_ENGINES
#define SECOND_NQ_ERROR_REGS 0x100
#define SECOND_NQ_EVENT_REGS 0x128
#define SECOND_NQ_NOTIFY_REGS(eng) (0x150 + 0x28 * (eng))
#define SECOND_NQ_TRACE_REGS(eng) (0x218 + 0x28 * (eng))
#define SECOND_NQ_BASE_LO 0x0
#define SECOND_NQ_BASE_HI 0x4
#define SECOND_NQ_SIZE 0x8
#define SECOND_NQ_HEAD 0xc

#define SECOND_BAR_CORES 2
#define SECOND_BAR_EXT 0
#define SECOND_EXT 0x80000
#define SECOND_EXT_ADDRESS (SECOND_APB_BASE + SECOND_EXT)
#define SECOND_EXT_SIZE 0x8000
#define SECOND_NQ_OVERFLOWS(nc) (0x20 + 4 * (nc))
#define SECOND_NQ_ENTRIES(nc) (0x30 + 4 * (nc))
#define SECOND_DMA_STOPPED(eng) (0x40 + 4 * (eng))
#define SECOND_GUARD_CORE(nc) (0x140 + 4 * (nc))
#define SECOND_GUARD_QUEUE(eng, q) (0x400 + 0x40 * (eng) + 4 * (q))
#define SECOND_PERF(nc) (0x2000 + 0x400 * (nc))
#define SECOND_PERF_CORE 0x200
#define SECOND_FIRMWARE 5
#define SECOND_READY_WORD 0x1c
#define SECOND_READY 0x80000000u
#define SECOND_BUSY 0
#define SECOND_LINKS 3
#define SECOND_APB_TDMA_COPY(nc) 0 /* it is one of the core's own */
#define SECOND_HIGH_FIRST 0 /* a notification queue's base */
#define SECOND_H2T_QUEUE_OF(nc) SECOND_H2T_QUEUE
#define SECOND_DRAM1_OFFSET SECOND_DRAM_CHANNEL_SIZE /* in its BAR */
#define SECOND_ROUTES \
	{             \
		0     \
	} /* of slots 0 to 3 */
#define SECOND_ROUTED 0
#define SECOND_ISA 2
#define SECOND_TOPSPS 0

extern const struct neuron_gen neuron_gen_second;

#endif
