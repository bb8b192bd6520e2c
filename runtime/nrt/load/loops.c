/* SPDX-License-Identifier: MIT */
/*
 * Programs with loops. The compiler makes no jumps, but cuts a program with loops into parts:
 * subgraphs that one core executes one behind the other, some of them again while a byte that they
 * leave in the shared scratchpad is not 0 (docs/neff.md, Loops). The scratchpad keeps the values
 * that pass from part to part and from iteration to iteration. On a core that fetches its
 * instructions the parts become one program, whose jumps are made here (link.c); on others, and
 * where the core's queues are too few for all parts at once, it is fed one part after the other.
 * Of a logical core of two both cores have a program of each part, and go through them in step.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_calls.h"
#include "rt_clock.h"
#include "rt_kinds.h"
#include "rt_ranks.h"

/* Parts that are executed again while the condition, a byte on the device, is not 0 */
struct loop {
	unsigned int first, last;
	const struct rt_var *condition;
};

/* No two begin or end behind one part, which libneff has checked. */
struct rt_loops {
	unsigned int n;
	/* by part: the loop that begins with it, and that ends with it; NULL: none does */
	const struct loop **begins, **ends;
	struct loop loop[];
};

/* The descriptors of one iteration of a queue set, counted before they are built */
struct count {
	uint64_t tx, rx, rows;
};

static int count_packet(void *arg, const struct neff_packet *p)
{
	struct count *c = arg;

	c->tx += p->ntx;
	c->rx += p->nrx;
	return rt_iteration_fits((uint32_t)c->tx, (uint32_t)c->rx) ? 0 : -E2BIG;
}

static void count_dma(const struct neuron_target *target, const struct neff_dma *dma,
		      struct count *c)
{
	for (unsigned int i = 0; i < dma->ndesc; i++) {
		const struct neff_desc *d = &dma->desc[i];

		if (d->op != NEFF_COPY)
			c->rows += neff_row_count(d);
		else if (neff_packets(target, &d->from, 0, &d->to, 0, count_packet, c))
			return;
	}
	c->tx++;
	c->rx++;
}

/* Can each queue set of a part go round its rings without the host (iterations.c)? */
static bool iterations_fit(const struct rt_subgraph *sg)
{
	for (unsigned int q = 0; q < sg->neff->nqueues; q++) {
		const struct neff_engine *e = &sg->neff->engine[sg->neff->queues[q].owner];
		struct count c = { 0 };

		for (unsigned int i = 0; i < e->ndma; i++)
			if (e->dma[i].queue == q)
				count_dma(sg->target, &e->dma[i], &c);
		/* indices are copied byte by byte at worst */
		if (c.rows > RT_ITERATION_ROWS || c.tx > UINT32_MAX || c.rx > UINT32_MAX ||
		    !rt_iteration_fits((uint32_t)c.tx, (uint32_t)c.rx))
			return false;
	}
	return true;
}

/* Can a core's n parts be one program? Their queues have to find room at the same time. */
static bool can_unite(const struct rt_subgraph *sg, unsigned int n)
{
	unsigned int queues = 0;

	if (!rt_subgraph_fetches(sg))
		return false;
	for (unsigned int i = 0; i < n; i++) {
		if (!iterations_fit(&sg[i]))
			return false;
		queues += sg[i].neff->nqueues + rt_gather_queues(sg[i].neff) + rt_passes(&sg[i]);
	}
	return queues <= rt_data_queues(sg->core);
}

/* Makes one program of a core's n parts. */
static void unite(const struct nrt_model *model, struct rt_subgraph *sg, unsigned int n)
{
	unsigned int queues = 0;

	for (unsigned int i = 0; i < n; i++) {
		sg[i].self_refilling = true;
		sg[i].first_queue = queues;
		sg[i].nparts = 0;
		queues += sg[i].neff->nqueues + rt_gather_queues(sg[i].neff) + rt_passes(&sg[i]);
	}
	sg->nparts = n;
	/* libneff has checked that no two loops begin or end behind one part */
	for (unsigned int i = 0; i < model->loops->n; i++) {
		const struct loop *l = &model->loops->loop[i];

		sg[l->last].jump = (struct rt_jump){ l->condition, false, l->first };
		sg[l->first - 1].jump = (struct rt_jump){ l->condition, true, l->last + 1 };
	}
}

/*
 * Ranks go through their parts in one way: by the chip, or all by the host. A chip's guard lets no
 * process signal another one's cores.
 */
static NRT_STATUS join_ranks(struct nrt_model *model, bool *united)
{
	NRT_STATUS status = rt_ranks_join(model);

	if (!status)
		status = rt_pass_begin(model);
	return status ? status
		      : rt_ranks_agree(model,
				       *united && rt_ranks_are_own(model) && rt_pass_by_chip(model),
				       united);
}

static NRT_STATUS make_loops(struct nrt_model *model)
{
	const struct neff_model *neff = model->neff;
	const unsigned int n = neff_programs(neff);
	struct rt_loops *loops = calloc(1, sizeof(*loops) + neff->nloops * sizeof(loops->loop[0]));

	model->loops = loops;
	if (loops) {
		loops->begins = calloc(n + 1, sizeof(struct loop *));
		loops->ends = calloc(n + 1, sizeof(struct loop *));
	}
	if (!loops || !loops->begins || !loops->ends)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
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
		loops->begins[from->first] = loops->ends[from->last] = &loops->loop[i];
	}
	return NRT_SUCCESS;
}

static NRT_STATUS join(struct nrt_model *model)
{
	const struct neff_model *neff = model->neff;
	const unsigned int n = neff_programs(neff);
	bool united = !neff->ncalls; /* the host is called between two parts */
	NRT_STATUS status = make_loops(model);

	if (status)
		return status;
	for (unsigned int i = 0; i < model->nsubgraphs; i += n)
		united &= can_unite(&model->subgraph[i], n);
	status = model->kind->siblings ? rt_logical_join(model)
				       : rt_place_virtual(model->subgraph, model->nsubgraphs);
	if (!status && neff->ranks)
		status = join_ranks(model, &united);
	for (unsigned int i = 0; united && !status && i < model->nsubgraphs; i += n)
		unite(model, &model->subgraph[i], n);
	return status;
}

unsigned int rt_loop_ends(const struct nrt_model *model, unsigned int part)
{
	const struct loop *loop = model->loops->ends[part];

	return loop ? (unsigned int)(loop - model->loops->loop) + 1 : 0;
}

static NRT_STATUS goes_on(const struct nrt_model *model, const struct loop *loop, bool *yes)
{
	const struct rt_var *var = loop->condition;
	uint8_t value = 0;
	int err = ndlx_memory_buf_copyout(model->core->dev, var->chunk->handle, &value, var->offset,
					  sizeof(value));

	*yes = value;
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "condition of a loop: %s",
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* Moves *k to the part that is executed after it; the number of parts means that none is. */
static NRT_STATUS next_part(const struct nrt_model *model, unsigned int *k)
{
	const struct rt_loops *loops = model->loops;
	NRT_STATUS status = NRT_SUCCESS;
	const struct loop *loop = loops->ends[*k];
	bool yes = false;

	if (loop)
		status = goes_on(model, loop, &yes);
	if (status || yes) {
		*k = yes ? loop->first : *k;
		return status;
	}
	loop = loops->begins[++*k];
	if (loop)
		status = goes_on(model, loop, &yes);
	if (loop && !yes)
		*k = loop->last + 1;
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

/*
 * The host's time is none of the program's, and that of other ranks, which may call the host, is
 * none of this one's: who takes too long is ended by its own deadline, and the others with it.
 */
static NRT_STATUS between(const struct rt_job *job, unsigned int part, uint64_t *deadline)
{
	struct nrt_model *model = job->sg->model;
	const uint64_t began = rt_now_us();
	NRT_STATUS status = model->group ? rt_pass_by_host(model, part) : NRT_SUCCESS;

	if (!status)
		status = rt_calls_make(job, part);
	*deadline += rt_now_us() - began;
	return status;
}

static NRT_STATUS run(const struct rt_job *job, uint64_t *device_us)
{
	struct nrt_model *model = job->sg->model;
	uint64_t deadline = rt_now_us() + (uint64_t)model->timeout_ms * 1000;
	NRT_STATUS worst = NRT_SUCCESS, status;
	const unsigned int n = neff_programs(model->neff);
	uint64_t iterations = 0;
	unsigned int k = 0;

	do {
		const unsigned int was = k;

		status = n < job->n ? rt_run_both(&job->sg[k], &job->sg[n + k], device_us)
				    : rt_run(&job->sg[k], device_us);
		worst = status ? status : worst;
		if (rt_fatal(status))
			return status;

		status = between(job, k, &deadline);
		if (!status)
			status = next_part(model, &k);
		if (status)
			return status;
		iterations += k <= was;

		if (k < n)
			status = rt_interrupted(model);
		if (status)
			return status;

		if (k < n && rt_now_us() > deadline)
			return timed_out(&job->sg[k], iterations);
	} while (k < n);
	return worst;
}

static NRT_STATUS run_united(const struct rt_job *job, uint64_t *device_us)
{
	return job->sg->model->kind->siblings ? rt_logical_run(job, device_us)
					      : rt_run(job->sg, device_us);
}

/*
 * A rank begins when all have their inputs and their cores, and ends when all have. If one has
 * failed, what others did may have reached this core behind its end or its reset.
 */
static NRT_STATUS run_rank(const struct rt_job *job, uint64_t *device_us)
{
	struct nrt_model *model = job->sg->model;
	NRT_STATUS status = rt_ranks_start(model, NRT_SUCCESS);

	model->started = true;
	if (status)
		return status;
	status = job->sg->nparts > 1 ? run_united(job, device_us) : run(job, device_us);
	status = rt_ranks_end(model, status);
	if (rt_fatal(status) && model->kind->siblings)
		rt_core_reset_both(model->core, model->core->sibling);
	else if (rt_fatal(status))
		rt_core_reset(model->core);
	return status;
}

static NRT_STATUS execute_rank(const struct rt_job *job, const struct rt_io *io,
			       uint64_t *device_us)
{
	struct nrt_model *model = job->sg->model;
	NRT_STATUS status = rt_ranks_come(model);

	if (status)
		return status;
	model->started = false;
	status = model->kind->siblings ? rt_logical_execute(job, io, device_us)
				       : rt_job_execute(job, io, device_us);
	/* the others wait for what did not begin, too */
	if (!model->started)
		rt_ranks_start(model, rt_fatal(status) ? status : NRT_FAILURE);
	rt_ranks_go(model);
	return status;
}

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us)
{
	static const struct rt_steps parts = { .run = run }, united = { .run = run_united },
				     rank = { .run = run_rank };
	const struct rt_job job = { model->subgraph, model->nsubgraphs,
				    model->group		  ? &rank
				    : model->subgraph->nparts > 1 ? &united
								  : &parts };

	return model->group ? execute_rank(&job, io, device_us)
			    : rt_job_execute(&job, io, device_us);
}

static NRT_STATUS execute_logical(struct nrt_model *model, const struct rt_io *io,
				  uint64_t *device_us)
{
	static const struct rt_steps parts = { .begin = rt_logical_begin, .run = run },
				     united = { .begin = rt_logical_begin, .run = rt_logical_run },
				     rank = { .begin = rt_logical_begin, .run = run_rank };
	const struct rt_job job = { model->subgraph, model->nsubgraphs,
				    model->group		  ? &rank
				    : model->subgraph->nparts > 1 ? &united
								  : &parts };

	return model->group ? execute_rank(&job, io, device_us)
			    : rt_logical_execute(&job, io, device_us);
}

static void free_loops(struct nrt_model *model)
{
	rt_ranks_leave(model);
	if (model->loops) {
		free(model->loops->begins);
		free(model->loops->ends);
	}
	free(model->loops);
}

const struct rt_kind rt_kind_loops = {
	.join = join,
	.execute = execute,
	.free = free_loops,
};

const struct rt_kind rt_kind_logical_loops = {
	.siblings = true,
	.join = join,
	.execute = execute_logical,
	.free = free_loops,
};
