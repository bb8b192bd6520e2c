// SPDX-License-Identifier: MIT
/*
 * NeuronCore Pipeline on the chips in process: a module cut over up to 16 cores of some chips gives
 * the same bits as on one core, however many executions are in progress and whichever way the
 * stages' values take. The results of one core are compared with other oracles in test_golden.c and
 * test_large.c.
 */
#include <check.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "neuron/hw/target.h"
#include "neuron/isa/isa.h"
#include "nrt/nrtx.h"
#include "passes/pipeline.h"

#define NEAR "hlo/attention/module.hlo.pb" /* twelve stages of the sixteen */
#define MAX_TENSORS 9

/* Four chips of Inferentia, or the target's on a machine of it */
static void start(const char *faults)
{
	setenv("NEURON_EMU_FAULTS", faults, 1);
	ck_assert_int_eq(nrtx_machine_set(getenv("TEST_MACHINE") ?: "emu:inf1.6xlarge"), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), 0);
}

static NRT_STATUS load_on(const char *path, unsigned int cores, uint32_t first, uint32_t most,
			  nrt_model_t **model)
{
	const struct nrtx_load_params params = { .start_core = first, .core_count = most };
	const char *target = getenv("TEST_TARGET");
	const struct ncc_options opt = { .target = neuron_target_of_name(target ? target : "inf1"),
					 .auto_cast = NCC_CAST_MATMULT,
					 .pipeline_cores = cores };
	struct ncc_error err;
	size_t size, neff_size;
	void *hlo = read_data(path, &size), *neff;
	NRT_STATUS rc;

	ck_assert_msg(!ncc_compile(hlo, size, &opt, &neff, &neff_size, &err), "%s: %s", path,
		      err.text);
	rc = nrtx_load(neff, neff_size, &params, model);
	free(hlo);
	free(neff);
	return rc;
}

static nrt_model_t *load(const char *path, unsigned int cores)
{
	nrt_model_t *model;

	ck_assert_msg(!load_on(path, cores, 0, 0, &model), "%s: %s", path, nrtx_error_details());
	return model;
}

/* One caller's tensors, in its own memory */
struct caller {
	nrt_model_t *model;
	nrt_tensor_info_array_t *info;
	nrt_tensor_set_t *in, *out;
	nrt_tensor_t *tensor[MAX_TENSORS];
	void *buf[MAX_TENSORS];
	const struct caller *want; /* a caller of one core with the same inputs */
	NRT_STATUS status;
};

static bool is_output(const struct caller *c, unsigned int i)
{
	return c->info->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT;
}

static void fill(void *buf, const nrt_tensor_info_t *t, uint32_t seed)
{
	for (size_t i = 0; i < t->size; i++) {
		seed = seed * 1664525 + 1013904223;
		if (t->dtype == (nrt_dtype_t)NEURON_DT_FP32 && i < t->size / 4)
			((float *)buf)[i] = (float)((int)(seed >> 16) % 33 - 16) / 8;
		else if (t->dtype == (nrt_dtype_t)NEURON_DT_INT32 && i < t->size / 4)
			((int32_t *)buf)[i] = (int32_t)(seed >> 16) % 7;
		else if (t->dtype != (nrt_dtype_t)NEURON_DT_FP32 &&
			 t->dtype != (nrt_dtype_t)NEURON_DT_INT32)
			((uint8_t *)buf)[i] = seed >> 16 & 1;
	}
}

static void caller_init(struct caller *c, nrt_model_t *model, uint32_t seed)
{
	memset(c, 0, sizeof(*c));
	c->model = model;
	ck_assert_int_eq(nrt_get_model_tensor_info(model, &c->info), 0);
	ck_assert_uint_le(c->info->tensor_count, MAX_TENSORS);
	ck_assert_int_eq(nrt_allocate_tensor_set(&c->in), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&c->out), 0);
	for (unsigned int i = 0; i < c->info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &c->info->tensor_array[i];

		c->buf[i] = calloc(1, t->size);
		if (!is_output(c, i)) /* by its name: the order may differ */
			fill(c->buf[i], t, seed + (uint32_t)t->name[5]);
		ck_assert_int_eq(nrt_tensor_allocate_empty(t->name, &c->tensor[i]), 0);
		ck_assert_int_eq(nrt_tensor_attach_buffer(c->tensor[i], c->buf[i], t->size), 0);
		ck_assert_int_eq(nrt_add_tensor_to_tensor_set(is_output(c, i) ? c->out : c->in,
							      t->name, c->tensor[i]),
				 0);
	}
}

static void caller_free(struct caller *c)
{
	nrt_destroy_tensor_set(&c->in);
	nrt_destroy_tensor_set(&c->out);
	for (unsigned int i = 0; i < c->info->tensor_count; i++) {
		nrt_tensor_free(&c->tensor[i]);
		free(c->buf[i]);
	}
	nrt_free_model_tensor_info(c->info);
}

static bool same(const struct caller *a, const struct caller *b)
{
	for (unsigned int i = 0; i < a->info->tensor_count; i++) {
		unsigned int k = 0;

		while (k < b->info->tensor_count &&
		       strcmp(a->info->tensor_array[i].name, b->info->tensor_array[k].name))
			k++;
		if (k == b->info->tensor_count ||
		    memcmp(a->buf[i], b->buf[k], a->info->tensor_array[i].size))
			return false;
	}
	return true;
}

static void run(struct caller *c)
{
	ck_assert_msg(!nrt_execute(c->model, c->in, c->out), "%s", nrtx_error_details());
}

/* One core's result, for callers to be compared with */
static void reference(struct caller *c, const char *path, uint32_t seed)
{
	caller_init(c, load(path, 1), seed);
	run(c);
}

static void against_one_core(const char *path)
{
	static const unsigned int cores[] = { 2, 4, 16 };
	struct caller want, have;

	reference(&want, path, 1);
	for (unsigned int i = 0; i < 3; i++) {
		caller_init(&have, load(path, cores[i]), 1);
		ck_assert_uint_eq(have.info->tensor_count, want.info->tensor_count);
		for (unsigned int times = 0; times < 2; times++)
			run(&have);
		ck_assert_msg(same(&want, &have), "%s differs on %u cores", path, cores[i]);
		ck_assert_int_eq(nrt_unload(have.model), 0);
		caller_free(&have);
	}
	ck_assert_int_eq(nrt_unload(want.model), 0);
	caller_free(&want);
}

START_TEST(same_bits)
{
	glob_t g;

	start("");
	ck_assert_int_eq(glob(TEST_DATA "/hlo/*/module.hlo.pb", 0, NULL, &g), 0);
	ck_assert_int_eq(glob(TEST_DATA "/hlo_ops/rows_*/module.hlo.pb", GLOB_APPEND, NULL, &g), 0);
	ck_assert_uint_gt(g.gl_pathc, 50);
	for (size_t i = 0; i < g.gl_pathc; i++)
		against_one_core(g.gl_pathv[i] + strlen(TEST_DATA "/"));
	globfree(&g);
	nrt_close();
}
END_TEST

START_TEST(same_bits_large)
{
	start("");
	against_one_core("hlo_large/chain.hlo.pb");
	against_one_core("hlo_large/turned.hlo.pb");
	nrt_close();
}
END_TEST

#define CALLERS 5
#define TIMES 8

static void *call(void *arg)
{
	struct caller *c = arg;

	for (unsigned int i = 0; i < TIMES && !c->status; i++) {
		c->status = nrt_execute(c->model, c->in, c->out);
		if (!c->status && !same(c, c->want))
			c->status = NRT_FAILURE;
	}
	return NULL;
}

/* Runs several executions at once, each with inputs of its own; returns how many succeeded. */
static unsigned int together(nrt_model_t *model)
{
	struct caller want[CALLERS], have[CALLERS];
	pthread_t thread[CALLERS];
	unsigned int good = 0;

	for (unsigned int i = 0; i < CALLERS; i++) {
		reference(&want[i], NEAR, i + 1);
		caller_init(&have[i], model, i + 1);
		have[i].want = &want[i];
	}
	for (unsigned int i = 0; i < CALLERS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, call, &have[i]), 0);
	for (unsigned int i = 0; i < CALLERS; i++) {
		pthread_join(thread[i], NULL);
		good += !have[i].status;
		ck_assert_int_ne(have[i].status, NRT_FAILURE);
		caller_free(&have[i]);
		ck_assert_int_eq(nrt_unload(want[i].model), 0);
		caller_free(&want[i]);
	}
	return good;
}

START_TEST(overlapping)
{
	uint32_t cores;
	nrt_model_t *model;

	start("");
	model = load(NEAR, 16);
	ck_assert_int_eq(nrt_get_model_nc_count(model, &cores), 0);
	ck_assert_uint_gt(cores, 8); /* beyond two chips */
	ck_assert_uint_eq(together(model), CALLERS);
	nrt_close();
}
END_TEST

/* Copies of one model on cores of their own */
START_TEST(side_by_side)
{
	nrt_model_t *copy[3];

	start("");
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(load_on(NEAR, 4, 4 * i + 2, 0, &copy[i]), 0);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(together(copy[i]), CALLERS);
	nrt_close();
}
END_TEST

/* Fewer cores than stages: the stages share them. */
START_TEST(shared_cores)
{
	nrt_model_t *model;
	uint32_t cores;

	start("");
	ck_assert_int_eq(load_on(NEAR, 4, 3, 3, &model), 0);
	ck_assert_int_eq(nrt_get_model_nc_count(model, &cores), 0);
	ck_assert_uint_eq(cores, 3);
	ck_assert_uint_eq(together(model), CALLERS);
	nrt_close();
}
END_TEST

START_TEST(not_enough_cores)
{
	nrt_model_t *model;

	start("");
	ck_assert_int_eq(load_on(NEAR, 4, 13, 0, &model), NRT_LOAD_NOT_ENOUGH_NC);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "required: 17"));
	ck_assert_int_eq(load_on(NEAR, 4, 12, 0, &model), 0);
	nrt_close();
}
END_TEST

/* The values between two stages go through host memory if no link joins their chips. */
START_TEST(through_the_host)
{
	start("nd0:link-east-down");
	ck_assert_uint_eq(together(load(NEAR, 16)), CALLERS);
	nrt_close();
}
END_TEST

/* A stage fails once: its execution fails, the others and all later ones succeed. */
START_TEST(stage_fails)
{
	nrt_model_t *model;

	start("nd1:dma-abort=1:queue=program");
	model = load(NEAR, 16);
	ck_assert_uint_eq(together(model), CALLERS - 1);
	ck_assert_uint_eq(together(model), CALLERS);
	nrt_close();
}
END_TEST

static struct ncc_op *new_op(struct ncc_module *m, enum ncc_kind kind, unsigned int nin,
			     int64_t rows, int64_t cols)
{
	struct ncc_op *op = ncc_op_new(m, kind, "op", nin);

	op->shape = (struct ncc_shape){ .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { rows, cols } };
	ncc_op_append(m, op);
	return op;
}

static unsigned int count(const struct ncc_module *m, enum ncc_kind kind)
{
	unsigned int n = 0;

	for (const struct ncc_op *op = m->first; op; op = op->next)
		n += op->kind == kind;
	return n;
}

/* One row times a matrix that is made by two million steps, then times seven of as many weights */
START_TEST(weights_are_weighed)
{
	struct ncc_module *m = ncc_module_new("weights"), *stage[NCC_MAX_STAGES];
	struct ncc_op *param[2], *y, *by;
	struct ncc_error err;
	unsigned int n;

	y = param[0] = new_op(m, NCC_PARAM, 0, 1, 1024);
	by = param[1] = new_op(m, NCC_PARAM, 0, 1024, 1024);
	param[1]->index = 1;
	m->params = param;
	m->nparams = 2;
	for (int i = 0; i < 2; i++) {
		struct ncc_op *in = by;

		by = new_op(m, NCC_EXP, 1, 1024, 1024);
		by->in[0] = in;
	}
	for (int i = 0; i < 8; i++) {
		struct ncc_op *in = y;

		y = new_op(m, NCC_DOT, 2, 1, 1024);
		y->in[0] = in;
		y->in[1] = by;
		*y->dot = (struct ncc_dot){ .ncontract = 1, .lhs_contract = { 1 } };
		by = new_op(m, NCC_CONST, 0, 1024, 1024);
	}
	m->outs = &y;
	m->nouts = 1;
	ncc_number(m);
	ncc_count_users(m);
	ck_assert_int_eq(ncc_split(m, 4, stage, &n, &err), 0);
	ck_assert_uint_eq(n, 4);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_eq(count(stage[i], NCC_DOT), 2);
		ncc_module_free(stage[i]);
	}
	ncc_module_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pipeline");
	TCase *t = tcase_create("pipeline");

	tcase_add_test(t, same_bits);
	tcase_add_test(t, same_bits_large);
	tcase_add_test(t, overlapping);
	tcase_add_test(t, side_by_side);
	tcase_add_test(t, shared_cores);
	if (!getenv("TEST_MACHINE")) { /* sixteen cores in all, and links whose state can be read */
		tcase_add_test(t, not_enough_cores);
		tcase_add_test(t, through_the_host);
	}
	tcase_add_test(t, stage_fails);
	tcase_add_test(t, weights_are_weighed);
	suite_add_tcase(s, t);
	return check_run(s);
}
