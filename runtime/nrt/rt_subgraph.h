/* SPDX-License-Identifier: MIT */
/*
 * A subgraph of a model as it lies on its core: memory (place.c), queues (dma.c, gather.c) and
 * streams (stream.c); subgraph.c makes all of them and takes them away.
 */
#ifndef RT_SUBGRAPH_H
#define RT_SUBGRAPH_H

#include "rt_ring.h"

struct nrt_model;

struct rt_var {
	const struct neff_var *neff;
	struct rt_chunk *chunk; /* where it lies; NULL for the state buffer */
	uint64_t offset; /* in the chunk */
	uint64_t pa; /* device address of its first byte */
	bool edge; /* passes between stages, is nobody's tensor */
	bool remote; /* of them: lies in the next stage's device, pa is its window */
};
static inline bool rt_var_is_io(const struct rt_var *var)
{
	return !var->edge &&
	       (var->neff->type == NEFF_VAR_INPUT || var->neff->type == NEFF_VAR_OUTPUT);
}

/* What one DMA asks of its queue: what the trigger rings */
struct rt_trigger {
	uint32_t id;
	uint32_t queue; /* index in rings of the data queues */
	uint32_t ntx, nrx;
};

struct rt_engine {
	unsigned int ntriggers;
	struct rt_trigger *triggers;
	uint8_t *stream; /* while it is built */
	size_t size;
	struct rt_ring ring;
};

struct rt_subgraph {
	struct nrt_model *model; /* whose it is */
	const struct neff_subgraph *neff;
	const struct neuron_target *target; /* what its programs are for */
	struct rt_core *core;
	bool ran; /* its queues were set up; the core's exec */
	unsigned int nvars;
	struct rt_var *vars;
	unsigned int nchunks;
	struct rt_chunk *chunks;
	struct rt_chunk code, one; /* streams; the word a completion writes */
	unsigned int nqueues;
	struct rt_ring *queues; /* data queues, index as in the neff, and gather.c's behind */
	struct rt_gathers *gathers; /* NULL: it has none */
	struct rt_engine engine[NEURON_ENGINES_MAX];
	uint64_t macs; /* of one execution, by the program */
};

/* The variables, not yet anywhere; model and neff are set */
NRT_STATUS rt_subgraph_begin(struct rt_subgraph *sg, struct rt_core *core);
NRT_STATUS rt_subgraph_build(struct rt_subgraph *sg); /* all that follows */
void rt_subgraph_drop_bulk(struct rt_subgraph *sg); /* what only building needed */
void rt_subgraph_free(struct rt_subgraph *sg); /* all it holds, whatever was built */
struct rt_var *rt_subgraph_var(struct rt_subgraph *sg, enum neff_var_type type, const char *name);
/* Its rings, data queues first; returns how many */
unsigned int rt_subgraph_rings(struct rt_subgraph *sg, struct rt_ring *ring[RT_MAX_QUEUES]);

NRT_STATUS rt_place_begin(struct rt_subgraph *sg);
NRT_STATUS rt_place(struct rt_subgraph *sg); /* chunks, constants copied in */
/* The shared scratchpad: one chunk of the first's under all virtual variables of n subgraphs */
NRT_STATUS rt_place_virtual(struct rt_subgraph *sg, unsigned int n);
NRT_STATUS rt_build_queues(struct rt_subgraph *sg); /* data queues and triggers */
NRT_STATUS rt_build_streams(struct rt_subgraph *sg); /* patched programs and their queues */

/*
 * gather.c: the queues a subgraph's gathers take besides their own; what they need before the first
 * is added (the queues are there); one of them. -ENOMEM
 */
unsigned int rt_gather_queues(const struct neff_subgraph *neff);
NRT_STATUS rt_gather_begin(struct rt_subgraph *sg);
int rt_gather_add(struct rt_subgraph *sg, const struct neff_dma *dma, struct rt_ring *ring);
NRT_STATUS rt_gather_commit(struct rt_subgraph *sg); /* all are added: what they read, copied in */
void rt_gather_free(struct rt_subgraph *sg);

#endif
