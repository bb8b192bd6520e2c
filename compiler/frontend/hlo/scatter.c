// SPDX-License-Identifier: MIT
/*
 * scatter, of one operand or several (expand/scatter.c). Operands whose results do not mix are
 * scattered each by itself. Part of the HLO front end.
 */
#include <errno.h>

#include "call.h"
#include "empty.h"
#include "operations.h"

struct scattering {
	struct hlo_inst *in;
	unsigned int n; /* operands, of complex ones both parts */
	struct ncc_slices s;
	struct ncc_op *x[HLO_MANY], *u[HLO_MANY], *idx;
};

static int combine(void *opaque, struct ncc_op **old, struct ncc_op *const *update)
{
	struct scattering *s = opaque;

	return hlo_combine(s->in, old, update, s->n);
}

/* The size of a slice along each dimension of the operand: the updates' windows in order, else 1 */
static int take_windows(struct hlo_inst *in, struct ncc_slices *s, const struct ncc_shape *x,
			const struct ncc_shape *u)
{
	unsigned int n = 0;

	for (unsigned int d = 0; d < x->ndim; d++) {
		bool batch = false;

		for (unsigned int i = 0; i < s->nbatch; i++)
			batch = batch || s->batch[i] == d;
		s->size[d] = 1;
		if (batch || s->dropped >> d & 1)
			continue;
		if (n == s->nwindow || s->window[n] >= u->ndim)
			return hlo_fail(in, -EINVAL, "dimension numbers do not fit the shapes");
		s->size[d] = u->dim[s->window[n++]];
	}
	return n == s->nwindow ? 0
			       : hlo_fail(in, -EINVAL, "dimension numbers do not fit the shapes");
}

static int take_numbers(struct hlo_inst *in, struct ncc_slices *s)
{
	const Ncc__Hlo__ScatterDimensionNumbers *g = in->p->scatter_dimension_numbers;

	if (!g || g->index_vector_dim < 0 || g->index_vector_dim > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "needs dimension numbers");
	s->vector = (unsigned int)g->index_vector_dim;
	return hlo_take_list(in, g->n_update_window_dims, g->update_window_dims, &s->nwindow,
			     s->window) ?:
	       hlo_take_list(in, g->n_scatter_dims_to_operand_dims, g->scatter_dims_to_operand_dims,
			     &s->nmap, s->map) ?:
	       hlo_take_list(in, g->n_input_batching_dims, g->input_batching_dims, &s->nbatch,
			     s->batch) ?:
	       hlo_take_slices(in, s, g->n_inserted_window_dims, g->inserted_window_dims,
			       g->scatter_indices_batching_dims,
			       g->n_scatter_indices_batching_dims);
}

/* Takes operands, indices and updates. */
static int take_operands(struct scattering *s)
{
	struct hlo_inst *in = s->in;
	const unsigned int n = in->nin / 2;
	int x, u;

	if (in->in[n].n != 1)
		return hlo_fail(in, -EINVAL, "operand %u is a tuple", n);
	s->idx = in->in[n].op[0];
	x = hlo_take_leaves(in, 0, n, s->x);
	u = x < 0 ? x : hlo_take_leaves(in, n + 1, n, s->u);
	if (u < 0)
		return u;
	s->n = (unsigned int)x;
	for (int i = 0; i < x; i++)
		if (x != u || s->x[i]->shape.dtype != s->u[i]->shape.dtype)
			return hlo_fail(in, -EINVAL, "operand %d and its update need one type", i);
	return 0;
}

/* Scatters each operand by itself if possible; otherwise r stays NULL. */
static int scatter_each(struct scattering *s, struct ncc_op **r)
{
	struct hlo_inst *in = s->in;
	int rc = 0;

	if (s->n != in->nin / 2)
		return 0;
	for (unsigned int i = 0; i < s->n; i++)
		if (hlo_combiner(in, i, s->n).by == NCC_COMBINE_FN)
			return 0;
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		struct ncc_combine c = hlo_combiner(in, i, s->n);

		c.kind = hlo_of_truth(c.kind, &s->x[i]->shape);
		rc = expand_scatter(&in->b, 1, &s->x[i], s->idx, &s->u[i], &s->s, &c, &r[i]);
	}
	return rc;
}

int hlo_scatter(struct hlo_inst *in, struct hlo_value *v)
{
	struct scattering s = { .in = in };
	struct ncc_combine c = { .by = NCC_COMBINE_FN, .fn = combine, .opaque = &s };
	struct ncc_op *r[HLO_MANY] = { NULL };
	int rc;

	if (in->nin % 2 == 0 || in->nin < 3)
		return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
	rc = take_operands(&s) ?:
	     take_numbers(in, &s.s) ?:
	     take_windows(in, &s.s, &s.x[0]->shape, &s.u[0]->shape) ?:
	     hlo_start_at_zero(in, &s.x[0]->shape, &s.s, &s.idx) ?:
	     scatter_each(&s, r);
	if (!rc && !r[0])
		rc = expand_scatter(&in->b, s.n, s.x, s.idx, s.u, &s.s, &c, r);
	rc = rc ? rc : hlo_take_results(in, r, s.n, v);
	for (unsigned int i = 0; !rc && i < s.n; i++)
		hlo_fold(in, r[i]);
	return rc;
}
