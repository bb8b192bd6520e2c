// SPDX-License-Identifier: MIT
/* Reductions of exact 32-bit integers (words.h) */
#include "words.h"

static struct ncc_op *like_reduce(struct ncc_build *bl, const struct ncc_op *op, enum ncc_kind func,
				  struct ncc_op *src, uint32_t init)
{
	struct ncc_shape s = op->shape;
	struct ncc_op *c = ncc_const_scalar(bl->m, NEURON_DT_INT32, (int32_t)init), *r;

	s.dtype = NEURON_DT_INT32;
	s.pred = false;
	r = c ? build_node(bl, NCC_REDUCE, &s, src, c, NULL) : NULL;
	if (r) {
		r->func = func;
		r->mask = op->mask;
	}
	return r;
}

/* Sums bytes separately, as many as fit 2^24; the words of several such sums are added. */
static struct ncc_op *sum_words(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *w)
{
	struct ncc_op *sum = NULL;

	for (unsigned int j = 0; j < 4; j++) {
		struct ncc_op *part = j ? word_bits(bl, NCC_SHR, w, 8 * j) : w;

		part = j < 3 ? word_bits(bl, NCC_AND, part, 0xff) : part;
		part = like_reduce(bl, op, NCC_ADD, part, 0);
		part = j ? word_bits(bl, NCC_SHL, part, 8 * j) : part;
		sum = sum ? word_add(bl, sum, part) : part;
	}
	return sum;
}

/* The greatest (or least) high half, then the greatest low half among those with it */
static struct ncc_op *extreme_words(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *w,
				    bool is_signed)
{
	struct ncc_op *hi, *lo, *best, *spread;
	uint32_t none = op->func == NCC_MAX ? 0 : 0xffff;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	if (!w)
		return NULL;
	if (is_signed)
		w = word_bits(bl, NCC_XOR, w, 0x80000000u);
	hi = word_bits(bl, NCC_SHR, w, 16);
	best = like_reduce(bl, op, op->func, hi, none);
	if (!best)
		return NULL;

	for (unsigned int d = 0; d < hi->shape.ndim; d++)
		if (!(op->mask >> d & 1))
			map[n++] = (uint8_t)d;

	spread = build_spread(bl, &hi->shape, best, map);
	lo = build_select(bl, build_compare(bl, NCC_EQ, hi, spread),
			  word_bits(bl, NCC_AND, w, 0xffff), word_splat(bl, w, none));
	lo = like_reduce(bl, op, op->func, lo, none);
	w = word_small(bl, NCC_OR, word_bits(bl, NCC_SHL, best, 16), lo);
	return is_signed ? word_bits(bl, NCC_XOR, w, 0x80000000u) : w;
}

static struct ncc_op *halve_words(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *w,
				  build_fn fn)
{
	for (unsigned int d = 0; w && d < op->in[0]->shape.ndim; d++)
		if (op->mask >> d & 1)
			w = build_halves(bl, w, d, fn);
	return build_reshape(bl, w, &op->shape);
}

/* Sums of up to 2^16 bytes stay below 2^24. */
struct ncc_op *word_reduce(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *w,
			   bool is_signed)
{
	int64_t n = 1;

	for (unsigned int d = 0; d < op->in[0]->shape.ndim; d++)
		n *= op->mask >> d & 1 ? op->in[0]->shape.dim[d] : 1;
	switch (op->func) {
	case NCC_ADD:
		return n <= 1 << 16 ? sum_words(bl, op, w) : halve_words(bl, op, w, word_add);
	case NCC_MUL:
		return halve_words(bl, op, w, word_mul);
	case NCC_MAX:
	case NCC_MIN:
		return extreme_words(bl, op, w, is_signed);
	default: /* bits */
		return like_reduce(bl, op, op->func, w, op->func == NCC_AND ? UINT32_MAX : 0);
	}
}
