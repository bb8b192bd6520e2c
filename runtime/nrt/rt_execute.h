/* SPDX-License-Identifier: MIT */
#ifndef RT_EXECUTE_H
#define RT_EXECUTE_H

#include <stdbool.h>

/* True if nrt_execute queues, when this thread calls it */
bool rt_async_mode(void);

#endif
