/* SPDX-License-Identifier: MIT */
/*
 * A driver's answers, one line for each question: "ROW question = result fields".
 * tests/data/abi/answers.txt has the public driver's lines; driver-answers.t compares. Only what is
 * the same in every run is printed: no addresses of host memory, no pids, no kernel pointers.
 */
#ifndef DRIVER_ANSWERS_H
#define DRIVER_ANSWERS_H

#include "neuron/hw/gen.h"
#include "tap.h"

/* The chip under test */
extern const struct neuron_gen *chip;

/* Makes the call of a row of the table and prints the result; the line stays open for fields. */
#define ASK(fd, row, what, arg) ask(fd, NEURON_IOCTL_##row, #row, what, arg)
/* ASK for an answer without fields */
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

/* Calls that every driver of this level must answer the same way */
void answers_info(int fd);
void answers_memory(int fd);
void answers_queues(int fd);
void answers_cores(int fd);
/* Calls that are refused */
void answers_refused(int fd);
void answers_gates(void);
/* Calls that go to the firmware, whose version decides the answer */
void answers_firmware(int fd);
/* Calls that the public driver has since 2.25 or 2.26; closes fd */
void answers_26(int fd);
/* Calls that the public driver has since 2.27 or newer; closes fd */
void answers_newest(int fd);

#endif
