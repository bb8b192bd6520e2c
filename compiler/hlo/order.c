// SPDX-License-Identifier: MIT
/*
 * sort and topk by the places of keys in order (expand/order.c) or, of rows that are too long for
 * that, by a network of digits (sort.c): the comparison is of the same function of one operand's
 * two elements, which becomes integers of its order.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "order.h"

#define MAX_DEPTH 16 /* of the computation */
#define LONG_ONE 4096 /* elements to sort: so many fill the partitions by themselves */
#define FEW_ROWS 16 /* rows of those: more fill the partitions anyway */
#define MOST_PLACES 65536 /* of the digits of keys */
#define MOST_GATHERED (1 << 17) /* elements: a descriptor for each */

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
	if ((*key)->shape.pred || !ncc_is_float((*key)->shape.dtype)) {
		*key = (*key)->shape.pred ? NULL : *key;
		return 0;
	}
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

static struct ncc_op *by_digits(struct hlo_inst *in, struct ncc_op *rows, bool descending,
				hlo_digits_fn sort)
{
	struct ncc_op *digit[2], *place;

	if (!rows || !expand_order_digits(&in->b, rows, descending, digit))
		return NULL;
	return sort(in, digit, &place) ? NULL : place;
}

/* The operands, in order along dimension d by the keys, of which the first n are wanted */
static int take_order(struct hlo_inst *in, struct ncc_op *key, bool descending, unsigned int d,
		      int64_t n, hlo_digits_fn digits, struct ncc_op **x, unsigned int nx)
{
	struct ncc_build *bl = &in->b;
	struct ncc_op *rows = expand_as_rows(bl, key, d), *place;

	place = digits ? by_digits(in, rows, descending, digits)
		       : expand_order(bl, rows, n, descending);
	for (unsigned int i = 0; i < nx; i++) {
		struct ncc_shape s = x[i]->shape;
		struct ncc_op *r;

		if (is_count(x[i], d))
			r = build_cast(bl, place, s.dtype);
		else
			r = expand_take_places(bl, expand_as_rows(bl, x[i], d), place);
		s.dim[d] = n;
		x[i] = expand_from_rows(bl, r, &s, d);
		if (!x[i])
			return in->imp->err->text[0] ? -EINVAL
						     : hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

bool hlo_sort_is_wide(int64_t rows, int64_t length)
{
	return length > LONG_ONE / 2 && rows <= FEW_ROWS;
}

/* Can the operands be gathered, by DMA, from the places that a network of digits gives? */
static bool has_digits(struct ncc_op *const *x, unsigned int nx, unsigned int d)
{
	int64_t n = x[0]->shape.dim[d], all = ncc_elems(&x[0]->shape);

	for (unsigned int i = 0; i < nx; i++)
		if (!is_count(x[i], d) && !expand_has_rows(x[i], all / n, n, 1))
			return false;
	return hlo_sort_is_wide(all / n, n) && n <= MOST_PLACES && all <= MOST_GATHERED &&
	       ncc_dtype_size(x[0]->shape.dtype) <= 4;
}

int hlo_sort_by_place(struct hlo_inst *in, struct ncc_op **x, unsigned int d, hlo_digits_fn sort)
{
	int64_t n = x[0]->shape.dim[d];
	bool places = expand_has_order(&x[0]->shape, n, n);
	bool descending;
	struct ncc_op *key;
	int rc;

	if (!places && !has_digits(x, in->nin, d))
		return 0;
	rc = compared(in, x[0], &key, &descending);
	if (rc || !key)
		return rc;
	rc = take_order(in, key, descending, d, n, places ? NULL : sort, x, in->nin);
	return rc ? rc : 1;
}

int hlo_top_by_place(struct hlo_inst *in, struct ncc_op **x, int64_t n, bool largest)
{
	unsigned int d = x[0]->shape.ndim - 1;
	const uint8_t along = (uint8_t)d;
	struct ncc_shape s = x[0]->shape;
	int rc;

	if (!expand_has_order(&x[0]->shape, x[0]->shape.dim[d], n))
		return 0;
	s.dtype = NEURON_DT_INT32;
	s.pred = false;
	x[1] = build_count(&in->b, s.dim[d]);
	x[1] = x[1] ? build_spread(&in->b, &s, x[1], &along) : NULL;
	if (!x[1])
		return hlo_fail(in, -ENOMEM, "out of memory");
	rc = take_order(in, x[0], largest, d, n, NULL, x, 2);
	return rc ? rc : 1;
}
