/* SPDX-License-Identifier: MIT */
/*
 * The process's hold on the machine, and the calls that are in progress (context.c); init.c opens
 * and closes it.
 *
 * Locks, in this order: rt.lock (the context: state, cores, models), a core's exec (one execution
 * at a time, its queues and notification rings), a set's or a tensor's own. A model is pinned by
 * the calls that use it; nrt_unload waits for them. Every call that uses a core, a device or a
 * model is counted in rt.users; nrt_close refuses new calls, waits until all have left, and holds
 * rt.lock while it frees everything.
 */
#ifndef RT_CONTEXT_H
#define RT_CONTEXT_H

#include "rt_core.h"
#include "rt_machine.h"
#include "rt_rounding.h"
#include "rt_status.h"

struct nrt_model;

struct rt_device {
	ndlx_device_t *dev;
	uint32_t isa_version; /* 0: no chip of the emulator */
	void *nds;
	size_t nds_size;
	void *hbm[NEURON_MEMORIES_MAX]; /* mappings of whole memories; protected by rt.lock */
};

struct rt {
	pthread_mutex_t lock;
	enum { RT_NEW, RT_INIT, RT_CLOSING, RT_CLOSED } state;
	unsigned int users; /* calls in progress */
	pthread_cond_t changed; /* signalled when users reaches 0 and when RT_CLOSING is over */
	uint32_t ncores;
	struct rt_core *cores; /* the first one of each logical core ... */
	struct rt_core *siblings; /* ... and the second ones, if it has two */
	struct rt_device devices[NDLX_MAX_DEVICES];
	struct nrt_model *models; /* list of the loaded models */
	pthread_mutex_t stale_lock; /* innermost: no lock is taken under it */
	/* list of models that were unloaded while their cores were not at rest */
	struct nrt_model *stale;
	struct rt_mark marks[RT_MAX_MARKS];
	unsigned int nmarks;
	uint32_t epoch; /* counts nrt_init and nrt_close: memory of an earlier epoch is gone */
	const struct neuron_gen *gen; /* the generation of its devices, set by nrt_init */
	uint32_t lnc; /* cores of a logical one, the same */
	struct rt_rounding rounding; /* of its programs, the same */
	/* what nrt_init was told, for monitors */
	int framework;
	char fw_version[32], fal_version[32];
	struct neuron_uuid uuid; /* names this process in the core locks */
};
extern struct rt rt;

/*
 * Begins a call: status is NRT_SUCCESS if it may go on, and the thread's details are cleared. The
 * call ends with the block, after the return value was computed. RT_HOLD does the same without a
 * status.
 */
#define RT_ENTER(status) __attribute__((cleanup(rt_leave))) NRT_STATUS status = rt_enter()
#define RT_HOLD(status) __attribute__((cleanup(rt_leave), unused)) NRT_STATUS status = rt_hold()
NRT_STATUS rt_enter(void);
NRT_STATUS rt_hold(void);
void rt_leave(NRT_STATUS *status);
struct rt_core *rt_core(uint32_t vnc); /* NULL if there is no core vnc */

/* The datastore that monitors read (datastore.c) */
void rt_nds_open(struct rt_device *device);
void rt_nds_close(struct rt_device *device);
void rt_nds_add(struct rt_core *core, unsigned int counter, uint64_t value);
/* In nds_own.c: what monitors read of the process and its models (neuron_ds.h) */
struct rt_nds_node_info {
	uint32_t model_id, node; /* node: the subgraph */
	const char *name;
	const uint8_t *uuid; /* 16 bytes */
	uint32_t nc;
	uint64_t code, constants, scratchpad, host; /* bytes */
};
void rt_nds_process(void *nds, int framework, const char *fw_version, const char *fal_version);
void rt_nds_node_add(void *nds, const struct rt_nds_node_info *info);
void rt_nds_model_remove(void *nds, uint32_t model_id);
/* Counts memory of a NEURON_MEMALLOC_TYPE_* as taken, or with a negative number as given back. */
void rt_memory_add(struct rt_core *core, uint32_t type, int64_t bytes);
/*
 * rt_memory_add() of device memory at a core that may be none of this process's, on a device it
 * uses
 */
void rt_memory_add_elsewhere(uint32_t device, uint32_t nc, uint32_t type, int64_t bytes);
/* In device.c: asks a device that was opened what libnrt wants to know of it */
void rt_device_know(struct rt_device *device);
/*
 * A device on which this process may have no core, for its memory; opened by the first
 * call and closed by nrt_close. Takes rt.lock. 0 or -errno
 */
int rt_device_join(uint32_t index, ndlx_device_t **dev);

#endif
