// SPDX-License-Identifier: MIT
/*
 * A program that libneff accepts leaves its core at rest: random programs of all engines, some of
 * which are refused; those that are accepted and end leave every semaphore 0 and every event clear,
 * and the next model's results are right. A model's memory is not freed while its core is not at
 * rest; its queues are parked; and the memory is used again afterwards. This test is linked with
 * libnrt's own objects, so that it can ask the chip.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "ndlx.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/inferentia.h"
#include "nrt_client.h"
#include "testmodel.h"
#include "neuron/hw/inferentia.h"

#define COLS 16
#define N (128 * COLS)
#define PROGRAMS 400
#define EVENT 9

static ndlx_device_t *chip;
static uint32_t raised[5]; /* how often the program raises each semaphore */

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &chip), 0);
}

static void teardown(void)
{
	ndlx_close_device(chip);
	nrt_close();
}

static uint32_t rnd(uint32_t n)
{
	static uint32_t seed = 4711;

	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void load_add(struct client *cl)
{
	const struct nrtx_load_params params = { 0 };
	static float a[N], b[N];
	struct testmodel t;
	size_t size;
	void *neff;

	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 33) * 0.25f;
	}
	testmodel_add(&t, COLS);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void run_add(struct client *cl)
{
	static float c[N];

	memset(c, 0xff, sizeof(c));
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_msg(c[i] == (float)i + (float)(i % 33) * 0.25f, "element %d: %g", i,
			      c[i]);
}

/* Mostly what real programs do: wait for another engine's semaphore, increment their own. */
static void random_insn(struct testmodel *t, unsigned int eng)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_NOP };
	uint32_t kind = rnd(40);

	if (rnd(3) == 0) {
		insn.wait = rnd(12) ? NEURON_WAIT_SEM_GE : 1 + rnd(3);
		insn.wait_index = (uint8_t)rnd(5);
		insn.wait_value = rnd(3);
	}
	if (kind < 28) {
		insn.update = NEURON_UPD_SEM_INC;
		insn.update_index = (uint8_t)(kind < 27 ? eng : rnd(5));
		raised[insn.update_index]++;
	} else if (kind < 30) {
		insn.update = 1 + rnd(5);
		insn.update_index = (uint8_t)rnd(5);
		insn.update_value = insn.update < NEURON_UPD_SEM_ADD_IMM ? 0 : rnd(3);
	} else if (kind < 31) {
		insn.update = NEURON_UPD_EVT_SET + rnd(2);
		insn.update_index = EVENT;
	} else if (kind < 32) {
		insn.opcode = NEURON_OP_SEM_RANGE_CLEAR;
		insn.last = (uint8_t)rnd(6);
	}
	testmodel_insn(t, eng, &insn);
}

static void random_dma(struct testmodel *t, unsigned int eng, unsigned int queue)
{
	const struct neff_pattern y = { 0, 0, 1, { 64 }, { 1 } };

	bool told = rnd(10);

	testmodel_dma(t, eng, queue, told ? 4 : -1, 1)->desc[0] =
		(struct neff_desc){ .from = y, .to = y };
	raised[4] += told;
}

static void random_program(struct testmodel *t)
{
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START,
					   .isa_version = neuron_target_inf1.isa_version };
	const struct neuron_insn clear = { .opcode = NEURON_OP_SEM_RANGE_CLEAR, .last = 27 };

	memset(raised, 0, sizeof(raised));
	testmodel_bare(t, "random");
	testmodel_queue(t, "sp", NEFF_QUEUE_DATA, NEURON_ENG_SP);
	testmodel_queue(t, "pool", NEFF_QUEUE_DATA, NEURON_ENG_POOL);
	for (unsigned int e = 0; e < NEURON_V1_ENGINES; e++) {
		unsigned int n = rnd(4);

		if (e != NEURON_ENG_SP && n)
			testmodel_insn(t, e, &start);
		while (n--) {
			random_insn(t, e);
			if ((e == NEURON_ENG_POOL || e == NEURON_ENG_SP) && !rnd(6))
				random_dma(t, e, e != NEURON_ENG_SP);
		}
	}
	/* SP waits for most of it */
	for (unsigned int s = 0; s < 5; s++) {
		struct neuron_insn wait = { .opcode = NEURON_OP_NOP,
					    .wait = NEURON_WAIT_SEM_GE,
					    .wait_index = (uint8_t)s,
					    .wait_value = raised[s] };

		if (rnd(10))
			testmodel_insn(t, NEURON_ENG_SP, &wait);
	}
	if (rnd(12))
		testmodel_insn(t, NEURON_ENG_SP, &clear);
}

static void check_rest(unsigned int program)
{
	uint32_t value;

	for (uint32_t s = 0; s < NEURON_V1_SEMAPHORES; s++) {
		ck_assert_int_eq(ndlx_nc_semaphore_read(chip, 0, s, &value), 0);
		ck_assert_msg(!value, "program %u: semaphore %u is %u", program, s, value);
	}
	ck_assert_int_eq(ndlx_nc_event_get(chip, 0, EVENT, &value), 0);
	ck_assert_msg(!value, "program %u: the event is set", program);
}

START_TEST(random_programs)
{
	const struct nrtx_load_params params = { .timeout_ms = 20 };
	unsigned int taken = 0, ended = 0;
	struct client add;

	load_add(&add);
	for (unsigned int i = 0; i < PROGRAMS; i++) {
		struct neff_error err = { 0 };
		struct testmodel t;
		struct client cl;
		void *neff = NULL;
		size_t size;
		int ret;

		random_program(&t);
		ret = neff_write(&t.model, &neff, &size, &err);
		testmodel_free(&t);
		if (ret)
			continue;
		taken++;
		client_load_on(&cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
		ended += client_run(&cl) == NRT_SUCCESS;
		check_rest(i);
		run_add(&add);
		client_free(&cl);
	}
	client_free(&add);
	/* neither "all are refused" nor "none ends" */
	ck_assert_uint_ge(taken, PROGRAMS / 10);
	ck_assert_uint_lt(taken, PROGRAMS * 7 / 10);
	ck_assert_uint_ge(ended, PROGRAMS / 10);
}
END_TEST

static uint64_t device_memory(void)
{
	struct nrtx_core_counters n;

	ck_assert_int_eq(nrtx_core_counters(0, &n), NRT_SUCCESS);
	return n.mem_device;
}

/*
 * A core that cannot be reset may still write: an unloaded model keeps its memory until a reset
 * succeeds.
 */
START_TEST(memory_waits_for_rest)
{
	const struct nrtx_load_params params = { .timeout_ms = 20 };
	uint64_t before = device_memory(), held;
	struct client hang, add;
	struct testmodel t;
	size_t size;
	void *neff;

	load_add(&add);
	run_add(&add);
	testmodel_hang(&t);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load_on(&hang, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	held = device_memory();
	ck_assert_int_eq(ndlx_fault(0, "reset-hang=always"), 0);
	ck_assert_int_eq(client_run(&hang), NRT_TIMEOUT);
	client_free(&hang);
	ck_assert_uint_eq(device_memory(), held);
	ck_assert_int_eq(client_run(&add), NRT_EXEC_UNIT_UNRECOVERABLE);
	ck_assert_int_eq(ndlx_fault(0, "reset-hang=off"), 0);
	ck_assert_int_eq(nrtx_reset_cores(0, 1), NRT_SUCCESS);
	ck_assert_uint_lt(device_memory(), held);
	run_add(&add);
	client_free(&add);
	ck_assert_uint_eq(device_memory(), before);
}
END_TEST

struct rings {
	uint64_t tx, rx;
};

/* The rings of each queue of the chip, in an array that has as many elements */
static struct rings *rings(void)
{
	const unsigned int n = chip->gen->dma_engines * NEURON_DMA_QUEUES_PER_ENG;
	struct rings *r = calloc(n, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	for (unsigned int i = 0; i < n; i++) {
		struct neuron_dma_queue_state tx, rx;

		ck_assert_int_eq(ndlx_dma_queue_get_state(chip, i / NEURON_DMA_QUEUES_PER_ENG,
							  i % NEURON_DMA_QUEUES_PER_ENG, &tx, &rx),
				 0);
		r[i] = (struct rings){ tx.base_addr, rx.base_addr };
	}
	return r;
}

/*
 * What an unloaded model's queues read and write next is not in memory that another model may have
 * by then.
 */
START_TEST(queues_leave_rings)
{
	const unsigned int n = chip->gen->dma_engines * NEURON_DMA_QUEUES_PER_ENG;
	struct rings *before = rings(), *with, *after;
	unsigned int used = 0;
	struct client add;

	load_add(&add);
	run_add(&add);
	with = rings();
	client_free(&add);
	after = rings();
	for (unsigned int i = 0; i < n; i++) {
		if (!memcmp(&with[i], &before[i], sizeof(*with)))
			continue;
		used++;
		ck_assert_msg(with[i].tx != after[i].tx && with[i].rx != after[i].rx,
			      "engine %u queue %u", i / NEURON_DMA_QUEUES_PER_ENG,
			      i % NEURON_DMA_QUEUES_PER_ENG);
	}
	/* qin, qout, and the instructions of two engines */
	ck_assert_uint_eq(used, 4);
	free(before);
	free(with);
	free(after);
}
END_TEST

/*
 * Three times the chip's memory, a piece at a time: the memory itself is reused, not only its count
 * reduced.
 */
START_TEST(memory_is_used_again)
{
	nrt_vnc_memory_stats_t stats;
	nrt_tensor_t *t;
	size_t n;

	ck_assert_int_eq(nrt_get_vnc_memory_stats(0, &stats, sizeof(stats), &n), NRT_SUCCESS);
	for (int i = 0; i < 48; i++) {
		ck_assert_msg(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
						  stats.bytes_limit / 16, "t", &t) == NRT_SUCCESS,
			      "piece %d: %s", i, nrtx_error_details());
		nrt_tensor_free(&t);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rest");
	TCase *tc = tcase_create("models");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, random_programs);
	tcase_add_test(tc, memory_waits_for_rest);
	tcase_add_test(tc, queues_leave_rings);
	tcase_add_test(tc, memory_is_used_again);
	suite_add_tcase(s, tc);
	return check_run(s);
}
