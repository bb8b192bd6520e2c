// SPDX-License-Identifier: GPL-2.0-only
/*
 * The three independent ways in which processes agree on who uses a NeuronCore: range marks
 * (system wide, advisory), the reader/writer lock of a core (CRWL) and its initialisation state
 * (CINIT). Owns the mark table (neuron_table_lock), nd->crwl and nd->cinit (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/bitmap.h>

#include "neuron_device.h"
#include "neuron_crwl.h"
#include "neuron_gate.h"

#define MARK_COUNT 512
/* The public waiting times: writers 2 to 4 s, readers 0.5 to 1 s, CINIT ten times 500 ms */
#define WRITER_WAIT (3 * HZ)
#define READER_WAIT (HZ)
#define CINIT_WAIT (5 * HZ)

static pid_t marks[MARK_COUNT];
static unsigned int over; /* how often the last mark went */

/*
 * Finds the first run of count free cores in [first, last]; *best is the longest of the shorter
 * ones seen
 */
static int mark_search(u32 first, u32 last, u32 count, u32 *best)
{
	u32 i, run = 0;

	for (i = first; i <= last; i++) {
		if (marks[i]) {
			*best = max(*best, run);
			run = 0;
		} else if (++run == count) {
			return i - count + 1;
		}
	}
	*best = max(*best, run);
	return -EBUSY;
}

static bool any_mark(void)
{
	lockdep_assert_held(&neuron_table_lock);
	return memchr_inv(marks, 0, sizeof(marks));
}

bool neuron_marked(void)
{
	bool any;

	mutex_lock(&neuron_table_lock);
	any = any_mark();
	mutex_unlock(&neuron_table_lock);
	return any;
}

unsigned int neuron_marks_over(void)
{
	return READ_ONCE(over);
}

/* A mark is somebody's no more. The last one's end is counted. */
static void mark_clear(pid_t *mark)
{
	if (!*mark)
		return;
	*mark = 0;
	if (!any_mark())
		WRITE_ONCE(over, over + 1);
}

int neuron_mark(struct neuron_device *nd, u32 count, u32 start, u32 end, u32 *max_available,
		unsigned long *bitmap, unsigned int bits)
{
	u32 base = nd->index * nd->gen->cores, i;
	int first;

	*max_available = 0;
	bitmap_zero(bitmap, bits);
	if (!count || start > end || end >= MARK_COUNT - base || end >= bits)
		return -EINVAL;
	mutex_lock(&neuron_table_lock);
	/* marks go with the files of the process: one with an inherited descriptor has none */
	if (neuron_files_have(current->tgid, false))
		first = mark_search(base + start, base + end, count, max_available);
	else
		first = -EACCES;
	for (i = 0; first >= 0 && i < count; i++) {
		marks[first + i] = current->tgid;
		__set_bit(first - base + i, bitmap);
	}
	mutex_unlock(&neuron_table_lock);
	return min(first, 0);
}

/* Clears own marks only; the others are left alone without an error */
void neuron_unmark(struct neuron_device *nd, const unsigned long *bitmap, unsigned int bits)
{
	u32 base = nd->index * nd->gen->cores, i;

	mutex_lock(&neuron_table_lock);
	for_each_set_bit(i, bitmap, min_t(u32, bits, MARK_COUNT - base)) {
		if (marks[base + i] == current->tgid)
			mark_clear(&marks[base + i]);
	}
	mutex_unlock(&neuron_table_lock);
}

void neuron_unmark_all(pid_t tgid)
{
	unsigned int i;

	mutex_lock(&neuron_table_lock);
	for (i = 0; i < MARK_COUNT; i++)
		if (marks[i] == tgid)
			mark_clear(&marks[i]);
	mutex_unlock(&neuron_table_lock);
}

/* Clears everybody's marks of the device's cores, which are gone */
void neuron_marks_drop(struct neuron_device *nd)
{
	u32 i;

	mutex_lock(&neuron_table_lock);
	for (i = 0; i < nd->gen->cores; i++)
		mark_clear(&marks[nd->index * nd->gen->cores + i]);
	mutex_unlock(&neuron_table_lock);
}

static bool crwl_current(const struct neuron_crwl *l, const u8 *uuid)
{
	return l->writer == current->tgid && !memcmp(l->uuid, uuid, sizeof(l->uuid));
}

/* Takes the lock as writer if it is free: 0, -EALREADY (the caller has it), -EAGAIN */
static int writer_try(struct neuron_device *nd, struct neuron_crwl *l, const u8 *uuid)
{
	int ret = -EAGAIN;

	mutex_lock(&nd->lock);
	/* a process that went while it waited would keep the lock for ever */
	if (!neuron_attached_locked(nd)) {
		ret = -EACCES;
	} else if (!l->writing && !l->readers) {
		ret = crwl_current(l, uuid) ? -EALREADY : 0;
		l->writing = true;
		l->writer = current->tgid;
		memcpy(l->uuid, uuid, sizeof(l->uuid));
	}
	mutex_unlock(&nd->lock);
	return ret;
}

/* Takes the lock as reader. Another uuid or process is an error at once, a writer is waited for */
static int reader_try(struct neuron_device *nd, struct neuron_crwl *l, const u8 *uuid)
{
	int ret = -EAGAIN;

	mutex_lock(&nd->lock);
	if (!neuron_attached_locked(nd)) {
		ret = -EACCES;
	} else if (!l->writing) {
		ret = crwl_current(l, uuid) ? 0 : -ENOENT;
		if (!ret)
			l->readers++;
	}
	mutex_unlock(&nd->lock);
	return ret;
}

static int crwl_wait(struct neuron_device *nd, struct neuron_crwl *l, const u8 *uuid,
		     int (*try)(struct neuron_device *nd, struct neuron_crwl *l, const u8 *uuid),
		     long left)
{
	unsigned int seen;
	int ret, err;

	for (;;) {
		seen = neuron_changes(nd);
		ret = try(nd, l, uuid);
		if (ret != -EAGAIN)
			return ret;
		err = neuron_wait_change(nd, seen, &left);
		if (err)
			return err == -ETIMEDOUT ? -EBUSY : err;
	}
}

int neuron_crwl_writer_enter(struct neuron_device *nd, u32 nc, const u8 *uuid)
{
	if (nc >= NEURON_MAX_NC_PER_DEVICE)
		return -EINVAL;
	return crwl_wait(nd, &nd->crwl[nc], uuid, writer_try, WRITER_WAIT);
}

int neuron_crwl_reader_enter(struct neuron_device *nd, u32 nc, const u8 *uuid)
{
	if (nc >= NEURON_MAX_NC_PER_DEVICE)
		return -EINVAL;
	return crwl_wait(nd, &nd->crwl[nc], uuid, reader_try, READER_WAIT);
}

int neuron_crwl_writer_downgrade(struct neuron_device *nd, u32 nc, const u8 *uuid)
{
	struct neuron_crwl *l;
	int ret = 0;

	if (nc >= NEURON_MAX_NC_PER_DEVICE)
		return -EINVAL;
	l = &nd->crwl[nc];
	mutex_lock(&nd->lock);
	if (!l->writing) {
		ret = -EINVAL;
	} else if (!crwl_current(l, uuid)) {
		ret = -ENOENT;
	} else {
		l->writing = false;
		l->readers = 1;
	}
	mutex_unlock(&nd->lock);
	neuron_changed(nd);
	return ret;
}

int neuron_crwl_reader_exit(struct neuron_device *nd, u32 nc, const u8 *uuid)
{
	struct neuron_crwl *l;
	int ret = 0;

	if (nc >= NEURON_MAX_NC_PER_DEVICE)
		return -EINVAL;
	l = &nd->crwl[nc];
	mutex_lock(&nd->lock);
	if (!crwl_current(l, uuid))
		ret = -ENOENT;
	else if (!l->readers)
		ret = -EINVAL;
	else
		l->readers--;
	mutex_unlock(&nd->lock);
	neuron_changed(nd);
	return ret;
}

void neuron_crwl_drop(struct neuron_device *nd, pid_t tgid)
{
	unsigned int nc;

	mutex_lock(&nd->lock);
	for (nc = 0; nc < NEURON_MAX_NC_PER_DEVICE; nc++)
		if (nd->crwl[nc].writer == tgid)
			memset(&nd->crwl[nc], 0, sizeof(nd->crwl[nc]));
	mutex_unlock(&nd->lock);
	neuron_changed(nd);
}

/*
 * Tells the cores whose lock the process holds, and the uuids of the first n, which may be fewer
 * than the chip has; nd->lock is held
 */
u8 neuron_crwl_held(struct neuron_device *nd, pid_t tgid, struct neuron_uuid *uuids, unsigned int n)
{
	struct neuron_crwl *l;
	unsigned int nc;
	u8 map = 0;

	lockdep_assert_held(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++) {
		l = &nd->crwl[nc];
		if (l->writer != tgid || (!l->writing && !l->readers))
			continue;
		map |= BIT(nc);
		if (nc < n)
			memcpy(uuids[nc].value, l->uuid, sizeof(l->uuid));
	}
	return map;
}

/*
 * Returns true when there is nothing to wait for: the core is initialised, or the caller is to do
 * it
 */
static bool cinit_try(struct neuron_device *nd, u32 nc)
{
	bool over = true;

	mutex_lock(&nd->lock);
	if (nd->cinit[nc] == NEURON_CINIT_STATE_STARTED)
		over = false;
	if (over && nd->cinit[nc] != NEURON_CINIT_STATE_COMPLETED && neuron_attached_locked(nd)) {
		nd->cinit[nc] = NEURON_CINIT_STATE_STARTED;
		nd->cinit_by[nc] = current->tgid;
	}
	mutex_unlock(&nd->lock);
	return over;
}

/* The first to start wins, the others wait until it completes; the state is returned */
int neuron_cinit_set(struct neuron_device *nd, u32 nc, u32 state, u32 *new_state)
{
	long left = CINIT_WAIT;
	unsigned int seen;
	int err = 0;

	if (nc >= nd->gen->cores)
		return -E2BIG;
	while (state == NEURON_CINIT_STATE_STARTED && !err) {
		seen = neuron_changes(nd);
		if (cinit_try(nd, nc))
			break;
		err = neuron_wait_change(nd, seen, &left);
	}
	if (err && err != -ETIMEDOUT)
		return err;
	mutex_lock(&nd->lock);
	if (state == NEURON_CINIT_STATE_COMPLETED && nd->cinit[nc] == NEURON_CINIT_STATE_STARTED)
		nd->cinit[nc] = state;
	else if (state == NEURON_CINIT_STATE_INVALID)
		nd->cinit[nc] = state;
	*new_state = nd->cinit[nc] ? nd->cinit[nc] : NEURON_CINIT_STATE_INVALID;
	mutex_unlock(&nd->lock);
	neuron_changed(nd);
	return 0;
}
