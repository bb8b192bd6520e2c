// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The rows of the instruction set's one table (table.h): instructions (ops.def), places of their
 * fields (places.h), names. unrolled.c decodes by the same places.
 */
#include "places.h"

#include <assert.h>
#include <string.h>

#define VECTORS (NEURON_ISA_POOL | NEURON_ISA_GPSIMD)
#define ALU_PAIR (NEURON_FB(OP0) | NEURON_FB(OP1))
#define SCALARS (NEURON_FB(SCALAR0) | NEURON_FB(SCALAR1))

#define OP(op, mnemonic, runs, core, nwords, dst, stationary, uses)                             \
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
const struct neuron_isa_op neuron_isa_ops[256] = {
#include "ops.def"
};
#undef OP

#define OP(op, mnemonic, runs, core, nwords, dst, stationary, uses)                   \
	static_assert((nwords) == 1 || (nwords) == 2, mnemonic ": one or two words"); \
	static_assert(((nwords) == 2) == (((uses)&NEURON_FB_SECOND) != 0),            \
		      mnemonic ": a second word where a field lies in it");
#include "ops.def"
#undef OP
static_assert(NEURON_F_COUNT <= 64, "fields fit a 64-bit mask");

#define PLACE_LIST(f, m, byte, bit, nbits) PLACE_ROW(f, m, byte, bit, nbits),
const struct neuron_isa_place neuron_isa_places[] = { PLACES(PLACE_LIST) };
const unsigned int neuron_isa_place_count =
	sizeof(neuron_isa_places) / sizeof(neuron_isa_places[0]);

#define PLACE_ASSERT(f, m, byte, bit, nbits)                                          \
	static_assert((byte) % 8 * 8 + (bit) + (nbits) <= 64, #m " crosses 8 bytes"); \
	static_assert((byte) < 128, #m " lies in the instruction");                   \
	static_assert((nbits) <= 8 * SIZEOF(m), #m " holds its bits");
PLACES(PLACE_ASSERT)
static_assert(NEURON_ISA_SCALAR_BYTE(1) + 4 == NEURON_INSN_WORD, "scalars end the first word");

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
