// SPDX-License-Identifier: MIT
/*
 * The reader of an engine's JSON as the writer makes it, against the one for all JSON: a file reads
 * as the same file does with a space that no writer of ours puts, which the quick one does not take.
 */
#include "../check_main.h"
#include "changed.h"
#include "testmodel.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/gen.h"

#define SP_JSON "sg00/sp.json"

static int asked(void *arg, int64_t bytes)
{
	*(uint64_t *)arg += bytes > 0 ? (uint64_t)bytes : 0;
	return 0;
}

/* Reads a file and writes it; *bytes is all that the account was asked for. */
static uint8_t *again(const uint8_t *file, size_t n, const struct neuron_target *target,
		      uint64_t *bytes, size_t *size)
{
	struct neff_limits limits = { .target = target, .account = asked, .account_arg = bytes };
	struct neff_model *m;
	struct neff_error err;
	void *out;

	*bytes = 0;
	ck_assert_msg(!neff_read(file, n, &limits, &m, &err), "%s", err.text);
	ck_assert_msg(!neff_write(m, &out, size, &err), "%s", err.text);
	neff_free(m);
	return out;
}

/* quick: does the quick reader take it? */
static void same(struct testmodel *t, const struct neuron_target *target, bool quick)
{
	size_t n, with, first, second;
	uint64_t less, more;
	uint8_t *file, *spaced, *a, *b;

	t->model.target = target;
	file = testmodel_write(t, &n);
	spaced = neff_changed(file, n, SP_JSON, "{\"dma\":", "{ \"dma\":", &with);
	a = again(file, n, target, &less, &first);
	b = again(spaced, with, target, &more, &second);
	ck_assert_uint_eq(first, second);
	ck_assert_mem_eq(a, b, first);
	ck_assert_uint_eq(first, n);
	ck_assert_mem_eq(a, file, n);
	if (quick)
		ck_assert_uint_lt(less, more);
	free(a);
	free(b);
	free(file);
	free(spaced);
	testmodel_free(t);
}

START_TEST(copies)
{
	struct testmodel t;

	testmodel_add(&t, 64);
	same(&t, &neuron_target_inf1, true);
	testmodel_shuffle(&t);
	same(&t, &neuron_target_inf1, true);
	testmodel_long(&t, 8, 3);
	same(&t, &neuron_target_inf1, true);
}
END_TEST

START_TEST(rows_by_an_index)
{
	const struct testmodel_tables tables = { 2, 9, 16, 5 }, one = { 1, 9, 16, 5 };
	struct testmodel t;

	testmodel_gather(&t, &tables);
	same(&t, &neuron_target_inf1, true);
	testmodel_put(&t, &one, true);
	same(&t, &neuron_target_inf1, true);
}
END_TEST

START_TEST(what_the_queue_computes)
{
	const struct testmodel_elements cast = { NEFF_CAST, NEURON_DT_FP32, NEURON_DT_BF16, 1, 12 };
	const struct testmodel_elements sum = { NEFF_ADD, NEURON_DT_FP32, NEURON_DT_FP32, 3, 12 };
	const uint32_t shape[4] = { 4, 1, 1, 6 };
	struct testmodel t;

	testmodel_compute(&t, &cast);
	same(&t, neuron_target_of_name("trn1"), true);
	testmodel_stream(&t, NEURON_DT_FP32, 300, false);
	same(&t, neuron_target_of_name("trn1"), true);
	/* these are left to the other one */
	testmodel_compute(&t, &sum);
	same(&t, neuron_target_of_name("trn1"), false);
	testmodel_transpose(&t, shape, 4);
	same(&t, neuron_target_of_name("trn1"), false);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quick");
	TCase *tc = tcase_create("quick");

	tcase_add_test(tc, copies);
	tcase_add_test(tc, rows_by_an_index);
	tcase_add_test(tc, what_the_queue_computes);
	suite_add_tcase(s, tc);
	return check_run(s);
}
