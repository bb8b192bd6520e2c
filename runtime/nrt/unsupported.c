/* SPDX-License-Identifier: MIT */
/*
 * Public calls that this generation or this runtime does not support; each says so in its details
 */
#include "nrt/nrt_experimental.h"
#include "rt_context.h"

EXPORT NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	return g_device_count == 1 ? NRT_SUCCESS
				   : rt_fail(NRT_INVALID, "NRT",
					     "collectives exist from the second generation on");
}

EXPORT NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
	return nrt_build_global_comm(vnc, g_device_id, g_device_count);
}

EXPORT NRT_STATUS nrt_profile_start(nrt_model_t *model, const char *filename)
{
	return rt_fail(NRT_FAILURE, "NRT", "there is no profiler yet");
}

EXPORT NRT_STATUS nrt_profile_stop(const char *filename)
{
	return rt_fail(NRT_FAILURE, "NRT", "there is no profiler yet");
}

EXPORT NRT_STATUS nrt_trace_start(bool trace_mem)
{
	return rt_fail(NRT_FAILURE, "NRT", "there is no system trace yet");
}

EXPORT NRT_STATUS nrt_trace_stop(const char *filename)
{
	return rt_fail(NRT_FAILURE, "NRT", "there is no system trace yet");
}
