// SPDX-License-Identifier: MIT
/*
 * 64-bit integers of which all bits are kept: what bitcast-convert makes of 32-bit numbers, and
 * what random bits are made of and are. They are one array of u32 (for s64: s32) with a last
 * dimension of 2, the lower half first. Operations that do not know this get 32-bit integers. Part
 * of the HLO front end.
 */
#include <errno.h>

#include "operations.h"

static bool is_64bit(int32_t type)
{
	return type == HLO_U64 || type == HLO_S64;
}

/* Is x the halves of an array of this shape? */
static bool is_halves(const struct hlo_inst *in, const Ncc__Hlo__Shape *p, const struct ncc_op *x)
{
	const size_t rank = p->n_dimensions;

	if (!is_64bit(p->element_type) || in->imp->lift || x->shape.ndim != rank + 1 ||
	    x->shape.dim[rank] != 2 || ncc_dtype_size(x->shape.dtype) != 4)
		return false;
	for (size_t i = 0; i < rank; i++)
		if (x->shape.dim[i] != p->dimensions[i])
			return false;
	return true;
}

void hlo_mark_halves(struct hlo_inst *in, struct hlo_value *v)
{
	v->halves = v->n == 1 && is_halves(in, in->p->shape, v->op[0]);
}

static struct ncc_op *low_half(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_shape s = x->shape;

	s.ndim--;
	return build_reshape(&in->b, build_slice(&in->b, x, s.ndim, 0, 1), &s);
}

struct ncc_op *hlo_low_half(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_op *x)
{
	return is_halves(in, p, x) ? low_half(in, x) : x;
}

int hlo_drop_halves(struct hlo_inst *in)
{
	for (unsigned int i = 0; i < in->nin; i++) {
		struct ncc_op **op;

		if (!in->in[i].halves)
			continue;
		if (!in->imp->narrow)
			return hlo_fail(in, -ENOTSUP,
					"operand %u has 64-bit integers, which are not supported "
					"(--narrow-64bit makes 32 bits of them)",
					i);
		op = ncc_alloc(in->imp->m, sizeof(*op));
		if (op)
			*op = low_half(in, in->in[i].op[0]);
		if (!op || !*op)
			return hlo_fail(in, -ENOMEM, "out of memory");
		in->in[i] = (struct hlo_value){ .n = 1, .op = op };
	}
	return 0;
}

int hlo_take_halves(struct hlo_inst *in, unsigned int i, struct ncc_op **out)
{
	struct ncc_op *x[2];
	struct ncc_shape s;

	*out = in->in[i].op[0];
	if (in->in[i].halves)
		return 0;
	s = (*out)->shape;
	if (s.ndim == NCC_MAX_DIMS || !ncc_is_unsigned(s.dtype) || ncc_dtype_size(s.dtype) != 4)
		return hlo_fail(in, -EINVAL, "operand %u has not the type u64", i);
	s.dim[s.ndim++] = 1;
	x[0] = build_reshape(&in->b, *out, &s);
	x[1] = build_splat(&in->b, &s, 0);
	*out = build_concat(&in->b, x, 2, s.ndim - 1);
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_bitcast_halves(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *to = in->p->shape;
	struct ncc_op *x = in->in[0].n == 1 ? in->in[0].op[0] : NULL;
	struct ncc_shape s = { .dtype = to->element_type == HLO_S64 ? NEURON_DT_INT32
								    : NEURON_DT_UINT32 };
	int rc;

	if (!x || (!in->in[0].halves && !is_halves(in, to, x)))
		return hlo_array(in, v);
	if (!is_halves(in, to, x)) {
		rc = hlo_shape(in, to, &s);
		if (rc)
			return rc;
		if (!ncc_same_dims(&s, &x->shape) || ncc_dtype_size(s.dtype) != 4)
			return hlo_drop_halves(in) ?: hlo_array(in, v);
	}
	x = build_bitcast(&in->b, x, s.dtype);
	return hlo_take_results(in, &x, 1, v);
}
