// SPDX-License-Identifier: MIT
/*
 * Values whose numbers the program says: constants, and what a few operations make of them. Shapes
 * that are operands are made so, and numbers of 64 bits that a front end has for those of its
 * users: what has such numbers becomes a constant. Called when an operation has been converted.
 */
#include "fold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64 /* elements, which a shape has */
#define MOST_WIDE 16384 /* of numbers that are to become others of less than 64 bits */
#define MOST_IN_ALL (1 << 22)
#define FOLD_RANK 64

static bool is_real(int type)
{
	return type == HLO_F64 || type == HLO_F32;
}

typedef bool (*fold_fn)(struct folding *f);

static bool same_dims(const struct mlir_type *a, const struct mlir_type *b)
{
	return a->ndim == b->ndim && !memcmp(a->dim, b->dim, a->ndim * sizeof(*a->dim));
}

static struct fold_numbers *allocate(struct scope *s, const struct mlir_type *t, bool wide)
{
	const int64_t n = mlir_elems(t);
	struct fold_numbers *x;

	if (t->kind != MLIR_TENSOR || !fold_bits(t->number) || n < 0 ||
	    n > (wide ? MOST_WIDE : MOST) || n > MOST_IN_ALL - s->v->numbers)
		return NULL;
	s->v->numbers += n;
	x = convert_alloc(s->v, 1, sizeof(*x));
	if (!x)
		return NULL;
	*x = (struct fold_numbers){ .type = t->number, .n = n, .shape = t };
	if (is_real(t->number))
		x->real = convert_alloc(s->v, (size_t)n + 1, sizeof(*x->real));
	else
		x->whole = convert_alloc(s->v, (size_t)n + 1, sizeof(*x->whole));
	return x->real || x->whole ? x : NULL;
}

static bool of_constant(struct folding *f)
{
	const struct mlir_attr *a = mlir_attr_of(f->op, "value");
	const bool wide = f->out->type == HLO_F64;

	if (!a || a->kind != MLIR_DENSE)
		return false;
	for (int64_t i = 0; i < f->out->n; i++) {
		const uint8_t *at = a->data + (a->one ? 0 : i * (wide ? 8 : 4));
		float single;

		if (f->out->whole) {
			f->out->whole[i] = fold_wrap(f->out->type, mlir_int(a, i));
		} else if (wide) {
			memcpy(&f->out->real[i], at, 8);
		} else {
			memcpy(&single, at, 4);
			f->out->real[i] = single;
		}
	}
	return true;
}

static bool of_iota(struct folding *f)
{
	const struct mlir_type *t = f->out->shape;
	int64_t d = 0, inner = 1;

	if (attr_int(f->s, f->op, "iota_dimension", &d) || d < 0 || d >= t->ndim)
		return false;
	for (unsigned int k = (unsigned int)d + 1; k < t->ndim; k++)
		inner *= t->dim[k];
	for (int64_t i = 0; i < f->out->n; i++) {
		const int64_t v = i / inner % t->dim[d];

		if (f->out->real)
			f->out->real[i] = (double)v;
		else
			f->out->whole[i] = fold_wrap(f->out->type, v);
	}
	return true;
}

static void move(struct folding *f, int64_t to, unsigned int operand, int64_t from)
{
	const struct fold_numbers *x = f->in[operand];

	if (f->out->real)
		f->out->real[to] = x->real[from];
	else
		f->out->whole[to] = x->whole[from];
}

static bool of_reshape(struct folding *f)
{
	for (int64_t i = 0; i < f->out->n && f->in[0]->n == f->out->n; i++)
		move(f, i, 0, i);
	return f->in[0]->n == f->out->n;
}

/* For each dimension of the result: how far the operand's place moves, and where it begins */
struct walk {
	int64_t step[FOLD_RANK], start;
};

/* Each element of the result is one of the operand's, at a place that follows from its own. */
static bool pick(struct folding *f, unsigned int operand, const struct walk *w)
{
	const struct mlir_type *t = f->out->shape;

	for (int64_t i = 0; i < f->out->n; i++) {
		int64_t rest = i, at = w->start;

		for (unsigned int d = t->ndim; d-- > 0; rest /= t->dim[d])
			at += rest % t->dim[d] * w->step[d];
		if (at < 0 || at >= f->in[operand]->n)
			return false;
		move(f, i, operand, at);
	}
	return true;
}

/* The distance of elements along each dimension */
static bool strides(const struct mlir_type *t, int64_t *stride)
{
	int64_t n = 1;

	if (t->ndim > FOLD_RANK)
		return false;
	for (unsigned int d = t->ndim; d-- > 0; n *= t->dim[d])
		stride[d] = n;
	return true;
}

static bool of_broadcast(struct folding *f)
{
	const struct mlir_type *from = f->in[0]->shape, *to = f->out->shape;
	struct walk w = { 0 };
	int64_t stride[FOLD_RANK], *dims;
	size_t n;

	if (attr_list(f->s, f->op, "broadcast_dimensions", &n, &dims) || n != from->ndim ||
	    to->ndim > FOLD_RANK || !strides(from, stride))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (dims[i] < 0 || dims[i] >= to->ndim ||
		    (from->dim[i] != 1 && from->dim[i] != to->dim[dims[i]]))
			return false;
		w.step[dims[i]] = from->dim[i] == 1 ? 0 : stride[i];
	}
	return pick(f, 0, &w);
}

static bool of_transpose(struct folding *f)
{
	const struct mlir_type *from = f->in[0]->shape;
	struct walk w = { 0 };
	int64_t stride[FOLD_RANK], *dims;
	uint64_t seen = 0;
	size_t n;

	if (attr_list(f->s, f->op, "permutation", &n, &dims) || n != from->ndim ||
	    n != f->out->shape->ndim || !strides(from, stride))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (dims[i] < 0 || dims[i] >= from->ndim || seen >> dims[i] & 1 ||
		    from->dim[dims[i]] != f->out->shape->dim[i])
			return false;
		seen |= 1ull << dims[i];
		w.step[i] = stride[dims[i]];
	}
	return pick(f, 0, &w);
}

static bool of_slice(struct folding *f)
{
	const struct mlir_type *from = f->in[0]->shape;
	struct walk w = { 0 };
	int64_t stride[FOLD_RANK], *start, *limit, *by;
	size_t n, m, k;

	if (attr_list(f->s, f->op, "start_indices", &n, &start) ||
	    attr_list(f->s, f->op, "limit_indices", &k, &limit) ||
	    attr_list(f->s, f->op, "strides", &m, &by) || n != from->ndim || (m && m != n) ||
	    k != n || n != f->out->shape->ndim || !strides(from, stride))
		return false;
	for (size_t i = 0; i < n; i++) {
		const int64_t step = m ? by[i] : 1;

		if (start[i] < 0 || limit[i] <= start[i] || limit[i] > from->dim[i] || step < 1 ||
		    step > MOST_WIDE ||
		    (limit[i] - start[i] - 1) / step + 1 != f->out->shape->dim[i])
			return false;
		w.start += start[i] * stride[i];
		w.step[i] = stride[i] * step;
	}
	return pick(f, 0, &w);
}

static bool of_concatenate(struct folding *f)
{
	int64_t inner = 1, d = 0, before = 0;
	const struct mlir_type *t = f->out->shape;

	if (attr_int(f->s, f->op, "dimension", &d) || d < 0 || d >= t->ndim)
		return false;
	for (unsigned int k = (unsigned int)d + 1; k < t->ndim; k++)
		inner *= t->dim[k];
	for (unsigned int o = 0; o < f->op->nin; o++) {
		const struct mlir_type *from = f->in[o]->shape;
		int64_t size;

		if (from->ndim != t->ndim)
			return false;
		for (unsigned int k = 0; k < t->ndim; k++)
			if (k != d && from->dim[k] != t->dim[k])
				return false;
		size = from->dim[d] * inner;
		for (int64_t i = 0; size && i < f->in[o]->n; i++) {
			const int64_t to = i / size * t->dim[d] * inner + before + i % size;

			if (to >= f->out->n)
				return false;
			move(f, to, o, i);
		}
		before += size;
	}
	return before == t->dim[d] * inner;
}

/* A select by one predicate for all elements, or one for each */
static bool of_select(struct folding *f)
{
	const struct fold_numbers *p = f->in[0];
	const struct mlir_type *t = f->out->shape;

	if (p->type != HLO_PRED || (p->shape->ndim && !same_dims(p->shape, t)) ||
	    !same_dims(f->in[1]->shape, t) || !same_dims(f->in[2]->shape, t))
		return false;
	for (int64_t i = 0; i < f->out->n; i++)
		move(f, i, p->whole[p->shape->ndim ? i : 0] ? 1 : 2, i);
	return true;
}

static const struct {
	const char *name;
	size_t nin; /* operands that have to be known, and to be there; 0: all, any number */
	fold_fn fn;
	/* element by element, of operands of the result's shape; moves, whose type is the result's */
	bool each, moves;
} rules[] = {
	/* clang-format off */
	{ "abs", 1, fold_arithmetic, .each = true },
	{ "add", 2, fold_arithmetic, .each = true },
	{ "and", 2, fold_arithmetic, .each = true },
	{ "broadcast_in_dim", 1, of_broadcast, .moves = true },
	{ "ceil", 1, fold_arithmetic, .each = true },
	{ "compare", 2, fold_compare, .each = true },
	{ "concatenate", 0, of_concatenate, .moves = true },
	{ "constant", 0, of_constant, .each = false },
	{ "convert", 1, fold_convert, .each = true },
	{ "divide", 2, fold_arithmetic, .each = true },
	{ "dynamic_broadcast_in_dim", 1, of_broadcast, .moves = true },
	{ "dynamic_iota", 1, of_iota, .each = false },
	{ "dynamic_reshape", 1, of_reshape, .moves = true },
	{ "floor", 1, fold_arithmetic, .each = true },
	{ "iota", 0, of_iota, .each = false },
	{ "maximum", 2, fold_arithmetic, .each = true },
	{ "minimum", 2, fold_arithmetic, .each = true },
	{ "multiply", 2, fold_arithmetic, .each = true },
	{ "negate", 1, fold_arithmetic, .each = true },
	{ "or", 2, fold_arithmetic, .each = true },
	{ "remainder", 2, fold_arithmetic, .each = true },
	{ "reshape", 1, of_reshape, .moves = true },
	{ "select", 3, of_select, .moves = true },
	{ "slice", 1, of_slice, .moves = true },
	{ "sqrt", 1, fold_arithmetic, .each = true },
	{ "subtract", 2, fold_arithmetic, .each = true },
	{ "transpose", 1, of_transpose, .moves = true },
	/* clang-format on */
};

static int by_name(const void *name, const void *rule)
{
	return strcmp(name, *(const char *const *)rule);
}

static bool is_wide(const struct mlir_type *t)
{
	return t->number == HLO_S64 || t->number == HLO_U64 || t->number == HLO_F64;
}

static bool has_wide(const struct mlir_op *op)
{
	bool wide = is_wide(op->out[0].type);

	for (size_t i = 0; !wide && i < op->nin; i++)
		wide = is_wide(op->in[i]->type);
	return wide;
}

/* The instruction that has the value becomes a constant. */
static int replace(struct scope *s, const struct fold_numbers *x, hlo_instruction *p)
{
	const size_t n = (size_t)x->n, size = (fold_bits(x->type) + 7) / 8;
	Ncc__Hlo__Literal *l = convert_alloc(s->v, 1, sizeof(*l));
	uint8_t *bytes = convert_alloc(s->v, n + 1, 8);
	struct mlir_attr a = {
		.kind = MLIR_DENSE, .type = x->shape, .data = bytes, .size = n * size
	};
	const hlo_instruction was = *p;

	if (!l || !bytes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const float single = x->real ? (float)x->real[i] : 0;
		const void *from = x->whole    ? (const void *)&x->whole[i] /* little-endian */
				   : size == 8 ? (const void *)&x->real[i]
					       : (const void *)&single;

		memcpy(bytes + size * i, from, size);
	}
	s->v->folded = true;
	ncc__hlo__literal__init(l);
	l->shape = p->shape;
	ncc__hlo__instruction__init(p);
	p->opcode = (char *)(uintptr_t) "constant";
	p->name = was.name;
	p->id = was.id;
	p->shape = was.shape;
	p->metadata = was.metadata;
	p->literal = l;
	return literal_fill(s, &a, l);
}

static bool is_left_over(const hlo_instruction *p)
{
	static const char *const of[] = { "broadcast", "concatenate", "constant",  "convert",
					  "iota",      "reshape",     "transpose", "slice" };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!strcmp(of[i], p->opcode))
			return true;
	return false;
}

/* used has room for the number of each instruction. */
static void sweep(hlo_computation_message *c, bool *used)
{
	size_t left = c->n_instructions;

	for (size_t i = c->n_instructions; i-- > 0;) {
		hlo_instruction *p = c->instructions[i];

		if (!used[p->id] && p->id != c->root_id && is_left_over(p))
			continue;
		for (size_t k = 0; k < p->n_operand_ids; k++)
			used[p->operand_ids[k]] = true;
		c->instructions[--left] = p;
	}
	c->n_instructions -= left;
	memmove(c->instructions, c->instructions + left,
		c->n_instructions * sizeof(*c->instructions));
}

int fold_sweep(struct convert *v)
{
	bool *used = v->folded ? calloc((size_t)v->next_id, sizeof(*used)) : NULL;

	if (!used)
		return v->folded ? ncc_no_memory(v->err) : 0;
	for (size_t i = 0; i < v->proto->n_computations; i++)
		sweep(v->proto->computations[i], used);
	free(used);
	return 0;
}

/* Are the operands known, and such as the rule takes? */
static bool take(struct folding *f, size_t nin, bool each, bool moves)
{
	for (size_t i = 0; i < nin; i++) {
		f->in[i] = f->op->in[i]->known;
		if (!f->in[i] || (each && !same_dims(f->in[i]->shape, f->out->shape)))
			return false;
		if (moves && f->in[i]->type != f->out->type && (i || strcmp(f->op->name, "select")))
			return false;
	}
	return true;
}

/* Another type's one number for all: the importer has that as a number that is broadcast. */
static bool is_spread(const struct mlir_op *op, const struct fold_numbers *x)
{
	for (int64_t i = 1; i < x->n; i++)
		if (x->whole ? x->whole[i] != x->whole[0] : !(x->real[i] == x->real[0]))
			return false;
	return x->n > 1 && !strcmp(op->name, "convert");
}

int fold(struct scope *s, const struct mlir_op *op)
{
	struct folding f = { .s = s, .op = op };
	const void *found;
	size_t rule, nin;

	found = op->nout == 1 && !op->nregions
			? bsearch(op->name, rules, sizeof(rules) / sizeof(rules[0]),
				  sizeof(rules[0]), by_name)
			: NULL;
	if (!found)
		return 0;
	rule = (size_t)((const char *)found - (const char *)rules) / sizeof(rules[0]);
	nin = rules[rule].nin ? rules[rule].nin : op->nin;
	for (size_t i = 0; i < nin && nin <= op->nin; i++)
		if (!op->in[i]->known)
			return 0;
	if (nin > op->nin || nin > FOLD_OPERANDS)
		return 0;
	f.out = allocate(s, op->out[0].type, has_wide(op));
	if (!f.out || !take(&f, nin, rules[rule].each, rules[rule].moves) || !rules[rule].fn(&f))
		return s->v->err->text[0] ? -EINVAL : 0;
	op->out[0].known = f.out;
	return rules[rule].each && has_wide(op) && !is_spread(op, f.out)
		       ? replace(s, f.out, op->out[0].note)
		       : 0;
}

bool fold_list(const struct mlir_value *value, size_t *n, int64_t **list)
{
	const struct fold_numbers *x = value->known;

	if (!x || !x->whole || x->shape->ndim > 2)
		return false;
	*n = (size_t)x->n;
	*list = x->whole;
	return true;
}
