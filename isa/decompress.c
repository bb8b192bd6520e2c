// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Compressed streams, the reading side. They come from programs: every length is checked before it
 * is used, and the work is bounded by 64 KiB of elements, whatever a stream says.
 */
#include "neuron/isa/compress.h"
#include "stream_kernels.h"

#include <stdbool.h>
#include <string.h>

#define TABLE (1u << NEURON_STREAM_BITS)
#define AT_ONCE 5 /* codes in the 57 bits that a load has at least */
_Static_assert(AT_ONCE *NEURON_STREAM_BITS <= 57, "codes of one load");

struct reader {
	const uint8_t *p;
	uint32_t left;
};

/* A reader of one of a coded plane's bit streams */
struct bits {
	const uint8_t *p;
	uint32_t size, at; /* bytes; bits that were read */
	uint8_t *out;
	uint32_t n; /* its symbols */
};

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t rotl(uint32_t v, unsigned int n)
{
	return v << n | v >> (32 - n);
}

#define P1 XXH_P1
#define P2 XXH_P2
#define P3 3266489917u
#define P4 668265263u
#define P5 374761393u

static const struct stream_kernels *kernels(void)
{
	unsigned int i = 0;

	while (!stream_kernels[i]->usable())
		i++;
	return stream_kernels[i];
}

uint32_t neuron_xxh32(const void *in, uint32_t len, uint32_t seed)
{
	const uint8_t *p = in;
	uint32_t acc[4] = { seed + P1 + P2, seed + P2, seed, seed - P1 }, left = len;
	uint32_t h = seed + P5;

	if (len >= 16) {
		for (; left >= 16; left -= 16, p += 16)
			for (unsigned int i = 0; i < 4; i++)
				acc[i] = rotl(acc[i] + get32(p + 4 * i) * P2, 13) * P1;
		h = rotl(acc[0], 1) + rotl(acc[1], 7) + rotl(acc[2], 12) + rotl(acc[3], 18);
	}
	h += len;
	for (; left >= 4; left -= 4, p += 4)
		h = rotl(h + get32(p) * P3, 17) * P4;
	for (; left; left--, p++)
		h = rotl(h + *p * P5, 11) * P1;
	h = (h ^ h >> 15) * P2;
	h = (h ^ h >> 13) * P3;
	return h ^ h >> 16;
}

uint32_t neuron_stream_check(const void *behind, uint32_t len, uint32_t raw)
{
	const uint32_t stripes = len / 64;
	uint32_t sum[16] = { 0 };
	uint8_t bytes[64];

	kernels()->sums(behind, stripes, sum);
	for (unsigned int i = 0; i < 64; i++)
		bytes[i] = (uint8_t)(sum[i / 4] >> i % 4 * 8);
	return neuron_xxh32((const uint8_t *)behind + stripes * 64, len % 64,
			    neuron_xxh32(bytes, 64, raw));
}

/* The next n bytes, or NULL */
static const uint8_t *take(struct reader *r, uint32_t n)
{
	const uint8_t *p = r->p;

	if (n > r->left)
		return NULL;
	r->p += n;
	r->left -= n;
	return p;
}

/* 0: the code has no such symbol */
static unsigned int length_of(const uint8_t *lengths, unsigned int symbol)
{
	return lengths[symbol / 2] >> (symbol % 2 ? 4 : 0) & 15;
}

/* No length beyond the longest, none where no symbol is, and a code that leaves nothing open */
static bool code_valid(const uint8_t *lengths, unsigned int first, unsigned int symbols)
{
	unsigned int used = 0;

	if (first + symbols > 256 || (symbols % 2 && lengths[symbols / 2] >> 4))
		return false;
	for (unsigned int i = 0; i < symbols; i++) {
		const unsigned int len = length_of(lengths, i);

		if (len > NEURON_STREAM_BITS)
			return false;
		used += len ? TABLE >> len : 0;
	}
	return used == TABLE;
}

/* Of a code that is valid, which writes every entry once */
static void make_table(const uint8_t *lengths, unsigned int first, unsigned int symbols,
		       uint16_t *table)
{
	unsigned int next = 0;

	for (unsigned int len = 1; len <= NEURON_STREAM_BITS; len++, next <<= 1) {
		for (unsigned int i = 0; i < symbols; i++) {
			unsigned int code = 0;

			if (length_of(lengths, i) != len)
				continue;
			for (unsigned int b = 0; b < len; b++)
				code |= (next >> b & 1) << (len - 1 - b);
			for (; code < TABLE; code += 1u << len)
				table[code] = (uint16_t)((first + i) << 8 | len);
			next++;
		}
	}
}

static inline uint64_t load(const struct bits *b)
{
	uint64_t v;

	memcpy(&v, b->p + b->at / 8, 8);
	return v >> b->at % 8;
}

/* load() where less than eight bytes are left: zeros follow */
static uint64_t load_end(const struct bits *b)
{
	uint32_t from = b->at / 8, have = from < b->size ? b->size - from : 0;
	uint64_t v = 0;

	memcpy(&v, b->p + from, have < 8 ? have : 8);
	return v >> b->at % 8;
}

/* Entries: length, symbol << 8 */
static inline uint32_t decode(uint8_t *out, const uint16_t *table, uint64_t *v)
{
	uint32_t e = table[*v & (TABLE - 1)];

	*out = (uint8_t)(e >> 8);
	*v >>= e & 63;
	return e;
}

/* The number of loads of AT_ONCE codes that a stream certainly has from symbol i on */
static uint32_t loads(const struct bits *b, uint32_t i)
{
	uint32_t byte = b->at / 8 + 8, n = (b->n - i) / AT_ONCE;
	uint32_t most =
		byte > b->size ? 0 : (b->size - byte) * 8 / (AT_ONCE * NEURON_STREAM_BITS) + 1;

	return most < n ? most : n;
}

/*
 * So many loads of all four streams, which have as many symbols behind each other: none waits for
 * another one's table
 */
static void decode_loads(struct bits *b, const uint16_t *table, uint32_t i, uint32_t n)
{
	uint8_t *o0 = b[0].out + i, *o1 = b[1].out + i, *o2 = b[2].out + i, *o3 = b[3].out + i;
	uint32_t e0, e1, e2, e3;

	for (; n; n--) {
		uint64_t v0 = load(&b[0]), v1 = load(&b[1]), v2 = load(&b[2]), v3 = load(&b[3]);

		e0 = e1 = e2 = e3 = 0;
#pragma GCC unroll 5
		for (unsigned int k = 0; k < AT_ONCE; k++) {
			e0 += decode(o0 + k, table, &v0);
			e1 += decode(o1 + k, table, &v1);
			e2 += decode(o2 + k, table, &v2);
			e3 += decode(o3 + k, table, &v3);
		}
		b[0].at += e0 & 255;
		b[1].at += e1 & 255;
		b[2].at += e2 & 255;
		b[3].at += e3 & 255;
		o0 += AT_ONCE;
		o1 += AT_ONCE;
		o2 += AT_ONCE;
		o3 += AT_ONCE;
	}
}

/* Returns the symbols that each stream has decoded */
static uint32_t decode_most(struct bits *b, const uint16_t *table)
{
	uint32_t i = 0, n;

	do {
		n = loads(&b[0], i);
		for (unsigned int k = 1; k < NEURON_PLANE_STREAMS; k++)
			n = loads(&b[k], i) < n ? loads(&b[k], i) : n;
		decode_loads(b, table, i, n);
		i += n * AT_ONCE;
	} while (n);
	return i;
}

/* The rest of a stream, which ends with its last code's byte; false: it does not */
static bool decode_end(struct bits *b, const uint16_t *table, uint32_t i)
{
	for (; i < b->n && b->at <= 8 * b->size; i++) {
		uint64_t v = load_end(b);

		b->at += decode(b->out + i, table, &v) & 255;
	}
	if (i < b->n || (b->at + 7) / 8 != b->size)
		return false;
	return !(b->at % 8) || !(b->p[b->size - 1] >> b->at % 8);
}

static enum neuron_stream_error coded_plane(struct reader *r, uint8_t *out, uint32_t n,
					    uint16_t *table)
{
	const uint32_t each = (n + NEURON_PLANE_STREAMS - 1) / NEURON_PLANE_STREAMS;
	const uint8_t *head = take(r, 2), *lengths, *sizes;
	struct bits b[NEURON_PLANE_STREAMS];
	unsigned int symbols;
	uint32_t done;

	if (!head)
		return NEURON_STREAM_BAD_SIZE;
	symbols = head[1] + 1u;
	lengths = take(r, (symbols + 1) / 2);
	sizes = lengths ? take(r, 2 * NEURON_PLANE_STREAMS) : NULL;
	if (!sizes)
		return NEURON_STREAM_BAD_SIZE;
	if (!code_valid(lengths, head[0], symbols))
		return NEURON_STREAM_BAD_CODE;
	make_table(lengths, head[0], symbols, table);
	for (unsigned int i = 0; i < NEURON_PLANE_STREAMS; i++) {
		uint32_t from = i * each < n ? i * each : n;

		b[i] = (struct bits){
			.size = sizes[2 * i] | (uint32_t)sizes[2 * i + 1] << 8,
			.out = out + from,
			.n = n - from < each ? n - from : each,
		};
		b[i].p = take(r, b[i].size);
		if (!b[i].p)
			return NEURON_STREAM_BAD_SIZE;
	}
	done = decode_most(b, table);
	for (unsigned int i = 0; i < NEURON_PLANE_STREAMS; i++)
		if (!decode_end(&b[i], table, done))
			return NEURON_STREAM_BAD_BITS;
	return NEURON_STREAM_OK;
}

/* A plane's bytes are where *plane says then: in the stream, or in out */
static enum neuron_stream_error read_plane(struct reader *r, uint8_t *out, uint32_t n,
					   uint16_t *table, const uint8_t **plane)
{
	const uint8_t *kind = take(r, 1), *p;

	*plane = out;
	if (!kind)
		return NEURON_STREAM_BAD_SIZE;
	switch (*kind) {
	case NEURON_PLANE_PLAIN:
		p = take(r, n);
		*plane = p;
		break;
	case NEURON_PLANE_CONSTANT:
		p = take(r, 1);
		if (p)
			memset(out, *p, n);
		break;
	case NEURON_PLANE_CODED:
		return coded_plane(r, out, n, table);
	default:
		return NEURON_STREAM_BAD_PLANE;
	}
	return p ? NEURON_STREAM_OK : NEURON_STREAM_BAD_SIZE;
}

static void fill(const uint8_t *element, unsigned int width, uint32_t raw, uint8_t *out)
{
	if (!memcmp(element, element + 1, width - 1)) {
		memset(out, *element, raw);
		return;
	}
	memcpy(out, element, width);
	for (uint32_t done = width; done < raw; done *= 2)
		memcpy(out + done, out, raw - done < done ? raw - done : done);
}

static enum neuron_stream_error read_table(struct reader *r, uint32_t n, unsigned int width,
					   uint8_t *out)
{
	uint8_t all[4 * NEURON_STREAM_TABLE_MAX] = { 0 };
	const uint8_t *head = take(r, 2), *table, *in;
	uint32_t size, bits;

	if (!head)
		return NEURON_STREAM_BAD_SIZE;
	bits = head[1];
	if (bits > 4 || bits == 3)
		return NEURON_STREAM_BAD_CODE;
	size = (n * bits + 7) / 8;
	table = take(r, width << bits);
	in = table ? take(r, size) : NULL;
	if (!in || r->left)
		return NEURON_STREAM_BAD_SIZE;
	if (n * bits % 8 && in[size - 1] >> n * bits % 8)
		return NEURON_STREAM_BAD_BITS;
	memcpy(all, table, width << bits);
	if (bits)
		kernels()->pick(in, n, bits, all, width, out);
	else
		fill(all, width, n * width, out);
	return NEURON_STREAM_OK;
}

static enum neuron_stream_error read_planes(struct reader *r, uint32_t n, unsigned int width,
					    uint8_t *out, struct neuron_stream_work *work)
{
	enum neuron_stream_error e = NEURON_STREAM_OK;
	const uint8_t *plane[4];

	for (unsigned int p = 0; p < width && !e; p++)
		e = read_plane(r, width == 1 ? out : work->plane + p * n, n, work->code, &plane[p]);
	if (e)
		return e;
	if (r->left)
		return NEURON_STREAM_BAD_SIZE;
	if (width > 1)
		kernels()->join(plane, n, width, out);
	else if (plane[0] != out)
		memcpy(out, plane[0], n);
	return NEURON_STREAM_OK;
}

enum neuron_stream_error neuron_stream_head(const void *in, size_t have, unsigned int width,
					    uint32_t *raw, uint32_t *size)
{
	const uint8_t *head = in;

	if (have < NEURON_STREAM_HEADER)
		return NEURON_STREAM_BAD_SIZE;
	*raw = get32(head + NEURON_STREAM_AT_RAW);
	*size = get32(head + NEURON_STREAM_AT_SIZE);
	if (get32(head + NEURON_STREAM_AT_MAGIC) != NEURON_STREAM_MAGIC ||
	    !head[NEURON_STREAM_AT_VERSION] ||
	    head[NEURON_STREAM_AT_VERSION] > NEURON_STREAM_VERSION || head[NEURON_STREAM_AT_ZERO] ||
	    head[NEURON_STREAM_AT_ZERO + 1])
		return NEURON_STREAM_BAD_HEADER;
	if (head[NEURON_STREAM_AT_WIDTH] != width)
		return NEURON_STREAM_BAD_WIDTH;
	if (!*raw || *raw > NEURON_STREAM_RAW_MAX || *raw % width)
		return NEURON_STREAM_BAD_RAW;
	if (*size < NEURON_STREAM_HEADER || *size > have)
		return NEURON_STREAM_BAD_SIZE;
	return NEURON_STREAM_OK;
}

enum neuron_stream_error neuron_decompress(const void *in, size_t have, unsigned int width,
					   void *out, struct neuron_stream_work *work)
{
	const uint8_t *head = in;
	uint32_t raw = 0, size = 0, n, check;
	enum neuron_stream_error e = neuron_stream_head(in, have, width, &raw, &size);
	struct reader r = { head + NEURON_STREAM_HEADER, size - NEURON_STREAM_HEADER };
	bool first;

	if (e)
		return e;
	n = raw / width;
	first = head[NEURON_STREAM_AT_VERSION] == NEURON_STREAM_VERSION_1;
	if (!first && r.left && *r.p == NEURON_STREAM_TABLE)
		e = read_table(&r, n, width, out);
	else
		e = read_planes(&r, n, width, out, work);
	if (e)
		return e;
	check = first ? neuron_xxh32(out, raw, 0)
		      : neuron_stream_check(head + NEURON_STREAM_HEADER,
					    size - NEURON_STREAM_HEADER, raw);
	return check == get32(head + NEURON_STREAM_AT_CHECK) ? NEURON_STREAM_OK
							     : NEURON_STREAM_BAD_CHECK;
}
