// SPDX-License-Identifier: MIT
/*
 * sort and topk by the places of keys in order (expand/order.c): a comparison is of the same
 * function of one operand's two elements, which becomes integers of its order.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "order.h"

#define MAX_DEPTH 16 /* of the computation */

/* The order of elements: by the first key, equal ones by the next one, ... */
struct keys {
	unsigned int n;
	struct ncc_op *key[HLO_MANY];
	bool descending[HLO_MANY];
};

static const Ncc__Hlo__Instruction *operand(const Ncc__Hlo__Computation *c,
					    const Ncc__Hlo__Instruction *p, unsigned int i)
{
	return p && i < p->n_operand_ids ? hlo_by_id(c, p->operand_ids[i]) : NULL;
}

static bool is_called(const Ncc__Hlo__Instruction *p, const char *opcode)
{
	return p && !strcmp(p->opcode, opcode) && p->n_operand_ids == 2;
}

/* Is a made of an operand's first element as b is of its second one? */
static bool alike(const Ncc__Hlo__Computation *c, int64_t ia, int64_t ib, unsigned int depth)
{
	static const char *const plain[] = { "select",	 "compare", "convert",	"bitcast-convert",
					     "negate",	 "abs",	    "not",	"and",
					     "or",	 "xor",	    "subtract", "add",
					     "multiply", NULL };
	const Ncc__Hlo__Instruction *a = hlo_by_id(c, ia), *b = hlo_by_id(c, ib);
	unsigned int k = 0;

	if (!a || !b || depth > MAX_DEPTH)
		return false;
	for (unsigned int i = 0; i < HLO_MANY; i++)
		if (hlo_is_parameter(a, 2 * i))
			return hlo_is_parameter(b, 2 * i + 1);
	if (!strcmp(a->opcode, "constant"))
		return a == b;
	while (plain[k] && strcmp(plain[k], a->opcode))
		k++;
	if (!plain[k] || strcmp(a->opcode, b->opcode) || a->n_operand_ids != b->n_operand_ids ||
	    strcmp(a->comparison_direction, b->comparison_direction) ||
	    hlo_is_total(a) != hlo_is_total(b) || !a->shape || !b->shape ||
	    a->shape->element_type != b->shape->element_type)
		return false;
	for (size_t i = 0; i < a->n_operand_ids; i++)
		if (!alike(c, a->operand_ids[i], b->operand_ids[i], depth + 1))
			return false;
	return true;
}

/* Does it compare what is made of both elements alike? The second one with the first: turned */
static bool is_comparison(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *p,
			  bool *turned)
{
	if (!is_called(p, "compare"))
		return false;
	*turned = alike(c, p->operand_ids[1], p->operand_ids[0], 0);
	return *turned || alike(c, p->operand_ids[0], p->operand_ids[1], 0);
}

static bool same_operands(const Ncc__Hlo__Instruction *a, const Ncc__Hlo__Instruction *b)
{
	const int64_t *x = a->operand_ids, *y = b->operand_ids;

	return (x[0] == y[0] && x[1] == y[1]) || (x[0] == y[1] && x[1] == y[0]);
}

/* a < b, or: a < b | (a = b & the same of other keys). How many keys? 0: it is another one */
static unsigned int count_keys(const Ncc__Hlo__Computation *c, bool *turned)
{
	const Ncc__Hlo__Instruction *p = hlo_by_id(c, c->root_id), *less, *both, *equal;
	unsigned int n = 0;

	for (; is_called(p, "or") && n + 1 < HLO_MANY; n++) {
		less = operand(c, p, 0);
		both = operand(c, p, 1);
		equal = operand(c, both, 0);
		if (!is_comparison(c, less, &turned[n]) || !is_called(both, "and") ||
		    !is_called(equal, "compare") || strcmp(equal->comparison_direction, "EQ") ||
		    !same_operands(equal, less))
			return 0;
		p = operand(c, both, 1);
	}
	return is_comparison(c, p, &turned[n]) ? n + 1 : 0;
}

/* A comparison's operand; floats have equal zeros. false: it is none by which one can sort */
static bool take_key(struct hlo_inst *in, const struct ncc_op *less, struct keys *k)
{
	struct ncc_op *key = less->in[0], *zero;

	if ((less->kind != NCC_LT && less->kind != NCC_GT) || key->shape.pred)
		return false;
	if (ncc_is_float(key->shape.dtype)) {
		zero = build_splat(&in->b, &key->shape, 0);
		key = zero ? build_select(&in->b, build_compare(&in->b, NCC_EQ, key, zero), zero,
					  key)
			   : NULL;
	}
	k->descending[k->n] ^= less->kind == NCC_GT;
	k->key[k->n++] = key;
	return true;
}

/* The computation's key, of all of x; none: it is not such a computation. */
static int compared(struct hlo_inst *in, struct ncc_op **x, struct keys *k)
{
	const Ncc__Hlo__Computation *c = hlo_called(in, 0);
	unsigned int n = count_keys(c, k->descending);
	struct ncc_op *arg[2 * HLO_MANY], *op;
	struct hlo_value v;
	int rc;

	k->n = 0;
	if (!n)
		return 0;
	for (unsigned int i = 0; i < in->nin; i++)
		arg[2 * i] = arg[2 * i + 1] = x[i];
	rc = hlo_lift(in, c, &x[0]->shape, arg, 2 * in->nin, &v);
	if (rc)
		return rc;
	op = v.n == 1 ? v.op[0] : NULL;
	for (unsigned int i = 0; op && i < n; i++) {
		bool last = i + 1 == n;

		if (!last && (op->kind != NCC_OR || op->in[1]->kind != NCC_AND))
			break;
		if (!take_key(in, last ? op : op->in[0], k))
			break;
		op = last ? op : op->in[1]->in[1];
	}
	k->n = k->n == n ? n : 0;
	for (unsigned int i = 0; i < k->n; i++)
		if (!k->key[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	return 0;
}

/* Is x the number of each element along dimension d? */
static bool is_count(const struct ncc_op *x, unsigned int d)
{
	const struct ncc_op *c = x->kind == NCC_BROADCAST && x->map[0] == d ? x->in[0] : x;

	if (c->kind != NCC_CONST || c->shape.ndim != 1 || c->shape.dim[0] != x->shape.dim[d] ||
	    ncc_is_float(c->shape.dtype))
		return false;
	for (int64_t i = 0; i < c->shape.dim[0]; i++)
		if (ncc_get(c->shape.dtype, c->data, i) != (double)i)
			return false;
	return true;
}

/*
 * The places of the first n along dimension d, in rows. By several keys: those of the last one are
 * put in order by the one before it, which leaves equal ones as they are, and so on.
 */
static struct ncc_op *places_of(struct ncc_build *bl, const struct keys *k, unsigned int d,
				int64_t n)
{
	struct ncc_op *place = NULL;

	for (unsigned int i = k->n; i--;) {
		struct ncc_op *rows = expand_as_rows(bl, k->key[i], d), *order;

		if (i + 1 < k->n)
			rows = expand_take_places(bl, rows, place);
		order = expand_order(bl, rows, i ? k->key[i]->shape.dim[d] : n, k->descending[i]);
		place = i + 1 < k->n ? expand_take_places(bl, place, order) : order;
	}
	return place;
}

/* The operands at these places, of which there are n */
static int take_order(struct hlo_inst *in, struct ncc_op *place, unsigned int d, int64_t n,
		      struct ncc_op **x, unsigned int nx)
{
	struct ncc_build *bl = &in->b;

	for (unsigned int i = 0; i < nx; i++) {
		struct ncc_shape s = x[i]->shape;
		struct ncc_op *r;

		if (place && is_count(x[i], d))
			r = build_cast(bl, place, s.dtype);
		else
			r = expand_take_places(bl, expand_as_rows(bl, x[i], d), place);
		s.dim[d] = n;
		x[i] = r ? expand_from_rows(bl, r, &s, d) : NULL;
		if (!x[i])
			return in->imp->err->text[0] ? -EINVAL
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

int hlo_sort_by_place(struct hlo_inst *in, struct ncc_op **x, unsigned int d)
{
	int64_t n = x[0]->shape.dim[d];
	struct keys k;
	int rc = compared(in, x, &k);

	if (rc || !k.n)
		return rc;
	for (unsigned int i = 0; i < k.n; i++)
		if (!expand_has_order(&k.key[i]->shape, d, n) || !expand_order_pays(n))
			return 0;
	rc = take_order(in, places_of(&in->b, &k, d, n), d, n, x, in->nin);
	return rc ? rc : 1;
}

int hlo_top_by_place(struct hlo_inst *in, struct ncc_op **x, int64_t n, bool largest)
{
	unsigned int d = x[0]->shape.ndim - 1;
	const uint8_t along = (uint8_t)d;
	struct keys k = { 1, { x[0] }, { largest } };
	struct ncc_shape s = x[0]->shape;

	if (!expand_has_order(&s, d, n))
		return hlo_fail(in, -ENOTSUP, "the best %lld of %lld, in so many rows",
				(long long)n, (long long)s.dim[d]);
	s.dtype = NEURON_DT_INT32;
	s.pred = false;
	x[1] = build_count(&in->b, s.dim[d]);
	x[1] = x[1] ? build_spread(&in->b, &s, x[1], &along) : NULL;
	if (!x[1])
		return hlo_fail(in, -ENOMEM, "out of memory");
	return take_order(in, places_of(&in->b, &k, d, n), d, n, x, 2);
}
