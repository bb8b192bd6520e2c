// SPDX-License-Identifier: MIT
/* A process's datastore (neuron_nds.h), read from the mapping while its owner goes on writing. */
#include "process.h"
#include "rt_nds.h"
#include "telemetry.h"

#include <stdlib.h>
#include <string.h>

static uint64_t word(const void *nds, size_t size, size_t offset)
{
	uint64_t value = 0;

	if (offset + sizeof(value) <= size)
		memcpy(&value, (const char *)nds + offset, sizeof(value));
	return value;
}

static void read_usage(const nds_mem_usage_info_t *slot, struct tm_node_memory *m)
{
	m->code = slot[NDS_DMA_MEM_USAGE_SLOT_CODE].total_size;
	m->tensors = slot[NDS_DMA_MEM_USAGE_SLOT_TENSORS].total_size;
	m->constants = slot[NDS_DMA_MEM_USAGE_SLOT_CONSTANTS].total_size;
	m->scratchpad = slot[NDS_DMA_MEM_USAGE_SLOT_SCRATCHPAD].total_size;
	m->misc = slot[NDS_DMA_MEM_USAGE_SLOT_MISC].total_size;
}

static void read_node(const struct rt_nds_node *from, struct tm_node *to)
{
	*to = (struct tm_node){
		.model = from->info.model_id,
		.subgraph = from->info.sg_index,
		.nc = from->info.nc_index,
	};
	memcpy(to->name, from->info.name, sizeof(to->name) - 1);
	ls_printable(to->name);
	memcpy(to->uuid, from->info.uuid, sizeof(to->uuid));
	read_usage(from->usage.model_mem_usage[RT_NDS_HOST], &to->host);
	read_usage(from->usage.model_mem_usage[RT_NDS_DEVICE], &to->device);
}

/* Reads the nodes of a datastore; a runtime other than this project's has none. */
static void read_nodes(const void *nds, size_t size, unsigned cores, struct tm_part *part)
{
	const struct rt_nds_area *area = (const void *)((const char *)nds + NDS_PRIVATE_OFFSET);

	if (size < NDS_PRIVATE_OFFSET + sizeof(*area) || area->magic != RT_NDS_MAGIC)
		return;
	part->node = calloc(RT_NDS_NODES, sizeof(*part->node));
	for (unsigned i = 0; part->node && i < RT_NDS_NODES; i++) {
		if (__atomic_load_n(&area->node[i].there, __ATOMIC_ACQUIRE) != RT_NDS_THERE)
			continue;
		read_node(&area->node[i], &part->node[part->nodes]);
		part->nodes += part->node[part->nodes].nc < cores;
	}
}

bool tm_read_datastore(const void *nds, size_t size, unsigned cores, struct tm_process *p,
		       struct tm_part *part)
{
	if (ls_process_version(nds, size, p->version, sizeof(p->version)))
		return false;
	for (unsigned i = 0; i < TM_HOST_COUNTERS; i++)
		part->host[i] =
			word(nds, size, NDS_ND_OFFSET(NDS_ND_COUNTER_MEM_USAGE_CODE_HOST + i));
	for (unsigned nc = 0; nc < cores && nc < NEURON_CORES_MAX; nc++)
		for (unsigned i = 0; i < TM_COUNTERS; i++)
			part->core[nc][i] = word(nds, size, NDS_NC_OFFSET(nc, i));
	read_nodes(nds, size, cores, part);
	return true;
}
