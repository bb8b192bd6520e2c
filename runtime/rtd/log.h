/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log: syslog with the ident "nrtd" and, with --log-console, stderr. Both have one
 * line form: "nrtd[PID]: [MODULE:function] text". Levels are those of neuron-rtd's -l. Any thread
 * may log.
 */
#ifndef RTD_LOG_H
#define RTD_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum rtd_log_level {
	RTD_LOG_QUIET,
	RTD_LOG_FATAL,
	RTD_LOG_CRITICAL,
	RTD_LOG_ERROR,
	RTD_LOG_WARNING,
	RTD_LOG_INFO, /* the default */
	RTD_LOG_DEBUG,
	RTD_LOG_TRACE,
};

void rtd_log_open(int level, bool console);
void rtd_log_close(void);
void rtd_log_count(uint64_t *errors, uint64_t *warnings);

void rtd_log_line(enum rtd_log_level level, const char *module, const char *function,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

#define rtd_log(level, module, ...) rtd_log_line(level, module, __func__, __VA_ARGS__)
#define rtd_error(module, ...) rtd_log(RTD_LOG_ERROR, module, __VA_ARGS__)
#define rtd_warning(module, ...) rtd_log(RTD_LOG_WARNING, module, __VA_ARGS__)
#define rtd_info(module, ...) rtd_log(RTD_LOG_INFO, module, __VA_ARGS__)
#define rtd_debug(module, ...) rtd_log(RTD_LOG_DEBUG, module, __VA_ARGS__)

#endif
