/* SPDX-License-Identifier: MIT */
/*
 * Groups of ranks (rt_ranks.h): who belongs together, and the barriers of their executions.
 *
 * A group lies on the process's board (runtime/cc), which is shared with other processes once this
 * one has met them (comm.c). A barrier opens when all ranks have come to it that are alive. The
 * board's lock protects all of this, and no other lock is taken under it. Several groups may share
 * cores: the ranks of a group take their cores between the first and the second barrier, and the
 * gate lets one group at a time do that, so that two groups never have some of each other's.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "rt_clock.h"
#include "rt_comm.h"
#include "rt_ranks.h"

#define LOAD_MS 120000 /* for all ranks of a model to be loaded */
#define APART_MS 1800000 /* for those of other processes, which compile or read data meanwhile */
#define LOOK_MS 20 /* between two looks whether the load is still wanted, and who is alive */
#define MOST_RANKS 256
#define GROUPS 4096

enum { COME, START, PASS, END, BARRIERS };

struct member {
	struct rt_rank rank;
	uint64_t machine; /* whose chips its core is of */
	uint32_t process;
	bool came; /* it has joined, or never will */
	bool there; /* it has joined, and has not gone */
	bool dead; /* its process has ended */
	bool here; /* at the first barrier, or behind it */
	uint8_t waits; /* at this barrier, counted from 1 */
};

struct rt_group {
	uint32_t refs; /* ranks that are there, or on their way out */
	uint32_t n;
	uint64_t token; /* whose load it is; 0: anybody's of this file */
	uint8_t hash[32], uuid[16];
	uint64_t passes; /* a digest of what the ranks pass to each other */
	uint32_t joined;
	bool closed; /* no rank joins any more: all have, or one has failed */
	bool broken; /* a rank is gone: nothing is executed any more */
	uint32_t gone; /* it */
	uint32_t dead; /* how many processes' ranks have ended */
	uint32_t changed; /* a word to sleep on */
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
	bool keeps; /* it has it until an execution ends, as it passes data by the board's area */
	atomic_bool failed; /* the execution that goes on, by this rank with this status */
	uint32_t culprit;
	NRT_STATUS status;
	char details[512]; /* in its words */
	struct member member[];
};

#define SLOT (sizeof(struct rt_group) + MOST_RANKS * sizeof(struct member))
static_assert(SLOT < 32768, "a slot of the board");
const struct cc_form rt_ranks_form = { .version = 1, .slots = GROUPS, .slot = SLOT };

/* ---- the lock, the gate, and who is alive ---- */

static void wake(struct rt_group *g)
{
	cc_wake(rt_board(), &g->changed);
}

/* g: NULL, or a group that is broken if a process ended with the lock */
static void lock(struct rt_group *g)
{
	if (!cc_lock(rt_board()) && g)
		g->broken = true;
}

static void unlock(void)
{
	cc_unlock(rt_board());
}

/* The board's first word is 1 while a group has the gate; who wants it sleeps on the second. */
static uint32_t *gate(void)
{
	return cc_words(rt_board());
}

static void close_gate(struct rt_group *g)
{
	if (!g->gate)
		return;
	g->gate = false;
	*gate() = 0;
	cc_wake(rt_board(), gate() + 1);
}

static void open_barrier(struct rt_group *g, unsigned int which)
{
	g->barrier[which].here = 0;
	g->barrier[which].generation++;
	g->barrier[which].failed = atomic_load(&g->failed);
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i].waits == which + 1)
			g->member[i].waits = 0;
	/* what fails at the start has no end */
	if (which == END || (which == START && (!g->keeps || g->barrier[which].failed)))
		close_gate(g);
	wake(g);
}

static void set_failure(struct rt_group *g, uint32_t rank, NRT_STATUS status, const char *details)
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
	set_failure(g, rank, NRT_FAILURE, "its process has ended");
	for (unsigned int i = START; i < BARRIERS; i++)
		if (g->barrier[i].here && g->barrier[i].here == g->n - g->dead)
			open_barrier(g, i);
	if (g->dead == g->n)
		close_gate(g);
	wake(g);
}

static void look_who_lives(struct rt_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i].there && !cc_alive(rt_board(), g->member[i].process))
			bury(g, i);
}

/* Waits for a change, and not for long: then it looks who lives. */
static void wait_changed(struct rt_group *g)
{
	if (!cc_wait(rt_board(), &g->changed, LOOK_MS * 1000))
		look_who_lives(g);
}

/* ---- coming together ---- */

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

	for (unsigned int i = 0; neff && i < neff->ncollectives; i++) {
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
	return !cc_board_is_shared(rt_board()) || !model->neff ||
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

static struct rt_group *new_group(const struct nrt_model *model)
{
	struct rt_group *g =
		cc_slot_new(rt_board(), sizeof(*g) + model->nranks * sizeof(struct member));

	if (!g)
		return NULL;
	g->n = model->nranks;
	g->token = model->group_token;
	g->passes = digest_of(model->neff);
	if (model->neff) {
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
	const struct member *first = g->member;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct member *m = &g->member[i];

		if (!m->there)
			return not_loaded(g);
		/* in one process the chips pass it, to places that all have alike */
		if (m->process == first->process &&
		    m->rank.scratch_size != first->rank.scratch_size)
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
	const uint32_t ms = cc_board_is_shared(rt_board()) ? APART_MS : LOAD_MS;
	const uint64_t deadline = rt_now_us() + ms * 1000ull;
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t missing = 0;

	while (*count < g->n && !g->broken && !status) {
		if (rt_now_us() >= deadline) {
			while (missing + 1 < g->n && g->member[missing].there)
				missing++;
			status = rt_fail(NRT_TIMEOUT, "NMGR",
					 "rank %u of %u has not been loaded within %u ms", missing,
					 g->n, ms);
		} else {
			wait_changed(g);
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
	if (ranks > MOST_RANKS)
		return rt_fail(NRT_INVALID, "NMGR", "the model is for %u ranks: at most %d", ranks,
			       MOST_RANKS);
	return NRT_SUCCESS;
}

static void join(struct rt_group *g, struct nrt_model *model)
{
	const struct rt_chunk *scratch = scratch_of(model);
	struct member *m = &g->member[model->rank];

	model->group = g;
	g->refs++;
	m->rank = (struct rt_rank){ .device = model->core->device,
				    .nc = model->core->nc,
				    .scratch = scratch ? scratch->pa : 0,
				    .scratch_size = scratch ? scratch->size : 0,
				    .chunk = scratch };
	m->machine = ndlx_machine_key();
	m->process = cc_self(rt_board());
	m->came = m->there = true;
	g->closed = ++g->joined == g->n;
	wake(g);
}

NRT_STATUS rt_ranks_join(struct nrt_model *model)
{
	NRT_STATUS status = check_count(model);
	struct rt_group *g;

	if (!status)
		status = rt_board_open();
	if (status)
		return status;
	model->nranks = model->neff->ranks;
	lock(NULL);
	g = find_group(model);
	if (!g)
		g = new_group(model);
	if (g) {
		join(g, model);
		status = wait_joined(model, g, &g->joined);
		if (!status)
			status = check_group(g);
	} else {
		status = rt_fail(NRT_RESOURCE, "NMGR",
				 "more than %d models of several ranks are loaded", GROUPS);
	}
	unlock();
	return status;
}

NRT_STATUS rt_ranks_agree(struct nrt_model *model, bool yes, bool *all)
{
	struct rt_group *g = model->group;
	NRT_STATUS status;

	lock(g);
	g->no |= !yes;
	g->asked++;
	wake(g);
	status = wait_joined(model, g, &g->asked);
	*all = !g->no;
	g->keeps = g->no && !rt_ranks_are_own(model);
	unlock();
	return status;
}

/*
 * A rank that could not be loaded as far as to join: the others need not wait for it. What no token
 * tells from a later load is told those alone who wait already.
 */
static void never_comes(const struct nrt_model *model)
{
	struct rt_group *g;

	if (rt_board_open())
		return;
	lock(NULL);
	g = find_group(model);
	if (!g && model->group_token)
		g = new_group(model);
	if (g) {
		g->gone = g->broken ? g->gone : model->rank;
		g->broken = true;
		g->member[model->rank].came = true;
		g->closed = ++g->joined >= g->n;
		wake(g);
		if (g->closed && !g->refs)
			cc_slot_free(g);
	}
	unlock();
}

void rt_ranks_leave(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	if (model->left)
		return;
	model->left = true;
	if (!g && model->rank < model->nranks && model->nranks <= MOST_RANKS &&
	    (model->neff ? model->neff->ranks == model->nranks : model->group_token > 0))
		never_comes(model);
	if (!g)
		return;
	lock(g);
	if (!g->broken)
		g->gone = model->rank;
	/* those that have not come yet still find it, and fail */
	g->broken = true;
	g->closed |= !model->group_token;
	g->member[model->rank].there = false;
	model->group = NULL;
	wake(g);
	if (!--g->refs && g->closed)
		cc_slot_free(g);
	unlock();
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

/* ---- barriers ---- */

static NRT_STATUS is_gone(const struct rt_group *g)
{
	return rt_fail(NRT_FAILURE, "NMGR",
		       g->member[g->gone].dead ? "the process of rank %u of %u has ended"
					       : "rank %u of %u was unloaded",
		       g->gone, g->n);
}

/* How long a rank waits for the others to begin */
static uint32_t patience(const struct nrt_model *model)
{
	const bool apart = cc_board_is_shared(rt_board()) && !rt_ranks_are_own(model);

	return apart && !model->timeout_given && model->timeout_ms < APART_MS ? APART_MS
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

/* The last rank at the first barrier gets the gate for all, and the execution begins. */
static void begin_all(struct rt_group *g)
{
	g->leaving = true;
	while (*gate() && g->leaving) {
		struct rt_group *other = NULL;

		if (cc_wait(rt_board(), gate() + 1, LOOK_MS * 1000))
			continue;
		/* whoever has it may not be there any more */
		while ((other = cc_slot_next(rt_board(), other)))
			if (other->gate || other == g)
				look_who_lives(other);
	}
	if (!g->leaving)
		return; /* a rank has ended meanwhile */
	g->leaving = false;
	g->gate = true;
	*gate() = 1;
	atomic_store(&g->failed, false);
	g->status = NRT_SUCCESS;
	open_barrier(g, COME);
}

/* Another thread's execution of this rank comes first. */
static NRT_STATUS wait_turn(struct rt_group *g, const struct nrt_model *model, uint64_t deadline)
{
	while (g->member[model->rank].here && !g->broken && rt_now_us() < deadline)
		wait_changed(g);
	if (g->broken)
		return is_gone(g);
	return g->member[model->rank].here
		       ? rt_fail(NRT_TIMEOUT, "NMGR",
				 "execution timeout (%u ms): the rank still executes",
				 model->timeout_ms)
		       : NRT_SUCCESS;
}

static NRT_STATUS come(struct rt_group *g, struct nrt_model *model, uint64_t deadline)
{
	const uint64_t generation = g->barrier[COME].generation;
	struct member *own = &g->member[model->rank];
	NRT_STATUS status = NRT_SUCCESS;

	own->here = true;
	own->waits = COME + 1;
	if (++g->barrier[COME].here == g->n)
		begin_all(g);
	while (g->barrier[COME].generation == generation && !status) {
		if (!g->leaving && g->broken)
			status = is_gone(g);
		else if (!g->leaving && rt_now_us() >= deadline)
			status = not_come(g, model);
		else if (!g->leaving && atomic_load(&model->interrupted))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "the execution was interrupted");
		if (!status && g->barrier[COME].generation == generation)
			wait_changed(g);
	}
	if (status) {
		g->barrier[COME].here--;
		own->waits = 0;
		own->here = false;
		wake(g);
	}
	return status;
}

NRT_STATUS rt_ranks_come(struct nrt_model *model)
{
	struct rt_group *g = model->group;
	const uint32_t ms = patience(model);
	const uint64_t deadline = rt_now_us() + ms * 1000ull;
	NRT_STATUS status;

	lock(g);
	status = wait_turn(g, model, deadline);
	if (!status)
		status = come(g, model, deadline);
	unlock();
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
		set_failure(g, model->rank, own, nrtx_error_details());
}

/* This rank is at the barrier, which opens if it was the last one. */
static void arrive(struct rt_group *g, const struct nrt_model *model, unsigned int which)
{
	g->member[model->rank].waits = (uint8_t)(which + 1);
	if (++g->barrier[which].here == g->n - g->dead)
		open_barrier(g, which);
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

	lock(g);
	note_failure(g, model, own);
	generation = g->barrier[which].generation;
	arrive(g, model, which);
	wake(g); /* who waits at the barrier between start and end need not do so if this is the end
		  */
	while (g->barrier[which].generation == generation)
		wait_changed(g);
	/* one that has begun, and failed by now, is met at the end, where all have to come */
	status = g->barrier[which].failed ? result(g, model, own) : own;
	unlock();
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

	lock(g);
	note_failure(g, model, own);
	generation = g->barrier[PASS].generation;
	arrive(g, model, PASS);
	while (g->barrier[PASS].generation == generation && !g->barrier[END].here)
		wait_changed(g);
	status = result(g, model, own);
	if (g->barrier[PASS].generation == generation) {
		g->barrier[PASS].here--;
		g->member[model->rank].waits = 0;
		if (!rt_fatal(status))
			status = rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
					 "rank %u waits for ranks that have ended", model->rank);
	}
	unlock();
	return status;
}

NRT_STATUS rt_ranks_end(struct nrt_model *model, NRT_STATUS own)
{
	return barrier(model, END, own);
}

void rt_ranks_go(struct nrt_model *model)
{
	struct rt_group *g = model->group;

	lock(g);
	g->member[model->rank].here = false;
	wake(g);
	unlock();
}

/* This is asked as often as a chip is looked at; who lives, every LOOK_MS. */
NRT_STATUS rt_ranks_failed(struct nrt_model *model)
{
	struct rt_group *g = model->group;
	const bool alone = !g || !cc_board_is_shared(rt_board());
	const bool failed = g && atomic_load(&g->failed);
	const uint64_t now = alone || failed ? 0 : rt_now_us();
	NRT_STATUS status;

	if (!failed && (alone || now < model->look_us))
		return NRT_SUCCESS;
	model->look_us = now + LOOK_MS * 1000;
	lock(g);
	look_who_lives(g);
	status = result(g, model, NRT_SUCCESS);
	unlock();
	return status;
}
