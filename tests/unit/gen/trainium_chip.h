/* SPDX-License-Identifier: MIT */
/*
 * Trainium's numbers once more, by hand: the vendor's from docs/hardware.md, Part 1, of Trainium
 * and Inferentia2; the emulator's from Part 2. A suite that passes with them holds the description
 * (gen/trainium.c) to them.
 */
#ifndef UNIT_GEN_TRAINIUM_CHIP_H
#define UNIT_GEN_TRAINIUM_CHIP_H

#include "neuron/hw/gen.h"

#define TRAINIUM_NC_PER_DEVICE 2
#define TRAINIUM_ENGINES 5
#define TRAINIUM_DMA_ENG_PER_NC 16
#define TRAINIUM_DMA_ENGINES 34
#define TRAINIUM_SEMAPHORES 256
#define TRAINIUM_EVENTS 256
#define TRAINIUM_UDMA_DESC_PER_PACKET 65
#define TRAINIUM_SBUF_PART_SIZE 0x30000

#define TRAINIUM_BAR0_SIZE 0x40000000ull
#define TRAINIUM_BAR2_SIZE 0x10000ull
#define TRAINIUM_DRAM_CHANNELS 2
#define TRAINIUM_DRAM_CHANNEL_SIZE 0x400000000ull
#define TRAINIUM_DRAM0_BASE 0x0ull
#define TRAINIUM_DRAM1_BASE 0x1000000000ull
#define TRAINIUM_AXI_PORT1 0x0ull
#define TRAINIUM_TPB_BASE 0xfffc0000000ull
#define TRAINIUM_TPB_SIZE 0x4000000ull
#define TRAINIUM_TPB(nc) (TRAINIUM_TPB_BASE + (nc)*TRAINIUM_TPB_SIZE)
#define TRAINIUM_TPB_BAR(nc) ((nc)*TRAINIUM_TPB_SIZE)
#define TRAINIUM_REG(offset) (0xfffc0000000ull + (offset)) /* all of BAR0 */
#define TRAINIUM_LAST_REG (TRAINIUM_BAR0_SIZE - 4)
#define TRAINIUM_LAST_CORE_NAME "1"
#define TRAINIUM_NO_CORE_NAME "2"

#define TRAINIUM_WINDOW_SHIFT 44
#define TRAINIUM_WINDOW_HOST 0x100000000000ull
#define TRAINIUM_WINDOW_EAST 0x10000000000000ull
#define TRAINIUM_WINDOW_WEST 0x14000000000000ull
#define TRAINIUM_WINDOW_SOUTH 0x18000000000000ull
#define TRAINIUM_WINDOW_NORTH 0x1c000000000000ull
/* any chip of the instance, by its routing id; the vendor's numbers of those */
#define TRAINIUM_WINDOW_FAR(id) (0x20000000000000ull | (uint64_t)(id) << 56)
#define TRAINIUM_FAR_IDS 128
#define TRAINIUM_FAR_LINKS 8
#define TRAINIUM_NUMBERS                                             \
	{                                                            \
		0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10 \
	}
#define TRAINIUM_WINDOW_LIMIT 0x8000000000000000ull

#define TRAINIUM_TPB_PE_FIFO 0x265c000
#define TRAINIUM_TPB_FIFO_SIZE 0x4000
#define TRAINIUM_TPB_FIFO(eng) (TRAINIUM_TPB_PE_FIFO + TRAINIUM_TPB_FIFO_SIZE * (eng))
#define TRAINIUM_TPB_EVENTS 0x2700000
#define TRAINIUM_TPB_SEM_READ 0x2701000
#define TRAINIUM_TPB_SEM_SET 0x2701400
#define TRAINIUM_TPB_SEM_INC 0x2701800
#define TRAINIUM_TPB_SEM_DEC 0x2701c00

/* The engines of copies with the host: 32 is core 0's, 33 core 1's */
#define TRAINIUM_APB_UDMA(eng)                                                      \
	((eng) < 32 ? 0x30000000 + 0x700000 * ((eng) / 16) + 0x40000 * ((eng) % 16) \
		    : 0x30600000 + 0x700000 * ((eng)-32))
#define TRAINIUM_APB_TDMA(nc, k) (0x30400000 + 0x700000 * (nc) + 0x7000 * (k))
#define TRAINIUM_APB_PUTILS(nc) (0x30535000 + 0x700000 * (nc))
#define TRAINIUM_APB_PUTILS_SIZE 0x1000
#define TRAINIUM_APB_MISC_RAM 0x30fa0000
#define TRAINIUM_APB_MISC_RAM_SIZE 0x1000
#define TRAINIUM_H2T_ENGINE(nc) (32 + (nc))
#define TRAINIUM_H2T_QUEUE 0

#define TRAINIUM_NQ_ENGINES TRAINIUM_ENGINES
#define TRAINIUM_NQ_ERROR_REGS 0x1c8
#define TRAINIUM_NQ_EVENT_REGS 0x1f0
#define TRAINIUM_NQ_NOTIFY_REGS(eng) (0x100 + 0x28 * (eng))
#define TRAINIUM_NQ_TRACE_REGS(eng) (0x240 + 0x28 * (eng))
#define TRAINIUM_NQ_BASE_LO 0x0
#define TRAINIUM_NQ_BASE_HI 0x4
#define TRAINIUM_NQ_SIZE 0x8
#define TRAINIUM_NQ_HEAD 0xc

#define TRAINIUM_BAR_CORES 0
#define TRAINIUM_BAR_EXT 2
#define TRAINIUM_EXT 0x0
#define TRAINIUM_EXT_ADDRESS 0xfffb0000000ull
#define TRAINIUM_EXT_SIZE 0x8000
#define TRAINIUM_NQ_OVERFLOWS(nc) (0x40 + 4 * (nc))
#define TRAINIUM_NQ_ENTRIES(nc) (0x60 + 4 * (nc))
#define TRAINIUM_DMA_STOPPED(eng) (0x200 + 4 * (eng))
#define TRAINIUM_GUARD_CORE(nc) (0x140 + 4 * (nc))
#define TRAINIUM_GUARD_QUEUE(eng, q) (0x4000 + 0x40 * (eng) + 4 * (q))
#define TRAINIUM_PERF(nc) (0x1000 + 0x200 * (nc))
#define TRAINIUM_PERF_CORE 0x140
#define TRAINIUM_FIRMWARE 5
#define TRAINIUM_READY_WORD 0x808
#define TRAINIUM_READY 0
#define TRAINIUM_BUSY 8
#define TRAINIUM_LINKS 0
#define TRAINIUM_APB_TDMA_COPY(nc) (0x30640000 + 0x700000 * (nc))
#define TRAINIUM_HIGH_FIRST 1 /* a notification queue's base */
#define TRAINIUM_H2T_QUEUE_OF(nc) TRAINIUM_H2T_QUEUE
#define TRAINIUM_DRAM1_OFFSET TRAINIUM_DRAM_CHANNEL_SIZE /* in its BAR */
#define TRAINIUM_ROUTES    \
	{                  \
		0, 2, 6, 4 \
	} /* of slots 0 to 3 */
#define TRAINIUM_ROUTED 1
#define TRAINIUM_ISA 2

/* TOP_SPs: windows, blocks of notification queues in BAR0, bits of the reset map, owners */
#define TRAINIUM_TOPSPS 6
#define TRAINIUM_TOPSP(t) (0xfffd0000000ull + 0x400000ull * (t))
#define TRAINIUM_TOPSP_BAR(t) (0x10000000ull + 0x400000ull * (t))
#define TRAINIUM_TOPSP_NQ(t) (0x30e04000 + 0x40000 * (t))
#define TRAINIUM_TOPSP_RESET(t) (0x100u << (t))
#define TRAINIUM_TOPSP_CORE(t) ((t) / 3)

#endif
