// SPDX-License-Identifier: MIT
/*
 * Logical cores of a Trainium2 in process: a module divided among two cores gives the same bits as
 * on one, however small the parts (test_golden.c compares it with JAX); what it is refused for; the
 * checker sees a barrier that is missing.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "logical.h"
#include "machine/prog.h"
#include "neff.h"
#include "neuron/hw/target.h"
#include "neuron/isa/codec.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrtx.h"

static void *build(const char *path, const char *target, unsigned int lnc, size_t *size, int want,
		   struct ncc_error *err)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT,
					 .target = neuron_target_of_name(target),
					 .lnc = lnc,
					 .divide_from = 1 };
	size_t hlo_size;
	void *hlo = read_data(path, &hlo_size), *neff = NULL;
	int rc = ncc_compile(hlo, hlo_size, &opt, &neff, size, err);

	ck_assert_msg(rc == want, "%s for %s: %d %s", path, target, rc, err->text);
	free(hlo);
	return neff;
}

/* clang-format off */
static const char *const modules[] = {
	"dot", "dot_batch", "dense", "dense_residuals", "attention", "conv", "softmax", "layer_norm",
	"dot_tiles", "add_tiles", "conv_nchw", "conv_groups", "dot_transposed"
};
/* clang-format on */

START_TEST(same_bits)
{
	size_t one_size, two_size, a_size, b_size;
	struct ncc_error err;
	char path[128];
	uint8_t *a, *b;
	void *one, *two;

	snprintf(path, sizeof(path), "hlo/%s/module.hlo.pb", modules[_i]);
	one = build(path, "trn2", 1, &one_size, 0, &err);
	two = build(path, "trn2", 2, &two_size, 0, &err);
	logical_start(NULL);
	/* on different logical cores, the last one too */
	a = logical_outputs(one, one_size, 0, &a_size);
	b = logical_outputs(two, two_size, 3, &b_size);
	ck_assert_uint_eq(a_size, b_size);
	ck_assert_msg(!memcmp(a, b, a_size), "%s: other bits on two cores", modules[_i]);
	nrt_close();
	free(a);
	free(b);
	free(one);
	free(two);
}
END_TEST

/*
 * The number of cores that a model takes, and that it is refused with both numbers where there are
 * fewer
 */
START_TEST(cores)
{
	struct ncc_error err;
	nrt_model_t *model;
	uint32_t n;
	size_t size;
	void *two = build("hlo/dense/module.hlo.pb", "trn2", 2, &size, 0, &err);

	logical_start(NULL);
	ck_assert_int_eq(nrt_load(two, size, 1, -1, &model), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_model_nc_count(model, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(nrt_get_model_vnc_count(model, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(nrt_load(two, size, 4, -1, &model), NRT_LOAD_NOT_ENOUGH_NC);
	nrt_close();

	logical_start("1");
	ck_assert_int_eq(nrt_load(two, size, 0, -1, &model), NRT_INVALID);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "of 2 cores (--lnc 2)"));
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "have 1 (NEURON_LOGICAL_NC_CONFIG)"));
	nrt_close();
	free(two);
}
END_TEST

START_TEST(refused)
{
	const struct ncc_options opt = { .target = neuron_target_of_name("trn2"),
					 .lnc = 2,
					 .pipeline_cores = 2 };
	struct ncc_error err;
	size_t size, hlo_size;
	void *hlo = read_data("hlo/dense/module.hlo.pb", &hlo_size), *neff;

	build("hlo/dense/module.hlo.pb", "trn1", 2, &size, -EINVAL, &err);
	ck_assert_ptr_nonnull(strstr(err.text, "logical cores of 2: the target"));
	ck_assert_int_eq(ncc_compile(hlo, hlo_size, &opt, &neff, &size, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "a pipeline of 2 cores: with logical cores"));
	free(hlo);
}
END_TEST

#define ROWS 256
#define COLUMNS 64

/*
 * The logarithm's halves are computed by both cores; the first one writes all of the output, since
 * it is turned. A NaN in either half is a numerical error, also one that it has only copied.
 */
START_TEST(numerical)
{
	static const char ir[] = "module \"m\"\n  %0 = f32[256,64] parameter index=0 \"a\"\n"
				 "  %1 = f32[256,64] log %0 \"b\"\n"
				 "  %2 = f32[64,256] transpose %1 map={1,0} \"c\"\n  return %2\n";
	const struct ncc_options opt = { .framework = NCC_IR,
					 .target = neuron_target_of_name("trn2"),
					 .lnc = 2,
					 .divide_from = 1 };
	static float x[ROWS * COLUMNS];
	const unsigned int at[] = { 0, ROWS * COLUMNS - 1 };
	nrt_tensor_set_t *set[2];
	nrt_tensor_t *t[2];
	nrt_model_t *model;
	struct ncc_error err;
	size_t size;
	void *neff;

	ck_assert_msg(!ncc_compile(ir, strlen(ir), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_int_eq(setenv("NEURON_FAIL_ON_NAN", "1", 1), 0);
	logical_start(NULL);
	ck_assert_msg(!nrt_load(neff, size, 0, -1, &model), "%s", nrtx_error_details());
	for (unsigned int i = 0; i < 2; i++) {
		const char *name = i ? "output0" : "input0";

		ck_assert_int_eq(nrt_allocate_tensor_set(&set[i]), 0);
		ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, sizeof(x),
						     name, &t[i]),
				 0);
		ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set[i], name, t[i]), 0);
	}
	for (unsigned int i = 0; i <= 2; i++) {
		for (unsigned int k = 0; k < ROWS * COLUMNS; k++)
			x[k] = 1;
		if (i < 2)
			x[at[i]] = -1;
		ck_assert_int_eq(nrt_tensor_write(t[0], x, 0, sizeof(x)), 0);
		ck_assert_int_eq(nrt_execute(model, set[0], set[1]),
				 i < 2 ? NRT_EXEC_COMPLETED_WITH_NUM_ERR : NRT_SUCCESS);
		ck_assert_int_eq(nrt_tensor_read(t[1], x, 0, sizeof(x)), 0);
		ck_assert_int_eq(x[0] != x[0], i == 0);
		ck_assert_int_eq(x[ROWS * COLUMNS - 1] != x[ROWS * COLUMNS - 1], i == 1);
	}
	for (unsigned int i = 0; i < 2; i++) {
		nrt_destroy_tensor_set(&set[i]);
		nrt_tensor_free(&t[i]);
	}
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
	free(neff);
}
END_TEST

/* The first core's first barrier becomes a NOP: the second one then waits in vain, or too early */
static void drop_barrier(struct neff_subgraph *sg)
{
	struct neff_engine *e = &sg->engine[NEURON_ENG_SP];

	for (size_t at = 0; at < e->instr_size;) {
		uint8_t *p = (uint8_t *)(uintptr_t)e->instr + at;
		struct neuron_insn insn;
		int n = neuron_isa_decode(p, (e->instr_size - at) / NEURON_INSN_WORD, &insn);

		ck_assert_int_gt(n, 0);
		if (insn.opcode == NEURON_OP_PSEUDO_CORE_BARRIER) {
			insn.opcode = NEURON_OP_NOP;
			insn.id = 0;
			ck_assert_int_eq(neuron_isa_encode(&insn, p), n);
			return;
		}
		at += (size_t)n * NEURON_INSN_WORD;
	}
	ck_abort_msg("no barrier");
}

START_TEST(barriers)
{
	const struct neff_limits limits = { .validate_hash = true,
					    .target = neuron_target_of_name("trn2") };
	struct neff_error ne;
	struct ncc_error err;
	struct neff_model *m;
	size_t size, out_size;
	void *two = build("hlo/dense/module.hlo.pb", "trn2", 2, &size, 0, &err), *out;

	ck_assert_msg(!neff_read(two, size, &limits, &m, &ne), "%s", ne.text);
	ck_assert_uint_eq(m->header.lnc_size, 2);
	ck_assert_uint_eq(m->nsubgraphs, 2);
	ck_assert_msg(!ncc_check_model(m, &err), "%s", err.text);
	drop_barrier(&m->subgraphs[_i]);
	ck_assert_int_eq(ncc_check_model(m, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "checker: "));
	/* waits for more than there is never end, which the loader allows; barriers for one core do
	 * not pass */
	m->header.lnc_size = 1;
	ck_assert_int_eq(neff_write(m, &out, &out_size, &ne), -EINVAL);
	neff_free(m);
	free(two);
}
END_TEST

/* A model that is for one core keeps the first one of a logical core */
START_TEST(one_on_two)
{
	struct ncc_error err;
	size_t size, out_size;
	void *one = build("hlo/dense/module.hlo.pb", "trn2", 1, &size, 0, &err);
	uint8_t *out;

	logical_start("2");
	out = logical_outputs(one, size, 2, &out_size);
	nrt_close();
	free(out);
	free(one);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("logical cores");
	TCase *t = tcase_create("logical cores");

	tcase_add_loop_test(t, same_bits, 0, sizeof(modules) / sizeof(modules[0]));
	tcase_add_test(t, cores);
	tcase_add_test(t, refused);
	tcase_add_test(t, numerical);
	tcase_add_loop_test(t, barriers, 0, 2);
	tcase_add_test(t, one_on_two);
	suite_add_tcase(s, t);
	return check_run(s);
}
