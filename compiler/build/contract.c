// SPDX-License-Identifier: MIT
/* Constructors (build.h) of products and of reductions */
#include "build.h"

#include <errno.h>
#include <string.h>

#include "ir/range.h"

struct ncc_op *build_dot(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
			 const struct ncc_dot *d, uint8_t dtype)
{
	struct ncc_shape s = { .dtype = dtype };
	int64_t dim[3 * NCC_MAX_DIMS];
	uint32_t l = 0, r = 0;
	unsigned int ndim = 0;
	struct ncc_op *op;

	if (!a || !b || build_ended(bl))
		return NULL;
	for (unsigned int i = 0; i < d->nbatch; i++) {
		l |= 1u << d->lhs_batch[i];
		r |= 1u << d->rhs_batch[i];
		dim[ndim++] = a->shape.dim[d->lhs_batch[i]];
	}

	for (unsigned int i = 0; i < d->ncontract; i++) {
		l |= 1u << d->lhs_contract[i];
		r |= 1u << d->rhs_contract[i];
	}

	for (unsigned int i = 0; i < a->shape.ndim; i++)
		if (!(l >> i & 1))
			dim[ndim++] = a->shape.dim[i];

	for (unsigned int i = 0; i < b->shape.ndim; i++)
		if (!(r >> i & 1))
			dim[ndim++] = b->shape.dim[i];

	if (ndim > NCC_MAX_DIMS) {
		build_fail(bl, -ENOTSUP, "the product has rank %u, at most %u is supported", ndim,
			   NCC_MAX_DIMS);
		return NULL;
	}

	s.ndim = ndim;
	memcpy(s.dim, dim, ndim * sizeof(*dim));
	op = build_node(bl, NCC_DOT, &s, a, b, NULL);
	if (op)
		*op->dot = *d;
	return build_done(bl, op);
}

struct ncc_op *build_reduce_from(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *first,
				 enum ncc_kind func, uint32_t mask)
{
	struct ncc_shape s;
	struct ncc_op *op;

	if (!x || !first || build_ended(bl))
		return NULL;
	s = x->shape;
	s.ndim = 0;
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (!(mask >> i & 1))
			s.dim[s.ndim++] = x->shape.dim[i];

	op = build_node(bl, NCC_REDUCE, &s, x, first, NULL);
	if (!op)
		return NULL;
	op->func = func;
	op->mask = mask;
	return build_done(bl, op);
}

struct ncc_op *build_reduce(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
			    uint32_t mask, bool keep)
{
	struct ncc_shape kept;
	struct ncc_op *op = x;

	if (!x || build_ended(bl))
		return NULL;
	kept = x->shape;
	for (unsigned int i = 0; i < kept.ndim; i++)
		if (mask >> i & 1)
			kept.dim[i] = 1;

	if (mask)
		op = build_reduce_from(bl, x, build_scalar(bl, &kept, ncc_neutral(func, &kept)),
				       func, mask);
	return keep ? build_reshape(bl, op, &kept) : op;
}

struct ncc_op *build_reduce_window(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
				   double init, const struct ncc_window *w)
{
	struct ncc_op *op, *first;
	struct ncc_shape s;

	if (!x || build_ended(bl))
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		int64_t span = (w[i].size - 1) * w[i].window_dilation + 1;
		int64_t size = s.dim[i] + w[i].low + w[i].high;

		if (size < span) {
			build_fail(bl, -EINVAL, "the window of %lld is larger than its operand",
				   (long long)span);
			return NULL;
		}
		s.dim[i] = (size - span) / w[i].stride + 1;
	}
	first = build_scalar(bl, &s, init);
	op = first ? build_node(bl, NCC_REDUCE_WINDOW, &s, x, first, NULL) : NULL;
	if (!op)
		return NULL;
	op->func = func;
	memcpy(op->window, w, s.ndim * sizeof(*w));
	return build_done(bl, op);
}

struct ncc_op *build_halves(struct ncc_build *bl, struct ncc_op *x, unsigned int d, build_fn fn)
{
	struct ncc_op *rest = NULL;

	while (x && x->shape.dim[d] > 1) {
		int64_t n = x->shape.dim[d], half = n / 2;

		if (n % 2) {
			struct ncc_op *last = build_slice(bl, x, d, n - 1, 1);

			rest = rest ? fn(bl, last, rest) : last;
		}
		x = fn(bl, build_slice(bl, x, d, 0, half), build_slice(bl, x, d, half, half));
	}
	return rest ? fn(bl, x, rest) : x;
}
