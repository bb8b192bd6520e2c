// SPDX-License-Identifier: MIT
/*
 * Compressed streams (docs/hardware.md, Compressed streams). The oracles: a reader that goes bit by
 * bit, as the document says it; a stream written by hand; published values of XXH32.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/isa/compress.h"

#define ROOM (NEURON_STREAM_RAW_MAX + NEURON_STREAM_OVERHEAD)
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static struct neuron_stream_work work;
static uint8_t raw[NEURON_STREAM_RAW_MAX], stream[ROOM + 16], back[NEURON_STREAM_RAW_MAX];
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

/* What weights look like: normal, as fp32, the upper half of it, or eight bits */
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

static void (*const kinds[])(unsigned int width, uint32_t n) = { weights, skewed,  zeros, numbers,
								 sparse,  counted, two };

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
static void plain_read(const uint8_t *s, unsigned int width, uint32_t bytes)
{
	static uint8_t plane[4][NEURON_STREAM_RAW_MAX];
	const uint32_t n = bytes / width, each = (n + 3) / 4;
	const uint8_t *p = s + 20;

	ck_assert_mem_eq(s, "NCS1\1", 5);
	ck_assert_uint_eq(s[5], width);
	ck_assert_uint_eq(get32(s + 8), bytes);
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

	for (int k = 0; k < COUNT(kinds); k++) {
		uint32_t most = n == 16384 ? NEURON_STREAM_RAW_MAX / width : n;

		seed = (uint64_t)_i * 64 + (uint64_t)k;
		kinds[k](width, most);
		memset(stream, 0x5a, sizeof(stream));
		size = neuron_compress(raw, most * width, width, stream, &work);
		ck_assert_uint_le(size, most * width + NEURON_STREAM_HEADER + width);
		ck_assert_uint_eq(stream[size], 0x5a);
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
		{ 4, 1, 0.18, 0.26 }, { 6, 2, 0, 0.26 },
	};
	uint32_t size;

	seed = 1;
	kinds[want[_i].kind](want[_i].width, NEURON_STREAM_RAW_MAX / want[_i].width);
	size = neuron_compress(raw, NEURON_STREAM_RAW_MAX, want[_i].width, stream, &work);
	ck_assert_double_ge(size / 65536.0, want[_i].from);
	ck_assert_double_le(size / 65536.0, want[_i].to);
}
END_TEST

/* By hand: elements 1, 1, 2, 3, 1 of a byte; codes 1: "0", 2: "10", 3: "11"; streams of 2, 2, 1, 0 */
static const uint8_t by_hand[] = { 'N', 'C', 'S', '1', 1, 1, 0,	   0,	 5, 0, 0, 0, 36, 0, 0, 0, 0,
				   0,	0,   0,	  2,   1, 2, 0x21, 0x02, 1, 0, 1, 0, 1,	 0, 0, 0 };

START_TEST(written_by_hand)
{
	static const uint8_t want[] = { 1, 1, 2, 3, 1 };
	uint8_t s[64];
	uint32_t check = neuron_stream_check(want, 5), size = 33 + 3;

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
		ck_assert_uint_eq(neuron_stream_check(v[i].text, (uint32_t)strlen(v[i].text)),
				  v[i].want);
}
END_TEST

/* 3000 elements of two bytes: a plain plane behind the header, then a coded one */
static uint32_t valid(void)
{
	seed = 5;
	weights(2, 3000);
	memset(stream, 0, sizeof(stream));
	return neuron_compress(raw, 6000, 2, stream, &work);
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
		{ 4, 2, NEURON_STREAM_BAD_HEADER },
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
		{ 20, 3, NEURON_STREAM_BAD_PLANE },
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
#define LIES 22

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
}
END_TEST

/* Bits behind the last code, a byte behind it, and codes that go on behind their bytes */
START_TEST(bits)
{
	uint8_t s[64];
	uint32_t size = 36, check;

	memcpy(s, by_hand, 33);
	memcpy(s + 33, "\x00\x0d\x00\x00", 4);
	check = neuron_stream_check("\1\1\2\3\1", 5);
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

int main(void)
{
	Suite *s = suite_create("compress");
	TCase *t = tcase_create("compress");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, round_trip, 0, 3 * COUNT(lengths));
	tcase_add_loop_test(t, ratios, 0, 8);
	tcase_add_test(t, written_by_hand);
	tcase_add_test(t, checks);
	tcase_add_loop_test(t, lies, 0, LIES);
	tcase_add_test(t, every_bit);
	tcase_add_test(t, cut);
	tcase_add_test(t, bits);
	suite_add_tcase(s, t);
	return check_run(s);
}
