// SPDX-License-Identifier: MIT
/*
 * From views to access patterns: dimensions that all views step through alike are joined, the inner
 * ones become the pattern of one instruction, and the walk loops over the rest. Part of the code
 * generator.
 */
#include "walk.h"

#include <string.h>

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

void walk_begin(struct walk *w, const struct ncc_view *const *v, unsigned int nv,
		unsigned int reserve, int64_t max)
{
	int64_t inner = 1;

	memset(w, 0, sizeof(*w));
	w->nv = nv;
	for (unsigned int i = 0; i < nv; i++)
		w->v[i] = v[i];
	w->np = v[0]->pdim < 0 ? 1 : v[0]->dim[v[0]->pdim];
	join_dims(w, v);
	/*
	 * The pattern takes inner dimensions while there is room; the last one may be taken in
	 * blocks.
	 */
	w->block = 1;
	while (w->nap < w->nd && w->nap < NEURON_AP_DIMS - reserve) {
		unsigned int d = w->nd - 1 - w->nap;

		if (!step_fits(w, d))
			break;
		w->nap++;
		w->block = w->dim[d];
		if (inner * w->dim[d] > max) {
			w->block = max / inner > 0 ? max / inner : 1;
			break;
		}
		inner *= w->dim[d];
	}
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
	int64_t left = w->np - w->p, first = w->block;

	if (w->done)
		return false;
	if (w->nap && w->dim[w->nd - w->nap] - w->at[w->nd - w->nap] < first)
		first = w->dim[w->nd - w->nap] - w->at[w->nd - w->nap];
	w->partitions = (unsigned int)(left < NEURON_PARTITIONS ? left : NEURON_PARTITIONS);
	for (unsigned int i = 0; i < w->nv; i++)
		make_ap(w, i, first);
	advance(w);
	return true;
}
