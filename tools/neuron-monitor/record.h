/* SPDX-License-Identifier: MIT */
/* One record: the groups that are due, as a line of JSON. */
#ifndef MONITOR_RECORD_H
#define MONITOR_RECORD_H

#include "config.h"
#include "metadata.h"
#include "telemetry.h"

#define RECORD_MAX 65536 /* bytes with the newline: what line readers take by default */

/* The time at which a group is due, and the snapshot that it was last reported of */
struct due {
	double next;
	struct tm_snapshot *last;
};

struct schedule {
	double started;
	struct due runtime[ENTRIES_MAX][RUNTIME_GROUPS], system[SYSTEM_GROUPS];
};

/* Begins a schedule, with all groups due at once. */
void schedule_begin(struct schedule *s);
/* The moment of the next record */
double schedule_next(const struct schedule *s, const struct config *config);
void schedule_end(struct schedule *s);

/*
 * Makes the line of what is due now, which then is due again a period later. The caller frees it;
 * NULL: out of memory.
 */
char *record_make(struct schedule *s, const struct config *config, const struct tm_instance *self,
		  struct tm_snapshot *now);

#endif
