/* SPDX-License-Identifier: MIT */
/*
 * Names of a model's inputs: a NEFF calls them input0, input1, ...; the model that it was compiled
 * from has names of its own, which it may carry. Called by neuron-run and neuron-cli.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stddef.h>

struct input_name {
	const char *name; /* the NEFF's */
	const char *source; /* the compiled model's; NULL or "": the NEFF has none */
};

/*
 * The input that a user calls `given`: the one of that name in the compiled model, else the one of
 * that name in the NEFF. -1: there is none.
 */
int name_find(const struct input_name *names, unsigned int n, const char *given);
/* Writes "input0 (pixels), input1" for messages, cut where it does not fit. */
void name_list(const struct input_name *names, unsigned int n, char *text, size_t size);

#endif
