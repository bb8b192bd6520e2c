/* SPDX-License-Identifier: MIT */
/*
 * Saved states that were changed in one place: each is refused for what was changed, and a chip
 * fresh from reset remains. The state of an idle chip ends with its strands: the times of what
 * transfers share (each DMA engine, core, port and the DRAM), then twenty zero bytes: how many
 * queues are ready, which of them was left in its packet, how many are stalled, the posted writes
 * that come and go. Before the strands are the TOP_SPs.
 */
#include "chip_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRANDS (GEN(NC_PER_DEVICE) + 1) /* one a core, and the host's */
#define TIMES (8 * (GEN(DMA_ENGINES) + GEN(NC_PER_DEVICE) + GEN_CHIP.window.ports + 1))
#define STRAND (TIMES + 20)
#define QUEUES (GEN(DMA_ENGINES) * 16u)
#define MISC GEN(APB_MISC_RAM)

static struct fixture f;
static uint8_t *state;
/*
 * Bytes at the end of the state of a chip whose instructions make transfers: how many queues have
 * some
 */
#define TRANSFERS (GEN_CHIP.target->core > 1 ? 4u : 0u)
#define ANOTHER_VERSION \
	(TRANSFERS ? "a state of another version than 8" : "a state of another version than 4 or 5")
static size_t size;

static void setup(void)
{
	void *buf;

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &size), 0);
	/* with room for what a test inserts */
	state = calloc(1, size + 64);
	memcpy(state, buf, size);
	free(buf);
}

static void teardown(void)
{
	free(state);
	fixture_free(&f);
}

/* Copies the state to memory of its own size, so that the sanitizer reports a read behind it. */
static void refused(size_t n, int error, const char *why)
{
	const char *reason = NULL;
	uint8_t *copy = malloc(n);

	memcpy(copy, state, n);
	ck_assert_int_eq(ncore_chip_load(f.chip, copy, n, &reason), error);
	free(copy);
	ck_assert_ptr_nonnull(reason);
	ck_assert_str_eq(reason, why);
	ck_assert_uint_eq(fwio_read(&f, GEN(REG)(MISC) + GEN(READY_WORD)), GEN_STATUS(0));
}

/* Inserts words at a place, before what is there. */
static void insert(uint8_t *at, const uint32_t *words, unsigned int n)
{
	memmove(at + 4 * n, at, (size_t)(state + size - at));
	for (unsigned int i = 0; i < n; i++)
		put32(at + 4 * i, words[i]);
	size += 4 * n;
}

static uint8_t *strand(unsigned int i)
{
	return state + size - TRANSFERS - (STRANDS - i) * STRAND + TIMES;
}

START_TEST(accepted)
{
	const char *reason = NULL;

	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ck_assert_ptr_null(reason);
}
END_TEST

START_TEST(cut_off)
{
	for (size_t n = 0; n < size; n += n < 64 ? 1 : 70001)
		refused(n, -EINVAL, "the state is cut off");
	refused(size - 1, -EINVAL, "the state is cut off");
}
END_TEST

START_TEST(heads)
{
	state[0] ^= 1;
	refused(size, -EINVAL, "not a chip's state");
	state[0] ^= 1;
	state[8]++;
	refused(size, -ENOTSUP, ANOTHER_VERSION);
	state[8] = 3;
	refused(size, -ENOTSUP, ANOTHER_VERSION);
	state[8] = TRANSFERS ? 8 : 5;
	state[12]++;
	refused(size, -ENOTSUP, "a state of another generation of chips");
	state[12]--;
	size++;
	refused(size, -EINVAL, "the state is followed by something else");
}
END_TEST

/* A chip has a fixed number of queues, and each is in exactly one list. */
START_TEST(lists)
{
	static const uint32_t ids[][2] = { { QUEUES, 0 }, { UINT32_MAX, 0 }, { 5, 5 } };
	unsigned int n = ids[_i][1] ? 2 : 1;
	uint8_t *ready = strand(STRANDS - 1);

	put32(ready, n);
	insert(ready + 4, ids[_i], n);
	refused(size, -EINVAL, "a queue is listed twice or does not exist");
}
END_TEST

START_TEST(left_in_a_packet)
{
	put32(strand(1) + 4, 1);
	refused(size, -EINVAL, "no ready queue was left in its packet");
}
END_TEST

START_TEST(posted_writes)
{
	static const uint32_t post[] = { 0x1000, 0, 1, 0, 0 }; /* to DRAM */
	uint8_t *inbox = strand(0) + 12;

	put32(inbox, 1u << 20);
	refused(size, -EINVAL, "too many posted writes");
	put32(inbox, 1);
	insert(inbox + 4, post, 5);
	refused(size, -EINVAL, "a posted write goes nowhere");
}
END_TEST

/* Inferentia's state is what it was in version 4; those of other chips are not */
START_TEST(older)
{
	const char *reason = NULL;

	state[8]--;
	if (TRANSFERS)
		refused(size, -ENOTSUP, ANOTHER_VERSION);
	else
		ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	state[8]--;
	refused(size, -ENOTSUP, ANOTHER_VERSION);
}
END_TEST

/* A queue's transfers at the end of a state, in words, one of which is something else */
START_TEST(transfers)
{
	static const struct {
		unsigned int at;
		uint32_t value;
		const char *why; /* NULL: it is accepted */
	} wrong[] = {
		{ 0, 1, NULL },
		{ 0, 2, "the state is cut off" },
		{ 1, 1u << 20, "transfers of no queue" },
		{ 2, 0, "a queue has no transfers, or too many" },
		{ 2, 65, "a queue has no transfers, or too many" },
		{ 6, 3, "a transfer has too many runs, or not as many in its halves" },
	};
	/* queues, number, transfers, after; source; destination; run, semaphore, at, open */
	uint8_t list[4 * 4 + 2 * (8 + 3 * 6) + 4 + 1 + 4 + 1] = { 0 }, *at = list;
	const char *reason = NULL;

	if (!TRANSFERS)
		return;
	for (unsigned int i = 0; i < 3; i++)
		put32(list + 4 * i, i != 1);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int d = 0; d < 3; d++)
			list[16 + 26 * i + 8 + 6 * d + 4] = 1;
	list[16 + 52] = 64;
	if (wrong[_i].at == 6)
		list[16 + 8 + 4] = 3;
	else
		put32(at + 4 * wrong[_i].at, wrong[_i].value);
	size -= 4;
	state = realloc(state, size + sizeof(list));
	memcpy(state + size, list, sizeof(list));
	size += sizeof(list);
	if (wrong[_i].why)
		refused(size, -EINVAL, wrong[_i].why);
	else
		ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
}
END_TEST

#if GEN(TOPSPS)
START_TEST(topsps)
{
	uint8_t *used = strand(0) - TIMES - 1;

	*used = 2;
	refused(size, -EINVAL, "not a truth value");
	*used = 1; /* and the first strand's first time, which is 0, as the size of its words */
	refused(size, -EINVAL, "a TOP_SP's state is refused");
}
END_TEST

/* A saved write of an instruction is accepted only if its word of a TOP_SP can be written. */
START_TEST(posted_to_topsp)
{
	const uint64_t to = GEN(TOPSP)(1) + (_i ? 0x1000 : 0x1800);
	const uint32_t post[] = { (uint32_t)to, (uint32_t)(to >> 32), 1, 0, 0 };
	const char *reason = NULL;
	uint8_t *out = strand(0) + 16;

	put32(out, 1);
	insert(out + 4, post, 5);
	if (_i) {
		refused(size, -EINVAL, "a posted write goes nowhere");
		return;
	}
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ncore_chip_resume(f.chip);
	settle(&f);
	ck_assert_uint_eq(apb_read(&f, GEN(TOPSP_BAR)(1) + 0x1000), 1);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("state");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, accepted);
	tcase_add_test(t, cut_off);
	tcase_add_test(t, heads);
	tcase_add_loop_test(t, lists, 0, 3);
	tcase_add_test(t, left_in_a_packet);
	tcase_add_test(t, posted_writes);
	tcase_add_test(t, older);
	tcase_add_loop_test(t, transfers, 0, 6);
#if GEN(TOPSPS)
	tcase_add_test(t, topsps);
	tcase_add_loop_test(t, posted_to_topsp, 0, 2);
#endif
	suite_add_tcase(s, t);
	return check_run(s);
}
