// SPDX-License-Identifier: MIT
/*
 * What takes tuples apart and puts them together: an instruction's value is a list of their leaves.
 */
#include <errno.h>

#include "operations.h"
#include "sizes.h"

unsigned int hlo_leaves(const Ncc__Hlo__Shape *s)
{
	unsigned int n = 0;

	if (s->element_type != HLO_TUPLE)
		return hlo_is_complex(s->element_type) ? 2 : 1;
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		n += hlo_leaves(s->tuple_shapes[i]);
	return n;
}

int hlo_tuple(struct hlo_inst *in, struct hlo_value *v)
{
	bool sized = false;

	v->n = 0;
	for (unsigned int i = 0; i < in->nin; i++) {
		/* In a small file tuples of tuples can grow without bound. */
		if (in->in[i].n > NCC_MAX_OPS - in->imp->made)
			return hlo_fail(in, -EFBIG, "more than %d operations and tuple elements",
					NCC_MAX_OPS);
		in->imp->made += in->in[i].n;
		v->n += in->in[i].n;
		sized = sized || in->in[i].size;
	}

	v->op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(struct ncc_op *));
	if (sized)
		v->size = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(*v->size));
	if (!v->op || (sized && !v->size))
		return hlo_fail(in, -ENOMEM, "out of memory");

	v->n = 0;
	for (unsigned int i = 0; i < in->nin; i++) {
		const struct hlo_value *x = &in->in[i];

		for (unsigned int k = 0; k < x->n; k++) {
			if (v->size && x->size)
				v->size[v->n] = x->size[k];
			v->op[v->n++] = x->op[k];
		}
	}
	return 0;
}

int hlo_tuple_element(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *tuple = in->first;
	int64_t index = in->p->tuple_index;
	unsigned int first = 0;

	if (!tuple || tuple->element_type != HLO_TUPLE || index < 0 ||
	    (uint64_t)index >= tuple->n_tuple_shapes)
		return hlo_fail(in, -EINVAL, "element %lld of something that has none",
				(long long)index);
	for (int64_t i = 0; i < index; i++)
		first += hlo_leaves(tuple->tuple_shapes[i]);
	v->n = hlo_leaves(tuple->tuple_shapes[index]);
	if (v->n > in->in[0].n || first > in->in[0].n - v->n)
		return hlo_fail(in, -EINVAL, "the tuple has fewer elements than its shape");
	v->op = in->in[0].op + first;
	v->size = in->in[0].size ? in->in[0].size + first : NULL;
	return 0;
}

int hlo_parameter(struct hlo_inst *in, struct hlo_value *v)
{
	int64_t n = in->p->parameter_number;

	if (n < 0 || n >= in->nargs)
		return hlo_fail(in, -EINVAL, "parameter number %lld of %u", (long long)n,
				in->nargs);
	*v = in->args[n];
	if (v->n == 1 && in->p->shape->element_type != HLO_TUPLE) {
		int rc = hlo_shape(in, in->p->shape, &in->shape);

		if (rc)
			return rc;
		if (!ncc_same_dims(&in->shape, &v->op[0]->shape) ||
		    in->shape.dtype != v->op[0]->shape.dtype)
			return hlo_fail(in, -EINVAL, "the argument has another shape");
	}
	return 0;
}

/* A token, as any value without elements, has a placeholder already (empty.c). */
int hlo_after_all(struct hlo_inst *in, struct hlo_value *v)
{
	(void)v;
	return hlo_fail(in, -EINVAL, "the result is no token");
}

int hlo_barrier(struct hlo_inst *in, struct hlo_value *v)
{
	*v = in->in[0];
	return 0;
}
