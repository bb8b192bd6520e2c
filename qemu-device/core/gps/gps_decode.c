/* SPDX-License-Identifier: MIT */
/*
 * Words of RV32IMF made ready for gps.c (docs/gpsimd.md, Instructions). What does not exist here
 * becomes ILLEGAL with the word as its immediate; so does a branch to a place that cannot be,
 * whether it is taken or not. Called when an instruction brings another library.
 */
#include "gps.h"

#include <string.h>

#include "exec/exec.h"

#define RM_RNE 0
#define RM_RMM 4
#define RM_DYN 7

static uint32_t bits(uint32_t word, unsigned int at, unsigned int n)
{
	return word >> at & ((1u << n) - 1);
}

/* The word's bits from at on, with the sign in bit 31 */
static int32_t sign(uint32_t word, unsigned int at)
{
	return (int32_t)word >> at;
}

static int32_t imm_store(uint32_t w)
{
	return (sign(w, 20) & ~31) | (int32_t)bits(w, 7, 5);
}

static int32_t imm_branch(uint32_t w)
{
	return (sign(w, 19) & ~0xfff) |
	       (int32_t)(bits(w, 7, 1) << 11 | bits(w, 25, 6) << 5 | bits(w, 8, 4) << 1);
}

static int32_t imm_jump(uint32_t w)
{
	return (sign(w, 11) & ~0xfffff) |
	       (int32_t)(bits(w, 12, 8) << 12 | bits(w, 20, 1) << 11 | bits(w, 21, 10) << 1);
}

/* The number of the word that a branch goes to; false: there is no such word */
static bool target(uint32_t at, int32_t distance, uint32_t words, int32_t *to)
{
	int64_t where = (int64_t)at * 4 + distance;

	*to = (int32_t)(where / 4);
	return !(distance & 3) && where >= 0 && where / 4 < words;
}

static const uint8_t branches[8] = {
	GPS_BEQ, GPS_BNE, GPS_ILLEGAL, GPS_ILLEGAL, GPS_BLT, GPS_BGE, GPS_BLTU, GPS_BGEU,
};
static const uint8_t loads[8] = { GPS_LB, GPS_LH, GPS_LW, GPS_ILLEGAL, GPS_LBU, GPS_LHU };
static const uint8_t stores[8] = { GPS_SB, GPS_SH, GPS_SW };
static const uint8_t immediates[8] = {
	GPS_ADDI, GPS_SLLI, GPS_SLTI, GPS_SLTIU, GPS_XORI, GPS_SRLI, GPS_ORI, GPS_ANDI,
};
static const uint8_t plain[8] = {
	GPS_ADD, GPS_SLL, GPS_SLT, GPS_SLTU, GPS_XOR, GPS_SRL, GPS_OR, GPS_AND,
};
static const uint8_t multiplies[8] = {
	GPS_MUL, GPS_MULH, GPS_MULHSU, GPS_MULHU, GPS_DIV, GPS_DIVU, GPS_REM, GPS_REMU,
};

static void decode_immediate(struct gps_insn *in, uint32_t w, uint32_t funct3)
{
	in->op = immediates[funct3];
	in->imm = sign(w, 20);
	if (funct3 != 1 && funct3 != 5)
		return;
	in->imm = (int32_t)bits(w, 20, 5);
	if (funct3 == 5 && bits(w, 25, 7) == 0x20)
		in->op = GPS_SRAI;
	else if (bits(w, 25, 7))
		in->op = GPS_ILLEGAL;
}

static void decode_register(struct gps_insn *in, uint32_t funct3, uint32_t funct7)
{
	if (funct7 == 0)
		in->op = plain[funct3];
	else if (funct7 == 1)
		in->op = multiplies[funct3];
	else if (funct7 == 0x20 && funct3 == 0)
		in->op = GPS_SUB;
	else if (funct7 == 0x20 && funct3 == 5)
		in->op = GPS_SRA;
}

/*
 * fflags 1, frm 2, fcsr 3. They read 0: no flags are kept, rounding is to nearest even. A write
 * that asks for another mode is illegal; imm says which bits of the operand are the mode.
 */
static void decode_csr(struct gps_insn *in, uint32_t w, uint32_t funct3)
{
	static const uint32_t mode[4] = { 0, 0, 7, 0xe0 };
	uint32_t csr = bits(w, 20, 12);
	bool constant = funct3 & 4;
	/* a clearing of bits makes no mode, and setting nothing changes nothing */
	bool writes = (funct3 & 3) != 3;

	if (csr < 1 || csr > 3)
		return gps_vector_decode(in, w);
	if (!(funct3 & 3))
		return;
	in->op = GPS_CSR;
	in->imm = (int32_t)mode[csr];
	if (!writes || !in->imm)
		return;
	if (!constant)
		in->op = GPS_CSR_FRM;
	else if (bits(w, 15, 5) & (uint32_t)in->imm)
		in->op = GPS_ILLEGAL;
}

static void decode_system(struct gps_insn *in, uint32_t w, uint32_t funct3)
{
	if (w == 0x00000073)
		in->op = GPS_ECALL;
	else
		decode_csr(in, w, funct3);
}

static bool rounds_nearest(uint32_t rm)
{
	return rm == RM_RNE || rm == RM_DYN;
}

static void decode_compare(struct gps_insn *in, uint32_t w, uint32_t rm)
{
	static const uint8_t compares[3] = { GPS_FLE, GPS_FLT, GPS_FEQ };
	static const uint8_t signs[3] = { GPS_FSGNJ, GPS_FSGNJN, GPS_FSGNJX };

	switch (bits(w, 25, 7)) {
	case 0x10:
		in->op = rm < 3 ? signs[rm] : GPS_ILLEGAL;
		break;
	case 0x14:
		in->op = rm < 2 ? GPS_FMIN + rm : GPS_ILLEGAL;
		break;
	case 0x50:
		in->op = rm < 3 ? compares[rm] : GPS_ILLEGAL;
		break;
	}
}

static bool integer_result(uint8_t op)
{
	return op == GPS_FCVT_W || op == GPS_FCVT_WU || op == GPS_FMV_X || op == GPS_FEQ ||
	       op == GPS_FLT || op == GPS_FLE || op == GPS_FCLASS;
}

static void decode_float(struct gps_insn *in, uint32_t w, uint32_t rm)
{
	uint32_t funct7 = bits(w, 25, 7), rs2 = bits(w, 20, 5);

	switch (funct7) {
	case 0x00:
	case 0x04:
	case 0x08:
	case 0x0c:
		if (rounds_nearest(rm))
			in->op = GPS_FADD + funct7 / 4;
		break;
	case 0x2c:
		if (rounds_nearest(rm) && !rs2)
			in->op = GPS_FSQRT;
		break;
	case 0x60:
		if (rs2 < 2 && (rm <= RM_RMM || rm == RM_DYN))
			in->op = GPS_FCVT_W + rs2;
		in->imm = rm == RM_DYN ? RM_RNE : (int32_t)rm;
		break;
	case 0x68:
		if (rs2 < 2 && rounds_nearest(rm))
			in->op = GPS_FCVT_S + rs2;
		break;
	case 0x70:
		if (!rs2 && rm < 2)
			in->op = rm ? GPS_FCLASS : GPS_FMV_X;
		break;
	case 0x78:
		if (!rs2 && !rm)
			in->op = GPS_FMV_F;
		break;
	default:
		decode_compare(in, w, rm);
	}
}

static void decode_fused(struct gps_insn *in, uint32_t w, uint32_t rm)
{
	if (bits(w, 25, 2) || !rounds_nearest(rm))
		return;
	in->op = GPS_FMADD + bits(w, 2, 2);
	in->imm = (int32_t)bits(w, 27, 5);
}

static void decode_branch(struct gps_insn *in, uint32_t w, uint32_t at, uint32_t words)
{
	in->op =
		target(at, imm_branch(w), words, &in->imm) ? branches[bits(w, 12, 3)] : GPS_ILLEGAL;
}

static void decode_word(struct gps_insn *in, uint32_t w, uint32_t at, uint32_t words)
{
	uint32_t funct3 = bits(w, 12, 3);

	switch (w & 0x7f) {
	case 0x37:
		in->op = GPS_LUI;
		in->imm = (int32_t)(w & ~0xfffu);
		break;
	case 0x17: /* auipc: where it stands is known */
		in->op = GPS_LUI;
		in->imm = (int32_t)(NEURON_GPS_LIB + at * 4 + (w & ~0xfffu));
		break;
	case 0x6f:
		in->op = target(at, imm_jump(w), words, &in->imm) ? GPS_JAL : GPS_ILLEGAL;
		break;
	case 0x67:
		in->op = funct3 ? GPS_ILLEGAL : GPS_JALR;
		in->imm = sign(w, 20);
		break;
	case 0x63:
		decode_branch(in, w, at, words);
		break;
	case 0x03:
		in->op = loads[funct3];
		in->imm = sign(w, 20);
		break;
	case 0x23:
		in->op = stores[funct3];
		in->imm = imm_store(w);
		break;
	case 0x13:
		decode_immediate(in, w, funct3);
		break;
	case 0x33:
		decode_register(in, funct3, bits(w, 25, 7));
		break;
	case 0x0f:
		in->op = funct3 ? GPS_ILLEGAL : GPS_FENCE;
		break;
	case 0x73:
		decode_system(in, w, funct3);
		break;
	case 0x07:
		in->op = GPS_FLW;
		in->imm = sign(w, 20);
		if (funct3 != 2)
			gps_vector_decode(in, w);
		break;
	case 0x27:
		in->op = GPS_FSW;
		in->imm = imm_store(w);
		if (funct3 != 2)
			gps_vector_decode(in, w);
		break;
	case 0x57:
		gps_vector_decode(in, w);
		break;
	case 0x43:
	case 0x47:
	case 0x4b:
	case 0x4f:
		decode_fused(in, w, funct3);
		break;
	case 0x53:
		decode_float(in, w, funct3);
		break;
	}
}

struct gps_insn gps_decode(uint32_t w, uint32_t at, uint32_t words)
{
	struct gps_insn in = {
		.op = GPS_ILLEGAL,
		.rd = (uint8_t)bits(w, 7, 5),
		.rs1 = (uint8_t)bits(w, 15, 5),
		.rs2 = (uint8_t)bits(w, 20, 5),
	};
	bool to_other; /* registers than x */

	decode_word(&in, w, at, words);
	if (in.op == GPS_ILLEGAL)
		in.imm = (int32_t)w;
	to_other = in.op >= GPS_FLW && !integer_result(in.op);
	if (!to_other && !in.rd)
		in.rd = 32;
	return in;
}

void gps_library_decode(struct gps *g)
{
	uint32_t words = g->lib_bytes / 4, word;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, g->lib + i * 4, 4);
		g->code[i] = gps_decode(word, i, words);
	}
	g->code[words] = (struct gps_insn){ .op = GPS_END };
}
