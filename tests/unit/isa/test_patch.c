/* SPDX-License-Identifier: MIT */
/*
 * Patches: what registers make of an instruction is what the same instruction does that is written
 * so (docs/isa.md, Patches).
 */
#include "program.h"

#define E NEURON_ENG_POOL

static struct neuron_insn patched(struct neuron_insn insn, unsigned int i, uint8_t what, uint8_t r,
				  int32_t scale)
{
	insn.patch[i] = what;
	insn.patch_reg[i] = r;
	insn.patch_scale[i] = scale;
	return insn;
}

static struct neuron_insn copy_insn(uint32_t dst, uint32_t src, uint16_t n)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_COPY, .partitions = 32 };

	insn.dst = machine_ap(dst, NEURON_DT_UINT8, n);
	insn.src0 = machine_ap(src, NEURON_DT_UINT8, n);
	return insn;
}

static void random_memory(uint64_t seed)
{
	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i++)
		m.sbuf[i] = machine_random(&seed) % 50;
}

/* Rows go to places in the other order */
START_TEST(loop)
{
	const unsigned int n = 16, size = 24;
	struct neuron_insn insn = copy_insn(SBUF(0, 2048 + (n - 1) * 64), SBUF(32, 0), size);

	random_memory(1);
	insn = patched(insn, 0, NEURON_PATCH_DST, 1, -64);
	insn = patched(insn, 3, NEURON_PATCH_SRC0, 1, size);
	put(E, insn);
	put(E, alu_value(NEURON_REG_ADD, 1, 1, 1));
	put(E, branch(NEURON_REL_LT, 1, n, -3)); /* the copy has two words */
	run_program(E);
	ck_assert_uint_eq(m.notes, 0);
	for (unsigned int p = 0; p < 32; p++)
		for (unsigned int i = 0; i < n; i++)
			ck_assert_mem_eq(m.sbuf + p * PART + 2048 + (n - 1 - i) * 64,
					 m.sbuf + (32 + p) * PART + i * size, size);
}
END_TEST

/* The instruction without patches, them, and what it would read without them */
static const struct {
	uint8_t what, reg_value;
	int32_t scale;
} kinds[] = {
	{ NEURON_PATCH_DST, 3, 16 },
	{ NEURON_PATCH_SRC0, (uint8_t)-2, -8 },
	{ NEURON_PATCH_SRC1, 1, NEURON_SBUF_PART_STRIDE * 32 },
	{ NEURON_PATCH_SCALAR0, 5, 4 },
	{ NEURON_PATCH_PARTITIONS, 9, 2 },
	{ NEURON_PATCH_DST_NUM + 2, 2, 2 },
	{ NEURON_PATCH_DST_NUM + 3, 6, 1 },
	{ NEURON_PATCH_SRC0_NUM + 2, 4, 1 },
	{ NEURON_PATCH_SRC0_NUM + 3, 3, 2 },
	{ NEURON_PATCH_SRC1_NUM + 2, 1, 4 },
	{ NEURON_PATCH_SRC1_NUM + 3, (uint8_t)-6, -1 },
};

static struct neuron_insn base(void)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SCALAR_TENSOR_TENSOR,
				    .partitions = 30,
				    .op0 = NEURON_ALU_ADD,
				    .op1 = NEURON_ALU_ADD };
	const struct neuron_ap ap = { .dtype = NEURON_DT_UINT8,
				      .step = { 0, 0, 40, 2 },
				      .num = { 1, 1, 4, 6 } };

	insn.dst = insn.src0 = insn.src1 = ap;
	insn.dst.offset = SBUF(0, 1024);
	insn.src0.offset = SBUF(32, 512);
	insn.src1.offset = SBUF(64, 64);
	insn.scalar0.kind = NEURON_SCALAR_PTR;
	insn.scalar0.dtype = NEURON_DT_UINT8;
	insn.scalar0.offset = SBUF(0, 0);
	return insn;
}

/* By the manual's words, apart from the code that is tested */
static void write_so(struct neuron_insn *insn, uint8_t what, int64_t v)
{
	struct neuron_ap *ap[] = { &insn->dst, &insn->src0, &insn->src1 };

	if (what >= NEURON_PATCH_DST && what <= NEURON_PATCH_SRC1)
		ap[what - 1]->offset += v;
	else if (what == NEURON_PATCH_SCALAR0)
		insn->scalar0.offset += v;
	else if (what == NEURON_PATCH_PARTITIONS)
		insn->partitions = v;
	else
		ap[what / 4 - 2]->num[what % 4] = v;
}

static void run_one(struct neuron_insn insn, int32_t value, uint8_t *memory, uint64_t *time)
{
	teardown();
	setup_v2();
	random_memory(2);
	put(E, move(40, value));
	put(E, insn);
	run_program(E);
	ck_assert_uint_eq(m.notes, 0);
	memcpy(memory, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	*time = tpb_time(m.tpb, E);
}

/* One register patches several fields when their counts have to agree */
START_TEST(as_written)
{
	static uint8_t want[NEURON_PARTITIONS * PART], got[sizeof(want)], plain[sizeof(want)];
	const int32_t value = (int8_t)kinds[_i].reg_value;
	const int64_t v = (int64_t)value * kinds[_i].scale;
	const uint8_t what = kinds[_i].what;
	struct neuron_insn insn = base(), written = base();
	uint64_t times[3];

	run_one(insn, value, plain, &times[0]);
	insn = patched(insn, 3, what, 40, kinds[_i].scale);
	write_so(&written, what, v);
	for (unsigned int k = 0; what >= NEURON_PATCH_DST_NUM && k < 3; k++) {
		uint8_t other = (uint8_t)(NEURON_PATCH_DST_NUM + 4 * k + what % 4);

		insn = patched(insn, k, other, 40, kinds[_i].scale);
		write_so(&written, other, v);
	}
	run_one(written, value, want, &times[1]);
	run_one(insn, value, got, &times[2]);
	ck_assert_mem_eq(got, want, sizeof(want));
	ck_assert_uint_eq(times[2], times[1]);
	/* and the test shows something: a num that stays changes nothing */
	ck_assert(!memcmp(plain, want, sizeof(want)) ==
		  !memcmp(&written, &(struct neuron_insn[]){ base() }, sizeof(written)));
}
END_TEST

/* Two patches of one offset are added, the later of two nums stands */
START_TEST(several)
{
	struct neuron_insn insn = copy_insn(0, SBUF(32, 0), 4);

	random_memory(3);
	insn = patched(insn, 0, NEURON_PATCH_DST, 1, 1);
	insn = patched(insn, 1, NEURON_PATCH_DST, 2, -1);
	insn = patched(insn, 2, NEURON_PATCH_PARTITIONS, 1, 1);
	insn = patched(insn, 3, NEURON_PATCH_PARTITIONS, 2, 1);
	memset(m.sbuf, 0xee, 4 * PART);
	put(E, move(1, 100));
	put(E, move(2, 2));
	put(E, insn);
	run_program(E);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_mem_eq(m.sbuf + PART + 98, m.sbuf + 33 * PART, 4);
	ck_assert_uint_eq(m.sbuf[PART + 97], 0xee);
	ck_assert_uint_eq(m.sbuf[PART + 102], 0xee);
	ck_assert_uint_eq(m.sbuf[2 * PART + 98], 0xee);
}
END_TEST

/* A matmul of the array: weights stay, the result's place moves */
START_TEST(tensor_engine)
{
	const unsigned int pe = NEURON_ENG_PE;
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS, .partitions = 2 };
	struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL, .partitions = 2 };
	const uint16_t one = 0x3f80, three = 0x4040;
	float got;

	memcpy(m.sbuf, &one, 2);
	memcpy(m.sbuf + PART, &one, 2);
	memcpy(m.sbuf + 2, &three, 2);
	load.src0 = machine_ap(0, NEURON_DT_BF16, 1);
	mm.src0 = machine_ap(2, NEURON_DT_BF16, 1);
	mm.dst = machine_ap(PSUM(0, 0), NEURON_DT_FP32, 1);
	put(pe, load);
	put(pe, patched(mm, 0, NEURON_PATCH_DST, 5, 8));
	put(pe, alu_value(NEURON_REG_ADD, 5, 5, 1));
	put(pe, branch(NEURON_REL_NE, 5, 3, -3));
	run_program(pe);
	ck_assert_uint_eq(m.notes, 0);
	for (unsigned int i = 0; i < 4; i++) {
		memcpy(&got, m.psum + 8 * i, 4);
		ck_assert(got == (i < 3 ? 3.0f : 0.0f));
	}
}
END_TEST

/* From the FIFO, too */
START_TEST(in_fifo)
{
	struct neuron_insn insn = move(1, 8);

	memset(m.sbuf + 32 * PART, 5, 8);
	machine_push(&m, E, &insn, 0);
	insn = patched(copy_insn(0, SBUF(32, 0), 4), 0, NEURON_PATCH_DST, 1, 1);
	machine_push(&m, E, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert_uint_eq(m.sbuf[0], 0);
	ck_assert_uint_eq(m.sbuf[8], 5);
}
END_TEST

/* Values that fit no field, or that the instruction does not take: r1 is the value */
static const struct {
	uint8_t what;
	int32_t value, scale;
	uint8_t operand;
	uint32_t offset;
} refused[] = {
	{ NEURON_PATCH_DST, -1, 1, NEURON_OPERAND_DST, -1 },
	{ NEURON_PATCH_DST, 0x8000, 0x8000, NEURON_OPERAND_DST, 0x40000000 },
	{ NEURON_PATCH_SRC0, INT32_MIN, INT32_MIN, NEURON_OPERAND_SRC0, SBUF(32, 0) },
	{ NEURON_PATCH_SRC0, 1, 1 << 26, NEURON_OPERAND_SRC0, SBUF(32, 0) + (1 << 26) },
	{ NEURON_PATCH_DST, PART - 3, 1, NEURON_OPERAND_DST, PART - 3 },
	{ NEURON_PATCH_SRC0, 1, NEURON_SBUF_PART_STRIDE, NEURON_OPERAND_SRC0, SBUF(33, 0) },
	{ NEURON_PATCH_DST_NUM + 3, 0, 1, NEURON_OPERAND_DST, 0 },
	{ NEURON_PATCH_DST_NUM + 3, 5, 1, NEURON_OPERAND_DST, 0 },
	{ NEURON_PATCH_SRC0_NUM, 0x10001, 1, NEURON_OPERAND_SRC0, SBUF(32, 0) },
	{ NEURON_PATCH_SRC0_NUM + 1, -1, 1, NEURON_OPERAND_SRC0, SBUF(32, 0) },
	{ NEURON_PATCH_PARTITIONS, 0, 1, NEURON_OPERAND_DST, 0 },
	{ NEURON_PATCH_PARTITIONS, 129, 1, NEURON_OPERAND_DST, 0 },
	{ NEURON_PATCH_PARTITIONS, 256 + 32, 1, NEURON_OPERAND_FIELD, 256 + 32 },
};

START_TEST(value_refused)
{
	static uint8_t before[NEURON_PARTITIONS * PART];

	put(E, move(1, refused[_i].value));
	put(E, patched(copy_insn(0, SBUF(32, 0), 4), 2, refused[_i].what, 1, refused[_i].scale));
	memcpy(before, m.sbuf, sizeof(before));
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_OPERAND);
	ck_assert_uint_eq(m.note[0].data, (uint64_t)refused[_i].operand << 32 | refused[_i].offset);
	ck_assert_mem_eq(before, m.sbuf, sizeof(before));
}
END_TEST

static const struct {
	uint8_t what, reg;
} illegal[] = {
	{ NEURON_PATCH_SRC1, 1 },
	{ NEURON_PATCH_SCALAR0, 1 },
	{ NEURON_PATCH_SCALAR1, 1 },
	{ NEURON_PATCH_SRC1_NUM, 1 },
	{ 7, 1 },
	{ NEURON_PATCH_COUNT, 1 },
	{ 255, 1 },
	{ NEURON_PATCH_DST, 64 },
};

START_TEST(illegal_patch)
{
	struct neuron_insn insn = copy_insn(0, SBUF(32, 0), 4);

	insn = patched(insn, 1, illegal[_i].what, illegal[_i].reg, 1);
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_uint_eq(m.note[0].data, NEURON_OP_TENSOR_COPY);
}
END_TEST

/* A constant has no offset */
START_TEST(constant)
{
	struct neuron_insn insn = memset_insn(0, 1);

	insn = patched(insn, 0, NEURON_PATCH_SCALAR0, 1, 1);
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

/* NeuronCore-v1 knows no second word of an instruction of one, and does not wait for it */
START_TEST(not_on_v1)
{
	struct neuron_insn insn = copy_insn(0, SBUF(32, 0), 4);
	uint8_t words[128];

	insn = patched(insn, 0, NEURON_PATCH_DST, 1, 1);
	ck_assert_int_eq(neuron_isa_encode(&insn, words), 2);
	teardown();
	setup();
	tpb_fifo_push(m.tpb, E, words, 1, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_uint_eq(m.note[0].data, neuron_isa_get_le64(words));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("patch");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_test(tc, loop);
	LOOP(tc, as_written, kinds);
	tcase_add_test(tc, several);
	tcase_add_test(tc, tensor_engine);
	tcase_add_test(tc, in_fifo);
	LOOP(tc, value_refused, refused);
	LOOP(tc, illegal_patch, illegal);
	tcase_add_test(tc, constant);
	tcase_add_test(tc, not_on_v1);
	suite_add_tcase(s, tc);
	return check_run(s);
}
