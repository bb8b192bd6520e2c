// SPDX-License-Identifier: MIT
/*
 * Rules (sized.h) of operators that reshape: dimensions of the operand and of the result go
 * together in groups of as many elements. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "sized.h"

/* A dimension of the result: its number, and its size if it depends on the data */
struct target {
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS];
	onnx_op size[NCC_MAX_DIMS];
	int open; /* the one that follows from the others; -1: none */
};

static int64_t product_of(const int64_t *dim, unsigned int first, unsigned int last)
{
	int64_t p = 1;

	for (unsigned int i = first; i < last; i++)
		p *= dim[i];
	return p;
}

/* Dimensions of the operand, from one to another, and those of the result that have as many
 * elements */
struct group {
	unsigned int from[2], to[2];
};

static onnx_op number(struct onnx_node *n, int64_t v)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

	return ox_scalar(n, &s, (double)v);
}

static onnx_op times(struct onnx_node *n, onnx_op a, onnx_op b)
{
	return a ? ox_bin(n, NCC_MUL, a, b) : b;
}

/* The quotient; of a size of 0 nothing is asked. */
static onnx_op divided(struct onnx_node *n, onnx_op a, onnx_op by)
{
	return ox_bin(n, NCC_DIV, a, ox_binc(n, NCC_MAX, by, 1));
}

/* The index along dimension d of each element of a tensor of such dimensions, from the first one on
 */
static onnx_op index_along(struct onnx_node *n, const int64_t *dim, unsigned int first,
			   unsigned int last, unsigned int d)
{
	const int64_t count = product_of(dim, first, last), step = product_of(dim, d + 1, last);
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { count } };
	onnx_op op = ox_data(n, &s);

	for (int64_t i = 0; op && i < count; i++)
		ncc_set(s.dtype, op->data, i, (double)(i / step % dim[d]));
	return op;
}

/* The sizes of the group's dimensions of the result, where they are not known before */
static void take_sizes(struct onnx_node *n, const struct onnx_value *v, struct target *t,
		       const struct group *g)
{
	onnx_op all = NULL, others = NULL;

	if (t->open < (int)g->to[0] || t->open >= (int)g->to[1])
		return;
	for (unsigned int i = g->from[0]; i < g->from[1]; i++)
		all = times(n, all, onnx_size_or_bound(n, v, i));
	for (unsigned int k = g->to[0]; k < g->to[1]; k++)
		if ((int)k != t->open)
			others = times(n, others, t->size[k] ? t->size[k] : number(n, t->dim[k]));
	t->size[t->open] = others ? divided(n, all, others) : all;
}

/*
 * Moves the group's elements to where the result has them: those that are there are counted in the
 * order of the result's dimensions, and that number says where they are in the operand.
 */
static void regroup(struct onnx_node *n, struct onnx_value *v, struct target *t,
		    const struct group *g)
{
	const struct ncc_shape s = v->op->shape;
	const int64_t all = product_of(s.dim, g->from[0], g->from[1]);
	const int64_t flat[3] = { product_of(s.dim, 0, g->from[0]), all,
				  product_of(s.dim, g->from[1], s.ndim) };
	onnx_op count = NULL, step = NULL, at = NULL;
	int64_t bounds = 1;

	take_sizes(n, v, t, g);
	for (unsigned int k = g->to[1]; k-- > g->to[0] && !n->rc;) {
		onnx_op i = index_along(n, t->dim, g->to[0], g->to[1], k);

		i = step ? ox_bin(n, NCC_MUL, i, step) : i;
		count = count ? ox_bin(n, NCC_ADD, count, i) : i;
		step = times(n, step, t->size[k] ? t->size[k] : number(n, t->dim[k]));
	}
	for (unsigned int k = g->from[1]; k-- > g->from[0] && !n->rc;) {
		const onnx_op size = onnx_size_or_bound(n, v, k);
		onnx_op rest = divided(n, count, size), i;

		i = ox_bin(n, NCC_SUB, count, ox_bin(n, NCC_MUL, rest, size));
		i = bounds == 1 ? i : ox_binc(n, NCC_MUL, i, (double)bounds);
		at = at ? ox_bin(n, NCC_ADD, at, i) : i;
		count = rest;
		bounds *= s.dim[k];
	}
	at = ox_binc(n, NCC_MAX, ox_binc(n, NCC_MIN, at, (double)(all - 1)), 0);
	v->op = ox_reshape(n, ox_take(n, ox_reshape(n, v->op, 3, flat), at, 1), s.ndim, s.dim);
}

/*
 * Where only the first dimensions of a group depend on the data, what is there is what comes first,
 * in the operand and the result: nothing moves. false: it is not so
 */
static bool keeps_order(struct onnx_node *n, const struct onnx_value *v, struct target *t,
			const struct group *g)
{
	const struct ncc_shape *s = &v->op->shape;
	const unsigned int first = g->to[0];
	onnx_op size = v->size[g->from[0]];
	int64_t after = product_of(s->dim, g->from[0] + 1, g->from[1]);
	int64_t rest = product_of(t->dim, first + 1, g->to[1]);

	for (unsigned int k = g->from[0] + 1; k < g->from[1]; k++)
		if (v->size[k])
			return false;
	for (unsigned int k = first + !!size; k < g->to[1]; k++)
		if (t->size[k])
			return false;
	if (!size)
		return true;
	if (after % rest && rest % after)
		return false;
	if (after % rest == 0)
		size = after == rest ? size : ox_binc(n, NCC_MUL, size, (double)(after / rest));
	else
		size = ox_bin(n, NCC_DIV, size, number(n, rest / after));
	for (unsigned int k = 0; t->size[first] && k < s->ndim; k++)
		if (v->size[k] && k != g->from[0] && onnx_same(v->size[k], t->size[first]) &&
		    !onnx_same(size, t->size[first]))
			onnx_fail(n, -ENOTSUP,
				  "dimension %u to one whose size is that of dimension %u",
				  g->from[0], k);
	t->size[first] = size;
	return true;
}

/* Gives the operand reshaped; what is open is known. */
static void give_reshaped(struct onnx_node *n, struct onnx_value *v, struct target *t)
{
	const struct ncc_shape shape = v->op->shape, *s = &shape;
	unsigned int i = 0, j = 0;

	if (product_of(t->dim, 0, t->ndim) != ncc_elems(s)) {
		onnx_fail(n, -ENOTSUP, "%lld elements to %lld, of sizes that depend on the data",
			  (long long)ncc_elems(s), (long long)product_of(t->dim, 0, t->ndim));
		return;
	}
	for (;;) {
		struct group g;
		int64_t a, b;

		while (i < s->ndim && s->dim[i] == 1 && !v->size[i])
			i++;
		while (j < t->ndim && t->dim[j] == 1 && !t->size[j])
			j++;
		if (i == s->ndim && j == t->ndim)
			break;
		if (i == s->ndim || j == t->ndim) {
			onnx_fail(n, -ENOTSUP, "a size that depends on the data, of one element");
			return;
		}
		g.from[0] = i;
		g.to[0] = j;
		a = s->dim[i++];
		b = t->dim[j++];
		while (a != b) {
			if (a < b)
				a *= s->dim[i++];
			else
				b *= t->dim[j++];
		}
		g.from[1] = i;
		g.to[1] = j;
		if (!keeps_order(n, v, t, &g) && !n->rc)
			regroup(n, v, t, &g);
		if (n->rc)
			return;
	}
	onnx_give_sizes(n, 0, ox_reshape(n, v->op, t->ndim, t->dim), v->type, t->size);
}

/* Nothing, in other dimensions: one of them is 0 */
static void reshape_nothing(struct onnx_node *n, const struct onnx_value *v, const struct target *t)
{
	struct ncc_shape s = { .ndim = t->ndim };
	bool any = false;

	memcpy(s.dim, t->dim, sizeof(s.dim));
	for (unsigned int d = 0; d < s.ndim; d++) {
		if (t->size[d] || (int)d == t->open)
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
	const bool copies = !onnx_int(n, "allowzero", 0) && i < v->op->shape.ndim;
	struct onnx_number d;

	if (!onnx_number(n, list, i, &d))
		return;
	if (d.op && d.value == INT32_MAX) {
		onnx_fail(n, -ENOTSUP, "operand 1 ('%.80s') must be a constant", n->p->input[1]);
		return;
	}
	t->dim[i] = d.value;
	t->size[i] = d.op;
	for (unsigned int k = 0; d.op && k < v->op->shape.ndim; k++)
		if (v->size[k] && onnx_same(v->size[k], d.op))
			t->dim[i] = v->op->shape.dim[k];
	if (!d.op && !d.value && copies) {
		t->dim[i] = v->op->shape.dim[i];
		t->size[i] = v->size[i];
	} else if (!d.op && d.value == -1 && t->open < 0) {
		t->open = (int)i;
		t->dim[i] = 1;
	} else if (d.value < 0 || (!d.value && d.op)) {
		onnx_fail(n, -ENOTSUP, "dimension %u of %lld", i, (long long)d.value);
	}
}

/* The open dimension, or the only one with a size, whose bound may be too large, is what is left. */
static void settle(struct target *t, int64_t elems)
{
	int left = t->open;
	unsigned int sized = 0;
	int64_t all = product_of(t->dim, 0, t->ndim);

	for (unsigned int d = 0; left < 0 && d < t->ndim; d++)
		sized += t->size[d] != NULL;
	for (unsigned int d = 0; sized == 1 && d < t->ndim; d++)
		left = t->size[d] ? (int)d : left;
	if (left >= 0 && all && elems % (all / t->dim[left]) == 0)
		t->dim[left] = elems / (all / t->dim[left]);
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
	t.ndim = (unsigned int)list->shape.dim[0];
	for (unsigned int i = 0; i < t.ndim && !n->rc; i++) {
		take_target(n, v, list, i, &t);
		if (t.dim[i] > NCC_MAX_ELEMS / (fixed ? fixed : 1))
			onnx_fail(n, -EFBIG, "dimension %u of %lld", i, (long long)t.dim[i]);
		fixed *= t.dim[i];
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
	int64_t axis = onnx_int(n, "axis", 1);
	struct target t = { .ndim = 2, .open = -1 };
	const unsigned int nd = s->ndim;

	axis = axis < 0 ? axis + nd : axis;
	if (axis < 0 || axis > nd) {
		onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, nd);
		return;
	}
	t.dim[0] = product_of(s->dim, 0, (unsigned int)axis);
	t.dim[1] = product_of(s->dim, (unsigned int)axis, nd);
	for (unsigned int d = 0; d < nd; d++)
		if (v->size[d])
			t.size[d >= axis] = number(n, 1);
	for (unsigned int d = 0; d < nd; d++)
		if (t.size[d >= axis])
			t.size[d >= axis] =
				times(n, t.size[d >= axis], onnx_size_or_bound(n, v, d));
	give_reshaped(n, v, &t);
}
