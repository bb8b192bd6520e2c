/* SPDX-License-Identifier: MIT */
/*
 * Profiles: the interface by which frameworks ask for one (profiler.c), whose layouts are those of
 * PJRT_Profiler_Extension; what happened meanwhile (profile_events.c); and the profile that is made
 * of it (profile_space.c).
 */
#ifndef NPJ_PROFILER_H
#define NPJ_PROFILER_H

#include "pjrt.h"

typedef struct {
	PJRT_Extension_Base base;
	const void *profiler_api;
	int64_t traceme_context_id;
} PJRT_Profiler_Extension;
static_assert(sizeof(PJRT_Profiler_Extension) == 40, "PJRT_Profiler_Extension");
extern PJRT_Profiler_Extension npj_profiler_extension;

/* Something that took its time. Times are the real-time clock's, ns */
struct npj_event {
	char name[96];
	int device; /* the runtime's number of the core; -1: the plug-in itself */
	bool chip; /* what the core did, else what the host did */
	int64_t begin, end;
	int64_t chip_ns; /* how long it took by the chip's clock; -1: it does not say */
};
struct npj_events {
	struct npj_event *event;
	size_t n, capacity;
	bool lost; /* there was no memory for some */
};

/* The plug-in's own events, while a profile is made */
void npj_events_begin(void);
void npj_events_end(struct npj_events *events); /* adds them; the caller frees event */
int64_t npj_event_now(void); /* 0: nobody profiles */
void npj_event_add(const char *what, const char *name, int64_t begin); /* nothing if that is 0 */
void npj_events_append(struct npj_events *events, const struct npj_event *e);
/* The runtime's, of its trace's text; false: it is none */
bool npj_events_read(struct npj_events *events, const char *text, size_t size);

/* The profile as bytes, which the caller frees; NULL: no memory. error: what went wrong, or NULL */
void *npj_space(const struct npj_events *events, const char *error, size_t *size);

#endif
