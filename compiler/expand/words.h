/* SPDX-License-Identifier: MIT */
/*
 * Exact 32-bit integers on a datapath that computes in fp32 (words.c). A word is an s32 value of
 * the tensor IR whose 32 bits are what counts: sums, differences and products wrap around, and the
 * reader decides whether it is signed. Everything is made of bit operations and of arithmetic on
 * numbers below 2^24, which fp32 holds. Called by passes/integers.c.
 */
#ifndef NCC_WORDS_H
#define NCC_WORDS_H

#include "build/build.h"

struct ncc_op *word_splat(struct ncc_build *bl, const struct ncc_op *like, uint32_t v);
struct ncc_op *word_bits(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a, uint32_t c);
/* The datapath's own operation, exact while operands and result are below 2^24 */
struct ncc_op *word_small(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			  struct ncc_op *b);
struct ncc_op *word_add(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *word_sub(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *word_mul(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *word_abs(struct ncc_build *bl, struct ncc_op *a);
struct ncc_op *word_compare(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b, bool is_signed);
/* The quotient towards zero; by 0 it is all ones. */
struct ncc_op *word_divide(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
			   bool is_signed);
/* The low bits of a word as a signed number */
struct ncc_op *word_extend(struct ncc_build *bl, struct ncc_op *a, unsigned int bits);
/* The word as fp32, rounded once, to nearest even */
struct ncc_op *word_to_f32(struct ncc_build *bl, struct ncc_op *a, bool is_signed);
/* The word of an integer in fp32; out of range the nearest word, for NaN 0 */
struct ncc_op *word_from_f32(struct ncc_build *bl, struct ncc_op *x, bool is_signed);
/* Combines the words along the dimensions that op, a reduction, reduces; without its initial value */
struct ncc_op *word_reduce(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *w,
			   bool is_signed);

#endif
