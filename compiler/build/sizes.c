// SPDX-License-Identifier: MIT
/* What becomes of sizes in an operation (sizes.h): a row for each kind that has a rule */
#include "sizes.h"

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

struct ncc_op *sizes_within(struct ncc_build *bl, int64_t bound, struct ncc_op *size)
{
	struct ncc_op *count = build_count(bl, bound);

	return count && size ? build_binary(bl, NCC_LT, count,
					    build_spread(bl, &count->shape, size, NULL))
			     : NULL;
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

static void of_reduce(const struct ncc_follow *f, struct ncc_op **to)
{
	for (unsigned int d = 0; d < f->in[0].ndim; d++)
		if (!(f->op->mask >> d & 1))
			*to++ = f->in[0].size[d];
}

static struct ncc_op *number(const struct ncc_follow *f, enum ncc_kind kind, struct ncc_op *x,
			     int64_t v)
{
	return build_number(f->bl, kind, x, (double)v);
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
	for (unsigned int d = 0; d < f->in[0].ndim; d++)
		to[d] = sizes_windows(f, f->in[0].size[d], &f->op->window[d], f->op->shape.dim[d]);
}

static struct ncc_op *smaller(const struct ncc_follow *f, struct ncc_op *a, struct ncc_op *b)
{
	return !b || a == b ? a : a ? build_binary(f->bl, NCC_MIN, a, b) : b;
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
		*to++ = smaller(f, l->size[p->lhs_batch[i]], r->size[p->rhs_batch[i]]);
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

/* Beside traits (ir/traits.c): a kind without a row has results of which nothing follows */
static void (*const rules[NCC_KINDS])(const struct ncc_follow *f, struct ncc_op **to) = {
	[NCC_BROADCAST] = of_broadcast, [NCC_TRANSPOSE] = of_transpose,	  [NCC_PAD] = of_pad,
	[NCC_REDUCE] = of_reduce,	[NCC_REDUCE_WINDOW] = of_windows, [NCC_DOT] = of_dot,
};

void sizes_follow(const struct ncc_follow *f, struct ncc_op **to)
{
	if (rules[f->op->kind])
		rules[f->op->kind](f, to);
}
