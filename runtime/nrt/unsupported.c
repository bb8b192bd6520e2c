/* SPDX-License-Identifier: MIT */
/*
 * Public calls that our chips have nothing for. Each says why in its details, and once in the log;
 * docs/nrt.md lists them.
 */
#include <stdio.h>

#include "rt_context.h"
#include "rt_log.h"

EXPORT NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info)
{
	rt_details_clear();
	if (!ucode_info)
		return rt_fail(NRT_INVALID, "NRT", "no image");
	return rt_absent(NRT_INVALID, "the pool engine has no microcode");
}

EXPORT void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size)
{
	rt_details_clear();
	rt_absent(NRT_INVALID, "there is no network plug-in");
	if (err)
		*err = NRT_INVALID;
	if (err_msg && err_msg_size)
		snprintf(err_msg, err_msg_size, "there is no network plug-in");
	return NULL;
}
