// SPDX-License-Identifier: MIT
/* Constants of an HLO module: literals and iota. Part of the HLO front end. */
#include <errno.h>
#include <string.h>

#include "expand/expand.h"
#include "operations.h"

/* Allocates the constant's data, of which a module has a limited amount. */
static int take_room(struct hlo_inst *in, struct ncc_op *op)
{
	struct ncc_op *c;

	in->imp->err->text[0] = 0;
	c = build_const(&in->b, &op->shape);
	if (!c)
		return in->imp->err->text[0] ? -EFBIG : hlo_fail(in, -ENOMEM, "out of memory");
	op->data = c->data;
	return 0;
}

static int wrong_size(struct hlo_inst *in, size_t have, int64_t want, const char *what)
{
	return hlo_fail(in, -EINVAL, "the constant has %zu %s, its shape %lld", have, what,
			(long long)want);
}

/* Copies little-endian bytes as they are. */
static int from_bytes(struct hlo_inst *in, struct ncc_op *op, const ProtobufCBinaryData *b)
{
	int64_t want = ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);

	if (b->len != (size_t)want)
		return wrong_size(in, b->len, want, "bytes");
	memcpy(op->data, b->data, b->len);
	return 0;
}

static int from_words(struct hlo_inst *in, struct ncc_op *op, size_t n, const void *words)
{
	if (n != (size_t)ncc_elems(&op->shape))
		return wrong_size(in, n, ncc_elems(&op->shape), "elements");
	memcpy(op->data, words, n * 4);
	return 0;
}

/* Narrows 64-bit elements to the nearest numbers that 32 bits hold. */
static int from_wide(struct hlo_inst *in, struct ncc_op *op, const Ncc__Hlo__Literal *l)
{
	uint8_t t = op->shape.dtype;
	size_t n = t == NEURON_DT_FP32 ? l->n_f64s : t == NEURON_DT_UINT32 ? l->n_u64s : l->n_s64s;

	if (n != (size_t)ncc_elems(&op->shape))
		return wrong_size(in, n, ncc_elems(&op->shape), "elements");
	for (size_t i = 0; i < n; i++)
		ncc_set(t, op->data, (int64_t)i,
			t == NEURON_DT_FP32	? l->f64s[i]
			: t == NEURON_DT_UINT32 ? (double)l->u64s[i]
						: (double)l->s64s[i]);
	return 0;
}

/* Takes the real or the imaginary part of each complex number */
static int from_pairs(struct hlo_inst *in, struct ncc_op *op, const Ncc__Hlo__Literal *l)
{
	const bool wide = hlo_is_wide(l->shape->element_type);
	const size_t n = wide ? l->n_c128s : l->n_c64s;

	if (n % 2 || n / 2 != (size_t)ncc_elems(&op->shape))
		return wrong_size(in, n, 2 * ncc_elems(&op->shape), "parts of numbers");
	for (size_t i = in->part; i < n; i += 2)
		ncc_set(op->shape.dtype, op->data, (int64_t)(i / 2),
			wide ? l->c128s[i] : l->c64s[i]);
	return 0;
}

static int from_preds(struct hlo_inst *in, struct ncc_op *op, const Ncc__Hlo__Literal *l)
{
	if (l->n_preds != (size_t)ncc_elems(&op->shape))
		return wrong_size(in, l->n_preds, ncc_elems(&op->shape), "elements");
	for (size_t i = 0; i < l->n_preds; i++)
		((uint8_t *)op->data)[i] = l->preds[i] ? 1 : 0;
	return 0;
}

/* Small integers of a byte each, of which the other bits may be anything (small.c) */
static int from_small(struct hlo_inst *in, struct ncc_op *op, const Ncc__Hlo__Literal *l)
{
	switch (l->shape->element_type) {
	case HLO_S4:
		return from_bytes(in, op, &l->s4s);
	case HLO_U4:
		return from_bytes(in, op, &l->u4s);
	case HLO_S2:
		return from_bytes(in, op, &l->s2s);
	default:
		return from_bytes(in, op, &l->u2s);
	}
}

static bool row_major(const Ncc__Hlo__Shape *s)
{
	const Ncc__Hlo__Layout *l = s->layout;

	for (size_t i = 0; l && i < l->n_minor_to_major; i++)
		if (l->minor_to_major[i] != (int64_t)(l->n_minor_to_major - 1 - i))
			return false;
	return true;
}

static int fill_literal(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__Literal *l = in->p->literal;
	struct ncc_shape s;
	int rc;

	if (!l || !l->shape)
		return hlo_fail(in, -EINVAL, "a constant without a literal");
	rc = hlo_shape(in, l->shape, &s);
	if (rc)
		return rc;

	if (hlo_is_complex(l->shape->element_type) != hlo_is_complex(in->p->shape->element_type) ||
	    hlo_small_bits(l->shape->element_type) != hlo_small_bits(in->p->shape->element_type) ||
	    s.dtype != op->shape.dtype || s.pred != op->shape.pred ||
	    !ncc_same_dims(&s, &op->shape))
		return hlo_fail(in, -EINVAL, "the literal's shape differs from the constant's");
	if (!row_major(l->shape))
		return hlo_fail(in, -EINVAL,
				"literals in a layout that is not row-major are not supported");

	rc = take_room(in, op);
	if (rc)
		return rc;
	if (hlo_is_complex(l->shape->element_type))
		return from_pairs(in, op, l);
	if (hlo_is_wide(l->shape->element_type))
		return from_wide(in, op, l);
	if (hlo_small_bits(l->shape->element_type))
		return from_small(in, op, l);

	switch (s.dtype) {
	case NEURON_DT_INT8:
		return s.pred ? from_preds(in, op, l) : from_bytes(in, op, &l->s8s);
	case NEURON_DT_UINT8:
		return from_bytes(in, op, &l->u8s);
	case NEURON_DT_UINT16:
		return from_bytes(in, op, &l->u16s);
	case NEURON_DT_UINT32:
		return from_words(in, op, l->n_u32s, l->u32s);
	case NEURON_DT_INT16:
		return from_bytes(in, op, &l->s16s);
	case NEURON_DT_FP16:
		return from_bytes(in, op, &l->f16s);
	case NEURON_DT_BF16:
		return from_bytes(in, op, &l->bf16s);
	case NEURON_DT_FP8_E5:
		return from_bytes(in, op, &l->f8e5m2s);
	case NEURON_DT_FP8_E4:
		return from_bytes(in, op, &l->f8e4m3s);
	case NCC_DT_F8E4M3FN:
		return from_bytes(in, op, &l->f8e4m3fns);
	case NCC_DT_F8E4M3FNUZ:
		return from_bytes(in, op, &l->f8e4m3fnuzs);
	case NCC_DT_F8E4M3B11FNUZ:
		return from_bytes(in, op, &l->f8e4m3b11fnuzs);
	case NCC_DT_F8E5M2FNUZ:
		return from_bytes(in, op, &l->f8e5m2fnuzs);
	case NCC_DT_F8E8M0FNU:
		return from_bytes(in, op, &l->f8e8m0fnus);
	case NCC_DT_F4E2M1FN:
		return from_bytes(in, op, &l->f4e2m1fns);
	case NEURON_DT_FP8_E3:
		return from_bytes(in, op, &l->f8e3m4s);
	case NEURON_DT_INT32:
		return from_words(in, op, l->n_s32s, l->s32s);
	default:
		return from_words(in, op, l->n_f32s, l->f32s);
	}
}

static int fill_iota(struct hlo_inst *in, struct ncc_op *op)
{
	int64_t n = ncc_elems(&op->shape), inner = 1,
		axis = in->p->n_dimensions ? in->p->dimensions[0] : 0;
	int rc;

	if (axis < 0 || axis >= op->shape.ndim)
		return hlo_fail(in, -EINVAL, "bad dimension");
	for (unsigned int d = (unsigned int)axis + 1; d < op->shape.ndim; d++)
		inner *= op->shape.dim[d];
	rc = take_room(in, op);
	if (rc)
		return rc;
	for (int64_t i = 0; i < n && !in->part; i++) { /* no imaginary part counts */
		int64_t v = i / inner % op->shape.dim[axis];

		if (ncc_is_float(op->shape.dtype))
			ncc_set(op->shape.dtype, op->data, i, (double)v);
		else
			ncc_set_int(op->shape.dtype, op->data, i, v); /* wraps around */
	}
	return 0;
}

#define IOTA_DATA (1 << 18) /* elements of an iota that is a constant */

static int64_t greatest_divisor(int64_t n, int64_t most)
{
	int64_t d = most;

	while (n % d)
		d--;
	return d;
}

/* s32[n]: 0, 1, 2, ...; many of them are sums of their row's number and their column's. */
static struct ncc_op *count(struct ncc_build *bl, int64_t n)
{
	const int64_t columns = n > IOTA_DATA ? greatest_divisor(n, IOTA_DATA) : n;
	const struct ncc_shape line = { .ndim = 1, .dim = { n } };
	const struct ncc_shape table = { .dtype = NEURON_DT_INT32,
					 .ndim = 2,
					 .dim = { n / columns, columns } };

	if (columns == n || columns == 1)
		return build_count(bl, n);
	return build_reshape(bl, build_numbers(bl, &table, 0), &line);
}

/* Makes a constant. Its data have the size of its shape, so that is checked first. */
static int constant(struct hlo_inst *in, int (*fill)(struct hlo_inst *in, struct ncc_op *op),
		    struct ncc_op **out)
{
	const struct ncc_shape *lift = in->imp->lift, to = in->shape;
	struct ncc_op *op = ncc_op_new(in->imp->m, NCC_CONST, in->p->name, 0);
	int rc;

	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	in->imp->lift = NULL;
	op->where = in->b.where;
	op->data = op;
	rc = hlo_shape(in, in->p->shape, &op->shape) ?:
	     ncc_verify_op(op, in->imp->err) ?:
	     fill(in, op);
	in->imp->lift = lift;
	if (rc)
		return rc;
	/* A scalar in a computation that runs on whole tensors becomes one number throughout. */
	*out = lift && !op->shape.ndim ? build_spread(&in->b, &to, op, NULL) : op;
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_constant(struct hlo_inst *in, struct ncc_op **out)
{
	return constant(in, fill_literal, out);
}

/* Of so many elements that they are not written out, but follow from few */
static bool is_long(const struct hlo_inst *in, int64_t axis)
{
	const struct ncc_shape *s = &in->shape;

	return (s->dtype == NEURON_DT_INT32 || s->dtype == NEURON_DT_UINT32 ||
		s->dtype == NEURON_DT_FP32) &&
	       !in->part && axis >= 0 && axis < s->ndim && ncc_elems(s) > IOTA_DATA;
}

int hlo_iota(struct hlo_inst *in, struct ncc_op **out)
{
	const int64_t axis = in->p->n_dimensions ? in->p->dimensions[0] : 0;
	struct ncc_op *line;

	if (!is_long(in, axis))
		return constant(in, fill_iota, out);
	line = expand_convert(&in->b, count(&in->b, in->shape.dim[axis]), &in->shape);
	*out = build_spread(&in->b, &in->shape, line, (uint8_t[]){ (uint8_t)axis });
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}
