/* SPDX-License-Identifier: MIT */
/*
 * What the NEFF calls the model's inputs: input0, input1, ... by their numbers. A model whose own
 * names are these in another order keeps its own, or who has both could not tell which are meant
 * (docs/neff.md, Names of inputs and outputs).
 */
#include <stdlib.h>
#include <string.h>

#include "neff_called.h"
#include "prog.h"

static bool is_input(const struct neff_var *v)
{
	return v->type == NEFF_VAR_INPUT && v->source;
}

/* Appends the inputs that no subgraph before has. */
static unsigned int collect(const struct neff_subgraph *sg, struct neff_called *called,
			    unsigned int n)
{
	const unsigned int before = n;

	for (unsigned int i = 0; i < sg->nvars; i++) {
		const struct neff_var *v = &sg->vars[i];
		bool known = !is_input(v);

		for (unsigned int k = 0; k < before && !known; k++)
			known = !strcmp(called[k].name, v->name);
		if (!known)
			called[n++] = (struct neff_called){ v->name, v->source };
	}
	return n;
}

static int keep_own(struct neff_subgraph *sg, struct ncc_error *err)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		struct neff_var *v = &sg->vars[i];
		char *name = is_input(v) ? strdup(v->source) : v->name;

		if (!name)
			return ncc_no_memory(err);
		if (name != v->name)
			free(v->name);
		v->name = name;
	}
	return 0;
}

int ncc_name_inputs(struct neff_model *m, struct ncc_error *err)
{
	struct neff_called *called;
	const char **name;
	unsigned int n = 0;
	bool own = false;
	int rc = 0;

	for (unsigned int k = 0; k < m->nsubgraphs; k++)
		n += m->subgraphs[k].nvars;
	called = calloc((size_t)n + 1, sizeof(*called));
	name = calloc((size_t)n + 1, sizeof(*name));
	n = 0;
	for (unsigned int k = 0; called && k < m->nsubgraphs; k++)
		n = collect(&m->subgraphs[k], called, n);
	if (!called || !name || neff_called_names(called, n, name))
		rc = ncc_no_memory(err);
	for (unsigned int i = 0; !rc && i < n; i++)
		own |= strcmp(name[i], called[i].name) != 0;
	for (unsigned int k = 0; !rc && own && k < m->nsubgraphs; k++)
		rc = keep_own(&m->subgraphs[k], err);
	free(called);
	free(name);
	return rc;
}
