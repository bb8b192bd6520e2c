/* SPDX-License-Identifier: MIT */
/* Stochastic rounding for ref.c, one number at a time, in fp64, which holds every quotient here */
#include "ref_round.h"

#include <math.h>

#include "neuron/hw/dtype.h"

void ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 1; round <= 10; round++) {
		uint64_t a = (uint64_t)c0 * 0xd2511f53, b = (uint64_t)c2 * 0xcd9e8d57;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9e3779b9;
		k1 += 0xbb67ae85;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

uint32_t ref_word(const struct ref_draws *d, uint64_t i)
{
	const uint64_t block = 16 * (i / 64) + i % 16;
	const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), d->engine,
				      d->core };
	const uint32_t key[2] = { (uint32_t)d->seed, (uint32_t)(d->seed >> 32) };
	uint32_t out[4];

	ref_philox(counter, key, out);
	return out[i / 16 % 4];
}

/* Bits of fraction, and the exponent of the least normal number; false: nothing is rounded */
static bool layout(uint8_t dtype, int *fraction, int *least)
{
	switch (dtype) {
	case NEURON_DT_BF16:
		*fraction = 7, *least = -126;
		return true;
	case NEURON_DT_TF32:
		*fraction = 10, *least = -126;
		return true;
	case NEURON_DT_FP16:
		*fraction = 10, *least = -14;
		return true;
	case NEURON_DT_FP8_E5:
		*fraction = 2, *least = -14;
		return true;
	case NEURON_DT_FP8_E4:
		*fraction = 3, *least = -6;
		return true;
	case NEURON_DT_FP8_E3:
		*fraction = 4, *least = -2;
		return true;
	default:
		return false;
	}
}

float ref_round(uint8_t dtype, float x, uint32_t word)
{
	int fraction, least, exponent;
	double place, places, down;

	if (!layout(dtype, &fraction, &least) || !isfinite(x) || x == 0)
		return x;
	exponent = ilogb(x);
	place = ldexp(1, (exponent < least ? least : exponent) - fraction);
	places = fabs((double)x) / place;
	down = floor(places);
	/* of what is discarded the first 32 bits */
	if (floor(ldexp(places - down, 32)) + word >= 0x1p32)
		down++;
	return (float)copysign(down * place, x);
}

float ref_draw(struct ref_draws *d, uint8_t dtype, float x)
{
	int fraction, least;

	if (!d->on || !layout(dtype, &fraction, &least))
		return x;
	return ref_round(dtype, x, ref_word(d, d->count++));
}
