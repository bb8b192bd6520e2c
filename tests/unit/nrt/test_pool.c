// SPDX-License-Identifier: MIT
/*
 * Pooled memory: constants of a model in the memory of other chips. Its results are those of the
 * same model with all of them at home, and of C's sums; the devices' own lists of chunks say where
 * the constants lie, the process's datastores whose they are. test_pool emu:trn1.32xlarge; in a
 * guest test_pool node, and test_pool node hold, which loads a model, says so and stays.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check_main.h"
#include "ndlx.h"
#include "neuron/hw/ext.h"
#include "nrt_client.h"
#include "testmodel.h"

#define CHIPS 16
#define ELEMS 60000 /* of a constant: more than a descriptor holds */
#define BYTES (ELEMS * 4u)
#define CHUNKS 4096

static const char *machine;
static const struct neuron_gen *gen;
static ndlx_device_t *chip[CHIPS];
static void *nds[CHIPS];
static size_t nds_size[CHIPS];

/* One logical core of chip 0 alone, so that the other chips are nobody's */
static void setup(void)
{
	unsetenv("NEURON_RT_WEIGHTS_DEVICES");
	setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_int_eq(ndlx_get_gen(0, &gen), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	for (int i = 0; i < CHIPS; i++) {
		ck_assert_int_eq(ndlx_open_device(i, NULL, &chip[i]), 0);
		ck_assert_int_eq(ndlx_nds_open(chip[i], 0, &nds[i], &nds_size[i]), 0);
	}
}

static void teardown(void)
{
	for (int i = 0; i < CHIPS; i++) {
		ck_assert_int_eq(ndlx_nds_close(chip[i], 0, nds[i], nds_size[i]), 0);
		ck_assert_int_eq(ndlx_close_device(chip[i]), 0);
	}
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

#define COPIED 20
static unsigned int copied(unsigned int n)
{
	return n < COPIED ? n : COPIED;
}

/* y = n constants, or the first 20, one after the other; s = x + the first three of them, which its
 * queue adds */
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
	t.sg.vars[0].size = (uint64_t)copied(n) * BYTES;
	testmodel_io(&t, 0, NEURON_DT_FP32, copied(n), ELEMS);
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
		if (k >= COPIED)
			continue;
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
				     .wait_value = copied(n) + 1 };
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
	const size_t size = (size_t)copied(n) * BYTES;
	float *y = calloc(1, size), *s = calloc(1, BYTES);

	client_write(cl, "y", y, size);
	client_write(cl, "s", s, BYTES);
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "y", y, size);
	client_read(cl, "s", s, BYTES);
	/* an assertion for each element would take longer than all else */
	for (unsigned int k = 0; k < copied(n); k++)
		for (unsigned int i = 0; i < ELEMS; i++)
			if (y[k * ELEMS + i] != weight(k, i))
				ck_abort_msg("w%u, element %u: %g", k, i, y[k * ELEMS + i]);
	for (unsigned int i = 0; i < ELEMS; i++)
		if (s[i] != (float)(i % 77) + weight(0, i) + weight(1 % n, i) + weight(2 % n, i))
			ck_abort_msg("sum %u: %g", i, s[i]);
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

		ck_assert_int_eq(ndlx_dram_chunks(chip[index], m, info, &n), 0);
		for (uint32_t i = 0; i < n; i++)
			if (info[i].mem_type == NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE)
				bytes += info[i].size;
	}
	return bytes;
}

/* The bytes of constants that this process's datastore on the chip reports */
static uint64_t told(int index)
{
	uint64_t bytes = 0;

	for (unsigned int nc = 0; nc < gen->cores; nc++)
		bytes += ndlx_nds_get(nds[index], nc, NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE);
	return bytes;
}

/* Checks that each chip has so many constants, in chunks that begin and end at a page */
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

/* Nearest first: of a torus of four rows of four, 1, 3, 4 and 12 are one link away from 0 */
START_TEST(places)
{
	static const struct {
		const char *devices;
		unsigned int n, want[CHIPS];
	} all[] = {
		{ NULL, 4, { 4 } },
		{ "1", 4, { 4 } },
		{ "2", 4, { 2, 2 } },
		{ "4", 9, { [0] = 3, [1] = 2, [3] = 2, [4] = 2 } },
		{ "6", 5, { [0] = 1, [1] = 1, [3] = 1, [4] = 1, [12] = 1 } },
		{ "16", 20, { 2, 2, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	};
	struct client cl;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		weights_devices(all[i].devices);
		load(&cl, all[i].n);
		lie(all[i].want);
		runs(&cl, all[i].n);
		runs(&cl, all[i].n);
		client_free(&cl);
		lie(nowhere);
	}
}
END_TEST

/*
 * A constant on each chip. In virtual time one over a link is as slow as the link, if that is
 * slower than its queue, and each link behind adds the bytes' time.
 */
START_TEST(farther_is_slower)
{
	/* of all ways in a torus of four by four: 4 chips one link away, 6 two, 4 three, 1 four */
	const unsigned int first = 15, behind = 6 * 1 + 4 * 2 + 1 * 3;
	const struct neuron_costs *cost = &gen->target->cost;
	const uint64_t link = (uint64_t)BYTES * cost->link_kib / 1024;
	const uint64_t queue = (uint64_t)BYTES * cost->dma_kib / 1024;
	uint64_t ps[2], least = behind * link + first * (link > queue ? link - queue : 0);
	struct client cl;

	for (unsigned int away = 0; away < 2; away++) {
		weights_devices(away ? "16" : NULL);
		load(&cl, CHIPS);
		runs(&cl, CHIPS);
		runs(&cl, CHIPS);
		ps[away] = nrtx_last_ps();
		client_free(&cl);
	}
	/* two of them are read a second time, by the sum */
	ck_assert_msg(ps[1] - ps[0] >= least - link / 100 && ps[1] - ps[0] <= least + 2 * link,
		      "%llu ps at home, %llu away, links take %llu", (unsigned long long)ps[0],
		      (unsigned long long)ps[1], (unsigned long long)least);
}
END_TEST

/* Takes all of a chip's memory but for pieces that are smaller than a constant. */
static void fill(int index)
{
	for (uint64_t size = 1ull << 32; size > BYTES / 2; size /= 2)
		for (uint32_t m = 0; m < gen->memories; m++)
			for (uint32_t r = 0; r < NDLX_REGIONS; r++) {
				const struct ndlx_mem_params p = { .size = size,
								   .channel = m,
								   .region = r };
				uint64_t handle;

				while (!ndlx_memory_alloc(chip[index], &p, &handle))
					;
			}
}

/*
 * Constants that find no space on their own chip go to the next one that has it, without a setting.
 */
START_TEST(overflows)
{
	/* inputs, outputs and programs have room at home, and of the constants one more or less */
	const struct ndlx_mem_params piece = { .size = 2 << 20 };
	uint64_t left;
	struct client cl;

	ck_assert_int_eq(ndlx_memory_alloc(chip[0], &piece, &left), 0);
	fill(0);
	fill(1);
	ck_assert_int_eq(ndlx_memory_free(chip[0], left), 0);
	weights_devices("1");
	ck_assert_int_eq(load_fails(5), NRT_RESOURCE);
	ck_assert_msg(strstr(nrtx_error_details(), "on any of 1 devices"), "%s",
		      nrtx_error_details());
	lie(nowhere);
	weights_devices(NULL);
	load(&cl, 5);
	ck_assert_uint_eq(there(1), 0);
	ck_assert_uint_ge(there(0), BYTES);
	ck_assert_uint_ge(there(3), 3 * BYTES);
	ck_assert_uint_eq(there(0) / BYTES + there(3) / BYTES, 5);
	runs(&cl, 5);
	client_free(&cl);
	lie(nowhere);
	/* spread over chips of which one is full: each is tried twice */
	weights_devices("3");
	load(&cl, 3);
	ck_assert_uint_eq(there(1), 0);
	runs(&cl, 3);
	client_free(&cl);
	lie(nowhere);
}
END_TEST

/* Many constants leave room for what is placed behind them. */
START_TEST(leaves_room)
{
	const unsigned int n = 300; /* 69 MiB */
	const struct ndlx_mem_params most = { .size = 88 << 20 }, room = { .size = 24 << 20 };
	struct client cl;
	uint64_t left;

	ck_assert_int_eq(ndlx_memory_alloc(chip[0], &most, &left), 0);
	fill(0);
	ck_assert_int_eq(ndlx_memory_free(chip[0], left), 0);
	load(&cl, n);
	ck_assert_uint_ge(there(0), 16 << 20);
	ck_assert_uint_ge(there(0) + there(1), n * BYTES);
	ck_assert_int_eq(ndlx_memory_alloc(chip[0], &room, &left), 0);
	runs(&cl, n);
	client_free(&cl);
	lie(nowhere);
}
END_TEST

START_TEST(told_wrong)
{
	static const struct {
		const char *value, *text;
	} bad[] = {
		{ "0", "NEURON_RT_WEIGHTS_DEVICES=0 is not a number from 1 to 64" },
		{ "65", "NEURON_RT_WEIGHTS_DEVICES=65 is not a number" },
		{ "2x", "NEURON_RT_WEIGHTS_DEVICES=2x is not a number" },
		{ "-1", "NEURON_RT_WEIGHTS_DEVICES=-1 is not a number" },
		{ "17", "nd0 reaches the memory of 16 devices, its own among them" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		weights_devices(bad[i].value);
		ck_assert_int_eq(load_fails(1), NRT_INVALID);
		ck_assert_msg(strstr(nrtx_error_details(), bad[i].text), "%s",
			      nrtx_error_details());
	}
	lie(nowhere);
}
END_TEST

static void *fail_once(void *arg)
{
	struct client *cl = arg;
	NRT_STATUS status;

	do
		status = client_run(cl);
	while (!status);
	ck_assert_int_eq(status, NRT_EXEC_HW_ERR_DMA_ABORT);
	return NULL;
}

/* A link that goes down under a loaded model, and the chip behind it in a reset by somebody else */
START_TEST(link_down)
{
	struct client cl, alone;
	pthread_t thread;
	uint32_t request;
	int result;

	load(&alone, 1);
	weights_devices("2");
	load(&cl, 4);
	runs(&cl, 4);
	ck_assert_int_eq(ndlx_fault(1, "link-down=on"), 0);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_eq(client_run(&cl), NRT_EXEC_HW_ERR_DMA_ABORT);
		ck_assert_msg(strstr(nrtx_error_details(), "DMA abort"), "%s",
			      nrtx_error_details());
		runs(&alone, 1);
	}
	ck_assert_int_eq(ndlx_fault(1, "link-down=off"), 0);
	runs(&cl, 4);
	/* its cores are not what the model needs of it */
	ck_assert_int_eq(ndlx_reset_ncs(chip[1], NEURON_NC_MAP_DEVICE, &request), 0);
	ck_assert_int_eq(ndlx_ready_ncs(chip[1], request, &result), 0);
	ck_assert_int_eq(result, 0);
	runs(&cl, 4);
	client_free(&cl);
	/* and at any time of executions that follow each other */
	weights_devices("4");
	load(&cl, 16);
	for (int times = 0; times < 5; times++) {
		runs(&cl, 16);
		ck_assert_int_eq(pthread_create(&thread, NULL, fail_once, &cl), 0);
		usleep(7000 + 1300 * (useconds_t)times);
		ck_assert_int_eq(ndlx_fault(3, "link-down=on"), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		ck_assert_int_eq(ndlx_fault(3, "link-down=off"), 0);
	}
	runs(&cl, 16);
	client_free(&cl);
	runs(&alone, 1);
	client_free(&alone);
	lie(nowhere);
}
END_TEST

/* Until it is killed */
START_TEST(held)
{
	struct client cl;

	weights_devices("4");
	load(&cl, 4);
	lie((const unsigned int[CHIPS]){ [0] = 1, [1] = 1, [3] = 1, [4] = 1 });
	runs(&cl, 4);
	puts("loaded");
	fflush(stdout);
	pause();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");

	machine = argc > 1 ? argv[1] : getenv("NEURON_EMU") ?: "emu:trn1.32xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, argc > 2 ? held : places);
	if (strcmp(machine, "node")) {
		tcase_add_test(tc, farther_is_slower);
		tcase_add_test(tc, overflows);
		tcase_add_test(tc, leaves_room);
		tcase_add_test(tc, told_wrong);
		if (strncmp(machine, "unix:", 5)) /* a server's chips break for others as well */
			tcase_add_test(tc, link_down);
	}
	suite_add_tcase(s, tc);
	return check_run(s);
}
