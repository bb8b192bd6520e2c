// SPDX-License-Identifier: MIT
/* Moves of dynamic dimensions: concatenate, pad, reverse, slice. Part of the HLO front end. */
#include <errno.h>

#include "sizes.h"

/* What is there comes first along dimension d, where the operation has put it elsewhere. */
static int close_up(const struct ncc_follow *f, struct hlo_inst *in, struct hlo_value *v,
		    unsigned int d)
{
	struct ncc_op **op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	struct ncc_op *place = sizes_places(f, d);

	for (unsigned int k = 0; op && k < v->n; k++) {
		op[k] = place ? expand_take_inside(&in->b, v->op[k], place, d) : NULL;
		if (!op[k])
			return in->imp->err->text[0] ? -EFBIG
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->op = op;
	return op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_sizes_concat(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s = { 0 };
	struct ncc_follow f;
	int rc = run(in, v) ?: hlo_following(in, &v->op[0]->shape, &f);

	if (!rc && !sizes_follow(&f, s.dim))
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	if (!rc && sizes_has_gaps(&f, f.op->axis))
		rc = close_up(&f, in, v, f.op->axis);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* A part of a dynamic dimension is dynamic if its shape says so, as XLA has it. */
int hlo_sizes_slice(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s = { 0 };
	struct ncc_follow f;
	int rc = run(in, v) ?: hlo_following(in, &v->op[0]->shape, &f);

	if (!rc && !sizes_follow(&f, s.dim))
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int d = 0; !rc && d < f.in[0].ndim; d++)
		if (s.dim[d] != f.in[0].size[d] && !hlo_is_dynamic_dim(in->p->shape, d))
			s.dim[d] = NULL;
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* Elements beyond the size become padding, so that high padding begins at the size. */
int hlo_sizes_pad(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__PaddingConfig *c = in->p->padding_config;
	const int64_t most = 1 << 20;
	struct hlo_sizes s;
	int rc = 0;

	hlo_merge_sizes(in, 0, 1, &s);
	for (unsigned int d = 0; c && d < c->n_dimensions && d < NCC_MAX_DIMS && !rc; d++) {
		const Ncc__Hlo__PaddingConfigDimension *w = c->dimensions[d];

		if (!s.dim[d])
			continue;
		if (in->in[1].n != in->in[0].n || w->edge_padding_low < -most ||
		    w->edge_padding_low > most || w->edge_padding_high < -most ||
		    w->edge_padding_high > most || w->interior_padding > most)
			return hlo_fail(in, -EINVAL, "bad padding of dimension %u", d);
		rc = hlo_fill(in, 0, d, s.dim[d], in->in[1].op);
	}
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_follow(in, v);
}

int hlo_sizes_reverse(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s = { 0 };
	struct ncc_follow f;
	int rc = run(in, v) ?: hlo_following(in, &v->op[0]->shape, &f);

	if (!rc && !sizes_follow(&f, s.dim))
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int d = 0; !rc && d < f.in[0].ndim; d++)
		if (s.dim[d] && f.op->mask >> d & 1)
			rc = close_up(&f, in, v, d);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}
