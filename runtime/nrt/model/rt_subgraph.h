/* SPDX-License-Identifier: MIT */
/*
 * A subgraph of a model as it lies on its core: memory (place.c), queues (dma.c, gather.c) and
 * streams (stream.c); subgraph.c makes and frees all of them
 */
#ifndef RT_SUBGRAPH_H
#define RT_SUBGRAPH_H

#include "rt_ring.h"

struct nrt_model;

struct rt_var {
	const struct neff_var *neff;
	struct rt_chunk *chunk; /* the chunk it lies in; NULL for the state buffer */
	uint64_t offset; /* in the chunk */
	uint64_t pa; /* device address of its first byte */
	bool edge; /* passes between stages and is not bound to a tensor */
	bool here; /* a constant that has to lie in the core's own chip */
	unsigned int home; /* of a constant: which of the chips that share constants it is for
			      (place.c) */
	bool remote; /* an edge that lies in the next stage's device; pa is in the window to it */
	const struct rt_var *twin; /* of a subgraph before: this one lies there too */
	/* in an execution, of an input and an output of one tensor: the other one (io.c) */
	struct rt_var *alias;
	bool given; /* an input that has its tensor's bytes, which the tensor has no more */
};
static inline bool rt_var_is_io(const struct rt_var *var)
{
	return !var->edge && !var->twin &&
	       (var->neff->type == NEFF_VAR_INPUT || var->neff->type == NEFF_VAR_OUTPUT);
}

/* The doorbell counts of one DMA's trigger */
struct rt_trigger {
	uint32_t id;
	uint32_t queue; /* index in queues */
	uint32_t ntx, nrx;
};

struct rt_engine {
	unsigned int ntriggers;
	struct rt_trigger *triggers;
	uint8_t *stream; /* only until it is copied to the device */
	size_t size;
	struct rt_ring ring;
};

/* The part that follows another, in a program of several, if a byte on the device says so */
struct rt_jump {
	const struct rt_var *condition; /* NULL: in any case with the next part */
	bool if_zero; /* it jumps if the byte is 0, else if it is not */
	unsigned int to; /* part */
};

struct rt_subgraph {
	struct nrt_model *model; /* whose it is */
	const struct neff_subgraph *neff;
	const struct neuron_target *target; /* the target that its programs are for */
	struct rt_core *core;
	bool ran; /* its queues were set up at least once; protected by the core's exec */
	unsigned int nvars;
	struct rt_var *vars;
	struct rt_var **by_name; /* all of them, whose names differ */
	unsigned int nchunks;
	struct rt_chunk *chunks;
	struct rt_chunk code, one; /* the streams; the word that a completion writes */
	/*
	 * how many subgraphs, it and those behind it in the model, are one program on the core: 1,
	 * or the parts of a program with loops, of which the others have 0 (link.c)
	 */
	unsigned int nparts;
	struct rt_jump jump;
	unsigned int first_queue; /* the core's data queues before its own are other parts' */
	bool self_refilling; /* its queues go round their rings without the host (iterations.c) */
	unsigned int nqueues;
	/* data queues, in the order of the NEFF, and behind them those of gather.c */
	struct rt_ring *queues;
	struct rt_custom {
		struct rt_chunk chunk; /* library, argument blocks, ring of what is printed */
		uint64_t ring_at; /* in it */
		uint32_t ring_bytes;
		uint64_t printed; /* bytes that went to the log */
	} custom;
	/* the doorbells for what passes to other ranks behind it (pass.c) */
	struct rt_pass {
		struct rt_trigger ready, given;
	} pass;
	struct rt_gathers *gathers; /* NULL if it has no gathers */
	struct rt_engine engine[NEURON_ENGINES_MAX];
	unsigned int nfed; /* queues that feed engines */
	/* where in the code each engine's rounding is set (0: nowhere), and the seed that is there */
	uint64_t rounding[NEURON_ENGINES_MAX], seed;
	/* has jumps of its own: nobody has checked that it leaves the core at rest (docs/neff.md) */
	bool jumps;
	/* semaphores of the other core of a logical one that its barriers raise, a bit each */
	uint64_t raises[NEURON_SEMAPHORES_MAX / 64];
	uint64_t macs; /* of one execution of its programs */
	uint64_t busy; /* picoseconds of all engines, one after the other, by the target's costs */
};

/* Begins with the variables, which have no place yet; model and neff are set by the caller. */
NRT_STATUS rt_subgraph_begin(struct rt_subgraph *sg, struct rt_core *core);
/* Places the variables, builds queues and streams; of several parts one after the other */
NRT_STATUS rt_subgraph_build(struct rt_subgraph *sg);
/* ... and then, of the first of them, makes the program that the engines are fed with */
NRT_STATUS rt_subgraph_finish(struct rt_subgraph *sg);
void rt_subgraph_drop_bulk(struct rt_subgraph *sg); /* frees what only building needs */
/* Frees all it holds, however much of it was built */
void rt_subgraph_free(struct rt_subgraph *sg);
struct rt_var *rt_subgraph_var(struct rt_subgraph *sg, enum neff_var_type type, const char *name);
/* Picoseconds of the chip, if engines and queues worked one after the other */
uint64_t rt_subgraph_time(struct rt_subgraph *sg);
/* Lists its rings, data queues first, and returns their number. */
unsigned int rt_subgraph_rings(struct rt_subgraph *sg, struct rt_ring *ring[RT_MAX_QUEUES]);

NRT_STATUS rt_place_begin(struct rt_subgraph *sg);
NRT_STATUS rt_place(struct rt_subgraph *sg); /* allocates chunks and copies constants */
/*
 * Places the shared scratchpad: one chunk on the core of sg[0] for the virtual variables of all n
 * subgraphs.
 */
NRT_STATUS rt_place_virtual(struct rt_subgraph *sg, unsigned int n);
NRT_STATUS rt_build_queues(struct rt_subgraph *sg); /* builds data queues and triggers */

/* In stream.c: makes the engines' streams, patched, in the host's memory */
NRT_STATUS rt_make_streams(struct rt_subgraph *sg);
/* The write of a trigger's doorbells */
void rt_trigger_insn(struct neuron_insn *insn, const struct rt_subgraph *sg,
		     const struct rt_trigger *trigger);
/* Copies them to the device, for queues that feed the engines with them */
NRT_STATUS rt_load_streams(struct rt_subgraph *sg);
/* Adds the bytes at a device address, with which an engine is fed, to a ring */
NRT_STATUS rt_feed_add(struct rt_subgraph *sg, struct rt_ring *ring, unsigned int e, uint64_t pa,
		       size_t size);
/* Gives the engine's ring, in which that is for one or several engines, its queue. */
NRT_STATUS rt_feed_commit(struct rt_subgraph *sg, unsigned int e);
/*
 * In link.c, in place of rt_load_streams where engines fetch: makes one program of the streams of
 * sg->nparts subgraphs, which the engines fetch from the device's memory.
 */
NRT_STATUS rt_link_streams(struct rt_subgraph *sg);
/* Has the program round by its model's seed from the next execution on; the core's exec is held. */
NRT_STATUS rt_link_seed(struct rt_subgraph *sg);
static inline bool rt_subgraph_fetches(const struct rt_subgraph *sg)
{
	return sg->target->core >= 2;
}

/*
 * In gather.c: the number of queues that a subgraph's gathers take besides their own; the set-up
 * before the first gather is added (the queues exist); one gather, 0 or -ENOMEM
 */
unsigned int rt_gather_queues(const struct neff_subgraph *neff);
NRT_STATUS rt_gather_begin(struct rt_subgraph *sg);
int rt_gather_add(struct rt_subgraph *sg, const struct neff_dma *dma, struct rt_ring *ring);
/* Copies the doorbell values, after all gathers were added */
NRT_STATUS rt_gather_commit(struct rt_subgraph *sg);
void rt_gather_free(struct rt_subgraph *sg);

#endif
