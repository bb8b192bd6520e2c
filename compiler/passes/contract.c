// SPDX-License-Identifier: MIT
/*
 * Brings products into the form that the code generator wants: a dot without a free dimension gets
 * one of 1, and a reshape that merges dimensions into the contracted one goes away. The dot then
 * contracts the merged dimensions themselves, so that the operand keeps its layout (a dense layer
 * after a convolution).
 */
#include <string.h>

#include "pass.h"

/* Gives the left operand a free dimension of 1 if neither side has one. */
static int add_free(struct ncc_pass *p, struct ncc_op *op)
{
	struct ncc_shape s = op->in[0]->shape, rs = op->shape;
	struct ncc_op *r, *back;

	if (op->shape.ndim != op->dot->nbatch || s.ndim == NCC_MAX_DIMS || rs.ndim == NCC_MAX_DIMS)
		return 0;
	s.dim[s.ndim++] = 1;
	rs.dim[rs.ndim++] = 1;
	r = pass_new(p, NCC_RESHAPE, op, &s, op->in[0], NULL);
	r = r ? pass_new(p, NCC_DOT, op, &rs, r, op->in[1]) : NULL;
	back = r ? pass_new(p, NCC_RESHAPE, op, &op->shape, r, NULL) : NULL;
	if (!back)
		return ncc_no_memory(p->err);
	ncc_copy_attrs(r, op);
	op->replaced = back;
	return 0;
}

/* The operand dimensions that a reshape merges into dimension d: [first, first + n), or n = 0 */
static unsigned int merged(const struct ncc_op *r, unsigned int d, unsigned int *first)
{
	const struct ncc_shape *a = &r->in[0]->shape, *b = &r->shape;
	int64_t before = 1, seen = 1, n = 1;
	unsigned int i = 0, count = 0;

	for (unsigned int k = 0; k < d; k++)
		before *= b->dim[k];
	while (i < a->ndim && seen < before)
		seen *= a->dim[i++];
	if (seen != before)
		return 0;
	while (i < a->ndim && a->dim[i] == 1)
		i++;
	*first = i;
	while (i + count < a->ndim && n < b->dim[d])
		n *= a->dim[i + count++];
	return n == b->dim[d] ? count : 0;
}

/*
 * Makes dot(reshape(x), y) contract x's own dimensions, if all other dimensions stay as they are.
 */
static int unmerge(struct ncc_pass *p, struct ncc_op *op, unsigned int side)
{
	struct ncc_op *r = op->in[side], *x, *y, *other = op->in[1 - side];
	uint8_t *mine = side ? op->dot->rhs_contract : op->dot->lhs_contract;
	uint8_t *theirs = side ? op->dot->lhs_contract : op->dot->rhs_contract;
	unsigned int first = 0, n, d = mine[0], e = theirs[0];
	struct ncc_shape s = other->shape;

	if (r->kind != NCC_RESHAPE || op->dot->ncontract != 1 || op->dot->nbatch ||
	    op->dot->neighbours)
		return 0;
	x = r->in[0];
	n = merged(r, d, &first);
	if (n < 2 || x->shape.ndim != r->shape.ndim + n - 1 || s.ndim + n - 1 > NCC_MAX_DIMS)
		return 0;

	for (unsigned int i = 0; i < r->shape.ndim; i++)
		if (i != d && r->shape.dim[i] != x->shape.dim[i < d ? i : i + n - 1])
			return 0;

	if (first != d)
		return 0;
	memmove(&s.dim[e + n], &s.dim[e + 1], (s.ndim - e - 1) * sizeof(s.dim[0]));
	memcpy(&s.dim[e], &x->shape.dim[first], n * sizeof(s.dim[0]));
	s.ndim += n - 1;
	y = pass_new(p, NCC_RESHAPE, op, &s, other, NULL);
	if (!y)
		return ncc_no_memory(p->err);
	op->in[side] = x;
	op->in[1 - side] = y;

	op->dot->ncontract = n;
	for (unsigned int i = 0; i < n; i++) {
		mine[i] = (uint8_t)(first + i);
		theirs[i] = (uint8_t)(e + i);
	}
	return 0;
}

/* convert(reshape(x)) -> reshape(convert(x)): the reshape then meets its user. */
static int lift_convert(struct ncc_pass *p, struct ncc_op *op)
{
	struct ncc_op *r = op->in[0], *c, *n;
	struct ncc_shape s;

	if (op->kind != NCC_CONVERT || r->kind != NCC_RESHAPE)
		return 0;
	s = r->in[0]->shape;
	s.dtype = op->shape.dtype;
	s.pred = op->shape.pred;
	c = pass_new(p, NCC_CONVERT, op, &s, r->in[0], NULL);
	n = c ? pass_new(p, NCC_RESHAPE, op, &op->shape, c, NULL) : NULL;
	if (!n)
		return ncc_no_memory(p->err);
	op->replaced = n;
	return 0;
}

int pass_contract(struct ncc_pass *p)
{
	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		int rc;

		for (unsigned int i = 0; i < op->nin; i++)
			while (op->in[i]->replaced)
				op->in[i] = op->in[i]->replaced;
		rc = lift_convert(p, op);
		if (!rc && op->kind == NCC_DOT)
			rc = unmerge(p, op, 0);
		if (!rc && op->kind == NCC_DOT)
			rc = unmerge(p, op, 1);
		if (!rc && op->kind == NCC_DOT)
			rc = add_free(p, op);
		if (rc)
			return rc;
	}
	return 0;
}
