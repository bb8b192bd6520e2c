// SPDX-License-Identifier: MIT
/*
 * neuron-monitor's groups: of snapshots written by hand, and of a model that this program executes
 * on a chip in its own process. The oracles are the numbers that were put in.
 */
#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_main.h"
#include "../nrt/nrt_client.h"
#include "record.h"
#include "report.h"
#include "rt_nds.h"
#include "testmodel.h"

static struct tm_part before_part[2], now_part[2];
static struct tm_snapshot before, now;
static struct report_span span;

/* Two chips of Trainium2 with a process on both, two seconds apart */
static void setup(void)
{
	memset(&before, 0, sizeof(before));
	memset(before_part, 0, sizeof(before_part));
	before.time = 100;
	before.cores_of_one = 2;
	before.devices = 2;
	for (unsigned i = 0; i < 2; i++) {
		before.device[i].index = i;
		before.device[i].gen = &neuron_gen_trainium2;
		before.device[i].cores = 8;
		before_part[i].device = i;
	}
	before.processes = 1;
	before.process[0] = (struct tm_process){ .pid = 4711, .started = 7, .tag = "job" };
	before.process[0].parts = 2;
	now = before;
	now.time = 102;
	memcpy(now_part, before_part, sizeof(now_part));
	before.process[0].part = before_part;
	now.process[0].part = now_part;
	span = (struct report_span){ &before, &now, 90, &now.process[0] };
}

static double real_at(json_t *o, const char *a, const char *b, const char *c)
{
	json_t *v = json_object_get(json_object_get(o, a), b);

	v = c ? json_object_get(v, c) : v;
	ck_assert_msg(json_is_number(v), "%s %s %s", a, b, c ? c : "");
	return json_number_value(v);
}

static json_int_t int_at(json_t *o, const char *a, const char *b)
{
	json_t *v = json_object_get(json_object_get(o, a), b);

	ck_assert_msg(json_is_integer(v), "%s %s", a, b);
	return json_integer_value(v);
}

START_TEST(test_logical)
{
	json_t *group, *core;

	before_part[1].core[2][NDS_NC_COUNTER_TIME_IN_USE] = 5000000;
	now_part[1].core[2][NDS_NC_COUNTER_TIME_IN_USE] = 5500000; /* 0.5 of 2 s */
	now_part[1].core[3][NDS_NC_COUNTER_TIME_IN_USE] = 9000000; /* more than there were */
	now_part[1].core[3][NDS_NC_COUNTER_MAC_COUNT] = 3000;
	group = report_runtime_group(&span, GROUP_NEURONCORE_COUNTERS);
	core = json_object_get(group, "neuroncores_in_use");
	ck_assert_uint_eq(json_object_size(core), 1);
	core = json_object_get(core, "5"); /* device 1, the second of its four logical cores */
	ck_assert_double_eq(json_number_value(json_object_get(core, "neuroncore_utilization")),
			    62.5);
	ck_assert_double_eq(real_at(core, "v3d", "nc_v3.10", "neuroncore_utilization"), 25);
	ck_assert_double_eq(real_at(core, "v3d", "nc_v3.11", "neuroncore_utilization"), 100);
	ck_assert_int_eq(json_integer_value(json_object_get(core, "flops")), 3000);
	ck_assert_double_eq(json_number_value(json_object_get(group, "period")), 2);
	json_decref(group);
}
END_TEST

/* Half of two processors' two seconds, of which the kernel counted a quarter */
START_TEST(test_missed_ticks)
{
	static struct {
		unsigned number;
		uint64_t ticks[TM_CPU], all;
	} rows[2][3];
	uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
	json_t *group;

	rows[1][0].all = second;
	before.cpus.n = now.cpus.n = 2;
	before.cpus.row = (void *)rows[0];
	now.cpus.row = (void *)rows[1];
	now.process[0].user = second;
	now.process[0].system = second;
	group = report_runtime_group(&span, GROUP_RUNTIME_VCPU_USAGE);
	ck_assert_double_eq(real_at(group, "vcpu_usage", "user", NULL), 25);
	ck_assert_double_eq(real_at(group, "vcpu_usage", "system", NULL), 25);
	json_decref(group);
}
END_TEST

/* Numbers that the owner of a datastore may write, however wild, end in a valid report. */
START_TEST(test_hostile)
{
	json_t *group, *used;

	for (unsigned i = 0; i < TM_COUNTERS; i++) {
		now_part[0].core[0][i] = UINT64_MAX;
		now_part[0].core[1][i] = UINT64_MAX;
		before_part[0].core[2][i] = 17; /* and falls to 0 */
	}
	for (unsigned i = 0; i < TM_HOST_COUNTERS; i++)
		now_part[0].host[i] = UINT64_MAX;
	group = report_runtime_group(&span, GROUP_MEMORY_USED);
	used = json_object_get(group, "neuron_runtime_used_bytes");
	ck_assert_int_eq(json_integer_value(json_object_get(used, "host")), INT64_MAX);
	ck_assert_int_eq(json_integer_value(json_object_get(used, "neuron_device")), INT64_MAX);
	json_decref(group);
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), INT64_MAX);
	ck_assert_int_eq(int_at(group, "error_summary", "hardware"), INT64_MAX);
	json_decref(group);
	group = report_runtime_group(&span, GROUP_NEURONCORE_COUNTERS);
	ck_assert_double_le(real_at(group, "neuroncores_in_use", "0", "neuroncore_utilization"),
			    100);
	json_decref(group);
}
END_TEST

START_TEST(test_fall_and_overflow)
{
	json_t *group;

	before_part[0].core[2][NDS_NC_COUNTER_INFER_COMPLETED] = 17;
	now_part[0].core[2][NDS_NC_COUNTER_INFER_COMPLETED] = 3;
	now_part[0].core[0][NDS_NC_COUNTER_INFER_TIMED_OUT] = UINT64_MAX;
	now_part[0].core[1][NDS_NC_COUNTER_INFER_TIMED_OUT] = 5;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), 0);
	ck_assert_int_eq(int_at(group, "execution_summary", "timed_out"), INT64_MAX);
	json_decref(group);
}
END_TEST

START_TEST(test_latency)
{
	json_t *group, *total;

	/* 30 executions of 10 ms and 10 of 50 ms */
	now_part[0].core[0][NDS_NC_COUNTER_INFERENCE_COUNT] = 30;
	now_part[0].core[0][NDS_NC_COUNTER_LATENCY_TOTAL] = 300000;
	now_part[1].core[7][NDS_NC_COUNTER_INFERENCE_COUNT] = 10;
	now_part[1].core[7][NDS_NC_COUNTER_LATENCY_TOTAL] = 500000;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	total = json_object_get(json_object_get(group, "latency_stats"), "total_latency");
	ck_assert_double_eq_tol(json_number_value(json_object_get(total, "p0")), 0.01, 1e-9);
	ck_assert_double_eq_tol(json_number_value(json_object_get(total, "p75")), 0.01, 1e-9);
	ck_assert_double_eq_tol(json_number_value(json_object_get(total, "p99")), 0.05, 1e-9);
	json_decref(group);
	span.process = &before.process[0];
	span.now = &before;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert(json_is_null(json_object_get(json_object_get(group, "latency_stats"), "total_"
											"latenc"
											"y")));
	json_decref(group);
}
END_TEST

START_TEST(test_first_period)
{
	json_t *group;

	now_part[0].core[0][NDS_NC_COUNTER_INFER_COMPLETED] = 1000;
	span.before = NULL;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), 0);
	json_decref(group);
	/* a process that came after the last record did all of it in the period */
	span.before = &before;
	before.processes = 0;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), 1000);
	json_decref(group);
	/* another process with its number */
	before.processes = 1;
	before_part[0].core[0][NDS_NC_COUNTER_INFER_COMPLETED] = 900;
	before.process[0].started = 6;
	group = report_runtime_group(&span, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), 1000);
	json_decref(group);
}
END_TEST

/* A model on two chips, and one whose owner wrote anything */
START_TEST(test_models)
{
	struct tm_node first[2] = { { .model = 7, .nc = 5, .name = "m", .uuid = { 0xab, 1 } },
				    { .model = 8, .subgraph = 255, .nc = 0 } };
	struct tm_node second = { .model = 7, .subgraph = 1, .nc = 2 };
	json_t *group, *list, *graphs;

	first[0].host = (struct tm_node_memory){ 1, 20, 300, 4000, 50000 };
	first[0].device = (struct tm_node_memory){ 5, 40, 300, 2000, 10000 };
	memset(&first[1].device, 0xff, sizeof(first[1].device));
	now_part[0].node = first;
	now_part[0].nodes = 2;
	now_part[1].node = &second;
	now_part[1].nodes = 1;
	group = report_runtime_group(&span, GROUP_MEMORY_USED);
	list = json_object_get(group, "loaded_models");
	ck_assert_uint_eq(json_array_size(list), 2);
	graphs = json_object_get(json_array_get(list, 0), "subgraphs");
	ck_assert_uint_eq(json_object_size(graphs), 2);
	ck_assert_int_eq(int_at(graphs, "sg_00", "neuroncore_index"), 2); /* a logical one */
	ck_assert_int_eq(int_at(graphs, "sg_01", "neuron_device_index"), 1);
	graphs = json_object_get(json_object_get(graphs, "sg_00"), "memory_used_bytes");
	ck_assert_int_eq(json_integer_value(json_object_get(graphs, "host")), 54321);
	ck_assert_int_eq(json_integer_value(json_object_get(graphs, "neuron_device")), 12345);
	ck_assert_double_eq(real_at(graphs, "usage_breakdown", "host", "dma_buffers"), 4001);
	ck_assert_double_eq(real_at(graphs, "usage_breakdown", "neuron_device", "runtime_memory"),
			    12000);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "uuid")),
			 "ab010000000000000000000000000000");
	graphs = json_object_get(json_array_get(list, 1), "subgraphs");
	ck_assert_int_eq(json_integer_value(json_object_get(
				 json_object_get(json_object_get(graphs, "sg_255"), "memory_used_"
										    "bytes"),
				 "neuron_device")),
			 INT64_MAX);
	json_decref(group);
}
END_TEST

/* A datastore's private part is its owner's, who may write anything there. */
START_TEST(test_datastore)
{
	static union {
		char bytes[NDS_ENTRY_SIZE];
		uint64_t words[NDS_ENTRY_SIZE / 8];
	} nds;
	struct rt_nds_area *area = rt_nds_area(nds.bytes);
	struct tm_process p = { 0 };
	struct tm_part part = { 0 };

	memset(&nds, 0xff, sizeof(nds));
	memcpy(nds.bytes, NDS_HEADER_MAGIC, sizeof(NDS_HEADER_MAGIC));
	ck_assert(tm_read_datastore(nds.bytes, sizeof(nds), 4, &p, &part));
	ck_assert_uint_eq(part.nodes, 0);
	area->magic = RT_NDS_MAGIC;
	for (unsigned i = 0; i < RT_NDS_NODES; i++)
		area->node[i].there = RT_NDS_THERE;
	ck_assert(tm_read_datastore(nds.bytes, sizeof(nds), 4, &p, &part));
	ck_assert_uint_eq(part.nodes, 0); /* on core 255 there is none */
	free(part.node);
	memset(&part, 0, sizeof(part));
	area->node[3].info.nc_index = 3;
	memcpy(area->node[3].info.name, "a\033[2J", 5);
	ck_assert(tm_read_datastore(nds.bytes, sizeof(nds), 4, &p, &part));
	ck_assert_uint_eq(part.nodes, 1);
	ck_assert_uint_eq(strlen(part.node[0].name), 255);
	ck_assert_int_eq(strncmp(part.node[0].name, "a?[2J?", 6), 0);
	free(part.node);
	memset(&part, 0, sizeof(part));
	ck_assert(tm_read_datastore(nds.bytes, NDS_PRIVATE_OFFSET + 100, 4, &p, &part));
	ck_assert_uint_eq(part.nodes, 0);
}
END_TEST

/* More than fits into a line */
START_TEST(test_long_record)
{
	static struct tm_part parts[16];
	static struct config config;
	static struct schedule schedule;
	static struct tm_instance self;
	char *line;
	json_t *root, *list;
	unsigned left = 0;

	config_default(&config);
	schedule_begin(&schedule);
	now.devices = 16;
	now.processes = TM_PROCESSES;
	now.time = tm_now();
	now.users = 1;
	for (unsigned i = 0; i < 16; i++) {
		now.device[i] =
			(struct tm_device){ .index = i, .gen = &neuron_gen_trainium2, .cores = 8 };
		parts[i].device = i;
		for (unsigned nc = 0; nc < 8; nc++)
			parts[i].core[nc][0] = UINT64_MAX;
	}
	for (unsigned i = 0; i < TM_PROCESSES; i++) {
		now.process[i] =
			(struct tm_process){ .pid = (int)i + 1, .part = parts, .parts = 16 };
		memset(now.process[i].tag, '"', 255);
	}
	line = record_make(&schedule, &config, &self, &now);
	ck_assert_uint_lt(strlen(line), RECORD_MAX);
	root = json_loads(line, 0, NULL);
	list = json_object_get(root, "neuron_runtime_data");
	ck_assert_uint_eq(json_array_size(list), TM_PROCESSES);
	for (size_t i = 0; i < TM_PROCESSES; i++)
		left += !*json_string_value(json_object_get(json_array_get(list, i), "error"));
	ck_assert_uint_gt(left, 0);
	ck_assert_uint_lt(left, TM_PROCESSES);
	json_decref(root);
	free(line);
	now.users = 100; /* it is not ours to free */
	schedule_end(&schedule);
}
END_TEST

/* A report of as many models as there can be leaves out the models, and nothing else. */
START_TEST(test_many_models)
{
	static struct tm_node nodes[2][60];
	static struct config config;
	static struct schedule schedule;
	static struct tm_instance self;
	json_t *root, *runtime, *used;
	char *line;

	config_default(&config);
	schedule_begin(&schedule);
	now.time = tm_now();
	now.users = 100;
	for (unsigned i = 0; i < 120; i++) {
		nodes[i / 60][i % 60] = (struct tm_node){ .model = i };
		memset(nodes[i / 60][i % 60].name, 'x', 255);
	}
	for (unsigned i = 0; i < 2; i++) {
		now_part[i].node = nodes[i];
		now_part[i].nodes = 60;
	}
	line = record_make(&schedule, &config, &self, &now);
	ck_assert_uint_lt(strlen(line), RECORD_MAX);
	root = json_loads(line, 0, NULL);
	runtime = json_array_get(json_object_get(root, "neuron_runtime_data"), 0);
	used = json_object_get(json_object_get(runtime, "report"), "memory_used");
	ck_assert_str_eq(json_string_value(json_object_get(runtime, "error")), "");
	ck_assert_uint_eq(json_array_size(json_object_get(used, "loaded_models")), 0);
	ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(used, "error")), "64 KiB"));
	ck_assert_ptr_nonnull(json_object_get(used, "neuron_runtime_used_bytes"));
	json_decref(root);
	free(line);
	schedule_end(&schedule);
}
END_TEST

static void put(const char *dir, const char *name, const char *text, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert(f && fwrite(text, 1, size, f) == size);
	fclose(f);
}

#define PUT(dir, name, text) put(dir, name, text, sizeof(text) - 1)

START_TEST(test_proc)
{
	char dir[] = "/tmp/test_monitor.XXXXXX", path[64];
	struct tm_process p = { .pid = 12 };
	static struct tm_snapshot s;

	ck_assert(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/12", dir);
	mkdir(path, 0700);
	PUT(dir, "12/stat",
	    "12 (a) 9 (b) S 1 12 12 0 -1 4194560 1 2 3 4 250 75 0 0 20 0 1 0 98765 1000 33 1 1");
	PUT(dir, "12/cmdline", "prog\0--x\0");
	PUT(dir, "12/environ", "A=B\0NEURON_PROCESS_TAG=my\tjob\0C=D\0");
	PUT(dir, "stat",
	    "cpu  10 1 4 80 3 1 1 5 0 0\ncpu0 5 1 2 40 2 0 0 5\ncpu3 5 0 2 40 1 1 1\n"
	    "intr 1 2 3\nctxt 777\n");
	PUT(dir, "meminfo",
	    "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n"
	    "SwapTotal: 50 kB\nSwapFree: 20 kB\n");
	ck_assert(tm_gather_process(dir, &p));
	ck_assert_uint_eq(p.user, 250);
	ck_assert_uint_eq(p.system, 75);
	ck_assert_uint_eq(p.started, 98765);
	ck_assert_uint_eq(p.resident, 33u * (uint64_t)sysconf(_SC_PAGESIZE));
	ck_assert_str_eq(p.tag, "my?job");
	ck_assert_str_eq(p.command, "prog --x");
	p.pid = 13;
	ck_assert(!tm_gather_process(dir, &p));
	tm_gather_host(dir, &s);
	ck_assert_uint_eq(s.cpus.n, 2);
	ck_assert_uint_eq(s.cpus.switches, 777);
	ck_assert_uint_eq(s.cpus.row[0].all, 105);
	ck_assert_uint_eq(s.cpus.row[2].number, 3);
	ck_assert_uint_eq(s.cpus.row[2].ticks[TM_IO_WAIT], 1);
	ck_assert_uint_eq(s.memory.used, 600 << 10);
	ck_assert_uint_eq(s.memory.swap_used, 30 << 10);
	free(s.cpus.row);
	snprintf(path, sizeof(path), "rm -r %s", dir);
	ck_assert_int_eq(system(path), 0);
}
END_TEST

#define COLS 64

/* The one model that is loaded, on core 6, which is core 2 of the second chip */
static void check_loaded(const struct report_span *real)
{
	json_t *group = report_runtime_group(real, GROUP_MEMORY_USED), *list, *model, *graph;

	list = json_object_get(group, "loaded_models");
	ck_assert_uint_eq(json_array_size(list), 1);
	model = json_array_get(list, 0);
	ck_assert_str_eq(json_string_value(json_object_get(model, "name")), "add");
	ck_assert_str_eq(json_string_value(json_object_get(model, "uuid")),
			 "30313233343536373839616263646566"); /* 0123456789abcdef */
	ck_assert(json_is_true(json_object_get(model, "is_running")));
	list = json_object_get(model, "subgraphs");
	ck_assert_uint_eq(json_object_size(list), 1);
	graph = json_object_get(list, "sg_00");
	ck_assert_int_eq(json_integer_value(json_object_get(graph, "neuroncore_index")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(graph, "neuron_device_index")), 1);
	ck_assert_int_gt(int_at(graph, "memory_used_bytes", "neuron_device"), 0);
	ck_assert_double_gt(real_at(json_object_get(graph, "memory_used_bytes"), "usage_breakdown",
				    "neuron_device", "model_code"),
			    0);
	json_decref(group);
}

/* The datastore of a model that is executed here has the numbers of what was done. */
START_TEST(test_model)
{
	static float a[128 * COLS];
	struct tm_snapshot *first, *second;
	struct report_span real = { .started = 0 };
	struct testmodel t;
	struct client c;
	json_t *group;
	size_t size;
	void *neff;

	ck_assert_int_eq(nrtx_machine_set("emu:inf1.6xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	testmodel_add(&t, COLS);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&c, neff, size, 6, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	client_write(&c, "a", a, sizeof(a));
	client_write(&c, "b", a, sizeof(a));
	first = tm_snapshot_take();
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(client_run(&c), NRT_SUCCESS);
	second = tm_snapshot_take();
	ck_assert_uint_eq(second->devices, 4);
	ck_assert_uint_eq(second->processes, 1);
	ck_assert_int_eq(second->process[0].pid, getpid());
	real.before = first;
	real.now = second;
	real.process = &second->process[0];
	group = report_runtime_group(&real, GROUP_EXECUTION_STATS);
	ck_assert_int_eq(int_at(group, "execution_summary", "completed"), 5);
	ck_assert_double_gt(real_at(group, "latency_stats", "total_latency", "p50"), 0);
	json_decref(group);
	group = report_runtime_group(&real, GROUP_MEMORY_USED);
	/* two inputs and an output of its own; core 6 is core 2 of the second chip */
	ck_assert_double_ge(real_at(json_object_get(json_object_get(group, "neuron_runtime_used_"
									   "bytes"),
						    "usage_breakdown"),
				    "neuroncore_memory_usage", "6", "tensors"),
			    3 * sizeof(a));
	json_decref(group);
	group = report_runtime_group(&real, GROUP_NEURONCORE_COUNTERS);
	ck_assert_ptr_nonnull(json_object_get(json_object_get(group, "neuroncores_in_use"), "6"));
	json_decref(group);
	check_loaded(&real);
	tm_snapshot_drop(first);
	tm_snapshot_drop(second);
	client_free(&c);
	second = tm_snapshot_take();
	ck_assert_uint_eq(second->process[0].part[1].nodes, 0);
	tm_snapshot_drop(second);
	nrt_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("monitor");
	TCase *t = tcase_create("groups"), *real = tcase_create("model");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_logical);
	tcase_add_test(t, test_missed_ticks);
	tcase_add_test(t, test_hostile);
	tcase_add_test(t, test_fall_and_overflow);
	tcase_add_test(t, test_latency);
	tcase_add_test(t, test_first_period);
	tcase_add_test(t, test_models);
	tcase_add_test(t, test_datastore);
	tcase_add_test(t, test_many_models);
	tcase_add_test(t, test_long_record);
	tcase_add_test(t, test_proc);
	tcase_add_test(real, test_model);
	suite_add_tcase(suite, t);
	suite_add_tcase(suite, real);
	return check_run_here(suite);
}
