// SPDX-License-Identifier: MIT
/*
 * Constructors (build.h) of operations that move elements. What would move none gives its operand,
 * but for a reshape or a transpose that is left to the passes: they take one for the end of what
 * they put together, and programs stay as they are.
 */
#include "build.h"

#include <errno.h>
#include <string.h>

struct ncc_op *build_reshape(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s)
{
	struct ncc_shape to = *s;

	if (!x)
		return NULL;
	to.dtype = x->shape.dtype;
	to.pred = x->shape.pred;
	if (bl->now && ncc_same_dims(&to, &x->shape))
		return x;
	return build_done(bl, build_node(bl, NCC_RESHAPE, &to, x, NULL, NULL));
}

struct ncc_op *build_insert(struct ncc_build *bl, struct ncc_op *x, unsigned int at)
{
	struct ncc_shape s = { 0 };

	if (!x || build_ended(bl))
		return NULL;
	if (x->shape.ndim == NCC_MAX_DIMS) {
		build_fail(bl, -ENOTSUP, "of rank %u", NCC_MAX_DIMS);
		return NULL;
	}
	s.ndim = x->shape.ndim + 1;
	for (unsigned int i = 0; i < s.ndim; i++)
		s.dim[i] = i == at ? 1 : x->shape.dim[i < at ? i : i - 1];
	return build_reshape(bl, x, &s);
}

struct ncc_op *build_transpose(struct ncc_build *bl, struct ncc_op *x, const uint8_t *map)
{
	bool same = true;
	struct ncc_shape s;
	struct ncc_op *op;

	if (!x)
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		s.dim[i] = x->shape.dim[map[i] % s.ndim];
		same = same && map[i] == i;
	}
	if (same && bl->now)
		return x;
	op = build_node(bl, NCC_TRANSPOSE, &s, x, NULL, NULL);
	if (op)
		memcpy(op->map, map, s.ndim);
	return build_done(bl, op);
}

struct ncc_op *build_strided(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			     int64_t n, int64_t stride)
{
	struct ncc_op *op;
	struct ncc_shape s;

	if (!x || build_ended(bl))
		return NULL;
	s = x->shape;
	if (d >= s.ndim) {
		build_fail(bl, -EINVAL, "an operand has rank %u, more is expected", s.ndim);
		return NULL;
	}

	if (!start && n == s.dim[d])
		return x;
	s.dim[d] = n;
	op = build_node(bl, NCC_SLICE, &s, x, NULL, NULL);
	for (unsigned int i = 0; op && i < s.ndim; i++) {
		op->start[i] = i == d ? start : 0;
		op->stride[i] = i == d ? stride : 1;
	}
	return build_done(bl, op);
}

struct ncc_op *build_slice(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			   int64_t n)
{
	return build_strided(bl, x, d, start, n, 1);
}

struct ncc_op *build_reverse(struct ncc_build *bl, struct ncc_op *x, unsigned int d)
{
	struct ncc_op *op = x ? build_node(bl, NCC_REVERSE, &x->shape, x, NULL, NULL) : NULL;

	if (op)
		op->mask = 1u << d;
	return build_done(bl, op);
}

struct ncc_op *build_concat(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    unsigned int d)
{
	struct ncc_shape s;
	struct ncc_op *op;

	for (unsigned int i = 0; i < n; i++)
		if (!x[i])
			return NULL;

	if (build_ended(bl) || n == 1)
		return build_ended(bl) ? NULL : x[0];
	s = x[0]->shape;
	for (unsigned int i = 1; i < n; i++) /* the verifier compares their ranks */
		s.dim[d] += x[i]->shape.ndim == s.ndim ? x[i]->shape.dim[d] : 0;
	op = build_any(bl, NCC_CONCAT, &s, n);
	if (!op)
		return NULL;
	memcpy(op->in, x, n * sizeof(struct ncc_op *));
	op->axis = d;
	return build_done(bl, op);
}

/* Is it a number of elements that there may be? */
static bool is_padding(int64_t n)
{
	return n > -NCC_MAX_ELEMS && n < NCC_MAX_ELEMS;
}

struct ncc_op *build_pad(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *value,
			 const int64_t *low, const int64_t *high)
{
	bool any = false;
	struct ncc_shape s;
	struct ncc_op *op;

	if (!x || !value || build_ended(bl))
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		if (!is_padding(low[i]) || !is_padding(high[i])) {
			build_fail(bl, -EINVAL, "padding of dimension %u out of range", i);
			return NULL;
		}
		s.dim[i] += low[i] + high[i];
		any = any || low[i] || high[i];
	}

	if (!any)
		return x;
	op = build_node(bl, NCC_PAD, &s, x, value, NULL);
	for (unsigned int i = 0; op && i < s.ndim; i++) {
		op->low[i] = low[i];
		op->high[i] = high[i];
	}
	return build_done(bl, op);
}
