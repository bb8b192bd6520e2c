// SPDX-License-Identifier: MIT
/*
 * The JSON form, the schema of the 2.x tools: other people's scripts rely on the order of keys, the
 * indent of four and one key a line. Called through layout.h.
 */
#include "layout.h"

#include <errno.h>
#include <jansson.h>

static json_t *pack_neighbours(const struct ls_chip *chip)
{
	json_t *list;

	if (!chip->n_neighbours)
		return json_null();
	list = json_array();
	for (unsigned i = 0; i < chip->n_neighbours; i++)
		json_array_append_new(list, json_integer(chip->neighbours[i]));
	return list;
}

static json_t *pack_core_ids(const struct ls_chip *chip)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < chip->cores; i++)
		json_array_append_new(list, json_integer(chip->index * chip->cores + i));
	return list;
}

static json_t *pack_processes(const struct ls_chip *chip, const struct ls_options *opt)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < chip->n_processes; i++) {
		const struct ls_process *p = &chip->processes[i];
		char command[81];

		if (!p->runtime && !opt->all_processes)
			continue;
		ls_cut_command(p->command, opt, command);
		json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "pid", p->pid, "command",
						      command, "neuron_runtime_version",
						      p->runtime ? p->version : "NA"));
	}
	return list;
}

/* NULL leaves the key out */
static json_t *pack_logical_cores(const struct ls_inventory *inv)
{
	return inv->cores_of_one ? json_integer(inv->cores_of_one) : NULL;
}

static json_t *pack_chip(const struct ls_inventory *inv, const struct ls_chip *chip,
			 const struct ls_options *opt)
{
	char numa_node[16];

	snprintf(numa_node, sizeof(numa_node), "%d", chip->numa_node);
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:i, s:o*, s:I, s:o, s:o}", "neuron_device",
			 (int)chip->index, "bdf", chip->bdf, "cpu_affinity", chip->cpus,
			 "numa_node", numa_node, "connected_to", pack_neighbours(chip), "nc_count",
			 (int)chip->cores, "logical_neuroncore_config", pack_logical_cores(inv),
			 "memory_size", (json_int_t)(chip->channel_bytes * chip->channels),
			 "neuroncore_ids", pack_core_ids(chip), "neuron_processes",
			 pack_processes(chip, opt));
}

int ls_print_json(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	json_t *list = json_array();
	int ret = 0;

	for (unsigned i = 0; i < inv->n_chips && !ret; i++) {
		if (json_array_append_new(list, pack_chip(inv, &inv->chips[i], opt)))
			ret = -ENOMEM;
	}
	if (!ret && json_dumpf(list, out, JSON_INDENT(4) | JSON_PRESERVE_ORDER))
		ret = -EIO;
	json_decref(list);
	return ret;
}
