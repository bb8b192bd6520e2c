/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The instruction set of our NeuronCores, in decoded form. docs/isa.md is the manual; table.h
 * holds the one table of opcodes and fields that drives the encoder, the decoder, the assembler
 * and the disassembler; codec.h turns struct neuron_insn into words and back.
 *
 * The encoding is the project's own (no vendor encoding is public); the semantics follow the public
 * instruction reference. An instruction is one 64-byte word, or two when its ext bit is set.
 */
#ifndef NEURON_ISA_ISA_H
#define NEURON_ISA_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/hw/dtype.h"

enum neuron_opcode {
	NEURON_OP_ILLEGAL = 0x00,
	/* any engine: sequencing */
	NEURON_OP_NOP = 0x01, /* only the wait and the update */
	NEURON_OP_PROGRAM_START = 0x02, /* first instruction of every stream: ISA version */
	NEURON_OP_SEM_RANGE_CLEAR = 0x03, /* semaphores first..last := 0 */
	NEURON_OP_NOTIFY = 0x04, /* an entry in the engine's notify queue */
	NEURON_OP_WRITE = 0x05, /* up to two 32-bit writes to device addresses */
	NEURON_OP_PSEUDO_DMA_TRIGGER = 0x06, /* in a NEFF only: libnrt turns it into WRITE */
	NEURON_OP_SET_ROUNDING = 0x07, /* how the engine rounds results from here on */
	/* ... from NeuronCore-v2 on */
	NEURON_OP_FETCH = 0x08, /* instructions come from a window of memory */
	NEURON_OP_FETCH_END = 0x09, /* ... from the FIFO again */
	NEURON_OP_MOVE = 0x0a, /* registers: a value into one */
	NEURON_OP_ALU = 0x0b, /* an operation on integers */
	NEURON_OP_COMPARE_BRANCH = 0x0c, /* on in the window elsewhere, if two values compare so */
	NEURON_OP_TENSOR_LOAD = 0x0d, /* an element of memory into a register */
	NEURON_OP_TENSOR_STORE = 0x0e, /* ... and the reverse */
	/* ... from NeuronCore-v3 on, in a NEFF only: libnrt turns it into WRITE */
	NEURON_OP_PSEUDO_CORE_BARRIER = 0x0f,
	NEURON_OP_DMA = 0x40, /* a transfer into a DMA queue, without descriptors */
	/* PE */
	NEURON_OP_LDWEIGHTS = 0x10,
	NEURON_OP_MATMUL = 0x11,
	NEURON_OP_PE_TRANSPOSE = 0x12,
	NEURON_OP_LDWEIGHTS_DOUBLE = 0x13, /* fp8, two rows a partition */
	NEURON_OP_MATMUL_DOUBLE = 0x14,
	NEURON_OP_MATMUL_SPARSE = 0x15, /* weights that each choose what they are multiplied with */
	/* ACT */
	NEURON_OP_ACTIVATE = 0x20,
	NEURON_OP_ACT_READ_ACC = 0x21,
	/* POOL; TENSOR_COPY and MEMSET on ACT too */
	NEURON_OP_TENSOR_COPY = 0x30,
	NEURON_OP_TENSOR_TENSOR = 0x31,
	NEURON_OP_TENSOR_SCALAR = 0x32,
	NEURON_OP_SCALAR_TENSOR_TENSOR = 0x33,
	NEURON_OP_TENSOR_REDUCE = 0x34, /* over the trailing dimensions: pooling windows too */
	NEURON_OP_MEMSET = 0x35,
	NEURON_OP_RECIPROCAL = 0x36,
	NEURON_OP_TRANSPOSE = 0x37, /* 32 x 32 blocks */
	NEURON_OP_COPY_PREDICATED = 0x38,
	NEURON_OP_GATHER = 0x39, /* elements of a row at places that are data */
	NEURON_OP_SCATTER = 0x3a,
	NEURON_OP_SORT = 0x3b, /* the order of a row's keys */
	/*
	 * the Vector engine from NeuronCore-v2 on: scans, reductions into its registers, searches
	 */
	NEURON_OP_TENSOR_TENSOR_SCAN = 0x3c,
	NEURON_OP_TENSOR_SCALAR_REDUCE = 0x3d,
	NEURON_OP_TENSOR_SCALAR_CUMULATIVE = 0x3e,
	NEURON_OP_VECTOR_READ_ACC = 0x3f,
	NEURON_OP_BN_STATS = 0x50,
	NEURON_OP_BN_AGGR = 0x51,
	NEURON_OP_MAX8 = 0x52,
	NEURON_OP_FIND_INDEX8 = 0x53,
	NEURON_OP_MATCH_REPLACE8 = 0x54,
	NEURON_OP_SELECT_REDUCE = 0x55,
	NEURON_OP_RANGE_SELECT = 0x56, /* NeuronCore-v3 */
	NEURON_OP_STREAM_SHUFFLE = 0x57,
	NEURON_OP_DROPOUT = 0x58,
	NEURON_OP_RNG = 0x59, /* GpSimd too, on NeuronCore-v3 */
	NEURON_OP_SET_RNG_SEED = 0x5a,
	/* GpSimd, from NeuronCore-v2 on */
	NEURON_OP_IOTA = 0x60,
	NEURON_OP_AFFINE_SELECT = 0x61,
	NEURON_OP_PARTITION_REDUCE = 0x62,
	NEURON_OP_LOCAL_GATHER = 0x63, /* by indices that a core's partitions share */
	NEURON_OP_N_GATHER = 0x64, /* by indices of each partition */
	NEURON_OP_SEQUENCE_BOUNDS = 0x65,
	NEURON_OP_NONZERO_WITH_COUNT = 0x66, /* this and what follows: NeuronCore-v3 */
	NEURON_OP_TOPK = 0x67,
	NEURON_OP_RAND_SET_STATE = 0x68,
	NEURON_OP_RAND_GET_STATE = 0x69,
	/* GpSimd's processors */
	NEURON_OP_CUSTOM_OP = 0x80,
};

/* ALU operations, one enum for engines and DMA; the values are the project's choice */
enum neuron_alu {
	NEURON_ALU_BYPASS = 0,
	NEURON_ALU_ADD = 1,
	NEURON_ALU_SUB = 2,
	NEURON_ALU_MULT = 3,
	NEURON_ALU_MAX = 4,
	NEURON_ALU_MIN = 5,
	NEURON_ALU_EQ = 6,
	NEURON_ALU_NE = 7,
	NEURON_ALU_GE = 8,
	NEURON_ALU_GT = 9,
	NEURON_ALU_LE = 10,
	NEURON_ALU_LT = 11,
	NEURON_ALU_LOGICAL_AND = 12,
	NEURON_ALU_LOGICAL_OR = 13,
	NEURON_ALU_LOGICAL_XOR = 14,
	NEURON_ALU_POW = 15,
	NEURON_ALU_ABS_MAX = 16,
	NEURON_ALU_ABS = 17, /* unary: operand 0 */
	NEURON_ALU_SQUARE = 18,
	NEURON_ALU_RELU = 19,
	NEURON_ALU_RSQRT = 20,
	NEURON_ALU_RECIP = 21,
	NEURON_ALU_AND = 32, /* bitvec: integers, raw bits */
	NEURON_ALU_OR = 33,
	NEURON_ALU_XOR = 34,
	NEURON_ALU_NOT = 35,
	NEURON_ALU_SHL = 36,
	NEURON_ALU_SHR = 37,
};

/* Activation functions (ACTIVATE); the values are the project's choice */
enum neuron_act_func {
	NEURON_ACT_COPY = 0,
	NEURON_ACT_SQUARE,
	NEURON_ACT_SIGMOID,
	NEURON_ACT_RELU,
	NEURON_ACT_PRELU,
	NEURON_ACT_GELU,
	NEURON_ACT_GELU_TANH,
	NEURON_ACT_GELU_SIGMOID,
	NEURON_ACT_SILU,
	NEURON_ACT_TANH,
	NEURON_ACT_SOFTPLUS,
	NEURON_ACT_MISH,
	NEURON_ACT_ERF,
	NEURON_ACT_EXP,
	NEURON_ACT_SIGN,
	NEURON_ACT_ABS,
	NEURON_ACT_LOG,
	NEURON_ACT_SIN,
	NEURON_ACT_ARCTAN,
	NEURON_ACT_SQRT,
	NEURON_ACT_RSQRT,
	NEURON_ACT_RECIPROCAL,
	/* derivatives, from NeuronCore-v2 on */
	NEURON_ACT_GELU_DX,
	NEURON_ACT_GELU_SIGMOID_DX,
	NEURON_ACT_SILU_DX,
	NEURON_ACT_ERF_DX,
	NEURON_ACT_COUNT,
};

/* An engine's registers, of 32 bits, from NeuronCore-v2 on */
#define NEURON_REGISTERS 64

/* Operations on registers (ALU); the values are the project's choice */
enum neuron_reg_alu {
	NEURON_REG_ADD = 0, /* modulo 2^32, as SUB and MUL */
	NEURON_REG_SUB,
	NEURON_REG_MUL,
	NEURON_REG_AND,
	NEURON_REG_OR,
	NEURON_REG_XOR,
	NEURON_REG_SHL, /* by an unsigned count */
	NEURON_REG_SHR, /* zeros from above */
	NEURON_REG_SAR, /* the sign from above */
	NEURON_REG_MIN, /* signed */
	NEURON_REG_MAX,
	NEURON_REG_ALU_COUNT,
};

/* Relations in which COMPARE_BRANCH jumps */
enum neuron_relation {
	NEURON_REL_ALWAYS = 0,
	NEURON_REL_EQ,
	NEURON_REL_NE,
	NEURON_REL_LT, /* signed */
	NEURON_REL_LE,
	NEURON_REL_GT,
	NEURON_REL_GE,
	NEURON_REL_LTU, /* unsigned */
	NEURON_REL_GEU,
	NEURON_REL_COUNT,
};

/*
 * What a register replaces or adds to in an instruction before it is checked and executed: the
 * offset of an operand (or of a scalar in memory) grows by register times scale, a number of
 * elements, or of partitions, becomes register times scale
 */
#define NEURON_PATCHES 4
enum neuron_patch {
	NEURON_PATCH_NONE = 0,
	NEURON_PATCH_DST = 1, /* offsets */
	NEURON_PATCH_SRC0 = 2,
	NEURON_PATCH_SRC1 = 3,
	NEURON_PATCH_SCALAR0 = 4,
	NEURON_PATCH_SCALAR1 = 5,
	NEURON_PATCH_PARTITIONS = 6,
	NEURON_PATCH_DST_NUM = 8, /* num 0, and the three behind it */
	NEURON_PATCH_SRC0_NUM = 12,
	NEURON_PATCH_SRC1_NUM = 16,
	NEURON_PATCH_COUNT = 20,
};

enum neuron_wait {
	NEURON_WAIT_NONE = 0,
	NEURON_WAIT_SEM_EQ = 1,
	NEURON_WAIT_SEM_GE = 2, /* unsigned */
	NEURON_WAIT_SEM_LE = 3,
	NEURON_WAIT_EVT_SET = 4,
	NEURON_WAIT_EVT_CLR = 5,
};

enum neuron_update {
	NEURON_UPD_NONE = 0,
	NEURON_UPD_SEM_INC = 1,
	NEURON_UPD_SEM_DEC = 2,
	NEURON_UPD_SEM_ADD_IMM = 3,
	NEURON_UPD_SEM_SUB_IMM = 4,
	NEURON_UPD_SEM_WR_IMM = 5,
	NEURON_UPD_EVT_SET = 6,
	NEURON_UPD_EVT_CLR = 7,
};

/* Rounding of fp32 numbers to a narrower floating type (SET_ROUNDING) */
enum neuron_rounding {
	NEURON_ROUND_NEAREST = 0, /* ties to even */
	NEURON_ROUND_STOCHASTIC = 1,
	NEURON_ROUND_COUNT,
};

enum neuron_trigger {
	NEURON_TRIG_COMPLETE = 0,
	NEURON_TRIG_READ = 1, /* after the last input element was read */
};

/* Use of an engine's accumulator registers by an instruction; public codes */
enum neuron_reduce_cmd {
	NEURON_REDUCE_IDLE = 0,
	NEURON_REDUCE_RESET = 1,
	NEURON_REDUCE_REDUCE = 2,
	NEURON_REDUCE_RESET_REDUCE = 3,
	NEURON_REDUCE_LOAD_REDUCE = 4, /* the Vector engine's: begins with a scalar */
};

#define NEURON_AP_DIMS 4
#define NEURON_DMA_DIMS 3

/*
 * An access pattern: the same in every partition. MATMUL takes partitions = K rows of src0 as the
 * moving operand, the stationary is what LDWEIGHTS loaded. offset is a byte offset in the
 * NeuronCore's window (the start partition is part of it). Pair 0 is the slowest, pair 3 the
 * fastest; steps are in elements, 0 broadcasts, negative is allowed; an unused dimension has step
 * 0, num 1.
 */
struct neuron_ap {
	uint32_t offset; /* 26 bits */
	uint8_t dtype; /* enum neuron_dtype */
	int16_t step[NEURON_AP_DIMS];
	uint16_t num[NEURON_AP_DIMS];
};

/* Forms of a scalar operand (imm[i]) */
enum neuron_scalar_kind {
	NEURON_SCALAR_IMM = 0, /* an fp32 constant, or raw bits for bitvec operations */
	NEURON_SCALAR_PTR = 1, /* [P, 1]: one element a partition, at ptr */
};

struct neuron_scalar {
	uint8_t kind; /* enum neuron_scalar_kind */
	uint8_t dtype; /* of the element at offset, for PTR */
	union {
		float f;
		uint32_t bits;
		uint32_t offset; /* in the core's window, partition in it; dtype is 0 for IMM */
	};
};

/* CUSTOM_OP: a function of a library, and what it works on (neuron/hw/gpsimd.h) */
struct neuron_custom {
	uint64_t library; /* device address, in DRAM */
	uint64_t args; /* of the argument block */
	uint32_t bytes; /* of the library: a multiple of 4, 4 to 1 MiB */
	uint32_t entry; /* byte of it at which each processor starts */
	uint32_t function; /* what a0 has then */
	uint32_t limit; /* slices of 4096 instructions that a processor may take; 0: no limit */
	uint8_t mask; /* of processors that take part */
};

/*
 * IOTA and AFFINE_SELECT: the integer at i0..i3 of partition p is base + p * channel + the sum of
 * i[d] * step[d], modulo 2^32; pair 3 is the fastest
 */
struct neuron_pattern {
	int32_t base, channel;
	int32_t step[NEURON_AP_DIMS];
	uint16_t num[NEURON_AP_DIMS];
};

/*
 * One instruction, decoded. ACTIVATE: func(src0 * scalar0 + scalar1). Which fields an opcode uses
 * is in table.h; the codec refuses a field that is set and not used, and a reserved bit that is not
 * zero.
 */
struct neuron_insn {
	uint8_t opcode; /* enum neuron_opcode */

	/* one wait before, one update after; every opcode has them */
	uint8_t wait; /* enum neuron_wait */
	uint8_t wait_index;
	uint32_t wait_value;
	uint8_t update; /* enum neuron_update */
	uint8_t update_index;
	uint8_t trigger; /* enum neuron_trigger */
	uint32_t update_value;

	uint8_t partitions; /* 1..128: of src0; dst's where the operation changes it follow from it */
	struct neuron_ap dst, src0, src1;
	struct neuron_ap dst1; /* MATCH_REPLACE8 (dtype 0: none), TOPK: numbers of elements */
	struct neuron_scalar scalar0, scalar1;

	uint8_t op0, op1; /* enum neuron_alu */
	uint8_t func; /* enum neuron_act_func */
	bool reverse0, reverse1; /* swap the operands of op0, op1 */
	bool accumulate; /* MATMUL: add to PSUM (ACTIVATE's accumulator: reduce_cmd) */
	bool negate; /* TENSOR_REDUCE: times -1 */
	bool check; /* a NaN in dst, once it is written, is reported: NEURON_NERR_NUMERICAL */
	uint8_t reduce_dims; /* TENSOR_REDUCE: how many trailing dimensions, 1..4 */
	uint8_t tile; /* LDWEIGHTS, MATMUL: the part of the array (table.h); 0: the whole */
	uint8_t neighbours; /* MATMUL_SPARSE: partitions that a weight chooses from: 1, 2 or 4 */
	/* of fp8 in src0 and dst: what their exponents' biases are above the types' own */
	uint8_t src_bias, dst_bias; /* 4 bits, two's complement: neuron_isa_bias() */
	uint8_t reduce_cmd; /* enum neuron_reduce_cmd */
	float alpha; /* ACTIVATE: PRELU's slope; of a reduction: scale of the result (0 means 1) */
	float imm; /* RANGE_SELECT: the first element's place */
	uint16_t count; /* LOCAL_GATHER: elements of each index; TOPK: how many */
	uint16_t total; /* TOPK: of how many */

	/* from NeuronCore-v2 on, of an instruction with partitions; all 0: it has none */
	uint8_t patch[NEURON_PATCHES]; /* enum neuron_patch */
	uint8_t patch_reg[NEURON_PATCHES];
	int32_t patch_scale[NEURON_PATCHES];

	/*
	 * NOTIFY: cookie; PSEUDO_DMA_TRIGGER: id in the engine's JSON; PSEUDO_CORE_BARRIER:
	 * semaphore of the logical core's other core
	 */
	uint32_t id;
	uint8_t first, last; /* SEM_RANGE_CLEAR */
	uint16_t isa_version; /* PROGRAM_START */
	/* no opcode has two of these */
	union {
		struct neuron_pattern pattern; /* IOTA, AFFINE_SELECT */
		/*
		 * STREAM_SHUFFLE: the partition of its quadrant that partition i takes, in byte
		 * i % 8 of word i / 8
		 */
		uint64_t shuffle[4];
		struct neuron_custom custom; /* CUSTOM_OP */
		struct {
			uint64_t seed; /* SET_ROUNDING: of its draws */
			uint8_t rounding; /* ... enum neuron_rounding */
		};
		struct {
			uint64_t addr; /* device address */
			uint32_t value;
		} write[2]; /* WRITE; an unused pair has addr 0 */
		/* registers and where instructions come from */
		struct {
			uint64_t address; /* of FETCH's window; TENSOR_LOAD, TENSOR_STORE: place */
			uint32_t length, pc; /* FETCH: of the window; the first instruction in it */
			uint32_t value; /* the second operand, if immediate */
			int32_t scale; /* of what register a adds to the address */
			int32_t target; /* COMPARE_BRANCH: bytes from this instruction */
			uint8_t rd, ra, rb; /* registers: result, first and second operand */
			uint8_t rop; /* enum neuron_reg_alu, neuron_relation */
			uint8_t rtype; /* enum neuron_dtype: of the element */
			bool immediate; /* the second operand is value, not register b */
			bool device; /* the place is a device address, not one in the core */
			bool indexed; /* register a times scale is added to it */
		};
		/* DMA: [0] is the source, [1] the destination */
		struct {
			uint64_t dma_addr[2]; /* device addresses */
			int32_t dma_step[2][NEURON_DMA_DIMS]; /* bytes, the slowest first */
			uint16_t dma_num[2][NEURON_DMA_DIMS];
			int32_t dma_scale[2]; /* of what a register adds to the address */
			uint32_t dma_limit[2]; /* what it adds is 0 to one less; 0: anything */
			uint32_t dma_run; /* bytes side by side */
			uint8_t dma_reg[2];
			uint8_t dma_engine, dma_queue; /* of the chip, of the engine */
			uint8_t dma_semaphore; /* + 1 when it is done */
			bool dma_skip; /* beyond a limit nothing is copied; else it is an error */
		};
	};
};

#define NEURON_ISA_QUADRANT 32 /* partitions */
#define NEURON_ISA_SHUFFLE_KEEP 255 /* in a shuffle: the partition stays as it is */

static inline uint8_t neuron_isa_shuffle(const struct neuron_insn *insn, unsigned int i)
{
	return (uint8_t)(insn->shuffle[i / 8] >> i % 8 * 8);
}

#endif
