// SPDX-License-Identifier: MIT
/* Constructors (build.h) of operations that work element by element */
#include "build.h"

#include <errno.h>

static struct ncc_op *converted(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x,
				uint8_t dtype)
{
	struct ncc_shape s = x->shape;

	s.dtype = dtype;
	s.pred = false;
	return build_done(bl, build_node(bl, kind, &s, x, NULL, NULL));
}

struct ncc_op *build_cast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	if (!x || (x->shape.dtype == dtype && !x->shape.pred))
		return x;
	return converted(bl, NCC_CONVERT, x, dtype);
}

struct ncc_op *build_bitcast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	return !x || x->shape.dtype == dtype ? x : converted(bl, NCC_BITCAST, x, dtype);
}

static uint8_t word_sized(unsigned int size)
{
	return size == 1 ? NEURON_DT_INT8 : size == 2 ? NEURON_DT_INT16 : NEURON_DT_INT32;
}

struct ncc_op *build_bits(struct ncc_build *bl, struct ncc_op *x)
{
	if (!x || !ncc_is_float(x->shape.dtype))
		return x;
	return build_bitcast(bl, x, word_sized(ncc_dtype_size(x->shape.dtype)));
}

struct ncc_op *build_unary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x)
{
	return x ? build_done(bl, build_node(bl, kind, &x->shape, x, NULL, NULL)) : NULL;
}

/* Have both one type, where that is to be checked now? */
static bool same_type(struct ncc_build *bl, const struct ncc_op *a, const struct ncc_op *b)
{
	if (!bl->now || (a->shape.dtype == b->shape.dtype && a->shape.pred == b->shape.pred))
		return true;
	build_fail(bl, -EINVAL, "operands of two types, %s and %s", ncc_dtype_name(&a->shape),
		   ncc_dtype_name(&b->shape));
	return false;
}

struct ncc_op *build_binary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b)
{
	struct ncc_shape s;

	if (!a || !b || build_ended(bl) || !same_type(bl, a, b) || !build_common(bl, &a, &b))
		return NULL;
	s = a->shape;
	if (ncc_is_compare(kind)) {
		s.dtype = NEURON_DT_INT8;
		s.pred = true;
	}
	return build_done(bl, build_node(bl, kind, &s, a, b, NULL));
}

struct ncc_op *build_number(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v)
{
	return x ? build_binary(bl, kind, x, build_splat(bl, &x->shape, v)) : NULL;
}
