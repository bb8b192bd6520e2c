// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The rows of the instruction set's one table (table.h). */
#include "neuron/isa/table.h"
#include "neuron/isa/codec.h"

#include <assert.h>
#include <string.h>

#define VECTORS (NEURON_ISA_POOL | NEURON_ISA_GPSIMD)

/* X(enum suffix, mnemonic, groups, since which core, 64-byte words, span of dst, weights, fields) */
#define FIRST_OPS(X)                                                                               \
	X(NOP, "nop", NEURON_ISA_ANY, 1, 1, SAME, KEEP, 0)                                         \
	X(PROGRAM_START, "program_start", NEURON_ISA_ANY, 1, 1, SAME, KEEP, NEURON_FB(VERSION))    \
	X(SEM_RANGE_CLEAR, "sem_range_clear", NEURON_ISA_ANY, 1, 1, SAME, KEEP, NEURON_FB(RANGE))  \
	X(NOTIFY, "notify", NEURON_ISA_ANY, 1, 1, SAME, KEEP, NEURON_FB(ID))                       \
	X(WRITE, "write", NEURON_ISA_ANY, 1, 1, SAME, KEEP, NEURON_FB(WRITE))                      \
	X(PSEUDO_DMA_TRIGGER, "pseudo_dma_trigger", NEURON_ISA_ANY, 1, 1, SAME, KEEP,              \
	  NEURON_FB(ID))                                                                           \
	X(FETCH, "fetch", NEURON_ISA_ANY, 2, 1, SAME, KEEP, NEURON_FB(WINDOW))                     \
	X(FETCH_END, "fetch_end", NEURON_ISA_ANY, 2, 1, SAME, KEEP, 0)                             \
	X(MOVE, "move", NEURON_ISA_ANY, 2, 1, SAME, KEEP, NEURON_FB(RD) | NEURON_FB(RB))           \
	X(ALU, "alu", NEURON_ISA_ANY, 2, 1, SAME, KEEP,                                            \
	  NEURON_FB(RD) | NEURON_FB(RA) | NEURON_FB(RB) | NEURON_FB(REG_ALU))                      \
	X(COMPARE_BRANCH, "compare_branch", NEURON_ISA_ANY, 2, 1, SAME, KEEP,                      \
	  NEURON_FB(RA) | NEURON_FB(RB) | NEURON_FB(RELATION))                                     \
	X(TENSOR_LOAD, "tensor_load", NEURON_ISA_ANY, 2, 1, SAME, KEEP,                            \
	  NEURON_FB(RD) | NEURON_FB(PLACE))                                                        \
	X(TENSOR_STORE, "tensor_store", NEURON_ISA_ANY, 2, 1, SAME, KEEP,                          \
	  NEURON_FB(RB) | NEURON_FB(PLACE))                                                        \
	X(PSEUDO_CORE_BARRIER, "pseudo_core_barrier", NEURON_ISA_ANY, 3, 1, SAME, KEEP,            \
	  NEURON_FB(ID))                                                                           \
	X(DMA, "dma", NEURON_ISA_ANY, 2, 2, SAME, KEEP, NEURON_FB(DMA))                            \
	X(LDWEIGHTS, "ldweights", NEURON_ISA_PE, 1, 1, SAME, LOAD,                                 \
	  NEURON_FB(PARTITIONS) | NEURON_FB(SRC0) | NEURON_FB(BIAS) | NEURON_FB(TILE))             \
	X(MATMUL, "matmul", NEURON_ISA_PE, 1, 1, COLUMNS, USE,                                     \
	  NEURON_FB_TENSOR | NEURON_FB(ACCUMULATE) | NEURON_FB(BIAS) | NEURON_FB(TILE))            \
	X(PE_TRANSPOSE, "pe_transpose", NEURON_ISA_PE, 1, 1, ELEMENTS, KEEP, NEURON_FB_TENSOR)     \
	X(ACTIVATE, "activate", NEURON_ISA_ACT, 1, 2, SAME, KEEP,                                  \
	  NEURON_FB_TENSOR | NEURON_FB(SCALAR0) | NEURON_FB(SCALAR1) | NEURON_FB(FUNC) |           \
		  NEURON_FB(REDUCE_CMD) | NEURON_FB(ALPHA))                                        \
	X(ACT_READ_ACC, "act_read_acc", NEURON_ISA_ACT, 1, 1, SAME, KEEP,                          \
	  NEURON_FB(PARTITIONS) | NEURON_FB(DST))                                                  \
	X(TENSOR_COPY, "tensor_copy", NEURON_ISA_ACT | VECTORS, 1, 1, SAME, KEEP,                  \
	  NEURON_FB_TENSOR | NEURON_FB(BIAS))                                                      \
	X(TENSOR_TENSOR, "tensor_tensor", VECTORS, 1, 2, SAME, KEEP,                               \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(OP0))                                     \
	X(TENSOR_SCALAR, "tensor_scalar", NEURON_ISA_ACT | VECTORS, 1, 1, SAME, KEEP,              \
	  NEURON_FB_TENSOR | NEURON_FB(SCALAR0) | NEURON_FB(SCALAR1) | NEURON_FB(OP0) |            \
		  NEURON_FB(OP1) | NEURON_FB(REVERSE0) | NEURON_FB(REVERSE1))                      \
	X(SCALAR_TENSOR_TENSOR, "scalar_tensor_tensor", NEURON_ISA_POOL, 1, 2, SAME, KEEP,         \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(SCALAR0) | NEURON_FB(OP0) |               \
		  NEURON_FB(OP1) | NEURON_FB(REVERSE0) | NEURON_FB(REVERSE1))                      \
	X(TENSOR_REDUCE, "tensor_reduce", NEURON_ISA_POOL, 1, 1, SAME, KEEP,                       \
	  NEURON_FB_TENSOR | NEURON_FB(OP0) | NEURON_FB(NEGATE) | NEURON_FB(REDUCE_DIMS) |         \
		  NEURON_FB(RESULT_SCALE))                                                         \
	X(MEMSET, "memset", NEURON_ISA_ACT | VECTORS, 1, 1, SAME, KEEP,                            \
	  NEURON_FB(PARTITIONS) | NEURON_FB(DST) | NEURON_FB(SCALAR0))                             \
	X(RECIPROCAL, "reciprocal", NEURON_ISA_POOL, 1, 1, SAME, KEEP, NEURON_FB_TENSOR)           \
	X(TRANSPOSE, "transpose", NEURON_ISA_POOL, 1, 1, BLOCK, KEEP, NEURON_FB_TENSOR)            \
	X(COPY_PREDICATED, "copy_predicated", NEURON_ISA_POOL, 1, 2, SAME, KEEP,                   \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(REVERSE0))                                \
	X(GATHER, "gather", NEURON_ISA_POOL, 1, 2, SAME, KEEP, NEURON_FB_TENSOR | NEURON_FB(SRC1)) \
	X(SCATTER, "scatter", NEURON_ISA_POOL, 1, 2, SAME, KEEP,                                   \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(OP0))                                     \
	X(SORT, "sort", NEURON_ISA_POOL, 1, 1, SAME, KEEP, NEURON_FB_TENSOR | NEURON_FB(REVERSE0))

/* What NeuronCore-v2 and v3 have besides */
#define SEQUENCER_OPS(X)
#define TENSOR_OPS(X)                                                            \
	X(LDWEIGHTS_DOUBLE, "ldweights_double", NEURON_ISA_PE, 3, 1, SAME, LOAD, \
	  NEURON_FB(PARTITIONS) | NEURON_FB(SRC0) | NEURON_FB(BIAS))             \
	X(MATMUL_DOUBLE, "matmul_double", NEURON_ISA_PE, 3, 1, COLUMNS, USE,     \
	  NEURON_FB_TENSOR | NEURON_FB(ACCUMULATE) | NEURON_FB(BIAS))            \
	X(MATMUL_SPARSE, "matmul_sparse", NEURON_ISA_PE, 3, 2, COLUMNS, USE,     \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(ACCUMULATE) | NEURON_FB(NEIGHBOURS))
#define ROUNDING_OPS(X) \
	X(SET_ROUNDING, "set_rounding", NEURON_ISA_ANY, 2, 1, SAME, KEEP, NEURON_FB(ROUNDING))
#define ALU_PAIR (NEURON_FB(OP0) | NEURON_FB(OP1))
#define SCALARS (NEURON_FB(SCALAR0) | NEURON_FB(SCALAR1))
#define VECTOR_OPS(X)                                                                              \
	X(TENSOR_TENSOR_SCAN, "tensor_tensor_scan", NEURON_ISA_POOL, 2, 2, SAME, KEEP,             \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(SCALAR0) | ALU_PAIR |                     \
		  NEURON_FB(REVERSE0) | NEURON_FB(REVERSE1))                                       \
	X(TENSOR_SCALAR_REDUCE, "tensor_scalar_reduce", NEURON_ISA_POOL, 2, 2, SAME, KEEP,         \
	  NEURON_FB_TENSOR | SCALARS | ALU_PAIR | NEURON_FB(REVERSE0) | NEURON_FB(ACC_CMD))        \
	X(TENSOR_SCALAR_CUMULATIVE, "tensor_scalar_cumulative", NEURON_ISA_POOL, 2, 2, SAME, KEEP, \
	  NEURON_FB_TENSOR | SCALARS | ALU_PAIR | NEURON_FB(REVERSE0) | NEURON_FB(ACC_CMD))        \
	X(VECTOR_READ_ACC, "vector_read_acc", NEURON_ISA_POOL, 2, 1, SAME, KEEP,                   \
	  NEURON_FB(PARTITIONS) | NEURON_FB(DST) | NEURON_FB(NEGATE))                              \
	X(BN_STATS, "bn_stats", NEURON_ISA_POOL, 2, 1, SAME, KEEP, NEURON_FB_TENSOR)               \
	X(BN_AGGR, "bn_aggr", NEURON_ISA_POOL, 2, 1, SAME, KEEP, NEURON_FB_TENSOR)                 \
	X(MAX8, "max8", NEURON_ISA_POOL, 2, 1, SAME, KEEP, NEURON_FB_TENSOR)                       \
	X(FIND_INDEX8, "find_index8", NEURON_ISA_POOL, 2, 2, SAME, KEEP,                           \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1))                                                      \
	X(MATCH_REPLACE8, "match_replace8", NEURON_ISA_POOL, 2, 2, SAME, KEEP,                     \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(DST1) | NEURON_FB(SCALAR0))               \
	X(SELECT_REDUCE, "select_reduce", NEURON_ISA_POOL, 2, 2, SAME, KEEP,                       \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | SCALARS | NEURON_FB(REVERSE0) | NEURON_FB(ACC_CMD)) \
	X(RANGE_SELECT, "range_select", NEURON_ISA_POOL, 3, 2, SAME, KEEP,                         \
	  NEURON_FB_TENSOR | SCALARS | ALU_PAIR | NEURON_FB(IMM) | NEURON_FB(ACC_CMD))             \
	X(STREAM_SHUFFLE, "stream_shuffle", NEURON_ISA_POOL, 2, 2, SAME, KEEP,                     \
	  NEURON_FB_TENSOR | NEURON_FB(SHUFFLE))                                                   \
	X(DROPOUT, "dropout", NEURON_ISA_POOL, 2, 1, SAME, KEEP,                                   \
	  NEURON_FB_TENSOR | NEURON_FB(SCALAR0))                                                   \
	X(RNG, "rng", VECTORS, 2, 1, SAME, KEEP, NEURON_FB(PARTITIONS) | NEURON_FB(DST))           \
	X(SET_RNG_SEED, "set_rng_seed", NEURON_ISA_POOL, 2, 1, SAME, KEEP,                         \
	  NEURON_FB(PARTITIONS) | NEURON_FB(SRC0))
#define GPSIMD_OPS(X)                                                                      \
	X(IOTA, "iota", NEURON_ISA_GPSIMD, 2, 2, SAME, KEEP,                               \
	  NEURON_FB(PARTITIONS) | NEURON_FB(DST) | NEURON_FB(PATTERN))                     \
	X(AFFINE_SELECT, "affine_select", NEURON_ISA_GPSIMD, 2, 2, SAME, KEEP,             \
	  NEURON_FB_TENSOR | NEURON_FB(SCALAR0) | NEURON_FB(OP0) | NEURON_FB(PATTERN))     \
	X(PARTITION_REDUCE, "tensor_partition_reduce", NEURON_ISA_GPSIMD, 2, 1, ONE, KEEP, \
	  NEURON_FB_TENSOR | NEURON_FB(OP0) | NEURON_FB(RESULT_SCALE))                     \
	X(LOCAL_GATHER, "local_gather", NEURON_ISA_GPSIMD, 2, 2, SAME, KEEP,               \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1) | NEURON_FB(ELEMS))                           \
	X(N_GATHER, "n_gather", NEURON_ISA_GPSIMD, 2, 2, SAME, KEEP,                       \
	  NEURON_FB_TENSOR | NEURON_FB(SRC1))                                              \
	X(SEQUENCE_BOUNDS, "sequence_bounds", NEURON_ISA_GPSIMD, 2, 1, SAME, KEEP,         \
	  NEURON_FB_TENSOR)                                                                \
	X(NONZERO_WITH_COUNT, "nonzero_with_count", NEURON_ISA_GPSIMD, 3, 1, SAME, KEEP,   \
	  NEURON_FB_TENSOR | SCALARS)                                                      \
	X(TOPK, "topk", NEURON_ISA_GPSIMD, 3, 2, SAME, KEEP,                               \
	  NEURON_FB_TENSOR | NEURON_FB(DST1) | NEURON_FB(ELEMS) | NEURON_FB(TOTAL))        \
	X(RAND_SET_STATE, "rand_set_state", NEURON_ISA_GPSIMD, 3, 1, SAME, KEEP,           \
	  NEURON_FB(PARTITIONS) | NEURON_FB(SRC0))                                         \
	X(RAND_GET_STATE, "rand_get_state", NEURON_ISA_GPSIMD, 3, 1, SAME, KEEP,           \
	  NEURON_FB(PARTITIONS) | NEURON_FB(DST))
#define CUSTOM_OPS(X) \
	X(CUSTOM_OP, "custom_op", NEURON_ISA_GPSIMD, 2, 2, SAME, KEEP, NEURON_FB(CUSTOM))
#define OPS(X)           \
	FIRST_OPS(X)     \
	SEQUENCER_OPS(X) \
	ROUNDING_OPS(X)  \
	TENSOR_OPS(X)    \
	VECTOR_OPS(X)    \
	GPSIMD_OPS(X)    \
	CUSTOM_OPS(X)

#define OP_ROW(op, mnemonic, runs, core, nwords, dst, stationary, uses)                         \
	[NEURON_OP_##op] = { .name = mnemonic,                                                  \
			     .groups = runs,                                                    \
			     .since = core,                                                     \
			     .words = nwords,                                                   \
			     .span = NEURON_SPAN_##dst,                                         \
			     .weights = NEURON_WEIGHTS_##stationary,                            \
			     .fields = (uses) | NEURON_FB(SYNC) |                               \
				       ((uses)&NEURON_FB(DST) ? NEURON_FB(CHECK) : 0) |         \
				       (((uses) & (NEURON_FB(PARTITIONS) | NEURON_FB(DST1))) == \
							NEURON_FB(PARTITIONS)                   \
						? NEURON_FB(PATCH)                              \
						: 0) },
const struct neuron_isa_op neuron_isa_ops[256] = { OPS(OP_ROW) };

#define OP_ASSERT(op, mnemonic, runs, core, nwords, dst, stationary, uses)                        \
	static_assert((nwords) == 1 || (nwords) == 2, mnemonic ": one or two words");             \
	static_assert(((nwords) == 2) == (((uses)&NEURON_FB_SECOND) != 0), mnemonic ": a second " \
										    "word where " \
										    "a field "    \
										    "lies in it");
OPS(OP_ASSERT)
static_assert(NEURON_F_COUNT <= 64, "fields fit a 64-bit mask");

/*
 * Places. X(field group, member of struct neuron_insn, byte in the instruction, bit in that
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
#define LATER_PLACES(X)                        \
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
	OWN_PLACES(X) REGISTER_PLACES(X) PATCH_PLACES(X) DMA_PLACES(X) LATER_PLACES(X)

#define SIZEOF(m) sizeof(((struct neuron_insn *)0)->m)
#define PLACE_ROW(f, m, byte, bit, nbits)                                             \
	{                                                                             \
		offsetof(struct neuron_insn, m), SIZEOF(m), NEURON_F_##f, (byte) / 8, \
			(byte) % 8 * 8 + (bit), nbits                                 \
	}
#define PLACE_LIST(f, m, byte, bit, nbits) PLACE_ROW(f, m, byte, bit, nbits),
const struct neuron_isa_place neuron_isa_places[] = { PLACES(PLACE_LIST) };
const unsigned int neuron_isa_place_count =
	sizeof(neuron_isa_places) / sizeof(neuron_isa_places[0]);

/*
 * Unrolled, with constants for the places, and for the words, which so stay in registers: it runs
 * for each instruction that a core executes
 */
#define PLACE_TAKE(f, m, byte, bit, nbits)                                                      \
	{                                                                                       \
		const struct neuron_isa_place p = PLACE_ROW(f, m, byte, bit, nbits);            \
                                                                                                \
		neuron_isa_member_set(insn, &p, w[p.word] >> p.shift & neuron_isa_mask(nbits)); \
		w[p.word] &= ~(neuron_isa_mask(nbits) << p.shift);                              \
	}
#define PLACE_TAKE_IF(f, m, byte, bit, nbits) \
	if (fields & NEURON_FB(f))            \
	PLACE_TAKE(f, m, byte, bit, nbits)
#define SCALAR_TAKE(i)                                               \
	if (fields & (NEURON_FB(SCALAR0) << (i))) {                  \
		insn->scalar##i.bits = (uint32_t)(w[7] >> 32 * (i)); \
		w[7] &= ~(0xffffffffull << 32 * (i));                \
	}
#define FIRST_WORD(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SECOND_WORD(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define WORD_LOAD(i) w[i] = neuron_isa_get_le64(words + 8 * (i));
#define WORD_OR(i) w[i] |
static_assert(NEURON_ISA_SCALAR_BYTE(0) == 8 * 7, "scalars lie in the eighth 8 bytes");

/*
 * The same from the list, of what programs have less often or what stays decoded: what is not here
 * leaves the registers to the others. Of the words from one of their 8 bytes on
 */
static __attribute__((noinline)) uint64_t
take_listed(struct neuron_insn *insn, const uint8_t *words, uint64_t fields, unsigned int from)
{
	const unsigned int n =
		words[NEURON_ISA_EXT_BIT / 8] & 1 ? NEURON_ISA_U64S : NEURON_ISA_U64S / 2;
	uint64_t w[NEURON_ISA_U64S] = { 0 }, left = 0;

	for (unsigned int i = from; i < n; i++)
		w[i] = neuron_isa_get_le64(words + 8 * i);
	if (!from)
		w[0] &= ~(1ull << NEURON_ISA_EXT_BIT);
	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *p = &neuron_isa_places[i];

		if (!(fields >> p->field & 1))
			continue;
		neuron_isa_member_set(insn, p, w[p->word] >> p->shift & neuron_isa_mask(p->bits));
		w[p->word] &= ~(neuron_isa_mask(p->bits) << p->shift);
	}
	SCALAR_TAKE(0)
	SCALAR_TAKE(1)
	for (unsigned int i = from; i < n; i++)
		left |= w[i];
	return left;
}

uint64_t neuron_isa_take_places(struct neuron_insn *restrict insn, const uint8_t *restrict words)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[words[0]];
	const uint64_t fields = op->fields;
	uint64_t w[NEURON_ISA_U64S] = { 0 }, patched = 0;

	if (fields & NEURON_FB_RARE)
		return take_listed(insn, words, fields, 0);
	FIRST_WORD(WORD_LOAD)
	if (w[0] >> NEURON_ISA_EXT_BIT & 1) {
		SECOND_WORD(WORD_LOAD)
	}
	w[0] &= ~(1ull << NEURON_ISA_EXT_BIT);
	HEAD_PLACES(PLACE_TAKE_IF)
	if (fields & NEURON_FB(DST)) {
		DST_PLACES(PLACE_TAKE)
	}
	if (fields & NEURON_FB(SRC0)) {
		SRC0_PLACES(PLACE_TAKE)
	}
	if (fields & NEURON_FB(SRC1)) {
		SRC1_PLACES(PLACE_TAKE)
	}
	OWN_PLACES(PLACE_TAKE_IF)
	if ((fields & NEURON_FB(PATCH)) && (w[12] | w[13] | w[14] | w[15])) {
		w[12] = w[13] = w[14] = w[15] = 0;
		patched = take_listed(insn, words, NEURON_FB(PATCH), 12);
	}
	SCALAR_TAKE(0)
	SCALAR_TAKE(1)
	return FIRST_WORD(WORD_OR) SECOND_WORD(WORD_OR) patched;
}

#define PLACE_ASSERT(f, m, byte, bit, nbits)                                          \
	static_assert((byte) % 8 * 8 + (bit) + (nbits) <= 64, #m " crosses 8 bytes"); \
	static_assert((byte) < 128, #m " lies in the instruction");                   \
	static_assert((nbits) <= 8 * SIZEOF(m), #m " holds its bits");
PLACES(PLACE_ASSERT)
static_assert(NEURON_ISA_SCALAR_BYTE(1) + 4 == NEURON_INSN_WORD, "scalars end "
								 "the first "
								 "word");

/* ALU operations: X(enum suffix, name, class) */
#define ALUS(X)                                                              \
	X(BYPASS, "bypass", NEURON_ALU_NONE)                                 \
	X(ADD, "add", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)                 \
	X(SUB, "sub", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)                 \
	X(MULT, "mult", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)               \
	X(MAX, "max", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)                 \
	X(MIN, "min", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)                 \
	X(EQ, "eq", NEURON_ALU_ARITH)                                        \
	X(NE, "ne", NEURON_ALU_ARITH)                                        \
	X(GE, "ge", NEURON_ALU_ARITH)                                        \
	X(GT, "gt", NEURON_ALU_ARITH)                                        \
	X(LE, "le", NEURON_ALU_ARITH)                                        \
	X(LT, "lt", NEURON_ALU_ARITH)                                        \
	X(LOGICAL_AND, "logical_and", NEURON_ALU_ARITH | NEURON_ALU_REDUCES) \
	X(LOGICAL_OR, "logical_or", NEURON_ALU_ARITH | NEURON_ALU_REDUCES)   \
	X(LOGICAL_XOR, "logical_xor", NEURON_ALU_ARITH | NEURON_ALU_REDUCES) \
	X(POW, "pow", NEURON_ALU_ARITH)                                      \
	X(ABS_MAX, "abs_max", NEURON_ALU_ARITH)                              \
	X(ABS, "abs", NEURON_ALU_UNARY)                                      \
	X(SQUARE, "square", NEURON_ALU_UNARY)                                \
	X(RELU, "relu", NEURON_ALU_UNARY)                                    \
	X(RSQRT, "rsqrt", NEURON_ALU_UNARY)                                  \
	X(RECIP, "recip", NEURON_ALU_UNARY)                                  \
	X(AND, "and", NEURON_ALU_BITVEC | NEURON_ALU_REDUCES)                \
	X(OR, "or", NEURON_ALU_BITVEC | NEURON_ALU_REDUCES)                  \
	X(XOR, "xor", NEURON_ALU_BITVEC | NEURON_ALU_REDUCES)                \
	X(NOT, "not", NEURON_ALU_BITVEC | NEURON_ALU_UNARY)                  \
	X(SHL, "shl", NEURON_ALU_BITVEC)                                     \
	X(SHR, "shr", NEURON_ALU_BITVEC)

#define ALU_ROW(op, mnemonic, class) [NEURON_ALU_##op] = { mnemonic, class },
const struct neuron_isa_alu neuron_isa_alus[NEURON_ISA_ALU_COUNT] = { ALUS(ALU_ROW) };

uint8_t neuron_isa_alu_class(uint8_t op)
{
	return op < NEURON_ISA_ALU_COUNT ? neuron_isa_alus[op].klass : 0;
}

const char *const neuron_isa_funcs[NEURON_ACT_COUNT] = {
	[NEURON_ACT_COPY] = "copy",
	[NEURON_ACT_SQUARE] = "square",
	[NEURON_ACT_SIGMOID] = "sigmoid",
	[NEURON_ACT_RELU] = "relu",
	[NEURON_ACT_PRELU] = "prelu",
	[NEURON_ACT_GELU] = "gelu",
	[NEURON_ACT_GELU_TANH] = "gelu_apprx_tanh",
	[NEURON_ACT_GELU_SIGMOID] = "gelu_apprx_sigmoid",
	[NEURON_ACT_SILU] = "silu",
	[NEURON_ACT_TANH] = "tanh",
	[NEURON_ACT_SOFTPLUS] = "softplus",
	[NEURON_ACT_MISH] = "mish",
	[NEURON_ACT_ERF] = "erf",
	[NEURON_ACT_EXP] = "exp",
	[NEURON_ACT_SIGN] = "sign",
	[NEURON_ACT_ABS] = "abs",
	[NEURON_ACT_LOG] = "log",
	[NEURON_ACT_SIN] = "sin",
	[NEURON_ACT_ARCTAN] = "arctan",
	[NEURON_ACT_SQRT] = "sqrt",
	[NEURON_ACT_RSQRT] = "rsqrt",
	[NEURON_ACT_RECIPROCAL] = "reciprocal",
	[NEURON_ACT_GELU_DX] = "gelu_dx",
	[NEURON_ACT_GELU_SIGMOID_DX] = "gelu_apprx_sigmoid_dx",
	[NEURON_ACT_SILU_DX] = "silu_dx",
	[NEURON_ACT_ERF_DX] = "erf_dx",
};

/* An exponent of ones above a fraction of zeros */
#define INFINITE(exponent, fraction) (((1u << (exponent)) - 1) << (fraction))
const struct neuron_isa_dtype neuron_isa_dtypes[NEURON_ISA_DTYPE_COUNT] = {
	[NEURON_DT_INT8] = { "int8", 1, true, 0 },
	[NEURON_DT_UINT8] = { "uint8", 1, true, 0 },
	[NEURON_DT_INT16] = { "int16", 2, true, 0 },
	[NEURON_DT_UINT16] = { "uint16", 2, true, 0 },
	[NEURON_DT_BF16] = { "bf16", 2, false, INFINITE(8, 7) },
	[NEURON_DT_FP16] = { "fp16", 2, false, INFINITE(5, 10) },
	[NEURON_DT_INT32] = { "int32", 4, true, 0 },
	[NEURON_DT_UINT32] = { "uint32", 4, true, 0 },
	[NEURON_DT_FP32] = { "fp32", 4, false, INFINITE(8, 23) },
	[NEURON_DT_FP32R] = { "fp32r", 4, false, INFINITE(8, 23) },
#define FP8_ROW(type, exponent, fraction) \
	[NEURON_DT_##type] = { "fp8e" #exponent, 1, false, INFINITE(exponent, fraction) },
	NEURON_ISA_FP8S(FP8_ROW)
		/* what lies in the bits that are not read makes no NaN */
		[NEURON_DT_TF32] = { "tf32", 4, false, INFINITE(8, 23) | NEURON_ISA_TF32_UNUSED },
};

const char *const neuron_isa_roundings[NEURON_ROUND_COUNT] = {
	[NEURON_ROUND_NEAREST] = "nearest",
	[NEURON_ROUND_STOCHASTIC] = "stochastic",
};

#define PATCH_NUM(operand, name)                           \
	[NEURON_PATCH_##operand##_NUM] = name ".num0",     \
	[NEURON_PATCH_##operand##_NUM + 1] = name ".num1", \
	[NEURON_PATCH_##operand##_NUM + 2] = name ".num2", \
	[NEURON_PATCH_##operand##_NUM + 3] = name ".num3"
const char *const neuron_isa_patches[NEURON_PATCH_COUNT] = {
	[NEURON_PATCH_DST] = "dst",
	[NEURON_PATCH_SRC0] = "src0",
	[NEURON_PATCH_SRC1] = "src1",
	[NEURON_PATCH_SCALAR0] = "scalar0",
	[NEURON_PATCH_SCALAR1] = "scalar1",
	[NEURON_PATCH_PARTITIONS] = "p",
	PATCH_NUM(DST, "dst"),
	PATCH_NUM(SRC0, "src0"),
	PATCH_NUM(SRC1, "src1"),
};

const char *const neuron_isa_reg_alus[NEURON_REG_ALU_COUNT] = {
	[NEURON_REG_ADD] = "add", [NEURON_REG_SUB] = "sub", [NEURON_REG_MUL] = "mul",
	[NEURON_REG_AND] = "and", [NEURON_REG_OR] = "or",   [NEURON_REG_XOR] = "xor",
	[NEURON_REG_SHL] = "shl", [NEURON_REG_SHR] = "shr", [NEURON_REG_SAR] = "sar",
	[NEURON_REG_MIN] = "min", [NEURON_REG_MAX] = "max",
};

const char *const neuron_isa_relations[NEURON_REL_COUNT] = {
	[NEURON_REL_ALWAYS] = "always", [NEURON_REL_EQ] = "eq",	  [NEURON_REL_NE] = "ne",
	[NEURON_REL_LT] = "lt",		[NEURON_REL_LE] = "le",	  [NEURON_REL_GT] = "gt",
	[NEURON_REL_GE] = "ge",		[NEURON_REL_LTU] = "ltu", [NEURON_REL_GEU] = "geu",
};

const char *const neuron_isa_reduce_cmds[NEURON_ISA_REDUCE_CMDS] = { "idle", "reset", "reduce",
								     "reset_reduce",
								     "load_reduce" };

int neuron_isa_engine(const struct neuron_target *target, const char *name)
{
	for (int e = 0; e < target->engines; e++)
		if (!strcmp(name, target->engine[e].name))
			return e;
	return -1;
}
