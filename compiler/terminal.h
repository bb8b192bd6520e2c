/* SPDX-License-Identifier: MIT */
/*
 * How far a long piece of work is, on standard error if that is a terminal (terminal.c). One at a
 * time.
 */
#ifndef NCC_TERMINAL_H
#define NCC_TERMINAL_H

#include <stdbool.h>

/* False: it is no terminal, and nothing is shown. Else terminal_end() is called when the work ends.
 */
bool terminal_begin(void);
/* The form of ncc_options.progress; opaque is not used. */
void terminal_progress(void *opaque, const char *phase, unsigned int done, unsigned int total);
void terminal_end(void);

#endif
