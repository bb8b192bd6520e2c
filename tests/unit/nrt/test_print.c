/* SPDX-License-Identifier: MIT */
/*
 * What of custom operators' prints goes to the log: all of a process's own, and of a daemon's users
 * so much of an execution and of a time, whatever others print. Time is a number here.
 */
#include <check.h>

#include "../check_main.h"
#include "rt_print.h"

/* An execution at a time that prints lines of so many bytes; how many were logged */
static unsigned int execute(struct rt_printer *printer, uint64_t ms, unsigned int lines,
			    uint64_t bytes, uint64_t *told)
{
	struct rt_print print = { .printer = printer, .now_ms = ms };
	uint64_t dropped_bytes, dropped;
	unsigned int logged = 0;

	for (unsigned int i = 0; i < lines; i++)
		logged += rt_print_line(&print, bytes);
	if (rt_print_dropped(&print, &dropped_bytes, &dropped)) {
		ck_assert_uint_eq(dropped_bytes, dropped * bytes);
		*told += dropped;
	}
	return logged;
}

START_TEST(own)
{
	uint64_t told = 0;

	ck_assert_ptr_null(rt_printer_get(0, 0));
	ck_assert_uint_eq(execute(NULL, 0, 1000000, 400, &told), 1000000);
	ck_assert_uint_eq(told, 0);
}
END_TEST

/* Lines count with what the log adds to them: empty ones are no way around it */
START_TEST(one_execution)
{
	static const uint64_t bytes[] = { 0, 1, 100, 400 };
	struct rt_printer *p = rt_printer_get(5, 0);
	const unsigned int most = RT_PRINT_ONCE / (unsigned int)(RT_PRINT_LINE + bytes[_i]);
	uint64_t told = 0;

	ck_assert_uint_eq(execute(p, 0, 10 * most, bytes[_i], &told), most);
	ck_assert_uint_eq(told, 9 * most);
	/* a line too long is not made up for by a short one behind it */
	ck_assert_uint_eq(execute(p, 100000, most, bytes[_i], &told), most);
	rt_printer_put(p);
}
END_TEST

/* A flood of an execution each millisecond for ten seconds, and another user's few lines */
START_TEST(flood)
{
	struct rt_printer *p = rt_printer_get(1, 0), *other = rt_printer_get(2, 0);
	const uint64_t line = RT_PRINT_LINE + 50;
	uint64_t logged = 0, told = 0, others = 0, others_told = 0;
	unsigned int times = 0;

	ck_assert_ptr_ne(p, other);
	for (uint64_t ms = 1; ms <= 10000; ms++) {
		uint64_t before = told;

		logged += execute(p, ms, 20, 50, &told);
		times += told > before;
		if (!(ms % 1000))
			others += execute(other, ms, 10, 100, &others_told);
	}
	ck_assert_uint_eq(others, 100);
	ck_assert_uint_eq(others_told, 0);
	ck_assert_uint_le(logged * line, RT_PRINT_BURST + 10 * RT_PRINT_RATE);
	ck_assert_uint_ge(logged * line, RT_PRINT_BURST + 9 * RT_PRINT_RATE);
	ck_assert_uint_le(times, 11);
	execute(p, 20000, 0, 50, &told); /* what was not told yet, with the next execution */
	ck_assert_uint_eq(logged + told, 200000);
	rt_printer_put(p);
	rt_printer_put(other);
}
END_TEST

/*
 * A model that is loaded again prints with what is left of its allowance until that is full again.
 */
START_TEST(again)
{
	struct rt_printer *p;
	uint64_t told = 0;

	for (unsigned int i = 0; i < 4; i++) {
		p = rt_printer_get(7, 1000);
		ck_assert_uint_gt(execute(p, 1000, 1000, 0, &told), 0);
		rt_printer_put(p);
	}
	p = rt_printer_get(7, 1000);
	ck_assert_uint_eq(execute(p, 1000, 1000, 0, &told), 0);
	rt_printer_put(p);
	p = rt_printer_get(7, 1000000);
	ck_assert_uint_eq(execute(p, 1000000, 1000, 0, &told), RT_PRINT_ONCE / RT_PRINT_LINE);
	rt_printer_put(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-print");
	TCase *t = tcase_create("all");

	tcase_add_test(t, own);
	tcase_add_loop_test(t, one_execution, 0, 4);
	tcase_add_test(t, flood);
	tcase_add_test(t, again);
	suite_add_tcase(s, t);
	return check_run(s);
}
