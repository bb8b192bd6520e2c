// SPDX-License-Identifier: MIT
/*
 * The verifier of the tensor IR: what an operation's attributes and operands say its result must
 * be, against what it is. Front ends run it on what they read, the driver after every pass.
 */
#include "host_rules.h"
#include "traits.h"

#include <errno.h>
#include <string.h>

#include "neuron/hw/ext.h"
#include "neuron/isa/check.h"

typedef int (*check_fn)(const struct ncc_op *op, struct ncc_error *err);

static int expect_dims(const struct ncc_op *op, const int64_t *dim, unsigned int ndim,
		       struct ncc_error *err)
{
	if (op->shape.ndim != ndim)
		return ncc_fail_op(err, -EINVAL, op, "rank %u, expected %u", op->shape.ndim, ndim);
	for (unsigned int i = 0; i < ndim; i++) {
		if (op->shape.dim[i] != dim[i])
			return ncc_fail_op(err, -EINVAL, op, "dimension %u is %lld, expected %lld",
					   i, (long long)op->shape.dim[i], (long long)dim[i]);
	}
	return 0;
}

static int expect_dtype(const struct ncc_op *op, const struct ncc_op *in, struct ncc_error *err)
{
	if (op->shape.dtype != in->shape.dtype)
		return ncc_fail_op(err, -EINVAL, op, "type %s, operand '%.60s' has %s",
				   ncc_dtype_name(&op->shape), in->name,
				   ncc_dtype_name(&in->shape));
	return 0;
}

static int check_leaf(const struct ncc_op *op, struct ncc_error *err)
{
	if (op->kind == NCC_CONST && !op->data)
		return ncc_fail_op(err, -EINVAL, op, "no data");
	return 0;
}

static int check_elementwise(const struct ncc_op *op, struct ncc_error *err)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		const struct ncc_shape *s = &op->in[i]->shape;

		if (!ncc_same_dims(&op->shape, s))
			return ncc_fail_op(err, -EINVAL, op,
					   "the shape of operand %u ('%.60s') differs from the "
					   "result's",
					   i, op->in[i]->name);
		if (op->kind == NCC_CONVERT || ncc_is_compare(op->kind))
			continue;
		if (!(op->kind == NCC_SELECT && i == 0) && expect_dtype(op, op->in[i], err))
			return -EINVAL;
	}

	if (ncc_is_compare(op->kind)) {
		if (!op->shape.pred)
			return ncc_fail_op(err, -EINVAL, op, "the result is not a predicate");
		if (op->in[0]->shape.dtype != op->in[1]->shape.dtype)
			return ncc_fail_op(err, -EINVAL, op, "operands of two types");
	}

	if (op->kind == NCC_SELECT && !op->in[0]->shape.pred)
		return ncc_fail_op(err, -EINVAL, op, "operand 0 is not a predicate");
	return 0;
}

static int check_broadcast(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	uint32_t seen = 0;

	for (unsigned int i = 0; i < s->ndim; i++) {
		unsigned int d = op->map[i];

		if (d >= op->shape.ndim || seen >> d & 1)
			return ncc_fail_op(err, -EINVAL, op, "bad dimension map");
		seen |= 1u << d;
		if (s->dim[i] != op->shape.dim[d])
			return ncc_fail_op(err, -EINVAL, op,
					   "operand dimension %u is %lld, the result's %u is %lld",
					   i, (long long)s->dim[i], d, (long long)op->shape.dim[d]);
	}
	return expect_dtype(op, op->in[0], err);
}

static int check_reshape(const struct ncc_op *op, struct ncc_error *err)
{
	if (ncc_elems(&op->shape) != ncc_elems(&op->in[0]->shape))
		return ncc_fail_op(err, -EINVAL, op, "%lld elements from %lld",
				   (long long)ncc_elems(&op->shape),
				   (long long)ncc_elems(&op->in[0]->shape));
	return expect_dtype(op, op->in[0], err);
}

static int check_bitcast(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;

	if (ncc_dtype_size(op->shape.dtype) != ncc_dtype_size(s->dtype))
		return ncc_fail_op(err, -EINVAL, op, "type %s from %s: of another size",
				   ncc_dtype_name(&op->shape), ncc_dtype_name(s));
	return expect_dims(op, s->dim, s->ndim, err);
}

static int check_transpose(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t dim[NCC_MAX_DIMS];
	uint32_t seen = 0;

	if (op->shape.ndim != s->ndim)
		return ncc_fail_op(err, -EINVAL, op, "rank %u from %u", op->shape.ndim, s->ndim);
	for (unsigned int i = 0; i < s->ndim; i++) {
		if (op->map[i] >= s->ndim || seen >> op->map[i] & 1)
			return ncc_fail_op(err, -EINVAL, op, "bad permutation");
		seen |= 1u << op->map[i];
		dim[i] = s->dim[op->map[i]];
	}
	return expect_dims(op, dim, s->ndim, err) ?: expect_dtype(op, op->in[0], err);
}

static int check_slice(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;

	if (op->shape.ndim != s->ndim)
		return ncc_fail_op(err, -EINVAL, op, "rank %u from %u", op->shape.ndim, s->ndim);
	for (unsigned int i = 0; i < s->ndim; i++) {
		if (op->stride[i] < 1 || op->start[i] < 0 || op->start[i] >= s->dim[i] ||
		    (op->shape.dim[i] - 1) > (s->dim[i] - 1 - op->start[i]) / op->stride[i])
			return ncc_fail_op(err, -EINVAL, op, "dimension %u: outside the operand",
					   i);
	}
	return expect_dtype(op, op->in[0], err);
}

static int check_reverse(const struct ncc_op *op, struct ncc_error *err)
{
	if (op->mask >> op->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "bad dimension");
	return expect_dims(op, op->in[0]->shape.dim, op->in[0]->shape.ndim, err)
		       ?: expect_dtype(op, op->in[0], err);
}

static int check_concat(const struct ncc_op *op, struct ncc_error *err)
{
	int64_t dim[NCC_MAX_DIMS], sum = 0;

	if (!op->nin || op->axis >= op->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "bad dimension");
	memcpy(dim, op->shape.dim, sizeof(dim));
	for (unsigned int i = 0; i < op->nin; i++) {
		const struct ncc_shape *s = &op->in[i]->shape;

		for (unsigned int d = 0; d < s->ndim; d++)
			if (s->ndim != op->shape.ndim || (d != op->axis && s->dim[d] != dim[d]))
				return ncc_fail_op(err, -EINVAL, op, "operand %u does not fit", i);
		if (!s->ndim)
			return ncc_fail_op(err, -EINVAL, op, "operand %u is a scalar", i);
		sum += s->dim[op->axis];
		if (expect_dtype(op, op->in[i], err))
			return -EINVAL;
	}
	dim[op->axis] = sum;
	return expect_dims(op, dim, op->shape.ndim, err);
}

static int check_scalar(const struct ncc_op *op, unsigned int i, struct ncc_error *err)
{
	if (op->in[i]->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "operand %u ('%.60s') is not a scalar", i,
				   op->in[i]->name);
	return expect_dtype(op->in[0], op->in[i], err);
}

static int check_pad(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t dim[NCC_MAX_DIMS];

	for (unsigned int i = 0; i < s->ndim; i++) {
		if (op->interior[i] < 0 || op->interior[i] >= NCC_MAX_ELEMS ||
		    op->low[i] <= -NCC_MAX_ELEMS || op->low[i] >= NCC_MAX_ELEMS ||
		    op->high[i] <= -NCC_MAX_ELEMS || op->high[i] >= NCC_MAX_ELEMS)
			return ncc_fail_op(err, -EINVAL, op, "padding of dimension %u out of range",
					   i);
		/* A product of 2^31 and 2^31 at most does not overflow. */
		dim[i] = s->dim[i] + (s->dim[i] - 1) * op->interior[i] + op->low[i] + op->high[i];
	}
	return expect_dims(op, dim, s->ndim, err) ?: check_scalar(op, 1, err) ?:
		expect_dtype(op, op->in[0], err);
}

static int check_table(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *table = &op->in[0]->shape, *index = &op->in[1]->shape;

	if (table->ndim != 2 || index->ndim != 1 || index->dtype != NEURON_DT_INT32)
		return ncc_fail_op(err, -EINVAL, op, "not a matrix and a vector of s32");
	if (table->dim[0] > NCC_MAX_TABLE)
		return ncc_fail_op(err, -EINVAL, op, "a table of more than %d rows", NCC_MAX_TABLE);
	return expect_dtype(op, op->in[0], err);
}

static int check_gather(const struct ncc_op *op, struct ncc_error *err)
{
	int64_t dim[2] = { op->in[1]->shape.dim[0], op->in[0]->shape.dim[1] };

	return check_table(op, err) ?: expect_dims(op, dim, 2, err);
}

static int check_scatter(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *rows = &op->in[2]->shape;
	int rc = check_table(op, err);

	if (!rc && op->shape.dim[0] == NCC_MAX_TABLE)
		return ncc_fail_op(err, -EINVAL, op, "a table of more than %d rows",
				   NCC_MAX_TABLE - 1);
	if (!rc && (rows->ndim != 2 || rows->dim[0] != op->in[1]->shape.dim[0] ||
		    rows->dim[1] != op->in[0]->shape.dim[1]))
		return ncc_fail_op(err, -EINVAL, op, "operand 2 is not a row for each index");
	return rc ?: expect_dims(op, op->in[0]->shape.dim, 2, err) ?: expect_dtype(op, op->in[2], err);
}

/* Rows, the places in them, and (operand 2) what has those places */
static int check_lines(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *line = &op->in[0]->shape, *place = &op->in[1]->shape;

	if (line->ndim != 2 || place->ndim != 2 || place->dtype != NEURON_DT_INT32 ||
	    place->dim[0] != line->dim[0])
		return ncc_fail_op(err, -EINVAL, op, "not matrices of equal rows, s32 the second");
	if (line->dim[1] > NCC_MAX_LINE)
		return ncc_fail_op(err, -EINVAL, op, "a row of more than %d elements",
				   NCC_MAX_LINE);
	return expect_dtype(op, op->in[0], err);
}

static int check_take(const struct ncc_op *op, struct ncc_error *err)
{
	int64_t dim[2] = { op->in[0]->shape.dim[0], op->in[1]->shape.dim[1] };

	return check_lines(op, err) ?: expect_dims(op, dim, 2, err);
}

static int check_combine(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->shape, *u = &op->in[2]->shape;
	bool sums = s->dtype == NEURON_DT_FP32 || s->dtype == NEURON_DT_INT32 ||
		    s->dtype == NEURON_DT_UINT32;
	int rc = check_lines(op, err);

	if (!rc && op->func != NCC_SELECT &&
	    !(sums && (op->func == NCC_ADD || op->func == NCC_MAX || op->func == NCC_MIN)))
		return ncc_fail_op(err, -EINVAL, op, "bad function or type");
	if (!rc && (u->ndim != 2 || u->dim[0] != s->dim[0] || u->dim[1] != op->in[1]->shape.dim[1]))
		return ncc_fail_op(err, -EINVAL, op, "operand 2 is not an element for each place");
	return rc ?: expect_dims(op, op->in[0]->shape.dim, 2, err) ?: expect_dtype(op, op->in[2], err);
}

static int check_order(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *key = &op->in[0]->shape, *s = &op->shape;

	if (key->ndim != 2 || key->dtype != NEURON_DT_INT32 || s->dtype != NEURON_DT_INT32)
		return ncc_fail_op(err, -EINVAL, op, "not matrices of s32");
	if (s->ndim != 2 || s->dim[0] != key->dim[0] || s->dim[1] > key->dim[1])
		return ncc_fail_op(err, -EINVAL, op, "not as many rows, or more places than keys");
	if (key->dim[1] > NCC_MAX_ORDER)
		return ncc_fail_op(err, -EINVAL, op, "a row of more than %d elements",
				   NCC_MAX_ORDER);
	if (op->func != NCC_LT && op->func != NCC_GT)
		return ncc_fail_op(err, -EINVAL, op, "bad function");
	return 0;
}

static int check_random(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *seed = &op->in[0]->shape, *s = &op->shape;

	if (seed->ndim != 2 || seed->dim[0] != 1 || seed->dim[1] != 1)
		return ncc_fail_op(err, -EINVAL, op, "the seed is not one word, [1, 1]");
	if (s->dtype != NEURON_DT_UINT32 && s->dtype != NEURON_DT_INT32)
		return ncc_fail_op(err, -EINVAL, op, "words are u32 or s32");
	if (s->ndim != 2 || s->dim[0] > NEURON_PARTITIONS || s->dim[1] > NCC_MAX_DRAWN)
		return ncc_fail_op(err, -EINVAL, op, "more than %d lanes or %d words of each",
				   NEURON_PARTITIONS, NCC_MAX_DRAWN);
	return expect_dtype(op, op->in[0], err);
}

/* Sparse weights have a pattern of the chip's, two dimensions, and tags. */
static int check_sparse(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *r = &op->in[1]->shape, *tags = &op->in[2]->shape;
	const struct ncc_dot *d = op->dot;

	if (d->nbatch || d->ncontract != 1 || d->rhs_contract[0] || r->ndim != 2)
		return ncc_fail_op(err, -EINVAL, op, "bad dimension numbers of sparse weights");
	if (!neuron_isa_is_pattern(d->neighbours, ncc_dot_slots(op)) ||
	    r->dim[0] % NEURON_PARTITIONS)
		return ncc_fail_op(err, -EINVAL, op, "sparse weights of no pattern of the chip's");
	if (!ncc_is_float(op->in[0]->shape.dtype))
		return ncc_fail_op(err, -EINVAL, op, "sparse weights of integers");
	if (tags->dtype != NEURON_DT_INT16 || tags->ndim != 2 || tags->dim[0] != r->dim[0] ||
	    tags->dim[1] != (r->dim[1] + 3) / 4)
		return ncc_fail_op(err, -EINVAL, op, "tags of another shape or type");
	return 0;
}

static int check_dot(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_dot *d = op->dot;
	const unsigned int nin = d->neighbours ? 3 : 2;
	const struct ncc_shape *l, *r;
	uint32_t ls = 0, rs = 0;
	int64_t dim[3 * NCC_MAX_DIMS];
	unsigned int n = 0;

	if (op->nin != nin)
		return ncc_fail_op(err, -EINVAL, op, "%u operands, expected %u", op->nin, nin);
	l = &op->in[0]->shape;
	r = &op->in[1]->shape;
	for (unsigned int i = 0; i < d->nbatch + d->ncontract; i++) {
		bool batch = i < d->nbatch;
		unsigned int a = batch ? d->lhs_batch[i] : d->lhs_contract[i - d->nbatch];
		unsigned int b = batch ? d->rhs_batch[i] : d->rhs_contract[i - d->nbatch];

		if (a >= l->ndim || b >= r->ndim || ls >> a & 1 || rs >> b & 1)
			return ncc_fail_op(err, -EINVAL, op, "bad dimension numbers");
		ls |= 1u << a;
		rs |= 1u << b;
		if (d->neighbours ? l->dim[a] % r->dim[b] : l->dim[a] != r->dim[b])
			return ncc_fail_op(err, -EINVAL, op,
					   "left dimension %u is %lld, right dimension %u is %lld",
					   a, (long long)l->dim[a], b, (long long)r->dim[b]);
		if (batch)
			dim[n++] = l->dim[a];
	}

	if (d->neighbours && check_sparse(op, err))
		return -EINVAL;
	for (unsigned int i = 0; i < l->ndim; i++)
		if (!(ls >> i & 1))
			dim[n++] = l->dim[i];

	for (unsigned int i = 0; i < r->ndim; i++)
		if (!(rs >> i & 1))
			dim[n++] = r->dim[i];
	return expect_dims(op, dim, n, err);
}

static int window_out(const struct ncc_op *op, const struct ncc_window *w, int64_t in, int64_t *out,
		      struct ncc_error *err)
{
	int64_t span, size;

	if (w->size < 1 || w->stride < 1 || w->window_dilation < 1 || w->base_dilation < 1 ||
	    w->size >= NCC_MAX_ELEMS || w->stride >= NCC_MAX_ELEMS ||
	    w->window_dilation >= NCC_MAX_ELEMS || w->base_dilation >= NCC_MAX_ELEMS ||
	    w->low <= -NCC_MAX_ELEMS || w->low >= NCC_MAX_ELEMS || w->high <= -NCC_MAX_ELEMS ||
	    w->high >= NCC_MAX_ELEMS)
		return ncc_fail_op(err, -EINVAL, op, "window out of range");
	span = (w->size - 1) * w->window_dilation + 1; /* each term is below 2^62 */
	size = (in - 1) * w->base_dilation + 1 + w->low + w->high;
	if (size < span)
		return ncc_fail_op(err, -EINVAL, op, "the window is larger than its operand");
	*out = (size - span) / w->stride + 1;
	return 0;
}

static bool dims_are_a_permutation(unsigned int a, unsigned int b, const uint8_t *sp,
				   unsigned int n, unsigned int ndim)
{
	uint32_t seen = 0;

	if (ndim != n + 2 || a >= ndim || b >= ndim || a == b)
		return false;
	seen = 1u << a | 1u << b;
	for (unsigned int i = 0; i < n; i++) {
		if (sp[i] >= ndim || seen >> sp[i] & 1)
			return false;
		seen |= 1u << sp[i];
	}
	return true;
}

static int check_conv(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *x = &op->in[0]->shape, *k = &op->in[1]->shape;
	const struct ncc_conv *c = op->conv;
	int64_t dim[NCC_MAX_DIMS];
	int rc;

	if (c->nspatial > NCC_MAX_DIMS - 2 ||
	    !dims_are_a_permutation(c->in_batch, c->in_feature, c->in_spatial, c->nspatial,
				    x->ndim) ||
	    !dims_are_a_permutation(c->k_in, c->k_out, c->k_spatial, c->nspatial, k->ndim) ||
	    !dims_are_a_permutation(c->out_batch, c->out_feature, c->out_spatial, c->nspatial,
				    op->shape.ndim))
		return ncc_fail_op(err, -EINVAL, op, "bad dimension numbers");
	if (c->groups < 1 || x->dim[c->in_feature] % c->groups || k->dim[c->k_out] % c->groups ||
	    x->dim[c->in_feature] / c->groups != k->dim[c->k_in])
		return ncc_fail_op(err, -EINVAL, op,
				   "%lld input features, %lld in the kernel, %lld groups",
				   (long long)x->dim[c->in_feature], (long long)k->dim[c->k_in],
				   (long long)c->groups);
	dim[c->out_batch] = x->dim[c->in_batch];

	dim[c->out_feature] = k->dim[c->k_out];
	for (unsigned int i = 0; i < c->nspatial; i++) {
		if (op->window[i].size != k->dim[c->k_spatial[i]])
			return ncc_fail_op(err, -EINVAL, op, "window and kernel sizes differ");
		rc = window_out(op, &op->window[i], x->dim[c->in_spatial[i]],
				&dim[c->out_spatial[i]], err);
		if (rc)
			return rc;
	}
	return expect_dims(op, dim, op->shape.ndim, err);
}

static bool is_reducer(enum ncc_kind k)
{
	return k == NCC_ADD || k == NCC_MUL || k == NCC_MAX || k == NCC_MIN || k == NCC_AND ||
	       k == NCC_OR;
}

static int check_reduce(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t dim[NCC_MAX_DIMS];
	unsigned int n = 0;

	if (op->mask >> s->ndim || !is_reducer(op->func))
		return ncc_fail_op(err, -EINVAL, op, "bad dimensions or function");
	for (unsigned int i = 0; i < s->ndim; i++)
		if (!(op->mask >> i & 1))
			dim[n++] = s->dim[i];
	return expect_dims(op, dim, n, err) ?: check_scalar(op, 1, err) ?:
		expect_dtype(op, op->in[0], err);
}

static int check_reduce_window(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t dim[NCC_MAX_DIMS];

	if (!is_reducer(op->func))
		return ncc_fail_op(err, -EINVAL, op, "bad function");
	for (unsigned int i = 0; i < s->ndim; i++)
		if (window_out(op, &op->window[i], s->dim[i], &dim[i], err))
			return -EINVAL;
	return expect_dims(op, dim, s->ndim, err) ?: check_scalar(op, 1, err) ?:
		expect_dtype(op, op->in[0], err);
}

static int expect_same(const struct ncc_op *op, const struct ncc_op *in, struct ncc_error *err)
{
	return expect_dims(op, in->shape.dim, in->shape.ndim, err) ?: expect_dtype(op, in, err);
}

static int expect_kind(const struct ncc_op *op, unsigned int i, enum ncc_kind kind,
		       struct ncc_error *err)
{
	return op->in[i]->kind == kind ? 0
				       : ncc_fail_op(err, -EINVAL, op, "operand %u is no %s", i,
						     ncc_kind_name(kind));
}

/* Operand i is a predicate, and so is the result, which only the loop's own operations read. */
static int check_token(const struct ncc_op *op, unsigned int i, struct ncc_error *err)
{
	if (!op->shape.pred || op->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "the result is not a scalar predicate");
	if (!op->in[i]->shape.pred || op->in[i]->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "operand %u is not a scalar predicate", i);
	return 0;
}

static int check_loop(const struct ncc_op *op, struct ncc_error *err)
{
	return check_token(op, 0, err);
}

static int check_state(const struct ncc_op *op, struct ncc_error *err)
{
	return expect_kind(op, 0, NCC_LOOP, err) ?: expect_same(op, op->in[1], err);
}

static int check_loop_end(const struct ncc_op *op, struct ncc_error *err)
{
	int rc;

	if (op->nin < 2 || op->nin % 2)
		return ncc_fail_op(err, -EINVAL, op, "%u operands", op->nin);
	rc = expect_kind(op, 0, NCC_LOOP, err) ?: check_token(op, 1, err);
	for (unsigned int i = 2; !rc && i < op->nin; i += 2) {
		rc = expect_kind(op, i, NCC_STATE, err)
			     ?: expect_same(op->in[i], op->in[i + 1], err);
		if (!rc && op->in[i]->in[0] != op->in[0])
			rc = ncc_fail_op(err, -EINVAL, op, "operand %u is another loop's", i);
	}
	return rc;
}

static int check_loop_result(const struct ncc_op *op, struct ncc_error *err)
{
	const struct ncc_op *end = op->in[0];
	int rc = expect_kind(op, 0, NCC_LOOP_END, err) ?: expect_kind(op, 1, NCC_STATE, err);

	if (rc)
		return rc;
	for (unsigned int i = 2; i < end->nin; i += 2)
		if (end->in[i] == op->in[1])
			return expect_same(op, op->in[1], err);
	return ncc_fail_op(err, -EINVAL, op, "operand 1 is another loop's");
}

/* A loop is an operand only of its states and its end, and an end only of its loop's results. */
static int check_operand(const struct ncc_op *op, unsigned int i, struct ncc_error *err)
{
	enum ncc_kind kind = op->in[i]->kind;
	bool ok = kind == NCC_LOOP	 ? !i && (op->kind == NCC_STATE || op->kind == NCC_LOOP_END)
		  : kind == NCC_LOOP_END ? !i && op->kind == NCC_LOOP_RESULT
					 : true;

	return ok ? 0 : ncc_fail_op(err, -EINVAL, op, "operand %u is a %s", i, ncc_kind_name(kind));
}

static int check_exchange(const struct ncc_op *op, struct ncc_error *err)
{
	if (op->shape.ndim != op->in[0]->shape.ndim)
		return ncc_fail_op(err, -EINVAL, op, "rank %u for %u", op->shape.ndim,
				   op->in[0]->shape.ndim);
	return expect_dtype(op, op->in[0], err);
}

/* A transfer's result has as many bytes as its groups make of the operand's; the module's table has
 * the groups. */
static int check_transfer(const struct ncc_op *op, struct ncc_error *err)
{
	return expect_dtype(op, op->in[0], err);
}

static int check_rank(const struct ncc_op *op, struct ncc_error *err)
{
	if (op->shape.ndim || ncc_dtype_size(op->shape.dtype) != sizeof(uint32_t))
		return ncc_fail_op(err, -EINVAL, op, "it is not one number of 32 bits");
	return 0;
}

/* The rules of operations that are not element-wise */
static const check_fn rules[NCC_KINDS] = {
	[NCC_PARAM] = check_leaf,
	[NCC_CONST] = check_leaf,
	[NCC_BROADCAST] = check_broadcast,
	[NCC_BITCAST] = check_bitcast,
	[NCC_RESHAPE] = check_reshape,
	[NCC_TRANSPOSE] = check_transpose,
	[NCC_SLICE] = check_slice,
	[NCC_REVERSE] = check_reverse,
	[NCC_CONCAT] = check_concat,
	[NCC_PAD] = check_pad,
	[NCC_GATHER] = check_gather,
	[NCC_SCATTER] = check_scatter,
	[NCC_TAKE] = check_take,
	[NCC_COMBINE] = check_combine,
	[NCC_ORDER] = check_order,
	[NCC_RANDOM] = check_random,
	[NCC_DOT] = check_dot,
	[NCC_CONV] = check_conv,
	[NCC_REDUCE] = check_reduce,
	[NCC_REDUCE_WINDOW] = check_reduce_window,
	[NCC_CUSTOM] = ncc_check_custom,
	[NCC_KERNEL] = ncc_check_custom,
	[NCC_EXCHANGE] = check_exchange,
	[NCC_TRANSFER] = check_transfer,
	[NCC_RANK] = check_rank,
	[NCC_LOOP] = check_loop,
	[NCC_STATE] = check_state,
	[NCC_LOOP_END] = check_loop_end,
	[NCC_LOOP_RESULT] = check_loop_result,
	[NCC_HOST_CALL] = ncc_check_host_call,
	[NCC_HOST_RESULT] = ncc_check_host_result,
};

int ncc_verify_op(const struct ncc_op *op, struct ncc_error *err)
{
	const int nin = ncc_traits_of(op->kind)->nin;
	int64_t n = 1;

	if (nin != NCC_ANY_NUMBER && op->nin != (unsigned int)nin)
		return ncc_fail_op(err, -EINVAL, op, "%u operands, expected %d", op->nin, nin);
	if (op->shape.ndim > NCC_MAX_DIMS)
		return ncc_fail_op(err, -EINVAL, op, "rank %u, at most %u is supported",
				   op->shape.ndim, NCC_MAX_DIMS);

	for (unsigned int i = 0; i < op->shape.ndim; i++) {
		if (op->shape.dim[i] < 1)
			return ncc_fail_op(err, -EINVAL, op,
					   "dimension %u is %lld: empty tensors are not supported",
					   i, (long long)op->shape.dim[i]);
		if (op->shape.dim[i] > NCC_MAX_ELEMS / n)
			return ncc_fail_op(err, -EFBIG, op, "too large: more than %lld elements",
					   (long long)NCC_MAX_ELEMS);
		n *= op->shape.dim[i];
	}

	for (unsigned int i = 0; i < op->nin; i++)
		if (check_operand(op, i, err))
			return -EINVAL;
	return rules[op->kind] ? rules[op->kind](op, err) : check_elementwise(op, err);
}

int ncc_verify(const struct ncc_module *m, struct ncc_error *err)
{
	unsigned int id = 0;

	for (const struct ncc_op *op = m->first; op; op = op->next, id++) {
		int rc = ncc_verify_op(op, err);

		if (rc)
			return rc;
		if (op->id != id)
			return ncc_fail_op(err, -EINVAL, op, "not numbered");
		for (unsigned int i = 0; i < op->nin; i++)
			if (op->in[i]->id >= id || op->in[i]->replaced)
				return ncc_fail_op(err, -EINVAL, op, "operand %u is not before it",
						   i);
	}
	if (!m->nouts && !m->effect && !m->piece)
		return ncc_fail(err, -EINVAL, "module '%.100s' has no result", m->name);
	return 0;
}
