/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's view of the headers that the generated neuron_abi_asserts.c checks. */
#include <linux/stddef.h>

#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"
