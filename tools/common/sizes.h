/* SPDX-License-Identifier: MIT */
/*
 * Tensors of which the data decide how many elements there are: such a one has room for the most,
 * and another tensor is the number, which the NEFF tells ("size of output0, dimension 1"). Called
 * by neuron-run, neuron-cli and neuron-bench.
 */
#ifndef TOOLS_SIZES_H
#define TOOLS_SIZES_H

#include <stdbool.h>

#include "npy.h"

struct sized_output {
	const char *name; /* the NEFF's */
	const char *source; /* what the NEFF says that it is; NULL or "": nothing */
	struct npy *npy; /* its elements */
};

struct sized_input {
	const char *name, *source;
	struct npy bound; /* the type and shape that the program takes */
	struct npy *npy; /* the elements that are given, of the program's type; without data: none */
	unsigned int sized; /* by sizes_pad: bit d: dimension d has a size, so it may be shorter */
};

/*
 * Cuts every output that another one has the size of, and says so on standard error with `tool` in
 * front.
 */
void sizes_cut(const char *tool, const struct sized_output *out, unsigned int n);
/*
 * Brings every input that is shorter than its bound, where another one has the size, to the bound,
 * and says so. What is added are ones: numbers of which the chip tells nothing. Sizes that are not
 * given become those of what is given, or the bound. Other inputs stay as they are. Returns false
 * if memory is out.
 */
bool sizes_pad(const char *tool, struct sized_input *in, unsigned int n);

#endif
