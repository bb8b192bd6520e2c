// SPDX-License-Identifier: MIT
/*
 * An engine's JSON in the form in which libneff writes it is read by a reader of its own
 * (neff_quick.c), any other form by way of jansson's values. Both must make the same model of the
 * same JSON and refuse the same for the same reason: each text is read as it is and with a space in
 * front, of which only jansson makes nothing. A text that the quick reader takes needs less memory.
 */
#include "../check_main.h"
#include "changed.h"
#include "neuron/hw/target.h"
#include "testmodel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 3 /* bytes between two changes of a text */

static void add(struct testmodel *t)
{
	testmodel_add(t, 16);
}

static void steps(struct testmodel *t)
{
	testmodel_long(t, 8, 3);
}

static void compute(struct testmodel *t)
{
	const struct testmodel_elements e = { NEFF_ADD, NEURON_DT_BF16, NEURON_DT_FP32, 3, 96 };

	testmodel_compute(t, &e);
}

static void cast(struct testmodel *t)
{
	const struct testmodel_elements e = { NEFF_CAST, NEURON_DT_FP32, NEURON_DT_BF16, 1, 12 };

	testmodel_compute(t, &e);
}

static void transpose(struct testmodel *t)
{
	const uint32_t shape[4] = { 3, 2, 1, 5 };

	testmodel_transpose(t, shape, 4);
}

static void stream(struct testmodel *t)
{
	testmodel_stream(t, NEURON_DT_BF16, 96, false);
}

static void gather(struct testmodel *t)
{
	const struct testmodel_tables g = { .tables = 2, .rows = 8, .row = 64, .n = 5 };

	testmodel_gather(t, &g);
}

static const struct testmodel_tables one = { .tables = 1, .rows = 8, .row = 64, .n = 5 };

static void put(struct testmodel *t)
{
	testmodel_put(t, &one, false);
}

static void put_in_sbuf(struct testmodel *t)
{
	testmodel_put(t, &one, true);
}

static const struct {
	void (*make)(struct testmodel *t);
	bool other; /* left to the other reader */
} programs[] = {
	{ add },	   { testmodel_shuffle }, { steps }, { gather },
	{ put },	   { put_in_sbuf },	  { cast },  { stream },
	{ compute, true }, { transpose, true },
};

struct outcome {
	int ret;
	struct neff_error err;
	void *written; /* the model as it was read, written again */
	size_t size;
	uint64_t bytes; /* all that the account was asked for */
};

static int asked(void *arg, int64_t bytes)
{
	*(uint64_t *)arg += bytes > 0 ? (uint64_t)bytes : 0;
	return 0;
}

static void read_text(const uint8_t *file, size_t n, const struct neuron_target *target,
		      const char *member, const char *text, size_t len, struct outcome *o)
{
	const struct neff_limits limits = { .target = target,
					    .account = asked,
					    .account_arg = &o->bytes };
	struct neff_model *m;
	size_t size;
	uint8_t *b = neff_with_member(file, n, member, text, len, &size);

	*o = (struct outcome){ 0 };
	o->ret = neff_read(b, size, &limits, &m, &o->err);
	if (!o->ret) {
		ck_assert_int_eq(neff_write(m, &o->written, &o->size, &o->err), 0);
		neff_free(m);
	}
	free(b);
}

/* Returns whether the text as it is needs less, by more than the space. */
static bool same_outcome(const uint8_t *file, size_t n, const struct neuron_target *target,
			 const char *member, const char *text, size_t len)
{
	char *spaced = malloc(len + 1);
	struct outcome a, b;

	ck_assert_ptr_nonnull(spaced);
	spaced[0] = ' ';
	memcpy(spaced + 1, text, len);
	read_text(file, n, target, member, text, len, &a);
	read_text(file, n, target, member, spaced, len + 1, &b);
	ck_assert_msg(a.ret == b.ret && (!a.ret || !strcmp(a.err.text, b.err.text)),
		      "%d '%s', %d '%s': %.*s", a.ret, a.ret ? a.err.text : "", b.ret,
		      b.ret ? b.err.text : "", (int)len, text);
	ck_assert_msg(a.size == b.size && (!a.size || !memcmp(a.written, b.written, a.size)),
		      "another model: %.*s", (int)len, text);
	free(a.written);
	free(b.written);
	free(spaced);
	return a.bytes + len < b.bytes;
}

/* Strings that replace one or four bytes of a text */
static const char *const instead[] = { "",	    "0",
				       "00",	    "-",
				       "-1",	    "9",
				       "\"",	    ",",
				       " ",	    "}",
				       "]",	    "[",
				       "{",	    "1.0",
				       "1e3",	    "null",
				       "\\u0041",   "a",
				       "\\",	    "\x01",
				       "\xc3\xa9",  "99999999999999999999",
				       "4294967296" };
#define CHANGES (sizeof(instead) / sizeof(instead[0]))

static void change(const uint8_t *file, size_t n, const struct neuron_target *target,
		   const char *member, const char *text, size_t len)
{
	char *changed = malloc(len + 32);

	ck_assert_ptr_nonnull(changed);
	for (size_t at = 0, round = 0; at + 4 < len; at += STEP, round++) {
		const char *new = instead[round % CHANGES];
		const size_t cut = round / CHANGES % 2 ? 4 : 1, more = strlen(new);

		memcpy(changed, text, at);
		memcpy(changed + at, new, more);
		memcpy(changed + at + more, text + at + cut, len - at - cut);
		same_outcome(file, n, target, member, changed, len - cut + more);
	}
	free(changed);
}

START_TEST(both_readers)
{
	const struct neuron_target *target;
	uint32_t with = 0; /* engines that have DMAs */
	struct testmodel t;
	size_t n, len;
	uint8_t *file;

	programs[_i].make(&t);
	target = t.model.target;
	for (unsigned int e = 0; e < target->engines; e++)
		with |= (t.sg.engine[e].ndma > 0) << e;
	ck_assert_uint_ne(with, 0);
	file = testmodel_write(&t, &n);
	testmodel_free(&t);
	for (unsigned int e = 0; e < target->engines; e++) {
		char member[64], *text;

		if (!(with >> e & 1))
			continue;
		snprintf(member, sizeof(member), "sg00/%s.json", target->engine[e].name);
		text = neff_member(file, n, member, &len);
		ck_assert_int_ne(same_outcome(file, n, target, member, text, len),
				 programs[_i].other);
		change(file, n, target, member, text, len);
		free(text);
	}
	free(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("neff-engine");
	TCase *tc = tcase_create("engine");

	tcase_add_loop_test(tc, both_readers, 0, (int)(sizeof(programs) / sizeof(programs[0])));
	suite_add_tcase(s, tc);
	return check_run(s);
}
