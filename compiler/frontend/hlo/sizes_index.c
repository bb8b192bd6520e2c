// SPDX-License-Identifier: MIT
/*
 * Dynamic dimensions of what an index chooses: gather, scatter, dynamic slices. Part of the HLO
 * front end.
 */
#include <errno.h>
#include <string.h>

#include "operations.h"
#include "sizes.h"

int hlo_sizes_gather(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s = { 0 }, x, idx;
	struct ncc_gathered g;
	int rc = run(in, v) ?: hlo_gather_slices(in, &g.slices);

	if (rc)
		return rc;
	hlo_merge_sizes(in, 0, 1, &x);
	hlo_merge_sizes(in, 1, 1, &idx);
	g.x = sizes_of(&in->in[0].op[0]->shape, x.dim);
	g.idx = sizes_of(&in->in[1].op[0]->shape, idx.dim);
	g.ndim = v->op[0]->shape.ndim;
	sizes_gathered(&g, s.dim);
	return hlo_give_sizes(in, v, &s);
}

/* Indices that are not there become ones out of range, of which no update is made. */
static int drop_indices(struct hlo_inst *in, unsigned int i, unsigned int d, struct ncc_op *size)
{
	const uint8_t dtype = in->in[i].op[0]->shape.dtype;

	if (ncc_is_unsigned(dtype) && ncc_dtype_size(dtype) < 4)
		return hlo_fail(in, -ENOTSUP,
				"dimension %u of operand %u is dynamic, and its type has no index "
				"out "
				"of range",
				d, i);
	return hlo_fill_number(in, i, d, size, ncc_is_unsigned(dtype) ? (double)UINT32_MAX : -1);
}

/* A slice's dimension may be dynamic if it is all of the operand's, which is dynamic. */
static int check_slices(struct hlo_inst *in, const Ncc__Hlo__ScatterDimensionNumbers *g,
			unsigned int n)
{
	for (unsigned int i = n + 1; i < in->nin; i++) {
		int64_t of = -1;

		for (unsigned int d = 0; in->in[i].n && d < in->in[i].op[0]->shape.ndim; d++) {
			if (!hlo_has_dim(g->n_update_window_dims, g->update_window_dims, d))
				continue;
			do
				of++;
			while (hlo_has_dim(g->n_inserted_window_dims, g->inserted_window_dims,
					   of) ||
			       hlo_has_dim(g->n_input_batching_dims, g->input_batching_dims, of));
			if (hlo_size(in, i, d) && !hlo_size(in, 0, of))
				return hlo_refuse_size(in, i, d);
		}
	}
	return 0;
}

int hlo_sizes_scatter(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__ScatterDimensionNumbers *g = in->p->scatter_dimension_numbers;
	const unsigned int n = in->nin / 2;
	struct hlo_sizes s, of_updates;
	int64_t at = 0;
	int rc;

	if (!g || in->nin % 2 == 0 || in->in[n].n != 1 || !in->in[n + 1].n)
		return run(in, v);
	rc = check_slices(in, g, n);
	hlo_merge_sizes(in, 0, n, &s);
	hlo_merge_sizes(in, n + 1, n, &of_updates);
	for (unsigned int d = 0; d < in->in[n + 1].op[0]->shape.ndim && !rc; d++) {
		struct ncc_op *size;

		if (hlo_has_dim(g->n_update_window_dims, g->update_window_dims, d))
			continue;
		at += at == g->index_vector_dim;
		size = hlo_smaller(in, of_updates.dim[d], hlo_size(in, n, at));
		rc = size ? drop_indices(in, n, (unsigned int)at, size) : 0;
		at++;
	}
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

int hlo_sizes_dynamic_slice(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s;
	int rc = run(in, v);

	hlo_merge_sizes(in, 0, 1, &s);
	for (unsigned int d = 0; !rc && d < v->op[0]->shape.ndim; d++)
		if (v->op[0]->shape.dim[d] != in->in[0].op[0]->shape.dim[d])
			s.dim[d] = NULL;
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* The update with what the operand has there, beyond the size of dimension d */
static int keep_beyond(struct hlo_inst *in, unsigned int d, struct ncc_op *size)
{
	struct hlo_inst cut = *in;
	struct hlo_value *u = &in->in[1];
	struct ncc_op *old = NULL, **op = ncc_alloc(in->imp->m, sizeof(struct ncc_op *));
	int rc;

	cut.in = ncc_alloc(in->imp->m, (in->nin + 1) * sizeof(*cut.in));
	if (!cut.in || !op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	cut.nin = in->nin - 1;
	cut.in[0] = in->in[0];
	memcpy(&cut.in[1], &in->in[2], (in->nin - 2) * sizeof(*cut.in));
	cut.shape = u->op[0]->shape;
	rc = hlo_dynamic_slice(&cut, &old);
	if (rc)
		return rc;
	op[0] = build_select(&in->b, hlo_inside(in, &u->op[0]->shape, d, size), u->op[0], old);
	u->op = op;
	return op[0] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_sizes_dynamic_update(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s;
	int rc = 0;

	hlo_merge_sizes(in, 0, 1, &s);
	for (unsigned int d = 0; d < NCC_MAX_DIMS && !rc; d++) {
		struct ncc_op *size = hlo_size(in, 1, d);

		if (!size)
			continue;
		if (in->nin < 2 || in->in[0].n != 1 || in->in[1].n != 1)
			return hlo_refuse_size(in, 1, d);
		rc = keep_beyond(in, d, size);
	}
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}
