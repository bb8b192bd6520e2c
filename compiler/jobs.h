/* SPDX-License-Identifier: MIT */
/* Parts of a compilation that do not need each other, on several threads (jobs.c) */
#ifndef NCC_JOBS_H
#define NCC_JOBS_H

#include "ncc.h"

/* One part: what it says and whether it goes on is by opt and err, which are its own. */
typedef int ncc_job_t(void *arg, unsigned int i, const struct ncc_options *opt,
		      struct ncc_error *err);

/*
 * Runs the parts 0 to n - 1, as far as opt->jobs allows at the same time. 0, or what the first part
 * that failed returned, with its error, as if they had run in their order.
 */
int ncc_jobs_run(unsigned int n, ncc_job_t *run, void *arg, const struct ncc_options *opt,
		 struct ncc_error *err);

#endif
