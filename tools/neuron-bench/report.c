/* SPDX-License-Identifier: MIT */
/* Reports of a measurement: percentiles, as a table and as JSON, and every execution in files. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "grid.h"

static const unsigned int percents[] = { 0, 1, 25, 50, 75, 90, 99, 100 };

#define FLAGS (JSON_INDENT(4) | JSON_REAL_PRECISION(10))
#define PERCENTS (sizeof(percents) / sizeof(percents[0]))

struct spread {
	unsigned long n; /* 0: nothing is known */
	double at[PERCENTS];
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Percentiles by nearest rank, of the executions of all workers whose time is known */
static bool spread_of(const struct bench *bench, bool core, struct spread *s)
{
	unsigned int workers = bench->copies * bench->threads;
	double *all = calloc((size_t)workers * bench->work, sizeof(*all));

	s->n = 0;
	if (!all)
		return bench_fail("report", "out of memory");
	for (unsigned int w = 0; w < workers; w++)
		for (unsigned long i = 0; i < bench->work; i++) {
			double us =
				core ? bench->worker[w].core_us[i] : bench->worker[w].total_us[i];

			if (us > 0)
				all[s->n++] = us;
		}
	qsort(all, s->n, sizeof(*all), compare);
	for (size_t p = 0; s->n && p < PERCENTS; p++) {
		unsigned long rank = (s->n * percents[p] + 99) / 100;

		s->at[p] = all[rank ? rank - 1 : 0];
	}
	free(all);
	return true;
}

static json_t *spread_json(const struct spread *s)
{
	json_t *o = s->n ? json_object() : json_null();
	char key[8];

	for (size_t p = 0; s->n && p < PERCENTS; p++) {
		snprintf(key, sizeof(key), "%u", percents[p]);
		json_object_set_new(o, key, json_real(s->at[p]));
	}
	return o;
}

static unsigned long num_errors(const struct bench *bench)
{
	unsigned long n = 0;

	for (unsigned int w = 0; w < bench->copies * bench->threads; w++)
		n += bench->worker[w].num_errors;
	return n;
}

static double throughput(const struct bench *bench)
{
	return (double)bench->copies * bench->threads * (double)bench->work / bench->seconds;
}

static json_t *info(const struct bench *bench, const struct spread *total,
		    const struct spread *core)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:I, s:o, s:o}",
			 "model", bench->model, "device",
			 bench->address ? bench->address : bench->device, "nc_used",
			 (int)bench->copies, "threads", (int)bench->threads, "batch",
			 (int)bench->batch, "warmup", (json_int_t)bench->warmup, "work",
			 (json_int_t)bench->work, "seconds", bench->seconds, "throughput",
			 throughput(bench), "items_per_second", throughput(bench) * bench->batch,
			 "num_errors", (json_int_t)num_errors(bench), "latency", spread_json(total),
			 "nc_latency", spread_json(core));
}

/* Every execution's microseconds, by the number of the model's copy */
static json_t *samples(const struct bench *bench, bool core)
{
	json_t *all = json_object(), *list = NULL;
	char key[16];

	for (unsigned int w = 0; w < bench->copies * bench->threads; w++) {
		const struct bench_worker *worker = &bench->worker[w];

		snprintf(key, sizeof(key), "%u", worker->copy);
		list = json_object_get(all, key);
		if (!list) {
			json_object_set_new(all, key, json_array());
			list = json_object_get(all, key);
		}
		for (unsigned long i = 0; i < bench->work; i++) {
			double us = core ? worker->core_us[i] : worker->total_us[i];

			if (us > 0)
				json_array_append_new(list, json_real(us));
		}
	}
	return json_pack("{s:o}", "latency_data", all);
}

static bool write_file(const char *directory, const char *name, json_t *content)
{
	char path[4096];
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	ok = content && !json_dump_file(content, path, FLAGS);
	json_decref(content);
	return ok || bench_fail(path, "%s", strerror(errno));
}

static bool write_files(const struct bench *bench, json_t *about)
{
	if (mkdir(bench->directory, 0777) && errno != EEXIST)
		return bench_fail(bench->directory, "%s", strerror(errno));
	return write_file(bench->directory, "info.json", json_incref(about)) &&
	       write_file(bench->directory, "latency_data.json", samples(bench, false)) &&
	       write_file(bench->directory, "nc_latency_data.json", samples(bench, true));
}

static void add(struct grid *g, unsigned int *column, const char *format, double value)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	grid_set(g, (*column)++, text);
}

static void print_table(const struct bench *bench, const struct spread *total,
			const struct spread *core)
{
	static const char *const titles[] = { "NC\nUSED",	"THREADS",   "EXECUTIONS",
					      "ITEMS\n/SECOND", "MIN\nUS",   "P50\nUS",
					      "P90\nUS",	"P99\nUS",   "MAX\nUS",
					      "NC P50\nUS",	"NC P99\nUS" };
	struct grid *g = grid_new();
	unsigned int c = 0;

	if (!g)
		return;
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		grid_add_column(g, titles[i], GRID_RIGHT);
	grid_add_row(g);
	add(g, &c, "%.0f", bench->copies);
	add(g, &c, "%.0f", bench->threads);
	add(g, &c, "%.0f", (double)total->n);
	add(g, &c, "%.1f", throughput(bench) * bench->batch);
	add(g, &c, "%.0f", total->at[0]);
	add(g, &c, "%.0f", total->at[3]);
	add(g, &c, "%.0f", total->at[5]);
	add(g, &c, "%.0f", total->at[6]);
	add(g, &c, "%.0f", total->at[7]);
	if (core->n) {
		add(g, &c, "%.1f", core->at[3]);
		add(g, &c, "%.1f", core->at[6]);
	}
	grid_print(g, stdout);
	grid_free(g);
	if (num_errors(bench))
		printf("%lu executions completed with numerical errors\n", num_errors(bench));
}

bool report(const struct bench *bench)
{
	struct spread total, core;
	json_t *about;
	bool ok;

	if (!spread_of(bench, false, &total) || !spread_of(bench, true, &core))
		return false;
	about = info(bench, &total, &core);
	ok = about || bench_fail("report", "out of memory");
	if (ok && bench->directory)
		ok = write_files(bench, about);
	if (ok && bench->json) {
		json_dumpf(about, stdout, FLAGS);
		putchar('\n');
	} else if (ok) {
		print_table(bench, &total, &core);
	}
	json_decref(about);
	return ok;
}
