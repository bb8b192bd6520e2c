// SPDX-License-Identifier: MIT
/* Fields of HLO's instructions besides operands, from the attributes of StableHLO's operations */
#include <errno.h>
#include <string.h>

#include "convert.h"

static int no_memory(struct scope *s)
{
	return ncc_no_memory(s->v->err);
}

/* The index of a word in a list that ends with NULL; -EINVAL and an error: it is not there */
int fields_word(struct scope *s, const struct mlir_op *op, const char *name,
		const char *const *words)
{
	const char *text = "";
	int rc = attr_text(s, op, name, &text), i = 0;

	while (!rc && words[i] && strcmp(words[i], text))
		i++;
	if (rc || words[i])
		return rc ? rc : i;
	return convert_fail(s, -EINVAL, "its attribute %s is '%.40s'", name, text);
}

static int list(struct scope *s, const struct mlir_op *op, const char *name, hlo_instruction *p)
{
	return attr_list(s, op, name, &p->n_dimensions, &p->dimensions);
}

static int one(struct scope *s, const struct mlir_op *op, const char *name, hlo_instruction *p)
{
	int64_t v = 0;
	int rc = attr_int(s, op, name, &v);

	p->dimensions = convert_alloc(s->v, 1, sizeof(*p->dimensions));
	if (rc || !p->dimensions)
		return rc ? rc : no_memory(s);
	p->dimensions[0] = v;
	p->n_dimensions = 1;
	return 0;
}

int fields_dimensions(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return list(s, op, "dimensions", p);
}

int fields_permutation(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return list(s, op, "permutation", p);
}

int fields_concatenate(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return one(s, op, "dimension", p);
}

int fields_iota(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return one(s, op, "iota_dimension", p);
}

int fields_batch_norm(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_attr *epsilon = mlir_attr_of(op, "epsilon");

	if (!epsilon || epsilon->kind != MLIR_FLOAT)
		return convert_fail(s, -EINVAL, "its attribute epsilon is not a number");
	p->epsilon = (float)epsilon->real;
	return attr_int(s, op, "feature_index", &p->feature_index);
}

/* The operand's dimensions are the result's last ones. */
int fields_broadcast(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct mlir_type *t = op->in[0]->type, *to = op->out[0].type;

	if (t->kind != MLIR_TENSOR || to->kind != MLIR_TENSOR || t->ndim > to->ndim)
		return convert_fail(s, -EINVAL, "a result of fewer dimensions than its operand");
	p->n_dimensions = t->ndim;
	p->dimensions = convert_alloc(s->v, t->ndim + 1, sizeof(*p->dimensions));
	for (unsigned int i = 0; p->dimensions && i < t->ndim; i++)
		p->dimensions[i] = to->ndim - t->ndim + i;
	return p->dimensions ? 0 : no_memory(s);
}

int fields_cholesky(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__CholeskyOptions *o = convert_alloc(s->v, 1, sizeof(*o));
	bool lower = false;
	int rc = attr_bool(s, op, "lower", &lower);

	if (rc || !o)
		return rc ? rc : no_memory(s);
	ncc__hlo__cholesky_options__init(o);
	o->lower = lower;
	p->cholesky_options = o;
	return 0;
}

int fields_triangular_solve(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const kinds[] = { "INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT",
					     NULL };
	Ncc__Hlo__TriangularSolveOptions *o = convert_alloc(s->v, 1, sizeof(*o));
	bool left = false, lower = false, unit = false;
	int rc = attr_bool(s, op, "left_side", &left) ?: attr_bool(s, op, "lower", &lower)
		 ?: attr_bool(s, op, "unit_diagonal", &unit);
	const int kind = rc ? 0 : fields_word(s, op, "transpose_a", kinds);

	if (rc || kind < 0 || !o)
		return rc ? rc : kind < 0 ? kind : no_memory(s);
	ncc__hlo__triangular_solve_options__init(o);
	o->left_side = left;
	o->lower = lower;
	o->unit_diagonal = unit;
	o->transpose_a = kind;
	p->triangular_solve_options = o;
	return 0;
}

int fields_compare(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const char *direction = "", *type = "";
	int rc = attr_text(s, op, "comparison_direction", &direction)
			 ?: attr_text(s, op, "compare_type", &type);

	p->comparison_direction = (char *)(uintptr_t)direction;
	p->comparison_type = (char *)(uintptr_t)(strcmp(type, "NOTYPE") ? type : "");
	return rc;
}

int fields_tuple_element(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return attr_int(s, op, "index", &p->tuple_index);
}

static Ncc__Hlo__DotDimensionNumbers *dot_numbers(struct scope *s, hlo_instruction *p)
{
	Ncc__Hlo__DotDimensionNumbers *d = convert_alloc(s->v, 1, sizeof(*d));

	if (d)
		ncc__hlo__dot_dimension_numbers__init(d);
	p->dot_dimension_numbers = d;
	return d;
}

int fields_dot_general(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__DotDimensionNumbers *d = dot_numbers(s, p);

	if (!d)
		return no_memory(s);
	return attr_list(s, op, "lhs_contracting_dimensions", &d->n_lhs_contracting_dimensions,
			 &d->lhs_contracting_dimensions)
	       ?: attr_list(s, op, "rhs_contracting_dimensions", &d->n_rhs_contracting_dimensions,
			    &d->rhs_contracting_dimensions)
	       ?: attr_list(s, op, "lhs_batching_dimensions", &d->n_lhs_batch_dimensions,
			    &d->lhs_batch_dimensions)
	       ?: attr_list(s, op, "rhs_batching_dimensions", &d->n_rhs_batch_dimensions,
			    &d->rhs_batch_dimensions);
}

/* The last dimension of the left one, the first of the right one */
int fields_dot(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__DotDimensionNumbers *d = dot_numbers(s, p);
	const unsigned int ndim = op->in[0]->type->ndim;
	int64_t *dims = convert_alloc(s->v, 2, sizeof(*dims));

	if (!d || !dims)
		return no_memory(s);
	if (!ndim)
		return convert_fail(s, -EINVAL, "a product of a scalar");
	dims[0] = ndim - 1;
	d->n_lhs_contracting_dimensions = d->n_rhs_contracting_dimensions = 1;
	d->lhs_contracting_dimensions = &dims[0];
	d->rhs_contracting_dimensions = &dims[1];
	return 0;
}

int fields_add_slice(struct scope *s, hlo_instruction *p, int64_t start, int64_t limit,
		     int64_t stride)
{
	Ncc__Hlo__SliceDimensions *d = convert_alloc(s->v, 1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	ncc__hlo__slice_dimensions__init(d);
	d->start = start;
	d->limit = limit;
	d->stride = stride;
	p->slice_dimensions[p->n_slice_dimensions++] = d;
	return 0;
}

int fields_slice(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	int64_t *start, *limit, *stride;
	size_t n, m, k;
	int rc = attr_list(s, op, "start_indices", &n, &start)
		 ?: attr_list(s, op, "limit_indices", &m, &limit)
		 ?: attr_list(s, op, "strides", &k, &stride);

	if (rc)
		return rc;
	if (n != m || (k && k != n))
		return convert_fail(s, -EINVAL, "%zu starts, %zu limits, %zu strides", n, m, k);
	p->slice_dimensions = convert_alloc(s->v, n + 1, sizeof(*p->slice_dimensions));
	rc = p->slice_dimensions ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = fields_add_slice(s, p, start[i], limit[i], k ? stride[i] : 1);
	return rc;
}

int fields_dynamic_slice(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	return attr_list(s, op, "slice_sizes", &p->n_dynamic_slice_sizes, &p->dynamic_slice_sizes);
}

int fields_pad(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__PaddingConfig *c = convert_alloc(s->v, 1, sizeof(*c));
	int64_t *low, *high, *interior;
	size_t n, m, k;
	int rc = attr_list(s, op, "edge_padding_low", &n, &low)
		 ?: attr_list(s, op, "edge_padding_high", &m, &high)
		 ?: attr_list(s, op, "interior_padding", &k, &interior);

	if (rc || !c)
		return rc ? rc : -ENOMEM;
	if (n != m || (k && k != n))
		return convert_fail(s, -EINVAL, "lists of padding of %zu, %zu and %zu numbers", n,
				    m, k);
	ncc__hlo__padding_config__init(c);
	c->dimensions = convert_alloc(s->v, n + 1, sizeof(*c->dimensions));
	for (size_t i = 0; c->dimensions && i < n; i++) {
		Ncc__Hlo__PaddingConfigDimension *d = convert_alloc(s->v, 1, sizeof(*d));

		if (!d)
			return -ENOMEM;
		ncc__hlo__padding_config_dimension__init(d);
		d->edge_padding_low = low[i];
		d->edge_padding_high = high[i];
		d->interior_padding = k ? interior[i] : 0;
		c->dimensions[c->n_dimensions++] = d;
	}
	p->padding_config = c;
	return c->dimensions ? 0 : -ENOMEM;
}

int fields_gather(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__GatherDimensionNumbers *g = convert_alloc(s->v, 1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	ncc__hlo__gather_dimension_numbers__init(g);
	p->gather_dimension_numbers = g;
	return attr_list(s, op, "offset_dims", &g->n_offset_dims, &g->offset_dims)
	       ?: attr_list(s, op, "collapsed_slice_dims", &g->n_collapsed_slice_dims,
			    &g->collapsed_slice_dims)
	       ?: attr_list(s, op, "start_index_map", &g->n_start_index_map, &g->start_index_map)
	       ?: attr_list(s, op, "operand_batching_dims", &g->n_operand_batching_dims,
			    &g->operand_batching_dims)
	       ?: attr_list(s, op, "start_indices_batching_dims", &g->n_start_indices_batching_dims,
			    &g->start_indices_batching_dims)
	       ?: attr_int(s, op, "index_vector_dim", &g->index_vector_dim)
	       ?: attr_list(s, op, "slice_sizes", &p->n_gather_slice_sizes, &p->gather_slice_sizes);
}

int fields_scatter(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	Ncc__Hlo__ScatterDimensionNumbers *d = convert_alloc(s->v, 1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	ncc__hlo__scatter_dimension_numbers__init(d);
	p->scatter_dimension_numbers = d;
	return attr_list(s, op, "update_window_dims", &d->n_update_window_dims,
			 &d->update_window_dims)
	       ?: attr_list(s, op, "inserted_window_dims", &d->n_inserted_window_dims,
			    &d->inserted_window_dims)
	       ?: attr_list(s, op, "scatter_dims_to_operand_dims",
			    &d->n_scatter_dims_to_operand_dims, &d->scatter_dims_to_operand_dims)
	       ?: attr_list(s, op, "input_batching_dims", &d->n_input_batching_dims,
			    &d->input_batching_dims)
	       ?: attr_list(s, op, "scatter_indices_batching_dims",
			    &d->n_scatter_indices_batching_dims,
			    &d->scatter_indices_batching_dims)
	       ?: attr_int(s, op, "index_vector_dim", &d->index_vector_dim);
}

int fields_sort(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	bool stable = false;
	int rc = one(s, op, "dimension", p) ?: attr_bool(s, op, "is_stable", &stable);

	/* StableHLO counts from the end if the number is negative. */
	if (!rc && p->dimensions[0] < 0 && op->nin)
		p->dimensions[0] += op->in[0]->type->ndim;
	p->is_stable = stable;
	return rc;
}

int fields_fft(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const kinds[] = { "FFT", "IFFT", "RFFT", "IRFFT", NULL };

	p->fft_type = fields_word(s, op, "fft_type", kinds);
	if (p->fft_type < 0)
		return p->fft_type;
	return attr_list(s, op, "fft_length", &p->n_fft_length, &p->fft_length);
}

int fields_precision(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	int64_t exponent = 0, mantissa = 0;
	int rc = attr_int(s, op, "exponent_bits", &exponent)
			 ?: attr_int(s, op, "mantissa_bits", &mantissa);

	if (!rc && (exponent != (int32_t)exponent || mantissa != (int32_t)mantissa))
		rc = convert_fail(s, -EINVAL, "%lld and %lld bits", (long long)exponent,
				  (long long)mantissa);
	p->exponent_bits = (int32_t)exponent;
	p->mantissa_bits = (int32_t)mantissa;
	return rc;
}

int fields_rng(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const kinds[] = { "", "UNIFORM", "NORMAL", NULL };

	p->distribution = fields_word(s, op, "rng_distribution", kinds);
	return p->distribution < 0 ? p->distribution : 0;
}

int fields_rng_bits(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	static const char *const kinds[] = { "DEFAULT", "THREE_FRY", "PHILOX", NULL };

	p->rng_algorithm = fields_word(s, op, "rng_algorithm", kinds);
	return p->rng_algorithm < 0 ? p->rng_algorithm : 0;
}
