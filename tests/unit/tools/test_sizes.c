/* SPDX-License-Identifier: MIT */
/* Outputs are cut by those that the NEFF calls their sizes, and by nothing else */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "sizes.h"

static struct npy numbers(uint64_t a, uint64_t b, uint64_t c)
{
	struct npy npy = { .dtype = NEURON_DT_INT16, .ndim = 3, .shape = { a, b, c } };
	int16_t *p = calloc(a * b * c, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	for (uint64_t i = 0; i < a * b * c; i++)
		p[i] = (int16_t)i;
	npy.data = p;
	npy.size = a * b * c * sizeof(*p);
	return npy;
}

static int32_t size;
static struct npy number = { .dtype = NEURON_DT_INT32, .data = &size, .size = sizeof(size) };

/* {2, 3, 4} cut to 0, 1 or all of each dimension */
START_TEST(cuts)
{
	static const int32_t sizes[3][3] = { { 0, 1, 2 }, { 0, 1, 3 }, { 0, 1, 4 } };
	const unsigned int d = (unsigned int)_i / 3;
	struct npy npy = numbers(2, 3, 4);
	uint64_t kept[3] = { 2, 3, 4 };
	const int16_t *p = npy.data;
	char source[64];

	snprintf(source, sizeof(source), "size of output7, dimension %u", d);
	size = sizes[d][_i % 3];
	sizes_cut("test",
		  (struct sized_output[]){ { "output0", NULL, &number },
					   { "output7", "", &npy },
					   { "output9", source, &number } },
		  3);
	kept[d] = (uint64_t)size;
	ck_assert_mem_eq(npy.shape, kept, sizeof(kept));
	ck_assert_uint_eq(npy.size, kept[0] * kept[1] * kept[2] * sizeof(*p));
	for (uint64_t i = 0; i < kept[0]; i++)
		for (uint64_t j = 0; j < kept[1]; j++)
			for (uint64_t k = 0; k < kept[2]; k++)
				ck_assert_int_eq(*p++, (int)((i * 3 + j) * 4 + k));
	free(npy.data);
}
END_TEST

static const struct {
	const char *source;
	int32_t size;
	uint8_t dtype;
} others[] = {
	{ "size of output7, dimension 1", 4, NEURON_DT_INT32 },
	{ "size of output7, dimension 1", -1, NEURON_DT_INT32 },
	{ "size of output7, dimension 3", 1, NEURON_DT_INT32 },
	{ "size of output7, dimension 1x", 1, NEURON_DT_INT32 },
	{ "size of output7, dimension", 1, NEURON_DT_INT32 },
	{ "size of output8, dimension 1", 1, NEURON_DT_INT32 },
	{ "output7", 1, NEURON_DT_INT32 },
	{ "", 1, NEURON_DT_INT32 },
	{ NULL, 1, NEURON_DT_INT32 },
	{ "size of output7, dimension 1", 1, NEURON_DT_FP32 },
};

START_TEST(leaves)
{
	struct npy npy = numbers(2, 3, 4), other = number;

	size = others[_i].size;
	other.dtype = others[_i].dtype;
	sizes_cut("test",
		  (struct sized_output[]){ { "output7", NULL, &npy },
					   { "output9", others[_i].source, &other } },
		  2);
	ck_assert_uint_eq(npy.shape[1], 3);
	ck_assert_uint_eq(npy.size, 48);
	free(npy.data);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sizes");
	Suite *s = suite_create("sizes");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, cuts, 0, 9);
	tcase_add_loop_test(tc, leaves, 0, (int)(sizeof(others) / sizeof(others[0])));
	return check_run(s);
}
