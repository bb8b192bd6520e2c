// SPDX-License-Identifier: MIT
/* Concatenation and padding: pieces copied into place. Part of the code generator. */
#include "join.h"

#include <errno.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "emit.h"
#include "move.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"

int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int64_t at = 0;

	for (unsigned int i = 0; i < op->nin; i++) {
		int64_t n = op->in[i]->shape.dim[op->axis];
		struct ncc_view part = view_slice(dst, op->axis, at, n, 1);
		const struct ncc_view *from = &op->in[i]->gen->value->view;
		unsigned int mark = g->ntemps;
		int rc = from->buf == dst->buf ? 0 : gen_copy(g, &part, from);

		if (dst->buf->space == NCC_DRAM)
			gen_release_temps(g, mark);
		if (rc)
			return rc;
		at += n;
	}
	return 0;
}

/* Fills a value in DRAM with one number: stores a tile of it as often as needed. */
static int fill_dram(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *spread,
		     double v)
{
	int64_t n = view_elems(dst), columns = TILE_BYTES / ncc_dtype_size(dst->dtype);
	int64_t rows = n < NEURON_PARTITIONS ? n : NEURON_PARTITIONS;
	struct ncc_shape s = { .dtype = dst->dtype, .ndim = 2, .dim = { rows, columns } };
	struct ncc_view flat = *dst, tile, src;
	int rc;

	if (!tile_flatten(&flat))
		return gen_fail(g, -EINVAL, "internal: scratch is not row-major");
	if (columns > n / rows)
		s.dim[1] = columns = n / rows;
	rc = gen_sbuf_view(g, &s, 0, &tile);
	rc = rc ? rc : gen_temp(g, tile.buf);
	if (rc)
		return rc;
	if (spread) {
		src = *spread;
		src.ndim = 2;
		memcpy(src.dim, s.dim, sizeof(src.dim));
		rc = gen_copy(g, &tile, &src);
	} else {
		rc = gen_memset(g, &tile, v);
	}

	for (int64_t lo = 0; !rc && lo < n;) {
		int64_t c = (n - lo) / rows < columns ? (n - lo) / rows : columns;
		int64_t r = c ? rows : n - lo;
		struct ncc_view to = tile_flat_piece(&flat, lo, r, c ? c : 1), from = tile;

		from = view_slice(&from, 0, 0, r, 1);
		from = view_slice(&from, 1, 0, to.dim[1], 1);
		rc = gen_dma(g, &to, &from);
		lo += r * to.dim[1];
	}
	return rc;
}

int gen_fill(struct ncc_gen *g, const struct ncc_view *dst, double v)
{
	return dst->buf->space == NCC_DRAM ? fill_dram(g, dst, NULL, v) : gen_memset(g, dst, v);
}

/* Fills dst with the pad value, which need not be constant: a scalar spread over the result. */
static int fill(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view spread;
	double v;
	int rc;

	if (plan_number(op->in[1], &v))
		return gen_fill(g, dst, v);
	rc = gen_place(g, op->in[1], -1);
	if (rc)
		return rc;
	spread = op->in[1]->gen->value->view;
	spread.ndim = dst->ndim;

	spread.pdim = -1;
	for (unsigned int d = 0; d < dst->ndim; d++) {
		spread.dim[d] = dst->dim[d];
		spread.stride[d] = 0;
	}

	if (dst->buf->space == NCC_DRAM)
		return fill_dram(g, dst, &spread, 0);
	return gen_copy(g, dst, &spread);
}

int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view to = *dst, from = op->in[0]->gen->value->view;
	int rc = fill(g, op, dst);

	for (unsigned int d = 0; !rc && d < dst->ndim; d++) {
		int64_t step = op->interior[d] + 1, low = op->low[d], n = op->in[0]->shape.dim[d];
		int64_t first = low < 0 ? (-low + step - 1) / step : 0, last;

		/* Operand index i goes to low + i * step; those inside the result are kept. */
		last = low > dst->dim[d] - 1 ? -1 : (dst->dim[d] - 1 - low) / step;
		if (last > n - 1)
			last = n - 1;
		if (last < first)
			return 0;
		from = view_slice(&from, d, first, last - first + 1, 1);
		to = view_slice(&to, d, low + first * step, last - first + 1, step);
	}
	return rc ? rc : gen_copy(g, &to, &from);
}

int gen_pad_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst)
{
	const struct ncc_op *pad = op->plan->pad;
	struct ncc_shape s = pad->shape;
	struct ncc_view all;
	double v = 0;
	int rc;

	s.dtype = dtype;
	rc = gen_sbuf_view(g, &s, pad->pdim, &all);
	plan_number(pad->in[1], &v);
	for (unsigned int d = 0; !rc && d < s.ndim; d++) {
		struct ncc_view low = view_slice(&all, d, 0, pad->low[d], 1),
				high = view_slice(&all, d, s.dim[d] - pad->high[d], pad->high[d],
						  1);

		rc = pad->low[d] ? gen_memset(g, &low, v) : 0;
		if (!rc && pad->high[d])
			rc = gen_memset(g, &high, v);
	}
	if (!rc)
		*dst = view_box(&all, pad->low, op->shape.dim);
	return rc;
}

struct ncc_view gen_padded(const struct ncc_op *pad)
{
	struct ncc_view v = pad->in[0]->gen->value->view;

	for (unsigned int d = 0; d < v.ndim; d++) {
		if ((int)d != v.pdim)
			v.off -= pad->low[d] * v.stride[d];
		v.dim[d] = pad->shape.dim[d];
	}
	return v;
}

bool gen_join_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst)
{
	struct ncc_op *join = op->plan->joined;
	int64_t at = 0;

	if (!join || dtype != join->shape.dtype)
		return false;
	if (!join->gen->join) {
		struct ncc_view all;

		if (gen_sbuf_view(g, &join->shape, join->pdim, &all))
			return false;
		join->gen->join = ncc_alloc(g->m, sizeof(*join->gen->join));
		if (!join->gen->join) {
			gen_unref(g, all.buf);
			return false;
		}
		*join->gen->join = all;
	}
	if (join->gen->join->buf->space != NCC_SBUF)
		return false;
	for (unsigned int i = 0; join->in[i] != op; i++)
		at += join->in[i]->shape.dim[join->axis];
	*dst = view_slice(join->gen->join, join->axis, at, op->shape.dim[join->axis], 1);
	dst->buf->refs++;
	dst->buf->pin = g->stamp;
	return true;
}

bool gen_join_result(struct ncc_gen *g, const struct ncc_op *op, struct ncc_view *dst)
{
	struct ncc_view *join = op->gen->join;

	if (!join)
		return false;
	op->gen->join = NULL;
	if (join->buf->space != NCC_SBUF) { /* it was spilled: its parts are copied from there */
		gen_unref(g, join->buf);
		return false;
	}
	*dst = *join;
	dst->buf->pin = g->stamp;
	return true;
}
