// SPDX-License-Identifier: MIT
/*
 * Groups of devices that are none: what the ones that are compute is test_ranks' of libnrt and that
 * of tests/frameworks
 */
#include <check.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"

static const struct {
	const char *groups, *says;
} cases[] = {
	{ "[[0, 1], [2, 4]]> : tensor<2x2xi64>", "device 4 in a group, of 4" },
	{ "[[0, 1], [2, -2]]> : tensor<2x2xi64>", "device -2 in a group, of 4" },
	{ "[[0, 1], [2, 4294967299]]> : tensor<2x2xi64>", "device 4294967299 in a group, of 4" },
	{ "[[0, 1], [2, -1]]> : tensor<2x2xi64>", "groups of 2 and 1 devices" },
	{ "[[0, 1]]> : tensor<1x2xi64>", "groups that have not all of 4 devices" },
	{ "[[0, 1], [2, 2]]> : tensor<2x2xi64>", "a device twice in its groups" },
};

START_TEST(refused)
{
	const struct ncc_options opt = { .framework = NCC_XLA };
	char text[600];

	snprintf(text, sizeof(text),
		 "module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%%a: "
		 "tensor<4xf32>) -> tensor<8xf32> { %%0 = \"stablehlo.all_gather\"(%%a) "
		 "<{all_gather_dim = 0 : i64, replica_groups = dense<%s}> : "
		 "(tensor<4xf32>) -> tensor<8xf32> return %%0 : tensor<8xf32> } }",
		 cases[_i].groups);
	compile_refused(text, strlen(text), &opt, cases[_i].says);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("collectives");
	TCase *t = tcase_create("collectives");

	tcase_add_loop_test(t, refused, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(s, t);
	return check_run(s);
}
