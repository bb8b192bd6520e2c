// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Compressed streams: the kernels of decompressing, plain ones and those for AVX2 and AVX-512 */
#include "stream_kernels.h"

#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

static void join_from(const uint8_t *const *plane, uint32_t i, uint32_t n, unsigned int width,
		      uint8_t *out)
{
	if (width == 2) {
		for (; i < n; i++) {
			uint16_t v = (uint16_t)(plane[0][i] | plane[1][i] << 8);

			v = (uint16_t)(v >> 1 | v << 15);
			memcpy(out + 2 * (size_t)i, &v, 2);
		}
		return;
	}
	for (; i < n; i++) {
		uint32_t v = plane[0][i] | (uint32_t)plane[1][i] << 8 |
			     (uint32_t)plane[2][i] << 16 | (uint32_t)plane[3][i] << 24;

		v = v >> 1 | v << 31;
		memcpy(out + 4 * (size_t)i, &v, 4);
	}
}

static void join_plain(const uint8_t *const *plane, uint32_t n, unsigned int width, uint8_t *out)
{
	join_from(plane, 0, n, width, out);
}

static void pick_from(const uint8_t *in, uint32_t i, uint32_t n, unsigned int bits,
		      const uint8_t *table, unsigned int width, uint8_t *out)
{
	for (; i < n; i++) {
		unsigned int k = in[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);

		memcpy(out + (size_t)i * width, table + k * width, width);
	}
}

static void pick_plain(const uint8_t *in, uint32_t n, unsigned int bits, const uint8_t *table,
		       unsigned int width, uint8_t *out)
{
	pick_from(in, 0, n, bits, table, width, out);
}

/* Sixteen sums side by side, as vectors of whatever length the processor has */
typedef uint32_t lanes __attribute__((vector_size(64)));

ALWAYS void sum_stripes(const uint8_t *in, uint32_t stripes, uint32_t *sum)
{
	lanes acc, v;

	memcpy(&acc, sum, sizeof(acc));
	for (; stripes; stripes--, in += sizeof(v)) {
		memcpy(&v, in, sizeof(v));
		acc += v * XXH_P2;
		acc = (acc << 13 | acc >> 19) * XXH_P1;
	}
	memcpy(sum, &acc, sizeof(acc));
}

static void sums_plain(const uint8_t *in, uint32_t stripes, uint32_t *sum)
{
	sum_stripes(in, stripes, sum);
}

static bool usable_plain(void)
{
	return true;
}

static const struct stream_kernels plain = { "plain", usable_plain, join_plain, pick_plain,
					     sums_plain };

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2")))

ALWAYS AVX2 __m256i bytes_to_16(const uint8_t *p)
{
	return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}

ALWAYS AVX2 __m256i bytes_to_32(const uint8_t *p)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}

AVX2 static void join_avx2(const uint8_t *const *plane, uint32_t n, unsigned int width,
			   uint8_t *out)
{
	uint32_t i = 0;

	for (; width == 2 && i + 16 <= n; i += 16) {
		__m256i v = _mm256_or_si256(bytes_to_16(plane[0] + i),
					    _mm256_slli_epi16(bytes_to_16(plane[1] + i), 8));

		v = _mm256_or_si256(_mm256_srli_epi16(v, 1), _mm256_slli_epi16(v, 15));
		_mm256_storeu_si256((__m256i *)(out + 2 * (size_t)i), v);
	}
	for (; width == 4 && i + 8 <= n; i += 8) {
		__m256i lo = _mm256_or_si256(bytes_to_32(plane[0] + i),
					     _mm256_slli_epi32(bytes_to_32(plane[1] + i), 8));
		__m256i hi = _mm256_or_si256(_mm256_slli_epi32(bytes_to_32(plane[2] + i), 16),
					     _mm256_slli_epi32(bytes_to_32(plane[3] + i), 24));
		__m256i v = _mm256_or_si256(lo, hi);

		v = _mm256_or_si256(_mm256_srli_epi32(v, 1), _mm256_slli_epi32(v, 31));
		_mm256_storeu_si256((__m256i *)(out + 4 * (size_t)i), v);
	}
	join_from(plane, i, n, width, out);
}

/* 32 indices, a byte each */
ALWAYS AVX2 __m256i spread(const uint8_t *in, uint32_t i, unsigned int bits)
{
	const __m256i which =
		_mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
	__m256i v;
	uint32_t ones;
	uint64_t pairs;

	switch (bits) {
	case 1:
		memcpy(&ones, in + i / 8, 4);
		v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)ones), which);
		v = _mm256_and_si256(v, _mm256_set1_epi64x((long long)0x8040201008040201));
		return _mm256_min_epu8(v, _mm256_set1_epi8(1));
	case 2:
		memcpy(&pairs, in + i / 4, 8);
		v = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)pairs));
		v = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
		v = _mm256_or_si256(v, _mm256_slli_epi32(v, 6));
		return _mm256_and_si256(v, _mm256_set1_epi8(3));
	default:
		v = bytes_to_16(in + i / 2);
		v = _mm256_or_si256(v, _mm256_slli_epi16(v, 4));
		return _mm256_and_si256(v, _mm256_set1_epi8(15));
	}
}

ALWAYS AVX2 __m256i bytes_32(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

/* 32 elements. Tables lie in both halves of a register, or are two of which a bit chooses. */
ALWAYS AVX2 void pick_32(__m256i number, const uint8_t *table, unsigned int width, uint8_t *out)
{
	__m256i *to = (__m256i *)out, t0, t1, v;
	uint8_t k[32];

	_mm256_storeu_si256((__m256i *)k, number);
	switch (width) {
	case 1:
		t0 = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
		_mm256_storeu_si256(to, _mm256_shuffle_epi8(t0, number));
		break;
	case 2:
		t0 = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
		t1 = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table + 1));
		for (unsigned int i = 0; i < 2; i++) {
			v = _mm256_mullo_epi16(bytes_to_16(k + 16 * i), _mm256_set1_epi16(0x0202));
			v = _mm256_add_epi16(v, _mm256_set1_epi16(0x0100));
			v = _mm256_blendv_epi8(_mm256_shuffle_epi8(t0, v),
					       _mm256_shuffle_epi8(t1, v), _mm256_slli_epi16(v, 3));
			_mm256_storeu_si256(to + i, v);
		}
		break;
	default:
		t0 = bytes_32(table);
		t1 = bytes_32(table + 32);
		for (unsigned int i = 0; i < 4; i++) {
			__m256i high;

			v = bytes_to_32(k + 8 * i);
			high = _mm256_cmpgt_epi32(v, _mm256_set1_epi32(7));
			_mm256_storeu_si256(to + i,
					    _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(t0, v),
							       _mm256_permutevar8x32_epi32(t1, v),
							       high));
		}
	}
}

/* A loop of its own for each combination of bits and width, which then are constants */
#define PICK(bits, width)                                                                      \
	case 16 * (bits) + (width):                                                            \
		for (; i + 32 <= n; i += 32)                                                   \
			PICK_32(spread(in, i, bits), table, width, out + (size_t)i * (width)); \
		break;
#define PICKS                        \
	switch (16 * bits + width) { \
		PICK(1, 1)           \
		PICK(1, 2)           \
		PICK(1, 4)           \
		PICK(2, 1)           \
		PICK(2, 2)           \
		PICK(2, 4)           \
		PICK(4, 1)           \
		PICK(4, 2)           \
		PICK(4, 4)           \
	}

#define PICK_32 pick_32
AVX2 static void pick_avx2(const uint8_t *in, uint32_t n, unsigned int bits, const uint8_t *table,
			   unsigned int width, uint8_t *out)
{
	uint32_t i = 0;

	PICKS
	pick_from(in, i, n, bits, table, width, out);
}
#undef PICK_32

AVX2 static void sums_avx2(const uint8_t *in, uint32_t stripes, uint32_t *sum)
{
	sum_stripes(in, stripes, sum);
}

static bool usable_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static const struct stream_kernels avx2 = { "avx2", usable_avx2, join_avx2, pick_avx2, sums_avx2 };

ALWAYS AVX512 void pick_32_by_512(__m256i number, const uint8_t *table, unsigned int width,
				  uint8_t *out)
{
	const __m512i t = _mm512_loadu_si512(table);

	if (width == 1) {
		pick_32(number, table, 1, out);
	} else if (width == 2) {
		_mm512_storeu_si512(out, _mm512_permutexvar_epi16(_mm512_cvtepu8_epi16(number), t));
	} else {
		__m128i lo = _mm256_castsi256_si128(number),
			hi = _mm256_extracti128_si256(number, 1);

		_mm512_storeu_si512(out, _mm512_permutexvar_epi32(_mm512_cvtepu8_epi32(lo), t));
		_mm512_storeu_si512(out + 64,
				    _mm512_permutexvar_epi32(_mm512_cvtepu8_epi32(hi), t));
	}
}

#define PICK_32 pick_32_by_512
AVX512 static void pick_avx512(const uint8_t *in, uint32_t n, unsigned int bits,
			       const uint8_t *table, unsigned int width, uint8_t *out)
{
	uint32_t i = 0;

	PICKS
	pick_from(in, i, n, bits, table, width, out);
}

AVX512 static void join_avx512(const uint8_t *const *plane, uint32_t n, unsigned int width,
			       uint8_t *out)
{
	uint32_t i = 0;

	for (; width == 2 && i + 32 <= n; i += 32) {
		__m512i v =
			_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(plane[1] + i)));

		v = _mm512_or_si512(
			_mm512_slli_epi16(v, 8),
			_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(plane[0] + i))));
		_mm512_storeu_si512(out + 2 * (size_t)i, _mm512_shrdi_epi16(v, v, 1));
	}
	for (; width == 4 && i + 16 <= n; i += 16) {
		__m512i v = _mm512_setzero_si512();

		for (int k = 3; k >= 0; k--)
			v = _mm512_or_si512(_mm512_slli_epi32(v, 8),
					    _mm512_cvtepu8_epi32(_mm_loadu_si128(
						    (const __m128i *)(plane[k] + i))));
		_mm512_storeu_si512(out + 4 * (size_t)i, _mm512_ror_epi32(v, 1));
	}
	join_from(plane, i, n, width, out);
}

AVX512 static void sums_avx512(const uint8_t *in, uint32_t stripes, uint32_t *sum)
{
	sum_stripes(in, stripes, sum);
}

static bool usable_avx512(void)
{
	return usable_avx2() && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
}

static const struct stream_kernels avx512 = { "avx512", usable_avx512, join_avx512, pick_avx512,
					      sums_avx512 };

const struct stream_kernels *const stream_kernels[STREAM_KERNELS] = { &avx512, &avx2, &plain };
#else
const struct stream_kernels *const stream_kernels[STREAM_KERNELS] = { &plain, &plain, &plain };
#endif
