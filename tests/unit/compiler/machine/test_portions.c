// SPDX-License-Identifier: MIT
/*
 * Programs in which indices choose more rows than a core's queues have room for: they compile, as
 * loops over portions of the indices, and those that have room have no loop. How many rows have
 * room is arithmetic on what a loader accepts: each is NCC_ROW_DESCS descriptors. What the loops
 * compute is held to JAX by test_golden (TEST_MOST_ROWS).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "machine/prog.h"

#define CAPACITY (NEFF_MAX_MODEL_DESCS / NCC_ROW_DESCS) /* rows; all else takes a few thousand */
#define BODY                                                                                       \
	"<{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "  \
	"start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = " \
	"array<i64: 1, 40>}>"

/* The compiled program of a text with the number in place of each $ */
static struct neff_model *compile_of(const char *text, unsigned int n)
{
	const struct neff_limits limits = { .target = neuron_target_of_name("trn1") };
	const struct ncc_options opt = { .target = limits.target };
	size_t size, capacity = strlen(text) + 200;
	char *module = calloc(1, capacity), *to = module;
	struct neff_model *m;
	struct neff_error nerr;
	struct ncc_error err;
	void *neff;
	int rc;

	ck_assert_ptr_nonnull(module);
	for (const char *from = text; *from; from++)
		to += *from == '$' ? sprintf(to, "%u", n) : (*to = *from, 1);
	rc = ncc_compile(module, strlen(module), &opt, &neff, &size, &err);
	ck_assert_msg(!rc, "%u: %s", n, err.text);
	rc = neff_read(neff, size, &limits, &m, &nerr);
	ck_assert_msg(!rc, "%s", nerr.text);
	free(neff);
	free(module);
	return m;
}

static const char gather[] =
	"module @gather { func.func public @main(%0: tensor<60000x40xui8>, %1: tensor<$x1xi32>) -> "
	"tensor<$x40xui8> { %2 = \"stablehlo.gather\"(%0, %1) " BODY
	" : (tensor<60000x40xui8>, tensor<$x1xi32>) -> tensor<$x40xui8> return %2 : "
	"tensor<$x40xui8> } }";

static const struct {
	unsigned int rows, loops;
} sizes[] = { { CAPACITY - 100000, 0 }, { CAPACITY + 1, 1 }, { 2 * CAPACITY, 1 } };

START_TEST(both_sides)
{
	struct neff_model *m = compile_of(gather, sizes[_i].rows);

	ck_assert_uint_eq(m->nloops, sizes[_i].loops);
	neff_free(m);
}
END_TEST

/* A counted loop's body has no more turns than there is room for. */
static const char turns[] =
	"module @turns { func.func public @main(%0: tensor<60000x40xui8>, %1: tensor<$x1xi32>) -> "
	"tensor<$x40xui8> { %c = stablehlo.constant dense<0> : tensor<i32> %z = "
	"stablehlo.constant dense<0> : tensor<$x40xui8> %r:3 = stablehlo.while(%i = %c, %a = %z, "
	"%k = %1) : tensor<i32>, tensor<$x40xui8>, tensor<$x1xi32> cond { %e = stablehlo.constant "
	"dense<5000> : tensor<i32> %p = stablehlo.compare LT, %i, %e, SIGNED : (tensor<i32>, "
	"tensor<i32>) -> tensor<i1> stablehlo.return %p : tensor<i1> } do { %o = "
	"stablehlo.constant dense<1> : tensor<i32> %n = stablehlo.add %i, %o : tensor<i32> %g = "
	"\"stablehlo.gather\"(%0, %k) " BODY
	" : (tensor<60000x40xui8>, tensor<$x1xi32>) -> tensor<$x40xui8> %s = stablehlo.add %a, %g : "
	"tensor<$x40xui8> %l = stablehlo.add %k, %k : tensor<$x1xi32> stablehlo.return %n, %s, %l : "
	"tensor<i32>, tensor<$x40xui8>, tensor<$x1xi32> } return %r#1 : tensor<$x40xui8> } }";

START_TEST(turns_of_a_loop)
{
	struct neff_model *m = compile_of(turns, 120000); /* fifty turns, six million rows */

	ck_assert_uint_eq(m->nloops, 1);
	neff_free(m);
}
END_TEST

/* Indices that lie beside each other, as a concatenation has them, are not taken apart by DMA. */
static const char beside[] =
	"module @beside { func.func public @main(%0: tensor<90x90xf32>, %1: tensor<$x1xi32>, %2: "
	"tensor<$x1xi32>) -> tensor<$xf32> { %3 = stablehlo.concatenate %1, %2, dim = 1 : "
	"(tensor<$x1xi32>, tensor<$x1xi32>) -> tensor<$x2xi32> %4 = \"stablehlo.gather\"(%0, %3) "
	"<{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = "
	"[0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, "
	"1>}> : (tensor<90x90xf32>, tensor<$x2xi32>) -> tensor<$xf32> return %4 : tensor<$xf32> } }";

START_TEST(indices_beside)
{
	neff_free(compile_of(beside, 12000000));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("portions");
	TCase *t = tcase_create("portions");

	tcase_add_loop_test(t, both_sides, 0, (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_test(t, turns_of_a_loop);
	tcase_add_test(t, indices_beside);
	suite_add_tcase(s, t);
	return check_run(s);
}
