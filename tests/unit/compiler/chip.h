/* SPDX-License-Identifier: MIT */
/*
 * The chip for which these tests compile, and on which they run in process: inf1's, or that of
 * TEST_TARGET, which an instance TEST_MACHINE has, of which programs use TEST_LNC cores of a
 * logical one
 */
#ifndef TEST_NCC_CHIP_H
#define TEST_NCC_CHIP_H

#include <stdlib.h>

#include "neuron/hw/target.h"
#include "nrt/nrtx.h"

/* Starts the runtime there; what to compile for, or NULL */
static inline const struct neuron_target *chip_start(void)
{
	const char *target = getenv("TEST_TARGET"), *machine = getenv("TEST_MACHINE");

	if (nrtx_machine_set(machine ? machine : "emu:inf1.xlarge") ||
	    nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))
		return NULL;
	return neuron_target_of_name(target ? target : "inf1");
}

static inline unsigned int chip_lnc(void)
{
	const char *lnc = getenv("TEST_LNC");

	return lnc ? (unsigned int)atoi(lnc) : 1;
}

#endif
