// SPDX-License-Identifier: MIT
/*
 * What happens while a profile is made: events of the plug-in's own, and those of the runtime's
 * trace (docs/nrt.md, Traces and profiles), whose begins and ends are matched by their ids.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler.h"

#define MOST 1000000 /* events of a profile */

static struct {
	pthread_mutex_t lock;
	struct npj_events events;
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };
static atomic_bool on;

int64_t npj_event_now(void)
{
	struct timespec t;

	if (!atomic_load_explicit(&on, memory_order_relaxed))
		return 0;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void npj_events_append(struct npj_events *events, const struct npj_event *e)
{
	const size_t capacity = events->capacity ? 2 * events->capacity : 256;

	if (events->n == events->capacity) {
		struct npj_event *more =
			capacity > MOST ? NULL : realloc(events->event, capacity * sizeof(*more));

		events->lost = events->lost || !more;
		if (!more)
			return;
		events->event = more;
		events->capacity = capacity;
	}
	events->event[events->n++] = *e;
}

void npj_event_add(const char *what, const char *name, int64_t begin)
{
	struct npj_event e = { .device = -1, .begin = begin, .end = npj_event_now(), .chip_ns = -1 };

	if (!begin || !e.end)
		return;
	snprintf(e.name, sizeof(e.name), "%s %.80s", what, name);
	pthread_mutex_lock(&own.lock);
	npj_events_append(&own.events, &e);
	pthread_mutex_unlock(&own.lock);
}

void npj_events_begin(void)
{
	pthread_mutex_lock(&own.lock);
	own.events.n = 0;
	own.events.lost = false;
	pthread_mutex_unlock(&own.lock);
	atomic_store(&on, true);
}

void npj_events_end(struct npj_events *events)
{
	atomic_store(&on, false);
	pthread_mutex_lock(&own.lock);
	for (size_t i = 0; i < own.events.n; i++)
		npj_events_append(events, &own.events.event[i]);
	events->lost = events->lost || own.events.lost;
	free(own.events.event);
	own.events = (struct npj_events){ 0 };
	pthread_mutex_unlock(&own.lock);
}

static int64_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* An event that has begun, and its place among those of the trace */
struct begun {
	int64_t id;
	const json_t *event;
};

static int by_id(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void add(struct npj_events *events, const json_t *begin, const json_t *end)
{
	const json_t *was = json_object_get(begin, "data"), *is = json_object_get(end, "data");
	const char *type = text_of(begin, "event_type");
	const char *model = text_of(was, "model_name");
	struct npj_event e = {
		.device = (int)number(begin, "nc_idx"),
		.begin = number(begin, "timestamp_ns"),
		.end = number(end, "timestamp_ns"),
		.chip_ns = -1,
	};

	e.chip = type && !strcmp(type, "nc_exec_running");
	if (e.chip)
		e.chip_ns = number(is, "nc_timestamp_ns") - number(was, "nc_timestamp_ns");
	if (e.chip && model && *model)
		snprintf(e.name, sizeof(e.name), "%.90s", model);
	else
		snprintf(e.name, sizeof(e.name), "%.40s%s%.50s", type ? type : "?",
			 model && *model ? " " : "", model ? model : "");
	npj_events_append(events, &e);
}

static bool is_phase(const json_t *e, const char *phase)
{
	const char *p = text_of(e, "phase");

	return p && !strcmp(p, phase);
}

/* Pairs each end with its begin; what has but one of both is left out */
static bool pair(struct npj_events *events, const json_t *list)
{
	const size_t n = json_array_size(list);
	struct begun *begun = calloc(n + 1, sizeof(*begun));
	size_t nbegun = 0;

	if (!begun)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *e = json_array_get(list, i);

		if (is_phase(e, "start"))
			begun[nbegun++] = (struct begun){ number(e, "tracking_id"), e };
	}
	qsort(begun, nbegun, sizeof(*begun), by_id);
	for (size_t i = 0; i < n; i++) {
		const json_t *e = json_array_get(list, i);
		const struct begun key = { number(e, "tracking_id"), NULL }, *b;

		b = is_phase(e, "stop") ? bsearch(&key, begun, nbegun, sizeof(*b), by_id) : NULL;
		if (b)
			add(events, b->event, e);
	}
	free(begun);
	return true;
}

bool npj_events_read(struct npj_events *events, const char *text, size_t size)
{
	json_t *root = json_loadb(text, size, 0, NULL);
	const json_t *list = json_object_get(root, "events");
	const bool ok = json_is_array(list) && pair(events, list);

	json_decref(root);
	return ok;
}
