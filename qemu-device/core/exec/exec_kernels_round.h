/* SPDX-License-Identifier: MIT */
/*
 * Stochastic rounding (docs/isa.md, Rounding): random words by a counter (Philox4x32-10, Salmon et
 * al., 2011), and numbers of fp32 that become numbers of a narrower type by them. Part of
 * exec_kernels.h.
 */

#ifndef KMUL32 /* the product of the low halves of 64-bit lanes */
#define KMUL32(a, b) (((a)&0xffffffff) * ((b)&0xffffffff))
#endif

#define PHILOX_ROUNDS 10
#define PHILOX_M0 0xd2511f53u
#define PHILOX_M1 0xcd9e8d57u
#define PHILOX_W0 0x9e3779b9u
#define PHILOX_W1 0xbb67ae85u

/* The halves of the 64-bit products of 32-bit lanes */
KINLINE void philox_multiply(vu x, uint32_t m, vu *high, vu *low)
{
	const vul by = (vul){} + m, upper = (vul){} + 0xffffffff00000000ull;
	vul even = KMUL32((vul)x, by), odd = KMUL32((vul)x >> 32, by);

	*high = (vu)(even >> 32 | (odd & upper));
	*low = (vu)((even & ~upper) | odd << 32);
}

/* The blocks from one on, as many as a vector has lanes: word i of each at out + 16 * i */
KINLINE void philox_blocks(const struct exec_draws *d, uint64_t block, uint32_t *out)
{
	uint32_t k0 = (uint32_t)d->seed, k1 = (uint32_t)(d->seed >> 32);
	vu c[4] = { (vu){} + (uint32_t)block, (vu){} + (uint32_t)(block >> 32), (vu){} + d->engine,
		    (vu){} + d->core };

	for (int i = 0; i < LANES; i++)
		c[0][i] += (uint32_t)i;
	for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
		vu high0, low0, high1, low1;

		philox_multiply(c[0], PHILOX_M0, &high0, &low0);
		philox_multiply(c[2], PHILOX_M1, &high1, &low1);
		c[0] = high1 ^ c[1] ^ k0;
		c[2] = high0 ^ c[3] ^ k1;
		c[1] = low1;
		c[3] = low0;
	}
	for (int i = 0; i < 4; i++)
		memcpy(out + i * EXEC_DRAW_BLOCKS, &c[i], sizeof(c[i]));
}

KTARGET static void KNAME(draw)(const struct exec_draws *d, uint64_t group, unsigned int groups,
				uint32_t *out)
{
	for (; groups; groups--, group++, out += EXEC_DRAW_GROUP)
		for (unsigned int i = 0; i < EXEC_DRAW_BLOCKS; i += LANES)
			philox_blocks(d, group * EXEC_DRAW_BLOCKS + i, out + i);
}

KINLINE vu lesser(vu a, uint32_t b)
{
	return sel((vi)a < (vi){} + (int32_t)b, a, (vu){} + b);
}

/*
 * The number of so many bits of exponent and fraction, as fp32, that x becomes: what is discarded
 * of its magnitude stands as the high bits of a word, which w is added to; a carry goes up. What no
 * such number is large enough for is left to the conversion.
 */
KINLINE vf round_vector(vf x, vu w, unsigned int ebits, unsigned int fbits)
{
	const uint32_t bias = (1u << (ebits - 1)) - 1, shift = 23 - fbits;
	const uint32_t least = 128 - bias; /* the exponent, in fp32, of the least normal number */
	vu mag = (vu)x & 0x7fffffff, sign = (vu)x & 0x80000000u;
	vu kept = mag >> shift, lost = mag << (32 - shift), r;
	vi small = (vi)mag < (vi){} + (int32_t)(least << 23), up;

	if (ebits < 8) { /* subnormal: more is discarded, and a place is the same for all */
		vu exponent = mag >> 23, subnormal = (vu)(exponent == 0);
		vu m = (mag & 0x7fffff) | (~subnormal & 0x800000);
		vu k = shift + least - (exponent - subnormal); /* at most 31 beyond 32 matter */
		vu left = lesser((32 - k) & (vu)small, 31),
		   right = lesser((k - 32) & (vu)small, 31);

		lost = sel(small, sel((vi)k > 32, m >> right, m << left), lost);
		kept = sel(small, m >> lesser(k & (vu)small, 31), kept);
	}
	up = (vi)(lost + w < lost);
	kept -= (vu)up;
	r = kept << shift;
	if (ebits < 8) {
		const vf place = (vf)((vu){} + ((least - fbits) << 23));

		r = sel(small, (vu)(from_i32((vi)kept) * place), r);
	}
	return (vf)sel((vi)mag >= (vi){} + 0x7f800000, (vu)x, r | sign);
}

KINLINE void round_all(unsigned int ebits, unsigned int fbits, float *out, const float *in,
		       const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i += LANES) {
		vu w;

		memcpy(&w, words + i, sizeof(w));
		st(out + i, round_vector(ld(in + i), w, ebits, fbits));
	}
}

KTARGET static void KNAME(round)(uint8_t dtype, float *out, const float *in, const uint32_t *words,
				 size_t n)
{
	switch (dtype) {
	case NEURON_DT_BF16:
		round_all(8, 7, out, in, words, n);
		break;
	case NEURON_DT_FP16:
		round_all(5, 10, out, in, words, n);
		break;
	case NEURON_DT_TF32:
		round_all(8, 10, out, in, words, n);
		break;
#define FP8(type, ebits, fbits)                             \
	case NEURON_DT_##type:                              \
		round_all(ebits, fbits, out, in, words, n); \
		break;
		NEURON_ISA_FP8S(FP8)
#undef FP8
	}
}
