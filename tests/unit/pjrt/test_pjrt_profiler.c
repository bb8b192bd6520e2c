// SPDX-License-Identifier: MIT
/*
 * The profiler's extension as a framework calls it. What a profile says is found in its bytes by
 * name here; JAX reads one in tests/frameworks/jax_plugin.py.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "pjrt_client.h"

/* The interface, by its public layout: all structs begin with their size */
struct args {
	size_t struct_size;
	void *profiler;
	uint8_t *buffer;
	size_t size;
};
struct create_args {
	size_t struct_size;
	const char *options;
	size_t options_size;
	void *profiler;
};
struct error_args {
	size_t struct_size;
	void *priv, *error;
	const char *message;
	size_t message_size;
};
struct profiler_api {
	size_t struct_size;
	void *priv;
	void (*error_destroy)(struct error_args *);
	void (*error_message)(struct error_args *);
	void *(*error_get_code)(void *);
	void *(*create)(struct create_args *);
	void *(*destroy)(struct args *), *(*start)(struct args *), *(*stop)(struct args *);
	void *(*collect_data)(struct args *);
};

static const struct profiler_api *profiler_of(const PJRT_Api *from)
{
	const PJRT_Extension_Base *e = from->extension_start;

	while (e && e->type != PJRT_Extension_Type_Profiler)
		e = e->next;
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->struct_size, 40);
	return *(const struct profiler_api *const *)(e + 1);
}

static bool says(const struct args *a, const char *text)
{
	return memmem(a->buffer, a->size, text, strlen(text));
}

static struct args make(const struct profiler_api *p)
{
	struct create_args c = { .struct_size = sizeof(c) };

	ck_assert_ptr_null(p->create(&c));
	return (struct args){ .struct_size = sizeof(struct args), .profiler = c.profiler };
}

START_TEST(profile)
{
	const struct profiler_api *p;
	struct args a, again;

	plugin_start();
	p = profiler_of(api);
	ck_assert_uint_eq(p->struct_size, 80);
	for (int round = 0; round < 2; round++) {
		a = make(p);
		ck_assert_ptr_null(p->start(&a));
		ck_assert_ptr_null(p->start(&a)); /* a second time says nothing new */
		add1_is_right(compile("add1", "mlir"));
		ck_assert_ptr_null(p->stop(&a));
		ck_assert_ptr_null(p->collect_data(&a));
		ck_assert_ptr_nonnull(a.buffer);
		ck_assert(says(&a, "/device:NEURON:0") && says(&a, "/host:neuron-pjrt"));
		ck_assert(says(&a, "compile ") && says(&a, "nrt_execute") && says(&a, "Programs"));
		/* into the caller's own */
		again = a;
		again.buffer = malloc(a.size);
		ck_assert_ptr_null(p->collect_data(&again));
		ck_assert_uint_eq(again.size, a.size);
		ck_assert_mem_eq(again.buffer, a.buffer, a.size);
		free(again.buffer);
		ck_assert_ptr_null(p->destroy(&a));
	}
	plugin_end();
}
END_TEST

START_TEST(without_a_client)
{
	const struct profiler_api *p;
	struct error_args e = { .struct_size = sizeof(e) };
	struct args a;

	api = plugin_load(getenv("PJRT_LIBRARY"));
	p = profiler_of(api);
	a = make(p);
	ck_assert_ptr_null(p->start(&a));
	e.error = p->collect_data(&a);
	ck_assert_ptr_nonnull(e.error);
	p->error_message(&e);
	ck_assert_ptr_nonnull(strstr(e.message, "still being made"));
	p->error_destroy(&e);
	ck_assert_ptr_null(p->stop(&a));
	ck_assert_ptr_null(p->collect_data(&a));
	ck_assert(says(&a, "the runtime's trace")); /* that there was none */
	ck_assert_ptr_null(p->destroy(&a));
	a = make(p);
	ck_assert_ptr_null(p->destroy(&a)); /* one that never began */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-profiler");
	TCase *tc = tcase_create("pjrt");

	tcase_add_test(tc, profile);
	tcase_add_test(tc, without_a_client);
	suite_add_tcase(suite, tc);
	return check_run(suite);
}
