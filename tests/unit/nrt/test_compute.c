// SPDX-License-Identifier: MIT
/*
 * What DMA queues compute (docs/neff.md), from a NEFF to its result: bytes through the file format,
 * sums and conversions of numbers that C computes here; and what is refused.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "neuron/hw/ext.h"
#include "nrt_client.h"
#include "testmodel.h"

#define N 30003 /* three descriptors of fp32 a source and more */

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:trn1.2xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void teardown(void)
{
	nrt_close();
}

static const struct testmodel_elements jobs[] = {
	{ NEFF_CAST, NEURON_DT_FP32, NEURON_DT_BF16, 1, N },
	{ NEFF_CAST, NEURON_DT_BF16, NEURON_DT_FP32, 1, N },
	{ NEFF_CAST, NEURON_DT_FP32, NEURON_DT_INT16, 1, N },
	{ NEFF_ADD, NEURON_DT_FP32, NEURON_DT_FP32, 2, N },
	{ NEFF_ADD, NEURON_DT_BF16, NEURON_DT_BF16, 16, N },
	{ NEFF_MIN, NEURON_DT_FP32, NEURON_DT_BF16, 3, N },
	{ NEFF_MAX, NEURON_DT_BF16, NEURON_DT_FP32, 5, N },
};

static float get(uint8_t type, const uint8_t *p)
{
	uint32_t bits = 0;
	float x;

	if (type == NEURON_DT_BF16)
		bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
	else
		memcpy(&bits, p, 4);
	memcpy(&x, &bits, 4);
	return x;
}

static void put(uint8_t type, uint8_t *p, float x)
{
	uint32_t bits;
	int16_t i = (int16_t)nearbyintf(x);

	memcpy(&bits, &x, 4);
	if (type == NEURON_DT_FP32)
		memcpy(p, &bits, 4);
	else if (type == NEURON_DT_INT16)
		memcpy(p, &i, 2);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	if (type == NEURON_DT_BF16)
		memcpy(p, &bits, 2);
}

static float combine(enum neff_op op, float a, float b)
{
	return op == NEFF_ADD ? a + b : op == NEFF_MIN ? fminf(a, b) : fmaxf(a, b);
}

START_TEST(computes)
{
	const struct testmodel_elements *e = &jobs[_i];
	const size_t ss = neff_dtype_size(e->from), ds = neff_dtype_size(e->to);
	const size_t piece = N / 3 * ss, stride = piece + 5;
	size_t size, bytes = e->sources * 3 * stride;
	uint8_t *x = calloc(1, bytes), *got = malloc(N * ds), *want = malloc(N * ds);
	struct testmodel t;
	struct client cl;
	void *neff;

	testmodel_compute(&t, e);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&cl, neff, size, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	for (unsigned int k = 0; k < e->sources; k++)
		for (unsigned int i = 0; i < N; i++)
			put(e->from, x + (k * 3 + i / (N / 3)) * stride + i % (N / 3) * ss,
			    ldexpf((float)((int)(i * 7919 + k * 104729) % 20011 - 10000), -3));
	for (unsigned int i = 0; i < N; i++) {
		const uint8_t *at = x + i / (N / 3) * stride + i % (N / 3) * ss;
		float r = get(e->from, at);

		for (unsigned int k = 1; k < e->sources; k++)
			r = combine(e->op, r, get(e->from, at + k * 3 * stride));
		put(e->to, want + i * ds, r);
	}
	client_write(&cl, "x", x, bytes);
	for (unsigned int round = 0; round < 2; round++) {
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
		client_read(&cl, "y", got, N * ds);
		ck_assert_int_eq(memcmp(got, want, N * ds), 0);
	}
	client_free(&cl);
	free(x);
	free(got);
	free(want);
}
END_TEST

static const struct {
	uint8_t dtype;
	unsigned int n;
} streams[] = { { NEURON_DT_BF16, 30 }, { NEURON_DT_FP32, 16377 }, { NEURON_DT_INT8, 65535 - 24 } };

START_TEST(stream)
{
	const size_t bytes = streams[_i].n * neff_dtype_size(streams[_i].dtype), piece = bytes / 3;
	uint8_t *x = calloc(3, piece + 5), *got = malloc(bytes);
	struct testmodel t;
	struct client cl;
	size_t size;
	void *neff;

	testmodel_stream(&t, streams[_i].dtype, streams[_i].n, false);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&cl, neff, size, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 3 * (piece + 5); i++)
			x[i] = (uint8_t)(i % 4 == 3 ? 0x3d : i * i >> (5 + round));
		client_write(&cl, "x", x, 3 * (piece + 5));
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
		client_read(&cl, "y", got, bytes);
		for (unsigned int i = 0; i < 3; i++)
			ck_assert_mem_eq(got + i * piece, x + i * (piece + 5), piece);
	}
	client_free(&cl);
	free(x);
	free(got);
}
END_TEST

/*
 * An input that is no compressed stream ends the execution with an error, and the next one is
 * right.
 */
START_TEST(stream_lies)
{
	uint8_t x[315] = { 'N', 'C', 'S' };
	struct testmodel t;
	struct client cl, good;
	size_t size;
	void *neff;

	testmodel_stream(&t, NEURON_DT_INT8, 300, true);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&cl, neff, size, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	testmodel_stream(&t, NEURON_DT_INT8, 300, false);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&good, neff, size, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	client_write(&good, "x", x, sizeof(x));
	for (unsigned int round = 0; round < 2; round++) {
		client_write(&cl, "x", x, sizeof(x));
		ck_assert_int_eq(client_run(&cl), NRT_EXEC_COMPLETED_WITH_ERR);
		ck_assert_int_eq(client_run(&good), NRT_SUCCESS); /* the core is usable */
	}
	client_free(&cl);
	client_free(&good);
}
END_TEST

static void break_stream(struct testmodel *t, int which)
{
	struct neff_desc *d = t->sg.engine[NEURON_ENG_SP].dma[0].desc;

	switch (which) {
	case 0:
		t->model.target = neuron_target_of_name("inf1");
		break;
	case 1:
		d[0].to_dtype = NEURON_DT_UINT8;
		break;
	case 2:
		d[1].from_dtype = d[1].to_dtype = NEURON_DT_INT64;
		break;
	case 3:
		d[1].from = (struct neff_pattern){ 2, 0, 2, { 100, 2 }, { 1, 100 } };
		break;
	case 4:
		d[0].to = (struct neff_pattern){ 2, 0, 1, { 65537 }, { 1 } };
		t->sg.vars[2].size = 65537;
		break;
	case 5:
		d[0].from = (struct neff_pattern){ 0, 0, 2, { 1, 66 }, { 1, 2 } };
		break;
	case 6:
		d[0].from = (struct neff_pattern){ 2, 0, 2, { 65536, 2 }, { 1, 0 } };
		t->sg.vars[2].size = 65536;
		break;
	case 7:
		d[0].from_dtype = d[0].to_dtype = NEURON_DT_BF16;
		d[0].from.size[0] = 99;
		break;
	case 8:
		d[0].nmore = 1;
		d[0].more = calloc(1, sizeof(*d[0].more));
		break;
	}
}

static const char *const broken_streams[] = {
	"DMA engines of this generation only copy",
	"'from': a stream's elements have one type",
	"'to': not of a type that DMA engines",
	"'from': a stream is one piece of at most 65536 bytes",
	"'to': a stream is one piece of at most 65536 bytes",
	"'from': more than the elements of a stream, or in more pieces",
	"'from': more than the elements of a stream, or in more pieces",
	"'from': its pieces are not whole elements",
	"too many sources",
};

START_TEST(streams_refused)
{
	struct testmodel t;

	testmodel_stream(&t, NEURON_DT_INT8, 300, false);
	break_stream(&t, _i);
	testmodel_refused(&t, -EINVAL, broken_streams[_i]);
}
END_TEST

static const struct {
	uint32_t shape[4];
	unsigned int size;
} transposes[] = { { { 64, 1, 1, 64 }, 4 },
		   { { 64, 1, 1, 32 }, 2 },
		   { { 3, 5, 1, 7 }, 2 },
		   { { 9, 2, 8, 11 }, 4 } };

START_TEST(transpose)
{
	const uint32_t *n = transposes[_i].shape;
	const size_t size = transposes[_i].size, middle = n[1] * n[2];
	const size_t from = middle * n[3] * size + 6, to = middle * n[0] * size + 6;
	uint8_t *x = calloc(n[0], from), *got = malloc(n[3] * to);
	struct testmodel t;
	struct client cl;
	size_t bytes;
	void *neff;

	testmodel_transpose(&t, n, (unsigned int)size);
	neff = testmodel_write(&t, &bytes);
	testmodel_free(&t);
	client_load(&cl, neff, bytes, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < n[0] * from; i++)
			x[i] = (uint8_t)(i * i >> (3 + round));
		client_write(&cl, "x", x, n[0] * from);
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
		client_read(&cl, "y", got, n[3] * to);
		for (size_t f = 0; f < n[0]; f++)
			for (size_t m = 0; m < middle; m++)
				for (size_t l = 0; l < n[3]; l++)
					ck_assert_mem_eq(got + l * to + (m * n[0] + f) * size,
							 x + f * from + (m * n[3] + l) * size,
							 size);
	}
	client_free(&cl);
	free(x);
	free(got);
}
END_TEST

static void break_transpose(struct testmodel *t, int which)
{
	struct neff_desc *d = t->sg.engine[NEURON_ENG_SP].dma[0].desc;

	switch (which) {
	case 0:
		t->model.target = neuron_target_of_name("inf1");
		break;
	case 1:
		d->shape[3]--;
		break;
	case 2:
		d->shape[1] = 0;
		break;
	case 3:
		d->shape[0] = 5000;
		break;
	case 4:
		d->shape[1] = 17;
		break;
	case 5:
		d->from_dtype = d->to_dtype = NEURON_DT_UINT8;
		break;
	case 6:
		d->from = (struct neff_pattern){ 0, 0, 2, { 1, 66 }, { 1, 2 } };
		break;
	case 7:
		d->from.size[0]--;
		break;
	case 8:
		d->nmore = 1;
		d->more = calloc(1, sizeof(*d->more));
		break;
	}
}

static const char *const broken_transposes[] = {
	"DMA engines of this generation only copy",
	"'to': not as many elements as the shape",
	"'to': not as many elements as the shape",
	"'to': transposes have a first dimension of at most 4096",
	"'to': transposes have a first dimension of at most 4096",
	"'to': a transpose's elements have 2 or 4 bytes",
	"'to': a transpose is of at most 65536 bytes, and in no more pieces",
	"'from': its pieces are not whole elements",
	"too many sources",
};

START_TEST(transposes_refused)
{
	const uint32_t shape[] = { 6, 2, 1, 10 };
	struct testmodel t;

	testmodel_transpose(&t, shape, 2);
	break_transpose(&t, _i);
	testmodel_refused(&t, -EINVAL, broken_transposes[_i]);
}
END_TEST

static void break_it(struct testmodel *t, int which)
{
	struct neff_desc *d = &t->sg.engine[NEURON_ENG_SP].dma[0].desc[0];

	switch (which) {
	case 0:
		t->model.target = neuron_target_of_name("inf1");
		break;
	case 1:
		d->from_dtype = NEURON_DT_INT64;
		break;
	case 2:
		d->to_dtype = NEURON_DT_UINT64;
		break;
	case 3:
		d->from.size[0]--;
		break;
	case 4:
		d->more[0].size[1]--;
		break;
	case 5:
		d->more[0].var = 2;
		break;
	case 6:
		d->op = NEFF_CAST;
		break;
	case 7:
		d->more[0].offset += 1u << 20;
		break;
	case 8:
		d->to.var = 0;
		break;
	}
}

static const char *const broken[] = {
	"DMA engines of this generation only copy",
	"'from': not of a type that DMA engines",
	"'to': not of a type that DMA engines",
	"'from': its pieces are not whole elements",
	"'from': not as many elements as 'to'",
	"'from': no such variable",
	"too many sources",
	"'from': outside its variable",
	"'to': an input or a constant is not written",
};
#define BROKEN (sizeof(broken) / sizeof(broken[0]))

START_TEST(refused)
{
	const struct testmodel_elements e = { NEFF_ADD, NEURON_DT_FP32, NEURON_DT_FP32, 2, 30 };
	struct testmodel t;

	testmodel_compute(&t, &e);
	break_it(&t, _i);
	testmodel_refused(&t, -EINVAL, broken[_i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compute");
	TCase *t = tcase_create("compute"), *r = tcase_create("refused");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, computes, 0, (int)(sizeof(jobs) / sizeof(jobs[0])));
	tcase_add_loop_test(r, refused, 0, (int)BROKEN);
	tcase_add_loop_test(t, stream, 0, 3);
	tcase_add_test(t, stream_lies);
	tcase_add_loop_test(r, streams_refused, 0, 9);
	tcase_add_loop_test(t, transpose, 0, 4);
	tcase_add_loop_test(r, transposes_refused, 0, 9);
	suite_add_tcase(s, t);
	suite_add_tcase(s, r);
	return check_run(s);
}
