/* SPDX-License-Identifier: MIT */
/*
 * Profiles (profile.c): what the chip counted of each execution while somebody wants to know it;
 * and sessions that write profiles and traces into a directory (inspect.c).
 */
#ifndef RT_PROFILE_H
#define RT_PROFILE_H

#include "nrt/nrt_profile.h"
#include "rt_model.h"
#include "rt_trace.h"

/* The state before a job that begins with sg, of a core whose exec is held */
struct rt_profile_run {
	bool on;
	uint64_t began_ns;
	struct ndlx_core_perf perf;
};
void rt_profile_begin(struct rt_profile_run *run, const struct rt_subgraph *sg);
void rt_profile_end(const struct rt_profile_run *run, const struct rt_subgraph *sg,
		    NRT_STATUS status);

/* A profile of all models, as a session wants it */
struct rt_profile_want {
	bool failures; /* only of executions that failed */
	bool first; /* of each model and core only the first */
};
NRT_STATUS rt_profile_all_start(const struct rt_profile_want *want);
/* Writes a file for each model and core into the directory. */
NRT_STATUS rt_profile_all_stop(const char *directory);

/* Makes "<output>/<instance>_pid_<pid>"; the caller frees it. NULL with details: it failed */
char *rt_profile_directory(const char *output);

void rt_inspect_from_environment(void); /* NEURON_RT_INSPECT_ENABLE, at nrt_init */
void rt_inspect_close(void); /* ends the session that it began */

#endif
