// SPDX-License-Identifier: MIT
/*
 * Modules whose 64-bit integers never need more than 32 bits, whatever the inputs: JAX's random
 * numbers count their elements so. They are read with 32 bits without being asked to, since nothing
 * is lost. Part of the HLO front end.
 */
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "operations.h"

#define WIDE_MOST 4096 /* such instructions of a computation */

/* A 64-bit instruction of the computation, and the largest number that its elements can be */
struct bound {
	int64_t id;
	uint64_t most;
	bool halves; /* all its bits are kept (halves.c), or those of a tuple's elements */
};

struct bounds {
	struct bound *at; /* in order of id */
	size_t n;
};

/* From the operands' bounds a and b (0: there is no such operand). Returns false: not known. */
typedef bool (*bound_fn)(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most);

static bool bound_sum(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	return !__builtin_add_overflow(a, b, most);
}

static bool bound_product(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	return !__builtin_mul_overflow(a, b, most);
}

static bool bound_larger(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	*most = a > b ? a : b;
	return true;
}

/* Of what does not grow: shifted right, or moved */
static bool bound_first(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	*most = a;
	return true;
}

static bool bound_iota(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	int64_t d = in->n_dimensions == 1 ? in->dimensions[0] : -1;

	if (d < 0 || (size_t)d >= in->shape->n_dimensions || in->shape->dimensions[d] < 0)
		return false;
	*most = (uint64_t)in->shape->dimensions[d];
	return true;
}

static bool bound_constant(const Ncc__Hlo__Instruction *in, uint64_t a, uint64_t b, uint64_t *most)
{
	const Ncc__Hlo__Literal *l = in->literal;

	*most = 0;
	for (size_t i = 0; l && i < l->n_u64s; i++)
		bound_larger(in, *most, l->u64s[i], most);
	for (size_t i = 0; l && i < l->n_s64s; i++)
		bound_larger(in, *most, (uint64_t)l->s64s[i], most); /* a negative one is large */
	return l;
}

static const struct {
	const char *opcode;
	bound_fn fn;
} rules[] = {
	{ "add", bound_sum },
	{ "broadcast", bound_first },
	{ "concatenate", bound_larger },
	{ "constant", bound_constant },
	{ "copy", bound_first },
	{ "iota", bound_iota },
	{ "maximum", bound_larger },
	{ "minimum", bound_larger },
	{ "multiply", bound_product },
	{ "reshape", bound_first },
	{ "reverse", bound_first },
	{ "shift-right-logical", bound_first },
	{ "slice", bound_first },
	{ "transpose", bound_first },
};

static bool has_wide(const Ncc__Hlo__Shape *s, unsigned int depth)
{
	if (!s || depth > 16 || hlo_is_wide(s->element_type))
		return true;
	for (size_t i = 0; i < s->n_tuple_shapes; i++)
		if (has_wide(s->tuple_shapes[i], depth + 1))
			return true;
	return false;
}

static int by_id(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static const struct bound *find(const struct bounds *w, int64_t id)
{
	struct bound key = { .id = id };

	return w->n ? bsearch(&key, w->at, w->n, sizeof(key), by_id) : NULL;
}

static bool keep(struct bounds *w, int64_t id, uint64_t most, bool halves)
{
	size_t at = w->n;
	struct bound *grown;

	while (at && w->at[at - 1].id > id)
		at--;
	if (w->n == WIDE_MOST || (at && w->at[at - 1].id == id))
		return false;
	grown = realloc(w->at, (w->n + 1) * sizeof(*grown));
	if (!grown)
		return false;

	w->at = grown;
	memmove(&w->at[at + 1], &w->at[at], (w->n++ - at) * sizeof(*grown));
	w->at[at] = (struct bound){ id, most, halves };
	return true;
}

/* Adds a 64-bit result, which is bounded by its operands. */
static bool add(struct bounds *w, const Ncc__Hlo__Instruction *in)
{
	uint64_t limit = in->shape->element_type == HLO_U64 ? UINT32_MAX : INT32_MAX;
	uint64_t most[2] = { 0, 0 }, result;

	if (in->shape->element_type == HLO_F64 || hlo_is_complex(in->shape->element_type) ||
	    in->n_operand_ids > 2)
		return false;
	for (size_t i = 0; i < in->n_operand_ids; i++) {
		const struct bound *b = find(w, in->operand_ids[i]);

		if (!b || b->halves)
			return false;
		most[i] = b->most;
	}

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(in->opcode, rules[i].opcode))
			return rules[i].fn(in, most[0], most[1], &result) && result <= limit &&
			       keep(w, in->id, result, false);
	return false;
}

static bool is_a(const Ncc__Hlo__Instruction *in, const char *opcode)
{
	return !strcmp(in->opcode, opcode);
}

/* Random bits and their state, which all bits are kept of */
static bool is_halves(const struct bounds *w, const Ncc__Hlo__Instruction *in)
{
	const struct bound *x = in->n_operand_ids == 1 ? find(w, in->operand_ids[0]) : NULL;

	if (!x)
		return is_a(in, "bitcast-convert") && in->shape &&
		       in->shape->element_type == HLO_U64;
	return x->halves && (is_a(in, "rng-bit-generator") || is_a(in, "get-tuple-element"));
}

/* What reads 64-bit numbers must give the same for their low halves, or know both. */
static bool may_read(const struct bounds *w, const Ncc__Hlo__Instruction *in)
{
	for (size_t i = 0; i < in->n_operand_ids; i++) {
		const struct bound *x = find(w, in->operand_ids[i]);

		if (x && x->halves)
			return is_a(in, "bitcast-convert") || is_a(in, "get-tuple-element");
		if (x)
			return is_a(in, "convert") || is_a(in, "compare");
	}
	return true;
}

static bool computation_fits(const Ncc__Hlo__Computation *c)
{
	struct bounds w = { 0 };
	bool fits = true;

	for (size_t i = 0; fits && i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *in = c->instructions[i];

		if (!has_wide(in->shape, 0))
			fits = may_read(&w, in);
		else if (is_halves(&w, in))
			fits = in->id != c->root_id && keep(&w, in->id, 0, true);
		else
			fits = in->shape && !in->shape->n_tuple_shapes && add(&w, in) &&
			       in->id != c->root_id;
	}
	free(w.at);
	return fits;
}

bool hlo_wide_fits(const Ncc__Hlo__Module *m)
{
	for (size_t i = 0; i < m->n_computations; i++)
		if (!computation_fits(m->computations[i]))
			return false;
	return true;
}
