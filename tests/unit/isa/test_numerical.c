/* SPDX-License-Identifier: MIT */
/* NaN in a result is reported for an instruction that asks for it (docs/isa.md, Errors). */
#include "fixture.h"

static const struct {
	uint8_t dtype;
	unsigned int size;
	uint32_t nan, inf; /* the least NaN and the greatest that is none */
} floats[] = {
	{ NEURON_DT_FP32, 4, 0xff800001, 0x7f800000 },
	{ NEURON_DT_BF16, 2, 0xff81, 0x7f80 },
	{ NEURON_DT_FP16, 2, 0x7c01, 0xfc00 },
	/* types of NeuronCore-v2 and later */
	{ NEURON_DT_FP8_E3, 1, 0x71, 0xf0 },
	{ NEURON_DT_FP8_E4, 1, 0xf9, 0x78 },
	{ NEURON_DT_FP8_E5, 1, 0x7d, 0xfc },
	{ NEURON_DT_TF32, 4, 0xff802000, 0x7f801fff },
	{ NEURON_DT_FP32R, 4, 0x7f800001, 0xff800000 },
};

/* Every third of 40 elements, in three partitions from 32 on: others' bytes are none of dst's */
static struct neuron_insn strided_copy(uint8_t dtype, unsigned int size)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_COPY, .partitions = 3 };

	insn.dst = (struct neuron_ap){ .offset = 32 * NEURON_SBUF_PART_STRIDE + 4 * size,
				       .dtype = dtype,
				       .step = { 0, 0, 12, 3 },
				       .num = { 1, 1, 10, 4 } };
	insn.src0 = insn.dst;
	return insn;
}

static uint8_t *element(unsigned int partition, unsigned int i, unsigned int size)
{
	return m.sbuf + (uint64_t)partition * m.target.sbuf_part_size + (4 + i) * size;
}

START_TEST(test_check)
{
	const unsigned int size = floats[_i].size;
	struct neuron_insn insn = strided_copy(floats[_i].dtype, size);
	struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START,
				     .isa_version = m.target.isa_version };

	insn.check = true;
	memcpy(element(33, 3, size), &floats[_i].inf, size); /* infinity is none */
	memcpy(element(33, 4, size), &floats[_i].nan, size); /* between two elements */
	memcpy(element(31, 0, size), &floats[_i].nan, size); /* in partitions beside it */
	memcpy(element(35, 0, size), &floats[_i].nan, size);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 0);

	memcpy(element(34, 117, size), &floats[_i].nan, size);
	insn.check = false;
	machine_run1(&m, NEURON_ENG_POOL, &insn); /* nobody asks */
	ck_assert_uint_eq(m.notes, 0);
	insn.check = true;
	insn.update = NEURON_UPD_SEM_INC;
	insn.update_index = 5;
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].type, NEURON_NQ_ERROR);
	ck_assert_uint_eq(m.note[0].engine, NEURON_ENG_POOL);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_NUMERICAL);
	ck_assert_uint_eq(m.note[0].id, 2);
	ck_assert_uint_eq(m.note[0].data, 34 * NEURON_SBUF_PART_STRIDE + 121 * size);
	ck_assert_uint_eq(m.note[0].data2, NEURON_OP_TENSOR_COPY);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 5), 1); /* it goes on */

	/* once in a program, for each engine */
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 1);
	machine_run1(&m, NEURON_ENG_ACT, &insn);
	ck_assert_uint_eq(m.notes, 2);
	machine_run1(&m, NEURON_ENG_POOL, &start);
	memcpy(element(32, 0, size), &floats[_i].nan, size);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 3);
	ck_assert_uint_eq(m.note[2].data, 32 * NEURON_SBUF_PART_STRIDE + 4 * size);
}
END_TEST

START_TEST(test_check_integers)
{
	struct neuron_insn insn = strided_copy(NEURON_DT_INT32, 4);

	insn.check = true;
	memset(element(32, 0, 4), 0xff, 480);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* A saved state has whether NaN was reported already. */
START_TEST(test_check_saved)
{
	struct neuron_insn insn = strided_copy(NEURON_DT_FP32, 4);
	int64_t size = tpb_save(m.tpb, NULL, 0);
	void *buf = malloc((size_t)size);

	ck_assert_ptr_nonnull(buf);
	insn.check = true;
	memcpy(element(32, 0, 4), &floats[0].nan, 4);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 1);
	size = tpb_save(m.tpb, NULL, 0);
	buf = realloc(buf, (size_t)size);
	ck_assert_int_eq(tpb_save(m.tpb, buf, (uint64_t)size), size);
	tpb_reset(m.tpb);
	ck_assert_int_eq(tpb_load(m.tpb, buf, (uint64_t)size), 0);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 1);
	tpb_reset(m.tpb);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 2);
	free(buf);
}
END_TEST

static void setup_trainium(void)
{
	machine_init(&m, neuron_gen_trainium.target, PART);
}

/* types: how many of the table the target has */
static TCase *numerical(const char *name, SFun set_up, int types)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, set_up, teardown);
	tcase_add_loop_test(tc, test_check, 0, types);
	tcase_add_test(tc, test_check_integers);
	tcase_add_test(tc, test_check_saved);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("numerical");

	suite_add_tcase(s, numerical("inf1", setup, 3));
	suite_add_tcase(s, numerical("second", setup_second, 3));
	suite_add_tcase(s,
			numerical("trainium", setup_trainium, sizeof(floats) / sizeof(floats[0])));
	return check_run(s);
}
