// SPDX-License-Identifier: MIT
/* Places of arrays on the devices of a program, as XLA's OpSharding says it in protobuf's bytes */
#include <stdlib.h>

#include "executable.h"

enum { REPLICATED, OTHER = 3 }; /* OpSharding.Type */
enum { UNREDUCED = 6 };
enum { TYPE = 1, TILES = 3, DEVICES = 4, REPLICATE_ON_LAST = 6, LAST_TILES = 8 }; /* its fields */

struct bytes {
	char *data;
	size_t n;
};

static void put(struct bytes *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		b->data[b->n++] = (char)(v | 0x80);
	b->data[b->n++] = (char)v;
}

static void put_flag(struct bytes *b, unsigned int field, uint64_t v)
{
	put(b, field << 3);
	put(b, v);
}

/* A list of numbers below 2^14, which take two bytes at most */
static void put_list(struct bytes *b, unsigned int field, const uint64_t *v, size_t n)
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += v[i] > 0x7f ? 2 : 1;
	put(b, field << 3 | 2);
	put(b, size);
	for (size_t i = 0; i < n; i++)
		put(b, v[i]);
}

static uint64_t tile_of(const struct ncc_tiling *t, unsigned int p)
{
	uint64_t n = 0;

	for (unsigned int d = 0; d < t->ndim; d++)
		n = n * (uint64_t)t->tiles[d] + t->at[p * NCC_MAX_DIMS + d];
	return n * (uint64_t)t->terms + t->term[p];
}

char *npj_sharding(const struct ncc_tiling *t, unsigned int partitions, size_t *size)
{
	static const uint64_t last[] = { UNREDUCED, REPLICATED };
	uint64_t tiles[NCC_MAX_DIMS + 2], *device, all = 1, n = 0;
	unsigned int dims;
	/* a type, three lists with their heads, a flag */
	struct bytes b = { .data = malloc(2 + 3 * 12 + 2 * (NCC_MAX_DIMS + 4 + partitions) + 2) };

	if (b.data && !t)
		put_flag(&b, TYPE, REPLICATED);
	*size = b.n;
	if (!b.data || !t)
		return b.data;
	device = calloc(partitions, sizeof(*device));
	if (!device) {
		free(b.data);
		return NULL;
	}
	for (unsigned int d = 0; d < t->ndim; d++) {
		tiles[d] = (uint64_t)t->tiles[d];
		all *= tiles[d];
	}
	dims = t->ndim;
	if (t->terms > 1)
		all *= tiles[dims++] = (uint64_t)t->terms;
	tiles[dims] = partitions / all;
	for (uint64_t i = 0; i < all; i++)
		for (unsigned int p = 0; p < partitions; p++)
			if (tile_of(t, p) == i)
				device[n++] = p;
	put_flag(&b, TYPE, OTHER);
	put_list(&b, TILES, tiles, dims + (tiles[dims] > 1));
	put_list(&b, DEVICES, device, n);
	if (t->terms > 1)
		put_list(&b, LAST_TILES, last, 1 + (tiles[dims] > 1));
	else if (tiles[dims] > 1)
		put_flag(&b, REPLICATE_ON_LAST, 1);
	free(device);
	*size = b.n;
	return b.data;
}
