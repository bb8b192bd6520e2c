// SPDX-License-Identifier: MIT
/*
 * Long vectors (one dimension, or all others of 1): an element-wise operation or a full reduction
 * over one dimension works on the vector as a matrix of up to 128 rows instead, so that it fills
 * the partitions with whole rows. Reshapes between neighbours cancel in pass_simplify.
 */
#include "few.h"
#include "neuron/hw/ext.h"

static bool is_vector(const struct ncc_shape *s)
{
	unsigned int more = 0;

	for (unsigned int d = 0; d < s->ndim; d++)
		more += s->dim[d] > 1;
	return more == 1;
}

static void matrix_shape(struct ncc_shape *s, int64_t rows)
{
	int64_t n = ncc_elems(s);

	s->ndim = 2;
	s->dim[1] = n / rows;
	s->dim[0] = rows;
}

/* Does it only add dimensions of 1? */
static bool is_reshape(const struct ncc_op *op)
{
	const struct ncc_shape *from = op->nin ? &op->in[0]->shape : NULL;

	return op->kind == NCC_RESHAPE || (op->kind == NCC_BROADCAST && is_vector(from) &&
					   ncc_elems(from) == ncc_elems(&op->shape));
}

static struct ncc_op *as_matrix(struct ncc_pass *p, struct ncc_op *op, struct ncc_op *x,
				int64_t rows)
{
	struct ncc_shape s = x->shape;

	matrix_shape(&s, rows);
	while (is_reshape(x))
		x = x->in[0];
	if (x->kind == NCC_BROADCAST && !x->in[0]->shape.ndim)
		return pass_new(p, NCC_BROADCAST, op, &s, x->in[0], NULL);
	return pass_new(p, NCC_RESHAPE, op, &s, x, NULL);
}

static int flatten_elementwise(struct ncc_pass *p, struct ncc_op *op, int64_t rows)
{
	struct ncc_op *m, *back;
	struct ncc_shape s = op->shape;

	matrix_shape(&s, rows);
	m = ncc_op_new(p->m, op->kind, op->name, op->nin);
	if (!m)
		return ncc_no_memory(p->err);
	m->where = op->where;

	m->shape = s;
	for (unsigned int i = 0; i < op->nin; i++) {
		m->in[i] = as_matrix(p, op, op->in[i], rows);
		if (!m->in[i])
			return ncc_no_memory(p->err);
	}

	back = pass_new(p, NCC_RESHAPE, op, &op->shape, m, NULL);
	if (!back)
		return ncc_no_memory(p->err);
	op->replaced = back;
	return 0;
}

static int flatten_reduce(struct ncc_pass *p, struct ncc_op *op, int64_t rows)
{
	op->in[0] = as_matrix(p, op, op->in[0], rows);
	op->mask = 3;
	return op->in[0] ? 0 : ncc_no_memory(p->err);
}

int pass_flatten(struct ncc_pass *p)
{
	int split = few_split(p);

	if (split)
		return split;
	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		bool elementwise = ncc_is_elementwise(op->kind) || op->kind == NCC_BITCAST;
		const struct ncc_shape *s = op->kind == NCC_REDUCE ? &op->in[0]->shape : &op->shape;
		int64_t rows = 0;
		int rc = 0;

		for (unsigned int i = 0; i < op->nin; i++)
			while (op->in[i]->replaced)
				op->in[i] = op->in[i]->replaced;
		if (is_vector(s))
			rows = ncc_even_rows(ncc_elems(s));
		if (rows && elementwise)
			rc = flatten_elementwise(p, op, rows);
		else if (rows && op->kind == NCC_REDUCE && s->ndim == 1)
			rc = flatten_reduce(p, op, rows);
		if (rc)
			return rc;
	}
	return 0;
}
