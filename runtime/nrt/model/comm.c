/* SPDX-License-Identifier: MIT */
/* See rt_comm.h. Called by collectives.c, init.c and ranks.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_comm.h"
#include "rt_context.h"
#include "rt_log.h"
#include "rt_group.h"

#define MEET_MS 300000 /* for the slowest process's chips, as long as frameworks wait for it */

static const struct cc_form form = { .version = 1, .slots = RT_GROUPS, .slot = RT_GROUP_SLOT };
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct cc_board *own, *job;
static bool complete; /* all members of the job have come */
static unsigned int meeting; /* members of this process that wait for the others */

static NRT_STATUS no_groups(void)
{
	bool any;

	if (!own)
		return NRT_SUCCESS;
	cc_lock(own);
	any = cc_slot_next(own, NULL);
	cc_unlock(own);
	return any ? rt_fail(NRT_INVALID, "NMGR",
			     "models of several ranks are loaded, which other processes would not "
			     "know of: processes meet first")
		   : NRT_SUCCESS;
}

NRT_STATUS rt_comm_open(const char *root, uint32_t member, uint32_t count)
{
	const char *name = root ? root : secure_getenv("NEURON_RT_ROOT_COMM_ID");
	const struct cc_meeting m = { name, member, count, MEET_MS };
	NRT_STATUS status;
	char why[256];
	int err;

	if (__atomic_load_n(&complete, __ATOMIC_ACQUIRE))
		return cc_members(job) == count
			       ? NRT_SUCCESS
			       : rt_fail(NRT_INVALID, "NMGR",
					 "this process is of a job of %u members", cc_members(job));
	if (!name || !*name)
		return rt_fail(NRT_INVALID, "NMGR",
			       "NEURON_RT_ROOT_COMM_ID is not set, by which %u members meet",
			       count);
	pthread_mutex_lock(&opening);
	status = no_groups();
	meeting += !status;
	pthread_mutex_unlock(&opening);
	if (status)
		return status;
	err = cc_meet(&m, &form, &job, why, sizeof(why));
	pthread_mutex_lock(&opening);
	if (!err)
		__atomic_store_n(&complete, true, __ATOMIC_RELEASE);
	if (!--meeting && !complete) {
		cc_board_free(job); /* the next attempt finds nothing of this one */
		job = NULL;
	}
	pthread_mutex_unlock(&opening);
	return err ? rt_fail(NRT_FAILURE, "NMGR", "%s", why) : NRT_SUCCESS;
}

struct cc_board *rt_comm(uint32_t count)
{
	return __atomic_load_n(&complete, __ATOMIC_ACQUIRE) && cc_members(job) == count ? job
											: NULL;
}

NRT_STATUS rt_board_enter(void)
{
	NRT_STATUS status = NRT_SUCCESS;
	int err = 0;

	pthread_mutex_lock(&opening);
	if (!complete && meeting)
		status = rt_fail(NRT_INVALID, "NMGR",
				 "a model of several ranks is loaded while processes meet");
	else if (!complete && !own)
		err = cc_board_new(&form, &own);
	else if (cc_inherited(rt_board()))
		status = rt_fail(NRT_FAILURE, "NMGR", "the board is the parent's of this process");
	if (err)
		status = rt_fail(NRT_RESOURCE, "NMGR", "a board of ranks: %s", strerror(-err));
	if (status)
		pthread_mutex_unlock(&opening);
	return status;
}

void rt_board_leave(void)
{
	pthread_mutex_unlock(&opening);
}

struct cc_board *rt_board(void)
{
	return __atomic_load_n(&complete, __ATOMIC_ACQUIRE) ? job : own;
}

void rt_comm_close(void)
{
	cc_board_free(own);
	cc_board_free(job);
	own = job = NULL;
	complete = false;
}
