/* SPDX-License-Identifier: MIT */
/*
 * Programs of NeuronCore-v2 that work on registers and jump, in a file: what libneff takes, and
 * what it refuses that an engine would stop at, or that is the runtime's (docs/neff.md, Rules a
 * program keeps)
 */
#include <errno.h>
#include <stdlib.h>

#include "../check_main.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/gen.h"
#include "testmodel.h"

#define SP NEURON_ENG_SP

static struct testmodel t;

static void begin(const char *target)
{
	testmodel_bare(&t, "jumps");
	t.model.target = neuron_target_of_name(target);
}

static void add(struct neuron_insn insn)
{
	testmodel_insn(&t, SP, &insn);
}

static void accepted(void)
{
	size_t size;

	free(testmodel_write(&t, &size));
	testmodel_free(&t);
}

static struct neuron_insn jump(uint8_t rel, int32_t words)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_COMPARE_BRANCH,
				     .rop = rel,
				     .ra = rel ? 1 : 0,
				     .immediate = rel,
				     .target = words * 64 };
}

static const struct neuron_insn count = {
	.opcode = NEURON_OP_ALU, .rd = 1, .ra = 1, .immediate = true, .value = 1
};

START_TEST(loop)
{
	static const char *const targets[] = { "trn1", "inf2", "trn2" };

	begin(targets[_i]);
	add(count);
	add(jump(NEURON_REL_NE, -1));
	add(jump(NEURON_REL_ALWAYS, 1)); /* on to the end */
	add((struct neuron_insn){ .opcode = NEURON_OP_TENSOR_LOAD,
				  .rd = 63,
				  .rtype = NEURON_DT_INT32,
				  .indexed = true,
				  .ra = 1,
				  .scale = 4 });
	accepted();
}
END_TEST

/* A loop's semaphore is counted up in each iteration: how often, nobody knows before */
START_TEST(semaphores)
{
	struct neuron_insn up = { .opcode = NEURON_OP_NOP,
				  .update = NEURON_UPD_SEM_INC,
				  .update_index = 3 };

	begin("trn1");
	add(up);
	add(jump(NEURON_REL_NE, -1));
	add((struct neuron_insn){ .opcode = NEURON_OP_NOP,
				  .wait = NEURON_WAIT_SEM_GE,
				  .wait_index = 3,
				  .wait_value = 10 });
	add((struct neuron_insn){ .opcode = NEURON_OP_SEM_RANGE_CLEAR, .first = 0, .last = 9 });
	accepted();
}
END_TEST

static const struct {
	struct neuron_insn insn;
	const char *text;
} refused[] = {
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .target = -64 * 1000 },
	  "a jump out of the program" },
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .target = 64 * 1000 },
	  "a jump out of the program" },
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .target = 64 * 4 }, "a jump out of the program" },
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .target = 64 * 2 },
	  "a jump into the middle of an instruction" },
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .target = 32 }, "target is a multiple of 64" },
	{ { .opcode = NEURON_OP_COMPARE_BRANCH, .rop = 200 }, "unknown relation" },
	{ { .opcode = NEURON_OP_MOVE, .rd = 64 }, "an engine has 64 registers" },
	{ { .opcode = NEURON_OP_ALU, .rop = 100 }, "unknown operation on registers" },
	{ { .opcode = NEURON_OP_FETCH, .length = 64 }, "only the runtime" },
	{ { .opcode = NEURON_OP_FETCH_END }, "only the runtime" },
	{ { .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT32, .device = true },
	  "device addresses are the runtime's" },
	{ { .opcode = NEURON_OP_TENSOR_STORE, .rtype = NEURON_DT_INT32, .device = true },
	  "device addresses are the runtime's" },
	{ { .opcode = NEURON_OP_DMA }, "the engine makes no transfers" },
	{ { .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT32, .address = 0x3fffc },
	  "element outside the partition" },
};

/* The one that is refused, one of two words for ACT's sake, and one behind it */
START_TEST(refuses)
{
	struct neuron_insn two = { .opcode = NEURON_OP_MEMSET, .partitions = 1 };

	begin("trn1");
	testmodel_insn(&t, NEURON_ENG_ACT,
		       &(struct neuron_insn){ .opcode = NEURON_OP_PROGRAM_START,
					      .isa_version = 2 });
	two.dst = (struct neuron_ap){ .dtype = NEURON_DT_FP32, .num = { 1, 1, 1, 1 } };
	two.patch[0] = NEURON_PATCH_DST;
	two.patch_reg[0] = 1;
	testmodel_insn(&t, NEURON_ENG_ACT, &refused[_i].insn);
	testmodel_insn(&t, NEURON_ENG_ACT, &two);
	testmodel_insn(&t, NEURON_ENG_ACT, &count);
	testmodel_refused(&t, -EINVAL, refused[_i].text);
}
END_TEST

/* NeuronCore-v1 has none of it: not the opcodes, nor the second word of patches */
START_TEST(not_on_v1)
{
	struct neuron_insn insn = count;

	if (_i) {
		insn = (struct neuron_insn){ .opcode = NEURON_OP_MEMSET, .partitions = 1 };
		insn.dst = (struct neuron_ap){ .dtype = NEURON_DT_FP32, .num = { 1, 1, 1, 1 } };
		insn.patch[0] = NEURON_PATCH_DST;
	}
	begin("inf1");
	testmodel_insn(&t, NEURON_ENG_ACT,
		       &(struct neuron_insn){ .opcode = NEURON_OP_PROGRAM_START,
					      .isa_version = 1 });
	testmodel_insn(&t, NEURON_ENG_ACT, &insn);
	testmodel_refused(&t, -EINVAL, "illegal instruction");
}
END_TEST

/* A patched instruction is legal without its patches, too */
START_TEST(patches)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_MEMSET, .partitions = 1 };

	insn.dst = (struct neuron_ap){ .dtype = NEURON_DT_FP32, .num = { 1, 1, 1, _i } };
	insn.patch[0] = NEURON_PATCH_DST_NUM + 3;
	insn.patch_reg[0] = 1;
	insn.patch_scale[0] = 1;
	begin("trn1");
	add(jump(NEURON_REL_NE, 0)); /* what SP waits for is another matter */
	testmodel_insn(&t, NEURON_ENG_ACT,
		       &(struct neuron_insn){ .opcode = NEURON_OP_PROGRAM_START,
					      .isa_version = 2 });
	testmodel_insn(&t, NEURON_ENG_ACT, &insn);
	if (_i)
		accepted();
	else
		testmodel_refused(&t, -EINVAL, "a dimension has no elements");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("neff-jumps");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, loop, 0, 3);
	tcase_add_test(tc, semaphores);
	tcase_add_loop_test(tc, refuses, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(tc, not_on_v1, 0, 2);
	tcase_add_loop_test(tc, patches, 0, 2);
	suite_add_tcase(s, tc);
	return check_run(s);
}
