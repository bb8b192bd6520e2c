// SPDX-License-Identifier: MIT
/*
 * The IR as text: every golden module and network, as it was read and after the passes, prints as
 * text that reads as a module that prints the same; and the text of a module compiles to the very
 * program that the module compiles to. Wrong text is refused with its line.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"

#define MAX_CASES 1024

static char cases[MAX_CASES][96];
static unsigned int ncases;

static void add_cases(const char *dir)
{
	char path[256], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/cases.txt", TEST_DATA, dir);
	f = fopen(path, "r");
	while (f && ncases < MAX_CASES && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \n")] = 0;
		snprintf(cases[ncases++], sizeof(cases[0]), "%.16s/%.60s/module.hlo.pb", dir, line);
	}
	if (f)
		fclose(f);
}

static char *text_of(const struct ncc_module *m, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	ck_assert_ptr_nonnull(f);
	ncc_print(m, INT64_MAX, f);
	fclose(f);
	return text;
}

static struct ncc_module *parse(const char *text, size_t size, const char *what)
{
	struct ncc_module *m = NULL;
	struct ncc_error err;
	int rc = ncc_import_ir(text, size, &m, &err);

	ck_assert_msg(!rc, "%s: %s", what, err.text);
	return m;
}

static void round_trip(const struct ncc_module *m, const char *what)
{
	size_t size, again_size;
	char *text = text_of(m, &size), *again;
	struct ncc_module *back = parse(text, size, what);

	ck_assert_uint_eq(back->nops, m->nops);
	ck_assert_uint_eq(back->nparams, m->nparams);
	again = text_of(back, &again_size);
	ck_assert_msg(!strcmp(text, again), "%s: prints otherwise when read back", what);
	free(text);
	free(again);
	ncc_module_free(back);
}

START_TEST(module)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT, .narrow_64bit = true };
	struct ncc_module *m;
	struct ncc_error err;
	size_t size;
	void *hlo = read_data(cases[_i], &size);

	ck_assert_msg(!ncc_import_hlo_opt(hlo, size, &opt, &m, &err), "%s", err.text);
	round_trip(m, cases[_i]);
	ck_assert_msg(!ncc_run_passes(m, &opt, &err), "%s", err.text);
	round_trip(m, cases[_i]);
	ncc_module_free(m);
	free(hlo);
}
END_TEST

static struct neff_model *model_of(const void *input, size_t size, enum ncc_framework framework)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT,
					 .framework = framework,
					 .narrow_64bit = true };
	const struct neff_limits limits = { .validate_hash = true };
	struct neff_model *m = NULL;
	struct neff_error why;
	struct ncc_error err;
	void *neff;
	size_t n;

	ck_assert_msg(!ncc_compile(input, size, &opt, &neff, &n, &err), "%s", err.text);
	ck_assert_msg(!neff_read(neff, n, &limits, &m, &why), "%s", why.text);
	free(neff);
	return m;
}

START_TEST(same_program)
{
	struct neff_model *a, *b;
	struct ncc_module *m;
	struct ncc_error err;
	size_t size, text_size;
	void *hlo = read_data(cases[_i], &size);
	const struct ncc_options opt = { .narrow_64bit = true };
	char *text;

	ck_assert_msg(!ncc_import_hlo_opt(hlo, size, &opt, &m, &err), "%s", err.text);
	text = text_of(m, &text_size);
	a = model_of(hlo, size, NCC_XLA);
	b = model_of(text, text_size, NCC_IR);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		const struct neff_engine *x = &a->subgraphs[0].engine[e],
					 *y = &b->subgraphs[0].engine[e];

		ck_assert_uint_eq(x->instr_size, y->instr_size);
		ck_assert_uint_eq(x->ndma, y->ndma);
		ck_assert(!x->instr_size || !memcmp(x->instr, y->instr, x->instr_size));
	}
	neff_free(a);
	neff_free(b);
	ncc_module_free(m);
	free(text);
	free(hlo);
}
END_TEST

static const struct {
	const char *text, *says;
} wrong[] = {
	{ "", "line 1: module is missing" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\"\n", "line 3: % is missing" },
	{ "module \"a\"\n%1 = f32[2] parameter \"x\"\nreturn %0\n", "numbered from 0" },
	{ "module \"a\"\n%0 = f31[2] parameter \"x\"\nreturn %0\n", "line 2: unknown type" },
	{ "module \"a\"\n%0 = f32[0] parameter \"x\"\nreturn %0\n", "out of range" },
	{ "module \"a\"\n%0 = f32[65536,65536] parameter \"x\"\nreturn %0\n", "too many elements" },
	{ "module \"a\"\n%0 = f32[2] thing \"x\"\nreturn %0\n", "unknown operation" },
	{ "module \"a\"\n%0 = f32[2] abs %0 \"x\"\nreturn %0\n", "not there yet" },
	{ "module \"a\"\n%0 = f32[2] abs \"x\"\nreturn %0\n", "0 operands, expected 1" },
	{ "module \"a\"\n%0 = f32[2] parameter index=1 \"x\"\nreturn %0\n", "bad index" },
	{ "module \"a\"\n%0 = f32[2] parameter size=1 \"x\"\nreturn %0\n", "unknown attribute" },
	/* as parts of a program are printed, which are not read */
	{ "module \"a\"\n%0 = f32[2] parameter between=parts index=0 \"x\"\nreturn %0\n",
	  "unknown attribute" },
	{ "module \"a\"\n%0 = u8[2] parameter index=0 io=f4e2m1fn \"x\"\nreturn %0\n",
	  "line 2: the model's user has f4e2m1fn as u8" },
	{ "module \"a\"\n%0 = f32[2] parameter p=1 \"x\"\nreturn %0\n", "p is no dimension" },
	{ "module \"a\"\n%0 = f32[2] constant {1} \"x\"\nreturn %0\n", "an element is missing" },
	{ "module \"a\"\n%0 = f32[2] constant {1, ...} \"x\"\nreturn %0\n", "cut short" },
	{ "module \"a\"\n%0 = f32[2] constant {1, nan} \"x\"\nreturn %0\n",
	  "an element is missing" },
	{ "module \"a\"\n%0 = f32[9999] constant {1} \"x\"\nreturn %0\n",
	  "cut short or too large" },
	{ "module \"a\"\n%0 = f32[2000000] constant {*1} \"x\"\nreturn %0\n", "cut short or too "
									      "large" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\nreturn %0\n", "without an end" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\" y\nreturn %0\n", "something behind" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\"\nreturn %0\nreturn %0\n", "line 4: "
										       "something "
										       "behind" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\"\nreturn %0:u8, %0\n", "some results" },
	{ "module \"a\"\n%0 = f32[2] parameter index=0 \"x\"\n"
	  "%1 = f32[2] transpose %0 map={0,1} \"y\"\nreturn %1\n",
	  "line 3: a list of another length" },
	{ "module \"a\"\n%0 = f32[2,3] parameter index=0 \"x\"\n"
	  "%1 = f32[2,3] transpose %0 map={0,0} \"y\"\nreturn %1\n",
	  "bad permutation" },
	{ "module \"a\"\n%0 = f32[2,3] parameter index=0 \"x\"\n"
	  "%1 = f32[2,3] transpose %0 map={0,16} \"y\"\nreturn %1\n",
	  "out of range" },
#define ORDER(key, op) \
	"module \"a\"\n%0 = " key " parameter index=0 \"x\"\n%1 = " op " \"y\"\nreturn %1\n"
	{ ORDER("s16[2,3]", "s32[2,3] order %0 func=compare-lt"), "not matrices of s32" },
	{ ORDER("s32[2,3]", "s32[2,4] order %0 func=compare-lt"), "more places than keys" },
	{ ORDER("s32[2,3]", "s32[1,3] order %0 func=compare-lt"), "not as many rows" },
	{ ORDER("s32[2,12289]", "s32[2,3] order %0 func=compare-lt"), "more than 12288" },
	{ ORDER("s32[2,3]", "s32[2,3] order %0 func=compare-le"), "bad function" },
};

START_TEST(refused)
{
	struct ncc_module *m;
	struct ncc_error err = { { 0 } };

	ck_assert_int_lt(ncc_import_ir(wrong[_i].text, strlen(wrong[_i].text), &m, &err), 0);
	ck_assert_msg(strstr(err.text, wrong[_i].says), "says '%s', expected '%s'", err.text,
		      wrong[_i].says);
}
END_TEST

/* Every element keeps its bits, and names what they are made of */
START_TEST(bits)
{
	static const char text[] = "// a comment\nmodule \"m \\22\\0a\"\n\n"
				   "  %0 = f32[6] constant {0x7fc00123, -0, inf, -inf, "
				   "1.40129846e-45, 0.100000001} \"c\" \"f:1\"\n"
				   "  %1 = s32[3] constant {-2147483648, 2147483647, 0} \"\"\n"
				   "  %2 = bf16[1000] constant {*0xffff} \"n\"\n"
				   "  return %0, %1, %2\n";
	struct ncc_module *m = parse(text, sizeof(text) - 1, "bits");
	const uint32_t *c = m->first->data;
	size_t size;
	char *again = text_of(m, &size);

	ck_assert_str_eq(m->name, "m \"\n");
	ck_assert_uint_eq(c[0], 0x7fc00123);
	ck_assert_uint_eq(c[1], 0x80000000);
	ck_assert_uint_eq(c[4], 1);
	ck_assert_str_eq(m->first->where, "f:1");
	ck_assert_int_eq(((int32_t *)m->first->next->data)[0], INT32_MIN);
	ck_assert_uint_eq(((uint16_t *)m->outs[2]->data)[999], 0xffff);
	ck_assert_str_eq(strstr(again, "  %0"), strstr(text, "  %0"));
	free(again);
	ncc_module_free(m);
}
END_TEST

/* The order of constants, equal ones and the ends of the type among them, is found at once */
START_TEST(constant_order)
{
	static const char text[] = "module \"m\"\n"
				   "%0 = s32[2,5] constant {3, -2147483648, 3, 7, 3, "
				   "2147483647, 1, 2147483647, -1, 1} \"c\"\n"
				   "%1 = s32[2,4] order %0 func=compare-lt \"a\"\n"
				   "%2 = s32[2,4] order %0 func=compare-gt \"b\"\n"
				   "return %1, %2\n";
	static const int32_t want[2][8] = { { 1, 0, 2, 4, 3, 1, 4, 0 },
					    { 3, 0, 2, 4, 0, 2, 1, 4 } };
	struct ncc_module *m = parse(text, sizeof(text) - 1, "order");

	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(ncc_eval(m, m->outs[i]), 1);
		ck_assert_mem_eq(m->outs[i]->data, want[i], sizeof(want[i]));
	}
	ncc_module_free(m);
}
END_TEST

/*
 * Of a value that is rolled along both dimensions long rows go to other partitions (first), where
 * short rows (second), and pieces that something else reads too (third), have another dimension
 * there.
 */
static const struct {
	int rows, columns;
	const char *user, *whole;
} rolls[] = {
	{ 128, 128, "", "f32[128,128] concatenate %1, %2 axis=0 p=0" },
	{ 512, 32, "", "f32[512,32] concatenate %1, %2 axis=0 p=1" },
	{ 128, 128, ", %7", "f32[128,128] concatenate %1, %2 axis=0 p=1" },
};

START_TEST(rolled)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_module *m;
	struct ncc_error err;
	char text[1024], *after;
	size_t size;
	int rows = rolls[_i].rows, columns = rolls[_i].columns;
	int n = snprintf(text, sizeof(text),
			 "module \"m\"\n"
			 "  %%0 = f32[%d,%d] parameter index=0 \"x\"\n"
			 "  %%1 = f32[%d,%d] slice %%0 start={1,0} stride={1,1} \"a\"\n"
			 "  %%2 = f32[1,%d] slice %%0 start={0,0} stride={1,1} \"b\"\n"
			 "  %%3 = f32[%d,%d] concatenate %%1, %%2 axis=0 \"c\"\n"
			 "  %%4 = f32[%d,%d] slice %%3 start={0,1} stride={1,1} \"d\"\n"
			 "  %%5 = f32[%d,1] slice %%3 start={0,0} stride={1,1} \"e\"\n"
			 "  %%6 = f32[%d,%d] concatenate %%4, %%5 axis=1 \"f\"\n"
			 "  %%7 = f32[%d,%d] tanh %%1 \"g\"\n"
			 "  return %%6%s\n",
			 rows, columns, rows - 1, columns, columns, rows, columns, rows,
			 columns - 1, rows, rows, columns, rows - 1, columns, rolls[_i].user);

	m = parse(text, (size_t)n, "roll");
	ck_assert_int_eq(ncc_run_passes(m, &opt, &err), 0);
	after = text_of(m, &size);
	ck_assert_msg(strstr(after, rolls[_i].whole), "%s", after);
	free(after);
	ncc_module_free(m);
}
END_TEST

/* Rows i + 3, i, i + 1 and i + 2 of one table are gathered at once; one of another table is not */
START_TEST(gathered)
{
	static const char text[] = "module \"m\"\n"
				   "  %0 = f32[100,40] parameter index=0 \"x\"\n"
				   "  %1 = f32[100,40] parameter index=1 \"y\"\n"
				   "  %2 = s8[] parameter index=2 \"i\"\n"
				   "  %3 = s32[] convert %2 \"i\"\n"
				   "  %4 = s32[] constant {1} \"c\"\n"
				   "  %5 = s32[] add %3, %4 \"a\"\n"
				   "  %6 = s32[] add %4, %5 \"a\"\n"
				   "  %7 = s32[] add %6, %4 \"a\"\n"
				   "  %8 = s32[1] broadcast %7 map={} \"b\"\n"
				   "  %9 = s32[1] broadcast %3 map={} \"b\"\n"
				   "  %10 = s32[1] broadcast %5 map={} \"b\"\n"
				   "  %11 = s32[1] reshape %6 \"b\"\n"
				   "  %12 = f32[1,40] gather %0, %8 \"g\"\n"
				   "  %13 = f32[1,40] gather %0, %9 \"g\"\n"
				   "  %14 = f32[1,40] gather %0, %10 \"g\"\n"
				   "  %15 = f32[1,40] gather %0, %11 \"g\"\n"
				   "  %16 = f32[1,40] gather %1, %11 \"g\"\n"
				   "  return %12, %13, %14, %15, %16\n";
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };
	struct ncc_module *m = parse(text, sizeof(text) - 1, "gathers");
	struct ncc_error err;
	unsigned int n = 0;

	ck_assert_int_eq(ncc_run_passes(m, &opt, &err), 0);
	for (const struct ncc_op *op = m->first; op; op = op->next)
		n += op->kind == NCC_GATHER;
	ck_assert_uint_eq(n, 2);
	for (unsigned int i = 0; i < 4; i++) {
		static const int32_t want[] = { 3, 0, 1, 2 };
		const struct ncc_op *row = m->outs[i], *add = row->in[0]->in[1];

		ck_assert_int_eq(row->kind, NCC_SLICE);
		ck_assert_int_eq(row->in[0]->kind, NCC_GATHER);
		ck_assert_int_eq(add->kind, NCC_ADD);
		ck_assert_int_eq(((int32_t *)add->in[1]->data)[row->start[0]], want[i]);
	}
	ck_assert_int_eq(m->outs[4]->kind, NCC_GATHER);
	ncc_module_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");

	add_cases("hlo");
	add_cases("hlo_ops");
	add_cases("networks");
	if (!ncases || ncases == MAX_CASES)
		return 99;
	tcase_add_loop_test(t, module, 0, (int)ncases);
	tcase_add_loop_test(t, same_program, 0, (int)ncases);
	tcase_add_loop_test(t, refused, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(t, bits);
	tcase_add_test(t, constant_order);
	tcase_add_loop_test(t, rolled, 0, (int)(sizeof(rolls) / sizeof(rolls[0])));
	tcase_add_test(t, gathered);
	suite_add_tcase(s, t);
	return check_run_here(s);
}
