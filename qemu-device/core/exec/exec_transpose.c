/* SPDX-License-Identifier: MIT */
/*
 * POOL's transposes of blocks (docs/isa.md, TRANSPOSE), with vectors of 16 bytes, which every host
 * has: 4 x 4 words or 8 x 8 halves at a time. Called by exec_pool.c.
 */
#include "exec_walk.h"

#include <string.h>

#define BLOCK NEURON_ISA_TRANSPOSE_BLOCK

typedef uint32_t v4u __attribute__((vector_size(16)));
typedef uint16_t v8h __attribute__((vector_size(16)));

/* Blocks that lie side by side: rows by cols each, from where rows begin to where theirs do */
struct blocks {
	const uint8_t *in[BLOCK];
	uint8_t *out[BLOCK];
	unsigned int rows, cols, blocks;
};

static inline void transpose_words(const uint8_t *const in[], size_t from, uint8_t *const out[],
				   size_t to)
{
	v4u r[4], s[4];

	for (int i = 0; i < 4; i++)
		memcpy(&r[i], in[i] + from, sizeof(r[i]));
	for (int i = 0; i < 2; i++) {
		s[2 * i] = __builtin_shufflevector(r[i], r[i + 2], 0, 4, 1, 5);
		s[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 2], 2, 6, 3, 7);
	}
	for (int i = 0; i < 2; i++) {
		r[2 * i] = __builtin_shufflevector(s[i], s[i + 2], 0, 4, 1, 5);
		r[2 * i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 6, 3, 7);
	}
	for (int i = 0; i < 4; i++)
		memcpy(out[i] + to, &r[i], sizeof(r[i]));
}

/* Rows that lie half of them apart, element by element: as often as rows can be halved */
static inline void transpose_halves(const uint8_t *const in[], size_t from, uint8_t *const out[],
				    size_t to)
{
	v8h r[8], s[8];

	for (int i = 0; i < 8; i++)
		memcpy(&r[i], in[i] + from, sizeof(r[i]));
	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < 4; i++) {
			s[2 * i] =
				__builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
			s[2 * i + 1] =
				__builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
		}
		memcpy(r, s, sizeof(r));
	}
	for (int i = 0; i < 8; i++)
		memcpy(out[i] + to, &r[i], sizeof(r[i]));
}

static inline void transpose_one(const struct blocks *t, unsigned int b, unsigned int r,
				 unsigned int c, size_t size)
{
	memcpy(t->out[c] + ((size_t)b * t->rows + r) * size,
	       t->in[r] + ((size_t)b * t->cols + c) * size, size);
}

/* A block: squares of n, then what is left to the right of them and below */
#define TRANSPOSE_BLOCK(n, square, size)                                                        \
	do {                                                                                    \
		unsigned int rows = t->rows / n * n, cols = t->cols / n * n;                    \
                                                                                                \
		for (unsigned int r = 0; r < rows; r += n)                                      \
			for (unsigned int c = 0; c < cols; c += n)                              \
				square(t->in + r, ((size_t)b * t->cols + c) * size, t->out + c, \
				       ((size_t)b * t->rows + r) * size);                       \
		for (unsigned int r = 0; r < t->rows; r++)                                      \
			for (unsigned int c = r < rows ? cols : 0; c < t->cols; c++)            \
				transpose_one(t, b, r, c, size);                                \
	} while (0)

/* A row to a column, or a column to a row: of so many bytes each, known to the compiler */
static inline void transpose_line(const struct blocks *t, size_t size)
{
	for (unsigned int r = 0; r < t->rows; r++)
		for (unsigned int c = 0; c < t->cols; c++)
			memcpy(t->out[c] + r * size, t->in[r] + c * size, size);
}

static bool transpose_lines(const struct blocks *t, unsigned int size)
{
	if (t->blocks > 1 || (t->rows > 1 && t->cols > 1))
		return false;
	if (size == 4)
		transpose_line(t, 4);
	else if (size == 2)
		transpose_line(t, 2);
	else
		transpose_line(t, 1);
	return true;
}

static void transpose_all(const struct blocks *t, unsigned int size)
{
	if (transpose_lines(t, size))
		return;
	for (unsigned int b = 0; b < t->blocks; b++) {
		if (size == 4)
			TRANSPOSE_BLOCK(4, transpose_words, 4);
		else if (size == 2)
			TRANSPOSE_BLOCK(8, transpose_halves, 2);
		else
			for (unsigned int r = 0; r < t->rows; r++)
				for (unsigned int c = 0; c < t->cols; c++)
					transpose_one(t, b, r, c, 1);
	}
}

static uint8_t *exec_row_at(const struct exec_operand *o, unsigned int p)
{
	return o->part0 + p * o->stride + o->s.first;
}

/* The source of each row: its place, or gathered memory */
static void exec_transpose_in(struct tpb *t, struct exec_operand *src, unsigned int first,
			      struct blocks *blocks)
{
	const bool flat = exec_flat(src);
	uint8_t *buf = (uint8_t *)t->scratch->x;

	for (unsigned int r = 0; r < blocks->rows; r++) {
		if (flat) {
			blocks->in[r] = exec_row_at(src, first + r);
			continue;
		}
		exec_operand_row(src, first + r);
		blocks->in[r] = exec_stream_get(
			&src->s, buf + (size_t)r * src->r.count * src->r.size, src->r.count);
	}
}

/*
 * One quadrant, or one block that is not full. The whole quadrant is read before it is written,
 * unless what is written is read by nobody.
 */
static void exec_transpose_quadrant(struct tpb *t, struct exec_operand *dst,
				    struct exec_operand *src, unsigned int first, bool direct,
				    struct blocks *blocks)
{
	const bool in_place = direct && exec_flat(dst);
	uint8_t *buf = (uint8_t *)t->scratch->row;
	uint32_t out = blocks->blocks * blocks->rows; /* elements of a row */
	uint8_t size = src->r.size;

	exec_transpose_in(t, src, first, blocks);
	for (unsigned int c = 0; c < blocks->cols; c++)
		blocks->out[c] =
			in_place ? exec_row_at(dst, first + c) : buf + (size_t)c * out * size;
	transpose_all(blocks, size);
	if (in_place)
		return;
	for (unsigned int c = 0; c < blocks->cols; c++) {
		exec_operand_row(dst, first + c);
		exec_stream_put(&dst->s, buf + (size_t)c * out * size, out);
	}
}

void exec_transpose(struct tpb *t, const struct neuron_insn *insn)
{
	unsigned int p = insn->partitions, dst_partitions;
	struct exec_operand dst, src;
	struct blocks blocks;
	bool apart;

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	blocks.rows = p < BLOCK ? p : BLOCK;
	blocks.cols = src.r.count < BLOCK ? src.r.count : BLOCK;
	blocks.blocks = src.r.count / blocks.cols;
	dst_partitions = p <= BLOCK ? blocks.cols : p;
	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	apart = exec_apart(&dst, dst_partitions, &src, p);
	for (unsigned int first = 0; first < p; first += BLOCK)
		exec_transpose_quadrant(t, &dst, &src, first, apart, &blocks);
}
