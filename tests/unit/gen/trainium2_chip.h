/* SPDX-License-Identifier: MIT */
/*
 * Trainium2's numbers once more, by hand, from docs/hardware.md, part 4; with TRAINIUM3_GEN those
 * of Trainium3, which has other memories. A suite that passes with
 * them holds the description (gen/trainium2.c) to them.
 */
#ifndef UNIT_GEN_TRAINIUM2_CHIP_H
#define UNIT_GEN_TRAINIUM2_CHIP_H

#include "neuron/hw/gen.h"

#ifdef TRAINIUM3_GEN
#define TRAINIUM2_SBUF_PART_SIZE 0x40000
#define TRAINIUM2_DRAM_CHANNEL_SIZE 0x900000000ull
#else
#define TRAINIUM2_SBUF_PART_SIZE 0x38000
#define TRAINIUM2_DRAM_CHANNEL_SIZE 0x600000000ull
#endif
#define TRAINIUM2_NC_PER_DEVICE 8
#define TRAINIUM2_ENGINES 5
#define TRAINIUM2_DMA_ENG_PER_NC 16
#define TRAINIUM2_DMA_ENGINES 132
#define TRAINIUM2_SEMAPHORES 256
#define TRAINIUM2_EVENTS 256
#define TRAINIUM2_UDMA_DESC_PER_PACKET 65

#define TRAINIUM2_BAR0_SIZE 0x100000000ull
#define TRAINIUM2_BAR2_SIZE 0x10000ull
#define TRAINIUM2_DRAM_CHANNELS 4
#define TRAINIUM2_DRAM0_BASE 0x0ull
#define TRAINIUM2_DRAM1_BASE 0x4000000000ull
#define TRAINIUM2_AXI_PORT1 0x0ull
#define TRAINIUM2_TPB_SIZE 0x4000000ull
#define TRAINIUM2_TPB(nc)                                                                    \
	(0x2000000000ull + ((nc)&1 ? 0x1000000000ull : 0) + ((nc)&2 ? 0x4000000000ull : 0) + \
	 ((nc)&4 ? TRAINIUM2_DIE : 0))
#define TRAINIUM2_TPB_BAR(nc) (0xd0000000 + (nc)*TRAINIUM2_TPB_SIZE)
/* input and output of the dies, then the four groups of DMA engines */
#define TRAINIUM2_DIE 0x800000000000ull
#define TRAINIUM2_REG(at)                                                                      \
	((at) < 0x80000000u                                                                    \
		 ? ((at)&0x40000000 ? TRAINIUM2_DIE : 0) + 0x8000000000ull + ((at)&0x3fffffff) \
		 : ((at)&0x20000000 ? TRAINIUM2_DIE : 0) +                                     \
			   ((at)&0x10000000 ? 0x4000000000ull : 0) + 0x1000000000ull +         \
			   ((at)&0xfffffff))
#define TRAINIUM2_LAST_REG 0xbffffffc
#define TRAINIUM2_LAST_CORE_NAME "7"
#define TRAINIUM2_NO_CORE_NAME "8"

#define TRAINIUM2_WINDOW_SHIFT 46
#define TRAINIUM2_WINDOW_HOST 0x400000000000ull
#define TRAINIUM2_WINDOW_EAST 0x40000000000000ull
#define TRAINIUM2_WINDOW_WEST 0x44000000000000ull
#define TRAINIUM2_WINDOW_SOUTH 0x48000000000000ull
#define TRAINIUM2_WINDOW_NORTH 0x4c000000000000ull
/* to another instance, by a group of DMA engines: 1 and 2 to the left, 0 and 3 to the right */
#define TRAINIUM2_WINDOW_NODE(group) (0x10000000000000ull | (uint64_t)(group) << 50)
/* any chip of the instance, by its routing id; the vendor's numbers of those */
#define TRAINIUM2_WINDOW_FAR(id) (0x20000000000000ull | (uint64_t)(id) << 56)
#define TRAINIUM2_FAR_IDS 128
#define TRAINIUM2_FAR_LINKS 8
#define TRAINIUM2_NUMBERS                                            \
	{                                                            \
		0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10 \
	}
#define TRAINIUM2_WINDOW_LIMIT 0x8000000000000000ull

#define TRAINIUM2_TPB_PE_FIFO 0x265c000
#define TRAINIUM2_TPB_FIFO_SIZE 0x4000
#define TRAINIUM2_TPB_FIFO(eng) (TRAINIUM2_TPB_PE_FIFO + TRAINIUM2_TPB_FIFO_SIZE * (eng))
#define TRAINIUM2_TPB_EVENTS 0x2700000
#define TRAINIUM2_TPB_SEM_READ 0x2701000
#define TRAINIUM2_TPB_SEM_SET 0x2701400
#define TRAINIUM2_TPB_SEM_INC 0x2701800
#define TRAINIUM2_TPB_SEM_DEC 0x2701c00

/* The engines of copies with the host: 128 to 131, one for two cores */
#define TRAINIUM2_APB_UDMA(eng)                                                                   \
	((eng) < 128 ? 0x82000000u + 0x10000000u * ((eng) / 32) + 0x2000000u * ((eng) / 32 % 2) + \
			       0x100000u * ((eng) % 32)                                           \
		     : ((eng) < 130 ? 0x6800000u : 0x46800000u) + 0x100000u * ((eng) % 2))
#define TRAINIUM2_APB_TDMA(nc, k) (TRAINIUM2_APB_UDMA(16 * (nc) + (k)) + 0x40000)
#define TRAINIUM2_APB_PUTILS(nc)                                                 \
	(((nc)&4 ? 0x40001000u : 0x1000u) + ((nc)&2 ? 0x6400000u : 0x6000000u) + \
	 0x180000u * ((nc)&1))
#define TRAINIUM2_APB_PUTILS_SIZE 0x1000
#define TRAINIUM2_APB_MISC_RAM 0x6c84000
#define TRAINIUM2_APB_MISC_RAM_SIZE 0x1000
#define TRAINIUM2_H2T_ENGINE(nc) (128 + (nc) / 2)
#define TRAINIUM2_H2T_QUEUE 0

#define TRAINIUM2_NQ_ENGINES TRAINIUM2_ENGINES
#define TRAINIUM2_NQ_ERROR_REGS 0x1c8
#define TRAINIUM2_NQ_EVENT_REGS 0x1f0
#define TRAINIUM2_NQ_NOTIFY_REGS(eng) (0x100 + 0x28 * (eng))
#define TRAINIUM2_NQ_TRACE_REGS(eng) (0x240 + 0x28 * (eng))
#define TRAINIUM2_NQ_BASE_LO 0x0
#define TRAINIUM2_NQ_BASE_HI 0x4
#define TRAINIUM2_NQ_SIZE 0x8
#define TRAINIUM2_NQ_HEAD 0xc

#define TRAINIUM2_BAR_CORES 0
#define TRAINIUM2_BAR_EXT 2
#define TRAINIUM2_EXT 0x0
#define TRAINIUM2_EXT_ADDRESS 0x8600000000ull
#define TRAINIUM2_EXT_SIZE 0x8000
#define TRAINIUM2_NQ_OVERFLOWS(nc) (0x40 + 4 * (nc))
#define TRAINIUM2_NQ_ENTRIES(nc) (0x60 + 4 * (nc))
#define TRAINIUM2_DMA_STOPPED(eng) (0x200 + 4 * (eng))
#define TRAINIUM2_GUARD_CORE(nc) (0x140 + 4 * (nc))
#define TRAINIUM2_GUARD_QUEUE(eng, q) (0x4000 + 0x40 * (eng) + 4 * (q))
#define TRAINIUM2_PERF(nc) (0x1000 + 0x200 * (nc))
#define TRAINIUM2_PERF_CORE 0x140
#define TRAINIUM2_FIRMWARE 5
#define TRAINIUM2_READY_WORD 0x808
#define TRAINIUM2_READY 0
#define TRAINIUM2_BUSY 8
#define TRAINIUM2_LINKS 0
#define TRAINIUM2_APB_TDMA_COPY(nc) (TRAINIUM2_APB_UDMA(128 + (nc) / 2) + 0x40000)
#define TRAINIUM2_HIGH_FIRST 1 /* a notification queue's base */
#define TRAINIUM2_H2T_QUEUE_OF(nc) ((nc) % 2)
#define TRAINIUM2_DRAM1_OFFSET 0x1000000000ull /* in its BAR */
#define TRAINIUM2_ROUTES   \
	{                  \
		0, 8, 9, 1 \
	} /* of slots 0 to 3 */
#define TRAINIUM2_ROUTED 1
#define TRAINIUM2_ISA 2

/* TOP_SPs: windows, blocks of notification queues in BAR0, bits of the reset map, owners */
#define TRAINIUM2_TOPSPS 16
#define TRAINIUM2_TOPSP(t) \
	(((t)&8 ? TRAINIUM2_DIE : 0) + 0x8280000000ull + 0x40000000ull * ((t) % 8))
#define TRAINIUM2_TOPSP_BAR(t) (((t)&8 ? 0xf2800000ull : 0xf0000000ull) + 0x400000ull * ((t) % 8))
#define TRAINIUM2_TOPSP_NQ(t) (((t)&8 ? 0x46a00000u : 0x6a00000u) + 0x40000u * ((t) % 8))
#define TRAINIUM2_TOPSP_RESET(t) (0x10000u << (t) / 2)
#define TRAINIUM2_TOPSP_CORE(t) ((t) / 2)

#endif
