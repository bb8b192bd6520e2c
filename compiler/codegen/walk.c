// SPDX-License-Identifier: MIT
/*
 * From views to access patterns: dimensions that all views step through alike are joined, the inner
 * ones become the pattern of one instruction, and the walk loops over the rest. Part of the code
 * generator.
 */
#include "walk.h"

#include <string.h>

#define SHORT_ROW 64 /* elements of a partition in a chunk */
#define MANY_CHUNKS 8 /* of short rows, for which one instruction of a larger pattern is better */

static bool joinable(const struct walk *w, unsigned int outer, const struct ncc_view *const *v,
		     int d)
{
	for (unsigned int i = 0; i < w->nv; i++)
		if (w->stride[i][outer] != v[i]->stride[d] * v[i]->dim[d])
			return false;
	return true;
}

static void join_dims(struct walk *w, const struct ncc_view *const *v)
{
	for (unsigned int d = 0; d < v[0]->ndim; d++) {
		if ((int)d == v[0]->pdim || v[0]->dim[d] == 1)
			continue;
		if (w->nd && joinable(w, w->nd - 1, v, (int)d)) {
			w->dim[w->nd - 1] *= v[0]->dim[d];
			for (unsigned int i = 0; i < w->nv; i++)
				w->stride[i][w->nd - 1] = v[i]->stride[d];
			continue;
		}
		w->dim[w->nd] = v[0]->dim[d];
		for (unsigned int i = 0; i < w->nv; i++)
			w->stride[i][w->nd] = v[i]->stride[d];
		w->nd++;
	}
}

static bool step_fits(const struct walk *w, unsigned int d)
{
	for (unsigned int i = 0; i < w->nv; i++)
		if (w->stride[i][d] > INT16_MAX || w->stride[i][d] < INT16_MIN)
			return false;
	return true;
}

static int64_t chunk_step(const struct ncc_view *v)
{
	return v->buf->chunk / ncc_dtype_size(v->dtype);
}

static bool have_chunks(const struct ncc_view *const *v, unsigned int nv)
{
	for (unsigned int i = 0; i < nv; i++)
		if (v[i]->pdim < 0 || v[i]->dim[v[i]->pdim] < 2 * NEURON_PARTITIONS ||
		    v[i]->buf->space == NCC_PSUM || v[i]->pstart % NEURON_PARTITIONS ||
		    v[i]->pstep != 1 || v[i]->buf->chunk % ncc_dtype_size(v[i]->dtype) ||
		    chunk_step(v[i]) > INT16_MAX)
			return false;
	return true;
}

/* Joins the dimensions of so many chunks of partitions. */
static void join_chunks(struct walk *w, const struct ncc_view *const *v, unsigned int nv)
{
	*w = (struct walk){ .nv = nv, .chunked = true, .nd = 1, .np = NEURON_PARTITIONS };
	w->dim[0] = v[0]->dim[v[0]->pdim] / NEURON_PARTITIONS;
	for (unsigned int i = 0; i < nv; i++) {
		w->v[i] = v[i];
		w->stride[i][0] = chunk_step(v[i]);
	}
	join_dims(w, v);
}

/* Rows are best one behind the other, as a pattern of one dimension; long ones, or few, else alone.
 */
bool walk_has_chunks(const struct ncc_view *const *v, unsigned int nv)
{
	int64_t row = 1;
	struct walk w;

	if (!have_chunks(v, nv))
		return false;
	join_chunks(&w, v, nv);
	for (unsigned int d = 0; d < v[0]->ndim; d++)
		row *= (int)d == v[0]->pdim ? 1 : v[0]->dim[d];
	return w.nd == 1 || (row <= SHORT_ROW && w.dim[0] >= MANY_CHUNKS);
}

/* The pattern takes inner dimensions while there is room; the last one may be taken in blocks. */
static void take_pattern(struct walk *w)
{
	int64_t inner = 1;

	w->block = 1;
	while (w->nap < w->nd && w->nap < NEURON_AP_DIMS - w->reserve) {
		unsigned int d = w->nd - 1 - w->nap;

		if (!step_fits(w, d))
			break;
		w->nap++;
		w->block = w->dim[d];
		if (inner * w->dim[d] > w->max) {
			w->block = w->max / inner > 0 ? w->max / inner : 1;
			break;
		}
		inner *= w->dim[d];
	}
}

void walk_begin(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		unsigned int reserve, int64_t max)
{
	*w = (struct walk){ .nv = nv, .reserve = reserve, .max = max };
	for (unsigned int i = 0; i < nv; i++)
		w->v[i] = v[i];
	w->np = v[0]->pdim < 0 ? 1 : v[0]->dim[v[0]->pdim];
	join_dims(w, v);
	take_pattern(w);
}

void walk_begin_chunks(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		       unsigned int reserve, int64_t max)
{
	if (!walk_has_chunks(v, nv)) {
		walk_begin(w, v, nv, reserve, max);
		return;
	}
	join_chunks(w, v, nv);
	w->reserve = reserve;
	w->max = max;
	take_pattern(w);
}

/* The partitions that are left over when whole chunks are done */
static void begin_rest(struct walk *w)
{
	const struct walk whole = *w;
	int64_t np = w->v[0]->dim[w->v[0]->pdim];

	if (np % NEURON_PARTITIONS == 0)
		return;
	walk_begin(w, whole.v, whole.nv, whole.reserve, whole.max);
	w->p = np / NEURON_PARTITIONS * NEURON_PARTITIONS;
}

/* The address in the core's window of a piece's index 0 */
static uint32_t window_offset(const struct ncc_view *v, int64_t p, int64_t elem)
{
	int64_t part = v->pstart + p, byte = (v->off + elem) * ncc_dtype_size(v->dtype);
	bool psum = v->buf->space == NCC_PSUM;

	byte += (int64_t)v->buf->base + part / NEURON_PARTITIONS * v->buf->chunk;
	part %= NEURON_PARTITIONS;
	return (uint32_t)((psum ? NEURON_PSUM_OFFSET : NEURON_SBUF_OFFSET) +
			  part * (psum ? NEURON_PSUM_PART_STRIDE : NEURON_SBUF_PART_STRIDE) + byte);
}

static void make_ap(struct walk *w, unsigned int i, int64_t first)
{
	struct neuron_ap *ap = &w->ap[i];
	int64_t elem = 0;

	for (unsigned int d = 0; d < w->nd; d++)
		elem += w->at[d] * w->stride[i][d];
	memset(ap, 0, sizeof(*ap));
	ap->offset = window_offset(w->v[i], w->p, elem);
	ap->dtype = w->v[i]->dtype;
	for (unsigned int k = 0; k < NEURON_AP_DIMS; k++) {
		int d = (int)w->nd - NEURON_AP_DIMS + (int)k;
		bool used = d >= (int)(w->nd - w->nap);

		ap->step[k] = (int16_t)(used ? w->stride[i][d] : 0);
		ap->num[k] = (uint16_t)(used ? d == (int)(w->nd - w->nap) ? first : w->dim[d] : 1);
	}
}

static void advance(struct walk *w)
{
	for (int d = (int)w->nd - 1; d >= 0; d--) {
		if (d > (int)(w->nd - w->nap))
			continue; /* all of it is in the pattern */
		w->at[d] += w->nap && d == (int)(w->nd - w->nap) ? w->block : 1;
		if (w->at[d] < w->dim[d])
			return;
		w->at[d] = 0;
	}
	w->p += NEURON_PARTITIONS;
	w->done = w->p >= w->np;
}

bool walk_next(struct walk *w)
{
	int64_t left, first;

	if (w->done && w->chunked)
		begin_rest(w);
	if (w->done)
		return false;
	left = w->np - w->p;
	first = w->block;
	if (w->nap && w->dim[w->nd - w->nap] - w->at[w->nd - w->nap] < first)
		first = w->dim[w->nd - w->nap] - w->at[w->nd - w->nap];
	w->partitions = (unsigned int)(left < NEURON_PARTITIONS ? left : NEURON_PARTITIONS);
	for (unsigned int i = 0; i < w->nv; i++)
		make_ap(w, i, first);
	advance(w);
	return true;
}
