/* SPDX-License-Identifier: MIT */
/*
 * The inputs that a user names. Which one a name means is libneff's rule (neff_called.h). Called by
 * neuron-run, neuron-cli and neuron-bench.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stddef.h>

#include "neff_called.h"

/*
 * Which of the n inputs each of the names that the user gives means, in which[ngiven]. -ENOENT:
 * given[*bad] is no input's; -EEXIST: it is that of one that is given already, which[*bad]; -ENOMEM
 */
int names_given(const struct neff_called *names, unsigned int n, const char *const *given,
		unsigned int ngiven, int *which, unsigned int *bad);
/* Writes "input0 (pixels), input1" for messages, cut where it does not fit. */
void name_list(const struct neff_called *names, unsigned int n, char *text, size_t size);

#endif
