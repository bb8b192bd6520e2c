// SPDX-License-Identifier: MIT
/*
 * cholesky and triangular-solve (lower_linear.c). Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "hlo.h"
#include "hlo_make.h"

#define MOST_ROWS 1024 /* each is unrolled */

static int check_square(const struct hlo_inst *in, const struct ncc_op *x)
{
	const struct ncc_shape *s = &x->shape;

	if (s->ndim < 2 || s->dim[s->ndim - 1] != s->dim[s->ndim - 2] || !ncc_is_float(s->dtype))
		return hlo_fail(in, -EINVAL, "operand 0 is no square matrix of floats");
	if (s->dim[s->ndim - 1] > MOST_ROWS)
		return hlo_fail(in, -ENOTSUP, "of more than %d rows is not supported", MOST_ROWS);
	return 0;
}

static int check_sides(const struct hlo_inst *in, const struct ncc_op *a, const struct ncc_op *b,
		       bool right)
{
	const struct ncc_shape *s = &a->shape;
	bool fit = s->ndim == b->shape.ndim && s->dtype == b->shape.dtype;

	for (unsigned int i = 0; fit && i + 2 < s->ndim; i++)
		fit = s->dim[i] == b->shape.dim[i];
	if (!fit || b->shape.dim[s->ndim - (right ? 1 : 2)] != s->dim[s->ndim - 1])
		return hlo_fail(in, -EINVAL, "the right sides do not fit the matrix");
	return 0;
}

static int take_one(struct hlo_inst *in, struct ncc_op *r, struct hlo_value *v)
{
	if (!r && in->imp->err->text[0])
		return -EFBIG;
	return hlo_take_results(in, &r, 1, v);
}

int hlo_cholesky(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__CholeskyOptions *o = in->p->cholesky_options;
	int rc = in->nin == 1 ? hlo_arrays(in, 1) : hlo_fail(in, -EINVAL, "needs one operand");

	rc = rc ? rc : check_square(in, in->in[0].op[0]);
	return rc ? rc : take_one(in, lower_cholesky(&in->b, in->in[0].op[0], o && o->lower), v);
}

int hlo_triangular_solve(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__TriangularSolveOptions *o = in->p->triangular_solve_options;
	struct ncc_triangle t = { 0 };
	int rc = 0;

	if (in->nin != 2 || !o || in->in[0].n != 1 || in->in[1].n != 1)
		return hlo_fail(in, -EINVAL, "needs two operands and options");
	t = (struct ncc_triangle){ o->lower, o->unit_diagonal, o->transpose_a > 1, !o->left_side };
	rc = check_square(in, in->in[0].op[0])
		     ?: check_sides(in, in->in[0].op[0], in->in[1].op[0], t.right);
	return rc ? rc
		  : take_one(in, lower_triangular(&in->b, in->in[0].op[0], in->in[1].op[0], &t), v);
}
