/* SPDX-License-Identifier: MIT */
/*
 * Collectives of the host. A group of one member is served, which is what programs of one process
 * ask for; programs of the emulator's instruction set have no collectives, and larger groups are
 * refused.
 */
#include <string.h>

#include "rt_context.h"
#include "rt_log.h"

static NRT_STATUS group(int64_t vnc, uint32_t id, uint32_t count)
{
	if (!count || id >= count)
		return rt_fail(NRT_INVALID, "NRT", "member %u of %u", id, count);
	if (vnc < 0 || !rt_core((uint32_t)vnc))
		return rt_fail(NRT_INVALID, "NRT", "core %lld of %u", (long long)vnc, rt.ncores);
	return count == 1 ? NRT_SUCCESS
			  : rt_absent(NRT_INVALID, "a collective has one member: "
						   "this runtime connects no processes");
}

EXPORT NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	RT_ENTER(status);

	return status ? status : group(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id,
					  uint32_t g_device_count)
{
	RT_ENTER(status);

	return status ? status : group(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	RT_ENTER(status);

	return status ? status : group(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
				 uint32_t rank_input_size, void *input, void *output)
{
	RT_ENTER(status);

	if (!status)
		status = group(vnc, g_device_id, g_device_count);
	if (status)
		return status;
	if (rank_input_size && (!input || !output))
		return rt_fail(NRT_INVALID, "NRT", "no buffer");
	if (rank_input_size)
		memmove(output, input, rank_input_size);
	return NRT_SUCCESS;
}
