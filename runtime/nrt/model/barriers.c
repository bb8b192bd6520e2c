/* SPDX-License-Identifier: MIT */
/* See rt_ranks.h: the barriers of an execution that ranks have together. */
#include <stdio.h>

#include "rt_clock.h"
#include "rt_group.h"

static NRT_STATUS is_gone(const struct rt_group *g)
{
	if (cc_spoiled(rt_board()))
		return rt_group_spoiled();
	return rt_fail(NRT_FAILURE, "NMGR",
		       g->member[g->gone].dead ? "the process of rank %u of %u has ended"
					       : "rank %u of %u was unloaded",
		       g->gone, g->n);
}

/* How long a rank waits for the others to begin */
static uint32_t patience(const struct nrt_model *model)
{
	const bool apart = cc_board_is_shared(rt_board()) && !rt_ranks_are_own(model);

	return apart && !model->timeout_given && model->timeout_ms < RT_APART_MS
		       ? RT_APART_MS
		       : model->timeout_ms;
}

static NRT_STATUS not_come(const struct rt_group *g, const struct nrt_model *model)
{
	uint32_t missing = 0;

	while (missing + 1 < g->n && g->member[missing].here)
		missing++;
	return rt_fail(NRT_TIMEOUT, "NMGR",
		       "execution timeout (%u ms): rank %u of %u, on nd%u nc%u, has not begun",
		       patience(model), missing, g->n, g->member[missing].rank.device,
		       g->member[missing].rank.nc);
}

/* Waits until no group has a gate; false: something has happened to this one, which does not get
 * it. */
static bool take_gate(struct rt_group *g, unsigned int gate, const bool *wanted)
{
	while (*rt_group_gate(gate) && *wanted && !cc_spoiled(rt_board())) {
		struct rt_group *other = NULL;

		if (cc_wait(rt_board(), rt_group_gate(gate) + 1, RT_LOOK_MS * 1000))
			continue;
		/* whoever has it may not be there any more */
		while ((other = cc_slot_next(rt_board(), other)))
			if (other->has[gate] || other == g)
				rt_group_look(other);
	}
	if (!*wanted || cc_spoiled(rt_board()))
		return false;
	g->has[gate] = true;
	*rt_group_gate(gate) = 1;
	return true;
}

/* The last rank at the first barrier gets the gate for all, and the execution begins. */
static void begin_all(struct rt_group *g)
{
	g->leaving = true;
	if (!take_gate(g, RT_CORES, &g->leaving))
		return; /* a rank has ended meanwhile */
	g->leaving = false;
	atomic_store(&g->failed, false);
	g->status = NRT_SUCCESS;
	rt_group_open(g, RT_COME);
}

/* Another thread's execution of this rank comes first. */
static NRT_STATUS wait_turn(struct rt_group *g, const struct nrt_model *model, uint64_t deadline)
{
	while (g->member[model->rank].here && !g->broken && rt_now_us() < deadline)
		rt_group_wait(g);
	if (g->broken)
		return is_gone(g);
	return g->member[model->rank].here
		       ? rt_fail(NRT_TIMEOUT, "NMGR",
				 "execution timeout (%u ms): the rank still executes",
				 patience(model))
		       : NRT_SUCCESS;
}

static NRT_STATUS come(struct rt_group *g, struct nrt_model *model, uint64_t deadline)
{
	const uint64_t generation = g->barrier[RT_COME].generation;
	struct rt_member *own = &g->member[model->rank];
	NRT_STATUS status = NRT_SUCCESS;

	own->here = true;
	own->waits = RT_COME + 1;
	if (++g->barrier[RT_COME].here == g->n)
		begin_all(g);
	while (g->barrier[RT_COME].generation == generation && !status) {
		if (!g->leaving && g->broken)
			status = is_gone(g);
		else if (!g->leaving && rt_now_us() >= deadline)
			status = not_come(g, model);
		else if (!g->leaving && atomic_load(&model->interrupted))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "the execution was interrupted");
		if (!status && g->barrier[RT_COME].generation == generation)
			rt_group_wait(g);
	}
	if (status) {
		g->barrier[RT_COME].here--;
		own->waits = 0;
		own->here = false;
		rt_group_wake(g);
	}
	return status;
}

NRT_STATUS rt_ranks_come(struct nrt_model *model)
{
	struct rt_group *g = model->group;
	const uint32_t ms = patience(model);
	const uint64_t deadline = rt_now_us() + ms * 1000ull;
	NRT_STATUS status;

	rt_group_lock(g);
	status = wait_turn(g, model, deadline);
	if (!status)
		status = come(g, model, deadline);
	rt_group_unlock();
	return status;
}

/* With the lock: what all ranks say when one has failed */
static NRT_STATUS result(const struct rt_group *g, const struct nrt_model *model, NRT_STATUS own)
{
	const struct rt_rank *r = &g->member[g->culprit].rank;

	if (rt_fatal(own) || !atomic_load(&g->failed))
		return own;
	return rt_fail(model->rank == g->culprit ? g->status : NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
		       "rank %u of %u, on nd%u nc%u, failed: %s%s%s", g->culprit, g->n, r->device,
		       r->nc, nrt_get_status_as_str(g->status), *g->details ? ": " : "",
		       g->details);
}

static void note_failure(struct rt_group *g, const struct nrt_model *model, NRT_STATUS own)
{
	if (rt_fatal(own))
		rt_group_fail(g, model->rank, own, nrtx_error_details());
}

/*
 * This rank is at the barrier, which opens if it was the last one. Returns how often it had opened
 * before.
 */
static uint64_t arrive(struct rt_group *g, const struct nrt_model *model, unsigned int which,
		       NRT_STATUS own)
{
	const uint64_t generation = g->barrier[which].generation;

	note_failure(g, model, own);
	g->member[model->rank].waits = (uint8_t)(which + 1);
	if (++g->barrier[which].here == g->n - g->dead)
		rt_group_open(g, which);
	return generation;
}

/*
 * Waits at a barrier until all ranks are there; none that is alive fails to come, so there is no
 * time-out.
 */
static NRT_STATUS barrier(struct nrt_model *model, unsigned int which, NRT_STATUS own)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;
	uint64_t generation;

	rt_group_lock(g);
	generation = arrive(g, model, which, own);
	/* who waits there need not do so any more if this is the end */
	if (g->barrier[RT_PASS].here)
		rt_group_wake(g);
	while (g->barrier[which].generation == generation && !cc_spoiled(rt_board()))
		rt_group_wait(g);
	if (g->barrier[which].generation == generation) {
		rt_group_unlock();
		return rt_group_spoiled();
	}
	/* one that has begun, and failed by now, is met at the end, where all have to come */
	status = g->barrier[which].failed ? result(g, model, own) : own;
	rt_group_unlock();
	return status;
}

NRT_STATUS rt_ranks_start(struct nrt_model *model, NRT_STATUS own)
{
	return barrier(model, RT_START, own);
}

/* Whoever is at the end already does not come to this one, and the others need not wait for it. */
NRT_STATUS rt_ranks_barrier(struct nrt_model *model, NRT_STATUS own)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;
	uint64_t generation;

	rt_group_lock(g);
	generation = arrive(g, model, RT_PASS, own);
	while (g->barrier[RT_PASS].generation == generation && !g->barrier[RT_END].here &&
	       !cc_spoiled(rt_board()))
		rt_group_wait(g);
	status = result(g, model, own);
	if (g->barrier[RT_PASS].generation == generation) {
		g->barrier[RT_PASS].here--;
		g->member[model->rank].waits = 0;
		if (!rt_fatal(status))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "rank %u waits for ranks that have ended", model->rank);
	}
	rt_group_unlock();
	return status;
}

/* Rank 0 takes it for all. Who has it gives it back soon, or has it until its group's end opens. */
NRT_STATUS rt_ranks_take_area(struct nrt_model *model)
{
	NRT_STATUS status = rt_ranks_barrier(model, NRT_SUCCESS);
	const bool always = true;

	if (!status && !model->rank) {
		rt_group_lock(model->group);
		take_gate(model->group, RT_AREA, &always);
		rt_group_unlock();
	}
	return status ? status : rt_ranks_barrier(model, status);
}

void rt_ranks_give_area(struct nrt_model *model)
{
	if (model->rank)
		return;
	rt_group_lock(model->group);
	rt_group_close(model->group, RT_AREA);
	rt_group_unlock();
}

NRT_STATUS rt_ranks_end(struct nrt_model *model, NRT_STATUS own)
{
	return barrier(model, RT_END, own);
}

void rt_ranks_go(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	rt_group_lock(g);
	g->member[model->rank].here = false;
	rt_group_wake(g);
	rt_group_unlock();
}

/* This is asked as often as a chip is looked at; who lives, every RT_LOOK_MS. */
NRT_STATUS rt_ranks_failed(struct nrt_model *model)
{
	struct rt_group *g = model->group;
	const bool alone = !g || !cc_board_is_shared(rt_board());
	const bool failed = g && atomic_load(&g->failed);
	const uint64_t now = alone || failed ? 0 : rt_now_us();
	NRT_STATUS status;

	if (!failed && (alone || now < model->look_us))
		return NRT_SUCCESS;
	model->look_us = now + RT_LOOK_MS * 1000;
	rt_group_lock(g);
	rt_group_look(g);
	status = result(g, model, NRT_SUCCESS);
	rt_group_unlock();
	return status;
}
