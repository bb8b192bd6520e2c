// SPDX-License-Identifier: MIT
/*
 * The daemon's log: each line is formatted once, and goes to syslog and, if asked for, to stderr by
 * one write. If stderr is the journal's, lines go there alone, with their priority (sd-daemon(3)):
 * through syslog they would be there twice.
 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "error.h"

static int log_level = RTD_LOG_INFO;
static bool log_console, log_journal;
static atomic_uint_fast64_t log_errors, log_warnings;

/* The journal names its stream by device and inode. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && !fstat(fd, &st) &&
	       st.st_dev == dev && st.st_ino == ino;
}

void rtd_log_open(int level, bool console)
{
	log_level = level;
	log_console = console;
	log_journal = console && is_journal(STDERR_FILENO);
	openlog("nrtd", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void rtd_log_close(void)
{
	closelog();
}

void rtd_log_count(uint64_t *errors, uint64_t *warnings)
{
	*errors = log_errors;
	*warnings = log_warnings;
}

static int log_priority(enum rtd_log_level level)
{
	static const int priority[] = {
		[RTD_LOG_FATAL] = LOG_ALERT, [RTD_LOG_CRITICAL] = LOG_CRIT,
		[RTD_LOG_ERROR] = LOG_ERR,   [RTD_LOG_WARNING] = LOG_WARNING,
		[RTD_LOG_INFO] = LOG_INFO,   [RTD_LOG_DEBUG] = LOG_DEBUG,
		[RTD_LOG_TRACE] = LOG_DEBUG,
	};

	return priority[level];
}

void rtd_log_line(enum rtd_log_level level, const char *module, const char *function,
		  const char *format, ...)
{
	char text[1024], line[1200];
	va_list args;
	int n;

	if (level == RTD_LOG_ERROR)
		log_errors++;
	else if (level == RTD_LOG_WARNING)
		log_warnings++;
	if ((int)level > log_level)
		return;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rtd_text_clean(text);

	if (!strncmp(function, "rtd_", 4))
		function += 4;
	if (!log_journal)
		syslog(log_priority(level), "[%s:%s] %s", module, function, text);
	if (!log_console)
		return;
	if (log_journal)
		n = snprintf(line, sizeof(line), "<%d>[%s:%s] %s\n", log_priority(level), module,
			     function, text);
	else
		n = snprintf(line, sizeof(line), "nrtd[%d]: [%s:%s] %s\n", (int)getpid(), module,
			     function, text);
	if (write(STDERR_FILENO, line, n) < 0)
		log_console = false;
}
