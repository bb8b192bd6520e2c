/* SPDX-License-Identifier: MIT */
/*
 * A generation that no chip has: other counts and sizes than Inferentia's, for tests that code
 * knows a generation only by its tables
 */
#ifndef TESTS_GEN_SECOND_H
#define TESTS_GEN_SECOND_H

#include "neuron/hw/target.h"

/* The fifth engine executes what POOL does */
#define SECOND_ENG_GP 4

extern const struct neuron_target neuron_target_second;

#endif
