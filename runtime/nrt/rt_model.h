/* SPDX-License-Identifier: MIT */
/* A model: its subgraphs, each on a core, and who uses it (model.c); going (handover.c). */
#ifndef RT_MODEL_H
#define RT_MODEL_H

#include <stdatomic.h>

#include "rt_subgraph.h"

struct rt_io;

/*
 * How a model's subgraphs make one program: one alone (exec.c), stages (pipeline.c), or parts of
 * which some are executed again (loops.c). load.c chooses by the NEFF.
 */
struct rt_kind {
	bool spreads; /* each subgraph on a core of its own, as far as there are cores */
	/*
	 * What lies between the subgraphs, which have variables and nothing on the device yet; may
	 * be NULL. What a failure leaves undone is freed later
	 */
	NRT_STATUS (*join)(struct nrt_model *model);
	/* One execution; device_us: adds the time that the chip was at it */
	NRT_STATUS (*execute)(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us);
	void (*free)(struct nrt_model *model); /* what join made; may be NULL */
};

struct nrt_model {
	struct nrt_model *next; /* in rt.models or rt.stale */
	struct neff_model *neff; /* metadata; bulk data freed after load */
	const struct rt_kind *kind; /* NULL until the NEFF is read */
	unsigned int nsubgraphs;
	struct rt_subgraph *subgraph;
	struct rt_core *core; /* the first of ncores */
	uint32_t ncores; /* fewer than subgraphs: these share them */
	struct rt_pipeline *pipeline; /* pipeline.c */
	struct rt_loops *loops; /* loops.c */
	uint32_t timeout_ms;
	uint64_t owner; /* 0: this process */
	atomic_bool interrupted; /* executions end, and none begins */
	unsigned int running; /* calls that use it; rt.lock, with idle */
	pthread_cond_t idle;
	pthread_mutex_t count_lock; /* counters */
	struct nrtx_model_counters counters;
};

struct nrt_model *rt_model_new(void); /* NULL: out of memory */
void rt_model_free(struct nrt_model *model); /* all it holds, whatever was built */
/* Keep a model for a call. False: not loaded, or nrt_unload has begun to take it away */
bool rt_model_pin(const struct nrt_model *model);
void rt_model_unpin(const struct nrt_model *model);
static inline void rt_model_release(const struct nrt_model **pinned)
{
	if (*pinned)
		rt_model_unpin(*pinned);
}
/* NULL when the model is not loaded; let go with the block */
#define RT_PIN(pinned, model)                                                       \
	__attribute__((cleanup(rt_model_release))) const struct nrt_model *pinned = \
		rt_model_pin(model) ? (model) : NULL

/* Does nobody want its executions any more (nrtx_interrupt)? Then that is the status */
NRT_STATUS rt_interrupted(const struct nrt_model *model);

/*
 * handover.c. exec held: the core is this subgraph's model's owner's from here on, with nothing in
 * it of another one's
 */
NRT_STATUS rt_core_take(struct rt_core *core, const struct rt_subgraph *sg);
/* A model that is loaded no more: freed when its cores are at rest, tried again by the second */
void rt_model_go(struct nrt_model *model);
void rt_stale_retry(void);
void rt_stale_free(void); /* the devices are about to be closed: this process's part */

#endif
