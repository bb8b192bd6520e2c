/* SPDX-License-Identifier: MIT */
/* Outputs are cut by those that the NEFF calls their sizes, and by nothing else; inputs are padded */
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

/* The size of dimension d of "x" */
static struct sized_input size_input(unsigned int d, struct npy *npy)
{
	static const char *const of[] = { "size of x, dimension 0", "size of x, dimension 1",
					  "size of x, dimension 2", "size of x, dimension 3" };

	return (struct sized_input){ "n", of[d], { .dtype = NEURON_DT_INT32, .size = 4 }, npy, 0 };
}

static int32_t value(const struct npy *npy)
{
	int32_t n;

	ck_assert_ptr_nonnull(npy->data);
	ck_assert_uint_eq(npy->size, sizeof(n));
	ck_assert_uint_eq(npy->dtype, NEURON_DT_INT32);
	ck_assert_uint_eq(npy->ndim, 0);
	memcpy(&n, npy->data, sizeof(n));
	return n;
}

/*
 * Pads inputs with nothing, some or all of each dimension of {4, 3, 5}; bit 6 of the case: the
 * sizes are given
 */
START_TEST(pads)
{
	static const uint64_t some[3][3] = { { 0, 2, 4 }, { 0, 1, 3 }, { 0, 4, 5 } };
	const uint64_t shape[3] = { some[0][_i % 3], some[1][_i / 3 % 3], some[2][_i / 9 % 3] };
	struct npy x = numbers(shape[0], shape[1], shape[2]), n[3] = { 0 }, given = number;
	struct npy bound = { NEURON_DT_INT16, 3, { 4, 3, 5 }, NULL, 120 };
	bool own = _i >= 27;
	struct sized_input in[] = { size_input(2, own ? &given : &n[2]),
				    { "x", "pixels", bound, &x, 0 },
				    size_input(0, &n[0]),
				    size_input(1, &n[1]) };
	const int16_t *p;

	size = 7;
	ck_assert(sizes_pad("test", in, 4));
	ck_assert_uint_eq(in[1].sized, 7);
	ck_assert_mem_eq(x.shape, bound.shape, sizeof(bound.shape));
	ck_assert_uint_eq(x.size, 120);
	p = x.data;
	for (uint64_t i = 0; i < 4; i++)
		for (uint64_t j = 0; j < 3; j++)
			for (uint64_t k = 0; k < 5; k++)
				ck_assert_int_eq(*p++,
						 i < shape[0] && j < shape[1] && k < shape[2]
							 ? (int)((i * shape[1] + j) * shape[2] + k)
							 : 1);
	for (unsigned int d = 0; d < 2; d++)
		ck_assert_int_eq(value(&n[d]), (int)shape[d]);
	ck_assert_int_eq(value(own ? &given : &n[2]), own ? 7 : (int)shape[2]);
	for (unsigned int d = 0; d < 3; d++)
		free(n[d].data);
	free(x.data);
}
END_TEST

/* The bits of 1, as ml_dtypes has them */
static const struct {
	uint8_t dtype, size;
	uint64_t bits;
} ones[] = {
	{ NEURON_DT_FP32, 4, 0x3f800000 }, { NEURON_DT_FP16, 2, 0x3c00 },
	{ NEURON_DT_BF16, 2, 0x3f80 },	   { NEURON_DT_FP8_E3, 1, 0x30 },
	{ NEURON_DT_FP8_E4, 1, 0x38 },	   { NEURON_DT_FP8_E5, 1, 0x3c },
	{ NEURON_DT_INT8, 1, 1 },	   { NEURON_DT_UINT8, 1, 1 },
	{ NEURON_DT_INT16, 2, 1 },	   { NEURON_DT_UINT16, 2, 1 },
	{ NEURON_DT_INT32, 4, 1 },	   { NEURON_DT_UINT32, 4, 1 },
	{ NEURON_DT_INT64, 8, 1 },	   { NEURON_DT_UINT64, 8, 1 },
};

START_TEST(pads_with_ones)
{
	size_t item = ones[_i].size;
	struct npy x = { ones[_i].dtype, 1, { 1 }, calloc(1, item), item }, n = { 0 };
	struct npy bound = { ones[_i].dtype, 1, { 3 }, NULL, 3 * item };
	struct sized_input in[] = { { "x", NULL, bound, &x, 0 }, size_input(0, &n) };
	uint64_t got[3] = { 0 };

	ck_assert(sizes_pad("test", in, 2));
	ck_assert_uint_eq(x.size, 3 * item);
	for (unsigned int i = 0; i < 3; i++)
		memcpy(&got[i], (char *)x.data + i * item, item);
	ck_assert_uint_eq(got[0], 0);
	ck_assert_uint_eq(got[1], ones[_i].bits);
	ck_assert_uint_eq(got[2], ones[_i].bits);
	free(x.data);
	free(n.data);
}
END_TEST

/*
 * Shapes given for an input of {4, 3, 5} whose dimension 1 has a size, which must not be padded;
 * and the size
 */
static const struct {
	uint64_t shape[3];
	unsigned int ndim;
	uint8_t dtype;
	int32_t size;
} strangers[] = {
	{ { 4, 3, 5 }, 3, NEURON_DT_INT16, 3 }, { { 4, 4, 5 }, 3, NEURON_DT_INT16, 3 },
	{ { 3, 2, 5 }, 3, NEURON_DT_INT16, 3 }, { { 5, 2, 5 }, 3, NEURON_DT_INT16, 3 },
	{ { 4, 2, 6 }, 3, NEURON_DT_INT16, 3 }, { { 4, 2, 5 }, 3, NEURON_DT_UINT16, 3 },
	{ { 4, 2, 1 }, 2, NEURON_DT_INT16, 3 }, { { 0, 0, 0 }, 0, NEURON_DT_INT16, 3 },
};

START_TEST(pads_no_other)
{
	struct npy x = numbers(4, 4, 6), was, n = { 0 };
	struct npy bound = { NEURON_DT_INT16, 3, { 4, 3, 5 }, NULL, 120 };
	struct sized_input in[] = { { "x", NULL, bound, &x, 0 }, size_input(1, &n) };

	x.dtype = strangers[_i].dtype;
	x.ndim = strangers[_i].ndim;
	memcpy(x.shape, strangers[_i].shape, sizeof(strangers[_i].shape));
	was = x;
	ck_assert(sizes_pad("test", in, 2));
	ck_assert_mem_eq(&x, &was, sizeof(x));
	ck_assert_uint_eq(in[0].sized, 2);
	ck_assert_int_eq(value(&n), strangers[_i].size);
	free(x.data);
	free(n.data);
}
END_TEST

/* An input that is not given has no data, and its size is the bound. */
START_TEST(absent)
{
	struct npy x = { 0 }, n = { 0 };
	struct npy bound = { NEURON_DT_INT16, 3, { 4, 3, 5 }, NULL, 120 };
	struct sized_input in[] = { { "x", NULL, bound, &x, 0 }, size_input(2, &n) };

	ck_assert(sizes_pad("test", in, 2));
	ck_assert_ptr_null(x.data);
	ck_assert_int_eq(value(&n), 5);
	free(n.data);
}
END_TEST

/* Inputs that are no sizes, whatever they are called */
START_TEST(no_sizes)
{
	static const struct {
		const char *source;
		uint8_t dtype, size;
		uint64_t bytes; /* of x, whose shape has 120 */
	} no[] = {
		{ "size of x, dimension 3", NEURON_DT_INT32, 4, 120 },
		{ "size of y, dimension 1", NEURON_DT_INT32, 4, 120 },
		{ "size of n, dimension 0", NEURON_DT_INT32, 4, 120 },
		{ "size of x, dimension 1", NEURON_DT_FP32, 4, 120 },
		{ "size of x, dimension 1", NEURON_DT_INT32, 8, 120 },
		{ "size of x, dimension 1", NEURON_DT_INT32, 4, 60 },
		{ "x", NEURON_DT_INT32, 4, 120 },
		{ NULL, NEURON_DT_INT32, 4, 120 },
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		struct npy x = numbers(4, 2, 5), n = { 0 };
		struct npy bound = { NEURON_DT_INT16, 3, { 4, 3, 5 }, NULL, no[i].bytes };
		struct npy scalar = { .dtype = no[i].dtype, .size = no[i].size };
		struct sized_input in[] = { { "x", NULL, bound, &x, 0 },
					    { "n", no[i].source, scalar, &n, 0 } };

		ck_assert(sizes_pad("test", in, 2));
		ck_assert_uint_eq(in[0].sized, 0);
		ck_assert_uint_eq(x.size, 80);
		ck_assert_ptr_null(n.data);
		free(x.data);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sizes");
	Suite *s = suite_create("sizes");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, cuts, 0, 9);
	tcase_add_loop_test(tc, leaves, 0, (int)(sizeof(others) / sizeof(others[0])));
	tcase_add_loop_test(tc, pads, 0, 54);
	tcase_add_loop_test(tc, pads_with_ones, 0, (int)(sizeof(ones) / sizeof(ones[0])));
	tcase_add_loop_test(tc, pads_no_other, 0, (int)(sizeof(strangers) / sizeof(strangers[0])));
	tcase_add_test(tc, absent);
	tcase_add_test(tc, no_sizes);
	return check_run(s);
}
