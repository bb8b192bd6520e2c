// SPDX-License-Identifier: MIT
/*
 * einsum and unary_einsum, whose letters name dimensions: what only one operand has and the result
 * has not is summed, the rest is a product and a transposition.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "convert.h"

#define MOST 32 /* letters of an operand */

struct term {
	char letter[MOST + 1];
	size_t n;
	int64_t dim[MOST];
	hlo_instruction *x;
};

struct einsum {
	struct scope *s;
	int number; /* element type of the result, and its name */
	const char *name;
	struct term in[2], out;
};

static bool has(const struct term *t, char c)
{
	return memchr(t->letter, c, t->n);
}

static int refuse(struct einsum *e, const char *config, const char *why)
{
	return convert_fail(e->s, -ENOTSUP, "'%.60s': %s", config, why);
}

/* Takes the letters up to a mark; *at: behind it */
static bool take_letters(const char **at, const char *mark, struct term *t)
{
	const char *end = *mark ? strstr(*at, mark) : *at + strlen(*at);

	for (const char *p = *at; end && p < end; p++) {
		if (*p == ' ')
			continue;
		if (!isalpha((unsigned char)*p) || t->n == MOST || has(t, *p))
			return false;
		t->letter[t->n++] = *p;
	}
	*at = end ? end + strlen(mark) : *at;
	return end;
}

static bool take_dims(struct term *t, const struct mlir_type *type)
{
	if (type->kind != MLIR_TENSOR || type->ndim != t->n)
		return false;
	memcpy(t->dim, type->dim, t->n * sizeof(t->dim[0]));
	return true;
}

static Ncc__Hlo__Shape *shape_of(struct einsum *e, const struct term *t)
{
	return convert_shape(e->s, &(struct mlir_type){ .kind = MLIR_TENSOR,
							.name = e->name,
							.number = e->number,
							.ndim = (unsigned int)t->n,
							.dim = t->dim });
}

/* 0 of that type, whose bits are zeros */
static hlo_instruction *zero(struct einsum *e)
{
	struct mlir_type *t = convert_alloc(e->s->v, 1, sizeof(*t));
	struct mlir_attr *a = convert_alloc(e->s->v, 1, sizeof(*a));
	static const uint8_t bytes[16] __attribute__((aligned(16)));

	if (!t || !a)
		return NULL;
	*t = (struct mlir_type){ .kind = MLIR_TENSOR, .name = e->name, .number = e->number };
	*a = (struct mlir_attr){ .kind = MLIR_DENSE, .type = t, .data = bytes };
	a->size = e->number == HLO_C64 || e->number == HLO_F64 || e->number == HLO_S64 ||
				  e->number == HLO_U64
			  ? 8
		  : e->number == HLO_F32 || e->number == HLO_S32 || e->number == HLO_U32 ? 4
		  : e->number == HLO_BF16 || e->number == HLO_F16 || e->number == HLO_S16 ||
				  e->number == HLO_U16
			  ? 2
		  : e->number == HLO_C128 ? 16
					  : 1;
	return literal_add(e->s, a);
}

/* The computation of a sum */
static hlo_computation_message *sum(struct einsum *e)
{
	const struct term scalar = { .n = 0 };
	struct scope in = { .at = e->s->at };
	hlo_instruction *x[2];

	if (convert_open(&in, e->s->v, "sum"))
		return NULL;
	for (int i = 0; i < 2; i++) {
		x[i] = convert_add(&in, "parameter", shape_of(e, &scalar), NULL, 0);
		if (!x[i])
			return NULL;
		x[i]->parameter_number = i;
	}
	return convert_close(&in, convert_add(&in, "add", x[0]->shape, x, 2)) ? NULL : in.c;
}

/* Sums the dimensions that neither the other operand nor the result has. */
static int sum_alone(struct einsum *e, struct term *t, const struct term *other)
{
	struct term left = { .x = NULL };
	int64_t *dims = convert_alloc(e->s->v, MOST, sizeof(*dims));
	const hlo_computation_message *c;
	hlo_instruction *in[2] = { t->x };
	size_t n = 0;

	for (size_t i = 0; dims && i < t->n; i++) {
		if (!has(&e->out, t->letter[i]) && !has(other, t->letter[i])) {
			dims[n++] = (int64_t)i;
			continue;
		}
		left.dim[left.n] = t->dim[i];
		left.letter[left.n++] = t->letter[i];
	}
	if (!n)
		return dims ? 0 : -ENOMEM;
	in[1] = zero(e);
	c = in[1] ? sum(e) : NULL;
	left.x = c ? convert_add(e->s, "reduce", shape_of(e, &left), in, 2) : NULL;
	if (!left.x)
		return -ENOTSUP;
	left.x->n_dimensions = n;
	left.x->dimensions = dims;
	*t = left;
	return convert_calls(t->x, e->s->v, c);
}

static void say(struct term *t, char letter, int64_t dim)
{
	t->letter[t->n] = letter;
	t->dim[t->n++] = dim;
}

/* The place of the letters that both have: in the result (shared), or not */
static int match(struct einsum *e, bool shared, size_t *n, int64_t **left, int64_t **right)
{
	const struct term *a = &e->in[0], *b = &e->in[1];

	*left = convert_alloc(e->s->v, MOST, sizeof(**left));
	*right = convert_alloc(e->s->v, MOST, sizeof(**right));
	if (!*left || !*right)
		return -ENOMEM;
	*n = 0;
	for (size_t i = 0; i < a->n; i++) {
		const char *found = memchr(b->letter, a->letter[i], b->n);

		if (!found || has(&e->out, a->letter[i]) != shared)
			continue;
		(*left)[*n] = (int64_t)i;
		(*right)[(*n)++] = found - b->letter;
	}
	return 0;
}

/* A product has the shared dimensions first, then those of one operand, then the other's. */
static int product(struct einsum *e, struct term *p)
{
	struct term *a = &e->in[0], *b = &e->in[1];
	Ncc__Hlo__DotDimensionNumbers *d = convert_alloc(e->s->v, 1, sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	ncc__hlo__dot_dimension_numbers__init(d);
	rc = match(e, true, &d->n_lhs_batch_dimensions, &d->lhs_batch_dimensions,
		   &d->rhs_batch_dimensions)
		     ?: match(e, false, &d->n_lhs_contracting_dimensions,
			      &d->lhs_contracting_dimensions, &d->rhs_contracting_dimensions);
	if (rc)
		return rc;
	d->n_rhs_batch_dimensions = d->n_lhs_batch_dimensions;
	d->n_rhs_contracting_dimensions = d->n_lhs_contracting_dimensions;
	for (size_t i = 0; i < a->n; i++)
		if (has(b, a->letter[i]) && has(&e->out, a->letter[i]))
			say(p, a->letter[i], a->dim[i]);
	for (size_t i = 0; i < a->n; i++)
		if (!has(b, a->letter[i]))
			say(p, a->letter[i], a->dim[i]);
	for (size_t i = 0; i < b->n; i++)
		if (!has(a, b->letter[i]))
			say(p, b->letter[i], b->dim[i]);
	p->x = convert_add(e->s, "dot", shape_of(e, p), (hlo_instruction *[]){ a->x, b->x }, 2);
	if (p->x)
		p->x->dot_dimension_numbers = d;
	return p->x ? 0 : -ENOTSUP;
}

/* The dimensions in the result's order */
static int finish(struct einsum *e, const struct mlir_op *op, const struct term *p)
{
	int64_t *map = convert_alloc(e->s->v, MOST, sizeof(*map));
	hlo_instruction *x;

	if (!map)
		return -ENOMEM;
	for (size_t i = 0; i < e->out.n; i++) {
		const char *found = memchr(p->letter, e->out.letter[i], p->n);

		if (!found || p->n != e->out.n)
			return convert_fail(e->s, -EINVAL, "no operand has the dimension '%c'",
					    e->out.letter[i]);
		map[i] = found - p->letter;
	}
	x = convert_add(e->s, "transpose", convert_result_shape(e->s, op), &p->x, 1);
	if (!x)
		return -ENOTSUP;
	x->n_dimensions = e->out.n;
	x->dimensions = map;
	return convert_results(e->s, op, x);
}

int whole_einsum(struct scope *s, const struct mlir_op *op)
{
	struct einsum e = { .s = s,
			    .number = op->out[0].type->number,
			    .name = op->out[0].type->name };
	struct term p = { .n = 0 };
	hlo_instruction **in = convert_operands(s, op);
	const char *config = "", *at;
	int rc = in ? attr_text(s, op, "einsum_config", &config) : -ENOTSUP;

	if (rc)
		return rc;
	at = config;
	if ((op->nin == 2 && !take_letters(&at, ",", &e.in[0])) ||
	    !take_letters(&at, "->", &e.in[op->nin - 1]) || !take_letters(&at, "", &e.out))
		return refuse(&e, config, "only letters, each once for an operand, are supported");
	for (size_t i = 0; !rc && i < op->nin; i++) {
		e.in[i].x = in[i];
		if (!take_dims(&e.in[i], op->in[i]->type))
			return refuse(&e, config, "an operand has another number of dimensions");
		if (op->in[i]->type->number != e.number)
			return refuse(&e, config, "operands and result of several types");
	}
	for (size_t i = 0; !rc && i < op->nin; i++)
		rc = sum_alone(&e, &e.in[i], op->nin == 2 ? &e.in[1 - i] : &p);
	if (!rc && op->nin == 2)
		rc = product(&e, &p);
	return rc ? rc : finish(&e, op, op->nin == 2 ? &p : &e.in[0]);
}
