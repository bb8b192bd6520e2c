/* SPDX-License-Identifier: MIT */
/*
 * Groups of ranks (rt_ranks.h): who belongs together, and the barriers of their executions.
 *
 * A barrier opens when all ranks have come to it. One lock protects all of this, and no other lock
 * is taken under it. Several groups may share cores: the ranks of a group take their cores between
 * the first and the second barrier, and the gate lets one group at a time do that, so that two
 * groups never have some of each other's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt_clock.h"
#include "rt_ranks.h"

#define LOAD_MS 120000 /* for all ranks of a model to be loaded */
#define LOOK_MS 20 /* between two looks whether the load is still wanted */

enum { COME, START, PASS, END, BARRIERS };

struct rt_group {
	struct rt_group *next;
	unsigned int refs; /* ranks that are there, or on their way out */
	uint32_t n;
	uint64_t token; /* whose load it is; 0: anybody's of this file */
	uint8_t hash[32], uuid[16];
	uint32_t joined;
	bool closed; /* no rank joins any more: all have, or one has failed */
	bool broken; /* a rank is gone: nothing is executed any more */
	uint32_t gone; /* it */
	pthread_cond_t changed;
	/* what all have agreed to, and how many have said so */
	uint32_t asked;
	bool no;
	/* the barriers: how many ranks wait at each, and how often it has opened */
	struct {
		uint32_t here;
		uint64_t generation;
		bool failed; /* somebody had when the last one came */
	} barrier[BARRIERS];
	bool leaving; /* all ranks are at the first barrier: none gives up any more */
	bool gate; /* it has the gate */
	atomic_bool failed; /* the execution that goes on, by this rank with this status */
	uint32_t culprit;
	NRT_STATUS status;
	char details[512]; /* in its words */
	struct {
		struct rt_rank rank;
		bool came; /* it has joined, or never will */
		bool here; /* at the first barrier, or behind it */
	} member[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_free = PTHREAD_COND_INITIALIZER;
static bool gate;
static struct rt_group *groups;

/* Waits for a change; until: of the monotonic clock in us, 0: for ever. False: the time is over */
static bool wait_changed(struct rt_group *g, uint64_t until)
{
	struct timespec at;

	if (!until) {
		pthread_cond_wait(&g->changed, &lock);
		return true;
	}
	at.tv_sec = (time_t)(until / 1000000);
	at.tv_nsec = (long)(until % 1000000) * 1000;
	return pthread_cond_clockwait(&g->changed, &lock, CLOCK_MONOTONIC, &at) != ETIMEDOUT;
}

/* ---- coming together ---- */

static bool same_file(const struct rt_group *g, const struct nrt_model *model)
{
	const struct neff_header *h = &model->neff->header;

	return !memcmp(g->hash, h->hash, sizeof(g->hash)) &&
	       !memcmp(g->uuid, h->uuid, sizeof(g->uuid));
}

static bool fits(const struct rt_group *g, const struct nrt_model *model)
{
	return !g->closed && g->n == model->nranks && g->token == model->group_token &&
	       !g->member[model->rank].came && (g->token || same_file(g, model));
}

static struct rt_group *find_group(const struct nrt_model *model)
{
	struct rt_group *g = groups;

	while (g && !fits(g, model))
		g = g->next;
	if (g)
		return g;
	g = calloc(1, sizeof(*g) + model->nranks * sizeof(g->member[0]));
	if (!g)
		return NULL;
	g->n = model->nranks;
	g->token = model->group_token;
	if (model->neff) {
		memcpy(g->hash, model->neff->header.hash, sizeof(g->hash));
		memcpy(g->uuid, model->neff->header.uuid, sizeof(g->uuid));
	}
	pthread_cond_init(&g->changed, NULL);
	g->next = groups;
	groups = g;
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

/*
 * Checks that all ranks have one form of scratchpad and a core each, or what they pass would go
 * astray.
 */
static NRT_STATUS check_group(const struct rt_group *g)
{
	const struct rt_chunk *first = g->member[0].rank.scratch;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct rt_rank *r = &g->member[i].rank;

		if (!r->model || !same_file(g, r->model) ||
		    (r->scratch ? r->scratch->size : 0) != (first ? first->size : 0))
			return rt_fail(NRT_INVALID, "NMGR", "rank %u has loaded another file", i);
		for (uint32_t k = 0; k < i; k++)
			if (g->member[k].rank.core == r->core)
				return rt_fail(NRT_INVALID, "NMGR",
					       "ranks %u and %u are on one core, nd%u nc%u", k, i,
					       r->core->device, r->core->nc);
	}
	return NRT_SUCCESS;
}

/* While others are still coming; whoever gives up ends it for all. */
static NRT_STATUS wait_joined(struct nrt_model *model, struct rt_group *g, const uint32_t *count)
{
	const uint64_t deadline = rt_now_us() + LOAD_MS * 1000ull;
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t missing = 0;

	while (*count < g->n && !g->broken && !status) {
		if (rt_now_us() >= deadline) {
			while (missing + 1 < g->n && g->member[missing].rank.model)
				missing++;
			status = rt_fail(NRT_TIMEOUT, "NMGR",
					 "rank %u of %u has not been loaded within %d ms", missing,
					 g->n, LOAD_MS);
		} else {
			wait_changed(g, rt_now_us() + LOOK_MS * 1000);
			status = rt_load_wanted(model);
		}
	}
	if (!status && g->broken)
		status = rt_fail(NRT_FAILURE, "NMGR", "rank %u could not be loaded", g->gone);
	return status;
}

static NRT_STATUS check_count(const struct nrt_model *model)
{
	const uint32_t ranks = model->neff->ranks;

	if (ranks != (model->nranks ? model->nranks : 1) || model->rank >= ranks)
		return rt_fail(NRT_INVALID, "NMGR",
			       "the model is for %u ranks, "
			       "loaded as rank %u of %u (nrt_load_collectives)",
			       ranks, model->rank, model->nranks ? model->nranks : 1);
	return NRT_SUCCESS;
}

NRT_STATUS rt_ranks_join(struct nrt_model *model)
{
	NRT_STATUS status = check_count(model);
	struct rt_group *g;

	if (status)
		return status;
	model->nranks = model->neff->ranks;
	pthread_mutex_lock(&lock);
	g = find_group(model);
	if (!g) {
		pthread_mutex_unlock(&lock);
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	}
	model->group = g;
	g->refs++;
	g->member[model->rank].came = true;
	g->member[model->rank].rank = (struct rt_rank){ model, model->core, scratch_of(model) };
	g->closed = ++g->joined == g->n;
	pthread_cond_broadcast(&g->changed);
	status = wait_joined(model, g, &g->joined);
	if (!status)
		status = check_group(g);
	pthread_mutex_unlock(&lock);
	return status;
}

NRT_STATUS rt_ranks_agree(struct nrt_model *model, bool yes, bool *all)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;

	pthread_mutex_lock(&lock);
	g->no |= !yes;
	g->asked++;
	pthread_cond_broadcast(&g->changed);
	status = wait_joined(model, g, &g->asked);
	*all = !g->no;
	pthread_mutex_unlock(&lock);
	return status;
}

static void remove_group(struct rt_group *g)
{
	struct rt_group **p = &groups;

	while (*p != g)
		p = &(*p)->next;
	*p = g->next;
	pthread_cond_destroy(&g->changed);
	free(g);
}

/*
 * A rank that could not be loaded as far as to join: the others need not wait for it. What no token
 * tells from a later load is told those alone who wait already.
 */
static void never_comes(const struct nrt_model *model)
{
	struct rt_group *g = groups;

	pthread_mutex_lock(&lock);
	while (g && !fits(g, model))
		g = g->next;
	if (!g && model->group_token)
		g = find_group(model);
	if (g) {
		g->gone = g->broken ? g->gone : model->rank;
		g->broken = true;
		g->member[model->rank].came = true;
		g->closed = ++g->joined >= g->n;
		pthread_cond_broadcast(&g->changed);
		if (g->closed && !g->refs)
			remove_group(g);
	}
	pthread_mutex_unlock(&lock);
}

void rt_ranks_leave(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	if (model->left)
		return;
	model->left = true;
	if (!g && model->rank < model->nranks &&
	    (model->neff ? model->neff->ranks == model->nranks : model->group_token > 0))
		never_comes(model);
	if (!g)
		return;
	pthread_mutex_lock(&lock);
	if (!g->broken)
		g->gone = model->rank;
	/* those that have not come yet still find it, and fail */
	g->broken = true;
	g->closed |= !model->group_token;
	g->member[model->rank].rank.model = NULL;
	model->group = NULL;
	pthread_cond_broadcast(&g->changed);
	if (!--g->refs && g->closed)
		remove_group(g);
	pthread_mutex_unlock(&lock);
}

const struct rt_rank *rt_ranks_of(const struct nrt_model *model, uint32_t rank)
{
	return &model->group->member[rank].rank;
}

/* ---- barriers ---- */

static NRT_STATUS is_gone(const struct rt_group *g)
{
	return rt_fail(NRT_FAILURE, "NMGR", "rank %u of %u was unloaded", g->gone, g->n);
}

static NRT_STATUS not_come(const struct rt_group *g, const struct nrt_model *model)
{
	uint32_t missing = 0;

	while (missing + 1 < g->n && g->member[missing].here)
		missing++;
	return rt_fail(NRT_TIMEOUT, "NMGR",
		       "execution timeout (%u ms): rank %u of %u, on nd%u nc%u, has not begun",
		       model->timeout_ms, missing, g->n, g->member[missing].rank.core->device,
		       g->member[missing].rank.core->nc);
}

/* The last rank at the first barrier gets the gate for all, and the execution begins. */
static void open_barrier(struct rt_group *g)
{
	g->leaving = true;
	while (gate)
		pthread_cond_wait(&gate_free, &lock);
	gate = g->gate = true;
	g->leaving = false;
	atomic_store(&g->failed, false);
	g->status = NRT_SUCCESS;
	g->barrier[COME].here = 0;
	g->barrier[COME].generation++;
	pthread_cond_broadcast(&g->changed);
}

NRT_STATUS rt_ranks_come(struct nrt_model *model)
{
	const uint64_t deadline = rt_now_us() + (uint64_t)model->timeout_ms * 1000;
	struct rt_group *g = model->group;
	NRT_STATUS status = NRT_SUCCESS;
	uint64_t generation;

	pthread_mutex_lock(&lock);
	/* another thread's execution of this rank comes first */
	while (g->member[model->rank].here && !g->broken && rt_now_us() < deadline)
		wait_changed(g, deadline);
	if (g->broken || g->member[model->rank].here) {
		status = g->broken ? is_gone(g)
				   : rt_fail(NRT_TIMEOUT, "NMGR",
					     "execution timeout (%u ms): the rank still executes",
					     model->timeout_ms);
		pthread_mutex_unlock(&lock);
		return status;
	}
	g->member[model->rank].here = true;
	generation = g->barrier[COME].generation;
	if (++g->barrier[COME].here == g->n)
		open_barrier(g);
	while (g->barrier[COME].generation == generation && !status) {
		if (!g->leaving && g->broken)
			status = is_gone(g);
		else if (!g->leaving && rt_now_us() >= deadline)
			status = not_come(g, model);
		else if (!g->leaving && atomic_load(&model->interrupted))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "the execution was interrupted");
		if (!status && g->barrier[COME].generation == generation)
			wait_changed(g, rt_now_us() + LOOK_MS * 1000);
	}
	if (status) {
		g->barrier[COME].here--;
		g->member[model->rank].here = false;
		pthread_cond_broadcast(&g->changed);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* With the lock: what all ranks say when one has failed */
static NRT_STATUS result(const struct rt_group *g, const struct nrt_model *model, NRT_STATUS own)
{
	const struct rt_rank *r = &g->member[g->culprit].rank;

	if (rt_fatal(own) || !atomic_load(&g->failed))
		return own;
	return rt_fail(model->rank == g->culprit ? g->status : NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
		       "rank %u of %u, on nd%u nc%u, failed: %s%s%s", g->culprit, g->n,
		       r->core->device, r->core->nc, nrt_get_status_as_str(g->status),
		       *g->details ? ": " : "", g->details);
}

static void note_failure(struct rt_group *g, const struct nrt_model *model, NRT_STATUS own)
{
	if (!rt_fatal(own) || atomic_load(&g->failed))
		return;
	g->culprit = model->rank;
	g->status = own;
	snprintf(g->details, sizeof(g->details), "%s", nrtx_error_details());
	atomic_store(&g->failed, true);
}

static void close_gate(struct rt_group *g)
{
	if (!g->gate)
		return;
	gate = g->gate = false;
	pthread_cond_signal(&gate_free);
}

/* Waits at a barrier until all ranks are there; none fails to come, so there is no time-out. */
static NRT_STATUS barrier(struct nrt_model *model, unsigned int which, NRT_STATUS own)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;
	uint64_t generation;

	pthread_mutex_lock(&lock);
	note_failure(g, model, own);
	generation = g->barrier[which].generation;
	if (++g->barrier[which].here == g->n) {
		g->barrier[which].here = 0;
		g->barrier[which].generation++;
		g->barrier[which].failed = atomic_load(&g->failed);
		if (which == START)
			close_gate(g);
	}
	pthread_cond_broadcast(&g->changed);
	while (g->barrier[which].generation == generation)
		wait_changed(g, 0);
	/* one that has begun, and failed by now, is met at the end, where all have to come */
	status = g->barrier[which].failed ? result(g, model, own) : own;
	pthread_mutex_unlock(&lock);
	return status;
}

NRT_STATUS rt_ranks_start(struct nrt_model *model, NRT_STATUS own)
{
	return barrier(model, START, own);
}

/* Whoever is at the end already does not come to this one, and the others need not wait for it. */
NRT_STATUS rt_ranks_barrier(struct nrt_model *model, NRT_STATUS own)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;
	uint64_t generation;

	pthread_mutex_lock(&lock);
	note_failure(g, model, own);
	generation = g->barrier[PASS].generation;
	if (++g->barrier[PASS].here == g->n) {
		g->barrier[PASS].here = 0;
		g->barrier[PASS].generation++;
		pthread_cond_broadcast(&g->changed);
	}
	while (g->barrier[PASS].generation == generation && !g->barrier[END].here)
		wait_changed(g, 0);
	status = result(g, model, own);
	if (g->barrier[PASS].generation == generation) {
		g->barrier[PASS].here--;
		if (!rt_fatal(status))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "rank %u waits for ranks that have ended", model->rank);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

NRT_STATUS rt_ranks_end(struct nrt_model *model, NRT_STATUS own)
{
	return barrier(model, END, own);
}

void rt_ranks_go(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	pthread_mutex_lock(&lock);
	g->member[model->rank].here = false;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&lock);
}

NRT_STATUS rt_ranks_failed(const struct nrt_model *model)
{
	const struct rt_group *g = model->group;
	NRT_STATUS status = NRT_SUCCESS;

	if (!g || !atomic_load(&g->failed))
		return NRT_SUCCESS;
	pthread_mutex_lock(&lock);
	status = result(g, model, NRT_SUCCESS);
	pthread_mutex_unlock(&lock);
	return status;
}
