// SPDX-License-Identifier: MIT
/*
 * The attributes and types of MLIR's builtin dialect in bytecode, by their codes. Artifacts have
 * them in what belongs to no operation of StableHLO: discardable attributes, the module, locations.
 */
#include <errno.h>

#include "bytecode.h"

enum attr_code {
	ATTR_ARRAY,
	ATTR_DICTIONARY,
	ATTR_STRING,
	ATTR_TYPED_STRING,
	ATTR_FLAT_SYMBOL,
	ATTR_SYMBOL,
	ATTR_TYPE,
	ATTR_UNIT,
	ATTR_INTEGER,
	ATTR_FLOAT,
	LOC_CALL_SITE,
	LOC_FILE,
	LOC_FUSED,
	LOC_FUSED_METADATA,
	LOC_NAME,
	LOC_UNKNOWN,
	ATTR_RESOURCE,
	ATTR_DENSE_ARRAY,
	ATTR_DENSE,
	ATTR_DENSE_STRINGS,
	ATTR_SPARSE,
	ATTR_DISTINCT,
	LOC_RANGE,
	ATTR_CODES,
};

static const char *const attr_names[ATTR_CODES] = {
	[ATTR_TYPED_STRING] = "a string with a type",
	[ATTR_SYMBOL] = "a nested symbol",
	[ATTR_RESOURCE] = "dense_resource",
	[ATTR_DENSE_STRINGS] = "a tensor of strings",
	[ATTR_SPARSE] = "a sparse tensor",
	[ATTR_DISTINCT] = "a distinct attribute",
};

/* An element type, how many, their bytes: as the tensor that it says as much as */
static const struct mlir_attr *dense_array(struct cursor *c)
{
	const struct mlir_type *element = cursor_type(c);
	const uint64_t n = cursor_number(c);
	const struct bytes b = cursor_blob(c);
	struct mlir_attr *a = new_attr(c->r, MLIR_DENSE);
	struct mlir_type *t = new_type(c->r, MLIR_TENSOR, element ? element->name : "");
	int64_t *dim = reader_alloc(c->r, 1, sizeof(*dim));

	if (!a || !t || !dim || !element || cursor_bad(c))
		return NULL;
	if (n > b.size || (n && b.size % n) || (!n && b.size)) {
		reader_bad(c->r, c->p, "a list of another size than it says");
		return NULL;
	}
	*dim = (int64_t)n;
	t->number = element->number;
	t->ndim = 1;
	t->dim = dim;
	a->type = t;
	a->data = b.p;
	a->size = b.size;
	return a;
}

static const struct mlir_attr *symbol(struct cursor *c)
{
	const struct mlir_attr *name = cursor_attr(c);

	if (name && name->kind != MLIR_STRING)
		reader_bad(c->r, c->p, "a symbol that is no string");
	return cursor_bad(c) ? NULL : name;
}

/* The origin of something, as an attribute among others; what is in it is left out */
static const struct mlir_attr *location(struct cursor *c)
{
	c->p = c->end;
	return attr_of_text(c->r, MLIR_UNKNOWN, "location");
}

const struct mlir_attr *builtin_attr(struct cursor *c, uint64_t code)
{
	switch (code) {
	case ATTR_ARRAY:
		return attr_of_array(c);
	case ATTR_DICTIONARY:
		return attr_of_dictionary(c);
	case ATTR_STRING:
		return attr_of_string(c);
	case ATTR_FLAT_SYMBOL:
		return symbol(c);
	case ATTR_TYPE:
		return attr_of_type(c);
	case ATTR_UNIT:
		return new_attr(c->r, MLIR_UNIT);
	case ATTR_INTEGER:
		return attr_of_integer(c);
	case ATTR_FLOAT:
		return attr_of_float(c);
	case ATTR_DENSE_ARRAY:
		return dense_array(c);
	case ATTR_DENSE:
		return attr_of_dense(c);
	case LOC_CALL_SITE ... LOC_UNKNOWN:
	case LOC_RANGE:
		return location(c);
	default:
		reader_fail(c->r, -ENOTSUP, "%s of MLIR's builtin dialect (code %llu)",
			    code < ATTR_CODES && attr_names[code] ? attr_names[code]
								  : "an attribute",
			    (unsigned long long)code);
		return NULL;
	}
}

static bool place_in_file(struct cursor *c, uint64_t code, struct place *p)
{
	uint64_t name, n = 1;

	/* The name is an attribute of its own, a string. */
	name = cursor_number(c);
	if (code == LOC_RANGE)
		n = cursor_number(c);
	if (name < c->r->nattrs) {
		const struct mlir_attr *file = c->r->attr(c->r, name);

		if (file && file->kind == MLIR_STRING && file->size)
			p->file = file->text;
	}
	p->line = n ? (unsigned int)cursor_number(c) : 0;
	return false;
}

/*
 * One step from a location to where the program's author wrote it: of a call the place that is
 * called, of several the first one. true: inner is the next one to look at
 */
bool builtin_place(struct cursor *c, uint64_t code, struct place *p, uint64_t *inner)
{
	switch (code) {
	case LOC_CALL_SITE:
		*inner = cursor_number(c);
		return true;
	case LOC_NAME:
		cursor_number(c);
		*inner = cursor_number(c);
		return true;
	case LOC_FUSED:
	case LOC_FUSED_METADATA:
		if (!cursor_number(c))
			return false;
		*inner = cursor_number(c);
		return true;
	case LOC_FILE:
	case LOC_RANGE:
		return place_in_file(c, code, p);
	default:
		return false;
	}
}

enum type_code {
	TYPE_INTEGER,
	TYPE_INDEX,
	TYPE_FUNCTION,
	TYPE_BF16,
	TYPE_F16,
	TYPE_F32,
	TYPE_F64,
	TYPE_F80,
	TYPE_F128,
	TYPE_COMPLEX,
	TYPE_MEMREF,
	TYPE_MEMREF_SPACE,
	TYPE_NONE,
	TYPE_TENSOR,
	TYPE_TENSOR_ENCODED,
	TYPE_TUPLE,
};

/* The width, and whether it has a sign: 0 says nothing of it */
static const struct mlir_type *integer_type(struct cursor *c)
{
	const uint64_t v = cursor_number(c);
	const char *name = arena_text(&c->r->m->arena, "%si%llu",
				      (v & 3) == 2   ? "u"
				      : (v & 3) == 1 ? "s"
						     : "",
				      (unsigned long long)(v >> 2));

	return name ? type_of_number(c->r, name) : NULL;
}

const struct mlir_type *builtin_type(struct cursor *c, uint64_t code)
{
	static const char *const floats[] = { "bf16", "f16", "f32", "f64", "f80", "f128" };
	const struct mlir_attr *encoding;

	switch (code) {
	case TYPE_INTEGER:
		return integer_type(c);
	case TYPE_INDEX:
		return type_of_number(c->r, "index");
	case TYPE_FUNCTION:
		return type_of_list(c, MLIR_FUNCTION);
	case TYPE_BF16 ... TYPE_F128:
		return type_of_number(c->r, floats[code - TYPE_BF16]);
	case TYPE_COMPLEX:
		return type_of_complex(c);
	case TYPE_NONE:
		return new_type(c->r, MLIR_NONE, "none");
	case TYPE_TENSOR:
		return type_of_tensor(c, NULL);
	case TYPE_TENSOR_ENCODED:
		encoding = cursor_attr(c);
		return encoding ? type_of_tensor(c, encoding) : NULL;
	case TYPE_TUPLE:
		return type_of_list(c, MLIR_TUPLE);
	default:
		reader_fail(c->r, -ENOTSUP, "a type of MLIR's builtin dialect (code %llu)",
			    (unsigned long long)code);
		return NULL;
	}
}
