/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The one table of the instruction set: opcodes with who executes them, their length, their fields
 * and what they do to memory, the places of the fields in the words, and the names of the small
 * enums. The codec, the checker, the NeuronCore, the assembler, the disassembler and the test of
 * docs/isa.md are driven by it; isa/table.c holds the rows.
 */
#ifndef NEURON_ISA_TABLE_H
#define NEURON_ISA_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/ext.h"
#include "neuron/isa/isa.h"
#include "neuron/hw/target.h"

/* Groups of fields that an opcode uses or does not */
enum neuron_isa_field {
	NEURON_F_SYNC, /* the header's own: every opcode has them */
	NEURON_F_PARTITIONS,
	NEURON_F_DST,
	NEURON_F_CHECK, /* whatever has a dst has it */
	NEURON_F_SRC0,
	NEURON_F_SRC1,
	NEURON_F_SCALAR0,
	NEURON_F_SCALAR1,
	NEURON_F_OP0,
	NEURON_F_OP1,
	NEURON_F_FUNC,
	NEURON_F_REVERSE0,
	NEURON_F_REVERSE1,
	NEURON_F_ACCUMULATE,
	NEURON_F_NEGATE,
	NEURON_F_REDUCE_DIMS,
	NEURON_F_REDUCE_CMD,
	NEURON_F_NEIGHBOURS,
	NEURON_F_BIAS,
	NEURON_F_TILE,
	NEURON_F_ALPHA, /* ACTIVATE: second word */
	NEURON_F_RESULT_SCALE, /* TENSOR_REDUCE: the same member, first word */
	NEURON_F_ID,
	NEURON_F_RANGE,
	NEURON_F_VERSION,
	NEURON_F_WRITE,
	NEURON_F_ROUNDING,
	NEURON_F_CUSTOM,
	/* of the second word, of instructions after NeuronCore-v1 */
	NEURON_F_DST1,
	NEURON_F_IMM,
	NEURON_F_ACC_CMD, /* as REDUCE_CMD, where op1 has that one's place */
	NEURON_F_ELEMS,
	NEURON_F_TOTAL,
	NEURON_F_PATTERN,
	NEURON_F_SHUFFLE,
	NEURON_F_WINDOW, /* FETCH */
	NEURON_F_RD, /* registers */
	NEURON_F_RA,
	NEURON_F_RB, /* or a value */
	NEURON_F_REG_ALU,
	NEURON_F_RELATION,
	NEURON_F_PLACE, /* of an element in memory */
	NEURON_F_DMA,
	NEURON_F_PATCH, /* whatever has partitions and no second dst has it */
	NEURON_F_COUNT,
};
#define NEURON_FB(name) (1ull << NEURON_F_##name)
/* Any of an opcode that works on registers, or on where instructions come from */
#define NEURON_FB_REGISTERS                                                                       \
	(NEURON_FB(WINDOW) | NEURON_FB(RD) | NEURON_FB(RA) | NEURON_FB(RB) | NEURON_FB(REG_ALU) | \
	 NEURON_FB(RELATION) | NEURON_FB(PLACE))
#define NEURON_FB_TENSOR (NEURON_FB(PARTITIONS) | NEURON_FB(DST) | NEURON_FB(SRC0))
/* The fields that lie in the second word: src1's place is shared by alpha, patterns and shuffles */
#define NEURON_FB_V2                                                                \
	(NEURON_FB(DST1) | NEURON_FB(IMM) | NEURON_FB(ACC_CMD) | NEURON_FB(ELEMS) | \
	 NEURON_FB(TOTAL) | NEURON_FB(PATTERN) | NEURON_FB(SHUFFLE))
/* The members that the unrolled decoder leaves to the list of places */
#define NEURON_FB_RARE                                                                    \
	(NEURON_FB_REGISTERS | NEURON_FB(DMA) | NEURON_FB(CUSTOM) | NEURON_FB(ROUNDING) | \
	 NEURON_FB_V2)
#define NEURON_FB_SECOND \
	(NEURON_FB(SRC1) | NEURON_FB(ALPHA) | NEURON_FB(CUSTOM) | NEURON_FB(DMA) | NEURON_FB_V2)

/*
 * In how many partitions an instruction writes its dst. Sources are read in as many partitions as
 * the instruction says.
 */
enum neuron_isa_span {
	NEURON_SPAN_SAME, /* in the same number */
	NEURON_SPAN_COLUMNS, /* one for each column of the weights that are loaded */
	NEURON_SPAN_ELEMENTS, /* one for each element that src0 has in a partition */
	NEURON_SPAN_BLOCK, /* of one block of 32 x 32, full or not: ELEMENTS; of more: SAME */
	NEURON_SPAN_ONE, /* in the first one */
};

/* The number of a target's engine of that name; -1: it has none */
int neuron_isa_engine(const struct neuron_target *target, const char *name);

/* An instruction's use of the stationary operand in the array */
enum neuron_isa_stationary { NEURON_WEIGHTS_KEEP, NEURON_WEIGHTS_LOAD, NEURON_WEIGHTS_USE };

struct neuron_isa_op {
	const char *name; /* mnemonic; NULL: no such opcode */
	uint8_t groups; /* mask of NEURON_ISA_*: engines that run one of them have it */
	uint8_t since; /* the first version of the NeuronCore that has it */
	uint8_t words; /* 1 or 2; the ext bit must agree. With patches there are 2 */
	uint8_t span; /* enum neuron_isa_span */
	uint8_t weights; /* enum neuron_isa_stationary */
	uint64_t fields; /* mask of NEURON_FB() */
};
extern const struct neuron_isa_op neuron_isa_ops[256];

/* Has an instruction patches? */
static inline bool neuron_isa_patched(const struct neuron_insn *insn)
{
	return insn->patch[0] | insn->patch[1] | insn->patch[2] | insn->patch[3];
}

#define NEURON_ISA_EXT_BIT 8 /* of the first 64 bits: byte 1, bit 0 */
/* A scalar is 32 bits: the constant, or (PTR) an offset of 26 bits and a type of 6 */
#define NEURON_ISA_SCALAR_BYTE(i) (56 + 4 * (i))

/* Places of the members of struct neuron_insn in the words; scalars are not among them */
struct neuron_isa_place {
	uint16_t member; /* offset in struct neuron_insn */
	uint8_t size; /* of the member, bytes */
	uint8_t field; /* enum neuron_isa_field */
	uint8_t word; /* which aligned 8 bytes of the instruction */
	uint8_t shift;
	uint8_t bits;
};
extern const struct neuron_isa_place neuron_isa_places[];
extern const unsigned int neuron_isa_place_count;

/* Classes of ALU operations */
#define NEURON_ALU_ARITH 1 /* fp32 */
#define NEURON_ALU_UNARY 2 /* fp32, the second operand is ignored and must be 0 */
#define NEURON_ALU_BITVEC 4 /* raw bits of integers */
#define NEURON_ALU_REDUCES 8 /* may be a reduction */
#define NEURON_ALU_NONE 16 /* bypass: of any class */

struct neuron_isa_alu {
	const char *name; /* NULL: no such operation */
	uint8_t klass; /* mask of NEURON_ALU_* */
};
#define NEURON_ISA_ALU_COUNT 64
extern const struct neuron_isa_alu neuron_isa_alus[NEURON_ISA_ALU_COUNT];
uint8_t neuron_isa_alu_class(uint8_t op); /* 0: no such operation */

extern const char *const neuron_isa_funcs[NEURON_ACT_COUNT];

/*
 * Floating types of 8 and 16 bits, laid out as IEEE 754 does: a sign, an exponent whose bias is
 * half its range, all ones for infinity and NaN, a fraction. X(enum suffix, bits of exponent, of
 * fraction)
 */
#define NEURON_ISA_FP8S(X) X(FP8_E3, 3, 4) X(FP8_E4, 4, 3) X(FP8_E5, 5, 2)
/* A bias of an instruction, which is added to the type's: numbers are 2^-bias times as large */
#define NEURON_ISA_BIAS_BITS 4
static inline int neuron_isa_bias(uint8_t code)
{
	return (code ^ 8) - 8;
}

/*
 * A part of the tensor engine's array: rows and columns from one on. Its code has, from the lowest
 * bit, two bits each of row / 32, column / 32, log2(128 / rows) and log2(128 / columns); 0 is the
 * whole array.
 */
#define NEURON_ISA_TILE_UNIT 32
struct neuron_isa_tile {
	uint8_t row, column, rows, columns;
};
static inline struct neuron_isa_tile neuron_isa_tile(uint8_t code)
{
	return (struct neuron_isa_tile){ .row = (code & 3) * NEURON_ISA_TILE_UNIT,
					 .column = (code >> 2 & 3) * NEURON_ISA_TILE_UNIT,
					 .rows = 128 >> (code >> 4 & 3),
					 .columns = 128 >> (code >> 6) };
}
/* A part of the array's code, or -1: no code says that */
int neuron_isa_tile_code(const struct neuron_isa_tile *tile);

/* The bits of a tf32 that nothing reads */
#define NEURON_ISA_TF32_UNUSED 0x1fffu

struct neuron_isa_dtype {
	const char *name; /* NULL: no operand of any generation has the type */
	uint8_t size; /* bytes */
	bool integer;
	uint32_t infinity; /* a float's bits without the sign: what is above is NaN */
};
#define NEURON_ISA_DTYPE_COUNT 64
extern const struct neuron_isa_dtype neuron_isa_dtypes[NEURON_ISA_DTYPE_COUNT];

extern const char *const neuron_isa_patches[NEURON_PATCH_COUNT]; /* NULL: none of that number */
extern const char *const neuron_isa_reg_alus[NEURON_REG_ALU_COUNT];
extern const char *const neuron_isa_relations[NEURON_REL_COUNT];

#define NEURON_ISA_REDUCE_CMDS 5
extern const char *const neuron_isa_roundings[NEURON_ROUND_COUNT];
extern const char *const neuron_isa_reduce_cmds[NEURON_ISA_REDUCE_CMDS];

#endif
