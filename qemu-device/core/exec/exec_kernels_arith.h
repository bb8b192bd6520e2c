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

/* An operation of the kernels' own: b - a */
#define NEURON_ALU_BUS (0x80 | NEURON_ALU_SUB)

/* The operations that are fused with what surrounds them; the rest go by themselves (alu) */
KINLINE vf arith_op(uint8_t op, vf a, vf b)
{
	switch (op) {
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUB:
		return a - b;
	case NEURON_ALU_BUS:
		return b - a;
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
	case NEURON_ALU_EQ:
		return truth(a == b);
	case NEURON_ALU_NE:
		return truth(a != b);
	case NEURON_ALU_GT:
		return truth(a > b);
	case NEURON_ALU_LE:
		return truth(a <= b);
	case NEURON_ALU_LOGICAL_AND:
		return truth((a != splat(0)) & (b != splat(0)));
	case NEURON_ALU_LOGICAL_OR:
		return truth((a != splat(0)) | (b != splat(0)));
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
	X(ADD, SUB)     \
	X(MAX, MIN)     \
	X(MIN, MULT)    \
	X(MULT, ADD)    \
	X(MULT, BUS)    \
	X(MULT, MULT)   \
	X(SUB, MULT)    \
	X(SUB, LT)
#define ARITH_PAIR(op0, op1) ((unsigned int)(op0) << 8 | (op1))

KINLINE bool commutes(uint8_t op)
{
	return op != NEURON_ALU_SUB && op != NEURON_ALU_BYPASS && op != NEURON_ALU_LT &&
	       op != NEURON_ALU_GE && op != NEURON_ALU_GT && op != NEURON_ALU_LE;
}

/* The operation on a pair, with the order of its operands */
KINLINE unsigned int arith_code(uint8_t op, bool reverse)
{
	if (!reverse || commutes(op))
		return op;
	return op == NEURON_ALU_SUB ? NEURON_ALU_BUS : 0xff;
}

KINLINE unsigned int arith_pair(const struct exec_arith *x)
{
	return ARITH_PAIR(arith_code(x->op0, x->reverse0), arith_code(x->op1, x->reverse1));
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
		else if (dtype == NEURON_DT_INT8)                                                \
			arith_loop(NEURON_ALU_##o0, NEURON_ALU_##o1, NEURON_DT_INT8, 1, out, a,  \
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
	if (x->dst.dtype != NEURON_DT_FP32 && x->dst.dtype != NEURON_DT_BF16 &&
	    x->dst.dtype != NEURON_DT_INT8)
		return false;
#define FUSED(o0, o1)                                                    \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1):               \
		KNAME(fused_##o0##_##o1)(x->dst.dtype, out, a, c, b, n); \
		return true;
	switch (arith_pair(x)) {
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
 * a vector takes what lies between the rows along and writes it not. Where an instance has KEXPAND
 * and KCOMPRESS, an operand's rows may also lie without anything between.
 */
#define GRID_MOST 2048 /* elements, with what lies between rows */
struct grid {
	unsigned int vectors;
	bool dense, dense_dst, dense_src0, dense_src1; /* one at least; each */
	uint64_t bits[GRID_MOST / 64 + 1]; /* the elements that are written */
	uint16_t mask[GRID_MOST / LANES + 1]; /* of them each vector's */
};

KINLINE bool is_dense(const struct exec_operand *o, const struct exec_operand *like)
{
	return o->s.ndim == 1 && like->s.ndim == 2;
}

KINLINE bool in_grid(const struct exec_operand *o, const struct exec_operand *like)
{
	const struct exec_stream *s = &o->s, *t = &like->s;

	if (o->dtype != NEURON_DT_FP32 || s->ndim > 2 || s->step[s->ndim - 1] != 4)
		return false;
#ifdef KEXPAND
	if (is_dense(o, like))
		return true;
#endif
	return s->ndim == t->ndim && s->step[0] == t->step[0] && s->num[0] == t->num[0] &&
	       (s->ndim == 1 || s->num[1] == t->num[1]);
}

/* Adds n bits from first on; n at most 64 */
KINLINE void grid_bits(uint64_t *bits, uint32_t first, uint32_t n)
{
	const uint64_t run = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	bits[first / 64] |= run << first % 64;
	if (first % 64 + n > 64)
		bits[first / 64 + 1] |= run >> (64 - first % 64);
}

KINLINE uint16_t grid_mask(const uint64_t *bits, unsigned int vector)
{
	const unsigned int at = vector * LANES;

	return (uint16_t)(bits[at / 64] >> at % 64 & ((1u << LANES) - 1));
}

KINLINE bool make_grid(const struct exec_arith *x, struct grid *grid)
{
	const struct exec_operand *like = x->dst.s.ndim > 1    ? &x->dst
					  : x->src0.s.ndim > 1 ? &x->src0
					  : x->has_src1	       ? &x->src1
							       : &x->dst;
	const struct exec_stream *s = &like->s;
	const uint32_t width = s->num[s->ndim - 1];
	uint32_t pitch = width, rows = 1, n;

	if (!x->direct || !in_grid(&x->dst, like) || !in_grid(&x->src0, like) ||
	    (x->has_src1 && !in_grid(&x->src1, like)))
		return false;
	if (s->ndim == 2) {
		if (s->step[0] < width * 4 || s->step[0] > width * 8 || s->step[0] % 4)
			return false;
		pitch = (uint32_t)s->step[0] / 4;
		rows = s->num[0];
	}
	if (width > GRID_MOST || (uint64_t)(rows - 1) * pitch + width > GRID_MOST)
		return false;
	n = (rows - 1) * pitch + width;
	grid->vectors = (n + LANES - 1) / LANES;
	grid->dense_dst = is_dense(&x->dst, like);
	grid->dense_src0 = is_dense(&x->src0, like);
	grid->dense_src1 = x->has_src1 && is_dense(&x->src1, like);
	grid->dense = grid->dense_dst || grid->dense_src0 || grid->dense_src1;
	memset(grid->bits, 0, (n / 64 + 1) * sizeof(grid->bits[0]));
	for (uint32_t row = 0; row < n; row += pitch)
		for (uint32_t i = 0; i < width; i += 64)
			grid_bits(grid->bits, row + i, width - i < 64 ? width - i : 64);
	for (unsigned int i = 0; i < grid->vectors; i++)
		grid->mask[i] = grid_mask(grid->bits, i);
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

struct grid_row {
	const uint8_t *a, *b;
	uint8_t *out;
	vf c, second;
};

/* The row of partition p, and towards the next one's */
KINLINE struct grid_row grid_row(const struct exec_arith *x, unsigned int p)
{
	const vf c = scalar_vector(&x->scalar[0], p);

	return (struct grid_row){
		.a = x->src0.part0 + p * x->src0.stride + x->src0.s.first,
		.b = x->src1.part0 + p * x->src1.stride + x->src1.s.first,
		.out = x->dst.part0 + p * x->dst.stride + x->dst.s.first,
		.c = c,
		.second = x->has_src1 ? c : scalar_vector(&x->scalar[1], p),
	};
}

KINLINE void grid_ahead(const struct exec_arith *x, const struct grid_row *r)
{
	__builtin_prefetch(r->a + x->src0.stride);
	__builtin_prefetch(r->out + x->dst.stride);
	if (x->has_src1)
		__builtin_prefetch(r->b + x->src1.stride);
}

KINLINE void grid_rows(uint8_t op0, uint8_t op1, const struct exec_arith *x,
		       const struct grid *grid, bool array)
{
	for (unsigned int p = 0; p < x->partitions; p++) {
		const struct grid_row r = grid_row(x, p);
		const uint64_t more = p + 1 < x->partitions; /* a next one; else this one again */
		const uint8_t *next_a = r.a + more * x->src0.stride;
		const uint8_t *next_out = r.out + more * x->dst.stride;
		const uint8_t *next_b = r.b + more * x->src1.stride;
		vf second = r.second;

		for (unsigned int i = 0; i < grid->vectors; i++) {
			const size_t at = (size_t)i * KBYTES;

			__builtin_prefetch(next_a + at);
			__builtin_prefetch(next_out + at);
			if (array) {
				__builtin_prefetch(next_b + at);
				second = ld((const float *)(r.b + at));
			}
			KSTORE((float *)(r.out + at), grid->mask[i],
			       canonical(arith_op(op1,
						  arith_op(op0, ld((const float *)(r.a + at)), r.c),
						  second)));
		}
	}
}

KINLINE void grid_alike(uint8_t op0, uint8_t op1, const struct exec_arith *x,
			const struct grid *grid)
{
	if (x->has_src1)
		grid_rows(op0, op1, x, grid, true);
	else
		grid_rows(op0, op1, x, grid, false);
}

#ifdef KEXPAND
/* The elements of the next vector of a grid, which lie dense or not; what is between is any. */
KINLINE vf grid_take(const uint8_t **at, bool dense, uint16_t mask)
{
	const vf v = ld((const float *)*at);

	*at += dense ? 4 * (unsigned int)__builtin_popcount(mask) : KBYTES;
	return dense ? KEXPAND(mask, v) : v;
}

KINLINE void grid_put(uint8_t **at, bool dense, uint16_t mask, vf v)
{
	const unsigned int n = (unsigned int)__builtin_popcount(mask);

	if (dense)
		KSTORE((float *)*at, (uint16_t)((1u << n) - 1), KCOMPRESS(mask, v));
	else
		KSTORE((float *)*at, mask, v);
	*at += dense ? 4 * n : KBYTES;
}

KINLINE void grid_dense(uint8_t op0, uint8_t op1, const struct exec_arith *x,
			const struct grid *grid)
{
	for (unsigned int p = 0; p < x->partitions; p++) {
		struct grid_row r = grid_row(x, p);

		for (unsigned int i = 0; i < grid->vectors; i++) {
			const uint16_t mask = grid->mask[i];
			vf v;

			if (p + 1 < x->partitions)
				grid_ahead(x, &r);
			v = arith_op(op0, grid_take(&r.a, grid->dense_src0, mask), r.c);
			if (x->has_src1)
				r.second = grid_take(&r.b, grid->dense_src1, mask);
			v = canonical(arith_op(op1, v, r.second));
			grid_put(&r.out, grid->dense_dst, mask, v);
		}
	}
}
#endif

KINLINE void grid_loop(uint8_t op0, uint8_t op1, const struct exec_arith *x,
		       const struct grid *grid)
{
#ifdef KEXPAND
	if (grid->dense) {
		grid_dense(op0, op1, x, grid);
		return;
	}
#endif
	grid_alike(op0, op1, x, grid);
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

	if (!make_grid(x, &grid))
		return false;
#define GRID(o0, o1)                                       \
	case ARITH_PAIR(NEURON_ALU_##o0, NEURON_ALU_##o1): \
		KNAME(grid_##o0##_##o1)(x, &grid);         \
		return true;
	switch (arith_pair(x)) {
		ARITH_PAIRS(GRID)
	default:
		return false;
	}
#undef GRID
}

#include "exec_kernels_flat.h"
#include "exec_kernels_rows.h"

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
	if (arith_grid(x) || arith_rows(x) || arith_flat(x))
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
