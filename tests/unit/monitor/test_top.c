// SPDX-License-Identifier: MIT
/* neuron-top's lines of snapshots written by hand: the oracle is what they should say. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "tree.h"
#include "view.h"

static struct tm_part before_part, now_part[2];
static struct tm_snapshot before, now;
static struct tm_instance self;
static struct top_data data;
static struct top_view view;
static struct top_lines lines;

/* Two chips of Trainium; process 10 has a core of the second, half a second of two; 20 has nothing */
static void setup(void)
{
	memset(&view, 0, sizeof(view));
	memset(&before, 0, sizeof(before));
	memset(now_part, 0, sizeof(now_part));
	before.time = 10;
	before.cores_of_one = 1;
	before.devices = 2;
	for (unsigned i = 0; i < 2; i++) {
		before.device[i].index = i;
		before.device[i].gen = &neuron_gen_trainium;
		before.device[i].cores = 2;
	}
	before.processes = 2;
	before.process[0] = (struct tm_process){ .pid = 10, .tag = "first", .command = "job" };
	before.process[1] = (struct tm_process){ .pid = 20, .tag = "second", .command = "idle" };
	before_part = (struct tm_part){ .device = 1 };
	before.process[0].parts = before.process[1].parts = 1;
	before.process[0].part = before.process[1].part = &before_part;
	now = before;
	now.time = 12;
	now_part[0].device = now_part[1].device = 1;
	now_part[0].core[1][NDS_NC_COUNTER_TIME_IN_USE] = 500000;
	now_part[0].core[1][NDS_NC_COUNTER_MAC_COUNT] = 3000000000000;
	now_part[0].core[1][NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE] = 5 << 20;
	now_part[0].core[1][NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE] = 1024;
	now.process[0].resident = 64 << 20;
	now.process[0].part = &now_part[0];
	now.process[1].part = &now_part[1];
	snprintf(self.type, sizeof(self.type), "trn1.2xlarge");
	data = (struct top_data){ &before, &now, &self };
}

static void teardown(void)
{
	top_lines_free(&lines);
}

static bool has(const char *text)
{
	ck_assert_int_eq(top_view_lines(&view, &data, 120, &lines), 0);
	for (unsigned i = 0; i < lines.n; i++)
		if (strstr(lines.line[i].text, text))
			return true;
	return false;
}

START_TEST(test_cores)
{
	ck_assert(has("instance-type: trn1.2xlarge"));
	ck_assert(has("NeuronCore v2 Utilization"));
	ck_assert(has("NC3  [|||       ]   25.00%"));
	ck_assert(has("NC2  [          ]    0.00%"));
	view.flops = true;
	ck_assert(has("NeuronCore v2 TFLOPS"));
	ck_assert(has("NC3  [|||       ]   3.000T"));
}
END_TEST

START_TEST(test_tree)
{
	ck_assert(has("[+] 10 job"));
	ck_assert(!has("] ND1"));
	top_view_toggle(&view, &data);
	ck_assert(has("[-] 10 job"));
	ck_assert(has("  [+] ND1"));
	top_view_move(&view, 1);
	top_view_toggle(&view, &data);
	top_view_move(&view, 1);
	ck_assert(has("    [+] NC1"));
	ck_assert(!has("] NC0"));
	top_view_toggle(&view, &data);
	ck_assert(has("Model Code"));
	ck_assert(has("1024B") || has("1.00KiB"));
	view.selected = 0;
	top_view_toggle(&view, &data);
	ck_assert(!has("    [-] NC1"));
	/* moving stops at the ends */
	top_view_move(&view, 100);
	ck_assert(has("[+] 20 idle"));
	ck_assert_uint_eq(view.selected, 1);
	top_view_move(&view, -100);
	ck_assert_uint_eq(view.selected, 0);
}
END_TEST

START_TEST(test_tabs)
{
	struct top_line tabs;

	top_view_tabs(&view, &data, 120, &tabs);
	ck_assert_str_eq(tabs.text, ">all<  1:first  2:second");
	top_view_next(&view, &data, -1);
	top_view_tabs(&view, &data, 120, &tabs);
	ck_assert_str_eq(tabs.text, "all  1:first  >2:second<");
	ck_assert(has("NC3  [          ]    0.00%"));
	ck_assert(!has("10 job"));
	top_view_next(&view, &data, 1);
	ck_assert_int_eq(view.pid, 0);
	top_view_tab(&view, &data, 1);
	ck_assert_int_eq(view.pid, 10);
	ck_assert(has("NC3  [|||       ]   25.00%"));
	top_view_tab(&view, &data, 9);
	ck_assert_int_eq(view.pid, 10);
}
END_TEST

START_TEST(test_memory)
{
	ck_assert(has("Host Used Memory     Total 64.0MiB"));
	ck_assert(has("Tensors 5.00MiB Constants 0B Model Code 1.00KiB"));
	memset(now_part[0].core, 0xff, sizeof(now_part[0].core));
	ck_assert(has("Device Used Memory   Total 16.0EiB"));
	ck_assert(has(" 100.00%"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top");
	TCase *t = tcase_create("lines");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_cores);
	tcase_add_test(t, test_tree);
	tcase_add_test(t, test_tabs);
	tcase_add_test(t, test_memory);
	suite_add_tcase(suite, t);
	return check_run_here(suite);
}
