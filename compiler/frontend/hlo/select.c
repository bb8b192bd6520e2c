// SPDX-License-Identifier: MIT
/*
 * select-and-scatter, the gradient of a pooling. For one position in the window after the other,
 * each window finds out which of its elements is selected; then, again position after position, the
 * source of the windows that selected it is added where that element lies. Part of the HLO front
 * end.
 */
#include <errno.h>

#include "call.h"
#include "operations.h"

#define MOST_POSITIONS 4096

struct selecting {
	struct hlo_inst *in;
	const Ncc__Hlo__Computation *select;
	struct ncc_op *x, *source, *init; /* source has one element for each window */
	const Ncc__Hlo__Window *w;
	bool padded;
	struct ncc_op *best, *at; /* each window's selected element, and its position */
	struct ncc_op *found; /* has the window one? With padding only */
	int64_t offset[NCC_MAX_DIMS]; /* of the current position */
};

static int check_dimension(struct selecting *s, unsigned int d)
{
	const Ncc__Hlo__WindowDimension *w = s->w->dimensions[d];
	const int64_t most = NCC_MAX_ELEMS;

	if (w->size < 1 || w->stride < 1 || w->size > most || w->stride > most ||
	    w->padding_low > most || w->padding_high > most || w->padding_low < 0 ||
	    w->padding_high < 0 || w->window_dilation > 1 || w->base_dilation > 1 ||
	    w->window_reversal)
		return hlo_fail(s->in, -ENOTSUP, "bad window of dimension %u", d);
	if (w->size > s->x->shape.dim[d] + w->padding_low + w->padding_high ||
	    (s->x->shape.dim[d] + w->padding_low + w->padding_high - w->size) / w->stride + 1 !=
		    s->source->shape.dim[d])
		return hlo_fail(s->in, -EINVAL, "dimension %u of the source is not the windows'",
				d);
	s->padded = s->padded || w->padding_low || w->padding_high;
	return 0;
}

/* *n: the positions in a window */
static int take_operands(struct selecting *s, int64_t *n)
{
	struct hlo_inst *in = s->in;
	int rc = 0;

	if (in->nin != 3 || in->in[0].n != 1 || in->in[1].n != 1 || in->in[2].n != 1)
		return hlo_fail(in, -EINVAL, "%u operands, expected 3", in->nin);
	s->x = in->in[0].op[0];
	s->source = in->in[1].op[0];
	s->init = in->in[2].op[0];
	s->w = in->p->window;
	if (!s->w || s->w->n_dimensions != s->x->shape.ndim ||
	    s->source->shape.ndim != s->x->shape.ndim || s->init->shape.ndim ||
	    s->source->shape.dtype != s->x->shape.dtype ||
	    s->init->shape.dtype != s->x->shape.dtype)
		return hlo_fail(in, -EINVAL,
				"the window, the source or the initial value do not "
				"fit the operand");
	*n = 1;

	for (unsigned int d = 0; !rc && d < s->x->shape.ndim; d++) {
		rc = check_dimension(s, d);
		if (!rc && s->w->dimensions[d]->size > MOST_POSITIONS / *n)
			rc = hlo_fail(in, -ENOTSUP, "a window of more than %d elements",
				      MOST_POSITIONS);
		*n *= rc ? 1 : s->w->dimensions[d]->size;
	}
	return rc;
}

/* Sets the offset along each dimension of position k. */
static void go_to(struct selecting *s, int64_t k)
{
	for (unsigned int d = s->x->shape.ndim; d-- > 0;) {
		s->offset[d] = k % s->w->dimensions[d]->size;
		k /= s->w->dimensions[d]->size;
	}
}

/* x with zeros around */
static struct ncc_op *surrounded(struct selecting *s, struct ncc_op *x)
{
	int64_t low[NCC_MAX_DIMS], high[NCC_MAX_DIMS];

	for (unsigned int d = 0; x && s->padded && d < x->shape.ndim; d++) {
		low[d] = s->w->dimensions[d]->padding_low;
		high[d] = s->w->dimensions[d]->padding_high;
	}
	return x && s->padded
		       ? build_pad(&s->in->b, x, build_scalar(&s->in->b, &x->shape, 0), low, high)
		       : x;
}

/* The element of a surrounded x that each window has at the position */
static struct ncc_op *seen(struct selecting *s, struct ncc_op *x)
{
	struct ncc_shape shape = s->source->shape;
	struct ncc_op *op;

	if (!x)
		return NULL;
	shape.dtype = x->shape.dtype;
	shape.pred = x->shape.pred;
	op = build_node(&s->in->b, NCC_SLICE, &shape, x, NULL, NULL);
	for (unsigned int d = 0; op && d < shape.ndim; d++) {
		op->start[d] = s->offset[d];
		op->stride[d] = s->w->dimensions[d]->stride;
	}
	return op;
}

/* The reverse: each window's v at the place of its element, zeros elsewhere */
static struct ncc_op *put_back(struct selecting *s, struct ncc_op *v)
{
	struct ncc_shape shape = s->x->shape;
	struct ncc_op *zero = v ? ncc_const_scalar(s->in->imp->m, v->shape.dtype, 0) : NULL, *op;

	if (!zero)
		return NULL;
	shape.dtype = zero->shape.dtype;
	shape.pred = zero->shape.pred = v->shape.pred;
	op = build_node(&s->in->b, NCC_PAD, &shape, v, zero, NULL);
	for (unsigned int d = 0; op && d < shape.ndim; d++) {
		const Ncc__Hlo__WindowDimension *w = s->w->dimensions[d];

		op->interior[d] = w->stride - 1;
		op->low[d] = s->offset[d] - w->padding_low;
		op->high[d] = shape.dim[d] - op->low[d] - ((v->shape.dim[d] - 1) * w->stride + 1);
	}
	return op;
}

/*
 * Does the element selected so far stay? Otherwise v, which exists where inside holds, replaces it.
 */
static int stays(struct selecting *s, struct ncc_op *v, struct ncc_op *inside, struct ncc_op **keep)
{
	struct ncc_op *pair[2] = { s->best, v }, *outside;
	struct hlo_value r;
	int rc = hlo_lift(s->in, s->select, &v->shape, pair, 2, &r);

	if (rc)
		return rc;
	if (r.n != 1 || !r.op[0]->shape.pred || !ncc_same_dims(&r.op[0]->shape, &v->shape))
		return hlo_fail(s->in, -EINVAL, "what selects does not give a predicate");
	*keep = r.op[0];
	if (!s->padded)
		return 0;
	outside = build_unary(&s->in->b, NCC_NOT, inside);
	*keep = build_binary(&s->in->b, NCC_OR, outside,
			     build_binary(&s->in->b, NCC_AND, s->found, *keep));
	s->found = build_binary(&s->in->b, NCC_OR, s->found, inside);
	return *keep && s->found ? 0 : hlo_fail(s->in, -ENOMEM, "out of memory");
}

/* Compares each window's element at position k with the one selected so far. */
static int look(struct selecting *s, int64_t k, struct ncc_op *x, struct ncc_op *there)
{
	struct ncc_shape count = s->source->shape;
	struct ncc_op *v, *inside, *keep = NULL, *number;
	int rc;

	go_to(s, k);
	v = seen(s, x);
	inside = s->padded ? seen(s, there) : NULL;
	count.dtype = NEURON_DT_INT32;
	count.pred = false;
	number = build_splat(&s->in->b, &count, (double)k);
	if (!v || !number || (s->padded && !inside))
		return hlo_fail(s->in, -ENOMEM, "out of memory");
	if (!k) {
		s->best = v;
		s->at = number;
		s->found = inside;
		return 0;
	}

	rc = stays(s, v, inside, &keep);
	if (rc)
		return rc;
	s->best = build_select(&s->in->b, keep, s->best, v);
	s->at = build_select(&s->in->b, keep, s->at, number);
	return s->best && s->at ? 0 : hlo_fail(s->in, -ENOMEM, "out of memory");
}

/* Combines into out the source of the windows that selected position k. */
static int scatter(struct selecting *s, int64_t k, struct ncc_op **out)
{
	struct ncc_build *b = &s->in->b;
	struct ncc_op *hit =
		build_compare(b, NCC_EQ, s->at, build_splat(b, &s->at->shape, (double)k));
	struct ncc_op *pair[2] = { *out, s->source };
	struct hlo_value r;
	int rc;

	go_to(s, k);
	if (s->padded)
		hit = build_binary(&s->in->b, NCC_AND, hit, s->found);
	pair[1] =
		put_back(s, build_select(b, hit, s->source, build_splat(b, &s->source->shape, 0)));
	hit = put_back(s, hit);
	if (!hit || !pair[1])
		return hlo_fail(s->in, -ENOMEM, "out of memory");
	rc = hlo_lift(s->in, hlo_called(s->in, 1), &s->x->shape, pair, 2, &r);
	if (rc)
		return rc;
	if (r.n != 1 || r.op[0]->shape.dtype != s->x->shape.dtype ||
	    !ncc_same_dims(&r.op[0]->shape, &s->x->shape))
		return hlo_fail(s->in, -EINVAL, "what scatters changes the type");
	*out = build_select(b, hit, r.op[0], *out);
	return *out ? 0 : hlo_fail(s->in, -ENOMEM, "out of memory");
}

int hlo_select_and_scatter(struct hlo_inst *in, struct hlo_value *v)
{
	struct selecting s = { .in = in, .select = hlo_called(in, 0) };
	struct ncc_op *out, *x, *there;
	struct ncc_shape pred;
	int64_t n = 0;
	int rc = s.select ? take_operands(&s, &n) : -EINVAL;

	if (rc)
		return rc;
	pred = s.x->shape;
	pred.dtype = NEURON_DT_INT8;
	pred.pred = true;
	x = surrounded(&s, s.x);
	there = s.padded ? surrounded(&s, build_splat(&in->b, &pred, 1)) : NULL;
	for (int64_t k = 0; !rc && k < n; k++)
		rc = look(&s, k, x, there);
	out = s.x->shape.ndim ? build_spread(&in->b, &s.x->shape, s.init, NULL) : s.init;
	for (int64_t k = 0; !rc && out && k < n; k++)
		rc = scatter(&s, k, &out);
	return rc ? rc : hlo_take_results(in, &out, 1, v);
}
