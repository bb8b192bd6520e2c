// SPDX-License-Identifier: MIT
/*
 * Reshapes of dynamic dimensions: dimensions of the operand and of the result with the same product
 * of bounds belong together. In such a group elements keep their order, those that are there; where
 * that moves them, they are gathered. Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "operations.h"
#include "sizes.h"

/* Dimensions from..to of the operand become those of the result. */
struct group {
	unsigned int x, nx, y, ny;
};

/* The next group after g; false: there is none. Dimensions of 1 go with what they are next to. */
static bool next_group(const struct ncc_shape *x, const struct ncc_shape *y, struct group *g)
{
	int64_t px = 1, py = 1;

	g->x += g->nx;
	g->y += g->ny;
	g->nx = g->ny = 0;
	if (g->x == x->ndim && g->y == y->ndim)
		return false;
	if (g->x < x->ndim && g->y < y->ndim) {
		px = x->dim[g->x + g->nx++];
		py = y->dim[g->y + g->ny++];
	}
	while (px != py) {
		if (px < py && g->x + g->nx < x->ndim)
			px *= x->dim[g->x + g->nx++];
		else if (g->y + g->ny < y->ndim)
			py *= y->dim[g->y + g->ny++];
		else
			break;
	}
	/* what is left at the end are ones */
	while (g->x + g->nx < x->ndim && (x->dim[g->x + g->nx] == 1 && g->y + g->ny == y->ndim))
		g->nx++;
	while (g->y + g->ny < y->ndim && (y->dim[g->y + g->ny] == 1 && g->x + g->nx == x->ndim))
		g->ny++;
	return g->nx || g->ny;
}

static struct ncc_op *product(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b)
{
	double k;

	if (a && ncc_scalar_value(a, &k) && k == 1)
		return b;
	if (b && ncc_scalar_value(b, &k) && k == 1)
		return a;
	return build_binary(&in->b, NCC_MUL, a, b);
}

/* Sizes of dimensions first .. first + n of a shape: the dynamic ones, else the bounds */
static bool dynamic_within(const struct hlo_sizes *s, unsigned int first, unsigned int n)
{
	for (unsigned int d = first; d < first + n; d++)
		if (s->dim[d])
			return true;
	return false;
}

/* Is only the first dimension that is not 1 dynamic? Then elements lie one after the other. */
static bool is_packed(const struct ncc_shape *s, const struct hlo_sizes *sizes, unsigned int first,
		      unsigned int n)
{
	unsigned int d = first;

	while (d < first + n && s->dim[d] == 1 && !sizes->dim[d])
		d++;
	return d >= first + n || !dynamic_within(sizes, d + 1, first + n - d - 1);
}

/* The quotient and the rest of places, not negative, by a scalar of at least 1 */
static void divide(struct hlo_inst *in, struct ncc_op *x, struct ncc_op *by, struct ncc_op **q,
		   struct ncc_op **r)
{
	struct ncc_op *b =
		build_spread(&in->b, &x->shape, build_number(&in->b, NCC_MAX, by, 1), NULL);

	*q = build_binary(&in->b, NCC_DIV, x, b);
	*r = build_binary(&in->b, NCC_SUB, x, build_binary(&in->b, NCC_MUL, *q, b));
}

/*
 * Where, in the bounds of dimensions first .. first + n, element number `place` of those that are
 * there lies
 */
static struct ncc_op *place_of(struct hlo_inst *in, const struct ncc_shape *s,
			       const struct hlo_sizes *sizes, unsigned int first, unsigned int n,
			       struct ncc_op *place)
{
	struct ncc_op *at = NULL, *rest = place;
	int64_t step = 1;

	for (unsigned int d = first + n; d-- > first && rest;) {
		struct ncc_op *q = NULL, *r = rest;

		if (d > first)
			divide(in, rest, sizes->dim[d] ?: hlo_fixed_size(in, s->dim[d]), &q, &r);
		if (step > 1)
			r = build_number(&in->b, NCC_MUL, r, (double)step);
		at = at ? build_binary(&in->b, NCC_ADD, at, r) : r;
		rest = q;
		step *= s->dim[d];
	}
	return at;
}

/* The number that the element at each place of the bounds has, of those that are there */
static struct ncc_op *number_of(struct hlo_inst *in, const struct ncc_shape *s,
				const struct hlo_sizes *sizes, unsigned int first, unsigned int n,
				struct ncc_op *place)
{
	struct ncc_op *at = NULL, *rest = place, *step = hlo_fixed_size(in, 1);

	for (unsigned int d = first + n; d-- > first && rest;) {
		struct ncc_op *q = NULL, *r = rest;

		if (d > first)
			divide(in, rest, hlo_fixed_size(in, s->dim[d]), &q, &r);
		if (d + 1 < first + n)
			r = build_binary(&in->b, NCC_MUL, r,
					 build_spread(&in->b, &place->shape, step, NULL));
		at = at ? build_binary(&in->b, NCC_ADD, at, r) : r;
		rest = q;
		step = product(in, step, sizes->dim[d] ?: hlo_fixed_size(in, s->dim[d]));
	}
	return at;
}

/* A reshape with all that is known of it */
struct reshaping {
	struct hlo_inst *in;
	struct ncc_shape x, y;
	struct hlo_sizes from, to;
};

/* x, of shape r->x, with the group's dimensions as one whose elements are moved */
static struct ncc_op *gather_group(const struct reshaping *r, const struct group *g,
				   struct ncc_op *x)
{
	struct ncc_build *bl = &r->in->b;
	struct ncc_shape flat = { .ndim = 3, .dim = { 1, 1, 1 } };
	struct ncc_op *place;

	for (unsigned int d = 0; d < r->x.ndim; d++)
		flat.dim[d < g->x ? 0 : d < g->x + g->nx ? 1 : 2] *= r->x.dim[d];
	place = build_count(bl, flat.dim[1]);
	place = place ? number_of(r->in, &r->y, &r->to, g->y, g->ny, place) : NULL;
	place = place ? place_of(r->in, &r->x, &r->from, g->x, g->nx, place) : NULL;
	place = build_number(bl, NCC_MIN, place, (double)(flat.dim[1] - 1));
	x = place ? expand_take_inside(bl, build_reshape(bl, x, &flat), place, 1) : NULL;
	return build_reshape(bl, x, &r->x);
}

static int move(const struct reshaping *r, const struct hlo_value *x, struct hlo_value *v)
{
	struct hlo_inst *in = r->in;
	struct group g = { 0 };

	*v = *x;
	v->op = ncc_alloc(in->imp->m, (x->n + 1) * sizeof(struct ncc_op *));
	for (unsigned int k = 0; v->op && k < x->n; k++)
		v->op[k] = x->op[k];
	while (v->op && next_group(&r->x, &r->y, &g)) {
		if (is_packed(&r->x, &r->from, g.x, g.nx) && is_packed(&r->y, &r->to, g.y, g.ny))
			continue;
		for (unsigned int k = 0; k < x->n; k++)
			v->op[k] = v->op[k] ? gather_group(r, &g, v->op[k]) : NULL;
	}
	for (unsigned int k = 0; v->op && k < x->n; k++) {
		v->op[k] = build_reshape(&in->b, v->op[k], &r->y);
		if (!v->op[k])
			return in->imp->err->text[0] ? -EFBIG
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	return v->op ? hlo_give_sizes(in, v, &r->to) : hlo_fail(in, -ENOMEM, "out of memory");
}

static int begin(struct hlo_inst *in, struct reshaping *r)
{
	const struct hlo_value *x = &in->in[0];
	int rc = hlo_shape(in, in->p->shape, &r->y);
	int64_t left;

	r->in = in;
	if (rc)
		return rc;
	if (x->n != (x->complex ? 2 : 1))
		return hlo_fail(in, -EINVAL, "operand 0 is a tuple");
	r->x = x->op[0]->shape;
	left = ncc_elems(&r->x);
	for (unsigned int d = 0; d < r->y.ndim && left; d++)
		left = r->y.dim[d] > 0 && left % r->y.dim[d] == 0 ? left / r->y.dim[d] : 0;
	if (left != 1 || r->x.dtype != r->y.dtype)
		return hlo_fail(in, -EINVAL, "the result's shape does not fit the operand's");
	hlo_merge_sizes(in, 0, 1, &r->from);
	memset(&r->to, 0, sizeof(r->to));
	return 0;
}

/* The size of the group's one dynamic dimension of the result follows from the others. */
static int infer_size(struct reshaping *r, const struct group *g)
{
	struct hlo_inst *in = r->in;
	struct ncc_op *size = hlo_fixed_size(in, 1);
	unsigned int at = g->y + g->ny;
	int64_t others = 1;

	for (unsigned int d = g->y; d < g->y + g->ny; d++) {
		if (!hlo_is_dynamic_dim(in->p->shape, d))
			others *= r->y.dim[d];
		else if (at < g->y + g->ny)
			return hlo_fail(in, -ENOTSUP,
					"dimensions %u and %u of the result are dynamic, and their "
					"sizes "
					"do not follow from the operand's",
					at, d);
		else
			at = d;
	}
	if (at == g->y + g->ny)
		return hlo_fail(in, -ENOTSUP,
				"dimension %u of the operand is dynamic, and none of the result "
				"takes it",
				g->x);
	for (unsigned int d = g->x; d < g->x + g->nx; d++)
		size = product(in, size, r->from.dim[d] ?: hlo_fixed_size(in, r->x.dim[d]));
	if (others > 1)
		size = build_number(&in->b, NCC_DIV, size, (double)others);
	r->to.dim[at] = size ? hlo_clamp_size(in, size, r->y.dim[at]) : NULL;
	return r->to.dim[at] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int sizes_reshape(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct reshaping r;
	struct group g = { 0 };
	int rc = begin(in, &r);

	while (!rc && next_group(&r.x, &r.y, &g))
		if (dynamic_within(&r.from, g.x, g.nx))
			rc = g.nx == 1 && g.ny == 1 ? (r.to.dim[g.y] = r.from.dim[g.x], 0)
						    : infer_size(&r, &g);
	return rc ? rc : move(&r, &in->in[0], v);
}

/* The sizes are operands. Elements of which there are fewer in the operand are any. */
int hlo_dynamic_reshape(struct hlo_inst *in, struct hlo_value *v)
{
	struct reshaping r;
	int rc = in->nin ? begin(in, &r) : hlo_fail(in, -EINVAL, "needs an operand");

	if (!rc && in->nin != r.y.ndim + 1)
		rc = hlo_fail(in, -EINVAL, "%u sizes for rank %u", in->nin - 1, r.y.ndim);
	for (unsigned int d = 0; !rc && d < r.y.ndim; d++) {
		const struct hlo_value *size = &in->in[d + 1];

		if (size->n != 1 || size->op[0]->shape.ndim ||
		    size->op[0]->shape.dtype != NEURON_DT_INT32 || size->op[0]->shape.pred)
			return hlo_fail(in, -EINVAL, "operand %u, a size, is no scalar of type s32",
					d + 1);
		if (hlo_is_dynamic_dim(in->p->shape, d))
			r.to.dim[d] = hlo_clamp_size(in, size->op[0], r.y.dim[d]);
	}
	return rc ? rc : move(&r, &in->in[0], v);
}
