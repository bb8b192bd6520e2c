/* SPDX-License-Identifier: MIT */
/*
 * A gzip stream of which parts are stored: weights hardly shrink, and unpacking them would take
 * most of a load. Members that shrink by less than a quarter are stored, and the others packed with
 * the fastest level. The bytes depend only on what is written.
 */
#include "neff_gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 1
#define STORE_LEAST 65536 /* smaller members are packed whatever they are */
#define SAMPLES 4 /* of a member that may be stored */
#define SAMPLE 16384
#define WINDOW_GZIP (15 + 16)

struct neff_gzip {
	struct neff_bytes *to;
	z_stream z;
	int level;
	bool store;
};

int neff_bytes_reserve(struct neff_bytes *b, size_t n)
{
	size_t capacity = b->capacity * 2;
	uint8_t *p;

	if (n <= b->capacity - b->size)
		return 0;
	if (capacity < b->size + n)
		capacity = b->size + n;
	p = realloc(b->data, capacity);
	if (!p)
		return -ENOMEM;
	b->data = p;
	b->capacity = capacity;
	return 0;
}

struct neff_gzip *neff_gzip_new(struct neff_bytes *to, bool store)
{
	struct neff_gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->to = to;
	g->level = LEVEL;
	g->store = store;
	/* zlib's own header: no name, no time, a system that is always the same */
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

void neff_gzip_free(struct neff_gzip *g)
{
	deflateEnd(&g->z);
	free(g);
}

/* Runs zlib until it has taken its input, and with Z_FINISH until the end. */
static int run(struct neff_gzip *g, int flush)
{
	struct neff_bytes *to = g->to;
	int ret;

	do {
		size_t capacity;

		if (neff_bytes_reserve(to, 1 << 16))
			return -ENOMEM;
		capacity = to->capacity - to->size;
		g->z.next_out = to->data + to->size;
		g->z.avail_out = capacity < 1u << 30 ? (uInt)capacity : 1u << 30;
		ret = deflate(&g->z, flush);
		to->size = (size_t)(g->z.next_out - to->data);
	} while (ret == Z_OK && (!g->z.avail_out || g->z.avail_in || flush == Z_FINISH));
	return ret == Z_OK || ret == Z_STREAM_END || ret == Z_BUF_ERROR ? 0 : -ENOMEM;
}

int neff_gzip_write(struct neff_gzip *g, const void *data, size_t n)
{
	const uint8_t *p = data;
	int ret = 0;

	while (n && !ret) {
		uInt part = n < 1u << 30 ? (uInt)n : 1u << 30;

		g->z.next_in = (Bytef *)p;
		g->z.avail_in = part;
		ret = run(g, Z_NO_FLUSH);
		p += part;
		n -= part;
	}
	return ret;
}

int neff_gzip_finish(struct neff_gzip *g)
{
	g->z.avail_in = 0;
	return run(g, Z_FINISH);
}

/* Do samples of it shrink by less than a quarter? */
static bool hardly_shrinks(const uint8_t *data, size_t n)
{
	uint8_t packed[SAMPLE + 1024];
	size_t total = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		uLongf size = sizeof(packed);

		if (compress2(packed, &size, data + (n - SAMPLE) / (SAMPLES - 1) * i, SAMPLE,
			      LEVEL) != Z_OK)
			return false;
		total += size;
	}
	return total > SAMPLES * SAMPLE / 4 * 3;
}

int neff_gzip_member(struct neff_gzip *g, const void *data, size_t n)
{
	int level = g->store || (n >= STORE_LEAST && hardly_shrinks(data, n)) ? 0 : LEVEL;

	if (level == g->level)
		return 0;
	/* what was written before is packed as it was to be */
	g->z.avail_in = 0;
	if (run(g, Z_BLOCK) || neff_bytes_reserve(g->to, 1 << 16))
		return -ENOMEM;
	g->level = level;
	g->z.next_out = g->to->data + g->to->size;
	g->z.avail_out = 1 << 16;
	if (deflateParams(&g->z, level, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	g->to->size = (size_t)(g->z.next_out - g->to->data);
	return 0;
}
