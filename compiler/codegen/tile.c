// SPDX-License-Identifier: MIT
/*
 * Operations whose result and operands do not fit SBUF together: the result is a scratch variable
 * in DRAM and is made piece by piece. A piece is stored when the instructions of the
 * next one are in the program, so that loads, computing and stores of three pieces overlap. What
 * all tiled operations share; the element-wise ones are group.c's. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tile.h"

void tile_first(struct tile_box *b, unsigned int ndim, const int64_t *dim, const int64_t *step)
{
	memset(b, 0, sizeof(*b));
	b->ndim = ndim;
	for (unsigned int d = 0; d < ndim; d++) {
		b->dim[d] = dim[d];
		b->step[d] = step[d];
		b->size[d] = step[d] < dim[d] ? step[d] : dim[d];
	}
}

bool tile_next(struct tile_box *b)
{
	for (unsigned int d = b->ndim; d-- > 0;) {
		bool more;

		b->lo[d] += b->step[d];
		more = b->lo[d] < b->dim[d];
		if (!more)
			b->lo[d] = 0;
		b->size[d] = b->dim[d] - b->lo[d];
		if (b->size[d] > b->step[d])
			b->size[d] = b->step[d];
		if (more)
			return true;
	}
	return false;
}

bool tile_halve(int64_t *step, unsigned int ndim, int pdim, uint32_t mask)
{
	bool cut_p = pdim >= 0 && mask >> pdim & 1;

	if (cut_p && step[pdim] > NEURON_PARTITIONS) {
		int64_t half = (step[pdim] + 1) / 2 + NEURON_PARTITIONS - 1;

		step[pdim] = half / NEURON_PARTITIONS * NEURON_PARTITIONS;
		return true;
	}
	for (unsigned int d = 0; d < ndim; d++) {
		if ((int)d != pdim && mask >> d & 1 && step[d] > 1) {
			step[d] = (step[d] + 1) / 2;
			return true;
		}
	}
	return false;
}

int64_t tile_bytes(const struct ncc_view *v, const int64_t *size, int pdim, uint8_t dtype)
{
	int64_t n = 1, bytes, chunks = 1;
	bool cast = dtype && dtype != v->dtype;
	int sparse = v->buf && v->buf->space == NCC_DRAM ? gen_sparse_dim(v, pdim) : -1;

	for (unsigned int d = 0; d < v->ndim; d++) {
		if ((int)d == pdim)
			chunks = (size[d] + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
		else if (v->stride[d] || (int)d == v->pdim)
			n *= size[d];
	}
	if (sparse >= 0) /* with what lies between, and a copy without */
		n *= llabs(v->stride[sparse]) + 1;
	bytes = n * (ncc_dtype_size(v->dtype) + (cast ? ncc_dtype_size(dtype) : 0));
	return (bytes + NCC_SBUF_ALIGN - 1) / NCC_SBUF_ALIGN * NCC_SBUF_ALIGN * chunks;
}

int tile_pdim(const struct ncc_view *v, int wish, uint32_t not_these)
{
	int best = -1, inner = -1;
	int64_t most = 0;

	for (unsigned int d = 0; d < v->ndim; d++)
		if (v->dim[d] > 1 && v->stride[d] == 1 && (int)d != v->pdim)
			inner = (int)d;
	if (wish >= 0 && wish != inner && v->dim[wish] > 1)
		return wish;
	for (unsigned int d = 0; d < v->ndim; d++) {
		int64_t n = v->dim[d] < NEURON_PARTITIONS ? v->dim[d] : NEURON_PARTITIONS;

		if ((int)d == inner || not_these >> d & 1)
			continue;
		if (n > most) {
			most = n;
			best = (int)d;
		}
	}
	if (inner >= 0 && !(not_these >> inner & 1) && (best < 0 || most == 1))
		return inner;
	return best;
}

#define SHORTEST_RUN 16 /* elements of a partition that a split dimension leaves */
#define SHORT_ROW 64 /* elements: rows that are better taken many at a time */

bool tile_can_split(const struct ncc_view *v, int d)
{
	return v->ndim < NCC_MAX_DIMS && v->pdim != d &&
	       v->dim[d] >= (int64_t)NEURON_PARTITIONS * SHORTEST_RUN;
}

bool tile_should_split(const struct ncc_view *v, int d)
{
	return d >= 0 && v->stride[d] > 0 && v->stride[d] <= SHORT_ROW && tile_can_split(v, d);
}

struct ncc_view tile_split(const struct ncc_view *v, unsigned int d)
{
	struct ncc_view r = *v;

	for (unsigned int i = v->ndim; i > d + 1; i--) {
		r.dim[i] = v->dim[i - 1];
		r.stride[i] = v->stride[i - 1];
	}
	r.ndim++;
	r.pdim += r.pdim > (int)d;
	r.dim[d] = NEURON_PARTITIONS;
	r.dim[d + 1] = v->dim[d] / NEURON_PARTITIONS;
	r.stride[d + 1] = v->stride[d];
	r.stride[d] = v->stride[d] * r.dim[d + 1];
	return r;
}

struct ncc_view tile_rest(const struct ncc_view *v, unsigned int d)
{
	int64_t rest = v->dim[d] % NEURON_PARTITIONS;

	return view_slice(v, d, v->dim[d] - rest, rest, 1);
}

int tile_alloc(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *tile)
{
	int rc = gen_sbuf_view(g, s, pdim, tile);

	if (!rc)
		tile->buf->pin = NCC_PIN_TEMP;
	return rc;
}

static int store(struct ncc_gen *g, struct tile_store *st)
{
	unsigned int mark = g->ntemps;
	int rc = gen_copy(g, &st->to, &st->tile);

	gen_release_temps(g, mark);
	gen_unref(g, st->tile.buf);
	st->full = false;
	return rc;
}

int tile_put(struct ncc_gen *g, struct tile_store *st, const struct ncc_view *tile,
	     const struct ncc_view *to)
{
	int rc = st->full ? store(g, st) : 0;

	st->tile = *tile;
	st->to = *to;
	st->full = true;
	return rc;
}

int tile_flush(struct ncc_gen *g, struct tile_store *st, int rc)
{
	if (st->full && !rc)
		return store(g, st);
	if (st->full)
		gen_unref(g, st->tile.buf);
	st->full = false;
	return rc;
}

void tile_op_init(struct tile_op *t, const struct ncc_op *op, const struct ncc_shape *s, int pdim)
{
	t->op = *op;
	t->op.in = t->in;
	t->op.shape.ndim = s->ndim;
	memcpy(t->op.shape.dim, s->dim, sizeof(t->op.shape.dim));
	t->op.pdim = pdim;
	for (unsigned int i = 0; i < op->nin && i < TILE_OPERANDS; i++)
		t->in[i] = op->in[i];
}

void tile_op_operand(struct tile_op *t, unsigned int i, const struct ncc_view *v)
{
	struct ncc_op *real = t->in[i], *x = &t->operand[i];
	double one;

	*x = *real;
	if (!ncc_scalar_value(real, &one)) /* a part of a constant may look like one number */
		x->kind = NCC_PARAM;
	x->shape.ndim = v->ndim;
	memcpy(x->shape.dim, v->dim, sizeof(x->shape.dim));
	t->value[i] = (struct ncc_value){ .view = *v };
	x->value = &t->value[i];
	t->in[i] = x;
}

/* As one dimension: contiguous in DRAM, or the same element throughout */
bool tile_flatten(struct ncc_view *v)
{
	int64_t n = 1, stride = 1;
	bool same = true, dense = v->buf->space == NCC_DRAM && v->pdim < 0;

	for (int d = (int)v->ndim - 1; d >= 0; d--) {
		if (v->dim[d] > 1) {
			same = same && v->stride[d] == 0 && d != v->pdim;
			dense = dense && v->stride[d] == n;
		}
		n *= v->dim[d];
	}
	if (!same && !dense)
		return false;
	stride = same ? 0 : 1;
	if (v->pdim >= 0)
		return false;
	v->ndim = 1;
	v->dim[0] = n;
	v->stride[0] = stride;
	return true;
}

/* rows x columns elements from lo on of a flat view */
struct ncc_view tile_flat_piece(const struct ncc_view *v, int64_t lo, int64_t rows, int64_t columns)
{
	struct ncc_view r = *v;

	r.ndim = 2;
	r.dim[0] = rows;
	r.dim[1] = columns;
	r.stride[0] = v->stride[0] * columns;
	r.stride[1] = v->stride[0];
	r.off += lo * v->stride[0];
	return r;
}

/* Everything an operation reads has a place, and nothing large of it stays in SBUF */
static int place_operands(struct ncc_gen *g, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_op *in = op->in[i];
		bool same = in->shape.ndim == op->shape.ndim && op->kind != NCC_DOT;
		double v;
		int rc;

		if (tile_is_immediate(op, i) ||
		    (i == 1 &&
		     (op->kind == NCC_REDUCE || op->kind == NCC_REDUCE_WINDOW ||
		      op->kind == NCC_PAD) &&
		     ncc_scalar_value(in, &v)))
			continue;
		if (op->kind == NCC_CONV && i == 1)
			rc = gen_place_inner(g, in, op->conv.k_in, op->conv.k_out);
		else
			rc = gen_place(g, in, same ? op->pdim : -1);
		if (rc)
			return rc;
		if (in->value->view.buf->space == NCC_SBUF && in->value->view.buf->bytes > 4096)
			rc = gen_spill_buf(g, in->value->view.buf);
		if (rc)
			return rc;
	}
	return 0;
}

/* Its result's place in DRAM */
int tile_result(struct ncc_gen *g, struct ncc_op *op)
{
	bool turned = op->kind != NCC_REDUCE && op->kind != NCC_CONCAT && op->kind != NCC_PAD;
	struct ncc_shape s = op->shape;
	struct ncc_view dst;
	int rc;

	if (op->write_dtype)
		s.dtype = op->write_dtype;
	rc = gen_scratch(g, &s, turned ? op->pdim : -1, &dst);
	if (rc)
		return rc;
	op->value = ncc_alloc(g->m, sizeof(*op->value));
	if (!op->value) {
		gen_unref(g, dst.buf);
		return ncc_fail(g->err, -ENOMEM, "out of memory");
	}
	op->value->view = dst;
	op->value->uses = op->users;
	return 0;
}

static int tile_one(struct ncc_gen *g, struct ncc_op *op)
{
	const struct ncc_view *dst;
	int rc;

	g->ntail = 0;
	if (tile_is_elementwise(op))
		return tile_elementwise(g, op);
	rc = op->kind == NCC_GATHER ? 0 : place_operands(g, op);
	rc = rc ? rc : tile_result(g, op);
	if (rc)
		return rc;
	dst = &op->value->view;
	switch (op->kind) {
	case NCC_CONCAT:
		return tile_concat(g, op, dst);
	case NCC_PAD:
		return gen_pad(g, op, dst);
	case NCC_GATHER:
		return gen_gather(g, op, dst);
	case NCC_REDUCE:
		return tile_reduce(g, op, dst);
	case NCC_REDUCE_WINDOW:
		return tile_window(g, op, dst);
	case NCC_DOT:
		return tile_dot(g, op, dst);
	default:
		return tile_conv(g, op, dst);
	}
}

/* What was fused behind a product that is there, together */
static int tile_tail(struct ncc_gen *g, struct ncc_op *last)
{
	struct ncc_op *product = last->fused;
	int rc;

	g->ntail = 0;
	for (unsigned int i = 0; product->ntail > 1 && i < product->ntail; i++) {
		struct ncc_op *x = product->tail[i];

		x->group = last;
		x->group_next = x == last ? NULL : product->tail[i + 1];
	}
	last->group_first = product->tail[0];
	rc = tile_elementwise(g, last);
	for (unsigned int i = 0; i < product->ntail; i++)
		product->tail[i]->group = NULL;
	return rc;
}

int gen_tiled(struct ncc_gen *g, struct ncc_op *op)
{
	int rc = tile_one(g, op->fused ? op->fused : op);

	return rc || !op->fused ? rc : tile_tail(g, op);
}
