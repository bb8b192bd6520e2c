/* SPDX-License-Identifier: GPL-2.0-only */
/* Looks at the chip, neuron_watch.c; what the last one found, for everybody. */
#ifndef NEURON_WATCH_H
#define NEURON_WATCH_H

#include "neuron_device.h"

void neuron_watch_init(struct neuron_device *nd, void (*each)(struct neuron_device *nd));
void neuron_watch_start(struct neuron_device *nd);
void neuron_watch_stop(struct neuron_device *nd);
int neuron_watch_look(struct neuron_device *nd, struct neuron_health *health);
int neuron_power_last(struct neuron_device *nd);
#define POWER_MAX_BP 10000 /* more is no reading */
int neuron_power_word(struct neuron_device *nd, unsigned int die, u32 *word);

/* The findings of the last look, if there was one */
static inline bool neuron_watch_last(struct neuron_device *nd, struct neuron_health *health)
{
	bool known;

	mutex_lock(&nd->watch.lock);
	known = nd->watch.known;
	*health = nd->watch.last;
	mutex_unlock(&nd->watch.lock);
	return known;
}

#endif
