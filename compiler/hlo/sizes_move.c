// SPDX-License-Identifier: MIT
/* Moves of dynamic dimensions: concatenate, pad, reverse, slice. Part of the HLO front end. */
#include <errno.h>
#include <string.h>

#include "sizes.h"

/* The elements of dimension d of v at these places, s32 within it */
static int take(struct hlo_inst *in, struct hlo_value *v, unsigned int d, struct ncc_op *place)
{
	struct ncc_op **op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));

	for (unsigned int k = 0; op && k < v->n; k++) {
		op[k] = place ? expand_take_inside(&in->b, v->op[k], place, d) : NULL;
		if (!op[k])
			return in->imp->err->text[0] ? -EFBIG
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->op = op;
	return op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

static struct ncc_op *spread(struct hlo_inst *in, struct ncc_op *like, struct ncc_op *x)
{
	return like ? build_spread(&in->b, &like->shape, x, NULL) : NULL;
}

/*
 * Each place takes the element that is there when every operand but the last ends with its size
 * instead of its bound.
 */
static int close_up(struct hlo_inst *in, struct hlo_value *v, unsigned int d, struct ncc_op **size)
{
	struct ncc_build *bl = &in->b;
	const int64_t all = v->op[0]->shape.dim[d];
	struct ncc_op *count = build_count(bl, all), *place = count, *at = NULL;
	int64_t from = 0;
	bool moved = false;

	for (unsigned int i = 0; i < in->nin; i++) {
		struct ncc_op *n = hlo_size_or_bound(in, i, d);

		if (moved) { /* those from `at` on are `from`'s */
			struct ncc_op *gap = build_binary(
				bl, NCC_SUB, build_splat(bl, &at->shape, (double)from), at);

			place = build_select(
				bl, build_compare(bl, NCC_GE, count, spread(in, count, at)),
				build_binary(bl, NCC_ADD, count, spread(in, count, gap)), place);
		}
		moved = moved || hlo_size(in, i, d);
		from += in->in[i].op[0]->shape.dim[d];
		at = at ? build_binary(bl, NCC_ADD, at, n) : n;
		if (!at)
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	*size = at;
	if (place == count)
		return 0;
	return take(in, v, d, build_number(bl, NCC_MIN, place, (double)(all - 1)));
}

int sizes_concat(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;
	struct hlo_sizes s;
	bool along = false;
	int rc = run(in, v);

	if (rc)
		return rc;
	for (unsigned int i = 0; i < in->nin; i++)
		along = along || hlo_size(in, i, d);
	hlo_merge_sizes(in, 0, in->nin, &s);
	rc = along ? close_up(in, v, (unsigned int)d, &s.dim[d]) : 0;
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* A part of a dynamic dimension is dynamic if its shape says so, as XLA has it. */
int sizes_slice(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__Shape *p = in->p->shape;
	struct hlo_sizes s;
	int rc = run(in, v);

	hlo_merge_sizes(in, 0, 1, &s);
	for (unsigned int d = 0; !rc && d < in->p->n_slice_dimensions; d++) {
		const Ncc__Hlo__SliceDimensions *r = in->p->slice_dimensions[d];
		const int64_t bound = in->in[0].op[0]->shape.dim[d], n = v->op[0]->shape.dim[d];
		struct ncc_op *size = s.dim[d];

		if (!size || (!r->start && r->limit == bound && r->stride == 1))
			continue;
		s.dim[d] = NULL;
		if (!hlo_is_dynamic_dim(p, d))
			continue;
		/* (min(size, limit) - start) / stride, rounded up */
		size = build_number(&in->b, NCC_ADD, size, (double)(r->stride - 1 - r->start));
		size = build_number(&in->b, NCC_MAX, size, 0);
		if (r->stride > 1)
			size = build_number(&in->b, NCC_DIV, size, (double)r->stride);
		s.dim[d] = build_number(&in->b, NCC_MIN, size, (double)n);
		if (!s.dim[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* Elements beyond the size become padding, so that high padding begins at the size. */
int sizes_pad(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
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

/* The bound's last elements, which are not there, have come first. */
int sizes_reverse(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct ncc_build *bl = &in->b;
	struct hlo_sizes s;
	int rc = run(in, v);

	hlo_merge_sizes(in, 0, 1, &s);
	for (size_t i = 0; !rc && i < in->p->n_dimensions; i++) {
		const unsigned int d = (unsigned int)in->p->dimensions[i];
		const int64_t bound = v->op[0]->shape.dim[d];
		struct ncc_op *count = build_count(bl, bound), *first = s.dim[d], *place;

		if (!first)
			continue;
		first = build_binary(bl, NCC_SUB, build_splat(bl, &first->shape, (double)bound),
				     first);
		place = build_binary(bl, NCC_ADD, count, spread(in, count, first));
		rc = take(in, v, d, build_number(bl, NCC_MIN, place, (double)(bound - 1)));
	}
	return rc ? rc : hlo_give_sizes(in, v, &s);
}
