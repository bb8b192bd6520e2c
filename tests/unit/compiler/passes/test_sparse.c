// SPDX-License-Identifier: MIT
/*
 * --structured-sparsity: golden modules (tests/data/hlo_sparse, made by JAX and NumPy) whose
 * weights are sparse in each of the chip's patterns, or nearly, compiled as dense and as sparse
 * ones: the pattern that is found, and the bits of both. Only infinities tell them apart.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "npy.h"
#include "nrt/nrtx.h"
#include "running.h"

#define MAX_CASES 64

static struct golden {
	char name[32], found[8];
	int differs; /* from the dense product */
} cases[MAX_CASES];
static int ncases;

/* Called outside any test */
static bool read_cases(void)
{
	FILE *f = fopen(TEST_DATA "/hlo_sparse/cases.txt", "r");
	struct golden g;
	bool whole;

	while (f && ncases < MAX_CASES &&
	       fscanf(f, "%31s %7s %d", g.name, g.found, &g.differs) == 3)
		cases[ncases++] = g;
	whole = f && feof(f);
	if (f)
		fclose(f);
	return whole && ncases;
}

/* The pattern of the line that says what was found */
static void heard(void *opaque, const char *line)
{
	const char *at = strstr(line, " columns are ");

	if (at)
		sscanf(at, " columns are %7s", (char *)opaque);
}

static void *make(const struct golden *g, bool sparse, char *found, size_t *size)
{
	struct ncc_options opt = { .target = neuron_target_of_name("trn2"),
				   .auto_cast = NCC_CAST_MATMULT,
				   .structured_sparsity = sparse,
				   .log = heard,
				   .opaque = found };
	struct ncc_error err;
	char path[128];
	void *hlo, *neff;
	size_t n;

	snprintf(path, sizeof(path), "hlo_sparse/%s/module.hlo.pb", g->name);
	hlo = read_data(path, &n);
	ck_assert_msg(!ncc_compile(hlo, n, &opt, &neff, size, &err), "%s", err.text);
	free(hlo);
	return neff;
}

static void run(const void *neff, size_t size, const struct npy *in, void *out, size_t out_size)
{
	struct running r;

	running_begin(&r, neff, size, &in->size, 1, &out_size, 1);
	ck_assert_int_eq(nrt_tensor_write(r.tin[0], in->data, 0, in->size), 0);
	ck_assert_msg(!nrt_execute(r.model, r.in, r.out), "%s", nrtx_error_details());
	ck_assert_int_eq(nrt_tensor_read(r.tout[0], out, 0, out_size), 0);
	running_unload(&r);
}

/* An input that is too large for a file of the tests: numbers from -3 to 3 */
static void make_input(struct npy *x)
{
	float *v;

	x->size = sizeof(float) * 8192 * 2048;
	x->data = v = malloc(x->size);
	ck_assert_ptr_nonnull(v);
	for (size_t i = 0; i < x->size / sizeof(float); i++)
		v[i] = (float)((int)(i % 7) - 3);
}

static void read_npy(struct npy *x, const struct golden *g, const char *file)
{
	const char *why = "";
	char path[256];

	*x = (struct npy){ 0 };
	snprintf(path, sizeof(path), "%s/hlo_sparse/%s/%s", TEST_DATA, g->name, file);
	if (!strcmp(g->name, "large") && !strcmp(file, "in0.npy"))
		make_input(x);
	else
		ck_assert_msg(!npy_read(path, x, &why), "%s: %s", path, why);
}

START_TEST(same_bits)
{
	const struct golden *g = &cases[_i];
	char none[8] = "-", found[8] = "-";
	size_t dense_size, size;
	void *dense = make(g, false, none, &dense_size), *sparse = make(g, true, found, &size);
	struct npy in, want;
	void *got;

	ck_assert_str_eq(none, "-");
	ck_assert_msg(!strcmp(found, g->found), "%s: found %s, expected %s", g->name, found,
		      g->found);
	if (!strcmp(found, "-")) /* untouched */
		ck_assert_msg(size == dense_size && !memcmp(dense, sparse, size), "%s", g->name);
	read_npy(&in, g, "in0.npy");
	read_npy(&want, g, "out0.npy");
	got = malloc(want.size);
	run(sparse, size, &in, got, want.size);
	ck_assert_msg(!memcmp(got, want.data, want.size), "%s: other bits", g->name);
	run(dense, dense_size, &in, got, want.size);
	ck_assert_msg(!memcmp(got, want.data, want.size) == !g->differs, "%s: dense", g->name);
	free(got);
	npy_free(&in);
	npy_free(&want);
	free(dense);
	free(sparse);
}
END_TEST

/* A program, the cycles that its report says, and the report itself */
static void *make_by(const struct golden *g, enum ncc_sparsity when, size_t *size,
		     unsigned long long *cycles, char **text)
{
	struct ncc_options opt = { .target = neuron_target_of_name("trn2"),
				   .auto_cast = NCC_CAST_MATMULT,
				   .structured_sparsity = when };
	struct ncc_error err;
	char path[128], *at;
	void *hlo, *neff;
	size_t n;

	opt.report = open_memstream(text, &n);
	snprintf(path, sizeof(path), "hlo_sparse/%s/module.hlo.pb", g->name);
	hlo = read_data(path, &n);
	ck_assert_msg(!ncc_compile(hlo, n, &opt, &neff, size, &err), "%s", err.text);
	fclose(opt.report);
	free(hlo);
	at = strstr(*text, "\"estimate\": {\"cycles\": ");
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(sscanf(at, "\"estimate\": {\"cycles\": %llu", cycles), 1);
	return neff;
}

/*
 * The faster of the dense and the sparse program, byte for byte; of `two` one that is faster than
 * both, with NumPy's bits
 */
START_TEST(decided_by_time)
{
	static const enum ncc_sparsity when[] = { NCC_SPARSE_NEVER, NCC_SPARSE_ALWAYS,
						  NCC_SPARSE_AUTO };
	const struct golden *g = &cases[_i];
	const bool two = !strcmp(g->name, "two"), none = !strcmp(g->found, "-");
	unsigned long long cycles[3];
	size_t size[3];
	char *text[3];
	void *neff[3];
	bool dense;

	for (int i = 0; i < 3; i++)
		neff[i] = make_by(g, when[i], &size[i], &cycles[i], &text[i]);
	ck_assert(!strstr(text[0], "\"sparse\": [") && !strstr(text[1], "\"sparse\": ["));
	ck_assert(none == !strstr(text[2], "\"sparse\": ["));
	ck_assert_uint_le(cycles[2], cycles[0]);
	ck_assert_uint_le(cycles[2], cycles[1]);
	dense = size[2] == size[0] && !memcmp(neff[2], neff[0], size[0]);
	if (two) {
		struct npy in, want;
		void *got;

		ck_assert_uint_lt(cycles[2], cycles[0]);
		ck_assert_uint_lt(cycles[2], cycles[1]);
		ck_assert_ptr_nonnull(strstr(text[2], "\"4:16\", \"taken\": true"));
		ck_assert_ptr_nonnull(strstr(text[2], "\"4:8\", \"taken\": false"));
		read_npy(&in, g, "in0.npy");
		read_npy(&want, g, "out0.npy");
		got = malloc(want.size);
		run(neff[2], size[2], &in, got, want.size);
		ck_assert_mem_eq(got, want.data, want.size);
		free(got);
		npy_free(&in);
		npy_free(&want);
	} else {
		ck_assert_msg(dense || (size[2] == size[1] && !memcmp(neff[2], neff[1], size[1])),
			      "%s", g->name);
		ck_assert(none || dense == !strstr(text[2], "\"taken\": true"));
	}
	for (int i = 0; i < 3; i++) {
		free(neff[i]);
		free(text[i]);
	}
}
END_TEST

/* The IR as text, with what the pass made, and its program */
static void print(const struct golden *g, char **text, size_t *n)
{
	FILE *f = open_memstream(text, n);
	struct ncc_options opt = { .target = neuron_target_of_name("trn2"),
				   .structured_sparsity = true,
				   .print_ir = f,
				   .print_elements = 1 << 20 };
	struct ncc_error err;
	char path[128];
	size_t size;
	void *hlo, *neff;

	snprintf(path, sizeof(path), "hlo_sparse/%s/module.hlo.pb", g->name);
	hlo = read_data(path, &size);
	ck_assert_msg(!ncc_compile(hlo, size, &opt, &neff, &size, &err), "%s", err.text);
	fclose(f);
	free(neff);
	free(hlo);
}

START_TEST(text)
{
	const struct golden g = { .name = "columns" };
	struct ncc_options opt = { .framework = NCC_IR, .target = neuron_target_of_name("trn2") };
	struct ncc_error err;
	struct npy in, want;
	size_t n, size;
	void *neff, *got;
	char *ir;

	print(&g, &ir, &n);
	ck_assert_ptr_nonnull(strstr(ir, " neighbours=4"));
	ck_assert_msg(!ncc_compile(ir, n, &opt, &neff, &size, &err), "%s", err.text);
	read_npy(&in, &g, "in0.npy");
	read_npy(&want, &g, "out0.npy");
	got = malloc(want.size);
	run(neff, size, &in, got, want.size);
	ck_assert_mem_eq(got, want.data, want.size);
	free(neff);
	free(got);
	npy_free(&in);
	npy_free(&want);

	opt.target = neuron_target_of_name("trn1");
	ck_assert_int_eq(ncc_compile(ir, n, &opt, &neff, &size, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "sparse weights"));
	opt.target = neuron_target_of_name("trn2");
	strstr(ir, " neighbours=4")[12] = '3'; /* a pattern of nobody's */
	ck_assert_int_eq(ncc_compile(ir, n, &opt, &neff, &size, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "of no pattern of the chip's"));
	free(ir);
}
END_TEST

START_TEST(other_targets)
{
	struct ncc_options opt = { .target = neuron_target_of_name("trn1"),
				   .structured_sparsity = true };
	struct ncc_error err;
	size_t size, n;
	void *hlo = read_data("hlo_sparse/short/module.hlo.pb", &n), *neff;

	ck_assert_int_eq(ncc_compile(hlo, n, &opt, &neff, &size, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "has no such products"));
	free(hlo);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sparse");
	TCase *t = tcase_create("sparse");
	int failed;

	if (!read_cases() || nrtx_machine_set("emu:trn2.3xlarge") ||
	    nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))
		return 99;
	tcase_add_loop_test(t, same_bits, 0, ncases);
	tcase_add_loop_test(t, decided_by_time, 0, ncases);
	tcase_add_test(t, text);
	tcase_add_test(t, other_targets);
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
