/* SPDX-License-Identifier: MIT */
/*
 * What DMA engines compress, decompress and transpose (docs/hardware.md, Compressed streams). What
 * a stream is, is tests/unit/isa/test_compress.c's: here it is where its bytes go, and what becomes
 * of one that lies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chip_fixture.h"
#include "neuron/isa/compress.h"
#include "neuron/isa/table.h"

#define FIRST NEURON_UDMA_DESC_FIRST
#define LAST NEURON_UDMA_DESC_LAST
#define TX 0
#define RX 1
#define IN 0x800000u
#define STREAM 0x900000u
#define OUT 0x1000000u
#define NQ 0x700000
#define BYTES 6000u
#define WORD(op, type) NEURON_DMA_COMPUTE(NEURON_DMA_##op, NEURON_DT_##type, NEURON_DT_##type, 1)
#define TRANSPOSE(type, first, middle) NEURON_DMA_COMPUTE_TRANSPOSE(NEURON_DT_##type, first, middle)

static struct fixture f;
static struct ring q;
static struct neuron_stream_work work;

static void start(void)
{
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 256);
}

static void setup(void)
{
	uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	start();
	apb_write(&f, regs + GEN(NQ_BASE_LO), NQ);
	apb_write(&f, regs + GEN(NQ_BASE_HI), GEN(WINDOW_HOST) >> 32);
	apb_write(&f, regs + GEN(NQ_SIZE), 1024);
	for (uint32_t i = 0; i < NEURON_STREAM_RAW_MAX; i++) /* half of it repeats */
		f.host[IN + i] = (uint8_t)(i % 2 ? 0x3c + i / 512 % 3 : i * i >> 7);
}

static void teardown(void)
{
	fixture_free(&f);
}

static void push_rx(uint64_t dst, uint32_t len, uint32_t word)
{
	uint8_t *d = mem(&f, q.base[RX]) + q.next[RX] * NEURON_UDMA_DESC_SIZE;

	push(&f, &q, RX, dst, len, 0);
	put32(d + 4, word);
}

static void ring(uint32_t rx, uint32_t tx)
{
	doorbell(&f, &q, RX, rx);
	doorbell(&f, &q, TX, tx);
	settle(&f);
}

/* A stream of the first bytes at IN; returns its size */
static uint32_t make(uint32_t bytes, unsigned int width)
{
	return neuron_compress(f.host + IN, bytes, width, true, f.host + STREAM, &work);
}

static uint64_t perf(uint32_t rel)
{
	return ncore_mmio_read(f.chip, GEN(BAR_EXT), GEN(EXT) + GEN(PERF)(0) + GEN(PERF_CORE) + rel,
			       8);
}

static void counted(uint64_t from, uint64_t to, uint64_t c_from, uint64_t c_to, uint64_t refused)
{
	ck_assert_uint_eq(perf(NEURON_PERF_DECOMPRESSED_FROM), from);
	ck_assert_uint_eq(perf(NEURON_PERF_DECOMPRESSED_TO), to);
	ck_assert_uint_eq(perf(NEURON_PERF_COMPRESSED_FROM), c_from);
	ck_assert_uint_eq(perf(NEURON_PERF_COMPRESSED_TO), c_to);
	ck_assert_uint_eq(perf(NEURON_PERF_STREAMS_REFUSED), refused);
}

static void is_zero(uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(f.host[at + i], 0);
}

/* Into pieces of three sizes, that lie apart; the descriptor reads more than the stream */
START_TEST(pieces)
{
	static const uint32_t at[] = { 0, 5000, 100 }, len[] = { 1, 4000, BYTES - 4001 };
	uint32_t size = make(BYTES, 2), from = IN;

	push(&f, &q, TX, HOST(STREAM), size + 100, FIRST | LAST);
	for (unsigned int i = 0; i < 3; i++)
		push_rx(HOST(OUT + at[i]), len[i], WORD(DECOMPRESS, BF16));
	ring(3, 1);
	ck_assert(!queue_stopped(&f, &q));
	for (unsigned int i = 0; i < 3; from += len[i++])
		ck_assert_mem_eq(f.host + OUT + at[i], f.host + from, len[i]);
	is_zero(OUT + 1, 99);
	is_zero(OUT + 100 + len[2], 5000 - 100 - len[2]);
	is_zero(OUT + 9000, 100);
	counted(size, BYTES, 0, 0, 0);
	ck_assert_uint_eq(perf(NEURON_PERF_DMA_BYTES), size);
}
END_TEST

static const struct {
	uint32_t word;
	unsigned int width;
} types[] = { { NEURON_DT_FP32, 4 }, { NEURON_DT_BF16, 2 }, { NEURON_DT_INT8, 1 } };

/* Elements of several sources into a stream in DRAM, which becomes 64 rows of SBUF, and those it */
START_TEST(round_trip)
{
	const uint32_t dtype = types[_i].word, bytes = NEURON_STREAM_RAW_MAX;
	const uint64_t sbuf = GEN(TPB)(0);
	const uint32_t rows = 64;
	uint32_t size = make(bytes, types[_i].width);

	push(&f, &q, TX, HOST(IN), 3, FIRST);
	push(&f, &q, TX, HOST(IN + 3), 20000, 0);
	push(&f, &q, TX, HOST(IN + 20003), bytes - 20003, LAST);
	push_rx(0x100000, bytes - 4, NEURON_DMA_COMPUTE(NEURON_DMA_COMPRESS, dtype, dtype, 1));
	ring(1, 3);
	counted(0, 0, bytes, size, 0);
	push(&f, &q, TX, 0x100000, bytes - 4, FIRST | LAST);
	for (uint32_t i = 0; i < rows; i++)
		push_rx(sbuf + i * NEURON_SBUF_PART_STRIDE, bytes / rows,
			NEURON_DMA_COMPUTE(NEURON_DMA_DECOMPRESS, dtype, dtype, 1));
	ring(rows, 1);
	counted(size, bytes, bytes, size, 0);
	copy(&f, &q, 0x100000, HOST(STREAM + 0x20000), size); /* a host sees the stream */
	ck_assert_mem_eq(f.host + STREAM + 0x20000, f.host + STREAM, size);
	for (uint32_t i = 0; i < rows; i++)
		copy(&f, &q, sbuf + i * NEURON_SBUF_PART_STRIDE, HOST(OUT + i * (bytes / rows)),
		     bytes / rows);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
	ck_assert_mem_eq(f.host + OUT, f.host + IN, bytes);
}
END_TEST

static void stopped_with(uint16_t code, uint64_t data, uint32_t data2)
{
	const uint8_t *e = f.host + NQ;

	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(get32(e) >> 16, code);
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_ID), 2 << 8 | 15);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), data);
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_DATA2), data2);
}

/* The queue stops, nothing is written; after a reset it works */
static void nothing_written(void)
{
	uint32_t size;

	is_zero(OUT, 0x10000);
	start();
	size = make(BYTES, 2);
	push(&f, &q, TX, HOST(STREAM), size, FIRST | LAST);
	push_rx(HOST(OUT), BYTES, WORD(DECOMPRESS, BF16));
	ring(1, 1);
	ck_assert_mem_eq(f.host + OUT, f.host + IN, BYTES);
}

/* A stream that lies, by one byte; cut: what its descriptor has less */
START_TEST(lies)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		uint32_t cut;
		uint32_t reason;
	} lie[] = {
		{ NEURON_STREAM_AT_MAGIC, 0, 0, NEURON_STREAM_BAD_HEADER },
		{ NEURON_STREAM_AT_WIDTH, 4, 0, NEURON_STREAM_BAD_WIDTH },
		{ NEURON_STREAM_AT_RAW + 2, 2, 0, NEURON_STREAM_BAD_RAW },
		{ NEURON_STREAM_AT_SIZE + 2, 1, 0, NEURON_STREAM_BAD_SIZE },
		{ 0, 'N', 1, NEURON_STREAM_BAD_SIZE },
		{ NEURON_STREAM_HEADER, 7, 0, NEURON_STREAM_BAD_PLANE },
		{ NEURON_STREAM_AT_CHECK, 0, 0, NEURON_STREAM_BAD_CHECK },
	};
	uint32_t size = make(BYTES, 2);

	f.host[STREAM + lie[_i].at] = lie[_i].value;
	push(&f, &q, TX, HOST(STREAM), size - lie[_i].cut, FIRST | LAST);
	push_rx(HOST(OUT), BYTES, WORD(DECOMPRESS, BF16));
	ring(1, 1);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(STREAM), lie[_i].reason);
	counted(0, 0, 0, 0, 1);
	nothing_written();
}
END_TEST

/* Descriptors that do not hold the elements: more, less, and less before others that only copy */
START_TEST(room)
{
	static const struct {
		uint32_t len[2];
		uint32_t word;
	} cases[] = {
		{ { BYTES - 2 }, 0 },
		{ { BYTES + 2 }, 0 },
		{ { 4000, BYTES - 3999 }, WORD(DECOMPRESS, BF16) },
		{ { 4000, BYTES - 4001 }, WORD(DECOMPRESS, BF16) },
		{ { 4000, BYTES - 4000 }, WORD(DECOMPRESS, FP16) },
	};
	uint32_t size = make(BYTES, 2), n = cases[_i].len[1] ? 2 : 1;

	push(&f, &q, TX, HOST(STREAM), size, FIRST | LAST);
	push_rx(HOST(OUT), cases[_i].len[0], WORD(DECOMPRESS, BF16));
	if (n > 1)
		push_rx(HOST(OUT + 4000), cases[_i].len[1], cases[_i].word);
	ring(n, 1);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(STREAM), NEURON_STREAM_BAD_ROOM);
	nothing_written();
}
END_TEST

/* Too much room is said to be that, however many descriptors more than a packet has are behind it */
START_TEST(more_room)
{
	uint32_t n = 1 + GEN_CHIP.target->packet_max;

	push(&f, &q, TX, HOST(STREAM), make(BYTES, 2), FIRST | LAST);
	push_rx(HOST(OUT), BYTES + 2, WORD(DECOMPRESS, BF16));
	for (uint32_t i = 1; i < n; i++)
		push_rx(HOST(OUT) + 2 * BYTES + i, 1, WORD(DECOMPRESS, BF16));
	ring(n, 1);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(STREAM), NEURON_STREAM_BAD_ROOM);
	nothing_written();
}
END_TEST

/* No room for the stream: nothing of it is written */
START_TEST(no_room)
{
	uint32_t size = make(BYTES, 2);

	push(&f, &q, TX, HOST(IN), BYTES, FIRST | LAST);
	push_rx(HOST(OUT), size - 1, WORD(COMPRESS, BF16));
	ring(1, 1);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(OUT), NEURON_STREAM_BAD_ROOM);
	counted(0, 0, 0, 0, 1);
	nothing_written();
}
END_TEST

#define BF16_BOTH WORD(DECOMPRESS, BF16)

/* A descriptor with an invalid request for a stream stops its queue. */
START_TEST(refused)
{
	static const struct {
		uint32_t word, tx[2], ctrl[2];
		uint16_t code;
		unsigned int hole; /* 1: source, 2: destination behind which nothing lies */
	} cases[] = {
		{ BF16_BOTH | 1u << 15, { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ BF16_BOTH | 1u << 16, { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ BF16_BOTH ^ 0x40, { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ WORD(DECOMPRESS, INVALID), { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ BF16_BOTH, { BYTES, BYTES }, { FIRST, LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ BF16_BOTH, { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 1 },
		{ BF16_BOTH, { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 2 },
		{ WORD(COMPRESS, BF16), { BYTES - 1 }, { FIRST | LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ WORD(COMPRESS, BF16), { BYTES }, { FIRST }, NEURON_NERR_DMA_DESC, 0 },
		{ WORD(COMPRESS, BF16), { 0, 2 }, { FIRST, LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ WORD(COMPRESS, BF16),
		  { BYTES, 2 },
		  { FIRST, FIRST | LAST },
		  NEURON_NERR_DMA_DESC,
		  0 },
		{ WORD(COMPRESS, BF16), { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 1 },
		{ WORD(COMPRESS, BF16), { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 2 },
		{ WORD(COMPRESS, BF16), { BYTES }, { LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ TRANSPOSE(BF16, 4, 1), { BYTES }, { LAST }, NEURON_NERR_DMA_DESC, 0 },
		{ TRANSPOSE(BF16, 4, 1), { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 1 },
		{ TRANSPOSE(BF16, 4, 1), { BYTES }, { FIRST | LAST }, NEURON_NERR_DMA_ABORT, 2 },
	};
	const uint64_t nothing =
		GEN(TPB)(0) + NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE;
	uint32_t n = cases[_i].ctrl[1] ? 2 : 1;

	make(BYTES, 2);
	for (uint32_t i = 0; i < n; i++)
		push(&f, &q, TX, cases[_i].hole == 1 ? nothing : HOST(STREAM), cases[_i].tx[i],
		     cases[_i].ctrl[i]);
	push_rx(cases[_i].hole == 2 ? nothing : HOST(OUT), BYTES, cases[_i].word);
	ring(1, n);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(f.host + NQ) >> 16, cases[_i].code);
	counted(0, 0, 0, 0, 0);
	nothing_written();
}
END_TEST

/* A stream behind bytes that were only copied is no packet of its own */
START_TEST(not_alone)
{
	uint32_t size = make(BYTES, 2);

	push(&f, &q, TX, HOST(STREAM - 8), 8 + size, FIRST | LAST);
	push(&f, &q, RX, HOST(OUT + 0x20000), 8, 0);
	push_rx(HOST(OUT), BYTES, WORD(DECOMPRESS, BF16));
	ring(2, 1);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(f.host + NQ) >> 16, NEURON_NERR_DMA_DESC);
	nothing_written();
}
END_TEST

/* Nor is the rest of a packet whose beginning was only copied */
START_TEST(not_begun)
{
	static const uint32_t words[] = { WORD(COMPRESS, BF16), TRANSPOSE(BF16, 4, 1) };

	push(&f, &q, TX, HOST(IN), 8, FIRST);
	push(&f, &q, TX, HOST(IN + 8), BYTES, LAST);
	push(&f, &q, RX, HOST(OUT + 0x20000), 8, 0);
	push_rx(HOST(OUT), BYTES, words[_i]);
	ring(2, 2);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(f.host + NQ) >> 16, NEURON_NERR_DMA_DESC);
	nothing_written();
}
END_TEST

/* Descriptors behind it go on, and counters are a state's */
START_TEST(goes_on)
{
	uint32_t size = make(BYTES, 2);
	size_t bytes;
	void *state;

	for (unsigned int i = 0; i < 3; i++) {
		push(&f, &q, TX, HOST(STREAM), size, FIRST | LAST);
		push_rx(HOST(OUT + 0x2000 * i), BYTES, WORD(DECOMPRESS, BF16));
		push(&f, &q, TX, HOST(IN + i), 100, FIRST | LAST);
		push(&f, &q, RX, HOST(OUT + 0x10000 + 0x200 * i), 100, 0);
	}
	ring(6, 6);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_mem_eq(f.host + OUT + 0x2000 * i, f.host + IN, BYTES);
		ck_assert_mem_eq(f.host + OUT + 0x10000 + 0x200 * i, f.host + IN + i, 100);
	}
	counted(3ull * size, 3 * BYTES, 0, 0, 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &bytes), 0);
	ncore_chip_resume(f.chip);
	push(&f, &q, TX, HOST(STREAM), size, FIRST | LAST);
	push_rx(HOST(OUT), BYTES, WORD(DECOMPRESS, BF16));
	ring(1, 1);
	counted(4ull * size, 4 * BYTES, 0, 0, 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, bytes, NULL), 0);
	ncore_chip_resume(f.chip);
	free(state);
	counted(3ull * size, 3 * BYTES, 0, 0, 0);
}
END_TEST

/* A packet is done in one go: a state that has one in the middle is refused */
START_TEST(begun)
{
	static const uint32_t words[] = { WORD(DECOMPRESS, BF16), TRANSPOSE(BF16, 4, 1),
					  WORD(CAST, BF16) };
	const char *why = NULL;
	uint8_t *rx, *state;
	size_t bytes;
	void *buf;

	push(&f, &q, TX, HOST(IN), 8, FIRST);
	push_rx(HOST(OUT), BYTES, 0);
	ring(1, 1);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &bytes), 0);
	state = buf;
	rx = memmem(state, bytes, mem(&f, q.base[RX]), NEURON_UDMA_DESC_SIZE);
	ck_assert_ptr_nonnull(rx);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, bytes, &why), 0);
	put32(rx + 4, words[_i]);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, bytes, &why), -EINVAL);
	ck_assert_str_eq(why, "a descriptor whose bytes are computed is done in part");
	free(buf);
	ncore_chip_resume(f.chip);
}
END_TEST

/* A queue's time, as the refusal of what follows tells: that of the stream, or of half its elements
 */
START_TEST(times)
{
	const struct neuron_costs *cost = &GEN_CHIP.target->cost;
	uint32_t size, bytes;
	uint64_t want;

	if (_i)
		memset(f.host + IN, 0, 0x10000);
	size = make(0x10000, 2);
	bytes = size < 0x8000 ? 0x8000 : size;
	ck_assert(_i == (size < 0x8000));
	push(&f, &q, TX, HOST(STREAM), size, FIRST | LAST);
	push_rx(HOST(OUT), 0x10000, WORD(DECOMPRESS, BF16));
	push(&f, &q, TX, HOST(OUT + 0x20000), 32, FIRST | LAST);
	push_rx(HOST(OUT), 64, WORD(DECOMPRESS, BF16));
	ring(2, 2);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(OUT + 0x20000), NEURON_STREAM_BAD_HEADER);
	want = cost->descriptor + ((uint64_t)bytes * cost->dma_kib >> 10);
	ck_assert_uint_le(get64(f.host + NQ + NEURON_NQ_ENTRY_TIME), want);
	ck_assert_uint_ge(get64(f.host + NQ + NEURON_NQ_ENTRY_TIME) + 1, want);
}
END_TEST

/* A transpose takes the time of nine tenths of a copy's rate, to a byte's time. */
START_TEST(transpose_time)
{
	const struct neuron_costs *cost = &GEN_CHIP.target->cost;
	const uint64_t want = cost->descriptor + 0x10000ull * cost->dma_kib * 10 / (9 << 10);
	const uint64_t byte = (cost->dma_kib >> 10) + 1;

	push(&f, &q, TX, HOST(IN), 0x10000, FIRST | LAST);
	push_rx(HOST(OUT), 0x10000, TRANSPOSE(FP32, 128, 1));
	push(&f, &q, TX, HOST(OUT + 0x20000), 32, FIRST | LAST);
	push_rx(HOST(OUT), 64, WORD(DECOMPRESS, BF16));
	ring(2, 2);
	stopped_with(NEURON_NERR_DMA_STREAM, HOST(OUT + 0x20000), NEURON_STREAM_BAD_HEADER);
	ck_assert_uint_le(get64(f.host + NQ + NEURON_NQ_ENTRY_TIME), want + byte);
	ck_assert_uint_ge(get64(f.host + NQ + NEURON_NQ_ENTRY_TIME) + byte, want);
}
END_TEST

/* Elements [first, middle, last] of every kind of shape, with the first and the last exchanged */
static const struct {
	uint32_t first, middle, last;
	bool fp32;
} shapes[] = { { 128, 1, 128, true }, { 128, 1, 256, false }, { 1, 1, 77, false },
	       { 77, 1, 1, true },    { 3, 5, 7, false },     { 16, 16, 64, true },
	       { 4096, 1, 8, false }, { 2, 16, 33, true } };

START_TEST(transposes)
{
	const uint32_t first = shapes[_i].first, middle = shapes[_i].middle, last = shapes[_i].last;
	const uint32_t width = shapes[_i].fp32 ? 4 : 2, bytes = first * middle * last * width;
	const uint32_t word = NEURON_DMA_COMPUTE_TRANSPOSE(
		shapes[_i].fp32 ? NEURON_DT_FP32 : NEURON_DT_BF16, first, middle);
	/* rows of a few partitions, that lie apart; the last one takes what is left */
	const uint32_t pieces = last < 8 ? last : 8, row = last / pieces * first * middle * width;

	f.host[IN] = 0x7f; /* a signalling NaN stays one */
	f.host[IN + 1] = 0x80;
	f.host[IN + 2] = 0x80;
	f.host[IN + 3] = 0x7f;
	if (bytes > 3 * width) { /* sources end anywhere */
		push(&f, &q, TX, HOST(IN), 3, FIRST);
		push(&f, &q, TX, HOST(IN + 3), bytes - 3, LAST);
	} else {
		push(&f, &q, TX, HOST(IN), bytes, FIRST | LAST);
	}
	for (uint32_t i = 0; i < pieces; i++)
		push_rx(HOST(OUT + i * 0x20000), i + 1 < pieces ? row : bytes - i * row, word);
	ring(pieces, bytes > 3 * width ? 2 : 1);
	ck_assert(!queue_stopped(&f, &q));
	for (uint32_t l = 0; l < last; l++)
		for (uint32_t m = 0; m < middle; m++)
			for (uint32_t k = 0; k < first; k++) {
				const uint32_t to = ((l * middle + m) * first + k) * width;
				const uint32_t piece = to / row < pieces ? to / row : pieces - 1;

				ck_assert_mem_eq(
					f.host + OUT + piece * 0x20000 + to - piece * row,
					f.host + IN + ((k * middle + m) * last + l) * width, width);
			}
	ck_assert_uint_eq(perf(NEURON_PERF_DMA_BYTES), bytes);
	counted(0, 0, 0, 0, 0);
}
END_TEST

/*
 * Transposes are refused of types of one byte, of another number of elements, and into another
 * size.
 */
START_TEST(not_transposed)
{
	static const struct {
		uint32_t word, tx, rx;
	} cases[] = {
		{ TRANSPOSE(INT8, 4, 1), BYTES, BYTES },
		{ TRANSPOSE(INVALID, 4, 1), BYTES, BYTES },
		{ TRANSPOSE(BF16, 4, 1) ^ 0x40, BYTES, BYTES },
		{ TRANSPOSE(BF16, 4, 1) | 1u << 15, BYTES, BYTES },
		{ TRANSPOSE(BF16, 7, 1), BYTES, BYTES },
		{ TRANSPOSE(BF16, 4, 7), BYTES, BYTES },
		{ TRANSPOSE(BF16, 4096, 1), BYTES, BYTES },
		{ TRANSPOSE(BF16, 4, 1), BYTES, BYTES - 4 },
		{ TRANSPOSE(BF16, 4, 1), BYTES, BYTES + 4 },
	};

	push(&f, &q, TX, HOST(IN), cases[_i].tx, FIRST | LAST);
	push_rx(HOST(OUT), cases[_i].rx, cases[_i].word);
	ring(1, 1);
	stopped_with(NEURON_NERR_DMA_DESC, HOST(OUT), 0);
	nothing_written();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stream");
	TCase *t = tcase_create("stream");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, pieces);
	tcase_add_loop_test(t, round_trip, 0, 3);
	tcase_add_loop_test(t, lies, 0, 7);
	tcase_add_loop_test(t, room, 0, 5);
	tcase_add_test(t, more_room);
	tcase_add_test(t, no_room);
	tcase_add_loop_test(t, refused, 0, 17);
	tcase_add_loop_test(t, transposes, 0, 8);
	tcase_add_loop_test(t, not_transposed, 0, 9);
	tcase_add_test(t, not_alone);
	tcase_add_loop_test(t, not_begun, 0, 2);
	tcase_add_test(t, goes_on);
	tcase_add_loop_test(t, begun, 0, 3);
	tcase_add_loop_test(t, times, 0, 2);
	tcase_add_test(t, transpose_time);
	suite_add_tcase(s, t);
	return check_run(s);
}
