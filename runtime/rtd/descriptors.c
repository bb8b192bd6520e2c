// SPDX-License-Identifier: MIT
/* Shares of RLIMIT_NOFILE */
#include "descriptors.h"

#include <errno.h>
#include <sys/resource.h>

#define MAX_DESCRIPTORS 65536
#define OWN 128 /* reserved for the daemon; of a limit under 256, half */

int rtd_descriptors_get(struct rtd_descriptors *descriptors)
{
	struct rlimit limit;
	unsigned int own;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	limit.rlim_cur = limit.rlim_max < MAX_DESCRIPTORS ? limit.rlim_max : MAX_DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	descriptors->limit = limit.rlim_cur;
	own = descriptors->limit / 2 < OWN ? descriptors->limit / 2 : OWN;
	descriptors->total = (descriptors->limit - own) / 2;
	descriptors->user = descriptors->total / 4;
	return 0;
}
