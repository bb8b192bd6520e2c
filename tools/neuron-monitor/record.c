// SPDX-License-Identifier: MIT
/*
 * Records: each entry of the configuration has a schedule of its own for each of its groups, and a
 * process has the groups of every entry that it matches.
 */
#include "record.h"
#include "host.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD_IDLE 5.0 /* where the configuration names no group */
#define FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10))

void schedule_begin(struct schedule *s)
{
	memset(s, 0, sizeof(*s));
	s->started = tm_now();
}

static double earliest(double next, double period, const struct due *due)
{
	return period && (!next || due->next < next) ? due->next : next;
}

double schedule_next(const struct schedule *s, const struct config *config)
{
	double next = 0;

	for (unsigned e = 0; e < config->entries; e++)
		for (unsigned g = 0; g < RUNTIME_GROUPS; g++)
			next = earliest(next, config->entry[e].period[g], &s->runtime[e][g]);
	for (unsigned g = 0; g < SYSTEM_GROUPS; g++)
		next = earliest(next, config->period[g], &s->system[g]);
	return next ? next : tm_now() + PERIOD_IDLE;
}

void schedule_end(struct schedule *s)
{
	for (unsigned e = 0; e < ENTRIES_MAX; e++)
		for (unsigned g = 0; g < RUNTIME_GROUPS; g++)
			tm_snapshot_drop(s->runtime[e][g].last);
	for (unsigned g = 0; g < SYSTEM_GROUPS; g++)
		tm_snapshot_drop(s->system[g].last);
	memset(s, 0, sizeof(*s));
}

static bool is_due(double period, const struct due *due, const struct tm_snapshot *now)
{
	return period && due->next <= now->time;
}

/* After it was reported; periods that were missed are left out */
static void advance(double period, struct due *due, struct tm_snapshot *now)
{
	if (!is_due(period, due, now))
		return;
	due->next += period;
	if (due->next <= now->time)
		due->next = now->time + period;
	tm_snapshot_drop(due->last);
	due->last = tm_snapshot_hold(now);
}

/* The parts of a record */
struct making {
	struct schedule *s;
	const struct config *config;
	struct tm_snapshot *now;
	json_t *runtimes;
	bool first_generation; /* its names are asked for, so its keys are added */
	int daemon[ENTRIES_MAX]; /* the process at an entry's address; 0: none */
};

static bool matches(const struct making *m, unsigned entry, const struct tm_process *p)
{
	const struct config_entry *e = &m->config->entry[entry];

	if (*e->address)
		return m->daemon[entry] == p->pid;
	return !e->filtered || !regexec(&e->filter, p->tag, 0, NULL, 0);
}

/* The groups of an entry that are due; of no process: each with the error */
static void add_groups(const struct making *m, unsigned entry, const struct tm_process *p,
		       const char *error, json_t *report)
{
	for (unsigned g = 0; g < RUNTIME_GROUPS; g++) {
		const struct due *due = &m->s->runtime[entry][g];
		struct report_span span = { due->last, m->now, m->s->started, p };
		const char *name = runtime_group_names[g];

		if (!is_due(m->config->entry[entry].period[g], due, m->now) ||
		    json_object_get(report, name))
			continue;
		json_object_set_new(report, name,
				    p ? report_runtime_group(&span, (enum runtime_group)g)
				      : report_failed_group(&span, error));
	}
}

static void add_runtime(const struct making *m, const struct tm_process *p, const char *address,
			const char *error, json_t *report)
{
	json_t *o;

	if (!json_object_size(report)) {
		json_decref(report);
		return;
	}
	o = json_pack("{s:i, s:s, s:s, s:s, s:o}", "pid", p && !*address ? p->pid : 0, "address",
		      address, "neuron_runtime_tag", *address ? address : p->tag, "error", error,
		      "report", report);
	if (m->first_generation)
		json_object_set_new(o, "neuron_runtime_index",
				    json_integer((json_int_t)json_array_size(m->runtimes)));
	json_array_append_new(m->runtimes, o);
}

/* A process by its tag, with the groups of all entries without an address that it matches */
static void add_process(const struct making *m, const struct tm_process *p)
{
	json_t *report = json_object();

	for (unsigned e = 0; e < m->config->entries; e++)
		if (!*m->config->entry[e].address && matches(m, e, p))
			add_groups(m, e, p, "", report);
	add_runtime(m, p, "", "", report);
}

/* A daemon by its address: it is reported even if there is none, so that its absence is seen */
static void add_daemon(const struct making *m, unsigned entry)
{
	const char *address = m->config->entry[entry].address, *error;
	const struct tm_process *found = NULL;
	json_t *report = json_object();

	for (unsigned i = 0; i < m->now->processes; i++)
		if (matches(m, entry, &m->now->process[i]))
			found = &m->now->process[i];
	error = found		   ? ""
		: m->daemon[entry] ? "the process at this address uses no Neuron device"
				   : "no daemon listens at this address";
	add_groups(m, entry, found, error, report);
	add_runtime(m, found, address, error, report);
}

static bool asks_first_generation(const struct config *config)
{
	for (unsigned e = 0; e < config->entries; e++)
		if (config->entry[e].period[GROUP_INFERENCE_STATS] ||
		    config->entry[e].period[GROUP_RUNTIME_HW_COUNTERS])
			return true;
	return false;
}

static void add_runtimes(struct making *m)
{
	for (unsigned e = 0; e < m->config->entries; e++)
		if (*m->config->entry[e].address)
			m->daemon[e] = ls_host_listener(m->config->entry[e].address + 5);
	for (unsigned i = 0; i < m->now->processes; i++)
		add_process(m, &m->now->process[i]);
	for (unsigned e = 0; e < m->config->entries; e++)
		if (*m->config->entry[e].address)
			add_daemon(m, e);
}

static json_t *system_data(const struct making *m)
{
	json_t *o = json_object();

	for (unsigned g = 0; g < SYSTEM_GROUPS; g++) {
		struct report_span span = { m->s->system[g].last, m->now, m->s->started, NULL };

		if (is_due(m->config->period[g], &m->s->system[g], m->now))
			json_object_set_new(o, system_group_names[g],
					    report_system_group(&span, (enum system_group)g));
	}
	return o;
}

#define TOO_LONG "left out: the record would exceed 64 KiB"

static void drop_models(json_t *runtime)
{
	json_t *report = json_object_get(runtime, "report");
	json_t *used = json_object_get(report, "memory_used");

	if (!used || !json_array_size(json_object_get(used, "loaded_models")))
		return;
	json_array_clear(json_object_get(used, "loaded_models"));
	json_object_set_new(used, "error", json_string("loaded_models " TOO_LONG));
}

static void drop_report(json_t *runtime)
{
	json_object_clear(json_object_get(runtime, "report"));
	json_object_set_new(runtime, "error", json_string(TOO_LONG));
}

/*
 * With very many processes or models a line becomes longer than its readers take: from the last
 * process on, the lists of models are left out, and then, with an error in their place, the groups.
 */
static char *dump(json_t *root, json_t *runtimes)
{
	static void (*const drop[])(json_t *) = { drop_models, drop_report };
	char *text = json_dumps(root, FLAGS);

	for (unsigned d = 0; d < 2; d++)
		for (size_t i = json_array_size(runtimes); text && i; i--) {
			if (strlen(text) < RECORD_MAX)
				return text;
			drop[d](json_array_get(runtimes, i - 1));
			free(text);
			text = json_dumps(root, FLAGS);
		}
	return text;
}

static void advance_all(struct making *m)
{
	for (unsigned e = 0; e < m->config->entries; e++)
		for (unsigned g = 0; g < RUNTIME_GROUPS; g++)
			advance(m->config->entry[e].period[g], &m->s->runtime[e][g], m->now);
	for (unsigned g = 0; g < SYSTEM_GROUPS; g++)
		advance(m->config->period[g], &m->s->system[g], m->now);
}

char *record_make(struct schedule *s, const struct config *config, const struct tm_instance *self,
		  struct tm_snapshot *now)
{
	struct making m = { .s = s, .config = config, .now = now, .runtimes = json_array() };
	json_t *root = json_object(), *instance = report_instance(self);
	char *text;

	m.first_generation = asks_first_generation(config);
	add_runtimes(&m);
	json_object_set(root, "neuron_runtime_data", m.runtimes);
	json_object_set_new(root, "system_data", system_data(&m));
	if (m.first_generation)
		json_object_set(root, "instance_data", instance);
	json_object_set_new(root, "instance_info", instance);
	json_object_set_new(root, "neuron_hardware_info", report_hardware(now));
	text = dump(root, m.runtimes);
	json_decref(m.runtimes);
	json_decref(root);
	advance_all(&m);
	return text;
}
