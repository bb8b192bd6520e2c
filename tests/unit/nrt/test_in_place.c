// SPDX-License-Identifier: MIT
/*
 * Executions whose output has its input's tensor, as a framework's donated arguments have: large
 * ones change hands page by page where the chip is in this process, and are copied elsewhere. The
 * oracle is plain C over the values.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 2048
#define N (128 * COLS)
#define BYTES ((size_t)N * sizeof(float))

static float a[N], b[N], c[N];
static nrt_model_t *model;

static void ok(NRT_STATUS status)
{
	ck_assert_msg(!status, "%s: %s", nrt_get_status_as_str(status), nrtx_error_details());
}

static void start(const char *faults)
{
	const struct nrtx_load_params params = { .timeout_ms = 10000 };
	struct testmodel t;
	size_t size;
	void *neff;

	if (faults)
		setenv("NEURON_EMU_FAULTS", faults, 1);
	ok(nrtx_machine_set("emu:trn1.2xlarge"));
	ok(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	testmodel_add(&t, COLS);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	ok(nrtx_load(neff, size, &params, &model));
	free(neff);
	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000);
		b[i] = (float)(i / 1000) / 8;
	}
}

static void stop(void)
{
	ok(nrt_unload(model));
	nrt_close();
}

static nrt_tensor_t *tensor(size_t size)
{
	nrt_tensor_t *t;

	ok(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, size, "t", &t));
	return t;
}

static nrt_tensor_t *slice(const nrt_tensor_t *of, size_t offset)
{
	nrt_tensor_t *t;

	ok(nrt_tensor_allocate_slice(of, offset, BYTES, "slice", &t));
	return t;
}

static NRT_STATUS run(nrt_tensor_t *x, nrt_tensor_t *y, nrt_tensor_t *z)
{
	nrt_tensor_set_t *in, *out;
	NRT_STATUS status;

	ok(nrt_allocate_tensor_set(&in));
	ok(nrt_allocate_tensor_set(&out));
	ok(nrt_add_tensor_to_tensor_set(in, "a", x));
	ok(nrt_add_tensor_to_tensor_set(in, "b", y));
	ok(nrt_add_tensor_to_tensor_set(out, "c", z));
	status = nrt_execute(model, in, out);
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	return status;
}

/* x is a and times times b */
static void expect(const nrt_tensor_t *x, int times)
{
	int i = 0;

	ok(nrt_tensor_read(x, c, 0, BYTES));
	while (i < N && c[i] == a[i] + (float)times * b[i])
		i++;
	ck_assert_msg(i == N, "element %d: %g", i, c[i % N]);
}

START_TEST(again_and_again)
{
	nrt_tensor_t *x, *y, *z;

	start(NULL);
	x = tensor(BYTES);
	y = tensor(BYTES);
	z = tensor(BYTES);
	ok(nrt_tensor_write(x, a, 0, BYTES));
	ok(nrt_tensor_write(y, b, 0, BYTES));
	for (int i = 1; i <= 3; i++) {
		ok(run(x, y, x));
		expect(x, i);
	}
	/* the other input as well, and one that stays */
	ok(run(x, y, z));
	expect(x, 3);
	expect(z, 4);
	ok(run(y, x, x));
	expect(x, 4);
	ok(nrt_tensor_read(y, c, 0, BYTES));
	ck_assert_int_eq(memcmp(c, b, BYTES), 0);
	nrt_tensor_free(&x);
	nrt_tensor_free(&y);
	nrt_tensor_free(&z);
	/* what was theirs is clear */
	x = tensor(BYTES);
	ok(nrt_tensor_read(x, c, 0, BYTES));
	memset(a, 0, sizeof(a));
	expect(x, 0);
	nrt_tensor_free(&x);
	stop();
}
END_TEST

/* A tensor that two inputs have, and slices of one, of which each is an input and one the output */
START_TEST(shared)
{
	nrt_tensor_t *x, *y, *w, *whole;

	start(NULL);
	whole = tensor(2 * BYTES + 4096);
	x = slice(whole, _i * 64);
	y = slice(whole, BYTES + 4096);
	memcpy(b, a, BYTES);
	ok(nrt_tensor_write(x, a, 0, BYTES));
	ok(run(x, x, x));
	expect(x, 1);
	ok(nrt_tensor_write(x, a, 0, BYTES));
	ok(nrt_tensor_write(y, b, 0, BYTES));
	ok(run(x, y, x));
	expect(x, 1);
	ok(run(x, y, y));
	expect(y, 2);
	expect(x, 1);
	w = tensor(BYTES);
	ok(nrt_tensor_write(w, b, 0, BYTES));
	ok(run(x, w, y));
	expect(y, 2);
	expect(x, 1);
	nrt_tensor_free(&w);
	nrt_tensor_free(&x);
	nrt_tensor_free(&y);
	nrt_tensor_free(&whole);
	stop();
}
END_TEST

/* A tensor that a failed execution did not overwrite has its old bytes. */
START_TEST(failed)
{
	nrt_tensor_t *x, *y;

	start("nd0:engine-hang");
	x = tensor(BYTES);
	y = tensor(BYTES);
	ok(nrt_tensor_write(x, a, 0, BYTES));
	ok(nrt_tensor_write(y, b, 0, BYTES));
	ck_assert_int_eq(run(x, y, x), NRT_TIMEOUT);
	expect(x, 0);
	ok(run(x, y, x));
	expect(x, 1);
	nrt_tensor_free(&x);
	nrt_tensor_free(&y);
	stop();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-in-place");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, again_and_again);
	tcase_add_loop_test(tc, shared, 0, 2);
	tcase_add_test(tc, failed);
	suite_add_tcase(s, tc);
	return check_run(s);
}
