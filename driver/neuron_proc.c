// SPDX-License-Identifier: GPL-2.0-only
/*
 * Process slots of a device and what happens when a process goes: its cores are halted before its
 * queues, and its queues before its memory, because instructions that were fetched outlive the
 * process that queued them.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/sched.h>

#include "neuron_device.h"
#include "neuron_copy.h"
#include "neuron_crwl.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_h2tq.h"
#include "neuron_log.h"
#include "neuron_mem.h"
#include "neuron_nds.h"
#include "neuron_nq.h"
#include "neuron_pins.h"
#include "neuron_proc.h"
#include "neuron_queue.h"
#include "neuron_reset.h"
#include "neuron_view.h"
#include "neuron_trace.h"

int neuron_proc_attach(struct neuron_device *nd)
{
	struct neuron_proc *proc;
	int ret = 0;

	mutex_lock(&nd->lock);
	proc = neuron_proc_find(nd, current->tgid);
	if (!proc)
		proc = neuron_proc_find(nd, 0);
	if (!proc || proc->exiting) {
		ret = -EBUSY;
	} else if (proc->lost) {
		ret = -EIO;
	} else {
		if (!proc->tgid)
			proc->domain = neuron_guard_domain_get(current->tgid);
		if (!proc->domain) {
			ret = -EBUSY;
		} else {
			if (!proc->tgid)
				memset(proc->async_over, 0, sizeof(proc->async_over));
			if (!proc->opens++)
				trace_process(nd->index, current->tgid, true);
			proc->tgid = current->tgid;
		}
	}
	mutex_unlock(&nd->lock);
	return ret;
}

static u32 cores_of(struct neuron_device *nd, pid_t tgid)
{
	u32 map = 0;
	unsigned int nc;

	mutex_lock(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++)
		if (nd->core_owner[nc] == tgid)
			map |= BIT(nc);
	mutex_unlock(&nd->lock);
	return map;
}

/*
 * Halts the cores, takes the queues away, and halts again: a queue may have fed a core between the
 * two. Chips without a map of cores to reset have the queues taken away and that is all.
 */
static void hardware_take_back(struct neuron_device *nd, pid_t tgid, u32 map)
{
	bool halt = map && nd->hal.features & NEURON_CAP_F_TPB_MAP && !READ_ONCE(nd->gone) &&
		    READ_ONCE(nd->state) == NEURON_STATE_READY;
	struct neuron_hang hang = {
		.reason = NEURON_HANG_REASON_HALT,
		.cores = map,
		.pid = tgid,
	};

	down_write(&nd->reset_sem);
	/* a thread that is killed while it closes must halt the cores all the same */
	WRITE_ONCE(nd->finish, true);
	neuron_copy_forget(nd, tgid);
	if (halt)
		hang.error = neuron_cores_halt(nd, map);
	if (hang.error) {
		nd_err(nd, "cores %#x of process %d did not halt\n", map, tgid);
		neuron_hang(nd, &hang);
	}
	neuron_queues_stop(nd, tgid, 0);
	neuron_h2tq_stop(nd, tgid, 0);
	neuron_nqs_stop(nd, tgid, 0);
	if (halt)
		neuron_cores_halt(nd, map);
	WRITE_ONCE(nd->finish, false);
	up_write(&nd->reset_sem);
}

static void proc_take_down(struct neuron_device *nd, pid_t tgid)
{
	u32 map = cores_of(nd, tgid);
	unsigned int nc;

	neuron_reset_forget(nd, tgid);
	hardware_take_back(nd, tgid, map);
	neuron_crwl_drop(nd, tgid);
	neuron_nds_release(nd, tgid);
	neuron_mem_free_all(nd, tgid);
	mutex_lock(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++) {
		/* nobody will complete what it started */
		if (nd->cinit[nc] == NEURON_CINIT_STATE_STARTED && nd->cinit_by[nc] == tgid)
			nd->cinit[nc] = NEURON_CINIT_STATE_INVALID;
		if (nd->core_owner[nc] != tgid)
			continue;
		nd->core_owner[nc] = 0;
		neuron_guard_core(nd, nc, NEURON_GUARD_NONE);
		nd->cinit[nc] = NEURON_CINIT_STATE_INVALID;
		nd->model_started[nc] = 0;
	}
	mutex_unlock(&nd->lock);
	neuron_views_end(nd);
	neuron_changed(nd);
}

/* Called when one file of the process goes; the device may be dead already */
void neuron_proc_detach(struct neuron_device *nd, pid_t tgid)
{
	struct neuron_proc *proc;
	bool last = false;
	int idx;

	mutex_lock(&nd->lock);
	proc = neuron_proc_find(nd, tgid);
	if (proc && --proc->opens == 0) {
		proc->exiting = true;
		last = true;
	}
	mutex_unlock(&nd->lock);
	if (!last)
		return;
	trace_process(nd->index, tgid, false);
	idx = neuron_enter(nd);
	if (idx >= 0) {
		proc_take_down(nd, tgid);
		neuron_exit(nd, idx);
	}
	mutex_lock(&nd->lock);
	if (neuron_guard_domain_put(proc->domain))
		neuron_pins_drop(tgid);
	proc->domain = NEURON_GUARD_NONE;
	proc->tgid = 0;
	proc->exiting = false;
	proc->lost = false;
	mutex_unlock(&nd->lock);
}

/* Takes everything back from everybody; the device is dead and nobody enters any more */
void neuron_proc_remove_all(struct neuron_device *nd)
{
	unsigned int i;
	pid_t tgid;

	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++) {
		/* its last file may be closed meanwhile, which leaves the slot empty */
		mutex_lock(&nd->lock);
		tgid = nd->procs[i].tgid;
		mutex_unlock(&nd->lock);
		if (tgid)
			proc_take_down(nd, tgid);
	}
}
