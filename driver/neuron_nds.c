// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datastore entries: 256 KiB of counters that a process shares with the module and with monitors.
 * The module writes nothing into an entry; it adds what the counters grew by to sysfs, whenever
 * sysfs is read and when the entry is released. Owns nd->nds (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_gate.h"
#include "neuron_mem.h"
#include "neuron_nds.h"
#include "neuron_stats.h"

static struct neuron_nds *nds_find(struct neuron_device *nd, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < NDS_ENTRIES_PER_DEVICE; i++)
		if (nd->nds[i].pid == pid)
			return &nd->nds[i];
	return NULL;
}

/* Returns the free entry that was released longest ago */
static struct neuron_nds *nds_free(struct neuron_device *nd)
{
	struct neuron_nds *oldest = NULL;
	unsigned int i;

	for (i = 0; i < NDS_ENTRIES_PER_DEVICE; i++)
		if (!nd->nds[i].pid && (!oldest || nd->nds[i].released < oldest->released))
			oldest = &nd->nds[i];
	return oldest;
}

static int nds_create(struct neuron_device *nd, u64 *offset)
{
	struct neuron_mc_args args = {
		.size = NDS_ENTRY_SIZE,
		.host = true,
		.type = NEURON_MEMALLOC_TYPE_NCDEV_HOST,
		.life = NEURON_LIFE_DEVICE,
	};
	struct neuron_nds *entry;
	struct neuron_mc *mc;
	bool used = false;
	int ret;

	ret = neuron_mc_alloc(nd, &args, &mc);
	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	entry = nds_find(nd, current->tgid); /* of another thread, meanwhile */
	if (!neuron_attached_locked(nd)) {
		ret = -EACCES;
	} else if (!entry) {
		entry = nds_free(nd);
		used = entry;
		ret = used ? 0 : -ENOMEM;
	}
	if (used) {
		memset(entry->seen, 0, sizeof(entry->seen));
		entry->mc = mc;
		entry->pid = current->tgid;
	}
	if (!ret)
		*offset = entry->mc->pa;
	mutex_unlock(&nd->lock);
	if (!used)
		neuron_mc_free(mc);
	neuron_mc_put(mc);
	return ret;
}

/* pid 0: the caller's own, created if needed; another one must exist */
int neuron_nds_acquire(struct neuron_device *nd, pid_t pid, u64 *offset, u32 *size)
{
	pid_t want = pid ? pid : current->tgid;
	struct neuron_nds *entry;

	if (pid < 0)
		return -EINVAL;
	mutex_lock(&nd->lock);
	entry = nds_find(nd, want);
	*offset = entry ? entry->mc->pa : 0;
	mutex_unlock(&nd->lock);
	*size = NDS_ENTRY_SIZE;
	if (entry)
		return 0;
	if (want != current->tgid)
		return -ENOENT;
	return nds_create(nd, offset);
}

/* Adds what grew since the last look; nd->lock is held */
static void entry_harvest(struct neuron_device *nd, struct neuron_nds *entry)
{
	unsigned int nc, i;
	u64 now, *counter;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		for (i = 0; i < NDS_EXT_NC_COUNTER_LAST; i++) {
			counter = entry->mc->va + NDS_NC_OFFSET(nc, i);
			now = READ_ONCE(*counter);
			if (now > entry->seen[nc][i])
				neuron_stat_add(nd, &nd->stats.nds[nc][i],
						now - entry->seen[nc][i]);
			entry->seen[nc][i] = now;
		}
	}
}

void neuron_nds_harvest(struct neuron_device *nd)
{
	unsigned int i;

	mutex_lock(&nd->lock);
	for (i = 0; i < NDS_ENTRIES_PER_DEVICE; i++)
		if (nd->nds[i].pid)
			entry_harvest(nd, &nd->nds[i]);
	mutex_unlock(&nd->lock);
}

void neuron_nds_release(struct neuron_device *nd, pid_t pid)
{
	struct neuron_nds *entry;
	struct neuron_mc *mc = NULL;

	mutex_lock(&nd->lock);
	entry = pid ? nds_find(nd, pid) : NULL;
	if (entry) {
		entry_harvest(nd, entry);
		mc = entry->mc;
		entry->mc = NULL;
		entry->pid = 0;
		entry->released = ++nd->nds_released;
	}
	mutex_unlock(&nd->lock);
	if (mc)
		neuron_mc_free(mc);
}

void neuron_nds_exit(struct neuron_device *nd)
{
	unsigned int i;

	for (i = 0; i < NDS_ENTRIES_PER_DEVICE; i++)
		neuron_nds_release(nd, nd->nds[i].pid);
}
