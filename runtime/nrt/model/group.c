/* SPDX-License-Identifier: MIT */
/* See rt_group.h: the lock, the gate, who is alive, and barriers that open. */
#include <assert.h>
#include <stdio.h>

#include "rt_group.h"

static_assert(RT_GROUP_SLOT < 32768, "a slot of the board");

void rt_group_wake(struct rt_group *g)
{
	cc_wake(rt_board(), &g->changed);
}

void rt_group_lock(struct rt_group *g)
{
	if (!cc_lock(rt_board()) && g)
		g->broken = true;
}

void rt_group_unlock(void)
{
	cc_unlock(rt_board());
}

static_assert(2 * RT_GATES <= CC_WORDS, "gates");

uint32_t *rt_group_gate(unsigned int gate)
{
	return cc_words(rt_board()) + 2 * gate;
}

void rt_group_close(struct rt_group *g, unsigned int gate)
{
	if (!g->has[gate])
		return;
	g->has[gate] = false;
	*rt_group_gate(gate) = 0;
	cc_wake(rt_board(), rt_group_gate(gate) + 1);
}

void rt_group_open(struct rt_group *g, unsigned int which)
{
	g->barrier[which].here = 0;
	g->barrier[which].generation++;
	g->barrier[which].failed = atomic_load(&g->failed);
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i].waits == which + 1)
			g->member[i].waits = 0;
	if (which == RT_START)
		rt_group_close(g, RT_CORES);
	if (which == RT_END)
		rt_group_close(g, RT_AREA);
	rt_group_wake(g);
}

NRT_STATUS rt_group_spoiled(void)
{
	return rt_fail(NRT_FAILURE, "NMGR",
		       "a process of the job has ended while it changed what all of them share");
}

void rt_group_fail(struct rt_group *g, uint32_t rank, NRT_STATUS status, const char *details)
{
	if (atomic_load(&g->failed))
		return;
	g->culprit = rank;
	g->status = status;
	snprintf(g->details, sizeof(g->details), "%s", details);
	atomic_store(&g->failed, true);
}

/* The others wait no more for a rank whose process has ended, wherever they do. */
static void bury(struct rt_group *g, uint32_t rank)
{
	const unsigned int at = g->member[rank].waits;

	g->member[rank].dead = true;
	g->member[rank].there = false;
	g->member[rank].waits = 0;
	g->dead++;
	g->refs--;
	g->gone = g->broken ? g->gone : rank;
	g->broken = true;
	g->leaving = false;
	if (at)
		g->barrier[at - 1].here--;
	rt_group_fail(g, rank, NRT_FAILURE, "its process has ended");
	for (unsigned int i = RT_START; i < RT_BARRIERS; i++)
		if (g->barrier[i].here && g->barrier[i].here == g->n - g->dead)
			rt_group_open(g, i);
	for (unsigned int i = 0; i < RT_GATES && g->dead == g->n; i++)
		rt_group_close(g, i);
	rt_group_wake(g);
}

void rt_group_look(struct rt_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i].there && !cc_alive(rt_board(), g->member[i].process))
			bury(g, i);
}

void rt_group_wait(struct rt_group *g)
{
	if (!cc_wait(rt_board(), &g->changed, RT_LOOK_MS * 1000))
		rt_group_look(g);
	if (cc_spoiled(rt_board()))
		g->broken = true;
}
