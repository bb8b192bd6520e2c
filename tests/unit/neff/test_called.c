/* SPDX-License-Identifier: MIT */
/* Tensors are found by the names that docs/neff.md allows (Names of inputs and outputs). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neff_called.h"

#define MOST 4

struct example {
	struct neff_called tensor[MOST + 1];
	const char *given[MOST + 1];
	int means[MOST]; /* by the model's names first */
	int in_file[MOST]; /* by the NEFF's first; of the others the same */
};

#define SAME(...) .means = __VA_ARGS__, .in_file = __VA_ARGS__

#define PLAIN                         \
	{                             \
		{ "input0", "x" },    \
		{                     \
			"input1", "y" \
		}                     \
	}
#define SHIFTED                            \
	{                                  \
		{ "input0", "input1" },    \
		{                          \
			"input1", "input2" \
		}                          \
	}
#define SWAPPED                            \
	{                                  \
		{ "input0", "input1" },    \
		{                          \
			"input1", "input0" \
		}                          \
	}

static const struct example examples[] = {
	{ PLAIN, { "x", "y" }, SAME({ 0, 1 }) },
	{ PLAIN, { "y", "x" }, SAME({ 1, 0 }) },
	{ PLAIN, { "input0", "input1" }, SAME({ 0, 1 }) },
	{ PLAIN, { "input1", "x" }, SAME({ 1, 0 }) }, /* of both kinds */
	{ PLAIN, { "x", "input0" }, SAME({ 0, 0 }) }, /* one twice */
	{ PLAIN, { "x", "why" }, SAME({ 0, -1 }) },
	{ PLAIN, { "x", "why", "y" }, SAME({ 0, -1, 1 }) },
	{ PLAIN, { "y" }, SAME({ 1 }) },
	{ PLAIN, { "", "input", "input00", "input2" }, SAME({ -1, -1, -1, -1 }) },
	{ PLAIN, { NULL }, SAME({ 0 }) },
	/* the first is called as the NEFF calls the second */
	{ SHIFTED, { "input1", "input2" }, SAME({ 0, 1 }) },
	{ SHIFTED, { "input2", "input1" }, SAME({ 1, 0 }) },
	{ SHIFTED, { "input0", "input1" }, SAME({ 0, 1 }) },
	{ SHIFTED, { "input1", "input0" }, SAME({ 1, 0 }) },
	{ SHIFTED, { "input0", "input2" }, SAME({ 0, 1 }) }, /* neither way has both */
	{ SHIFTED, { "input1" }, { 0 }, { 1 } },
	{ SHIFTED, { "input0" }, SAME({ 0 }) },
	{ SHIFTED, { "input1", "input1" }, { 0, 0 }, { 1, 1 } },
	{ PLAIN, { "x", "input0", "y" }, SAME({ 0, 0, 1 }) },
	{ SHIFTED, { "input0", "input1", "input2" }, { 0, 0, 1 }, { 0, 1, 1 } },
	/* the NEFF's are the model's in another order */
	{ SWAPPED, { "input1", "input0" }, { 0, 1 }, { 1, 0 } },
	{ SWAPPED, { "input0", "input1" }, { 1, 0 }, { 0, 1 } },
	/* a number of its own, which the model has no name for */
	{ { { "input0", "input1" }, { "input1", "size of input0, dimension 1" } },
	  { "input0", "input1" },
	  SAME({ 0, 1 }) },
	{ { { "input0", "input1" }, { "input1", NULL } }, { "input0", "input1" }, SAME({ 0, 1 }) },
	{ { { "input0", "input1" }, { "input1", "input3" } },
	  { "input1", "input2", "input3" }, /* the program does not have the second */
	  SAME({ 0, -1, 1 }) },
	/* odd ones, and one that two have, which is nobody's */
	{ { { "input0", "a/b:0 \xc3\xbc" }, { "input1", "input0" } },
	  { "a/b:0 \xc3\xbc", "input0" },
	  SAME({ 0, 1 }) },
	{ { { "input0", "x" }, { "input1", "x" } }, { "x", "input1" }, SAME({ -1, 1 }) },
};
#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

START_TEST(means)
{
	const struct example *e = &examples[_i];
	unsigned int n = 0, given = 0;
	int which[MOST];

	while (e->tensor[n].name)
		n++;
	while (e->given[given])
		given++;
	ck_assert_int_eq(neff_called_match(e->tensor, n, NEFF_OF_MODEL, e->given, given, which), 0);
	for (unsigned int i = 0; i < given; i++)
		ck_assert_msg(which[i] == e->means[i], "'%s' is tensor %d, expected %d",
			      e->given[i], which[i], e->means[i]);
	ck_assert_int_eq(neff_called_match(e->tensor, n, NEFF_OF_FILE, e->given, given, which), 0);
	for (unsigned int i = 0; i < given; i++)
		ck_assert_msg(which[i] == e->in_file[i], "in a file '%s' is %d, expected %d",
			      e->given[i], which[i], e->in_file[i]);
}
END_TEST

/* Whatever the names are, what is sent is understood. */
START_TEST(sent)
{
	static const char *const words[] = { NULL, "", "x", "input0", "input1", "input2", "input3" };
	enum { N = 3, WORDS = sizeof(words) / sizeof(words[0]) };
	struct neff_called t[N] = { { "input0", NULL }, { "input1", NULL }, { "input2", NULL } };
	const char *name[N];
	int which[N];

	for (unsigned int k = 0; k < WORDS * WORDS * WORDS; k++) {
		for (unsigned int i = 0, rest = k; i < N; i++, rest /= WORDS)
			t[i].source = words[rest % WORDS];
		ck_assert_int_eq(neff_called_names(t, N, name), 0);
		ck_assert_int_eq(neff_called_match(t, N, NEFF_OF_MODEL, name, N, which), 0);
		for (int i = 0; i < N; i++)
			ck_assert_msg(which[i] == i, "%u: '%s' for %d is %d", k, name[i], i,
				      which[i]);
	}
	ck_assert_int_eq(neff_called_names(t, 0, name), 0);
}
END_TEST

START_TEST(many)
{
	enum { N = 60000 };
	struct neff_called *t = calloc(N, sizeof(*t));
	const char **name = calloc(N, sizeof(*name));
	int *which = calloc(N, sizeof(*which));
	char *text = malloc((size_t)N * 32);

	ck_assert(t && name && which && text);
	for (unsigned int i = 0; i < N; i++) {
		snprintf(text + 32ul * i, 16, "input%u", i);
		snprintf(text + 32ul * i + 16, 16, "input%u", i + 1);
		t[i] = (struct neff_called){ text + 32ul * i, text + 32ul * i + 16 };
		name[i] = t[i].source;
	}
	ck_assert_int_eq(neff_called_match(t, N, NEFF_OF_MODEL, name, N, which), 0);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(which[i], i);
	free(t);
	free(name);
	free(which);
	free(text);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("called");
	Suite *s = suite_create("called");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, means, 0, EXAMPLES);
	tcase_add_test(tc, sent);
	tcase_add_test(tc, many);
	return check_run(s);
}
