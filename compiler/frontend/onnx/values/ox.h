/* SPDX-License-Identifier: MIT */
/*
 * How operators make values. Short names for the constructors of compiler/build, since calls of
 * them nest in formulas: each is the one that it calls, for an operator of a node (onnx_now). Then
 * ONNX's conversion, and what is taken by index.
 */
#ifndef NCC_ONNX_OX_H
#define NCC_ONNX_OX_H

#include <string.h>

#include "ir/range.h"
#include "frontend/onnx/graph/onnx.h"

/*
 * build.c: the builder that checks and computes what it makes for the node, by the constructors of
 * compiler/build; ox.h has a short name for each of them
 */
struct ncc_build *onnx_now(struct onnx_node *n);
#define ONNX_EXACT_MOST (1 << 24) /* whole numbers up to it are exact in fp32 */
/* ONNX's conversion of any type to any */
onnx_op ox_cast(struct onnx_node *n, onnx_op a, uint8_t dtype, bool pred);
onnx_op ox_cast_like(struct onnx_node *n, onnx_op a, onnx_op like);
onnx_op ox_f32(struct onnx_node *n, onnx_op a);
/*
 * What an operator of ONNX makes of these operands, with the node's attributes;
 * without results n->rc is set
 */
void ox_standard(struct onnx_node *n, const char *op_type, struct onnx_value *in, unsigned int nin,
		 struct onnx_value *out, unsigned int nout);
/* float8.c: expand_float8 of it */
onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate);

/* take.c: x with dimension axis replaced by the dimensions of idx */
onnx_op ox_take(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis);
onnx_op ox_from_end(struct onnx_node *n, onnx_op idx, int64_t size); /* -1 is size - 1 */
/* The k coordinates in idx's last dimension as one number, in the first k dimensions of dim */
onnx_op ox_flat_index(struct onnx_node *n, onnx_op idx, unsigned int k, const int64_t *dim);
/* The list of which idx has number i at index i of dimension d, whatever the others; or NULL */
onnx_op onnx_index_rows(onnx_op idx, unsigned int d);

static inline onnx_op ox_node(struct onnx_node *n, enum ncc_kind kind, const struct ncc_shape *s,
			      onnx_op a, onnx_op b, onnx_op c)
{
	return build_node(onnx_now(n), kind, s, a, b, c);
}

static inline onnx_op ox_done(struct onnx_node *n, onnx_op op)
{
	return build_done(onnx_now(n), op);
}

static inline onnx_op ox_expanded(struct onnx_node *n, onnx_op op, onnx_op x)
{
	return build_expanded(onnx_now(n), op, x);
}

static inline bool ox_common(struct onnx_node *n, onnx_op *a, onnx_op *b)
{
	return build_common(onnx_now(n), a, b);
}

static inline onnx_op ox_data(struct onnx_node *n, const struct ncc_shape *s)
{
	return build_const(onnx_now(n), s);
}

static inline onnx_op ox_scalar(struct onnx_node *n, const struct ncc_shape *like, double v)
{
	return build_scalar(onnx_now(n), like, v);
}

static inline onnx_op ox_iota(struct onnx_node *n, uint8_t dtype, int64_t count)
{
	return build_iota(onnx_now(n), dtype, count);
}

static inline onnx_op ox_un(struct onnx_node *n, enum ncc_kind kind, onnx_op a)
{
	return build_unary(onnx_now(n), kind, a);
}

static inline onnx_op ox_bin(struct onnx_node *n, enum ncc_kind kind, onnx_op a, onnx_op b)
{
	return build_binary(onnx_now(n), kind, a, b);
}

static inline onnx_op ox_binc(struct onnx_node *n, enum ncc_kind kind, onnx_op a, double v)
{
	return build_number(onnx_now(n), kind, a, v);
}

static inline onnx_op ox_select(struct onnx_node *n, onnx_op p, onnx_op a, onnx_op b)
{
	return build_select(onnx_now(n), p, a, b);
}

static inline onnx_op ox_expand(struct onnx_node *n, onnx_op a, unsigned int ndim,
				const int64_t *dim)
{
	return build_expand(onnx_now(n), a, ndim, dim);
}

static inline onnx_op ox_spread(struct onnx_node *n, onnx_op a, const struct ncc_shape *s,
				const uint8_t *map)
{
	return build_spread(onnx_now(n), s, a, map);
}

static inline onnx_op ox_insert(struct onnx_node *n, onnx_op x, unsigned int at)
{
	return build_insert(onnx_now(n), x, at);
}

static inline onnx_op ox_transpose(struct onnx_node *n, onnx_op a, const uint8_t *perm)
{
	return build_transpose(onnx_now(n), a, perm);
}

static inline onnx_op ox_slice(struct onnx_node *n, onnx_op a, unsigned int axis, int64_t start,
			       int64_t count, int64_t stride)
{
	return build_strided(onnx_now(n), a, axis, start, count, stride);
}

static inline onnx_op ox_reverse(struct onnx_node *n, onnx_op a, unsigned int axis)
{
	return build_reverse(onnx_now(n), a, axis);
}

static inline onnx_op ox_concat(struct onnx_node *n, onnx_op const *part, unsigned int count,
				unsigned int axis)
{
	return build_concat(onnx_now(n), part, count, axis);
}

static inline onnx_op ox_pad(struct onnx_node *n, onnx_op a, onnx_op value, const int64_t *low,
			     const int64_t *high)
{
	return build_pad(onnx_now(n), a, value, low, high);
}

static inline onnx_op ox_dot(struct onnx_node *n, onnx_op a, onnx_op b, const struct ncc_dot *d,
			     uint8_t dtype)
{
	return build_dot(onnx_now(n), a, b, d, dtype);
}

static inline onnx_op ox_reduce(struct onnx_node *n, onnx_op a, enum ncc_kind func, uint32_t mask,
				bool keep)
{
	return build_reduce(onnx_now(n), a, func, mask, keep);
}

static inline onnx_op ox_reduce_window(struct onnx_node *n, onnx_op a, enum ncc_kind func,
				       double init, const struct ncc_window *w)
{
	return build_reduce_window(onnx_now(n), a, func, init, w);
}

static inline onnx_op ox_reshape(struct onnx_node *n, onnx_op a, unsigned int ndim,
				 const int64_t *dim)
{
	struct ncc_shape s = { .ndim = ndim };

	if (ndim)
		memcpy(s.dim, dim, ndim * sizeof(*dim));
	return build_reshape(onnx_now(n), a, &s);
}

static inline onnx_op ox_number(struct onnx_node *n, double v) /* in fp32 */
{
	const struct ncc_shape one = { .dtype = NEURON_DT_FP32 };

	return ox_scalar(n, &one, v);
}

/* The smallest and the largest number of a type */
static inline double ox_least(const struct ncc_shape *s)
{
	return ncc_neutral(NCC_MAX, s);
}

static inline double ox_most(const struct ncc_shape *s)
{
	return ncc_neutral(NCC_MIN, s);
}

#endif
