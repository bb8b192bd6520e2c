// SPDX-License-Identifier: MIT
/*
 * reduce-window by any computation, also of several operands. One dimension after the other,
 * windows of 1, 2, 4, ... elements are combined from two halves each, and the window from those.
 * Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "operations.h"

struct windows {
	struct hlo_inst *in;
	unsigned int n; /* operands */
	struct ncc_op *x[HLO_MANY], *init[HLO_MANY];
	const Ncc__Hlo__WindowDimension *w; /* of the current dimension */
	unsigned int d;
};

static int check(const struct windows *s)
{
	const Ncc__Hlo__WindowDimension *w = s->w;
	const int64_t most = NCC_MAX_ELEMS;

	if (w->size < 1 || w->stride < 1 || w->window_dilation < 1 || w->base_dilation < 1 ||
	    w->size > most || w->stride > most || w->window_dilation > most ||
	    w->base_dilation > most || w->padding_low > most || w->padding_low < -most ||
	    w->padding_high > most || w->padding_high < -most)
		return hlo_fail(s->in, -EINVAL, "bad window of dimension %u", s->d);
	return 0;
}

/* Pads the operands with their initial values around and between the elements. */
static int pad(struct windows *s)
{
	const Ncc__Hlo__WindowDimension *w = s->w;
	int64_t n = s->x[0]->shape.dim[s->d];
	int64_t to = (n - 1) * w->base_dilation + 1 + w->padding_low + w->padding_high;

	if (to < (w->size - 1) * w->window_dilation + 1)
		return hlo_fail(s->in, -ENOTSUP, "no window fits dimension %u", s->d);
	for (unsigned int i = 0; i < s->n && (to != n || w->padding_low); i++) {
		struct ncc_shape shape = s->x[i]->shape;
		struct ncc_op *op;
		int rc;

		shape.dim[s->d] = to;
		op = build_node(&s->in->b, NCC_PAD, &shape, s->x[i], s->init[i], NULL);
		if (!op)
			return hlo_fail(s->in, -ENOMEM, "out of memory");
		op->low[s->d] = w->padding_low;
		op->high[s->d] = w->padding_high;
		op->interior[s->d] = w->base_dilation - 1;
		rc = ncc_verify_op(op, s->in->imp->err);
		if (rc)
			return rc;
		s->x[i] = op;
	}
	return 0;
}

static void slice_all(const struct windows *s, struct ncc_op *const *x, int64_t start, int64_t n,
		      struct ncc_op **to)
{
	for (unsigned int i = 0; i < s->n; i++)
		to[i] = build_slice(&s->in->b, x[i], s->d, start, n);
}

/* Cuts every window of x, each one element further than the one before. */
static int slide(struct windows *s)
{
	const int64_t step = s->w->window_dilation, size = s->w->size;
	struct ncc_op *part[HLO_MANY], *sum[HLO_MANY] = { NULL };
	int64_t left = s->x[0]->shape.dim[s->d], n = left - (size - 1) * step, at = 0;
	int rc = 0;

	/* In every iteration x has `left` windows of k elements. */
	for (int64_t k = 1; !rc && k <= size; k *= 2) {
		if (size & k) {
			slice_all(s, s->x, at * step, n, sum[0] ? part : sum);
			rc = at ? hlo_combine(s->in, sum, part, s->n) : 0;
			at += k;
		}
		if (!rc && 2 * k <= size) {
			left -= k * step;
			slice_all(s, s->x, k * step, left, part);
			slice_all(s, s->x, 0, left, s->x);
			rc = hlo_combine(s->in, s->x, part, s->n);
		}
	}

	memcpy(s->x, sum, sizeof(sum));
	return rc;
}

/* Keeps every stride-th window. */
static int step_over(struct windows *s)
{
	for (unsigned int i = 0; i < s->n && s->w->stride > 1; i++) {
		const int64_t n = (s->x[i]->shape.dim[s->d] - 1) / s->w->stride + 1;

		s->x[i] = build_strided(&s->in->b, s->x[i], s->d, 0, n, s->w->stride);
		if (!s->x[i])
			return hlo_fail(s->in, -ENOMEM, "out of memory");
	}
	return 0;
}

static int take_initial(struct windows *s)
{
	const unsigned int half = s->in->nin / 2;
	int n = hlo_take_leaves(s->in, half, half, s->init);

	if (n < 0)
		return n;
	if ((unsigned int)n != s->n)
		return hlo_fail(s->in, -EINVAL, "the initial values do not fit");
	for (unsigned int i = 0; i < s->n; i++)
		if (s->init[i]->shape.ndim || s->init[i]->shape.dtype != s->x[i]->shape.dtype ||
		    s->init[i]->shape.pred != s->x[i]->shape.pred)
			return hlo_fail(s->in, -EINVAL, "initial value %u does not fit", i);
	return 0;
}

/* All dimensions are padded first: an element of the padding counts in the windows of all of them. */
static int all_dimensions(struct windows *s)
{
	const Ncc__Hlo__Window *w = s->in->p->window;
	const unsigned int ndim = s->x[0]->shape.ndim;
	int rc = 0;

	for (s->d = 0; !rc && s->d < ndim; s->d++) {
		s->w = w->dimensions[s->d];
		rc = check(s) ?: pad(s);
	}
	for (s->d = 0; !rc && s->d < ndim; s->d++) {
		s->w = w->dimensions[s->d];
		rc = slide(s) ?: step_over(s);
	}
	return rc;
}

int hlo_window_many(struct hlo_inst *in, struct hlo_value *v)
{
	struct windows s = { .in = in };
	struct ncc_op *first[HLO_MANY];
	int rc;

	if (!in->nin || in->nin % 2)
		return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
	rc = hlo_take_leaves(in, 0, in->nin / 2, s.x);
	if (rc < 0)
		return rc;
	s.n = (unsigned int)rc;
	rc = 0;
	if ((in->p->window ? in->p->window->n_dimensions : 0) != s.x[0]->shape.ndim)
		rc = hlo_fail(in, -EINVAL, "the window does not have the operand's dimensions");

	rc = rc ? rc : take_initial(&s) ?: all_dimensions(&s);
	for (unsigned int i = 0; !rc && i < s.n; i++)
		first[i] = s.x[i]->shape.ndim
				   ? build_spread(&in->b, &s.x[i]->shape, s.init[i], NULL)
				   : s.init[i];

	rc = rc ? rc : hlo_combine(in, first, s.x, s.n);
	return rc ? rc : hlo_take_results(in, first, s.n, v);
}

int hlo_reduce_window(struct hlo_inst *in, struct hlo_value *v)
{
	if (in->nin == 2 && hlo_simple_reducer(in))
		return hlo_array(in, v);
	return hlo_window_many(in, v);
}
