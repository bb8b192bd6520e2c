// SPDX-License-Identifier: MIT
/*
 * Sizes beside values (sizes.h): masks, what loops and conditionals pass on, and what the module
 * takes and gives. Part of the HLO front end.
 */
#include "sizes.h"

#include <errno.h>
#include <string.h>

#include "complex.h"
#include "operations.h"

static const struct ncc_shape scalar = { .dtype = NEURON_DT_INT32 };

struct ncc_op *hlo_fixed_size(struct hlo_inst *in, int64_t n)
{
	return build_splat(&in->b, &scalar, (double)n);
}

struct ncc_op *hlo_size(const struct hlo_inst *in, unsigned int i, int64_t d)
{
	return i < in->nin && in->in[i].size && d >= 0 && d < NCC_MAX_DIMS
		       ? in->in[i].size[0].dim[d]
		       : NULL;
}

struct ncc_op *hlo_size_or_bound(struct hlo_inst *in, unsigned int i, unsigned int d)
{
	return hlo_size(in, i, d) ?: hlo_fixed_size(in, in->in[i].op[0]->shape.dim[d]);
}

struct ncc_op *hlo_smaller(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b)
{
	return sizes_both(&(struct ncc_follow){ .bl = &in->b }, a, b);
}

void hlo_merge_sizes(struct hlo_inst *in, unsigned int first, unsigned int n, struct hlo_sizes *to)
{
	memset(to, 0, sizeof(*to));
	for (unsigned int i = first; i < first + n; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			to->dim[d] = hlo_smaller(in, to->dim[d], hlo_size(in, i, d));
}

bool hlo_is_sized(const struct hlo_value *v)
{
	for (unsigned int i = 0; v->size && i < v->n; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (v->size[i].dim[d])
				return true;
	return false;
}

int hlo_give_sizes(struct hlo_inst *in, struct hlo_value *v, const struct hlo_sizes *s)
{
	v->size = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(*v->size));
	if (!v->size)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < v->n; i++)
		for (unsigned int d = 0; d < v->op[i]->shape.ndim; d++)
			v->size[i].dim[d] = s->dim[d];
	return 0;
}

int hlo_following(struct hlo_inst *in, const struct ncc_shape *shape, struct ncc_follow *f)
{
	struct ncc_op *op = ncc_op_new(in->imp->m, in->rule->kind, NULL, in->nin);
	struct ncc_sizes *of = ncc_alloc(in->imp->m, (in->nin + 1) * sizeof(*of));

	if (!op || !of)
		return hlo_fail(in, -ENOMEM, "out of memory");
	op->shape = *shape;
	for (unsigned int i = 0; i < in->nin; i++) {
		op->in[i] = in->in[i].op[0];
		of[i] = sizes_of(&op->in[i]->shape, in->in[i].size ? in->in[i].size[0].dim : NULL);
	}
	*f = (struct ncc_follow){ .bl = &in->b, .op = op, .in = of, .clamped = true };
	return in->rule->attrs ? in->rule->attrs(in, op) : 0;
}

int hlo_follow(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_follow f;
	struct hlo_sizes s = { 0 };
	int rc = hlo_following(in, &v->op[0]->shape, &f);

	if (!rc && !sizes_follow(&f, s.dim))
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

struct ncc_op *hlo_inside(struct hlo_inst *in, const struct ncc_shape *shape, unsigned int d,
			  struct ncc_op *size)
{
	struct ncc_sizes s = sizes_of(shape, NULL);

	s.size[d] = size;
	return sizes_there(&in->b, &s, 1u << d);
}

/* x with `with`, a scalar, beyond the size of dimension d */
static struct ncc_op *filled(struct hlo_inst *in, struct ncc_op *x, unsigned int d,
			     struct ncc_op *size, struct ncc_op *with)
{
	struct ncc_sizes s = sizes_of(&x->shape, NULL);

	s.size[d] = size;
	return sizes_filled(&in->b, x, &s, 1u << d, with);
}

int hlo_fill(struct hlo_inst *in, unsigned int i, unsigned int d, struct ncc_op *size,
	     struct ncc_op *const *with)
{
	struct hlo_value *v = &in->in[i];
	struct ncc_op **op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));

	for (unsigned int k = 0; op && k < v->n; k++) {
		if (d >= v->op[k]->shape.ndim)
			return hlo_fail(in, -EINVAL, "operand %u has no dimension %u", i, d);
		if (with[k]->shape.ndim || with[k]->shape.dtype != v->op[k]->shape.dtype)
			return hlo_fail(in, -EINVAL,
					"what fills operand %u is no scalar of its type", i);
		op[k] = filled(in, v->op[k], d, size, with[k]);
		if (!op[k])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->op = op;
	return op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_fill_number(struct hlo_inst *in, unsigned int i, unsigned int d, struct ncc_op *size,
		    double number)
{
	struct ncc_op *with[2];

	for (unsigned int k = 0; k < in->in[i].n; k++) {
		struct ncc_shape s = in->in[i].op[k]->shape;

		s.ndim = 0;
		if (k == 2)
			return hlo_fail(in, -EINVAL, "operand %u is a tuple", i);
		with[k] = build_splat(&in->b, &s, number);
		if (!with[k])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return hlo_fill(in, i, d, size, with);
}

int hlo_refuse_size(struct hlo_inst *in, unsigned int i, unsigned int d)
{
	return hlo_fail(in, -ENOTSUP,
			"dimension %u of operand %u is dynamic, which is not supported here", d, i);
}

/* Marks the dynamic dimensions of the shape's arrays, whose first leaf is the given one. */
static void mark(const Ncc__Hlo__Shape *p, struct hlo_layout *l, unsigned int *leaf)
{
	const unsigned int n = p->element_type == HLO_TUPLE ? 0 : hlo_leaves(p);

	for (size_t i = 0; p->element_type == HLO_TUPLE && i < p->n_tuple_shapes; i++)
		mark(p->tuple_shapes[i], l, leaf);
	for (unsigned int k = 0; k < n && *leaf < l->leaves; k++, ++*leaf)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			l->dims[*leaf] |= (uint32_t)hlo_is_dynamic_dim(p, d) << d;
}

int hlo_layout(struct hlo_inst *in, const Ncc__Hlo__Shape *p, const struct hlo_value *v,
	       struct hlo_layout *l)
{
	unsigned int leaf = 0;

	l->leaves = v ? v->n : hlo_leaves(p);
	l->sizes = 0;
	if (l->leaves > NCC_MAX_OPS)
		return hlo_fail(in, -EFBIG, "more than %d tuple elements", NCC_MAX_OPS);
	l->dims = ncc_alloc(in->imp->m, (l->leaves + 1) * sizeof(*l->dims));
	if (!l->dims)
		return hlo_fail(in, -ENOMEM, "out of memory");
	mark(p, l, &leaf);
	for (unsigned int i = 0; i < l->leaves; i++) {
		for (unsigned int d = 0; v && v->size && d < NCC_MAX_DIMS; d++)
			l->dims[i] |= (uint32_t)(v->size[i].dim[d] != NULL) << d;
		l->sizes += (unsigned int)__builtin_popcount(l->dims[i]);
	}
	return 0;
}

int hlo_pack(struct hlo_inst *in, const struct hlo_layout *l, struct hlo_value *v)
{
	struct ncc_op **op;
	unsigned int n = l->leaves;

	if (v->unknown || (!l->sizes && !v->size))
		return 0;
	if (v->n != l->leaves)
		return hlo_fail(in, -EINVAL, "a computation has %u results, expected %u", v->n,
				l->leaves);
	op = ncc_alloc(in->imp->m, (l->leaves + l->sizes + 1) * sizeof(struct ncc_op *));
	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < l->leaves; i++) {
		op[i] = v->op[i];
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++) {
			struct ncc_op *size = v->size ? v->size[i].dim[d] : NULL;

			if (size && !(l->dims[i] >> d & 1))
				return hlo_fail(in, -ENOTSUP,
						"dimension %u of result %u of a computation is "
						"dynamic, "
						"that of its shape is not",
						d, i);
			if (!(l->dims[i] >> d & 1))
				continue;
			if (d >= op[i]->shape.ndim)
				return hlo_fail(in, -EINVAL, "result %u has no dimension %u", i, d);
			op[n] = size ?: hlo_fixed_size(in, op[i]->shape.dim[d]);
			if (!op[n++])
				return hlo_fail(in, -ENOMEM, "out of memory");
		}
	}
	v->op = op;
	v->n = n;
	v->size = NULL;
	return 0;
}

int hlo_unpack(struct hlo_inst *in, const struct hlo_layout *l, struct hlo_value *v)
{
	unsigned int n = l->leaves;

	if (!l->sizes || v->unknown)
		return 0;
	v->size = ncc_alloc(in->imp->m, (l->leaves + 1) * sizeof(*v->size));
	if (!v->size)
		return hlo_fail(in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < l->leaves; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (l->dims[i] >> d & 1)
				v->size[i].dim[d] = v->op[n++];
	v->n = l->leaves;
	return 0;
}

unsigned int hlo_count_sizes(const Ncc__Hlo__Computation *c)
{
	unsigned int n = 0;

	for (size_t i = 0; i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *p = c->instructions[i];

		for (size_t d = 0; !strcmp(p->opcode, "parameter") && p->shape &&
				   d < p->shape->n_is_dynamic_dimension;
		     d++)
			n += p->shape->is_dynamic_dimension[d] != 0;
	}
	return n;
}

int hlo_size_parameter(struct hlo_inst *in, unsigned int number, struct hlo_value *arg)
{
	const Ncc__Hlo__Shape *p = in->p->shape;
	struct ncc_module *m = in->imp->m;
	struct hlo_sizes s = { 0 };
	bool any = false;

	for (unsigned int d = 0; d < p->n_dimensions; d++) {
		struct ncc_op *op;
		char *name;

		if (!hlo_is_dynamic_dim(p, d))
			continue;
		name = ncc_size_name(m, "input", number, d);
		op = name ? ncc_op_new(m, NCC_PARAM, name, 0) : NULL;
		if (!op)
			return hlo_fail(in, -ENOMEM, "out of memory");
		op->shape = scalar;
		op->index = m->nparams;
		m->params[m->nparams++] = op;
		ncc_op_append(m, op);
		s.dim[d] = sizes_clamped(&in->b, op, p->dimensions[d]);
		if (!s.dim[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
		any = true;
	}
	return any ? hlo_give_sizes(in, arg, &s) : 0;
}

/* v's leaves with zeros beyond their sizes */
static int fill_results(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op **op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));

	for (unsigned int i = 0; op && i < v->n; i++) {
		struct ncc_shape s = v->op[i]->shape;

		s.ndim = 0;
		op[i] = v->op[i];
		for (unsigned int d = 0; op[i] && d < NCC_MAX_DIMS; d++)
			if (v->size[i].dim[d])
				op[i] = filled(in, op[i], d, v->size[i].dim[d],
					       build_splat(&in->b, &s, 0));
		if (!op[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	v->op = op;
	return op ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

static void say_size(struct hlo_inst *in, unsigned int i, unsigned int d, int64_t bound,
		     unsigned int number)
{
	const struct ncc_options *opt = in->imp->opt;
	char line[200];

	snprintf(line, sizeof(line),
		 "output%u: the data say how many of the %lld of dimension %u there are; output%u "
		 "is that number, and the others are 0",
		 i, (long long)bound, d, number);
	if (opt->warn)
		opt->warn(opt->opaque, line);
}

/* Appends the sizes of the outputs, whose leaves (two of a complex one) are in `of`. */
static int append_sizes(struct hlo_inst *in, const Ncc__Hlo__Shape *p, const struct hlo_value *of,
			unsigned int *leaf, unsigned int *number, struct hlo_value *v)
{
	struct ncc_module *m = in->imp->m;

	if (p->element_type == HLO_TUPLE) {
		for (size_t i = 0; i < p->n_tuple_shapes; i++) {
			int rc = append_sizes(in, p->tuple_shapes[i], of, leaf, number, v);

			if (rc)
				return rc;
		}
		return 0;
	}
	if (*leaf >= of->n)
		return hlo_fail(in, -EINVAL, "the tuple has fewer elements than its shape");
	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++) {
		if (!of->size[*leaf].dim[d])
			continue;
		say_size(in, *number, d, of->op[*leaf]->shape.dim[d], v->n);
		m->out_source[v->n] = ncc_size_name(m, "output", *number, d);
		if (!m->out_source[v->n])
			return hlo_fail(in, -ENOMEM, "out of memory");
		v->op[v->n++] = of->size[*leaf].dim[d];
	}
	*leaf += hlo_leaves(p);
	++*number;
	return 0;
}

int hlo_results(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_module *m = in->imp->m;
	const bool sized = hlo_is_sized(v);
	unsigned int leaf = 0, number = 0;
	struct hlo_value of, with;
	int rc = sized ? fill_results(in, v) : 0;

	of = *v;
	rc = rc ? rc : hlo_complex_results(in, v);
	if (rc || !sized)
		return rc;
	with = (struct hlo_value){ .n = v->n };
	with.op = ncc_alloc(m, (v->n + NCC_MAX_DIMS * of.n) * sizeof(struct ncc_op *));
	m->out_source = ncc_alloc(m, (v->n + NCC_MAX_DIMS * of.n) * sizeof(*m->out_source));
	if (!with.op || !m->out_source)
		return hlo_fail(in, -ENOMEM, "out of memory");
	memcpy(with.op, v->op, v->n * sizeof(struct ncc_op *));
	rc = append_sizes(in, in->p->shape, &of, &leaf, &number, &with);
	*v = with;
	return rc;
}
