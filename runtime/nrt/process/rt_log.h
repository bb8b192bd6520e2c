/* SPDX-License-Identifier: MIT */
/*
 * The runtime's log (log.c): NEURON_RT_LOG_LEVEL and NEURON_RT_LOG_LOCATION say what goes where. It
 * is for what no status can say; the reasons of failures are in a call's details.
 */
#ifndef RT_LOG_H
#define RT_LOG_H

#include <stdatomic.h>

#include "rt_status.h"

enum rt_log_level {
	RT_LOG_QUIET,
	RT_LOG_ERROR,
	RT_LOG_WARNING,
	RT_LOG_INFO,
	RT_LOG_OUTPUT /* what a model prints: at any level but QUIET */
};

void rt_log_at(enum rt_log_level level, const char *function, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define rt_log(level, ...) rt_log_at((level), __func__, __VA_ARGS__)

/*
 * What a function that does nothing here returns: its status, with the reason in the details; the
 * log has it once.
 */
NRT_STATUS rt_absent_at(atomic_flag *said, NRT_STATUS status, const char *function,
			const char *reason);
#define rt_absent(status, reason)                                   \
	({                                                          \
		static atomic_flag said_ = ATOMIC_FLAG_INIT;        \
		rt_absent_at(&said_, (status), __func__, (reason)); \
	})

#endif
