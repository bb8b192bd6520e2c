/* SPDX-License-Identifier: MIT */
/* See ref.h. Used by the tests of this directory. */
#include "ref.h"
#include "ref_pe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float bits_to_f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static uint32_t f32_to_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

unsigned int ref_size(uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_INT8:
	case NEURON_DT_UINT8:
	case NEURON_DT_FP8_E3:
	case NEURON_DT_FP8_E4:
	case NEURON_DT_FP8_E5:
		return 1;
	case NEURON_DT_INT16:
	case NEURON_DT_UINT16:
	case NEURON_DT_BF16:
	case NEURON_DT_FP16:
		return 2;
	default:
		return 4;
	}
}

/* sign, exponent and fraction fields of a small IEEE format as a number */
static float ref_small_float(uint32_t raw, int ebits, int fbits)
{
	int e = raw >> fbits & ((1 << ebits) - 1), bias = (1 << (ebits - 1)) - 1;
	double frac = raw & ((1u << fbits) - 1), v;

	if (e == (1 << ebits) - 1)
		v = frac != 0 ? NAN : INFINITY;
	else if (e == 0)
		v = ldexp(frac, 1 - bias - fbits);
	else
		v = ldexp(frac + (1 << fbits), e - bias - fbits);
	return raw >> (ebits + fbits) & 1 ? -v : v;
}

float ref_to_f32(uint8_t dtype, uint32_t raw)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return (int8_t)raw;
	case NEURON_DT_INT16:
		return (int16_t)raw;
	case NEURON_DT_INT32:
		return (float)(int32_t)raw;
	case NEURON_DT_UINT8:
	case NEURON_DT_UINT16:
		return (float)raw;
	case NEURON_DT_UINT32:
		return (float)(double)raw;
	case NEURON_DT_FP8_E3:
		return ref_small_float(raw, 3, 4);
	case NEURON_DT_FP8_E4:
		return ref_small_float(raw, 4, 3);
	case NEURON_DT_FP8_E5:
		return ref_small_float(raw, 5, 2);
	case NEURON_DT_TF32:
		return ref_small_float(raw >> 13, 8, 10);
	case NEURON_DT_BF16:
		return ref_small_float(raw, 8, 7);
	case NEURON_DT_FP16:
		return ref_small_float(raw, 5, 10);
	default:
		return bits_to_f32(raw);
	}
}

/* Nearest of a small IEEE format, ties to even, by scaling to the last place */
static uint32_t ref_round_float(float x, int ebits, int fbits)
{
	int bias = (1 << (ebits - 1)) - 1, e;
	uint32_t sign = (uint32_t)(signbit(x) != 0) << (ebits + fbits);
	uint32_t inf = ((1u << ebits) - 1) << fbits;
	double units;

	if (isnan(x))
		return inf | 1u << (fbits - 1);
	if (isinf(x) || x == 0)
		return sign | (x == 0 ? 0 : inf);
	frexp(fabs((double)x), &e);
	e -= 1; /* 1 <= |x| / 2^e < 2 */
	if (e < 1 - bias)
		e = 1 - bias;
	units = nearbyint(ldexp(fabs((double)x), fbits - e));
	/* the exponent field counts from 1 - bias; a full significand carries into it by itself */
	units += ldexp(e - (1 - bias), fbits);
	return sign | (units >= inf ? inf : (uint32_t)units);
}

static uint32_t ref_round_int(float x, double lo, double hi)
{
	double r = nearbyint((double)x);

	if (isnan(x))
		return 0;
	r = r < lo ? lo : r > hi ? hi : r;
	return (uint32_t)(int64_t)r;
}

uint32_t ref_from_f32(uint8_t dtype, float x)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return ref_round_int(x, -128, 127) & 0xff;
	case NEURON_DT_INT16:
		return ref_round_int(x, -32768, 32767) & 0xffff;
	case NEURON_DT_INT32:
		return ref_round_int(x, -2147483648.0, 2147483647.0);
	case NEURON_DT_UINT8:
		return ref_round_int(x, 0, 255);
	case NEURON_DT_UINT16:
		return ref_round_int(x, 0, 65535);
	case NEURON_DT_UINT32:
		return ref_round_int(x, 0, 4294967295.0);
	case NEURON_DT_FP8_E3:
		return ref_round_float(x, 3, 4);
	case NEURON_DT_FP8_E4:
		return ref_round_float(x, 4, 3);
	case NEURON_DT_FP8_E5:
		return ref_round_float(x, 5, 2);
	case NEURON_DT_TF32:
		return ref_round_float(x, 8, 10) << 13;
	case NEURON_DT_BF16:
		return ref_round_float(x, 8, 7);
	case NEURON_DT_FP16:
		return ref_round_float(x, 5, 10);
	default:
		return isnan(x) ? 0x7fc00000 : f32_to_bits(x);
	}
}

/* Memory: elements by flat index */

static uint8_t *ref_at(struct ref_core *c, uint32_t offset, int64_t byte, unsigned int p)
{
	bool psum = offset >= 0x2000000;
	uint32_t off = psum ? offset - 0x2000000 : offset, stride = psum ? 0x4000 : 0x40000;
	uint32_t part = off / stride + p, size = psum ? c->psum_part_size : c->sbuf_part_size;
	int64_t in = off % stride + byte;

	if (part >= 128 || in < 0 || in >= size)
		abort(); /* the checker should have refused this operand */
	return (psum ? c->psum : c->sbuf) + (uint64_t)part * size + in;
}

uint32_t ref_count(const struct neuron_ap *ap)
{
	return ap->num[0] * ap->num[1] * ap->num[2] * ap->num[3];
}

static uint8_t *ref_element(struct ref_core *c, const struct neuron_ap *ap, unsigned int p,
			    uint32_t i)
{
	int64_t elem = 0;

	for (int d = 3; d >= 0; d--) {
		elem += (int64_t)(i % ap->num[d]) * ap->step[d];
		i /= ap->num[d];
	}
	return ref_at(c, ap->offset, elem * ref_size(ap->dtype), p);
}

uint32_t ref_raw(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i)
{
	uint32_t v = 0;

	memcpy(&v, ref_element(c, ap, p, i), ref_size(ap->dtype));
	return v;
}

float ref_load(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i)
{
	return ref_to_f32(ap->dtype, ref_raw(c, ap, p, i));
}

void ref_put(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i,
	     uint32_t raw)
{
	memcpy(ref_element(c, ap, p, i), &raw, ref_size(ap->dtype));
}

static uint32_t ref_scalar_raw(struct ref_core *c, const struct neuron_scalar *s, unsigned int p)
{
	uint32_t v = 0;

	if (s->kind == NEURON_SCALAR_IMM)
		return s->bits;
	memcpy(&v, ref_at(c, s->offset, 0, p), ref_size(s->dtype));
	return v;
}

float ref_scalar(struct ref_core *c, const struct neuron_scalar *s, unsigned int p)
{
	uint32_t raw = ref_scalar_raw(c, s, p);

	return s->kind == NEURON_SCALAR_IMM ? bits_to_f32(raw) : ref_to_f32(s->dtype, raw);
}

/* ALU */

static float ref_max(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) && signbit(b) ? -0.0f : 0.0f;
	return a > b ? a : b;
}

static float ref_min(float a, float b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	if (a == 0 && b == 0)
		return signbit(a) || signbit(b) ? -0.0f : 0.0f;
	return a < b ? a : b;
}

float ref_alu(uint8_t op, float a, float b, bool *inexact)
{
	bool ta = !(a == 0), tb = !(b == 0);

	switch (op) {
	case NEURON_ALU_BYPASS:
		return a;
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUB:
		return a - b;
	case NEURON_ALU_MULT:
		return a * b;
	case NEURON_ALU_MAX:
		return ref_max(a, b);
	case NEURON_ALU_MIN:
		return ref_min(a, b);
	case NEURON_ALU_EQ:
		return a == b;
	case NEURON_ALU_NE:
		return a != b;
	case NEURON_ALU_GE:
		return a >= b;
	case NEURON_ALU_GT:
		return a > b;
	case NEURON_ALU_LE:
		return a <= b;
	case NEURON_ALU_LT:
		return a < b;
	case NEURON_ALU_LOGICAL_AND:
		return ta && tb;
	case NEURON_ALU_LOGICAL_OR:
		return ta || tb;
	case NEURON_ALU_LOGICAL_XOR:
		return ta != tb;
	case NEURON_ALU_POW:
		*inexact = true;
		return (float)pow((double)a, (double)b);
	case NEURON_ALU_ABS_MAX:
		return ref_max(fabsf(a), fabsf(b));
	case NEURON_ALU_ABS:
		return fabsf(a);
	case NEURON_ALU_SQUARE:
		return a * a;
	case NEURON_ALU_RELU:
		return ref_max(a, 0);
	case NEURON_ALU_RSQRT:
		return (float)(1.0L / sqrtl(a));
	case NEURON_ALU_RECIP:
		return 1.0f / a;
	}
	abort();
}

uint32_t ref_bitvec(uint8_t op, uint32_t a, uint32_t b, unsigned int bits)
{
	uint64_t mask = (1ull << bits) - 1, x = a & mask, y = b & mask;

	switch (op) {
	case NEURON_ALU_BYPASS:
		return x;
	case NEURON_ALU_AND:
		return x & y;
	case NEURON_ALU_OR:
		return x | y;
	case NEURON_ALU_XOR:
		return x ^ y;
	case NEURON_ALU_NOT:
		return x ^ mask;
	case NEURON_ALU_SHL:
		return y < bits ? (x << y) & mask : 0;
	case NEURON_ALU_SHR:
		return y < bits ? x >> y : 0;
	}
	abort();
}

static bool ref_is_bitvec(uint8_t op)
{
	return op >= NEURON_ALU_AND;
}

/* Activation functions in long double, from their definitions */

static long double ref_sigmoid(long double x)
{
	return 1 / (1 + expl(-x));
}

static long double ref_transcendental(uint8_t func, long double x)
{
	const long double pi = 3.14159265358979323846264338327950288L;
	long double d = fabsl(x) - pi, e;

	switch (func) {
	case NEURON_ACT_SIGMOID:
		return ref_sigmoid(x);
	case NEURON_ACT_GELU:
		return isinf(x) && x < 0 ? -0.0L : x * 0.5L * erfcl(-x / sqrtl(2));
	case NEURON_ACT_GELU_TANH:
		return isinf(x) && x < 0
			       ? -0.0L
			       : x * ref_sigmoid(2 * sqrtl(2 / pi) * (x + 0.044715L * x * x * x));
	case NEURON_ACT_GELU_SIGMOID:
		return isinf(x) && x < 0 ? -0.0L : x * ref_sigmoid(1.702L * x);
	case NEURON_ACT_SILU:
		return isinf(x) && x < 0 ? -0.0L : x * ref_sigmoid(x);
	case NEURON_ACT_TANH:
		return tanhl(x);
	case NEURON_ACT_SOFTPLUS:
		return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
	case NEURON_ACT_MISH:
		if (isinf(x))
			return x < 0 ? -0.0L : x;
		e = x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
		return x * tanhl(e);
	case NEURON_ACT_ERF:
		return erfl(x);
	case NEURON_ACT_EXP:
		return expl(x);
	case NEURON_ACT_GELU_DX:
		if (fabsl(x) > 20) /* less than the smallest number from its limits */
			return x > 0 ? 1 : -0.0L;
		return 0.5L * erfcl(-x / sqrtl(2)) + x * expl(-x * x / 2) / sqrtl(2 * pi);
	case NEURON_ACT_GELU_SIGMOID_DX:
	case NEURON_ACT_SILU_DX:
		if (isinf(x))
			return x > 0 ? 1 : -0.0L;
		x *= func == NEURON_ACT_SILU_DX ? 1 : 1.702L;
		return ref_sigmoid(x) * (1 + x * ref_sigmoid(-x));
	case NEURON_ACT_ERF_DX:
		return 2 / sqrtl(pi) * expl(-x * x);
	case NEURON_ACT_LOG:
		return logl(x);
	case NEURON_ACT_SIN:
		if (fabsl(x) <= pi)
			return sinl(x);
		return x < 0 ? d - d * d * d / 6 : d * d * d / 6 - d;
	case NEURON_ACT_ARCTAN:
		return atanl(x);
	}
	abort();
}

float ref_func(uint8_t func, float alpha, float x, bool *inexact)
{
	switch (func) {
	case NEURON_ACT_COPY:
		return x;
	case NEURON_ACT_SQUARE:
		return x * x;
	case NEURON_ACT_RELU:
		return ref_max(x, 0);
	case NEURON_ACT_PRELU:
		return x < 0 ? x * alpha : x;
	case NEURON_ACT_SIGN:
		return x > 0 ? 1 : x < 0 ? -1 : x;
	case NEURON_ACT_ABS:
		return fabsf(x);
	case NEURON_ACT_SQRT:
		return sqrtf(x);
	case NEURON_ACT_RSQRT:
		return (float)(1.0L / sqrtl(x));
	case NEURON_ACT_RECIPROCAL:
		return 1.0f / x;
	}
	*inexact = true;
	return (float)ref_transcendental(func, x);
}

/* A result as it is written: rounded as the core does it, then converted */
static uint32_t ref_store(struct ref_core *c, uint8_t dtype, float x)
{
	return ref_from_f32(dtype, ref_draw(&c->draws, dtype, x));
}

/* Instructions: results go to a buffer first, so every input is read before the first write */

void ref_flush(struct ref_core *c, const struct neuron_ap *dst, unsigned int partitions,
	       const uint32_t *out)
{
	uint32_t n = ref_count(dst);

	for (unsigned int p = 0; p < partitions; p++)
		for (uint32_t i = 0; i < n; i++)
			ref_put(c, dst, p, i, out[(uint64_t)p * n + i]);
}

void ref_matmul(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128], unsigned int k,
		unsigned int fs, bool identity)
{
	uint32_t fm = identity ? k : ref_count(&insn->src0);
	bool is_int = insn->dst.dtype == NEURON_DT_INT32;

	for (unsigned int r = 0; r < fs; r++) {
		for (uint32_t j = 0; j < fm; j++) {
			uint32_t old = insn->accumulate ? ref_raw(c, &insn->dst, r, j) : 0;
			int32_t isum = 0;
			float sum = 0;

			for (unsigned int i = 0; i < k; i++) {
				float x = identity ? i == j : ref_load(c, &insn->src0, i, j);

				x = ldexpf(x, -neuron_isa_bias(insn->src_bias));

				if (is_int)
					isum += (int)w[i][r] * (int)x;
				else
					sum = fmaf(w[i][r], x, sum);
			}
			if (!is_int && insn->accumulate)
				sum += bits_to_f32(old);
			ref_put(c, &insn->dst, r, j,
				is_int ? old + (uint32_t)isum : ref_from_f32(NEURON_DT_FP32, sum));
		}
	}
}

void ref_stationary(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128])
{
	for (unsigned int k = 0; k < insn->partitions; k++)
		for (uint32_t i = 0; i < ref_count(&insn->src0); i++)
			w[k][i] = ldexpf(ref_load(c, &insn->src0, k, i),
					 -neuron_isa_bias(insn->src_bias));
}

struct neuron_isa_weights ref_weights(const struct ref_core *c)
{
	return (struct neuron_isa_weights){ .k = c->doubled ? c->k / 2 : c->k,
					    .columns = c->fs,
					    .dtype = c->dtype,
					    .doubled = c->doubled };
}

static void ref_pe(struct ref_core *c, const struct neuron_insn *insn)
{
	static float w[128][128];

	if (insn->tile && insn->opcode == NEURON_OP_LDWEIGHTS) {
		ref_load_tile(c, insn, w);
		return;
	}
	if (insn->tile) {
		ref_matmul_tile(c, insn, w);
		return;
	}
	switch (insn->opcode) {
	case NEURON_OP_LDWEIGHTS:
		memset(c->cell, 0, sizeof(c->cell));
		ref_stationary(c, insn, c->weights);
		c->k = insn->partitions;
		c->fs = ref_count(&insn->src0);
		c->dtype = insn->src0.dtype;
		c->doubled = false;
		break;
	case NEURON_OP_LDWEIGHTS_DOUBLE:
	case NEURON_OP_MATMUL_DOUBLE:
	case NEURON_OP_MATMUL_SPARSE:
		ref_pe_forms(c, insn);
		break;
	case NEURON_OP_MATMUL:
		ref_matmul(c, insn, c->weights, c->k, c->fs, false);
		break;
	default:
		if (c->version >= 3 &&
		    (insn->dst.dtype == insn->src0.dtype || insn->dst.dtype == NEURON_DT_UINT16)) {
			ref_transpose_bits(c, insn);
			return;
		}
		ref_stationary(c, insn, w);
		ref_matmul(c, insn, w, insn->partitions, ref_count(&insn->src0), true);
	}
}

static void ref_activate(struct ref_core *c, const struct neuron_insn *insn, uint32_t *out)
{
	uint32_t n = ref_count(&insn->src0);

	for (unsigned int p = 0; p < insn->partitions; p++) {
		float scale = ref_scalar(c, &insn->scalar0, p);
		float bias = ref_scalar(c, &insn->scalar1, p);

		if (insn->reduce_cmd == 1 || insn->reduce_cmd == 3)
			c->acc[p] = 0;
		for (uint32_t i = 0; i < n; i++) {
			volatile float t = ref_load(c, &insn->src0, p, i) * scale;
			float y = ref_func(insn->func, insn->alpha, t + bias, &c->inexact);

			if (insn->reduce_cmd >= 2)
				c->acc[p] += y;
			out[(uint64_t)p * n + i] = ref_store(c, insn->dst.dtype, y);
		}
	}
}

static uint32_t ref_reduce_bits(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
				uint32_t first, uint32_t length)
{
	unsigned int bits = 8 * ref_size(insn->src0.dtype);
	uint32_t acc = ref_raw(c, &insn->src0, p, first);

	for (uint32_t i = 1; i < length; i++)
		acc = ref_bitvec(insn->op0, acc, ref_raw(c, &insn->src0, p, first + i), bits);
	return acc;
}

static uint32_t ref_reduce_one(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
			       uint32_t first, uint32_t length)
{
	bool logical = insn->op0 >= NEURON_ALU_LOGICAL_AND && insn->op0 <= NEURON_ALU_LOGICAL_XOR;
	float acc = ref_load(c, &insn->src0, p, first);

	if (ref_is_bitvec(insn->op0))
		return ref_reduce_bits(c, insn, p, first, length);
	if (logical)
		acc = acc != 0;
	for (uint32_t i = 1; i < length; i++)
		acc = ref_alu(insn->op0, acc, ref_load(c, &insn->src0, p, first + i), &c->inexact);
	if (insn->alpha != 0)
		acc *= insn->alpha;
	return ref_store(c, insn->dst.dtype, insn->negate ? -acc : acc);
}

static uint32_t ref_element_value(struct ref_core *c, const struct neuron_insn *insn,
				  unsigned int p, uint32_t i)
{
	uint32_t raw = ref_raw(c, &insn->src0, p, i), other = 0;
	float a = ref_load(c, &insn->src0, p, i), b = 0, s;
	uint8_t dt = insn->dst.dtype;
	unsigned int bits = 8 * ref_size(dt);

	if (insn->src1.dtype) {
		other = ref_raw(c, &insn->src1, p, i);
		b = ref_load(c, &insn->src1, p, i);
	}
	switch (insn->opcode) {
	case NEURON_OP_RECIPROCAL:
		return ref_store(c, dt, 1.0f / a);
	case NEURON_OP_COPY_PREDICATED:
		return (other != 0) ^ insn->reverse0 ? raw : ref_raw(c, &insn->dst, p, i);
	case NEURON_OP_TENSOR_TENSOR:
		if (ref_is_bitvec(insn->op0))
			return ref_bitvec(insn->op0, raw, other, bits);
		return ref_store(c, dt, ref_alu(insn->op0, a, b, &c->inexact));
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		s = ref_scalar(c, &insn->scalar0, p);
		a = insn->reverse0 ? ref_alu(insn->op0, s, a, &c->inexact)
				   : ref_alu(insn->op0, a, s, &c->inexact);
		a = insn->reverse1 ? ref_alu(insn->op1, b, a, &c->inexact)
				   : ref_alu(insn->op1, a, b, &c->inexact);
		return ref_store(c, dt, a);
	}
	if (ref_is_bitvec(insn->op0) || ref_is_bitvec(insn->op1)) {
		uint32_t c0 = ref_scalar_raw(c, &insn->scalar0, p);
		uint32_t c1 = ref_scalar_raw(c, &insn->scalar1, p);

		raw = insn->reverse0 ? ref_bitvec(insn->op0, c0, raw, bits)
				     : ref_bitvec(insn->op0, raw, c0, bits);
		return insn->reverse1 ? ref_bitvec(insn->op1, c1, raw, bits)
				      : ref_bitvec(insn->op1, raw, c1, bits);
	}
	s = ref_scalar(c, &insn->scalar0, p);
	a = insn->reverse0 ? ref_alu(insn->op0, s, a, &c->inexact)
			   : ref_alu(insn->op0, a, s, &c->inexact);
	s = ref_scalar(c, &insn->scalar1, p);
	a = insn->reverse1 ? ref_alu(insn->op1, s, a, &c->inexact)
			   : ref_alu(insn->op1, a, s, &c->inexact);
	return ref_store(c, dt, a);
}

/* 32 x 32 blocks in place; a single smaller block becomes N partitions of P elements */
static void ref_transpose(struct ref_core *c, const struct neuron_insn *insn)
{
	uint32_t p = insn->partitions, n = ref_count(&insn->src0);
	uint32_t rows = p < 32 ? p : 32, cols = n < 32 ? n : 32;
	uint32_t *copy = malloc((size_t)p * n * 4);

	for (uint32_t r = 0; r < p; r++)
		for (uint32_t i = 0; i < n; i++)
			copy[r * n + i] = ref_raw(c, &insn->src0, r, i);
	/* element j of destination partition q, each written in element order */
	for (uint32_t q = 0; q < (p <= 32 ? cols : p); q++)
		for (uint32_t j = 0; j < n / cols * rows; j++)
			ref_put(c, &insn->dst, q, j,
				copy[(q / 32 * 32 + j % rows) * n + j / rows * cols + q % 32]);
	free(copy);
}

/* Section 9's three whose places are data, in a partition; out has the elements of dst */

static void ref_gather(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
		       uint32_t *out)
{
	uint32_t n = ref_count(&insn->src0), m = ref_count(&insn->src1);

	for (uint32_t i = 0; i < m; i++) {
		int64_t at = (int32_t)ref_raw(c, &insn->src1, p, i);

		out[i] = at >= 0 && at < n ? ref_raw(c, &insn->src0, p, (uint32_t)at) : 0;
	}
}

static uint32_t ref_combined(const struct neuron_insn *insn, uint32_t old, uint32_t a)
{
	bool inexact;
	int64_t x = (int32_t)old, y = (int32_t)a;

	if (insn->op0 == NEURON_ALU_BYPASS)
		return a;
	if (insn->dst.dtype == NEURON_DT_FP32)
		return ref_from_f32(NEURON_DT_FP32,
				    ref_alu(insn->op0, bits_to_f32(old), bits_to_f32(a), &inexact));
	if (insn->op0 == NEURON_ALU_ADD)
		return (uint32_t)(x + y);
	return (uint32_t)(insn->op0 == NEURON_ALU_MAX ? (x > y ? x : y) : (x < y ? x : y));
}

static void ref_scatter(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
			uint32_t *out)
{
	uint32_t n = ref_count(&insn->dst), m = ref_count(&insn->src1);

	for (uint32_t i = 0; i < n; i++)
		out[i] = ref_raw(c, &insn->dst, p, i);
	for (uint32_t i = 0; i < m; i++) {
		int64_t at = (int32_t)ref_raw(c, &insn->src1, p, i);

		if (at >= 0 && at < n)
			out[at] = ref_combined(insn, out[at], ref_raw(c, &insn->src0, p, i));
	}
}

/* The smallest (greatest) of what is left, the first of equal ones, one after the other */
static void ref_sort(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
		     uint32_t *out)
{
	uint32_t n = ref_count(&insn->src0), k = ref_count(&insn->dst);
	bool *taken = calloc(n, sizeof(*taken));
	int64_t *key = calloc(n, sizeof(*key));

	for (uint32_t i = 0; i < n; i++) {
		key[i] = (int32_t)ref_raw(c, &insn->src0, p, i);
		if (insn->reverse0)
			key[i] = -key[i];
	}
	for (uint32_t j = 0; j < k; j++) {
		uint32_t best = n;

		for (uint32_t i = 0; i < n; i++)
			if (!taken[i] && (best == n || key[i] < key[best]))
				best = i;
		taken[best] = true;
		out[j] = best;
	}
	free(taken);
	free(key);
}

static uint32_t ref_copy_value(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
			       uint32_t i, bool on_act)
{
	uint32_t raw = ref_raw(c, &insn->src0, p, i);

	if (insn->src0.dtype == insn->dst.dtype && !on_act && insn->src_bias == insn->dst_bias)
		return raw;
	return ref_store(c, insn->dst.dtype,
			 ldexpf(ref_to_f32(insn->src0.dtype, raw),
				neuron_isa_bias(insn->dst_bias) - neuron_isa_bias(insn->src_bias)));
}

static uint32_t ref_value(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
			  uint32_t i, bool on_act)
{
	uint32_t length = 1;

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
		return ref_copy_value(c, insn, p, i, on_act);
	case NEURON_OP_MEMSET:
		return ref_store(c, insn->dst.dtype, insn->scalar0.f);
	case NEURON_OP_ACT_READ_ACC:
		return ref_store(c, insn->dst.dtype, c->acc[p]);
	case NEURON_OP_TENSOR_REDUCE:
		for (int d = 0; d < insn->reduce_dims; d++)
			length *= insn->src0.num[3 - d];
		return ref_reduce_one(c, insn, p, i * length, length);
	default:
		return ref_element_value(c, insn, p, i);
	}
}

static void ref_row(struct ref_core *c, const struct neuron_insn *insn, unsigned int p,
		    uint32_t *out, bool on_act)
{
	uint32_t n = ref_count(&insn->dst);

	switch (insn->opcode) {
	case NEURON_OP_GATHER:
		ref_gather(c, insn, p, out);
		break;
	case NEURON_OP_SCATTER:
		ref_scatter(c, insn, p, out);
		break;
	case NEURON_OP_SORT:
		ref_sort(c, insn, p, out);
		break;
	default:
		for (uint32_t i = 0; i < n; i++)
			out[i] = ref_value(c, insn, p, i, on_act);
	}
}

void ref_exec(struct ref_core *c, const struct neuron_insn *insn, bool on_act)
{
	uint32_t n = ref_count(&insn->dst), *out;

	c->inexact = false;
	if (insn->opcode < NEURON_OP_ACTIVATE) {
		ref_pe(c, insn);
		return;
	}
	if (insn->opcode == NEURON_OP_TRANSPOSE) {
		ref_transpose(c, insn);
		return;
	}
	out = malloc((size_t)n * insn->partitions * 4);
	if (insn->opcode == NEURON_OP_ACTIVATE)
		ref_activate(c, insn, out);
	else
		for (unsigned int p = 0; p < insn->partitions; p++)
			ref_row(c, insn, p, out + (uint64_t)p * n, on_act);
	ref_flush(c, &insn->dst, insn->partitions, out);
	free(out);
}
