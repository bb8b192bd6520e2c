/* SPDX-License-Identifier: MIT */
/* Several processes, each with devices of its own (processes.c) */
#ifndef NPJ_PROCESSES_H
#define NPJ_PROCESSES_H

#include "pjrt.h"

struct npj_processes {
	int64_t n, own; /* as the framework says; which is this one */
	unsigned int *devices; /* of each; the caller frees it */
};

/* Settings that all processes have to have the same */
struct npj_chips {
	char arch[16];
	unsigned int lnc, cores;
};

PJRT_Error *npj_processes_check(const struct npj_processes *p);
/* Tells the others of n devices, and learns of theirs */
PJRT_Error *npj_processes_exchange(const PJRT_Client_Create_Args *a, struct npj_processes *p,
				   const struct npj_chips *own, unsigned int n);
/* The number of devices of the first processes */
unsigned int npj_processes_devices(const struct npj_processes *p, unsigned int before);

#endif
