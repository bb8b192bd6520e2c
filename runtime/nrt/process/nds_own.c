/* SPDX-License-Identifier: MIT */
/* Entries of a datastore that this process owns, which tell of it and of its models */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_context.h"
#include "rt_nds.h"

pthread_mutex_t rt_nds_lock = PTHREAD_MUTEX_INITIALIZER;

int rt_nds_node_take(struct rt_nds_area *area)
{
	for (int i = 0; i < RT_NDS_NODES; i++) {
		uint32_t expected = RT_NDS_FREE;

		if (__atomic_compare_exchange_n(&area->node[i].there, &expected, RT_NDS_TAKEN,
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return i;
	}
	return -1;
}

static nds_version_info_t version_info(const char *text)
{
	unsigned int major = 0, minor = 0, build = 0;

	sscanf(text, "%3u.%3u.%9u", &major, &minor, &build);
	return (nds_version_info_t){ (uint8_t)major, (uint8_t)minor, build };
}

void rt_nds_process(void *nds, int framework, const char *fw_version, const char *fal_version)
{
	const char *tag = secure_getenv("NEURON_PROCESS_TAG");
	struct rt_nds_area *area = rt_nds_area(nds);

	pthread_mutex_lock(&rt_nds_lock);
	area->magic = RT_NDS_MAGIC;
	area->process = (nds_process_info_t){
		.framework_type = (int8_t)framework,
		.framework_version = version_info(fw_version),
		.fal_version = version_info(fal_version),
		.runtime_version = { NRT_MAJOR_VERSION, NRT_MINOR_VERSION, 0 },
	};
	snprintf(area->process.tag, sizeof(area->process.tag), "%.31s", tag ? tag : "");
	snprintf(area->ext.tag, sizeof(area->ext.tag), "%.255s", tag ? tag : "");
	__atomic_store_n(&area->process_there, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&area->ext_there, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&rt_nds_lock);
}

static void use(nds_mem_usage_info_t *usage, uint64_t bytes)
{
	usage->total_size = bytes;
	usage->chunk_count = bytes != 0;
}

void rt_nds_node_add(void *nds, const struct rt_nds_node_info *info)
{
	struct rt_nds_area *area = rt_nds_area(nds);
	struct rt_nds_node *node;
	int i;

	pthread_mutex_lock(&rt_nds_lock);
	i = rt_nds_node_take(area);
	pthread_mutex_unlock(&rt_nds_lock);
	if (i < 0) /* monitors see the first RT_NDS_NODES */
		return;
	node = &area->node[i];
	node->info = (nds_model_node_info_t){
		.model_id = info->model_id,
		.model_node_id = info->node,
		.nc_index = (uint8_t)info->nc,
		.sg_index = (uint8_t)info->node,
	};
	snprintf(node->info.name, sizeof(node->info.name), "%.255s", info->name);
	memcpy(node->info.uuid, info->uuid, sizeof(node->info.uuid));
	memset(&node->usage, 0, sizeof(node->usage));
	use(&node->usage.model_mem_usage[RT_NDS_DEVICE][NDS_DMA_MEM_USAGE_SLOT_CODE], info->code);
	use(&node->usage.model_mem_usage[RT_NDS_DEVICE][NDS_DMA_MEM_USAGE_SLOT_CONSTANTS],
	    info->constants);
	use(&node->usage.model_mem_usage[RT_NDS_DEVICE][NDS_DMA_MEM_USAGE_SLOT_SCRATCHPAD],
	    info->scratchpad);
	use(&node->usage.model_mem_usage[RT_NDS_HOST][NDS_DMA_MEM_USAGE_SLOT_MISC], info->host);
	__atomic_store_n(&node->there, RT_NDS_THERE, __ATOMIC_RELEASE);
}

void rt_nds_model_remove(void *nds, uint32_t model_id)
{
	struct rt_nds_area *area = rt_nds_area(nds);

	for (int i = 0; i < RT_NDS_NODES; i++)
		if (__atomic_load_n(&area->node[i].there, __ATOMIC_ACQUIRE) == RT_NDS_THERE &&
		    area->node[i].info.model_id == model_id)
			__atomic_store_n(&area->node[i].there, RT_NDS_FREE, __ATOMIC_RELEASE);
}
