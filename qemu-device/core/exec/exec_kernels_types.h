/* SPDX-License-Identifier: MIT */
/* Conversions of a vector between fp32 and each type of operands (docs/isa.md). Part of
 * exec_kernels.h. */

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

#ifdef KFP16 /* an instruction; of NaN it makes another kind, which does not show */
KINLINE vf from_fp16(vh h)
{
	return KFP16(h);
}
#else
/* The exponent moves by a multiplication with 2^112, which is exact and normalises denormals */
KINLINE vf from_fp16(vh h)
{
	vu u = KWIDEN(h), mag = (u & 0x7fff) << 13;
	vu finite = (vu)((vf)mag * splat(0x1p112f));

	return (vf)(sel((u & 0x7c00) == 0x7c00, mag | 0x7f800000u, finite) | (u & 0x8000) << 16);
}
#endif

KINLINE vf from_i32(vi v)
{
	return __builtin_convertvector(v, vf);
}

#ifdef KFP16
/*
 * Floats of 8 bits, each in 16, their signs extended: in a float of 16 bits their fields have the
 * value divided by a power of 2, with an exponent or without. Where the exponent is all ones, it is
 * made so there.
 */
#define FP8_TO_FP16(h, ebits, fbits)                                             \
	__extension__({                                                          \
		const unsigned int shift_ = 10 - (fbits);                        \
		const uint16_t fields_ = (uint16_t)(0x8000 | 0x7f << shift_);    \
		const uint16_t one_ = 1 << 10, ones_ = (1 << (5 - (ebits))) - 1; \
		const uint16_t above_ = (uint16_t)(one_ << (ebits));             \
		__typeof__(h) h_ = (h) << shift_ & fields_;                      \
                                                                                 \
		ones_ ? h_ | ((h_ + one_) & above_) * ones_ : h_;                \
	})

KINLINE vf fp8_scaled(vf x, unsigned int ebits)
{
	return ebits == 5 ? x : x * splat((float)(1 << (16 - (1 << (ebits - 1)))));
}

KINLINE vf from_fp8(vb b, unsigned int ebits, unsigned int fbits)
{
	return fp8_scaled(KFP16(FP8_TO_FP16((vh)KWIDEN8H(b), ebits, fbits)), ebits);
}

/* Two vectors of them */
KINLINE void from_fp8_two(vf out[2], vhh b, unsigned int ebits, unsigned int fbits)
{
	vhh h = FP8_TO_FP16(b, ebits, fbits);
	vh half[2];

	memcpy(half, &h, sizeof(h));
	out[0] = fp8_scaled(KFP16(half[0]), ebits);
	out[1] = fp8_scaled(KFP16(half[1]), ebits);
}
#else
/*
 * A float of 8 bits. A fraction without an exponent is added to a number whose last place is the
 * fraction's: a multiplication would meet denormals, which are frequent here and slow in processors.
 */
KINLINE vf from_fp8(vb b, unsigned int ebits, unsigned int fbits)
{
	const uint32_t bias = (1u << (ebits - 1)) - 1, one = 1u << 23;
	const uint32_t special = ((1u << ebits) - 1) << 23, tiny = (128 - bias) << 23;
	vu u = (vu)KWIDEN8(b); /* the sign too, but above a byte */
	vu mag = (u & 0x7f) << (23 - fbits);
	vu small = (vu)((vf)(mag | tiny) - (vf)((vu){} + tiny));
	vu r = sel((vi)mag < (vi){} + (int32_t)one, small, mag + ((127 - bias) << 23));

	r = sel((vi)mag >= (vi){} + (int32_t)special, mag | 0x7f800000u, r);
	return (vf)(r | (u & 0x80) << 24);
}
#endif

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
	vb s;
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
		memcpy(&s, in, sizeof(s)); \
		return from_fp8(s, ebits, fbits);
		NEURON_ISA_FP8S(FP8)
#undef FP8
	default:
		return load_first(dtype, in);
	}
}

/* Does it take less to convert two vectors of a type at once? */
KINLINE bool is_taken_by_two(uint8_t dtype)
{
#ifdef KFP16
	return neuron_dtype_is_fp8(dtype);
#else
	return false;
#endif
}

/* Two vectors of such a type: at a, and at b or, if that is NULL, behind the first */
KINLINE void load_two(uint8_t dtype, vf out[2], const uint8_t *a, const uint8_t *b)
{
	switch (dtype) {
#ifdef KFP16
#define FP8(type, ebits, fbits)                                                    \
	case NEURON_DT_##type:                                                     \
		from_fp8_two(out, b ? KWIDEN8P(a, b) : KWIDEN8W(a), ebits, fbits); \
		break;
		NEURON_ISA_FP8S(FP8)
#undef FP8
#endif
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
