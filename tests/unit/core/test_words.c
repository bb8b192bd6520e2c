/* SPDX-License-Identifier: MIT */
/*
 * Semaphores and events that one writer changes when its own virtual time is late, and then,
 * because the host has seen that, another one whose time is early: each pair of writers and each
 * kind of word (docs/isa.md, Order). What comes later for the host is what remains.
 */
#include "program.h"

#include <stdlib.h>

#if defined(TRAINIUM_GEN) || defined(TRAINIUM2_GEN)
#define WITH_TOPSP
#endif

#define ONE 0x3f0000 /* host: the value that a descriptor brings */
#define RINGS 0x500000 /* host */
#define LATE 200 /* instructions or descriptors before the word is written */
#define LEN 1024 /* descriptors of a ring */

/* A word as devices and as the host reach it */
struct word {
	uint64_t address, bar_offset;
	unsigned int bar;
};

enum kind { EVENT, READ, SET, INC, DEC };

/* Index of the word in its array: any but those that programs of this suite use */
#define INDEX 9

static uint64_t core_word(enum kind kind)
{
	static const uint64_t at[] = { GEN(TPB_EVENTS), GEN(TPB_SEM_READ), GEN(TPB_SEM_SET),
				       GEN(TPB_SEM_INC), GEN(TPB_SEM_DEC) };

	return at[kind] + 4 * INDEX;
}

static struct word word_of(bool topsp, enum kind kind)
{
	uint64_t at = core_word(kind);

#ifdef WITH_TOPSP
	if (topsp) {
		at -= GEN(TPB_EVENTS);
		return (struct word){ GEN(TOPSP)(0) + at, GEN(TOPSP_BAR)(0) + at, 0 };
	}
#endif
	return (struct word){ CORE(0) + at, GEN(TPB_BAR)(0) + at, GEN(BAR_CORES) };
}

static uint32_t read_word(bool topsp, enum kind kind)
{
	const struct word w = word_of(topsp, kind);

	return (uint32_t)ncore_mmio_read(f.chip, w.bar, w.bar_offset, 4);
}

/* Writers. order: the first of a test is late, the second one begins at the earliest time there is */

static void by_host(const struct word *w, uint32_t value, unsigned int order)
{
	ncore_mmio_write(f.chip, w->bar, w->bar_offset, 4, value);
}

static void by_host_dma(const struct word *w, uint32_t value, unsigned int order)
{
	const uint64_t rings = HOST(RINGS + order * 0x10000);
	struct ring q;

	queue_init(&f, &q, 1, 4 + order, rings, rings + 0x8000, LEN);
	put32(f.host + ONE, value);
	for (unsigned int i = 0; i < LATE && !order; i++)
		copy(&f, &q, HOST(ONE), HOST(ONE + 64), 4);
	copy(&f, &q, HOST(ONE), w->address, 4);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
}

/* A program of a core that writes up to two words, and then is over */
static void run(unsigned int nc, unsigned int order, uint64_t a, uint32_t va, uint64_t b,
		uint32_t vb)
{
	const unsigned int e = order ? NEURON_ENG_ACT : NEURON_ENG_SP;
	struct ring q;

	prog_len[e] = 0;
	emit_start(e);
	for (unsigned int i = 0; i < LATE && !order; i++)
		emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	emit(e,
	     &(struct neuron_insn){ .opcode = NEURON_OP_WRITE, .write = { { a, va }, { b, vb } } });
	fetch(nc, e, &q);
	settle(&f);
}

static void by_core(const struct word *w, uint32_t value, unsigned int order)
{
	run(0, order, w->address, value, 0, 0);
}

static void by_other_core(const struct word *w, uint32_t value, unsigned int order)
{
	run(1, order, w->address, value, 0, 0);
}

static void by_core_dma(const struct word *w, uint32_t value, unsigned int order)
{
	const uint64_t rings = HOST(RINGS + order * 0x10000);
	struct ring q;

	queue_init(&f, &q, 1, 4 + order, rings, rings + 0x8000, LEN);
	put32(f.host + ONE, value);
	write_desc(mem(&f, rings), 0, HOST(ONE), 4, true);
	write_desc(mem(&f, rings + 0x8000), 0, w->address, 4, false);
	run(0, order, tail_inc(1, 4 + order, true), 1, tail_inc(1, 4 + order, false), 1);
}

/* A queue of the host's that has fed the core, and from then on works where that one does */
static void by_feeding_queue(const struct word *w, uint32_t value, unsigned int order)
{
	const uint64_t rings = HOST(RINGS + order * 0x10000);
	struct ring q;

	queue_init(&f, &q, 1, 4 + order, rings, rings + 0x8000, LEN);
	put32(f.host + ONE, value);
	prog_len[NEURON_ENG_POOL] = 0;
	emit_start(NEURON_ENG_POOL);
	copy(&f, &q, HOST(PROG + NEURON_ENG_POOL * PROG_SIZE),
	     CORE(0) + GEN(TPB_FIFO)(NEURON_ENG_POOL), NEURON_INSN_WORD);
	settle(&f);
	for (unsigned int i = 0; i < LATE && !order; i++)
		copy(&f, &q, HOST(ONE), HOST(ONE + 64), 4);
	copy(&f, &q, HOST(ONE), w->address, 4);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
}

static struct fixture other;

static void by_neighbour(const struct word *w, uint32_t value, unsigned int order)
{
	const uint64_t rings = HOST(RINGS + order * 0x10000);
	struct ring q;

	queue_init(&other, &q, 1, 4 + order, rings, rings + 0x8000, LEN);
	put32(other.host + ONE, value);
	for (unsigned int i = 0; i < LATE && !order; i++)
		copy(&other, &q, HOST(ONE), HOST(ONE + 64), 4);
	copy(&other, &q, HOST(ONE), GEN(WINDOW_WEST) | w->address, 4);
	settle(&other);
	settle(&f);
	ck_assert(!queue_stopped(&other, &q));
}

static void (*const writers[])(const struct word *w, uint32_t value, unsigned int order) = {
	by_host, by_host_dma, by_core, by_other_core, by_core_dma, by_feeding_queue, by_neighbour,
};
#define WRITERS (sizeof(writers) / sizeof(writers[0]))

static struct ncore_fabric *fabric;

static void set_up(void)
{
	fixture_init(&f, 2);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, 2, &fabric), 0);
	fixture_new_in(&f, f.pool, fabric, 0);
	fixture_init(&other, 1);
	fixture_new_in(&other, other.pool, fabric, 1);
	memset(prog_len, 0, sizeof(prog_len));
}

static void tear_down(void)
{
	ncore_fabric_free(fabric);
	fixture_free(&f);
	fixture_free(&other);
}

static void write_by(unsigned int writer, bool topsp, enum kind kind, uint32_t value,
		     unsigned int order)
{
	const struct word w = word_of(topsp, kind);

	writers[writer](&w, value, order);
}

#define PAIR(i) (i) / 2 % WRITERS, (i) / 2 / WRITERS, (i) % 2 /* first, second, of a TOP_SP */
#define PAIRS (int)(2 * WRITERS * WRITERS)

static const struct {
	enum kind kind;
	uint32_t before; /* set by the first */
	enum kind then;
	uint32_t value, after;
} changes[] = {
	{ EVENT, 7, EVENT, 0, 0 },
	{ SET, 5, SET, 9, 9 },
	{ SET, 5, SET, 0, 0 },
	{ SET, 5, DEC, 3, 2 },
	{ INC, 5, DEC, 5, 0 },
	{ INC, 5, INC, 3, 8 },
	{ SET, UINT32_MAX, DEC, 1, UINT32_MAX - 1 },
};
#define CHANGES (int)(sizeof(changes) / sizeof(changes[0]))

static void pair(unsigned int first, unsigned int second, bool topsp, unsigned int c)
{
	const enum kind shown = changes[c].kind == EVENT ? EVENT : READ;

#ifndef WITH_TOPSP
	if (topsp)
		return;
#endif
	write_by(first, topsp, changes[c].kind, changes[c].before, 0);
	ck_assert_uint_eq(read_word(topsp, shown), changes[c].before);
	write_by(second, topsp, changes[c].then, changes[c].value, 1);
	ck_assert_uint_eq(read_word(topsp, shown), changes[c].after);
}

START_TEST(pairs)
{
	for (unsigned int c = 0; c < CHANGES; c++) {
		if (c) {
			tear_down();
			set_up();
		}
		pair(PAIR(_i), c);
	}
}
END_TEST

/* An event that goes to and fro between the host and any other, who all have times of their own */
START_TEST(one_by_one)
{
	for (unsigned int i = 0; i < 6; i++) {
		write_by(_i, false, EVENT, 1, i ? 1 : 0);
		ck_assert_uint_eq(read_word(false, EVENT), 1);
		write_by(0, false, EVENT, 0, 1);
		ck_assert_uint_eq(read_word(false, EVENT), 0);
	}
}
END_TEST

/* The host knows what it has written, though it has not read that back: what it starts finds it */
START_TEST(known_to_the_host)
{
	write_by(1, _i, SET, 3, 0);
	write_by(0, _i, SET, 2, 1);
	write_by(2, _i, DEC, 2, 1);
	ck_assert_uint_eq(read_word(_i, READ), 0);
}
END_TEST

/* Nor need it have read what a queue of its own, or a neighbour's, did before it did more */
START_TEST(unread)
{
	static const unsigned int first[] = { 1, 5, 6 }, second[] = { 0, 1, 5, 6 };

	write_by(first[_i % 3], false, EVENT, 1, 0);
	write_by(second[_i / 3], false, EVENT, 0, 1);
	ck_assert_uint_eq(read_word(false, EVENT), 0);
}
END_TEST

static uint64_t noted(unsigned int e)
{
	ck_assert_uint_ne(get32(entry(e, 0) + NEURON_NQ_ENTRY_PHASE), 0);
	return get64(entry(e, 0) + NEURON_NQ_ENTRY_TIME);
}

/* PE notifies when the word is at least so much; nothing else has a time yet */
static void start_waiter(uint32_t value)
{
	struct ring q;

	notify_queue(0, NEURON_ENG_PE, HOST(NOTIFY + NEURON_ENG_PE * NOTIFY_SIZE), NOTIFY_SIZE);
	emit_start(NEURON_ENG_PE);
	emit_wait(NEURON_ENG_PE, INDEX, value);
	emit_notify(NEURON_ENG_PE, 0);
	fetch(0, NEURON_ENG_PE, &q);
}

/*
 * A set takes effect after the word's last change, here one behind 200 descriptors and
 * instructions.
 */
START_TEST(set_comes_after)
{
	start_waiter(7);
	write_by(1, false, SET, 5, 0);
	write_by(3, false, SET, 9, 1);
	settle(&f);
	ck_assert_uint_ge(noted(NEURON_ENG_PE), LATE * 10000);
}
END_TEST

/* The host's addition to a word has the time of the latest notification. */
START_TEST(added_after_notification)
{
	const unsigned int sp = NEURON_ENG_SP;
	struct ring q;

	start_waiter(1);
	notify_queue(0, sp, HOST(NOTIFY + sp * NOTIFY_SIZE), NOTIFY_SIZE);
	emit_start(sp);
	for (unsigned int i = 0; i < LATE; i++)
		emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	emit_notify(sp, 0);
	fetch(0, sp, &q);
	settle(&f);
	write_by(0, false, INC, 1, 1);
	settle(&f);
	ck_assert_uint_ge(noted(NEURON_ENG_PE), noted(sp));
}
END_TEST

static void *saved(size_t *size)
{
	void *buf;

	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, size), 0);
	ncore_chip_resume(f.chip);
	return buf;
}

static void load(void *buf, size_t size)
{
	const char *why;

	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, buf, size, &why), 0);
	ncore_chip_resume(f.chip);
	free(buf);
}

/* However the host reads a word, also one of a state that was loaded, it knows its last change */
START_TEST(ways_to_read)
{
	const struct word w = word_of(false, EVENT);
	const uint64_t rings = HOST(RINGS + 0x40000);
	struct ring q;
	size_t size;
	void *buf;

	write_by(1, false, EVENT, 1, 0);
	if (_i == 0) {
		ck_assert_uint_eq(fwio_read(&f, w.address), 1);
	} else if (_i == 1) {
		queue_init(&f, &q, 1, 7, rings, rings + 0x8000, LEN);
		copy(&f, &q, w.address, HOST(ONE), 4);
		settle(&f);
		ck_assert_uint_eq(get32(f.host + ONE), 1);
	} else {
		buf = saved(&size);
		load(buf, size);
		ck_assert_uint_eq(read_word(false, EVENT), 1);
	}
	write_by(2, false, EVENT, 0, 1);
	ck_assert_uint_eq(read_word(false, EVENT), 0);
}
END_TEST

/* A second clearing or setting is refused and reported as before, and so is what goes below 0 */
START_TEST(refused)
{
	const uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS), base = HOST(NOTIFY);

	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), 4096);
	write_by(1, false, EVENT, 1, 0);
	write_by(0, false, EVENT, 1, 1);
	write_by(1, false, SET, 2, 0);
	write_by(0, false, DEC, 3, 1);
	ck_assert_uint_eq(read_word(false, EVENT), 1);
	ck_assert_uint_eq(read_word(false, READ), 2);
	ck_assert_uint_eq(f.host[NOTIFY + NEURON_NQ_ENTRY_CODE], NEURON_NERR_EVT_DOUBLE_SET);
	ck_assert_uint_eq(f.host[NOTIFY + NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_CODE],
			  NEURON_NERR_SEM_OVERFLOW);
	ck_assert_uint_eq(get32(f.host + NOTIFY + 2 * NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_PHASE),
			  0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("words");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, pairs, 0, PAIRS);
	tcase_add_loop_test(t, one_by_one, 1, 3);
#ifdef WITH_TOPSP
	tcase_add_loop_test(t, known_to_the_host, 0, 2);
#else
	tcase_add_loop_test(t, known_to_the_host, 0, 1);
#endif
	tcase_add_loop_test(t, unread, 0, 12);
	tcase_add_test(t, set_comes_after);
	tcase_add_test(t, added_after_notification);
	tcase_add_loop_test(t, ways_to_read, 0, 3);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return check_run(s);
}
