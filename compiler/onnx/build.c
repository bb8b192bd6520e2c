// SPDX-License-Identifier: MIT
/*
 * Constructors of operations of the tensor IR for the ONNX front end: they find the result's shape,
 * broadcast as ONNX does, verify, and compute what has constant operands. struct onnx_node says how
 * they fail.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "onnx.h"
#include "ir/range.h"

static onnx_op no_memory(struct onnx_node *n)
{
	onnx_fail(n, -ENOMEM, "out of memory");
	return NULL;
}

onnx_op ox_node(struct onnx_node *n, enum ncc_kind kind, const struct ncc_shape *s, onnx_op a,
		onnx_op b, onnx_op c)
{
	onnx_op op;

	if (n->rc || !a)
		return NULL;
	if (++n->imp->made > NCC_MAX_OPS) {
		onnx_fail(n, -EFBIG, "too large: more than %d operations", NCC_MAX_OPS);
		return NULL;
	}
	op = build_node(&n->b, kind, s, a, b, c);
	if (!op)
		return no_memory(n);
	op->exact = n->exact;
	return op;
}

/*
 * The compiler computes a bounded number of elements itself, for each operation and for the model.
 */
static bool may_fold(struct onnx_node *n, onnx_op op)
{
	int64_t work = ncc_elems(&op->shape);

	for (unsigned int i = 0; i < op->nin; i++)
		work += ncc_elems(&op->in[i]->shape);
	if (work > ONNX_MAX_FOLD || work > ONNX_MAX_FOLDED - n->imp->folded)
		return false;
	n->imp->folded += work;
	return true;
}

/*
 * A broadcast of one number is not folded: it costs nothing. One that makes much of little is not
 * either: what reads it (a bias's sum) takes the little, once for each partition.
 */
#define MOST_SPREAD 4096 /* elements */

static bool spreads(onnx_op op)
{
	int64_t n = ncc_elems(&op->shape);

	return op->kind == NCC_BROADCAST && n > MOST_SPREAD &&
	       n >= 4 * ncc_elems(&op->in[0]->shape);
}

static bool folds(struct onnx_node *n, onnx_op op)
{
	bool splats = true;

	if ((op->kind == NCC_BROADCAST && !op->in[0]->shape.ndim) || spreads(op))
		return false;
	for (unsigned int i = 0; i < op->nin; i++) {
		if (!onnx_is_const(op->in[i]))
			return false;
		splats = splats && op->in[i]->kind == NCC_BROADCAST;
	}
	return may_fold(n, op) && (!splats || op->kind != NCC_BROADCAST);
}

onnx_op ox_done(struct onnx_node *n, onnx_op op)
{
	struct ncc_error err;
	int rc;

	if (n->rc || !op)
		return NULL;
	rc = ncc_verify_op(op, &err);
	if (rc) {
		onnx_fail(n, rc, "%s", err.text);
		return NULL;
	}
	if (folds(n, op) && ncc_eval(n->imp->m, op) < 0)
		return no_memory(n);
	return op;
}

onnx_op ox_data(struct onnx_node *n, const struct ncc_shape *s)
{
	struct ncc_op op = { .kind = NCC_CONST, .shape = *s, .data = &op };
	struct ncc_error err;
	onnx_op made;

	if (n->rc)
		return NULL;
	if (ncc_verify_op(&op, &err)) {
		onnx_fail(n, -EINVAL, "%s", err.text);
		return NULL;
	}
	if (ncc_elems(s) > ONNX_MAX_DATA) {
		onnx_fail(n, -EFBIG, "too large: a constant of more than %d elements",
			  ONNX_MAX_DATA);
		return NULL;
	}
	made = build_const(&n->b, s);
	if (!made && n->imp->err->text[0])
		n->rc = -EFBIG;
	return made ? made : no_memory(n);
}

/*
 * Folds everything that op depends on if it is constant and small, in place, so that nothing is
 * computed twice.
 */
static int fold_all(struct onnx_node *n, onnx_op op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		int rc = onnx_is_const(op->in[i]) ? 0 : fold_all(n, op->in[i]);

		if (rc < 0)
			return rc;
	}
	return op->kind == NCC_BROADCAST || !may_fold(n, op) ? 0 : ncc_eval(n->imp->m, op);
}

onnx_op ox_expanded(struct onnx_node *n, onnx_op op, onnx_op x)
{
	if (!op)
		return NULL;
	n->imp->made += 16; /* an estimate */
	if (onnx_is_const(x) && fold_all(n, op) < 0)
		return no_memory(n);
	return op;
}

onnx_op ox_scalar(struct onnx_node *n, const struct ncc_shape *like, double v)
{
	struct ncc_shape s = { .dtype = like->dtype, .pred = like->pred };
	onnx_op op = ox_data(n, &s);

	if (op)
		ncc_set(s.dtype, op->data, 0, v);
	return op;
}

onnx_op ox_number(struct onnx_node *n, double v)
{
	const struct ncc_shape one = { .dtype = NEURON_DT_FP32 };

	return ox_scalar(n, &one, v);
}

onnx_op ox_iota(struct onnx_node *n, uint8_t dtype, int64_t count)
{
	struct ncc_shape s = { .dtype = dtype, .ndim = 1, .dim = { count } };
	onnx_op op = ox_data(n, &s);

	for (int64_t i = 0; op && i < count; i++)
		ncc_set(dtype, op->data, i, (double)i);
	return op;
}

onnx_op ox_spread(struct onnx_node *n, onnx_op a, const struct ncc_shape *s, const uint8_t *map)
{
	struct ncc_shape to = *s;
	onnx_op op;

	if (!a)
		return NULL;
	to.dtype = a->shape.dtype;
	to.pred = a->shape.pred;
	if (ncc_same_dims(&to, &a->shape))
		return a;
	op = ox_node(n, NCC_BROADCAST, &to, a, NULL, NULL);
	if (op && a->shape.ndim)
		memcpy(op->map, map, a->shape.ndim);
	return ox_done(n, op);
}

/*
 * Dimensions of 1 that become larger are removed first, since the IR's broadcast only adds
 * dimensions.
 */
onnx_op ox_expand(struct onnx_node *n, onnx_op a, unsigned int ndim, const int64_t *dim)
{
	struct ncc_shape s = { .ndim = ndim };
	int64_t kept[NCC_MAX_DIMS];
	uint8_t map[NCC_MAX_DIMS];
	unsigned int k = 0, lead;

	if (!a || n->rc)
		return NULL;
	if (ndim < a->shape.ndim || ndim > NCC_MAX_DIMS) {
		onnx_fail(n, -EINVAL, "rank %u does not broadcast to %u", a->shape.ndim, ndim);
		return NULL;
	}

	lead = ndim - a->shape.ndim;
	memcpy(s.dim, dim, ndim * sizeof(*dim));
	for (unsigned int i = 0; i < a->shape.ndim; i++) {
		if (a->shape.dim[i] != 1 && a->shape.dim[i] != dim[lead + i]) {
			onnx_fail(n, -EINVAL, "dimension %u of %lld does not broadcast to %lld", i,
				  (long long)a->shape.dim[i], (long long)dim[lead + i]);
			return NULL;
		}
		if (a->shape.dim[i] != dim[lead + i])
			continue;
		kept[k] = a->shape.dim[i];
		map[k++] = (uint8_t)(lead + i);
	}
	return ox_spread(n, ox_reshape(n, a, k, kept), &s, map);
}

/* The shape that both broadcast to */
static bool common(struct onnx_node *n, onnx_op a, onnx_op b, unsigned int *ndim, int64_t *dim)
{
	const struct ncc_shape *x = &a->shape, *y = &b->shape;

	*ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
	for (unsigned int i = 0; i < *ndim; i++) {
		int64_t p = i < x->ndim ? x->dim[x->ndim - 1 - i] : 1;
		int64_t q = i < y->ndim ? y->dim[y->ndim - 1 - i] : 1;

		if (p != q && p != 1 && q != 1) {
			onnx_fail(n, -EINVAL, "dimensions of %lld and %lld do not broadcast",
				  (long long)p, (long long)q);
			return false;
		}
		dim[*ndim - 1 - i] = p > q ? p : q;
	}
	return true;
}

bool ox_common(struct onnx_node *n, onnx_op *a, onnx_op *b)
{
	int64_t dim[NCC_MAX_DIMS];
	unsigned int ndim;

	if (!*a || !*b || n->rc || !common(n, *a, *b, &ndim, dim))
		return false;
	*a = ox_expand(n, *a, ndim, dim);
	*b = ox_expand(n, *b, ndim, dim);
	return *a && *b;
}

onnx_op ox_un(struct onnx_node *n, enum ncc_kind kind, onnx_op a)
{
	return a ? ox_done(n, ox_node(n, kind, &a->shape, a, NULL, NULL)) : NULL;
}

onnx_op ox_bin(struct onnx_node *n, enum ncc_kind kind, onnx_op a, onnx_op b)
{
	struct ncc_shape s;

	if (!a || !b || n->rc)
		return NULL;
	if (a->shape.dtype != b->shape.dtype || a->shape.pred != b->shape.pred) {
		onnx_fail(n, -EINVAL, "operands of two types, %s and %s", ncc_dtype_name(&a->shape),
			  ncc_dtype_name(&b->shape));
		return NULL;
	}
	if (!ox_common(n, &a, &b))
		return NULL;
	s = a->shape;
	if (ncc_is_compare(kind)) {
		s.dtype = NEURON_DT_INT8;
		s.pred = true;
	}
	return ox_done(n, ox_node(n, kind, &s, a, b, NULL));
}

onnx_op ox_binc(struct onnx_node *n, enum ncc_kind kind, onnx_op a, double v)
{
	return a ? ox_bin(n, kind, a, ox_scalar(n, &a->shape, v)) : NULL;
}

onnx_op ox_select(struct onnx_node *n, onnx_op p, onnx_op a, onnx_op b)
{
	int64_t dim[NCC_MAX_DIMS];
	unsigned int ndim;

	if (!p || !a || !b || n->rc || !common(n, a, b, &ndim, dim))
		return NULL;
	a = ox_expand(n, a, ndim, dim);
	if (!a || !common(n, p, a, &ndim, dim))
		return NULL;
	p = ox_expand(n, p, ndim, dim);
	a = ox_expand(n, a, ndim, dim);
	b = ox_expand(n, b, ndim, dim);
	return p && a && b ? ox_done(n, ox_node(n, NCC_SELECT, &a->shape, p, a, b)) : NULL;
}

/* A word made of whole numbers that fp32 holds: they were in fp32 already. */
static bool is_exact_word(const struct ncc_op *a)
{
	const struct ncc_op *of = a->kind == NCC_CONVERT ? a->in[0] : NULL;

	return of && a->shape.dtype == NEURON_DT_INT32 && !a->shape.pred && of->bounds &&
	       of->shape.dtype == NEURON_DT_FP32 && of->bounds[0] >= -ONNX_EXACT_MOST &&
	       of->bounds[1] <= ONNX_EXACT_MOST;
}

onnx_op ox_cast(struct onnx_node *n, onnx_op a, uint8_t dtype, bool pred)
{
	struct ncc_shape s;

	if (!a || n->rc)
		return NULL;
	if (dtype == NEURON_DT_FP32 && is_exact_word(a))
		return a->in[0];
	s = a->shape;
	s.dtype = dtype;
	s.pred = pred;
	return ox_expanded(n, expand_convert(&n->b, a, &s), a);
}

onnx_op ox_f32(struct onnx_node *n, onnx_op a)
{
	return ox_cast(n, a, NEURON_DT_FP32, false);
}

onnx_op ox_cast_like(struct onnx_node *n, onnx_op a, onnx_op like)
{
	return like ? ox_cast(n, a, like->shape.dtype, like->shape.pred) : NULL;
}

onnx_op ox_reshape(struct onnx_node *n, onnx_op a, unsigned int ndim, const int64_t *dim)
{
	struct ncc_shape s = { 0 };

	if (!a)
		return NULL;
	s.dtype = a->shape.dtype;
	s.pred = a->shape.pred;
	s.ndim = ndim;
	if (ndim)
		memcpy(s.dim, dim, ndim * sizeof(*dim));
	if (ncc_same_dims(&s, &a->shape))
		return a;
	return ox_done(n, ox_node(n, NCC_RESHAPE, &s, a, NULL, NULL));
}

onnx_op ox_insert(struct onnx_node *n, onnx_op x, unsigned int at)
{
	int64_t dim[NCC_MAX_DIMS + 1];

	if (!x || n->rc)
		return NULL;
	if (x->shape.ndim == NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "of rank 8");
		return NULL;
	}
	for (unsigned int i = 0; i <= x->shape.ndim; i++)
		dim[i] = i == at ? 1 : x->shape.dim[i < at ? i : i - 1];
	return ox_reshape(n, x, x->shape.ndim + 1, dim);
}

onnx_op ox_transpose(struct onnx_node *n, onnx_op a, const uint8_t *perm)
{
	struct ncc_shape s;
	bool same = true;
	onnx_op op;

	if (!a || n->rc)
		return NULL;
	s = a->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		s.dim[i] = a->shape.dim[perm[i] % s.ndim];
		same = same && perm[i] == i;
	}
	if (same)
		return a;
	op = ox_node(n, NCC_TRANSPOSE, &s, a, NULL, NULL);
	if (op)
		memcpy(op->map, perm, s.ndim);
	return ox_done(n, op);
}

onnx_op ox_slice(struct onnx_node *n, onnx_op a, unsigned int axis, int64_t start, int64_t count,
		 int64_t stride)
{
	struct ncc_shape s;
	onnx_op op;

	if (!a || n->rc)
		return NULL;
	s = a->shape;
	if (axis >= s.ndim) {
		onnx_fail(n, -EINVAL, "an operand has rank %u, more is expected", s.ndim);
		return NULL;
	}

	if (!start && count == s.dim[axis])
		return a;
	s.dim[axis] = count;
	op = ox_node(n, NCC_SLICE, &s, a, NULL, NULL);
	for (unsigned int i = 0; op && i < s.ndim; i++)
		op->stride[i] = 1;
	if (op) {
		op->start[axis] = start;
		op->stride[axis] = stride;
	}
	return ox_done(n, op);
}

onnx_op ox_reverse(struct onnx_node *n, onnx_op a, unsigned int axis)
{
	onnx_op op = a ? ox_node(n, NCC_REVERSE, &a->shape, a, NULL, NULL) : NULL;

	if (op)
		op->mask = 1u << axis;
	return ox_done(n, op);
}

onnx_op ox_concat(struct onnx_node *n, onnx_op *part, unsigned int count, unsigned int axis)
{
	struct ncc_shape s;
	onnx_op op;

	for (unsigned int i = 0; i < count; i++)
		if (!part[i])
			return NULL;

	if (n->rc || count == 1)
		return n->rc ? NULL : part[0];
	op = ncc_op_new(n->imp->m, NCC_CONCAT, n->b.name, count);
	if (!op)
		return no_memory(n);
	s = part[0]->shape;
	memcpy(op->in, part, count * sizeof(*part));
	for (unsigned int i = 1; i < count; i++)
		s.dim[axis] += part[i]->shape.ndim == s.ndim ? part[i]->shape.dim[axis] : 0;
	op->shape = s;
	op->exact = n->exact;
	op->axis = axis;
	n->imp->made++;
	return ox_done(n, op);
}

onnx_op ox_pad(struct onnx_node *n, onnx_op a, onnx_op value, const int64_t *low,
	       const int64_t *high)
{
	struct ncc_shape s;
	bool any = false;
	onnx_op op;

	if (!a || !value || n->rc)
		return NULL;
	s = a->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		if (low[i] <= -NCC_MAX_ELEMS || low[i] >= NCC_MAX_ELEMS ||
		    high[i] <= -NCC_MAX_ELEMS || high[i] >= NCC_MAX_ELEMS) {
			onnx_fail(n, -EINVAL, "padding of dimension %u out of range", i);
			return NULL;
		}
		s.dim[i] += low[i] + high[i];
		any = any || low[i] || high[i];
	}

	if (!any)
		return a;
	op = ox_node(n, NCC_PAD, &s, a, value, NULL);
	for (unsigned int i = 0; op && i < s.ndim; i++) {
		op->low[i] = low[i];
		op->high[i] = high[i];
	}
	return ox_done(n, op);
}

onnx_op ox_dot(struct onnx_node *n, onnx_op a, onnx_op b, const struct ncc_dot *d, uint8_t dtype)
{
	struct ncc_shape s = { .dtype = dtype };
	uint32_t l = 0, r = 0;
	unsigned int ndim = 0;
	int64_t dim[3 * NCC_MAX_DIMS];
	onnx_op op;

	if (!a || !b || n->rc)
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
		onnx_fail(n, -ENOTSUP, "the product has rank %u, at most %u is supported", ndim,
			  NCC_MAX_DIMS);
		return NULL;
	}

	s.ndim = ndim;
	memcpy(s.dim, dim, ndim * sizeof(*dim));
	op = ox_node(n, NCC_DOT, &s, a, b, NULL);
	if (op)
		*op->dot = *d;
	return ox_done(n, op);
}

double ox_least(const struct ncc_shape *s)
{
	return ncc_neutral(NCC_MAX, s);
}

double ox_most(const struct ncc_shape *s)
{
	return ncc_neutral(NCC_MIN, s);
}

onnx_op ox_reduce(struct onnx_node *n, onnx_op a, enum ncc_kind func, uint32_t mask, bool keep)
{
	int64_t kept[NCC_MAX_DIMS];
	struct ncc_shape s;
	onnx_op op;

	if (!a || n->rc)
		return NULL;
	s = a->shape;

	s.ndim = 0;
	for (unsigned int i = 0; i < a->shape.ndim; i++) {
		kept[i] = mask >> i & 1 ? 1 : a->shape.dim[i];
		if (!(mask >> i & 1))
			s.dim[s.ndim++] = a->shape.dim[i];
	}

	if (mask) {
		op = ox_node(n, NCC_REDUCE, &s, a, ox_scalar(n, &s, ncc_neutral(func, &s)), NULL);
		if (!op)
			return NULL;
		op->func = func;
		op->mask = mask;
		op = ox_done(n, op);
	} else {
		op = a;
	}
	return keep ? ox_reshape(n, op, a->shape.ndim, kept) : op;
}

onnx_op ox_reduce_window(struct onnx_node *n, onnx_op a, enum ncc_kind func, double init,
			 const struct ncc_window *w)
{
	struct ncc_shape s;
	onnx_op op;

	if (!a || n->rc)
		return NULL;
	s = a->shape;
	for (unsigned int i = 0; i < s.ndim; i++) {
		int64_t span = (w[i].size - 1) * w[i].window_dilation + 1;
		int64_t size = s.dim[i] + w[i].low + w[i].high;

		if (size < span) {
			onnx_fail(n, -EINVAL, "the window of %lld is larger than its operand",
				  (long long)span);
			return NULL;
		}
		s.dim[i] = (size - span) / w[i].stride + 1;
	}
	op = ox_node(n, NCC_REDUCE_WINDOW, &s, a, ox_scalar(n, &s, init), NULL);
	if (!op)
		return NULL;
	op->func = func;
	memcpy(op->window, w, s.ndim * sizeof(*w));
	return ox_done(n, op);
}
