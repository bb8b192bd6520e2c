/* SPDX-License-Identifier: MIT */
/* See sizes.h. */
#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

/* Is this what the NEFF says of a size? Then also of which tensor's, by name, and of which
 * dimension */
static bool is_size(const char *source, char name[64], unsigned int *d)
{
	int end = 0;

	return source && sscanf(source, "size of %63[^,], dimension %u%n", name, d, &end) == 2 &&
	       end && !source[end];
}

/* The output and dimension that this one has the size of; -1: none */
static int sized_by(const struct sized_output *out, unsigned int n, const char *source,
		    unsigned int *d)
{
	char name[64];

	if (!is_size(source, name, d))
		return -1;
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(out[i].name, name))
			return (int)i;
	return -1;
}

static bool is_number(const struct npy *npy)
{
	return npy->size == sizeof(int32_t) && npy->dtype == NEURON_DT_INT32;
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

		if (!npy || d >= npy->ndim || !is_number(out[i].npy))
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

/* The input that this one has the size of, in dimension *d; NULL: none */
static struct sized_input *sized_input(struct sized_input *in, unsigned int n,
				       const struct sized_input *number, unsigned int *d)
{
	char name[64];

	if (!is_number(&number->bound) || !is_size(number->source, name, d))
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(in[i].name, name))
			return *d < in[i].bound.ndim && rows_model_ok(&in[i].bound) ? &in[i] : NULL;
	return NULL;
}

/* Is what is given the input, or shorter where it may be? */
static bool fits(const struct sized_input *in)
{
	const struct npy *npy = in->npy, *bound = &in->bound;

	if (!npy->data || npy->dtype != bound->dtype || npy->ndim != bound->ndim)
		return false;
	for (unsigned int d = 0; d < npy->ndim; d++)
		if (npy->shape[d] > bound->shape[d] ||
		    (npy->shape[d] < bound->shape[d] && !(in->sized >> d & 1)))
			return false;
	return true;
}

static bool pad(struct npy *npy, const struct npy *bound)
{
	size_t item = npy_itemsize(npy->dtype), row = item * npy->shape[npy->ndim - 1];
	char *data = malloc(bound->size ? bound->size : 1);
	uint64_t at[NPY_MAX_DIMS] = { 0 }, one = npy_one(npy->dtype);

	if (!data)
		return false;
	for (size_t to = 0; to < bound->size; to += item)
		memcpy(data + to, &one, item);
	for (size_t from = 0; from < npy->size; from += row) {
		size_t to = 0;

		for (unsigned int d = 0; d < npy->ndim; d++)
			to = to * bound->shape[d] + at[d];
		memcpy(data + to * item, (char *)npy->data + from, row);
		for (unsigned int d = npy->ndim - 1; d-- && ++at[d] == npy->shape[d];)
			at[d] = 0;
	}
	npy_free(npy);
	*npy = *bound;
	npy->data = data;
	return true;
}

/* Gives the number of elements of dimension d that are there, unless the user does. */
static bool fill(const char *tool, const struct sized_input *number, const struct sized_input *of,
		 unsigned int d)
{
	bool given = number->npy->data, here = fits(of);
	uint64_t bound = of->bound.shape[d], size = here ? of->npy->shape[d] : bound;
	int32_t value = (int32_t)size;

	if (size < bound)
		fprintf(stderr, "%s: input '%s': %llu of %llu of dimension %u are there (%s%s)\n",
			tool, of->source && *of->source ? of->source : of->name,
			(unsigned long long)size, (unsigned long long)bound, d, number->name,
			given ? " as given" : "");
	if (given)
		return true;
	*number->npy = number->bound;
	number->npy->data = malloc(sizeof(value));
	if (!number->npy->data)
		return false;
	memcpy(number->npy->data, &value, sizeof(value));
	return true;
}

bool sizes_pad(const char *tool, struct sized_input *in, unsigned int n)
{
	struct sized_input *of;
	bool ok = true;
	unsigned int d;

	for (unsigned int i = 0; i < n; i++) {
		of = sized_input(in, n, &in[i], &d);
		if (of)
			of->sized |= 1u << d;
	}
	for (unsigned int i = 0; ok && i < n; i++) {
		of = sized_input(in, n, &in[i], &d);
		ok = !of || fill(tool, &in[i], of, d);
	}
	for (unsigned int i = 0; ok && i < n; i++)
		if (in[i].sized && fits(&in[i]) && in[i].npy->size < in[i].bound.size)
			ok = pad(in[i].npy, &in[i].bound);
	return ok;
}
