/* SPDX-License-Identifier: MIT */
/* Processes that use a chip: their commands, from /proc. Called by gather.c. */
#ifndef LS_PROCESS_H
#define LS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes what another process says of itself safe for a terminal: printable ASCII, '?' for the rest.
 */
void ls_printable(char *text);

/*
 * The command line, words separated by blanks, printable ASCII ('?' for the rest); empty when the
 * process has ended or is hidden. `proc` is the directory, normally "/proc".
 */
void ls_process_command(const char *proc, int pid, char *command, size_t size);

/* The runtime's version word of a datastore as text; -ENOENT when there is none. */
int ls_process_version(const void *nds, size_t nds_size, char *version, size_t size);

#endif
