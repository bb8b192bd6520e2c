// SPDX-License-Identifier: MIT
/*
 * Rules (dynamic.h) of operators that reshape: dimensions of the operand and of the result go
 * together in groups of as many elements. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "build/sizes.h"
#include "dynamic.h"

/* The dimensions of the result */
struct target {
	struct ncc_sizes s;
	int open; /* the dimension that follows from the others; -1: none */
};

static int64_t product_of(const int64_t *dim, unsigned int first, unsigned int last)
{
	int64_t p = 1;

	for (unsigned int i = first; i < last; i++)
		p *= dim[i];
	return p;
}

static onnx_op number(struct onnx_node *n, int64_t v)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

	return ox_scalar(n, &s, (double)v);
}

static onnx_op times(struct onnx_node *n, onnx_op a, onnx_op b)
{
	return a ? ox_bin(n, NCC_MUL, a, b) : b;
}

/* The sizes of the group's dimensions of the result, where they are not known before */
static void take_sizes(struct onnx_node *n, const struct ncc_sizes *x, struct target *t,
		       const struct ncc_group *g)
{
	onnx_op all, others = NULL;

	if (t->open < (int)g->to || t->open >= (int)(g->to + g->nto))
		return;
	all = sizes_product(onnx_now(n), x, g->from, g->nfrom);
	for (unsigned int k = g->to; k < g->to + g->nto; k++)
		if ((int)k != t->open)
			others = times(n, others, sizes_at(onnx_now(n), &t->s, k));
	if (others) /* of a size of 0 nothing is asked */
		all = ox_bin(n, NCC_DIV, all, ox_binc(n, NCC_MAX, others, 1));
	t->s.size[t->open] = all;
}

/* Moves the group's elements to where the result has them. */
static void regroup(struct onnx_node *n, struct onnx_value *v, struct target *t,
		    const struct ncc_group *g)
{
	const struct ncc_shape s = v->op->shape;
	const struct ncc_sizes x = sizes_of(&s, v->size);
	const unsigned int end = g->from + g->nfrom;
	const int64_t flat[3] = { product_of(s.dim, 0, g->from), product_of(s.dim, g->from, end),
				  product_of(s.dim, end, s.ndim) };
	onnx_op at;

	take_sizes(n, &x, t, g);
	at = sizes_regrouped(onnx_now(n), &x, &t->s, g, true);
	v->op = ox_reshape(n, ox_take(n, ox_reshape(n, v->op, 3, flat), at, 1), s.ndim, s.dim);
}

/*
 * Where only the first dimensions of a group depend on the data, what is there is what comes first,
 * in the operand and the result: nothing moves. false: it is not so
 */
static bool keeps_order(struct onnx_node *n, const struct onnx_value *v, struct target *t,
			const struct ncc_group *g)
{
	const struct ncc_shape *s = &v->op->shape;
	const unsigned int first = g->to, end = g->from + g->nfrom;
	onnx_op size = v->size[g->from];
	int64_t after = product_of(s->dim, g->from + 1, end);
	int64_t rest = product_of(t->s.bound, first + 1, first + g->nto);

	for (unsigned int k = g->from + 1; k < end; k++)
		if (v->size[k])
			return false;
	for (unsigned int k = first + !!size; k < first + g->nto; k++)
		if (t->s.size[k])
			return false;
	if (!size)
		return true;
	if (after % rest && rest % after)
		return false;
	if (after % rest == 0)
		size = after == rest ? size : ox_binc(n, NCC_MUL, size, (double)(after / rest));
	else
		size = ox_bin(n, NCC_DIV, size, number(n, rest / after));
	for (unsigned int k = 0; t->s.size[first] && k < s->ndim; k++)
		if (v->size[k] && k != g->from && sizes_same(v->size[k], t->s.size[first]) &&
		    !sizes_same(size, t->s.size[first]))
			onnx_fail(n, -ENOTSUP,
				  "dimension %u to one whose size is that of dimension %u", g->from,
				  k);
	t->s.size[first] = size;
	return true;
}

/* Gives the operand reshaped; what is open is known. */
static void give_reshaped(struct onnx_node *n, struct onnx_value *v, struct target *t)
{
	const struct ncc_sizes x = sizes_of(&v->op->shape, v->size);
	const int64_t from = ncc_elems(&v->op->shape), to = product_of(t->s.bound, 0, t->s.ndim);
	struct ncc_group g = { 0 };

	if (from != to)
		onnx_fail(n, -ENOTSUP, "%lld elements to %lld, of sizes that depend on the data",
			  (long long)from, (long long)to);
	while (!n->rc && sizes_next_group(&x, &t->s, &g)) {
		if (!g.nfrom || !g.nto)
			onnx_fail(n, -ENOTSUP, "a size that depends on the data, of one element");
		else if (!keeps_order(n, v, t, &g) && !n->rc)
			regroup(n, v, t, &g);
	}
	if (!n->rc)
		onnx_give_sizes(n, 0, ox_reshape(n, v->op, t->s.ndim, t->s.bound), v->type,
				t->s.size);
}

/* Nothing, in other dimensions: one of them is 0 */
static void reshape_nothing(struct onnx_node *n, const struct onnx_value *v, const struct target *t)
{
	struct ncc_shape s = { .ndim = t->s.ndim };
	bool any = false;

	memcpy(s.dim, t->s.bound, sizeof(s.dim));
	for (unsigned int d = 0; d < s.ndim; d++) {
		if (t->s.size[d] || (int)d == t->open)
			s.dim[d] = 0;
		any = any || !s.dim[d];
	}
	if (any)
		onnx_give_empty(n, 0, &s, v->type);
	else
		onnx_fail(n, -EINVAL, "nothing to a shape that has elements");
}

/* Dimension i as the list says it */
static void take_target(struct onnx_node *n, const struct onnx_value *v, onnx_op list,
			unsigned int i, struct target *t)
{
	const bool copies = !onnx_int(n, "allowzero") && i < v->op->shape.ndim;
	struct onnx_number d;

	if (!onnx_number(n, list, i, &d))
		return;
	if (d.op && d.value == INT32_MAX) {
		onnx_fail(n, -ENOTSUP, "operand 1 ('%.80s') must be a constant", n->p->input[1]);
		return;
	}
	t->s.bound[i] = d.value;
	t->s.size[i] = d.op;
	for (unsigned int k = 0; d.op && k < v->op->shape.ndim; k++)
		if (v->size[k] && sizes_same(v->size[k], d.op))
			t->s.bound[i] = v->op->shape.dim[k];
	if (!d.op && !d.value && copies) {
		t->s.bound[i] = v->op->shape.dim[i];
		t->s.size[i] = v->size[i];
	} else if (!d.op && d.value == -1 && t->open < 0) {
		t->open = (int)i;
		t->s.bound[i] = 1;
	} else if (d.value < 0 || (!d.value && d.op)) {
		onnx_fail(n, -ENOTSUP, "dimension %u of %lld", i, (long long)d.value);
	}
}

/* The open dimension, or the only one with a size, whose bound may be too large, is what is left. */
static void settle(struct target *t, int64_t elems)
{
	int left = t->open;
	unsigned int sized = 0;
	int64_t all = product_of(t->s.bound, 0, t->s.ndim);

	for (unsigned int d = 0; left < 0 && d < t->s.ndim; d++)
		sized += t->s.size[d] != NULL;
	for (unsigned int d = 0; sized == 1 && d < t->s.ndim; d++)
		left = t->s.size[d] ? (int)d : left;
	if (left >= 0 && all && elems % (all / t->s.bound[left]) == 0)
		t->s.bound[left] = elems / (all / t->s.bound[left]);
}

void sized_reshape(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const onnx_op list = onnx_in(n, 1);
	struct target t = { .open = -1 };
	int64_t fixed = 1;

	if (!list || list->shape.ndim != 1 || list->shape.dim[0] > NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "to a shape that is no list");
		return;
	}
	t.s.ndim = (unsigned int)list->shape.dim[0];
	for (unsigned int i = 0; i < t.s.ndim && !n->rc; i++) {
		take_target(n, v, list, i, &t);
		if (t.s.bound[i] > NCC_MAX_ELEMS / (fixed ? fixed : 1))
			onnx_fail(n, -EFBIG, "dimension %u of %lld", i, (long long)t.s.bound[i]);
		fixed *= t.s.bound[i];
	}
	if (n->rc)
		return;
	if (sized_is_nothing(v)) {
		reshape_nothing(n, v, &t);
		return;
	}
	settle(&t, ncc_elems(&v->op->shape));
	give_reshaped(n, v, &t);
}

void sized_flatten(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const struct ncc_shape *s = &v->op->shape;
	int64_t axis = onnx_int(n, "axis");
	struct target t = { .s = { .ndim = 2 }, .open = -1 };
	const unsigned int nd = s->ndim;

	axis = axis < 0 ? axis + nd : axis;
	if (axis < 0 || axis > nd) {
		onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, nd);
		return;
	}
	t.s.bound[0] = product_of(s->dim, 0, (unsigned int)axis);
	t.s.bound[1] = product_of(s->dim, (unsigned int)axis, nd);
	for (unsigned int d = 0; d < nd; d++)
		if (v->size[d])
			t.s.size[d >= axis] = number(n, 1);
	for (unsigned int d = 0; d < nd; d++)
		if (t.s.size[d >= axis])
			t.s.size[d >= axis] =
				times(n, t.s.size[d >= axis], onnx_size_or_bound(n, v, d));
	give_reshaped(n, v, &t);
}
