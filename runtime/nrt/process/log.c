/* SPDX-License-Identifier: MIT */
/*
 * The runtime's log, a line a call: "YYYY-Mon-DD HH:MM:SS.ffffff pid:tid LEVEL NRT:function text".
 * The environment is read at the first line.
 */
#include "rt_log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char *const levels[] = {
	[RT_LOG_QUIET] = "QUIET", [RT_LOG_ERROR] = "ERROR",   [RT_LOG_WARNING] = "WARN",
	[RT_LOG_INFO] = "INFO",	  [RT_LOG_OUTPUT] = "GPSIMD",
};

static const int priorities[] = {
	[RT_LOG_ERROR] = LOG_ERR,
	[RT_LOG_WARNING] = LOG_WARNING,
	[RT_LOG_INFO] = LOG_INFO,
	[RT_LOG_OUTPUT] = LOG_INFO,
};

static struct {
	pthread_once_t once;
	enum rt_log_level level;
	bool syslog;
	const char *file; /* NULL: the console, which is stderr */
} logging = { .once = PTHREAD_ONCE_INIT };

/* The module's own variable goes before that of all modules. */
static const char *setting(const char *name, const char *module)
{
	const char *value = secure_getenv(module);

	return value && *value ? value : secure_getenv(name);
}

static enum rt_log_level parse_level(const char *text)
{
	if (!text || !*text)
		return RT_LOG_WARNING;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strncasecmp(text, levels[i], strlen(levels[i])))
			return (enum rt_log_level)i;
	return !strcasecmp(text, "DEBUG") || !strcasecmp(text, "TRACE") ? RT_LOG_INFO
									: RT_LOG_WARNING;
}

static void start(void)
{
	const char *where = setting("NEURON_RT_LOG_LOCATION", "NEURON_RT_LOG_LOCATION_NRT");

	logging.level = parse_level(setting("NEURON_RT_LOG_LEVEL", "NEURON_RT_LOG_LEVEL_NRT"));
	if (!where || !*where || !strcasecmp(where, "console"))
		return;
	logging.syslog = !strcasecmp(where, "syslog");
	if (!logging.syslog)
		logging.file = strdup(where);
}

static void put(const char *line)
{
	FILE *file = logging.file ? fopen(logging.file, "ae") : NULL;

	/* one write, so that lines of several processes do not mix */
	fputs(line, file ? file : stderr);
	if (file)
		fclose(file);
}

void rt_log_at(enum rt_log_level level, const char *function, const char *format, ...)
{
	char text[512], line[768], date[32];
	struct timespec now;
	struct tm tm;
	va_list args;

	pthread_once(&logging.once, start);
	if (level == RT_LOG_OUTPUT ? logging.level == RT_LOG_QUIET : level > logging.level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (logging.syslog) {
		syslog(priorities[level], "NRT:%s %s", function, text);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%b-%d %H:%M:%S", &tm);
	snprintf(line, sizeof(line), "%s.%06ld %5d:%-5ld %s  NRT:%s   %s\n", date,
		 now.tv_nsec / 1000, getpid(), syscall(SYS_gettid), levels[level], function, text);
	put(line);
}

NRT_STATUS rt_absent_at(atomic_flag *said, NRT_STATUS status, const char *function,
			const char *reason)
{
	if (!atomic_flag_test_and_set(said))
		rt_log_at(RT_LOG_ERROR, function, "%s", reason);
	return rt_fail_at(status, "NRT", function, "%s", reason);
}
