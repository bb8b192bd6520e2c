/* SPDX-License-Identifier: MIT */
/* See rt_ranks.h: which ranks belong together, and how they come together when they are loaded. */
#include <stdio.h>
#include <string.h>

#include "rt_clock.h"
#include "rt_group.h"

#define LOAD_MS 120000 /* for all ranks of a model to be loaded */

static bool same_file(const struct rt_group *g, const struct nrt_model *model)
{
	const struct neff_header *h = &model->neff->header;

	return !memcmp(g->hash, h->hash, sizeof(g->hash)) &&
	       !memcmp(g->uuid, h->uuid, sizeof(g->uuid));
}

static void digest(uint64_t *hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*hash = (*hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull;
}

/* Ranks of several processes may have different programs, which pass the same in the same order. */
static uint64_t digest_of(const struct neff_model *neff)
{
	uint64_t hash = 14695981039346656037ull;

	for (unsigned int i = 0; i < neff->ncollectives; i++) {
		const struct neff_collective *c = &neff->collectives[i];

		if (rt_is_number(c))
			continue;
		digest(&hash, &c->op, sizeof(c->op));
		digest(&hash, &c->bytes, sizeof(c->bytes));
		digest(&hash, &c->members, sizeof(c->members));
		digest(&hash, c->rank, c->nranks * sizeof(c->rank[0]));
	}
	return hash;
}

/* Of a model that could not be read nobody knows. */
static bool same_passes(const struct rt_group *g, const struct nrt_model *model)
{
	return !cc_board_is_shared(rt_board()) || !model->neff || !g->passes ||
	       g->passes == digest_of(model->neff);
}

static bool fits(const struct rt_group *g, const struct nrt_model *model)
{
	return !g->closed && g->n == model->nranks && g->token == model->group_token &&
	       !g->member[model->rank].came && same_passes(g, model) &&
	       (g->token || same_file(g, model));
}

static struct rt_group *find_group(const struct nrt_model *model)
{
	struct rt_group *g = NULL;

	do
		g = cc_slot_next(rt_board(), g);
	while (g && !fits(g, model));
	return g;
}

/* Groups of which nobody is left, as their processes have ended */
static void free_the_dead(void)
{
	struct rt_group *g = NULL;

	while ((g = cc_slot_next(rt_board(), g))) {
		rt_group_look(g);
		if (!g->refs && g->broken)
			cc_slot_free(g);
	}
}

static struct rt_group *new_group(const struct nrt_model *model)
{
	const size_t size = sizeof(struct rt_group) + model->nranks * sizeof(struct rt_member);
	struct rt_group *g = cc_slot_new(rt_board(), size);

	if (!g) {
		free_the_dead();
		g = cc_slot_new(rt_board(), size);
	}
	if (!g)
		return NULL;
	g->n = model->nranks;
	g->token = model->group_token;
	if (model->neff) {
		g->passes = digest_of(model->neff);
		memcpy(g->hash, model->neff->header.hash, sizeof(g->hash));
		memcpy(g->uuid, model->neff->header.uuid, sizeof(g->uuid));
	}
	return g;
}

static const struct rt_chunk *scratch_of(const struct nrt_model *model)
{
	for (unsigned int k = 0; k < model->nsubgraphs; k++)
		for (unsigned int i = 0; i < model->subgraph[k].nvars; i++)
			if (model->subgraph[k].vars[i].neff->type == NEFF_VAR_VIRTUAL)
				return model->subgraph[k].vars[i].chunk;
	return NULL;
}

static NRT_STATUS not_loaded(const struct rt_group *g)
{
	if (cc_spoiled(rt_board()))
		return rt_group_spoiled();
	return rt_fail(NRT_FAILURE, "NMGR",
		       g->member[g->gone].dead ? "the process of rank %u has ended"
					       : "rank %u could not be loaded",
		       g->gone);
}

/*
 * Checks that all ranks have a core each on one machine, and one form of scratchpad, or what they
 * pass would go astray.
 */
static NRT_STATUS check_group(const struct rt_group *g)
{
	const struct rt_member *first = g->member;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct rt_member *m = &g->member[i];

		if (!m->there)
			return not_loaded(g);
		/* in one process the chips pass it, to places that all have alike */
		if (m->process == first->process &&
		    (m->file != first->file || m->rank.scratch_size != first->rank.scratch_size))
			return rt_fail(NRT_INVALID, "NMGR", "rank %u has loaded another file", i);
		if (m->machine != first->machine)
			return rt_fail(NRT_INVALID, "NMGR",
				       "ranks 0 and %u are on chips of different machines "
				       "(NEURON_EMU=unix:PATH: one for several processes)",
				       i);
		for (uint32_t k = 0; k < i; k++)
			if (g->member[k].rank.device == m->rank.device &&
			    g->member[k].rank.nc == m->rank.nc)
				return rt_fail(NRT_INVALID, "NMGR",
					       "ranks %u and %u are on one core, nd%u nc%u", k, i,
					       m->rank.device, m->rank.nc);
	}
	return NRT_SUCCESS;
}

/* While others are still coming; whoever gives up ends it for all. */
static NRT_STATUS wait_joined(struct nrt_model *model, struct rt_group *g, const uint32_t *count)
{
	const uint32_t ms = cc_board_is_shared(rt_board()) ? RT_APART_MS : LOAD_MS;
	const uint64_t began = rt_now_us(), deadline = began + ms * 1000ull;
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t missing = 0;

	while (*count < g->n && !g->broken && !status) {
		/* whose process ended before it came is not known: it may be one of this group's */
		if (rt_now_us() >= began + LOAD_MS * 1000ull && cc_one_has_gone(rt_board())) {
			status =
				rt_fail(NRT_FAILURE, "NMGR",
					"a process of the job has ended, and not all %u ranks have "
					"been loaded",
					g->n);
		} else if (rt_now_us() >= deadline) {
			while (missing + 1 < g->n && g->member[missing].there)
				missing++;
			status = rt_fail(NRT_TIMEOUT, "NMGR",
					 "rank %u of %u has not been loaded within %u ms", missing,
					 g->n, ms);
		} else {
			rt_group_wait(g);
			status = rt_load_wanted(model);
		}
	}
	return !status && g->broken ? not_loaded(g) : status;
}

static NRT_STATUS check_count(const struct nrt_model *model)
{
	const uint32_t ranks = model->neff->ranks;

	if (ranks != (model->nranks ? model->nranks : 1) || model->rank >= ranks)
		return rt_fail(NRT_INVALID, "NMGR",
			       "the model is for %u ranks, "
			       "loaded as rank %u of %u (nrt_load_collectives)",
			       ranks, model->rank, model->nranks ? model->nranks : 1);
	if (ranks > RT_MOST_RANKS)
		return rt_fail(NRT_INVALID, "NMGR", "the model is for %u ranks: at most %d", ranks,
			       RT_MOST_RANKS);
	return NRT_SUCCESS;
}

static uint64_t file_digest(const struct neff_header *h)
{
	uint64_t hash = 14695981039346656037ull;

	digest(&hash, h->hash, sizeof(h->hash));
	digest(&hash, h->uuid, sizeof(h->uuid));
	return hash;
}

static void join(struct rt_group *g, struct nrt_model *model)
{
	const struct rt_chunk *scratch = scratch_of(model);
	struct rt_member *m = &g->member[model->rank];

	model->group = g;
	g->passes = g->passes ? g->passes : digest_of(model->neff);
	g->refs++;
	m->rank = (struct rt_rank){ .device = model->core->device,
				    .nc = model->core->nc,
				    .scratch = scratch ? scratch->pa : 0,
				    .scratch_size = scratch ? scratch->size : 0,
				    .chunk = scratch };
	m->file = file_digest(&model->neff->header);
	m->machine = ndlx_machine_key();
	m->process = cc_self(rt_board());
	m->came = m->there = true;
	g->closed = ++g->joined == g->n;
	rt_group_wake(g);
}

NRT_STATUS rt_ranks_join(struct nrt_model *model)
{
	NRT_STATUS status = check_count(model);
	struct rt_group *g;

	if (!status)
		status = rt_board_enter();
	if (status)
		return status;
	model->nranks = model->neff->ranks;
	rt_group_lock(NULL);
	g = find_group(model);
	if (!g)
		g = new_group(model);
	if (g)
		join(g, model);
	rt_board_leave();
	if (g) {
		status = wait_joined(model, g, &g->joined);
		if (!status)
			status = check_group(g);
	} else {
		status = rt_fail(NRT_RESOURCE, "NMGR",
				 "more than %d models of several ranks are loaded", RT_GROUPS);
	}
	rt_group_unlock();
	return status;
}

NRT_STATUS rt_ranks_agree(struct nrt_model *model, bool yes, bool *all)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;

	rt_group_lock(g);
	g->no |= !yes;
	g->asked++;
	rt_group_wake(g);
	status = wait_joined(model, g, &g->asked);
	*all = !g->no;
	rt_group_unlock();
	return status;
}

/*
 * A rank that could not be loaded as far as to join: the others need not wait for it. What no token
 * tells from a later load is told those alone who wait already.
 */
static void never_comes(const struct nrt_model *model)
{
	struct rt_group *g;

	if (rt_board_enter())
		return;
	rt_group_lock(NULL);
	g = find_group(model);
	if (!g && model->group_token)
		g = new_group(model);
	if (g) {
		g->gone = g->broken ? g->gone : model->rank;
		g->broken = true;
		g->member[model->rank].came = true;
		g->closed = ++g->joined >= g->n;
		rt_group_wake(g);
		if (g->closed && !g->refs)
			cc_slot_free(g);
	}
	rt_group_unlock();
	rt_board_leave();
}

void rt_ranks_leave(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	if (model->left)
		return;
	model->left = true;
	if (!g && model->rank < model->nranks && model->nranks <= RT_MOST_RANKS &&
	    (model->neff ? model->neff->ranks == model->nranks : model->group_token > 0))
		never_comes(model);
	if (!g || cc_inherited(rt_board()))
		return;
	rt_group_lock(g);
	if (!g->broken)
		g->gone = model->rank;
	/* those that have not come yet still find it, and fail */
	g->broken = true;
	g->closed |= !model->group_token;
	g->member[model->rank].there = false;
	model->group = NULL;
	rt_group_wake(g);
	if (!--g->refs && g->closed)
		cc_slot_free(g);
	rt_group_unlock();
}

const struct rt_rank *rt_ranks_of(const struct nrt_model *model, uint32_t rank)
{
	return &model->group->member[rank].rank;
}

bool rt_ranks_are_own(const struct nrt_model *model)
{
	const struct rt_group *g = model->group;
	uint32_t i = 0;

	while (i < g->n && g->member[i].process == cc_self(rt_board()))
		i++;
	return i == g->n;
}
