/* SPDX-License-Identifier: MIT */
/*
 * NeuronCore Pipeline: the way that values take between stages. Stages on neighbouring chips write
 * through the neighbour's window, so a link that goes down under a loaded model fails its
 * executions until it is up again; from farther away values go through host memory and links do not
 * matter.
 *
 * The chips show which way it is: with corrected errors injected into every DRAM read of the copy
 * queues, the public ECC word counts these copies, and a value that goes through the host is one of
 * them.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "ndlx.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 64
#define N (128 * COLS)
#define CHIPS 4

static float a[N], b[N], c[N];

static void start(const char *faults)
{
	setenv("NEURON_EMU_FAULTS", faults, 1);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.6xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000);
		b[i] = (float)(i / 1000) / 8;
	}
}

/* c = a + stages * b, stage i on core first + i % cores */
static void load(struct client *cl, uint32_t first, uint32_t cores, unsigned int stages)
{
	const struct nrtx_load_params params = { .start_core = first, .core_count = cores };
	size_t size;
	void *neff = testmodel_stages(stages, COLS, &size);

	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void runs(struct client *cl, unsigned int stages)
{
	memset(c, 0, sizeof(c));
	client_write(cl, "c", c, sizeof(c));
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_msg(c[i] == a[i] + (float)stages * b[i], "element %d: %g", i, c[i]);
}

static void aborts(struct client *cl, const char *who)
{
	ck_assert_int_eq(client_run(cl), NRT_EXEC_HW_ERR_DMA_ABORT);
	ck_assert_msg(strstr(nrtx_error_details(), who) && strstr(nrtx_error_details(), "DMA "
											"abort"),
		      "%s", nrtx_error_details());
}

static void fault(int chip, const char *what)
{
	ck_assert_int_eq(ndlx_fault(chip, what), 0);
}

/* The copies out of each chip's DRAM in one execution */
static void copies(struct client *cl, unsigned int stages, uint32_t read[CHIPS])
{
	struct nrtx_error_counters errors;

	for (int chip = 0; chip < CHIPS; chip++) {
		fault(chip, "dram-ecc-corrected=always:queue=copy");
		ck_assert_int_eq(nrtx_error_counters((uint32_t)chip, &errors), 0);
		read[chip] = -(errors.memory[0].corrected + errors.memory[1].corrected);
	}
	runs(cl, stages);
	for (int chip = 0; chip < CHIPS; chip++) {
		fault(chip, "dram-ecc-corrected=off");
		ck_assert_int_eq(nrtx_error_counters((uint32_t)chip, &errors), 0);
		read[chip] += errors.memory[0].corrected + errors.memory[1].corrected;
	}
}

static void copies_are(struct client *cl, unsigned int stages, const uint32_t want[CHIPS])
{
	uint32_t read[CHIPS];

	copies(cl, stages, read);
	for (int chip = 0; chip < CHIPS; chip++)
		ck_assert_msg(read[chip] == want[chip], "nd%d: %u copies, not %u", chip, read[chip],
			      want[chip]);
}

/* The last core of a chip and the first of the next one; the link is down at either end */
static const char *const down[][2] = {
	{ "link-east-down=on", "link-east-down=off" },
	{ "link-west-down=on", "link-west-down=off" },
};

START_TEST(neighbours_need_their_link)
{
	const uint32_t want[CHIPS] = { 0, 1 /* taken from where it landed */ + 1 /* the output */ };
	struct client cl, alone[2];

	start("");
	load(&cl, 3, 0, 2);
	load(&alone[0], 0, 0, 2);
	load(&alone[1], 5, 0, 2);
	copies_are(&cl, 2, want);
	fault(_i, down[_i][0]);
	for (int times = 0; times < 2; times++) {
		aborts(&cl, "nd0 nc3 sg00 dma engine");
		runs(&alone[0], 2);
		runs(&alone[1], 2);
	}
	fault(_i, down[_i][1]);
	runs(&cl, 2);
	copies_are(&cl, 2, want);
	client_free(&cl);
	client_free(&alone[0]);
	client_free(&alone[1]);
	nrt_close();
}
END_TEST

/* Stages that go east and then west find both windows. The first stage fails, so no stage waits. */
START_TEST(east_and_west)
{
	const uint32_t want[CHIPS] = { 1 + 1, 1 };
	struct client cl;

	start("");
	load(&cl, 3, 2, 3);
	copies_are(&cl, 3, want);
	fault(1, "link-west-down");
	aborts(&cl, "nd0 nc3 sg00 dma engine");
	fault(1, "link-west-down=off");
	copies_are(&cl, 3, want);
	client_free(&cl);
	nrt_close();
}
END_TEST

/* A link that was down at load stays unused: the model is independent of any change of the link. */
START_TEST(down_at_load)
{
	const uint32_t want[CHIPS] = { 1 /* to the host */, 1 /* the output */ };
	struct client cl;

	start("nd0:link-east-down");
	load(&cl, 3, 0, 2);
	copies_are(&cl, 2, want);
	fault(0, "link-east-down=off");
	copies_are(&cl, 2, want);
	fault(1, "link-west-down");
	copies_are(&cl, 2, want);
	client_free(&cl);
	nrt_close();
}
END_TEST

/*
 * Seven stages on the six cores 3 to 8: the sixth one's chip, nd2, is two from that of the seventh,
 * nd0. On the way there it was four steps inside nd1 and a window on either side.
 */
START_TEST(two_apart_meet_in_the_host)
{
	const uint32_t want[CHIPS] = { 1 /* the output */, 4, 1 + 1 /* to the host */ };
	struct client cl;

	start("");
	load(&cl, 3, 6, 7);
	copies_are(&cl, 7, want);
	/* the only window of nd2 that matters is the one the value came through */
	fault(2, "link-east-down");
	copies_are(&cl, 7, want);
	fault(2, "link-west-down");
	aborts(&cl, "nd1 nc3 sg04 dma engine");
	fault(2, "link-west-down=off");
	runs(&cl, 7);
	fault(0, "link-east-down");
	aborts(&cl, "nd0 nc3 sg00 dma engine");
	client_free(&cl);
	/* without any link everything goes through the host, except what stays in nd1 */
	fault(2, "link-west-down");
	load(&cl, 3, 6, 7);
	copies_are(&cl, 7, (const uint32_t[CHIPS]){ 1 + 1, 3 + 1, 1 });
	client_free(&cl);
	nrt_close();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("window");
	TCase *tc = tcase_create("window");

	tcase_add_loop_test(tc, neighbours_need_their_link, 0, 2);
	tcase_add_test(tc, east_and_west);
	tcase_add_test(tc, down_at_load);
	tcase_add_test(tc, two_apart_meet_in_the_host);
	suite_add_tcase(s, tc);
	return check_run(s);
}
