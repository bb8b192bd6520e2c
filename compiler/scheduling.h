/* SPDX-License-Identifier: MIT */
/* Scheduling a program, a large one while it is generated (scheduling.c) */
#ifndef NCC_SCHEDULING_H
#define NCC_SCHEDULING_H

#include "machine/prog.h"

struct ncc_follower;

struct ncc_scheduling {
	struct ncc_sched *sched;
	struct ncc_follower *follower; /* the thread that schedules meanwhile, of a large program */
	uint32_t told; /* it may schedule as many nodes */
};

/* 0 or -ENOMEM; what was begun is ended by ncc_scheduling_free() */
int ncc_scheduling_begin(struct ncc_scheduling *s, struct ncc_prog *prog);
/* As ncc_gen.settled: s, and how many nodes stay as they are but for their instructions */
void ncc_scheduling_settled(void *s, uint32_t nodes);
/* Once all nodes are there: the queues' DMAs spread, and what was begun taken. 0 or -ENOMEM */
int ncc_scheduling_spread(struct ncc_scheduling *s);
int ncc_scheduling_end(struct ncc_scheduling *s, struct ncc_stream stream[NEURON_ENGINES_MAX]);
void ncc_scheduling_free(struct ncc_scheduling *s);

#endif
