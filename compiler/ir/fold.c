// SPDX-License-Identifier: MIT
/*
 * Folding of element-wise operations on constants where the datapath (passes/integers.c included)
 * gives the same bits: integers and predicates, which wrap around; single additions, subtractions,
 * products and comparisons of fp32. This is what unrolls loops with a fixed number of iterations.
 * Called by build/build.c and passes/simplify.c.
 */
#include <string.h>

#include "traits.h"

#define MOST 65536 /* elements: larger ones are left to the chip */
#define MOST_SPLIT (1 << 26) /* but parts of a table, which is split once instead of each time */

/* An operand: its data, and the distance between elements (0: one number) */
struct source {
	const struct ncc_op *op;
	int64_t step;
};

static bool find_source(const struct ncc_op *op, struct source *s)
{
	double v;

	if (op->kind == NCC_CONST) {
		*s = (struct source){ op, ncc_elems(&op->shape) > 1 };
		return true;
	}
	if (!ncc_scalar_value(op, &v))
		return false;
	while (op->kind != NCC_CONST)
		op = op->in[0];
	*s = (struct source){ op, 0 };
	return true;
}

static double get(const struct source *s, int64_t i)
{
	return ncc_get(s->op->shape.dtype, s->op->data, i * s->step);
}

static bool fold_one(const struct ncc_op *op, const struct source *s, void *to, int64_t i)
{
	unsigned int esz = ncc_dtype_size(op->shape.dtype);
	double a = get(&s[0], i), b = op->nin > 1 ? get(&s[1], i) : 0;
	const struct ncc_traits *traits = ncc_traits_of(op->kind);
	int64_t v;

	if (op->kind == NCC_SELECT) {
		const struct source *from = &s[a != 0 ? 1 : 2];

		memcpy((char *)to + i * esz, (char *)from->op->data + i * from->step * esz, esz);
		return true;
	}

	if (op->kind == NCC_CONVERT) {
		a = op->shape.pred ? a != 0 : a;
		if (ncc_is_float(op->in[0]->shape.dtype) || ncc_is_float(op->shape.dtype))
			ncc_set(op->shape.dtype, to, i, a);
		else
			ncc_set_int(op->shape.dtype, to, i, (int64_t)a);
		return true;
	}

	if (ncc_is_compare(op->kind)) {
		ncc_set_int(op->shape.dtype, to, i, ncc_compares(op->kind, a, b));
		return true;
	}

	if (ncc_is_float(op->shape.dtype)) {
		if (op->shape.dtype != NEURON_DT_FP32 || !traits->as_datapath)
			return false;
		ncc_set(NEURON_DT_FP32, to, i, (double)(float)traits->binary(a, b));
		return true;
	}

	if (!ncc_integer(op->kind, &op->shape, (int64_t)a, (int64_t)b, &v))
		return false;
	ncc_set_int(op->shape.dtype, to, i, v);
	return true;
}

static void become(struct ncc_module *m, struct ncc_op *op, void *data, bool one)
{
	struct ncc_op *c = op;

	if (one && ncc_elems(&op->shape) > 1) {
		c = ncc_op_new(m, NCC_CONST, op->name, 0);
		if (!c)
			return;
		c->shape.dtype = op->shape.dtype;
		c->shape.pred = op->shape.pred;
		op->kind = NCC_BROADCAST;
		op->in[0] = c;
		op->nin = 1;
		memset(op->map, 0, sizeof(op->map));
	} else {
		op->kind = NCC_CONST;
		op->nin = 0;
	}
	c->data = data;
}

int ncc_fold_elementwise(struct ncc_module *m, struct ncc_op *op)
{
	int64_t n = ncc_elems(&op->shape);
	struct source s[3];
	bool one = true;
	void *to;

	if (!op->nin || op->nin > 3 || !ncc_is_elementwise(op->kind))
		return 0;
	for (unsigned int i = 0; i < op->nin; i++) {
		if (!op->in[i] || !find_source(op->in[i], &s[i]))
			return 0;
		one = one && !s[i].step;
	}

	if (!one && n > (op->kind == NCC_SUB || op->kind == NCC_CONVERT ? MOST_SPLIT : MOST))
		return 0;
	n = one ? 1 : n;

	to = ncc_alloc_data(m, (size_t)n * ncc_dtype_size(op->shape.dtype));
	for (int64_t i = 0; i < n; i++)
		if (!to || !fold_one(op, s, to, i))
			return 0;

	become(m, op, to, one);
	return 1;
}
