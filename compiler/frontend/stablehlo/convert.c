// SPDX-License-Identifier: MIT
/*
 * A program of StableHLO becomes a module of HLO, in the messages that the HLO importer takes:
 * functions and regions become computations, results of several values become tuples. Memory is the
 * program's arena, and what is large (constants) stays where the file has it. Called by stablehlo.c.
 */
#include "convert.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEAVES 65536
#define MOST_TUPLES 8
#define MOST_RANK 64 /* the importer says more of those that it does not take */
#define ROOM 16 /* of a list that grows, at first */

int convert_fail(struct scope *s, int code, const char *fmt, ...)
{
	const struct mlir_op *op = s->at;
	char text[300], place[120] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!op)
		return ncc_fail(s->v->err, code, "%s", text);
	if (op->file)
		snprintf(place, sizeof(place), " (%.100s:%u)", op->file, op->line);
	return ncc_fail(s->v->err, code, "%s%.80s%s: %s", strchr(op->name, '.') ? "" : "stablehlo.",
			op->name, place, text);
}

void *convert_alloc(struct convert *v, size_t n, size_t size)
{
	void *p = arena_alloc(&v->m->arena, n, size);

	if (!p)
		ncc_no_memory(v->err);
	return p;
}

/* Makes room for one more in a list, which moves then; NULL: out of memory */
static void *grow(struct convert *v, void *list, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return list;
	*room = *room ? 2 * *room : ROOM;
	more = convert_alloc(v, *room, size);
	if (more && n)
		memcpy(more, list, n * size);
	return more;
}

static Ncc__Hlo__Shape *new_shape(struct convert *v, int type)
{
	Ncc__Hlo__Shape *p = convert_alloc(v, 1, sizeof(*p));

	if (p) {
		ncc__hlo__shape__init(p);
		p->element_type = type;
	}
	return p;
}

static Ncc__Hlo__Layout *row_major(struct convert *v, size_t n)
{
	Ncc__Hlo__Layout *l = convert_alloc(v, 1, sizeof(*l));

	if (!l)
		return NULL;
	ncc__hlo__layout__init(l);
	l->n_minor_to_major = n;
	l->minor_to_major = convert_alloc(v, n + 1, sizeof(*l->minor_to_major));
	for (size_t i = 0; l->minor_to_major && i < n; i++)
		l->minor_to_major[i] = (int64_t)(n - 1 - i);
	return l->minor_to_major ? l : NULL;
}

Ncc__Hlo__Shape *convert_array(struct convert *v, int type, const int64_t *dims, size_t n)
{
	Ncc__Hlo__Shape *p = new_shape(v, type);

	if (!p)
		return NULL;
	p->n_dimensions = n;
	p->dimensions = convert_alloc(v, n + 1, sizeof(*p->dimensions));
	p->is_dynamic_dimension = convert_alloc(v, n + 1, sizeof(protobuf_c_boolean));
	p->layout = row_major(v, n);
	if (!p->dimensions || !p->is_dynamic_dimension || !p->layout)
		return NULL;
	if (n)
		memcpy(p->dimensions, dims, n * sizeof(*dims));
	p->n_is_dynamic_dimension = n; /* jaxlib 0.4 complains of a shape without */
	return p;
}

static Ncc__Hlo__Shape *array_shape(struct scope *s, const struct mlir_type *t)
{
	Ncc__Hlo__Shape *p;

	if (t->ndim > MOST_RANK) {
		convert_fail(s, -ENOTSUP, "rank %u, at most %d is supported", t->ndim,
			     NCC_MAX_DIMS);
		return NULL;
	}
	p = convert_array(s->v, t->number, t->dim, t->ndim);
	if (!p)
		return NULL;
	for (unsigned int i = 0; i < t->ndim; i++) {
		if (t->dim[i] != MLIR_DYNAMIC)
			continue;
		p->dimensions[i] = t->bound ? t->bound[i] : -1;
		p->is_dynamic_dimension[i] = true;
		if (p->dimensions[i] < 0) {
			convert_fail(s, -ENOTSUP,
				     "a dimension of any size (%u of tensor<...x%s>): only "
				     "bounded ones are supported",
				     i, t->name);
			return NULL;
		}
	}
	return p;
}

Ncc__Hlo__Shape *convert_tuple_shape(struct scope *s, Ncc__Hlo__Shape *const *shapes, size_t n)
{
	Ncc__Hlo__Shape *p = new_shape(s->v, HLO_TUPLE);

	if (!p)
		return NULL;
	p->n_tuple_shapes = n;
	p->tuple_shapes = convert_alloc(s->v, n + 1, sizeof(*p->tuple_shapes));
	if (!p->tuple_shapes)
		return NULL;
	memcpy(p->tuple_shapes, shapes, n * sizeof(*shapes));
	return p;
}

/* Types may have one type many times, and that in turn others: as arrays they would have no end. */
static Ncc__Hlo__Shape *shape_of_list(struct scope *s, struct mlir_type *t)
{
	Ncc__Hlo__Shape **shapes = convert_alloc(s->v, t->nin + 1, sizeof(*shapes));

	for (unsigned int i = 0; i < t->nin; i++) {
		const struct mlir_type *e = t->in[i];

		shapes[i] = shapes ? convert_shape(s, e) : NULL;
		if (!shapes[i])
			return NULL;
		t->leaves += e->kind == MLIR_TUPLE ? e->leaves : 1;
		if (e->depth >= t->depth)
			t->depth = e->depth + 1;
		if (t->leaves > MOST_LEAVES || t->depth > MOST_TUPLES) {
			convert_fail(s, -EFBIG, "a tuple of more than %d arrays, or %d tuples deep",
				     MOST_LEAVES, MOST_TUPLES);
			return NULL;
		}
	}
	return shapes ? convert_tuple_shape(s, shapes, t->nin) : NULL;
}

/* A type is read once, and so is its shape made once. */
Ncc__Hlo__Shape *convert_shape(struct scope *s, const struct mlir_type *type)
{
	struct mlir_type *t = (struct mlir_type *)(uintptr_t)type;

	if (!t->note && t->kind == MLIR_TENSOR && t->number)
		t->note = array_shape(s, t);
	else if (!t->note && t->kind == MLIR_TUPLE)
		t->note = shape_of_list(s, t);
	else if (!t->note && t->kind == MLIR_TOKEN)
		t->note = new_shape(s->v, HLO_TOKEN);
	else if (!t->note)
		convert_fail(s, -ENOTSUP, "a value of %s%.60s",
			     t->kind == MLIR_TENSOR ? "tensors of " : "", t->name);
	return t->note;
}

static Ncc__Hlo__OpMetadata *metadata_of(struct scope *s)
{
	Ncc__Hlo__OpMetadata *md;

	if (!s->at || !s->at->file)
		return NULL;
	md = convert_alloc(s->v, 1, sizeof(*md));
	if (!md)
		return NULL;
	ncc__hlo__op_metadata__init(md);
	md->source_file = (char *)(uintptr_t)s->at->file;
	md->source_line = (int32_t)s->at->line;
	return md;
}

hlo_instruction *convert_add(struct scope *s, const char *opcode, const Ncc__Hlo__Shape *shape,
			     hlo_instruction *const *in, size_t n)
{
	hlo_computation_message *c = s->c;
	const bool many = ++s->v->made > NCC_MAX_OPS || n > NCC_MAX_OPERANDS;
	hlo_instruction *p = shape ? convert_alloc(s->v, 1, sizeof(*p)) : NULL;
	int64_t *ids = p && n ? convert_alloc(s->v, n, sizeof(*ids)) : NULL;

	if (many) {
		convert_fail(s, -EFBIG, "more than %d operations, or %d operands", NCC_MAX_OPS,
			     NCC_MAX_OPERANDS);
		return NULL;
	}
	c->instructions = grow(s->v, c->instructions, c->n_instructions, &s->room, sizeof(p));
	if (!p || (n && !ids) || !c->instructions)
		return NULL;
	ncc__hlo__instruction__init(p);
	p->opcode = (char *)(uintptr_t)opcode;
	p->shape = (Ncc__Hlo__Shape *)(uintptr_t)shape;
	p->id = s->v->next_id++;
	p->name = arena_text(&s->v->m->arena, "%s.%lld", opcode, (long long)p->id);
	p->metadata = metadata_of(s);
	for (size_t i = 0; i < n; i++)
		ids[i] = in[i]->id;
	p->n_operand_ids = n;
	p->operand_ids = ids;
	c->instructions[c->n_instructions++] = p;
	return p->name ? p : NULL;
}

hlo_instruction *convert_element(struct scope *s, hlo_instruction *tuple, size_t i)
{
	hlo_instruction *p =
		convert_add(s, "get-tuple-element", tuple->shape->tuple_shapes[i], &tuple, 1);

	if (p)
		p->tuple_index = (int64_t)i;
	return p;
}

hlo_instruction *convert_tuple(struct scope *s, hlo_instruction *const *in, size_t n)
{
	Ncc__Hlo__Shape **shapes = convert_alloc(s->v, n + 1, sizeof(*shapes));

	for (size_t i = 0; shapes && i < n; i++)
		shapes[i] = in[i]->shape;
	return shapes ? convert_add(s, "tuple", convert_tuple_shape(s, shapes, n), in, n) : NULL;
}

#define COPIED 4096 /* bytes of a constant that regions get a copy of, which is the message alone */

bool convert_is_copied(const hlo_instruction *p)
{
	int64_t n = 8;

	if (strcmp(p->opcode, "constant"))
		return false;
	for (size_t i = 0; i < p->shape->n_dimensions; i++)
		if (__builtin_mul_overflow(n, p->shape->dimensions[i], &n) || n > COPIED)
			return false;
	return true;
}

hlo_instruction *convert_value(struct scope *s, struct mlir_value *value)
{
	hlo_instruction *p = value->note, *copy;

	if (!p) {
		convert_fail(s, -EINVAL, "a value that is not defined there");
		return NULL;
	}
	if (value->owner == s->c)
		return p;
	if (!convert_is_copied(p)) {
		convert_fail(s, -ENOTSUP,
			     "a value from outside of the region, which takes none but constants");
		return NULL;
	}
	copy = convert_add(s, "constant", p->shape, NULL, 0);
	if (!copy)
		return NULL;
	copy->literal = p->literal;
	convert_capture(s, value, copy);
	return value->owner == s->c ? copy : NULL;
}

hlo_instruction **convert_operands(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_alloc(s->v, op->nin + 1, sizeof(hlo_instruction *));

	for (size_t i = 0; in && i < op->nin; i++) {
		in[i] = convert_value(s, op->in[i]);
		if (!in[i])
			return NULL;
	}
	return in;
}

void convert_set(struct scope *s, struct mlir_value *value, hlo_instruction *p)
{
	value->note = p;
	value->owner = s->c;
}

int convert_results(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	if (!p)
		return s->v->err->text[0] ? -ENOTSUP : ncc_no_memory(s->v->err);
	if (op->nout == 1)
		convert_set(s, &op->out[0], p);
	for (size_t i = 0; op->nout != 1 && i < op->nout; i++) {
		hlo_instruction *e = convert_element(s, p, i);

		if (!e)
			return ncc_no_memory(s->v->err);
		convert_set(s, &op->out[i], e);
	}
	return 0;
}

Ncc__Hlo__Shape *convert_result_shape(struct scope *s, const struct mlir_op *op)
{
	Ncc__Hlo__Shape **shapes = convert_alloc(s->v, op->nout + 1, sizeof(*shapes));

	for (size_t i = 0; shapes && i < op->nout; i++) {
		shapes[i] = convert_shape(s, op->out[i].type);
		if (!shapes[i])
			return NULL;
	}
	if (!shapes || op->nout == 1)
		return shapes ? shapes[0] : NULL;
	return convert_tuple_shape(s, shapes, op->nout);
}

void convert_capture(struct scope *s, struct mlir_value *value, hlo_instruction *p)
{
	s->captured =
		grow(s->v, s->captured, s->ncaptured, &s->captured_room, sizeof(*s->captured));
	if (!s->captured)
		return;
	s->captured[s->ncaptured++] = (struct captured){ value, value->note, value->owner };
	convert_set(s, value, p);
}

void convert_release(struct scope *s)
{
	while (s->ncaptured) {
		const struct captured *c = &s->captured[--s->ncaptured];

		c->value->note = c->note;
		c->value->owner = c->owner;
	}
}

int convert_open(struct scope *s, struct convert *v, const char *name)
{
	const struct mlir_op *at = s->at;

	*s = (struct scope){ .v = v, .at = at, .c = convert_alloc(v, 1, sizeof(*s->c)) };
	if (!s->c)
		return -ENOMEM;
	if (v->depth++ >= HLO_MAX_CALLS)
		return convert_fail(s, -EFBIG, "more than %d computations in each other",
				    HLO_MAX_CALLS);
	ncc__hlo__computation__init(s->c);
	s->c->id = v->next_id++;
	s->c->name = arena_text(&v->m->arena, "%.100s.%lld", name, (long long)s->c->id);
	return s->c->name ? 0 : ncc_no_memory(v->err);
}

/* XLA wants to know what a computation takes and gives besides its instructions. */
static int say_shape(struct scope *s, hlo_instruction *root)
{
	Ncc__Hlo__ProgramShape *p = convert_alloc(s->v, 1, sizeof(*p));
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	ncc__hlo__program_shape__init(p);
	for (size_t i = 0; i < s->c->n_instructions; i++)
		n += !strcmp(s->c->instructions[i]->opcode, "parameter");
	p->parameters = convert_alloc(s->v, n + 1, sizeof(*p->parameters));
	p->parameter_names = convert_alloc(s->v, n + 1, sizeof(*p->parameter_names));
	if (!p->parameters || !p->parameter_names)
		return -ENOMEM;
	for (size_t i = 0; i < s->c->n_instructions; i++) {
		const hlo_instruction *q = s->c->instructions[i];

		if (strcmp(q->opcode, "parameter"))
			continue;
		p->parameters[q->parameter_number] = q->shape;
		p->parameter_names[q->parameter_number] = q->name;
	}
	p->n_parameters = p->n_parameter_names = n;
	p->result = root->shape;
	s->c->program_shape = p;
	return 0;
}

int convert_close(struct scope *s, hlo_instruction *root)
{
	struct convert *v = s->v;
	Ncc__Hlo__Module *m = v->proto;

	v->depth--;
	convert_release(s);
	if (!root)
		return v->err->text[0] ? -ENOTSUP : ncc_no_memory(v->err);
	s->c->root_id = root->id;
	m->computations = grow(v, m->computations, m->n_computations, &v->room, sizeof(s->c));
	if (!m->computations || say_shape(s, root))
		return -ENOMEM;
	m->computations[m->n_computations++] = s->c;
	return 0;
}

hlo_instruction **convert_block(struct scope *s, const struct mlir_block *b, size_t *n)
{
	const struct mlir_op *at = s->at;
	hlo_instruction **in;

	for (size_t i = 0; i < b->nops; i++) {
		s->at = &b->ops[i];
		if (strcmp(s->at->name, "return") && strcmp(s->at->name, "sdy.return")) {
			if (s->v->op(s, s->at))
				return NULL;
			continue;
		}
		in = convert_operands(s, s->at);
		*n = s->at->nin;
		s->at = at;
		return in;
	}
	s->at = at;
	convert_fail(s, -EINVAL, "a region without a return");
	return NULL;
}

int convert_calls(hlo_instruction *p, struct convert *v, const hlo_computation_message *c)
{
	const size_t n = p->n_called_computation_ids;
	int64_t *ids = p->called_computation_ids;

	if (!(n & (n - 1))) { /* there is room for a power of two */
		ids = convert_alloc(v, n ? 2 * n : 1, sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		if (n)
			memcpy(ids, p->called_computation_ids, n * sizeof(*ids));
		p->called_computation_ids = ids;
	}
	ids[n] = c->id;
	p->n_called_computation_ids++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct function *)a)->name, ((const struct function *)b)->name);
}

int convert_body(struct scope *s, const struct mlir_block *b)
{
	hlo_instruction **out, *root;
	size_t n = 0;

	for (size_t i = 0; i < b->nargs; i++) {
		hlo_instruction *p =
			convert_add(s, "parameter", convert_shape(s, b->args[i].type), NULL, 0);

		if (!p)
			return -ENOTSUP;
		p->parameter_number = (int64_t)i;
		convert_set(s, &b->args[i], p);
	}
	out = convert_block(s, b, &n);
	root = !out ? NULL : n == 1 ? out[0] : convert_tuple(s, out, n);
	return convert_close(s, root);
}

int convert_region(struct scope *s, const struct mlir_region *r, const hlo_computation_message **c)
{
	struct scope in = { .at = s->at };
	int rc;

	if (r->nblocks != 1)
		return convert_fail(s, -ENOTSUP, "a region of %zu blocks, only one is supported",
				    r->nblocks);
	rc = convert_open(&in, s->v, "region");
	rc = rc ? rc : convert_body(&in, r->blocks);
	*c = in.c;
	return rc;
}

hlo_computation_message *convert_function(struct scope *s, const char *name)
{
	struct convert *v = s->v;
	const struct function key = { .name = name };
	struct function *f = bsearch(&key, v->functions, v->nfunctions, sizeof(key), by_name);
	struct scope in = { .at = s->at };

	if (!f || f->open || f->op->nregions != 1 || f->op->regions[0].nblocks != 1) {
		convert_fail(s, -EINVAL, "the function '%.100s' %s", name,
			     !f	       ? "does not exist"
			     : f->open ? "calls itself"
				       : "has no body of one block");
		return NULL;
	}
	if (f->c)
		return f->c;
	f->open = true;
	if (convert_open(&in, v, name))
		return NULL;
	in.at = f->op;
	if (convert_body(&in, &f->op->regions[0].blocks[0]))
		return NULL;
	f->open = false;
	f->c = in.c;
	return f->c;
}
