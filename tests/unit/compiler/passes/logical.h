/* SPDX-License-Identifier: MIT */
/* Models on the logical cores of a Trainium2 in process */
#ifndef TEST_NCC_LOGICAL_H
#define TEST_NCC_LOGICAL_H

#include <stddef.h>
#include <stdint.h>

#include "nrt/nrtx.h"

/* Starts the runtime there; config: cores of a logical one, NULL for the default */
void logical_start(const char *config);
/* Executes it twice on this core and returns the bytes of all outputs, one behind the other. */
uint8_t *logical_outputs(const void *neff, size_t neff_size, int32_t core, size_t *size);

#endif
