// SPDX-License-Identifier: MIT
/*
 * Scatter with any dimension numbers. A single window with a constant start is cut out, combined
 * with its update and put back. Otherwise operand, indices and updates become matrices (slices.h);
 * which rows an update hits is a matrix of predicates. Few updates are combined one after the
 * other; many are chosen (the last that hits a row takes its place) or added up by a product.
 * Called by the front ends.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "slices.h"

#define FEW 16 /* updates are combined one by one, whatever the operation */
#define MOST 2048 /* and at most so many, if there is no other way */

struct scatter {
	struct ncc_build *bl;
	const struct ncc_combine *c;
	unsigned int n; /* operands; several are combined by a computation */
	struct ncc_op *x[NCC_MANY]; /* [shared, rows, columns] */
	struct ncc_op *u[NCC_MANY]; /* [shared, slices, columns] */
	struct ncc_op *row; /* [shared, slices] */
	int64_t slices;
};

static struct ncc_op *op2(const struct scatter *s, enum ncc_kind kind, struct ncc_op *a,
			  struct ncc_op *b)
{
	return a && b ? build_node(s->bl, kind, &a->shape, a, b, NULL) : NULL;
}

/* pred[shared, rows, slices]: does the update hit the row? */
static struct ncc_op *hits(const struct scatter *s)
{
	struct ncc_shape all = { .dtype = NEURON_DT_INT32,
				 .ndim = 3,
				 .dim = { s->x[0]->shape.dim[0], s->x[0]->shape.dim[1],
					  s->slices } };
	static const uint8_t of_row[2] = { 0, 2 }, of_count[1] = { 1 };
	struct ncc_op *n = build_count(s->bl, all.dim[1]);

	return build_compare(s->bl, NCC_EQ, build_spread(s->bl, &all, s->row, of_row),
			     n ? build_spread(s->bl, &all, n, of_count) : NULL);
}

/* a = a combined with b, for all operands */
static int combine(const struct scatter *s, struct ncc_op **a, struct ncc_op *const *b)
{
	if (s->c->by == NCC_COMBINE_FN)
		return s->c->fn(s->c->opaque, a, b);
	a[0] = s->c->by == NCC_COMBINE_SECOND ? b[0] : op2(s, s->c->kind, a[0], b[0]);
	return a[0] ? 0 : -ENOMEM;
}

/* Index k of dimension 1 of v, [shared, n] or [shared, n, columns], broadcast to x's shape */
static struct ncc_op *spread_one(const struct scatter *s, struct ncc_op *v, unsigned int d,
				 int64_t k, const uint8_t *map)
{
	struct ncc_shape shape = { 0 }, to = s->x[0]->shape;

	v = build_slice(s->bl, v, d, k, 1);
	if (!v)
		return NULL;
	for (unsigned int i = 0; i < v->shape.ndim; i++)
		if (i != d)
			shape.dim[shape.ndim++] = v->shape.dim[i];
	v = build_reshape(s->bl, v, &shape);
	if (!v)
		return NULL;
	to.dtype = v->shape.dtype;
	to.pred = v->shape.pred;
	return build_spread(s->bl, &to, v, map);
}

/* Applies update k to x where it hits. */
static int one_update(const struct scatter *s, struct ncc_op *hit, int64_t k, struct ncc_op **x)
{
	static const uint8_t of_hit[2] = { 0, 1 }, of_update[2] = { 0, 2 };
	struct ncc_op *p = spread_one(s, hit, 2, k, of_hit), *u[NCC_MANY], *r[NCC_MANY];
	int rc;

	for (unsigned int i = 0; i < s->n; i++) {
		r[i] = x[i];
		u[i] = spread_one(s, s->u[i], 1, k, of_update);
		if (!p || !u[i])
			return -ENOMEM;
	}
	rc = combine(s, r, u);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		x[i] = build_select(s->bl, p, r[i], x[i]);
		rc = x[i] ? 0 : -ENOMEM;
	}
	return rc;
}

static int one_by_one(const struct scatter *s, struct ncc_op **out)
{
	struct ncc_op *hit = hits(s);
	int rc = hit ? 0 : -ENOMEM;

	memcpy(out, s->x, s->n * sizeof(out[0]));
	for (int64_t k = 0; !rc && k < s->slices; k++)
		rc = one_update(s, hit, k, out);
	return rc;
}

static struct ncc_op *reduce_last(const struct scatter *s, struct ncc_op *x, enum ncc_kind func,
				  double init)
{
	struct ncc_op *c, *r;
	struct ncc_shape shape;

	if (!x)
		return NULL;
	shape = x->shape;
	shape.ndim--;
	c = ncc_const_scalar(s->bl->m, shape.dtype, init);
	r = c ? build_node(s->bl, NCC_REDUCE, &shape, x, c, NULL) : NULL;
	if (r) {
		r->func = func;
		r->mask = 1u << shape.ndim;
	}
	return r;
}

/*
 * [shared, rows, columns]: the update of each row's number; where that is -1 the value does not
 * matter
 */
static struct ncc_op *chosen(const struct scatter *s, struct ncc_op *number)
{
	struct ncc_op *r;

	if (!expand_has_rows(s->u[0], s->u[0]->shape.dim[0], s->slices, s->u[0]->shape.dim[2]))
		return expand_choose(s->bl, expand_one_hot(s->bl, number, s->slices), s->u[0], 1,
				     1);
	r = expand_rows(s->bl, expand_clamp_index(s->bl, number, s->slices - 1), s->u[0],
			s->u[0]->shape.dim[0], s->slices);
	return build_reshape(s->bl, r, &s->x[0]->shape);
}

/* Each row's last update replaces it; rows that no update hits stay. */
static struct ncc_op *last_one(const struct scatter *s)
{
	static const uint8_t of_count[1] = { 2 }, of_row[2] = { 0, 1 };
	struct ncc_op *hit = hits(s), *n = build_count(s->bl, s->slices), *last, *some;
	struct ncc_shape all, to = s->x[0]->shape;

	if (!hit || !n)
		return NULL;
	all = hit->shape;
	all.dtype = NEURON_DT_INT32;
	all.pred = false;
	last = build_select(s->bl, hit, build_spread(s->bl, &all, n, of_count),
			    build_splat(s->bl, &all, -1));
	last = reduce_last(s, last, NCC_MAX, -1);
	if (!last)
		return NULL;
	to.dtype = NEURON_DT_INT8;
	to.pred = true;
	some = build_compare(s->bl, NCC_GE, last, build_splat(s->bl, &last->shape, 0));
	some = some ? build_spread(s->bl, &to, some, of_row) : NULL;
	return build_select(s->bl, some, chosen(s, last), s->x[0]);
}

/*
 * fp32[shared, rows, columns]: the sums of the updates that hit each row; parts are exact in their
 * type
 */
static struct ncc_op *sums(const struct scatter *s, struct ncc_op *hit, struct ncc_op *part)
{
	struct ncc_shape shape = s->x[0]->shape;
	struct ncc_op *r;

	shape.dtype = NEURON_DT_FP32;
	shape.pred = false;
	if (!hit || !part)
		return NULL;
	r = build_node(s->bl, NCC_DOT, &shape, build_cast(s->bl, hit, NEURON_DT_BF16), part, NULL);
	if (r) {
		*r->dot = (struct ncc_dot){ .nbatch = 1, .ncontract = 1 };
		r->dot->lhs_contract[0] = 2;
		r->dot->rhs_contract[0] = 1;
	}
	return r;
}

/*
 * Makes infinite what an infinite update of that sign, or a NaN, hits: in a product the infinity
 * times 0 would be NaN elsewhere.
 */
static struct ncc_op *add_infinite(const struct scatter *s, struct ncc_op *hit, struct ncc_op *sum,
				   struct ncc_op *u, bool minus)
{
	struct ncc_op *p = build_compare(
		s->bl, NCC_EQ, u, build_splat(s->bl, &u->shape, minus ? -INFINITY : INFINITY));
	struct ncc_op *nan = build_compare(s->bl, NCC_NE, u, u), *inf;

	p = sums(s, hit, build_cast(s->bl, op2(s, NCC_OR, p, nan), NEURON_DT_BF16));
	if (!p || !sum)
		return NULL;
	inf = build_splat(s->bl, &sum->shape, minus ? -INFINITY : INFINITY);
	p = build_compare(s->bl, NCC_GT, p, build_splat(s->bl, &p->shape, 0));
	return build_select(s->bl, p, op2(s, NCC_ADD, sum, inf), sum);
}

static struct ncc_op *add_floats(const struct scatter *s)
{
	struct ncc_op *hit = hits(s), *u = build_cast(s->bl, s->u[0], NEURON_DT_FP32), *left, *sum;

	sum = build_cast(s->bl, s->x[0], NEURON_DT_FP32);
	left = u ? build_select(s->bl, expand_is_finite(s->bl, u), u,
				build_splat(s->bl, &u->shape, 0))
		 : NULL;
	for (unsigned int k = 0; hit && left && k < 3; k++) {
		struct ncc_op *part = build_cast(s->bl, left, NEURON_DT_BF16);

		sum = op2(s, NCC_ADD, sum, sums(s, hit, part));
		left = op2(s, NCC_SUB, left, build_cast(s->bl, part, NEURON_DT_FP32));
	}
	sum = left && hit ? add_infinite(s, hit, sum, u, false) : NULL;
	sum = sum ? add_infinite(s, hit, sum, u, true) : NULL;
	return build_cast(s->bl, sum, s->x[0]->shape.dtype);
}

/* Bytes are summed separately, which is exact for up to 2^16 of them. */
static struct ncc_op *add_integers(const struct scatter *s)
{
	struct ncc_op *hit = hits(s), *u = build_cast(s->bl, s->u[0], NEURON_DT_INT32), *sum;

	sum = build_cast(s->bl, s->x[0], NEURON_DT_INT32);
	for (unsigned int k = 0; hit && sum && u && k < 4; k++) {
		struct ncc_op *p = u;

		if (k)
			p = op2(s, NCC_SHR, p, build_splat(s->bl, &p->shape, 8 * k));
		p = p ? op2(s, NCC_AND, p, build_splat(s->bl, &p->shape, 0xff)) : NULL;
		p = build_cast(s->bl, sums(s, hit, build_cast(s->bl, p, NEURON_DT_BF16)),
			       NEURON_DT_INT32);
		if (k && p)
			p = op2(s, NCC_SHL, p, build_splat(s->bl, &p->shape, 8 * k));
		sum = op2(s, NCC_ADD, sum, p);
	}
	return hit && u ? build_cast(s->bl, sum, s->x[0]->shape.dtype) : NULL;
}

static int scatter_all(const struct scatter *s, struct ncc_op **out)
{
	bool add = s->c->by == NCC_COMBINE_KIND && s->c->kind == NCC_ADD && !s->x[0]->shape.pred;

	if (s->slices > FEW && s->c->by == NCC_COMBINE_SECOND)
		*out = last_one(s);
	else if (s->slices > FEW && add && ncc_is_float(s->x[0]->shape.dtype))
		*out = add_floats(s);
	else if (s->slices > FEW && s->slices <= 1 << 16 && add)
		*out = add_integers(s);
	else if (s->slices > MOST)
		return build_fail(s->bl, -ENOTSUP,
				  "%lld updates, at most %d are supported of this operation",
				  (long long)s->slices, MOST);
	else
		return one_by_one(s, out);
	return *out ? 0 : -ENOMEM;
}

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

static struct ncc_op *as_bits(struct ncc_build *bl, struct ncc_op *x)
{
	if (!ncc_is_float(x->shape.dtype))
		return x;
	return build_bitcast(
		bl, x, ncc_dtype_size(x->shape.dtype) == 4 ? NEURON_DT_INT32 : NEURON_DT_INT16);
}

/* Operands and updates as matrices */
static int fold_all(struct scatter *s, struct slices *m, struct ncc_op *const *x,
		    struct ncc_op *const *updates)
{
	bool bits = s->c->by == NCC_COMBINE_SECOND; /* only moved, so as bits */

	s->slices = m->slices;
	for (unsigned int i = 0; i < s->n; i++) {
		struct ncc_op *u = bits ? as_bits(s->bl, updates[i]) : updates[i];

		s->u[i] = u ? fold_updates(m, u) : NULL;
		if (u && !s->u[i])
			return build_fail(s->bl, -EINVAL,
					  "dimension numbers do not fit the shapes");
		s->x[i] = slices_matrix(m, bits ? as_bits(s->bl, x[i]) : x[i], false);
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

	rc = combine(s, part, u);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		out[i] = expand_place(s->bl, x[i], part[i], start);
		rc = out[i] ? 0 : -ENOMEM;
	}
	return rc;
}

static int scatter_rows(struct scatter *s, struct slices *m, struct ncc_op *const *x,
			struct ncc_op *const *updates, struct ncc_op **out)
{
	int rc;

	for (unsigned int i = 0; i < m->ncol; i++)
		if (m->g->size[m->col[i]] != m->x->shape.dim[m->col[i]])
			return build_fail(s->bl, -ENOTSUP,
					  "windows that cover a part of a dimension without an "
					  "index are not supported");

	s->row = slices_rows(m, true);
	rc = s->row ? fold_all(s, m, x, updates) : -ENOMEM;
	rc = rc ? rc : scatter_all(s, out);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		out[i] = unfold(m, out[i]);
		if (out[i] && s->c->by == NCC_COMBINE_SECOND)
			out[i] = build_bitcast(s->bl, out[i], x[i]->shape.dtype);
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
	rc = known_window(idx, g, start) ? one_window(&s, g, x, updates, start, out)
					 : scatter_rows(&s, &m, x, updates, out);
	if (rc != -ENOMEM)
		return rc;
	return bl->err->text[0] ? -EFBIG : build_fail(bl, -ENOMEM, "out of memory");
}
