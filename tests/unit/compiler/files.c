// SPDX-License-Identifier: MIT
#include "files.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *read_data(const char *path, size_t *size)
{
	char full[512];
	FILE *f;
	void *p;
	long n;

	snprintf(full, sizeof(full), "%s/%s", TEST_DATA, path);
	f = fopen(full, "rb");
	ck_assert_msg(f != NULL, "%s does not open", full);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	n = ftell(f);
	ck_assert_int_ge(n, 0);
	rewind(f);
	p = malloc((size_t)n + 1);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(fread(p, 1, (size_t)n, f), (size_t)n);
	((char *)p)[n] = 0;
	fclose(f);
	*size = (size_t)n;
	return p;
}

unsigned int compile_level;
const struct neuron_target *compile_target;
unsigned int compile_lnc;
int64_t compile_most_rows;

void *compile(const void *hlo, size_t size, enum ncc_cast cast, size_t *neff_size)
{
	const struct ncc_options opt = { .auto_cast = cast,
					 .narrow_64bit = true,
					 .level = compile_level,
					 .lnc = compile_lnc,
					 .most_rows = compile_most_rows,
					 .divide_from = 1,
					 .target = compile_target };
	struct ncc_error err;
	void *out = NULL;
	int rc = ncc_compile(hlo, size, &opt, &out, neff_size, &err);

	ck_assert_msg(!rc, "%s", err.text);
	return out;
}

void compile_refused(const void *model, size_t size, const struct ncc_options *opt,
		     const char *text)
{
	struct ncc_error err = { "" };
	void *out = NULL;
	size_t out_size = 0;
	int rc = ncc_compile(model, size, opt, &out, &out_size, &err);

	ck_assert_msg(rc < 0, "accepted; expected '%s'", text);
	ck_assert_ptr_null(out);
	ck_assert_msg(strstr(err.text, text) != NULL, "'%s' does not say '%s'", err.text, text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}

struct neff_model *compile_model(const char *path)
{
	size_t size, neff_size;
	void *hlo = read_data(path, &size);
	void *neff = compile(hlo, size, NCC_CAST_MATMULT, &neff_size);
	const struct neff_limits limits = { .validate_hash = true, .target = compile_target };
	struct neff_model *m;
	struct neff_error err;
	int rc = neff_read(neff, neff_size, &limits, &m, &err);

	ck_assert_msg(!rc, "%s", err.text);
	free(hlo);
	free(neff);
	return m;
}
