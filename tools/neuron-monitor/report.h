/* SPDX-License-Identifier: MIT */
/*
 * Groups of metrics as JSON objects, the schema of the 2.x tools (and the 1.x names where they are
 * asked for). Each is of what happened between two snapshots; before is NULL when there was none.
 */
#ifndef MONITOR_REPORT_H
#define MONITOR_REPORT_H

#include "config.h"
#include "metadata.h"
#include "telemetry.h"

#include <jansson.h>

/* The subject of a group: two snapshots, and a process in the later one */
struct report_span {
	const struct tm_snapshot *before, *now;
	double started; /* of the monitor: the first period begins there */
	const struct tm_process *process;
};

json_t *report_runtime_group(const struct report_span *span, enum runtime_group group);
json_t *report_system_group(const struct report_span *span, enum system_group group);
/* An empty group that says why */
json_t *report_failed_group(const struct report_span *span, const char *error);

json_t *report_instance(const struct tm_instance *instance);
json_t *report_hardware(const struct tm_snapshot *now);

#endif
