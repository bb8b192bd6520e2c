/* SPDX-License-Identifier: MIT */
/*
 * See neff_called.h. There are two ways to call tensors, as the compiled model does and as the NEFF
 * does. Names that are given together are read in the first way that knows them all: a model whose
 * inputs are called input1 and input2 takes these, and the NEFF's input0 and input1 too.
 */
#include "neff_called.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 2

struct key {
	const char *name;
	int tensor;
};

struct way {
	struct key *key; /* sorted by name, each once */
	unsigned int n;
	int *which; /* what each name that is given means in this way; -1: nothing */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->name, ((const struct key *)b)->name);
}

/* A name that two tensors have is nobody's in this way. */
static void way_make(struct way *way, const struct neff_called *tensor, unsigned int n, bool own)
{
	unsigned int all = 0;

	for (unsigned int i = 0; i < n; i++) {
		const char *name = own ? tensor[i].source : tensor[i].name;

		if (name && *name)
			way->key[all++] = (struct key){ name, (int)i };
	}
	qsort(way->key, all, sizeof(*way->key), by_name);
	way->n = 0;
	for (unsigned int i = 0; i < all; i++) {
		if (way->n && !by_name(&way->key[way->n - 1], &way->key[i]))
			way->key[way->n - 1].tensor = -1;
		else
			way->key[way->n++] = way->key[i];
	}
}

static int way_find(const struct way *way, const char *name)
{
	const struct key wanted = { name, -1 };
	const struct key *key = bsearch(&wanted, way->key, way->n, sizeof(wanted), by_name);

	return key ? key->tensor : -1;
}

/* A name's meaning by itself */
static int alone(const struct way *way, unsigned int i)
{
	return way[0].which[i] >= 0 ? way[0].which[i] : way[1].which[i];
}

/* Does this way know every name that either way knows? */
static bool knows_all(const struct way *way, unsigned int k, unsigned int ngiven)
{
	for (unsigned int i = 0; i < ngiven; i++)
		if (way[k].which[i] < 0 && alone(way, i) >= 0)
			return false;
	return true;
}

int neff_called_match(const struct neff_called *tensor, unsigned int n, enum neff_naming first,
		      const char *const *given, unsigned int ngiven, int *which)
{
	struct key *keys = calloc(WAYS * (size_t)n + 1, sizeof(*keys));
	int *found = calloc(WAYS * (size_t)ngiven + 1, sizeof(*found));
	const bool ok = keys && found;
	const struct way *chosen = NULL;
	struct way way[WAYS];

	for (unsigned int k = 0; ok && k < WAYS; k++) {
		way[k].key = keys + (size_t)k * n;
		way[k].which = found + (size_t)k * ngiven;
		way_make(&way[k], tensor, n, (k == 0) == (first == NEFF_OF_MODEL));
		for (unsigned int i = 0; i < ngiven; i++)
			way[k].which[i] = way_find(&way[k], given[i]);
	}
	for (unsigned int k = 0; ok && !chosen && k < WAYS; k++)
		if (knows_all(way, k, ngiven))
			chosen = &way[k];
	for (unsigned int i = 0; ok && i < ngiven; i++)
		which[i] = chosen ? chosen->which[i] : alone(way, i);
	free(keys);
	free(found);
	return ok ? 0 : -ENOMEM;
}

int neff_called_names(const struct neff_called *tensor, unsigned int n, const char **name)
{
	int *which = calloc((size_t)n + 1, sizeof(*which));
	bool same = true;
	int rc;

	for (unsigned int i = 0; i < n; i++)
		name[i] = tensor[i].name;
	rc = which ? neff_called_match(tensor, n, NEFF_OF_MODEL, name, n, which) : -ENOMEM;
	for (unsigned int i = 0; !rc && i < n; i++)
		same = same && which[i] == (int)i;
	/* Only if all are the model's names of other tensors; then each has one. */
	for (unsigned int i = 0; !rc && !same && i < n; i++)
		if (tensor[i].source && *tensor[i].source)
			name[i] = tensor[i].source;
	free(which);
	return rc;
}
