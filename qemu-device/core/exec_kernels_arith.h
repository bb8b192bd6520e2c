/* SPDX-License-Identifier: MIT */
/*
 * A whole element-wise instruction of arithmetic, all its partitions: part of exec_kernels.h. Rows
 * are short in many networks (7 x 7 elements), so that what surrounds them counts as much as they.
 */

/* The next n elements, gathered as fp32: a row's last vector is written whole, the next over it */
KINLINE void gather_all(uint8_t dtype, unsigned int size, float *out, struct exec_stream *s,
			size_t n)
{
	while (n) {
		unsigned int d = s->ndim - 1;
		const uint8_t *from = s->base + s->pos;
		uint32_t rows = exec_stream_rows(s, n), len = s->num[d];

		if (rows) {
			for (uint32_t i = 0; i < rows; i++, out += len, from += s->step[d - 1])
				load_run(dtype, size, out, from, s->step[d], len);
			exec_stream_skip(s, rows);
			n -= (size_t)rows * len;
			continue;
		}
		len = exec_stream_run(s, n);
		load_run(dtype, size, out, from, s->step[d], len);
		exec_stream_advance(s, len);
		out += len;
		n -= len;
	}
}

/* The next n elements as fp32, in buf or where they lie */
KINLINE const float *arith_fetch(struct exec_operand *o, float *buf, size_t n)
{
	const void *at = exec_stream_at(&o->s, n);
	const uint8_t dtype = o->dtype;

	if (at && dtype == NEURON_DT_FP32)
		return at;
	if (at) {
		KNAME(load)(dtype, buf, at, n);
		return buf;
	}
#define GATHER(type, size) gather_all(type, size, buf, &o->s, n)
	EACH_DTYPE(GATHER)
#undef GATHER
	return buf;
}

/* The operations that are fused with what surrounds them; the rest go by themselves (alu) */
KINLINE vf arith_op(uint8_t op, vf a, vf b)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUB:
		return a - b;
	case NEURON_ALU_MULT:
		return a * b;
	case NEURON_ALU_MAX:
		return vmax(a, b);
	case NEURON_ALU_MIN:
		return vmin(a, b);
	case NEURON_ALU_LT:
		return truth(a < b);
	case NEURON_ALU_GE:
		return truth(a >= b);
	default:
		return a;
	}
}

/* out = (a op0 c) op1 b, converted */
KINLINE void arith_loop(uint8_t op0, uint8_t op1, uint8_t dtype, unsigned int size, uint8_t *out,
			const float *a, vf c, struct exec_vec b, size_t n)
{
	const size_t step = b.step * LANES;
	uint8_t tail[LANES * 4];
	const float *pb = b.p;
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES, pb += step)
		store16(dtype, out + i * size, arith_op(op1, arith_op(op0, ld(a + i), c), ld(pb)));
	if (i == n)
		return;
	store16(dtype, tail, arith_op(op1, arith_op(op0, ld(a + i), c), ld(pb)));
	exec_copy_few(out + i * size, tail, (n - i) * size);
}

/* Pairs that networks consist of */
#define ARITH_PAIRS(X)  \
	X(BYPASS, ADD)  \
	X(BYPASS, SUB)  \
	X(BYPASS, MULT) \
	X(BYPASS, MAX)  \
	X(BYPASS, MIN)  \
	X(BYPASS, LT)   \
	X(BYPASS, GE)   \
	X(ADD, BYPASS)  \
	X(SUB, BYPASS)  \
	X(MULT, BYPASS) \
	X(MAX, BYPASS)  \
	X(MIN, BYPASS)  \
	X(LT, BYPASS)   \
	X(GE, BYPASS)   \
	X(ADD, MAX)     \
	X(ADD, MULT)    \
	X(MAX, MIN)     \
	X(MULT, ADD)    \
	X(MULT, MULT)   \
	X(SUB, MULT)    \
	X(SUB, LT)
#define ARITH_PAIR(op0, op1) ((unsigned int)(op0) << 8 | (op1))

KINLINE bool commutes(uint8_t op)
{
	return op != NEURON_ALU_SUB && op != NEURON_ALU_BYPASS && op != NEURON_ALU_LT &&
	       op != NEURON_ALU_GE;
}

/* Does the kernel have the pair, in this order of operands? */
KINLINE bool arith_has_order(const struct exec_arith *x)
{
	return !(x->reverse0 && !commutes(x->op0)) && !(x->reverse1 && !commutes(x->op1));
}

/* One function a pair: in one for all, their registers would not do */
#define FUSED(o0, o1)                                                                            \
	KTARGET static __attribute__((noinline)) void KNAME(                                     \
		fused_##o0##_##o1)(uint8_t dtype, uint8_t * out, const float *a, const float *c, \
				   struct exec_vec b, size_t n)                                  \
	{                                                                                        \
		if (dtype == NEURON_DT_FP32)                                                     \
			arith_loop(NEURON_ALU_##o0, NEURON_ALU_##o1, NEURON_DT_FP32, 4, out, a,  \
				   ld(c), b, n);                                                 \
		else                                                                             \
			arith_loop(NEURON_ALU_##o0, NEURON_ALU_##o1, NEURON_DT_BF16, 2, out, a,  \
				   ld(c), b, n);                                                 \
	}
ARITH_PAIRS(FUSED)
#undef FUSED

/* false: not one of the pairs, or not to such a type */
KINLINE bool arith_fused(const struct exec_arith *x, uint8_t *out, const float *a, const float *c,
			 struct exec_vec b, size_t n)
{
	if ((x->dst.dtype != NEURON_DT_FP32 && x->dst.dtype != NEURON_DT_BF16) ||
	    !arith_has_order(x))
		return false;
#define FUSED(o0, o1)                                                    \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1):               \
		KNAME(fused_##o0##_##o1)(x->dst.dtype, out, a, c, b, n); \
		return true;
	switch (ARITH_PAIR(x->op0, x->op1)) {
		ARITH_PAIRS(FUSED)
	default:
		return false;
	}
#undef FUSED
}

/* r = a op b, or b op a; the result's place, which is a's when nothing is to be done */
KINLINE const float *arith_step(uint8_t op, bool reverse, float *r, const float *a,
				struct exec_vec b, size_t n)
{
	if (op == NEURON_ALU_BYPASS && !reverse)
		return a;
	if (reverse)
		KNAME(alu)(op, r, b, exec_array(a), n);
	else
		KNAME(alu)(op, r, exec_array(a), b, n);
	return r;
}

/* One chunk: the result, converted, at out */
KINLINE void arith_chunk(const struct exec_arith *x, uint8_t *out, const float *a, const float *c,
			 struct exec_vec b, size_t n)
{
	float *r = x->scratch->a;

	if (arith_fused(x, out, a, c, b, n))
		return;
	a = arith_step(x->op0, x->reverse0, r, a, (struct exec_vec){ c, 0 }, n);
	a = arith_step(x->op1, x->reverse1, r, a, b, n);
	KNAME(store)(x->dst.dtype, out, a, n);
}

KINLINE void arith_scalar(float c[16], const struct exec_arith_scalar *s, unsigned int p)
{
	float value[16] = { s->value };

	if (s->at)
		KNAME(load)(s->dtype, value, s->at + p * s->stride, 1);
	exec_const(c, value[0]);
}

/* Long rows are taken one by one where they lie, short ones many at a time, gathered. */
#define ARITH_ROW 64

KINLINE size_t arith_take(const struct exec_arith *x, size_t left)
{
	const struct exec_stream *s[3] = { &x->dst.s, &x->src0.s, &x->src1.s };
	size_t n = left < EXEC_CHUNK ? left : EXEC_CHUNK;

	for (unsigned int i = 0; i < (x->has_src1 ? 3 : 2); i++) {
		uint32_t run = exec_stream_run(s[i], n);

		if (run >= ARITH_ROW && s[i]->step[s[i]->ndim - 1] == s[i]->size)
			n = run;
	}
	return n;
}

KINLINE void arith_row(struct exec_arith *x, unsigned int p)
{
	const uint32_t count = x->dst.r.count;
	struct exec_scratch *s = x->scratch;
	uint8_t *row = (uint8_t *)s->row;
	float c[2][16];

	arith_scalar(c[0], &x->scalar[0], p);
	arith_scalar(c[1], &x->scalar[1], p);
	for (uint32_t done = 0, n; done < count; done += n) {
		struct exec_vec b = { c[1], 0 };
		const float *a;
		uint8_t *out;

		n = (uint32_t)arith_take(x, count - done);
		if (x->has_src1)
			b = exec_array(arith_fetch(&x->src1, s->b, n));
		a = arith_fetch(&x->src0, s->a, n);
		if (!x->direct) { /* what is still to be read must not be changed */
			arith_chunk(x, row + (size_t)done * x->dst.r.size, a, c[0], b, n);
			continue;
		}
		out = exec_stream_at(&x->dst.s, n);
		arith_chunk(x, out ? out : row, a, c[0], b, n);
		if (!out)
			exec_stream_put(&x->dst.s, row, n);
	}
	if (!x->direct)
		exec_stream_put(&x->dst.s, row, count);
}

/*
 * Operands of fp32 whose rows are short and lie alike, as in a window of a picture that is padded:
 * a vector takes what lies between the rows along and writes it not.
 */
#define GRID_MOST 2048 /* elements, with what lies between rows */
struct grid {
	unsigned int vectors;
	uint16_t mask[GRID_MOST / LANES]; /* the lanes that are written */
};

KINLINE bool same_rows(const struct exec_operand *a, const struct exec_operand *b)
{
	const struct exec_stream *s = &a->s, *t = &b->s;

	return b->dtype == NEURON_DT_FP32 && s->ndim == t->ndim && s->step[0] == t->step[0] &&
	       s->num[0] == t->num[0] &&
	       (s->ndim == 1 || (s->step[1] == t->step[1] && s->num[1] == t->num[1]));
}

KINLINE bool make_grid(const struct exec_arith *x, struct grid *grid)
{
	const struct exec_stream *s = &x->dst.s;
	uint32_t d = s->ndim - 1, width = s->num[d], pitch = width, n = width;

	if (!x->direct || x->dst.dtype != NEURON_DT_FP32 || d > 1 || s->step[d] != 4 ||
	    !same_rows(&x->dst, &x->src0) || (x->has_src1 && !same_rows(&x->dst, &x->src1)))
		return false;
	if (d) {
		if (s->step[0] < width * 4 || s->step[0] > width * 8 || s->step[0] % 4)
			return false;
		pitch = (uint32_t)s->step[0] / 4;
		n += (s->num[0] - 1) * pitch;
	}
	if (n > GRID_MOST)
		return false;
	grid->vectors = (n + LANES - 1) / LANES;
	memset(grid->mask, 0, grid->vectors * sizeof(grid->mask[0]));
	for (uint32_t row = 0; row < n; row += pitch)
		for (uint32_t i = row; i < row + width; i++)
			grid->mask[i / LANES] |= (uint16_t)(1u << i % LANES);
	return true;
}

KINLINE vf scalar_vector(const struct exec_arith_scalar *s, unsigned int p)
{
	float value[16] = { s->value };

	if (s->at && s->dtype == NEURON_DT_FP32)
		memcpy(value, s->at + p * s->stride, sizeof(value[0]));
	else if (s->at)
		KNAME(load)(s->dtype, value, s->at + p * s->stride, 1);
	return splat(value[0]);
}

KINLINE void grid_loop(uint8_t op0, uint8_t op1, const struct exec_arith *x,
		       const struct grid *grid)
{
	const bool array = x->has_src1;

	for (unsigned int p = 0; p < x->partitions; p++) {
		const uint8_t *a = x->src0.part0 + p * x->src0.stride + x->src0.s.first;
		const uint8_t *b = x->src1.part0 + p * x->src1.stride + x->src1.s.first;
		uint8_t *out = x->dst.part0 + p * x->dst.stride + x->dst.s.first;
		const vf c0 = scalar_vector(&x->scalar[0], p);
		vf second = array ? c0 : scalar_vector(&x->scalar[1], p);

		for (unsigned int i = 0; i < grid->vectors;
		     i++, a += KBYTES, b += KBYTES, out += KBYTES) {
			if (p + 1 < x->partitions) {
				__builtin_prefetch(a + x->src0.stride);
				__builtin_prefetch(out + x->dst.stride);
				if (array)
					__builtin_prefetch(b + x->src1.stride);
			}
			if (array)
				second = ld((const float *)b);
			KSTORE((float *)out, grid->mask[i],
			       canonical(arith_op(op1, arith_op(op0, ld((const float *)a), c0),
						  second)));
		}
	}
}

/* One function a pair: in one for all, their registers would not do */
#define GRID(o0, o1)                                                                   \
	KTARGET static __attribute__((noinline)) void KNAME(                           \
		grid_##o0##_##o1)(const struct exec_arith *x, const struct grid *grid) \
	{                                                                              \
		grid_loop(NEURON_ALU_##o0, NEURON_ALU_##o1, x, grid);                  \
	}
ARITH_PAIRS(GRID)
#undef GRID

/* false: the operands do not lie so, or the operations are not among the pairs */
KINLINE bool arith_grid(const struct exec_arith *x)
{
	struct grid grid;

	if (!arith_has_order(x) || !make_grid(x, &grid))
		return false;
#define GRID(o0, o1)                                       \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1): \
		KNAME(grid_##o0##_##o1)(x, &grid);         \
		return true;
	switch (ARITH_PAIR(x->op0, x->op1)) {
		ARITH_PAIRS(GRID)
	default:
		return false;
	}
#undef GRID
}

KINLINE void arith_start_row(struct exec_arith *x, unsigned int p)
{
	exec_operand_row(&x->dst, p);
	exec_operand_row(&x->src0, p);
	if (x->has_src1)
		exec_operand_row(&x->src1, p);
	if (p + 1 == x->partitions)
		return;
	exec_operand_ahead(&x->src0);
	exec_operand_ahead(&x->dst);
	if (x->has_src1)
		exec_operand_ahead(&x->src1);
}

KTARGET static void KNAME(arith)(struct exec_arith *x)
{
	if (arith_grid(x))
		return;
	for (unsigned int p = 0; p < x->partitions; p++) {
		arith_start_row(x, p);
		arith_row(x, p);
	}
}

/* TENSOR_REDUCE of results that lie side by side */
#define ACROSS 4 /* vectors at once: as many chains of dependent operations */

KINLINE void across_block(uint8_t op, float *r, const uint8_t *x, int64_t step, size_t rows,
			  unsigned int vectors)
{
	vf acc[ACROSS];

	for (unsigned int j = 0; j < vectors; j++)
		acc[j] = ld((const float *)x + j * LANES);
	while (--rows) {
		x += step;
		for (unsigned int j = 0; j < vectors; j++)
			acc[j] = arith_op(op, acc[j], ld((const float *)x + j * LANES));
	}
	for (unsigned int j = 0; j < vectors; j++)
		st(r + j * LANES, acc[j]);
}

KINLINE void across_all(uint8_t op, float *r, const uint8_t *x, int64_t step, size_t rows, size_t n)
{
	size_t i = 0;

	for (; i + ACROSS * LANES <= n; i += ACROSS * LANES)
		across_block(op, r + i, x + i * 4, step, rows, ACROSS);
	for (; i < n; i += LANES)
		across_block(op, r + i, x + i * 4, step, rows, 1);
}

KTARGET static bool KNAME(across)(uint8_t op, float *r, const uint8_t *x, int64_t step, size_t rows,
				  size_t n)
{
#define EACH(operation)                                     \
	case operation:                                     \
		across_all(operation, r, x, step, rows, n); \
		return true
	switch (op) {
		EACH(NEURON_ALU_ADD);
		EACH(NEURON_ALU_SUB);
		EACH(NEURON_ALU_MULT);
		EACH(NEURON_ALU_MAX);
		EACH(NEURON_ALU_MIN);
	default:
		return false;
	}
#undef EACH
}
