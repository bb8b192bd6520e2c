/* SPDX-License-Identifier: MIT */
/* Tensor sets by the NEFF's names and by the compiled model's own (docs/neff.md, Names of inputs
 * and outputs) */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 2
#define SIZE (128 * COLS * sizeof(float))

struct example {
	const char *own[2]; /* of a and b */
	const char *in[3], *out; /* what the set calls what goes there; the third is a again */
	NRT_STATUS status;
};

/* c = a * b * b of a = 2, b = 3: exchanged, it would be 12 */
static const struct example examples[] = {
	{ { "x", "y" }, { "a", "b" }, "c", NRT_SUCCESS },
	{ { "x", "y" }, { "x", "y" }, "c", NRT_SUCCESS },
	{ { "x", "y" }, { "a", "y" }, "c", NRT_SUCCESS },
	{ { "x", "y" }, { "x", "y" }, "result", NRT_SUCCESS },
	{ { "b", "y" }, { "b", "y" }, "c", NRT_SUCCESS },
	{ { "b", "y" }, { "a", "b" }, "c", NRT_SUCCESS },
	/* nrt_get_model_tensor_info says a and b: these are meant */
	{ { "b", "a" }, { "a", "b" }, "c", NRT_SUCCESS },
	{ { NULL, NULL }, { "a", "y" }, "c", NRT_EXEC_BAD_INPUT },
	{ { "x", "y" }, { "x", "why" }, "c", NRT_EXEC_BAD_INPUT },
	{ { "x", "y" }, { "x", "a" }, "c", NRT_EXEC_BAD_INPUT },
	{ { "x", "y" }, { "x", "y", "a" }, "c", NRT_EXEC_BAD_INPUT },
	{ { "x", "y" }, { "x", "y", "z" }, "c", NRT_SUCCESS },
	{ { "x", "y" }, { "x", "y" }, "d", NRT_EXEC_BAD_INPUT },
};
#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static void fill(nrt_tensor_set_t *set, const char *name, nrt_tensor_t *tensor)
{
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, tensor), NRT_SUCCESS);
}

static void load(struct client *cl, const struct example *e)
{
	struct testmodel t;
	size_t size;
	void *neff;

	testmodel_long(&t, COLS, 2);
	for (unsigned int i = 0; i < t.sg.nvars; i++) {
		const char *name = t.sg.vars[i].name;
		const char *own = !strcmp(name, "a")   ? e->own[0]
				  : !strcmp(name, "b") ? e->own[1]
				  : !strcmp(name, "c") ? "result"
						       : NULL;

		t.sg.vars[i].source = own ? strdup(own) : NULL;
	}
	neff = testmodel_write(&t, &size);
	client_load(cl, neff, size, 0, NRT_TENSOR_PLACEMENT_HOST, 0);
	testmodel_free(&t);
}

/* Executes each example with its names, at once and queued */
START_TEST(names)
{
	const struct example *e = &examples[_i / 2];
	float a[128 * COLS], b[128 * COLS], c[128 * COLS];
	nrt_tensor_set_t *in, *out;
	struct client cl;

	if (_i % 2)
		setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4", 1);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	load(&cl, e);
	for (unsigned int i = 0; i < 128 * COLS; i++) {
		a[i] = 2;
		b[i] = 3;
	}
	client_write(&cl, "a", a, SIZE);
	client_write(&cl, "b", b, SIZE);
	ck_assert_int_eq(nrt_allocate_tensor_set(&in), NRT_SUCCESS);
	ck_assert_int_eq(nrt_allocate_tensor_set(&out), NRT_SUCCESS);
	fill(in, e->in[0], client_tensor(&cl, "a"));
	fill(in, e->in[1], client_tensor(&cl, "b"));
	if (e->in[2])
		fill(in, e->in[2], client_tensor(&cl, "a"));
	fill(out, e->out, client_tensor(&cl, "c"));
	ck_assert_int_eq(nrt_execute(cl.model, in, out), e->status);
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	client_read(&cl, "c", c, SIZE);
	for (unsigned int i = 0; !e->status && i < 128 * COLS; i++)
		ck_assert_float_eq(c[i], 18);
	client_free(&cl);
	nrt_close();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("called");
	TCase *tc = tcase_create("names");

	tcase_add_loop_test(tc, names, 0, 2 * (int)EXAMPLES);
	suite_add_tcase(s, tc);
	return check_run(s);
}
