// SPDX-License-Identifier: MIT
/*
 * Products of integers of eight bits as products of signed bytes, which PE adds exactly. An operand
 * less its zero point is a byte plus one number; what that number adds to a sum is the number times
 * the sum of the other operand's bytes. Part of the ONNX front end.
 */
#include <math.h>

#include "products.h"
#include "whole.h"

static bool is_known(const struct ncc_op *byte)
{
	return byte->kind == NCC_CONST && byte->data;
}

void quant_note_dynamic(struct onnx_node *n, onnx_op value, onnx_op quotient)
{
	struct onnx_dynamic *d;

	if (!value || !quotient || n->rc)
		return;
	d = ncc_alloc(n->imp->m, sizeof(*d));
	if (!d)
		return;
	*d = (struct onnx_dynamic){ value, quotient, n->imp->dynamics };
	n->imp->dynamics = d;
}

/* The integers that rounding makes of x, without limits that a byte has too; NULL: not known */
static onnx_op rounded_from(const struct onnx_node *n, onnx_op x, onnx_op whole)
{
	for (const struct onnx_dynamic *d = n->imp->dynamics; d; d = d->next, n->imp->steps++)
		if (d->value == x)
			return d->quotient;
	return quant_is_rounded(whole) ? whole->in[0]->in[0] : NULL;
}

/* x, of what was rounded when it was quantized; NULL: it was not */
static onnx_op quantized_bytes(struct onnx_node *n, onnx_op x, double less)
{
	onnx_op f = x->kind == NCC_CONVERT ? x->in[0] : NULL, zero = NULL, t;

	if (!f || f->shape.dtype != NEURON_DT_FP32)
		return NULL;
	if (f->kind == NCC_ADD && quant_is_rounded(f->in[0])) {
		zero = f->in[1];
		f = f->in[0];
	}
	t = rounded_from(n, x, f);
	if (!t)
		return NULL;
	while (zero && zero->kind == NCC_BROADCAST && ncc_elems(&zero->in[0]->shape) == 1)
		zero = zero->in[0];
	t = ox_binc(n, NCC_ADD, t, QUANT_WHOLE);
	if (!zero)
		return quant_packed(n, ox_binc(n, NCC_SUB, t, QUANT_WHOLE + less), NEURON_DT_INT8);
	zero = ox_bin(n, NCC_SUB, ox_scalar(n, &zero->shape, QUANT_WHOLE + less), zero);
	return quant_packed(n, ox_bin(n, NCC_SUB, t, zero), NEURON_DT_INT8);
}

/* Eight bits less 128 are the same bits but for the highest one. */
static onnx_op flipped(struct onnx_node *n, onnx_op x)
{
	x = ox_bin(n, NCC_XOR, x, x ? ox_scalar(n, &x->shape, 128) : NULL);
	return ox_cast(n, x, NEURON_DT_INT8, false);
}

/* Number i of a constant less its zero point: one, or one for each column, or NULL */
static double less_zero(const struct ncc_op *x, const struct ncc_op *zero, int64_t i)
{
	double v = ncc_get(x->shape.dtype, x->data, i);

	if (!zero)
		return v;
	return v - ncc_get(zero->shape.dtype, zero->data, i % ncc_elems(&zero->shape));
}

static bool is_nothing(const struct ncc_op *zero)
{
	for (int64_t i = 0; zero && i < ncc_elems(&zero->shape); i++)
		if (ncc_get(zero->shape.dtype, zero->data, i) != 0)
			return false;
	return true;
}

onnx_op quant_constant(struct onnx_node *n, onnx_op x, onnx_op zero)
{
	int64_t count = ncc_elems(&x->shape);
	struct ncc_shape s = x->shape;
	onnx_op k;

	if (!is_known(x) || (zero && !is_known(zero)) || count > ONNX_MAX_DATA)
		return NULL;
	if (zero && ncc_elems(&zero->shape) > 1 && s.ndim &&
	    (zero->shape.ndim != 1 || s.dim[s.ndim - 1] != zero->shape.dim[0]))
		return NULL;
	for (int64_t i = 0; i < count; i++)
		if (less_zero(x, zero, i) < INT8_MIN || less_zero(x, zero, i) > INT8_MAX)
			return NULL;
	if (x->shape.dtype == NEURON_DT_INT8 && is_nothing(zero))
		return x;
	s.dtype = NEURON_DT_INT8;
	k = ox_data(n, &s);
	for (int64_t i = 0; k && i < count; i++)
		((int8_t *)k->data)[i] = (int8_t)less_zero(x, zero, i);
	return k;
}

/* The number that brings bytes that are `less` below the numbers to those less their zero point */
static onnx_op plus_of(struct onnx_node *n, onnx_op zero, double less)
{
	double v = 0;

	zero = zero ? quant_unpacked(n, ox_reshape(n, zero, 0, NULL)) : NULL;
	if (zero && !ncc_scalar_value(zero, &v))
		return ox_bin(n, NCC_SUB, ox_number(n, less), zero);
	return v == less ? NULL : ox_number(n, less - v);
}

bool quant_take(struct onnx_node *n, unsigned int i, onnx_op zero, bool columns,
		struct quant_eight *e)
{
	onnx_op x = onnx_in(n, i);
	double less = x->shape.dtype == NEURON_DT_UINT8 ? 128 : 0;
	bool one = !zero || ncc_elems(&zero->shape) == 1;

	if (n->rc || ncc_dtype_size(x->shape.dtype) != 1 || x->shape.pred)
		return false;
	*e = (struct quant_eight){ one || columns ? quant_constant(n, x, zero) : NULL, NULL };
	if (e->byte || !one)
		return e->byte;
	e->plus = plus_of(n, zero, less);
	e->byte = quantized_bytes(n, x, less);
	if (!e->byte)
		e->byte = less ? flipped(n, x) : x;
	return e->byte;
}

/* The sum of an operand's bytes along dimension d, in fp32; keep: that dimension stays, as one */
static onnx_op summed(struct onnx_node *n, onnx_op byte, unsigned int d, bool keep)
{
	int64_t inner = 1, count = byte->shape.dim[d];
	struct ncc_shape s = byte->shape;
	onnx_op sum;

	if (!is_known(byte) || !keep)
		return ox_reduce(n, ox_f32(n, byte), NCC_ADD, 1u << d, keep);
	s.dtype = NEURON_DT_FP32;
	s.dim[d] = 1;
	for (unsigned int i = d + 1; i < s.ndim; i++)
		inner *= s.dim[i];
	sum = ox_data(n, &s);
	for (int64_t i = 0; sum && i < ncc_elems(&byte->shape); i++)
		((float *)sum->data)[i / inner / count * inner + i % inner] +=
			((const int8_t *)byte->data)[i];
	return sum;
}

bool quant_exact_column(const struct quant_eight *a, const int8_t *k, int64_t rows, int64_t step,
			int64_t terms)
{
	double sign[2] = { 0 }, most;

	for (int64_t r = 0; r < rows; r++) {
		double v = k[r * step];

		if (r % terms == 0)
			sign[0] = sign[1] = 0;
		sign[v < 0] += fabs(v);
		most = -INT8_MIN * (sign[0] + sign[1]);
		if (a->plus)
			most = fmax(most, UINT8_MAX * fmax(sign[0], sign[1]));
		if (most > ONNX_EXACT_MOST)
			return false;
	}
	return true;
}

static bool is_exact(const struct quant_eight *a, const struct quant_eight *b, int64_t terms)
{
	const int64_t *dim = b->byte->shape.dim;

	if (!is_known(b->byte) || b->byte->shape.ndim != 2 || b->plus)
		return (double)terms * (a->plus ? UINT8_MAX : -INT8_MIN) *
			       (b->plus ? UINT8_MAX : -INT8_MIN) <=
		       ONNX_EXACT_MOST;
	for (int64_t c = 0; c < dim[1]; c++)
		if (!quant_exact_column(a, (const int8_t *)b->byte->data + c, dim[0], dim[1],
					terms))
			return false;
	return true;
}

/* v times the number, in the shape of `like`, so that one operation multiplies and adds */
static onnx_op times_number(struct onnx_node *n, onnx_op v, onnx_op number, onnx_op like)
{
	if (!v || !like)
		return NULL;
	v = ox_expand(n, v, like->shape.ndim, like->shape.dim);
	return ox_bin(n, NCC_MUL, v, number);
}

/* The sum of products of some of the contracted dimension */
static onnx_op part(struct onnx_node *n, const struct quant_eight *a, const struct quant_eight *b,
		    unsigned int ka, unsigned int kb)
{
	const int64_t terms = a->byte->shape.dim[ka];
	onnx_op sum = ox_matmul(n, a->byte, b->byte, NEURON_DT_FP32), of;

	if (a->plus) /* the sum of (a + plus) b */
		sum = ox_bin(n, NCC_ADD, sum,
			     times_number(n, summed(n, b->byte, kb, ka > 0), a->plus, sum));
	if (!b->plus)
		return sum;
	of = summed(n, a->byte, ka, b->byte->shape.ndim > 1);
	if (a->plus)
		of = ox_bin(n, NCC_ADD, of, ox_binc(n, NCC_MUL, a->plus, (double)terms));
	return ox_bin(n, NCC_ADD, sum, ox_bin(n, NCC_MUL, of, b->plus));
}

onnx_op quant_product_of(struct onnx_node *n, const struct quant_eight *a,
			 const struct quant_eight *b)
{
	unsigned int ka = a->byte->shape.ndim - 1, kb = b->byte->shape.ndim - 2;

	if (n->rc || a->byte->shape.dim[ka] != b->byte->shape.dim[kb] ||
	    !is_exact(a, b, a->byte->shape.dim[ka]))
		return NULL;
	return part(n, a, b, ka, kb);
}

onnx_op quant_product(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k, onnx_op zb)
{
	struct quant_eight a, b, pa, pb;
	onnx_op sum = NULL, x = onnx_in(n, i), y = onnx_in(n, k), s;
	unsigned int ka, kb;
	int64_t each;

	if (!x || !y || !x->shape.ndim || !y->shape.ndim)
		return NULL;
	ka = x->shape.ndim - 1;
	kb = y->shape.ndim > 1 ? y->shape.ndim - 2 : 0;
	if (x->shape.dim[ka] != y->shape.dim[kb] || !quant_take(n, i, za, false, &a) ||
	    !quant_take(n, k, zb, true, &b))
		return NULL;
	for (each = x->shape.dim[ka]; !is_exact(&a, &b, each);)
		each = (each + 1) / 2;
	pa = a;
	pb = b;
	for (int64_t at = 0; at < x->shape.dim[ka] && !n->rc; at += each) {
		int64_t left = x->shape.dim[ka] - at, terms = left < each ? left : each;

		pa.byte = ox_slice(n, a.byte, ka, at, terms, 1);
		pb.byte = ox_slice(n, b.byte, kb, at, terms, 1);
		s = quant_word(n, part(n, &pa, &pb, ka, kb));
		sum = sum ? ox_bin(n, NCC_ADD, sum, s) : s;
	}
	return sum;
}
