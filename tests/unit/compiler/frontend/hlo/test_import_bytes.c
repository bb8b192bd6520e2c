// SPDX-License-Identifier: MIT
/*
 * Modules cut short, and with single bits changed: compiled or refused with a message, never a
 * crash (the tests run under sanitizers).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "modules.h"
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

/* Compiled or refused, never a crash */
static void compile_any(const Ncc__Hlo__Module *m)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	size_t size = ncc__hlo__module__get_packed_size(m), out_size;
	uint8_t *buf = malloc(size + 1);
	struct ncc_error err = { "" };
	void *out = NULL;

	ck_assert_ptr_nonnull(buf);
	ncc__hlo__module__pack(m, buf);
	if (!ncc_compile(buf, size, &opt, &out, &out_size, &err))
		free(out);
	else
		ck_assert_str_ne(err.text, "");
	free(buf);
}

/*
 * Sets one dimension of the module to 0 after the other, alone or together with all of the same
 * size
 */
static void empty_shape(Ncc__Hlo__Module *m, Ncc__Hlo__Shape *s)
{
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		empty_shape(m, s->tuple_shapes[i]);
	for (size_t d = 0; d < s->n_dimensions; d++) {
		int64_t was = s->dimensions[d];

		s->dimensions[d] = 0;
		compile_any(m);
		s->dimensions[d] = was;
	}
}

static void replace(Ncc__Hlo__Shape *s, int64_t was, int64_t by)
{
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		replace(s->tuple_shapes[i], was, by);
	for (size_t d = 0; d < s->n_dimensions; d++)
		if (s->dimensions[d] == was)
			s->dimensions[d] = by;
}

static void empty_size(Ncc__Hlo__Module *m, int64_t size)
{
	for (int undo = 0; undo < 2; undo++) {
		for (size_t i = 0; i < m->n_computations; i++)
			for (size_t k = 0; k < m->computations[i]->n_instructions; k++)
				if (strcmp(m->computations[i]->instructions[k]->opcode, "paramete"
											"r"))
					replace(m->computations[i]->instructions[k]->shape,
						undo ? 0 : size, undo ? size : 0);
		if (!undo)
			compile_any(m);
	}
}

static const char *const emptied[] = {
	"hlo_ops/nothing_written", "hlo_ops/scatter_add", "hlo_ops/cond",
	"hlo_ops/complex_plain",   "hlo/dynamic_update",  "hlo/dot"
};

START_TEST(no_elements)
{
	char path[80];
	Ncc__Hlo__Module *m;

	snprintf(path, sizeof(path), "%s/module.hlo.pb", emptied[_i]);
	m = unpack(path);
	for (size_t i = 0; i < m->n_computations; i++)
		for (size_t k = 0; k < m->computations[i]->n_instructions; k++)
			empty_shape(m, m->computations[i]->instructions[k]->shape);
	for (int64_t size = 2; size < 20; size++)
		empty_size(m, size);
	ncc__hlo__module__free_unpacked(m, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import-bytes");
	TCase *t = tcase_create("import-bytes");

	tcase_add_test(t, truncated);
	tcase_add_loop_test(t, flipped, 0, 6);
	tcase_add_loop_test(t, no_elements, 0, sizeof(emptied) / sizeof(emptied[0]));
	suite_add_tcase(s, t);
	return check_run(s);
}
