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
	ck_assert_uint_eq(n, 255);
}
END_TEST

/*
 * Level 3.0 of the asynchronous API is what a program gets that asks without a version, and what
 * only 2.0 has it does not get: the functions beside it would be others than it thinks.
 */
START_TEST(levels)
{
	static const char *const same[] = { "nrta_cc_prepare", "nrta_is_completed" };
	static const char *const old[] = { "nrta_error_tracker_create",
					   "nrta_error_tracker_destroy",
					   "nrta_error_tracker_get_list",
					   "nrta_get_completion_handle" };
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	unsigned int n = 0, both = 0;

	for (; nrt_api_names_3[n]; n++) {
		const char *name = nrt_api_names_3[n];
		void *now = dlvsym(lib, name, "NRT_3.0.0"), *then = dlvsym(lib, name, "NRT_2.0.0");

		ck_assert_msg(now, "%s", name);
		ck_assert_msg(dlsym(lib, name) == now, "%s", name);
		both += now == then;
	}
	ck_assert_uint_eq(n, 10);
	ck_assert_uint_eq(both, 2);
	for (int i = 0; i < 2; i++)
		ck_assert_ptr_eq(dlvsym(lib, same[i], "NRT_2.0.0"), dlsym(lib, same[i]));
	for (int i = 0; i < 4; i++)
		ck_assert_msg(!dlvsym(lib, old[i], "NRT_3.0.0") && !dlsym(lib, old[i]), "%s",
			      old[i]);
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
	tcase_add_test(tc, levels);
	suite_add_tcase(s, tc);
	return check_run_here(s);
}
