// SPDX-License-Identifier: MIT
/*
 * Host memory in any order: strides in bytes, which may be 0 or negative, and what a caller's
 * layout says about them. Device memory is always dense and row-major.
 */
#include <string.h>

#include "pjrt.h"

void npj_dense(const struct npj_shape *s, int64_t *stride)
{
	int64_t step = s->type->host;

	for (unsigned int i = s->ndim; i-- > 0;) {
		stride[i] = step;
		step *= s->dim[i];
	}
}

bool npj_is_dense(const struct npj_shape *s, const int64_t *stride)
{
	int64_t dense[NPJ_MAX_DIMS];

	npj_dense(s, dense);
	for (unsigned int i = 0; i < s->ndim; i++)
		if (s->dim[i] != 1 && stride[i] != dense[i])
			return s->elements == 0;
	return true;
}

static PJRT_Error *minor_to_major(const struct npj_shape *s,
				  const PJRT_Buffer_MemoryLayout_Tiled *t, int64_t *stride)
{
	int64_t step = s->type->host;
	uint64_t seen = 0;

	if (t->num_tiles)
		return npj_error(PJRT_Error_Code_UNIMPLEMENTED, "a layout with tiles: "
								"memory here is not tiled");
	if (t->minor_to_major_size != s->ndim || (s->ndim && !t->minor_to_major))
		return NPJ_INVALID("a layout of %zu dimensions for an array of %u",
				   t->minor_to_major_size, s->ndim);
	for (unsigned int i = 0; i < s->ndim; i++) {
		int64_t d = t->minor_to_major[i];

		if (d < 0 || d >= s->ndim || seen >> d & 1)
			return NPJ_INVALID("a layout's minor_to_major is no order of %u dimensions",
					   s->ndim);
		seen |= (uint64_t)1 << d;
		stride[d] = step;
		step *= s->dim[d];
	}
	return NULL;
}

PJRT_Error *npj_layout_strides(const struct npj_shape *s, const PJRT_Buffer_MemoryLayout *layout,
			       int64_t *stride)
{
	if (!layout) {
		npj_dense(s, stride);
		return NULL;
	}
	if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled)
		return minor_to_major(s, &layout->tiled, stride);
	if (layout->type != PJRT_Buffer_MemoryLayout_Type_Strides)
		return NPJ_INVALID("there is no layout type %d", (int)layout->type);
	if (layout->strides.num_byte_strides != s->ndim ||
	    (s->ndim && !layout->strides.byte_strides))
		return NPJ_INVALID("a layout of %zu strides for an array of %u dimensions",
				   layout->strides.num_byte_strides, s->ndim);
	if (s->ndim)
		memcpy(stride, layout->strides.byte_strides, s->ndim * sizeof(*stride));
	return NULL;
}

size_t npj_span(const struct npj_shape *s, const int64_t *stride)
{
	size_t span = s->type->host;

	for (unsigned int i = 0; i < s->ndim; i++)
		if (s->dim[i] > 1 && stride[i] > 0)
			span += (size_t)(s->dim[i] - 1) * (size_t)stride[i];
	return s->elements ? span : 0;
}

/* Innermost dimensions that lie without gaps are one piece. */
struct walk {
	const struct npj_shape *s;
	const int64_t *stride;
	unsigned int ndim; /* of those outside of the piece */
	size_t piece;
};

static struct walk walk_of(const struct npj_shape *s, const int64_t *stride)
{
	struct walk w = { s, stride, s->ndim, s->type->host };

	while (w.ndim && (s->dim[w.ndim - 1] == 1 || stride[w.ndim - 1] == (int64_t)w.piece)) {
		w.piece *= (size_t)s->dim[w.ndim - 1];
		w.ndim--;
	}
	return w;
}

/* The elements of the last dimension outside, whose pieces have a size that the compiler knows */
static void row(char *dense, char *strided, int64_t n, int64_t step, size_t piece, bool in)
{
#define ROW(size)                                                    \
	for (int64_t i = 0; i < n; i++)                              \
	memcpy(in ? dense + i *(int64_t)(size) : strided + i * step, \
	       in ? strided + i * step : dense + i * (int64_t)(size), size)
	switch (piece) {
	case 1:
		ROW(1);
		break;
	case 2:
		ROW(2);
		break;
	case 4:
		ROW(4);
		break;
	case 8:
		ROW(8);
		break;
	default:
		ROW(piece);
	}
#undef ROW
}

static void copy(const struct walk *w, char *dense, char *strided, bool in)
{
	int64_t at[NPJ_MAX_DIMS] = { 0 };
	unsigned int last = w->ndim - 1;

	if (!w->s->elements)
		return;
	if (!w->ndim) {
		memcpy(in ? dense : strided, in ? strided : dense, w->piece);
		return;
	}
	for (;;) {
		unsigned int d = last;

		row(dense, strided, w->s->dim[last], w->stride[last], w->piece, in);
		dense += (size_t)w->s->dim[last] * w->piece;
		while (d-- > 0) {
			strided += w->stride[d];
			if (++at[d] < w->s->dim[d])
				break;
			strided -= w->stride[d] * w->s->dim[d];
			at[d] = 0;
		}
		if (d == (unsigned int)-1)
			return;
	}
}

void npj_gather(const struct npj_shape *s, void *dense, const void *from, const int64_t *stride)
{
	struct walk w = walk_of(s, stride);

	copy(&w, dense, (char *)from, true);
}

void npj_scatter(const struct npj_shape *s, void *to, const int64_t *stride, const void *dense)
{
	struct walk w = walk_of(s, stride);

	copy(&w, (char *)dense, to, false);
}
