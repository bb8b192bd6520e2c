// SPDX-License-Identifier: MIT
/*
 * Arrays of more dimensions than the compiler has, where they are refused: what they compute is
 * test_golden's (ranks_beyond, of 18 dimensions)
 */
#include <check.h>

#include "../../../check_main.h"
#include "modules.h"

/* No operation of those that take them */
static void other(Ncc__Hlo__Module *m)
{
	set_text(&find(m, "transpose")->opcode, "reverse");
}

static void result(Ncc__Hlo__Module *m)
{
	entry(m)->root_id = find(m, "transpose")->id;
}

/* Gives the product no dimension of one element */
static void all_wide(Ncc__Hlo__Module *m)
{
	Ncc__Hlo__Shape *s = find(m, "multiply")->shape;

	for (size_t i = 0; i < s->n_dimensions; i++)
		s->dimensions[i] = 2;
}

static void no_number(Ncc__Hlo__Module *m)
{
	find(m, "transpose")->dimensions[0] = 99;
}

static void other_number(Ncc__Hlo__Module *m)
{
	find(m, "transpose")->dimensions[0] = 8;
}

static void few_numbers(Ncc__Hlo__Module *m)
{
	find(m, "transpose")->n_dimensions--;
}

static const struct {
	void (*change)(Ncc__Hlo__Module *m);
	const char *says;
} cases[] = {
	{ other, "rank 18, at most 16 is supported" },
	{ result, "a result of rank 18, at most 16 is supported" },
	{ all_wide, "rank 18, at most 16 is supported" },
	{ no_number, "dimension number 99" },
	{ other_number, "dimension number 8" },
	{ few_numbers, "17 dimension numbers for rank 18" },
};

START_TEST(refused)
{
	Ncc__Hlo__Module *m = unpack("hlo_ops/ranks_beyond/module.hlo.pb");

	cases[_i].change(m);
	expect_refused(m, cases[_i].says);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ranks");
	TCase *t = tcase_create("ranks");

	tcase_add_loop_test(t, refused, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(s, t);
	return check_run(s);
}
