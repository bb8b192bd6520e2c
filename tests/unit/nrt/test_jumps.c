/* SPDX-License-Identifier: MIT */
/*
 * Programs in a file with jumps of their own, on a chip in process: they execute as often as their
 * registers say; one without end ends at its timeout; whatever one leaves in its core, the next
 * model's begins with a core at rest.
 */
#include <check.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/hw/ext.h"
#include "neuron/isa/codec.h"
#include "nrt_client.h"
#include "testmodel.h"

#define SP NEURON_ENG_SP

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:trn1.2xlarge"), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
}

static void teardown(void)
{
	nrt_close();
}

/* An empty model for the chip, in which SP begins */
static void begin(struct testmodel *t)
{
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START, .isa_version = 2 };

	testmodel_bare(t, "jumps");
	t->model.target = neuron_target_of_name("trn1");
	ck_assert_int_eq(neuron_isa_encode(&start, t->sg.engine[SP].instr), 1);
}

/* for (r1 = 0; r1 < iterations; r1 += step), SP raises semaphore 3 */
static void add_loop(struct testmodel *t, uint32_t step, uint32_t iterations)
{
	const struct neuron_insn insn[] = {
		{ .opcode = NEURON_OP_MOVE, .rd = 1, .immediate = true },
		{ .opcode = NEURON_OP_ALU,
		  .rd = 1,
		  .ra = 1,
		  .immediate = true,
		  .value = step,
		  .update = NEURON_UPD_SEM_INC,
		  .update_index = 3 },
		{ .opcode = NEURON_OP_COMPARE_BRANCH,
		  .rop = NEURON_REL_LT,
		  .ra = 1,
		  .immediate = true,
		  .value = iterations,
		  .target = -64 },
	};

	for (unsigned int i = 0; i < sizeof(insn) / sizeof(insn[0]); i++)
		testmodel_insn(t, SP, &insn[i]);
}

/* Ends if semaphore 3 has this value */
static void add_wait(struct testmodel *t, uint32_t value)
{
	testmodel_insn(t, SP,
		       &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					      .wait = NEURON_WAIT_SEM_EQ,
					      .wait_index = 3,
					      .wait_value = value });
}

static void load(struct client *cl, struct testmodel *t, uint32_t timeout_ms)
{
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load(cl, neff, size, 0, NRT_TENSOR_PLACEMENT_VIRTUAL, timeout_ms);
}

static uint64_t executed(void)
{
	struct nrtx_core_counters n;

	ck_assert_int_eq(nrtx_core_counters(0, &n), NRT_SUCCESS);
	return n.engine[SP].insns;
}

START_TEST(counted)
{
	struct testmodel t;
	struct client cl;

	begin(&t);
	add_loop(&t, 1, 1000);
	add_wait(&t, 1000);
	testmodel_insn(&t, SP,
		       &(struct neuron_insn){ .opcode = NEURON_OP_SEM_RANGE_CLEAR, .last = 9 });
	load(&cl, &t, 0);
	for (int i = 0; i < 3; i++) {
		uint64_t before = executed();

		ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
		/* fetch, start, move, the loop, wait, clear, notify; the end comes behind that */
		ck_assert_uint_ge(executed() - before, 2000 + 6);
		ck_assert_uint_le(executed() - before, 2000 + 8);
	}
	client_free(&cl);
}
END_TEST

START_TEST(endless)
{
	struct testmodel t;
	struct client cl, good;

	begin(&t);
	add_loop(&t, 0, 1);
	load(&cl, &t, 200);
	begin(&t);
	add_wait(&t, 0);
	load(&good, &t, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(client_run(&cl), NRT_TIMEOUT);
		ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "execution timeout (200 ms)"));
		ck_assert_msg(client_run(&good) == NRT_SUCCESS, "%s", nrtx_error_details());
	}
	client_free(&cl);
	client_free(&good);
}
END_TEST

/* A program that leaves a semaphore as it must not, before one that waits for it to be 0 */
START_TEST(unrest)
{
	struct testmodel t;
	struct client cl, good;

	begin(&t);
	add_loop(&t, 1, 5);
	load(&cl, &t, 0);
	begin(&t);
	add_wait(&t, 0);
	load(&good, &t, 10000);
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
		ck_assert_msg(client_run(&good) == NRT_SUCCESS, "%s", nrtx_error_details());
		ck_assert_msg(client_run(&good) == NRT_SUCCESS, "%s", nrtx_error_details());
	}
	ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_free(&cl); /* unloaded, it leaves a core at rest, too */
	ck_assert_msg(client_run(&good) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_free(&good);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-jumps");
	TCase *tc = tcase_create("jumps");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, counted);
	tcase_add_test(tc, endless);
	tcase_add_test(tc, unrest);
	suite_add_tcase(s, tc);
	return check_run(s);
}
