// SPDX-License-Identifier: MIT
/*
 * The public API as a whole: every function of the public headers is in libnrt.so.1, under the
 * public version, and answers hostile arguments. What the functions do is in the other files.
 * usage: test_nrt_api LIBNRT
 */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check_main.h"
#include "nrt_api.h"

static const char *library;

START_TEST(names)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	unsigned int n = 0;

	ck_assert_msg(lib, "%s", dlerror());
	for (; nrt_api_names[n]; n++)
		ck_assert_msg(dlvsym(lib, nrt_api_names[n], "NRT_2.0.0"), "%s", nrt_api_names[n]);
	ck_assert_uint_eq(n, 254);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("nrt-api");
	TCase *tc = tcase_create("names");

	if (argc != 2)
		return 2;
	library = argv[1];
	tcase_add_test(tc, names);
	suite_add_tcase(s, tc);
	return check_run_here(s);
}
