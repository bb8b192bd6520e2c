// SPDX-License-Identifier: MIT
/*
 * Integers of 4 and 2 bits, which the chips have not: they are 8-bit ones that are kept within
 * their range. What comes from outside and what may have left the range is brought back into it; a
 * result of the module has the other bits zero, as hosts have them. And the bits of 4-bit floats.
 * Part of the HLO front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

#define BYTE 8

unsigned int hlo_small_bits(int32_t type)
{
	switch (type) {
	case HLO_S4:
	case HLO_U4:
		return 4;
	case HLO_S2:
	case HLO_U2:
		return 2;
	default:
		return 0;
	}
}

static struct ncc_op *mask(struct ncc_build *bl, struct ncc_op *x, unsigned int bits)
{
	return build_number(bl, NCC_AND, x, (1u << bits) - 1);
}

/* The highest of the bits in all above it */
static struct ncc_op *extend(struct ncc_build *bl, struct ncc_op *x, unsigned int bits)
{
	const unsigned int rest = BYTE - bits;

	x = build_number(bl, NCC_SHL, x, rest);
	return x ? expand_shift_arithmetic(bl, x, build_splat(bl, &x->shape, rest)) : NULL;
}

/* The low bits as a number of that type; a float has no others */
static struct ncc_op *wrap(struct ncc_build *bl, struct ncc_op *x, unsigned int bits)
{
	if (!x || ncc_is_float(x->shape.dtype))
		return x;
	return ncc_is_unsigned(x->shape.dtype) ? mask(bl, x, bits) : extend(bl, x, bits);
}

/* Limits a float that became a byte to the nearest number of so many bits */
static struct ncc_op *saturate(struct ncc_build *bl, struct ncc_op *x, unsigned int bits)
{
	const bool positive = ncc_is_unsigned(x->shape.dtype);
	const double most = (1 << (bits - !positive)) - 1;

	x = build_number(bl, NCC_MIN, x, most);
	return build_number(bl, NCC_MAX, x, positive ? 0 : -most - 1);
}

/* Operations that give no number that their operands, or wrapped computations, have not */
static const char *const keeps[] = {
	"and",
	"broadcast",
	"call",
	"clamp",
	"concatenate",
	"conditional",
	"copy",
	"custom-call",
	"dynamic-reshape",
	"dynamic-slice",
	"dynamic-update-slice",
	"fusion",
	"gather",
	"get-tuple-element",
	"map",
	"maximum",
	"minimum",
	"opt-barrier",
	"or",
	"pad",
	"parameter",
	"remainder",
	"reshape",
	"reverse",
	"select",
	"set-dimension-size",
	"sign",
	"slice",
	"sort",
	"transpose",
	"tuple",
	"while",
	"xor",
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool is_a(const struct hlo_inst *in, const char *opcode)
{
	return !strcmp(in->p->opcode, opcode);
}

static bool is_kept(const struct hlo_inst *in)
{
	return bsearch(in->p->opcode, keeps, sizeof(keeps) / sizeof(keeps[0]), sizeof(keeps[0]),
		       by_name);
}

/* Replaces a leaf of a list that others may have, too. */
static int replace(struct hlo_inst *in, struct hlo_value *v, unsigned int i, struct ncc_op *x)
{
	struct ncc_op **op = ncc_alloc(in->imp->m, (v->n + 1) * sizeof(*op));
	int rc = hlo_done(in, x);

	if (rc || !op)
		return rc ? rc : hlo_fail(in, -ENOMEM, "out of memory");
	memcpy(op, v->op, v->n * sizeof(*op));
	op[i] = x;
	v->op = op;
	return 0;
}

/* Operations that look at the bits that a number of that type has not see what is to be there. */
int hlo_small_operands(struct hlo_inst *in)
{
	const unsigned int bits = in->first ? hlo_small_bits(in->first->element_type) : 0;

	if (!bits || in->in[0].n != 1)
		return 0;
	if (is_a(in, "shift-right-arithmetic"))
		return replace(in, &in->in[0], 0, extend(&in->b, in->in[0].op[0], bits));
	if (!is_a(in, "shift-right-logical") && !is_a(in, "popcnt") &&
	    !is_a(in, "count-leading-zeros"))
		return 0;
	return replace(in, &in->in[0], 0, mask(&in->b, in->in[0].op[0], bits));
}

static int fit(struct hlo_inst *in, int32_t type, struct hlo_value *v, unsigned int i)
{
	const unsigned int bits = hlo_small_bits(type);
	struct ncc_op *x = v->op[i];
	const struct hlo_value *from = in->nin ? &in->in[0] : NULL;

	if (!bits)
		return 0;
	if (is_a(in, "count-leading-zeros"))
		x = build_number(&in->b, NCC_SUB, x, BYTE - bits);
	if (is_a(in, "convert") && from->n == 1 && ncc_is_float(from->op[0]->shape.dtype))
		x = saturate(&in->b, x, bits);
	else
		x = wrap(&in->b, x, bits);
	return replace(in, v, i, x);
}

int hlo_small_result(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *s = in->p->shape;
	int rc = 0;

	if (is_kept(in))
		return 0;
	if (s->element_type != HLO_TUPLE)
		return v->n == 1 ? fit(in, s->element_type, v, 0) : 0;
	for (unsigned int i = 0; !rc && is_a(in, "rng-bit-generator") && i < v->n; i++)
		rc = fit(in, s->tuple_shapes[i]->element_type, v, i);
	return rc;
}

int hlo_small_parameter(struct hlo_inst *in, struct hlo_value *v)
{
	const unsigned int bits = hlo_small_bits(in->p->shape->element_type);

	return bits ? replace(in, v, 0, wrap(&in->b, v->op[0], bits)) : 0;
}

struct ncc_op *hlo_small_output(struct hlo_inst *in, const Ncc__Hlo__Shape *p, struct ncc_op *x)
{
	const unsigned int bits = hlo_small_bits(p->element_type);

	return bits && !ncc_is_unsigned(x->shape.dtype) ? mask(&in->b, x, bits) : x;
}

/* Splits each byte into its numbers, lowest bits first, along a new last dimension */
static struct ncc_op *split(struct hlo_inst *in, struct ncc_op *x, unsigned int bits)
{
	const unsigned int n = BYTE / bits, last = x->shape.ndim;
	struct ncc_op *part[BYTE];
	struct ncc_shape s = x->shape;

	s.dim[s.ndim++] = 1;
	for (unsigned int i = 0; i < n; i++) {
		part[i] = build_number(&in->b, NCC_SHR, x, i * bits);
		part[i] = part[i] ? build_reshape(&in->b, mask(&in->b, part[i], bits), &s) : NULL;
		if (!part[i])
			return NULL;
	}
	return build_concat(&in->b, part, n, last);
}

/* The reverse: the last dimension has the numbers of a byte. */
static struct ncc_op *join(struct hlo_inst *in, struct ncc_op *x, unsigned int bits)
{
	const unsigned int last = x->shape.ndim - 1;
	struct ncc_op *sum = NULL;
	struct ncc_shape s = x->shape;

	s.ndim--;
	for (unsigned int i = 0; i < BYTE / bits; i++) {
		struct ncc_op *part = build_reshape(&in->b, build_slice(&in->b, x, last, i, 1), &s);

		part = part ? build_number(&in->b, NCC_SHL, mask(&in->b, part, bits), i * bits)
			    : NULL;
		sum = sum && part ? build_binary(&in->b, NCC_OR, sum, part) : part;
		if (!sum)
			return NULL;
	}
	return sum;
}

/* Small numbers of a larger one */
static struct ncc_op *apart(struct hlo_inst *in, struct ncc_op *x, unsigned int bits)
{
	if (ncc_dtype_size(x->shape.dtype) > 1)
		x = expand_split_bits(&in->b, x, NEURON_DT_UINT8);
	else
		x = build_bitcast(&in->b, x, NEURON_DT_UINT8);
	x = x ? split(in, x, bits) : NULL;
	x = x ? build_reshape(&in->b, x, &in->shape) : NULL;
	return x ? wrap(&in->b, build_bitcast(&in->b, x, in->shape.dtype), bits) : NULL;
}

/* A larger number of small ones */
static struct ncc_op *together(struct hlo_inst *in, struct ncc_op *x, unsigned int bits)
{
	struct ncc_shape s = in->shape;
	const unsigned int size = ncc_dtype_size(s.dtype);

	if (size > 1)
		s.dim[s.ndim++] = size;
	s.dim[s.ndim++] = BYTE / bits;
	x = build_reshape(&in->b, build_bitcast(&in->b, x, NEURON_DT_UINT8), &s);
	x = x ? join(in, x, bits) : NULL;
	return x && size > 1 ? expand_join_bits(&in->b, x, in->shape.dtype)
			     : build_bitcast(&in->b, x, in->shape.dtype);
}

static struct ncc_op *as_small(struct hlo_inst *in, struct ncc_op *x, unsigned int bits)
{
	x = build_bitcast(&in->b, x, NEURON_DT_UINT8);
	return wrap(&in->b, build_bitcast(&in->b, x, in->shape.dtype), bits);
}

/* Of a number of less than a byte; 0: it has one or more */
static unsigned int bits_below_byte(int32_t type)
{
	return type == HLO_F4E2M1FN ? 4 : hlo_small_bits(type);
}

bool hlo_is_small_bitcast(const struct hlo_inst *in)
{
	const int32_t from = in->first->element_type, to = in->p->shape->element_type;

	return bits_below_byte(from) != bits_below_byte(to) ||
	       (from == HLO_F4E2M1FN) != (to == HLO_F4E2M1FN);
}

int hlo_small_bitcast(struct hlo_inst *in, struct ncc_op **out)
{
	const unsigned int from = bits_below_byte(in->first->element_type),
			   to = bits_below_byte(in->p->shape->element_type);
	struct ncc_op *x = in->in[0].op[0];
	struct ncc_shape large = from ? in->shape : x->shape, parts = from ? x->shape : in->shape;
	const unsigned int n = BYTE / (from + to) * ncc_dtype_size(large.dtype);

	if (from == to && ncc_same_dims(&x->shape, &in->shape)) {
		*out = as_small(in, x, from);
		return hlo_done(in, *out);
	}
	if ((from && to) || x->shape.pred || in->shape.pred)
		return hlo_fail(in, -ENOTSUP, "from %u bits to %u is not supported", from, to);
	if (parts.ndim != large.ndim + 1 || parts.dim[large.ndim] != n)
		return hlo_fail(in, -EINVAL, "the last dimension has not the %u parts of a number",
				n);
	parts.ndim--;
	if (!ncc_same_dims(&parts, &large))
		return hlo_fail(in, -EINVAL, "the shapes differ");
	if (large.ndim + 2 > NCC_MAX_DIMS)
		return hlo_fail(in, -ENOTSUP, "of rank %u, at most %u is supported", large.ndim,
				NCC_MAX_DIMS - 2);
	*out = from ? together(in, x, from) : apart(in, x, to);
	return hlo_done(in, *out);
}
