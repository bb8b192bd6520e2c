/* SPDX-License-Identifier: GPL-2.0-only */
/* What the generated neuron_abi_asserts.c is checked against, as the module sees it. */
#include <linux/stddef.h>

#include "uapi/neuron/neuron_ioctl.h"
#include "uapi/neuron/neuron_nds.h"
