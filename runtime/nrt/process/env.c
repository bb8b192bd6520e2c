/* SPDX-License-Identifier: MIT */
/* See rt_env.h. */
#include "rt_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_log.h"

int rt_env_bool(const char *name, bool *on)
{
	const char *value = secure_getenv(name);

	if (!value || !*value)
		return -ENOENT;
	if (!strcmp(value, "1") || !strcasecmp(value, "true"))
		*on = true;
	else if (!strcmp(value, "0") || !strcasecmp(value, "false"))
		*on = false;
	else
		return -EINVAL;
	return 0;
}

bool rt_env_on(const char *name, bool unset)
{
	bool on = unset;

	if (rt_env_bool(name, &on) == -EINVAL)
		rt_log(RT_LOG_WARNING, "%s=%s: " RT_ENV_BOOL ", it counts as %s", name,
		       secure_getenv(name), unset ? "true" : "false");
	return on;
}
