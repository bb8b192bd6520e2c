// SPDX-License-Identifier: MIT
/*
 * Boxes of a view, and long dimensions split in two, for values that are done in pieces. Part of
 * the code generator.
 */
#include "box.h"

#include <stdlib.h>
#include <string.h>

#include "view.h"

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

#define MOST_GAPS 4 /* a fetch takes at most so many times what it is for */

int64_t tile_bytes(const struct ncc_view *v, const int64_t *size, int pdim, uint8_t dtype)
{
	int64_t n = 1, bytes, chunks = 1;
	bool cast = dtype && dtype != v->dtype;
	int sparse = v->buf && v->buf->space == NCC_DRAM ? gen_sparse_dim(v, pdim) : -1, inner;

	for (unsigned int d = 0; d < v->ndim; d++) {
		if ((int)d == pdim)
			chunks = (size[d] + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
		else if (v->stride[d] || (int)d == v->pdim)
			n *= size[d];
	}
	if (sparse >= 0) /* the gaps are fetched too, and copied away */
		n *= llabs(v->stride[sparse]) + 1;
	else if (gen_short_runs(v, pdim, &inner) >= 0)
		n *= MOST_GAPS;
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

#define SHORTEST_RUN 16 /* elements that a split leaves each partition at least */
#define SHORT_ROW 64 /* elements: shorter rows are better taken many at a time */

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

/* Makes v one dimension. It must be contiguous in DRAM or one element throughout. */
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

/* A flat view's rows x columns elements from lo on */
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

int gen_sparse_dim(const struct ncc_view *v, int pdim)
{
	int64_t n = 1;
	int best = -1;

	for (unsigned int d = 0; d < v->ndim; d++) {
		n *= v->dim[d];
		if (v->dim[d] > 1 && v->stride[d] && (int)d != v->pdim && (int)d != pdim &&
		    (best < 0 || llabs(v->stride[d]) < llabs(v->stride[best])))
			best = (int)d;
	}
	if (best < 0 || n < FEWEST_SPARSE || v->stride[best] == 1 ||
	    llabs(v->stride[best]) > MOST_GAPS)
		return -1;
	return best;
}

int gen_short_runs(const struct ncc_view *v, int pdim, int *inner)
{
	int64_t n = 1, run, pitch;
	int outer = -1;

	*inner = -1;
	if (!v->buf || v->buf->space != NCC_DRAM || v->buf->row || v->pdim >= 0)
		return -1;
	for (unsigned int d = 0; d < v->ndim; d++) {
		n *= v->dim[d];
		if (v->dim[d] > 1 && v->stride[d] == 1 && (int)d != pdim)
			*inner = (int)d;
		else if (v->dim[d] > 1 && v->stride[d] && (int)d != pdim &&
			 (outer < 0 || v->stride[d] < v->stride[outer]))
			outer = (int)d;
	}
	if (*inner < 0 || outer < 0 || n < FEWEST_SPARSE)
		return -1;
	run = v->dim[*inner];
	pitch = v->stride[outer];
	if (pitch <= run || pitch > MOST_GAPS * run ||
	    run * ncc_dtype_size(v->dtype) >= SPARSE_RUN || v->off % pitch + run > pitch)
		return -1;
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != *inner && (v->stride[d] < 0 || v->stride[d] % pitch))
			return -1;
	return outer;
}
