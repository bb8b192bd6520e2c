/* SPDX-License-Identifier: MIT */
/* Variables of the environment that are yes or no: 1, 0, true or false, in any case (env.c) */
#ifndef RT_ENV_H
#define RT_ENV_H

#include <stdbool.h>

#define RT_ENV_BOOL "0, 1, false or true is expected"

/* 0 with *on, -ENOENT: not set or empty, -EINVAL: it is something else */
int rt_env_bool(const char *name, bool *on);
/* rt_env_bool() with a value for a variable that is not set, or, with a warning, is no boolean */
bool rt_env_on(const char *name, bool unset);

#endif
