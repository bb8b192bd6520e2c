// SPDX-License-Identifier: MIT
/*
 * sort and topk by ranks (expand/order.c), where that takes less than a network: the comparison is
 * of the same function of one operand's two elements, which becomes integers of its order.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "order.h"

#define MAX_DEPTH 16 /* of the computation */
#define STEP 250000 /* comparisons that take as long as a step of a network by itself */
#define EXCHANGE 19 /* and as one of its elements */

/* Is b made of parameter 1 as a is of parameter 0? */
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
	if (hlo_is_parameter(a, 0))
		return hlo_is_parameter(b, 1);
	if (!strcmp(a->opcode, "constant"))
		return a == b;
	while (plain[k] && strcmp(plain[k], a->opcode))
		k++;
	if (!plain[k] || strcmp(a->opcode, b->opcode) || a->n_operand_ids != b->n_operand_ids ||
	    strcmp(a->comparison_direction, b->comparison_direction) ||
	    strcmp(a->comparison_type, b->comparison_type) || !a->shape || !b->shape ||
	    a->shape->element_type != b->shape->element_type)
		return false;
	for (size_t i = 0; i < a->n_operand_ids; i++)
		if (!alike(c, a->operand_ids[i], b->operand_ids[i], depth + 1))
			return false;
	return true;
}

/* What the computation compares, of all of x; NULL: it is not such a computation. */
static int compared(struct hlo_inst *in, struct ncc_op *x, struct ncc_op **key, bool *descending)
{
	const Ncc__Hlo__Computation *c = hlo_called(in, 0);
	const Ncc__Hlo__Instruction *root = hlo_by_id(c, c->root_id);
	struct ncc_op *arg[2 * HLO_MANY];
	struct hlo_value v;
	int rc;

	*key = NULL;
	if (!root || strcmp(root->opcode, "compare") || root->n_operand_ids != 2 ||
	    !alike(c, root->operand_ids[0], root->operand_ids[1], 0))
		return 0;
	for (unsigned int i = 0; i < in->nin; i++)
		arg[2 * i] = arg[2 * i + 1] = i ? in->in[i].op[0] : x;
	rc = hlo_lift(in, c, &x->shape, arg, 2 * in->nin, &v);
	if (rc)
		return rc;
	if (v.n != 1 || (v.op[0]->kind != NCC_LT && v.op[0]->kind != NCC_GT))
		return 0;
	*key = v.op[0]->in[0];
	*descending = v.op[0]->kind == NCC_GT;
	if (!ncc_is_float((*key)->shape.dtype))
		return 0;
	x = build_splat(&in->b, &(*key)->shape, 0); /* equal zeros */
	x = x ? build_select(&in->b, build_compare(&in->b, NCC_EQ, *key, x), x, *key) : NULL;
	*key = x;
	return x ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
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

/* The operands, in order along dimension d by the keys, of which the first n are wanted */
static int take_order(struct hlo_inst *in, struct ncc_op *key, bool descending, unsigned int d,
		      int64_t n, struct ncc_op **x, unsigned int nx)
{
	struct ncc_build *bl = &in->b;
	struct ncc_op *place = expand_order(bl, expand_as_rows(bl, key, d), n, descending);

	for (unsigned int i = 0; i < nx; i++) {
		struct ncc_shape s = x[i]->shape;
		struct ncc_op *r =
			is_count(x[i], d)
				? build_cast(bl, place, s.dtype)
				: expand_take_places(bl, expand_as_rows(bl, x[i], d), place);

		s.dim[d] = n;
		x[i] = expand_from_rows(bl, r, &s, d);
		if (!x[i])
			return in->imp->err->text[0] ? -EINVAL
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Do ranks take less than a network's l (l + 1) / 2 steps for 2^l elements? */
static bool ranks_are_better(const struct ncc_shape *s, unsigned int d, int64_t n)
{
	int64_t rows = ncc_elems(s) / s->dim[d], padded = 1, l = 0;

	for (; padded < s->dim[d]; padded *= 2)
		l++;
	return ncc_dtype_size(s->dtype) <= 4 &&
	       expand_has_order(rows, s->dim[d], n,
				(double)(l * (l + 1) / 2) *
					(STEP + EXCHANGE * (double)rows * (double)padded));
}

int hlo_sort_by_rank(struct hlo_inst *in, struct ncc_op **x, unsigned int d)
{
	struct ncc_op *key;
	bool descending;
	int rc;

	if (!ranks_are_better(&x[0]->shape, d, x[0]->shape.dim[d]))
		return 0;
	rc = compared(in, x[0], &key, &descending);
	if (rc || !key)
		return rc;
	rc = take_order(in, key, descending, d, x[0]->shape.dim[d], x, in->nin);
	return rc ? rc : 1;
}

int hlo_top_by_rank(struct hlo_inst *in, struct ncc_op **x, int64_t n, bool largest)
{
	unsigned int d = x[0]->shape.ndim - 1;
	const uint8_t along = (uint8_t)d;
	struct ncc_shape s = x[0]->shape;
	int rc;

	if (!ranks_are_better(&x[0]->shape, d, n))
		return 0;
	s.dtype = NEURON_DT_INT32;
	s.pred = false;
	x[1] = build_count(&in->b, s.dim[d]);
	x[1] = x[1] ? build_spread(&in->b, &s, x[1], &along) : NULL;
	if (!x[1])
		return hlo_fail(in, -ENOMEM, "out of memory");
	rc = take_order(in, x[0], largest, d, n, x, 2);
	return rc ? rc : 1;
}
