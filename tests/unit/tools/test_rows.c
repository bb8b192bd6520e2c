/* SPDX-License-Identifier: MIT */
/*
 * Rows of .npy files in executions: counts and slices worked out by hand, and refusals of what does
 * not fit
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_main.h"
#include "rows.h"

/* A model's tensor of four rows of three int16 */
static const struct npy model = {
	.dtype = NEURON_DT_INT16, .ndim = 2, .shape = { 4, 3 }, .size = 24
};

static struct npy file_of(uint64_t rows)
{
	struct npy npy = model;

	npy.shape[0] = rows;
	npy.size = rows * 6;
	return npy;
}

START_TEST(splits)
{
	struct npy file = file_of(10), output = model;
	struct rows rows;
	size_t offset;

	rows_init(&rows, true);
	ck_assert(rows_match(&rows, &model, &file));
	ck_assert(rows_join(&rows, &model, &file));
	ck_assert_uint_eq(rows_count(&rows), 3);
	ck_assert_uint_eq(rows_slice(&file, 24, 1, &offset), 24);
	ck_assert_uint_eq(offset, 24);
	ck_assert_uint_eq(rows_slice(&file, 24, 2, &offset), 12);
	ck_assert_uint_eq(offset, 48);
	ck_assert(rows_extend(&rows, &output));
	ck_assert_uint_eq(output.shape[0], 10);
	ck_assert_uint_eq(output.size, 60);
	npy_free(&output);
}
END_TEST

START_TEST(whole)
{
	struct npy file = file_of(10), output = model;
	struct rows rows;

	rows_init(&rows, false);
	ck_assert(!rows_match(&rows, &model, &file));
	ck_assert(rows_match(&rows, &model, &model));
	ck_assert(rows_join(&rows, &model, &model));
	ck_assert_uint_eq(rows_count(&rows), 1);
	ck_assert(rows_extend(&rows, &output));
	ck_assert_uint_eq(output.size, 24);
	npy_free(&output);
}
END_TEST

/*
 * The first input has no batch dimension and the second has one: the first has no bytes for the
 * second's rows.
 */
START_TEST(unequal)
{
	struct npy none = file_of(0), five = file_of(5), other = model;
	struct rows rows;

	rows_init(&rows, true);
	ck_assert(rows_join(&rows, &model, &none));
	ck_assert_uint_eq(rows_count(&rows), 0);
	ck_assert(!rows_join(&rows, &model, &five));
	other.shape[0] = 2;
	rows_init(&rows, true);
	ck_assert(rows_join(&rows, &model, &five));
	ck_assert(!rows_join(&rows, &other, &five));
	other.shape[0] = 0;
	rows_init(&rows, true);
	ck_assert(!rows_join(&rows, &other, &five));
}
END_TEST

/* If a model's size is not that of its shape, a file would be read beyond its end. */
START_TEST(sizes)
{
	struct npy bad = model;

	ck_assert(rows_model_ok(&model));
	bad.size = 1 << 20;
	ck_assert(!rows_model_ok(&bad));
	bad = model;
	bad.shape[0] = UINT64_MAX;
	ck_assert(!rows_model_ok(&bad));
	bad = model;
	bad.dtype = 0xff;
	ck_assert(!rows_model_ok(&bad));
}
END_TEST

START_TEST(names)
{
	char dir[] = "/tmp/test_rows.XXXXXX", data[24] = "", want[64], *path;
	struct npy npy = model;

	npy.data = data;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(rows_write(dir, "../a b", &npy, &path), 0);
	snprintf(want, sizeof(want), "%s/_._a_b.npy", dir);
	ck_assert_str_eq(path, want);
	ck_assert_int_eq(unlink(path), 0);
	free(path);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(rows_write("/proc/nothing", "a", &npy, &path), -ENOENT);
	free(path);
}
END_TEST

START_TEST(texts)
{
	char text[32];

	rows_dims_text(&model, 0, ", ", text, sizeof(text));
	ck_assert_str_eq(text, "4, 3");
	rows_dims_text(&model, 2, ", ", text, sizeof(text));
	ck_assert_str_eq(text, "4, at most 3");
	rows_dims_text(&model, 0, ",", text, 2);
	ck_assert_str_eq(text, "4");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("rows");
	Suite *s = suite_create("rows");

	suite_add_tcase(s, tc);
	tcase_add_test(tc, splits);
	tcase_add_test(tc, whole);
	tcase_add_test(tc, unequal);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, names);
	tcase_add_test(tc, texts);
	return check_run(s);
}
