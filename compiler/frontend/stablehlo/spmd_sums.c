// SPDX-License-Identifier: MIT
/*
 * What rules (spmd_rules.c) ask: a new factor, and of operations that combine elements, how, and
 * whether a value may be combined several times
 */
#include <string.h>

#include "spmd.h"

#define MOST_STEPS 16 /* from a value back to the constant that it is made of */

int spmd_new_factor(struct spmd *p, enum spmd_sum sum)
{
	struct spmd_factors *f = &p->factors;

	if (f->n == SPMD_MOST_FACTORS)
		return -1;
	f->sum[f->n] = sum;
	f->axes[f->n] = 0;
	return (int)f->n++;
}

/* Does it hand its operand on, as artifacts do around what is said of a value? */
static bool says(const struct mlir_op *op)
{
	return op && op->nin == 1 && op->nout == 1 &&
	       (!strcmp(op->name, "sdy.sharding_constraint") || !strcmp(op->name, "builtin."
										  "unrealized_"
										  "conversion_"
										  "cast"));
}

/* The constant that a value is made of, without a change of its elements */
static const struct mlir_attr *constant_of(const struct mlir_value *v)
{
	static const char *const through[] = { "broadcast_in_dim", "reshape", "convert" };

	for (unsigned int i = 0; i < MOST_STEPS; i++) {
		const struct mlir_op *op = v->note ? spmd_note(v)->from : NULL;
		bool on = says(op);

		if (!op)
			return NULL;
		if (!strcmp(op->name, "constant"))
			return mlir_attr_of(op, "value");
		for (size_t k = 0; k < sizeof(through) / sizeof(through[0]); k++)
			on |= !strcmp(op->name, through[k]);
		if (!on || !op->nin)
			return NULL;
		v = op->in[0];
	}
	return NULL;
}

/* Is an element 1? Floats are compared by their bits. */
static bool is_one(const struct mlir_attr *a, const uint8_t *e, size_t size)
{
	static const struct {
		const char *type;
		uint32_t bits;
	} ones[] = { { "f32", 0x3f800000 }, { "bf16", 0x3f80 }, { "f16", 0x3c00 } };
	uint64_t v = 0;

	for (size_t i = 0; i < size && i < 8; i++)
		v |= (uint64_t)e[i] << 8 * i;
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
		if (!strcmp(a->type->name, ones[i].type))
			return v == ones[i].bits;
	return (a->type->name[0] == 'i' || a->type->name[0] == 'u') && v == 1;
}

static bool is_zero(const uint8_t *e, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (e[i])
			return false;
	return true;
}

bool spmd_neutral(const struct mlir_value *v, enum spmd_sum sum)
{
	const struct mlir_attr *a = constant_of(v);
	const int64_t n = a && a->kind == MLIR_DENSE ? mlir_elems(a->type) : 0;
	size_t size;

	if (sum > SPMD_MULTIPLY)
		return true; /* what is there once may be there several times */
	if (sum == SPMD_NO_SUM || n < 1 || (n > 1 && !a->one))
		return false;
	size = a->size;
	return sum == SPMD_ADD ? is_zero(a->data, size) : is_one(a, a->data, size);
}

/* The value of which constraints say something */
static const struct mlir_value *said_of(const struct mlir_value *v)
{
	for (;;) {
		const struct mlir_op *op = spmd_note(v)->from;

		if (!says(op))
			return v;
		v = op->in[0];
	}
}

bool spmd_sum_of(const struct mlir_op *op, enum spmd_sum *sum)
{
	static const struct {
		const char *name;
		enum spmd_sum sum;
	} sums[] = {
		{ "add", SPMD_ADD },	 { "multiply", SPMD_MULTIPLY }, { "maximum", SPMD_MAX },
		{ "minimum", SPMD_MIN }, { "and", SPMD_AND },		{ "or", SPMD_OR },
	};
	const struct mlir_block *b = op->nregions == 1 ? op->regions[0].blocks : NULL;
	const struct mlir_op *end = b ? &b->ops[b->nops - 1] : NULL, *e;
	const struct mlir_value *x, *y;

	if (!b || b->nargs != 2 || end->nin != 1)
		return false;
	e = spmd_note(said_of(end->in[0]))->from;
	if (!e || e->nin != 2)
		return false;
	x = said_of(e->in[0]);
	y = said_of(e->in[1]);
	if (!((x == &b->args[0] && y == &b->args[1]) || (x == &b->args[1] && y == &b->args[0])))
		return false;
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (!strcmp(e->name, sums[i].name)) {
			*sum = sums[i].sum;
			return true;
		}
	return false;
}
