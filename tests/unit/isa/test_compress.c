// SPDX-License-Identifier: MIT
/*
 * Compressed streams (docs/hardware.md, Compressed streams). The oracles: a reader that goes bit by
 * bit, as the document says it; streams written by hand, one of the first version; published values
 * of XXH32.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/isa/compress.h"
#include "stream_kernels.h"

#define CAPACITY (NEURON_STREAM_RAW_MAX + NEURON_STREAM_OVERHEAD)
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static struct neuron_stream_work work;
static uint8_t raw[NEURON_STREAM_RAW_MAX], stream[CAPACITY + 16], back[NEURON_STREAM_RAW_MAX];
static uint64_t seed;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33);
}

static double gauss(void)
{
	double u = (rnd() + 1.0) / 2147483649.0, v = rnd() / 2147483648.0;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void element(unsigned int width, uint32_t i, uint32_t bits)
{
	memcpy(raw + (size_t)i * width, &bits, width);
}

/*
 * Fills the elements with numbers like weights: normal ones, as fp32, its upper half, or of eight
 * bits
 */
static void weights(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		double g = gauss();
		float x = (float)(g * 0.02);
		uint32_t bits;

		memcpy(&bits, &x, 4);
		element(width, i,
			width == 4   ? bits
			: width == 2 ? bits >> 16
				     : (uint32_t)(int32_t)lrint(g * 20));
	}
}

/* Counts like Fibonacci's numbers: without a limit the longest code would have 20 bits and more */
static void skewed(unsigned int width, uint32_t n)
{
	uint32_t a = 1, b = 1, symbol = 0, left = 1;

	for (uint32_t i = 0; i < n; i++) {
		element(width, i, symbol << 23 | symbol << 7 | symbol);
		if (--left)
			continue;
		left = a + b;
		a = b;
		b = left;
		symbol++;
	}
}

static void zeros(unsigned int width, uint32_t n)
{
	memset(raw, 0, (size_t)n * width);
}

static void numbers(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, rnd() << 16 ^ rnd());
}

static void sparse(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, rnd() % 10 ? 0 : rnd() << 16 ^ rnd());
}

static void counted(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, i);
}

static void two(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, i % 3 ? 0xff800000 : 0x00ff80ff);
}

static void four(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, 0x3f80c040 + rnd() % 4);
}

static void sixteen(unsigned int width, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		element(width, i, (rnd() & 15) * 0x01030507);
}

static void (*const kinds[])(unsigned int width, uint32_t n) = { weights, skewed, zeros,
								 numbers, sparse, counted,
								 two,	  four,	  sixteen };

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const uint8_t *plain_symbols(const uint8_t *p, const uint8_t *lengths, unsigned int first,
				    unsigned int symbols, uint32_t size, uint8_t *out, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned int code = 0, start = 0, len = 0, found = 256;

		while (found == 256) {
			unsigned int index;

			ck_assert_uint_lt(at, size * 8);
			code = code << 1 | (p[at / 8] >> at % 8 & 1);
			at++;
			start <<= 1;
			len++;
			index = code - start;
			for (unsigned int s = 0; s < symbols; s++) {
				if ((lengths[s / 2] >> 4 * (s % 2) & 15) != len)
					continue;
				if (code >= start && !index--)
					found = s;
				start++;
			}
		}
		out[i] = (uint8_t)(first + found);
	}
	ck_assert_uint_eq((at + 7) / 8, size);
	return p + size;
}

/* The document's words, slowly */
static uint32_t plain_check(const uint8_t *p, uint32_t n, uint32_t bytes)
{
	uint8_t sums[64];
	uint32_t at = 0, sum[16] = { 0 };

	for (; at + 64 <= n; at += 64)
		for (int i = 0; i < 16; i++) {
			uint32_t v = sum[i] + get32(p + at + 4 * i) * 2246822519u;

			sum[i] = (v * 8192 + v / 524288) * 2654435761u;
		}
	for (int i = 0; i < 64; i++)
		sums[i] = (uint8_t)(sum[i / 4] >> 8 * (i % 4));
	return neuron_xxh32(p + at, n - at, neuron_xxh32(sums, 64, bytes));
}

static void plain_table(const uint8_t *p, unsigned int width, uint32_t n, uint32_t size)
{
	const unsigned int bits = p[1];
	const uint8_t *table = p + 2, *in = table + (width << bits);

	ck_assert(bits == 0 || bits == 1 || bits == 2 || bits == 4);
	ck_assert_uint_eq(size, 20 + 2 + (width << bits) + (n * bits + 7) / 8);
	for (uint32_t i = 0; i < n; i++) {
		unsigned int k = 0;

		for (unsigned int b = 0; b < bits; b++)
			k |= (in[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1u) << b;
		ck_assert_mem_eq(table + k * width, raw + (size_t)i * width, width);
	}
}

static void plain_read(const uint8_t *s, unsigned int width, uint32_t bytes)
{
	static uint8_t plane[4][NEURON_STREAM_RAW_MAX];
	const uint32_t n = bytes / width, each = (n + 3) / 4;
	const uint8_t *p = s + 20;

	ck_assert_mem_eq(s, "NCS1\2", 5);
	ck_assert_uint_eq(s[5], width);
	ck_assert_uint_eq(get32(s + 8), bytes);
	ck_assert_uint_eq(get32(s + 16), plain_check(p, get32(s + 12) - 20, bytes));
	if (*p == 3) {
		plain_table(p, width, n, get32(s + 12));
		return;
	}
	for (unsigned int k = 0; k < width; k++) {
		uint8_t kind = *p++;

		if (kind == 0) {
			memcpy(plane[k], p, n);
			p += n;
		} else if (kind == 1) {
			memset(plane[k], *p++, n);
		} else {
			const uint8_t *lengths = p + 2, *sizes;
			unsigned int symbols = p[1] + 1u, first = p[0];

			ck_assert_uint_eq(kind, 2);
			sizes = lengths + (symbols + 1) / 2;
			p = sizes + 8;
			for (uint32_t i = 0, done = 0; i < 4; i++) {
				uint32_t m = n - done < each ? n - done : each;

				p = plain_symbols(p, lengths, first, symbols,
						  sizes[2 * i] | sizes[2 * i + 1] << 8,
						  plane[k] + done, m);
				done += m;
			}
		}
	}
	ck_assert_uint_eq((uint32_t)(p - s), get32(s + 12));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = 0, one = (1ull << 8 * width) - 1;

		for (unsigned int k = 0; k < width; k++)
			v |= (uint64_t)plane[k][i] << 8 * k;
		if (width > 1)
			v = (v >> 1 | v << (8 * width - 1)) & one;
		ck_assert_mem_eq(&v, raw + (size_t)i * width, width);
	}
}

/* In a block of its own, behind which sanitizers see */
static enum neuron_stream_error read_back(const uint8_t *s, size_t have, unsigned int width)
{
	uint8_t *copy = malloc(have ? have : 1);
	enum neuron_stream_error e;

	memcpy(copy, s, have);
	memset(back, 0xa5, sizeof(back));
	e = neuron_decompress(copy, have, width, back, &work);
	free(copy);
	return e;
}

static const uint32_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000, 4093, 16384 };

START_TEST(round_trip)
{
	unsigned int width = 1u << _i % 3;
	uint32_t n = lengths[_i / 3], size;

	for (int k = 0; k < 2 * COUNT(kinds); k++) {
		uint32_t most = n == 16384 ? NEURON_STREAM_RAW_MAX / width : n;

		seed = (uint64_t)_i * 64 + (uint64_t)k;
		kinds[k / 2](width, most);
		memset(stream, 0x5a, sizeof(stream));
		size = neuron_compress(raw, most * width, width, k % 2, stream, &work);
		ck_assert_uint_le(size, most * width + NEURON_STREAM_HEADER + width);
		ck_assert_uint_eq(stream[most * width + NEURON_STREAM_OVERHEAD], 0x5a);
		ck_assert_int_eq(read_back(stream, size, width), NEURON_STREAM_OK);
		ck_assert_mem_eq(back, raw, most * width);
		ck_assert(most * width == sizeof(back) || back[most * width] == 0xa5);
		plain_read(stream, width, most * width);
		/* bytes behind the stream change nothing */
		ck_assert_int_eq(read_back(stream, size + 16, width), NEURON_STREAM_OK);
	}
}
END_TEST

/* The entropy of what is split is known: no code needs half a percent more than its own optimum */
START_TEST(ratios)
{
	static const struct {
		int kind;
		unsigned int width;
		double from, to;
	} want[] = {
		{ 0, 4, 0.82, 0.84 }, { 0, 2, 0.65, 0.67 }, { 0, 1, 0.78, 0.82 },
		{ 2, 4, 0, 0.001 },   { 2, 1, 0, 0.001 },   { 3, 4, 1, 1.001 },
		{ 4, 1, 0.18, 0.26 }, { 6, 2, 0, 0.064 },   { 6, 4, 0, 0.033 },
		{ 7, 4, 0, 0.064 },   { 8, 4, 0, 0.127 },   { 8, 2, 0, 0.252 },
	};
	uint32_t size;

	seed = 1;
	kinds[want[_i].kind](want[_i].width, NEURON_STREAM_RAW_MAX / want[_i].width);
	size = neuron_compress(raw, NEURON_STREAM_RAW_MAX, want[_i].width, true, stream, &work);
	ck_assert_double_ge(size / 65536.0, want[_i].from);
	ck_assert_double_le(size / 65536.0, want[_i].to);
}
END_TEST

/*
 * By hand: elements 1, 1, 2, 3, 1 of a byte; codes 1: "0", 2: "10", 3: "11"; streams of 2, 2, 1, 0
 */
static const uint8_t by_hand[] = { 'N', 'C', 'S', '1', 1, 1, 0,	   0,	 5, 0, 0, 0, 36, 0, 0, 0, 0,
				   0,	0,   0,	  2,   1, 2, 0x21, 0x02, 1, 0, 1, 0, 1,	 0, 0, 0 };

START_TEST(written_by_hand)
{
	static const uint8_t want[] = { 1, 1, 2, 3, 1 };
	uint8_t s[64];
	uint32_t check = neuron_xxh32(want, 5, 0), size = 33 + 3;

	memcpy(s, by_hand, 33);
	s[33] = 0x00; /* 0, 0 */
	s[34] = 0x0d; /* 10, 11 */
	s[35] = 0x00; /* 0 */
	memcpy(s + 12, &size, 4);
	memcpy(s + 16, &check, 4);
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_OK);
	ck_assert_mem_eq(back, want, 5);
}
END_TEST

START_TEST(checks)
{
	static const struct {
		const char *text;
		uint32_t want;
	} v[] = {
		{ "", 0x02cc5d05 },
		{ "a", 0x550d7456 },
		{ "abc", 0x32d153ff },
		{ "Nobody inspects the spammish repetition", 0xe2293b2f },
	};

	for (int i = 0; i < COUNT(v); i++)
		ck_assert_uint_eq(neuron_xxh32(v[i].text, (uint32_t)strlen(v[i].text), 0),
				  v[i].want);
}
END_TEST

/* 3000 elements of two bytes: a plain plane behind the header, then a coded one */
static uint32_t valid(void)
{
	seed = 5;
	weights(2, 3000);
	memset(stream, 0, sizeof(stream));
	return neuron_compress(raw, 6000, 2, true, stream, &work);
}
#define CODED (20 + 1 + 3000)

START_TEST(lies)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		enum neuron_stream_error want;
	} lie[] = {
		{ 0, 'n', NEURON_STREAM_BAD_HEADER },
		{ 3, '2', NEURON_STREAM_BAD_HEADER },
		{ 4, 0, NEURON_STREAM_BAD_HEADER },
		{ 4, 1, NEURON_STREAM_BAD_CHECK }, /* of something else then */
		{ 4, 3, NEURON_STREAM_BAD_HEADER },
		{ 6, 1, NEURON_STREAM_BAD_HEADER },
		{ 7, 1, NEURON_STREAM_BAD_HEADER },
		{ 5, 1, NEURON_STREAM_BAD_WIDTH },
		{ 5, 0, NEURON_STREAM_BAD_WIDTH },
		{ 8, 0x71, NEURON_STREAM_BAD_RAW }, /* no whole elements */
		{ 10, 1, NEURON_STREAM_BAD_RAW }, /* more than 64 KiB */
		{ 11, 0x80, NEURON_STREAM_BAD_RAW },
		{ 12, 19, NEURON_STREAM_BAD_SIZE },
		{ 14, 1, NEURON_STREAM_BAD_SIZE },
		{ 16, 0, NEURON_STREAM_BAD_CHECK },
		{ 20, 4, NEURON_STREAM_BAD_PLANE },
		{ 20, 3, NEURON_STREAM_BAD_CODE }, /* indices of how many bits? */
		{ CODED, 3, NEURON_STREAM_BAD_PLANE }, /* a table, behind a plane */
		{ 20, 255, NEURON_STREAM_BAD_PLANE },
		{ 20, 1, NEURON_STREAM_BAD_PLANE }, /* what follows is no plane then */
		{ 30, 0, NEURON_STREAM_BAD_CHECK },
		{ CODED + 1, 255, NEURON_STREAM_BAD_CODE }, /* symbols behind 255 */
		{ CODED + 3, 0xcc, NEURON_STREAM_BAD_CODE }, /* codes of 12 bits */
		{ CODED + 3, 0x11, NEURON_STREAM_BAD_CODE }, /* too many short ones */
		{ CODED + 3, 0, NEURON_STREAM_BAD_CODE }, /* too few */
	};
	uint32_t size = valid();

	ck_assert_uint_eq(stream[20], NEURON_PLANE_PLAIN);
	ck_assert_uint_eq(stream[CODED], NEURON_PLANE_CODED);
	stream[lie[_i].at] = lie[_i].value;
	ck_assert_int_eq(read_back(stream, size, 2), lie[_i].want);
}
END_TEST
#define LIES 25

START_TEST(every_bit)
{
	uint32_t size = valid();

	for (uint32_t bit = 0; bit<size * 8; bit += bit / 8> 24 && bit / 8 < CODED - 8 ? 257 : 1) {
		stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_msg(read_back(stream, size, 2) != NEURON_STREAM_OK, "bit %u", bit);
		stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_int_eq(read_back(stream, size, 2), NEURON_STREAM_OK);
}
END_TEST

START_TEST(cut)
{
	uint32_t size = valid();

	for (uint32_t n = 0; n < size; n++) {
		ck_assert_int_eq(read_back(stream, n, 2), NEURON_STREAM_BAD_SIZE);
		if (n < 20)
			continue;
		memcpy(stream + 12, &n, 4); /* and a header that agrees */
		ck_assert_int_ne(read_back(stream, n, 2), NEURON_STREAM_OK);
		memcpy(stream + 12, &size, 4);
	}
	size++; /* or one that speaks of a byte more */
	memcpy(stream + 12, &size, 4);
	ck_assert_int_eq(read_back(stream, size, 2), NEURON_STREAM_BAD_SIZE);
	memset(stream + 8, 0, 4); /* or of no elements */
	ck_assert_int_eq(read_back(stream, size, 2), NEURON_STREAM_BAD_RAW);
}
END_TEST

/* Bits behind the last code, a byte behind it, and codes that go on behind their bytes */
START_TEST(bits)
{
	uint8_t s[64];
	uint32_t size = 36, check;

	memcpy(s, by_hand, 33);
	memcpy(s + 33, "\x00\x0d\x00\x00", 4);
	check = neuron_xxh32("\1\1\2\3\1", 5, 0);
	memcpy(s + 16, &check, 4);
	memcpy(s + 12, &size, 4);
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_OK);
	s[33] = 0x04;
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_BAD_BITS);
	s[33] = 0;
	s[34] = 0x8d;
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_BAD_BITS);
	s[34] = 0x0d;
	s[25 + 4] = 2; /* a byte more for the third */
	size = 37;
	memcpy(s + 12, &size, 4);
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_BAD_BITS);
	s[25 + 4] = 0; /* and none */
	size = 35;
	memcpy(s + 12, &size, 4);
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_BAD_BITS);
	s[24] = 0x12; /* a length where no symbol is */
	ck_assert_int_eq(read_back(s, size, 1), NEURON_STREAM_BAD_CODE);
}
END_TEST

/* Elements 7, 9, 9, 7, 7 of two bytes, by hand; then what is wrong with it */
START_TEST(table_by_hand)
{
	static const uint8_t want[] = { 7, 0, 9, 0, 9, 0, 7, 0, 7, 0 };
	static const uint8_t by_hand_2[] = { 'N', 'C', 'S', '1', 2, 2, 0, 0, 10, 0, 0, 0, 27, 0,
					     0,	  0,   0,   0,	 0, 0, 3, 1, 7,	 0, 9, 0, 6 };
	static const struct {
		uint32_t size, at;
		uint8_t value;
		enum neuron_stream_error want;
	} change[] = {
		{ 27, 26, 6, NEURON_STREAM_OK },	  { 27, 21, 3, NEURON_STREAM_BAD_CODE },
		{ 27, 21, 5, NEURON_STREAM_BAD_CODE },	  { 27, 21, 8, NEURON_STREAM_BAD_CODE },
		{ 27, 21, 2, NEURON_STREAM_BAD_SIZE },	  { 27, 21, 0, NEURON_STREAM_BAD_SIZE },
		{ 27, 26, 0x26, NEURON_STREAM_BAD_BITS }, { 27, 26, 7, NEURON_STREAM_BAD_CHECK },
		{ 26, 26, 6, NEURON_STREAM_BAD_SIZE },	  { 28, 26, 6, NEURON_STREAM_BAD_SIZE },
		{ 21, 26, 6, NEURON_STREAM_BAD_SIZE },	  { 27, 8, 14, NEURON_STREAM_BAD_CHECK },
		{ 27, 4, 1, NEURON_STREAM_BAD_PLANE },
	};

	for (int i = 0; i < COUNT(change); i++) {
		uint8_t s[32] = { 0 };
		uint32_t check;

		memcpy(s, by_hand_2, 27);
		check = plain_check(s + 20, 7, 10);
		memcpy(s + 16, &check, 4);
		memcpy(s + 12, &change[i].size, 4);
		s[change[i].at] = change[i].value;
		ck_assert_msg(read_back(s, change[i].size, 2) == change[i].want, "change %d", i);
		if (!i)
			ck_assert_mem_eq(back, want, 10);
	}
}
END_TEST

/* Every set's bytes are the plain ones', and nothing is written behind them */
START_TEST(kernels)
{
	const struct stream_kernels *set = stream_kernels[_i],
				    *plain = stream_kernels[STREAM_KERNELS - 1];
	static uint8_t in[4][300], table[64], got[1300], want[1300];
	const uint8_t *plane[4] = { in[0], in[1] + 1, in[2] + 2, in[3] + 3 };
	uint32_t sum[2][16];

	seed = 77;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i / sizeof(in[0])][i % sizeof(in[0])] = (uint8_t)rnd();
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = (uint8_t)rnd();
	for (uint32_t n = 0; n <= 260 && set->usable(); n++)
		for (unsigned int width = 1; width <= 4; width *= 2) {
			for (unsigned int bits = 1; bits <= 4; bits *= 2) {
				memset(got, 0x77, sizeof(got));
				memset(want, 0x77, sizeof(want));
				set->pick(in[0] + 3, n, bits, table, width, got + 1);
				plain->pick(in[0] + 3, n, bits, table, width, want + 1);
				ck_assert_mem_eq(got, want, sizeof(got));
			}
			if (width == 1)
				continue;
			set->join(plane, n, width, got + 1);
			plain->join(plane, n, width, want + 1);
			ck_assert_mem_eq(got, want, sizeof(got));
		}
	for (uint32_t stripes = 0; stripes <= 4 && set->usable(); stripes++) {
		memset(sum, 5, sizeof(sum));
		set->sums(in[0] + 1, stripes, sum[0]);
		plain->sums(in[0] + 1, stripes, sum[1]);
		ck_assert_mem_eq(sum[0], sum[1], sizeof(sum[0]));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compress");
	TCase *t = tcase_create("compress");

	tcase_add_loop_test(t, round_trip, 0, 3 * COUNT(lengths));
	tcase_add_loop_test(t, ratios, 0, 12);
	tcase_add_test(t, written_by_hand);
	tcase_add_test(t, table_by_hand);
	tcase_add_loop_test(t, kernels, 0, STREAM_KERNELS);
	tcase_add_test(t, checks);
	tcase_add_loop_test(t, lies, 0, LIES);
	tcase_add_test(t, every_bit);
	tcase_add_test(t, cut);
	tcase_add_test(t, bits);
	suite_add_tcase(s, t);
	return check_run(s);
}
