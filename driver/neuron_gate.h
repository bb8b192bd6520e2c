/* SPDX-License-Identifier: GPL-2.0-only */
/* The gate that every entry passes: devices, files, processes, claims; neuron_gate.c. */
#ifndef NEURON_GATE_H
#define NEURON_GATE_H

#include <linux/mutex.h>

#include "neuron_device.h"

struct neuron_file {
	struct neuron_device *nd;
	struct list_head link; /* neuron_files */
	pid_t tgid;
	bool free_access;
	bool detached;
	unsigned long watched; /* cores whose notification entries it has looked at */
	u32 seen[NEURON_CORES_MAX]; /* how many there were */
};

extern struct mutex neuron_table_lock;
/* Puts the device into the list, where it is found by its index, or takes it out */
void neuron_device_list(struct neuron_device *nd, bool there);
struct neuron_device *neuron_device_get(struct neuron_device *nd);
void neuron_device_put(struct neuron_device *nd);
struct neuron_device *neuron_device_find(int index);
unsigned int neuron_device_count(void);
int neuron_enter(struct neuron_device *nd);
/*
 * Waiting for something under nd->lock: remember neuron_changes(), look, then wait until there was
 * a change. 0, -EINTR, -ENODEV, or -ETIMEDOUT when *left (jiffies) has run out.
 */
void neuron_changed(struct neuron_device *nd);
unsigned int neuron_changes(struct neuron_device *nd);
int neuron_wait_change(struct neuron_device *nd, unsigned int seen, long *left);
void neuron_exit(struct neuron_device *nd, int idx);
/* Waits until no device of the system is in its first reset, or for a bounded time */
int neuron_wait_all_ready(void);

void neuron_file_add(struct neuron_file *nf); /* neuron_table_lock held */
/* Has the process an open file on any device? free_only: an O_WRONLY one */
bool neuron_files_have(pid_t tgid, bool free_only);

struct neuron_proc *neuron_proc_find(struct neuron_device *nd, pid_t tgid);
/*
 * Whether the calling process is attached. An answer given under nd->lock (the first form) or
 * nd->reset_sem holds for as long: taking a process down waits for both.
 */
bool neuron_attached_locked(struct neuron_device *nd);
bool neuron_attached(struct neuron_device *nd);
/* Had the calling process something on the chip before its power went? */
bool neuron_lost(struct neuron_device *nd);
/* Claims a core for the calling process; nd->lock is held. -EACCES when another has it */
int neuron_core_claim(struct neuron_device *nd, unsigned int nc);

#endif
