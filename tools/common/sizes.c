/* SPDX-License-Identifier: MIT */
/* See sizes.h. */
#include "sizes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Which output and dimension this one has the size of; -1: none */
static int sized_by(const struct sized_output *out, unsigned int n, const char *source,
		    unsigned int *d)
{
	char name[64];
	int end = 0;

	if (!source || sscanf(source, "size of %63[^,], dimension %u%n", name, d, &end) != 2 ||
	    !end || source[end])
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(out[i].name, name))
			return (int)i;
	return -1;
}

/* Keeps the first `size` of dimension d. */
static void cut(struct npy *npy, unsigned int d, uint64_t size)
{
	size_t outer = 1, row = npy_itemsize(npy->dtype);
	char *data = npy->data;

	for (unsigned int i = 0; i < d; i++)
		outer *= npy->shape[i];
	for (unsigned int i = d + 1; i < npy->ndim; i++)
		row *= npy->shape[i];
	for (size_t i = 0; i < outer; i++)
		memmove(data + i * size * row, data + i * npy->shape[d] * row, size * row);
	npy->shape[d] = size;
	npy->size = outer * size * row;
}

void sizes_cut(const char *tool, const struct sized_output *out, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		unsigned int d = 0;
		int of = sized_by(out, n, out[i].source, &d);
		struct npy *npy = of < 0 ? NULL : out[of].npy;
		int32_t size;

		if (!npy || d >= npy->ndim || out[i].npy->size != sizeof(size) ||
		    out[i].npy->dtype != NEURON_DT_INT32)
			continue;
		memcpy(&size, out[i].npy->data, sizeof(size));
		if (size < 0 || (uint64_t)size > npy->shape[d])
			continue;
		fprintf(stderr, "%s: output '%s': %d of %llu of dimension %u are there (%s)\n",
			tool, out[of].name, size, (unsigned long long)npy->shape[d], d,
			out[i].name);
		cut(npy, d, (uint64_t)size);
	}
}
