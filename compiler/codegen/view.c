// SPDX-License-Identifier: MIT
/* Views: a tensor's dimensions laid over a buffer, and the operations that only change the view. */
#include "view.h"

#include <string.h>

void view_set_pdim(struct ncc_view *v, int pdim)
{
	int64_t n = 1;

	v->pdim = pdim;
	for (int d = (int)v->ndim - 1; d >= 0; d--) {
		v->stride[d] = d == v->pdim ? 0 : n;
		if (d != v->pdim)
			n *= v->dim[d];
	}
}

void view_row_major(struct ncc_view *v, struct ncc_buf *buf, const struct ncc_shape *s)
{
	memset(v, 0, sizeof(*v));
	v->buf = buf;
	v->dtype = s->dtype;
	v->ndim = s->ndim;
	memcpy(v->dim, s->dim, sizeof(v->dim));
	v->pstep = 1;
	view_set_pdim(v, -1);
}

void view_set_outermost(struct ncc_view *v, int pdim)
{
	int64_t step = 1;

	if (pdim < 0 || v->dim[pdim] == 1)
		return;
	for (unsigned int d = (unsigned int)pdim + 1; d < v->ndim; d++)
		if (v->dim[d] > 1)
			return;
	for (int d = (int)v->ndim - 1; d >= 0; d--) {
		if (d == pdim)
			continue;
		v->stride[d] = step;
		step *= v->dim[d];
	}
	v->stride[pdim] = step;
}

struct ncc_view view_slice(const struct ncc_view *v, unsigned int d, int64_t lo, int64_t n,
			   int64_t step)
{
	struct ncc_view s = *v;

	s.dim[d] = n;
	if ((int)d == v->pdim) {
		s.pstart += lo * v->pstep;
		s.pstep = v->pstep * step;
	} else {
		s.off += lo * v->stride[d];
		s.stride[d] = v->stride[d] * step;
	}
	if (n == 1 && (int)d == v->pdim)
		s.pstep = 1;
	return s;
}

struct ncc_view view_box(const struct ncc_view *v, const int64_t *lo, const int64_t *size)
{
	struct ncc_view s = *v;

	for (unsigned int d = 0; d < v->ndim; d++)
		s = view_slice(&s, d, lo[d], size[d], 1);
	return s;
}

struct ncc_view view_permute(const struct ncc_view *v, const uint8_t *map, unsigned int ndim)
{
	struct ncc_view s = *v;

	s.ndim = ndim;
	s.pdim = -1;
	for (unsigned int d = 0; d < ndim; d++) {
		s.dim[d] = v->dim[map[d]];
		s.stride[d] = v->stride[map[d]];
		if (map[d] == v->pdim)
			s.pdim = (int)d;
	}
	return s;
}

struct ncc_view view_drop(const struct ncc_view *v, unsigned int d)
{
	struct ncc_view s = *v;

	s.ndim--;
	for (unsigned int i = d; i < s.ndim; i++) {
		s.dim[i] = v->dim[i + 1];
		s.stride[i] = v->stride[i + 1];
	}
	if (v->pdim == (int)d)
		s.pdim = -1;
	else if (v->pdim > (int)d)
		s.pdim--;
	return s;
}

/*
 * Reshapes one group of dimensions, [i0, i1) to [o0, o1), which have the same number of elements.
 */
static bool reshape_group(const struct ncc_view *v, unsigned int i0, unsigned int i1,
			  struct ncc_view *out, unsigned int o0, unsigned int o1)
{
	unsigned int in[NCC_MAX_DIMS], n = 0;
	int64_t stride, total;

	for (unsigned int i = i0; i < i1; i++) { /* dimensions of 1 do not matter */
		if (v->dim[i] == 1 && (int)i != v->pdim)
			continue;
		in[n++] = i;
	}

	if (n == 1 && (int)in[0] == v->pdim) { /* one dimension must be the partitions */
		for (unsigned int o = o0; o < o1; o++) {
			out->stride[o] = 0;
			if (out->pdim < 0 && out->dim[o] == v->dim[in[0]]) {
				out->pdim = (int)o;
				continue;
			}
			if (out->dim[o] != 1)
				return false;
		}
		return out->pdim >= 0 || v->dim[in[0]] == 1;
	}

	for (unsigned int i = 0; i < n; i++)
		if ((int)in[i] == v->pdim)
			return false;

	for (unsigned int i = 0; i + 1 < n; i++)
		if (v->stride[in[i]] != v->stride[in[i + 1]] * v->dim[in[i + 1]])
			return false;

	stride = n ? v->stride[in[n - 1]] : 0;
	total = 1;
	for (unsigned int o = o1; o-- > o0;) {
		out->stride[o] = stride * total;
		total *= out->dim[o];
	}
	return true;
}

bool view_reshape(const struct ncc_view *v, const struct ncc_shape *s, struct ncc_view *out)
{
	unsigned int i = 0, o = 0;

	*out = *v;
	out->ndim = s->ndim;
	memcpy(out->dim, s->dim, sizeof(out->dim));

	out->pdim = -1;
	while (i < v->ndim || o < s->ndim) {
		unsigned int i0 = i, o0 = o;
		int64_t a = 1, b = 1;

		if (i < v->ndim)
			a = v->dim[i++];
		if (o < s->ndim)
			b = s->dim[o++];
		while (a != b) {
			if (a < b && i < v->ndim)
				a *= v->dim[i++];
			else if (o < s->ndim)
				b *= s->dim[o++];
			else
				return false;
		}
		/* Trailing dimensions of 1 join this group. */
		while (i < v->ndim && v->dim[i] == 1 && (int)i != v->pdim)
			i++;
		while (o < s->ndim && s->dim[o] == 1 && !(i < v->ndim && v->dim[i] == 1))
			o++;
		if (!reshape_group(v, i0, i, out, o0, o))
			return false;
	}
	return v->pdim < 0 || out->pdim >= 0 || v->dim[v->pdim] == 1;
}

bool view_on_engine(const struct ncc_view *v)
{
	int64_t n, start;

	if (v->buf->space == NCC_DRAM)
		return false;
	if (v->pdim < 0)
		return v->pstart % 32 == 0;
	n = v->dim[v->pdim];
	start = v->pstart % NEURON_PARTITIONS;
	if (v->pstep != 1 && n > 1)
		return false;
	if (start + n <= NEURON_PARTITIONS)
		return n > 64 ? !start : n > 32 ? start % 64 == 0 : start % 32 == 0;
	return !start;
}

int64_t view_elems(const struct ncc_view *v)
{
	int64_t n = 1;

	for (unsigned int d = 0; d < v->ndim; d++)
		n *= v->dim[d];
	return n;
}

void view_shape(const struct ncc_view *v, struct ncc_shape *s)
{
	memset(s, 0, sizeof(*s));
	s->dtype = v->dtype;
	s->ndim = v->ndim;
	memcpy(s->dim, v->dim, sizeof(s->dim));
}

bool view_fills_variable(const struct ncc_view *v, const struct ncc_shape *s)
{
	struct ncc_view whole;

	view_row_major(&whole, v->buf, s);
	if (v->buf->space != NCC_DRAM || v->buf->row || v->buf->base || v->off || v->pdim >= 0 ||
	    v->dtype != s->dtype || v->ndim != s->ndim)
		return false;
	for (unsigned int d = 0; d < v->ndim; d++)
		if (v->dim[d] != s->dim[d] || (v->dim[d] > 1 && v->stride[d] != whole.stride[d]))
			return false;
	return true;
}

bool view_can_take(const struct ncc_value *in, unsigned int reads, const struct ncc_shape *s,
		   int pdim)
{
	const struct ncc_view *v = in ? &in->view : NULL;

	if (!v || in->uses != reads || v->buf->space != NCC_SBUF || v->buf->refs != 1 ||
	    v->dtype != s->dtype || v->pdim != pdim || v->pstart || v->pstep != 1 ||
	    v->ndim != s->ndim)
		return false;
	for (unsigned int d = 0; d < v->ndim; d++)
		if (v->dim[d] != s->dim[d] ||
		    ((int)d != pdim && v->dim[d] > 1 && v->stride[d] <= 0))
			return false;
	return true;
}
