/* SPDX-License-Identifier: MIT */
/*
 * Element-wise instructions of rows of which src0 has every other element, as a convolution of
 * each feature with a stride of 2 reads its picture: part of exec_kernels_arith.h. A row begins
 * with a vector of its own, so the operands' rows may lie as they like.
 */

/* The operations that read so */
#define ROWS_PAIRS(X)   \
	X(BYPASS, ADD)  \
	X(BYPASS, MAX)  \
	X(MULT, BYPASS) \
	X(MULT, ADD)

/* Bytes from row to row of an operand that has these rows, or dense elements; 0: of another */
KINLINE int64_t rows_pitch(const struct exec_operand *o, const struct exec_stream *rows)
{
	const struct exec_stream *s = &o->s;

	if (o->dtype != NEURON_DT_FP32 || s->step[s->ndim - 1] != 4)
		return 0;
	if (s->ndim == 1)
		return (int64_t)rows->num[1] * 4;
	return s->ndim == 2 && s->num[0] == rows->num[0] && s->num[1] == rows->num[1] ? s->step[0]
										      : 0;
}

struct rows {
	uint32_t count, width;
	int64_t pitch[3]; /* of dst, src0, src1 */
};

KINLINE bool make_rows(const struct exec_arith *x, struct rows *r)
{
	const struct exec_stream *s = &x->src0.s;

	if (!x->direct || x->src0.dtype != NEURON_DT_FP32 || s->ndim != 2 || s->step[1] != 8)
		return false;
	*r = (struct rows){ .count = s->num[0], .width = s->num[1] };
	r->pitch[0] = rows_pitch(&x->dst, s);
	r->pitch[1] = s->step[0];
	r->pitch[2] = x->has_src1 ? rows_pitch(&x->src1, s) : 4;
	return r->pitch[0] && r->pitch[2];
}

KINLINE void rows_row(uint8_t op0, uint8_t op1, const struct grid_row *at, bool array, size_t width)
{
	vf second = at->second;

	for (size_t i = 0; i < width; i += LANES) {
		const size_t left = width - i;
		const uint16_t mask =
			(uint16_t)(left < LANES ? (1u << left) - 1 : (1u << LANES) - 1);
		vf v = arith_op(op0, even_words(at->a + i * 8, left), at->c);

		if (array)
			second = ld((const float *)at->b + i);
		KSTORE((float *)at->out + i, mask, canonical(arith_op(op1, v, second)));
	}
}

KINLINE void rows_loop(uint8_t op0, uint8_t op1, const struct exec_arith *x, const struct rows *r)
{
	for (unsigned int p = 0; p < x->partitions; p++) {
		struct grid_row at = grid_row(x, p);

		for (uint32_t i = 0; i < r->count; i++) {
			if (p + 1 < x->partitions)
				grid_ahead(x, &at);
			rows_row(op0, op1, &at, x->has_src1, r->width);
			at.out += r->pitch[0];
			at.a += r->pitch[1];
			at.b += r->pitch[2];
		}
	}
}

#define ROWS(o0, o1)                                                                   \
	KTARGET static __attribute__((noinline)) void KNAME(                           \
		rows_##o0##_##o1)(const struct exec_arith *x, const struct rows *rows) \
	{                                                                              \
		rows_loop(NEURON_ALU_##o0, NEURON_ALU_##o1, x, rows);                  \
	}
ROWS_PAIRS(ROWS)
#undef ROWS

/* false: the operands do not lie so, or the operations are not among the pairs */
KINLINE bool arith_rows(const struct exec_arith *x)
{
	struct rows rows;

	if (!make_rows(x, &rows))
		return false;
#define ROWS(o0, o1)                                       \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1): \
		KNAME(rows_##o0##_##o1)(x, &rows);         \
		return true;
	switch (arith_pair(x)) {
		ROWS_PAIRS(ROWS)
	default:
		return false;
	}
#undef ROWS
}
