// SPDX-License-Identifier: MIT
#include "instance.h"

#include <string.h>

const struct neuron_instance *neuron_instance_find(const char *name)
{
	for (size_t i = 0; i < neuron_instances_count; i++)
		if (!strcmp(neuron_instances[i].name, name))
			return &neuron_instances[i];
	return NULL;
}
