/* SPDX-License-Identifier: GPL-2.0-only */
/* The level: the release of the public driver that programs take the module for, neuron_level.c. */
#ifndef NEURON_LEVEL_H
#define NEURON_LEVEL_H

#include <linux/errno.h>
#include <linux/types.h>

enum neuron_level {
	NEURON_LEVEL_2_24,
	NEURON_LEVEL_2_27,
	NEURON_LEVEL_2_28,
	NEURON_LEVEL_2_29,
	NEURON_LEVELS
};

extern enum neuron_level neuron_level; /* set once, at load time */

int neuron_level_init(void);
void neuron_level_exit(void);
const char *neuron_level_version(void);
u64 neuron_level_features(void);

/* The errno of a mistake that the public driver tells by another one since 2.29 */
static inline int neuron_level_errno(int before, int since)
{
	return neuron_level < NEURON_LEVEL_2_29 ? before : since;
}

#endif
