/* SPDX-License-Identifier: MIT */
/* Calls of the host in programs (calls.c) */
#ifndef NPJ_CALLS_H
#define NPJ_CALLS_H

#include "pjrt.h"

/*
 * The address of the function that programs call from now on, or of the one that is told which
 * numbers they have
 */
PJRT_Error *npj_calls_entry(int64_t address);
PJRT_Error *npj_calls_holder(int64_t address);
/* The program's numbers are in use, or not any more: the framework keeps what they mean */
void npj_calls_hold(const struct ncc_program *p, bool hold);
/*
 * The calling thread begins to run a program on a device (NULL: it has ended). What was under way
 * before, for the end: a function that a program calls may run another one.
 */
const PJRT_Device *npj_calls_enter(const PJRT_Device *device);
/* Is the calling thread in a function that a program on this device has called? */
bool npj_calls_within(const PJRT_Device *device);
/* NULL: what is to come is not what the program that has called this thread's function comes before
 */
PJRT_Error *npj_calls_wait(const struct npj_value *v);

#endif
