// SPDX-License-Identifier: MIT
/*
 * torch_xla's calls that resize images: what of them is refused. What they compute is compared with
 * PyTorch by tests/frameworks/torch_xla_programs.py.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "ncc.h"

static const struct {
	const char *target, *config, *from, *to;
	const char *says; /* NULL: it compiles */
} cases[] = {
	{ "ResizeNearest", "\\2200\\22", "2x3x4x5", "2x6x4x5", NULL },
	{ "ResizeBilinear", "01", "2x3x4x5", "2x6x2x5", NULL },
	{ "ResizeBilinearGrad", "10", "2x3x4x5", "2x1x9x5", NULL },
	{ "ResizeNearest", "", "2x3x4x5", "2x6x4x5", "backend_config is '', expected two digits" },
	{ "ResizeNearest", "12", "2x3x4x5", "2x6x4x5", "backend_config is '12', expected" },
	{ "ResizeNearest", "\\22", "2x3x4x5", "2x6x4x5", "expected two digits" },
	{ "ResizeNearest", "\\22011\\22", "2x3x4x5", "2x6x4x5", "expected two digits" },
	{ "ResizeNearest", "00", "2x3x4x5", "3x3x4x5", "of the same N and C" },
	{ "ResizeNearest", "00", "2x3x4x5", "2x3x4x6", "of the same N and C" },
	{ "ResizeNearest", "00", "3x4x5", "3x4x5", "[N, A, B, C]" },
	{ "ResizeNearestGrad", "00", "2x0x4x5", "2x3x4x5", "an operand without elements" },
	{ "ResizeArea", "00", "2x3x4x5", "2x6x4x5", "ResizeArea" },
};

START_TEST(refused)
{
	const struct ncc_options opt = { .framework = NCC_XLA,
					 .target = neuron_target_of_name("trn1") };
	struct ncc_error err = { 0 };
	void *neff = NULL;
	char text[512];
	size_t size;
	int rc;

	snprintf(text, sizeof(text),
		 "module @m {\n func.func public @main(%%x: tensor<%sxf32>) -> tensor<%sxf32> {\n"
		 "  %%y = stablehlo.custom_call @%s(%%x) {backend_config = \"%s\"} : "
		 "(tensor<%sxf32>) -> tensor<%sxf32>\n  return %%y : tensor<%sxf32>\n }\n}\n",
		 cases[_i].from, cases[_i].to, cases[_i].target, cases[_i].config, cases[_i].from,
		 cases[_i].to, cases[_i].to);
	rc = ncc_compile(text, strlen(text), &opt, &neff, &size, &err);
	ck_assert_msg(!rc == !cases[_i].says, "%d: %s", rc, err.text);
	ck_assert_msg(!cases[_i].says || strstr(err.text, cases[_i].says), "%s", err.text);
	free(neff);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ncc-resize");
	TCase *tc = tcase_create("resize");

	tcase_add_loop_test(tc, refused, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(suite, tc);
	return check_run(suite);
}
