/* SPDX-License-Identifier: MIT */
/* Messages for a user who names inputs; neff/test_called.c has which tensor a name means. */
#include <check.h>
#include <errno.h>

#include "../check_main.h"
#include "names.h"

static const struct neff_called names[] = {
	{ "input0", "ids" },
	{ "input1", NULL },
	{ "input2", "" },
	{ "input3", "input3" },
};
#define N (sizeof(names) / sizeof(names[0]))

START_TEST(given)
{
	const char *const all[] = { "input2", "ids", "input1", "input3" };
	const char *const strange[] = { "input1", "id", "input9" };
	const char *const twice[] = { "ids", "input1", "input0", "ids" };
	unsigned int bad;
	int which[N];

	ck_assert_int_eq(names_given(names, N, all, 4, which, &bad), 0);
	ck_assert_int_eq(which[0], 2);
	ck_assert_int_eq(which[1], 0);
	ck_assert_int_eq(which[2], 1);
	ck_assert_int_eq(which[3], 3);
	ck_assert_int_eq(names_given(names, N, strange, 3, which, &bad), -ENOENT);
	ck_assert_uint_eq(bad, 1);
	ck_assert_int_eq(names_given(names, N, twice, 4, which, &bad), -EEXIST);
	ck_assert_uint_eq(bad, 2);
	ck_assert_int_eq(which[bad], 0);
	ck_assert_int_eq(names_given(names, 0, all, 1, which, &bad), -ENOENT);
	ck_assert_int_eq(names_given(names, N, all, 0, which, &bad), 0);
}
END_TEST

START_TEST(lists)
{
	char text[60], cut[12];

	name_list(names, N, text, sizeof(text));
	ck_assert_str_eq(text, "input0 (ids), input1, input2, input3");
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
	tcase_add_test(tc, given);
	tcase_add_test(tc, lists);
	return check_run(s);
}
