/* SPDX-License-Identifier: MIT */
/* Calls of the host between the parts of a program (calls.c) */
#ifndef RT_CALLS_H
#define RT_CALLS_H

#include "rt_exec.h"

/* Has this process a function for each call? */
NRT_STATUS rt_calls_check(const struct neff_model *neff);
/*
 * Makes the calls behind a part of the job's program. The exec of the core, and of a logical core's
 * second one, are held, but not while the host's function runs.
 */
NRT_STATUS rt_calls_make(const struct rt_job *job, unsigned int part);

#endif
