// SPDX-License-Identifier: MIT
/* show-session: a summary of the session's file. What the file lacks is shown as 0. */
#include <stdio.h>

#include "profile.h"

static double number(const json_t *object, const char *key)
{
	return (double)json_integer_value(json_object_get(object, key));
}

struct spread {
	double least, most, sum;
	size_t n;
};

static void spread_add(struct spread *s, double value)
{
	s->least = !s->n || value < s->least ? value : s->least;
	s->most = value > s->most ? value : s->most;
	s->sum += value;
	s->n++;
}

static void show_spread(const char *name, const struct spread *s)
{
	printf("%-16s %12.3f %12.3f %12.3f\n", name, s->least, s->n ? s->sum / (double)s->n : 0,
	       s->most);
}

static void show_infers(const json_t *infers)
{
	struct spread queued = { 0 }, device = { 0 }, cycles = { 0 };
	size_t failed = 0, i;
	json_t *infer;

	json_array_foreach((json_t *)infers, i, infer) {
		spread_add(&queued, number(infer, "queued_ns") / 1e6);
		spread_add(&device, number(infer, "device_ns") / 1e6);
		if (number(infer, "cycles") > 0)
			spread_add(&cycles, number(infer, "cycles") / 1e3);
		failed += number(infer, "code") != 0;
	}
	printf("%-16s %12s %12s %12s\n", "", "least", "mean", "most");
	show_spread("queued, ms", &queued);
	show_spread("on cores, ms", &device);
	show_spread("kilocycles", &cycles);
	if (failed)
		printf("%zu with a code that is not 0\n", failed);
}

static double share(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

static void show_core(const json_t *core)
{
	json_t *engine;
	size_t i;

	printf("\nnd%.0f nc%.0f: %.0f multiply-accumulates\n", number(core, "device"),
	       number(core, "nc"), number(core, "macs"));
	printf("%-8s %14s %16s %8s %8s %8s\n", "engine", "instructions", "cycles", "busy", "wait",
	       "idle");
	json_array_foreach(json_object_get(core, "engine"), i, engine) {
		const char *name = json_string_value(json_object_get(engine, "name"));
		double busy = number(engine, "busy_cycles"), wait = number(engine, "wait_cycles");
		double idle = number(engine, "idle_cycles"), all = busy + wait + idle;

		printf("%-8s %14.0f %16.0f %7.1f%% %7.1f%% %7.1f%%\n", name ? name : "?",
		       number(engine, "instructions"), all, share(busy, all), share(wait, all),
		       share(idle, all));
	}
}

static int show(const struct options *o, const json_t *session)
{
	const json_t *profile = json_object_get(session, "profile");
	const char *name = json_string_value(json_object_get(profile, "name"));
	const char *uuid = json_string_value(json_object_get(profile, "uuid"));
	json_t *core;
	size_t i;

	if (!json_is_object(profile))
		return profile_fail(o->session, "no profile data: the session was not stopped");
	printf("model %.0f: %s, %s\n", number(session, "model"), name ? name : "",
	       uuid ? uuid : "");
	printf("%.0f inferences", number(profile, "infer_count"));
	if (number(profile, "infer_count") > (double)json_array_size(json_object_get(profile, "infe"
											      "r")))
		printf(", of which the first %zu:", json_array_size(json_object_get(profile, "infe"
											     "r")));
	printf("\n\n");
	show_infers(json_object_get(profile, "infer"));
	json_array_foreach(json_object_get(profile, "core"), i, core)
		show_core(core);
	if (fflush(stdout) || ferror(stdout))
		return profile_fail("standard output", "cannot be written");
	return 0;
}

int profile_show(const struct options *o)
{
	json_t *session = session_read(o->session);
	int ret = session ? show(o, session) : 1;

	json_decref(session);
	return ret;
}
