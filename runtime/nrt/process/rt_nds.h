/* SPDX-License-Identifier: MIT */
/*
 * What libnrt keeps in the private part of a datastore entry: objects in fixed places, of which a
 * reader in another process takes those that are there. A writer sets `there` last and clears it
 * first; the data of a reader that was too slow is what the writer left. Written by
 * nds_own.c, and for a program's own objects by nds.c; read by that and by the monitoring programs
 * (tools/telemetry).
 */
#ifndef RT_NDS_H
#define RT_NDS_H

#include <pthread.h>

#include "nrt/nds/neuron_ds.h"
#include "uapi/neuron/neuron_nds.h"

#define RT_NDS_MAGIC 0x6a626f6eu /* "nobj" */
#define RT_NDS_NODES 60

struct rt_nds_area {
	uint32_t magic, version;
	uint32_t process_there;
	nds_process_info_t process;
	uint32_t ext_there;
	nds_process_info_ext_t ext;
	struct rt_nds_node {
		uint32_t there; /* RT_NDS_FREE, RT_NDS_TAKEN (being written) or RT_NDS_THERE */
		nds_model_node_info_t info;
		nds_model_node_mem_usage_info_t usage;
	} node[RT_NDS_NODES];
};
_Static_assert(sizeof(struct rt_nds_area) <= NDS_PRIVATE_SIZE, "fits the private part");

enum { RT_NDS_FREE, RT_NDS_TAKEN, RT_NDS_THERE };

enum { RT_NDS_HOST, RT_NDS_DEVICE }; /* the locations of a node's usage */

/* Protects this process's areas: what the runtime writes from what the program commits */
extern pthread_mutex_t rt_nds_lock;
/* Takes a place for a model node, with the lock held; -1: there is none. */
int rt_nds_node_take(struct rt_nds_area *area);

static inline struct rt_nds_area *rt_nds_area(void *nds)
{
	return (struct rt_nds_area *)(void *)((char *)nds + NDS_PRIVATE_OFFSET);
}

#endif
