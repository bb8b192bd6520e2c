// SPDX-License-Identifier: MIT
/*
 * Operations that choose by index (expand/index.c): gather, dynamic-slice,
 * dynamic-update-slice, and reductions of values with their indices. Part of the HLO front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "hlo.h"
#include "make.h"

int hlo_take_list(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int *count,
		  uint8_t *out)
{
	if (n > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers", n);
	for (size_t i = 0; i < n; i++) {
		if (v[i] < 0 || v[i] >= NCC_MAX_DIMS)
			return hlo_fail(in, -EINVAL, "dimension number %lld", (long long)v[i]);
		out[i] = (uint8_t)v[i];
	}
	*count = (unsigned int)n;
	return 0;
}

/* The same of gather and scatter; batches: of the operand and of the indices */
int hlo_take_slices(struct hlo_inst *in, struct ncc_slices *s, size_t ndropped,
		    const int64_t *dropped, const int64_t *index_batch, size_t nindex_batch)
{
	uint8_t list[NCC_MAX_DIMS];
	unsigned int n = 0, nb = 0;
	int rc = hlo_take_list(in, ndropped, dropped, &n, list);

	rc = rc ? rc : hlo_take_list(in, nindex_batch, index_batch, &nb, s->index_batch);
	for (unsigned int i = 0; !rc && i < n; i++)
		s->dropped |= 1u << list[i];
	if (!rc && nb != s->nbatch)
		rc = hlo_fail(in, -EINVAL, "%u shared dimensions of the operand, %u of the indices",
			      s->nbatch, nb);
	return rc;
}

static int gather(struct hlo_inst *in, struct ncc_op **out)
{
	const Ncc__Hlo__GatherDimensionNumbers *g = in->p->gather_dimension_numbers;
	struct ncc_slices s = { 0 };
	struct ncc_op *x;
	int rc;

	if (in->nin != 2 || !g || g->index_vector_dim < 0 || g->index_vector_dim > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "needs two operands and dimension numbers");
	x = in->in[0].op[0];
	if (in->p->n_gather_slice_sizes != x->shape.ndim)
		return hlo_fail(in, -EINVAL, "slices of rank %zu of an operand of rank %u",
				in->p->n_gather_slice_sizes, x->shape.ndim);
	memcpy(s.size, in->p->gather_slice_sizes, x->shape.ndim * sizeof(s.size[0]));
	s.vector = (unsigned int)g->index_vector_dim;
	rc = hlo_take_list(in, g->n_offset_dims, g->offset_dims, &s.nwindow, s.window) ?:
	     hlo_take_list(in, g->n_start_index_map, g->start_index_map, &s.nmap, s.map) ?:
	     hlo_take_list(in, g->n_operand_batching_dims, g->operand_batching_dims, &s.nbatch, s.batch) ?:
	     hlo_take_slices(in, &s, g->n_collapsed_slice_dims, g->collapsed_slice_dims,
			 g->start_indices_batching_dims, g->n_start_indices_batching_dims);
	return rc ? rc : expand_gather(&in->b, x, in->in[1].op[0], &s, &in->shape, out);
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
			s->op[d] = expand_clamp_index(&in->b, op, most);
		if (!ncc_scalar_value(op, &v) && !s->op[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

/* start, start + 1, ... */
static struct ncc_op *range(struct hlo_inst *in, struct ncc_op *start, int64_t n)
{
	struct ncc_op *c = build_count(&in->b, n),
		      *s = c ? build_spread(&in->b, &c->shape, start, NULL) : NULL;

	return s ? build_node(&in->b, NCC_ADD, &c->shape, c, s, NULL) : NULL;
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
	return build_transpose(&in->b, x, map);
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
	cut = build_node(&in->b, NCC_SLICE, &s, x, NULL, NULL);
	for (unsigned int d = 0; cut && d < s.ndim; d++) {
		cut->start[d] = st.at[d];
		cut->stride[d] = 1;
	}
	for (unsigned int d = 0; cut && d < s.ndim; d++)
		if (st.op[d])
			cut = expand_take_inside(&in->b, cut, range(in, st.op[d], in->shape.dim[d]),
						 d);
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
	op = build_node(&in->b, NCC_PAD, &s, v, zero, NULL);
	for (unsigned int d = 0; op && d < s.ndim; d++) {
		op->low[d] = st->op[d] ? 0 : st->at[d];
		op->high[d] = s.dim[d] - op->low[d] - v->shape.dim[d];
	}
	return op;
}

/* Where along dimension d the update lies, over the whole shape */
static struct ncc_op *inside(struct hlo_inst *in, struct ncc_op *start, int64_t n, unsigned int d)
{
	struct ncc_op *c = build_count(&in->b, in->shape.dim[d]), *s, *p, *below, *from;
	struct ncc_shape ps = { .dtype = NEURON_DT_INT8, .pred = true, .ndim = 1 };
	uint8_t map = (uint8_t)d;

	if (!c)
		return NULL;
	ps.dim[0] = c->shape.dim[0];
	s = build_spread(&in->b, &c->shape, start, NULL);
	p = s ? build_node(&in->b, NCC_SUB, &c->shape, c, s, NULL) : NULL;
	if (!p)
		return NULL;
	from = build_compare(&in->b, NCC_GE, p, build_splat(&in->b, &c->shape, 0));
	below = build_compare(&in->b, NCC_LT, p, build_splat(&in->b, &c->shape, (double)n));
	p = from && below ? build_node(&in->b, NCC_AND, &ps, from, below, NULL) : NULL;
	ps = in->shape;
	ps.dtype = NEURON_DT_INT8;
	ps.pred = true;
	return p ? build_spread(&in->b, &ps, p, &map) : NULL;
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
	ones = build_splat(&in->b, &ps, 1);
	if (ones)
		ones->in[0]->shape.pred = true;
	for (unsigned int d = 0; u && d < ps.ndim; d++) {
		struct ncc_op *hot;
		uint8_t swap[2] = { 1, 0 };

		if (!st.op[d])
			continue;
		hot = expand_one_hot(&in->b, range(in, st.op[d], u->shape.dim[d]), x->shape.dim[d]);
		mask = inside(in, st.op[d], u->shape.dim[d], d);
		u = first_to(in, expand_choose(&in->b, build_transpose(&in->b, hot, swap), u, d, 0),
			     d);
		if (!mask)
			return hlo_fail(in, -ENOMEM, "out of memory");
		st.op[d] = mask;
	}
	mask = padded(in, ones, &st, &x->shape);
	u = padded(in, u, &st, &x->shape);
	for (unsigned int d = 0; mask && d < ps.ndim; d++)
		if (st.op[d])
			mask = build_node(&in->b, NCC_AND, &mask->shape, mask, st.op[d], NULL);
	*out = mask && u ? build_node(&in->b, NCC_SELECT, &in->shape, mask, u, x) : NULL;
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
	if (!rc && *out &&
	    (!ncc_same_dims(&(*out)->shape, &in->shape) || (*out)->shape.dtype != in->shape.dtype))
		return hlo_fail(in, -EINVAL, "the result's shape does not fit the operands'");
	if (rc || *out)
		return rc;
	if (in->imp->err->text[0])
		return -EFBIG;
	return hlo_fail(in, -ENOTSUP, "too many dimensions, or out of memory");
}

const Ncc__Hlo__Instruction *hlo_by_id(const Ncc__Hlo__Computation *c, int64_t id)
{
	for (size_t i = 0; i < c->n_instructions; i++)
		if (c->instructions[i]->id == id)
			return c->instructions[i];
	return NULL;
}

/* The parameter number that an operand is; -1: it is none */
static int64_t parameter(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *p, size_t i)
{
	const Ncc__Hlo__Instruction *x =
		i < p->n_operand_ids ? hlo_by_id(c, p->operand_ids[i]) : NULL;

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
		return 1;
	if (d < 0 || d >= x->shape.ndim || !ncc_same_dims(&x->shape, &idx->shape) ||
	    idx->shape.dtype != NEURON_DT_INT32 || !counts_along(idx, (unsigned int)d))
		return 1;
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
	best = build_node(&in->b, NCC_REDUCE, &s, x, in->in[2].op[0], NULL);
	eq = best ? build_compare(&in->b, NCC_EQ, x, build_spread(&in->b, &x->shape, best, map))
		  : NULL;
	if (eq && ncc_is_float(x->shape.dtype)) /* the best of a NaN is a NaN */
		eq = build_node(&in->b, NCC_OR, &eq->shape, eq, build_compare(&in->b, NCC_NE, x, x),
				NULL);
	big = build_splat(&in->b, &idx->shape, (double)x->shape.dim[d]);
	at = eq && big ? build_node(&in->b, NCC_SELECT, &idx->shape, eq, idx, big) : NULL;
	big = ncc_const_scalar(in->imp->m, NEURON_DT_INT32, 2147483647.0);
	at = at && big ? build_node(&in->b, NCC_REDUCE, &is, at, big, NULL) : NULL;
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
