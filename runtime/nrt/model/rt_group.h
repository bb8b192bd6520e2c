/* SPDX-License-Identifier: MIT */
/*
 * A group of ranks as it lies on the board (rt_comm.h), for the files that come together and keep
 * in step (rt_ranks.h): ranks.c and barriers.c above, group.c below.
 *
 * A barrier opens when all ranks have come to it that are alive. The board's lock protects all of
 * this, and no other lock is taken under it. Several groups may share cores: the ranks of a group
 * take their cores between the first and the second barrier, and the gate lets one group at a time
 * do that, so that two groups never have some of each other's.
 */
#ifndef RT_GROUP_H
#define RT_GROUP_H

#include "rt_comm.h"
#include "rt_ranks.h"

#define RT_LOOK_MS 20 /* between two looks whether something is still wanted, and who is alive */
#define RT_APART_MS 1800000 /* for ranks of other processes, which compile or read data meanwhile */
#define RT_MOST_RANKS 256
#define RT_GROUPS 4096

enum { RT_COME, RT_START, RT_PASS, RT_END, RT_BARRIERS };
/* What one group has at a time: its cores to take, and the board's area to pass data by */
enum { RT_CORES, RT_AREA, RT_GATES };

struct rt_member {
	struct rt_rank rank;
	uint64_t file; /* a digest of its file */
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
	uint64_t passes; /* a digest of what the ranks pass to each other; 0: nobody knows yet */
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
	} barrier[RT_BARRIERS];
	bool leaving; /* all ranks are at the first barrier: none gives up any more */
	bool has[RT_GATES]; /* what one group has at a time */
	atomic_bool failed; /* the execution that goes on, by this rank with this status */
	uint32_t culprit;
	NRT_STATUS status;
	char details[512]; /* in its words */
	struct rt_member member[];
};

#define RT_GROUP_SLOT (sizeof(struct rt_group) + RT_MOST_RANKS * sizeof(struct rt_member))

/* g: NULL, or a group that is broken if a process ended with the lock */
void rt_group_lock(struct rt_group *g);
void rt_group_unlock(void);

/* With the lock: */
void rt_group_wake(struct rt_group *g);
/* Waits for a change, and not for long: then it looks who lives. */
void rt_group_wait(struct rt_group *g);
void rt_group_look(struct rt_group *g);
/* A gate's word: 1 while a group has it; who wants it sleeps on the one behind */
uint32_t *rt_group_gate(unsigned int gate);
void rt_group_close(struct rt_group *g, unsigned int gate);
void rt_group_open(struct rt_group *g, unsigned int barrier);
/* What all say when a process has ended with the lock, and nothing on the board can be relied on */
NRT_STATUS rt_group_spoiled(void);
/* The execution has failed, by this rank first if by none before */
void rt_group_fail(struct rt_group *g, uint32_t rank, NRT_STATUS status, const char *details);

#endif
