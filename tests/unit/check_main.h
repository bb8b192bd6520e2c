/* SPDX-License-Identifier: MIT */
/* What every test program of Check does at its end: run a suite, and tell how it went. */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>

/* What main returns; each test runs in a process of its own */
static inline int check_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

/* The same in this process: for tests of one machine, whose threads do not survive fork(), or many */
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
