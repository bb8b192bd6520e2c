// SPDX-License-Identifier: MIT
/*
 * Operations that HLO has with other attributes: those whose sizes are operands, which have to be
 * constant here or follow from the result's type, and torch_index_select. Each becomes another
 * operation of StableHLO, which is converted.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

#define MOST_MORE 8 /* attributes that are added */
#define MOST_RANK 64

/* The operation that stands for another one */
struct other {
	struct mlir_op op;
	const char **names;
	const struct mlir_attr **attrs;
};

static int begin(struct scope *s, const struct mlir_op *op, const char *name, struct other *o)
{
	const size_t n = op->nattrs + MOST_MORE;

	o->op = *op;
	o->op.name = name;
	o->names = convert_alloc(s->v, n, sizeof(*o->names));
	o->attrs = convert_alloc(s->v, n, sizeof(*o->attrs));
	if (!o->names || !o->attrs)
		return -ENOMEM;
	if (op->nattrs) {
		memcpy(o->names, op->names, op->nattrs * sizeof(*o->names));
		memcpy(o->attrs, op->attrs, op->nattrs * sizeof(*o->attrs));
	}
	o->op.names = o->names;
	o->op.attrs = o->attrs;
	return 0;
}

/* Adds an attribute, or puts it in the place of one of its name: the oldest dynamic_conv has a
 * padding that is not used. */
static void add(struct other *o, const char *name, const struct mlir_attr *a)
{
	for (size_t i = 0; i < o->op.nattrs; i++)
		if (!strcmp(o->names[i], name)) {
			o->attrs[i] = a;
			return;
		}
	o->names[o->op.nattrs] = name;
	o->attrs[o->op.nattrs++] = a;
}

static int add_int(struct scope *s, struct other *o, const char *name, int64_t v)
{
	struct mlir_attr *a = convert_alloc(s->v, 1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->kind = MLIR_INTEGER;
	a->integer = v;
	add(o, name, a);
	return 0;
}

/* like: a type with the list's shape, or NULL: it has one dimension */
static int add_list(struct scope *s, struct other *o, const char *name, size_t n,
		    const int64_t *list, const struct mlir_type *like)
{
	struct mlir_type *t = convert_alloc(s->v, 1, sizeof(*t));
	struct mlir_attr *a = convert_alloc(s->v, 1, sizeof(*a));
	int64_t *dim = convert_alloc(s->v, 1, sizeof(*dim));

	if (!t || !a || !dim)
		return -ENOMEM;
	*dim = (int64_t)n;
	*t = (struct mlir_type){ .kind = MLIR_TENSOR,
				 .name = "i64",
				 .number = HLO_S64,
				 .ndim = like ? like->ndim : 1,
				 .dim = like ? like->dim : dim };
	a->kind = MLIR_DENSE;
	a->type = t;
	a->data = (const uint8_t *)list;
	a->size = n * sizeof(*list);
	add(o, name, a);
	return 0;
}

/* For each dynamic operation the static one, its operands, and what the others become, in order */
static const struct {
	const char *name, *other;
	size_t nin, more;
	const char *attrs[3];
} forms[] = {
	{ "dynamic_conv", "convolution", 2, 1, { "padding" } },
	{ "dynamic_gather", "gather", 2, 1, { "slice_sizes" } },
	{ "dynamic_pad",
	  "pad",
	  2,
	  3,
	  { "edge_padding_low", "edge_padding_high", "interior_padding" } },
	{ "real_dynamic_slice", "slice", 1, 3, { "start_indices", "limit_indices", "strides" } },
};

int whole_computed(struct scope *s, const struct mlir_op *op)
{
	struct other o;
	unsigned int k = 0;
	int rc;

	while (strcmp(forms[k].name, op->name))
		k++;
	if (op->nin != forms[k].nin + forms[k].more)
		return convert_fail(s, -EINVAL, "%zu operands, expected %zu", op->nin,
				    forms[k].nin + forms[k].more);
	rc = begin(s, op, forms[k].other, &o);
	for (size_t i = 0; !rc && i < forms[k].more; i++) {
		const struct mlir_value *value = op->in[forms[k].nin + i];
		int64_t *list;
		size_t n;

		if (!fold_list(value, &n, &list))
			return convert_fail(s, -ENOTSUP,
					    "operand %zu (%s) is computed: it has to be constant",
					    forms[k].nin + i, forms[k].attrs[i]);
		rc = add_list(s, &o, forms[k].attrs[i], n, list, value->type);
	}
	o.op.nin = forms[k].nin;
	return rc ? rc : s->v->op(s, &o.op);
}

/* Numbers from first on */
static int64_t *count(struct scope *s, size_t n, int64_t first)
{
	int64_t *list = convert_alloc(s->v, n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++)
		list[i] = first + (int64_t)i;
	return list;
}

/* The result has the operand's dimensions, the indices' but the shared ones in place of dim. */
static int add_selection(struct scope *s, struct other *o, int64_t dim, int64_t shared)
{
	const struct mlir_type *x = o->op.in[0]->type, *i = o->op.in[1]->type;
	int64_t *sizes = count(s, x->ndim, 0), *batch = count(s, (size_t)shared, 0),
		*offset = count(s, x->ndim, 0), *at = count(s, 1, dim);
	const unsigned int taken = i->ndim - (unsigned int)shared;
	size_t n = 0;

	if (!sizes || !batch || !offset || !at)
		return -ENOMEM;
	for (unsigned int d = 0; d < x->ndim; d++) {
		sizes[d] = d == dim || d < shared ? 1 : x->dim[d];
		if (d >= shared && d != dim)
			offset[n++] = d < dim ? d : d - 1 + taken;
	}
	return add_list(s, o, "offset_dims", n, offset, NULL)
	       ?: add_list(s, o, "collapsed_slice_dims", 1, at, NULL)
	       ?: add_list(s, o, "start_index_map", 1, at, NULL)
	       ?: add_list(s, o, "operand_batching_dims", (size_t)shared, batch, NULL)
	       ?: add_list(s, o, "start_indices_batching_dims", (size_t)shared, batch, NULL)
	       ?: add_list(s, o, "slice_sizes", x->ndim, sizes, NULL)
	       ?: add_int(s, o, "index_vector_dim", i->ndim);
}

int whole_index_select(struct scope *s, const struct mlir_op *op)
{
	const struct mlir_type *x = op->in[0]->type, *i = op->in[1]->type;
	int64_t dim = 0, shared = 0;
	struct other o;
	int rc = attr_int(s, op, "dim", &dim) ?: attr_int(s, op, "batch_dims", &shared);

	if (rc)
		return rc;
	if (x->kind != MLIR_TENSOR || i->kind != MLIR_TENSOR || x->ndim > MOST_RANK || shared < 0 ||
	    shared > i->ndim || shared > dim || dim >= x->ndim)
		return convert_fail(s, -EINVAL, "dim %lld and batch_dims %lld do not fit",
				    (long long)dim, (long long)shared);
	rc = begin(s, op, "gather", &o) ?: add_selection(s, &o, dim, shared);
	return rc ? rc : s->v->op(s, &o.op);
}
