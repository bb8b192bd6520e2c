// SPDX-License-Identifier: MIT
/*
 * Modules cut short, and with single bits changed: compiled or refused with a message, never a
 * crash (the tests run under sanitizers).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "files.h"
#include "ncc.h"

#define P "hlo/"

START_TEST(truncated)
{
	size_t size;
	uint8_t *hlo = read_data(P "softmax/module.hlo.pb", &size);

	for (size_t n = 0; n < size; n += 7) {
		const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
		struct ncc_error err = { "" };
		void *out = NULL, *copy = malloc(n + 1); /* so that a read past the end is seen */
		size_t out_size;

		memcpy(copy, hlo, n);
		if (!ncc_compile(copy, n, &opt, &out, &out_size, &err))
			free(out);
		else
			ck_assert_str_ne(err.text, "");
		free(copy);
	}
	free(hlo);
}
END_TEST

/* Single bytes changed by a fixed generator: compiled or refused, never a crash. */
START_TEST(flipped)
{
	static const char *const files[] = { P "conv/module.hlo.pb",
					     P "softmax/module.hlo.pb",
					     P "window_mean/module.hlo.pb",
					     P "concatenate_rows/module.hlo.pb",
					     P "conv_transposed/module.hlo.pb",
					     P "dot_general/module.hlo.pb" };
	uint32_t x = 12345u + (uint32_t)_i;
	size_t size;
	uint8_t *hlo = read_data(files[_i], &size);

	for (unsigned int n = 0; n < 400; n++) {
		const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
		struct ncc_error err = { "" };
		void *out = NULL;
		size_t out_size, at;
		uint8_t was;

		x = x * 1664525u + 1013904223u;
		at = (x >> 8) % size;
		was = hlo[at];
		hlo[at] ^= (uint8_t)(1u << (x & 7));
		if (!ncc_compile(hlo, size, &opt, &out, &out_size, &err))
			free(out);
		else
			ck_assert_str_ne(err.text, "");
		hlo[at] = was;
	}
	free(hlo);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import-bytes");
	TCase *t = tcase_create("import-bytes");

	tcase_add_test(t, truncated);
	tcase_add_loop_test(t, flipped, 0, 6);
	suite_add_tcase(s, t);
	return check_run(s);
}
