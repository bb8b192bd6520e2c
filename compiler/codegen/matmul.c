// SPDX-License-Identifier: MIT
/*
 * Sums of matrix products on PE. The result is cut into boxes of at most one PSUM bank; several
 * boxes are in flight so that each stationary operand is loaded once for all of them. Finished
 * boxes are copied out, with the cast to the result's type. Part of the code generator.
 */
#include <errno.h>
#include <string.h>

#include "buffer.h"
#include "contract.h"
#include "emit.h"
#include "move.h"
#include "neuron/isa/check.h"
#include "view.h"
#include "walk.h"

/* The size of a box along each dimension of dst: the inner ones whole while they fit a bank */
void gen_mm_box_size(unsigned int ndim, const int64_t *dim, const struct ncc_view *mv, bool slots,
		     int64_t *size)
{
	int64_t room = NEURON_ISA_MAX_MOVING;
	unsigned int used = 0;

	for (unsigned int d = 1; d < ndim; d++)
		size[d] = 1;
	size[0] = dim[0];
	for (unsigned int d = ndim; d-- > 1 && used + slots < NEURON_AP_DIMS;) {
		int64_t step = mv->stride[d];

		if (dim[d] == 1)
			continue;
		if (step > INT16_MAX || step < INT16_MIN)
			continue;
		size[d] = dim[d] < room ? dim[d] : room;
		room /= size[d];
		used++;
		if (size[d] < dim[d])
			break;
	}
}

static void psum_view(struct ncc_gen *g, struct mm_box *b, const struct ncc_view *dst,
		      uint8_t dtype)
{
	struct ncc_shape s = { .dtype = dtype, .ndim = dst->ndim };

	memcpy(s.dim, b->size, sizeof(s.dim));
	b->buf = (struct ncc_buf){ .space = NCC_PSUM,
				   .bytes = NEURON_PSUM_BANK_SIZE,
				   .refs = 1,
				   .base = (uint64_t)gen_psum_bank(g) * NEURON_PSUM_BANK_SIZE };
	view_row_major(&b->psum, &b->buf, &s);
	b->psum.pdim = 0;
}

/* The access pattern of a view that was cut to need only one, with pair 0 left free for slots */
static int one_ap_of(struct ncc_gen *g, const struct ncc_view *v, bool slots, struct neuron_ap *ap,
		     unsigned int *partitions)
{
	const struct ncc_view *views[1] = { v };
	struct walk w;

	walk_begin(&w, views, 1, slots, NEURON_ISA_MAX_MOVING);
	walk_next(&w);
	*ap = w.ap[0];
	*partitions = w.partitions;
	return w.done ? 0 : gen_fail(g, -EINVAL, "internal: operand of a matmul is in pieces");
}

static int one_ap(struct ncc_gen *g, const struct ncc_view *v, struct neuron_ap *ap,
		  unsigned int *partitions)
{
	return one_ap_of(g, v, false, ap, partitions);
}

/* Makes it a product of sparse weights. */
static int choose_rows(struct ncc_gen *g, const struct mm_term *term, struct neuron_insn *insn)
{
	struct ncc_view tags = term->tags;
	unsigned int n;

	tags.dtype = NEURON_DT_UINT16;
	insn->opcode = NEURON_OP_MATMUL_SPARSE;
	insn->neighbours = term->neighbours;
	insn->src0.num[0] = term->slots;
	insn->src0.step[0] = (int16_t)term->step;
	return one_ap(g, &tags, &insn->src1, &n);
}

static int multiply(struct ncc_gen *g, const struct mm_box *b, const struct mm_term *term,
		    bool accumulate)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_MATMUL, .accumulate = accumulate };
	struct ncc_view piece = term->mv;
	unsigned int n;
	int rc;

	for (unsigned int d = 1; d < piece.ndim; d++)
		piece = view_slice(&piece, d, b->lo[d], b->size[d], 1);
	rc = one_ap_of(g, &piece, term->neighbours, &insn.src0, &n);
	insn.partitions = (uint8_t)n;
	if (!rc && term->neighbours)
		rc = choose_rows(g, term, &insn);
	rc = rc ? rc : one_ap(g, &b->psum, &insn.dst, &n);
	return rc ? rc : gen_insn(g, NEURON_ENG_PE, &insn);
}

static int load(struct ncc_gen *g, const struct ncc_view *st)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_LDWEIGHTS };
	unsigned int n;
	int rc = one_ap(g, st, &insn.src0, &n);

	insn.partitions = (uint8_t)n;
	return rc ? rc : gen_insn(g, NEURON_ENG_PE, &insn);
}

int gen_mm_add(struct ncc_gen *g, const struct mm *mm, const struct mm_term *term,
	       unsigned int nterms, bool accumulate)
{
	int rc = 0;

	for (unsigned int t = 0; !rc && t < nterms; t++) {
		rc = load(g, &term[t].st);
		for (unsigned int i = 0; !rc && i < mm->n; i++)
			rc = multiply(g, &mm->box[i], &term[t], accumulate || t > 0);
	}
	return rc;
}

int gen_mm_end(struct ncc_gen *g, const struct mm *mm, const struct ncc_view *dst)
{
	unsigned int mark = g->ntemps;
	int rc = 0;

	for (unsigned int i = 0; !rc && i < mm->n; i++) {
		const struct mm_box *b = &mm->box[i];
		struct ncc_view to = view_box(dst, b->lo, b->size);

		rc = g->nepilogue ? gen_epilogue(g, &to, &b->psum) : gen_copy(g, &to, &b->psum);
		gen_release_temps(g, mark);
	}
	return rc;
}

/* Opens boxes from *at on, as many as may be in flight; *at moves on, to 0 after the last. */
static bool open_boxes(struct ncc_gen *g, struct mm *mm, const struct ncc_view *dst,
		       const int64_t *size, uint8_t dtype, int64_t *at)
{
	bool more = true;

	for (mm->n = 0; more && mm->n < MM_BOXES; mm->n++) {
		struct mm_box *b = &mm->box[mm->n];

		for (unsigned int d = 0; d < dst->ndim; d++) {
			int64_t left = dst->dim[d] - at[d];

			b->lo[d] = at[d];
			b->size[d] = left < size[d] ? left : size[d];
		}
		psum_view(g, b, dst, dtype);
		more = false;
		for (unsigned int d = dst->ndim; d-- > 1 && !more;) {
			at[d] += size[d];
			more = at[d] < dst->dim[d];
			if (!more)
				at[d] = 0;
		}
	}
	return more;
}

static uint8_t sum_dtype(uint8_t operand)
{
	return operand == NEURON_DT_INT8 ? NEURON_DT_INT32 : NEURON_DT_FP32;
}

void gen_mm_begin(struct ncc_gen *g, struct mm *mm, const struct ncc_view *dst, const int64_t *size,
		  uint8_t operand)
{
	int64_t at[NCC_MAX_DIMS] = { 0 };

	open_boxes(g, mm, dst, size, sum_dtype(operand), at);
}

int gen_matmul(struct ncc_gen *g, const struct ncc_view *dst, const struct mm_term *term,
	       unsigned int nterms)
{
	int64_t size[NCC_MAX_DIMS], at[NCC_MAX_DIMS] = { 0 };
	struct mm mm;
	bool more = true;
	int rc = 0;

	gen_mm_box_size(dst->ndim, dst->dim, &term->mv, term->neighbours, size);
	while (!rc && more) {
		more = open_boxes(g, &mm, dst, size, sum_dtype(term->st.dtype), at);
		rc = gen_mm_add(g, &mm, term, nterms, false);
		rc = rc ? rc : gen_mm_end(g, &mm, dst);
	}
	return rc;
}
