// SPDX-License-Identifier: GPL-2.0-only
/* The code of the tracepoints, once. */
#include "neuron_device.h"

#define CREATE_TRACE_POINTS
#include "neuron_trace.h"
