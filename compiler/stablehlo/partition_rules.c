// SPDX-License-Identifier: MIT
/*
 * What operations do with values that lie on several partitions: a row a kind, in the order of
 * strcmp (partition.h). A rule looks at where the operands lie, moves them where it must, and makes
 * the operation on parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"

#define MANY 16 /* operands of an operation that has a rule for any number of them */

typedef int (*rule_fn)(struct part *c, const hlo_instruction *p, struct value *in,
		       struct value *out);

static int64_t tiles(const struct ncc_tiling *t)
{
	int64_t n = 1;

	for (unsigned int d = 0; t && d < t->ndim; d++)
		n *= t->tiles[d];
	return n;
}

/* Dimension d of t becomes dimension e of to. */
static void carry(const struct part *c, const struct ncc_tiling *t, unsigned int d,
		  struct ncc_tiling *to, unsigned int e)
{
	if (!t || t->tiles[d] == 1)
		return;
	to->tiles[e] = t->tiles[d];
	for (unsigned int p = 0; p < c->v->partitions; p++)
		to->at[p * NCC_MAX_DIMS + e] = t->at[p * NCC_MAX_DIMS + d];
}

static int finish(struct part *c, const hlo_instruction *p, struct value *in, size_t n,
		  const struct ncc_tiling *t, struct value *out)
{
	hlo_instruction *x[MANY];
	int64_t dims[NCC_MAX_DIMS];

	for (size_t i = 0; i < n; i++)
		x[i] = in[i].p;
	if (!part_dims(p->shape, t, dims))
		return part_fail(c, -ENOTSUP, "a dimension that its devices do not divide");
	out->p = part_copy(c, p, x, n, dims);
	out->t = t && !tiling_is_whole(t) ? t : NULL;
	return out->p ? 0 : -ENOMEM;
}

static bool same_rank(const Ncc__Hlo__Shape *a, const Ncc__Hlo__Shape *b)
{
	return a->n_dimensions == b->n_dimensions;
}

/* As the operand that is cut most; others of that rank follow, scalars are whole anyway. */
static int elementwise(struct part *c, const hlo_instruction *p, struct value *in,
		       struct value *out)
{
	const struct ncc_tiling *t = NULL;
	int rc = 0;

	if (p->n_operand_ids > MANY || p->shape->element_type == HLO_TUPLE)
		return 1;
	for (size_t i = 0; i < p->n_operand_ids; i++) {
		if (in[i].elem)
			return 1;
		if (same_rank(in[i].whole, p->shape) && tiles(in[i].t) > tiles(t))
			t = in[i].t;
	}
	for (size_t i = 0; i < p->n_operand_ids && !rc; i++)
		rc = part_move(c, &in[i], same_rank(in[i].whole, p->shape) ? t : NULL);
	return rc ? rc : finish(c, p, in, p->n_operand_ids, t, out);
}

static int broadcast(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)p->shape->n_dimensions);

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_dimensions && i < in->whole->n_dimensions; i++)
		carry(c, in->t, (unsigned int)i, t, (unsigned int)p->dimensions[i]);
	return finish(c, p, in, 1, t, out);
}

static int transpose(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)p->shape->n_dimensions);

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_dimensions; i++)
		carry(c, in->t, (unsigned int)p->dimensions[i], t, (unsigned int)i);
	return finish(c, p, in, 1, t, out);
}

/* A dimension of the result before which there are as many elements, and which the tiles divide */
static int matching(const Ncc__Hlo__Shape *from, unsigned int d, const Ncc__Hlo__Shape *to,
		    int64_t n)
{
	int64_t before = 1, there = 1;

	for (unsigned int i = 0; i < d; i++)
		before *= from->dimensions[i];
	for (size_t e = 0; e < to->n_dimensions; e++) {
		if (there == before && to->dimensions[e] % n == 0 && to->dimensions[e] > 1)
			return (int)e;
		there *= to->dimensions[e];
	}
	return -1;
}

static int reshape(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)p->shape->n_dimensions);
	const struct ncc_tiling *keep = in->t;
	int rc;

	if (!t)
		return -ENOMEM;
	for (unsigned int d = 0; d < in->t->ndim; d++) {
		const int e = in->t->tiles[d] > 1
				      ? matching(in->whole, d, p->shape, in->t->tiles[d])
				      : -1;

		if (e >= 0 && t->tiles[e] == 1)
			carry(c, in->t, d, t, (unsigned int)e);
		else if (in->t->tiles[d] > 1)
			keep = keep ? part_without(c, keep, d) : NULL;
	}
	rc = part_move(c, in, keep);
	return rc ? rc : finish(c, p, in, 1, t, out);
}

/* ---- dimensions that are touched are whole, the others stay as they are ---- */

static int keeping(struct part *c, const hlo_instruction *p, struct value *in, size_t n,
		   const bool *touched, struct value *out)
{
	const struct ncc_tiling *t = NULL;
	int rc = 0;

	if (n > MANY)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (tiles(in[i].t) > tiles(t))
			t = in[i].t;
	for (unsigned int d = 0; t && d < t->ndim; d++)
		if (touched[d] && t->tiles[d] > 1)
			t = part_without(c, t, d);
	for (size_t i = 0; i < n && !rc; i++)
		rc = part_move(c, &in[i], t);
	return rc ? rc : finish(c, p, in, p->n_operand_ids, t, out);
}

static int concatenate(struct part *c, const hlo_instruction *p, struct value *in,
		       struct value *out)
{
	bool touched[NCC_MAX_DIMS] = { false };

	if (p->n_dimensions != 1 || p->dimensions[0] < 0 || p->dimensions[0] >= NCC_MAX_DIMS)
		return 1;
	touched[p->dimensions[0]] = true;
	return keeping(c, p, in, p->n_operand_ids, touched, out);
}

static int reverse(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	bool touched[NCC_MAX_DIMS] = { false };

	for (size_t i = 0; i < p->n_dimensions; i++)
		touched[p->dimensions[i] & (NCC_MAX_DIMS - 1)] = true;
	return keeping(c, p, in, 1, touched, out);
}

static int slice(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	bool touched[NCC_MAX_DIMS] = { false };
	int rc;

	if (p->n_slice_dimensions != in->whole->n_dimensions)
		return 1;
	for (size_t d = 0; d < p->n_slice_dimensions; d++)
		touched[d] = p->shape->dimensions[d] != in->whole->dimensions[d] ||
			     p->slice_dimensions[d]->stride != 1;
	rc = keeping(c, p, in, 1, touched, out);
	if (rc)
		return rc;
	out->p->slice_dimensions =
		convert_alloc(c->v, p->n_slice_dimensions + 1, sizeof(*p->slice_dimensions));
	for (size_t d = 0; out->p->slice_dimensions && d < p->n_slice_dimensions; d++) {
		Ncc__Hlo__SliceDimensions *s = convert_alloc(c->v, 1, sizeof(*s));

		if (!s)
			return -ENOMEM;
		*s = *p->slice_dimensions[d];
		if (!touched[d])
			s->limit = out->p->shape->dimensions[d];
		out->p->slice_dimensions[d] = s;
	}
	return out->p->slice_dimensions ? 0 : -ENOMEM;
}

static int pad(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	bool touched[NCC_MAX_DIMS] = { false };
	const Ncc__Hlo__PaddingConfig *k = p->padding_config;

	if (!k || k->n_dimensions != in->whole->n_dimensions || in[1].t)
		return 1;
	for (size_t d = 0; d < k->n_dimensions; d++)
		touched[d] = k->dimensions[d]->edge_padding_low ||
			     k->dimensions[d]->edge_padding_high ||
			     k->dimensions[d]->interior_padding;
	return keeping(c, p, in, 1, touched, out);
}

/* ---- sums ---- */

static bool is_number(const struct part *c, const hlo_instruction *p, double v)
{
	const Ncc__Hlo__Literal *l = p->literal;

	(void)c;
	if (strcmp(p->opcode, "constant") || !l || p->shape->n_dimensions)
		return false;
	if (l->n_f32s == 1)
		return (double)l->f32s[0] == v;
	if (l->n_s32s == 1)
		return l->s32s[0] == v;
	if (l->n_u32s == 1)
		return l->u32s[0] == v;
	/* zeros of narrow types, by their bytes */
	if (v != 0)
		return false;
	for (size_t i = 0; i < l->bf16s.len; i++)
		if (l->bf16s.data[i])
			return false;
	for (size_t i = 0; i < l->f16s.len; i++)
		if (l->f16s.data[i])
			return false;
	return l->bf16s.len || l->f16s.len;
}

/* May the initial value count once for each partition that has a part? */
static bool counts_often(const struct part *c, const hlo_instruction *p,
			 const hlo_instruction *init)
{
	const hlo_computation_message *m = NULL;
	const hlo_instruction *root = NULL;

	for (size_t i = 0; i < c->v->proto->n_computations; i++)
		if (p->n_called_computation_ids == 1 &&
		    c->v->proto->computations[i]->id == p->called_computation_ids[0])
			m = c->v->proto->computations[i];
	for (size_t i = 0; m && i < m->n_instructions; i++)
		if (m->instructions[i]->id == m->root_id)
			root = m->instructions[i];
	if (!root || m->n_instructions != 3)
		return false;
	if (!strcmp(root->opcode, "add"))
		return is_number(c, init, 0);
	return !strcmp(root->opcode, "maximum") || !strcmp(root->opcode, "minimum") ||
	       !strcmp(root->opcode, "and") || !strcmp(root->opcode, "or");
}

static int reduce(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)p->shape->n_dimensions), *along;
	bool gone[NCC_MAX_DIMS] = { false };
	unsigned int e = 0;
	int rc = 0;

	if (p->n_operand_ids != 2 || !in[0].t || in[1].t || p->shape->element_type == HLO_TUPLE)
		return 1;
	along = tiling_new(c->v, in[0].t->ndim);
	if (!t || !along)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_dimensions; i++)
		gone[p->dimensions[i] & (NCC_MAX_DIMS - 1)] = true;
	if (!counts_often(c, p, in[1].p)) {
		const struct ncc_tiling *keep = in[0].t;

		for (unsigned int d = 0; keep && d < keep->ndim; d++)
			if (gone[d] && keep->tiles[d] > 1)
				keep = part_without(c, keep, d);
		rc = keep ? part_move(c, &in[0], keep) : -ENOMEM;
		if (rc)
			return rc;
	}
	for (unsigned int d = 0; d < in[0].whole->n_dimensions; d++) {
		if (gone[d])
			carry(c, in[0].t, d, along, d);
		else
			carry(c, in[0].t, d, t, e++);
	}
	rc = finish(c, p, in, 2, t, out);
	if (rc || tiling_is_whole(along))
		return rc;
	out->p = part_reduce(c, out->p, p->called_computation_ids[0], t, along);
	return out->p ? 0 : -ENOTSUP;
}

static bool in_list(size_t n, const int64_t *list, unsigned int d, size_t *at)
{
	for (*at = 0; *at < n; ++*at)
		if (list[*at] == d)
			return true;
	return false;
}

/* The result's tiling: batch dimensions, then those of each operand that are not summed over */
static struct ncc_tiling *product_tiling(struct part *c, const hlo_instruction *p,
					 const struct value *in, bool right)
{
	const Ncc__Hlo__DotDimensionNumbers *k = p->dot_dimension_numbers;
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)p->shape->n_dimensions);
	unsigned int e = (unsigned int)k->n_lhs_batch_dimensions;
	size_t at;

	for (size_t i = 0; t && i < k->n_lhs_batch_dimensions; i++)
		carry(c, in[0].t ? in[0].t : in[1].t,
		      (unsigned int)(in[0].t ? k->lhs_batch_dimensions[i]
					     : k->rhs_batch_dimensions[i]),
		      t, (unsigned int)i);
	for (unsigned int d = 0; t && d < in[0].whole->n_dimensions; d++)
		if (!in_list(k->n_lhs_batch_dimensions, k->lhs_batch_dimensions, d, &at) &&
		    !in_list(k->n_lhs_contracting_dimensions, k->lhs_contracting_dimensions, d,
			     &at))
			carry(c, in[0].t, d, t, e++);
	for (unsigned int d = 0; t && right && d < in[1].whole->n_dimensions; d++)
		if (!in_list(k->n_rhs_batch_dimensions, k->rhs_batch_dimensions, d, &at) &&
		    !in_list(k->n_rhs_contracting_dimensions, k->rhs_contracting_dimensions, d,
			     &at))
			carry(c, in[1].t, d, t, e++);
	return t;
}

/* Gives x the other operand's cuts along the dimensions that both share. */
static int follow(struct part *c, struct value *x, const struct value *other, const int64_t *own,
		  const int64_t *its, size_t n)
{
	struct ncc_tiling *t = tiling_new(c->v, (unsigned int)x->whole->n_dimensions);

	if (!t)
		return -ENOMEM;
	for (unsigned int d = 0; x->t && d < x->t->ndim; d++)
		carry(c, x->t, d, t, d);
	for (size_t i = 0; i < n; i++) {
		const unsigned int d = (unsigned int)own[i];

		t->tiles[d] = 1;
		for (unsigned int p = 0; p < c->v->partitions; p++)
			t->at[p * NCC_MAX_DIMS + d] = 0;
		carry(c, other->t, (unsigned int)its[i], t, d);
	}
	return part_move(c, x, t);
}

static int64_t shared_tiles(const struct value *x, const int64_t *dims, size_t n)
{
	int64_t all = 1;

	for (size_t i = 0; i < n && x->t; i++)
		all *= x->t->tiles[dims[i]];
	return all;
}

/* All dimensions that both operands share, batch ones first */
struct shared {
	int64_t dim[2][2 * NCC_MAX_DIMS];
	size_t n;
};

static bool take_shared(const hlo_instruction *p, const struct value *in, struct shared *s)
{
	const Ncc__Hlo__DotDimensionNumbers *k = p->dot_dimension_numbers;

	s->n = 0;
	if (!k || k->n_lhs_batch_dimensions != k->n_rhs_batch_dimensions ||
	    k->n_lhs_contracting_dimensions != k->n_rhs_contracting_dimensions ||
	    k->n_lhs_batch_dimensions + k->n_lhs_contracting_dimensions > NCC_MAX_DIMS)
		return false;
	for (size_t i = 0; i < k->n_lhs_batch_dimensions; i++, s->n++) {
		s->dim[0][s->n] = k->lhs_batch_dimensions[i];
		s->dim[1][s->n] = k->rhs_batch_dimensions[i];
	}
	for (size_t i = 0; i < k->n_lhs_contracting_dimensions; i++, s->n++) {
		s->dim[0][s->n] = k->lhs_contracting_dimensions[i];
		s->dim[1][s->n] = k->rhs_contracting_dimensions[i];
	}
	for (size_t i = 0; i < s->n; i++)
		for (unsigned int side = 0; side < 2; side++)
			if (s->dim[side][i] < 0 ||
			    (size_t)s->dim[side][i] >= in[side].whole->n_dimensions)
				return false;
	return true;
}

static int product(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	const Ncc__Hlo__DotDimensionNumbers *k = p->dot_dimension_numbers;
	struct ncc_tiling *t, *along;
	struct shared s;
	int rc;

	if (!take_shared(p, in, &s))
		return 1;
	/* the operand that is cut less along what both share follows the other one */
	rc = shared_tiles(&in[0], s.dim[0], s.n) >= shared_tiles(&in[1], s.dim[1], s.n)
		     ? follow(c, &in[1], &in[0], s.dim[1], s.dim[0], s.n)
		     : follow(c, &in[0], &in[1], s.dim[0], s.dim[1], s.n);
	if (rc)
		return rc;
	along = tiling_new(c->v, (unsigned int)in[0].whole->n_dimensions);
	for (size_t i = k->n_lhs_batch_dimensions; along && i < s.n; i++)
		carry(c, in[0].t, (unsigned int)s.dim[0][i], along, (unsigned int)s.dim[0][i]);
	t = product_tiling(c, p, in, true);
	if (!t || !along)
		return -ENOMEM;
	/* both are cut along one axis of the mesh, so that not every tile of the result is there */
	if (!part_is_even(c->v, t)) {
		struct ncc_tiling *keep = tiling_new(c->v, (unsigned int)in[1].whole->n_dimensions);

		for (size_t i = 0; keep && i < s.n; i++)
			carry(c, in[1].t, (unsigned int)s.dim[1][i], keep,
			      (unsigned int)s.dim[1][i]);
		rc = keep ? part_move(c, &in[1], keep) : -ENOMEM;
		t = rc ? NULL : product_tiling(c, p, in, false);
		if (!t)
			return rc ? rc : -ENOMEM;
	}
	rc = finish(c, p, in, 2, t, out);
	if (rc || tiling_is_whole(along))
		return rc;
	out->p = part_reduce(c, out->p, part_add(c, p->shape->element_type), t, along);
	return out->p ? 0 : -ENOTSUP;
}

static const struct {
	const char *opcode;
	rule_fn rule;
} rules[] = {
	/* clang-format off */
	{ "abs", elementwise },
	{ "add", elementwise },
	{ "and", elementwise },
	{ "atan2", elementwise },
	{ "bitcast-convert", elementwise },
	{ "broadcast", broadcast },
	{ "cbrt", elementwise },
	{ "ceil", elementwise },
	{ "clamp", elementwise },
	{ "compare", elementwise },
	{ "concatenate", concatenate },
	{ "convert", elementwise },
	{ "copy", elementwise },
	{ "cosine", elementwise },
	{ "divide", elementwise },
	{ "dot", product },
	{ "erf", elementwise },
	{ "exponential", elementwise },
	{ "exponential-minus-one", elementwise },
	{ "floor", elementwise },
	{ "is-finite", elementwise },
	{ "log", elementwise },
	{ "log-plus-one", elementwise },
	{ "logistic", elementwise },
	{ "maximum", elementwise },
	{ "minimum", elementwise },
	{ "multiply", elementwise },
	{ "negate", elementwise },
	{ "not", elementwise },
	{ "or", elementwise },
	{ "pad", pad },
	{ "popcnt", elementwise },
	{ "power", elementwise },
	{ "reduce", reduce },
	{ "reduce-precision", elementwise },
	{ "remainder", elementwise },
	{ "reshape", reshape },
	{ "reverse", reverse },
	{ "round-nearest-afz", elementwise },
	{ "round-nearest-even", elementwise },
	{ "rsqrt", elementwise },
	{ "select", elementwise },
	{ "shift-left", elementwise },
	{ "shift-right-arithmetic", elementwise },
	{ "shift-right-logical", elementwise },
	{ "sign", elementwise },
	{ "sine", elementwise },
	{ "slice", slice },
	{ "sqrt", elementwise },
	{ "subtract", elementwise },
	{ "tan", elementwise },
	{ "tanh", elementwise },
	{ "transpose", transpose },
	{ "xor", elementwise },
	/* clang-format on */
};

static int by_opcode(const void *opcode, const void *row)
{
	return strcmp(opcode, *(const char *const *)row);
}

int part_rule(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	const void *row = bsearch(p->opcode, rules, sizeof(rules) / sizeof(rules[0]),
				  sizeof(rules[0]), by_opcode);

	for (size_t i = 0; i < p->n_operand_ids; i++)
		if (in[i].own || in[i].elem || in[i].whole->n_dimensions > NCC_MAX_DIMS)
			return 1;
	if (!row || p->shape->n_dimensions > NCC_MAX_DIMS)
		return 1;
	for (size_t i = 0; i < p->n_operand_ids; i++) {
		struct ncc_tiling *t;
		int rc;

		if (!in[i].t || in[i].t->terms == 1)
			continue;
		t = part_without(c, in[i].t, in[i].t->ndim);
		if (!t)
			return -ENOMEM;
		t->terms = 1;
		rc = part_move(c, &in[i], t);
		if (rc)
			return rc;
	}
	return rules[((const char *)row - (const char *)rules) / sizeof(rules[0])].rule(c, p, in,
											out);
}
