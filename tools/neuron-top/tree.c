// SPDX-License-Identifier: MIT
/* Rows of the tree, in the order of the screen: what is closed has no rows below it. */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>

struct rows {
	const struct top_view *view;
	const struct tm_snapshot *now;
	struct top_row *row;
	unsigned n, capacity;
};

bool top_shows(const struct top_view *view, const struct tm_process *p)
{
	return !view->pid || (view->pid == p->pid && view->started == p->started);
}

static bool is_open(const struct top_view *view, const struct top_row *row)
{
	for (unsigned i = 0; i < view->opened; i++)
		if (view->open[i].pid == row->pid && view->open[i].device == row->device &&
		    view->open[i].core == row->core)
			return true;
	return false;
}

/* Adds a copy; true: what is below it is shown, too */
static bool add(struct rows *rows, const struct top_row *row)
{
	struct top_row *list = rows->row;

	if (rows->n == rows->capacity) {
		list = realloc(list, (rows->capacity + 64) * sizeof(*list));
		if (!list)
			return false;
		rows->row = list;
		rows->capacity += 64;
	}
	list[rows->n] = *row;
	list[rows->n].open = row->inner && is_open(rows->view, row);
	return list[rows->n++].open;
}

static void add_kinds(struct rows *rows, const struct top_row *core, const struct tm_core_memory *m)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} kinds[] = {
		{ "Tensors", m->tensors },
		{ "Constants", m->constants },
		{ "Model Code", m->model_code },
		{ "Runtime Memory", m->runtime_memory },
		{ "Model Scratchpad", m->model_shared_scratchpad },
	};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct top_row row = *core;

		row.depth++;
		row.inner = false;
		row.device_bytes = kinds[i].bytes;
		snprintf(row.name, sizeof(row.name), "%s", kinds[i].name);
		add(rows, &row);
	}
}

static void add_core(struct rows *rows, const struct top_row *device, const struct tm_part *part,
		     unsigned nc)
{
	struct top_row row = *device;
	struct tm_core_memory m;

	tm_core_memory(part, nc, &m);
	row.core = nc + 1;
	row.depth++;
	row.device_bytes = tm_core_memory_sum(&m);
	snprintf(row.name, sizeof(row.name), "NC%u", nc);
	if (add(rows, &row))
		add_kinds(rows, &row, &m);
}

static uint64_t part_memory(const struct tm_snapshot *now, const struct tm_part *part)
{
	struct tm_core_memory m;
	uint64_t sum = 0;

	for (unsigned nc = 0; nc < now->device[part->device].cores; nc++) {
		tm_core_memory(part, nc, &m);
		sum = tm_sum(sum, tm_core_memory_sum(&m));
	}
	return sum;
}

static void add_device(struct rows *rows, const struct top_row *process, const struct tm_part *part)
{
	const struct tm_device *d = &rows->now->device[part->device];
	struct top_row row = *process;

	row.device = part->device + 1;
	row.depth++;
	row.host = 0;
	row.device_bytes = part_memory(rows->now, part);
	snprintf(row.name, sizeof(row.name), "ND%u", d->index);
	if (!add(rows, &row))
		return;
	for (unsigned nc = 0; nc < d->cores; nc++)
		if (tm_core_used(part, nc))
			add_core(rows, &row, part, nc);
}

static void add_process(struct rows *rows, const struct tm_process *p)
{
	struct top_row row = { .pid = p->pid, .inner = true };
	struct tm_host_memory m;

	tm_host_memory(p, &m);
	row.host = tm_host_memory_sum(&m);
	for (unsigned i = 0; i < p->parts; i++)
		row.device_bytes = tm_sum(row.device_bytes, part_memory(rows->now, &p->part[i]));
	snprintf(row.name, sizeof(row.name), "%d %.50s", p->pid, p->command);
	if (!add(rows, &row))
		return;
	for (unsigned i = 0; i < p->parts; i++)
		add_device(rows, &row, &p->part[i]);
}

struct top_row *top_tree(const struct top_view *view, const struct tm_snapshot *now, unsigned *n)
{
	struct rows rows = { .view = view, .now = now };

	for (unsigned i = 0; i < now->processes; i++)
		if (top_shows(view, &now->process[i]))
			add_process(&rows, &now->process[i]);
	*n = rows.n;
	return rows.row;
}
