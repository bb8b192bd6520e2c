// SPDX-License-Identifier: MIT
/* What becomes of sizes in an operation (sizes.h): a row for each kind that has a rule */
#include "sizes.h"

#include <errno.h>
#include <string.h>

struct ncc_sizes sizes_of(const struct ncc_shape *s, struct ncc_op *const *size)
{
	struct ncc_sizes r = { .ndim = s->ndim };

	memcpy(r.bound, s->dim, sizeof(r.bound));
	if (size)
		memcpy(r.size, size, sizeof(r.size));
	return r;
}

struct ncc_op *sizes_at(struct ncc_build *bl, const struct ncc_sizes *s, unsigned int d)
{
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };

	return s->size[d] ?: build_scalar(bl, &number, (double)s->bound[d]);
}

struct ncc_op *sizes_clamped(struct ncc_build *bl, struct ncc_op *size, int64_t bound)
{
	return build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, size, 0), (double)bound);
}

/* A size that was made */
static struct ncc_op *made(const struct ncc_follow *f, struct ncc_op *size)
{
	if (!size && f->lost)
		*f->lost = true;
	return size;
}

struct ncc_op *sizes_both(const struct ncc_follow *f, struct ncc_op *a, struct ncc_op *b)
{
	if (!a || !b || a == b)
		return a ?: b;
	if (!f->alike)
		return made(f, build_binary(f->bl, NCC_MIN, a, b));
	if (!sizes_same(a, b))
		build_fail(f->bl, -ENOTSUP,
			   "operands whose sizes depend on the data and may be different");
	return a;
}

void sizes_of_elements(const struct ncc_follow *f, unsigned int first, unsigned int n,
		       unsigned int ndim, struct ncc_op **to)
{
	for (unsigned int i = first; i < first + n; i++) {
		const struct ncc_sizes *x = &f->in[i];
		const unsigned int lead = ndim - x->ndim;

		for (unsigned int d = 0; d < x->ndim; d++)
			to[lead + d] = sizes_both(f, to[lead + d], x->size[d]);
	}
}

static void of_elements(const struct ncc_follow *f, struct ncc_op **to)
{
	sizes_of_elements(f, 0, f->op->nin, f->op->shape.ndim, to);
}

/* Of operand 0, whose dimensions the result has */
static void of_first(const struct ncc_follow *f, struct ncc_op **to)
{
	memcpy(to, f->in[0].size, f->in[0].ndim * sizeof(struct ncc_op *));
}

static void of_broadcast(const struct ncc_follow *f, struct ncc_op **to)
{
	for (unsigned int d = 0; d < f->in[0].ndim; d++)
		to[f->op->map[d]] = f->in[0].size[d];
}

static void of_transpose(const struct ncc_follow *f, struct ncc_op **to)
{
	for (unsigned int d = 0; d < f->in[0].ndim; d++)
		to[d] = f->in[0].size[f->op->map[d]];
}

/* Of several values that are reduced together; behind each of them is where it starts from */
static struct ncc_sizes of_values(const struct ncc_follow *f)
{
	struct ncc_sizes s = { .ndim = f->in[0].ndim };

	sizes_of_elements(f, 0, f->op->nin > 2 ? f->op->nin / 2 : 1, s.ndim, s.size);
	return s;
}

static void of_reduce(const struct ncc_follow *f, struct ncc_op **to)
{
	const struct ncc_sizes s = of_values(f);

	for (unsigned int d = 0; d < s.ndim; d++)
		if (!(f->op->mask >> d & 1))
			*to++ = s.size[d];
}

static struct ncc_op *number(const struct ncc_follow *f, enum ncc_kind kind, struct ncc_op *x,
			     int64_t v)
{
	return made(f, build_number(f->bl, kind, x, (double)v));
}

/* So many elements with others between them, and more before and behind */
static void of_pad(const struct ncc_follow *f, struct ncc_op **to)
{
	const struct ncc_op *op = f->op;

	for (unsigned int d = 0; d < f->in[0].ndim; d++) {
		struct ncc_op *n = f->in[0].size[d];
		const int64_t more = op->low[d] + op->high[d];

		if (n && op->interior && op->interior[d] > 0) {
			n = number(f, NCC_MUL, n, op->interior[d] + 1);
			n = number(f, NCC_MAX, number(f, NCC_ADD, n, -op->interior[d]), 0);
		}
		if (n && (more || f->clamped))
			n = number(f, NCC_ADD, n, more);
		if (n && f->clamped)
			n = number(f, NCC_MIN, number(f, NCC_MAX, n, 0), op->shape.dim[d]);
		to[d] = n;
	}
}

static bool is_one(const struct ncc_window *w)
{
	return w->size == 1 && w->stride == 1 && !w->low && !w->high && w->base_dilation <= 1;
}

struct ncc_op *sizes_windows(const struct ncc_follow *f, struct ncc_op *size,
			     const struct ncc_window *w, int64_t bound)
{
	const int64_t base = w->base_dilation > 1 ? w->base_dilation : 1;
	const int64_t dilation = w->window_dilation > 1 ? w->window_dilation : 1;
	const int64_t span = (w->size - 1) * dilation + 1;

	if (!size || is_one(w))
		return size;
	/* elements with holes between them and padding; less the first window; in strides */
	if (base > 1 || f->clamped) {
		size = number(f, NCC_ADD, number(f, NCC_MUL, size, base), 1 - base);
		size = number(f, NCC_MAX, size, 0);
	}
	size = number(f, NCC_ADD, size, w->low + w->high - span + w->stride);
	size = number(f, NCC_MAX, size, 0);
	if (w->stride > 1)
		size = number(f, NCC_DIV, size, w->stride);
	return f->clamped ? number(f, NCC_MIN, size, bound) : size;
}

static void of_windows(const struct ncc_follow *f, struct ncc_op **to)
{
	const struct ncc_sizes s = of_values(f);

	for (unsigned int d = 0; d < s.ndim; d++)
		to[d] = sizes_windows(f, s.size[d], &f->op->window[d], f->op->shape.dim[d]);
}

/* Every stride-th element from the start on, rounded up, of those that there are */
static void of_slice(const struct ncc_follow *f, struct ncc_op **to)
{
	const struct ncc_op *op = f->op;

	for (unsigned int d = 0; d < f->in[0].ndim; d++) {
		struct ncc_op *n = f->in[0].size[d];

		if (n &&
		    (op->start[d] || op->stride[d] != 1 || op->shape.dim[d] != f->in[0].bound[d])) {
			n = number(f, NCC_ADD, n, op->stride[d] - 1 - op->start[d]);
			n = number(f, NCC_MAX, n, 0);
			if (op->stride[d] > 1)
				n = number(f, NCC_DIV, n, op->stride[d]);
			n = number(f, NCC_MIN, n, op->shape.dim[d]);
		}
		to[d] = n;
	}
}

static bool any_along(const struct ncc_follow *f, unsigned int d)
{
	for (unsigned int i = 0; i < f->op->nin; i++)
		if (f->in[i].size[d])
			return true;
	return false;
}

/* Along the axis as many as all operands have */
static void of_concat(const struct ncc_follow *f, struct ncc_op **to)
{
	const unsigned int axis = f->op->axis;
	struct ncc_op *sum = NULL;

	for (unsigned int d = 0; d < f->in[0].ndim; d++)
		for (unsigned int i = 0; d != axis && i < f->op->nin; i++)
			to[d] = sizes_both(f, to[d], f->in[i].size[d]);
	for (unsigned int i = 0; any_along(f, axis) && i < f->op->nin; i++) {
		struct ncc_op *n = sizes_at(f->bl, &f->in[i], axis);

		sum = made(f, sum ? build_binary(f->bl, NCC_ADD, sum, n) : n);
	}
	to[axis] = sum;
}

static bool has(unsigned int n, const uint8_t *list, unsigned int d)
{
	for (unsigned int i = 0; i < n; i++)
		if (list[i] == d)
			return true;
	return false;
}

static void of_dot(const struct ncc_follow *f, struct ncc_op **to)
{
	const struct ncc_dot *p = f->op->dot;
	const struct ncc_sizes *l = &f->in[0], *r = &f->in[1];

	for (unsigned int i = 0; i < p->nbatch; i++)
		*to++ = sizes_both(f, l->size[p->lhs_batch[i]], r->size[p->rhs_batch[i]]);
	for (unsigned int d = 0; d < l->ndim; d++)
		if (!has(p->nbatch, p->lhs_batch, d) && !has(p->ncontract, p->lhs_contract, d))
			*to++ = l->size[d];
	for (unsigned int d = 0; d < r->ndim; d++)
		if (!has(p->nbatch, p->rhs_batch, d) && !has(p->ncontract, p->rhs_contract, d))
			*to++ = r->size[d];
}

/* A slice has the size of a dimension of the operand only if it is whole along it. */
void sizes_gathered(const struct ncc_gathered *g, struct ncc_op **to)
{
	const struct ncc_slices *s = &g->slices;
	unsigned int of = 0, at = 0;

	for (unsigned int d = 0; d < g->ndim; d++) {
		if (!has(s->nwindow, s->window, d)) {
			at += at == s->vector;
			to[d] = at < g->idx.ndim ? g->idx.size[at] : NULL;
			at++;
			continue;
		}
		while (of < g->x.ndim && (s->dropped >> of & 1 || has(s->nbatch, s->batch, of)))
			of++;
		if (of < g->x.ndim && s->size[of] == g->x.bound[of])
			to[d] = g->x.size[of];
		of++;
	}
}

/* Each element comes from where its operand's elements would be if those before it ended at their
 * sizes. */
static struct ncc_op *concat_places(const struct ncc_follow *f, unsigned int d)
{
	struct ncc_build *bl = f->bl;
	const int64_t all = f->op->shape.dim[d];
	struct ncc_op *count = build_count(bl, all), *place = count, *at = NULL;
	int64_t from = 0;
	bool moved = false;

	for (unsigned int i = 0; count && i < f->op->nin; i++) {
		struct ncc_op *n = sizes_at(bl, &f->in[i], d), *gap;

		if (moved) { /* those from `at` on are `from`'s */
			gap = at ? build_binary(bl, NCC_SUB,
						build_splat(bl, &at->shape, (double)from), at)
				 : NULL;
			place = build_select(
				bl,
				build_compare(bl, NCC_GE, count,
					      build_spread(bl, &count->shape, at, NULL)),
				build_binary(bl, NCC_ADD, count,
					     build_spread(bl, &count->shape, gap, NULL)),
				place);
		}
		moved = moved || f->in[i].size[d];
		from += f->in[i].bound[d];
		at = at ? build_binary(bl, NCC_ADD, at, n) : n;
	}
	return place == count ? NULL : build_number(bl, NCC_MIN, place, (double)(all - 1));
}

bool sizes_has_gaps(const struct ncc_follow *f, unsigned int d)
{
	for (unsigned int i = 0; i + 1 < f->op->nin; i++)
		if (f->in[i].size[d])
			return true;
	return false;
}

/* The bound's last elements, which are not there, have come first. */
static struct ncc_op *reverse_places(const struct ncc_follow *f, unsigned int d)
{
	struct ncc_build *bl = f->bl;
	const int64_t bound = f->in[0].bound[d];
	struct ncc_op *count, *first = f->in[0].size[d], *place;

	if (!first || !(f->op->mask >> d & 1))
		return NULL;
	count = build_count(bl, bound);
	first = build_binary(bl, NCC_SUB, build_splat(bl, &first->shape, (double)bound), first);
	place = count ? build_binary(bl, NCC_ADD, count,
				     build_spread(bl, &count->shape, first, NULL))
		      : NULL;
	return build_number(bl, NCC_MIN, place, (double)(bound - 1));
}

/* Beside traits (ir/traits.c): a kind without a row has results of which nothing follows. */
static const struct rule {
	void (*follow)(const struct ncc_follow *f, struct ncc_op **to);
	struct ncc_op *(*places)(const struct ncc_follow *f, unsigned int d);
} rules[NCC_KINDS] = {
	[NCC_BROADCAST] = { of_broadcast },
	[NCC_TRANSPOSE] = { of_transpose },
	[NCC_SLICE] = { of_slice },
	[NCC_REVERSE] = { of_first, reverse_places },
	[NCC_CONCAT] = { of_concat, concat_places },
	[NCC_PAD] = { of_pad },
	[NCC_SCATTER] = { of_first },
	[NCC_DOT] = { of_dot },
	[NCC_REDUCE] = { of_reduce },
	[NCC_REDUCE_WINDOW] = { of_windows },
};

bool sizes_follow(const struct ncc_follow *f, struct ncc_op **to)
{
	const enum ncc_kind kind = f->op->kind;
	struct ncc_follow by = *f;
	bool lost = false;

	by.lost = &lost;
	if (ncc_is_elementwise(kind))
		of_elements(&by, to);
	else if (rules[kind].follow)
		rules[kind].follow(&by, to);
	return !lost;
}

struct ncc_op *sizes_places(const struct ncc_follow *f, unsigned int d)
{
	const struct rule *r = &rules[f->op->kind];

	return r->places ? r->places(f, d) : NULL;
}
