/* SPDX-License-Identifier: MIT */
/*
 * .npy files: NumPy's files are read, written files follow NumPy's rules, and bad files are refused
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check_main.h"
#include "npy.h"

static char path[] = "/tmp/test_npy.XXXXXX";

static void put(const void *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
	fclose(f);
}

/* The file of numpy.save for numpy.array([[1, 2, 3], [4, 5, 6]], '<i2') (NumPy 1.24) */
static const char numpy_file[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': "
				 "False, 'shape': (2, 3), }"
				 "                                                          \n"
				 "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06";

START_TEST(reads_numpys)
{
	const int16_t expected[] = { 1, 2, 3, 4, 5, 6 };
	const char *why;
	struct npy npy;

	put(numpy_file, sizeof(numpy_file));
	ck_assert_int_eq(npy_read(path, &npy, &why), 0);
	ck_assert_uint_eq(npy.dtype, NEURON_DT_INT16);
	ck_assert_uint_eq(npy.ndim, 2);
	ck_assert_uint_eq(npy.shape[0], 2);
	ck_assert_uint_eq(npy.shape[1], 3);
	ck_assert_mem_eq(npy.data, expected, sizeof(expected));
	npy_free(&npy);
}
END_TEST

START_TEST(writes_what_numpy_writes)
{
	int16_t data[] = { 1, 2, 3, 4, 5, 6 };
	struct npy npy = { .dtype = NEURON_DT_INT16,
			   .ndim = 2,
			   .shape = { 2, 3 },
			   .data = data,
			   .size = sizeof(data) };
	char got[sizeof(numpy_file)];
	FILE *f;

	ck_assert_int_eq(npy_write(path, &npy), 0);
	f = fopen(path, "rb");
	ck_assert_uint_eq(fread(got, 1, sizeof(got), f), sizeof(numpy_file));
	ck_assert_int_eq(fgetc(f), EOF);
	fclose(f);
	ck_assert_mem_eq(got, numpy_file, sizeof(numpy_file));
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		size_t at;
		const char *bytes;
	} edits[] = {
		{ 0, "\x92" }, /* magic */
		{ 6, "\x04" }, /* version */
		{ 9, "\xff" }, /* header length */
		{ 21, "<c8" }, /* complex */
		{ 21, "=i2" }, /* the writer's byte order */
		{ 44, "Tru" }, /* neither order */
		{ 61, "9" }, /* shape does not match the data */
		{ 61, "-" },   { 60, "[" },
	};
	const char *why;
	struct npy npy;

	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		char bad[sizeof(numpy_file)];

		memcpy(bad, numpy_file, sizeof(bad));
		memcpy(bad + edits[i].at, edits[i].bytes, strlen(edits[i].bytes));
		put(bad, sizeof(bad));
		ck_assert_msg(npy_read(path, &npy, &why) == -EINVAL, "edit %zu at %zu", i,
			      edits[i].at);
		ck_assert_ptr_null(npy.data);
	}
	for (size_t n = 0; n < sizeof(numpy_file); n++) {
		put(numpy_file, n);
		ck_assert_int_eq(npy_read(path, &npy, &why), -EINVAL);
	}
	unlink(path);
	ck_assert_int_eq(npy_read(path, &npy, &why), -ENOENT);
}
END_TEST

/* Reads the file of numpy.save for the same numbers as '>i2' with order='F' (NumPy 1.24) */
START_TEST(reads_other_orders)
{
	const int16_t expected[] = { 1, 2, 3, 4, 5, 6 };
	char file[sizeof(numpy_file)];
	const char *why;
	struct npy npy;

	memcpy(file, numpy_file, sizeof(file));
	memcpy(file + 21, ">i2", 3);
	memcpy(file + 44, "True, 'shape': (2, 3), } ", 25);
	memcpy(file + 128, "\x00\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06", 12);
	put(file, sizeof(file));
	ck_assert_int_eq(npy_read(path, &npy, &why), 0);
	ck_assert_uint_eq(npy.dtype, NEURON_DT_INT16);
	ck_assert_uint_eq(npy.shape[0], 2);
	ck_assert_mem_eq(npy.data, expected, sizeof(expected));
	npy_free(&npy);
}
END_TEST

/* An array of two 8-byte elements */
static void read_two(const char *descr, const void *data, struct npy *npy)
{
	char file[128 + 16];
	const char *why;

	memcpy(file, numpy_file, 128);
	memcpy(file + 21, descr, 3);
	memcpy(file + 60, "(2,), }", 7);
	memset(file + 67, ' ', 60);
	memcpy(file + 128, data, 16);
	put(file, sizeof(file));
	ck_assert_int_eq(npy_read(path, npy, &why), 0);
}

START_TEST(narrows)
{
	const double doubles[] = { 0.1, -1e300 };
	const float floats[] = { 0.1f, -INFINITY };
	const int64_t ints[] = { INT32_MIN, INT32_MAX }, large[] = { 5, 3000000000 };
	const int32_t int32s[] = { INT32_MIN, INT32_MAX };
	const uint32_t uint32s[] = { 5, 3000000000 };
	uint64_t bad;
	struct npy npy;

	read_two("<f8", doubles, &npy);
	ck_assert_uint_eq(npy.dtype, NPY_FP64);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_INT32, &bad), 0);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_FP32, &bad), 1);
	ck_assert_uint_eq(npy.size, sizeof(floats));
	ck_assert_mem_eq(npy.data, floats, sizeof(floats));
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_FP32, &bad), 0);
	npy_free(&npy);

	read_two("<i8", ints, &npy);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_INT32, &bad), 1);
	ck_assert_mem_eq(npy.data, int32s, sizeof(int32s));
	npy_free(&npy);

	read_two("<u8", large, &npy);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_INT32, &bad), 0);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_UINT32, &bad), 1);
	ck_assert_mem_eq(npy.data, uint32s, sizeof(uint32s));
	npy_free(&npy);

	read_two("<i8", large, &npy);
	ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_INT32, &bad), -ERANGE);
	ck_assert_uint_eq(bad, 1);
	npy_free(&npy);
}
END_TEST

START_TEST(booleans)
{
	static const uint8_t bytes[16] = { 1, 0, 1 };
	char file[128 + 16];
	const char *why;
	uint64_t bad;
	struct npy npy;

	memcpy(file, numpy_file, 128);
	memcpy(file + 21, "|b1", 3);
	memcpy(file + 60, "(16,), }", 8);
	memcpy(file + 128, bytes, 16);
	for (unsigned int i = 0; i < 2; i++) {
		put(file, sizeof(file));
		ck_assert_int_eq(npy_read(path, &npy, &why), 0);
		ck_assert_uint_eq(npy.dtype, NPY_BOOL);
		ck_assert_str_eq(npy_dtype_name(npy.dtype), "bool");
		ck_assert_int_eq(npy_narrow(&npy, NEURON_DT_INT16, &bad), 0);
		ck_assert_uint_eq(npy.dtype, NPY_BOOL);
		ck_assert_int_eq(npy_narrow(&npy, i ? NEURON_DT_UINT8 : NEURON_DT_INT8, &bad), 0);
		ck_assert_uint_eq(npy.dtype, i ? NEURON_DT_UINT8 : NEURON_DT_INT8);
		ck_assert_uint_eq(npy.size, sizeof(bytes));
		ck_assert_mem_eq(npy.data, bytes, sizeof(bytes));
		npy_free(&npy);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("npy");
	Suite *s = suite_create("npy");
	int failed, fd = mkstemp(path);

	if (fd < 0)
		return EXIT_FAILURE;
	close(fd);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, reads_numpys);
	tcase_add_test(tc, writes_what_numpy_writes);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, reads_other_orders);
	tcase_add_test(tc, narrows);
	tcase_add_test(tc, booleans);
	failed = check_run(s);
	unlink(path);
	return failed;
}
