// SPDX-License-Identifier: MIT
/*
 * Maps and reductions by any computation of scalars, also of several operands: the computation is
 * run on whole tensors. A reduction that is an argmax or an argmin is recognised.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "operations.h"

int hlo_map(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x[HLO_MANY];
	int n = hlo_take_leaves(in, 0, in->nin, x);

	if (!n)
		return hlo_fail(in, -ENOTSUP, "0 operands");
	return n < 0 ? n : hlo_lift(in, hlo_called(in, 0), &x[0]->shape, x, (unsigned int)n, v);
}

/* Combines the halves of a dimension until one element is left; an odd one waits. */
static int reduce_along(struct hlo_inst *in, struct ncc_op **x, unsigned int n, unsigned int d)
{
	struct ncc_op *rest[HLO_MANY] = { NULL }, *hi[HLO_MANY], *last[HLO_MANY];
	int rc = 0;

	while (!rc && x[0]->shape.dim[d] > 1) {
		int64_t len = x[0]->shape.dim[d], half = len / 2;

		for (unsigned int i = 0; i < n; i++) {
			last[i] = build_slice(&in->b, x[i], d, len - 1, 1);
			hi[i] = build_slice(&in->b, x[i], d, half, half);
			x[i] = build_slice(&in->b, x[i], d, 0, half);
		}
		rc = hlo_combine(in, x, hi, n);
		if (!rc && len % 2 && rest[0])
			rc = hlo_combine(in, last, rest, n);
		if (len % 2)
			memcpy(rest, last, sizeof(rest));
	}
	return !rc && rest[0] ? hlo_combine(in, x, rest, n) : rc;
}

int hlo_reduce_many(struct hlo_inst *in, struct hlo_value *v)
{
	unsigned int n;
	struct ncc_op *x[HLO_MANY], *init[HLO_MANY];
	struct ncc_shape s;
	uint32_t mask = 0;
	int rc;

	if (!in->nin || in->nin % 2)
		return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
	rc = hlo_take_leaves(in, 0, in->nin / 2, x);
	if (rc < 0)
		return rc;
	n = (unsigned int)rc;
	rc = hlo_take_leaves(in, in->nin / 2, in->nin / 2, init);
	if (rc < 0)
		return rc;
	rc = (unsigned int)rc == n ? 0 : hlo_fail(in, -EINVAL, "the initial values do not fit");
	for (size_t i = 0; !rc && i < in->p->n_dimensions; i++) {
		int64_t d = in->p->dimensions[i];

		if (d < 0 || d >= x[0]->shape.ndim || mask >> d & 1)
			return hlo_fail(in, -EINVAL, "bad dimensions");
		mask |= 1u << d;
		rc = reduce_along(in, x, n, (unsigned int)d);
	}
	if (rc)
		return rc;
	s = (struct ncc_shape){ 0 };
	for (unsigned int d = 0; d < x[0]->shape.ndim; d++)
		if (!(mask >> d & 1))
			s.dim[s.ndim++] = x[0]->shape.dim[d];
	for (unsigned int i = 0; i < n; i++) {
		x[i] = build_reshape(&in->b, x[i], &s);
		if (!x[i] || init[i]->shape.ndim || init[i]->shape.dtype != x[i]->shape.dtype)
			return hlo_fail(in, -EINVAL, "initial value %u does not fit", i);
		if (s.ndim)
			init[i] = build_spread(&in->b, &x[i]->shape, init[i], NULL);
	}
	rc = hlo_combine(in, init, x, n);
	return rc ? rc : hlo_take_results(in, init, n, v);
}

/* The parameter number that an operand is; -1: it is none */
static int64_t parameter(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *p, size_t i)
{
	const Ncc__Hlo__Instruction *x =
		i < p->n_operand_ids ? hlo_by_id(c, p->operand_ids[i]) : NULL;

	return x && !strcmp(x->opcode, "parameter") ? x->parameter_number : -1;
}

/*
 * Is this the comparison that JAX's argmax (GT) and argmin (LT) make? It takes values 0 and 2, NaN
 * first, and indices 1 and 3, of which the smaller wins: eleven instructions of known kinds, no
 * others.
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

/* Is it 0, 1, 2, ... along dimension d, and the same along the others? */
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

/* Reduces values and their indices if it is JAX's argmax or argmin; 1: it is something else. */
static int arg_reduce(struct hlo_inst *in, struct hlo_value *v)
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
	if (eq && ncc_is_float(x->shape.dtype)) /* a NaN wins, and equals nothing */
		eq = build_node(&in->b, NCC_OR, &eq->shape, eq, build_compare(&in->b, NCC_NE, x, x),
				NULL);
	big = build_splat(&in->b, &idx->shape, (double)x->shape.dim[d]);
	at = eq && big ? build_node(&in->b, NCC_SELECT, &idx->shape, eq, idx, big) : NULL;
	big = ncc_const_scalar(in->imp->m, NEURON_DT_INT32, (double)x->shape.dim[d]);
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

/* Reduces by one operation, as argmax or argmin, or by any computation. */
int hlo_reduce(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = 1;

	if (in->nin == 2 && hlo_simple_reducer(in))
		return hlo_array(in, v);
	if (in->nin == 4 && in->in[0].n == 1 && in->in[1].n == 1 && in->in[2].n == 1)
		rc = arg_reduce(in, v);
	return rc == 1 ? hlo_reduce_many(in, v) : rc;
}
