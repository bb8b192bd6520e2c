/* SPDX-License-Identifier: MIT */
/*
 * A call's status and the reason for it (status.c). Each layer that fails adds a line of details in
 * front of those of the layer it called. rt_fail returns its status, so that a caller can write
 * `return rt_fail(status, "MODULE", ...)`.
 */
#ifndef RT_STATUS_H
#define RT_STATUS_H

#include <stdbool.h>

#include "nrt/nrt.h"
#include "nrt/nrtx.h"

#define EXPORT __attribute__((visibility("default")))

void rt_details_clear(void);
NRT_STATUS rt_fail_at(NRT_STATUS status, const char *module, const char *function,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));
#define rt_fail(status, module, ...) rt_fail_at((status), (module), __func__, __VA_ARGS__)
NRT_STATUS rt_status_from_errno(int err);
const char *rt_errno_text(int err); /* of -errno; of a device that is gone, how that may be */

/* False for errors that let the program reach its end */
static inline bool rt_fatal(NRT_STATUS status)
{
	return status && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR;
}

#endif
