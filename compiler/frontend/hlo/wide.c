// SPDX-License-Identifier: MIT
/*
 * Modules whose 64-bit numbers never need more than 32 bits, whatever the inputs: JAX's random
 * numbers count their elements so, and front ends write indices and numbers of their users as
 * 64-bit constants. They are read with 32 bits without being asked to, since nothing is lost. Part
 * of the HLO front end.
 */
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "operations.h"
#include "range.h"

#define WIDE_MOST 4096 /* such instructions of a computation */

/* A 64-bit instruction of the computation, and what its elements can be */
struct bound {
	int64_t id;
	struct hlo_range range;
	bool halves; /* all its bits are kept (halves.c), or those of a tuple's elements */
};

struct bounds {
	struct bound *at; /* in order of id */
	size_t n;
	const Ncc__Hlo__Computation *c;
	const Ncc__Hlo__Instruction **inst; /* all of the computation's, in order of id */
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

static bool keep(struct bounds *w, int64_t id, struct hlo_range range, bool halves)
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
	w->at[at] = (struct bound){ id, range, halves };
	return true;
}

static int inst_by_id(const void *a, const void *b)
{
	const Ncc__Hlo__Instruction *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* The instruction of a number; the list is made when it is first asked for. */
static const Ncc__Hlo__Instruction *instruction(struct bounds *w, int64_t id)
{
	Ncc__Hlo__Instruction key = { .id = id };
	const Ncc__Hlo__Instruction *k = &key, **found;
	const size_t n = w->c->n_instructions;

	if (!w->inst) {
		w->inst = calloc(n + 1, sizeof(*w->inst));
		if (!w->inst)
			return NULL;
		memcpy(w->inst, w->c->instructions, n * sizeof(*w->inst));
		qsort(w->inst, n, sizeof(*w->inst), inst_by_id);
	}
	found = bsearch(&k, w->inst, n, sizeof(k), inst_by_id);
	return found ? *found : NULL;
}

/* An operand's numbers: a 64-bit one's as they were found, another one's by its type */
static bool operand(struct bounds *w, int64_t id, struct hlo_range *r)
{
	const struct bound *b = find(w, id);
	const Ncc__Hlo__Instruction *p;

	if (b) {
		*r = b->range;
		return !b->halves;
	}
	p = instruction(w, id);
	return p && p->shape && hlo_range_of_type(p->shape->element_type, r);
}

/* Adds a 64-bit result, which is bounded by its operands. */
static bool add(struct bounds *w, const Ncc__Hlo__Instruction *in)
{
	struct hlo_range r[HLO_RANGES] = { 0 }, result;

	if (hlo_is_complex(in->shape->element_type) || in->n_operand_ids > HLO_RANGES)
		return false;
	for (size_t i = 0; i < in->n_operand_ids; i++)
		if (!operand(w, in->operand_ids[i], &r[i]))
			return false;
	return hlo_range(in, r, &result) && hlo_range_fits(in->shape->element_type, &result) &&
	       keep(w, in->id, result, false);
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

/* The first operand of those that are indices, of which only the numbers count */
static size_t indices_of(const Ncc__Hlo__Instruction *in)
{
	static const struct {
		const char *opcode;
		size_t first;
	} of[] = { { "dynamic-slice", 1 }, { "dynamic-update-slice", 2 }, { "gather", 1 } };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (is_a(in, of[i].opcode))
			return of[i].first;
	return in->n_operand_ids;
}

static bool is_index(const Ncc__Hlo__Instruction *in, size_t i)
{
	return is_a(in, "scatter") ? i == in->n_operand_ids / 2 : i >= indices_of(in);
}

/* A number that fp32 has not is only rounded to it: another type's nearest number may differ. */
static bool may_take(const Ncc__Hlo__Instruction *in, const struct bound *x, size_t i)
{
	if (x->halves)
		return is_a(in, "bitcast-convert") || is_a(in, "get-tuple-element");
	if (is_a(in, "convert"))
		return !x->range.rounded || (in->shape && in->shape->element_type == HLO_F32);
	return !x->range.rounded && (is_a(in, "compare") || is_index(in, i));
}

/* Readers of 64-bit numbers must give the same for their low halves, or know both. */
static bool may_read(const struct bounds *w, const Ncc__Hlo__Instruction *in)
{
	for (size_t i = 0; w->n && i < in->n_operand_ids; i++) {
		const struct bound *x = find(w, in->operand_ids[i]);

		if (x && !may_take(in, x, i))
			return false;
	}
	return true;
}

static bool computation_fits(const Ncc__Hlo__Computation *c)
{
	struct bounds w = { .c = c };
	bool fits = true;

	for (size_t i = 0; fits && i < c->n_instructions; i++) {
		const Ncc__Hlo__Instruction *in = c->instructions[i];

		if (!has_wide(in->shape, 0))
			fits = may_read(&w, in);
		else if (is_halves(&w, in))
			fits = in->id != c->root_id &&
			       keep(&w, in->id, (struct hlo_range){ 0 }, true);
		else
			fits = in->shape && !in->shape->n_tuple_shapes && add(&w, in) &&
			       in->id != c->root_id;
	}
	free(w.at);
	free(w.inst);
	return fits;
}

bool hlo_wide_fits(const Ncc__Hlo__Module *m)
{
	for (size_t i = 0; i < m->n_computations; i++)
		if (!computation_fits(m->computations[i]))
			return false;
	return true;
}
