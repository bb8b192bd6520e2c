/* SPDX-License-Identifier: MIT */
/*
 * Which tensor a name means: the one place for the rule of docs/neff.md, "Names of inputs and
 * outputs". Called by the compiler, libnrt, neuron-rtd and the tools. Strings stay the caller's.
 */
#ifndef NEFF_CALLED_H
#define NEFF_CALLED_H

/* An input or an output of a model, with its names */
struct neff_called {
	const char *name; /* the NEFF's */
	const char *source; /* the compiled model's own; NULL or "": the NEFF does not say */
};

/* Do the model's own names or the file's go first, where a name may be read both ways? */
enum neff_naming { NEFF_OF_MODEL, NEFF_OF_FILE };

/*
 * Which of the n tensors each of the names that are given together means, in which[ngiven]; -1:
 * none of them. -ENOMEM: which is not set.
 */
int neff_called_match(const struct neff_called *tensor, unsigned int n, enum neff_naming first,
		      const char *const *given, unsigned int ngiven, int *which);
/*
 * Names that mean the n tensors to who asks the above, model's names first, in name[n]: the NEFF's
 * where they do. 0 or -ENOMEM
 */
int neff_called_names(const struct neff_called *tensor, unsigned int n, const char **name);

#endif
