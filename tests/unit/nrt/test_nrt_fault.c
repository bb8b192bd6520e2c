// SPDX-License-Identifier: MIT
/*
 * Fault injection in process, as libnrt's callers see it: each test starts chips of its own with
 * NEURON_EMU_FAULTS (docs/nrt.md). The statuses are the public ones; the oracle of the executions
 * around them is plain C over the inputs.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 64
#define N (128 * COLS)

static float a[N], b[N], c[N];

static void start(const char *faults)
{
	setenv("NEURON_EMU_FAULTS", faults, 1);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
}

static void load(struct client *cl)
{
	struct testmodel t;
	size_t size;
	void *neff;

	testmodel_add(&t, COLS);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(cl, neff, size, 0, NRT_TENSOR_PLACEMENT_VIRTUAL, 1000);
	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000);
		b[i] = (float)(i / 1000) / 8;
	}
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void runs(struct client *cl)
{
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_msg(c[i] == a[i] + b[i], "element %d: %g", i, c[i]);
}

static const struct {
	const char *fault;
	NRT_STATUS status;
	const char *why;
} once[] = {
	{ "nd0:dma-abort=1:queue=program", NRT_EXEC_HW_ERR_DMA_ABORT, "dma engine" },
	{ "nd0:dma-hang=1:queue=program", NRT_TIMEOUT, "execution timeout" },
	{ "nd0:engine-hang", NRT_TIMEOUT, "execution timeout" },
	{ "nd0:nq-overflow", NRT_EXEC_SW_NQ_OVERFLOW, "notification queue overflow" },
	{ "nd0:sram-ecc-uncorrected", NRT_EXEC_HW_ERR_NC_UE, "in SBUF or PSUM" },
	{ "nd0:dram-ecc-uncorrected=1:queue=program", NRT_EXEC_HW_ERR_HBM_UE, "dma engine" },
	{ "nd0:dram-ecc-uncorrected=1:queue=copy", NRT_EXEC_HW_ERR_HBM_UE, "copy: uncorrectable" },
};

/* One execution fails as the table says, the next one succeeds: the core was reset in between. */
START_TEST(strikes_once)
{
	struct client cl;

	start(once[_i].fault);
	load(&cl);
	ck_assert_int_eq(client_run(&cl), once[_i].status);
	ck_assert_msg(strstr(nrtx_error_details(), once[_i].why), "%s", nrtx_error_details());
	runs(&cl);
	runs(&cl);
	client_free(&cl);
	nrt_close();
}
END_TEST

/*
 * A gather is three queues that ring each other: whichever of their descriptors fails, the next
 * execution's rows are right.
 */
#define GATHERED 13

START_TEST(in_a_gather)
{
	const struct testmodel_tables g = { 2, 300, 100, GATHERED };
	static uint8_t table[600 * 100], y[2 * GATHERED * 100];
	int32_t index[GATHERED];
	struct testmodel t;
	struct client cl;
	char fault[64];
	size_t size;
	void *neff;

	snprintf(fault, sizeof(fault), "nd0:dma-abort=1:queue=program:after=%d", _i);
	start(fault);
	testmodel_gather(&t, &g);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&cl, neff, size, 0, NRT_TENSOR_PLACEMENT_VIRTUAL, 1000);
	for (int i = 0; i < 600; i++)
		memset(table + i * 100, i % 251, 100);
	for (int i = 0; i < GATHERED; i++)
		index[i] = (i * 77 + _i) % 300;
	client_write(&cl, "table", table, sizeof(table));
	client_write(&cl, "index", index, sizeof(index));
	ck_assert_int_eq(client_run(&cl), NRT_EXEC_HW_ERR_DMA_ABORT);
	ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(&cl, "y", y, sizeof(y));
	for (int i = 0; i < 2 * GATHERED; i++) {
		int at = index[i % GATHERED], row = i < GATHERED ? at : 599 - at;

		ck_assert_uint_eq(y[i * 100], row % 251);
		ck_assert_uint_eq(y[i * 100 + 99], row % 251);
	}
	client_free(&cl);
	nrt_close();
}
END_TEST

/* Indices, places, rows and what is behind each, of both gathers; the copy; SP's instructions */
#define GATHER_DESCS (2 * 3 * (GATHERED + 1) + GATHERED + 1 + 1)

START_TEST(disturbs_nobody)
{
	struct client cl;

	start("nd0:dram-ecc-corrected=always nd0:sram-ecc-corrected=always nd0:mailbox-silence=1 "
	      "nd0:mailbox-short=3 nd0:reset-hang=2");
	load(&cl);
	runs(&cl);
	client_free(&cl);
	nrt_close();
}
END_TEST

/* A copy's error resets nothing: more of them than the error queue has entries are all reported. */
#define COPIES 200

START_TEST(many_copies_fail)
{
	struct client cl;
	char fault[64];

	snprintf(fault, sizeof(fault), "nd0:dram-ecc-uncorrected=%d:queue=copy", COPIES);
	start(fault);
	load(&cl);
	for (int i = 0; i < COPIES; i++)
		ck_assert_int_eq(client_run(&cl), NRT_EXEC_HW_ERR_HBM_UE);
	runs(&cl);
	client_free(&cl);
	nrt_close();
}
END_TEST

START_TEST(core_is_lost)
{
	struct client cl;

	/* the reset in nrt_init is skipped */
	start("nd0:engine-hang nd0:reset-hang=always:after=1");
	load(&cl);
	ck_assert_int_eq(client_run(&cl), NRT_TIMEOUT);
	ck_assert_int_eq(client_run(&cl), NRT_EXEC_UNIT_UNRECOVERABLE);
	/* it is not tried again */
	ck_assert_msg(strstr(nrtx_error_details(), "needs a reset"), "%s", nrtx_error_details());
	client_free(&cl);
	nrt_close();
}
END_TEST

static const char *const wrong[] = {
	"dma-abort",
	"nd1:dma-abort",
	"nd0:dma-explosion",
	"nd0:dma-abort=x",
	"ndx:dma-abort=1",
	"nd0:link-east-down=2",
	"nd0",
	"nd0:",
};

START_TEST(refused)
{
	setenv("NEURON_EMU_FAULTS", wrong[_i], 1);
	ck_assert_int_ne(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-fault");
	TCase *tc = tcase_create("fault");

	tcase_add_loop_test(tc, strikes_once, 0, sizeof(once) / sizeof(once[0]));
	tcase_add_loop_test(tc, in_a_gather, 0, GATHER_DESCS);
	tcase_add_test(tc, disturbs_nobody);
	tcase_add_test(tc, many_copies_fail);
	tcase_add_test(tc, core_is_lost);
	tcase_add_loop_test(tc, refused, 0, sizeof(wrong) / sizeof(wrong[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
