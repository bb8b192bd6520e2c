// SPDX-License-Identifier: MIT
/*
 * Compressed streams (docs/hardware.md). An input is a stream as it is, or elements, which come
 * back from their stream, and then some of its bytes changed. Every block ends where its bytes do,
 * so that the sanitizer sees what is read or written behind it.
 */
#include "fuzz.h"
#include "neuron/isa/compress.h"

static struct neuron_stream_work work;

static enum neuron_stream_error read_back(const uint8_t *stream, size_t have, unsigned int width,
					  uint8_t **out)
{
	uint8_t *copy = malloc(have + !have);
	enum neuron_stream_error e;
	uint32_t raw, size;

	fuzz_assert(copy);
	if (have)
		memcpy(copy, stream, have);
	*out = NULL;
	e = neuron_stream_head(copy, have, width, &raw, &size);
	if (!e) {
		*out = malloc(raw);
		fuzz_assert(*out);
		e = neuron_decompress(copy, have, width, *out, &work);
	}
	free(copy);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	uint8_t head = fuzz_u8(&in), changes = head >> 3, *out, *stream;
	unsigned int width = 1u << head % 4 % 3;
	const uint8_t *p;
	uint32_t raw, n;
	size_t have;

	if (head & 4) {
		p = fuzz_bytes(&in, 2 * NEURON_STREAM_RAW_MAX, &have);
		read_back(p, have, width, &out);
		free(out);
		return 0;
	}
	p = fuzz_bytes(&in, NEURON_STREAM_RAW_MAX, &have);
	raw = (uint32_t)(have - have % width);
	if (!raw)
		return 0;
	stream = malloc(raw + NEURON_STREAM_OVERHEAD);
	fuzz_assert(stream);
	n = neuron_compress(p, raw, width, true, stream, &work);
	fuzz_assert(n <= raw + NEURON_STREAM_OVERHEAD);
	fuzz_assert(read_back(stream, n, width, &out) == NEURON_STREAM_OK);
	fuzz_assert(!memcmp(out, p, raw));
	free(out);
	/* where, and to what, the elements themselves say */
	for (uint32_t i = 0; i < changes; i++)
		stream[(p[i % raw] << 8 | p[(i + 1) % raw]) % n] = p[(i + 2) % raw];
	read_back(stream, n, width, &out);
	free(out);
	free(stream);
	return 0;
}
