// SPDX-License-Identifier: MIT
/* Reshapes of dimensions whose sizes the data say (sizes.h) */
#include "sizes.h"

/* The first dimension from d on that is not always one element */
static unsigned int skip_ones(const struct ncc_sizes *s, unsigned int d)
{
	while (d < s->ndim && s->bound[d] == 1 && !s->size[d])
		d++;
	return d;
}

bool sizes_next_group(const struct ncc_sizes *x, const struct ncc_sizes *y, struct ncc_group *g)
{
	int64_t a = 1, b = 1;

	g->from = skip_ones(x, g->from + g->nfrom);
	g->to = skip_ones(y, g->to + g->nto);
	g->nfrom = g->from < x->ndim;
	g->nto = g->to < y->ndim;
	if (g->nfrom)
		a = x->bound[g->from];
	if (g->nto)
		b = y->bound[g->to];
	while (a != b) {
		if (a < b && g->from + g->nfrom < x->ndim)
			a *= x->bound[g->from + g->nfrom++];
		else if (b < a && g->to + g->nto < y->ndim)
			b *= y->bound[g->to + g->nto++];
		else
			break; /* the products of all differ */
	}
	return g->nfrom || g->nto;
}

/* a times b, scalars; NULL is 1 */
static struct ncc_op *product(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	double k;

	if (!a || (ncc_scalar_value(a, &k) && k == 1))
		return b;
	return ncc_scalar_value(b, &k) && k == 1 ? a : build_binary(bl, NCC_MUL, a, b);
}

static struct ncc_op *by_scalar(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x,
				struct ncc_op *scalar)
{
	return x && scalar ? build_binary(bl, kind, x, build_spread(bl, &x->shape, scalar, NULL))
			   : NULL;
}

/* What is left of x after it was divided by a scalar: q is the quotient */
static struct ncc_op *rest_of(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *q,
			      struct ncc_op *scalar)
{
	return build_binary(bl, NCC_SUB, x, by_scalar(bl, NCC_MUL, q, scalar));
}

/* The number, among those that are there, of the element at each place of the group's bounds */
static struct ncc_op *number_of(struct ncc_build *bl, const struct ncc_sizes *y,
				const struct ncc_group *g)
{
	struct ncc_op *at = NULL, *step = NULL, *rest;
	int64_t all = 1;

	for (unsigned int d = g->to; d < g->to + g->nto; d++)
		all *= y->bound[d];
	rest = build_count(bl, all);
	for (unsigned int d = g->to + g->nto; d-- > g->to && rest;) {
		const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };
		struct ncc_op *bound = build_scalar(bl, &number, (double)y->bound[d]);
		struct ncc_op *q = d > g->to ? by_scalar(bl, NCC_DIV, rest, bound) : NULL;
		struct ncc_op *i = q ? rest_of(bl, rest, q, bound) : rest;

		i = step ? by_scalar(bl, NCC_MUL, i, step) : i;
		at = at ? build_binary(bl, NCC_ADD, at, i) : i;
		step = product(bl, step, sizes_at(bl, y, d));
		rest = q;
	}
	return at;
}

/* Where in the operand's bounds the elements of these numbers lie */
static struct ncc_op *place_of(struct ncc_build *bl, const struct ncc_sizes *x,
			       const struct ncc_group *g, struct ncc_op *number, bool clamped)
{
	struct ncc_op *at = NULL, *rest = number;
	int64_t step = 1;

	for (unsigned int d = g->from + g->nfrom; d-- > g->from && rest;) {
		struct ncc_op *size = sizes_at(bl, x, d), *by = build_number(bl, NCC_MAX, size, 1);
		struct ncc_op *q = d > g->from || clamped ? by_scalar(bl, NCC_DIV, rest, by) : NULL;
		struct ncc_op *i = q ? rest_of(bl, rest, q, clamped ? size : by) : rest;

		i = step > 1 ? build_number(bl, NCC_MUL, i, (double)step) : i;
		at = at ? build_binary(bl, NCC_ADD, at, i) : i;
		step *= x->bound[d];
		rest = q;
	}
	at = build_number(bl, NCC_MIN, at, (double)(step - 1));
	return clamped ? build_number(bl, NCC_MAX, at, 0) : at;
}

struct ncc_op *sizes_regrouped(struct ncc_build *bl, const struct ncc_sizes *x,
			       const struct ncc_sizes *y, const struct ncc_group *g, bool clamped)
{
	struct ncc_op *number = number_of(bl, y, g);

	return number ? place_of(bl, x, g, number, clamped) : NULL;
}

struct ncc_op *sizes_product(struct ncc_build *bl, const struct ncc_sizes *s, unsigned int first,
			     unsigned int n)
{
	struct ncc_op *all = NULL;

	for (unsigned int d = first; d < first + n; d++)
		all = product(bl, all, sizes_at(bl, s, d));
	return all;
}
