/* SPDX-License-Identifier: MIT */
/*
 * What DMA engines compute: conversions, sums, smallest and greatest ones (docs/hardware.md, UDMA).
 * The oracles are the compiler's own conversions of the types that C has.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chip_fixture.h"
#include "neuron/isa/table.h"

#define FIRST NEURON_UDMA_DESC_FIRST
#define LAST NEURON_UDMA_DESC_LAST
#define TX 0
#define RX 1
#define IN 0x800000u
#define OUT 0x1000000u
#define NQ 0x700000
#define N 3001 /* elements: no multiple of anything */

static struct fixture f;
static struct ring q;

static void setup(void)
{
	uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	apb_write(&f, regs + GEN(NQ_BASE_LO), NQ);
	apb_write(&f, regs + GEN(NQ_BASE_HI), GEN(WINDOW_HOST) >> 32);
	apb_write(&f, regs + GEN(NQ_SIZE), 1024);
}

static void teardown(void)
{
	fixture_free(&f);
}

static uint32_t error_code(void)
{
	const uint8_t *e = f.host + NQ;

	return get32(e + NEURON_NQ_ENTRY_PHASE) == 1 ? get32(e) >> 16 : 0;
}

static void push_compute(uint64_t dst, uint32_t len, uint32_t word)
{
	uint8_t *d = mem(&f, q.base[RX]) + q.next[RX] * NEURON_UDMA_DESC_SIZE;

	push(&f, &q, RX, dst, len, 0);
	put32(d + 4, word);
}

/* n elements of dst from sources that lie stride bytes apart */
static void compute(uint32_t op, uint8_t from, uint8_t to, unsigned int sources, uint64_t src,
		    uint64_t stride, uint64_t dst, uint32_t n)
{
	for (unsigned int i = 0; i < sources; i++)
		push(&f, &q, TX, src + i * stride, n * neuron_isa_dtypes[from].size,
		     (i ? 0 : FIRST) | (i + 1 < sources ? 0 : LAST));
	push_compute(dst, n * neuron_isa_dtypes[to].size,
		     NEURON_DMA_COMPUTE(op, from, to, sources));
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, sources);
}

static const uint8_t types[] = { NEURON_DT_FP32,  NEURON_DT_BF16,   NEURON_DT_FP16,
				 NEURON_DT_INT8,  NEURON_DT_INT16,  NEURON_DT_INT32,
				 NEURON_DT_UINT8, NEURON_DT_UINT16, NEURON_DT_UINT32 };
#define TYPES (sizeof(types) / sizeof(types[0]))

static float from_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, 4);
	return x;
}

static float value(uint8_t type, const uint8_t *p)
{
	_Float16 h;

	switch (type) {
	case NEURON_DT_FP32:
		return from_bits(get32(p));
	case NEURON_DT_BF16:
		return from_bits((uint32_t)p[1] << 24 | (uint32_t)p[0] << 16);
	case NEURON_DT_FP16:
		memcpy(&h, p, 2);
		return (float)h;
	case NEURON_DT_INT8:
		return (float)(int8_t)p[0];
	case NEURON_DT_UINT8:
		return (float)p[0];
	case NEURON_DT_INT16:
		return (float)(int16_t)(p[0] | p[1] << 8);
	case NEURON_DT_UINT16:
		return (float)(uint16_t)(p[0] | p[1] << 8);
	case NEURON_DT_INT32:
		return (float)(int32_t)get32(p);
	default:
		return (float)get32(p);
	}
}

static int64_t saturated(float x, int64_t lo, int64_t hi)
{
	double r = isnan(x) ? 0 : nearbyint((double)x);

	return r < (double)lo ? lo : r > (double)hi ? hi : (int64_t)r;
}

/* The bits that a conversion writes */
static uint32_t encoded(uint8_t type, float x)
{
	uint32_t bits;
	uint16_t half;
	_Float16 h;

	switch (type) {
	case NEURON_DT_FP32:
		memcpy(&bits, &x, 4);
		return isnan(x) ? 0x7fc00000 : bits;
	case NEURON_DT_BF16:
		memcpy(&bits, &x, 4);
		return isnan(x) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	case NEURON_DT_FP16:
		h = (_Float16)x;
		memcpy(&half, &h, 2);
		return isnan(x) ? 0x7e00 : half;
	case NEURON_DT_INT8:
		return (uint8_t)saturated(x, INT8_MIN, INT8_MAX);
	case NEURON_DT_UINT8:
		return (uint8_t)saturated(x, 0, UINT8_MAX);
	case NEURON_DT_INT16:
		return (uint16_t)saturated(x, INT16_MIN, INT16_MAX);
	case NEURON_DT_UINT16:
		return (uint16_t)saturated(x, 0, UINT16_MAX);
	case NEURON_DT_INT32:
		return (uint32_t)saturated(x, INT32_MIN, INT32_MAX);
	default:
		return (uint32_t)saturated(x, 0, UINT32_MAX);
	}
}

static uint32_t element(const uint8_t *p, uint8_t size)
{
	uint32_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* Random bits, of which floats are of every size, infinities and NaN among them */
static void fill(uint32_t at, size_t bytes, uint64_t seed)
{
	fixture_fill(f.host + at, bytes, seed);
}

/* Every pair of types; an equal pair moves bits */
START_TEST(casts)
{
	uint8_t from = types[(size_t)_i / TYPES], to = types[(size_t)_i % TYPES];
	uint8_t ss = neuron_isa_dtypes[from].size, ds = neuron_isa_dtypes[to].size;

	fill(IN, N * 4, 1 + (uint64_t)_i);
	compute(NEURON_DMA_CAST, from, to, 1, HOST(IN), 0, HOST(OUT), N);
	ck_assert(!queue_stopped(&f, &q));
	for (unsigned int i = 0; i < N; i++) {
		const uint8_t *src = f.host + IN + i * ss;
		uint32_t want = from == to ? element(src, ss) : encoded(to, value(from, src));
		uint32_t got = element(f.host + OUT + i * ds, ds);

		ck_assert_msg(got == want, "%s to %s: element %u is %#x, %#x wanted",
			      neuron_isa_dtypes[from].name, neuron_isa_dtypes[to].name, i, got,
			      want);
	}
	ck_assert_uint_eq(element(f.host + OUT + N * ds, 1), 0);
}
END_TEST

static float step(uint32_t op, float a, float b)
{
	float pick;

	if (op == NEURON_DMA_ADD)
		return a + b;
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == b)
		pick = !signbit(a) == (op == NEURON_DMA_MAX) ? a : b;
	else
		pick = (a > b) == (op == NEURON_DMA_MAX) ? a : b;
	return pick;
}

/* Sources in the host's memory, in the chip's, in a core's; the sum is rounded once, at the end */
START_TEST(reduces)
{
	static const struct {
		uint8_t from, to;
	} pairs[] = { { NEURON_DT_FP32, NEURON_DT_FP32 },
		      { NEURON_DT_BF16, NEURON_DT_BF16 },
		      { NEURON_DT_FP16, NEURON_DT_FP32 },
		      { NEURON_DT_FP32, NEURON_DT_BF16 },
		      { NEURON_DT_INT32, NEURON_DT_INT16 } };
	uint8_t from = pairs[(size_t)_i % 5].from, to = pairs[(size_t)_i % 5].to;
	uint8_t ss = neuron_isa_dtypes[from].size, ds = neuron_isa_dtypes[to].size;
	const uint64_t places[] = { HOST(IN), 0x5000, GEN(TPB)(1) + 0x40000 * 3 };
	uint32_t op = NEURON_DMA_ADD + (uint32_t)_i / 5 % 3;

	for (unsigned int sources = 1 + (op != NEURON_DMA_ADD); sources <= NEURON_DMA_SOURCES_MAX;
	     sources += 5) {
		uint64_t at = places[sources % 3];
		uint64_t stride = sources % 3 == 2 ? 0x40000 : 0x4000;

		fill(IN, NEURON_DMA_SOURCES_MAX * 0x4000, sources + (uint64_t)_i * 31);
		for (unsigned int s = 0; s < sources && at != HOST(IN); s++)
			copy(&f, &q, HOST(IN + s * 0x4000), at + s * stride, 0x3000);
		compute(op, from, to, sources, at, stride, 0x80000, N);
		copy(&f, &q, 0x80000, HOST(OUT), N * ds);
		ck_assert(!queue_stopped(&f, &q));
		for (unsigned int i = 0; i < N; i++) {
			float x = value(from, f.host + IN + i * ss);

			for (unsigned int s = 1; s < sources; s++)
				x = step(op, x, value(from, f.host + IN + s * 0x4000 + i * ss));
			ck_assert_uint_eq(element(f.host + OUT + i * ds, ds), encoded(to, x));
		}
	}
}
END_TEST

/*
 * Pieces of one length in a row, in the chip's memory: copies, conversions and copies again are not
 * taken for each other, nor conversions that write as much as they read for copies
 */
START_TEST(mixed)
{
	static const uint8_t types_to[] = { NEURON_DT_BF16, NEURON_DT_INT32 };
	const uint8_t to = types_to[_i], size = neuron_isa_dtypes[to].size;

	fill(IN, 0x1000, 5);
	copy(&f, &q, HOST(IN), 0x8000, 24 * 8);
	for (unsigned int i = 0; i < 24; i++) {
		push(&f, &q, TX, 0x8000 + i * 8, 8, FIRST | LAST);
		if (i / 8 == 1)
			push_compute(0x2000 + i * 8, 2 * size,
				     NEURON_DMA_COMPUTE(NEURON_DMA_CAST, NEURON_DT_FP32, to, 1));
		else
			push(&f, &q, RX, 0x2000 + i * 8, 8, 0);
	}
	doorbell(&f, &q, RX, 24);
	doorbell(&f, &q, TX, 24);
	copy(&f, &q, 0x2000, HOST(OUT), 24 * 8);
	for (unsigned int i = 0; i < 24; i++) {
		const uint8_t *src = f.host + IN + i * 8, *dst = f.host + OUT + i * 8;

		if (i / 8 != 1) {
			ck_assert_int_eq(memcmp(src, dst, 8), 0);
			continue;
		}
		ck_assert_uint_eq(element(dst, size), encoded(to, value(NEURON_DT_FP32, src)));
		ck_assert_uint_eq(element(dst + size, size),
				  encoded(to, value(NEURON_DT_FP32, src + 4)));
		ck_assert(size == 4 || !get32(dst + 4));
	}
}
END_TEST

#define WORD(op, from, to, n) \
	NEURON_DMA_COMPUTE(NEURON_DMA_##op, NEURON_DT_##from, NEURON_DT_##to, n)

/* A descriptor with an invalid request stops its queue with an error, and nothing is written. */
START_TEST(refused)
{
	static const struct {
		uint32_t word, tx, rx;
		unsigned int sources, rung;
		uint16_t code;
		uint8_t hole; /* source behind which nothing lies */
		bool source; /* whose descriptor is at fault, not the destination's */
	} cases[] = {
		{ WORD(CAST, FP32, BF16, 1) | 1u << 15, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0,
		  false },
		{ WORD(CAST, FP32, BF16, 1) | 1u << 20, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0,
		  false },
		{ WORD(CAST, FP32, BF16, 1) | 1u << 31, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0,
		  false },
		{ NEURON_DT_FP32 | NEURON_DT_BF16 << 6, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0,
		  false },
		{ WORD(MAX, FP32, BF16, 1) + 0x1000, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(CAST, FP32, BF16, 2), 64, 32, 2, 2, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(CAST, INVALID, BF16, 1), 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(CAST, FP32, INVALID, 1), 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(CAST, FP32, BF16, 1) | 0x3f, 64, 32, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		/* lengths: no whole elements; others than the operation has; more than 64 KiB */
		{ WORD(CAST, FP32, BF16, 1), 64, 31, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(CAST, FP32, BF16, 1), 60, 32, 1, 1, NEURON_NERR_DMA_DESC, 0, true },
		{ WORD(ADD, FP32, FP32, 2), 64, 32, 2, 2, NEURON_NERR_DMA_DESC, 0, true },
		{ WORD(CAST, FP32, INT8, 1), 0, 0x4001, 1, 1, NEURON_NERR_DMA_DESC, 0, false },
		/* sources that are not there, of another packet, or behind which nothing lies */
		{ WORD(ADD, FP32, FP32, 3), 64, 64, 3, 2, NEURON_NERR_DMA_DESC, 0, false },
		{ WORD(ADD, FP32, FP32, 3), 64, 64, 2, 3, NEURON_NERR_DMA_DESC, 0, true },
		{ WORD(CAST, FP32, BF16, 1), 64, 32, 1, 1, NEURON_NERR_DMA_ABORT, 1, false },
		{ WORD(ADD, FP32, FP32, 2), 64, 64, 2, 2, NEURON_NERR_DMA_ABORT, 2, false },
	};
	const uint64_t nothing =
		GEN(TPB)(0) + NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE;

	for (unsigned int i = 0; i < cases[_i].rung; i++)
		push(&f, &q, TX, i + 1 == cases[_i].hole ? nothing : HOST(IN), cases[_i].tx,
		     (i % cases[_i].sources ? 0 : FIRST) |
			     ((i + 1) % cases[_i].sources ? 0 : LAST));
	push_compute(HOST(OUT), cases[_i].rx, cases[_i].word);
	fill(IN, 64, 9);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, cases[_i].rung);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(error_code(), cases[_i].code);
	ck_assert_uint_eq(get64(f.host + NQ + NEURON_NQ_ENTRY_DATA),
			  cases[_i].hole ? nothing : HOST(cases[_i].source ? IN : OUT));
	for (unsigned int i = 0; i < 64; i++)
		ck_assert_uint_eq(f.host[OUT + i], 0);
	/* a reset of the queue, and it works */
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	compute(NEURON_DMA_CAST, NEURON_DT_UINT8, NEURON_DT_INT16, 1, HOST(IN), 0, HOST(OUT), 4);
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_uint_eq(element(f.host + OUT + i * 2, 2), f.host[IN + i]);
}
END_TEST
#define REFUSED 17

/* Sources that would be taken, were they rung, or were the second not the packet's last */
START_TEST(missing)
{
	static const uint32_t flags[][3] = { { FIRST, 0, LAST }, { FIRST, LAST, LAST } };

	for (unsigned int i = 0; i < 3; i++)
		push(&f, &q, TX, HOST(IN + 64 * i), 64, flags[_i][i]);
	push_compute(HOST(OUT), 64, WORD(ADD, FP32, FP32, 3));
	fill(IN, 3 * 64, 9);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, _i ? 3 : 2);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(error_code(), NEURON_NERR_DMA_DESC);
	for (unsigned int i = 0; i < 64; i++)
		ck_assert_uint_eq(f.host[OUT + i], 0);
}
END_TEST

/* Sums take twice as long for their bytes, and a descriptor for each source */
START_TEST(times)
{
	const struct neuron_costs *cost = &GEN_CHIP.target->cost;
	uint64_t perf = GEN(EXT) + GEN(PERF)(0) + GEN(PERF_CORE) + NEURON_PERF_DMA_BYTES;

	compute(NEURON_DMA_ADD, NEURON_DT_FP32, NEURON_DT_BF16, 4, HOST(IN), 0x1000, HOST(OUT),
		512);
	compute(NEURON_DMA_CAST, NEURON_DT_FP32, NEURON_DT_BF16, 1, HOST(IN), 0, HOST(OUT), 512);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_EXT), perf, 8), 5 * 2048);
	ck_assert_uint_gt(cost->dma_kib, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compute");
	TCase *t = tcase_create("compute");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, casts, 0, TYPES * TYPES);
	tcase_add_loop_test(t, reduces, 0, 15);
	tcase_add_loop_test(t, mixed, 0, 2);
	tcase_add_loop_test(t, refused, 0, REFUSED);
	tcase_add_loop_test(t, missing, 0, 2);
	tcase_add_test(t, times);
	suite_add_tcase(s, t);
	return check_run(s);
}
