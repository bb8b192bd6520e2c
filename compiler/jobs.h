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

/* May parts be done at the same time, by options and host? */
bool ncc_jobs_several(const struct ncc_options *opt);

/*
 * Work that goes behind other work, on a thread of its own, as far as it is told that it may. One
 * thread calls all three.
 */
struct ncc_follower;
typedef int ncc_follow_t(void *arg, uint32_t end); /* does what is before end; 0 or -errno */
/* NULL: there is no thread for it, and the caller does the work itself */
struct ncc_follower *ncc_follower_begin(ncc_follow_t *follow, void *arg);
void ncc_follower_tell(struct ncc_follower *f, uint32_t end);
/* Once it has done all that it was told of, it is gone. Returns what follow did; f: or NULL, 0 */
int ncc_follower_end(struct ncc_follower *f);

#endif
