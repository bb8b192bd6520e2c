/* SPDX-License-Identifier: MIT */
/*
 * The reduction of a row to one element, by operations whose order does not matter. Part of
 * exec_kernels.h.
 */

#ifndef KMOST /* the greater of signed lanes */
#define KMOST(a, b) ((vi)sel((a) > (b), (vu)(a), (vu)(b)))
#endif

KINLINE vf fold_step(uint8_t op, vf a, vf b)
{
	switch (op) {
	case NEURON_ALU_LOGICAL_AND:
		return (vf)((vu)a & (vu)b);
	case NEURON_ALU_LOGICAL_OR:
		return (vf)((vu)a | (vu)b);
	default:
		return (vf)((vu)a ^ (vu)b);
	}
}

/* The first n lanes of v, and the others of rest */
KINLINE vf lanes_or(vf v, size_t n, vf rest)
{
	const vi some = first_lanes(n);

	return (vf)(((vi)v & some) | ((vi)rest & ~some));
}

KINLINE vi half_away(int half)
{
	vi other;

	for (int i = 0; i < LANES; i++)
		other[i] = i ^ half;
	return other;
}

/* One lane with all the others, by halves */
KINLINE float fold_lanes(uint8_t op, vf acc)
{
	for (int half = LANES / 2; half; half /= 2)
		acc = fold_step(op, acc, SHUFFLE(acc, half_away(half)));
	return acc[0];
}

/* x may be read up to the end of a vector */
KINLINE float fold_all(uint8_t op, const float *x, size_t n)
{
	const vf rest = splat(op == NEURON_ALU_LOGICAL_XOR ? 0 : x[0]);
	vf acc = lanes_or(ld(x), n, rest);

	for (size_t i = LANES; i < n; i += LANES)
		acc = fold_step(op, acc, lanes_or(ld(x + i), n - i, rest));
	return fold_lanes(op, acc);
}

/* Floats as integers of the same order, -0 before +0, and back; not NaN */
KINLINE vi in_order(vi bits)
{
	return bits ^ (vi)((vu)(bits >> 31) >> 1);
}

/* The greatest of x, or for `flip` -1 the smallest; NaN if one is */
KINLINE float fold_extreme(int32_t flip, const float *x, size_t n)
{
	const vi flips = (vi){} + flip;
	const vf rest = splat(x[0]);
	vf v = lanes_or(ld(x), n, rest);
	vi most = in_order((vi)v) ^ flips, none = v != v;

	for (size_t i = LANES; i + LANES <= n; i += LANES) {
		v = ld(x + i);
		most = KMOST(most, in_order((vi)v) ^ flips);
		none |= v != v;
	}
	if (n > LANES && n % LANES) {
		v = lanes_or(ld(x + n - n % LANES), n % LANES, rest);
		most = KMOST(most, in_order((vi)v) ^ flips);
		none |= v != v;
	}
	for (int half = LANES / 2; half; half /= 2) {
		most = KMOST(most, SHUFFLE(most, half_away(half)));
		none |= SHUFFLE(none, half_away(half));
	}
	most = in_order(most ^ flips);
	return canonical((vf)(most | none))[0];
}

KTARGET static float KNAME(fold)(uint8_t op, const float *x, size_t n)
{
	switch (op) {
	case NEURON_ALU_MAX:
		return fold_extreme(0, x, n);
	case NEURON_ALU_MIN:
		return fold_extreme(-1, x, n);
	case NEURON_ALU_LOGICAL_AND:
		return fold_all(NEURON_ALU_LOGICAL_AND, x, n);
	case NEURON_ALU_LOGICAL_OR:
		return fold_all(NEURON_ALU_LOGICAL_OR, x, n);
	default:
		return fold_all(NEURON_ALU_LOGICAL_XOR, x, n);
	}
}
