/* SPDX-License-Identifier: MIT */
/*
 * Instructions: the files that execute them, and how they call each other. exec_pe.c, exec_act.c,
 * exec_pool.c and exec_gpsimd.c are the engines; exec_stream.c walks access patterns. tpb.c calls.
 */
#ifndef NCORE_EXEC_H
#define NCORE_EXEC_H

#include "exec_core.h"

/* exec_stream.c */
void exec_operand_init(const struct tpb *t, struct exec_operand *o, const struct neuron_ap *ap,
		       const struct neuron_isa_region *r);
/* the next n elements, contiguous: in place where they are so, else gathered into buf */
const void *exec_stream_get(struct exec_stream *s, void *buf, size_t n);
void exec_stream_put(struct exec_stream *s, const void *buf, size_t n);
/* the whole pattern, of at most NEURON_ISA_MAX_MOVING elements, from the partition's first byte */
void exec_stream_runs(const struct exec_stream *s, struct exec_runs *runs);
/* the next n elements as fp32, in buf or where they lie (or in scratch->raw, until the next call) */
const float *exec_stream_floats(const struct tpb *t, struct exec_stream *s, uint8_t dtype,
				float *buf, size_t n);
/* exec_round.c: n results converted to a type, rounded as the engine does; x is padded */
void exec_store(const struct tpb *t, uint8_t dtype, void *out, const float *x, size_t n);
bool exec_rounds_at_random(const struct tpb *t, uint8_t dtype);
/* the next n elements converted and written; uses scratch->row */
void exec_stream_store(const struct tpb *t, struct exec_stream *s, uint8_t dtype, const float *x,
		       size_t n);
bool exec_stream_distinct(const struct exec_stream *s); /* no element is visited twice */
/* true when writing dst chunk by chunk cannot change what src still has to read */
bool exec_chunks_safe(const struct exec_operand *dst, const struct exec_operand *src);
struct exec_arith_scalar exec_scalar_place(const struct tpb *t, const struct neuron_scalar *s);
float exec_scalar_f32(const struct tpb *t, const struct neuron_scalar *s, unsigned int p);

/* exec_check.c: a NaN in dst? Its offset in the core's window is returned, or UINT32_MAX */
uint32_t exec_find_nan(const struct tpb *t, const struct neuron_insn *insn);

/* The factor by which a bias makes fp8 numbers larger; it divides them when they are written */
static inline float exec_bias_scale(uint8_t code)
{
	const int bias = neuron_isa_bias(code);

	return bias < 0 ? (float)(1 << -bias) : 1 / (float)(1 << bias);
}
/* exec_mm.c: rows of n floats, pitch from one to the next, as their bias has them */
void exec_scale_rows(float *x, size_t pitch, unsigned int rows, size_t n, uint8_t bias);
/* The weight of row k and column r, where weights lie as struct exec_mm says */
static inline float *exec_weight(float *w, unsigned int k, unsigned int r)
{
	return w + (size_t)(r / EXEC_MM_ROWS) * EXEC_MM_W_BLOCK + (size_t)k * EXEC_MM_ROWS +
	       r % EXEC_MM_ROWS;
}
/* Weights of struct exec_mm, from n floats of each of rows rows, pitch floats apart */
void exec_weights_floats(struct tpb *t, float *w, const float *in, size_t pitch, unsigned int rows,
			 size_t n);
void exec_weights_plain(struct tpb_weights *w); /* Loaded weights become floats. */
/* A product, or a sum with what is in dst */
void exec_mm_run(struct tpb *t, struct exec_mm *mm, struct exec_operand *dst, bool accumulate,
		 void (*matmul)(const struct exec_mm *mm));
/* exec_pe_forms.c: products of more than one row a partition, transposes that move bits */
void exec_ldweights_double(struct tpb *t, const struct neuron_insn *insn);
void exec_matmul_double(struct tpb *t, const struct neuron_insn *insn);
void exec_matmul_sparse(struct tpb *t, const struct neuron_insn *insn);
void exec_transpose_bits(struct tpb *t, const struct neuron_insn *insn);
/* exec_pe.c, exec_act.c, exec_pool.c, exec_gpsimd.c: checked instructions; 0 or -EINVAL with *fault
 */
int exec_pe(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault);
int exec_act(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault);
int exec_pool(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault);
int exec_gpsimd(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault);
void exec_elementwise(struct tpb *t, const struct neuron_insn *insn); /* exec_elementwise.c */
void exec_tensor_reduce(struct tpb *t, const struct neuron_insn *insn); /* exec_reduce.c */
void exec_transpose(struct tpb *t, const struct neuron_insn *insn); /* exec_transpose.c */
void exec_indexed_gather(struct tpb *t, const struct neuron_insn *insn); /* exec_index.c */
void exec_indexed_scatter(struct tpb *t, const struct neuron_insn *insn);
void exec_sort(struct tpb *t, const struct neuron_insn *insn); /* exec_sort.c */
/* exec_act.c */
void exec_tensor_copy(struct tpb *t, const struct neuron_insn *insn, bool through_fp32);
void exec_memset(struct tpb *t, const struct neuron_insn *insn);

/* exec_scan.c */
void exec_scan(struct tpb *t, const struct neuron_insn *insn);
void exec_tensor_scalar_reduce(struct tpb *t, const struct neuron_insn *insn);
void exec_tensor_scalar_cumulative(struct tpb *t, const struct neuron_insn *insn);
void exec_vector_read_acc(struct tpb *t, const struct neuron_insn *insn);
void exec_bn_stats(struct tpb *t, const struct neuron_insn *insn);
void exec_bn_aggr(struct tpb *t, const struct neuron_insn *insn);
/* the command to partition p's register, with n elements in its order (room for a vector more) */
void exec_acc_reduce(struct tpb *t, const struct neuron_insn *insn, uint8_t op, unsigned int p,
		     const float *x, uint32_t n);
/* exec_search.c */
void exec_max8(struct tpb *t, const struct neuron_insn *insn);
void exec_find_index8(struct tpb *t, const struct neuron_insn *insn);
void exec_match_replace8(struct tpb *t, const struct neuron_insn *insn);
void exec_topk(struct tpb *t, const struct neuron_insn *insn);
void exec_nonzero(struct tpb *t, const struct neuron_insn *insn);
void exec_sequence_bounds(struct tpb *t, const struct neuron_insn *insn);
/* exec_select.c */
void exec_select_reduce(struct tpb *t, const struct neuron_insn *insn);
void exec_range_select(struct tpb *t, const struct neuron_insn *insn);
void exec_stream_shuffle(struct tpb *t, const struct neuron_insn *insn);
void exec_iota(struct tpb *t, const struct neuron_insn *insn);
void exec_affine_select(struct tpb *t, const struct neuron_insn *insn);
/* exec_random.c; vector: the Vector engine's generator, not GpSimd's */
void exec_random_reset(struct tpb *t);
void exec_rng(struct tpb *t, const struct neuron_insn *insn, bool vector);
void exec_set_rng_seed(struct tpb *t, const struct neuron_insn *insn);
void exec_rand_set_state(struct tpb *t, const struct neuron_insn *insn);
void exec_rand_get_state(struct tpb *t, const struct neuron_insn *insn);
void exec_dropout(struct tpb *t, const struct neuron_insn *insn);

/*
 * Round to nearest, gradual underflow, no traps while a core executes, whatever the thread that
 * runs it has set up; the return value goes back to exec_fp_leave.
 */
unsigned int exec_fp_enter(void);
void exec_fp_leave(unsigned int env);

#endif
