// SPDX-License-Identifier: MIT
/*
 * Pooled memory: constants of a model in the memory of other chips. Its results are those of the same
 * model with all of them at home, and of C's sums; the devices' own lists of chunks say where the
 * constants lie, the process's datastores whose they are. test_pool trn1.32xlarge
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "instance.h"
#include "ndl.h"
#include "neuron/hw/ext.h"
#include "nrt_client.h"
#include "testmodel.h"

#define CHIPS 16
#define ELEMS 60000 /* of a constant: more than a descriptor holds */
#define BYTES (ELEMS * 4u)
#define CHUNKS 4096

static const char *instance;
static const struct neuron_gen *gen;
static ndl_device_t *chip[CHIPS];

/* One logical core of chip 0 alone, so that the other chips are nobody's */
static void setup(void)
{
	gen = neuron_instance_find(instance)->gen;
	unsetenv("NEURON_RT_WEIGHTS_DEVICES");
	setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
	ck_assert_int_eq(nrtx_machine_set(instance), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	for (int i = 0; i < CHIPS; i++)
		ck_assert_int_eq(ndl_open_device(i, NULL, &chip[i]), 0);
}

static void teardown(void)
{
	for (int i = 0; i < CHIPS; i++)
		ck_assert_int_eq(ndl_close_device(chip[i]), 0);
	nrt_close();
}

static void weights_devices(const char *value)
{
	if (value)
		setenv("NEURON_RT_WEIGHTS_DEVICES", value, 1);
	else
		unsetenv("NEURON_RT_WEIGHTS_DEVICES");
}

static float weight(unsigned int k, unsigned int i)
{
	return (float)((i * 7 + k * 13) % 1001) - 500;
}

/* y = n constants, one after the other; s = x + the first three of them, which its queue adds */
static void *make(unsigned int n, size_t *size)
{
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START };
	const struct neff_pattern all = { 0, 0, 1, { BYTES }, { 1 } };
	struct testmodel t;
	struct neuron_insn insn;
	struct neff_desc *d;
	unsigned int q, first;
	void *neff;

	testmodel_bare(&t, "weights");
	t.model.target = gen->target;
	free(t.sg.engine[NEURON_ENG_SP].instr);
	t.sg.engine[NEURON_ENG_SP].instr = NULL;
	t.sg.engine[NEURON_ENG_SP].instr_size = 0;
	insn = start;
	insn.isa_version = gen->target->isa_version;
	testmodel_insn(&t, NEURON_ENG_SP, &insn);
	/* variable 0 is the output y */
	t.sg.vars[0].size = (uint64_t)n * BYTES;
	testmodel_io(&t, 0, NEURON_DT_FP32, n, ELEMS);
	testmodel_var(&t, "s", NEFF_VAR_OUTPUT, BYTES);
	testmodel_io(&t, 1, NEURON_DT_FP32, 1, ELEMS);
	testmodel_var(&t, "x", NEFF_VAR_INPUT, BYTES);
	testmodel_io(&t, 2, NEURON_DT_FP32, 1, ELEMS);
	q = testmodel_queue(&t, "q", NEFF_QUEUE_DATA, NEURON_ENG_SP);
	first = t.sg.nvars;
	for (unsigned int k = 0; k < n; k++) {
		char name[16];
		float *w = malloc(BYTES);

		snprintf(name, sizeof(name), "w%u", k);
		testmodel_var(&t, name, NEFF_VAR_FILE, BYTES);
		strcat(name, ".bin");
		t.sg.vars[first + k].file_name = strdup(name);
		t.sg.vars[first + k].data = w;
		for (unsigned int i = 0; i < ELEMS; i++)
			w[i] = weight(k, i);
		d = testmodel_dma(&t, NEURON_ENG_SP, q, 0, 1)->desc;
		d->from = d->to = all;
		d->from.var = first + k;
		d->to.var = 0;
		d->to.offset = (uint64_t)k * BYTES;
	}
	d = testmodel_dma(&t, NEURON_ENG_SP, q, 0, 1)->desc;
	*d = (struct neff_desc){ .op = NEFF_ADD,
				 .from_dtype = NEURON_DT_FP32,
				 .to_dtype = NEURON_DT_FP32,
				 .from = all,
				 .to = all,
				 .nmore = 3,
				 .more = calloc(3, sizeof(*d->more)) };
	d->from.var = 2;
	d->to.var = 1;
	for (unsigned int k = 0; k < 3; k++) {
		d->more[k] = all;
		d->more[k].var = first + k % n;
	}
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP,
				     .wait = NEURON_WAIT_SEM_GE,
				     .wait_value = n + 1 };
	testmodel_insn(&t, NEURON_ENG_SP, &insn);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_SEM_RANGE_CLEAR, .last = 31 };
	testmodel_insn(&t, NEURON_ENG_SP, &insn);
	neff = testmodel_write(&t, size);
	testmodel_free(&t);
	return neff;
}

static void load(struct client *cl, unsigned int n)
{
	const struct nrtx_load_params params = { 0 };
	static float x[ELEMS];
	size_t size;
	void *neff = make(n, &size);

	for (unsigned int i = 0; i < ELEMS; i++)
		x[i] = (float)(i % 77);
	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	client_write(cl, "x", x, sizeof(x));
}

static NRT_STATUS load_fails(unsigned int n)
{
	const struct nrtx_load_params params = { 0 };
	nrt_model_t *model;
	size_t size;
	void *neff = make(n, &size);
	NRT_STATUS status = nrtx_load(neff, size, &params, &model);

	free(neff);
	return status;
}

static void runs(struct client *cl, unsigned int n)
{
	float *y = calloc(n, BYTES), *s = calloc(1, BYTES);

	client_write(cl, "y", y, (size_t)n * BYTES);
	client_write(cl, "s", s, BYTES);
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "y", y, (size_t)n * BYTES);
	client_read(cl, "s", s, BYTES);
	for (unsigned int k = 0; k < n; k++)
		for (unsigned int i = 0; i < ELEMS; i++)
			ck_assert_msg(y[k * ELEMS + i] == weight(k, i), "w%u, element %u: %g", k, i,
				      y[k * ELEMS + i]);
	for (unsigned int i = 0; i < ELEMS; i++)
		ck_assert_msg(s[i] == (float)(i % 77) + weight(0, i) + weight(1 % n, i) +
					      weight(2 % n, i),
			      "sum %u: %g", i, s[i]);
	free(y);
	free(s);
}

/* Bytes of constants in a chip's memory */
static uint64_t there(int index)
{
	static struct neuron_ioctl_mem_chunk_info info[CHUNKS];
	uint64_t bytes = 0;

	for (uint32_t m = 0; m < gen->memories; m++) {
		uint32_t n = CHUNKS;

		ck_assert_int_eq(ndl_dram_chunks(chip[index], m, info, &n), 0);
		for (uint32_t i = 0; i < n; i++)
			if (info[i].mem_type == NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE)
				bytes += info[i].size;
	}
	return bytes;
}

/* What this process's datastore on the chip says */
static uint64_t told(int index)
{
	uint64_t bytes = 0;
	size_t size;
	void *nds;

	ck_assert_int_eq(ndl_nds_open(chip[index], 0, &nds, &size), 0);
	for (unsigned int nc = 0; nc < gen->cores; nc++)
		bytes += ndl_nds_get(nds, nc, NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE);
	ck_assert_int_eq(ndl_nds_close(chip[index], 0, nds, size), 0);
	return bytes;
}

/* Each chip has as many constants as want says; a chunk begins at a page and ends there */
static void lie(const unsigned int want[CHIPS])
{
	for (int i = 0; i < CHIPS; i++) {
		const uint64_t bytes = (uint64_t)want[i] * BYTES;

		ck_assert_msg(there(i) >= bytes && there(i) < bytes + want[i] * 4096ull + 1,
			      "nd%d: %llu bytes of constants, not %u", i,
			      (unsigned long long)there(i), want[i]);
		ck_assert_msg(told(i) >= bytes && told(i) <= there(i), "nd%d: %llu bytes told", i,
			      (unsigned long long)told(i));
	}
}

static const unsigned int nowhere[CHIPS];

START_TEST(next_door)
{
	struct client cl;
	uint64_t home, away;

	load(&cl, 4);
	lie((const unsigned int[CHIPS]){ 4 });
	runs(&cl, 4);
	runs(&cl, 4);
	home = nrtx_last_ps();
	client_free(&cl);
	lie(nowhere);
	weights_devices("2");
	load(&cl, 4);
	lie((const unsigned int[CHIPS]){ 2, 2 });
	runs(&cl, 4);
	runs(&cl, 4);
	away = nrtx_last_ps();
	/* what comes over the link is as slow as that, at most it had been as slow at home */
	printf("home %llu away %llu link %llu\n", (unsigned long long)home, (unsigned long long)away, (unsigned long long)(3ull * BYTES / 1024 * gen->target->cost.link_kib));
	client_free(&cl);
	lie(nowhere);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");

	instance = argc > 1 ? argv[1] : "trn1.32xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, next_door);
	suite_add_tcase(s, tc);
	return check_run(s);
}
