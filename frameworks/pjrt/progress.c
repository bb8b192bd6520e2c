// SPDX-License-Identifier: MIT
/*
 * A compilation that takes longer than two seconds has a line on a terminal, which is cleared at
 * its end. It ends early if the user has interrupted it: signals are Python's, which handles them
 * where it runs, or where it is asked to. An exception of a handler cannot pass the plug-in; it is
 * dropped, and the signal comes again behind the call, so that Python raises another one there.
 */
#include "progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SHOW_MS 2000
#define LOOK_MS 100 /* between two looks at the user and the line */
#define CLEAR "\r\033[K"

static struct {
	pthread_mutex_t lock;
	bool there;
	int (*ensure)(void);
	int (*check)(void);
	void (*clear)(void);
	void (*release)(int state);
} python = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

PJRT_Error *npj_progress_signals(const int64_t *address, size_t n)
{
	if (n != NPJ_SIGNALS || !address)
		return NPJ_INVALID("the option python_signals is %d addresses, not %zu",
				   NPJ_SIGNALS, n);
	for (size_t i = 0; i < n; i++)
		if (!address[i])
			return NPJ_INVALID("address %zu of the option python_signals is 0", i);
	pthread_mutex_lock(&python.lock);
	python.ensure = (int (*)(void))(uintptr_t)address[0];
	python.check = (int (*)(void))(uintptr_t)address[1];
	python.clear = (void (*)(void))(uintptr_t)address[2];
	python.release = (void (*)(int))(uintptr_t)address[3];
	python.there = true;
	pthread_mutex_unlock(&python.lock);
	return NULL;
}

/* Has a signal's handler raised something in this thread? */
static bool is_interrupted(void)
{
	bool there, raised;
	int state;

	pthread_mutex_lock(&python.lock);
	there = python.there;
	pthread_mutex_unlock(&python.lock);
	if (!there)
		return false;
	state = python.ensure();
	raised = python.check();
	if (raised)
		python.clear();
	python.release(state);
	return raised;
}

void npj_progress_begin(struct npj_progress *p, const char *name)
{
	*p = (struct npj_progress){ .name = name, .began_ms = now_ms() };
}

static void show(struct npj_progress *p, int64_t now)
{
	struct winsize window = { 0 };
	char line[160], part[48] = "";
	size_t most;

	if (!p->phase || now - p->began_ms < SHOW_MS || !isatty(STDERR_FILENO))
		return;
	if (p->total)
		snprintf(part, sizeof(part), " %u of %u", p->done, p->total);
	snprintf(line, sizeof(line), "compiling %.60s: %s%s, %lld s", p->name, p->phase, part,
		 (long long)((now - p->began_ms) / 1000));
	/* a line that is cut off leaves nothing behind when it is cleared */
	most = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col < 2
		       ? 79
		       : (size_t)window.ws_col - 1;
	dprintf(STDERR_FILENO, CLEAR "%.*s", (int)most, line);
	p->shown = true;
}

void npj_progress_tell(struct npj_progress *p, const char *phase, unsigned int done,
		       unsigned int total)
{
	p->phase = phase;
	p->done = done;
	p->total = total;
}

bool npj_progress_cancelled(struct npj_progress *p)
{
	const int64_t now = now_ms();

	if (p->interrupted || (p->looked_ms && now - p->looked_ms < LOOK_MS))
		return p->interrupted;
	p->looked_ms = now;
	show(p, now);
	p->interrupted = is_interrupted();
	return p->interrupted;
}

void npj_progress_end(struct npj_progress *p)
{
	if (p->shown)
		dprintf(STDERR_FILENO, CLEAR);
	p->shown = false;
	if (p->interrupted)
		pthread_kill(pthread_self(), SIGINT);
}
