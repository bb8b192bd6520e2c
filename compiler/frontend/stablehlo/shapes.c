// SPDX-License-Identifier: MIT
/* Operations that HLO has in another form, and those that only say something about values */
#include <errno.h>
#include <string.h>

#include "convert.h"

static bool same_dims(const struct mlir_type *a, const struct mlir_type *b)
{
	if (a->kind != b->kind || a->ndim != b->ndim)
		return false;
	for (unsigned int i = 0; i < a->ndim; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

static bool is_static(const struct mlir_type *t)
{
	for (unsigned int i = 0; i < t->ndim; i++)
		if (t->dim[i] == MLIR_DYNAMIC)
			return false;
	return t->kind == MLIR_TENSOR;
}

/* A broadcast of an operand whose dimensions are each as large as the result's */
static hlo_instruction *broadcast(struct scope *s, hlo_instruction *x, Ncc__Hlo__Shape *shape,
				  size_t n, int64_t *dims)
{
	hlo_instruction *p = convert_add(s, "broadcast", shape, &x, 1);

	if (p) {
		p->n_dimensions = n;
		p->dimensions = dims;
	}
	return p;
}

/*
 * HLO's broadcast has no dimension of 1 that grows: those are taken away first. dims: the result's
 * dimension of each of the operand's; it changes
 */
static hlo_instruction *broadcast_in_dim(struct scope *s, hlo_instruction *x,
					 const struct mlir_type *from, const struct mlir_type *to,
					 int64_t *dims)
{
	int64_t *kept = convert_alloc(s->v, from->ndim + 1, sizeof(*kept));
	Ncc__Hlo__Shape *shape = convert_shape(s, to), *less;
	struct mlir_type t = *from;
	unsigned int n = 0;

	if (!kept || !shape)
		return NULL;
	for (unsigned int i = 0; i < from->ndim; i++) {
		if (from->dim[i] == 1 && to->dim[dims[i]] != 1)
			continue;
		kept[n] = from->dim[i];
		dims[n++] = dims[i];
	}
	if (n < from->ndim) {
		t.ndim = n;
		t.dim = kept;
		t.note = NULL;
		less = convert_shape(s, &t);
		x = less ? convert_add(s, "reshape", less, &x, 1) : NULL;
	}
	return x ? broadcast(s, x, shape, n, dims) : NULL;
}

int whole_broadcast_in_dim(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_type *from = op->in[0]->type, *to = op->out[0].type;
	hlo_instruction *x = convert_value(s, op->in[0]);
	int64_t *dims;
	size_t n;
	int rc = attr_list(s, op, "broadcast_dimensions", &n, &dims);

	if (rc || !x)
		return rc ? rc : -ENOTSUP;
	if (from->kind != MLIR_TENSOR || to->kind != MLIR_TENSOR || n != from->ndim)
		return convert_fail(s, -EINVAL, "%zu dimensions for an operand of %u", n,
				    from->ndim);
	for (size_t i = 0; i < n; i++)
		if (dims[i] < 0 || dims[i] >= to->ndim)
			return convert_fail(s, -EINVAL, "the result has no dimension %lld",
					    (long long)dims[i]);
	return convert_results(s, op, broadcast_in_dim(s, x, from, to, dims));
}

/* A condition of one value for all elements */
int whole_select(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op);
	const struct mlir_type *to = op->out[0].type;
	struct mlir_type t = *op->in[0]->type;
	Ncc__Hlo__Shape *shape;

	if (!in)
		return -ENOTSUP;
	if (t.kind == MLIR_TENSOR && !t.ndim && to->kind == MLIR_TENSOR && to->ndim) {
		t.ndim = to->ndim;
		t.dim = to->dim;
		t.bound = to->bound;
		t.note = NULL;
		shape = convert_shape(s, &t);
		in[0] = shape ? broadcast(s, in[0], shape, 0, NULL) : NULL;
		if (!in[0])
			return -ENOTSUP;
	}
	return convert_results(s, op, convert_add(s, "select", convert_result_shape(s, op), in, 3));
}

/* A barrier of several values is one of their tuple */
int whole_barrier(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op), *x;

	if (!in || op->nin != op->nout)
		return in ? convert_fail(s, -EINVAL, "%zu operands, %zu results", op->nin, op->nout)
			  : -ENOTSUP;
	if (!op->nin)
		return 0;
	x = op->nin == 1 ? in[0] : convert_tuple(s, in, op->nin);
	return x ? convert_results(s, op, convert_add(s, "opt-barrier", x->shape, &x, 1)) : -ENOMEM;
}

/* The shape is the result's; its operand is left out. */
int whole_rng(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op), *p;

	if (!in)
		return -ENOTSUP;
	p = convert_add(s, "rng", convert_result_shape(s, op), in, 2);
	return p ? fields_rng(s, op, p) ?: convert_results(s, op, p) : -ENOTSUP;
}

/* The same value with another dialect's type */
int whole_cast(struct scope *s, const struct mlir_op *op)
{
	if (op->nin != op->nout)
		return convert_fail(s, -ENOTSUP, "%zu values that become %zu", op->nin, op->nout);
	for (size_t i = 0; i < op->nin; i++) {
		hlo_instruction *x = convert_value(s, op->in[i]);

		if (!x)
			return -ENOTSUP;
		if (!same_dims(op->in[i]->type, op->out[i].type) ||
		    op->in[i]->type->number != op->out[i].type->number)
			return convert_fail(s, -ENOTSUP, "a value of another type");
		convert_set(s, &op->out[i], x);
	}
	return 0;
}

int whole_nothing(struct scope *s, const struct mlir_op *op)
{
	(void)s;
	(void)op;
	return 0;
}

/* Operations whose shape is an operand, where the result's type says it already */
int whole_static(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op), *p;
	const bool iota = !strcmp(op->name, "dynamic_iota");

	if (!in)
		return -ENOTSUP;
	if (op->nout != 1 || !is_static(op->out[0].type))
		return convert_fail(s, -ENOTSUP, "a result whose shape is computed");
	if (!strcmp(op->name, "dynamic_broadcast_in_dim"))
		return whole_broadcast_in_dim(s, op);
	p = convert_add(s, iota ? "iota" : "reshape", convert_result_shape(s, op), in, !iota);
	if (!p || (iota && fields_iota(s, op, p)))
		return -ENOTSUP;
	return convert_results(s, op, p);
}
