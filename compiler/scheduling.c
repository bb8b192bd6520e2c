/* SPDX-License-Identifier: MIT */
/*
 * Scheduling a program: what the nodes of a large one wait for is found by a thread that goes
 * behind the code generator.
 */
#include "scheduling.h"

#include "jobs.h"

static int follow(void *arg, uint32_t end)
{
	return ncc_sched_to(arg, end);
}

int ncc_scheduling_begin(struct ncc_scheduling *s, struct ncc_prog *prog)
{
	*s = (struct ncc_scheduling){ .told = 0 };
	return ncc_sched_begin(&s->sched, prog);
}

#define WORTH_NODES 1024 /* for a thread, or for waking it up */

void ncc_scheduling_settled(void *opaque, uint32_t nodes)
{
	struct ncc_scheduling *s = opaque;

	if (nodes - s->told < WORTH_NODES)
		return;
	s->told = nodes;
	if (!s->follower)
		s->follower = ncc_follower_begin(follow, s->sched);
	if (s->follower)
		ncc_follower_tell(s->follower, nodes);
}

int ncc_scheduling_spread(struct ncc_scheduling *s)
{
	int rc = ncc_follower_end(s->follower);

	s->follower = NULL;
	ncc_sched_spread(s->sched);
	return rc;
}

int ncc_scheduling_end(struct ncc_scheduling *s, struct ncc_stream stream[NEURON_ENGINES_MAX])
{
	return ncc_sched_end(s->sched, stream);
}

void ncc_scheduling_free(struct ncc_scheduling *s)
{
	ncc_follower_end(s->follower);
	ncc_sched_free(s->sched);
	*s = (struct ncc_scheduling){ .told = 0 };
}
