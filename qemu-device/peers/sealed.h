/* SPDX-License-Identifier: MIT */
/*
 * Memory as a file that processes share: zeroed, sparse, and sealed, so that nobody who is given it
 * can cut off what the others work on, or seal it further.
 */
#ifndef NEURON_SEALED_H
#define NEURON_SEALED_H

#include <stdbool.h>
#include <stdint.h>

int sealed_new(const char *name, uint64_t size); /* a file descriptor, or -errno */
/*
 * The same, mapped at *ptr here, for others to read alone: they can neither write to the file nor
 * map it so.
 */
int sealed_new_shown(const char *name, uint64_t size, void **ptr);
/* Memory that somebody else gave; NULL with errno: it can be cut short, or is. write: to write, too
 */
void *sealed_map(int fd, uint64_t size, bool write);

#endif
