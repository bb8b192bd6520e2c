// SPDX-License-Identifier: MIT
/*
 * A profile of events: a plane for each core, with a line of what it did and one of what the
 * runtime did for it, and one of the plug-in. Names are listed once in each plane.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler.h"
#include "xplane.pb-c.h"

enum { CHIP, HOST, LINES };
#define CHIP_STAT 1 /* the only one: how long it took by the chip's clock */

struct plane {
	Npj__Plane p;
	Npj__Line line[LINES], *lines[LINES];
	Npj__NamedEntry stat, *stats[1];
	Npj__Named stat_name;
	char name[32];
	int device;
	int64_t first; /* the earliest event's begin */
};

struct space {
	const struct npj_events *events;
	struct plane *plane;
	size_t nplanes;
	/* one of each event, used by one plane */
	Npj__Event *event;
	Npj__Stat *stat;
	Npj__NamedEntry *entry;
	Npj__Named *named;
};

static void plane_init(struct plane *p, int device, size_t n)
{
	static char *const names[LINES] = { "Programs", "Runtime" };

	npj__plane__init(&p->p);
	p->device = device;
	snprintf(p->name, sizeof(p->name), device < 0 ? "/host:neuron-pjrt" : "/device:NEURON:%d",
		 device);
	p->p.name = p->name;
	p->p.id = device + 1;
	for (int k = 0; k < LINES; k++) {
		npj__line__init(&p->line[k]);
		p->line[k].id = k + 1;
		p->line[k].name = device < 0 ? "Compilations and callbacks" : names[k];
		p->line[k].events = calloc(n + 1, sizeof(Npj__Event *));
	}
	npj__named_entry__init(&p->stat);
	npj__named__init(&p->stat_name);
	p->stat.key = p->stat_name.id = CHIP_STAT;
	p->stat_name.name = "nc_duration_ns";
	p->stat.value = &p->stat_name;
	p->stats[0] = &p->stat;
	p->p.stat_metadata = p->stats;
	p->p.n_stat_metadata = 1;
	p->p.event_metadata = calloc(n + 1, sizeof(Npj__NamedEntry *));
}

static struct plane *plane_of(struct space *s, const struct npj_event *e)
{
	struct plane *p;

	for (size_t i = 0; i < s->nplanes; i++)
		if (s->plane[i].device == e->device)
			return &s->plane[i];
	p = realloc(s->plane, (s->nplanes + 1) * sizeof(*p));
	if (!p)
		return NULL;
	s->plane = p;
	p += s->nplanes++;
	memset(p, 0, sizeof(*p));
	plane_init(p, e->device, s->events->n);
	p->first = e->begin;
	return p;
}

/* The number of a name in the plane's list */
static int64_t name_in(struct space *s, struct plane *p, size_t i)
{
	Npj__NamedEntry *entry = &s->entry[i];
	Npj__Named *named = &s->named[i];
	char *name = s->events->event[i].name;

	for (size_t k = 0; k < p->p.n_event_metadata; k++)
		if (!strcmp(p->p.event_metadata[k]->value->name, name))
			return p->p.event_metadata[k]->key;
	npj__named_entry__init(entry);
	npj__named__init(named);
	entry->key = named->id = (int64_t)p->p.n_event_metadata + 1;
	named->name = name;
	entry->value = named;
	p->p.event_metadata[p->p.n_event_metadata++] = entry;
	return entry->key;
}

static void put(struct space *s, struct plane *p, size_t i)
{
	const struct npj_event *e = &s->events->event[i];
	Npj__Line *line = &p->line[e->chip ? CHIP : HOST];
	Npj__Stat *stat = &s->stat[i];
	Npj__Event *x = &s->event[i];

	npj__event__init(x);
	x->metadata_id = name_in(s, p, i);
	x->offset_ps = (e->begin - p->first) * 1000;
	x->duration_ps = e->end > e->begin ? (e->end - e->begin) * 1000 : 0;
	if (e->chip_ns >= 0) {
		npj__stat__init(stat);
		stat->metadata_id = CHIP_STAT;
		stat->int64_value = e->chip_ns;
		x->stats = calloc(1, sizeof(Npj__Stat *));
		x->n_stats = x->stats ? 1 : 0;
		if (x->stats)
			x->stats[0] = stat;
	}
	line->events[line->n_events++] = x;
}

static bool fill(struct space *s)
{
	for (size_t i = 0; i < s->events->n; i++) {
		struct plane *p = plane_of(s, &s->events->event[i]);

		if (!p || !p->line[CHIP].events || !p->line[HOST].events || !p->p.event_metadata)
			return false;
		if (s->events->event[i].begin < p->first)
			p->first = s->events->event[i].begin;
	}
	for (size_t i = 0; i < s->events->n; i++)
		put(s, plane_of(s, &s->events->event[i]), i);
	return true;
}

static void *pack(struct space *s, const char *error, size_t *size)
{
	Npj__Space space = NPJ__SPACE__INIT;
	Npj__Plane **planes = calloc(s->nplanes + 1, sizeof(Npj__Plane *));
	char *errors[1] = { (char *)(uintptr_t)error };
	void *bytes = NULL;

	for (size_t i = 0; planes && i < s->nplanes; i++) {
		struct plane *p = &s->plane[i];

		for (int k = 0; k < LINES; k++) {
			p->line[k].timestamp_ns = p->first;
			if (p->line[k].n_events)
				p->lines[p->p.n_lines++] = &p->line[k];
		}
		p->p.lines = p->lines;
		p->p.stat_metadata = p->stats;
		p->stats[0] = &p->stat;
		p->stat.value = &p->stat_name;
		p->p.name = p->name;
		planes[i] = &p->p;
	}
	space.planes = planes;
	space.n_planes = s->nplanes;
	space.errors = errors;
	space.n_errors = error ? 1 : 0;
	*size = planes ? npj__space__get_packed_size(&space) : 0;
	bytes = planes ? malloc(*size + 1) : NULL;
	if (bytes)
		npj__space__pack(&space, bytes);
	free(planes);
	return bytes;
}

void *npj_space(const struct npj_events *events, const char *error, size_t *size)
{
	const size_t n = events->n + 1;
	struct space s = { .events = events,
			   .event = calloc(n, sizeof(*s.event)),
			   .stat = calloc(n, sizeof(*s.stat)),
			   .entry = calloc(n, sizeof(*s.entry)),
			   .named = calloc(n, sizeof(*s.named)) };
	void *bytes = NULL;

	if (s.event && s.stat && s.entry && s.named && fill(&s))
		bytes = pack(&s, error, size);
	for (size_t i = 0; s.event && i < events->n; i++)
		free(s.event[i].stats);
	for (size_t i = 0; i < s.nplanes; i++) {
		for (int k = 0; k < LINES; k++)
			free(s.plane[i].line[k].events);
		free(s.plane[i].p.event_metadata);
	}
	free(s.plane);
	free(s.event);
	free(s.stat);
	free(s.entry);
	free(s.named);
	return bytes;
}
