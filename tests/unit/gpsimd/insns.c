/* SPDX-License-Identifier: MIT */
/*
 * Every instruction of the processors on chosen and random operands; the results go out as words.
 * It is built as an operator, and with -DLINUX for another implementation of the same instructions.
 */
#include "carry.h"

#define OPERANDS 48

static const uint32_t ints[] = { 0,	     1,		 2,	     3,		31,	32,
				 0x7f,	     0x80,	 0xff,	     0x7fff,	0x8000, 0x7fffffff,
				 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe };
static const uint32_t floats[] = {
	0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40200000, 0xc0200000,
	0x3fc00000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff,
	0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
	0x4f000000, 0xcf000000, 0x4effffff, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x3effffff,
	0x3f7fffff, 0x4b000001, 0xbf000000, 0x3eaaaaab,
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint32_t operand(int i, int is_float)
{
	if (is_float)
		return i < (int)COUNT(floats) ? floats[i] : random32();
	return i < (int)COUNT(ints) ? ints[i] : random32();
}

/* Executes an integer instruction for all pairs of operands and emits the results */
#define INT2(insn)                                                                       \
	for (int i = 0; i < OPERANDS; i++)                                               \
		for (int k = 0; k < OPERANDS; k++) {                                     \
			uint32_t a = operand(i, 0), b = operand(k, 0), r;                \
			__asm__ volatile(insn " %0, %1, %2" : "=r"(r) : "r"(a), "r"(b)); \
			emit(r);                                                         \
		}
#define INT1(insn)                                         \
	for (int i = 0; i < OPERANDS; i++) {               \
		uint32_t a = operand(i, 0), r;             \
		__asm__ volatile(insn : "=r"(r) : "r"(a)); \
		emit(r);                                   \
	}
#define BRANCH(insn)                                                                       \
	for (int i = 0; i < OPERANDS; i++)                                                 \
		for (int k = 0; k < OPERANDS; k++) {                                       \
			uint32_t a = operand(i, 0), b = k % 3 ? operand(k, 0) : a, r;      \
			__asm__ volatile("li %0, 1\n\t" insn " %1, %2, 1f\n\tli %0, 0\n1:" \
					 : "=&r"(r)                                        \
					 : "r"(a), "r"(b));                                \
			emit(r);                                                           \
		}

static float as_float(uint32_t bits)
{
	float x;

	__asm__ volatile("fmv.w.x %0, %1" : "=f"(x) : "r"(bits));
	return x;
}
static uint32_t as_bits(float x)
{
	uint32_t bits;

	__asm__ volatile("fmv.x.w %0, %1" : "=r"(bits) : "f"(x));
	return bits;
}
#define FLOAT2(insn)                                                                       \
	for (int i = 0; i < OPERANDS; i++)                                                 \
		for (int k = 0; k < OPERANDS; k++) {                                       \
			float a = as_float(operand(i, 1)), b = as_float(operand(k, 1)), r; \
			__asm__ volatile(insn " %0, %1, %2" : "=f"(r) : "f"(a), "f"(b));   \
			emit(as_bits(r));                                                  \
		}
#define COMPARE(insn)                                                                    \
	for (int i = 0; i < OPERANDS; i++)                                               \
		for (int k = 0; k < OPERANDS; k++) {                                     \
			float a = as_float(operand(i, 1)), b = as_float(operand(k, 1));  \
			uint32_t r;                                                      \
			__asm__ volatile(insn " %0, %1, %2" : "=r"(r) : "f"(a), "f"(b)); \
			emit(r);                                                         \
		}
#define FLOAT3(insn)                                                                            \
	for (int i = 0; i < OPERANDS; i += 2)                                                   \
		for (int k = 0; k < OPERANDS; k++)                                              \
			for (int l = 0; l < 12; l++) {                                          \
				float a = as_float(operand(i, 1)), b = as_float(operand(k, 1)), \
				      c = as_float(operand(l * 4, 1)), r;                       \
				__asm__ volatile(insn " %0, %1, %2, %3"                         \
						 : "=f"(r)                                      \
						 : "f"(a), "f"(b), "f"(c));                     \
				emit(as_bits(r));                                               \
			}
#define TO_INT(insn)                                       \
	for (int i = 0; i < 4 * OPERANDS; i++) {           \
		float a = as_float(operand(i, 1));         \
		uint32_t r;                                \
		__asm__ volatile(insn : "=r"(r) : "f"(a)); \
		emit(r);                                   \
	}
#define TO_FLOAT(insn)                                     \
	for (int i = 0; i < 4 * OPERANDS; i++) {           \
		uint32_t a = operand(i, 0);                \
		float r;                                   \
		__asm__ volatile(insn : "=f"(r) : "r"(a)); \
		emit(as_bits(r));                          \
	}

static void integers(void)
{
	INT2("add")
	INT2("sub")
	INT2("sll")
	INT2("slt")
	INT2("sltu")
	INT2("xor")
	INT2("srl")
	INT2("sra")
	INT2("or")
	INT2("and")
	INT2("mul")
	INT2("mulh")
	INT2("mulhsu")
	INT2("mulhu")
	INT2("div")
	INT2("divu")
	INT2("rem")
	INT2("remu")
	INT1("addi %0, %1, -2048")
	INT1("addi %0, %1, 2047")
	INT1("slti %0, %1, -1")
	INT1("sltiu %0, %1, -1")
	INT1("xori %0, %1, -1")
	INT1("ori %0, %1, 0x555")
	INT1("andi %0, %1, -16")
	INT1("slli %0, %1, 31")
	INT1("srli %0, %1, 7")
	INT1("srai %0, %1, 7")
	INT1("add x0, %1, %1\n\tmv %0, x0")
	BRANCH("beq")
	BRANCH("bne")
	BRANCH("blt")
	BRANCH("bge")
	BRANCH("bltu")
	BRANCH("bgeu")
}

static void memory(void)
{
	static uint8_t bytes[72];
	uint32_t r;

	for (int i = 0; i < 72; i++)
		bytes[i] = (uint8_t)random32();
	for (int i = 0; i < 32; i += 4) {
		uint8_t *p = bytes + i;

		__asm__ volatile("lb %0, 1(%1)" : "=r"(r) : "r"(p));
		emit(r);
		__asm__ volatile("lbu %0, 3(%1)" : "=r"(r) : "r"(p));
		emit(r);
		__asm__ volatile("lh %0, 2(%1)" : "=r"(r) : "r"(p));
		emit(r);
		__asm__ volatile("lhu %0, 2(%1)" : "=r"(r) : "r"(p));
		emit(r);
		__asm__ volatile("lw %0, 4(%1)" : "=r"(r) : "r"(p));
		emit(r);
		__asm__ volatile("sb %0, 33(%1)\n\tsh %0, 34(%1)" ::"r"(random32()), "r"(p)
				 : "memory");
		__asm__ volatile("sw %0, 36(%1)" ::"r"(random32()), "r"(p) : "memory");
	}
	for (int i = 0; i < 72; i++)
		emit(bytes[i]);
	for (unsigned int i = 0; i < COUNT(ints); i++) /* constants, which the library has */
		emit(*(volatile const uint32_t *)&ints[i]);
}

static void floating(void)
{
	FLOAT2("fadd.s")
	FLOAT2("fsub.s")
	FLOAT2("fmul.s")
	FLOAT2("fdiv.s")
	FLOAT2("fsgnj.s")
	FLOAT2("fsgnjn.s")
	FLOAT2("fsgnjx.s")
	FLOAT2("fmin.s")
	FLOAT2("fmax.s")
	COMPARE("feq.s")
	COMPARE("flt.s")
	COMPARE("fle.s")
	FLOAT3("fmadd.s")
	FLOAT3("fmsub.s")
	FLOAT3("fnmsub.s")
	FLOAT3("fnmadd.s")
	TO_INT("fclass.s %0, %1")
	TO_INT("fmv.x.w %0, %1")
	TO_INT("fcvt.w.s %0, %1, rne")
	TO_INT("fcvt.w.s %0, %1, rtz")
	TO_INT("fcvt.w.s %0, %1, rdn")
	TO_INT("fcvt.w.s %0, %1, rup")
	TO_INT("fcvt.w.s %0, %1, rmm")
	TO_INT("fcvt.w.s %0, %1, dyn")
	TO_INT("fcvt.wu.s %0, %1, rne")
	TO_INT("fcvt.wu.s %0, %1, rtz")
	TO_INT("fcvt.wu.s %0, %1, rdn")
	TO_INT("fcvt.wu.s %0, %1, rup")
	TO_INT("fcvt.wu.s %0, %1, rmm")
	TO_FLOAT("fcvt.s.w %0, %1")
	TO_FLOAT("fcvt.s.wu %0, %1")
	for (int i = 0; i < 4 * OPERANDS; i++) {
		float a = as_float(operand(i, 1)), r;

		__asm__ volatile("fsqrt.s %0, %1" : "=f"(r) : "f"(a));
		emit(as_bits(r));
	}
}

static void all(void)
{
	integers();
	memory();
	floating();
	flush();
}

ENTRY(insns)
