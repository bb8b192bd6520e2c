/* SPDX-License-Identifier: MIT */
/*
 * What the environment says to libnrt by yes and no, and where its log goes (docs/nrt.md,
 * Environment). The library's objects are in this program, which has a syslog of its own.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "../check_main.h"
#include "nrt/nrtx.h"
#include "rt_env.h"
#include "rt_log.h"
#include "testmodel.h"

static int logged; /* the last priority, + 1 */
static char logged_text[600];

void syslog(int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(logged_text, sizeof(logged_text), format, args);
	va_end(args);
	logged = priority + 1;
}

static const struct {
	const char *text; /* NULL: unset */
	int rc;
	bool on;
} booleans[] = {
	{ "1", 0, true },	  { "true", 0, true },	   { "TRUE", 0, true },
	{ "True", 0, true },	  { "tRuE", 0, true },	   { "0", 0, false },
	{ "false", 0, false },	  { "FALSE", 0, false },   { "False", 0, false },
	{ NULL, -ENOENT, 0 },	  { "", -ENOENT, 0 },	   { "2", -EINVAL, 0 },
	{ "01", -EINVAL, 0 },	  { "true ", -EINVAL, 0 }, { "yes", -EINVAL, 0 },
	{ "truely", -EINVAL, 0 },
};
#define BOOLEANS (sizeof(booleans) / sizeof(booleans[0]))

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

START_TEST(boolean)
{
	bool on;

	set("X", booleans[_i].text);
	ck_assert_int_eq(rt_env_bool("X", &on), booleans[_i].rc);
	ck_assert(booleans[_i].rc || on == booleans[_i].on);
	ck_assert(rt_env_on("X", true) == (booleans[_i].rc || booleans[_i].on));
	ck_assert(rt_env_on("X", false) == (!booleans[_i].rc && booleans[_i].on));
}
END_TEST

/* A NEFF whose hash is wrong is loaded, or refused if the environment says so. */
START_TEST(validate_hash)
{
	const bool refused = !booleans[_i].rc && booleans[_i].on;
	struct nrtx_load_params params = { 0 };
	struct testmodel t;
	nrt_model_t *model;
	char *neff;
	size_t size;

	set("NEURON_RT_VALIDATE_HASH", booleans[_i].text);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	testmodel_add(&t, 1);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	neff[172] ^= 1;
	ck_assert_int_eq(nrtx_load(neff, size, &params, &model),
			 refused ? NRT_INVALID : NRT_SUCCESS);
	free(neff);
	nrt_close();
}
END_TEST

static const struct {
	const char *level;
	unsigned int lines; /* of one of each: an error, a warning, information, a model's output */
} levels[] = {
	{ NULL, 3 },	  { "", 3 },	 { "QUIET", 0 }, { "error", 2 },    { "WARN", 3 },
	{ "warning", 3 }, { "INFO", 4 }, { "Debug", 4 }, { "nonsense", 3 },
};

START_TEST(log_levels)
{
	char text[4096];
	unsigned int lines = 0;
	FILE *file = tmpfile();
	size_t n;

	ck_assert_ptr_nonnull(file);
	set("NEURON_RT_LOG_LEVEL", levels[_i].level);
	ck_assert_int_eq(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
	rt_log(RT_LOG_ERROR, "one");
	rt_log(RT_LOG_WARNING, "two");
	rt_log(RT_LOG_INFO, "three");
	rt_log(RT_LOG_OUTPUT, "four");
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, levels[_i].lines);
	ck_assert(lines < 3 || strstr(text, "WARN  NRT:log_levels"));
	ck_assert_int_eq(logged, 0);
	fclose(file);
}
END_TEST

START_TEST(log_to_syslog)
{
	setenv("NEURON_RT_LOG_LOCATION", "Syslog", 1);
	rt_log(RT_LOG_ERROR, "one");
	ck_assert_int_eq(logged, LOG_ERR + 1);
	ck_assert_str_eq(logged_text, "NRT:log_to_syslog_fn one");
	rt_log(RT_LOG_WARNING, "two");
	ck_assert_int_eq(logged, LOG_WARNING + 1);
	rt_log(RT_LOG_OUTPUT, "four");
	ck_assert_int_eq(logged, LOG_INFO + 1);
	rt_env_on("HOME_OF_NOBODY", false);
	ck_assert_str_eq(logged_text, "NRT:log_to_syslog_fn four");
	setenv("X", "perhaps", 1);
	rt_env_on("X", true);
	ck_assert_str_eq(logged_text, "NRT:rt_env_on X=perhaps: 0, 1, "
				      "false or true is expected, it counts as true");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("env");
	TCase *tc = tcase_create("env");

	tcase_add_loop_test(tc, boolean, 0, (int)BOOLEANS);
	tcase_add_loop_test(tc, validate_hash, 0, (int)BOOLEANS);
	tcase_add_loop_test(tc, log_levels, 0, sizeof(levels) / sizeof(levels[0]));
	tcase_add_test(tc, log_to_syslog);
	suite_add_tcase(s, tc);
	return check_run(s);
}
