/* SPDX-License-Identifier: MIT */
/* Products, whose result is a fresh SBUF view, and the epilogues fused with them. */
#ifndef NCC_GEN_CONTRACT_H
#define NCC_GEN_CONTRACT_H

#include "gen.h"

int gen_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/*
 * matmul.c: dst[S, m...] = sum over the terms of st[K, S] * mv[K, m...]. K is at most 128 and lies
 * along the partitions of both operands; S is at most 128 and lies along dst's.
 */
struct mm_term {
	struct ncc_view st, mv;
	/* of sparse weights (neighbours, 0: dense): mv is slot 0, the others every so many elements
	 */
	struct ncc_view tags;
	uint8_t neighbours;
	uint16_t slots;
	int64_t step;
};
int gen_matmul(struct ncc_gen *g, const struct ncc_view *dst, const struct mm_term *term,
	       unsigned int nterms);

/*
 * The same in steps: boxes of dst are opened in PSUM, terms are added to all of them, and the boxes
 * are taken out.
 */
#define MM_BOXES PLAN_BOXES
struct mm_box {
	int64_t lo[NCC_MAX_DIMS], size[NCC_MAX_DIMS];
	struct ncc_view psum; /* its dimensions are those of dst's box */
	struct ncc_buf buf;
};
struct mm {
	struct mm_box box[MM_BOXES];
	unsigned int n;
};
/*
 * The largest box of a dst with these dimensions that fits a PSUM bank; mv's strides matter, and
 * so do slots, which are one more dimension of it.
 */
void gen_mm_box_size(unsigned int ndim, const int64_t *dim, const struct ncc_view *mv, bool slots,
		     int64_t *size);
/* dst has at most MM_BOXES boxes of that size; operand is the operands' type. */
void gen_mm_begin(struct ncc_gen *g, struct mm *mm, const struct ncc_view *dst, const int64_t *size,
		  uint8_t operand);
int gen_mm_add(struct ncc_gen *g, const struct mm *mm, const struct mm_term *term,
	       unsigned int nterms, bool accumulate);
int gen_mm_end(struct ncc_gen *g, const struct mm *mm, const struct ncc_view *dst);

/*
 * fuse.c: the epilogue of a product (plan/plan.h). gen_epilogue_begin fetches what it reads besides
 * the product, whose result is dst; gen_epilogue takes a box out of PSUM through it.
 */
int gen_epilogue_begin(struct ncc_gen *g, const struct ncc_op *product, const struct ncc_view *dst);
int gen_epilogue(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *psum);

#endif
