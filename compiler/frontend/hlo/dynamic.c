// SPDX-License-Identifier: MIT
/*
 * What operations do with dynamic dimensions: the operation itself is done on the bounds, and where
 * it mixes elements, those beyond the sizes are filled before with what does not count. The table
 * of operations (operations.c) says how; one that has no rule is refused if an operand is dynamic.
 * Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "operations.h"
#include "sizes.h"

bool hlo_is_dynamic(const struct hlo_inst *in)
{
	for (size_t d = 0; d < in->p->shape->n_is_dynamic_dimension; d++)
		if (in->p->shape->is_dynamic_dimension[d])
			return true;
	for (unsigned int i = 0; i < in->nin; i++)
		if (in->in[i].size)
			return true;
	return false;
}

/* The importer takes care of the sizes itself. */
int hlo_sizes_own(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return run(in, v);
}

/* Element by element: all operands that are not scalars have the result's dimensions. */
int hlo_sizes_elements(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	struct hlo_sizes s;
	int rc = run(in, v);

	hlo_merge_sizes(in, 0, in->nin, &s);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}

/* Along the last dimensions, which are the given number, elements are mixed. */
static int batches(struct hlo_inst *in, struct hlo_value *v, hlo_run run, unsigned int last)
{
	for (unsigned int i = 0; i < in->nin; i++) {
		unsigned int ndim = in->in[i].n ? in->in[i].op[0]->shape.ndim : 0;

		for (unsigned int d = ndim < last ? 0 : ndim - last; d < ndim; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	}
	return hlo_sizes_elements(in, v, run);
}

int hlo_sizes_matrices(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run, 2);
}

int hlo_sizes_transform(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run, (unsigned int)in->p->n_fft_length);
}

/* Types of other sizes add a last dimension or take it away. */
int hlo_sizes_bitcast(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	return batches(in, v, run,
		       in->first && in->first->n_dimensions > in->p->shape->n_dimensions);
}

/* What moves or takes whole dimensions: sizes follow by the operation's kind. */
static int by_kind(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	int rc = run(in, v);

	return rc ? rc : hlo_follow(in, v);
}

int hlo_sizes_custom(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	for (unsigned int i = 0; strcmp(in->p->custom_call_target, "Sharding") && i < in->nin; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	return hlo_sizes_elements(in, v, run);
}

/* The dimension that get- and set-dimension-size are of; -1: the message says why */
static int64_t the_dimension(struct hlo_inst *in)
{
	int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;

	if (!in->in[0].n || in->in[0].n > 2 || (in->in[0].n == 2 && !in->in[0].complex))
		return hlo_fail(in, -EINVAL, "operand 0 is a tuple");
	if (d >= 0 && d < in->in[0].op[0]->shape.ndim)
		return d;
	hlo_fail(in, -EINVAL, "dimension %lld of an operand of rank %u", (long long)d,
		 in->in[0].op[0]->shape.ndim);
	return -1;
}

int hlo_get_size(struct hlo_inst *in, struct hlo_value *v)
{
	int64_t d = the_dimension(in);
	struct ncc_op *size = d < 0 ? NULL : hlo_size_or_bound(in, 0, (unsigned int)d);
	int rc = d < 0 ? -EINVAL : hlo_shape(in, in->p->shape, &in->shape);

	if (rc)
		return rc;
	if (in->shape.ndim || in->shape.dtype != NEURON_DT_INT32 || in->shape.pred)
		return hlo_fail(in, -EINVAL, "a size is a scalar of type s32");
	return size ? hlo_take_results(in, &size, 1, v) : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_set_size(struct hlo_inst *in, struct hlo_value *v)
{
	int64_t d = the_dimension(in), bound;
	const struct ncc_op *size = in->in[1].n == 1 ? in->in[1].op[0] : NULL;
	struct hlo_sizes s;
	double number;
	int rc;

	if (d < 0)
		return -EINVAL;
	if (!size || size->shape.ndim || size->shape.dtype != NEURON_DT_INT32 || size->shape.pred)
		return hlo_fail(in, -EINVAL, "operand 1, the size, is no scalar of type s32");
	rc = hlo_shape(in, in->p->shape, &in->shape);
	if (!rc && (!ncc_same_dims(&in->shape, &in->in[0].op[0]->shape) ||
		    in->shape.dtype != in->in[0].op[0]->shape.dtype))
		rc = hlo_fail(in, -EINVAL, "the result's shape is not operand 0's");
	if (rc)
		return rc;

	bound = in->in[0].op[0]->shape.dim[d];
	hlo_merge_sizes(in, 0, 1, &s);
	s.dim[d] = NULL;
	if (!ncc_scalar_value(size, &number) || number < (double)bound) {
		s.dim[d] = sizes_clamped(&in->b, in->in[1].op[0], bound);
		if (!s.dim[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	*v = in->in[0];
	return hlo_give_sizes(in, v, &s);
}

/* Has every dynamic dimension of the shape its size? */
static int check_sizes(struct hlo_inst *in, const struct hlo_value *v)
{
	const Ncc__Hlo__Shape *p = in->p->shape;

	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		if (hlo_is_dynamic_dim(p, d) && !(v->size && v->size[0].dim[d]))
			return hlo_fail(in, -ENOTSUP,
					"nothing says the size of the result's dynamic dimension "
					"%u",
					d);
	return 0;
}

/* By the kind of the operation of the IR that it is */
static int (*by_rule(const struct hlo_rule *r))(struct hlo_inst *, struct hlo_value *, hlo_run)
{
	if (r->sizes || !r->kind)
		return r->sizes;
	return ncc_is_elementwise(r->kind) ? hlo_sizes_elements : by_kind;
}

int hlo_dynamic(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	int (*sizes)(struct hlo_inst *, struct hlo_value *, hlo_run) = by_rule(in->rule);
	int rc;

	for (unsigned int i = 0; !sizes && i < in->nin; i++)
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			if (hlo_size(in, i, d))
				return hlo_refuse_size(in, i, d);
	rc = sizes ? sizes(in, v, run) : run(in, v);
	return rc || sizes == hlo_sizes_own ? rc : check_sizes(in, v);
}
