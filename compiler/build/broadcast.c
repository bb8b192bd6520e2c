// SPDX-License-Identifier: MIT
/*
 * Constructors (build.h) of broadcasts. Operands that have to have one shape are given it here, if
 * that is done now; else they have it.
 */
#include "build.h"

#include <errno.h>
#include <string.h>

struct ncc_op *build_spread(struct ncc_build *bl, const struct ncc_shape *s, struct ncc_op *x,
			    const uint8_t *map)
{
	struct ncc_shape to = *s;
	struct ncc_op *op;

	if (!x)
		return NULL;
	to.dtype = x->shape.dtype;
	to.pred = x->shape.pred;
	if (ncc_same_dims(&to, &x->shape))
		return x;
	op = build_node(bl, NCC_BROADCAST, &to, x, NULL, NULL);
	if (op && x->shape.ndim)
		memcpy(op->map, map, x->shape.ndim);
	return build_done(bl, op);
}

struct ncc_op *build_splat(struct ncc_build *bl, const struct ncc_shape *s, double v)
{
	return build_spread(bl, s, build_scalar(bl, s, v), NULL);
}

struct ncc_op *build_numbers(struct ncc_build *bl, const struct ncc_shape *table, int64_t first)
{
	const int64_t rows = table->dim[0], columns = table->dim[1];
	struct ncc_op *column = build_steps(bl, table->dtype, columns, 0, 1);
	struct ncc_op *row = build_steps(bl, table->dtype, rows, first, columns);

	column = build_spread(bl, table, column, (uint8_t[]){ 1 });
	row = build_spread(bl, table, row, (uint8_t[]){ 0 });
	return row && column ? build_done(bl, build_node(bl, NCC_ADD, table, row, column, NULL))
			     : NULL;
}

struct ncc_op *build_range(struct ncc_build *bl, struct ncc_op *start, int64_t n)
{
	struct ncc_op *c = build_count(bl, n),
		      *s = c ? build_spread(bl, &c->shape, start, NULL) : NULL;

	return s && n > 1 ? build_node(bl, NCC_ADD, &c->shape, c, s, NULL) : s;
}

/*
 * Dimensions of 1 that become larger are removed first, since the IR's broadcast only adds
 * dimensions.
 */
struct ncc_op *build_expand(struct ncc_build *bl, struct ncc_op *x, unsigned int ndim,
			    const int64_t *dim)
{
	struct ncc_shape s = { .ndim = ndim }, kept = { 0 };
	uint8_t map[NCC_MAX_DIMS];
	unsigned int lead;

	if (!x || build_ended(bl))
		return NULL;
	if (ndim < x->shape.ndim || ndim > NCC_MAX_DIMS) {
		build_fail(bl, -EINVAL, "rank %u does not broadcast to %u", x->shape.ndim, ndim);
		return NULL;
	}

	lead = ndim - x->shape.ndim;
	memcpy(s.dim, dim, ndim * sizeof(*dim));
	for (unsigned int i = 0; i < x->shape.ndim; i++) {
		if (x->shape.dim[i] != 1 && x->shape.dim[i] != dim[lead + i]) {
			build_fail(bl, -EINVAL, "dimension %u of %lld does not broadcast to %lld",
				   i, (long long)x->shape.dim[i], (long long)dim[lead + i]);
			return NULL;
		}
		if (x->shape.dim[i] != dim[lead + i])
			continue;
		map[kept.ndim] = (uint8_t)(lead + i);
		kept.dim[kept.ndim++] = x->shape.dim[i];
	}
	return build_spread(bl, &s, build_reshape(bl, x, &kept), map);
}

/* The shape that both broadcast to */
static bool common(struct ncc_build *bl, const struct ncc_op *a, const struct ncc_op *b,
		   struct ncc_shape *s)
{
	const struct ncc_shape *x = &a->shape, *y = &b->shape;

	s->ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
	for (unsigned int i = 0; i < s->ndim; i++) {
		int64_t p = i < x->ndim ? x->dim[x->ndim - 1 - i] : 1;
		int64_t q = i < y->ndim ? y->dim[y->ndim - 1 - i] : 1;

		if (p != q && p != 1 && q != 1) {
			build_fail(bl, -EINVAL, "dimensions of %lld and %lld do not broadcast",
				   (long long)p, (long long)q);
			return false;
		}
		s->dim[s->ndim - 1 - i] = p > q ? p : q;
	}
	return true;
}

bool build_common(struct ncc_build *bl, struct ncc_op **a, struct ncc_op **b)
{
	struct ncc_shape s;

	if (!*a || !*b || build_ended(bl))
		return false;
	if (!bl->now)
		return true;
	if (!common(bl, *a, *b, &s))
		return false;
	*a = build_expand(bl, *a, s.ndim, s.dim);
	*b = build_expand(bl, *b, s.ndim, s.dim);
	return *a && *b;
}

/* Broadcasts all three. */
static bool common_of_three(struct ncc_build *bl, struct ncc_op **p, struct ncc_op **a,
			    struct ncc_op **b)
{
	struct ncc_shape s;

	if (!common(bl, *a, *b, &s))
		return false;
	*a = build_expand(bl, *a, s.ndim, s.dim);
	if (!*a || !common(bl, *p, *a, &s))
		return false;
	*p = build_expand(bl, *p, s.ndim, s.dim);
	*a = build_expand(bl, *a, s.ndim, s.dim);
	*b = build_expand(bl, *b, s.ndim, s.dim);
	return *p && *a && *b;
}

struct ncc_op *build_select(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b)
{
	if (!p || !a || !b || build_ended(bl) || (bl->now && !common_of_three(bl, &p, &a, &b)))
		return NULL;
	return build_done(bl, build_node(bl, NCC_SELECT, &a->shape, p, a, b));
}
