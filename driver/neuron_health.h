/* SPDX-License-Identifier: GPL-2.0-only */
/* The chip's health: periodic looks at it, neuron_health.c, and what the last one found. */
#ifndef NEURON_HEALTH_H
#define NEURON_HEALTH_H

#include "neuron_device.h"

void neuron_health_init(struct neuron_device *nd, void (*each)(struct neuron_device *nd));
void neuron_health_start(struct neuron_device *nd);
void neuron_health_stop(struct neuron_device *nd);
int neuron_health_poll(struct neuron_device *nd, struct neuron_health *health);
int neuron_power_last(struct neuron_device *nd);
#define POWER_MAX_BP 10000 /* more is no reading */
int neuron_power_word(struct neuron_device *nd, unsigned int die, u32 *word);

/* The findings of the last look, if there was one */
static inline bool neuron_health_last(struct neuron_device *nd, struct neuron_health *health)
{
	bool known;

	mutex_lock(&nd->health.lock);
	known = nd->health.known;
	*health = nd->health.last;
	mutex_unlock(&nd->health.lock);
	return known;
}

#endif
