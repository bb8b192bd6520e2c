// SPDX-License-Identifier: MIT
/*
 * ONNX's own tests of its operators (Debian's libonnx-testdata): each model is compiled, run on the
 * chip in process and its outputs compared with theirs. tests/data/onnx/node.txt says of each one
 * whether it passes, or with which words the compiler refuses it; a change in either direction is a
 * failure, and so is a test that the table does not have.
 *
 * usage: test_onnx_nodes TABLE DIRECTORY [--update | --neffs OUT | NAME...]
 *
 * --update writes a new table: it tries --narrow-64bit and constant inputs where a message asks for
 * them. --neffs compiles only, and writes OUT/NAME.neff. With names only those cases run, and their
 * results are printed.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "onnx_case.h"

struct row {
	char name[80];
	char op[40]; /* the model's operator, or "several" */
	char status[12]; /* passed or refused */
	char options[160]; /* of onnx_case_run */
	char why[400];
};

struct table {
	struct row *row;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static bool read_table(const char *path, struct table *t)
{
	FILE *f = fopen(path, "r");
	char line[1024];

	t->row = calloc(2000, sizeof(*t->row));
	while (f && t->row && fgets(line, sizeof(line), f)) {
		struct row *r = &t->row[t->n];

		if (line[0] != '#' && t->n < 2000 &&
		    sscanf(line, "%79s %39s %11s %159s %399[^\n]", r->name, r->op, r->status,
			   r->options, r->why) >= 4)
			t->n++;
	}
	if (f)
		fclose(f);
	if (t->row)
		qsort(t->row, t->n, sizeof(*t->row), by_name);
	return f && t->row;
}

static bool list_tests(const char *dir, struct table *t)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	t->row = calloc(2000, sizeof(*t->row));
	while (d && t->row && (e = readdir(d)))
		if (!strncmp(e->d_name, "test_", 5) && t->n < 2000)
			snprintf(t->row[t->n++].name, sizeof(t->row->name), "%.79s", e->d_name + 5);
	if (d)
		closedir(d);
	if (t->row)
		qsort(t->row, t->n, sizeof(*t->row), by_name);
	return d && t->row && t->n;
}

/* Is a result one of chance? */
static bool is_drawn(const struct onnx_case *c)
{
	const Ncc__Onnx__Graph *g = c->model ? c->model->graph : NULL;

	for (size_t i = 0; g && i < g->n_node; i++) {
		const char *op = g->node[i]->op_type;

		if (!strncmp(op, "Random", 6) || !strcmp(op, "Bernoulli") ||
		    (!strcmp(op, "Dropout") && strstr(g->name, "training")))
			return true;
	}
	return false;
}

/* next: what the message asks for, as an option; empty: nothing */
static void run_row(const char *dir, struct row *r, char *next, size_t size)
{
	struct onnx_case c;
	char path[512], name[100] = "";
	const char *constant = NULL;

	snprintf(path, sizeof(path), "%s/test_%s", dir, r->name);
	snprintf(r->status, sizeof(r->status), "%s",
		 onnx_case_run(&c, path, r->options) ? "passed"
		 : c.refused			     ? "refused"
						     : "failed");
	snprintf(r->why, sizeof(r->why), "%.399s", c.why);
	snprintf(r->op, sizeof(r->op), "%.39s",
		 c.model && c.model->graph && c.model->graph->n_node == 1
			 ? c.model->graph->node[0]->op_type
			 : "several");
	snprintf(next, size, "%s", "");
	if (c.refused && strstr(c.why, "--narrow-64bit"))
		snprintf(next, size, "narrow-64bit");
	else if (c.refused && sscanf(c.why, "input '%99[^']'", name) == 1 &&
		 strstr(c.why, "--input-shape"))
		snprintf(next, size, "%s:%s", name,
			 strncmp(r->name, "bounded_", 8) ? "shape" : "open");
	else if (!c.refused && c.why[0] && is_drawn(&c))
		snprintf(next, size, "drawn");
	else if (c.refused && strstr(c.why, "must be a constant") &&
		 sscanf(c.why, "input '%99[^']'", name) == 1)
		constant = name;
	else if (c.refused && strstr(c.why, "must be a constant") && strstr(c.why, "('") &&
		 sscanf(strstr(c.why, "('"), "('%99[^']'", name) == 1)
		constant = onnx_case_constant(&c, r->options, name);
	if (constant)
		snprintf(next, size, "%s", constant);
	onnx_case_free(&c);
}

/* Adds what the message asks for to the options; false if it asks for nothing new. */
static bool add_option(struct row *r, const char *next)
{
	char was[sizeof(r->options)];
	int n;

	if (!*next || strstr(r->options, next))
		return false;
	memcpy(was, r->options, sizeof(was));
	n = snprintf(r->options, sizeof(r->options), "%s%s%s", strcmp(was, "-") ? was : "",
		     strcmp(was, "-") ? "," : "", next);
	return n < (int)sizeof(r->options);
}

static void search(const char *dir, struct row *r)
{
	struct row without;
	char next[120];

	strcpy(r->options, "-");
	run_row(dir, r, next, sizeof(next));
	while (add_option(r, next))
		run_row(dir, r, next, sizeof(next));
	if (strncmp(r->options, "narrow-64bit,", 13))
		return;
	without = *r; /* options that were requested before the constants were */
	snprintf(without.options, sizeof(without.options), "%s", r->options + 13);
	run_row(dir, &without, next, sizeof(next));
	if (!strcmp(without.status, r->status))
		*r = without;
}

static int update(const char *path, const char *dir, struct table *t)
{
	FILE *f = fopen(path, "w");
	unsigned int passed = 0, failed = 0;

	if (!f)
		return 2;
	fprintf(f, "# SPDX-License-Identifier: MIT\n"
		   "# ONNX's tests of its operators: "
		   "name, status, options, the compiler's message.\n"
		   "# Written by test_onnx_nodes --update; "
		   "read by it and by docs/compiler-operations.md's table.\n");
	for (size_t i = 0; i < t->n; i++) {
		struct row *r = &t->row[i];

		search(dir, r);
		fprintf(f, "%s\t%s\t%s\t%s\t%s\n", r->name, r->op, r->status, r->options, r->why);
		passed += !strcmp(r->status, "passed");
		failed += !strcmp(r->status, "failed");
	}
	fclose(f);
	printf("%zu tests, %u passed, %u failed\n", t->n, passed, failed);
	return failed != 0;
}

static int check(const char *dir, const struct table *have, const struct table *want)
{
	unsigned int bad = 0, passed = 0;

	for (size_t i = 0; i < have->n; i++) {
		const struct row *w =
			bsearch(&have->row[i], want->row, want->n, sizeof(*w), by_name);
		struct row got = have->row[i];
		char next[120];

		if (!w) {
			printf("%s: not in the table\n", got.name);
			bad++;
			continue;
		}
		memcpy(got.options, w->options, sizeof(got.options));
		run_row(dir, &got, next, sizeof(next));
		passed += !strcmp(got.status, "passed");
		if (!strcmp(got.status, w->status) && !strcmp(got.why, w->why))
			continue;
		printf("%s: %s %s\n\texpected %s %s\n", got.name, got.status, got.why, w->status,
		       w->why);
		bad++;
	}
	for (size_t i = 0; i < want->n; i++) {
		if (bsearch(&want->row[i], have->row, have->n, sizeof(*have->row), by_name))
			continue;
		printf("%s: in the table, but there is no such test\n", want->row[i].name);
		bad++;
	}
	printf("%zu tests: %u passed, %zu refused, %u not as the table says\n", have->n, passed,
	       have->n - passed - bad, bad);
	return bad != 0;
}

static int named(const char *dir, char **name, int n)
{
	int rc = 0;

	for (int i = 0; i < n; i++) {
		struct row r = { 0 };

		snprintf(r.name, sizeof(r.name), "%s", name[i]);
		search(dir, &r);
		printf("%s %s %s %s\n", r.name, r.status, r.options, r.why);
		rc |= strcmp(r.status, "passed") != 0;
	}
	return rc;
}

/* Compiles the tests of the table and writes what comes out as OUT/NAME.neff; none of a refused
 * one. */
static int write_neffs(const char *dir, const struct table *want, const char *out)
{
	int rc = 0;

	for (size_t i = 0; i < want->n; i++) {
		const struct row *w = &want->row[i];
		struct onnx_case c;
		char path[700];
		void *neff;
		size_t size;
		FILE *f;

		snprintf(path, sizeof(path), "%.400s/test_%s", dir, w->name);
		if (onnx_case_compile(&c, path, w->options, &neff, &size)) {
			snprintf(path, sizeof(path), "%.400s/%s.neff", out, w->name);
			f = fopen(path, "w");
			if (!f || fwrite(neff, 1, size, f) != size || fclose(f))
				rc = 2;
			free(neff);
		}
		onnx_case_free(&c);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct table have = { 0 }, want = { 0 };
	int rc = 2;

	if (argc < 3)
		return 2;
	if (!list_tests(argv[2], &have)) {
		printf("no tests in %s: libonnx-testdata is not installed\n", argv[2]);
		return 77;
	}
	onnx_case_target = chip_start();
	if (!onnx_case_target)
		return 99;
	if (argc > 3 && !strcmp(argv[3], "--update"))
		rc = update(argv[1], argv[2], &have);
	else if (argc == 5 && !strcmp(argv[3], "--neffs"))
		rc = read_table(argv[1], &want) ? write_neffs(argv[2], &want, argv[4]) : 2;
	else if (argc > 3)
		rc = named(argv[2], argv + 3, argc - 3);
	else if (read_table(argv[1], &want))
		rc = check(argv[2], &have, &want);
	free(have.row);
	free(want.row);
	nrt_close();
	return rc;
}
