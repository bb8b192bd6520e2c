/* SPDX-License-Identifier: MIT */
/*
 * The job: processes whose ranks execute together (comm.c). A process has a board of its own for
 * the groups of its ranks until it has met the job's other processes, and from then on the job's.
 */
#ifndef RT_COMM_H
#define RT_COMM_H

#include "cc.h"
#include "nrt/nrt.h"

/*
 * Meets the others, unless that was done; root: NULL for NEURON_RT_ROOT_COMM_ID. NRT_INVALID: it
 * was of another number, or models are in groups
 */
NRT_STATUS rt_comm_open(const char *root, uint32_t member, uint32_t count);
/* The job's board, if it has so many members; NULL: this process has met no such job */
struct cc_board *rt_comm(uint32_t count);
/*
 * Makes sure that rt_board() is there, and does not change before a group is on it: from then on it
 * does not as long as that is. Whoever has entered leaves.
 */
NRT_STATUS rt_board_enter(void);
void rt_board_leave(void);
struct cc_board *rt_board(void);
/* No group is left; the others see that this process is gone. */
void rt_comm_close(void);

#endif
