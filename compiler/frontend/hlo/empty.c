// SPDX-License-Identifier: MIT
/*
 * Values without elements, which the tensor IR has not: in the importer a placeholder stands for
 * one, of its shape and type. A result without elements needs no operation; what has elements
 * although an operand has none is made by the rules here. Part of the HLO front end.
 */
#include "empty.h"

#include <errno.h>

#include "host_calls.h"
#include "operations.h"
#include "sizes.h"

bool hlo_is_empty(const struct ncc_op *op)
{
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		if (!op->shape.dim[d])
			return true;
	return false;
}

static bool is_empty(const struct hlo_value *v)
{
	for (unsigned int i = 0; i < v->n; i++)
		if (hlo_is_empty(v->op[i]))
			return true;
	return false;
}

static bool is_empty_shape(const Ncc__Hlo__Shape *p)
{
	if (p->element_type == HLO_TOKEN)
		return true;
	for (size_t d = 0; d < p->n_dimensions; d++)
		if (!p->dimensions[d])
			return true;
	for (size_t i = 0; i < p->n_tuple_shapes; i++)
		if (is_empty_shape(p->tuple_shapes[i]))
			return true;
	return false;
}

bool hlo_touches_empty(const struct hlo_inst *in)
{
	bool found = is_empty_shape(in->p->shape);

	for (unsigned int i = 0; !found && i < in->nin; i++)
		found = is_empty(&in->in[i]);
	return found && !in->rule->passes_on && !hlo_is_host_call(in->p);
}

static int take_shapes(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct hlo_leaves *l)
{
	const unsigned int n = hlo_leaves(p);
	struct ncc_shape s;
	bool without = false;
	int rc = 0;

	if (p->element_type == HLO_TUPLE) {
		for (size_t i = 0; !rc && i < p->n_tuple_shapes; i++)
			rc = take_shapes(in, p->tuple_shapes[i], l);
		return rc;
	}
	rc = hlo_shape(in, p, &s);
	for (unsigned int d = 0; !rc && d < s.ndim; d++) {
		if (s.dim[d] < 0 || s.dim[d] > NCC_MAX_ELEMS)
			return hlo_fail(in, -EINVAL, "dimension %u is %lld", d,
					(long long)s.dim[d]);
		without = without || !s.dim[d];
	}
	if (!rc && n > HLO_LEAVES - l->n)
		return hlo_fail(in, -ENOTSUP, "more than %d results, some without elements",
				HLO_LEAVES);
	for (unsigned int i = 0; !rc && i < n; i++) {
		l->without += without;
		l->shape[l->n++] = s;
	}
	return rc;
}

struct ncc_op *hlo_placeholder(struct hlo_inst *in, const struct ncc_shape *s)
{
	struct ncc_op *op = ncc_op_new(in->imp->m, NCC_CONST, in->p->name, 0);

	if (op) {
		op->shape = *s;
		op->data = op; /* of no bytes */
	}
	return op;
}

struct ncc_op *hlo_empty_token(struct hlo_inst *in)
{
	return hlo_placeholder(in, &hlo_token_shape);
}

static int allocate(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v)
{
	v->n = l->n;
	v->op = ncc_alloc(in->imp->m, (l->n + 1) * sizeof(struct ncc_op *));
	return v->op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

/* Makes results that have one number throughout */
static int spread(struct hlo_inst *in, const struct hlo_leaves *l, const struct hlo_value *from,
		  struct hlo_value *v)
{
	for (unsigned int i = 0; i < l->n; i++) {
		struct ncc_op *x = from->n == l->n ? from->op[i] : NULL;

		if (!x || x->shape.ndim || x->shape.dtype != l->shape[i].dtype)
			return hlo_fail(in, -EINVAL, "what fills the result does not fit it");
		v->op[i] = l->shape[i].ndim ? build_spread(&in->b, &l->shape[i], x, NULL) : x;
		if (!v->op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

static int zeros(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v)
{
	for (unsigned int i = 0; i < l->n; i++) {
		v->op[i] = build_splat(&in->b, &l->shape[i], 0);
		if (!v->op[i])
			return in->imp->err->text[0] ? -EFBIG
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Operands from the given one on, as many as there are results, are these. */
static int pass(struct hlo_inst *in, const struct hlo_leaves *l, unsigned int first,
		struct hlo_value *v)
{
	unsigned int n = 0;

	for (unsigned int i = first; n < l->n; i++) {
		if (i >= in->nin || in->in[i].n > l->n - n)
			return hlo_fail(in, -EINVAL, "the operands do not fit the results");
		for (unsigned int k = 0; k < in->in[i].n; k++, n++) {
			v->op[n] = in->in[i].op[k];
			if (!ncc_same_dims(&v->op[n]->shape, &l->shape[n]) ||
			    v->op[n]->shape.dtype != l->shape[n].dtype)
				return hlo_fail(in, -EINVAL, "the operands do not fit the results");
		}
	}
	return 0;
}

/* Operands without elements add nothing. */
int hlo_empty_concat(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run)
{
	unsigned int n = 0;

	(void)l;
	for (unsigned int i = 0; i < in->nin; i++)
		if (!is_empty(&in->in[i]))
			in->in[n++] = in->in[i];
	in->nin = n;
	return run(in, v);
}

int hlo_empty_pad(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v, hlo_run run)
{
	(void)run;
	return spread(in, l, &in->in[1], v);
}

/* A reduction, or a window, over no elements is the initial value. */
int hlo_empty_reduce(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run)
{
	struct ncc_op *init[HLO_MANY];
	struct hlo_value from = { .op = init };
	int n;

	(void)run;
	if (!in->nin || in->nin % 2)
		return hlo_fail(in, -EINVAL, "%u operands", in->nin);
	n = hlo_take_leaves(in, in->nin / 2, in->nin / 2, init);
	if (n < 0)
		return n;
	from.n = (unsigned int)n;
	return spread(in, l, &from, v);
}

/* Sums of no products */
int hlo_empty_product(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		      hlo_run run)
{
	(void)run;
	return zeros(in, l, v);
}

/* A scatter without updates gives its operands. Indices without a component are the importer's. */
int hlo_empty_scatter(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		      hlo_run run)
{
	return is_empty(&in->in[in->nin - 1]) ? pass(in, l, 0, v) : run(in, v);
}

int hlo_empty_gather(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run)
{
	(void)l;
	if (is_empty(&in->in[0]))
		return hlo_fail(in, -EINVAL, "gathers from an operand without elements");
	return run(in, v);
}

int hlo_empty_update(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		     hlo_run run)
{
	(void)run;
	return pass(in, l, 0, v);
}

int hlo_empty_select_and_scatter(struct hlo_inst *in, const struct hlo_leaves *l,
				 struct hlo_value *v, hlo_run run)
{
	(void)run;
	return spread(in, l, &in->in[2], v);
}

/* A decomposition of nothing succeeds: the numbers that say so are 0. */
int hlo_empty_custom_call(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
			  hlo_run run)
{
	(void)run;
	for (unsigned int i = 0; i < l->n; i++)
		if (ncc_is_float(l->shape[i].dtype) && ncc_elems(&l->shape[i]))
			return hlo_fail(in, -ENOTSUP,
					"of an operand without elements (target '%.80s')",
					in->p->custom_call_target);
	for (unsigned int i = 0; i < l->n; i++) {
		v->op[i] = ncc_elems(&l->shape[i]) ? build_splat(&in->b, &l->shape[i], 0)
						   : hlo_placeholder(in, &l->shape[i]);
		if (!v->op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

int hlo_empty_size(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
		   hlo_run run)
{
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;

	(void)run;
	if (d < 0 || d >= s->ndim || l->shape[0].ndim)
		return hlo_fail(in, -EINVAL, "bad dimension");
	v->op[0] = build_splat(&in->b, &l->shape[0], (double)s->dim[d]);
	return v->op[0] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

/* No bits leave the state as it is. */
int hlo_empty_random_bits(struct hlo_inst *in, const struct hlo_leaves *l, struct hlo_value *v,
			  hlo_run run)
{
	(void)run;
	if (l->n != 2 || !ncc_elems(&l->shape[0]) || in->in[0].n != 1)
		return hlo_fail(in, -EINVAL, "the result is no tuple of a state and bits");
	v->op[1] = hlo_placeholder(in, &l->shape[1]);
	return v->op[1] ? hlo_take_halves(in, 0, &v->op[0])
			: hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_of_empty(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const unsigned int least =
		in->rule->nin < 0 ? in->rule->least : (unsigned int)in->rule->nin;
	struct hlo_leaves l = { 0 };
	int rc = take_shapes(in, in->p->shape, &l) ?: allocate(in, &l, v);

	if (rc)
		return rc;
	for (unsigned int i = 0; l.without == l.n && i < l.n; i++) {
		v->op[i] = hlo_placeholder(in, &l.shape[i]);
		if (!v->op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	if (l.without == l.n)
		return 0;
	if (in->rule->empty)
		return in->nin < least ? hlo_fail(in, -EINVAL, "%u operands", in->nin)
				       : in->rule->empty(in, &l, v, run);
	return hlo_fail(in, -ENOTSUP, "of an operand or a result without elements");
}

int hlo_start_at_zero(struct hlo_inst *in, const struct ncc_shape *x, struct ncc_slices *s,
		      struct ncc_op **idx)
{
	struct ncc_shape one = (*idx)->shape;

	/* one slice of a known start needs none */
	if (!hlo_is_empty(*idx) || (one.ndim == 1 && !x->ndim))
		return 0;
	if (s->nmap || s->vector >= one.ndim || one.dim[s->vector] || !x->ndim)
		return hlo_fail(in, -ENOTSUP, "indices without elements");
	one.dim[s->vector] = 1;
	s->nmap = 1;
	s->map[0] = 0;
	*idx = build_splat(&in->b, &one, 0);
	return *idx ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

bool hlo_is_empty_array(const Ncc__Hlo__Shape *p)
{
	return p->element_type != HLO_TUPLE && is_empty_shape(p);
}

int hlo_empty_parameter(struct hlo_inst *in, struct hlo_value *v)
{
	struct hlo_leaves l = { 0 };
	int rc;

	for (unsigned int d = 0; d < in->p->shape->n_dimensions; d++)
		if (hlo_is_dynamic_dim(in->p->shape, d))
			return hlo_fail(in, -ENOTSUP,
					"a dynamic dimension of a value that has no elements");
	rc = take_shapes(in, in->p->shape, &l) ?: allocate(in, &l, v);
	for (unsigned int i = 0; !rc && i < l.n; i++) {
		v->op[i] = hlo_placeholder(in, &l.shape[i]);
		rc = v->op[i] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->complex = hlo_is_complex(in->p->shape->element_type);
	return rc;
}

int hlo_drop_empty(struct hlo_inst *in, struct hlo_value *v)
{
	struct hlo_value with = { .op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(*with.op)) };

	if (!with.op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < v->n; i++)
		if (!hlo_is_empty(v->op[i]))
			with.op[with.n++] = v->op[i];
	if (in->imp->m->out_source && with.n < v->n)
		return hlo_fail(in, -ENOTSUP,
				"results without elements beside such of dynamic dimensions");
	if (v->n && !with.n && !in->imp->effect)
		return hlo_fail(in, -ENOTSUP, "none of the module's results has elements");
	v->n = with.n;
	v->op = with.op;
	return 0;
}
