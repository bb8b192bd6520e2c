/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What our device has and the public record does not describe: memory geometry, engine FIFO
 * windows, notification entries, and the vendor-specific PCI capability. docs/hardware.md keeps
 * the two apart in the same way. A change here is a new ISA or capability version.
 */
#ifndef NEURON_HW_EXT_H
#define NEURON_HW_EXT_H

/*
 * Engine indices, everywhere: FIFOs, notification queues, counters, NEFF. The Vector engine is
 * named pool on NeuronCore-v1; from v2 on it is dve, and pool is the GpSimd engine.
 */
#define NEURON_ENG_PE 0
#define NEURON_ENG_ACT 1
#define NEURON_ENG_POOL 2
#define NEURON_ENG_SP 3
#define NEURON_V1_ENGINES 4
#define NEURON_ENG_GPSIMD 4
#define NEURON_V2_ENGINES 5

/* Memories of a NeuronCore, offsets in its window */
#define NEURON_PARTITIONS 128
#define NEURON_SBUF_OFFSET 0x0
#define NEURON_SBUF_PART_STRIDE 0x40000 /* 256 KiB */
#define NEURON_V1_SBUF_PART_SIZE 0x20000 /* 128 KiB, so 16 MiB a core */
#define NEURON_PSUM_OFFSET 0x2000000
#define NEURON_PSUM_PART_STRIDE 0x4000
#define NEURON_PSUM_PART_SIZE 0x4000 /* 16 KiB: eight banks of 2 KiB */
#define NEURON_PSUM_BANK_SIZE 0x800

/* Instruction FIFO windows: PE's is public, the others follow it. A write appends. */
#define NEURON_V1_TPB_FIFO(eng) (0x265c000 + 0x4000 * (eng))
#define NEURON_FIFO_WORDS 256
#define NEURON_INSN_WORD 64 /* bytes */

/*
 * An RX descriptor's second word, from NeuronCore-v2 on (v1's, and the public drivers', is 0): its
 * bytes are elements made of those of its sources, a whole TX descriptor each, in a row.
 */
#define NEURON_DMA_COMPUTE_FROM 0x3fu /* type of the sources: enum neuron_dtype */
#define NEURON_DMA_COMPUTE_TO 0xfc0u /* of the elements that are written */
#define NEURON_DMA_COMPUTE_OP 0x7000u
#define NEURON_DMA_COMPUTE_SOURCES 0xf0000u /* less one */
#define NEURON_DMA_COMPUTE_RESERVED 0xfff08000u
#define NEURON_DMA_CAST 1 /* of one source */
#define NEURON_DMA_ADD 2
#define NEURON_DMA_MIN 3
#define NEURON_DMA_MAX 4
/* one type for both sides, one source: a stream (neuron/isa/compress.h) of a packet's elements */
#define NEURON_DMA_COMPRESS 5
#define NEURON_DMA_DECOMPRESS 6
/*
 * one type of 2 or 4 bytes for both sides: a packet's elements, [first, middle, last], with the
 * first and the last dimension exchanged
 */
#define NEURON_DMA_TRANSPOSE 7
#define NEURON_DMA_TRANSPOSE_FIRST_MAX 4096 /* less one in bits 31:20 */
#define NEURON_DMA_SOURCES_MAX 16 /* or elements of the middle dimension */
#define NEURON_DMA_COMPUTE(op, from, to, sources)                        \
	((uint32_t)(from) | (uint32_t)(to) << 6 | (uint32_t)(op) << 12 | \
	 ((uint32_t)(sources)-1) << 16)
#define NEURON_DMA_COMPUTE_TRANSPOSE(type, first, middle) \
	(NEURON_DMA_COMPUTE(NEURON_DMA_TRANSPOSE, type, type, middle) | ((uint32_t)(first)-1) << 20)

/*
 * A notification entry, 32 bytes, little-endian, written front to back with the last word last:
 *  0 u8 type (NEURON_NQ_*), u8 engine, u16 code;  4 u32 id;  8 u64 virtual time (picoseconds);
 * 16 u64 data;  24 u32 data2;  28 u32 phase.
 * phase is 1 on the first lap of the ring and flips 1, 2, 1, 2 ... on each wrap, so a zeroed ring
 * holds no valid entry. The consumer writes the index of the next entry it will read to the head
 * register of the queue; an entry that would make the ring full is dropped and counted as an
 * overflow. A consumer that has never written the head since the base was set is not checked.
 */
#define NEURON_NQ_ENTRY_SIZE 32
#define NEURON_NQ_ENTRY_TYPE 0
#define NEURON_NQ_ENTRY_ENGINE 1
#define NEURON_NQ_ENTRY_CODE 2
#define NEURON_NQ_ENTRY_ID 4
#define NEURON_NQ_ENTRY_TIME 8
#define NEURON_NQ_ENTRY_DATA 16
#define NEURON_NQ_ENTRY_DATA2 24
#define NEURON_NQ_ENTRY_PHASE 28
#define NEURON_NQ_PHASE(lap) (1 + (1 & (lap)))

/* Error codes of NEURON_NQ_ERROR entries (code field) */
#define NEURON_NERR_ILLEGAL_INSN 1 /* data = opcode word */
#define NEURON_NERR_ILLEGAL_OPERAND 2 /* data = operand index and offset */
#define NEURON_NERR_ISA_VERSION 3
#define NEURON_NERR_SEM_OVERFLOW 4 /* id = semaphore */
#define NEURON_NERR_EVT_DOUBLE_SET 5 /* id = event */
#define NEURON_NERR_EVT_DOUBLE_CLEAR 6
#define NEURON_NERR_FIFO_WRITE 7 /* not a multiple of 64 bytes */
#define NEURON_NERR_WRITE_REFUSED 8 /* an instruction's write to no semaphore, event or doorbell */
#define NEURON_NERR_DMA_ABORT 9 /* id = engine << 8 | queue, data = address */
#define NEURON_NERR_DMA_DESC 10 /* bad descriptor: ring id, first/last, counts */
#define NEURON_NERR_NUMERICAL 11 /* NaN produced by an instruction that asked to be told */
#define NEURON_NERR_NQ_OVERFLOW 12
#define NEURON_NERR_DRAM_UE 13 /* uncorrectable ECC error; id and data as of DMA_ABORT */
#define NEURON_NERR_SRAM_UE 14 /* the same, or of an engine: data = opcode */
#define NEURON_NERR_PC 15 /* outside the window that instructions come from: data = pc */
#define NEURON_NERR_FETCH_REFUSED 16 /* a window that is no memory of the core's: data = address */
#define NEURON_NERR_DMA_REFUSED 18 /* an instruction's transfer: data = engine << 8 | queue */
#define NEURON_NERR_DMA_OOB \
	19 /* what a register adds is beyond the limit: data = it, data2 = side */
#define NEURON_NERR_ELEMENT_REFUSED 17 /* ... an element: data = address, data2 = opcode */
/* a GpSimd processor was stopped: data = cause (neuron/hw/gpsimd.h) << 40 | number << 32 | pc */
#define NEURON_NERR_CUSTOM_OP 20
/* a compressed stream: id as of DMA_ABORT, data = its address, data2: enum neuron_stream_error */
#define NEURON_NERR_DMA_STREAM 21

/* Vendor-specific PCI capability (id 0x09). Offsets inside the capability. */
#define NEURON_CAP_LEN 0x02
#define NEURON_CAP_MAGIC 0x04 /* u32 */
#define NEURON_CAP_MAGIC_VALUE 0x4e55524eu /* "NRUN" */
#define NEURON_CAP_VERSION 0x08 /* u16 */
#define NEURON_CAP_VERSION_VALUE 1 /* the first generation's */
#define NEURON_CAP_BAR 0x0a /* u8: bar that holds our registers */
#define NEURON_CAP_FEATURES 0x0c /* u32 */
#define NEURON_CAP_OFFSET 0x10 /* u32: offset in that bar */
#define NEURON_CAP_LENGTH 0x14 /* u32 */
#define NEURON_CAP_SIZE 0x18
/*
 * Version 2, of chips whose counts do not fit the places of version 1: what follows are eight u32,
 * the places of what there is one of a core or of an engine (struct neuron_ext_map, in its order
 * from nq_overflows to perf_core).
 */
#define NEURON_CAP_VERSION_PLACES 2
#define NEURON_CAP_PLACES 0x18
#define NEURON_CAP_SIZE_PLACES 0x38
#define NEURON_CAP_F_FAST_RESET 0x1 /* reset completes in the doorbell write: do not sleep */
#define NEURON_CAP_F_TPB_MAP 0x2 /* the TPB reset map is honoured */
#define NEURON_CAP_F_PERF 0x4 /* performance counters in our registers */
#define NEURON_CAP_F_IRQ 0x8 /* MSI-X vectors on notification entries */
#define NEURON_CAP_F_GUARD 0x10 /* what queues and cores reach can be limited */

/* Our registers in BAR0 */
#define NEURON_EXT_BAR0_OFFSET 0x800000
#define NEURON_EXT_BAR0_SIZE 0x10000
#define NEURON_EXT_ISA_VERSION 0x0
#define NEURON_EXT_GUEST_ERRORS 0x4 /* count of what the guest did wrong */
#define NEURON_EXT_SBUF_SIZE 0x8 /* bytes a core */
#define NEURON_EXT_NQ_OVERFLOWS(nc) (0x40 + 4 * (nc)) /* notification entries dropped */
#define NEURON_EXT_DMA_STOPPED(eng) (0x80 + 4 * (eng)) /* bit q: queue q stopped by an error */
/*
 * Core nc's notification entries, all queues together: counts what was written. A write arms vector
 * nc, which is raised once, when the count is not, or no longer, the value written.
 */
#define NEURON_EXT_NQ_ENTRIES(nc) (0xc0 + 4 * (nc))
/* The guard. Domains: 0 reaches nothing, 255 everything; a write to any of these fences */
#define NEURON_EXT_GUARD_CTRL 0x100 /* bit 0: on */
#define NEURON_EXT_GUARD_FENCE 0x104 /* nothing that the table granted before is used after */
#define NEURON_EXT_GUARD_ROOT_LO 0x108 /* host physical address of the table */
#define NEURON_EXT_GUARD_ROOT_HI 0x10c
#define NEURON_EXT_GUARD_CORE(nc) (0x140 + 4 * (nc)) /* the core's domain */
#define NEURON_EXT_GUARD_QUEUE(eng, q) (0x200 + 0x40 * (eng) + 4 * (q)) /* the queue's */
#define NEURON_GUARD_NONE 0
#define NEURON_GUARD_HOST 0xff
/*
 * The table: 8192 u64 addresses of middle pages, each 512 u64 addresses of leaf pages, each one u8
 * for a page of 4 KiB: the domain it belongs to. Address 0: there is nothing below.
 */
#define NEURON_GUARD_PAGE_SHIFT 12
#define NEURON_GUARD_LEAF_ENTRIES 4096
#define NEURON_GUARD_MID_SHIFT 24
#define NEURON_GUARD_MID_ENTRIES 512
#define NEURON_GUARD_ROOT_SHIFT 33
#define NEURON_GUARD_ROOT_ENTRIES 8192
#define NEURON_EXT_PERF(nc) (0x1000 + 0x200 * (nc))
/* Inside a core's block, u64 each: engine e at e * 0x40, then the core's own */
#define NEURON_PERF_ENG(e) (0x40 * (e))
#define NEURON_PERF_INSN 0x00
#define NEURON_PERF_BUSY 0x08 /* virtual cycles of its clock */
#define NEURON_PERF_IDLE 0x10 /* waiting for instructions */
#define NEURON_PERF_WAIT 0x18 /* waiting for a semaphore or event */
#define NEURON_PERF_MATMUL_INSN 0x20
#define NEURON_PERF_MATMUL_WAIT 0x28
/* u32: what the next instruction waits for, 0 nothing; of one that was fetched, its byte */
#define NEURON_PERF_STANDS 0x30
#define NEURON_STANDS_SEM(n) (0x40000000u | (n))
#define NEURON_STANDS_EVENT(n) (0x80000000u | (n))
#define NEURON_STANDS_KIND 0xc0000000u
#define NEURON_STANDS_INDEX 0xffffu
#define NEURON_PERF_STANDS_AT 0x38
/* the core's own, behind those of the engines (struct neuron_ext_map); Inferentia's: */
#define NEURON_PERF_CORE 0x100
#define NEURON_PERF_MACS 0x00
#define NEURON_PERF_DMA_BYTES 0x08
#define NEURON_PERF_DMA_DESCS 0x10
#define NEURON_PERF_DECOMPRESSED_FROM 0x18 /* bytes of streams that were decompressed */
#define NEURON_PERF_DECOMPRESSED_TO 0x20 /* and of their elements */
#define NEURON_PERF_COMPRESSED_FROM 0x28 /* bytes of elements that were compressed */
#define NEURON_PERF_COMPRESSED_TO 0x30 /* and of the streams */
#define NEURON_PERF_STREAMS_REFUSED 0x38
#define NEURON_PERF_STREAMS 5 /* the last so many */

/* The last setting of the mailbox in words, in MISC RAM: the profile's four bytes; features */
#define NEURON_MISC_PROFILE 0xff0
#define NEURON_MISC_FEATURES 0xff4
#define NEURON_PROFILES 5 /* that exist: 0 to 4, which change nothing */

/* MSI-X table and pending bits, behind our registers in BAR0: a vector for each core */
#define NEURON_EXT_MSIX_TABLE 0x810000
#define NEURON_EXT_MSIX_PBA 0x818000

/* The same in BAR2, of the generations after the first, whose BAR0 has no room for them */
#define NEURON_EXT2_BAR_SIZE 0x10000
#define NEURON_EXT2_SIZE 0x8000
#define NEURON_EXT2_NQ_OVERFLOWS(nc) (0x40 + 4 * (nc))
#define NEURON_EXT2_NQ_ENTRIES(nc) (0x60 + 4 * (nc))
#define NEURON_EXT2_GUARD_CORE(nc) (0x140 + 4 * (nc))
#define NEURON_EXT2_DMA_STOPPED(eng) (0x200 + 4 * (eng))
#define NEURON_EXT2_PERF(nc) (0x1000 + 0x200 * (nc))
#define NEURON_EXT2_PERF_CORE 0x140
#define NEURON_EXT2_GUARD_QUEUE(eng, q) (0x4000 + 0x40 * (eng) + 4 * (q))
#define NEURON_EXT2_MSIX_TABLE 0x8000
#define NEURON_EXT2_MSIX_PBA 0xc000

#endif
