/* SPDX-License-Identifier: MIT */
/*
 * What surrounds the instructions that vectors.py writes: operands, and a word that says what all
 * registers, vl, vtype, vcsr and the memory are after each. It is built as an operator, and with
 * -DLINUX for another implementation of the same instructions.
 */
#include "carry.h"

void vector_tests(void);
void vector_fill(void);
void vector_operands(uint32_t *x, float *f);
void vector_check(void);

/* 32 registers; then vl, vtype, vcsr, a3, fa3 */
uint32_t vector_state[512 + 8] __attribute__((aligned(64)));
uint8_t vector_memory[4096] __attribute__((aligned(64)));

static const uint32_t floats[] = {
	0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
	0x7f800001, 0xffbfffff, 0x00000001, 0x807fffff, 0x00800000, 0x00400000, 0x80200000,
	0x7f7fffff, 0x4f000000, 0xcf000001, 0x47000000, 0xc7000001, 0x3f000000, 0xc0200000,
};

static uint32_t operand(void)
{
	uint32_t r = random32();

	switch (r >> 28 & 3) {
	case 0:
		return floats[r % (sizeof(floats) / sizeof(floats[0]))];
	case 1: /* numbers near 1 */
		return 0x3f000000 + (r & 0x81ffffff);
	case 2: /* small integers, edges of bytes */
		return (r & 0x01010101) * 0xff ^ (r >> 3 & 0x80808080) ^ (r & 3);
	default:
		return random32();
	}
}

void vector_fill(void)
{
	for (int i = 0; i < 512; i++)
		vector_state[i] = operand();
}

void vector_operands(uint32_t *x, float *f)
{
	uint32_t bits = operand();

	*x = operand();
	__asm__ volatile("fmv.w.x %0, %1" : "=f"(*f) : "r"(bits));
}

void vector_check(void)
{
	uint32_t h = 0x811c9dc5;

	for (int i = 0; i < 517; i++)
		h = (h ^ vector_state[i]) * 0x01000193;
	for (int i = 0; i < 1024; i++)
		h = (h ^ ((uint32_t *)vector_memory)[i]) * 0x01000193;
	emit(h);
}

__asm__("	.text\n"
	"	.option arch, +zve32f, +zvl512b\n"
	"	.globl vector_seed, vector_scalars, vector_dump\n"
	/* registers of random words */
	"vector_seed:\n"
	"	addi sp, sp, -16\n"
	"	sw ra, 12(sp)\n"
	"	call vector_fill\n"
	"	la a0, vector_state\n"
	"	vl8re8.v v0, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vl8re8.v v8, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vl8re8.v v16, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vl8re8.v v24, (a0)\n"
	"	lw ra, 12(sp)\n"
	"	addi sp, sp, 16\n"
	"	ret\n"
	/* a2 and fa2 are operands, a4 an address, a3 and fa3 results */
	"vector_scalars:\n"
	"	addi sp, sp, -16\n"
	"	sw ra, 12(sp)\n"
	"	mv a0, sp\n"
	"	addi a1, sp, 4\n"
	"	call vector_operands\n"
	"	lw a2, 0(sp)\n"
	"	flw fa2, 4(sp)\n"
	"	li a3, 0\n"
	"	fmv.w.x fa3, zero\n"
	"	la a4, vector_memory + 1536\n"
	"	lw ra, 12(sp)\n"
	"	addi sp, sp, 16\n"
	"	ret\n"
	"vector_dump:\n"
	"	la a0, vector_state\n"
	"	vs8r.v v0, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vs8r.v v8, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vs8r.v v16, (a0)\n"
	"	addi a0, a0, 512\n"
	"	vs8r.v v24, (a0)\n"
	"	csrr a1, vl\n"
	"	sw a1, 512(a0)\n"
	"	csrr a1, vtype\n"
	"	sw a1, 516(a0)\n"
	"	csrr a1, vcsr\n"
	"	sw a1, 520(a0)\n"
	"	sw a3, 524(a0)\n"
	"	fsw fa3, 528(a0)\n"
	"	j vector_check\n");

static void all(void)
{
	for (unsigned int i = 0; i < sizeof(vector_memory); i++)
		vector_memory[i] = (uint8_t)random32();
	vector_tests();
	flush();
}

ENTRY(vectors)
