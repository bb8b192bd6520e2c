// SPDX-License-Identifier: MIT
/* Concatenation and padding: pieces copied into place. Part of the code generator. */
#include <errno.h>

#include "gen.h"

int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int64_t at = 0;

	for (unsigned int i = 0; i < op->nin; i++) {
		int64_t n = op->in[i]->shape.dim[op->axis];
		struct ncc_view part = view_slice(dst, op->axis, at, n, 1);
		int rc = gen_copy(g, &part, &op->in[i]->value->view);

		if (rc)
			return rc;
		at += n;
	}
	return 0;
}

/* The pad value need not be constant: a scalar spread over the result */
static int fill(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view spread;
	double v;
	int rc;

	if (ncc_scalar_value(op->in[1], &v))
		return gen_memset(g, dst, v);
	rc = gen_place(g, op->in[1], -1);
	if (rc)
		return rc;
	spread = op->in[1]->value->view;
	spread.ndim = dst->ndim;
	spread.pdim = -1;
	for (unsigned int d = 0; d < dst->ndim; d++) {
		spread.dim[d] = dst->dim[d];
		spread.stride[d] = 0;
	}
	return gen_copy(g, dst, &spread);
}

int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view to = *dst, from = op->in[0]->value->view;
	int rc = fill(g, op, dst);

	for (unsigned int d = 0; !rc && d < dst->ndim; d++) {
		int64_t step = op->interior[d] + 1, low = op->low[d], n = op->in[0]->shape.dim[d];
		int64_t first = low < 0 ? (-low + step - 1) / step : 0, last;

		/* operand index i goes to low + i * step: keep those inside the result */
		last = low > dst->dim[d] - 1 ? -1 : (dst->dim[d] - 1 - low) / step;
		if (last > n - 1)
			last = n - 1;
		if (last < first)
			return 0;
		from = view_slice(&from, d, first, last - first + 1, 1);
		to = view_slice(&to, d, low + first * step, last - first + 1, step);
	}
	return rc ? rc : gen_copy(g, &to, &from);
}
