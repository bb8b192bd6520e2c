/* SPDX-License-Identifier: MIT */
/*
 * What all products of the PE share: weights as floats, and the run of a product into PSUM or
 * SBUF (docs/isa.md, Tensor engine). Called by exec_pe.c and exec_pe_forms.c.
 */
#include "exec_walk.h"

#include <string.h>

void exec_weights_floats(struct tpb *t, float *w, const float *in, size_t pitch, unsigned int rows,
			 size_t n)
{
	const struct exec_pair_rows at = { .in = (const uint8_t *)in,
					   .stride = 2 * pitch * sizeof(float),
					   .low = (int64_t)(pitch * sizeof(float)),
					   .rows = rows,
					   .dtype = NEURON_DT_FP32 };

	t->kern->weights(w, &at, n);
}

void exec_scale_rows(float *x, size_t pitch, unsigned int rows, size_t n, uint8_t bias)
{
	const float scale = exec_bias_scale(bias);

	for (unsigned int k = 0; k < rows && bias; k++, x += pitch)
		for (size_t i = 0; i < n; i++)
			x[i] *= scale;
}

/* The bytes of quads as floats, the last first: a quad's place is that of an earlier row */
static void exec_quads_plain(struct tpb_weights *w)
{
	for (size_t block = 0; block < EXEC_MM_W_SIZE; block += EXEC_MM_W_BLOCK) {
		for (unsigned int k = w->k; k--;) {
			float *at = w->w + block, *row = at + (size_t)k * EXEC_MM_ROWS;
			int8_t quad[EXEC_MM_ROWS][4];

			memcpy(quad, at + (size_t)(k / 4) * EXEC_MM_ROWS, sizeof(quad));
			for (unsigned int r = 0; r < EXEC_MM_ROWS; r++)
				row[r] = quad[r][k % 4];
		}
	}
	w->in_quads = false;
}

void exec_weights_plain(struct tpb_weights *w)
{
	if (w->in_quads)
		exec_quads_plain(w);
	if (!w->paired)
		return;
	for (size_t block = 0; block < EXEC_MM_W_SIZE; block += EXEC_MM_W_BLOCK) {
		for (unsigned int k = w->k; k--;) { /* a pair's place is that of an earlier row */
			float *at = w->w + block;
			uint32_t row[EXEC_MM_ROWS];

			memcpy(row, at + (size_t)(k / 2) * EXEC_MM_ROWS, sizeof(row));
			for (unsigned int r = 0; r < EXEC_MM_ROWS; r++)
				row[r] = k % 2 ? row[r] << 16 : row[r] & 0xffff0000;
			memcpy(at + (size_t)k * EXEC_MM_ROWS, row, sizeof(row));
		}
	}
	w->paired = false;
}

static uint32_t exec_psum_sum(uint32_t old, uint32_t new, bool is_int)
{
	float a, b;

	if (is_int)
		return old + new;
	memcpy(&a, &old, sizeof(a));
	memcpy(&b, &new, sizeof(b));
	a = exec_canonical(a + b);
	memcpy(&new, &a, sizeof(a));
	return new;
}

/* Add one row of results to a destination, in element order: an element may come more than once */
static void exec_psum_add(struct exec_stream *dst, const uint32_t *row, uint32_t n, bool is_int)
{
	uint32_t step = exec_stream_distinct(dst) ? n : 1;
	uint32_t old[NEURON_ISA_MAX_MOVING], sum[NEURON_ISA_MAX_MOVING];
	struct exec_stream from = *dst;

	for (uint32_t at = 0; at < n; at += step) {
		const uint8_t *in = exec_stream_get(&from, old, step);

		for (uint32_t i = 0; i < step; i++) {
			uint32_t v;

			memcpy(&v, in + 4ull * i, sizeof(v));
			sum[i] = exec_psum_sum(v, row[at + i], is_int);
		}
		exec_stream_put(dst, sum, step);
	}
}

void exec_mm_run(struct tpb *t, struct exec_mm *mm, struct exec_operand *dst, bool accumulate,
		 void (*matmul)(const struct exec_mm *mm))
{
	bool is_int = dst->dtype == NEURON_DT_INT32;

	if (!mm->x)
		mm->x = t->scratch->x;
	mm->x_row = EXEC_MM_X_ROW;
	mm->fm = dst->r.count;
	if (dst->s.ndim == 1 && dst->s.step[0] == 4) {
		mm->dst = dst->part0 + dst->s.first;
		mm->dst_stride = dst->stride;
		mm->mode = is_int	? accumulate ? EXEC_MM_ADD_I32 : EXEC_MM_SET_I32
			   : accumulate ? EXEC_MM_ADD_F32
					: EXEC_MM_SET_F32;
		matmul(mm);
		return;
	}
	mm->dst = (uint8_t *)t->scratch->result;
	mm->dst_stride = sizeof(t->scratch->result[0]);
	mm->mode = is_int ? EXEC_MM_SET_I32 : EXEC_MM_SET_F32;
	matmul(mm);
	for (unsigned int r = 0; r < mm->fs; r++) {
		exec_operand_row(dst, r);
		if (accumulate)
			exec_psum_add(&dst->s, t->scratch->result[r], mm->fm, is_int);
		else
			exec_stream_put(&dst->s, t->scratch->result[r], mm->fm);
	}
}
