// SPDX-License-Identifier: MIT
/*
 * Moves values between partitions: a part of what a partition has whole is a slice at a place that
 * its number says, and a whole is gathered, dimension by dimension, among those that have the other
 * tiles (partition.h).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "partition.h"

#define MOST_LOOKS 4096 /* instructions back */

int part_fail(struct part *c, int code, const char *fmt, ...)
{
	const Ncc__Hlo__OpMetadata *m = c->at ? c->at->metadata : NULL;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (m && m->source_file)
		return ncc_fail(c->v->err, code, "%s '%.60s' at %.120s:%d: %s", c->at->opcode,
				c->at->name, m->source_file, m->source_line, text);
	return ncc_fail(c->v->err, code, "%s '%.60s': %s", c->at ? c->at->opcode : "program",
			c->at ? c->at->name : "", text);
}

const Ncc__Hlo__Shape *part_shape(struct part *c, const Ncc__Hlo__Shape *like, const int64_t *dims)
{
	Ncc__Hlo__Shape *shape = convert_alloc(c->v, 1, sizeof(*shape));
	int64_t *own = convert_alloc(c->v, like->n_dimensions + 1, sizeof(*own));

	if (!shape || !own)
		return NULL;
	*shape = *like;
	if (like->n_dimensions)
		memcpy(own, dims, like->n_dimensions * sizeof(*own));
	shape->dimensions = own;
	return shape;
}

bool part_dims(const Ncc__Hlo__Shape *whole, const struct ncc_tiling *t, int64_t *dims)
{
	bool even = whole->n_dimensions <= NCC_MAX_DIMS;

	for (size_t d = 0; d < whole->n_dimensions && even; d++) {
		const int64_t n = t && d < t->ndim ? t->tiles[d] : 1;

		even = whole->dimensions[d] % n == 0;
		dims[d] = whole->dimensions[d] / n;
	}
	return even;
}

hlo_instruction *part_copy(struct part *c, const hlo_instruction *p, hlo_instruction *const *in,
			   size_t n, const int64_t *dims)
{
	const Ncc__Hlo__Shape *shape = dims ? part_shape(c, p->shape, dims) : p->shape;
	hlo_instruction *q = convert_add(&c->s, p->opcode, shape, in, n), own;

	if (!q)
		return NULL;
	own = *q;
	*q = *p;
	q->id = own.id;
	q->name = own.name;
	q->shape = own.shape;
	q->n_operand_ids = own.n_operand_ids;
	q->operand_ids = own.operand_ids;
	return q;
}

struct ncc_tiling *part_without(struct part *c, const struct ncc_tiling *t, unsigned int d)
{
	struct ncc_tiling *n = tiling_new(c->v, t->ndim);

	if (!n)
		return NULL;
	memcpy(n->tiles, t->tiles, sizeof(n->tiles));
	memcpy(n->at, t->at, (size_t)c->v->partitions * NCC_MAX_DIMS);
	n->terms = t->terms;
	memcpy(n->term, t->term, c->v->partitions);
	if (d >= t->ndim)
		return n;
	n->tiles[d] = 1;
	for (unsigned int p = 0; p < c->v->partitions; p++)
		n->at[p * NCC_MAX_DIMS + d] = 0;
	return n;
}

static int64_t count(const struct ncc_tiling *t)
{
	int64_t n = 1;

	for (unsigned int d = 0; t && d < t->ndim; d++)
		n *= t->tiles[d];
	return n;
}

/* Which of all tiles a partition has, row-major */
static int64_t tile_of(const struct ncc_tiling *t, unsigned int p)
{
	int64_t n = 0;

	for (unsigned int d = 0; t && d < t->ndim; d++)
		n = n * t->tiles[d] + t->at[p * NCC_MAX_DIMS + d];
	return n;
}

bool part_is_even(const struct convert *v, const struct ncc_tiling *t)
{
	const int64_t n = count(t);
	unsigned int has[TILING_MOST] = { 0 };

	if (n > v->partitions || n > TILING_MOST || v->partitions % n)
		return false;
	for (unsigned int p = 0; p < v->partitions; p++)
		has[tile_of(t, p)]++;
	for (int64_t i = 0; i < n; i++)
		if (has[i] != v->partitions / n)
			return false;
	return true;
}

/*
 * Groups of partitions that have the same tile of keep and, in their order, each of along once. As
 * the operation's replica_groups
 */
static int take_groups(struct part *c, hlo_instruction *p, const struct ncc_tiling *keep,
		       const struct ncc_tiling *along)
{
	const unsigned int n = c->v->partitions;
	const int64_t members = count(along);
	bool used[TILING_MOST] = { false };

	p->replica_groups = convert_alloc(c->v, n + 1, sizeof(*p->replica_groups));
	if (!p->replica_groups)
		return -ENOMEM;
	for (unsigned int first = 0; first < n; first++) {
		Ncc__Hlo__ReplicaGroup *g = used[first] ? NULL : convert_alloc(c->v, 1, sizeof(*g));

		if (used[first])
			continue;
		if (!g)
			return -ENOMEM;
		ncc__hlo__replica_group__init(g);
		g->replica_ids = convert_alloc(c->v, (size_t)members + 1, sizeof(*g->replica_ids));
		if (!g->replica_ids)
			return -ENOMEM;
		for (int64_t k = 0; k < members; k++) {
			unsigned int q = 0;

			while (q < n && (used[q] || tile_of(keep, q) != tile_of(keep, first) ||
					 tile_of(along, q) != k))
				q++;
			if (q == n)
				return part_fail(c, -ENOTSUP,
						 "tiles that not as many partitions have");
			used[q] = true;
			g->replica_ids[g->n_replica_ids++] = q;
		}
		p->replica_groups[p->n_replica_groups++] = g;
	}
	p->channel_id = 1;
	p->use_global_device_ids = true;
	return 0;
}

/* ---- wholes ---- */

static int64_t *one_number(struct part *c, int64_t i)
{
	int64_t *p = convert_alloc(c->v, 1, sizeof(*p));

	if (p)
		*p = i;
	return p;
}

static int gather(struct part *c, struct value *x, unsigned int d)
{
	struct ncc_tiling *keep = part_without(c, x->t, d), *along = tiling_new(c->v, x->t->ndim);
	int64_t dims[NCC_MAX_DIMS];
	hlo_instruction *p;
	int rc;

	if (!keep || !along)
		return -ENOMEM;
	along->tiles[d] = x->t->tiles[d];
	for (unsigned int i = 0; i < c->v->partitions; i++)
		along->at[i * NCC_MAX_DIMS + d] = x->t->at[i * NCC_MAX_DIMS + d];
	part_dims(x->whole, keep, dims);
	p = convert_add(&c->s, "all-gather", part_shape(c, x->whole, dims), &x->p, 1);
	if (!p)
		return -ENOMEM;
	p->metadata = c->at ? c->at->metadata : NULL;
	p->dimensions = one_number(c, d);
	p->n_dimensions = 1;
	rc = p->dimensions ? take_groups(c, p, keep, along) : -ENOMEM;
	x->p = p;
	x->t = tiling_is_whole(keep) ? NULL : keep;
	return rc;
}

hlo_instruction *part_whole(struct part *c, struct value *x)
{
	hlo_instruction **in;

	if (!x->elem)
		return part_move(c, x, NULL) ? NULL : x->p;
	in = convert_alloc(c->v, x->n + 1, sizeof(hlo_instruction *));
	for (size_t i = 0; in && i < x->n; i++) {
		in[i] = part_whole(c, &x->elem[i]);
		if (!in[i])
			return NULL;
	}
	return in ? convert_tuple(&c->s, in, x->n) : NULL;
}

/* ---- parts ---- */

static hlo_instruction *numbers(struct part *c, const int32_t *v, size_t n, bool scalar)
{
	const int64_t dim = (int64_t)n;
	Ncc__Hlo__Literal *l = convert_alloc(c->v, 1, sizeof(*l));
	Ncc__Hlo__Shape *shape = convert_array(c->v, HLO_S32, &dim, !scalar);
	int32_t *own = convert_alloc(c->v, n, sizeof(*own));
	hlo_instruction *p;

	if (!l || !shape || !own)
		return NULL;
	memcpy(own, v, n * sizeof(*own));
	ncc__hlo__literal__init(l);
	l->shape = shape;
	l->s32s = own;
	l->n_s32s = n;
	p = convert_add(&c->s, "constant", shape, NULL, 0);
	if (p)
		p->literal = l;
	return p;
}

static const Ncc__Hlo__Shape *scalar_shape(struct part *c, int type)
{
	return convert_array(c->v, type, NULL, 0);
}

static hlo_instruction *rank_of(struct part *c)
{
	hlo_instruction *p;

	if (c->rank)
		return c->rank;
	p = convert_add(&c->s, "partition-id", scalar_shape(c, HLO_U32), NULL, 0);
	c->rank = p ? convert_add(&c->s, "convert", scalar_shape(c, HLO_S32), &p, 1) : NULL;
	return c->rank;
}

/* s32: the number that a table has for this partition */
static hlo_instruction *own_number(struct part *c, const int32_t *at)
{
	hlo_instruction *in[2], *p;

	in[0] = numbers(c, at, c->v->partitions, false);
	in[1] = rank_of(c);
	if (!in[0] || !in[1])
		return NULL;
	p = convert_add(&c->s, "dynamic-slice", part_shape(c, in[0]->shape, (const int64_t[]){ 1 }),
			in, 2);
	if (!p)
		return NULL;
	p->dynamic_slice_sizes = one_number(c, 1);
	p->n_dynamic_slice_sizes = 1;
	return p->dynamic_slice_sizes
		       ? convert_add(&c->s, "reshape", scalar_shape(c, HLO_S32), &p, 1)
		       : NULL;
}

/* s32: where a partition's tile of a dimension begins */
static hlo_instruction *place_of(struct part *c, const struct ncc_tiling *t, unsigned int d,
				 int64_t each)
{
	int32_t at[TILING_MOST];

	for (unsigned int i = 0; i < c->v->partitions; i++)
		at[i] = (int32_t)(t->at[i * NCC_MAX_DIMS + d] * each);
	return own_number(c, at);
}

/* Does a broadcast, or a count, repeat itself along every dimension that t cuts? */
static bool repeats(const hlo_instruction *p, const struct ncc_tiling *t)
{
	if (strcmp(p->opcode, "broadcast") && strcmp(p->opcode, "iota"))
		return false;
	for (size_t i = 0; i < p->n_dimensions; i++)
		if (t->tiles[p->dimensions[i]] > 1)
			return false;
	return true;
}

/* The operand of an instruction of this computation, which is near its end as a rule */
static hlo_instruction *operand_of(struct part *c, const hlo_instruction *p)
{
	size_t i = c->s.c->n_instructions, looks = MOST_LOOKS;

	while (i-- > 0 && looks--)
		if (c->s.c->instructions[i]->id == p->operand_ids[0])
			return c->s.c->instructions[i];
	return NULL;
}

/* The part of a whole x that t, which cuts what x has whole alone, says; dims are its */
static int slice(struct part *c, struct value *x, const struct ncc_tiling *t, const int64_t *dims)
{
	const size_t rank = x->whole->n_dimensions;
	hlo_instruction *in[NCC_MAX_DIMS + 1] = { x->p }, *p, *zero = NULL;

	if (repeats(x->p, t)) {
		hlo_instruction *from = x->p->n_operand_ids ? operand_of(c, x->p) : NULL;

		if (from || !x->p->n_operand_ids) {
			x->p = part_copy(c, x->p, &from, x->p->n_operand_ids, dims);
			return x->p ? 0 : -ENOMEM;
		}
	}
	for (size_t d = 0; d < rank; d++) {
		if (t->tiles[d] == 1 && !zero)
			zero = numbers(c, (const int32_t[]){ 0 }, 1, true);
		in[d + 1] = t->tiles[d] > 1 ? place_of(c, t, (unsigned int)d, dims[d]) : zero;
		if (!in[d + 1])
			return -ENOMEM;
	}
	p = convert_add(&c->s, "dynamic-slice", part_shape(c, x->whole, dims), in, rank + 1);
	if (!p)
		return -ENOMEM;
	p->metadata = c->at ? c->at->metadata : NULL;
	p->dynamic_slice_sizes = convert_alloc(c->v, rank + 1, sizeof(*p->dynamic_slice_sizes));
	if (!p->dynamic_slice_sizes)
		return -ENOMEM;
	p->n_dynamic_slice_sizes = rank;
	memcpy(p->dynamic_slice_sizes, dims, rank * sizeof(*dims));
	x->p = p;
	return 0;
}

/* What is a sum is summed up. */
static int sum_up(struct part *c, struct value *x)
{
	struct ncc_tiling *keep = part_without(c, x->t, x->t->ndim), *along = tiling_new(c->v, 1);

	if (!keep || !along)
		return -ENOMEM;
	keep->terms = 1;
	along->tiles[0] = x->t->terms;
	for (unsigned int i = 0; i < c->v->partitions; i++)
		along->at[i * NCC_MAX_DIMS] = x->t->term[i];
	x->p = part_reduce(c, x->p, part_add(c, x->whole->element_type), keep, along);
	x->t = tiling_is_whole(keep) ? NULL : keep;
	return x->p ? 0 : -ENOTSUP;
}

/* A value becomes a sum, of itself and zeros. */
static int make_term(struct part *c, struct value *x, const struct ncc_tiling *t)
{
	const Ncc__Hlo__Shape *shape = x->p->shape;
	Ncc__Hlo__Shape *pred = convert_alloc(c->v, 1, sizeof(*pred));
	hlo_instruction *in[3] = { NULL, x->p, NULL }, *zero, *which;
	int32_t first[TILING_MOST];

	for (unsigned int i = 0; i < c->v->partitions; i++)
		first[i] = t->term[i] == 0;
	which = own_number(c, first);
	zero = numbers(c, (const int32_t[]){ 0 }, 1, true);
	if (!pred || !which || !zero)
		return -ENOMEM;
	*pred = *shape;
	pred->element_type = HLO_PRED;
	which = convert_add(&c->s, "convert", scalar_shape(c, HLO_PRED), &which, 1);
	zero = convert_add(&c->s, "convert", scalar_shape(c, shape->element_type), &zero, 1);
	in[0] = which ? convert_add(&c->s, "broadcast", pred, &which, 1) : NULL;
	in[2] = zero ? convert_add(&c->s, "broadcast", shape, &zero, 1) : NULL;
	x->p = in[0] && in[2] ? convert_add(&c->s, "select", shape, in, 3) : NULL;
	return x->p ? 0 : -ENOMEM;
}

static bool same_terms(const struct part *c, const struct ncc_tiling *a, const struct ncc_tiling *b)
{
	const int64_t m = a ? a->terms : 1, n = b ? b->terms : 1;

	return m == n && (m == 1 || !memcmp(a->term, b->term, c->v->partitions));
}

static int place(struct part *c, struct value *x, const struct ncc_tiling *t);

int part_move(struct part *c, struct value *x, const struct ncc_tiling *t)
{
	const bool same = !x->elem && same_terms(c, x->t, t);
	int rc = !x->elem && !same && x->t && x->t->terms > 1 ? sum_up(c, x) : 0;

	rc = rc ? rc : place(c, x, t);
	return !rc && !same && t && t->terms > 1 ? make_term(c, x, t) : rc;
}

static int place(struct part *c, struct value *x, const struct ncc_tiling *t)
{
	struct ncc_tiling *cut;
	int64_t dims[NCC_MAX_DIMS];
	bool any = false;
	int rc = 0;

	if (x->elem)
		return part_fail(c, -EINVAL, "a tuple that would be divided among devices");
	for (unsigned int d = 0; x->t && d < x->t->ndim && !rc; d++)
		if (x->t->tiles[d] > 1 && (!t || !tiling_same(c->v, x->t, t, d)))
			rc = gather(c, x, d);
	if (rc || !t)
		return rc;
	cut = tiling_new(c->v, t->ndim);
	if (!cut)
		return -ENOMEM;
	for (unsigned int d = 0; d < t->ndim; d++) {
		if (t->tiles[d] == 1 || (x->t && x->t->tiles[d] > 1))
			continue;
		any = true;
		cut->tiles[d] = t->tiles[d];
		for (unsigned int p = 0; p < c->v->partitions; p++)
			cut->at[p * NCC_MAX_DIMS + d] = t->at[p * NCC_MAX_DIMS + d];
	}
	if (!part_dims(x->whole, t, dims))
		return part_fail(c, -ENOTSUP, "a dimension that its devices do not divide");
	rc = any ? slice(c, x, cut, dims) : 0;
	x->t = tiling_is_whole(t) ? NULL : t;
	return rc;
}

/* ---- sums ---- */

hlo_instruction *part_reduce(struct part *c, hlo_instruction *x, int64_t computation,
			     const struct ncc_tiling *keep, const struct ncc_tiling *along)
{
	hlo_instruction *p = convert_add(&c->s, "all-reduce", x->shape, &x, 1);

	if (!p || !computation)
		return NULL;
	p->metadata = c->at ? c->at->metadata : NULL;
	p->called_computation_ids = one_number(c, computation);
	p->n_called_computation_ids = 1;
	return p->called_computation_ids && !take_groups(c, p, keep, along) ? p : NULL;
}

int64_t part_add(struct part *c, int type)
{
	struct scope in = { 0 };
	hlo_instruction *x[2], *sum;

	if (convert_open(&in, c->v, "add"))
		return 0;
	for (unsigned int i = 0; i < 2; i++) {
		x[i] = convert_add(&in, "parameter", scalar_shape(c, type), NULL, 0);
		if (!x[i])
			return 0;
		x[i]->parameter_number = i;
	}
	sum = convert_add(&in, type == HLO_PRED ? "or" : "add", scalar_shape(c, type), x, 2);
	return convert_close(&in, sum) ? 0 : in.c->id;
}
