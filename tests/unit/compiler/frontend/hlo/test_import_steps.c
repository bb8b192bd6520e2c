// SPDX-License-Identifier: MIT
/*
 * Small files that refer to much, many times over: what an importer does for a file is bounded, and
 * such a file is refused. Each one that is refused has a neighbour that asks for less and is taken.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../../check_main.h"
#include "frontend/hlo/import.h"
#include "frontend/hlo/hlo.pb-c.h"
#include "kernel/kernel.h"
#include "frontend/onnx/import.h"

/* A file of protobuf as it is written */
struct bytes {
	uint8_t *at;
	size_t n, capacity;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n >= b->capacity) {
		b->capacity = 2 * (b->n + n) + 64;
		b->at = realloc(b->at, b->capacity);
		ck_assert_ptr_nonnull(b->at);
	}
	memcpy(b->at + b->n, p, n);
	b->n += n;
}

static void put_varint(struct bytes *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		put(b, &(uint8_t){ (uint8_t)(v | 128) }, 1);
	put(b, &(uint8_t){ (uint8_t)v }, 1);
}

static void put_number(struct bytes *b, unsigned int field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_bytes(struct bytes *b, unsigned int field, const void *p, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	put(b, p, n);
}

static void put_text(struct bytes *b, unsigned int field, const char *text)
{
	put_bytes(b, field, text, strlen(text));
}

/* Frees what it puts. */
static void put_message(struct bytes *b, unsigned int field, struct bytes *m)
{
	put_bytes(b, field, m->at, m->n);
	free(m->at);
	*m = (struct bytes){ NULL };
}

/* HLO: type and dimension of an array; -1: a scalar */
static struct bytes shape_of(int type, int dim)
{
	struct bytes s = { NULL };

	put_number(&s, 2, (uint64_t)type);
	if (dim >= 0)
		put_number(&s, 3, (uint64_t)dim);
	return s;
}

/* An instruction with up to two operands (0: none), and a computation that it calls (0: none) */
static void instruction(struct bytes *c, unsigned int id, const char *opcode, struct bytes shape,
			unsigned int a, unsigned int b, unsigned int calls)
{
	struct bytes p = { NULL };

	put_text(&p, 2, opcode);
	put_message(&p, 3, &shape);
	put_number(&p, 35, id);
	if (!strcmp(opcode, "parameter"))
		put_number(&p, 9, id - 1);
	if (!strcmp(opcode, "reduce"))
		put_number(&p, 14, 0);
	if (a)
		put_number(&p, 36, a);
	if (b)
		put_number(&p, 36, b);
	if (calls)
		put_number(&p, 38, calls);
	put_message(c, 2, &p);
}

static void computation(struct bytes *m, unsigned int id, unsigned int root, struct bytes *c)
{
	put_number(c, 5, id);
	put_number(c, 6, root);
	put_message(m, 3, c);
}

/* Reductions by one computation, which has many instructions that nothing uses */
static struct bytes reductions(unsigned int n, unsigned int unused)
{
	struct bytes m = { NULL }, c = { NULL };

	put_text(&m, 1, "m");
	for (unsigned int i = 1; i <= 2; i++)
		instruction(&c, i, "parameter", shape_of(11, -1), 0, 0, 0);
	instruction(&c, 3, "add", shape_of(11, -1), 1, 2, 0);
	for (unsigned int i = 0; i < unused; i++)
		instruction(&c, 10 + i, "negate", shape_of(11, -1), 1, 0, 0);
	computation(&m, 2, 3, &c);
	instruction(&c, 1, "parameter", shape_of(11, 4), 0, 0, 0);
	instruction(&c, 2, "parameter", shape_of(11, -1), 0, 0, 0);
	for (unsigned int i = 0; i < n; i++)
		instruction(&c, 10 + i, "reduce", shape_of(11, -1), 1, 2, 2);
	computation(&m, 1, 10, &c);
	put_number(&m, 6, 1);
	return m;
}

/* text: of the refusal; NULL: it is taken */
static void import(struct bytes *file, bool onnx, const char *text)
{
	const struct ncc_options opt = { .framework = onnx ? NCC_ONNX : NCC_XLA };
	struct ncc_error err = { "" };
	struct ncc_module *m = NULL;
	int rc = onnx ? ncc_import_onnx(file->at, file->n, &opt, &m, &err)
		      : ncc_import_hlo_opt(file->at, file->n, &(struct ncc_options){ 0 }, &m, &err);

	if (text)
		ck_assert_msg(rc && strstr(err.text, text), "%d, '%s'", rc, err.text);
	else
		ck_assert_msg(!rc, "%s", err.text);
	if (!rc)
		ncc_module_free(m);
	free(file->at);
}

/* 16 steps for each of the 20,003 instructions: a limit of 2^30 is reached with number 3,355 */
START_TEST(reducer)
{
	struct bytes few = reductions(3000, 20000), many = reductions(3400, 20000);

	ck_assert_uint_lt(many.n, 1 << 20);
	import(&few, false, NULL);
	import(&many, false, "too large: what the instructions up to here refer to");
}
END_TEST

/* A module whose stack frame index comes in parts, which the parser merges */
START_TEST(parts)
{
	const unsigned int n = 65 + (unsigned int)_i;
	struct bytes m = reductions(1, 0);

	for (unsigned int i = 0; i < n; i++) {
		struct bytes index = { NULL };

		put_text(&index, 1, "file");
		put_message(&m, 17, &index);
	}
	import(&m, false, _i ? "not an HLO module: a message in too many parts" : NULL);
}
END_TEST

static void node(struct bytes *g, unsigned int field, const char *op, const char *in,
		 const char *out, const char *domain)
{
	struct bytes p = { NULL };

	put_text(&p, 1, in);
	put_text(&p, 2, out);
	put_text(&p, 4, op);
	put_text(&p, 7, domain);
	put_message(g, field, &p);
}

static void tensor(struct bytes *g, unsigned int field, const char *name)
{
	struct bytes v = { NULL }, type = { NULL }, t = { NULL }, shape = { NULL }, d = { NULL };

	put_number(&d, 1, 2);
	put_message(&shape, 1, &d);
	put_number(&t, 1, 1);
	put_message(&t, 2, &shape);
	put_message(&type, 1, &t);
	put_text(&v, 1, name);
	put_message(&v, 2, &type);
	put_message(g, field, &v);
}

static void operator_set(struct bytes *m, unsigned int field, const char *domain)
{
	struct bytes s = { NULL };

	put_text(&s, 1, domain);
	put_number(&s, 2, 17);
	put_message(m, field, &s);
}

/* Calls of a function that names many sets of operators */
static struct bytes calls(unsigned int n, unsigned int sets)
{
	struct bytes m = { NULL }, g = { NULL }, f = { NULL };
	char out[16];

	put_number(&m, 1, 8);
	for (unsigned int i = 0; i < n; i++) {
		snprintf(out, sizeof(out), "r%u", i);
		node(&g, 1, "f", "x", out, "d");
	}
	tensor(&g, 11, "x");
	tensor(&g, 12, "r0");
	put_message(&m, 7, &g);
	operator_set(&m, 8, "");
	put_text(&f, 1, "f");
	put_text(&f, 4, "x");
	put_text(&f, 5, "y");
	node(&f, 7, "Neg", "x", "y", "");
	operator_set(&f, 9, "");
	for (unsigned int i = 0; i < sets; i++)
		operator_set(&f, 9, "a");
	put_text(&f, 10, "d");
	put_message(&m, 25, &f);
	return m;
}

START_TEST(functions)
{
	struct bytes few = calls(10000, 100000), many = calls(11000, 100000);

	ck_assert_uint_lt(many.n, 3 << 19);
	import(&few, true, NULL);
	import(&many, true, "too large: what the nodes up to here refer to");
}
END_TEST

/* The end of an .if in a loop is looked for once; each time it would be 2 * 10^9 lines. */
START_TEST(kernel)
{
	static const char begin[] = ".kernel k\n.output y fp32[1]\n.for i 0 100000\n.if 0\n",
			  end[] = ".end\n.end\n.end\n";
	struct ncc_kernels *kernels = NULL;
	struct ncc_error err = { "" };
	struct bytes text = { NULL };

	put(&text, begin, strlen(begin));
	for (unsigned int i = 0; i < 20000; i++)
		put(&text, "x\n", 2);
	put(&text, end, strlen(end));
	ck_assert_int_ne(ncc_kernels_add(&kernels, (char *)text.at, text.n, "k.txt", &err), 0);
	ck_assert_msg(strstr(err.text, "nothing writes the output 'y'") || strstr(err.text, "f32"),
		      "%s", err.text);
	free(text.at);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import-steps");
	TCase *t = tcase_create("import-steps");

	tcase_add_test(t, reducer);
	tcase_add_loop_test(t, parts, 0, 2);
	tcase_add_test(t, functions);
	tcase_add_test(t, kernel);
	suite_add_tcase(s, t);
	return check_run(s);
}
