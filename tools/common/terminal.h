/* SPDX-License-Identifier: MIT */
/*
 * How far a long piece of work is, on standard error if that is a terminal (terminal.c). One at a
 * time.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>

/* False: it is no terminal, and nothing is shown, whatever follows. */
bool terminal_begin(void);
/*
 * What is done now, and how much of it; total 0: that is not known. The phase is a constant of the
 * program's. Any thread may call it, at any time; opaque is not used: this is the form of callbacks
 * for progress.
 */
void terminal_progress(void *opaque, const char *phase, unsigned int done, unsigned int total);
/*
 * When the work ends, and before anything else is printed, by any thread; again, or without a
 * begin: nothing
 */
void terminal_end(void);

#endif
