// SPDX-License-Identifier: MIT
/*
 * Gather with any dimension numbers: operand and indices become matrices (slices.h), and rows are
 * chosen (choose.c). scatter.c uses the same matrices. Called by the front ends.
 */
#include <errno.h>
#include <string.h>

#include "slices.h"

static bool listed(const uint8_t *v, unsigned int n, unsigned int d)
{
	for (unsigned int i = 0; i < n; i++)
		if (v[i] == d)
			return true;
	return false;
}

static int check_numbers(const struct slices *s)
{
	const struct ncc_slices *g = s->g;
	unsigned int nx = s->x->shape.ndim, ni = s->idx->shape.ndim;
	uint32_t seen = 0;

	if (g->vector > ni || (g->vector == ni ? 1 : s->idx->shape.dim[g->vector]) != g->nmap)
		return -EINVAL;
	for (unsigned int i = 0; i < g->nmap; i++) {
		if (g->map[i] >= nx || seen >> g->map[i] & 1)
			return -EINVAL;
		seen |= 1u << g->map[i];
	}

	for (unsigned int i = 0; i < g->nbatch; i++) {
		if (g->batch[i] >= nx || seen >> g->batch[i] & 1 || g->index_batch[i] >= ni ||
		    g->index_batch[i] == g->vector || g->size[g->batch[i]] != 1 ||
		    listed(g->index_batch, i, g->index_batch[i]) ||
		    s->x->shape.dim[g->batch[i]] != s->idx->shape.dim[g->index_batch[i]])
			return -EINVAL;
		seen |= 1u << g->batch[i];
	}

	for (unsigned int d = 0; d < nx; d++)
		if (g->size[d] < 1 || g->size[d] > s->x->shape.dim[d] ||
		    (g->dropped >> d & 1 && g->size[d] != 1))
			return -EINVAL;
	return 0;
}

int slices_init(struct slices *s, struct ncc_build *bl, const struct ncc_op *x,
		const struct ncc_op *idx, const struct ncc_slices *g)
{
	unsigned int nlong = 0;

	*s = (struct slices){ .bl = bl, .g = g, .x = x, .idx = idx };
	if (check_numbers(s))
		return build_fail(bl, -EINVAL, "dimension numbers do not fit the shapes");

	s->shared = s->rows = s->columns = s->slices = 1;
	for (unsigned int d = 0; d < x->shape.ndim; d++) {
		if (listed(g->batch, g->nbatch, d)) {
			s->shared *= x->shape.dim[d];
		} else if (listed(g->map, g->nmap, d) && g->size[d] < x->shape.dim[d]) {
			s->row[s->nrow++] = (uint8_t)d;
			s->rows *= x->shape.dim[d];
			s->slices *= g->size[d];
		} else {
			s->col[s->ncol++] = (uint8_t)d;
		}
	}

	for (unsigned int i = 0; i < g->nbatch; i++)
		s->q[s->nq++] = g->index_batch[i];
	for (unsigned int i = 0; i < idx->shape.ndim; i++) {
		if (i == g->vector || listed(g->index_batch, g->nbatch, i))
			continue;
		s->q[s->nq++] = (uint8_t)i;
		s->slices *= idx->shape.dim[i];
	}

	s->packed = s->nq + s->nrow > NCC_MAX_DIMS;
	for (unsigned int r = 0; r < s->nrow; r++)
		nlong += g->size[s->row[r]] > 1;
	if (1 + nlong > NCC_MAX_DIMS)
		return build_fail(bl, -ENOTSUP, "more than %d dimensions on the way", NCC_MAX_DIMS);
	return 0;
}

static int64_t indices(const struct slices *s)
{
	int64_t n = 1;

	for (unsigned int i = 0; i < s->nq; i++)
		n *= s->idx->shape.dim[s->q[i]];
	return n;
}

/* Component k of every index, with the dimensions in the order of q, or one for all of them */
static struct ncc_op *component(const struct slices *s, unsigned int k)
{
	struct ncc_op *x = (struct ncc_op *)s->idx;
	struct ncc_shape shape = { 0 };
	uint8_t map[NCC_MAX_DIMS];

	if (s->g->vector < x->shape.ndim)
		x = build_slice(s->bl, x, s->g->vector, k, 1);
	for (unsigned int i = 0; i < s->idx->shape.ndim; i++)
		if (i != s->g->vector)
			shape.dim[shape.ndim++] = s->idx->shape.dim[i];
	x = build_reshape(s->bl, x, &shape);
	for (unsigned int i = 0; i < s->nq; i++)
		map[i] = (uint8_t)(s->q[i] - (s->q[i] > s->g->vector));
	x = build_transpose(s->bl, x, map);
	shape = (struct ncc_shape){ .ndim = 1, .dim = { indices(s) } };
	return s->packed && x ? build_reshape(s->bl, x, &shape) : x;
}

static struct ncc_op *times(const struct slices *s, struct ncc_op *a, int64_t c)
{
	return c != 1 ? build_number(s->bl, NCC_MUL, a, (double)c) : a;
}

static struct ncc_op *is_inside(const struct slices *s, struct ncc_op *start, int64_t most)
{
	struct ncc_op *ge =
		build_compare(s->bl, NCC_GE, start, build_splat(s->bl, &start->shape, 0));
	struct ncc_op *le = build_compare(s->bl, NCC_LE, start,
					  build_splat(s->bl, &start->shape, (double)most));

	return build_binary(s->bl, NCC_AND, ge, le);
}

/* The places of every slice's elements along one dimension: its start, and those after it */
static struct ncc_op *places(const struct slices *s, struct ncc_op *start, uint8_t last,
			     const struct ncc_shape *all)
{
	uint8_t map[NCC_MAX_DIMS];
	const int64_t n = last < NCC_MAX_DIMS ? all->dim[last] : 1;

	for (unsigned int i = 0; start && i < start->shape.ndim; i++)
		map[i] = (uint8_t)i;
	start = start ? build_spread(s->bl, all, start, map) : NULL;
	if (n > 1) {
		struct ncc_op *c = build_count(s->bl, n);

		start = build_binary(s->bl, NCC_ADD, start,
				     c ? build_spread(s->bl, all, c, &last) : NULL);
	}
	return start;
}

/* The dimensions of all rows' places; at: which of them the row dimensions are. Returns the first. */
static unsigned int take_dims(const struct slices *s, struct ncc_shape *all, uint8_t *at)
{
	const unsigned int nq = s->packed ? 1 : s->nq;

	*all = (struct ncc_shape){ .dtype = NEURON_DT_INT32, .ndim = nq };
	for (unsigned int i = 0; i < nq; i++)
		all->dim[i] = s->packed ? indices(s) : s->idx->shape.dim[s->q[i]];
	for (unsigned int r = 0; r < s->nrow; r++) {
		const int64_t size = s->g->size[s->row[r]];

		at[r] = NCC_MAX_DIMS;
		if (s->packed && size == 1)
			continue;
		at[r] = (uint8_t)all->ndim;
		all->dim[all->ndim++] = size;
	}
	return nq;
}

struct ncc_op *slices_rows(const struct slices *s, bool outside)
{
	struct ncc_shape all, ps;
	struct ncc_shape flat = { .ndim = 2, .dim = { s->shared, s->slices } };
	struct ncc_op *row = NULL, *ok = NULL;
	int64_t step = s->rows;
	uint8_t map[NCC_MAX_DIMS], at[NCC_MAX_DIMS];
	const unsigned int nq = take_dims(s, &all, at);

	for (unsigned int i = 0; i < nq; i++)
		map[i] = (uint8_t)i;
	for (unsigned int r = 0; r < s->nrow; r++) {
		unsigned int d = s->row[r], k = 0;
		struct ncc_op *p;

		while (s->g->map[k] != d)
			k++;
		step /= s->x->shape.dim[d];
		p = expand_clamp_index(s->bl, component(s, k), s->x->shape.dim[d] - s->g->size[d]);
		p = times(s, places(s, p, at[r], &all), step);
		row = row ? build_binary(s->bl, NCC_ADD, row, p) : p;
		if (!row)
			return NULL;
	}
	row = row ? row : build_splat(s->bl, &all, 0);
	for (unsigned int k = 0; outside && k < s->g->nmap; k++) {
		unsigned int d = s->g->map[k];
		struct ncc_op *c = component(s, k);

		c = c ? is_inside(s, c, s->x->shape.dim[d] - s->g->size[d]) : NULL;
		ok = ok ? build_binary(s->bl, NCC_AND, ok, c) : c;
		if (!ok)
			return NULL;
	}
	if (ok && row) {
		ps = all;
		ps.dtype = NEURON_DT_INT8;
		ps.pred = true;
		row = build_select(s->bl, build_spread(s->bl, &ps, ok, map), row,
				   build_splat(s->bl, &all, -1));
	}
	return build_reshape(s->bl, row, &flat);
}

struct ncc_op *slices_places(const struct slices *s)
{
	const struct ncc_shape flat = { .ndim = 2, .dim = { s->shared, s->slices } };

	if (s->g->nmap != 1 || s->nrow != 1 || s->g->size[s->row[0]] != 1 || s->shared > 1)
		return NULL;
	return build_reshape(s->bl, build_cast(s->bl, component(s, 0), NEURON_DT_INT32), &flat);
}

struct ncc_op *slices_matrix(const struct slices *s, struct ncc_op *x, bool cut)
{
	struct ncc_shape flat = { .ndim = 3, .dim = { s->shared, s->rows, 1 } };
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->g->nbatch; i++)
		map[n++] = s->g->batch[i];
	for (unsigned int i = 0; i < s->nrow; i++)
		map[n++] = s->row[i];
	for (unsigned int i = 0; i < s->ncol; i++) {
		map[n++] = s->col[i];
		if (cut)
			x = build_slice(s->bl, x, s->col[i], 0, s->g->size[s->col[i]]);
		flat.dim[2] *= x ? x->shape.dim[s->col[i]] : 1;
	}
	return build_reshape(s->bl, build_transpose(s->bl, x, map), &flat);
}

/* The position of operand dimension d among a slice's [rows, columns]; -1: it is a shared one */
static int place_of(const struct slices *s, unsigned int d)
{
	int n = 0;

	for (unsigned int i = 0; i < s->nrow; i++) {
		if (s->row[i] == d)
			return n;
		n += !(s->g->dropped >> s->row[i] & 1);
	}
	for (unsigned int i = 0; i < s->ncol; i++) {
		if (s->col[i] == d)
			return n;
		n += !(s->g->dropped >> s->col[i] & 1);
	}
	return -1;
}

int slices_order(const struct slices *s, unsigned int ndim, struct ncc_shape *dims, uint8_t *map)
{
	const struct ncc_slices *g = s->g;
	unsigned int d = 0, q = 0;

	memset(dims, 0, sizeof(*dims));
	if (s->nq + g->nwindow != ndim || ndim > NCC_MAX_DIMS)
		return -EINVAL;
	for (unsigned int i = 0; i < s->nq; i++)
		dims->dim[dims->ndim++] = s->idx->shape.dim[s->q[i]];

	for (unsigned int i = 0; i < s->nrow + s->ncol; i++) {
		unsigned int x = i < s->nrow ? s->row[i] : s->col[i - s->nrow];

		if (g->dropped >> x & 1)
			continue;
		if (dims->ndim == ndim)
			return -EINVAL;
		dims->dim[dims->ndim++] = g->size[x];
	}

	if (dims->ndim != ndim)
		return -EINVAL;
	for (unsigned int i = 0; i < ndim; i++) {
		int at = -1;

		if (listed(g->window, g->nwindow, i)) {
			while (g->dropped >> d & 1 || listed(g->batch, g->nbatch, d))
				d++;
			at = place_of(s, d++);
			at += at < 0 ? 0 : (int)s->nq;
		} else {
			q += q == g->vector; /* skips the vector's dimension */
			for (unsigned int k = 0; k < s->nq; k++)
				if (s->q[k] == q)
					at = (int)k;
			q++;
		}
		/* A window's dimension may be one that the result has not. */
		if (at < 0)
			return -EINVAL;
		map[i] = (uint8_t)at;
	}
	return 0;
}

int expand_gather(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
		  const struct ncc_slices *g, const struct ncc_shape *shape, struct ncc_op **out)
{
	struct ncc_op *r;
	struct ncc_shape dims;
	uint8_t map[NCC_MAX_DIMS];
	struct slices s;
	int rc = slices_init(&s, bl, x, idx, g);

	if (rc)
		return rc;
	if (slices_order(&s, shape->ndim, &dims, map))
		return build_fail(bl, -EINVAL, "dimension numbers do not fit the shapes");
	bl->err->text[0] = 0;
	r = expand_choose_rows(bl, slices_matrix(&s, x, true), slices_rows(&s, false));
	*out = build_transpose(bl, build_reshape(bl, r, &dims), map);
	if (*out)
		return 0;
	return bl->err->text[0] ? -EFBIG : build_fail(bl, -ENOMEM, "out of memory");
}
