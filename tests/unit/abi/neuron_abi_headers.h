/* SPDX-License-Identifier: MIT */
/* The headers that the generated ABI assertions check, as a user program sees them */
#ifndef NEURON_ABI_HEADERS_H
#define NEURON_ABI_HEADERS_H

#include <stddef.h>

#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"

#endif
