/* SPDX-License-Identifier: MIT */
/*
 * The users whose prints are limited: a bucket of bytes each, that fills with time. One that is not
 * full is kept when its last model is gone, or who loads again would have a full one. One lock
 * protects all; nothing is called under it.
 */
#include "rt_print.h"

#include <pthread.h>
#include <stdlib.h>

struct rt_printer {
	struct rt_printer *next;
	uint64_t user;
	unsigned int refs; /* models */
	uint64_t spent; /* bytes, of RT_PRINT_BURST */
	uint64_t then_ms; /* when spent was that */
	uint64_t dropped, lines, told_ms; /* not told yet; when it was told last */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_printer *printers;

/* The allowance that has come back since */
static void refill(struct rt_printer *p, uint64_t now_ms)
{
	uint64_t ms = now_ms > p->then_ms ? now_ms - p->then_ms : 0;
	uint64_t back = ms < 1000000 ? ms * RT_PRINT_RATE / 1000 : RT_PRINT_BURST;

	if (!back)
		return;
	p->spent = back < p->spent ? p->spent - back : 0;
	p->then_ms = now_ms;
}

struct rt_printer *rt_printer_get(uint64_t user, uint64_t now_ms)
{
	struct rt_printer **at, *p = NULL;

	if (!user)
		return NULL;
	pthread_mutex_lock(&lock);
	for (at = &printers; *at;) {
		struct rt_printer *gone = *at;

		refill(gone, now_ms);
		if (gone->user == user)
			p = gone;
		if (gone->refs || gone->spent || gone->user == user) {
			at = &gone->next;
			continue;
		}
		*at = gone->next;
		free(gone);
	}
	if (!p)
		p = calloc(1, sizeof(*p));
	if (p && !p->user) {
		p->user = user;
		p->next = printers;
		printers = p;
	}
	if (p)
		p->refs++;
	pthread_mutex_unlock(&lock);
	return p;
}

void rt_printer_put(struct rt_printer *printer)
{
	if (!printer)
		return;
	pthread_mutex_lock(&lock);
	printer->refs--;
	pthread_mutex_unlock(&lock);
}

bool rt_print_line(struct rt_print *print, uint64_t bytes)
{
	struct rt_printer *p = print->printer;
	const uint64_t takes = bytes + RT_PRINT_LINE;
	bool fits;

	if (!p)
		return true;
	pthread_mutex_lock(&lock);
	refill(p, print->now_ms);
	fits = print->used + takes <= RT_PRINT_ONCE && p->spent + takes <= RT_PRINT_BURST;
	if (fits) {
		print->used += takes;
		p->spent += takes;
	} else {
		print->used = RT_PRINT_ONCE; /* nor one behind it, however short */
		p->dropped += bytes;
		p->lines++;
	}
	pthread_mutex_unlock(&lock);
	return fits;
}

bool rt_print_dropped(struct rt_print *print, uint64_t *bytes, uint64_t *lines)
{
	struct rt_printer *p = print->printer;
	bool tell = false;

	if (!p)
		return false;
	pthread_mutex_lock(&lock);
	if (p->lines && (!p->told_ms || print->now_ms - p->told_ms >= RT_PRINT_TELL_MS)) {
		*bytes = p->dropped;
		*lines = p->lines;
		p->dropped = p->lines = 0;
		p->told_ms = print->now_ms;
		tell = true;
	}
	pthread_mutex_unlock(&lock);
	return tell;
}
