// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate: every entry from user space passes neuron_enter() here, which removal closes. Look-ups
 * of devices, processes and open files, and the claims of processes on cores, are asked by all
 * files above; this one calls none of them. Owns the device table and the list of open files
 * (neuron_table_lock), and nd->core_owner (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/delay.h>
#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_guard.h"

DEFINE_MUTEX(neuron_table_lock); /* device table, open files, range marks */
static struct neuron_device *neuron_table[NEURON_MAX_DEVICES];
static LIST_HEAD(neuron_files); /* neuron_table_lock */

/* The slowest first reset the record shows takes 7.7 s */
#define ALL_READY_TIMEOUT_MS 10000
#define ALL_READY_POLL_MS 5

int neuron_enter(struct neuron_device *nd)
{
	int idx = srcu_read_lock(&nd->srcu);

	if (!READ_ONCE(nd->dead)) {
		__release(&nd->srcu); /* for sparse: neuron_exit() does it */
		return idx;
	}
	srcu_read_unlock(&nd->srcu, idx);
	return -ENODEV;
}

void neuron_exit(struct neuron_device *nd, int idx)
{
	__acquire(&nd->srcu);
	srcu_read_unlock(&nd->srcu, idx);
}

void neuron_changed(struct neuron_device *nd)
{
	atomic_inc(&nd->changes);
	wake_up_all(&nd->wait);
}

unsigned int neuron_changes(struct neuron_device *nd)
{
	return atomic_read(&nd->changes);
}

int neuron_wait_change(struct neuron_device *nd, unsigned int seen, long *left)
{
	*left = wait_event_killable_timeout(nd->wait,
					    atomic_read(&nd->changes) != seen ||
					    READ_ONCE(nd->dead), *left);
	if (*left < 0)
		return -EINTR;
	if (READ_ONCE(nd->dead))
		return -ENODEV;
	return *left ? 0 : -ETIMEDOUT;
}

static void device_release(struct kref *ref)
{
	struct neuron_device *nd = container_of(ref, struct neuron_device, ref);

	if (nd->inode)
		iput(nd->inode);
	xa_destroy(&nd->handles);
	kvfree(nd->free_stack);
	kvfree(nd->queues);
	kvfree(nd->dump.data);
	cleanup_srcu_struct(&nd->srcu);
	pci_dev_put(nd->pdev);
	kvfree(nd);
}

struct neuron_device *neuron_device_get(struct neuron_device *nd)
{
	kref_get(&nd->ref);
	return nd;
}

void neuron_device_put(struct neuron_device *nd)
{
	kref_put(&nd->ref, device_release);
}

/* Returns the device with a reference, NULL if there is none */
struct neuron_device *neuron_device_find(int index)
{
	struct neuron_device *nd = NULL;

	if (index < 0 || index >= NEURON_MAX_DEVICES)
		return NULL;
	mutex_lock(&neuron_table_lock);
	if (neuron_table[index])
		nd = neuron_device_get(neuron_table[index]);
	mutex_unlock(&neuron_table_lock);
	return nd;
}

unsigned int neuron_device_count(void)
{
	unsigned int i, n = 0;

	mutex_lock(&neuron_table_lock);
	for (i = 0; i < NEURON_MAX_DEVICES; i++)
		if (neuron_table[i])
			n = i + 1;
	mutex_unlock(&neuron_table_lock);
	return n;
}

static bool all_ready(void)
{
	unsigned int i;
	bool ready = true;

	mutex_lock(&neuron_table_lock);
	for (i = 0; i < NEURON_MAX_DEVICES; i++)
		if (neuron_table[i] && READ_ONCE(neuron_table[i]->state) == NEURON_STATE_RESET)
			ready = false;
	mutex_unlock(&neuron_table_lock);
	return ready;
}

int neuron_wait_all_ready(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(ALL_READY_TIMEOUT_MS);

	while (!all_ready() && time_before(jiffies, end))
		if (msleep_interruptible(ALL_READY_POLL_MS))
			return -EINTR;
	return 0;
}

/* Puts the device into the list, where it is found by its index, or takes it out */
void neuron_device_list(struct neuron_device *nd, bool there)
{
	mutex_lock(&neuron_table_lock);
	neuron_table[nd->index] = there ? nd : NULL;
	mutex_unlock(&neuron_table_lock);
}

/* Has the process an open file on any device? free_only: an O_WRONLY one */
bool neuron_files_have(pid_t tgid, bool free_only)
{
	struct neuron_file *nf;

	lockdep_assert_held(&neuron_table_lock);
	list_for_each_entry(nf, &neuron_files, link)
		if (nf->tgid == tgid && (nf->free_access || !free_only))
			return true;
	return false;
}

void neuron_file_add(struct neuron_file *nf)
{
	lockdep_assert_held(&neuron_table_lock);
	list_add_tail(&nf->link, &neuron_files);
}

struct neuron_proc *neuron_proc_find(struct neuron_device *nd, pid_t tgid)
{
	unsigned int i;

	lockdep_assert_held(&nd->lock);
	for (i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++)
		if (nd->procs[i].tgid == tgid)
			return &nd->procs[i];
	return NULL;
}

bool neuron_attached_locked(struct neuron_device *nd)
{
	struct neuron_proc *proc = neuron_proc_find(nd, current->tgid);

	return proc && !proc->exiting;
}

bool neuron_attached(struct neuron_device *nd)
{
	bool attached;

	mutex_lock(&nd->lock);
	attached = neuron_attached_locked(nd);
	mutex_unlock(&nd->lock);
	return attached;
}

bool neuron_lost(struct neuron_device *nd)
{
	struct neuron_proc *proc;
	bool lost;

	mutex_lock(&nd->lock);
	proc = neuron_proc_find(nd, current->tgid);
	lost = proc && proc->lost;
	mutex_unlock(&nd->lock);
	return lost;
}

int neuron_core_claim(struct neuron_device *nd, unsigned int nc)
{
	struct neuron_proc *proc;

	lockdep_assert_held(&nd->lock);
	if (nd->core_owner[nc] == current->tgid)
		return 0;
	if (nd->core_owner[nc])
		return -EACCES;
	nd->core_owner[nc] = current->tgid;
	proc = neuron_proc_find(nd, current->tgid);
	neuron_guard_core(nd, nc, proc ? proc->domain : NEURON_GUARD_NONE);
	return 0;
}
