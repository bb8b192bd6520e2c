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

/* Conversions to fp32 */

#ifndef KWIDEN /* 16-bit lanes to 32 and back, as the processor does it in one instruction */
#define KWIDEN(h) __builtin_convertvector(h, vu)
#define KNARROW(u) __builtin_convertvector(u, vh)
#endif
#ifndef KWIDEN8 /* the same of signed bytes */
#define KWIDEN8(b) __builtin_convertvector(b, vi)
#define KNARROW8(i) __builtin_convertvector(i, vb)
#endif

KINLINE vf from_bf16(vh h)
{
	return (vf)(KWIDEN(h) << 16);
}

/* The exponent moves by a multiplication with 2^112, which is exact and normalises denormals */
KINLINE vf from_fp16(vh h)
{
	vu u = KWIDEN(h), mag = (u & 0x7fff) << 13;
	vu finite = (vu)((vf)mag * splat(0x1p112f));

	return (vf)(sel((u & 0x7c00) == 0x7c00, mag | 0x7f800000u, finite) | (u & 0x8000) << 16);
}

KINLINE vf from_i32(vi v)
{
	return __builtin_convertvector(v, vf);
}

/*
 * A float of 8 bits. A fraction without an exponent is added to a number whose last place is the
 * fraction's: a multiplication would meet denormals, which are frequent here and slow in processors.
 */
KINLINE vf from_fp8(vu u, unsigned int ebits, unsigned int fbits)
{
	const uint32_t bias = (1u << (ebits - 1)) - 1, one = 1u << 23;
	const uint32_t special = ((1u << ebits) - 1) << 23, tiny = (128 - bias) << 23;
	vu mag = (u & 0x7f) << (23 - fbits);
	vu small = (vu)((vf)(mag | tiny) - (vf)((vu){} + tiny));
	vu r = sel((vi)mag < (vi){} + (int32_t)one, small, mag + ((127 - bias) << 23));

	r = sel((vi)mag >= (vi){} + (int32_t)special, mag | 0x7f800000u, r);
	return (vf)(r | (u & 0x80) << 24);
}

/* The types that the first generation has */
KINLINE vf load_first(uint8_t dtype, const void *in)
{
	vh h;
	vsh s;
	vb b;
	vi i;

	switch (dtype) {
	case NEURON_DT_BF16:
		memcpy(&h, in, sizeof(h));
		return from_bf16(h);
	case NEURON_DT_FP16:
		memcpy(&h, in, sizeof(h));
		return from_fp16(h);
	case NEURON_DT_INT8:
		memcpy(&b, in, sizeof(b));
		return from_i32(KWIDEN8(b));
	case NEURON_DT_INT16:
		memcpy(&s, in, sizeof(s));
		return from_i32(__builtin_convertvector(s, vi));
	case NEURON_DT_INT32:
		memcpy(&i, in, sizeof(i));
		return from_i32(i);
	default:
		return ld(in);
	}
}

KINLINE vf load16(uint8_t dtype, const void *in)
{
	vub b;
	vh h;
	vu u;

	switch (dtype) {
	case NEURON_DT_UINT8:
		memcpy(&b, in, sizeof(b));
		return from_i32((vi) __builtin_convertvector(b, vu));
	case NEURON_DT_UINT16:
		memcpy(&h, in, sizeof(h));
		return from_i32((vi)KWIDEN(h));
	case NEURON_DT_UINT32: /* both halves are exact, and so is their sum but for one rounding */
		memcpy(&u, in, sizeof(u));
		return from_i32((vi)(u >> 16)) * splat(0x1p16f) + from_i32((vi)(u & 0xffff));
	case NEURON_DT_TF32:
		memcpy(&u, in, sizeof(u));
		return (vf)(u & ~NEURON_ISA_TF32_UNUSED);
#define FP8(type, ebits, fbits)            \
	case NEURON_DT_##type:             \
		memcpy(&b, in, sizeof(b)); \
		return from_fp8(__builtin_convertvector(b, vu), ebits, fbits);
		NEURON_ISA_FP8S(FP8)
#undef FP8
	default:
		return load_first(dtype, in);
	}
}

/* Conversions from fp32: one rounding to nearest even */

KINLINE vh to_bf16(vf x)
{
	vu u = (vu)x;

	u = (u + 0x7fff + (u >> 16 & 1)) >> 16;
	return KNARROW(sel(x != x, (vu){} + 0x7fc0, u));
}

/* To so many bits of exponent and fraction; the bias is half the exponent's range */
KINLINE vu to_narrow(vf x, unsigned int ebits, unsigned int fbits)
{
	const uint32_t bias = (1u << (ebits - 1)) - 1, shift = 23 - fbits;
	const uint32_t infinity = ((1u << ebits) - 1) << fbits, half = 1u << (shift - 1);
	/* the exponents, in place, of the least normal number and of the greatest */
	const uint32_t least = (128 - bias) << 23, most = (127 + bias) << 23;
	/* a number whose last place is that of the narrow type's subnormals */
	const uint32_t place = least + (shift << 23);
	vu u = (vu)x, sign = u >> (31 - ebits - fbits) & (infinity + (1u << fbits));
	vu mag = u & 0x7fffffff;
	/* normal: rebias, round; half a place beyond the greatest and above becomes infinity */
	vu normal = (mag - (least - (1u << 23)) + (half - 1) + (mag >> shift & 1)) >> shift;
	/* subnormal: the addition rounds */
	vu tiny = (vu)((vf)mag + (vf)((vu){} + place)) - place;
	vu r = sel((vi)mag < (vi){} + (int32_t)least, tiny, normal);

	r = sel((vi)mag >= (vi){} + (int32_t)(most | (0x800000 - half)), (vu){} + infinity, r);
	return sel(x != x, (vu){} + (infinity | 1u << (fbits - 1)), r | sign);
}

KINLINE vh to_fp16(vf x)
{
	return KNARROW(to_narrow(x, 5, 10));
}

/* Rounded to ten bits of fraction; the exponent's range is that of fp32 */
KINLINE vf to_tf32(vf x)
{
	vu u = (vu)x;

	u = (u + 0xfff + (u >> 13 & 1)) & ~NEURON_ISA_TF32_UNUSED;
	return canonical(self(x != x, x, (vf)u));
}

/* |x| clamped to at most 2^16: adding 1.5 * 2^23 leaves the rounded integer in the low bits */
KINLINE vi to_small_int(vf x, float lo, float hi)
{
	x = (vf)((vu)x & (vu)(x == x));
	x = self(x < splat(lo), splat(lo), x);
	x = self(x > splat(hi), splat(hi), x);
	return (vi)(x + splat(0x1.8p23f)) - 0x4b400000;
}

/* To int32, within its bounds; an instance may have an instruction, whose result elsewhere is -2^31
 */
#ifdef KROUND
KINLINE vi to_i32(vf x)
{
	vi r = (vi)sel(x >= splat(0x1p31f), (vu){} + 0x7fffffff, (vu)KROUND(x));

	return r & (x == x);
}
#else
KINLINE vuh to_i32_half(vfh x)
{
	vd d = __builtin_convertvector((vfh)((vuh)x & (vuh)(x == x)), vd);
	vd lo = (vd){} - 0x1p31, hi = (vd){} + (0x1p31 - 1);

	d = (vd)(((vl)d & ~(d < lo)) | ((vl)lo & (d < lo)));
	d = (vd)(((vl)d & ~(d > hi)) | ((vl)hi & (d > hi)));
	return __builtin_convertvector((vl)(d + ((vd){} + 0x1.8p52)), vuh);
}

KINLINE vi to_i32(vf x)
{
	vfh half[2];
	vuh r[2];
	vi i;

	memcpy(half, &x, sizeof(x));
	r[0] = to_i32_half(half[0]);
	r[1] = to_i32_half(half[1]);
	memcpy(&i, r, sizeof(i));
	return i;
}
#endif

KINLINE vu to_u32(vf x)
{
	vi high = x >= splat(0x1p31f); /* whole numbers all */
	vf low = (vf)((vu)x & (vu)(x > splat(0)));

	return (vu)to_i32(self(high, x - splat(0x1p31f), low)) ^ ((vu)high & 0x80000000u);
}

KINLINE void store_first(uint8_t dtype, void *out, vf x)
{
	vsh s;
	vb b;
	vh h;
	vi i;

	switch (dtype) {
	case NEURON_DT_BF16:
		h = to_bf16(x);
		memcpy(out, &h, sizeof(h));
		break;
	case NEURON_DT_FP16:
		h = to_fp16(x);
		memcpy(out, &h, sizeof(h));
		break;
	case NEURON_DT_INT8:
		b = KNARROW8(to_small_int(x, -128, 127));
		memcpy(out, &b, sizeof(b));
		break;
	case NEURON_DT_INT16:
		s = __builtin_convertvector(to_small_int(x, -32768, 32767), vsh);
		memcpy(out, &s, sizeof(s));
		break;
	case NEURON_DT_INT32:
		i = to_i32(x);
		memcpy(out, &i, sizeof(i));
		break;
	default:
		st(out, canonical(x));
	}
}

KINLINE void store16(uint8_t dtype, void *out, vf x)
{
	vub b;
	vh h;
	vu u;

	switch (dtype) {
	case NEURON_DT_UINT8:
		b = __builtin_convertvector((vu)to_small_int(x, 0, 255), vub);
		memcpy(out, &b, sizeof(b));
		break;
	case NEURON_DT_UINT16:
		h = KNARROW((vu)to_small_int(x, 0, 65535));
		memcpy(out, &h, sizeof(h));
		break;
	case NEURON_DT_UINT32:
		u = to_u32(x);
		memcpy(out, &u, sizeof(u));
		break;
	case NEURON_DT_TF32:
		st(out, to_tf32(x));
		break;
#define FP8(type, ebits, fbits)                                               \
	case NEURON_DT_##type:                                                \
		b = __builtin_convertvector(to_narrow(x, ebits, fbits), vub); \
		memcpy(out, &b, sizeof(b));                                   \
		break;
		NEURON_ISA_FP8S(FP8)
#undef FP8
	default:
		store_first(dtype, out, x);
	}
}

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

/* All bits of the first n lanes */
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

KINLINE void weights_all(uint8_t dtype, unsigned int size, float *w, const uint8_t *in,
			 size_t stride, unsigned int rows, size_t n)
{
	const vi last = first_lanes(n % LANES); /* of a vector that is not whole */

	for (unsigned int k = 0; k < rows; k++, in += stride) {
		if (k + AHEAD < rows)
			fetch_ahead(in + AHEAD * stride, n * size);
		for (size_t i = 0; i < n; i += LANES) {
			vf v = load16(dtype, in + i * size);

			if (n - i < LANES)
				v = (vf)((vi)v & last);
			weights_put(w, k, i, v);
		}
	}
}

KTARGET static void KNAME(weights)(uint8_t dtype, float *w, const uint8_t *in, size_t stride,
				   unsigned int rows, size_t n){
#define WEIGHTS(type, size) weights_all(type, size, w, in, stride, rows, n)
	EACH_DTYPE(WEIGHTS)
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
	}
}

#include "exec_kernels_keys.h"
#include "exec_kernels_mm.h"
