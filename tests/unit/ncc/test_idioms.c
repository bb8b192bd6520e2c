// SPDX-License-Identifier: MIT
/*
 * Functions that JAX writes out become the one operation that computes them, and only they: with
 * any one of their numbers changed by one unit in the last place, or one reading of the argument
 * by something else, they stay what they are.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "files.h"
#include "ir.h"

static const struct {
	const char *path;
	enum ncc_kind kind;
	unsigned int other; /* operations of the module that remain, argument and numbers left out */
} found[] = {
	{ "hlo/gelu_erfc/module.hlo.pb", NCC_GELU, 1 }, /* of 3 x */
	{ "hlo/gelu_erf/module.hlo.pb", NCC_GELU, 0 },
	{ "hlo/gelu/module.hlo.pb", NCC_GELU_TANH, 0 },
	{ "hlo/logistic/module.hlo.pb", NCC_LOGISTIC, 0 },
	{ "hlo/silu/module.hlo.pb", NCC_LOGISTIC, 1 }, /* times x */
};

static struct ncc_module *import(unsigned int i)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_module *m;
	struct ncc_error err;
	size_t size;
	void *hlo = read_data(found[i].path, &size);

	ck_assert_msg(!ncc_import_hlo_opt(hlo, size, &opt, &m, &err), "%s", err.text);
	free(hlo);
	return m;
}

static bool counts(const struct ncc_op *op)
{
	return op->kind != NCC_PARAM && op->kind != NCC_CONST && op->kind != NCC_BROADCAST;
}

/* Of such a kind after the passes; others in *rest */
static unsigned int of_kind(struct ncc_module *m, enum ncc_kind kind, unsigned int *rest)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_error err;
	unsigned int n = 0;

	ck_assert_msg(!ncc_run_passes(m, &opt, &err), "%s", err.text);
	*rest = 0;
	for (const struct ncc_op *op = m->first; op; op = op->next) {
		n += op->kind == kind;
		*rest += op->kind != kind && counts(op);
	}
	return n;
}

START_TEST(is_found)
{
	struct ncc_module *m = import((unsigned int)_i);
	unsigned int rest;

	ck_assert_uint_eq(of_kind(m, found[_i].kind, &rest), 1);
	ck_assert_uint_eq(rest, found[_i].other);
	ncc_module_free(m);
}
END_TEST

static struct ncc_op *nth(struct ncc_module *m, unsigned int n)
{
	struct ncc_op *op = m->first;

	while (op && n--)
		op = op->next;
	return op;
}

/* One number of the module another one; false: the n-th operation is no number */
static bool change(struct ncc_op *op)
{
	float *f = op->data;

	if (op->kind != NCC_CONST || op->shape.dtype != NEURON_DT_FP32 || ncc_elems(&op->shape) > 1)
		return false;
	*f = nextafterf(*f, INFINITY);
	return true;
}

START_TEST(other_numbers)
{
	unsigned int tried = 0, rest;

	for (unsigned int n = 0;; n++) {
		struct ncc_module *m = import((unsigned int)_i);
		struct ncc_op *op = nth(m, n);
		bool last = !op;

		if (op && change(op)) {
			unsigned int is = of_kind(m, found[_i].kind, &rest);

			/* the 3 of gelu(3 x) belongs to the argument */
			ck_assert_msg(!is || *(float *)op->data == nextafterf(3, 4),
				      "%s: operation %u", found[_i].path, n);
			tried++;
		}
		ncc_module_free(m);
		if (last)
			break;
	}
	ck_assert_uint_gt(tried, 0);
}
END_TEST

/* Let one operation read another value in the argument's place; false: it does not read it */
static bool divert(struct ncc_module *m, struct ncc_op *op)
{
	struct ncc_op *x = m->params[0], *y;

	for (unsigned int i = 0; i < op->nin; i++) {
		if (op->in[i] != x)
			continue;
		y = ncc_op_new(m, NCC_SIN, "y", 1);
		ck_assert_ptr_nonnull(y);
		y->shape = x->shape;
		y->in[0] = x;
		y->next = x->next;
		x->next = y;
		ncc_number(m);
		op->in[i] = y;
		return true;
	}
	return false;
}

START_TEST(other_argument)
{
	bool part = found[_i].kind == NCC_LOGISTIC; /* of sin x, or beside it, still one */
	unsigned int rest;

	for (unsigned int n = 1;; n++) {
		struct ncc_module *m = import((unsigned int)_i);
		struct ncc_op *op = nth(m, n);
		bool last = !op;

		ncc_count_users(m);
		if (op && m->params[0]->users > 1 && divert(m, op))
			ck_assert_msg(of_kind(m, found[_i].kind, &rest) == part, "operation %u", n);
		ncc_module_free(m);
		if (last)
			break;
	}
}
END_TEST

int main(void)
{
	const int n = sizeof(found) / sizeof(found[0]);
	Suite *s = suite_create("idioms");
	TCase *t = tcase_create("idioms");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, is_found, 0, n);
	tcase_add_loop_test(t, other_numbers, 0, n);
	tcase_add_loop_test(t, other_argument, 0, n);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_set_fork_status(sr, CK_NOFORK);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
