/* SPDX-License-Identifier: MIT */
/* Which input a user's name means */
#include <check.h>

#include "../check_main.h"
#include "names.h"

/* The last two are called as the NEFF calls others. */
static const struct input_name names[] = {
	{ "input0", "ids" },	{ "input1", NULL },	{ "input2", "" },
	{ "input3", "input4" }, { "input4", "input3" },
};
#define N (sizeof(names) / sizeof(names[0]))

START_TEST(finds)
{
	ck_assert_int_eq(name_find(names, N, "ids"), 0);
	ck_assert_int_eq(name_find(names, N, "input0"), 0);
	ck_assert_int_eq(name_find(names, N, "input1"), 1);
	ck_assert_int_eq(name_find(names, N, "input2"), 2);
	ck_assert_int_eq(name_find(names, N, "input4"), 3);
	ck_assert_int_eq(name_find(names, N, "input3"), 4);
	ck_assert_int_eq(name_find(names, N, ""), -1);
	ck_assert_int_eq(name_find(names, N, "id"), -1);
	ck_assert_int_eq(name_find(names, 0, "ids"), -1);
}
END_TEST

START_TEST(lists)
{
	char text[40], cut[12];

	name_list(names, 3, text, sizeof(text));
	ck_assert_str_eq(text, "input0 (ids), input1, input2");
	name_list(names, N, cut, sizeof(cut));
	ck_assert_str_eq(cut, "input0 (ids");
	name_list(names, 0, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("names");
	Suite *s = suite_create("names");

	suite_add_tcase(s, tc);
	tcase_add_test(tc, finds);
	tcase_add_test(tc, lists);
	return check_run(s);
}
