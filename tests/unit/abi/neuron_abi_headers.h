/* SPDX-License-Identifier: MIT */
/* What the generated ABI assertions are checked against, as a user program sees it. */
#ifndef NEURON_ABI_HEADERS_H
#define NEURON_ABI_HEADERS_H

#include <stddef.h>

#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"

#endif
