/* SPDX-License-Identifier: MIT */
/* Between start.S and support.c. */
#ifndef NEURON_SUPPORT_H
#define NEURON_SUPPORT_H

#include "neuron/custom_op.h"

void neuron_end(void); /* what is left to print, then the end */

#endif
