// SPDX-License-Identifier: MIT
/*
 * A line that says how far the work is, once it has taken two seconds, and then four times a
 * second. A thread of its own writes it, since a phase may be a long one.
 */
#include "terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 2000
#define NEXT_MS 250

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	const char *phase; /* NULL: none yet */
	unsigned int done, total;
	bool running, over, shown;
} terminal = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Waits for the end: true if it came in time */
static bool ended(long ms)
{
	struct timespec at;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += ms % 1000 * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	while (!terminal.over && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&terminal.ends, &terminal.lock, &at);
	return terminal.over;
}

static void *show(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&terminal.lock);
	for (long ms = FIRST_MS; !ended(ms); ms = NEXT_MS) {
		if (!terminal.phase)
			continue;
		terminal.shown = true;
		fprintf(stderr, "\r%s", terminal.phase);
		if (terminal.total)
			fprintf(stderr, ": %u of %u", terminal.done, terminal.total);
		fprintf(stderr, "\033[K\r");
	}
	pthread_mutex_unlock(&terminal.lock);
	return NULL;
}

bool terminal_begin(void)
{
	pthread_condattr_t attr;

	if (terminal.running || !isatty(STDERR_FILENO) || pthread_condattr_init(&attr))
		return false;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&terminal.ends, &attr);
	pthread_condattr_destroy(&attr);
	terminal.over = terminal.shown = false;
	terminal.phase = NULL;
	terminal.running = !pthread_create(&terminal.thread, NULL, show, NULL);
	return terminal.running;
}

void terminal_progress(void *opaque, const char *phase, unsigned int done, unsigned int total)
{
	(void)opaque;
	pthread_mutex_lock(&terminal.lock);
	terminal.phase = phase;
	terminal.done = done;
	terminal.total = total;
	pthread_mutex_unlock(&terminal.lock);
}

void terminal_end(void)
{
	bool running;

	pthread_mutex_lock(&terminal.lock);
	running = terminal.running;
	terminal.running = false;
	terminal.over = true;
	if (running)
		pthread_cond_signal(&terminal.ends);
	pthread_mutex_unlock(&terminal.lock);
	if (!running)
		return;
	pthread_join(terminal.thread, NULL);
	pthread_cond_destroy(&terminal.ends);
	if (terminal.shown)
		fprintf(stderr, "\r\033[K");
}
