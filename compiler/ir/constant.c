// SPDX-License-Identifier: MIT
/*
 * Constants on the host: reading and writing elements of every type, and folding of the operations
 * that only move or convert constant data. Conversions follow the datapath (through fp32, round to
 * nearest even, saturating to integers, NaN to 0), so that folding never changes a result.
 */
#include "ir.h"
#include "neuron/isa/table.h"

#include <math.h>
#include <string.h>

static uint32_t f32_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float bits_f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint16_t to_bf16(float f)
{
	uint32_t u = f32_bits(f);

	if (isnan(f))
		return 0x7fc0;
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* A float with so many bits of exponent, whose bias is half its range, and of fraction */
static float from_narrow(unsigned int raw, int ebits, int fbits)
{
	const int last = (1 << ebits) - 1, bias = last >> 1;
	int e = (int)(raw >> fbits) & last, m = (int)(raw & ((1u << fbits) - 1));
	float v;

	if (e == last)
		v = m ? NAN : INFINITY;
	else
		v = ldexpf((float)(e ? m + (1 << fbits) : m), (e ? e : 1) - bias - fbits);
	return raw >> (ebits + fbits) & 1 ? -v : v;
}

int64_t ncc_round_small(double v, unsigned int fraction, int least)
{
	int64_t n;
	int e;

	(void)frexp(v, &e); /* v in [2^(e-1), 2^e) */
	e = v == 0 || e - 1 < least ? least : e - 1;
	n = (int64_t)nearbyint(ldexp(v, (int)fraction - e));
	/* with the bit above the fraction, which subnormal numbers have not, the exponent is right */
	return n + ((int64_t)(e - least) << fraction);
}

static unsigned int to_narrow(float f, int ebits, int fbits)
{
	const int least = 2 - (1 << (ebits - 1));
	const unsigned int infinity = ((1u << ebits) - 1) << fbits;
	unsigned int sign = (f32_bits(f) >> 31) << (ebits + fbits);
	int64_t r = infinity;

	if (isnan(f))
		return infinity | 1u << (fbits - 1);
	if (!isinf(f))
		r = ncc_round_small((double)fabsf(f), (unsigned int)fbits, least);
	return sign | (r < infinity ? (unsigned int)r : infinity);
}

/* A format that no chip has */
static double from_float8(const struct ncc_float8 *f, unsigned int raw)
{
	const unsigned int sign = 1u << (f->bits - 1), ones = sign - 1, code = raw & ones;
	const int e = (int)(code >> f->fraction), m = (int)(code & ((1u << f->fraction) - 1));
	double v;

	if (f->end == NCC_FLOAT8_POWERS)
		return raw == 0xff ? NAN : ldexp(1, (int)raw + f->least);
	if ((f->end == NCC_FLOAT8_NAN && code == ones) ||
	    (f->end == NCC_FLOAT8_UNSIGNED_ZERO && raw == sign))
		return NAN;
	v = ldexp(e ? m + (1 << f->fraction) : m, (e ? e - 1 : 0) + f->least - (int)f->fraction);
	return raw & sign ? -v : v;
}

/* The next power of two from halfway on; what is below the least one but for zero is the least */
static unsigned int to_power(float f)
{
	const uint32_t bits = f32_bits(f), half = 1u << 22;

	if (!(f > 0))
		return 0xff;
	return bits <= half ? 0 : (bits + half) >> 23;
}

static unsigned int to_float8(const struct ncc_float8 *f, float v)
{
	const unsigned int top = 1u << (f->bits - 1);
	const unsigned int nan = f->end == NCC_FLOAT8_NAN ? top - 1 : top;
	const unsigned int sign = f32_bits(v) >> 31 ? top : 0;
	const double most = (double)f->most;
	int64_t code;

	if (f->end == NCC_FLOAT8_POWERS)
		return to_power(v);
	if (isnan(v))
		return nan;
	code = ncc_round_small(fmin((double)fabsf(v), 2 * most), f->fraction, f->least);
	if (code > ncc_round_small(most, f->fraction, f->least))
		return f->end == NCC_FLOAT8_FINITE ? sign | (top - 1) : nan;
	if (!code && f->end == NCC_FLOAT8_UNSIGNED_ZERO)
		return 0;
	return sign | (unsigned int)code;
}

double ncc_get(uint8_t dtype, const void *data, int64_t i)
{
	const uint8_t *p = (const uint8_t *)data + i * ncc_dtype_size(dtype);
	uint16_t h;
	uint32_t w;

	switch (dtype) {
	case NEURON_DT_INT8:
		return (int8_t)*p;
	case NEURON_DT_UINT8:
		return *p;
	case NEURON_DT_INT16:
		memcpy(&h, p, 2);
		return (int16_t)h;
	case NEURON_DT_UINT16:
		memcpy(&h, p, 2);
		return h;
	case NEURON_DT_BF16:
		memcpy(&h, p, 2);
		return (double)bits_f32((uint32_t)h << 16);
	case NEURON_DT_FP16:
		memcpy(&h, p, 2);
		return (double)from_narrow(h, 5, 10);
#define FP8(type, ebits, fbits) \
	case NEURON_DT_##type:  \
		return (double)from_narrow(*p, ebits, fbits);
		NEURON_ISA_FP8S(FP8)
#undef FP8
	case NCC_DT_F4E2M1FN ... NCC_DT_F8E4M3FN:
		return from_float8(ncc_float8(dtype), *p);
	case NEURON_DT_TF32:
		memcpy(&w, p, 4);
		return (double)bits_f32(w & ~NEURON_ISA_TF32_UNUSED);
	case NEURON_DT_INT32:
		memcpy(&w, p, 4);
		return (int32_t)w;
	case NEURON_DT_UINT32:
		memcpy(&w, p, 4);
		return w;
	default:
		memcpy(&w, p, 4);
		return (double)bits_f32(w);
	}
}

static int64_t saturate(double v, double lo, double hi)
{
	if (isnan(v))
		return 0;
	v = nearbyint(v);
	return (int64_t)(v < lo ? lo : v > hi ? hi : v);
}

void ncc_set(uint8_t dtype, void *data, int64_t i, double v)
{
	uint8_t *p = (uint8_t *)data + i * ncc_dtype_size(dtype);
	uint16_t h;
	uint32_t w;

	switch (dtype) {
	case NEURON_DT_INT8:
		*p = (uint8_t)saturate(v, -128, 127);
		return;
	case NEURON_DT_UINT8:
		*p = (uint8_t)saturate(v, 0, 255);
		return;
	case NEURON_DT_INT16:
		h = (uint16_t)saturate(v, -32768, 32767);
		memcpy(p, &h, 2);
		return;
	case NEURON_DT_UINT16:
		h = (uint16_t)saturate(v, 0, 65535);
		memcpy(p, &h, 2);
		return;
	case NEURON_DT_BF16:
		h = to_bf16((float)v);
		memcpy(p, &h, 2);
		return;
	case NEURON_DT_FP16:
		h = (uint16_t)to_narrow((float)v, 5, 10);
		memcpy(p, &h, 2);
		return;
#define FP8(type, ebits, fbits)                                  \
	case NEURON_DT_##type:                                   \
		*p = (uint8_t)to_narrow((float)v, ebits, fbits); \
		return;
		NEURON_ISA_FP8S(FP8)
#undef FP8
	case NCC_DT_F4E2M1FN ... NCC_DT_F8E4M3FN:
		*p = (uint8_t)to_float8(ncc_float8(dtype), (float)v);
		return;
	case NEURON_DT_TF32:
		w = isnan(v) ? 0x7fc00000 : f32_bits((float)v);
		w = (w + 0xfff + (w >> 13 & 1)) & ~NEURON_ISA_TF32_UNUSED;
		memcpy(p, &w, 4);
		return;
	case NEURON_DT_INT32:
		w = (uint32_t)saturate(v, -2147483648.0, 2147483647.0);
		memcpy(p, &w, 4);
		return;
	case NEURON_DT_UINT32:
		w = (uint32_t)saturate(v, 0, 4294967295.0);
		memcpy(p, &w, 4);
		return;
	default:
		w = isnan(v) ? 0x7fc00000 : f32_bits((float)v);
		memcpy(p, &w, 4);
	}
}

void ncc_set_int(uint8_t dtype, void *data, int64_t i, int64_t v)
{
	unsigned int esz = ncc_dtype_size(dtype);
	uint8_t bytes[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
			     (uint8_t)(v >> 24) };

	memcpy((uint8_t *)data + i * esz, bytes, esz);
}

bool ncc_scalar_value(const struct ncc_op *op, double *v)
{
	int64_t n;

	while (op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE)
		op = op->in[0];
	if (op->kind != NCC_CONST)
		return false;
	n = ncc_elems(&op->shape);
	for (int64_t i = 1; i < n; i++)
		if (memcmp(op->data, (char *)op->data + i * ncc_dtype_size(op->shape.dtype),
			   ncc_dtype_size(op->shape.dtype)))
			return false;
	*v = ncc_get(op->shape.dtype, op->data, 0);
	return true;
}

void ncc_steps(const struct ncc_shape *s, int64_t *step)
{
	int64_t n = 1;

	for (int d = (int)s->ndim - 1; d >= 0; d--) {
		step[d] = n;
		n *= s->dim[d];
	}
}

int64_t ncc_move_steps(const struct ncc_op *op, int64_t *step)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t in_step[NCC_MAX_DIMS] = { 0 }, start = 0;

	ncc_steps(s, in_step);
	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		bool back = op->kind == NCC_REVERSE && op->mask >> d & 1;

		step[d] = in_step[op->kind == NCC_TRANSPOSE ? op->map[d] : d];
		if (op->kind == NCC_SLICE) {
			start += step[d] * op->start[d];
			step[d] *= op->stride[d];
		} else if (back) {
			start += step[d] * (s->dim[d] - 1);
			step[d] = -step[d];
		}
	}
	return start;
}

/*
 * Gathers constant data: the operand's index for each index of the result is start + sum(i * step).
 */
static int gather(struct ncc_module *m, struct ncc_op *op, int64_t start, const int64_t *step)
{
	unsigned int esz = ncc_dtype_size(op->shape.dtype);
	int64_t n = ncc_elems(&op->shape), at[NCC_MAX_DIMS] = { 0 }, src = start;
	const char *from = op->in[0]->data;
	char *to = ncc_alloc_data(m, (size_t)n * esz);

	if (!to)
		return 0;
	for (int64_t i = 0; i < n; i++) {
		memcpy(to + i * esz, from + src * esz, esz);
		for (int d = (int)op->shape.ndim - 1; d >= 0; d--) {
			src += step[d];
			if (++at[d] < op->shape.dim[d])
				break;
			src -= step[d] * op->shape.dim[d];
			at[d] = 0;
		}
	}
	op->data = to;
	return 1;
}

static int fold_move(struct ncc_module *m, struct ncc_op *op)
{
	int64_t step[NCC_MAX_DIMS], start = ncc_move_steps(op, step);

	return gather(m, op, start, step);
}

static int fold_convert(struct ncc_module *m, struct ncc_op *op)
{
	int64_t n = ncc_elems(&op->shape);
	void *to = ncc_alloc_data(m, (size_t)n * ncc_dtype_size(op->shape.dtype));
	double v;

	if (!to)
		return 0;
	for (int64_t i = 0; i < n; i++) {
		v = ncc_get(op->in[0]->shape.dtype, op->in[0]->data, i);
		if (op->shape.pred)
			v = v != 0;
		if (ncc_is_float(op->in[0]->shape.dtype) || ncc_is_float(op->shape.dtype))
			ncc_set(op->shape.dtype, to, i, v);
		else
			ncc_set_int(op->shape.dtype, to, i, (int64_t)v);
	}
	op->data = to;
	return 1;
}

int ncc_fold(struct ncc_module *m, struct ncc_op *op)
{
	int done = 0;

	if (op->nin != 1 || op->in[0]->kind != NCC_CONST)
		return 0;
	if (op->kind == NCC_RESHAPE || op->kind == NCC_BITCAST) {
		op->data = op->in[0]->data;
		done = 1;
	} else if (op->kind == NCC_TRANSPOSE || op->kind == NCC_SLICE || op->kind == NCC_REVERSE) {
		done = fold_move(m, op);
	} else if (op->kind == NCC_CONVERT) {
		done = fold_convert(m, op);
	}
	if (done) {
		op->kind = NCC_CONST;
		op->nin = 0;
	}
	return done;
}

struct ncc_op *ncc_const_scalar(struct ncc_module *m, uint8_t dtype, double v)
{
	struct ncc_op *op = ncc_op_new(m, NCC_CONST, NULL, 0);

	if (!op)
		return NULL;
	op->shape.dtype = dtype;
	op->data = ncc_alloc_data(m, 8);
	if (!op->data)
		return NULL;
	ncc_set(dtype, op->data, 0, v);
	return op;
}
