/* SPDX-License-Identifier: MIT */
/*
 * Collectives of the host: members of a job, which may be of several processes of this host, meet
 * (comm.c), wait for each other and tell each other bytes. A member that is alone has no job.
 */
#include <errno.h>
#include <string.h>

#include "nrt/nrtx.h"
#include "rt_comm.h"
#include "rt_context.h"
#include "rt_log.h"

#define WAIT_MS 300000 /* for the slowest member, as long as they wait to meet */

static NRT_STATUS check(int64_t vnc, uint32_t id, uint32_t count)
{
	if (!count || id >= count)
		return rt_fail(NRT_INVALID, "NRT", "member %u of %u", id, count);
	if (vnc < 0 || !rt_core((uint32_t)vnc))
		return rt_fail(NRT_INVALID, "NRT", "core %lld of %u", (long long)vnc, rt.ncores);
	return NRT_SUCCESS;
}

/* The job; NULL: the member is alone */
static NRT_STATUS find(int64_t vnc, uint32_t id, uint32_t count, struct cc_board **job)
{
	NRT_STATUS status = check(vnc, id, count);

	*job = NULL;
	if (status || count == 1)
		return status;
	*job = rt_comm(count);
	return *job ? NRT_SUCCESS
		    : rt_fail(NRT_INVALID, "NRT",
			      "this process has not met a job of %u members "
			      "(nrt_build_global_comm)",
			      count);
}

static NRT_STATUS done(int err)
{
	switch (err) {
	case 0:
		return NRT_SUCCESS;
	case -ETIMEDOUT:
		return rt_fail(NRT_TIMEOUT, "NRT", "not all members have come within %d ms",
			       WAIT_MS);
	default:
		return rt_fail(NRT_FAILURE, "NRT", "a member's process has ended");
	}
}

EXPORT NRT_STATUS nrtx_meet(const char *root, uint32_t member, uint32_t count)
{
	RT_ENTER(status);

	if (!status && (!count || member >= count))
		status = rt_fail(NRT_INVALID, "NRT", "member %u of %u", member, count);
	return status || count == 1 ? status : rt_comm_open(root, member, count);
}

static NRT_STATUS build(int64_t vnc, uint32_t id, uint32_t count)
{
	NRT_STATUS status = check(vnc, id, count);

	return status || count == 1 ? status : rt_comm_open(NULL, id, count);
}

EXPORT NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	RT_ENTER(status);

	return status ? status : build(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id,
					  uint32_t g_device_count)
{
	RT_ENTER(status);

	return status ? status : build(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	struct cc_board *job = NULL;
	RT_ENTER(status);

	if (!status)
		status = find(vnc, g_device_id, g_device_count, &job);
	return job ? done(cc_barrier(job, WAIT_MS)) : status;
}

EXPORT NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
				 uint32_t rank_input_size, void *input, void *output)
{
	struct cc_board *job = NULL;
	RT_ENTER(status);

	if (!status)
		status = find(vnc, g_device_id, g_device_count, &job);
	if (status)
		return status;
	if (rank_input_size && (!input || !output))
		return rt_fail(NRT_INVALID, "NRT", "no buffer");
	if (job)
		return done(cc_gather(job, g_device_id, input, rank_input_size, output, WAIT_MS));
	if (rank_input_size)
		memmove(output, input, rank_input_size);
	return NRT_SUCCESS;
}
