// SPDX-License-Identifier: MIT
/*
 * Models that go from memory to memory. The oracle is the file: a copy is written to the same bytes
 * as what it was made of, also when that is gone, and what no reader would take is refused by the
 * writer's words.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/target.h"
#include "testmodel.h"

#define KINDS 8

/* One of each kind; what the file is for */
static const struct neuron_target *make(struct testmodel *t, int kind)
{
	static uint16_t w[128 * 64];
	const struct testmodel_tables tables = { 3, 300, 100, 130 };
	const struct testmodel_elements sum = { NEFF_ADD, NEURON_DT_FP32, NEURON_DT_FP32, 3, 96 };

	switch (kind) {
	case 0:
		testmodel_add(t, 64);
		break;
	case 1:
		testmodel_matmul(t, 64, 256, w);
		break;
	case 2:
		testmodel_shuffle(t);
		break;
	case 3:
		testmodel_gather(t, &tables);
		break;
	case 4:
		testmodel_put(t, &tables, true);
		break;
	case 5:
		testmodel_bare(t, "bare");
		break;
	case 6:
		testmodel_compute(t, &sum);
		return neuron_target_of_name("trn1");
	default:
		testmodel_stream(t, NEURON_DT_FP32, 96, false);
		return neuron_target_of_name("trn1");
	}
	return neuron_target_of_name("inf1");
}

static void same_file(const struct neff_model *m, const void *file, size_t size)
{
	struct neff_error err;
	size_t n;
	void *b;

	ck_assert_msg(!neff_write(m, &b, &n, &err), "%s", err.text);
	ck_assert_uint_eq(n, size);
	ck_assert_mem_eq(b, file, n);
	free(b);
}

START_TEST(same_bytes)
{
	struct neff_model *copy, *again;
	struct neff_limits limits = { 0 };
	struct neff_error err;
	struct testmodel t;
	size_t size;
	void *file;

	limits.target = make(&t, _i);
	t.model.info_json = (char *)"{\"compiler\": \"none\"}";
	for (unsigned int i = 0; i < t.sg.nvars; i++)
		if (t.sg.vars[i].type == NEFF_VAR_OUTPUT)
			t.sg.vars[i].source = strdup("a name \xc3\xa9");
	file = testmodel_write(&t, &size);
	ck_assert_msg(!neff_copy(&t.model, &limits, &copy, &err), "%s", err.text);
	testmodel_free(&t);
	same_file(copy, file, size);
	ck_assert_msg(!neff_copy(copy, &limits, &again, &err), "%s", err.text);
	neff_free(copy);
	same_file(again, file, size);
	neff_free(again);
	free(file);
}
END_TEST

/* Several programs, and what only a reader knows of them */
START_TEST(stages)
{
	struct neff_model *m, *copy;
	struct neff_error err;
	size_t size;
	void *file = testmodel_stages(7, 64, &size);

	ck_assert_msg(!neff_read(file, size, NULL, &m, &err), "%s", err.text);
	ck_assert_msg(!neff_copy(m, NULL, &copy, &err), "%s", err.text);
	neff_free(m);
	ck_assert_uint_eq(copy->nsubgraphs, 7);
	same_file(copy, file, size);
	neff_free(copy);
	free(file);
}
END_TEST

/* A source that a terminal would act on is left out, as by a reader */
START_TEST(sources)
{
	struct neff_error err;
	struct neff_model *copy;
	struct testmodel t;

	testmodel_add(&t, 16);
	for (unsigned int i = 0; i < t.sg.nvars; i++)
		if (t.sg.vars[i].type == NEFF_VAR_INPUT)
			t.sg.vars[i].source = strdup("\x1b[2J");
	ck_assert_msg(!neff_copy(&t.model, NULL, &copy, &err), "%s", err.text);
	for (unsigned int i = 0; i < copy->subgraphs[0].nvars; i++)
		ck_assert_ptr_null(copy->subgraphs[0].vars[i].source);
	neff_free(copy);
	testmodel_free(&t);
}
END_TEST

static int account(void *arg, int64_t bytes)
{
	int64_t *left = arg;

	if (bytes > *left)
		return -1;
	*left -= bytes;
	return 0;
}

START_TEST(refused)
{
	static uint16_t w[128 * 64];
	int64_t left = 1 << 20;
	struct neff_limits limits = { .account = account, .account_arg = &left };
	struct neff_model *copy = (void *)1;
	struct neff_error err, why;
	struct testmodel t;
	size_t size;
	void *file;

	testmodel_matmul(&t, 64, 256, w);
	/* the constant is on the account, and stays there as long as the copy */
	ck_assert_int_eq(neff_copy(&t.model, &limits, &copy, &err), 0);
	ck_assert_int_le(left, (1 << 20) - (int64_t)sizeof(w));
	neff_free(copy);
	left = 1000;
	ck_assert_int_eq(neff_copy(&t.model, &limits, &copy, &err), -ENOMEM);
	ck_assert_ptr_null(copy);
	ck_assert_int_eq(left, 1000);
	/* of another chip */
	left = 1 << 20;
	limits.target = neuron_target_of_name("trn1");
	ck_assert_int_eq(neff_copy(&t.model, &limits, &copy, &err), -EINVAL);
	ck_assert_str_eq(err.text, "a program for inf1, expected one for neuroncore-v2");
	/* what the writer refuses */
	limits.target = NULL;
	t.sg.engine[NEURON_ENG_SP].dma[0].desc[0].from.offset = 1 << 30;
	ck_assert_int_eq(neff_write(&t.model, &file, &size, &why), -EINVAL);
	ck_assert_int_eq(neff_copy(&t.model, &limits, &copy, &err), -EINVAL);
	ck_assert_ptr_null(copy);
	ck_assert_str_eq(err.text, why.text);
	ck_assert_int_eq(left, 1 << 20);
	/* and what whoever made the model finds */
	ck_assert_int_eq(neff_check(&t.model, &err), -EINVAL);
	ck_assert_str_eq(err.text, why.text);
	limits.checked = true;
	ck_assert_int_eq(neff_copy(&t.model, &limits, &copy, &err), 0);
	neff_free(copy);
	testmodel_free(&t);
}
END_TEST

/* Only numbers are looked at: nothing here would be written. */
START_TEST(small)
{
	struct neff_dma dma = { .ndesc = 1 };
	struct neff_var var = { .data = &dma, .size = 1 };
	struct neff_subgraph sg = { .nvars = 1, .vars = &var };
	struct neff_model m = { .nsubgraphs = 1, .subgraphs = &sg };

	sg.engine[0] = (struct neff_engine){ .ndma = 1, .dma = &dma };
	ck_assert(neff_is_small(&m));
	dma.ndesc = 32 << 20; /* a byte for each would be a member's limit */
	ck_assert(!neff_is_small(&m));
	dma.ndesc = 1;
	var.size = 256u << 20; /* a reader takes so much, whatever the file's size */
	ck_assert(!neff_is_small(&m));
	var.size = 1;
	sg.engine[0].instr_size = 256u << 20;
	ck_assert(!neff_is_small(&m));
	sg.engine[0].instr_size = 64;
	ck_assert(neff_is_small(&m));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("copy");
	Suite *s = suite_create("neff-copy");

	tcase_add_loop_test(tc, same_bytes, 0, KINDS);
	tcase_add_test(tc, stages);
	tcase_add_test(tc, sources);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, small);
	suite_add_tcase(s, tc);
	return check_run(s);
}
