// SPDX-License-Identifier: MIT
/*
 * Scatter with any dimension numbers. A single window is cut out, combined with its update and put
 * back, if its start is a constant or it has several rows. Otherwise operand, indices and updates
 * become matrices (slices.h), whose rows are combined (updates.c). Called by the front ends.
 */
#include <errno.h>
#include <string.h>

#include "updates.h"

/* [shared, rows, columns] back to the operand's dimensions */
static struct ncc_op *unfold(const struct slices *m, struct ncc_op *x)
{
	const struct ncc_shape *s = &m->x->shape;
	struct ncc_shape dims = { .ndim = s->ndim };
	uint8_t order[NCC_MAX_DIMS], map[NCC_MAX_DIMS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->g->nbatch; i++)
		order[n++] = m->g->batch[i];
	for (unsigned int i = 0; i < m->nrow; i++)
		order[n++] = m->row[i];
	for (unsigned int i = 0; i < m->ncol; i++)
		order[n++] = m->col[i];
	for (unsigned int i = 0; i < n; i++) {
		dims.dim[i] = s->dim[order[i]];
		map[order[i]] = (uint8_t)i;
	}
	return build_transpose(m->bl, build_reshape(m->bl, x, &dims), map);
}

/* The updates as [shared, slices, columns], the inverse of a gather's last step */
static struct ncc_op *fold_updates(const struct slices *m, struct ncc_op *u)
{
	struct ncc_shape dims, flat = { .ndim = 3, .dim = { m->shared, m->slices, 1 } };
	uint8_t map[NCC_MAX_DIMS], back[NCC_MAX_DIMS];

	if (slices_order(m, u->shape.ndim, &dims, map))
		return NULL;
	for (unsigned int i = 0; i < dims.ndim; i++) {
		if (u->shape.dim[i] != dims.dim[map[i]])
			return NULL;
		back[map[i]] = (uint8_t)i;
	}
	for (unsigned int i = 0; i < m->ncol; i++)
		flat.dim[2] *= m->g->size[m->col[i]];
	return build_reshape(m->bl, build_transpose(m->bl, u, back), &flat);
}

/* Operands and updates as matrices */
static int fold_all(struct scatter *s, struct slices *m, struct ncc_op *const *x,
		    struct ncc_op *const *updates)
{
	bool bits = s->c->by == NCC_COMBINE_SECOND; /* only moved, so as bits */

	s->slices = m->slices;
	for (unsigned int i = 0; i < s->n; i++) {
		struct ncc_op *u = bits ? build_bits(s->bl, updates[i]) : updates[i];

		s->u[i] = u ? fold_updates(m, u) : NULL;
		if (u && !s->u[i])
			return build_fail(s->bl, -EINVAL,
					  "dimension numbers do not fit the shapes");
		s->x[i] = slices_matrix(m, bits ? build_bits(s->bl, x[i]) : x[i], false);
		if (!s->u[i] || !s->x[i])
			return -ENOMEM;
	}
	return 0;
}

/* Is there one slice only, whose start is known? */
static bool known_window(const struct ncc_op *idx, const struct ncc_slices *g, int64_t *start)
{
	double same;

	memset(start, 0, sizeof(*start) * NCC_MAX_DIMS);
	if (g->nbatch || ncc_elems(&idx->shape) != g->nmap)
		return false;
	if (idx->kind != NCC_CONST && !ncc_scalar_value(idx, &same))
		return !g->nmap;
	for (unsigned int i = 0; i < g->nmap; i++)
		start[g->map[i]] = idx->kind == NCC_CONST
					   ? (int64_t)ncc_get(idx->shape.dtype, idx->data, i)
					   : (int64_t)same;
	return true;
}

/* Combines the window that begins at start with the updates. */
static int one_window(const struct scatter *s, const struct ncc_slices *g, struct ncc_op *const *x,
		      struct ncc_op *const *updates, const int64_t *start, struct ncc_op **out)
{
	struct ncc_op *part[NCC_MANY], *u[NCC_MANY];
	struct ncc_shape window = x[0]->shape;
	bool inside = true;
	int rc;

	for (unsigned int d = 0; d < window.ndim; d++) {
		inside = inside && start[d] >= 0 && start[d] <= window.dim[d] - g->size[d];
		window.dim[d] = g->size[d];
	}
	memcpy(out, x, s->n * sizeof(out[0]));
	if (!inside)
		return 0;

	for (unsigned int i = 0; i < s->n; i++) {
		if (ncc_elems(&updates[i]->shape) != ncc_elems(&window))
			return build_fail(s->bl, -EINVAL,
					  "dimension numbers do not fit the shapes");
		u[i] = build_reshape(s->bl, updates[i], &window);
		part[i] = x[i];
		for (unsigned int d = 0; d < window.ndim; d++)
			part[i] = build_slice(s->bl, part[i], d, start[d], window.dim[d]);
		if (!u[i] || !part[i])
			return -ENOMEM;
	}

	rc = updates_combine(s, part, u);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		out[i] = expand_place(s->bl, x[i], part[i], start);
		rc = out[i] ? 0 : -ENOMEM;
	}
	return rc;
}

static void window_shape(const struct ncc_op *x, const struct ncc_slices *g, struct ncc_shape *w)
{
	*w = x->shape;
	for (unsigned int d = 0; d < w->ndim; d++)
		w->dim[d] = g->size[d];
}

/* Is there one slice only, of several rows, which can be moved as such? */
static bool one_of_rows(const struct scatter *s, const struct ncc_op *x, const struct ncc_op *idx,
			const struct ncc_slices *g)
{
	struct ncc_shape window;
	int64_t rows = 1;

	window_shape(x, g, &window);
	for (unsigned int i = 0; i < g->nmap; i++)
		rows *= window.dim[g->map[i]];
	return !g->nbatch && ncc_elems(&idx->shape) == g->nmap && rows > 1 &&
	       (s->c->by != NCC_COMBINE_SECOND || expand_has_update(&x->shape, &window));
}

/* The window's starts, clamped, and whether they were inside */
static struct ncc_op *take_starts(struct ncc_build *bl, const struct ncc_op *x, struct ncc_op *idx,
				  const struct ncc_slices *g, struct ncc_op **at)
{
	const struct ncc_shape vector = { .ndim = 1, .dim = { g->nmap } }, scalar = { 0 };
	struct ncc_op *inside = NULL, *v = build_reshape(bl, idx, &vector);

	memset(at, 0, NCC_MAX_DIMS * sizeof(*at));
	for (unsigned int i = 0; v && i < g->nmap; i++) {
		unsigned int d = g->map[i];
		struct ncc_op *one = build_reshape(bl, build_slice(bl, v, 0, i, 1), &scalar), *in;

		at[d] = expand_clamp_index(bl, one, x->shape.dim[d] - g->size[d]);
		in = build_compare(bl, NCC_EQ, at[d], build_cast(bl, one, NEURON_DT_INT32));
		inside = inside ? build_binary(bl, NCC_AND, inside, in) : in;
		if (!inside)
			return NULL;
	}
	return inside;
}

/* Puts a window back whose start is inside, if that is so */
static int put_back(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx, struct ncc_op *w,
		    const struct ncc_slices *g, struct ncc_op **out)
{
	static const struct ncc_combine replaces = { .by = NCC_COMBINE_SECOND };
	const struct ncc_shape vector = { .ndim = 1, .dim = { g->nmap } };
	struct ncc_slices whole = { .nmap = g->nmap, .nwindow = w->shape.ndim };

	memcpy(whole.map, g->map, sizeof(whole.map));
	for (unsigned int d = 0; d < w->shape.ndim; d++) {
		whole.size[d] = w->shape.dim[d];
		whole.window[d] = (uint8_t)d;
	}
	idx = build_reshape(bl, idx, &vector);
	return idx ? expand_scatter(bl, 1, &x, idx, &w, &whole, &replaces, out) : -ENOMEM;
}

/* The same as one_window() for a start that is known when the program runs */
static int moved_window(const struct scatter *s, const struct ncc_slices *g,
			struct ncc_op *const *x, struct ncc_op *idx, struct ncc_op *const *updates,
			struct ncc_op **out)
{
	static const int64_t zero[NCC_MAX_DIMS];
	struct ncc_op *at[NCC_MAX_DIMS], *part[NCC_MANY], *now[NCC_MANY], *u[NCC_MANY];
	struct ncc_op *inside = take_starts(s->bl, x[0], idx, g, at);
	struct ncc_shape window, mask;
	int rc = inside ? 0 : -ENOMEM;

	window_shape(x[0], g, &window);
	mask = window;
	mask.dtype = inside ? inside->shape.dtype : 0;
	mask.pred = true;
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		if (ncc_elems(&updates[i]->shape) != ncc_elems(&window))
			return build_fail(s->bl, -EINVAL,
					  "dimension numbers do not fit the shapes");
		u[i] = build_reshape(s->bl, updates[i], &window);
		part[i] = x[i];
		for (unsigned int d = 0; part[i] && d < window.ndim; d++) {
			if (!at[d])
				part[i] = build_slice(s->bl, part[i], d, 0, window.dim[d]);
			else if (window.dim[d] < x[i]->shape.dim[d])
				part[i] =
					expand_take_inside(s->bl, part[i],
							   build_range(s->bl, at[d], window.dim[d]),
							   d);
		}
		now[i] = part[i];
		rc = u[i] && part[i] ? 0 : -ENOMEM;
	}
	rc = rc ? rc : updates_combine(s, now, u);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		if (!expand_has_update(&x[i]->shape, &window)) {
			rc = put_back(s->bl, x[i], idx, now[i], g, &out[i]);
			continue;
		}
		now[i] = build_select(s->bl, build_spread(s->bl, &mask, inside, NULL), now[i],
				      part[i]);
		out[i] = now[i] ? expand_update(s->bl, x[i], now[i], at, zero) : NULL;
		rc = out[i] ? 0 : -ENOMEM;
	}
	return rc;
}

static int scatter_rows(struct scatter *s, struct slices *m, struct ncc_op *const *x,
			struct ncc_op *const *updates, struct ncc_op **out)
{
	int rc;

	s->row = slices_rows(m, true);
	s->place = slices_places(m);
	rc = s->row ? fold_all(s, m, x, updates) : -ENOMEM;
	rc = rc ? rc : updates_apply(s, out);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		out[i] = unfold(m, out[i]);
		if (out[i] && s->c->by == NCC_COMBINE_SECOND)
			out[i] = build_bitcast(s->bl, out[i], x[i]->shape.dtype);
		rc = out[i] ? 0 : -ENOMEM;
	}
	return rc;
}

/* Do windows cover only the beginning of a dimension, in which no index moves them? */
static bool at_corner(const struct slices *m)
{
	for (unsigned int i = 0; i < m->ncol; i++)
		if (m->g->size[m->col[i]] != m->x->shape.dim[m->col[i]])
			return true;
	return false;
}

/* Then the rest of the operands is left as it is. */
static int scatter_corner(const struct scatter *s, const struct slices *m, struct ncc_op *const *x,
			  struct ncc_op *const *updates, struct ncc_op **out)
{
	static const int64_t start[NCC_MAX_DIMS];
	struct ncc_op *part[NCC_MANY];
	int rc = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		part[i] = x[i];
		for (unsigned int k = 0; k < m->ncol; k++)
			part[i] = build_slice(s->bl, part[i], m->col[k], 0, m->g->size[m->col[k]]);
		if (!part[i])
			return -ENOMEM;
	}
	rc = expand_scatter(s->bl, s->n, part, (struct ncc_op *)(uintptr_t)m->idx, updates, m->g,
			    s->c, out);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		out[i] = expand_place(s->bl, x[i], out[i], start);
		rc = out[i] ? 0 : -ENOMEM;
	}
	return rc;
}

int expand_scatter(struct ncc_build *bl, unsigned int n, struct ncc_op *const *x,
		   struct ncc_op *idx, struct ncc_op *const *updates, const struct ncc_slices *g,
		   const struct ncc_combine *c, struct ncc_op **out)
{
	struct scatter s = { .bl = bl, .c = c, .n = n };
	int64_t start[NCC_MAX_DIMS];
	struct slices m;
	int rc = slices_init(&m, bl, x[0], idx, g);

	if (rc)
		return rc;
	bl->err->text[0] = 0;
	if (known_window(idx, g, start))
		rc = one_window(&s, g, x, updates, start, out);
	else if (at_corner(&m))
		rc = scatter_corner(&s, &m, x, updates, out);
	else if (one_of_rows(&s, x[0], idx, g))
		rc = moved_window(&s, g, x, idx, updates, out);
	else
		rc = scatter_rows(&s, &m, x, updates, out);
	if (rc != -ENOMEM)
		return rc;
	return bl->err->text[0] ? -EFBIG : build_fail(bl, -ENOMEM, "out of memory");
}
