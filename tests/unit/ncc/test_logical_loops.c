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

#include "../check_main.h"
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

static unsigned int op(struct random *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
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

	return keep(r, op(r, "f32[%u,%u] broadcast %%%u map={%u}", a.rows, a.columns, x, !d), a.rows,
		    a.columns);
}

/* The last rows before the first ones */
static struct value turn(struct random *r, struct value a)
{
	const unsigned int at = 1 + draw(r, a.rows - 1);
	unsigned int x = op(r, "f32[%u,%u] slice %%%u start={%u,0} stride={1,1}", a.rows - at,
			    a.columns, a.id, at);
	unsigned int y = op(r, "f32[%u,%u] slice %%%u start={0,0} stride={1,1}", at, a.columns,
			    a.id);

	return keep(r, op(r, "f32[%u,%u] concatenate %%%u, %%%u axis=0", a.rows, a.columns, x, y),
		    a.rows, a.columns);
}

static struct value any(struct random *r, unsigned int begin)
{
	struct value a = r->v[begin + draw(r, r->nv - begin)], b = r->v[begin + draw(r, r->nv - begin)];

	switch (draw(r, 6)) {
	case 0:
		return keep(r, op(r, "f32[%u,%u] %s %%%u", a.rows, a.columns, unary[draw(r, 4)],
				  a.id),
			    a.rows, a.columns);
	case 1:
		return keep(r, op(r, "f32[%u,%u] transpose %%%u map={1,0}", a.columns, a.rows, a.id),
			    a.columns, a.rows);
	case 2:
		return spread(r, a);
	case 3:
		return turn(r, a);
	case 4:
		if (a.rows == b.rows && a.columns == b.columns)
			return keep(r, op(r, "f32[%u,%u] %s %%%u, %%%u", a.rows, a.columns,
					  binary[draw(r, 4)], a.id, b.id),
				    a.rows, a.columns);
		/* fall through */
	default:
		if (a.columns != b.rows)
			return a;
		return keep(r, op(r,
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

int main(void)
{
	Suite *s = suite_create("loops on logical cores");
	TCase *t = tcase_create("loops on logical cores");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, same_bits, 0, SEEDS);
	suite_add_tcase(s, t);
	return check_run(s);
}
