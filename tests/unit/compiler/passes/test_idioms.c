// SPDX-License-Identifier: MIT
/*
 * Functions that JAX writes out become the one operation that computes them, and only they do: with
 * any one of their numbers changed by one unit in the last place, or one use of the argument
 * replaced by another value, they stay as they are. Constants after a convolution go into its
 * kernel. What is computed twice is computed once.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "ir/ir.h"

static const struct {
	const char *path;
	enum ncc_kind kind;
	/* operations that remain in the module, without the argument and numbers */
	unsigned int other;
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

/* The number of the module's operations of that kind after the passes; of others in *rest */
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

/* Changes one number of the module; false if the n-th operation is no number. */
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

/*
 * Lets one operation read another value in place of the argument; false if it does not read the
 * argument.
 */
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

/* 1 - ((3, 5) x - (7, 11)) (0.5, 2), returned as %11; %5 is what a second user would read */
static const char normalized[] = "module \"scale\"\n"
				 "%0 = f32[1,3,1] parameter index=0 \"x\"\n"
				 "%1 = f32[1,1,2] constant {3, 5} \"k\"\n"
				 "%2 = f32[1,3,2] convolution %0, %1 in={0,2,1} kernel={1,2,0} "
				 "out={0,2,1} groups=1 "
				 "window={1/1} \"y\"\n"
				 "%3 = f32[2] constant {7, 11} \"mean\"\n"
				 "%4 = f32[1,3,2] broadcast %3 map={2} \"m\"\n"
				 "%5 = f32[1,3,2] subtract %2, %4 \"a\"\n"
				 "%6 = f32[2] constant {0.5, 2} \"scale\"\n"
				 "%7 = f32[1,3,2] broadcast %6 map={2} \"s\"\n"
				 "%8 = f32[1,3,2] multiply %5, %7 \"b\"\n"
				 "%9 = f32[] constant {1} \"one\"\n"
				 "%10 = f32[1,3,2] broadcast %9 map={} \"ones\"\n"
				 "%11 = f32[1,3,2] subtract %10, %8 \"c\"\n";

static struct ncc_module *after_passes(const char *begin, const char *end)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_module *m = NULL;
	struct ncc_error err;
	char text[2048];
	int n = snprintf(text, sizeof(text), "%s%s", begin, end);

	ck_assert_msg(!ncc_import_ir(text, (size_t)n, &m, &err), "%s", err.text);
	ck_assert_msg(!ncc_run_passes(m, &opt, &err), "%s", err.text);
	return m;
}

/* 4.5 - 1.5 x and 23 - 10 x */
START_TEST(kernel_is_scaled)
{
	struct ncc_module *m = after_passes(normalized, "return %11\n");
	const struct ncc_op *sum = m->outs[0], *conv = sum->in[0], *k = conv->in[1];
	const struct ncc_op *c = sum->in[1]->in[0];

	ck_assert_int_eq(sum->kind, NCC_ADD);
	ck_assert_int_eq(conv->kind, NCC_CONV);
	ck_assert_double_eq(ncc_get(k->shape.dtype, k->data, 0), -1.5);
	ck_assert_double_eq(ncc_get(k->shape.dtype, k->data, 1), -10);
	ck_assert_double_eq(ncc_get(c->shape.dtype, c->data, 0), 4.5);
	ck_assert_double_eq(ncc_get(c->shape.dtype, c->data, 1), 23);
	ncc_module_free(m);
}
END_TEST

/* If another operation reads an intermediate value, the operations after that stay. */
START_TEST(read_on_the_way)
{
	struct ncc_module *m = after_passes(normalized, "return %11, %5\n");
	const struct ncc_op *conv = m->outs[1]->in[0];

	ck_assert_int_eq(m->outs[0]->kind, NCC_SUB);
	ck_assert_int_eq(conv->kind, NCC_CONV);
	ck_assert_double_eq(ncc_get(conv->in[1]->shape.dtype, conv->in[1]->data, 0), 3);
	ncc_module_free(m);
}
END_TEST

/*
 * tanh(x + k) and tanh(x' + l), whose x and x' are converted and compared separately. k and l are
 * of 64 elements: few bytes of a constant are looked at before all are.
 */
static const char twice[] = "module \"twice\"\n"
			    "%%0 = bf16[4,64] parameter index=0 \"x\"\n"
			    "%%1 = f32[4,64] convert %%0 \"a\"\n"
			    "%%2 = f32[4,64] convert %%0 \"b\"\n"
			    "%%3 = f32[64] constant {%s} \"k\"\n"
			    "%%4 = f32[64] constant {%s} \"l\"\n"
			    "%%5 = f32[4,64] broadcast %%3 map={1} \"c\"\n"
			    "%%6 = f32[4,64] broadcast %%4 map={1} \"d\"\n"
			    "%%7 = f32[4,64] add %%1, %%5 \"e\"\n"
			    "%%8 = f32[4,64] add %%2, %%6 \"f\"\n"
			    "%%9 = f32[4,64] tanh %%7 \"g\"\n"
			    "%%10 = f32[4,64] tanh %%8 \"h\"\n"
			    "%%11 = f32[4,64] subtract %%9, %%10 \"i\"\n"
			    "return %%11\n";

/* 64 numbers, of which the one at `place` is 5 and the others are 3 */
static const char *numbers(char text[64 * 3], unsigned int place)
{
	for (unsigned int i = 0; i < 64; i++)
		memcpy(text + i * 3, i == place ? "5, " : "3, ", 3);
	text[64 * 3 - 2] = 0;
	return text;
}

/* Operations of equal operands are one: conversions and constants are such operands. */
START_TEST(is_common)
{
	char text[sizeof(twice) + 2 * 64 * 3], k[64 * 3], l[64 * 3];

	for (unsigned int place = 0; place < 64; place++) {
		struct ncc_module *m;
		unsigned int n = 0;

		snprintf(text, sizeof(text), twice, numbers(k, 4), numbers(l, place));
		m = after_passes(text, "");
		for (const struct ncc_op *op = m->first; op; op = op->next)
			n += op->kind == NCC_TANH;
		ck_assert_uint_eq(n, place == 4 ? 1 : 2);
		ncc_module_free(m);
	}
}
END_TEST

int main(void)
{
	const int n = sizeof(found) / sizeof(found[0]);
	Suite *s = suite_create("idioms");
	TCase *t = tcase_create("idioms");

	tcase_add_loop_test(t, is_found, 0, n);
	tcase_add_loop_test(t, other_numbers, 0, n);
	tcase_add_loop_test(t, other_argument, 0, n);
	tcase_add_test(t, kernel_is_scaled);
	tcase_add_test(t, read_on_the_way);
	tcase_add_test(t, is_common);
	suite_add_tcase(s, t);
	return check_run_here(s);
}
