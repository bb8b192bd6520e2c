/* SPDX-License-Identifier: MIT */
/*
 * The process's hold on the machine, and the calls that are in it (context.c); init.c fills and
 * empties it.
 *
 * Locks, in this order: rt.lock (the context: state, cores, models), a core's exec (one execution
 * at a time, its queues and notification rings), a set's or a tensor's own. A model is pinned by
 * the calls that use it; nrt_unload waits for them. Every call that uses a core, a device or a
 * model is counted in rt.users; nrt_close lets nobody in any more, waits until all have left, and
 * holds rt.lock while it takes everything away.
 */
#ifndef RT_CONTEXT_H
#define RT_CONTEXT_H

#include "rt_core.h"
#include "rt_machine.h"
#include "rt_status.h"

struct nrt_model;

struct rt_device {
	ndl_device_t *dev;
	uint32_t isa_version; /* 0: not one of our chips */
	void *nds;
	size_t nds_size;
};

struct rt {
	pthread_mutex_t lock;
	enum { RT_NEW, RT_INIT, RT_CLOSING, RT_CLOSED } state;
	unsigned int users; /* calls in progress */
	pthread_cond_t changed; /* users fell to 0, or RT_CLOSING is over */
	uint32_t ncores;
	struct rt_core *cores;
	struct rt_device devices[NDL_MAX_DEVICES];
	struct nrt_model *models; /* list */
	pthread_mutex_t stale_lock; /* a leaf */
	struct nrt_model *stale; /* unloaded, on cores that are not at rest; list */
	struct rt_mark marks[RT_MAX_MARKS];
	unsigned int nmarks;
	uint32_t epoch; /* counts nrt_init: memory of an earlier one is gone */
	const struct neuron_gen *gen; /* of its devices; from nrt_init on */
	struct neuron_uuid uuid; /* of this process, for the core locks */
};
extern struct rt rt;

/*
 * A call begins: status is NRT_SUCCESS when it may go on, and the thread's details are cleared. It
 * ends with the block, after the return value was computed. RT_HOLD does not ask for a state.
 */
#define RT_ENTER(status) __attribute__((cleanup(rt_leave))) NRT_STATUS status = rt_enter()
#define RT_HOLD(status) __attribute__((cleanup(rt_leave), unused)) NRT_STATUS status = rt_hold()
NRT_STATUS rt_enter(void);
NRT_STATUS rt_hold(void);
void rt_leave(NRT_STATUS *status);
struct rt_core *rt_core(uint32_t vnc); /* NULL beyond the last */

/* The datastore that monitors read (datastore.c) */
void rt_nds_open(struct rt_device *device);
void rt_nds_close(struct rt_device *device);
void rt_nds_add(struct rt_core *core, unsigned int counter, uint64_t value);
/* Memory of a NEURON_MEMALLOC_TYPE_*, taken or (negative) given back */
void rt_memory_add(struct rt_core *core, uint32_t type, int64_t bytes);

#endif
