/* SPDX-License-Identifier: MIT */
/*
 * Ranks: models, each on a core of its own, that were loaded from one file to execute it together
 * (docs/nrt.md, Collectives). ranks.c brings them together, barriers.c keeps them in step, pass.c
 * moves what they pass to each other.
 *
 * An execution of all ranks has three barriers. A rank waits at the first one for the others, up
 * to its own time-out; from then on each comes to the other two, whatever happened to it, so that
 * nobody waits in vain. None begins before all have their cores and inputs (the second), and none
 * gives its core away before all have ended (the third): until then others write into its memory
 * and its semaphores. For a rank whose process ends nobody waits any more; the others fail.
 */
#ifndef RT_RANKS_H
#define RT_RANKS_H

#include "rt_model.h"

struct rt_group;

/* A rank as the others see it, who may be of other processes */
struct rt_rank {
	uint32_t device, nc; /* its core */
	/* its scratchpad's address and size, in which all of them have it alike */
	uint64_t scratch, scratch_size;
	const struct rt_chunk *chunk; /* the scratchpad, of a rank of this process */
};

/*
 * For a model that is being loaded, once its scratchpad has a place: waits until all ranks of the
 * group have theirs. In a model for one rank nothing is waited for.
 */
NRT_STATUS rt_ranks_join(struct nrt_model *model);
/* Has every rank said yes? Each asks once, with the model being loaded. */
NRT_STATUS rt_ranks_agree(struct nrt_model *model, bool yes, bool *all);
/* The model goes, or could not be loaded. It need not have joined. */
void rt_ranks_leave(struct nrt_model *model);
const struct rt_rank *rt_ranks_of(const struct nrt_model *model, uint32_t rank);
/* Are all ranks of this process? */
bool rt_ranks_are_own(const struct nrt_model *model);

/* The barriers of an execution. What fails in the first one has no others. */
NRT_STATUS rt_ranks_come(struct nrt_model *model);
NRT_STATUS rt_ranks_start(struct nrt_model *model, NRT_STATUS own);
/* Says that this rank's part ended so, and waits for the others'; the result is all ranks' */
NRT_STATUS rt_ranks_end(struct nrt_model *model, NRT_STATUS own);
void rt_ranks_go(struct nrt_model *model);
/* A further barrier between the second and the third one */
NRT_STATUS rt_ranks_barrier(struct nrt_model *model, NRT_STATUS own);
/* The board's area is this group's from when all ranks have come until they give it back. */
NRT_STATUS rt_ranks_take_area(struct nrt_model *model);
void rt_ranks_give_area(struct nrt_model *model);
/* Has another rank failed in the execution that goes on? Then this one need not go on. */
NRT_STATUS rt_ranks_failed(struct nrt_model *model);

/* Nothing passes: the rank's own number is given to it. */
static inline bool rt_is_number(const struct neff_collective *c)
{
	return c->op > NEFF_PERMUTE;
}

/* pass.c: numbers and zeros, which stay as they are */
NRT_STATUS rt_pass_begin(struct nrt_model *model);
/* Can the chips move what passes by themselves? */
bool rt_pass_by_chip(const struct nrt_model *model);
/* Is something passed behind the subgraph? */
bool rt_passes(const struct rt_subgraph *sg);
/* The descriptors of what passes, into the ring that is the subgraph's last one */
NRT_STATUS rt_pass_queue(struct rt_subgraph *sg, struct rt_ring *ring);
/* The semaphores that say that all ranks are ready, and that all have given their data */
struct rt_pass_semaphores {
	uint8_t ready, given;
};
struct rt_pass_semaphores rt_pass_semaphores(const struct rt_subgraph *sg);
/* Passes the data that goes between ranks behind a subgraph, when all are through with that */
NRT_STATUS rt_pass_by_host(struct nrt_model *model, unsigned int part);

#endif
