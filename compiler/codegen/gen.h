/* SPDX-License-Identifier: MIT */
/*
 * Private to the code generator: buffers, views and the helpers that every operation uses. gen.c
 * drives it, the other files lower one family of operations each, walk.c turns views into access
 * patterns.
 *
 * A value is a view: dimensions with strides over a buffer in SBUF or DRAM. Transposes, slices,
 * broadcasts and most reshapes are views of their operand and cost nothing. In SBUF one dimension
 * may lie along the partitions, 128 to a chunk; the others lie inside the partition.
 */
#ifndef NCC_GEN_H
#define NCC_GEN_H

#include "machine/prog.h"

struct ncc_buf {
	uint8_t space; /* enum ncc_space */
	uint32_t var; /* DRAM */
	uint64_t base; /* bytes: in the variable, or in every partition */
	uint64_t bytes; /* SBUF, PSUM: of a partition */
	int64_t chunk; /* bytes between chunks of 128 partitions */
	int64_t row; /* DRAM: bytes between partitions of a spilled buffer; 0: not one */
	uint16_t parts; /* SBUF: partitions in use */
	bool scratch; /* DRAM: the variable may serve again when the buffer is gone */
	unsigned int pin; /* g->stamp: in use by the operation at hand */
	unsigned int next_use; /* spill.c */
	unsigned int refs;
	struct ncc_buf *next; /* SBUF: in order of base */
};

struct ncc_view {
	struct ncc_buf *buf;
	uint8_t dtype;
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS];
	int64_t stride[NCC_MAX_DIMS]; /* elements; unused for pdim */
	int64_t off; /* elements */
	int pdim; /* dimension along the partitions; -1: none */
	int64_t pstart, pstep; /* partition of index i: pstart + i * pstep, over all chunks */
};

#define NCC_PIN_TEMP UINT32_MAX /* a temporary: never spilled */

struct ncc_value {
	struct ncc_view view;
	unsigned int uses; /* operands still to be generated */
	bool padded; /* lies in the result of its only user, a pad, whose borders are there */
};

/*
 * An operation fused behind a product: alu with a constant, with one number for each partition or
 * with a tensor, or a function of ACT
 */
enum ncc_tail_form { TAIL_CONSTANT, TAIL_SCALAR, TAIL_TENSOR, TAIL_FUNCTION };
struct ncc_tail {
	enum ncc_tail_form form;
	uint8_t alu, func;
	bool reverse;
	double value;
	struct ncc_view view;
};

#define NCC_MAX_TEMPS 64

struct ncc_gen {
	struct ncc_module *m;
	const struct ncc_options *opt;
	struct ncc_prog prog;
	struct ncc_buf *sbuf; /* live buffers */
	uint64_t sbuf_next; /* where the next search begins: rotates, so that reuse comes late */
	uint64_t sbuf_live, sbuf_peak;
	struct ncc_buf *temps[NCC_MAX_TEMPS];
	unsigned int ntemps;
	unsigned int psum_bank; /* next */
	unsigned int copies; /* alternate engines */
	unsigned int stamp; /* of the operation at hand */
	unsigned int nspills;
	bool no_room; /* why it failed: SBUF, or one instruction, cannot hold it; a piece may do */
	uint64_t dram; /* bytes of all variables */
	uint32_t *idle; /* scratch variables that nobody uses */
	unsigned int nidle;
	unsigned int ntail; /* of the product at hand */
	struct ncc_tail tail[NCC_MAX_TAIL];
	struct ncc_view whole, box; /* its result, and the box of it that leaves PSUM */
	unsigned int nfiles, ntmp;
	struct ncc_buf state; /* the buffer of PSUM views */
	const struct ncc_op *op;
	struct ncc_error *err;
};

#define NCC_SBUF_ALIGN 64

/* buffer.c */
struct ncc_buf *gen_sbuf_alloc(struct ncc_gen *g, uint64_t bytes);
/* the buffer's bytes without the buffer: it goes on to live in DRAM (gen_spill) */
void gen_sbuf_leave(struct ncc_gen *g, struct ncc_buf *buf);
struct ncc_buf *gen_dram_buf(struct ncc_gen *g, uint32_t var);
/* a new variable, or its error: -EFBIG when the chip's DRAM has no room for it */
int gen_var(struct ncc_gen *g, enum neff_var_type type, const char *name, uint64_t size);
/*
 * a scratch variable, row-major, but pdim (or -1) outermost if it is the last dimension; a large
 * one that is idle serves again. 0 or -errno
 */
int gen_scratch(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
void gen_unref(struct ncc_gen *g, struct ncc_buf *buf);
int gen_temp(struct ncc_gen *g, struct ncc_buf *buf); /* released when the operation is done */
void gen_release_temps(struct ncc_gen *g, unsigned int mark); /* all after the first mark */
/* a PSUM bank's index, round robin */
unsigned int gen_psum_bank(struct ncc_gen *g);

/*
 * spill.c: make room for size bytes of every partition by moving a live buffer within SBUF, or the
 * one that is needed last to DRAM; views stay valid. 0: try again, -ENOSPC when there is none, or
 * -errno
 */
int gen_make_room(struct ncc_gen *g, uint64_t size);
int gen_spill_buf(struct ncc_gen *g, struct ncc_buf *b); /* this one */

/* view.c */
void view_row_major(struct ncc_view *v, struct ncc_buf *buf, const struct ncc_shape *s);
/* in DRAM: pdim outermost, if neighbours would lie in different partitions */
void view_turn(struct ncc_view *v, int pdim);
/* a new SBUF buffer for the shape, pdim along the partitions, the rest row-major */
int gen_sbuf_view(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
struct ncc_view view_box(const struct ncc_view *v, const int64_t *lo, const int64_t *size);
struct ncc_view view_slice(const struct ncc_view *v, unsigned int d, int64_t lo, int64_t n,
			   int64_t step);
struct ncc_view view_permute(const struct ncc_view *v, const uint8_t *map, unsigned int ndim);
struct ncc_view view_drop(const struct ncc_view *v, unsigned int d); /* at index 0 of d */
bool view_reshape(const struct ncc_view *v, const struct ncc_shape *s, struct ncc_view *out);
/*
 * May a result of that shape take the place of in, which is read so many times on the way to it and
 * never again?
 */
bool view_can_take(const struct ncc_op *in, unsigned int reads, const struct ncc_shape *s,
		   int pdim);
bool view_on_engine(const struct ncc_view *v); /* can an engine take it, partitions as they are? */
void view_shape(const struct ncc_view *v, struct ncc_shape *s);

/*
 * walk.c: go over views of equal dimensions in pieces that one instruction can take. All have the
 * same pdim (or, with pdim -1, lie in one partition). Access patterns have at most 4 - reserve
 * dimensions and max elements.
 */
struct walk {
	const struct ncc_view *v[4];
	unsigned int nv, nd, nap; /* free dimensions after joining; how many form the pattern */
	int64_t dim[NCC_MAX_DIMS], stride[4][NCC_MAX_DIMS], at[NCC_MAX_DIMS], block;
	int64_t p, np;
	bool done;
	unsigned int partitions; /* of this piece */
	struct neuron_ap ap[4];
};
void walk_begin(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		unsigned int reserve, int64_t max);
bool walk_next(struct walk *w);
#define WALK_MAX 16384 /* elements of a partition in one instruction: our own choice, below 64 K */

/* copy.c */
int gen_dma(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);
int gen_dma_list(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
		 unsigned int n); /* n pairs of views as one DMA */
int gen_copy(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);
int gen_memset(struct ncc_gen *g, const struct ncc_view *dst, double v);
/*
 * The value in SBUF, pdim along the partitions from 0 (128 to a chunk), of type dtype (0: its own):
 * the view itself when it already is so, else a temporary copy. Dimensions of stride 0 stay so.
 */
int gen_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
	      struct ncc_view *out);
int gen_fetch_op(struct ncc_gen *g, struct ncc_op *op, int pdim, uint8_t dtype,
		 struct ncc_view *out);
/* give a constant its place in DRAM, laid out for pdim along the partitions, if it has none yet */
int gen_place(struct ncc_gen *g, struct ncc_op *op, int pdim);
/* the same with neighbours along inner */
int gen_place_inner(struct ncc_gen *g, struct ncc_op *op, int pdim, int inner);
/*
 * The dimension along which neighbours of much data are 2 to 4 elements apart or lie backwards, so
 * that a DMA would go element by element while an engine can step so; -1: none
 */
int gen_sparse_dim(const struct ncc_view *v, int pdim);
int gen_insn(struct ncc_gen *g, unsigned int engine, const struct neuron_insn *insn);

/* transpose.c: would a DMA go element by element? Then through blocks that POOL transposes */
bool gen_is_transpose(const struct ncc_view *dst, const struct ncc_view *src);
int gen_transpose(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);

/* One family of operations each: fill the result, a fresh SBUF view with op->pdim */
uint8_t gen_act_func(enum ncc_kind kind); /* ACT's function for it; 0: none */
int gen_elementwise(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * move.c: what only a pad reads is made where the pad would copy it to. A place for op in the
 * result of op->pad, borders filled; the pad's result around a value that lies so
 */
void gen_find_pads(struct ncc_module *m);
int gen_pad_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst);
struct ncc_view gen_padded(const struct ncc_op *pad);
int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_gather(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_reduce_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * reduce.c, its parts: dst = src without the dimensions in mask; acc = func(acc, part); a
 * window without the initial value; dst = func(dst, initial value)
 */
int gen_reduce_part(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst,
		    const struct ncc_view *src, uint32_t mask);
int gen_reduce_combine(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *acc,
		       const struct ncc_view *part);
int gen_window_part(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_reduce_init(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/*
 * matmul.c: dst[S, m...] = sum over the terms of st[K, S] * mv[K, m...]. K is at most 128 and along
 * the partitions of both; S is at most 128 and dst's partitions.
 */
struct mm_term {
	struct ncc_view st, mv;
};
int gen_matmul(struct ncc_gen *g, const struct ncc_view *dst, const struct mm_term *term,
	       unsigned int nterms);

/* The same in steps: boxes of dst open in PSUM, terms added to all, the boxes taken out */
#define MM_BOXES 4 /* in flight: half of the banks, so that the next ones need not wait */
struct mm_box {
	int64_t lo[NCC_MAX_DIMS], size[NCC_MAX_DIMS];
	struct ncc_view psum; /* dimensions as dst's box */
	struct ncc_buf buf;
};
struct mm {
	struct mm_box box[MM_BOXES];
	unsigned int n;
};
/* what one PSUM bank takes of a dst with such dimensions; mv's steps matter */
void gen_mm_box_size(unsigned int ndim, const int64_t *dim, const struct ncc_view *mv,
		     int64_t *size);
/* dst has at most MM_BOXES boxes of that size; operand: the operands' type */
void gen_mm_begin(struct ncc_gen *g, struct mm *mm, const struct ncc_view *dst, const int64_t *size,
		  uint8_t operand);
int gen_mm_add(struct ncc_gen *g, const struct mm *mm, const struct mm_term *term,
	       unsigned int nterms, bool accumulate);
int gen_mm_end(struct ncc_gen *g, const struct mm *mm, const struct ncc_view *dst);

/*
 * fuse.c. gen_find_fusions marks what is fused; the operations then come into being with the last
 * of them. gen_epilogue takes a box out of PSUM through them.
 */
void gen_find_fusions(struct ncc_module *m);
const struct ncc_op *gen_last_of(const struct ncc_op *product);
int gen_epilogue_begin(struct ncc_gen *g, const struct ncc_op *product, const struct ncc_view *dst);
int gen_epilogue(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *psum);

/*
 * group.c marks element-wise operations that are made together, piece by piece, at the place of
 * the last one
 */
void gen_find_groups(struct ncc_module *m);

/*
 * tile.c: what does not fit SBUF with its operands, and the product and operations fused with
 * it: each in pieces, with a result in DRAM
 */
int gen_tiled(struct ncc_gen *g, struct ncc_op *op);

/* gen.c: tensor IR -> machine program. The caller frees g->prog */
int ncc_generate(struct ncc_gen *g);

#endif
