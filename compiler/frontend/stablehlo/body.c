// SPDX-License-Identifier: MIT
/*
 * The IR section of an MLIR bytecode file: operations, their regions and blocks. A region has slots
 * for the values of its blocks, in the order in which they are defined; an operation refers to
 * those of its own region and, unless a region in between is isolated, of the regions around it.
 */
#include <errno.h>
#include <string.h>

#include "bytecode.h"

/* Limits of the whole file, far beyond any program: operations, regions and blocks; values */
#define MOST_THINGS (1u << 20)
#define MOST_VALUES (1u << 22)
#define OP_BYTES 3 /* an operation has at least */

enum op_mask {
	OP_ATTRS = 0x01,
	OP_RESULTS = 0x02,
	OP_OPERANDS = 0x04,
	OP_SUCCESSORS = 0x08,
	OP_REGIONS = 0x10,
	OP_USE_LISTS = 0x20,
	OP_PROPERTIES = 0x40,
};

/* The slots of a region, and of those around it */
struct slots {
	const struct slots *outer; /* NULL: the region is isolated */
	size_t first, n, defined;
	struct mlir_value *value;
};

struct body {
	struct reader *r;
	size_t things;
};

static int count_things(struct body *b, size_t n, const uint8_t *at)
{
	if (n > MOST_THINGS - b->things)
		return reader_bad(b->r, at, "more than a million operations and blocks");
	b->things += n;
	return b->r->rc;
}

static struct mlir_value *find_value(struct cursor *c, const struct slots *s)
{
	const uint8_t *at = c->p;
	const uint64_t i = cursor_number(c);

	while (s && i < s->first)
		s = s->outer;
	if (!cursor_bad(c) && s && i - s->first < s->defined)
		return &s->value[i - s->first];
	if (!cursor_bad(c))
		reader_bad(c->r, at, "a value that is not defined there");
	return NULL;
}

/* The next n slots of the region, which are defined when s->defined says so; NULL: it has fewer */
static struct mlir_value *next_values(struct cursor *c, struct slots *s, size_t n)
{
	struct mlir_value *v = s ? &s->value[s->defined] : NULL;

	if (cursor_bad(c))
		return NULL;
	if (!s || n > s->n - s->defined) {
		reader_bad(c->r, c->p, "more values than the region has");
		return NULL;
	}
	return v;
}

/* Use lists are an order that only MLIR itself wants again. */
static void skip_use_lists(struct cursor *c, size_t nvalues)
{
	const size_t lists = nvalues > 1 ? cursor_count(c) : 1;

	for (size_t i = 0; i < lists && !cursor_bad(c); i++) {
		bool pairs;
		uint64_t n;

		if (nvalues > 1)
			cursor_number(c);
		n = cursor_flagged(c, &pairs);
		for (; n && !cursor_bad(c); n--)
			cursor_number(c);
	}
}

static int take_dictionary(struct cursor *c, struct mlir_op *op)
{
	op->others = cursor_attr(c);
	if (op->others && op->others->kind != MLIR_DICTIONARY)
		return reader_bad(c->r, c->p, "attributes that are no dictionary");
	return c->r->rc;
}

/* Each is an attribute; the module's, alone, may be absent. */
static int take_properties(struct cursor *c, const struct op_name *name, struct mlir_op *op)
{
	struct reader *r = c->r;
	const uint8_t *at = c->p;
	const uint64_t i = cursor_number(c);
	struct cursor p;

	if (!cursor_bad(c) && i >= r->nproperties)
		return reader_bad(r, at, "properties that do not exist");
	if (r->rc || !name->known)
		return r->rc;
	p = (struct cursor){ r, r->properties[i].p, r->properties[i].p + r->properties[i].size };
	op->names = name->property;
	op->attrs = reader_alloc(r, name->nproperties + 1, sizeof(*op->attrs));
	for (size_t k = 0; k < name->nproperties && !r->rc; k++) {
		const bool optional = !strncmp(name->spelled, "builtin.", strlen("builtin."));
		const struct mlir_attr *a = optional ? cursor_optional_attr(&p) : cursor_attr(&p);

		if (!a && optional)
			a = attr_of_text(r, MLIR_STRING, "");
		op->attrs[op->nattrs++] = a;
	}
	if (!r->rc && p.p != p.end)
		return reader_fail(r, -ENOTSUP,
				   "%.100s: it has more properties than are known of it",
				   name->spelled);
	return r->rc;
}

static int take_results(struct cursor *c, struct mlir_op *op, struct slots *s)
{
	op->nout = cursor_count(c);
	op->out = next_values(c, s, op->nout);
	for (size_t i = 0; i < op->nout && !cursor_bad(c); i++)
		op->out[i].type = cursor_type(c);
	return c->r->rc;
}

static int take_operands(struct cursor *c, struct mlir_op *op, const struct slots *s)
{
	op->nin = cursor_count(c);
	op->in = reader_alloc(c->r, op->nin + 1, sizeof(struct mlir_value *));
	for (size_t i = 0; i < op->nin && !cursor_bad(c); i++)
		op->in[i] = find_value(c, s);
	return c->r->rc;
}

static void skip_successors(struct cursor *c)
{
	for (size_t n = cursor_count(c); n && !cursor_bad(c); n--)
		cursor_number(c);
}

static int take_op(struct body *b, struct cursor *c, struct mlir_op *op, struct slots *s);

static int take_block(struct body *b, struct cursor *c, struct mlir_block *block, struct slots *s)
{
	struct reader *r = b->r;
	const uint8_t *at = c->p;
	bool has_args;

	block->nops = cursor_flagged(c, &has_args);
	if (!r->rc && block->nops > (size_t)(c->end - c->p) / OP_BYTES)
		return reader_bad(r, at, "more operations than it has bytes");
	if (count_things(b, block->nops, at))
		return r->rc;
	if (has_args) {
		block->nargs = cursor_count(c);
		block->args = next_values(c, s, block->nargs);
	}
	for (size_t i = 0; i < block->nargs && !r->rc; i++) {
		bool located = true;
		const uint64_t type = r->version >= HAS_ELIDED_LOCATIONS
					      ? cursor_flagged(c, &located)
					      : cursor_number(c);

		if (located)
			cursor_number(c);
		if (!r->rc)
			block->args[i].type = r->type(r, type);
	}
	if (s && !r->rc)
		s->defined += block->nargs;
	if (has_args && r->version >= HAS_USE_LISTS && cursor_byte(c))
		skip_use_lists(c, block->nargs);
	block->ops = reader_alloc(r, block->nops + 1, sizeof(*block->ops));
	for (size_t i = 0; i < block->nops && !r->rc; i++)
		take_op(b, c, &block->ops[i], s);
	return r->rc;
}

static int take_region(struct body *b, struct cursor *c, struct mlir_region *region,
		       const struct slots *outer)
{
	struct reader *r = b->r;
	struct slots s = { .outer = outer, .first = outer ? outer->first + outer->n : 0 };
	const uint8_t *at = c->p;

	region->nblocks = cursor_count(c);
	if (!region->nblocks || count_things(b, region->nblocks, at))
		return r->rc;
	s.n = cursor_count(c);
	if (s.n > MOST_VALUES - r->values)
		return reader_bad(r, at, "more than four million values");
	r->values += s.n;
	s.value = reader_alloc(r, s.n + 1, sizeof(*s.value));
	region->blocks = reader_alloc(r, region->nblocks, sizeof(*region->blocks));
	for (size_t i = 0; i < region->nblocks && !r->rc; i++)
		take_block(b, c, &region->blocks[i], &s);
	return r->rc;
}

/* The regions that see no value of those around them are in a section of their own. */
static int take_regions(struct body *b, struct cursor *c, struct mlir_op *op, struct slots *s)
{
	struct reader *r = b->r;
	const uint8_t *at = c->p;
	struct cursor in = *c;
	bool isolated;

	op->nregions = cursor_flagged(c, &isolated);
	if (count_things(b, op->nregions, at))
		return r->rc;
	if (r->depth++ >= MLIR_MAX_DEPTH)
		return reader_bad(r, at, "regions nested too deeply");
	op->regions = reader_alloc(r, op->nregions + 1, sizeof(*op->regions));
	if (isolated && r->version >= HAS_LAZY_REGIONS && !r->rc) {
		enum section id;

		in = cursor_section(c, &id);
		if (!r->rc && id != SECTION_IR)
			return reader_bad(r, at, "regions in a wrong section");
	} else {
		in = *c;
	}
	for (size_t i = 0; i < op->nregions && !r->rc; i++)
		take_region(b, &in, &op->regions[i], isolated ? NULL : s);
	if (!isolated || r->version < HAS_LAZY_REGIONS)
		c->p = in.p;
	else if (!r->rc && in.p != in.end)
		return reader_bad(r, in.p, "more bytes than there should be");
	r->depth--;
	return r->rc;
}

static int take_op(struct body *b, struct cursor *c, struct mlir_op *op, struct slots *s)
{
	struct reader *r = b->r;
	const uint8_t *at = c->p;
	const uint64_t id = cursor_number(c);
	const uint8_t mask = cursor_byte(c);
	const uint64_t where = cursor_number(c);
	const struct op_name *name;
	struct place place;

	if (!r->rc && (id >= r->nnames || mask & 0x80))
		return reader_bad(r, at, "an operation that is not known");
	if (r->rc)
		return r->rc;
	name = &r->names[id];
	place = reader_place(r, where);
	op->name = name->name;
	op->spelled = name->spelled;
	op->file = place.file;
	op->line = place.line;
	if (mask & OP_ATTRS)
		take_dictionary(c, op);
	if (mask & OP_PROPERTIES)
		take_properties(c, name, op);
	if (mask & OP_RESULTS)
		take_results(c, op, s);
	if (mask & OP_OPERANDS)
		take_operands(c, op, s);
	if (mask & OP_SUCCESSORS)
		skip_successors(c);
	if (mask & OP_USE_LISTS)
		skip_use_lists(c, op->nout);
	if (mask & OP_REGIONS)
		take_regions(b, c, op, s);
	/* neither its operands nor what is in it can be its own results */
	if (s && !r->rc)
		s->defined += op->nout;
	return r->rc;
}

int reader_body(struct reader *r)
{
	struct cursor c = { r, r->section[SECTION_IR].p,
			    r->section[SECTION_IR].p + r->section[SECTION_IR].size };
	struct mlir_block *top = reader_alloc(r, 1, sizeof(*top));
	struct body b = { .r = r };
	const struct mlir_op *m;

	if (!top || take_block(&b, &c, top, NULL))
		return r->rc;
	m = top->ops;
	if (c.p != c.end || top->nargs || top->nops != 1 || strcmp(m->name, "builtin.module") ||
	    m->nregions != 1 || m->regions[0].nblocks != 1)
		return reader_bad(r, c.p, "something else than one module");
	r->m->module = m;
	return 0;
}
