/* SPDX-License-Identifier: MIT */
/*
 * The host's memory that models keep between executions: of many models that are executed one after
 * the other it is bounded, and each of them is right whenever it is executed again. The oracle for
 * memory is the kernel's mincore(), for results plain C.
 */
#define _DEFAULT_SOURCE
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../check_main.h"
#include "ndlx.h"
#include "nrt_client.h"
#include "rt_model.h"
#include "testmodel.h"

#define COLS 512
#define N (128 * COLS)
#define BYTES (N * 4ull)
#define MODELS 6
#define PAGE 4096

static float a[N], b[N], c[N];

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void teardown(void)
{
	nrt_close();
}

/* c = a + b, whose inputs and output have chunks of their own or one that is their sum */
static void load(struct client *cl, int seed, uint32_t core)
{
	const struct nrtx_load_params params = { .start_core = core, .core_count = 1 };
	size_t size;
	void *neff = testmodel_stages(1, COLS, &size);

	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 0; i < N; i++) {
		a[i] = (float)((i + seed) % 1000 + 1);
		b[i] = (float)(i % 77 + 1) * 0.5f;
	}
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void runs(struct client *cl, int seed)
{
	memset(c, 0, sizeof(c));
	client_write(cl, "c", c, sizeof(c));
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_msg(c[i] == (float)((i + seed) % 1000 + 1) + (float)(i % 77 + 1) * 0.5f,
			      "element %d: %g", i, c[i]);
}

/* Pages of the host that the model's inputs and outputs have */
static uint64_t resident(const struct client *cl)
{
	static unsigned char there[4 * BYTES / PAGE];
	const struct rt_subgraph *sg = &cl->model->subgraph[0];
	uint64_t pages = 0;

	for (unsigned int i = 0; i < sg->nchunks; i++) {
		const struct rt_chunk *chunk = &sg->chunks[i];
		void *va;

		if (chunk->type != NEURON_MEMALLOC_TYPE_TENSORS_DEVICE)
			continue;
		ck_assert_uint_le(chunk->size, 4 * BYTES);
		ck_assert_int_eq(ndlx_memory_map(chunk->dev, chunk->handle, &va), 0);
		ck_assert_int_eq(mincore(va, chunk->size, there), 0);
		ck_assert_int_eq(ndlx_memory_unmap(chunk->dev, chunk->handle, va), 0);
		for (uint64_t k = 0; k < chunk->size / PAGE; k++)
			pages += there[k] & 1;
	}
	return pages;
}

START_TEST(bounded)
{
	struct client cl[MODELS];

	rt_retained_most = 3 * 3 * BYTES; /* three models' */
	for (int i = 0; i < MODELS; i++)
		load(&cl[i], i, 0);
	for (int lap = 0; lap < 3; lap++) {
		for (int i = 0; i < MODELS; i++) {
			runs(&cl[i], i);
			for (int k = 0; k < MODELS; k++) {
				const bool retained =
					(i - k + MODELS) % MODELS < 3 && (lap || k <= i);

				ck_assert_msg(resident(&cl[k]) == (retained ? 3 * BYTES / PAGE : 0),
					      "lap %d, after %d: model %d has %llu pages", lap, i,
					      k, (unsigned long long)resident(&cl[k]));
			}
		}
	}
	/* what is unloaded counts no more */
	client_free(&cl[MODELS - 1]);
	client_free(&cl[0]);
	runs(&cl[1], 1);
	runs(&cl[2], 2);
	runs(&cl[3], 3);
	for (int k = 1; k < 4; k++)
		ck_assert_uint_eq(resident(&cl[k]), 3 * BYTES / PAGE);
	for (int i = 1; i < MODELS - 1; i++)
		client_free(&cl[i]);
}
END_TEST

/*
 * A model that is alone beyond the bound keeps its memory, and so does the model that another core
 * executed last.
 */
START_TEST(large)
{
	struct client cl[3];

	rt_retained_most = BYTES;
	for (int i = 0; i < 3; i++)
		load(&cl[i], i, i == 1);
	for (int i = 0; i < 3; i++)
		runs(&cl[i], i);
	ck_assert_uint_eq(resident(&cl[0]), 0);
	ck_assert_uint_eq(resident(&cl[1]), 3 * BYTES / PAGE);
	ck_assert_uint_eq(resident(&cl[2]), 3 * BYTES / PAGE);
	for (int i = 0; i < 3; i++) {
		runs(&cl[i], i);
		client_free(&cl[i]);
	}
}
END_TEST

/* Stages on two cores write into each other's memory at any time, so that a pipeline keeps its own.
 */
START_TEST(pipeline)
{
	const struct nrtx_load_params params = { .core_count = 2 };
	struct client pipe, cl[2];
	size_t size;
	void *neff = testmodel_stages(2, COLS, &size);
	uint64_t pages;

	rt_retained_most = BYTES;
	client_load_on(&pipe, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 0; i < 2; i++)
		load(&cl[i], i, 0);
	client_write(&pipe, "a", a, sizeof(a));
	client_write(&pipe, "b", b, sizeof(b));
	ck_assert_int_eq(client_run(&pipe), NRT_SUCCESS);
	pages = resident(&pipe);
	ck_assert_uint_gt(pages, 0);
	for (int i = 0; i < 2; i++)
		runs(&cl[i], i);
	ck_assert_uint_eq(resident(&cl[0]), 0);
	ck_assert_uint_eq(resident(&pipe), pages);
	client_free(&pipe);
	for (int i = 0; i < 2; i++)
		client_free(&cl[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-retained");
	TCase *tc = tcase_create("retained");

	/* a large page would be resident for its neighbours */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, large);
	tcase_add_test(tc, pipeline);
	suite_add_tcase(s, tc);
	return check_run(s);
}
