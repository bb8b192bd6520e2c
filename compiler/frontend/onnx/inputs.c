// SPDX-License-Identifier: MIT
/*
 * A model's inputs: their shapes, with what --input-shape and --input-value say of them, and the
 * sizes of dimensions that are bounded. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "model.h"
#include "values/ox.h"

/* The --input-shape or --input-value of an input */
static const struct ncc_input *asked(const struct onnx_import *imp, const char *name)
{
	for (unsigned int i = 0; i < imp->opt->ninputs; i++)
		if (!strcmp(imp->opt->input[i].name, name))
			return &imp->opt->input[i];
	return NULL;
}

static int unknown_dimension(struct onnx_import *imp, const Ncc__Onnx__ValueInfo *p, unsigned int i)
{
	const Ncc__Onnx__Dimension *d = p->type->tensor_type->shape->dim[i];
	const bool named = d->value_case == NCC__ONNX__DIMENSION__VALUE_DIM_PARAM;

	return ncc_fail(imp->err, -ENOTSUP,
			"input '%.100s': dimension %u (%.40s) is not known: give --input-shape",
			p->name, i, named ? d->dim_param : "without a name");
}

static int input_shape(struct onnx_import *imp, const Ncc__Onnx__ValueInfo *p,
		       const struct ncc_input *given, struct ncc_shape *s)
{
	const Ncc__Onnx__TensorType *t = p->type ? p->type->tensor_type : NULL;
	const Ncc__Onnx__TensorShape *shape = t ? t->shape : NULL;

	if (!t)
		return ncc_fail(imp->err, -ENOTSUP, "input '%.100s' is not a tensor", p->name);
	if (onnx_dtype(t->elem_type, s))
		return ncc_fail(imp->err, -ENOTSUP, "input '%.100s': type %s is not supported",
				p->name, onnx_type_name(t->elem_type));
	if (given && given->has_shape) {
		if (shape && shape->n_dim != given->ndim)
			return ncc_fail(imp->err, -EINVAL,
					"input '%.100s': rank %zu, --input-shape gives %u", p->name,
					shape->n_dim, given->ndim);
		s->ndim = given->ndim;
		memcpy(s->dim, given->dim, sizeof(s->dim));
	} else if (!shape || shape->n_dim > NCC_MAX_DIMS) {
		return ncc_fail(imp->err, -ENOTSUP, "input '%.100s': %s", p->name,
				shape ? "more than 8 dimensions" : "no shape: give --input-shape");
	}

	for (unsigned int i = 0; shape && i < shape->n_dim; i++) {
		const Ncc__Onnx__Dimension *d = shape->dim[i];
		/* Some exporters give -1 for a dimension that they leave open. */
		const bool known =
			d->value_case == NCC__ONNX__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0;

		if (!(given && given->has_shape) && known)
			s->dim[s->ndim++] = d->dim_value;
		else if (!(given && given->has_shape))
			return unknown_dimension(imp, p, i);
		else if (known && given->bounded[i])
			return ncc_fail(imp->err, -EINVAL,
					"input '%.100s': dimension %u is always %lld", p->name, i,
					(long long)d->dim_value);
		else if (known && d->dim_value != s->dim[i])
			return ncc_fail(imp->err, -EINVAL,
					"input '%.100s': dimension %u is %lld, --input-shape gives "
					"%lld",
					p->name, i, (long long)d->dim_value, (long long)s->dim[i]);
	}
	return 0;
}

static int input_value(struct onnx_import *imp, const struct ncc_input *given, struct ncc_op *op)
{
	int64_t n = ncc_elems(&op->shape);

	if ((size_t)n != given->nvalues)
		return ncc_fail(imp->err, -EINVAL,
				"input '%.100s': %lld elements, --input-value "
				"gives %zu",
				given->name, (long long)n, given->nvalues);
	op->kind = NCC_CONST;
	op->data = ncc_alloc_data(imp->m, (size_t)n * ncc_dtype_size(op->shape.dtype));
	if (!op->data)
		return ncc_no_memory(imp->err);
	for (int64_t i = 0; i < n; i++)
		ncc_set(op->shape.dtype, op->data, i, given->value[i]);
	return 0;
}

static bool is_empty(const struct ncc_shape *s)
{
	for (unsigned int i = 0; i < s->ndim; i++)
		if (!s->dim[i])
			return true;
	return false;
}

/* An input of 8-bit floats as the values that the model computes with */
static int widen_input(struct onnx_import *imp, struct onnx_value *v)
{
	struct ncc_build bl = { .m = imp->m, .err = imp->err, .name = v->op->name };

	v->op = build_cast(&bl, v->op, NEURON_DT_BF16);
	if (!v->op)
		return ncc_no_memory(imp->err);
	ncc_fold(imp->m, v->op);
	return 0;
}

/* The value of an input, which is bound whatever comes of it */
static int input_of(struct onnx_import *imp, const Ncc__Onnx__ValueInfo *p, struct onnx_value *v)
{
	const struct ncc_input *given = asked(imp, p->name);
	struct ncc_module *m = imp->m;
	struct ncc_op *op = ncc_op_new(m, NCC_PARAM, p->name, 0);
	int rc;

	if (!op)
		return ncc_no_memory(imp->err);
	rc = input_shape(imp, p, given, &op->shape);
	if (rc)
		return rc;

	v->type = p->type->tensor_type->elem_type;
	if (is_empty(&op->shape)) {
		v->empty = &op->shape;
		if (!given || !given->value || given->nvalues)
			return ncc_fail(imp->err, -ENOTSUP,
					"input '%.100s' is empty: it must be a constant "
					"(--input-value)",
					p->name);
		return 0;
	}

	rc = ncc_verify_op(op, imp->err);
	if (rc)
		return rc; /* of a shape that nothing can be computed with */
	v->op = op;
	if (onnx_float8(v->type))
		op->shape.dtype = onnx_float8(v->type)->dtype;
	if (given && given->value) {
		rc = input_value(imp, given, op);
	} else if (onnx_is_wide(v->type) && !imp->opt->narrow_64bit) {
		return ncc_fail(imp->err, -ENOTSUP,
				"input '%.100s' has type %s: 64-bit types need --narrow-64bit",
				p->name, onnx_type_name(v->type));
	} else {
		imp->narrowed = imp->narrowed || onnx_is_wide(v->type);
		op->index = m->nparams;
		m->params[m->nparams++] = op;
		ncc_op_append(m, op);
	}
	return rc || !onnx_float8(v->type) ? rc : widen_input(imp, v);
}

static int import_input(struct onnx_import *imp, const Ncc__Onnx__ValueInfo *p,
			struct onnx_scope *s)
{
	const struct ncc_build b = {
		.m = imp->m, .err = imp->err, .kind = "input", .name = p->name
	};
	struct onnx_value v = { .op = NULL };
	int rc = input_of(imp, p, &v);

	if (rc == -ENOMEM)
		return rc;
	v.unknown = rc;
	rc = rc ? ncc_obstacle(imp->obstacles, &b, p, NULL, rc) : 0;
	if (!rc && !onnx_bind(s, p->name, v))
		return ncc_fail(imp->err, -EINVAL, "input '%.100s' is defined twice", p->name);
	return rc;
}

/* A dimension of an input that the model leaves open */
struct open_dim {
	struct onnx_value *v;
	unsigned int input, d;
	const char *symbol; /* the model's name for it; dimensions of one name have one size */
	bool bounded; /* Somebody says the size when the model runs. */
	struct ncc_op *size;
};

static int64_t dim_of(const struct open_dim *o)
{
	return o->v->op->shape.dim[o->d];
}

/* The parameter that is its size, from 0 to the bound */
static struct ncc_op *size_parameter(struct onnx_node *n, const struct open_dim *o)
{
	struct ncc_module *m = n->imp->m;
	char *name = ncc_size_name(m, "input", o->input, o->d);
	struct ncc_op *op = name ? ncc_op_new(m, NCC_PARAM, name, 0) : NULL;

	if (!op) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return NULL;
	}
	op->shape = (struct ncc_shape){ .dtype = NEURON_DT_INT32 };
	op->index = m->nparams;
	m->params[m->nparams++] = op;
	ncc_op_append(m, op);
	return ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, op, 0), (double)dim_of(o));
}

/* The size of the dimensions that are called as number i is: the smallest that is said */
static struct ncc_op *common_size(struct onnx_node *n, const struct open_dim *open,
				  unsigned int count, unsigned int i)
{
	struct ncc_op *size = open[i].size;

	for (unsigned int k = 0; k < count && *open[i].symbol; k++) {
		if (k == i || strcmp(open[i].symbol, open[k].symbol))
			continue;
		if (!open[k].bounded)
			onnx_fail(n, -EINVAL, "dimension '%.40s' is bounded, and %lld in '%.80s'",
				  open[i].symbol, (long long)dim_of(&open[k]), open[k].v->op->name);
		else if (dim_of(&open[k]) != dim_of(&open[i]))
			onnx_fail(n, -EINVAL, "dimension '%.40s' has two bounds, %lld and %lld",
				  open[i].symbol, (long long)dim_of(&open[i]),
				  (long long)dim_of(&open[k]));
		else if (k < i) /* found with the first of that name */
			return open[k].v->size[open[k].d];
		else
			size = ox_bin(n, NCC_MIN, size, open[k].size);
	}
	return size;
}

/* The dimensions of such an input, which is a parameter of the module */
static void list_dims(const Ncc__Onnx__ValueInfo *p, const struct ncc_input *given,
		      struct onnx_value *v, unsigned int input, struct open_dim *open,
		      unsigned int *count)
{
	const Ncc__Onnx__TensorShape *shape = p->type->tensor_type->shape;

	for (unsigned int d = 0; given->has_shape && d < given->ndim; d++)
		open[(*count)++] = (struct open_dim){
			.v = v,
			.input = input,
			.d = d,
			.bounded = given->bounded[d],
			.symbol = shape && shape->dim[d]->value_case ==
							  NCC__ONNX__DIMENSION__VALUE_DIM_PARAM
					  ? shape->dim[d]->dim_param
					  : "",
		};
}

/*
 * Dimensions that --input-shape bounds have sizes, more inputs of the model behind its own. Those
 * that the model gives one name have one size.
 */
static int bound_dims(struct onnx_import *imp, struct open_dim *open, unsigned int count)
{
	struct onnx_node n = { .imp = imp };

	n.b = (struct ncc_build){
		.m = imp->m, .err = imp->err, .kind = "input", .const_bytes = &imp->const_bytes
	};
	for (unsigned int i = 0; i < count && !n.rc; i++) {
		n.b.name = open[i].v->op->name;
		if (open[i].bounded)
			open[i].size = size_parameter(&n, &open[i]);
	}
	for (unsigned int i = 0; i < count && !n.rc; i++) {
		n.b.name = open[i].v->op->name;
		if (open[i].bounded)
			open[i].v->size[open[i].d] = common_size(&n, open, count, i);
	}
	return n.rc;
}

/* Every name that an option gives must be an input */
static int check_asked(struct onnx_import *imp, const Ncc__Onnx__Graph *g)
{
	for (unsigned int i = 0; i < imp->opt->ninputs; i++) {
		bool found = false;

		for (size_t k = 0; k < g->n_input; k++)
			found = found || !strcmp(g->input[k]->name, imp->opt->input[i].name);
		if (!found)
			return ncc_fail(imp->err, -EINVAL, "the model has no input '%.100s'",
					imp->opt->input[i].name);
	}
	return 0;
}

int onnx_import_inputs(struct onnx_import *imp, const Ncc__Onnx__Graph *g, struct onnx_scope *s)
{
	struct open_dim *open = ncc_alloc(imp->m, (g->n_input * NCC_MAX_DIMS + 1) * sizeof(*open));
	unsigned int count = 0;
	int rc = open ? check_asked(imp, g) : ncc_no_memory(imp->err);

	for (size_t i = 0; i < g->n_input && !rc; i++) {
		const Ncc__Onnx__ValueInfo *p = g->input[i];
		const unsigned int number = imp->m->nparams;
		const struct ncc_input *given = asked(imp, p->name);

		if (onnx_lookup(s, p->name)) /* initializers may be listed as inputs */
			continue;
		rc = import_input(imp, p, s);
		if (!rc && given && imp->m->nparams > number)
			list_dims(p, given, &onnx_lookup(s, p->name)->v, number, open, &count);
	}
	return rc ?: bound_dims(imp, open, count);
}
