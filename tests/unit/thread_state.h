/* SPDX-License-Identifier: MIT */
/* Whether a thread of the test waits, as the kernel sees it: for steps that are to be made then */
#ifndef THREAD_STATE_H
#define THREAD_STATE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* True while the thread sleeps, and once it has ended */
static inline bool thread_rests(pid_t tid)
{
	char path[64], line[256], state = 'S';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file && fgets(line, sizeof(line), file) && strrchr(line, ')'))
		state = strrchr(line, ')')[2];
	if (file)
		fclose(file);
	return state == 'S' || state == 'Z' || state == 'X';
}

#endif
