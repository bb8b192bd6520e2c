// SPDX-License-Identifier: MIT
/*
 * neuron-monitor writes a JSON object a line, the first at once and then whenever a group of
 * metrics is due, until its reader goes away; neuron-monitor(1).
 */
#include "config.h"
#include "neuron_version.h"
#include "record.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_VERBOSE = 256, OPT_VERSION };

static const struct option long_options[] = {
	{ "config-file", required_argument, NULL, 'c' },
	{ "verbose", required_argument, NULL, OPT_VERBOSE },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char help[] =
	"usage: neuron-monitor [options]\n"
	"Writes what the Neuron devices of this machine do, one JSON object a line.\n"
	"\n"
	"  -c, --config-file FILE   which groups of metrics, of which processes, how often;\n"
	"                           by default all of them every 5 seconds\n"
	"      --verbose LEVEL      0 (nothing, the default) to 4: what it says on stderr\n"
	"      --version            print the version\n"
	"  -h, --help               print this help\n";

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "neuron-monitor: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	return EXIT_FAILURE;
}

/* Returns 0, or 1 when the reader has closed its end: that is how a monitor ends */
static int write_line(char *line)
{
	size_t length = strlen(line), done = 0;

	line[length++] = '\n'; /* in the place of the end */
	while (done < length) {
		ssize_t n = write(STDOUT_FILENO, line + done, length - done);

		if (n < 0 && errno == EPIPE)
			return 1;
		if (n < 0 && errno != EINTR) {
			fail("standard output", strerror(errno));
			exit(EXIT_FAILURE);
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Sleeps until a moment; 1 when the reader has closed its end meanwhile */
static int wait_until(double moment)
{
	struct pollfd out = { .fd = STDOUT_FILENO };
	double left;

	while ((left = moment - tm_now()) > 0) {
		int n = poll(&out, 1, (int)ceil(fmin(left, 3600) * 1000));

		if (n > 0 && out.revents & (POLLERR | POLLNVAL))
			return 1;
	}
	return 0;
}

/* Held while the nodes are in use */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

/* Ends the monitor by the signal that comes, after closing the nodes. */
static void *end_by_signal(void *ends)
{
	int signal_number;

	sigwait(ends, &signal_number);
	pthread_mutex_lock(&looking); /* for good */
	tm_close();
	signal(signal_number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, ends, NULL);
	raise(signal_number);
	return NULL;
}

/* Handles the signals that end it; one that is ignored stays so. */
static void take_signals(void)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	static sigset_t ends;
	struct sigaction before;
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaddset(&ends, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	if (pthread_create(&thread, NULL, end_by_signal, &ends))
		pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
}

static struct tm_snapshot *look(void)
{
	struct tm_snapshot *now;

	pthread_mutex_lock(&looking);
	now = tm_snapshot_take();
	pthread_mutex_unlock(&looking);
	return now;
}

static int monitor(const struct config *config, int verbose)
{
	struct tm_instance self;
	struct schedule schedule;
	int gone = 0;

	take_signals();
	schedule_begin(&schedule);
	tm_instance_read(&self);
	while (!gone) {
		struct tm_snapshot *now = look();
		char *line = now ? record_make(&schedule, config, &self, now) : NULL;

		if (!line)
			return fail("out of memory", NULL);
		if (verbose > 1)
			fprintf(stderr, "neuron-monitor: %zu bytes, %u processes\n",
				strlen(line) + 1, now->processes);
		tm_snapshot_drop(now);
		gone = write_line(line);
		free(line);
		gone = gone || wait_until(schedule_next(&schedule, config));
	}
	schedule_end(&schedule);
	pthread_mutex_lock(&looking);
	tm_close();
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct config config;
	const char *path = NULL;
	char why[512];
	int verbose = 0, c, ret;

	while ((c = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			path = optarg;
			break;
		case OPT_VERBOSE:
			if (*optarg < '0' || *optarg > '4' || optarg[1])
				return fail("--verbose takes 0 to 4", optarg), 2;
			verbose = *optarg - '0';
			break;
		case OPT_VERSION:
			puts("neuron-monitor " NEURON_EMULATOR_BUILD);
			return EXIT_SUCCESS;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(help, stderr);
		return 2;
	}
	config_default(&config);
	if (path && config_read(path, &config, why, sizeof(why)))
		return fail(path, why);
	if (verbose)
		fprintf(stderr, "neuron-monitor: %s\n", path ? path : "all groups every 5 seconds");
	ret = monitor(&config, verbose);
	config_free(&config);
	return ret;
}
