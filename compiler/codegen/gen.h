/* SPDX-License-Identifier: MIT */
/*
 * Private to the code generator: what it knows of a program that it makes. gen.c drives it,
 * operation by operation, and the layers below it, each with a header of its own, are, from the
 * bottom up:
 *
 *   view, walk    dimensions over a buffer; pieces of them that one instruction can take
 *   buffer, room  buffers in SBUF and DRAM, and what makes room for them
 *   emit, move    instructions and DMAs; copies, transposes, operands brought to their readers
 *   place         where values lie
 *   elem, reduce, contract
 *                 one family of operations each, in SBUF
 *   box, tile     the same in pieces, of values in DRAM
 *
 * A value is a view: dimensions with strides over a buffer in SBUF or DRAM. Transposes, slices,
 * broadcasts and most reshapes are views of their operand and cost nothing. In SBUF one dimension
 * may lie along the partitions, 128 to a chunk; the others lie inside the partition.
 */
#ifndef NCC_GEN_H
#define NCC_GEN_H

#include "machine/prog.h"
#include "plan/plan.h"

struct ncc_buf {
	uint8_t space; /* enum ncc_space */
	uint32_t var; /* DRAM */
	uint64_t base; /* bytes: in the variable, or in every partition */
	uint64_t bytes; /* SBUF, PSUM: of a partition */
	int64_t chunk; /* bytes between chunks of 128 partitions */
	int64_t row; /* DRAM: bytes between partitions of a spilled buffer; 0: not one */
	uint16_t partitions; /* SBUF: partitions in use */
	bool scratch; /* DRAM: the variable is reused when the buffer is freed */
	unsigned int pin; /* g->stamp: the current operation uses it */
	unsigned int next_use; /* sbuf.c */
	unsigned int refs;
	struct ncc_buf *next; /* SBUF: in order of base */
};

struct ncc_view {
	struct ncc_buf *buf;
	uint8_t dtype;
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS];
	int64_t stride[NCC_MAX_DIMS]; /* in elements; unused for pdim */
	int64_t off; /* elements */
	int pdim; /* dimension along the partitions; -1: none */
	int64_t pstart, pstep; /* partition of index i: pstart + i * pstep, over all chunks */
};

#define NCC_PIN_TEMP UINT32_MAX /* a temporary: never spilled */

struct ncc_value {
	struct ncc_view view;
	unsigned int uses; /* users still to be generated */
	bool padded; /* lies in its only user's result, a pad's, borders filled */
};

/* The generator's notes on an operation (ncc_op.gen) */
struct gen_note {
	struct ncc_value *value; /* where it lies */
	struct ncc_view *join; /* of a concatenation: its result, once a part of it has its place */
};

/* A part of the current product's epilogue, and its other operand, fetched */
struct gen_epilogue {
	const struct plan_step *step;
	struct ncc_view view;
};

/* pool.c: a part of SBUF with constants of one number for each partition, and what is in it */
struct gen_pool {
	uint64_t size,
		used; /* bytes of a partition: its room, 0 if there are none; what is in it */
	struct ncc_buf *buf; /* NULL: it is not in SBUF now */
	uint32_t var, dma; /* its file; what loaded it */
	bool loaded;
	unsigned int nentries, cap;
	struct gen_pool_entry {
		uint32_t var; /* the constant: every stride elements from off on */
		int64_t off, stride, dim;
		int64_t word; /* the first partition's; 128 to a word */
	} * entry;
};

#define NCC_MAX_KEPT 64

/* keep.c: operands from DRAM that stay in SBUF */
struct gen_keep {
	unsigned int n;
	uint64_t bytes; /* of a partition */
	struct gen_kept {
		struct ncc_view from, to; /* from.buf may be gone: var and base are its own */
		uint32_t var, dma; /* the last DMA when it was there */
		uint64_t base;
		int pdim;
		uint8_t dtype;
		unsigned int read; /* g->stamp of its last reader */
	} of[NCC_MAX_KEPT];
};

struct ncc_gen {
	struct ncc_module *m;
	const struct ncc_options *opt;
	struct ncc_prog prog;
	struct ncc_buf *sbuf; /* live buffers */
	uint64_t sbuf_next; /* where the next search begins: it rotates, so reuse comes late */
	uint64_t sbuf_live, sbuf_peak;
	struct ncc_buf **temps; /* of the current operation */
	unsigned int ntemps, temps_cap;
	unsigned int psum_bank; /* next */
	unsigned int copies; /* alternate engines */
	unsigned int stamp; /* of the current operation */
	unsigned int nspills;
	bool no_room; /* it failed because SBUF or an instruction cannot hold it whole */
	uint64_t dram; /* bytes of all variables */
	struct gen_pool pool;
	struct gen_keep keep;
	uint32_t *idle; /* scratch variables that are free for reuse */
	unsigned int nidle;
	unsigned int nepilogue; /* of the current product */
	struct gen_epilogue epilogue[PLAN_MAX_EPILOGUE];
	struct ncc_view whole, box; /* its result, and the box of it that leaves PSUM */
	unsigned int nfiles, ntmp;
	struct ncc_buf state; /* the buffer of PSUM views */
	struct plan plan;
	unsigned int at; /* the current operation's place in it */
	/* Told how many nodes stay as they are, but for their instructions; or NULL */
	void (*settled)(void *opaque, uint32_t nodes);
	void *opaque;
	struct ncc_error *err;
};

/* Computes an operation, without its epilogue, to dst: a place of its own */
typedef int (*gen_fn)(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/* Fails for the current operation, which the message begins with. */
int gen_fail(const struct ncc_gen *g, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Turns the tensor IR into a machine program. The caller frees g->prog. */
int ncc_generate(struct ncc_gen *g);

#endif
