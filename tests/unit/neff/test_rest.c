// SPDX-License-Identifier: MIT
/*
 * Programs that leave their core at rest, and others that do not: docs/neff.md, Rules a program
 * keeps. Each case is a program of a few instructions; each refusal is one that the rule names.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/hw/ext.h"
#include "testmodel.h"

#define PE NEURON_ENG_PE
#define ACT NEURON_ENG_ACT
#define POOL NEURON_ENG_POOL
#define SP NEURON_ENG_SP
#define END 255 /* of a program's list */

enum what {
	START, /* the engine's first */
	NOP,
	DMA, /* index: its semaphore, value: its queue */
	CLEAR, /* index to value, both included */
	CLEAR_RAISE, /* all, and then the update */
};

struct step {
	uint8_t eng;
	enum what what;
	uint8_t wait, wait_index;
	uint32_t wait_value;
	uint8_t update, index;
	uint32_t value;
};

#define GE(s, n) NEURON_WAIT_SEM_GE, s, n
#define EQ(s, n) NEURON_WAIT_SEM_EQ, s, n
#define LE(s, n) NEURON_WAIT_SEM_LE, s, n
#define SET(e) NEURON_WAIT_EVT_SET, e, 0
#define ANY 0, 0, 0
#define INC(s) NEURON_UPD_SEM_INC, s, 0
#define DEC(s) NEURON_UPD_SEM_DEC, s, 0
#define UPD(op, s, n) NEURON_UPD_SEM_##op, s, n
#define EVT(op, e) NEURON_UPD_EVT_##op, e, 0
#define DMA_TO(s, q) 0, s, q
#define FROM_TO(a, b) 0, a, b

/* clang-format off */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct {
	const char *name, *refused; /* NULL: it is accepted */
	struct step step[16];
} cases[] = {
	{ "nothing at all", NULL, { { END } } },
	{ "an engine that has nothing to do", NULL, {
		{ PE, START }, { ACT, START }, { ACT, NOP }, { END } } },
	{ "an engine that SP waits for", NULL, {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ SP, NOP, GE(3, 1) }, { SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "the wait is the clear's own", NULL, {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(3, 3) }, { END } } },
	{ "an engine that goes on behind what SP waits for", "sg00/pe.bin: instruction at 128", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "an engine that waits behind what SP waits for", "sg00/pool.bin: instruction at 128", {
		{ POOL, START }, { POOL, NOP, ANY, INC(3) }, { POOL, NOP, GE(3, 1) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "an engine that SP does not wait for", "sg00/act.bin: instruction at 64", {
		{ ACT, START }, { ACT, NOP, ANY, INC(3) },
		{ SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "by way of another engine", NULL, {
		{ ACT, START }, { ACT, NOP, ANY, INC(3) },
		{ POOL, START }, { POOL, NOP, GE(3, 1) }, { POOL, NOP, ANY, INC(4) },
		{ SP, CLEAR, GE(4, 1), FROM_TO(0, 27) }, { END } } },
	{ "the other engine waits too late", "sg00/act.bin: instruction at 64", {
		{ ACT, START }, { ACT, NOP, ANY, INC(3) },
		{ POOL, START }, { POOL, NOP, ANY, INC(4) }, { POOL, NOP, GE(3, 1) },
		{ POOL, NOP, ANY, INC(4) },
		{ SP, CLEAR, GE(4, 1), FROM_TO(0, 27) }, { END } } },
	{ "a DMA that SP waits for", NULL, {
		{ SP, DMA, ANY, DMA_TO(2, 0) }, { SP, NOP, GE(2, 1) },
		{ SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "two DMAs of a queue, the second known", NULL, {
		{ SP, DMA, ANY, DMA_TO(2, 0) }, { SP, DMA, ANY, DMA_TO(5, 0) },
		{ SP, NOP, GE(5, 1) }, { SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "two DMAs of a queue, the first known", "sg00/sp.json: dma[1]: sp does not wait", {
		{ SP, DMA, ANY, DMA_TO(2, 0) }, { SP, DMA, ANY, DMA_TO(2, 0) },
		{ SP, NOP, GE(2, 1) }, { SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "DMAs of two queues, one known", "sg00/sp.json: dma[0]: sp does not wait", {
		{ SP, DMA, ANY, DMA_TO(2, 0) }, { SP, DMA, ANY, DMA_TO(5, 1) },
		{ SP, NOP, GE(5, 1) }, { SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "a DMA without a semaphore", "sg00/sp.json: dma[0]: sp does not wait", {
		{ SP, DMA, ANY, DMA_TO(255, 0) }, { END } } },
	{ "a DMA of another engine makes its trigger known", NULL, {
		{ POOL, START }, { POOL, DMA, ANY, DMA_TO(1, 2) },
		{ SP, NOP, GE(1, 1) }, { SP, CLEAR, ANY, FROM_TO(1, 1) }, { END } } },
	{ "a DMA is known, not what its engine did behind it", "sg00/pool.bin: instruction at 128", {
		{ POOL, START }, { POOL, DMA, ANY, DMA_TO(1, 2) }, { POOL, NOP, ANY, INC(4) },
		{ SP, NOP, GE(1, 1) }, { SP, CLEAR, ANY, FROM_TO(0, 27) }, { END } } },
	{ "nobody clears", "sg00/sp.bin: semaphore 3 is not 0", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { SP, NOP, GE(3, 1) }, { END } } },
	{ "SP clears others", "sg00/sp.bin: semaphore 3 is not 0", {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(4, 27) }, { END } } },
	{ "SP goes on behind its clear", "sg00/sp.bin: semaphore 5 is not 0", {
		{ SP, CLEAR, ANY, FROM_TO(0, 27) }, { SP, NOP, ANY, INC(5) }, { END } } },
	{ "SP's clear raises one", "sg00/sp.bin: semaphore 5 is not 0", {
		{ SP, CLEAR_RAISE, ANY, INC(5) }, { END } } },
	{ "up and down by as much", NULL, {
		{ SP, NOP, ANY, UPD(ADD_IMM, 7, 5) }, { SP, NOP, ANY, UPD(SUB_IMM, 7, 4) },
		{ SP, NOP, ANY, DEC(7) }, { END } } },
	{ "down less than up", "sg00/sp.bin: semaphore 7 is not 0", {
		{ SP, NOP, ANY, UPD(ADD_IMM, 7, 5) }, { SP, NOP, ANY, UPD(SUB_IMM, 7, 4) },
		{ END } } },
	{ "a semaphore that is set", "sg00/sp.bin: semaphore 7 is not 0", {
		{ SP, NOP, ANY, UPD(WR_IMM, 7, 0) }, { END } } },
	{ "a semaphore that is set, and cleared", NULL, {
		{ SP, NOP, ANY, UPD(WR_IMM, 7, 9) }, { SP, CLEAR, ANY, FROM_TO(7, 7) }, { END } } },
	{ "a semaphore of two engines tells nothing", "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { ACT, START }, { ACT, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 2), FROM_TO(0, 27) }, { END } } },
	{ "nor does one that is set", "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { SP, NOP, ANY, UPD(WR_IMM, 3, 1) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "nor one that is cleared on the way", "sg00/pe.bin: instruction at 192", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { PE, CLEAR, ANY, FROM_TO(3, 3) },
		{ PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "nor one that SP clears early", "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { SP, CLEAR, ANY, FROM_TO(3, 3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "nor one that is cleared before", "sg00/pe.bin: instruction at 128", {
		{ PE, START }, { PE, CLEAR, ANY, FROM_TO(3, 3) }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "nor one of two that another engine clears, one behind the other",
	  "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ ACT, START }, { ACT, CLEAR, ANY, FROM_TO(3, 3) },
		{ ACT, CLEAR, ANY, FROM_TO(9, 9) }, { ACT, NOP, ANY, INC(4) },
		{ SP, NOP, GE(4, 1) }, { SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "nor one that is added to", "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { SP, NOP, ANY, UPD(ADD_IMM, 3, 1) },
		{ SP, CLEAR, GE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "equal is at least", NULL, {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, EQ(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "at most tells nothing", "sg00/pe.bin: instruction at 64", {
		{ PE, START }, { PE, NOP, ANY, INC(3) },
		{ SP, CLEAR, LE(3, 1), FROM_TO(0, 27) }, { END } } },
	{ "SP never ends: that is the timeout's", NULL, {
		{ PE, START }, { PE, NOP, ANY, INC(3) }, { SP, NOP, GE(3, 2) }, { END } } },
	{ "SP ends though another engine never does", "sg00/pool.bin: instruction at 64", {
		{ POOL, START }, { POOL, NOP, GE(3, 2) }, { SP, NOP }, { END } } },
	{ "an event set and cleared", NULL, {
		{ PE, START }, { PE, NOP, ANY, EVT(SET, 200) }, { PE, NOP, ANY, INC(1) },
		{ SP, NOP, SET(200), EVT(CLR, 200) },
		{ SP, CLEAR, GE(1, 1), FROM_TO(0, 27) }, { END } } },
	{ "an event that stays set", "sg00/def.json: event 200 is not set as often as cleared", {
		{ SP, NOP, ANY, EVT(SET, 200) }, { END } } },
};
/* clang-format on */

static void add_insn(struct testmodel *t, const struct step *s)
{
	struct neuron_insn insn = {
		.opcode = NEURON_OP_NOP,
		.wait = s->wait,
		.wait_index = s->wait_index,
		.wait_value = s->wait_value,
	};

	if (s->what == START) {
		insn.opcode = NEURON_OP_PROGRAM_START;
		insn.isa_version = neuron_target_inf1.isa_version;
	} else if (s->what == CLEAR) {
		insn.opcode = NEURON_OP_SEM_RANGE_CLEAR;
		insn.first = s->index;
		insn.last = (uint8_t)s->value;
	} else {
		if (s->what == CLEAR_RAISE) {
			insn.opcode = NEURON_OP_SEM_RANGE_CLEAR;
			insn.last = 27;
		}
		insn.update = s->update;
		insn.update_index = s->index;
		insn.update_value = s->value;
	}
	testmodel_insn(t, s->eng, &insn);
}

/* Adds a DMA with 64 bytes of the output for itself. */
static void add_dma(struct testmodel *t, const struct step *s)
{
	const struct neff_pattern y = { 0, 0, 1, { 64 }, { 1 } };
	int semaphore = s->index == 255 ? -1 : s->index;

	testmodel_dma(t, s->eng, s->value, semaphore, 1)->desc[0] =
		(struct neff_desc){ .from = y, .to = y };
}

START_TEST(rest)
{
	struct neff_error err = { 0 };
	struct testmodel t;
	void *buf = NULL;
	size_t size;
	int ret;

	testmodel_bare(&t, "rest");
	testmodel_queue(&t, "q0", NEFF_QUEUE_DATA, SP);
	testmodel_queue(&t, "q1", NEFF_QUEUE_DATA, SP);
	testmodel_queue(&t, "q2", NEFF_QUEUE_DATA, POOL);
	for (const struct step *s = cases[_i].step; s->eng != END; s++) {
		if (s->what == DMA)
			add_dma(&t, s);
		else
			add_insn(&t, s);
	}
	ret = neff_write(&t.model, &buf, &size, &err);
	if (!cases[_i].refused)
		ck_assert_msg(!ret, "%s: %s", cases[_i].name, err.text);
	else
		ck_assert_msg(ret == -EINVAL && strstr(err.text, cases[_i].refused), "%s: %d '%s'",
			      cases[_i].name, ret, err.text);
	free(buf);
	testmodel_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rest");
	TCase *tc = tcase_create("programs");

	tcase_add_loop_test(tc, rest, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
