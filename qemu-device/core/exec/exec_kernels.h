/* SPDX-License-Identifier: MIT */
/*
 * The inner loops, a template: each exec_kernels_*.c defines KTARGET (a function attribute),
 * KBYTES (of a vector) and KNAME(x), includes this once, and adds its register block of the matmul.
 * Written with generic vectors and IEEE operations only, so every instance gives the same bits.
 * Arithmetic rules: docs/isa.md, Arithmetic.
 */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "exec_kernels_vector.h"

/* The instruction, never the library */
KINLINE double exec_sqrt(double x)
{
#ifdef __SSE2__
	__m128d v = _mm_set_sd(x);

	return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
#else
	return __builtin_sqrt(x);
#endif
}

/* The lanes of mask alone; an instance may have an instruction for it */
#ifndef KSTORE
#define KSTORE(p, mask, v) store_lanes(p, mask, v)
KINLINE void store_lanes(float *p, uint16_t mask, vf v)
{
	if (mask == (1u << LANES) - 1) {
		st(p, v);
		return;
	}
	for (unsigned int i = 0; i < LANES; i++)
		if (mask >> i & 1)
			memcpy(p + i, (const float *)&v + i, sizeof(*p));
}
#endif

#include "exec_kernels_types.h"
#include "exec_kernels_round.h"

KINLINE void load_all(uint8_t dtype, unsigned int size, float *out, const uint8_t *in, size_t n)
{
	for (size_t i = 0; i < n; i += LANES)
		st(out + i, load16(dtype, in + i * size));
}

KINLINE void store_all(uint8_t dtype, unsigned int size, uint8_t *out, const float *in, size_t n)
{
	uint8_t tail[LANES * 4];
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		store16(dtype, out + i * size, ld(in + i));
	if (i == n)
		return;
	store16(dtype, tail, ld(in + i));
	exec_copy_few(out + i * size, tail, (n - i) * size);
}

/*
 * One loop a type: the constant folds the switch away. Those that only later generations have share
 * a loop for each size, or there would be twice as much code.
 */
#define EACH_DTYPE(CALL)                   \
	switch (dtype) {                   \
	case NEURON_DT_UINT8:              \
	case NEURON_DT_FP8_E3:             \
	case NEURON_DT_FP8_E4:             \
	case NEURON_DT_FP8_E5:             \
		CALL(dtype, 1);            \
		break;                     \
	case NEURON_DT_UINT16:             \
		CALL(NEURON_DT_UINT16, 2); \
		break;                     \
	case NEURON_DT_UINT32:             \
	case NEURON_DT_TF32:               \
		CALL(dtype, 4);            \
		break;                     \
	case NEURON_DT_BF16:               \
		CALL(NEURON_DT_BF16, 2);   \
		break;                     \
	case NEURON_DT_FP16:               \
		CALL(NEURON_DT_FP16, 2);   \
		break;                     \
	case NEURON_DT_INT8:               \
		CALL(NEURON_DT_INT8, 1);   \
		break;                     \
	case NEURON_DT_INT16:              \
		CALL(NEURON_DT_INT16, 2);  \
		break;                     \
	case NEURON_DT_INT32:              \
		CALL(NEURON_DT_INT32, 4);  \
		break;                     \
	default:                           \
		CALL(NEURON_DT_FP32, 4);   \
	}

KTARGET static void KNAME(load)(uint8_t dtype, float *out, const void *in, size_t n){
#define LOAD(type, size) load_all(type, size, out, in, n)
	EACH_DTYPE(LOAD)
#undef LOAD
}

KTARGET static void KNAME(store)(uint8_t dtype, void *out, const float *in, size_t n){
#define STORE(type, size) store_all(type, size, out, in, n)
	EACH_DTYPE(STORE)
#undef STORE
}

/* The lanes of one vector, or of two, that another one names */
#ifdef __clang__ /* which builds the fuzzers and has no builtin for numbers in a vector */
#define SHUFFLE(v, index)                            \
	__extension__({                              \
		__typeof__(v) v_ = (v), lanes_ = v_; \
		const vi index_ = (index);           \
                                                     \
		for (int i_ = 0; i_ < LANES; i_++)   \
			lanes_[i_] = v_[index_[i_]]; \
		lanes_;                              \
	})
KINLINE vf shuffle_two(vf a, vf b, vi index)
{
	vf lanes = a;

	for (int i = 0; i < LANES; i++)
		lanes[i] = index[i] < LANES ? a[index[i]] : b[index[i] - LANES];
	return lanes;
}
#else
#define SHUFFLE(v, index) __builtin_shuffle(v, index)
#define shuffle_two(a, b, index) __builtin_shuffle(a, b, index)
#endif

#ifndef KEVEN /* the even lanes of a, then those of b */
#define KEVEN(a, b) even_lanes(a, b)
KINLINE vf even_lanes(vf a, vf b)
{
	vi even;

	for (int i = 0; i < LANES; i++)
		even[i] = 2 * i;
	return shuffle_two(a, b, even);
}
#endif

/* Every other word of what lies at in: a vector of them, or at least n; reads no vector beyond */
KINLINE vf even_words(const uint8_t *in, size_t n)
{
	vf a = ld((const float *)in), b = a;

	if (n > LANES / 2)
		b = ld((const float *)in + LANES);
	return KEVEN(a, b);
}

/* The element at in, as fp32, n times */
KINLINE void fill_run(uint8_t dtype, float *out, const uint8_t *in, size_t n)
{
	vu one = (vu)load16(dtype, in); /* and what lies behind it, as load_all() */

	one = (vu){} + one[0];
	for (size_t i = 0; i < n; i += LANES)
		st(out + i, (vf)one);
}

/* One run of elements, as fp32, at out; elements are some bytes apart */
KINLINE void load_run(uint8_t dtype, unsigned int size, float *out, const uint8_t *in, int64_t step,
		      size_t n)
{
	uint8_t raw[LANES * 4];
	vu pair;

	if (step == (int64_t)size) {
		load_all(dtype, size, out, in, n);
		return;
	}
	if (!step) { /* one element for all */
		fill_run(dtype, out, in, n);
		return;
	}
	if (dtype == NEURON_DT_BF16 && step == 4) { /* every other element: the low halves */
		for (size_t i = 0; i < n; i += LANES) {
			memcpy(&pair, in + i * 4, sizeof(pair));
			st(out + i, (vf)(pair << 16));
		}
		return;
	}
	if (dtype == NEURON_DT_INT8 && step == 2) { /* every other byte */
		for (size_t i = 0; i < n; i += LANES) {
			vh h;

			memcpy(&h, in + i * 2, sizeof(h));
			st(out + i, from_i32((vi)(KWIDEN(h) << 24) >> 24));
		}
		return;
	}
	if (dtype == NEURON_DT_FP32 && step == 8) {
		for (size_t i = 0; i < n; i += LANES)
			st(out + i, even_words(in + i * 8, n - i));
		return;
	}
	if (dtype == NEURON_DT_FP32) { /* a vector of what was just stored would wait for it */
		for (size_t i = 0; i < n; i++)
			memcpy(out + i, in + (int64_t)i * step, sizeof(*out));
		return;
	}
	for (size_t i = 0; i < n; i += LANES) {
		size_t m = n - i < LANES ? n - i : LANES;

		for (size_t j = 0; j < m; j++)
			memcpy(raw + j * size, in + (int64_t)(i + j) * step, size);
		st(out + i, load16(dtype, raw));
	}
}

/* Partitions lie so far apart that no processor foresees the next: ask for it some rows ahead */
#define AHEAD 8
#define LINE 64

KINLINE void fetch_ahead(const uint8_t *in, size_t n)
{
	for (size_t i = 0; i < n; i += LINE)
		__builtin_prefetch(in + i);
}

KINLINE void moving_all(uint8_t dtype, unsigned int size, float *x, const uint8_t *in,
			size_t stride, unsigned int rows, const struct exec_runs *runs)
{
	for (unsigned int k = 0; k < rows; k++, in += stride, x += EXEC_MM_X_ROW) {
		for (uint32_t r = 0; r < runs->count; r++) {
			const uint8_t *from = in + runs->at[r];

			if (k + AHEAD < rows && runs->step == (int64_t)size)
				fetch_ahead(from + AHEAD * stride, runs->len * size);
			load_run(dtype, size, x + (size_t)r * runs->len, from, runs->step,
				 runs->len);
		}
	}
}

KTARGET static void KNAME(moving)(uint8_t dtype, float *x, const uint8_t *in, size_t stride,
				  unsigned int rows, const struct exec_runs *runs){
#define MOVING(type, size) moving_all(type, size, x, in, stride, rows, runs)
	EACH_DTYPE(MOVING)
#undef MOVING
}

/* A vector with all bits of its first n lanes set */
KINLINE vi first_lanes(size_t n)
{
	vi lane;

	for (int i = 0; i < LANES; i++)
		lane[i] = i;
	return lane < (int32_t)n;
}

#define WEIGHT_PART (LANES < EXEC_MM_ROWS ? LANES : EXEC_MM_ROWS)

/* The weights of a step of k from column c on, each block's to its place */
KINLINE void weights_put(float *w, unsigned int k, size_t c, vf v)
{
	float *to = w + c / EXEC_MM_ROWS * EXEC_MM_W_BLOCK + (size_t)k * EXEC_MM_ROWS +
		    c % EXEC_MM_ROWS;
	float part[LANES / WEIGHT_PART][WEIGHT_PART];

#ifdef KHALVES
	if (LANES == 2 * EXEC_MM_ROWS) {
		KHALVES(to, to + EXEC_MM_W_BLOCK, v);
		return;
	}
#endif
	memcpy(part, &v, sizeof(v));
	for (size_t j = 0; j < LANES / WEIGHT_PART; j++)
		memcpy(to + j * WEIGHT_PART / EXEC_MM_ROWS * EXEC_MM_W_BLOCK, part[j],
		       sizeof(part[j]));
}

KINLINE void weights_row(uint8_t dtype, unsigned int size, float *w, unsigned int k,
			 const uint8_t *in, size_t n)
{
	vf two[2];
	size_t i;

	for (i = 0; i + 2 * LANES <= n && is_taken_by_two(dtype); i += 2 * LANES) {
		load_two(dtype, two, in + i, NULL);
		weights_put(w, k, i, two[0]);
		weights_put(w, k, i + LANES, two[1]);
	}
	for (; i < n; i += LANES) {
		vf v = load16(dtype, in + i * size);

		if (n - i < LANES)
			v = (vf)((vi)v & first_lanes(n - i));
		weights_put(w, k, i, v);
	}
}

KINLINE void weights_all(uint8_t dtype, unsigned int size, float *w,
			 const struct exec_pair_rows *rows, size_t n)
{
	for (unsigned int k = 0; k < rows->rows; k++) {
		const uint8_t *in = rows->in + k / 2 * rows->stride + k % 2 * rows->low;

		if (k + AHEAD < rows->rows)
			fetch_ahead(in + AHEAD / 2 * rows->stride, n * size);
		weights_row(dtype, size, w, k, in, n);
	}
}

KTARGET static void KNAME(weights)(float *w, const struct exec_pair_rows *rows, size_t n)
{
	const uint8_t dtype = rows->dtype;

#define WEIGHTS(type, size) weights_all(type, size, w, rows, n)
	switch (dtype) { /* two vectors at once, of a type that the compiler knows */
#define FP8(type, ebits, fbits)               \
	case NEURON_DT_##type:                \
		WEIGHTS(NEURON_DT_##type, 1); \
		break;
		NEURON_ISA_FP8S(FP8)
#undef FP8
	default:
		EACH_DTYPE(WEIGHTS)
	}
#undef WEIGHTS
}

/* ALU operations on fp32 */

KINLINE vf truth(vi mask)
{
	return (vf)((vu)mask & (vu)splat(1.0f));
}

#ifndef KMAX /* as it is done without an instruction for it */
#define KMAX(a, b) plain_max(a, b)
#define KMIN(a, b) plain_min(a, b)
KINLINE vf plain_max(vf a, vf b)
{
	vf r = self(a > b, a, b);

	r = (vf)sel(a == b, (vu)a & (vu)b, (vu)r); /* +0 is greater than -0 */
	return self((a != a) | (b != b), a + b, r);
}

KINLINE vf plain_min(vf a, vf b)
{
	vf r = self(a < b, a, b);

	r = (vf)sel(a == b, (vu)a | (vu)b, (vu)r);
	return self((a != a) | (b != b), a + b, r);
}
#endif

KINLINE vf vmax(vf a, vf b)
{
	return KMAX(a, b);
}

KINLINE vf vmin(vf a, vf b)
{
	return KMIN(a, b);
}

KINLINE vf vabs(vf a)
{
	return (vf)((vu)a & 0x7fffffff);
}

KINLINE vf vrelu(vf a)
{
	return vmax(a, splat(0));
}

#include "exec_kernels_math.h"

#define ALU_LOOP(expr)                                                     \
	for (size_t i = 0; i < n; i += LANES) {                            \
		vf a = ld(va.p + i * va.step), b = ld(vb.p + i * vb.step); \
		(void)b;                                                   \
		st(r + i, expr);                                           \
	}                                                                  \
	break

KTARGET static void KNAME(alu)(uint8_t op, float *r, struct exec_vec va, struct exec_vec vb,
			       size_t n)
{
	const vf zero = splat(0);

	switch (op) {
	case NEURON_ALU_BYPASS:
		ALU_LOOP(a);
	case NEURON_ALU_ADD:
		ALU_LOOP(a + b);
	case NEURON_ALU_SUB:
		ALU_LOOP(a - b);
	case NEURON_ALU_MULT:
		ALU_LOOP(a * b);
	case NEURON_ALU_MAX:
		ALU_LOOP(vmax(a, b));
	case NEURON_ALU_MIN:
		ALU_LOOP(vmin(a, b));
	case NEURON_ALU_EQ:
		ALU_LOOP(truth(a == b));
	case NEURON_ALU_NE:
		ALU_LOOP(truth(a != b));
	case NEURON_ALU_GE:
		ALU_LOOP(truth(a >= b));
	case NEURON_ALU_GT:
		ALU_LOOP(truth(a > b));
	case NEURON_ALU_LE:
		ALU_LOOP(truth(a <= b));
	case NEURON_ALU_LT:
		ALU_LOOP(truth(a < b));
	case NEURON_ALU_LOGICAL_AND:
		ALU_LOOP(truth((a != zero) & (b != zero)));
	case NEURON_ALU_LOGICAL_OR:
		ALU_LOOP(truth((a != zero) | (b != zero)));
	case NEURON_ALU_LOGICAL_XOR:
		ALU_LOOP(truth((a != zero) ^ (b != zero)));
	case NEURON_ALU_POW:
		ALU_LOOP(vpow(a, b));
	case NEURON_ALU_ABS_MAX:
		ALU_LOOP(vmax(vabs(a), vabs(b)));
	case NEURON_ALU_ABS:
		ALU_LOOP(vabs(a));
	case NEURON_ALU_SQUARE:
		ALU_LOOP(a * a);
	case NEURON_ALU_RELU:
		ALU_LOOP(vrelu(a));
	case NEURON_ALU_RSQRT:
		ALU_LOOP(act_rsqrt(a));
	case NEURON_ALU_RECIP:
		ALU_LOOP(splat(1.0f) / a);
	}
}

#include "exec_kernels_fold.h"
#include "exec_kernels_arith.h"
#include "exec_kernels_bits.h"

#define ACT_LOOP(expr)                          \
	for (size_t i = 0; i < n; i += LANES) { \
		vf x = ld(p + i);               \
		st(p + i, expr);                \
	}                                       \
	break

KTARGET static void KNAME(act)(uint8_t func, float alpha, float *p, size_t n)
{
	switch (func) {
	case NEURON_ACT_COPY:
		break;
	case NEURON_ACT_SQUARE:
		ACT_LOOP(x * x);
	case NEURON_ACT_SIGMOID:
		ACT_LOOP(act_sigmoid(x));
	case NEURON_ACT_RELU:
		ACT_LOOP(vrelu(x));
	case NEURON_ACT_PRELU:
		ACT_LOOP(self(x < splat(0), x * splat(alpha), x));
	case NEURON_ACT_GELU:
		ACT_LOOP(act_gelu(x));
	case NEURON_ACT_GELU_TANH:
		ACT_LOOP(act_gelu_tanh(x));
	case NEURON_ACT_GELU_SIGMOID:
		ACT_LOOP(act_gelu_sigmoid(x));
	case NEURON_ACT_SILU:
		ACT_LOOP(act_silu(x));
	case NEURON_ACT_TANH:
		ACT_LOOP(act_tanh(x));
	case NEURON_ACT_SOFTPLUS:
		ACT_LOOP(act_softplus(x));
	case NEURON_ACT_MISH:
		ACT_LOOP(act_mish(x));
	case NEURON_ACT_ERF:
		ACT_LOOP(act_erf(x));
	case NEURON_ACT_EXP:
		ACT_LOOP(act_exp(x));
	case NEURON_ACT_SIGN:
		ACT_LOOP(act_sign(x));
	case NEURON_ACT_ABS:
		ACT_LOOP(vabs(x));
	case NEURON_ACT_LOG:
		ACT_LOOP(act_log(x));
	case NEURON_ACT_SIN:
		ACT_LOOP(act_sin(x));
	case NEURON_ACT_ARCTAN:
		ACT_LOOP(act_arctan(x));
	case NEURON_ACT_SQRT:
		ACT_LOOP(act_sqrt(x));
	case NEURON_ACT_RSQRT:
		ACT_LOOP(act_rsqrt(x));
	case NEURON_ACT_RECIPROCAL:
		ACT_LOOP(splat(1.0f) / x);
	case NEURON_ACT_GELU_DX:
		ACT_LOOP(act_gelu_dx(x));
	case NEURON_ACT_GELU_SIGMOID_DX:
		ACT_LOOP(act_gelu_sigmoid_dx(x));
	case NEURON_ACT_SILU_DX:
		ACT_LOOP(act_silu_dx(x));
	case NEURON_ACT_ERF_DX:
		ACT_LOOP(act_erf_dx(x));
	}
}

#include "exec_kernels_keys.h"
#ifdef KPANELS
#include "exec_kernels_panels.h"
#else
#include "exec_kernels_mm.h"
#endif
