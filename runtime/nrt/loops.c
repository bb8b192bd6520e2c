/* SPDX-License-Identifier: MIT */
/*
 * Programs with loops: a core's program has no jumps, so its parts are subgraphs, executed one
 * behind the other on one core, some of them again while a byte that they leave in the shared
 * scratchpad is not 0 (docs/neff.md, Loops). The scratchpad keeps what passes from part to part
 * and from turn to turn. Called by model.c and, with the core's exec held, by exec.c.
 */
#include <stdlib.h>
#include <string.h>

#include "nrt_priv.h"

static NRT_STATUS find_loops(struct nrt_model *head)
{
	const struct neff_model *neff = head->neff;

	head->loops = calloc(neff->nloops, sizeof(*head->loops));
	if (!head->loops)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	for (; head->nloops < neff->nloops; head->nloops++) {
		const struct neff_loop *from = &neff->loops[head->nloops];
		struct rt_loop *loop = &head->loops[head->nloops];
		const struct nrt_model *stage = head->stage[from->last];

		loop->first = from->first;
		loop->last = from->last;
		/* libneff has seen that it is there */
		for (unsigned int i = 0; i < stage->nvars; i++)
			if (!strcmp(stage->vars[i].neff->name, from->condition))
				loop->condition = &stage->vars[i];
	}
	return NRT_SUCCESS;
}

NRT_STATUS rt_loops_build(struct nrt_model *head)
{
	unsigned int n = head->neff->nsubgraphs;
	NRT_STATUS status = NRT_SUCCESS;

	head->chunks = calloc(1, sizeof(*head->chunks));
	if (!head->chunks)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	for (unsigned int i = 0; i < n && !status; i++)
		status = rt_stage_add(head, head->core);
	if (!status)
		status = rt_place_virtual(head, head->stage, n);
	for (unsigned int i = 0; i < n && !status; i++) {
		status = rt_model_build(head->stage[i]);
		head->counters.macs_per_infer += head->stage[i]->counters.macs_per_infer;
	}
	return status ? status : find_loops(head);
}

static NRT_STATUS goes_on(const struct nrt_model *head, const struct rt_loop *loop, bool *yes)
{
	const struct rt_var *var = loop->condition;
	uint8_t value = 0;
	int err = ndl_memory_buf_copyout(head->core->dev, var->chunk->handle, &value, var->offset,
					 sizeof(value));

	*yes = value;
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "condition of a loop: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

/* What is executed behind part k; head->nstages: nothing */
static NRT_STATUS next_part(const struct nrt_model *head, unsigned int *k)
{
	NRT_STATUS status = NRT_SUCCESS;
	bool yes = false;

	for (unsigned int i = 0; i < head->nloops && !status; i++) {
		if (head->loops[i].last != *k)
			continue;
		status = goes_on(head, &head->loops[i], &yes);
		if (yes) {
			*k = head->loops[i].first;
			return status;
		}
	}
	++*k;
	for (unsigned int i = 0; i < head->nloops && !status; i++) {
		if (head->loops[i].first != *k)
			continue;
		status = goes_on(head, &head->loops[i], &yes);
		if (!yes)
			*k = head->loops[i].last + 1;
		break;
	}
	return status;
}

NRT_STATUS rt_loops_run(struct nrt_model *head)
{
	uint64_t deadline = rt_now_us() + (uint64_t)head->timeout_ms * 1000;
	NRT_STATUS worst = NRT_SUCCESS, status;
	unsigned int k = 0;

	do {
		status = rt_run(head->stage[k]);
		worst = status ? status : worst;
		if (rt_fatal(status))
			return status;
		status = next_part(head, &k);
		if (status)
			return status;
		if (k < head->nstages)
			status = rt_interrupted(head);
		if (status)
			return status;
		if (k < head->nstages && rt_now_us() > deadline)
			return rt_fail(NRT_TIMEOUT, "TDRV",
				       "execution timeout (%u ms) on Neuron Device %u NC %u: a "
				       "loop "
				       "that goes on",
				       head->timeout_ms, head->core->device, head->core->nc);
	} while (k < head->nstages);
	return worst;
}
