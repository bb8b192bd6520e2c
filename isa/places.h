/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The places of fields in an instruction's words. Private to table.c, which lists them, and
 * unrolled.c.
 */
#ifndef NEURON_ISA_PLACES_H
#define NEURON_ISA_PLACES_H

#include "neuron/isa/codec.h"
#include "neuron/isa/table.h"

/*
 * X(field group, member of struct neuron_insn, byte in the instruction, bit in that
 * little-endian container, bits). Nothing crosses an aligned 8 bytes. Scalars are not in this
 * list: see NEURON_ISA_SCALAR_BYTE.
 */
#define AP_PLACES(X, group, ap, byte)            \
	X(group, ap.offset, byte, 0, 26)         \
	X(group, ap.dtype, byte, 26, 6)          \
	X(group, ap.step[0], (byte) + 4, 0, 16)  \
	X(group, ap.step[1], (byte) + 6, 0, 16)  \
	X(group, ap.step[2], (byte) + 8, 0, 16)  \
	X(group, ap.step[3], (byte) + 10, 0, 16) \
	X(group, ap.num[0], (byte) + 12, 0, 16)  \
	X(group, ap.num[1], (byte) + 14, 0, 16)  \
	X(group, ap.num[2], (byte) + 16, 0, 16)  \
	X(group, ap.num[3], (byte) + 18, 0, 16)

#define HEAD_PLACES(X)                                                   \
	X(SYNC, opcode, 0, 0, 8)                                         \
	X(SYNC, trigger, 1, 1, 1)                                        \
	X(ACCUMULATE, accumulate, 1, 2, 1)                               \
	X(NEGATE, negate, 1, 3, 1)                                       \
	X(REVERSE0, reverse0, 1, 4, 1)                                   \
	X(REVERSE1, reverse1, 1, 5, 1)                                   \
	X(SCALAR0, scalar0.kind, 1, 6, 1)                                \
	X(SCALAR1, scalar1.kind, 1, 7, 1)                                \
	X(SYNC, wait, 2, 0, 4)                                           \
	X(SYNC, update, 2, 4, 3)                                         \
	X(CHECK, check, 2, 7, 1)                                         \
	X(PARTITIONS, partitions, 3, 0, 8)                               \
	X(SYNC, wait_index, 4, 0, 8)                                     \
	X(SYNC, update_index, 5, 0, 8)                                   \
	X(OP0, op0, 6, 0, 8)                                             \
	X(FUNC, func, 6, 0, 8)                                           \
	X(TILE, tile, 6, 0, 8)                                           \
	X(OP1, op1, 7, 0, 8)                                             \
	X(REDUCE_DIMS, reduce_dims, 7, 0, 8)                             \
	X(REDUCE_CMD, reduce_cmd, 7, 0, 8)                               \
	X(NEIGHBOURS, neighbours, 7, 0, 8)                               \
	X(BIAS, src_bias, 7, 0, NEURON_ISA_BIAS_BITS)                    \
	X(BIAS, dst_bias, 7, NEURON_ISA_BIAS_BITS, NEURON_ISA_BIAS_BITS) \
	X(SYNC, wait_value, 8, 0, 32)                                    \
	X(SYNC, update_value, 12, 0, 32)

#define OWN_PLACES(X)                       \
	X(RESULT_SCALE, alpha, 56, 0, 32)   \
	X(ALPHA, alpha, 64, 0, 32)          \
	X(VERSION, isa_version, 16, 0, 16)  \
	X(ID, id, 16, 0, 32)                \
	X(RANGE, first, 16, 0, 8)           \
	X(RANGE, last, 17, 0, 8)            \
	X(WRITE, write[0].addr, 16, 0, 64)  \
	X(WRITE, write[1].addr, 24, 0, 64)  \
	X(WRITE, write[0].value, 32, 0, 32) \
	X(WRITE, write[1].value, 36, 0, 32)

#define REGISTER_PLACES(X)             \
	X(WINDOW, address, 16, 0, 64)  \
	X(WINDOW, length, 24, 0, 32)   \
	X(WINDOW, pc, 28, 0, 32)       \
	X(RD, rd, 16, 0, 8)            \
	X(RA, ra, 17, 0, 8)            \
	X(RB, rb, 18, 0, 8)            \
	X(RB, immediate, 20, 0, 1)     \
	X(RB, value, 24, 0, 32)        \
	X(REG_ALU, rop, 19, 0, 8)      \
	X(RELATION, rop, 19, 0, 8)     \
	X(RELATION, target, 28, 0, 32) \
	X(PLACE, ra, 17, 0, 8)         \
	X(PLACE, rtype, 19, 0, 6)      \
	X(PLACE, device, 20, 1, 1)     \
	X(PLACE, indexed, 20, 2, 1)    \
	X(PLACE, scale, 28, 0, 32)     \
	X(PLACE, address, 32, 0, 64)

#define DMA_SIDE(X, i)                               \
	X(DMA, dma_addr[i], 16 + 8 * (i), 0, 64)     \
	X(DMA, dma_step[i][0], 32 + 12 * (i), 0, 32) \
	X(DMA, dma_step[i][1], 36 + 12 * (i), 0, 32) \
	X(DMA, dma_step[i][2], 40 + 12 * (i), 0, 32) \
	X(DMA, dma_num[i][0], 64 + 6 * (i), 0, 16)   \
	X(DMA, dma_num[i][1], 66 + 6 * (i), 0, 16)   \
	X(DMA, dma_num[i][2], 68 + 6 * (i), 0, 16)   \
	X(DMA, dma_reg[i], 76 + (i), 0, 8)           \
	X(DMA, dma_scale[i], 80 + 4 * (i), 0, 32)    \
	X(DMA, dma_limit[i], 88 + 4 * (i), 0, 32)
#define DMA_PLACES(X)                   \
	DMA_SIDE(X, 0)                  \
	DMA_SIDE(X, 1)                  \
	X(DMA, dma_run, 56, 0, 32)      \
	X(DMA, dma_engine, 60, 0, 8)    \
	X(DMA, dma_queue, 61, 0, 8)     \
	X(DMA, dma_semaphore, 62, 0, 8) \
	X(DMA, dma_skip, 63, 0, 1)

#define PATCH_PLACE(X, i)                          \
	X(PATCH, patch[i], 96 + 8 * (i), 0, 8)     \
	X(PATCH, patch_reg[i], 97 + 8 * (i), 0, 8) \
	X(PATCH, patch_scale[i], 100 + 8 * (i), 0, 32)
#define PATCH_PLACES(X) PATCH_PLACE(X, 0) PATCH_PLACE(X, 1) PATCH_PLACE(X, 2) PATCH_PLACE(X, 3)

#define DST_PLACES(X) AP_PLACES(X, DST, dst, 16)
#define SRC0_PLACES(X) AP_PLACES(X, SRC0, src0, 36)
#define SRC1_PLACES(X) AP_PLACES(X, SRC1, src1, 64)
#define V2_PLACES(X)                           \
	AP_PLACES(X, DST1, dst1, 96)           \
	X(IMM, imm, 84, 0, 32)                 \
	X(ACC_CMD, reduce_cmd, 88, 0, 8)       \
	X(ELEMS, count, 90, 0, 16)             \
	X(TOTAL, total, 92, 0, 16)             \
	X(PATTERN, pattern.base, 64, 0, 32)    \
	X(PATTERN, pattern.channel, 68, 0, 32) \
	X(PATTERN, pattern.step[0], 72, 0, 32) \
	X(PATTERN, pattern.step[1], 76, 0, 32) \
	X(PATTERN, pattern.step[2], 80, 0, 32) \
	X(PATTERN, pattern.step[3], 84, 0, 32) \
	X(PATTERN, pattern.num[0], 88, 0, 16)  \
	X(PATTERN, pattern.num[1], 90, 0, 16)  \
	X(PATTERN, pattern.num[2], 92, 0, 16)  \
	X(PATTERN, pattern.num[3], 94, 0, 16)  \
	X(SHUFFLE, shuffle[0], 64, 0, 64)      \
	X(SHUFFLE, shuffle[1], 72, 0, 64)      \
	X(SHUFFLE, shuffle[2], 80, 0, 64)      \
	X(SHUFFLE, shuffle[3], 88, 0, 64)      \
	X(ROUNDING, rounding, 16, 0, 8)        \
	X(ROUNDING, seed, 24, 0, 64)           \
	X(CUSTOM, custom.library, 16, 0, 64)   \
	X(CUSTOM, custom.bytes, 24, 0, 32)     \
	X(CUSTOM, custom.entry, 28, 0, 32)     \
	X(CUSTOM, custom.function, 32, 0, 32)  \
	X(CUSTOM, custom.limit, 36, 0, 32)     \
	X(CUSTOM, custom.mask, 40, 0, 8)       \
	X(CUSTOM, custom.args, 64, 0, 64)
#define PLACES(X)      \
	HEAD_PLACES(X) \
	DST_PLACES(X)  \
	SRC0_PLACES(X) \
	SRC1_PLACES(X) \
	OWN_PLACES(X) REGISTER_PLACES(X) PATCH_PLACES(X) DMA_PLACES(X) V2_PLACES(X)

#define SIZEOF(m) sizeof(((struct neuron_insn *)0)->m)
#define PLACE_ROW(f, m, byte, bit, nbits)                                             \
	{                                                                             \
		offsetof(struct neuron_insn, m), SIZEOF(m), NEURON_F_##f, (byte) / 8, \
			(byte) % 8 * 8 + (bit), nbits                                 \
	}

#endif
