// SPDX-License-Identifier: MIT
/*
 * The system trace, profiles and inspect sessions of libnrt. What is written is read with jansson;
 * the oracles are what the test did, and that a program takes the same time on the chip's clock on
 * every run (docs/isa.md, 10.1).
 */
#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 16
#define N (128 * COLS)

static char directory[] = "/tmp/nrt-trace-XXXXXX";

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void teardown(void)
{
	nrt_close();
}

static void load(struct client *cl, void (*make)(struct testmodel *), uint32_t vnc)
{
	struct testmodel t;
	size_t size;
	void *neff;

	make(&t);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(cl, neff, size, vnc, NRT_TENSOR_PLACEMENT_DEVICE, 30000);
}

static void make_add(struct testmodel *t)
{
	testmodel_add(t, COLS);
}

static json_t *events(const nrt_sys_trace_fetch_options_t *options)
{
	json_t *root, *array;
	char *text;
	size_t size;

	ck_assert_int_eq(nrt_sys_trace_fetch_events(&text, &size, options), NRT_SUCCESS);
	ck_assert_uint_eq(strlen(text), size);
	root = json_loadb(text, size, 0, NULL);
	nrt_sys_trace_buffer_free(text);
	ck_assert_ptr_nonnull(root);
	array = json_incref(json_object_get(root, "events"));
	ck_assert(json_is_array(array));
	json_decref(root);
	return array;
}

static const char *text_of(const json_t *event, const char *key)
{
	return json_string_value(json_object_get(event, key));
}

static uint64_t number_of(const json_t *event, const char *key)
{
	const json_t *value = json_object_get(event, key);

	if (!value)
		value = json_object_get(json_object_get(event, "data"), key);
	ck_assert_msg(json_is_integer(value), "%s", key);
	return (uint64_t)json_integer_value(value);
}

static size_t count(const json_t *array, const char *type, const char *phase)
{
	size_t i, n = 0;
	json_t *e;

	json_array_foreach(array, i, e)
		n += !strcmp(text_of(e, "event_type"), type) && !strcmp(text_of(e, "phase"), phase);
	return n;
}

/* The stop of the event with this number */
static const json_t *stop_of(const json_t *array, uint64_t id)
{
	size_t i;
	json_t *e;

	json_array_foreach(array, i, e)
		if (number_of(e, "tracking_id") == id && !strcmp(text_of(e, "phase"), "stop"))
			return e;
	return NULL;
}

START_TEST(execution)
{
	uint64_t ids[3], nc[3], n = 0, began, ended;
	struct timespec now;
	struct client cl;
	const json_t *stop;
	json_t *all, *e;
	size_t i;

	clock_gettime(CLOCK_REALTIME, &now);
	began = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	ck_assert_int_eq(nrt_sys_trace_start(NULL), NRT_SUCCESS);
	load(&cl, make_add, 1);
	for (int k = 0; k < 3; k++)
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	clock_gettime(CLOCK_REALTIME, &now);
	ended = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	all = events(NULL);

	ck_assert_uint_eq(count(all, "nrt_load", "start"), 1);
	ck_assert_uint_eq(count(all, "nrt_load", "stop"), 1);
	ck_assert_uint_eq(count(all, "nrt_tensor_allocate", "stop"), 3);
	ck_assert_uint_eq(count(all, "nrt_execute", "start"), 3);
	ck_assert_uint_eq(count(all, "nrt_execute", "stop"), 3);
	ck_assert_uint_eq(count(all, "kbl_exec_wait", "stop"), 3);
	ck_assert_uint_eq(count(all, "nc_exec_running", "start"), 3);
	ck_assert_uint_eq(count(all, "nc_exec_running", "stop"), 3);
	ck_assert_uint_eq(count(all, "timestamp_sync_point", "start"), 3);
	json_array_foreach(all, i, e) {
		ck_assert_uint_ge(number_of(e, "timestamp_ns"), began);
		ck_assert_uint_le(number_of(e, "timestamp_ns"), ended);
		if (strcmp(text_of(e, "event_type"), "nc_exec_running") ||
		    strcmp(text_of(e, "phase"), "start"))
			continue;
		stop = stop_of(all, number_of(e, "tracking_id"));
		ck_assert_ptr_nonnull(stop);
		ck_assert_uint_eq(number_of(e, "nc_idx"), 1);
		ck_assert_uint_eq(number_of(e, "device_core_idx"), 1);
		ck_assert_uint_eq(number_of(e, "exec_id"), number_of(stop, "exec_id"));
		ck_assert_uint_le(number_of(e, "timestamp_ns"), number_of(stop, "timestamp_ns"));
		ids[n] = number_of(e, "exec_id");
		nc[n++] = number_of(stop, "nc_timestamp_ns") - number_of(e, "nc_timestamp_ns");
	}
	ck_assert_uint_eq(n, 3);
	ck_assert(ids[0] && ids[1] == ids[0] + 1 && ids[2] == ids[0] + 2);
	/* rounded to ns, from picoseconds */
	ck_assert_uint_gt(nc[0], 0);
	/* behind another program it waits for the issue of that one's NOTIFY: 64 cycles of 1 ns */
	ck_assert_uint_le(nc[1] > nc[2] ? nc[1] - nc[2] : nc[2] - nc[1], 1);
	ck_assert_uint_ge(nc[1], nc[0] + 63);
	ck_assert_uint_le(nc[1], nc[0] + 65);
	json_decref(all);

	/* the chip's clock goes on over a reset */
	ck_assert_int_eq(nrtx_reset_cores(1, 1), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	all = events(NULL);
	ck_assert_uint_eq(count(all, "nrt_execute", "stop"), 1);
	json_array_foreach(all, i, e) {
		if (strcmp(text_of(e, "event_type"), "nc_exec_running") ||
		    strcmp(text_of(e, "phase"), "start"))
			continue;
		stop = stop_of(all, number_of(e, "tracking_id"));
		nc[1] = number_of(stop, "nc_timestamp_ns") - number_of(e, "nc_timestamp_ns");
		ck_assert_uint_le(nc[1] > nc[2] ? nc[1] - nc[2] : nc[2] - nc[1], 1);
	}
	json_decref(all);
	client_free(&cl);
	ck_assert_int_eq(nrt_sys_trace_stop(), NRT_SUCCESS);
}
END_TEST

/* Only the cores and types that are wanted, up to the limit of a ring and of a fetch */
START_TEST(options)
{
	nrt_sys_trace_fetch_options_t *fetch;
	nrt_sys_trace_config_t *config;
	nrt_tensor_t *zero, *one;
	const char **types;
	uint32_t word = 1;
	json_t *all;
	size_t n;

	ck_assert_int_eq(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
	ck_assert_int_eq(nrt_sys_trace_get_event_types(&types, &n), NRT_SUCCESS);
	ck_assert_uint_ge(n, 10);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(nrt_sys_trace_config_set_capture_enabled_for_event_type(
					 config, types[i], !strcmp(types[i], "nrt_tensor_write")),
				 NRT_SUCCESS);
	nrt_sys_trace_free_event_types(types, n);
	ck_assert_int_eq(nrt_sys_trace_config_get_enabled_event_types(config, &types, &n),
			 NRT_SUCCESS);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(types[0], "nrt_tensor_write");
	nrt_sys_trace_free_event_types(types, n);
	ck_assert_int_eq(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "tea",
										 true),
			 NRT_INVALID);
	nrt_sys_trace_config_set_capture_enabled_for_nc(config, 0, false);
	nrt_sys_trace_config_set_max_events_per_nc(config, 10);
	ck_assert_int_eq(nrt_sys_trace_start(config), NRT_SUCCESS);
	nrt_sys_trace_config_free(config);

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "0", &zero), 0);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 64, "\"1\"", &one), 0);
	for (int i = 0; i < 9; i++) {
		ck_assert_int_eq(nrt_tensor_write(zero, &word, 0, 4), NRT_SUCCESS);
		ck_assert_int_eq(nrt_tensor_write(one, &word, 0, 4), NRT_SUCCESS);
		ck_assert_int_eq(nrt_tensor_read(one, &word, 0, 4), NRT_SUCCESS);
	}
	/* 18 of core 1, of which the ring has the last 10 */
	ck_assert_int_eq(nrt_sys_trace_fetch_options_allocate(&fetch), NRT_SUCCESS);
	nrt_sys_trace_fetch_options_set_nc_idx(fetch, 1);
	nrt_sys_trace_fetch_options_set_max_events_per_nc(fetch, 4);
	all = events(fetch);
	ck_assert_uint_eq(json_array_size(all), 4);
	/* of the writes 1 to 9 the oldest are gone */
	ck_assert_uint_eq(number_of(json_array_get(all, 0), "tracking_id"), 5);
	ck_assert_uint_eq(number_of(json_array_get(all, 3), "tracking_id"), 6);
	ck_assert_uint_eq(count(all, "nrt_tensor_write", "stop"), 2);
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_object_get(json_array_get(all, 0), "data"), "tensor_name")),
			 "\"1\"");
	json_decref(all);
	nrt_sys_trace_fetch_options_set_nc_idx(fetch, 0);
	all = events(fetch);
	ck_assert_uint_eq(json_array_size(all), 0);
	json_decref(all);
	nrt_sys_trace_fetch_options_free(fetch);
	all = events(NULL);
	ck_assert_uint_eq(json_array_size(all), 6);
	json_decref(all);
	all = events(NULL);
	ck_assert_uint_eq(json_array_size(all), 0);
	json_decref(all);
	nrt_tensor_free(&zero);
	nrt_tensor_free(&one);
	ck_assert_int_eq(nrt_sys_trace_stop(), NRT_SUCCESS);
}
END_TEST

START_TEST(hostile)
{
	nrt_sys_trace_fetch_options_t *fetch;
	const char **names;
	char *text;
	size_t n;

	ck_assert_int_eq(nrt_sys_trace_stop(), NRT_FAILURE);
	ck_assert_int_eq(nrt_sys_trace_fetch_events(&text, &n, NULL), NRT_FAILURE);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(nrt_sys_trace_start(NULL), NRT_SUCCESS);
	ck_assert_int_eq(nrt_sys_trace_start(NULL), NRT_FAILURE);
	ck_assert_int_eq(nrt_trace_start(true), NRT_FAILURE);
	ck_assert_int_eq(nrt_sys_trace_fetch_options_allocate(&fetch), NRT_SUCCESS);
	nrt_sys_trace_fetch_options_set_nc_idx(fetch, 4);
	ck_assert_int_eq(nrt_sys_trace_fetch_events(&text, &n, fetch), NRT_INVALID);
	nrt_sys_trace_fetch_options_free(fetch);
	ck_assert_int_eq(nrt_sys_trace_fetch_events(NULL, &n, NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_sys_trace_fetch_events(&text, NULL, NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_sys_trace_stop(), NRT_SUCCESS);

	ck_assert_int_eq(nrt_sys_trace_config_allocate(NULL), NRT_INVALID);
	nrt_sys_trace_config_set_defaults(NULL);
	nrt_sys_trace_config_free(NULL);
	nrt_sys_trace_config_set_max_events_per_nc(NULL, 1);
	nrt_sys_trace_config_set_capture_enabled_for_nc(NULL, 1, true);
	ck_assert_int_eq(nrt_sys_trace_config_set_capture_enabled_for_event_type(NULL, NULL, true),
			 NRT_INVALID);
	ck_assert_int_eq(nrt_sys_trace_config_get_enabled_event_types(NULL, &names, &n),
			 NRT_INVALID);
	ck_assert_int_eq(nrt_sys_trace_get_event_types(NULL, &n), NRT_INVALID);
	nrt_sys_trace_free_event_types(NULL, 3);
	ck_assert_int_eq(nrt_sys_trace_fetch_options_allocate(NULL), NRT_INVALID);
	nrt_sys_trace_fetch_options_set_defaults(NULL);
	nrt_sys_trace_fetch_options_free(NULL);
	nrt_sys_trace_buffer_free(NULL);
	ck_assert_int_eq(nrt_trace_stop("/nowhere/x"), NRT_FAILURE);
	ck_assert_int_eq(nrt_trace_stop(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_start(NULL, "x"), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_profile_start(NULL, NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_stop(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_stop("never started"), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_continuous_start(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_continuous_stop(), NRT_FAILURE);
	ck_assert_int_eq(nrt_profile_continuous_options_allocate(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_continuous_options_free(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_stop(), NRT_FAILURE);
	ck_assert_int_eq(nrt_inspect_config_allocate(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_free(NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_activity(NULL, "all", true), NRT_INVALID);
}
END_TEST

/* Recorders, a reader and starts and stops at once */
static bool ended;

static void *record(void *arg)
{
	nrt_tensor_t *t;
	uint32_t word = 0;

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, *(int *)arg, 64, "t", &t),
			 NRT_SUCCESS);
	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
		ck_assert_int_eq(nrt_tensor_write(t, &word, 0, 4), NRT_SUCCESS);
	nrt_tensor_free(&t);
	return NULL;
}

START_TEST(threads)
{
	nrt_sys_trace_config_t *config;
	pthread_t thread[4];
	int vnc[4] = { 0, 1, 2, 0 };

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, record, &vnc[i]);
	ck_assert_int_eq(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
	nrt_sys_trace_config_set_max_events_per_nc(config, 500);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(nrt_sys_trace_start(config), NRT_SUCCESS);
		for (int k = 0; k < 3; k++)
			json_decref(events(NULL));
		ck_assert_int_eq(nrt_sys_trace_stop(), NRT_SUCCESS);
	}
	__atomic_store_n(&ended, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	nrt_sys_trace_config_free(config);
}
END_TEST

/* Files */

static char *path(const char *name)
{
	static char text[4][512];
	static unsigned int next;
	char *at = text[next++ % 4];

	snprintf(at, sizeof(text[0]), "%s/%s", directory, name);
	return at;
}

static json_t *file_of(const char *name)
{
	json_error_t error;
	json_t *root = json_load_file(name, 0, &error);

	ck_assert_msg(root, "%s: %s", name, error.text);
	return root;
}

static void check_record(const json_t *record, uint32_t vnc, const char *status)
{
	uint64_t insns = 0;
	const json_t *e;
	size_t i;

	ck_assert_uint_eq(number_of(record, "nc_idx"), vnc);
	ck_assert_str_eq(text_of(record, "status"), status);
	ck_assert_uint_gt(number_of(record, "nc_stop_ns"), number_of(record, "nc_start_ns"));
	json_array_foreach(json_object_get(record, "engines"), i, e)
		insns += number_of(e, "instructions");
	ck_assert_uint_gt(insns, 0);
}

START_TEST(profile)
{
	char *name = path("one.ntff");
	struct client cl, other;
	json_t *root, *list;

	load(&cl, make_add, 2);
	load(&other, make_add, 2);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_start(cl.model, name), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_start(cl.model, path("two.ntff")), NRT_FAILURE);
	ck_assert_int_eq(nrt_profile_start(other.model, name), NRT_FAILURE);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
		ck_assert_int_eq(client_run(&other), NRT_SUCCESS);
	}
	ck_assert_int_eq(nrt_profile_stop(name), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_stop(name), NRT_INVALID);
	root = file_of(name);
	list = json_object_get(root, "executions");
	ck_assert_uint_eq(json_array_size(list), 2);
	check_record(json_array_get(list, 0), 2, "NRT_SUCCESS");
	check_record(json_array_get(list, 1), 2, "NRT_SUCCESS");
	/* the same program does the same */
	ck_assert(json_equal(json_object_get(json_array_get(list, 0), "engines"),
			     json_object_get(json_array_get(list, 1), "engines")) ||
		  number_of(json_array_get(list, 0), "macs") ==
			  number_of(json_array_get(list, 1), "macs"));
	json_decref(root);

	/* a profile outlives its model; a directory that is not there fails */
	ck_assert_int_eq(nrt_profile_start(cl.model, path("no/three.ntff")), NRT_SUCCESS);
	client_free(&cl);
	client_free(&other);
	ck_assert_int_eq(nrt_profile_stop(path("no/three.ntff")), NRT_FAILURE);
}
END_TEST

/* The only subdirectory of the output; ends with a name of files in it */
static void find_directory(char *found, size_t size)
{
	DIR *dir = opendir(path("out"));
	const struct dirent *d;

	ck_assert_ptr_nonnull(dir);
	*found = '\0';
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			snprintf(found, size, "%s/%s", path("out"), d->d_name);
	closedir(dir);
	ck_assert_str_ne(found, "");
}

/* The number of a directory's files with that end; *name: the name of one */
static unsigned int files(const char *in, const char *end, char *name, size_t size)
{
	DIR *dir = opendir(in);
	const struct dirent *d;
	unsigned int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((d = readdir(dir))) {
		size_t len = strlen(d->d_name);

		if (len < strlen(end) || strcmp(d->d_name + len - strlen(end), end))
			continue;
		snprintf(name, size, "%s/%s", in, d->d_name);
		n++;
	}
	closedir(dir);
	return n;
}

static void remove_all(void)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf %s/out", directory);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(continuous)
{
	nrt_profile_continuous_options_t *options;
	char in[600], name[900];
	struct client cl;
	json_t *root;

	load(&cl, make_add, 3);
	ck_assert_int_eq(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_options_set_output_dir(options, ""), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_continuous_options_set_output_dir(options, path("out")),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_save(3, options), NRT_FAILURE);
	ck_assert_int_eq(nrt_profile_continuous_start(options), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_start(options), NRT_FAILURE);
	ck_assert_int_eq(nrt_profile_continuous_save(3, options), NRT_FAILURE);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_save(4, options), NRT_INVALID);
	ck_assert_int_eq(nrt_profile_continuous_save(3, options), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_save(3, options), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_stop(), NRT_SUCCESS);
	ck_assert_int_eq(nrt_profile_continuous_options_free(options), NRT_SUCCESS);
	find_directory(in, sizeof(in));
	ck_assert_uint_eq(files(in, ".ntff", name, sizeof(name)), 2);
	root = file_of(name);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "executions")), 1);
	check_record(json_array_get(json_object_get(root, "executions"), 0), 3, "NRT_SUCCESS");
	json_decref(root);
	client_free(&cl);
	remove_all();
}
END_TEST

static void check_session(unsigned int profiles, unsigned int executions)
{
	char in[600], name[900];
	json_t *root;

	find_directory(in, sizeof(in));
	ck_assert_uint_eq(files(in, "ntrace.json", name, sizeof(name)), 1);
	root = file_of(name);
	ck_assert_uint_eq(count(json_object_get(root, "events"), "nrt_execute", "stop"),
			  executions);
	json_decref(root);
	ck_assert_uint_eq(files(in, ".ntff", name, sizeof(name)), profiles);
	root = file_of(name);
	json_decref(root);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "host_mem.json", "cpu_util.json",
						     "trace_info.json" };

		ck_assert_uint_eq(files(in, names[i], name, sizeof(name)), 1);
		json_decref(file_of(name));
	}
}

START_TEST(session)
{
	nrt_inspect_config_t *config;
	struct client one, two;
	const char **names;
	size_t n;

	ck_assert_int_eq(nrt_inspect_config_get_all_activity_types(&names, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(names[0], "system_profile");
	nrt_inspect_config_free_activity_types(names, n);
	ck_assert_int_eq(nrt_inspect_config_allocate(&config), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_set_activity(config, "tea", true), NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_activity(config, "all", false), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_set_activity(config, "cpu_util", true), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_get_enabled_activity_types(config, &names, &n),
			 NRT_SUCCESS);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(names[0], "cpu_util");
	nrt_inspect_config_free_activity_types(names, n);
	ck_assert_int_eq(nrt_inspect_config_set_activity(config, "all", true), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_set_output_dir(config, ""), NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_output_dir(config, path("out")), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_set_session_id(config, 7), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 0),
			 NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_capture_enabled_for_nc(config, 100000, true),
			 NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_capture_enabled_for_event_type_string(config, "x",
										      1),
			 NRT_INVALID);
	ck_assert_int_eq(nrt_inspect_config_set_enable_inspect(config, true), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_begin_with_options(config), NRT_SUCCESS);
	ck_assert_int_eq(nrt_inspect_begin_with_options(NULL), NRT_FAILURE);
	ck_assert_int_eq(nrt_inspect_config_free(config), NRT_SUCCESS);
	load(&one, make_add, 0);
	load(&two, make_add, 1);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(client_run(&one), NRT_SUCCESS);
		ck_assert_int_eq(client_run(&two), NRT_SUCCESS);
	}
	ck_assert_int_eq(nrt_inspect_stop(), NRT_SUCCESS);
	check_session(2, 6);
	client_free(&one);
	client_free(&two);
	remove_all();
}
END_TEST

/*
 * Environment variables switch profiles on without a change of the program, also for failed
 * executions alone.
 */
START_TEST(environment)
{
	char in[600], name[900];
	struct client good, bad;
	json_t *root;

	setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
	setenv("NEURON_RT_INSPECT_OUTPUT_DIR", path("out"), 1);
	setenv("NEURON_RT_INSPECT_EVENT_FILTER_NC", "0-1,3", 1);
	setenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", "^hardware", 1);
	setup();
	load(&good, make_add, 0);
	ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
	client_free(&good);
	load(&good, make_add, 2); /* which is not wanted */
	ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
	client_free(&good);
	nrt_close();
	check_session(2, 2);
	find_directory(in, sizeof(in));
	/* by default the first execution of each model and core */
	ck_assert_uint_eq(files(in, "_vnc_0.ntff", name, sizeof(name)), 1);
	root = file_of(name);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "executions")), 1);
	json_decref(root);
	files(in, "ntrace.json", name, sizeof(name));
	root = file_of(name);
	ck_assert_uint_eq(count(json_object_get(root, "events"), "nc_exec_running", "stop"), 0);
	json_decref(root);
	remove_all();

	setenv("NEURON_RT_INSPECT_ENABLE", "0", 1);
	setenv("NEURON_RT_INSPECT_ON_FAIL", "1", 1);
	setup();
	load(&good, make_add, 0);
	load(&bad, testmodel_fault, 1);
	ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&bad), NRT_EXEC_COMPLETED_WITH_ERR);
	client_free(&good);
	client_free(&bad);
	nrt_close();
	find_directory(in, sizeof(in));
	ck_assert_uint_eq(files(in, ".ntff", name, sizeof(name)), 1);
	root = file_of(name);
	ck_assert_str_eq(text_of(json_array_get(json_object_get(root, "executions"), 0), "status"),
			 "NRT_EXEC_COMPLETED_WITH_ERR");
	json_decref(root);
	remove_all();
}
END_TEST

START_TEST(older_pair)
{
	struct client cl;
	json_t *root;

	ck_assert_int_eq(nrt_trace_start(false), NRT_SUCCESS);
	load(&cl, make_add, 0);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	ck_assert_int_eq(nrt_trace_stop(path("trace.json")), NRT_SUCCESS);
	root = file_of(path("trace.json"));
	ck_assert_uint_eq(count(json_object_get(root, "events"), "nrt_execute", "stop"), 1);
	ck_assert_uint_eq(count(json_object_get(root, "events"), "nrt_tensor_allocate", "stop"), 0);
	json_decref(root);
	client_free(&cl);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-trace");
	TCase *open = tcase_create("open"), *own = tcase_create("own");
	char command[600];
	int result;

	if (!mkdtemp(directory))
		return 2;
	tcase_add_checked_fixture(open, setup, teardown);
	tcase_add_test(open, execution);
	tcase_add_test(open, options);
	tcase_add_test(open, hostile);
	tcase_add_test(open, threads);
	tcase_add_test(open, profile);
	tcase_add_test(open, continuous);
	tcase_add_test(open, session);
	tcase_add_test(open, older_pair);
	suite_add_tcase(s, open);
	tcase_add_test(own, environment);
	suite_add_tcase(s, own);
	result = check_run(s);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 2 : result;
}
