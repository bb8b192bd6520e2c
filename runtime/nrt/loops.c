/* SPDX-License-Identifier: MIT */
/*
 * Programs with loops. A core's program has no jumps, so a program with loops is cut into parts:
 * subgraphs that one core executes one behind the other, some of them again while a byte that they
 * leave in the shared scratchpad is not 0 (docs/neff.md, Loops). The scratchpad keeps the values
 * that pass from part to part and from iteration to iteration.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_clock.h"
#include "rt_exec.h"

/* Parts that are executed again while the condition, a byte on the device, is not 0 */
struct loop {
	unsigned int first, last;
	const struct rt_var *condition;
};

struct rt_loops {
	unsigned int n;
	struct loop loop[];
};

static NRT_STATUS join(struct nrt_model *model)
{
	const struct neff_model *neff = model->neff;
	struct rt_loops *loops = calloc(1, sizeof(*loops) + neff->nloops * sizeof(loops->loop[0]));

	if (!loops)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	model->loops = loops;
	loops->n = neff->nloops;
	for (unsigned int i = 0; i < loops->n; i++) {
		const struct neff_loop *from = &neff->loops[i];

		/* libneff has checked that the condition exists */
		loops->loop[i] = (struct loop){
			.first = from->first,
			.last = from->last,
			.condition = rt_subgraph_var(&model->subgraph[from->last], NEFF_VAR_VIRTUAL,
						     from->condition),
		};
	}
	return rt_place_virtual(model->subgraph, model->nsubgraphs);
}

static NRT_STATUS goes_on(const struct nrt_model *model, const struct loop *loop, bool *yes)
{
	const struct rt_var *var = loop->condition;
	uint8_t value = 0;
	int err = ndl_memory_buf_copyout(model->core->dev, var->chunk->handle, &value, var->offset,
					 sizeof(value));

	*yes = value;
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "condition of a loop: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

/* Moves *k to the part that is executed after it; model->nsubgraphs means that none is. */
static NRT_STATUS next_part(const struct nrt_model *model, unsigned int *k)
{
	const struct rt_loops *loops = model->loops;
	NRT_STATUS status = NRT_SUCCESS;
	bool yes = false;

	for (unsigned int i = 0; i < loops->n && !status; i++) {
		if (loops->loop[i].last != *k)
			continue;
		status = goes_on(model, &loops->loop[i], &yes);
		if (yes) {
			*k = loops->loop[i].first;
			return status;
		}
	}

	++*k;

	for (unsigned int i = 0; i < loops->n && !status; i++) {
		if (loops->loop[i].first != *k)
			continue;
		status = goes_on(model, &loops->loop[i], &yes);
		if (!yes)
			*k = loops->loop[i].last + 1;
		break;
	}
	return status;
}

/* The loop may be one without an end, or one for which the time is too short. */
static NRT_STATUS timed_out(const struct rt_subgraph *sg, uint64_t iterations)
{
	char where[64];

	snprintf(where, sizeof(where), ": a loop goes on after %llu iterations",
		 (unsigned long long)iterations);
	return rt_timed_out(sg, where);
}

static NRT_STATUS run(const struct rt_job *job, uint64_t *device_us)
{
	struct nrt_model *model = job->sg->model;
	uint64_t deadline = rt_now_us() + (uint64_t)model->timeout_ms * 1000;
	NRT_STATUS worst = NRT_SUCCESS, status;
	uint64_t iterations = 0;
	unsigned int k = 0;

	do {
		const unsigned int was = k;

		status = rt_run(&job->sg[k], device_us);
		worst = status ? status : worst;
		if (rt_fatal(status))
			return status;

		status = next_part(model, &k);
		if (status)
			return status;
		iterations += k <= was;

		if (k < job->n)
			status = rt_interrupted(model);
		if (status)
			return status;

		if (k < job->n && rt_now_us() > deadline)
			return timed_out(&job->sg[k], iterations);
	} while (k < job->n);
	return worst;
}

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us)
{
	static const struct rt_steps steps = { .run = run };
	const struct rt_job job = { model->subgraph, model->nsubgraphs, &steps };

	return rt_job_execute(&job, io, device_us);
}

static void free_loops(struct nrt_model *model)
{
	free(model->loops);
}

const struct rt_kind rt_kind_loops = {
	.join = join,
	.execute = execute,
	.free = free_loops,
};
