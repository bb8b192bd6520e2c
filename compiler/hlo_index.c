// SPDX-License-Identifier: MIT
/*
 * Operations that choose by index: gather, dynamic-slice, dynamic-update-slice, and reductions of
 * values with their indices. A core has no indirect addressing: what an index chooses is a product
 * with a matrix of ones and zeros, which is exact when fp32 values are taken as the sum of three
 * bf16 parts. Part of the HLO front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "hlo.h"
#include "hlo_make.h"

struct ncc_op *hlo_node(struct hlo_inst *in, enum ncc_kind kind, const struct ncc_shape *s,
			struct ncc_op *a, struct ncc_op *b, struct ncc_op *c)
{
	unsigned int nin = c ? 3 : b ? 2 : 1;
	struct ncc_op *op = a ? ncc_op_new(in->imp->m, kind, in->p->name, nin) : NULL;

	if (!op)
		return NULL;
	op->where = in->where;
	op->shape = *s;
	op->exact = true;
	op->in[0] = a;
	if (b)
		op->in[1] = b;
	if (c)
		op->in[2] = c;
	return op;
}

struct ncc_op *hlo_splat(struct hlo_inst *in, const struct ncc_shape *s, double v)
{
	struct ncc_op *c = ncc_const_scalar(in->imp->m, s->dtype, v);

	if (!c || !s->ndim)
		return c;
	return hlo_node(in, NCC_BROADCAST, s, c, NULL, NULL);
}

struct ncc_op *hlo_compare(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a,
			   struct ncc_op *b)
{
	struct ncc_shape s;

	if (!a || !b)
		return NULL;
	s = a->shape;
	s.dtype = NEURON_DT_INT8;
	s.pred = true;
	return hlo_node(in, kind, &s, a, b, NULL);
}

struct ncc_op *hlo_spread(struct hlo_inst *in, const struct ncc_shape *s, struct ncc_op *x,
			  const uint8_t *map)
{
	struct ncc_op *op = hlo_node(in, NCC_BROADCAST, s, x, NULL, NULL);

	if (op && x->shape.ndim)
		memcpy(op->map, map, x->shape.ndim);
	return op;
}

/* 0, 1, 2, ... */
static struct ncc_op *count(struct hlo_inst *in, int64_t n)
{
	struct ncc_op *op = ncc_op_new(in->imp->m, NCC_CONST, in->p->name, 0);

	if (!op)
		return NULL;
	op->shape = (struct ncc_shape){ .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { n } };
	if (hlo_const_alloc(in, op))
		return NULL;
	for (int64_t i = 0; i < n; i++)
		ncc_set(NEURON_DT_INT32, op->data, i, (double)i);
	return op;
}

static struct ncc_op *cast(struct hlo_inst *in, struct ncc_op *x, uint8_t dtype)
{
	struct ncc_shape s;

	if (!x || (x->shape.dtype == dtype && !x->shape.pred))
		return x;
	s = x->shape;
	s.dtype = dtype;
	s.pred = false;
	return hlo_node(in, NCC_CONVERT, &s, x, NULL, NULL);
}

/* bf16[idx dims..., n]: 1 where the last index is the value of idx, else 0 */
static struct ncc_op *one_hot(struct hlo_inst *in, struct ncc_op *idx, int64_t n)
{
	struct ncc_shape s;
	uint8_t map[NCC_MAX_DIMS], last;
	struct ncc_op *a, *b;

	if (!idx || idx->shape.ndim == NCC_MAX_DIMS)
		return NULL;
	s = idx->shape;
	last = (uint8_t)s.ndim;
	for (unsigned int i = 0; i < s.ndim; i++)
		map[i] = (uint8_t)i;
	s.dim[s.ndim++] = n;
	a = hlo_spread(in, &s, idx, map);
	b = count(in, n);
	b = b ? hlo_spread(in, &s, b, &last) : NULL;
	return cast(in, hlo_compare(in, NCC_EQ, a, b), NEURON_DT_BF16);
}

/* One part of x in bf16, taken from what is left of it; constants now, so that it costs nothing */
static struct ncc_op *take_part(struct hlo_inst *in, struct ncc_op **left, bool last)
{
	struct ncc_op *x = *left, *part = cast(in, x, NEURON_DT_BF16), *r;
	int64_t n = ncc_elems(&x->shape);

	if (!part)
		return NULL;
	if (x->kind == NCC_CONST) {
		part = ncc_op_new(in->imp->m, NCC_CONST, in->p->name, 0);
		r = ncc_op_new(in->imp->m, NCC_CONST, in->p->name, 0);
		if (!part || !r)
			return NULL;
		part->shape = r->shape = x->shape;
		part->shape.dtype = NEURON_DT_BF16;
		if (hlo_const_alloc(in, part) || hlo_const_alloc(in, r))
			return NULL;
		for (int64_t i = 0; i < n; i++) {
			double v = ncc_get(NEURON_DT_FP32, x->data, i);

			ncc_set(NEURON_DT_BF16, part->data, i, v);
			ncc_set(NEURON_DT_FP32, r->data, i,
				v - ncc_get(NEURON_DT_BF16, part->data, i));
		}
		*left = r;
		return part;
	}
	r = last ? x : cast(in, part, NEURON_DT_FP32);
	*left = r ? hlo_node(in, NCC_SUB, &x->shape, x, r, NULL) : NULL;
	return *left ? part : NULL;
}

/* x with dimension d chosen by the ones of hot[..., n]: [hot's others..., x's others...], fp32 */
static struct ncc_op *choose_part(struct hlo_inst *in, struct ncc_op *hot, struct ncc_op *x,
				  unsigned int d)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	struct ncc_op *op;

	if (!hot || !x)
		return NULL;
	for (unsigned int i = 0; i + 1 < hot->shape.ndim; i++)
		s.dim[s.ndim++] = hot->shape.dim[i];
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (i != d)
			s.dim[s.ndim++] = x->shape.dim[i];
	op = hlo_node(in, NCC_DOT, &s, hot, x, NULL);
	if (!op)
		return NULL;
	op->dot.ncontract = 1;
	op->dot.lhs_contract[0] = (uint8_t)(hot->shape.ndim - 1);
	op->dot.rhs_contract[0] = (uint8_t)d;
	return op;
}

/* The same of x's own type. idx may be of any rank; its values are in range. */
static struct ncc_op *choose_along(struct hlo_inst *in, struct ncc_op *hot, struct ncc_op *x,
				   unsigned int d)
{
	struct ncc_shape was = x->shape;
	unsigned int parts =
		was.pred || was.dtype == NEURON_DT_BF16 || was.dtype == NEURON_DT_INT8 ? 1 : 3;
	struct ncc_op *sum = NULL, *part[3] = { NULL }, *left;

	if (!hot || hot->shape.ndim - 1 + was.ndim - 1 > NCC_MAX_DIMS)
		return NULL;
	if (parts == 1) {
		sum = choose_part(in, hot, cast(in, x, NEURON_DT_BF16), d);
	} else {
		left = cast(in, x, NEURON_DT_FP32);
		for (unsigned int i = 0; left && i < parts; i++)
			part[i] = take_part(in, &left, i + 1 == parts);
		for (unsigned int i = parts; i-- > 0;) {
			struct ncc_op *p = choose_part(in, hot, part[i], d);

			if (!p)
				return NULL;
			sum = sum ? hlo_node(in, NCC_ADD, &p->shape, sum, p, NULL) : p;
		}
	}
	if (!sum)
		return NULL;
	if (was.pred) { /* 0 or 1 */
		struct ncc_op *half = hlo_splat(in, &sum->shape, 0.5);

		return hlo_compare(in, NCC_GT, sum, half);
	}
	return was.dtype == NEURON_DT_FP32 ? sum : cast(in, sum, was.dtype);
}

static struct ncc_op *clamped(struct hlo_inst *in, struct ncc_op *idx, int64_t most)
{
	struct ncc_op *x = cast(in, idx, NEURON_DT_INT32);

	x = x ? hlo_node(in, NCC_MAX, &x->shape, x, hlo_splat(in, &x->shape, 0), NULL) : NULL;
	return x ? hlo_node(in, NCC_MIN, &x->shape, x, hlo_splat(in, &x->shape, (double)most), NULL)
		 : NULL;
}

static struct ncc_op *reshaped(struct hlo_inst *in, struct ncc_op *x, const struct ncc_shape *s)
{
	struct ncc_shape to = *s;

	if (!x)
		return NULL;
	to.dtype = x->shape.dtype;
	to.pred = x->shape.pred;
	return hlo_node(in, NCC_RESHAPE, &to, x, NULL, NULL);
}

/* map[i]: x's dimension of result dimension i */
static struct ncc_op *turned(struct hlo_inst *in, struct ncc_op *x, const uint8_t *map)
{
	struct ncc_op *op;
	struct ncc_shape s;

	if (!x)
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < s.ndim; i++)
		s.dim[i] = x->shape.dim[map[i]];
	op = hlo_node(in, NCC_TRANSPOSE, &s, x, NULL, NULL);
	if (op)
		memcpy(op->map, map, s.ndim);
	return op;
}

/* Rows (or columns, ...) of one dimension by index, the others whole: an embedding's lookup */
static int gather(struct hlo_inst *in, struct ncc_op **out)
{
	const Ncc__Hlo__GatherDimensionNumbers *g = in->p->gather_dimension_numbers;
	struct ncc_op *x, *idx, *r;
	struct ncc_shape is;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int d, batch = 0, offset;

	if (in->nin != 2 || !g)
		return hlo_fail(in, -EINVAL, "needs two operands and dimension numbers");
	x = in->in[0].op[0];
	idx = in->in[1].op[0];
	if (g->n_start_index_map != 1 || g->n_collapsed_slice_dims != 1 ||
	    g->start_index_map[0] != g->collapsed_slice_dims[0] || g->n_operand_batching_dims ||
	    in->p->n_gather_slice_sizes != x->shape.ndim || g->start_index_map[0] < 0 ||
	    g->start_index_map[0] >= x->shape.ndim)
		return hlo_fail(in, -ENOTSUP, "only of whole slices along one dimension");
	d = (unsigned int)g->start_index_map[0];
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (in->p->gather_slice_sizes[i] != (i == d ? 1 : x->shape.dim[i]))
			return hlo_fail(in, -ENOTSUP, "only of whole slices along one dimension");
	is = idx->shape;
	if (g->index_vector_dim == (int64_t)is.ndim - 1 && is.dim[is.ndim - 1] == 1)
		is.ndim--;
	else if (g->index_vector_dim != (int64_t)is.ndim)
		return hlo_fail(in, -ENOTSUP, "the index vector is not the last dimension");
	offset = is.ndim;
	for (unsigned int i = 0; i < in->shape.ndim; i++) {
		bool off = false;

		for (size_t k = 0; k < g->n_offset_dims; k++)
			off = off || g->offset_dims[k] == i;
		map[i] = (uint8_t)(off ? offset++ : batch++);
	}
	if (batch != is.ndim || offset != in->shape.ndim ||
	    in->shape.ndim != is.ndim + x->shape.ndim - 1)
		return hlo_fail(in, -EINVAL, "dimension numbers do not fit the shapes");
	idx = reshaped(in, clamped(in, idx, x->shape.dim[d] - 1), &is);
	r = choose_along(in, one_hot(in, idx, x->shape.dim[d]), x, d);
	*out = turned(in, r, map);
	return 0;
}

/* Start indices: of each dimension one scalar; constant ones are known and in range */
struct starts {
	struct ncc_op *op[NCC_MAX_DIMS]; /* NULL: constant */
	int64_t at[NCC_MAX_DIMS];
};

static int take_starts(struct hlo_inst *in, unsigned int first, const struct ncc_shape *x,
		       const struct ncc_shape *part, struct starts *s)
{
	memset(s, 0, sizeof(*s));
	if (in->nin != first + x->ndim || part->ndim != x->ndim)
		return hlo_fail(in, -EINVAL, "%u operands for rank %u", in->nin, x->ndim);
	for (unsigned int d = 0; d < x->ndim; d++) {
		struct ncc_op *op = in->in[first + d].op[0];
		int64_t most = x->dim[d] - part->dim[d];
		double v;

		if (op->shape.ndim || most < 0 || part->dim[d] < 1)
			return hlo_fail(in, -EINVAL, "dimension %u does not fit the operand", d);
		if (!most)
			continue;
		if (ncc_scalar_value(op, &v))
			s->at[d] = v < 0 ? 0 : v > (double)most ? most : (int64_t)v;
		else
			s->op[d] = clamped(in, op, most);
		if (!ncc_scalar_value(op, &v) && !s->op[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

/* start, start + 1, ... */
static struct ncc_op *range(struct hlo_inst *in, struct ncc_op *start, int64_t n)
{
	struct ncc_op *c = count(in, n), *s = c ? hlo_spread(in, &c->shape, start, NULL) : NULL;

	return s ? hlo_node(in, NCC_ADD, &c->shape, c, s, NULL) : NULL;
}

/* choose_along puts the new dimension first: back to d */
static struct ncc_op *first_to(struct hlo_inst *in, struct ncc_op *x, unsigned int d)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int k = 1;

	if (!x || !d)
		return x;
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		map[i] = (uint8_t)(i == d ? 0 : k++);
	return turned(in, x, map);
}

static int dynamic_slice(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0], *cut;
	struct ncc_shape s = x->shape;
	struct starts st;
	int rc = take_starts(in, 1, &x->shape, &in->shape, &st);

	if (rc)
		return rc;
	for (unsigned int d = 0; d < s.ndim; d++)
		if (!st.op[d])
			s.dim[d] = in->shape.dim[d];
	cut = hlo_node(in, NCC_SLICE, &s, x, NULL, NULL);
	for (unsigned int d = 0; cut && d < s.ndim; d++) {
		cut->start[d] = st.at[d];
		cut->stride[d] = 1;
	}
	for (unsigned int d = 0; cut && d < s.ndim; d++) {
		struct ncc_op *hot;

		if (!st.op[d])
			continue;
		hot = one_hot(in, range(in, st.op[d], in->shape.dim[d]), s.dim[d]);
		cut = first_to(in, choose_along(in, hot, cut, d), d);
	}
	*out = cut;
	return 0;
}

/* v in a result of x's dimensions along those that begin at a constant, fill elsewhere */
static struct ncc_op *padded(struct hlo_inst *in, struct ncc_op *v, const struct starts *st,
			     const struct ncc_shape *x)
{
	struct ncc_op *zero = v ? ncc_const_scalar(in->imp->m, v->shape.dtype, 0) : NULL, *op;
	struct ncc_shape s;

	if (!zero)
		return NULL;
	zero->shape.pred = v->shape.pred;
	s = v->shape;
	for (unsigned int d = 0; d < s.ndim; d++)
		s.dim[d] = st->op[d] ? s.dim[d] : x->dim[d];
	op = hlo_node(in, NCC_PAD, &s, v, zero, NULL);
	for (unsigned int d = 0; op && d < s.ndim; d++) {
		op->low[d] = st->op[d] ? 0 : st->at[d];
		op->high[d] = s.dim[d] - op->low[d] - v->shape.dim[d];
	}
	return op;
}

/* Where along dimension d the update lies, over the whole shape */
static struct ncc_op *inside(struct hlo_inst *in, struct ncc_op *start, int64_t n, unsigned int d)
{
	struct ncc_op *c = count(in, in->shape.dim[d]), *s, *p, *below, *from;
	struct ncc_shape ps = { .dtype = NEURON_DT_INT8, .pred = true, .ndim = 1 };
	uint8_t map = (uint8_t)d;

	if (!c)
		return NULL;
	ps.dim[0] = c->shape.dim[0];
	s = hlo_spread(in, &c->shape, start, NULL);
	p = s ? hlo_node(in, NCC_SUB, &c->shape, c, s, NULL) : NULL;
	if (!p)
		return NULL;
	from = hlo_compare(in, NCC_GE, p, hlo_splat(in, &c->shape, 0));
	below = hlo_compare(in, NCC_LT, p, hlo_splat(in, &c->shape, (double)n));
	p = from && below ? hlo_node(in, NCC_AND, &ps, from, below, NULL) : NULL;
	ps = in->shape;
	ps.dtype = NEURON_DT_INT8;
	ps.pred = true;
	return p ? hlo_spread(in, &ps, p, &map) : NULL;
}

static int dynamic_update(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0], *u, *ones, *mask = NULL;
	struct ncc_shape ps;
	struct starts st;
	int rc;

	if (in->nin < 2)
		return hlo_fail(in, -EINVAL, "needs an update");
	u = in->in[1].op[0];
	if (u->shape.dtype != x->shape.dtype || !ncc_same_dims(&x->shape, &in->shape))
		return hlo_fail(in, -EINVAL, "the update or the result does not fit the operand");
	rc = take_starts(in, 2, &x->shape, &u->shape, &st);
	if (rc)
		return rc;
	ps = u->shape;
	ps.dtype = NEURON_DT_INT8;
	ps.pred = true;
	for (unsigned int d = 0; d < ps.ndim; d++)
		if (st.op[d])
			ps.dim[d] = x->shape.dim[d];
	ones = hlo_splat(in, &ps, 1);
	if (ones)
		ones->in[0]->shape.pred = true;
	for (unsigned int d = 0; u && d < ps.ndim; d++) {
		struct ncc_op *hot;
		uint8_t swap[2] = { 1, 0 };

		if (!st.op[d])
			continue;
		hot = one_hot(in, range(in, st.op[d], u->shape.dim[d]), x->shape.dim[d]);
		mask = inside(in, st.op[d], u->shape.dim[d], d);
		u = first_to(in, choose_along(in, turned(in, hot, swap), u, d), d);
		if (!mask)
			return hlo_fail(in, -ENOMEM, "out of memory");
		st.op[d] = mask;
	}
	mask = padded(in, ones, &st, &x->shape);
	u = padded(in, u, &st, &x->shape);
	for (unsigned int d = 0; mask && d < ps.ndim; d++)
		if (st.op[d])
			mask = hlo_node(in, NCC_AND, &mask->shape, mask, st.op[d], NULL);
	*out = mask && u ? hlo_node(in, NCC_SELECT, &in->shape, mask, u, x) : NULL;
	return 0;
}

int hlo_index(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = 1;

	*out = NULL;
	if (!strcmp(in->p->opcode, "gather"))
		rc = gather(in, out);
	else if (!strcmp(in->p->opcode, "dynamic-slice") && in->nin)
		rc = dynamic_slice(in, out);
	else if (!strcmp(in->p->opcode, "dynamic-update-slice"))
		rc = dynamic_update(in, out);
	if (rc || *out)
		return rc;
	if (in->imp->err->text[0])
		return -EFBIG;
	return hlo_fail(in, -ENOTSUP, "too many dimensions, or out of memory");
}

static const Ncc__Hlo__Instruction *by_id(const Ncc__Hlo__Computation *c, int64_t id)
{
	for (size_t i = 0; i < c->n_instructions; i++)
		if (c->instructions[i]->id == id)
			return c->instructions[i];
	return NULL;
}

/* The parameter number that an operand is; -1: it is none */
static int64_t parameter(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *p, size_t i)
{
	const Ncc__Hlo__Instruction *x = i < p->n_operand_ids ? by_id(c, p->operand_ids[i]) : NULL;

	return x && !strcmp(x->opcode, "parameter") ? x->parameter_number : -1;
}

/*
 * The comparison that JAX's argmax (GT) and argmin (LT) make of values 0 and 2, NaN first, and of
 * indices 1 and 3, the smaller wins: eleven instructions of known kinds, no others
 */
static int arg_direction(const Ncc__Hlo__Computation *c, enum ncc_kind *func)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = c->instructions[i];
		int64_t a = parameter(c, p, 0), b = parameter(c, p, 1);
		const char *dir = p->comparison_direction;

		if (strcmp(p->opcode, "compare"))
			continue;
		if (a == 0 && b == 2 && (!strcmp(dir, "GT") || !strcmp(dir, "LT"))) {
			*func = dir[0] == 'G' ? NCC_MAX : NCC_MIN;
			seen |= 1;
		} else if (a == 0 && b == 2 && !strcmp(dir, "EQ")) {
			seen |= 2;
		} else if (a == 0 && b == 0 && !strcmp(dir, "NE")) {
			seen |= 4;
		} else if (a == 1 && b == 3 && !strcmp(dir, "LT")) {
			seen |= 8;
		} else {
			return -ENOTSUP;
		}
	}
	return (seen | 4) == 15 ? 0 : -ENOTSUP;
}

/* Is it 0, 1, 2, ... along dimension d, the same for the others? */
static bool counts_along(const struct ncc_op *op, unsigned int d)
{
	int64_t n = ncc_elems(&op->shape), inner = 1;

	for (unsigned int i = d + 1; i < op->shape.ndim; i++)
		inner *= op->shape.dim[i];
	if (op->kind == NCC_BROADCAST)
		return op->in[0]->shape.ndim == 1 && op->map[0] == d && counts_along(op->in[0], 0);
	if (op->kind != NCC_CONST)
		return false;
	for (int64_t i = 0; i < n; i++)
		if (ncc_get(op->shape.dtype, op->data, i) != (double)(i / inner % op->shape.dim[d]))
			return false;
	return true;
}

int hlo_arg_reduce(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Computation *c =
		in->p->n_called_computation_ids == 1
			? hlo_computation(in->imp, in->p->called_computation_ids[0])
			: NULL;
	struct ncc_op *x = in->in[0].op[0], *idx = in->in[1].op[0], *best, *at, *big, *eq;
	struct ncc_shape s = { 0 }, is;
	uint8_t map[NCC_MAX_DIMS];
	enum ncc_kind func = NCC_MAX;
	int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;

	if (!c || arg_direction(c, &func))
		return hlo_fail(in, -ENOTSUP,
				"reducing several operands at once is not supported but for "
				"argmax and argmin");
	if (d < 0 || d >= x->shape.ndim || !ncc_same_dims(&x->shape, &idx->shape) ||
	    idx->shape.dtype != NEURON_DT_INT32 || !counts_along(idx, (unsigned int)d))
		return hlo_fail(in, -ENOTSUP, "only of a value and its s32 index in one dimension");
	s.dtype = x->shape.dtype;
	s.pred = x->shape.pred;
	for (unsigned int i = 0; i < x->shape.ndim; i++) {
		if (i == d)
			continue;
		map[s.ndim] = (uint8_t)i;
		s.dim[s.ndim++] = x->shape.dim[i];
	}
	is = s;
	is.dtype = NEURON_DT_INT32;
	is.pred = false;
	best = hlo_node(in, NCC_REDUCE, &s, x, in->in[2].op[0], NULL);
	eq = best ? hlo_compare(in, NCC_EQ, x, hlo_spread(in, &x->shape, best, map)) : NULL;
	big = hlo_splat(in, &idx->shape, (double)x->shape.dim[d]);
	at = eq && big ? hlo_node(in, NCC_SELECT, &idx->shape, eq, idx, big) : NULL;
	big = ncc_const_scalar(in->imp->m, NEURON_DT_INT32, 2147483647.0);
	at = at && big ? hlo_node(in, NCC_REDUCE, &is, at, big, NULL) : NULL;
	v->op = ncc_alloc(in->imp->m, 2 * sizeof(struct ncc_op *));
	if (!at || !v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	best->func = func;
	at->func = NCC_MIN;
	best->mask = at->mask = 1u << d;
	v->n = 2;
	v->op[0] = best;
	v->op[1] = at;
	return ncc_verify_op(best, in->imp->err) ?: ncc_verify_op(at, in->imp->err);
}
