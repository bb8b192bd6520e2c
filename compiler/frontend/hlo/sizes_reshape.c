// SPDX-License-Identifier: MIT
/*
 * Reshapes of dynamic dimensions: which sizes the result has, and where elements are gathered as
 * their group (build/sizes.h) is not packed. Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "operations.h"
#include "sizes.h"

/* A reshape with all that is known of it */
struct reshaping {
	struct hlo_inst *in;
	struct ncc_shape shape; /* the result's */
	struct ncc_sizes x, y;
};

static bool dynamic_within(const struct ncc_sizes *s, unsigned int first, unsigned int n)
{
	for (unsigned int d = first; d < first + n; d++)
		if (s->size[d])
			return true;
	return false;
}

/* Is only the first of these dimensions dynamic? Then elements lie one after the other. */
static bool is_packed(const struct ncc_sizes *s, unsigned int first, unsigned int n)
{
	return n < 2 || !dynamic_within(s, first + 1, n - 1);
}

/* op, of the operand's shape, with the group's dimensions as one whose elements are moved */
static struct ncc_op *gather_group(const struct reshaping *r, const struct ncc_group *g,
				   struct ncc_op *op)
{
	struct ncc_build *bl = &r->in->b;
	struct ncc_shape flat = { .ndim = 3, .dim = { 1, 1, 1 } }, x;
	struct ncc_op *place = sizes_regrouped(bl, &r->x, &r->y, g, false);

	if (!op || !place)
		return NULL;
	x = op->shape;
	for (unsigned int d = 0; d < x.ndim; d++)
		flat.dim[d < g->from ? 0 : d < g->from + g->nfrom ? 1 : 2] *= x.dim[d];
	op = expand_take_inside(bl, build_reshape(bl, op, &flat), place, 1);
	return build_reshape(bl, op, &x);
}

static int move(const struct reshaping *r, const struct hlo_value *x, struct hlo_value *v)
{
	struct hlo_inst *in = r->in;
	struct ncc_group g = { 0 };
	struct hlo_sizes to;

	*v = *x;
	v->op = ncc_alloc(in->imp->m, (x->n + 1) * sizeof(struct ncc_op *));
	for (unsigned int k = 0; v->op && k < x->n; k++)
		v->op[k] = x->op[k];
	while (v->op && sizes_next_group(&r->x, &r->y, &g)) {
		if (is_packed(&r->x, g.from, g.nfrom) && is_packed(&r->y, g.to, g.nto))
			continue;
		for (unsigned int k = 0; k < x->n; k++)
			v->op[k] = gather_group(r, &g, v->op[k]);
	}
	for (unsigned int k = 0; v->op && k < x->n; k++) {
		v->op[k] = build_reshape(&in->b, v->op[k], &r->shape);
		if (!v->op[k])
			return in->imp->err->text[0] ? -EFBIG
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	memcpy(to.dim, r->y.size, sizeof(to.dim));
	return v->op ? hlo_give_sizes(in, v, &to) : hlo_fail(in, -ENOMEM, "out of memory");
}

static int begin(struct hlo_inst *in, struct reshaping *r)
{
	const struct hlo_value *x = &in->in[0];
	int rc = hlo_shape(in, in->p->shape, &r->shape);
	struct hlo_sizes from;
	int64_t left;

	r->in = in;
	if (rc)
		return rc;
	if (x->n != (x->complex ? 2 : 1))
		return hlo_fail(in, -EINVAL, "operand 0 is a tuple");
	hlo_merge_sizes(in, 0, 1, &from);
	r->x = sizes_of(&x->op[0]->shape, from.dim);
	r->y = sizes_of(&r->shape, NULL);
	left = ncc_elems(&x->op[0]->shape);
	for (unsigned int d = 0; d < r->y.ndim && left; d++)
		left = r->y.bound[d] > 0 && left % r->y.bound[d] == 0 ? left / r->y.bound[d] : 0;
	if (left != 1 || x->op[0]->shape.dtype != r->shape.dtype)
		return hlo_fail(in, -EINVAL, "the result's shape does not fit the operand's");
	return 0;
}

/* The size of the group's one dynamic dimension of the result follows from the others. */
static int infer_size(struct reshaping *r, const struct ncc_group *g)
{
	struct hlo_inst *in = r->in;
	struct ncc_op *size;
	unsigned int at = g->to + g->nto;
	int64_t others = 1;

	for (unsigned int d = g->to; d < g->to + g->nto; d++) {
		if (!hlo_is_dynamic_dim(in->p->shape, d))
			others *= r->y.bound[d];
		else if (at < g->to + g->nto)
			return hlo_fail(in, -ENOTSUP,
					"dimensions %u and %u of the result are dynamic, and their "
					"sizes do not follow from the operand's",
					at, d);
		else
			at = d;
	}
	if (at == g->to + g->nto)
		return hlo_fail(in, -ENOTSUP,
				"dimension %u of the operand is dynamic, and none of the result "
				"takes it",
				g->from);
	size = sizes_product(&in->b, &r->x, g->from, g->nfrom);
	if (others > 1)
		size = build_number(&in->b, NCC_DIV, size, (double)others);
	r->y.size[at] = size ? sizes_clamped(&in->b, size, r->y.bound[at]) : NULL;
	return r->y.size[at] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_sizes_reshape(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct reshaping r;
	struct ncc_group g = { 0 };
	int rc = begin(in, &r);

	/* until it is found a size is the bound, as a dimension of one may belong to a group */
	for (unsigned int d = 0; !rc && d < r.y.ndim; d++)
		if (hlo_is_dynamic_dim(in->p->shape, d))
			r.y.size[d] = sizes_at(&in->b, &r.y, d);
	while (!rc && sizes_next_group(&r.x, &r.y, &g))
		if (!dynamic_within(&r.x, g.from, g.nfrom))
			memset(&r.y.size[g.to], 0, g.nto * sizeof(r.y.size[0]));
		else if (g.nfrom == 1 && g.nto == 1)
			r.y.size[g.to] = r.x.size[g.from];
		else
			rc = infer_size(&r, &g);
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
			r.y.size[d] = sizes_clamped(&in->b, size->op[0], r.y.bound[d]);
	}
	return rc ? rc : move(&r, &in->in[0], v);
}
