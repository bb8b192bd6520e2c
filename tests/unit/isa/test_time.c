/* SPDX-License-Identifier: MIT */
/*
 * The order in which a core's engines execute, and what each finds of what others changed:
 * docs/isa.md, Order. Times are in units of the least costly instruction; the engines used here
 * have one clock.
 */
#include "fixture.h"

#define UNIT ((uint64_t)m.target.cost.least * m.target.engine[A].cycle)
#define STARTUP ((uint64_t)m.target.cost.startup * m.target.engine[A].cycle)

/* Two engines that differ only in their place in the table; B is behind */
enum { A = NEURON_ENG_ACT, B = NEURON_ENG_SP };

static void setup_equal(void)
{
	static struct neuron_engine engine[NEURON_ENGINES_MAX];

	setup();
	memcpy(engine, m.target.engine, m.target.engines * sizeof(engine[0]));
	m.target.engine = engine;
	for (unsigned int e = 0; e < m.target.engines; e++)
		engine[e].cycle = 700;
}

static struct neuron_insn when(uint8_t wait, uint32_t value)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_NOP, .wait = wait, .wait_index = 5, .wait_value = value
	};
}

static struct neuron_insn count(uint8_t update)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_NOP, .update = update, .update_index = 5 };
}

static void push(unsigned int engine, struct neuron_insn insn, uint64_t time)
{
	machine_push(&m, engine, &insn, time);
}

static void run(void)
{
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
}

/* The time at which the engine's last instruction, of the least cost, began */
static uint64_t began(unsigned int engine)
{
	return tpb_time(m.tpb, engine) - UNIT;
}

/* A wait for the n-th increment ends when that happened, even if all have happened by then. */
START_TEST(nth_increment)
{
	for (int i = 0; i < 10; i++)
		push(A, count(NEURON_UPD_SEM_INC), 0);
	run();
	ck_assert_uint_eq(tpb_time(m.tpb, A), 10 * UNIT);
	push(B, when(NEURON_WAIT_SEM_GE, _i), 0);
	run();
	ck_assert_uint_eq(began(B), _i * UNIT);
}
END_TEST

/* A write of an engine that is ahead in time is not seen by one that is behind. */
START_TEST(later_is_not_yet)
{
	struct neuron_insn longer = memset_insn(0, 1);

	longer.dst.num[3] = 300;
	longer.update = NEURON_UPD_SEM_INC;
	longer.update_index = 5;
	push(A, longer, 0);
	push(B, nop(), 0);
	push(B, when(NEURON_WAIT_SEM_LE, 0), 0);
	run();
	ck_assert_uint_eq(began(B), UNIT);
	push(A, count(NEURON_UPD_SEM_INC), 0);
	run();
	/* it was 1 for a while, and is 2 */
	push(B, when(NEURON_WAIT_SEM_EQ, 1), 0);
	run();
	ck_assert_uint_eq(began(B), 300 * 700 + STARTUP);
	push(B, when(NEURON_WAIT_SEM_LE, 1), 600 * 700);
	run();
	ck_assert_uint_eq(executed(B), 3); /* and only after it was decremented again */
	push(A, count(NEURON_UPD_SEM_DEC), 900 * 700);
	run();
	ck_assert_uint_eq(began(B), 900 * 700 + UNIT);
}
END_TEST

START_TEST(later_event)
{
	push(A, count(NEURON_UPD_EVT_SET), 10 * UNIT);
	push(A, count(NEURON_UPD_EVT_CLR), 20 * UNIT);
	run();
	ck_assert_uint_eq(m.notes, 0);
	push(B, when(NEURON_WAIT_EVT_CLR, 0), 0);
	run();
	ck_assert_uint_eq(began(B), 0);
	push(B, when(NEURON_WAIT_EVT_SET, 0), 0);
	run();
	ck_assert_uint_eq(began(B), 11 * UNIT);
	push(B, when(NEURON_WAIT_EVT_CLR, 0), 0);
	run();
	ck_assert_uint_eq(began(B), 21 * UNIT);
}
END_TEST

/* An update that comes late and is refused leaves the word as it is, too. */
START_TEST(late_event)
{
	tpb_event_write(m.tpb, 5, 7, 100);
	tpb_event_write(m.tpb, 5, 0, 200);
	tpb_event_write(m.tpb, 5, 9, 150);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_EVT_DOUBLE_SET);
	ck_assert_uint_eq(tpb_event_read(m.tpb, 5), 0);
}
END_TEST

/* An engine knows its own update, even when that is not complete as it looks. */
START_TEST(own_update)
{
	struct neuron_insn first = memset_insn(0, 1);

	first.update = NEURON_UPD_SEM_INC;
	first.update_index = 5;
	push(A, first, 0);
	push(A, when(NEURON_WAIT_SEM_LE, 0), 0);
	run();
	ck_assert_uint_eq(executed(A), 1);
	push(B, count(NEURON_UPD_SEM_DEC), 5 * UNIT);
	run();
	ck_assert_uint_eq(began(A), 6 * UNIT);
}
END_TEST

/*
 * The instruction that starts first is executed first; of two that start at the same time, the
 * first engine's.
 */
START_TEST(starts_first)
{
	struct neuron_insn one = memset_insn(0, 1), two = memset_insn(0, 2);
	float last;

	push(NEURON_ENG_ACT, one, _i == 2 ? 1 : 0);
	push(NEURON_ENG_POOL, two, _i == 1 ? 1 : 0);
	run();
	memcpy(&last, m.sbuf, sizeof(last));
	ck_assert_float_eq(last, _i == 2 ? 1 : 2);
}
END_TEST

/* A change that comes late, from another core, is inserted at its time. */
START_TEST(late_change)
{
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 1, 5000);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 2, 100);
	tpb_sem_write(m.tpb, TPB_SEM_DEC, 5, 1, 50);
	ck_assert_uint_eq(m.notes, 1); /* it was 0 then */
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_SEM_OVERFLOW);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 5), 3);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 99), 0);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 100), 2);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 4999), 2);
	push(B, when(NEURON_WAIT_SEM_GE, 2), 0);
	run();
	ck_assert_uint_eq(began(B), 100);
	push(A, when(NEURON_WAIT_SEM_GE, 3), 0);
	run();
	ck_assert_uint_eq(began(A), 5000);
	/* a change is refused as well if it makes a later one leave the range */
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, UINT32_MAX - 2, 200);
	ck_assert_uint_eq(m.notes, 2);
	/* setting a value drops later changes */
	tpb_sem_write(m.tpb, TPB_SEM_SET, 5, 9, 300);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 5), 9);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 299), 2);
}
END_TEST

/* Changes of the same time count as one, in whatever order they came. */
START_TEST(same_time)
{
	push(B, when(NEURON_WAIT_SEM_EQ, 1), 0);
	push(A, when(NEURON_WAIT_SEM_EQ, 2), 0);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 2, 700);
	tpb_sem_write(m.tpb, TPB_SEM_DEC, 5, 1, 700);
	run();
	ck_assert_uint_eq(executed(A), 0);
	ck_assert_uint_eq(began(B), 700);
}
END_TEST

/* The last sixteen changes are kept; a look further back finds the oldest of them. */
START_TEST(forgets)
{
	for (int i = 1; i <= 20; i++)
		tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 1, (uint64_t)i * 1000);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 0), 5);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 6000), 6);
	push(B, when(NEURON_WAIT_SEM_GE, 2), 0);
	run();
	ck_assert_uint_eq(began(B), 5000);
	push(A, when(NEURON_WAIT_SEM_LE, 3), 0);
	run();
	ck_assert_uint_eq(executed(A), 0);
	/* a change older than all of them counts from the oldest one on */
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 1, 10);
	ck_assert_uint_eq(tpb_sem_at(m.tpb, 5, 10), 6);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 5), 21);
}
END_TEST

/*
 * A state may have sixteen changes at most, in the order of their times, the last of which is the
 * semaphore's value.
 */
START_TEST(hostile_past)
{
	static const struct {
		unsigned int at, size;
		uint64_t value;
	} wrong[] = { { 2, 8, 700 }, { 2 + 12 + 8, 4, 3 } };
	struct tpb *t = m.tpb;
	uint8_t *state, *past;
	int64_t size;

	tpb_sem_write(t, TPB_SEM_INC, 0, 1, 600);
	tpb_sem_write(t, TPB_SEM_INC, 0, 1, 700);
	size = tpb_save(t, NULL, 0);
	state = malloc((size_t)size);
	ck_assert_int_eq(tpb_save(t, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(t, state, (uint64_t)size), 0);
	ck_assert_uint_eq(tpb_sem_at(t, 0, 699), 1);
	past = memmem(state, (size_t)size, "\2\0\x58\2\0\0\0\0\0\0\1\0\0\0\xbc\2", 16);
	ck_assert_ptr_nonnull(past);
	memcpy(past + wrong[_i].at, &wrong[_i].value, wrong[_i].size);
	ck_assert_int_eq(tpb_load(t, state, (uint64_t)size), -EINVAL);
	ck_assert_uint_eq(tpb_sem_read(t, 0), 0);
	free(state);
}
END_TEST

/* One change more than there is room for, in a state that is otherwise valid */
START_TEST(too_long_past)
{
	const uint64_t time = 100;
	uint8_t *state, *past, *end;
	const uint32_t value = TPB_PAST;
	int64_t size;

	for (unsigned int i = 1; i <= TPB_PAST; i++)
		tpb_sem_write(m.tpb, TPB_SEM_INC, 0, 1, 1000 * i);
	size = tpb_save(m.tpb, NULL, 0);
	state = malloc((size_t)size + 12);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	past = memmem(state, (size_t)size, "\x10\0\xe8\3\0\0\0\0\0\0\1\0\0", 13);
	ck_assert_ptr_nonnull(past);
	*past = TPB_PAST + 1;
	end = past + 2 + TPB_PAST * 12;
	memmove(end + 12, end, (size_t)(state + size - end));
	memcpy(end, &time, 8);
	memcpy(end + 8, &value, 4);
	ck_assert_int_eq(tpb_load(m.tpb, state, (uint64_t)size + 12), -EINVAL);
	free(state);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("time");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup_equal, teardown);
	tcase_add_loop_test(tc, nth_increment, 1, 11);
	tcase_add_test(tc, later_is_not_yet);
	tcase_add_test(tc, later_event);
	tcase_add_test(tc, late_event);
	tcase_add_test(tc, own_update);
	tcase_add_loop_test(tc, starts_first, 0, 3);
	tcase_add_test(tc, late_change);
	tcase_add_test(tc, same_time);
	tcase_add_test(tc, forgets);
	tcase_add_loop_test(tc, hostile_past, 0, 2);
	tcase_add_test(tc, too_long_past);
	suite_add_tcase(s, tc);
	return check_run(s);
}
