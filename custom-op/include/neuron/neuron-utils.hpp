/* SPDX-License-Identifier: MIT */
/* The number of the processor that runs the operator, and how many they are. */
#ifndef NEURON_NEURON_UTILS_HPP
#define NEURON_NEURON_UTILS_HPP

extern "C" {
#include "neuron/custom_op.h"
}

inline uint32_t get_cpu_id()
{
	return neuron_cpu_id();
}
inline uint32_t get_cpu_count()
{
	return neuron_cpu_count();
}

#endif
