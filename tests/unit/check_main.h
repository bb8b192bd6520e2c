/* SPDX-License-Identifier: MIT */
/* The end of every test program of Check: run a suite and return the result */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>

/* Returns the result for main; each test runs in a process of its own. */
static inline int check_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

/*
 * The same without fork, for tests of one machine, whose threads do not survive it, or for many
 * small tests.
 */
static inline int check_run_here(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

#endif
