/* SPDX-License-Identifier: MIT */
/* The end of every test program of Check: run a suite and return the result */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_WAIT_MS 600000 /* until what should happen has not, on a busy machine */

/*
 * A test that hangs ends with its suite's limit, which meson has. Check's own, four seconds unless
 * this is set before a case is made, is too short on a busy machine.
 */
__attribute__((constructor)) static void check_without_limit(void)
{
	setenv("CK_DEFAULT_TIMEOUT", "0", 0);
}

/*
 * The part of this run: TEST_PART=2/3 is the second third of a loop's numbers, and every third of
 * the tests that are no loops. All without it.
 */
static inline void check_part(int *part, int *parts)
{
	const char *text = getenv("TEST_PART");

	*part = 1, *parts = 1;
	if (text && (sscanf(text, "%d/%d", part, parts) != 2 || *part < 1 || *part > *parts))
		abort();
}

static inline void check_add_part(TCase *tc, const TTest *test, int start, int end)
{
	static int before;
	int part, parts;

	check_part(&part, &parts);
	if (end - start > 1) {
		const int count = end - start;

		end = start + count * part / parts;
		start += count * (part - 1) / parts;
	} else if (before++ % parts != part - 1) {
		return;
	}
	if (start < end)
		_tcase_add_test(tc, test, 0, 0, start, end);
}

#undef tcase_add_test
#undef tcase_add_loop_test
#define tcase_add_test(tc, test) check_add_part(tc, test, 0, 1)
#define tcase_add_loop_test(tc, test, start, end) check_add_part(tc, test, start, end)

static inline int check_run_as(Suite *suite, enum fork_status fork)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_fork_status(runner, fork);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

/* Returns the result for main; each test runs in a process of its own. */
static inline int check_run(Suite *suite)
{
	return check_run_as(suite, CK_FORK_GETENV);
}

/*
 * The same without fork, for tests of one machine, whose threads do not survive it, or for many
 * small tests.
 */
static inline int check_run_here(Suite *suite)
{
	return check_run_as(suite, CK_NOFORK);
}

#endif
