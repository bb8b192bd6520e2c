// SPDX-License-Identifier: MIT
/*
 * The sections of the screen from the top down. A bar of a core has the width that makes as many
 * cores of one device as fit stand in a line.
 */
#include "view.h"
#include "neuron_version.h"
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL 28 /* columns of a core: number, bar, value */
#define CELL_BAR 10

static struct top_line *add_line(struct top_lines *lines, enum top_style style, const char *format,
				 ...)
{
	struct top_line *list = lines->line;
	va_list args;

	if (lines->n == lines->capacity) {
		list = realloc(list, (lines->capacity + 64) * sizeof(*list));
		if (!list)
			return NULL;
		lines->line = list;
		lines->capacity += 64;
	}
	list += lines->n++;
	list->style = style;
	va_start(args, format);
	vsnprintf(list->text, sizeof(list->text), format, args);
	va_end(args);
	return list;
}

static void append(struct top_line *line, const char *format, ...)
{
	size_t used = line ? strlen(line->text) : 0;
	va_list args;

	if (!line)
		return;
	va_start(args, format);
	vsnprintf(line->text + used, sizeof(line->text) - used, format, args);
	va_end(args);
}

static const char *bytes_text(uint64_t bytes, char text[static 16])
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	unsigned u = 0;

	while (value >= 1000 && units[u + 1]) {
		value /= 1024;
		u++;
	}
	if (u)
		snprintf(text, 16, "%.*f%ciB", value < 10 ? 2 : 1, value, units[u]);
	else
		snprintf(text, 16, "%uB", (unsigned)bytes);
	return text;
}

static double seconds(const struct top_data *data)
{
	return data->before ? data->now->time - data->before->time : 0;
}

/* A core's work for all processes that are shown: percent, and operations a second */
static void core_load(const struct top_view *view, const struct top_data *data, unsigned device,
		      unsigned nc, double *percent, double *flops)
{
	double span = seconds(data);

	*percent = *flops = 0;
	for (unsigned i = 0; data->before && i < data->now->processes; i++) {
		const struct tm_process *p = &data->now->process[i];
		const struct tm_part *now = tm_find_part(p, device);
		const struct tm_part *old = tm_find_part(tm_find(data->before, p), device);

		if (!now || !top_shows(view, p))
			continue;
		*percent += tm_utilization(old, now, nc, span);
		*flops += 2 * (double)tm_rise(old, now, nc, NDS_NC_COUNTER_MAC_COUNT) / span;
	}
	if (*percent > 100)
		*percent = 100;
}

static void logical_load(const struct top_view *view, const struct top_data *data, unsigned device,
			 unsigned first, double *percent, double *flops)
{
	unsigned n = data->now->cores_of_one;

	*percent = *flops = 0;
	for (unsigned nc = first; nc < first + n; nc++) {
		double p, f;

		core_load(view, data, device, nc, &p, &f);
		*percent += p / n;
		*flops += f;
	}
}

static void append_core(struct top_line *line, const struct top_view *view,
			const struct top_data *data, unsigned device, unsigned nc)
{
	char bar[CELL_BAR + 1] = "";
	double percent, flops;

	logical_load(view, data, device, nc, &percent, &flops);
	for (unsigned i = 0; i < CELL_BAR; i++)
		bar[i] = percent >= (i + 0.5) * 100 / CELL_BAR ? '|' : ' ';
	append(line, "  NC%-3u[%s] ", tm_core_index(data->now, device, nc), bar);
	if (view->flops)
		append(line, "%7.3fT", flops * 1e-12);
	else
		append(line, "%7.2f%%", percent);
}

static void add_device(struct top_lines *lines, const struct top_view *view,
		       const struct top_data *data, unsigned device, unsigned width)
{
	const struct tm_device *d = &data->now->device[device];
	unsigned n = data->now->cores_of_one, columns = width > 6 + CELL ? (width - 6) / CELL : 1;
	struct top_line *line = NULL;

	for (unsigned i = 0; i < d->cores / n; i++) {
		char name[8];

		snprintf(name, sizeof(name), "ND%u", d->index);
		if (i % columns == 0)
			line = add_line(lines, TOP_PLAIN, "%-6s", i ? "" : name);
		append_core(line, view, data, device, i * n);
	}
	if (d->error)
		add_line(lines, TOP_PLAIN, "ND%-4u%s", d->index, strerror(-d->error));
}

static void add_cores(struct top_lines *lines, const struct top_view *view,
		      const struct top_data *data, unsigned width)
{
	const struct neuron_gen *gen = data->now->devices ? data->now->device[0].gen : NULL;
	const char *version = gen ? strchr(gen->core_arch, 'v') : NULL;

	add_line(lines, TOP_TITLE, "NeuronCore %s%s %s", version ? version : "",
		 data->now->cores_of_one > 1 ? "d" : "", view->flops ? "TFLOPS" : "Utilization");
	for (unsigned i = 0; i < data->now->devices; i++)
		add_device(lines, view, data, i, width);
	if (!data->now->devices)
		add_line(lines, TOP_PLAIN, "%s", data->now->error);
}

static double tick_share(uint64_t before, uint64_t now, uint64_t all)
{
	double share = now > before && all ? 100 * (double)(now - before) / (double)all : 0;

	return share > 100 ? 100 : share;
}

static void add_cpus(struct top_lines *lines, const struct top_view *view,
		     const struct top_data *data)
{
	const struct tm_cpus *now = &data->now->cpus,
			     *old = data->before ? &data->before->cpus : NULL;
	double user = 0, system = 0, own_user = 0, own_system = 0;
	uint64_t all = 0;

	if (old && old->n && now->n) {
		const uint64_t *a = old->row[0].ticks, *b = now->row[0].ticks;

		all = now->row[0].all - old->row[0].all;
		user = tick_share(a[TM_USER] + a[TM_NICE], b[TM_USER] + b[TM_NICE], all);
		system = tick_share(a[TM_SYSTEM] + a[TM_IRQ] + a[TM_SOFT_IRQ],
				    b[TM_SYSTEM] + b[TM_IRQ] + b[TM_SOFT_IRQ], all);
	}
	for (unsigned i = 0; all && i < data->now->processes; i++) {
		const struct tm_process *p = &data->now->process[i];
		const struct tm_process *before = tm_find(data->before, p);

		if (!before || !top_shows(view, p))
			continue;
		own_user += tick_share(before->user, p->user, tm_ticks(data->before, data->now));
		own_system +=
			tick_share(before->system, p->system, tm_ticks(data->before, data->now));
	}
	add_line(lines, TOP_TITLE, "VCPU Utilization");
	add_line(lines, TOP_PLAIN,
		 "System vCPU usage  %6.2f%% user %6.2f%% system   Runtime vCPU usage  %6.2f%% "
		 "user %6.2f%% system",
		 user, system, own_user, own_system);
}

/* A total and its parts */
struct part {
	const char *name;
	uint64_t bytes;
};

static void add_parts(struct top_lines *lines, const char *name, const struct part *part,
		      unsigned n)
{
	struct top_line *line;
	uint64_t sum = 0;
	char text[16];

	for (unsigned i = 0; i < n; i++)
		sum = tm_sum(sum, part[i].bytes);
	line = add_line(lines, TOP_PLAIN, "%-20s Total %-10s", name, bytes_text(sum, text));
	for (unsigned i = 0; i < n; i++)
		append(line, " %s %s", part[i].name, bytes_text(part[i].bytes, text));
}

static void add_memory(struct top_lines *lines, const struct top_view *view,
		       const struct top_data *data)
{
	struct tm_host_memory host = { 0 }, h;
	struct tm_core_memory core = { 0 }, c;

	for (unsigned i = 0; i < data->now->processes; i++) {
		const struct tm_process *p = &data->now->process[i];

		if (!top_shows(view, p))
			continue;
		tm_host_memory(p, &h);
		host.application = tm_sum(host.application, h.application);
		host.constants = tm_sum(host.constants, h.constants);
		host.dma_buffers = tm_sum(host.dma_buffers, h.dma_buffers);
		host.tensors = tm_sum(host.tensors, h.tensors);
		for (unsigned j = 0; j < p->parts * NEURON_CORES_MAX; j++) {
			tm_core_memory(&p->part[j / NEURON_CORES_MAX], j % NEURON_CORES_MAX, &c);
			core.tensors = tm_sum(core.tensors, c.tensors);
			core.constants = tm_sum(core.constants, c.constants);
			core.model_code = tm_sum(core.model_code, c.model_code);
			core.runtime_memory = tm_sum(core.runtime_memory, c.runtime_memory);
			core.model_shared_scratchpad =
				tm_sum(core.model_shared_scratchpad, c.model_shared_scratchpad);
		}
	}
	add_line(lines, TOP_TITLE, "Memory Usage Summary");
	add_parts(lines, "Host Used Memory",
		  (struct part[]){ { "Tensors", host.tensors },
				   { "Constants", host.constants },
				   { "DMA Buffers", host.dma_buffers },
				   { "App. Memory", host.application } },
		  4);
	add_parts(lines, "Device Used Memory",
		  (struct part[]){ { "Tensors", core.tensors },
				   { "Constants", core.constants },
				   { "Model Code", core.model_code },
				   { "Runtime Memory", core.runtime_memory },
				   { "Model Scratchpad", core.model_shared_scratchpad } },
		  5);
}

static void add_tree(struct top_lines *lines, struct top_view *view, const struct top_data *data,
		     unsigned width)
{
	unsigned n, names = width > 60 ? width - 30 : 30;
	struct top_row *row = top_tree(view, data->now, &n);
	char host[16], device[16], name[96];

	if (view->selected >= n)
		view->selected = n ? n - 1 : 0;
	add_line(lines, TOP_TITLE, "Memory Usage Details");
	add_line(lines, TOP_PLAIN, "%-*s %13s %13s", (int)names, "Model ID", "Host Memory",
		 "Device Memory");
	for (unsigned i = 0; i < n; i++) {
		if (i == view->selected)
			lines->selected = lines->n;
		snprintf(name, sizeof(name), "%*s[%c] %s", (int)row[i].depth * 2, "",
			 !row[i].inner ? ' '
			 : row[i].open ? '-'
				       : '+',
			 row[i].name);
		add_line(lines, i == view->selected ? TOP_SELECTED : TOP_PLAIN, "%-*.*s %13s %13s",
			 (int)names, (int)names, name,
			 row[i].host ? bytes_text(row[i].host, host) : "",
			 bytes_text(row[i].device_bytes, device));
	}
	free(row);
}

int top_view_lines(struct top_view *view, const struct top_data *data, unsigned width,
		   struct top_lines *lines)
{
	const struct tm_instance *i = data->instance;

	lines->n = 0;
	lines->selected = 0;
	add_line(lines, TOP_TITLE, "neuron-top %s%s%s%s%s", NEURON_EMULATOR_BUILD,
		 *i->id ? "  instance-id: " : "", i->id, *i->type ? "  instance-type: " : "",
		 i->type);
	add_cores(lines, view, data, width);
	add_cpus(lines, view, data);
	add_memory(lines, view, data);
	add_tree(lines, view, data, width);
	return lines->line ? 0 : -ENOMEM;
}

static unsigned chosen_tab(const struct top_view *view, const struct top_data *data)
{
	for (unsigned i = 0; view->pid && i < data->now->processes; i++)
		if (top_shows(view, &data->now->process[i]))
			return i + 1;
	return 0;
}

void top_view_tabs(const struct top_view *view, const struct top_data *data, unsigned width,
		   struct top_line *line)
{
	unsigned chosen = chosen_tab(view, data);

	line->style = TOP_TAB;
	line->text[0] = '\0';
	for (unsigned i = 0; i <= data->now->processes; i++) {
		const char *name = i ? data->now->process[i - 1].tag : "all";
		char number[8] = "";

		if (i && i < 10)
			snprintf(number, sizeof(number), "%u:", i);
		append(line, "%s", i ? "  " : "");
		if (i == chosen)
			line->begin = (unsigned)strlen(line->text);
		append(line, "%s%s%.24s%s", i == chosen ? ">" : "", number, name,
		       i == chosen ? "<" : "");
		if (i == chosen)
			line->end = (unsigned)strlen(line->text);
	}
}

void top_lines_free(struct top_lines *lines)
{
	free(lines->line);
	memset(lines, 0, sizeof(*lines));
}

void top_view_move(struct top_view *view, int rows)
{
	if (rows < 0 && view->selected < (unsigned)-rows)
		view->selected = 0;
	else
		view->selected += (unsigned)rows;
}

static void forget(struct top_view *view, const struct top_row *row)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < view->opened; i++)
		if (view->open[i].pid != row->pid || view->open[i].device != row->device ||
		    view->open[i].core != row->core)
			view->open[kept++] = view->open[i];
	view->opened = kept;
}

void top_view_toggle(struct top_view *view, const struct top_data *data)
{
	unsigned n;
	struct top_row *row = top_tree(view, data->now, &n);

	if (view->selected < n && row[view->selected].inner) {
		if (row[view->selected].open)
			forget(view, &row[view->selected]);
		else if (view->opened < TOP_OPEN_MAX)
			view->open[view->opened++] = row[view->selected];
	}
	free(row);
}

void top_view_tab(struct top_view *view, const struct top_data *data, unsigned n)
{
	if (n > data->now->processes)
		return;
	view->pid = n ? data->now->process[n - 1].pid : 0;
	view->started = n ? data->now->process[n - 1].started : 0;
	view->selected = 0;
}

void top_view_next(struct top_view *view, const struct top_data *data, int step)
{
	unsigned tabs = data->now->processes + 1;

	top_view_tab(view, data, (chosen_tab(view, data) + tabs + (unsigned)step) % tabs);
}
