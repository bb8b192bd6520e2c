// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Compressed streams, the writing side: elements turn left by a bit, which puts the exponent of a
 * float into its highest byte and the sign behind the mantissa; the bytes of each place become a
 * plane; a plane is plain, one byte throughout, or in a code of its own lengths. Exponents of
 * weights need some three bits of their eight, mantissas all of theirs, and bytes hardly repeat in
 * rows: so there are codes and no matches. A few different elements (masks, tables) are indices,
 * which are decompressed as fast as bytes are copied.
 */
#include "neuron/isa/compress.h"

#include <string.h>

#define SYMBOLS 256

/* Sorted by count, then by symbol, least first */
struct leaf {
	uint32_t count;
	uint8_t symbol;
};

struct code {
	uint8_t length[SYMBOLS]; /* 0: the plane has no such byte */
	uint16_t bits[SYMBOLS]; /* first bit lowest */
	unsigned int first, last; /* symbols that the plane has */
};

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static unsigned int sort(const uint32_t *count, struct leaf *leaf)
{
	unsigned int n = 0;

	for (unsigned int s = 0; s < SYMBOLS; s++) {
		unsigned int at = n;

		if (!count[s])
			continue;
		for (n++; at && leaf[at - 1].count > count[s]; at--)
			leaf[at] = leaf[at - 1];
		leaf[at] = (struct leaf){ count[s], (uint8_t)s };
	}
	return n;
}

/*
 * The best lengths of at most NEURON_STREAM_BITS, by package-merge (Larmore and Hirschberg, 1990):
 * each level is the leaves merged with the pairs of the level below; of the highest one the first
 * 2 n - 2 items count, and each leaf among them, and within their packages, is a bit of its symbol
 */
static void choose_lengths(const struct leaf *leaf, unsigned int n, uint8_t *length)
{
	uint32_t pair[SYMBOLS], weight[2 * SYMBOLS];
	uint8_t is_leaf[NEURON_STREAM_BITS][2 * SYMBOLS];
	unsigned int pairs = 0, take = 2 * n - 2;

	for (unsigned int level = 0; level < NEURON_STREAM_BITS; level++) {
		unsigned int l = 0, p = 0;

		for (unsigned int i = 0; i < n + pairs; i++) {
			bool from_leaf = p == pairs || (l < n && leaf[l].count <= pair[p]);

			is_leaf[level][i] = from_leaf;
			weight[i] = from_leaf ? leaf[l++].count : pair[p++];
		}
		pairs = (n + pairs) / 2;
		for (unsigned int i = 0; i < pairs; i++)
			pair[i] = weight[2 * i] + weight[2 * i + 1];
	}
	for (unsigned int level = NEURON_STREAM_BITS; level--;) {
		unsigned int leaves = 0;

		for (unsigned int i = 0; i < take; i++)
			if (is_leaf[level][i])
				length[leaf[leaves++].symbol]++;
		take = 2 * (take - leaves);
	}
}

/* Codes of equal lengths follow each other by symbol; their first bit is the lowest */
static void number(struct code *c)
{
	unsigned int next = 0;

	for (unsigned int len = 1; len <= NEURON_STREAM_BITS; len++, next <<= 1) {
		for (unsigned int s = 0; s < SYMBOLS; s++) {
			if (c->length[s] != len)
				continue;
			for (unsigned int b = 0; b < len; b++)
				c->bits[s] |= (uint16_t)((next >> b & 1) << (len - 1 - b));
			next++;
		}
	}
}

/* A stream's codes, one behind the other; returns its bytes */
static uint32_t put_bits(const struct code *c, const uint8_t *in, uint32_t n, uint8_t *out)
{
	uint64_t bits = 0;
	unsigned int have = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		bits |= (uint64_t)c->bits[in[i]] << have;
		have += c->length[in[i]];
		for (; have >= 8; have -= 8, bits >>= 8)
			out[at++] = (uint8_t)bits;
	}
	if (have)
		out[at++] = (uint8_t)bits;
	return at;
}

/* Bytes of a coded plane, but for what its four streams are filled up with */
static uint32_t coded_size(const struct code *c, const uint32_t *count)
{
	uint64_t bits = 0;

	for (unsigned int s = c->first; s <= c->last; s++)
		bits += (uint64_t)count[s] * c->length[s];
	return (uint32_t)((bits + 7) / 8) + 3 + (c->last - c->first + 2) / 2 +
	       2 * NEURON_PLANE_STREAMS;
}

static uint32_t put_coded(const struct code *c, const uint8_t *in, uint32_t n, uint8_t *out)
{
	const unsigned int symbols = c->last - c->first + 1;
	const uint32_t each = (n + NEURON_PLANE_STREAMS - 1) / NEURON_PLANE_STREAMS;
	uint8_t *sizes = out + 3 + (symbols + 1) / 2;
	uint8_t *p = sizes + 2 * NEURON_PLANE_STREAMS;

	out[0] = NEURON_PLANE_CODED;
	out[1] = (uint8_t)c->first;
	out[2] = (uint8_t)(symbols - 1);
	memset(out + 3, 0, (symbols + 1) / 2);
	for (unsigned int i = 0; i < symbols; i++)
		out[3 + i / 2] |= (uint8_t)(c->length[c->first + i] << (i % 2 ? 4 : 0));
	for (unsigned int i = 0; i < NEURON_PLANE_STREAMS; i++) {
		uint32_t from = i * each < n ? i * each : n;
		uint32_t size = put_bits(c, in + from, n - from < each ? n - from : each, p);

		sizes[2 * i] = (uint8_t)size;
		sizes[2 * i + 1] = (uint8_t)(size >> 8);
		p += size;
	}
	return (uint32_t)(p - out);
}

static uint32_t put_plain(const uint8_t *in, uint32_t n, uint8_t *out)
{
	out[0] = NEURON_PLANE_PLAIN;
	memcpy(out + 1, in, n);
	return n + 1;
}

static uint32_t put_plane(const uint8_t *in, uint32_t n, bool codes, uint8_t *out)
{
	uint32_t count[SYMBOLS] = { 0 };
	struct leaf leaf[SYMBOLS];
	struct code c = { .length = { 0 } };
	unsigned int symbols;

	for (uint32_t i = 0; i < n; i++)
		count[in[i]]++;
	symbols = sort(count, leaf);
	if (symbols == 1) {
		out[0] = NEURON_PLANE_CONSTANT;
		out[1] = in[0];
		return 2;
	}
	if (!codes)
		return put_plain(in, n, out);
	while (!count[c.first])
		c.first++;
	for (c.last = SYMBOLS - 1; !count[c.last];)
		c.last--;
	choose_lengths(leaf, symbols, c.length);
	if (coded_size(&c, count) + NEURON_PLANE_STREAMS > n)
		return put_plain(in, n, out);
	number(&c);
	return put_coded(&c, in, n, out);
}

static void split(const uint8_t *in, uint32_t n, unsigned int width, uint8_t *plane)
{
	uint16_t v2;
	uint32_t v4;

	switch (width) {
	case 1:
		memcpy(plane, in, n);
		break;
	case 2:
		for (uint32_t i = 0; i < n; i++) {
			memcpy(&v2, in + 2 * (size_t)i, 2);
			plane[i] = (uint8_t)(v2 << 1 | v2 >> 15);
			plane[n + i] = (uint8_t)(v2 >> 7);
		}
		break;
	default:
		for (uint32_t i = 0; i < n; i++) {
			memcpy(&v4, in + 4 * (size_t)i, 4);
			v4 = v4 << 1 | v4 >> 31;
			for (unsigned int p = 0; p < 4; p++)
				plane[p * n + i] = (uint8_t)(v4 >> 8 * p);
		}
	}
}

/* The number of element i in the table, of which there are *have; -1: it has no room */
static int find(const uint8_t *element, unsigned int width, uint8_t *table, unsigned int *have)
{
	for (unsigned int k = 0; k < *have; k++)
		if (!memcmp(table + k * width, element, width))
			return (int)k;
	if (*have == NEURON_STREAM_TABLE_MAX)
		return -1;
	memcpy(table + *have * width, element, width);
	return (int)(*have)++;
}

/*
 * In the order in which elements come first; what the table has left is 0. 0: there are too many,
 * or they take no less so
 */
static uint32_t put_table(const uint8_t *in, uint32_t n, unsigned int width, uint8_t *number,
			  uint8_t *out)
{
	uint8_t table[4 * NEURON_STREAM_TABLE_MAX] = { 0 }, *p;
	unsigned int have = 0, bits;
	uint32_t size;

	for (uint32_t i = 0; i < n; i++) {
		int k = i && !memcmp(in + i * width, in + (i - 1) * width, width)
				? number[i - 1]
				: find(in + i * width, width, table, &have);

		if (k < 0)
			return 0;
		number[i] = (uint8_t)k;
	}
	bits = have > 4 ? 4 : have > 2 ? 2 : have - 1;
	size = 2 + (width << bits) + (n * bits + 7) / 8;
	if (size > n * width)
		return 0;
	out[0] = NEURON_STREAM_TABLE;
	out[1] = (uint8_t)bits;
	memcpy(out + 2, table, width << bits);
	p = out + 2 + (width << bits);
	memset(p, 0, (n * bits + 7) / 8);
	for (uint32_t i = 0; bits && i < n; i++)
		p[i * bits / 8] |= (uint8_t)(number[i] << i * bits % 8);
	return size;
}

static uint32_t put_planes(const uint8_t *in, uint32_t n, unsigned int width, bool codes,
			   uint8_t *out, struct neuron_stream_work *work)
{
	uint32_t size = 0;

	split(in, n, width, work->plane);
	for (unsigned int p = 0; p < width; p++)
		size += put_plane(work->plane + p * n, n, codes, out + size);
	return size;
}

/* A table is taken if it is an eighth of the elements or as small as planes, or for want of codes */
static uint32_t put(const uint8_t *in, uint32_t n, unsigned int width, bool codes, uint8_t *out,
		    struct neuron_stream_work *work)
{
	uint32_t size, table = put_table(in, n, width, work->plane, out);

	if (table && (!codes || table < n * width / 8))
		return table;
	size = put_planes(in, n, width, codes, out, work);
	return table && table <= size ? put_table(in, n, width, work->plane, out) : size;
}

uint32_t neuron_compress(const void *in, uint32_t raw, unsigned int width, bool codes, void *out,
			 struct neuron_stream_work *work)
{
	const uint32_t n = raw / width;
	uint32_t size = NEURON_STREAM_HEADER;
	uint8_t *head = out;

	size += put(in, n, width, codes, head + size, work);
	memset(head, 0, NEURON_STREAM_HEADER);
	put32(head + NEURON_STREAM_AT_MAGIC, NEURON_STREAM_MAGIC);
	head[NEURON_STREAM_AT_VERSION] = NEURON_STREAM_VERSION;
	head[NEURON_STREAM_AT_WIDTH] = (uint8_t)width;
	put32(head + NEURON_STREAM_AT_RAW, raw);
	put32(head + NEURON_STREAM_AT_SIZE, size);
	put32(head + NEURON_STREAM_AT_CHECK,
	      neuron_stream_check(head + NEURON_STREAM_HEADER, size - NEURON_STREAM_HEADER, raw));
	return size;
}
