// SPDX-License-Identifier: MIT
/*
 * Portable artifacts of StableHLO (tests/data/stablehlo) that are cut off, or that say what cannot
 * be: each is refused in one line, nothing is read outside of the file. That whole ones are the
 * programs that they should be tests/conformance/stablehlo.py says.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"
#include "ncc_program.h"
#include "read.h"
#include "frontend/stablehlo/mlir.h"
#include "frontend/stablehlo/stablehlo.h"

static const char *const artifacts[] = {
	"stablehlo/donated.mlirbc",
	"stablehlo/donors.parts.mlirbc",
	"stablehlo/flow.mlirbc",
	"stablehlo/version_0_9_0.mlirbc",
};
#define ARTIFACTS ((int)(sizeof(artifacts) / sizeof(artifacts[0])))

/* The file at the end of memory of its own, so that a sanitizer sees a byte too many */
static int read_copy(const uint8_t *file, size_t size, struct ncc_error *err)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct hlo_file f = { 0 };
	int rc;

	memcpy(copy, file, size);
	err->text[0] = 0;
	rc = stablehlo_read(copy, size, &f, err);
	hlo_file_free(&f);
	free(copy);
	return rc;
}

static void is_error(int rc, const struct ncc_error *err)
{
	ck_assert_msg(rc == -EINVAL || rc == -ENOTSUP || rc == -EFBIG, "%d: %s", rc, err->text);
	ck_assert_uint_gt(strlen(err->text), 0);
	ck_assert_ptr_null(strchr(err->text, '\n'));
}

START_TEST(cut_off)
{
	struct ncc_error err;
	size_t size;
	uint8_t *file = read_data(artifacts[_i], &size);

	ck_assert_int_eq(read_copy(file, size, &err), 0);
	for (size_t n = 0; n < size; n++)
		is_error(read_copy(file, n, &err), &err);
	free(file);
}
END_TEST

/* Sets each byte of a file to itself with a bit inverted, to 0 and to 255 */
START_TEST(changed)
{
	struct ncc_error err;
	size_t size;
	uint8_t *file = read_data(artifacts[_i], &size);

	for (size_t i = 0; i < size; i++) {
		const uint8_t was = file[i];

		for (unsigned int k = 0; k < 4; k++) {
			int rc;

			file[i] = k < 2	   ? (uint8_t)(was ^ 1u << (i + 5 * k) % 8)
				  : k == 2 ? 0
					   : 0xff;
			rc = read_copy(file, size, &err);
			if (rc)
				is_error(rc, &err);
		}
		file[i] = was;
	}
	free(file);
}
END_TEST

/* Bytes of a small file by name */
struct builder {
	uint8_t b[2048];
	size_t n;
};

static void put(struct builder *f, const char *bytes, size_t n)
{
	memcpy(f->b + f->n, bytes, n);
	f->n += n;
}

static void put_number(struct builder *f, uint64_t v)
{
	ck_assert_uint_lt(v, 1 << 14);
	if (v < 128) {
		f->b[f->n++] = (uint8_t)(v << 1 | 1);
	} else {
		f->b[f->n++] = (uint8_t)(v << 2 | 2);
		f->b[f->n++] = (uint8_t)(v >> 6);
	}
}

static void put_section(struct builder *f, uint8_t id, const struct builder *data)
{
	f->b[f->n++] = id;
	put_number(f, data->n);
	put(f, (const char *)data->b, data->n);
}

/*
 * A file of one module whose region is ops; attrs: the attributes, each of the builtin dialect and
 * of these sizes. Names of operations: 0 builtin.module, 1 vhlo.func_v1
 */
struct attribute {
	const char *bytes;
	size_t size;
};

static void make(struct builder *f, const struct attribute *attrs, size_t n,
		 const struct builder *ir)
{
	struct builder strings = { .n = 0 }, dialects = { .n = 0 }, data = { .n = 0 },
		       offsets = { .n = 0 };

	put(f, "ML\xefR\x0dtest", 10);
	put(&strings, "\x09\x11\x0f\x0b\x11", 5); /* 4 strings: 8, 7, 5, 8 from the last on */
	put(&strings, "builtin\0vhlo\0module\0func_v1", 28);
	put(&dialects, "\x05\x01\x05\x05", 4); /* two: strings 0 and 1; two operations */
	put(&dialects, "\x01\x03\x0b", 3); /* of the first: string 2, registered */
	put(&dialects, "\x03\x03\x0f", 3);
	put_number(&offsets, n);
	put_number(&offsets, 0);
	for (size_t i = 0; i < n; i++) {
		put(&offsets, "\x01\x03", 2); /* of the first dialect one */
		put_number(&offsets, attrs[i].size << 1 | 1);
		put(&data, attrs[i].bytes, attrs[i].size);
	}
	put_section(f, 0, &strings);
	put_section(f, 1, &dialects);
	put_section(f, 2, &data);
	put_section(f, 3, &offsets);
	put_section(f, 4, ir);
}

static void expect(const struct builder *f, const char *text)
{
	struct ncc_error err;

	is_error(read_copy(f->b, f->n, &err), &err);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' does not say '%s'", err.text, text);
}

#define ATTR(bytes)                      \
	{                                \
		bytes, sizeof(bytes) - 1 \
	}
#define IR(bytes)                             \
	{                                     \
		bytes, .n = sizeof(bytes) - 1 \
	}
static const struct attribute nowhere = ATTR("\x1f"); /* an unknown location, code 15 */
static const struct attribute itself = ATTR("\x01\x03\x01"); /* an array of attribute 0 */
static const struct attribute many = ATTR("\x03\xfd\x01"); /* a dictionary of 126 entries */
static const struct attribute typed = ATTR("\x11\x01\x01"); /* an integer of type 0 */
static const struct attribute resource = ATTR("\x21\x01\x01");
static const struct attribute longer = ATTR("\x1f\x01");
static const struct attribute wild = ATTR("\x05\x0b"); /* a string of number 5 */

/* An operation's name, mask and location come first; a block is twice the number of its operations */
static const struct {
	const struct attribute *attr;
	struct builder ir;
	const char *text;
} wrong[] = {
	/* clang-format off */
	{ &nowhere, IR("\x05\x01\x00\x01"), "something else than one module" }, /* without a region */
	{ &nowhere, IR("\x05\x01\x10\x01\x05\x03\x01\x01"), "no function 'main'" },
	{ &nowhere, IR("\x05\x01\x10\x01\x05\x03\x01\x01\x01"), "something else than one module" },
	{ &nowhere, IR("\x09\x01\x00\x01\x01\x00\x01"), "something else than one module" },
	{ &nowhere, IR("\x05\x05\x00\x01"), "an operation that is not known" },
	{ &nowhere, IR("\x05\x01\x80\x01"), "an operation that is not known" },
	{ &nowhere, IR("\xfd\x01\x00\x01"), "more operations than it has bytes" },
	{ &nowhere, IR("\x05\x01\x02\x01\x03\x01"), "more values than the region has" },
	{ &nowhere, IR("\x05\x01\x04\x01\x03\x01"), "a value that is not defined there" },
	{ &nowhere, IR("\x05\x01\x10\x01\xfd"), "it ends too early" },
	{ &nowhere, IR("\x05\x01\x40\x01\x01"), "properties that do not exist" },
	{ &nowhere, IR("\x05\x01\x10\x01\x07\x04\x03\x01"), "something else than one module" },
	{ &nowhere, IR("\x05\x01\x10\x01\x07\x00\x03\x01"), "regions in a wrong section" },
	{ &nowhere, IR("\x05\x01\x10\x01\x07\x09\x03\x01"), "a kind that is not known" },
	{ &nowhere, IR("\x05\x01\x10\x01\x07\x84\x03\x07\x01"), "in a wrong alignment" },
	{ &nowhere, IR("\x05\x01\x10\x01\x07\x04\x05\x01\x01"), "more bytes than there should be" },
	{ &nowhere, IR("\x05\x01\x01\x01\x03"), "attribute 1 of 1" },
	{ &nowhere, IR("\x05\x01\x01\x01\x01"), "attributes that are no dictionary" },
	{ &longer, IR("\x05\x01\x01\x01\x01"), "attributes that are no dictionary" },
	{ &itself, IR("\x05\x01\x01\x01\x01"), "part of itself" },
	{ &many, IR("\x05\x01\x01\x01\x01"), "more in a list than it has bytes" },
	{ &typed, IR("\x05\x01\x01\x01\x01"), "type 0 of 0" },
	{ &resource, IR("\x05\x01\x01\x01\x01"), "dense_resource of MLIR's builtin dialect" },
	{ &wild, IR("\x05\x01\x01\x01\x01"), "a string that does not exist" },
	/* clang-format on */
};

START_TEST(wrong_things)
{
	struct builder f = { .n = 0 };

	make(&f, wrong[_i].attr, 1, &wrong[_i].ir);
	expect(&f, wrong[_i].text);
}
END_TEST

/* Arrays in arrays, and regions in regions, deeper than anything is */
START_TEST(too_deep)
{
	struct attribute arrays[80];
	struct builder f = { .n = 0 }, ir = { .n = 0 };
	uint8_t bytes[80][4];

	for (unsigned int i = 0; i < 80; i++) {
		bytes[i][0] = 1;
		bytes[i][1] = 3;
		bytes[i][2] =
			i + 1 < 63 ? (uint8_t)((i + 1) << 1 | 1) : (uint8_t)((i + 1) << 2 | 2);
		bytes[i][3] = (uint8_t)((i + 1) >> 6);
		arrays[i] = (struct attribute){ (const char *)bytes[i], i + 1 < 63 ? 3 : 4 };
	}
	put(&ir, "\x05\x01\x01\x01\x01", 5);
	make(&f, arrays, 80, &ir);
	expect(&f, "nested too deeply");

	f.n = ir.n = 0;
	for (unsigned int i = 0; i < 60; i++)
		put(&ir, "\x05\x01\x10\x01\x05\x03\x01", 7);
	put(&ir, "\x01", 1);
	make(&f, &nowhere, 1, &ir);
	expect(&f, "not supported outside of functions");
	ir.n--;
	for (unsigned int i = 0; i < 5; i++)
		put(&ir, "\x05\x01\x10\x01\x05\x03\x01", 7);
	put(&ir, "\x01", 1);
	f.n = 0;
	make(&f, &nowhere, 1, &ir);
	expect(&f, "nested too deeply");
}
END_TEST

/* The envelope of jax.export, each of its first bytes changed, and cut off */
START_TEST(envelope)
{
	struct ncc_error err;
	size_t size;
	uint8_t *file = read_data("stablehlo/exported.mlirbc", &size);
	struct ncc_program *p;

	ck_assert(stablehlo_is(file, size));
	ck_assert_msg(!ncc_program_read(file, size, &p, &err), "%s", err.text);
	ck_assert_uint_eq(p->nin, 2);
	ck_assert_int_eq(p->in[1].dim[1], 3);
	ncc_program_free(p);
	for (size_t i = 0; i < size; i++) {
		uint8_t *copy = malloc(i + 1);

		memcpy(copy, file, i);
		if (!ncc_program_read(copy, i, &p, &err)) {
			ck_assert_uint_gt(
				i, size / 2); /* what comes behind the artifact is not read */
			ncc_program_free(p);
		}
		free(copy);
	}
	for (size_t i = 0; i < 256; i++) {
		file[i] ^= 0x55;
		if (!ncc_program_read(file, size, &p, &err))
			ncc_program_free(p);
		file[i] ^= 0x55;
	}
	free(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stablehlo");
	TCase *tc = tcase_create("stablehlo");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, cut_off, 0, ARTIFACTS);
	tcase_add_loop_test(tc, changed, 0, ARTIFACTS);
	tcase_add_loop_test(tc, wrong_things, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(tc, too_deep);
	tcase_add_test(tc, envelope);
	suite_add_tcase(s, tc);
	return check_run(s);
}
