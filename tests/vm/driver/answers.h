/* SPDX-License-Identifier: MIT */
/*
 * What a driver answers, one line a question: "ROW question = result fields". tests/data/abi/
 * answers.txt has the public driver's lines; driver-answers.t compares. Only what every run of one
 * driver repeats is printed: no addresses of host memory, no pids, no kernel pointers.
 */
#ifndef DRIVER_ANSWERS_H
#define DRIVER_ANSWERS_H

#include "tap.h"

/* Ask a row of the table and print the result; the line stays open for fields */
#define ASK(fd, row, what, arg) ask(fd, NEURON_IOCTL_##row, #row, what, arg)
/* The same, and nothing more to say */
#define SAY(fd, row, what, arg) (ASK(fd, row, what, arg), end())

static inline int ask(int fd, unsigned long cmd, const char *row, const char *what, void *arg)
{
	int ret = call(fd, cmd, arg);

	printf("%s%s%s = %d", row, *what ? " " : "", what, ret);
	return ret;
}

static inline void field(const char *name, long long value)
{
	printf(" %s %lld", name, value);
}

static inline void end(void)
{
	printf("\n");
	fflush(stdout);
}

/* What a client does that every driver of this level must do the same way */
void answers_info(int fd);
void answers_memory(int fd);
void answers_queues(int fd);
void answers_cores(int fd);
/* What is refused, and how */
void answers_refused(int fd);
void answers_gates(void);

#endif
