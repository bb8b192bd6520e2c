// SPDX-License-Identifier: MIT
/*
 * Loops on both cores of a logical one: random loops give the bits of one core, however small the
 * parts (test_golden.c compares modules with JAX, test_loops.c with numbers); constants that
 * several programs read are there once; the checker sees a barrier that is missing, and what the
 * cores might still raise when a semaphore is cleared.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "files.h"
#include "logical.h"
#include "machine/prog.h"
#include "neff.h"
#include "neuron/hw/target.h"
#include "neuron/isa/codec.h"

static void *build(const char *ir, unsigned int lnc, size_t *size)
{
	const struct ncc_options opt = { .framework = NCC_IR,
					 .auto_cast = NCC_CAST_MATMULT,
					 .target = neuron_target_of_name("trn2"),
					 .lnc = lnc,
					 .divide_from = 1 };
	struct ncc_error err;
	void *neff;

	ck_assert_msg(!ncc_compile(ir, strlen(ir), &opt, &neff, size, &err), "%s\n%.3000s",
		      err.text, ir);
	return neff;
}

/* Random modules */

#define VALUES 64

struct value {
	unsigned int id, rows, columns;
};

struct random {
	FILE *f;
	uint32_t state;
	unsigned int n; /* operations so far */
	struct value v[VALUES]; /* f32 matrices that may be used */
	unsigned int nv;
	unsigned int zero, one, count; /* s32: 0, 1, and how many iterations there are at most */
	unsigned int nothing; /* f32: 0 */
};

static unsigned int draw(struct random *r, unsigned int n)
{
	r->state = r->state * 1664525 + 1013904223;
	return (r->state >> 16) % n;
}

static unsigned int op(struct random *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static unsigned int op(struct random *r, const char *fmt, ...)
{
	va_list ap;

	fprintf(r->f, "%%%u = ", r->n);
	va_start(ap, fmt);
	vfprintf(r->f, fmt, ap);
	va_end(ap);
	fprintf(r->f, " \"v%u\"\n", r->n);
	return r->n++;
}

static struct value keep(struct random *r, unsigned int id, unsigned int rows, unsigned int columns)
{
	const struct value v = { id, rows, columns };

	if (r->nv < VALUES)
		r->v[r->nv++] = v;
	return v;
}

static const char *const unary[] = { "tanh", "negate", "abs", "logistic" };
static const char *const binary[] = { "add", "multiply", "subtract", "maximum" };

/* A reduction along a dimension, and its result along it again */
static struct value spread(struct random *r, struct value a)
{
	const unsigned int d = draw(r, 2), left = d ? a.rows : a.columns;
	unsigned int x = op(r, "f32[%u] reduce %%%u, %%%u func=%s dims={%u}", left, a.id,
			    r->nothing, draw(r, 2) ? "add" : "maximum", d);

	return keep(r, op(r, "f32[%u,%u] broadcast %%%u map={%u}", a.rows, a.columns, x, !d),
		    a.rows, a.columns);
}

/* The last rows before the first ones */
static struct value turn(struct random *r, struct value a)
{
	const unsigned int at = 1 + draw(r, a.rows - 1);
	unsigned int x = op(r, "f32[%u,%u] slice %%%u start={%u,0} stride={1,1}", a.rows - at,
			    a.columns, a.id, at);
	unsigned int y =
		op(r, "f32[%u,%u] slice %%%u start={0,0} stride={1,1}", at, a.columns, a.id);

	return keep(r, op(r, "f32[%u,%u] concatenate %%%u, %%%u axis=0", a.rows, a.columns, x, y),
		    a.rows, a.columns);
}

static struct value any(struct random *r, unsigned int begin)
{
	struct value a = r->v[begin + draw(r, r->nv - begin)],
		     b = r->v[begin + draw(r, r->nv - begin)];

	switch (draw(r, 6)) {
	case 0:
		return keep(r,
			    op(r, "f32[%u,%u] %s %%%u", a.rows, a.columns, unary[draw(r, 4)], a.id),
			    a.rows, a.columns);
	case 1:
		return keep(r,
			    op(r, "f32[%u,%u] transpose %%%u map={1,0}", a.columns, a.rows, a.id),
			    a.columns, a.rows);
	case 2:
		return spread(r, a);
	case 3:
		return turn(r, a);
	case 4:
		if (a.rows == b.rows && a.columns == b.columns)
			return keep(r,
				    op(r, "f32[%u,%u] %s %%%u, %%%u", a.rows, a.columns,
				       binary[draw(r, 4)], a.id, b.id),
				    a.rows, a.columns);
		/* fall through */
	default:
		if (a.columns != b.rows)
			return a;
		return keep(r,
			    op(r,
			       "f32[%u,%u] dot %%%u, %%%u lhs_batch={} rhs_batch={} "
			       "lhs_contract={1} rhs_contract={0}",
			       a.rows, b.columns, a.id, b.id),
			    a.rows, b.columns);
	}
}

/* The last value of this shape from number begin on, made small */
static unsigned int result(struct random *r, unsigned int begin, unsigned int rows,
			   unsigned int columns)
{
	unsigned int i = r->nv;

	do
		i--;
	while (i > begin && (r->v[i].rows != rows || r->v[i].columns != columns));
	if (r->v[i].rows == rows && r->v[i].columns == columns)
		return op(r, "f32[%u,%u] tanh %%%u", rows, columns, r->v[i].id);
	i = op(r, "f32[%u,%u] transpose %%%u map={1,0}", rows, columns, r->v[begin].id);
	return op(r, "f32[%u,%u] tanh %%%u", rows, columns, i);
}

/*
 * A loop with two matrices as its state, of which the second has the first one's shape turned; it
 * ends after so many iterations, or by its data. Another one may be in it.
 */
static void loop(struct random *r, struct value a, struct value b, unsigned int depth)
{
	unsigned int before = op(r, "pred[] compare-lt %%%u, %%%u", r->zero, r->count);
	unsigned int l = op(r, "pred[] loop %%%u", before);
	unsigned int i = op(r, "s32[] state %%%u, %%%u", l, r->zero);
	unsigned int x = op(r, "f32[%u,%u] state %%%u, %%%u", a.rows, a.columns, l, a.id);
	unsigned int y = op(r, "f32[%u,%u] state %%%u, %%%u", b.rows, b.columns, l, b.id);
	const unsigned int begin = r->nv;
	unsigned int next, p, q, end, s, t;

	keep(r, x, a.rows, a.columns);
	keep(r, y, b.rows, b.columns);
	for (unsigned int k = 2 + draw(r, 5); k; k--)
		any(r, begin);
	if (depth)
		loop(r, r->v[begin], r->v[begin + 1], depth - 1);
	for (unsigned int k = 2 + draw(r, 5); k; k--)
		any(r, begin);
	s = result(r, begin, a.rows, a.columns);
	t = draw(r, 4) ? result(r, begin + 1, b.rows, b.columns) : y;
	next = op(r, "s32[] add %%%u, %%%u", i, r->one);
	p = op(r, "f32[] reduce %%%u, %%%u func=add dims={0,1}", s, r->nothing);
	q = op(r, "pred[] compare-%s %%%u, %%%u", draw(r, 2) ? "lt" : "ne", p, r->nothing);
	p = op(r, "pred[] compare-lt %%%u, %%%u", next, r->count);
	q = op(r, "pred[] and %%%u, %%%u", p, q);
	end = op(r, "pred[] loop-end %%%u, %%%u, %%%u, %%%u, %%%u, %%%u, %%%u, %%%u", l, q, i, next,
		 x, s, y, t);
	r->nv = begin;
	keep(r, op(r, "f32[%u,%u] loop-result %%%u, %%%u", a.rows, a.columns, end, x), a.rows,
	     a.columns);
	keep(r, op(r, "f32[%u,%u] loop-result %%%u, %%%u", b.rows, b.columns, end, y), b.rows,
	     b.columns);
}

static char *random_module(unsigned int seed)
{
	struct random r = { .state = seed * 2654435761u + 1 };
	unsigned int rows, columns;
	char *text = NULL;
	struct value a, b;
	size_t size;

	r.f = open_memstream(&text, &size);
	rows = 2 + draw(&r, 60);
	columns = 2 + draw(&r, 60);
	fprintf(r.f, "module \"m\"\n");
	a = keep(&r, op(&r, "f32[%u,%u] parameter index=0", rows, columns), rows, columns);
	b = keep(&r, op(&r, "f32[%u,%u] parameter index=1", columns, rows), columns, rows);
	r.zero = op(&r, "s32[] constant {0}");
	r.one = op(&r, "s32[] constant {1}");
	r.count = op(&r, "s32[] constant {%u}", 1 + draw(&r, 12));
	r.nothing = op(&r, "f32[] constant {0}");
	for (unsigned int k = draw(&r, 4); k; k--)
		any(&r, 0);
	loop(&r, a, b, draw(&r, 3));
	if (draw(&r, 2))
		loop(&r, r.v[r.nv - 2], r.v[r.nv - 1], 0);
	for (unsigned int k = draw(&r, 4); k; k--)
		any(&r, 0);
	fprintf(r.f, "return %%%u, %%%u, %%%u\n", r.v[r.nv - 1].id, r.v[r.nv - 2].id,
		r.v[draw(&r, r.nv)].id);
	fclose(r.f);
	return text;
}

#define SEEDS 40

START_TEST(same_bits)
{
	char *ir = random_module((unsigned int)_i);
	size_t one_size, two_size, a_size, b_size;
	void *one = build(ir, 1, &one_size), *two = build(ir, 2, &two_size);
	uint8_t *a, *b;

	logical_start(NULL);
	a = logical_outputs(one, one_size, 0, &a_size);
	b = logical_outputs(two, two_size, 3, &b_size);
	ck_assert_uint_eq(a_size, b_size);
	ck_assert_msg(!memcmp(a, b, a_size), "other bits on two cores:\n%.3000s", ir);
	nrt_close();
	free(a);
	free(b);
	free(one);
	free(two);
	free(ir);
}
END_TEST

/* The checker's proofs */

/* The place of SP's n-th instruction that is of this opcode, or updates so; NULL: there is none */
static uint8_t *find(const struct neff_subgraph *sg, unsigned int opcode, unsigned int update,
		     unsigned int n, struct neuron_insn *insn)
{
	const struct neff_engine *e = &sg->engine[NEURON_ENG_SP];
	int words;

	for (size_t at = 0; at < e->instr_size; at += (size_t)words * NEURON_INSN_WORD) {
		uint8_t *p = (uint8_t *)(uintptr_t)e->instr + at;

		words = neuron_isa_decode(p, (e->instr_size - at) / NEURON_INSN_WORD, insn);
		ck_assert_int_gt(words, 0);
		if (insn->opcode == opcode && insn->update == update && !n--)
			return p;
	}
	return NULL;
}

static struct neff_model *read_back(const void *neff, size_t size)
{
	const struct neff_limits limits = { .validate_hash = true,
					    .target = neuron_target_of_name("trn2") };
	struct neff_error ne;
	struct ncc_error err;
	struct neff_model *m;

	ck_assert_msg(!neff_read(neff, size, &limits, &m, &ne), "%s", ne.text);
	ck_assert_msg(!ncc_check_model(m, &err), "%s", err.text);
	return m;
}

/* Writes another instruction in place of one; the checker refuses it, for this reason. */
static void refuse(const struct neff_model *m, uint8_t *p, const struct neuron_insn *insn,
		   const char *why)
{
	uint8_t before[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	struct ncc_error err;
	int n = neuron_isa_encode(insn, before);

	ck_assert_int_eq(n, 1);
	for (unsigned int i = 0; i < NEURON_INSN_WORD; i++) {
		uint8_t byte = p[i];

		p[i] = before[i];
		before[i] = byte;
	}
	ck_assert_int_eq(ncc_check_model(m, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "checker: ") && strstr(err.text, why), "'%s': '%s'", why,
		      err.text);
	memcpy(p, before, NEURON_INSN_WORD);
	ck_assert_int_eq(ncc_check_model(m, &err), 0);
}

/* A program that lacks any one barrier of any part, on either core, is refused. */
START_TEST(barriers)
{
	char *ir = random_module((unsigned int)_i);
	const struct neuron_insn nop = { .opcode = NEURON_OP_NOP };
	unsigned int dropped = 0;
	struct neuron_insn insn;
	size_t size;
	void *neff = build(ir, 2, &size);
	struct neff_model *m = read_back(neff, size);
	uint8_t *p;

	ck_assert_uint_ge(m->nloops, 1);
	ck_assert_uint_eq(m->nsubgraphs % 2, 0);
	for (unsigned int k = 0; k < m->nsubgraphs; k++)
		for (unsigned int n = 0; (p = find(&m->subgraphs[k], NEURON_OP_PSEUDO_CORE_BARRIER,
						   NEURON_UPD_NONE, n, &insn));
		     n++, dropped++)
			refuse(m, p, &nop, "");
	/* two in each part, besides those of exchanges */
	ck_assert_uint_ge(dropped, 2 * m->nsubgraphs);
	neff_free(m);
	free(neff);
	free(ir);
}
END_TEST

/* The end of a part: what the other core raised is taken back, as much as it was, and not cleared */
START_TEST(taken_back)
{
	char *ir = random_module(0);
	struct neuron_insn insn, other;
	struct ncc_error err;
	size_t size;
	void *neff = build(ir, 2, &size);
	struct neff_model *m = read_back(neff, size);
	uint8_t *p;

	for (unsigned int k = 0; k < m->nsubgraphs; k++) {
		const struct neff_subgraph *sg = &m->subgraphs[k];

		p = find(sg, NEURON_OP_NOP, NEURON_UPD_SEM_SUB_IMM, 0, &insn);
		ck_assert_ptr_nonnull(p);
		other = insn;
		other.update_value++;
		refuse(m, p, &other, "does not subtract all that the other core's barriers have");
		other.update_value = 1;
		if (insn.update_value > 1)
			refuse(m, p, &other, "does not subtract all");
		other = insn;
		other.update_index = 0;
		refuse(m, p, &other, "is not the other core's to raise");
		other = insn;
		other.update = NEURON_UPD_NONE;
		other.update_index = 0;
		other.update_value = 0;
		refuse(m, p, &other, "a semaphore is not 0 at the end");
		p = find(sg, NEURON_OP_SEM_RANGE_CLEAR, NEURON_UPD_NONE, 0, &other);
		ck_assert_ptr_nonnull(p);
		ck_assert_uint_lt(other.last, insn.update_index);
		other.last = insn.update_index;
		refuse(m, p, &other, "a semaphore is not 0 at the end");
	}
	/* both at once: it would be 0, if the other core raised nothing any more */
	p = find(m->subgraphs, NEURON_OP_NOP, NEURON_UPD_SEM_SUB_IMM, 0, &insn);
	insn.update = NEURON_UPD_NONE;
	insn.update_index = 0;
	insn.update_value = 0;
	ck_assert_int_eq(neuron_isa_encode(&insn, p), 1);
	p = find(m->subgraphs, NEURON_OP_SEM_RANGE_CLEAR, NEURON_UPD_NONE, 0, &other);
	other.last++;
	ck_assert_int_eq(neuron_isa_encode(&other, p), 1);
	ck_assert_int_eq(ncc_check_model(m, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "clears what the other core may raise again"), "%s",
		      err.text);
	neff_free(m);
	free(neff);
	free(ir);
}
END_TEST

/*
 * A core that waits for its last transfer behind its last barrier: the other one goes on, and does
 * not know of it
 */
START_TEST(met)
{
	char *ir = random_module(0);
	struct neuron_insn barrier, clear;
	unsigned int n = 0;
	struct ncc_error err;
	size_t size;
	void *neff = build(ir, 2, &size);
	struct neff_model *m = read_back(neff, size);
	uint8_t *p, *last = NULL;

	while ((p = find(m->subgraphs, NEURON_OP_PSEUDO_CORE_BARRIER, NEURON_UPD_NONE, n,
			 &barrier))) {
		last = p;
		n++;
	}
	ck_assert_ptr_nonnull(last);
	ck_assert_int_gt(neuron_isa_decode(last, 1, &barrier), 0);
	p = find(m->subgraphs, NEURON_OP_SEM_RANGE_CLEAR, NEURON_UPD_NONE, 0, &clear);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(clear.wait, NEURON_WAIT_NONE);
	ck_assert_int_eq(barrier.wait, NEURON_WAIT_SEM_GE);
	clear.wait = barrier.wait;
	clear.wait_index = barrier.wait_index;
	clear.wait_value = barrier.wait_value;
	barrier.wait = NEURON_WAIT_NONE;
	barrier.wait_index = 0;
	barrier.wait_value = 0;
	ck_assert_int_eq(neuron_isa_encode(&clear, p), 1);
	ck_assert_int_eq(neuron_isa_encode(&barrier, last), 1);
	ck_assert_int_eq(ncc_check_model(m, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "ends before a DMA of the other core"), "%s", err.text);
	neff_free(m);
	free(neff);
	free(ir);
}
END_TEST

/* Constants */

#define WEIGHTS 64

/* A loop that multiplies by weights, of which both cores need all, and so does what is behind it */
static char *weighing(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f,
		"module \"m\"\n%%0 = f32[256,%d] parameter index=0 \"x\"\n"
		"%%1 = s32[] constant {0} \"zero\"\n%%2 = s32[] constant {1} \"one\"\n"
		"%%3 = s32[] parameter index=1 \"n\"\n%%4 = f32[%d,%d] constant {",
		WEIGHTS, WEIGHTS, WEIGHTS);
	for (unsigned int i = 0; i < WEIGHTS * WEIGHTS; i++)
		fprintf(f, "%s%d", i ? ", " : "", (int)(i * 37 % 23) - 11);
	fprintf(f,
		"} \"w\"\n"
		"%%5 = pred[] compare-lt %%1, %%3 \"p\"\n"
		"%%6 = pred[] loop %%5 \"l\"\n"
		"%%7 = s32[] state %%6, %%1 \"i\"\n"
		"%%8 = f32[256,%d] state %%6, %%0 \"h\"\n"
		"%%9 = f32[256,%d] dot %%8, %%4 lhs_batch={} rhs_batch={} lhs_contract={1} "
		"rhs_contract={0} \"d\"\n"
		"%%10 = f32[256,%d] tanh %%9 \"t\"\n"
		"%%11 = s32[] add %%7, %%2 \"j\"\n"
		"%%12 = pred[] compare-lt %%11, %%3 \"q\"\n"
		"%%13 = pred[] loop-end %%6, %%12, %%7, %%11, %%8, %%10 \"e\"\n"
		"%%14 = f32[256,%d] loop-result %%13, %%8 \"r\"\n"
		"%%15 = f32[256,%d] dot %%14, %%4 lhs_batch={} rhs_batch={} lhs_contract={1} "
		"rhs_contract={0} \"o\"\n"
		"return %%15\n",
		WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS);
	fclose(f);
	return text;
}

START_TEST(constants)
{
	char *ir = weighing();
	uint64_t there = 0, named = 0, used = 0;
	struct ncc_error err;
	struct neff_error ne;
	size_t size, out_size;
	void *neff = build(ir, 2, &size), *out;
	struct neff_model *m = read_back(neff, size);
	struct neff_var *shared = NULL;

	/* both cores' products in the loop, and both behind it */
	for (unsigned int k = 0; k < m->nsubgraphs; k++) {
		for (unsigned int i = 0; i < m->subgraphs[k].nvars; i++) {
			struct neff_var *v = &m->subgraphs[k].vars[i];

			if (v->type != NEFF_VAR_FILE)
				continue;
			named += v->size;
			there += v->shared ? 0 : v->size;
			used = v->size > used ? v->size : used;
			shared = v->shared ? v : shared;
			ck_assert_int_eq(v->shared, !v->data);
		}
	}
	ck_assert_uint_ge(used, WEIGHTS * WEIGHTS * 2);
	ck_assert_uint_ge(named, 4 * used);
	ck_assert_uint_lt(there, 2 * used);

	/* what is none before it, or another size, is refused */
	ck_assert_ptr_nonnull(shared);
	shared->of_graph = m->nsubgraphs - 1;
	ck_assert_int_eq(neff_write(m, &out, &out_size, &ne), -EINVAL);
	ck_assert_ptr_nonnull(strstr(ne.text, "the other graph has no constant of"));
	neff_free(m);
	m = read_back(neff, size);
	ck_assert_int_eq(ncc_check_model(m, &err), 0);
	neff_free(m);
	free(neff);
	free(ir);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("loops on logical cores");
	TCase *t = tcase_create("loops on logical cores");

	tcase_add_loop_test(t, same_bits, 0, SEEDS);
	tcase_add_loop_test(t, barriers, 0, 3);
	tcase_add_test(t, taken_back);
	tcase_add_test(t, met);
	tcase_add_test(t, constants);
	suite_add_tcase(s, t);
	return check_run(s);
}
