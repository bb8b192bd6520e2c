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
	NEURON_ACT_COUNT,
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

/* How numbers of fp32 become such of a narrower floating type (SET_ROUNDING) */
enum neuron_rounding {
	NEURON_ROUND_NEAREST = 0, /* ties to even */
	NEURON_ROUND_STOCHASTIC = 1,
	NEURON_ROUND_COUNT,
};

enum neuron_trigger {
	NEURON_TRIG_COMPLETE = 0,
	NEURON_TRIG_READ = 1, /* after the last input element was read */
};

#define NEURON_AP_DIMS 4

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

/* How a scalar operand (imm[i]) is given */
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
	struct neuron_scalar scalar0, scalar1;

	uint8_t op0, op1; /* enum neuron_alu */
	uint8_t func; /* enum neuron_act_func */
	bool reverse0, reverse1; /* swap the operands of op0, op1 */
	bool accumulate; /* MATMUL: add to PSUM (ACTIVATE's accumulator: reduce_cmd) */
	bool negate; /* TENSOR_REDUCE: times -1 */
	bool check; /* a NaN in dst, once it is written, is reported: NEURON_NERR_NUMERICAL */
	uint8_t reduce_dims; /* TENSOR_REDUCE: how many trailing dimensions, 1..4 */
	uint8_t neighbours; /* MATMUL_SPARSE: partitions that a weight chooses from: 1, 2 or 4 */
	/* of fp8 in src0 and dst: what their exponents' biases are above the types' own */
	uint8_t src_bias, dst_bias; /* 4 bits, two's complement: neuron_isa_bias() */
	uint8_t reduce_cmd; /* ACTIVATE: public codes idle 0, reset 1, reduce 2, reset_reduce 3 */
	float alpha; /* ACTIVATE: PRELU's slope; TENSOR_REDUCE: scale of the result (0 means 1) */

	uint32_t id; /* NOTIFY: cookie; PSEUDO_DMA_TRIGGER: id in the engine's JSON */
	uint8_t first, last; /* SEM_RANGE_CLEAR */
	uint16_t isa_version; /* PROGRAM_START */
	uint8_t rounding; /* SET_ROUNDING: enum neuron_rounding */
	uint64_t seed; /* ... of its draws */
	struct {
		uint64_t addr; /* device address */
		uint32_t value;
	} write[2]; /* WRITE; an unused pair has addr 0 */
};

#endif
