// SPDX-License-Identifier: MIT
/*
 * Rows of a table by index: a DMA that reads the addresses of one side from memory (docs/neff.md).
 * Table and indices lie in DRAM; gathered rows go wherever the result lies, scattered ones come
 * from DRAM. Part of the code generator.
 */
#include <stdlib.h>

#include "buffer.h"
#include "join.h"
#include "keep.h"
#include "move.h"
#include "place.h"
#include "view.h"

/* The operand in DRAM with its last dimension contiguous: as it lies, or a copy */
static int in_dram(struct ncc_gen *g, struct ncc_op *op, struct ncc_view *out)
{
	unsigned int last = op->shape.ndim - 1;
	const struct ncc_view *v;
	int rc = gen_place(g, op, -1);

	if (rc)
		return rc;
	v = &op->gen->value->view;
	*out = *v;
	if (v->buf->space == NCC_DRAM && v->pdim < 0 && !v->buf->row &&
	    (v->stride[last] == 1 || v->dim[last] == 1))
		return 0;
	rc = gen_scratch(g, &op->shape, -1, out);
	rc = rc ? rc : gen_temp(g, out->buf);
	return rc ? rc : gen_copy(g, out, v);
}

static struct neff_pattern table_rows(const struct ncc_view *table, int64_t at, int64_t bytes)
{
	int64_t esz = ncc_dtype_size(table->dtype);

	return (struct neff_pattern){
		.var = table->buf->var,
		.offset = table->buf->base + (uint64_t)(table->off * esz + at),
		.ndim = 2,
		.size = { (uint64_t)bytes, (uint64_t)table->dim[0] },
		.step = { 1, table->stride[0] * esz },
	};
}

/* n rows of the result from row lo on, which fill whole chunks of partitions or lie in one */
static struct neff_pattern result_rows(const struct ncc_view *dst, int64_t lo, int64_t n,
				       int64_t at, int64_t bytes)
{
	int64_t esz = ncc_dtype_size(dst->dtype), p = NEURON_PARTITIONS;
	struct neff_pattern r = {
		.var = dst->buf->space == NCC_DRAM ? dst->buf->var : 0,
		.offset = dst->buf->base + (uint64_t)(dst->off * esz + at),
		.ndim = 2,
		.size = { (uint64_t)bytes, (uint64_t)n },
		.step = { 1, dst->stride[0] * esz },
	};

	if (dst->buf->space == NCC_DRAM) {
		r.offset += (uint64_t)(lo * r.step[1]);
		return r;
	}
	r.offset += (uint64_t)(lo / p * dst->buf->chunk);
	r.step[1] = NEURON_SBUF_PART_STRIDE;
	if (n > p) {
		r.ndim = 3;
		r.size[1] = (uint64_t)p;
		r.size[2] = (uint64_t)(n / p);
		r.step[2] = dst->buf->chunk;
	}
	return r;
}

/*
 * Cuts both dimensions: rows into those that fill all partitions and the rest, columns into what
 * one descriptor takes.
 */
static unsigned int pieces(const struct ncc_view *dst, const struct ncc_view *table,
			   const struct ncc_view *index, struct neff_desc *d)
{
	int64_t row = table->dim[1] * ncc_dtype_size(table->dtype), n = dst->dim[0], m;
	unsigned int count = 0;

	for (int64_t lo = 0; lo < n; lo += m) {
		m = n - lo;
		if (dst->buf->space != NCC_DRAM && m > NEURON_PARTITIONS)
			m = m / NEURON_PARTITIONS * NEURON_PARTITIONS;
		for (int64_t at = 0; at < row; at += NEFF_MAX_ROW) {
			int64_t bytes = row - at < NEFF_MAX_ROW ? row - at : NEFF_MAX_ROW;

			if (d)
				d[count] = (struct neff_desc){
					.from = table_rows(table, at, bytes),
					.to = result_rows(dst, lo, m, at, bytes),
					.op = NEFF_GATHER,
					.index = index->buf->var,
					.index_off = index->buf->base +
						     (uint64_t)(index->off + lo) * sizeof(uint32_t),
				};
			count++;
		}
	}
	return count;
}

static int gather_rows(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view table, index;
	struct neff_desc *d;
	unsigned int n;
	int rc = in_dram(g, op->in[0], &table);

	rc = rc ? rc : in_dram(g, op->in[1], &index);
	if (rc)
		return rc;
	n = pieces(dst, &table, &index, NULL);
	d = calloc(n, sizeof(*d));
	if (!d)
		return ncc_no_memory(g->err);
	pieces(dst, &table, &index, d);
	return ncc_prog_dma(&g->prog, NCC_Q_GATHER, d, n, g->err);
}

int gen_gather(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view rows;
	int rc;

	if (dst->buf->space == NCC_DRAM || dst->pdim <= 0)
		return gather_rows(g, op, dst);
	rc = gen_scratch(g, &op->shape, -1, &rows); /* columns lie along the partitions */
	rc = rc ? rc : gen_temp(g, rows.buf);
	rc = rc ? rc : gather_rows(g, op, &rows);
	return rc ? rc : gen_copy(g, dst, &rows);
}

/* Has the table's variable room for one row more? */
static bool has_spare_row(const struct ncc_gen *g, const struct ncc_view *table)
{
	uint64_t row = (uint64_t)table->dim[1] * ncc_dtype_size(table->dtype);

	return ((uint64_t)table->dim[0] + 1) * row <= g->prog.var[table->buf->var].size;
}

/*
 * May the rows be replaced where operand 0 lies? Nothing else reads it any more, nor does a logical
 * core's other core, and the program writes there anyway.
 */
static bool takes_table(const struct ncc_gen *g, const struct ncc_op *op)
{
	const struct ncc_value *x = op->in[0]->gen->value;
	const struct ncc_buf *b = x->view.buf;

	if (x->uses != 1 || b->refs != 1 || !view_fills_variable(&x->view, &op->shape))
		return false;
	if (b->scratch && has_spare_row(g, &x->view))
		return true;
	return (b->scratch || (gen_is_overwritten(g, b->var) && !gen_is_touched(g, b->var))) &&
	       op->plan->hits;
}

/*
 * Gives the result a table: that of operand 0, or a copy with a row besides for what hits none.
 */
static int scatter_table(struct ncc_gen *g, struct ncc_op *op, struct ncc_view *table)
{
	struct ncc_shape shape = op->shape;
	double v;
	bool filled = plan_number(op->in[0], &v);
	int rc = filled ? 0 : gen_place(g, op->in[0], -1);

	if (rc)
		return rc;
	if (!filled && takes_table(g, op)) {
		*table = op->in[0]->gen->value->view;
		table->buf->refs++;
		gen_keep_forget(g, table->buf->var);
		return gen_value(g, op, table) ? 0 : ncc_no_memory(g->err);
	}
	shape.dim[0]++;
	rc = gen_scratch(g, &shape, -1, table);
	if (rc)
		return rc;
	table->dim[0]--;
	if (!gen_value(g, op, table))
		return ncc_no_memory(g->err);
	return filled ? gen_fill(g, table, v) : gen_copy(g, table, &op->in[0]->gen->value->view);
}

/* Columns are cut into what one descriptor takes. */
int gen_scatter(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op;
	int64_t row = op->shape.dim[1] * ncc_dtype_size(op->shape.dtype);
	unsigned int n = (unsigned int)((row + NEFF_MAX_ROW - 1) / NEFF_MAX_ROW);
	struct ncc_view from, index, whole;
	struct neff_desc *d;
	int rc = in_dram(g, op->in[1], &index);

	rc = rc ? rc : in_dram(g, op->in[2], &from);
	rc = rc ? rc : scatter_table(g, op, &whole);
	if (rc)
		return rc;
	whole.dim[0] += has_spare_row(g, &whole);
	d = calloc(n, sizeof(*d));
	if (!d)
		return ncc_no_memory(g->err);
	for (unsigned int i = 0; i < n; i++) {
		int64_t at = (int64_t)i * NEFF_MAX_ROW;
		int64_t bytes = row - at < NEFF_MAX_ROW ? row - at : NEFF_MAX_ROW;

		d[i] = (struct neff_desc){
			.from = table_rows(&from, at, bytes),
			.to = table_rows(&whole, at, bytes),
			.op = NEFF_SCATTER,
			.index = index.buf->var,
			.index_off = index.buf->base + (uint64_t)index.off * sizeof(uint32_t),
		};
	}
	return ncc_prog_dma(&g->prog, NCC_Q_GATHER, d, n, g->err);
}
