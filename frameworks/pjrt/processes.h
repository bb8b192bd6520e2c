/* SPDX-License-Identifier: MIT */
/* Several processes, each with devices of its own (processes.c) */
#ifndef NPJ_PROCESSES_H
#define NPJ_PROCESSES_H

#include "pjrt.h"

#define NPJ_UNSAID INT64_MIN /* a number of processes that no framework gives */

struct npj_processes {
	int64_t n, own; /* as the framework says, or NPJ_UNSAID; which is this one */
	/*
	 * The framework gives a store of keys and values. One that does not say how many there are
	 * leaves the store's callbacks as they are in its memory: not 0 (torch_xla 2.9.0)
	 */
	bool store;
	unsigned int *devices; /* of each; the caller frees it */
	const char *apart; /* why programs cannot span them; NULL: they can */
};

/* Settings that all processes have to have the same */
struct npj_chips {
	char arch[16];
	unsigned int lnc, cores;
};

/* How many there are, if the framework does not say */
PJRT_Error *npj_processes_check(struct npj_processes *p);
/* Tells the others of n devices, and learns of theirs */
PJRT_Error *npj_processes_exchange(const PJRT_Client_Create_Args *a, struct npj_processes *p,
				   const struct npj_chips *own, unsigned int n);
/* The number of devices of the first processes */
unsigned int npj_processes_devices(const struct npj_processes *p, unsigned int before);

#endif
