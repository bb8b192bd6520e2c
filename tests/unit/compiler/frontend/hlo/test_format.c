// SPDX-License-Identifier: MIT
/*
 * Files that are no HloModuleProto: those of other formats are refused by name, and XLA's own dumps
 * are read.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "files.h"

static void refused(const void *model, size_t size, const char *text)
{
	const struct ncc_options opt = { .framework = NCC_XLA };
	struct ncc_error err = { "" };
	void *out = NULL;
	size_t out_size = 0;
	int rc = ncc_compile(model, size, &opt, &out, &out_size, &err);

	ck_assert_msg(rc < 0, "accepted; expected '%s'", text);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' does not say '%s'", err.text, text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}

/* Files of other formats, by how they begin */
#define FILE_OF(bytes, text)                   \
	{                                      \
		bytes, sizeof(bytes) - 1, text \
	}
static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} others[] = {
	FILE_OF("HloModule jit_f\n", "not an HLO module but HLO as text: export it with"),
	FILE_OF("// a comment\n\n  HloModule jit_f\n", "HLO as text"),
	FILE_OF("module @jit_f {\n}\n", "not a program of StableHLO: it has no function 'main'"),
	FILE_OF("#loc = loc(unknown)\nmodule @jit_f {\n", "line 3, column 1: expected '}'"),
	FILE_OF("ML\xefR\x0dStableHLO_v1.0.0", "not a portable artifact of StableHLO: a producer"),
	FILE_OF("\x3c\0\0\0\x38\0\x60\0ML\xefR", "an artifact of jax.export without"),
	FILE_OF("// after read\nmodule \"m\"\n", "the tensor IR as text: give --framework IR"),
	FILE_OF("\x08\x08\x12\x07pytorch", "an ONNX model: give --framework ONNX"),
	FILE_OF("PK\x03\x04\0\0", "a ZIP archive"),
	FILE_OF("\x80\x02}q", "a Python pickle"),
	FILE_OF("\x1c\0\0\0TFL3\x14", "a TensorFlow Lite model"),
	FILE_OF("\x10\0\0\0\0\0\0\0{\"a\":{}}", "a safetensors file"),
	FILE_OF("\x1f\x8b\x08", "compressed by gzip"),
	FILE_OF("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
	FILE_OF("// only a comment", "not an HLO module: bad"),
	FILE_OF("HloMod", "not an HLO module: bad"),
};

/* A model of another framework is refused with the option that names its framework */
START_TEST(other_framework)
{
	static const char text[] = "// a comment\nmodule @jit_f {\n}\n";
	const struct ncc_options opt = { .framework = NCC_ONNX };
	struct ncc_error err = { "" };
	void *out = NULL;
	size_t out_size = 0;

	ck_assert_int_lt(ncc_compile(text, strlen(text), &opt, &out, &out_size, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "not an ONNX model but StableHLO as text: "
					       "give --framework StableHLO"));
	ck_assert_ptr_null(out);
}
END_TEST

START_TEST(other_formats)
{
	refused(others[_i].bytes, others[_i].size, others[_i].text);
}
END_TEST

static char *printed(const void *hlo, size_t size)
{
	struct ncc_error err;
	struct ncc_module *m;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	ck_assert_msg(!ncc_import_hlo_opt(hlo, size, &(struct ncc_options){ 0 }, &m, &err), "%s",
		      err.text);
	ncc_print(m, INT64_MAX, f);
	fclose(f);
	ncc_module_free(m);
	return text;
}

/* XLA's dumps have the module in an HloProto */
START_TEST(dumped)
{
	size_t size;
	char *hlo = read_data("hlo/softmax/module.hlo.pb", &size), *dump = malloc(size + 5);
	char *want = printed(hlo, size), *got;

	ck_assert_ptr_nonnull(dump);
	ck_assert_uint_lt(size, 1 << 14);
	dump[0] = 0x0a;
	dump[1] = (char)(size | 0x80);
	dump[2] = (char)(size >> 7);
	memcpy(dump + 3, hlo, size);
	memcpy(dump + 3 + size, "\x1a", 2); /* an empty buffer_assignment */
	got = printed(dump, size + 5);
	ck_assert_str_eq(got, want);
	dump[2]++; /* longer than the file */
	refused(dump, size + 5, "not an HLO module");
	free(want);
	free(got);
	free(dump);
	free(hlo);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("format");
	TCase *t = tcase_create("format");

	tcase_add_loop_test(t, other_formats, 0, sizeof(others) / sizeof(others[0]));
	tcase_add_test(t, other_framework);
	tcase_add_test(t, dumped);
	suite_add_tcase(s, t);
	return check_run(s);
}
