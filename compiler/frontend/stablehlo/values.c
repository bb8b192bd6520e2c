// SPDX-License-Identifier: MIT
/* Attributes and types that builtin, VHLO and sdy write in the same way */
#include <string.h>

#include "bytecode.h"
#include "frontend/hlo/hlo.h"

/* of a dictionary: it is looked through each time that something refers to it */
#define MOST_ENTRIES 256

struct mlir_attr *new_attr(struct reader *r, enum mlir_attr_kind kind)
{
	struct mlir_attr *a = reader_alloc(r, 1, sizeof(*a));

	if (a)
		a->kind = kind;
	return a;
}

struct mlir_type *new_type(struct reader *r, enum mlir_kind kind, const char *name)
{
	struct mlir_type *t = reader_alloc(r, 1, sizeof(*t));

	if (t) {
		t->kind = kind;
		t->name = name;
	}
	return t;
}

const struct mlir_attr *attr_of_int(struct reader *r, enum mlir_attr_kind kind, int64_t v)
{
	struct mlir_attr *a = new_attr(r, kind);

	if (a)
		a->integer = v;
	return a;
}

const struct mlir_attr *attr_of_text(struct reader *r, enum mlir_attr_kind kind, const char *text)
{
	struct mlir_attr *a = new_attr(r, kind);

	if (a) {
		a->text = text;
		a->size = strlen(text);
	}
	return a;
}

const struct mlir_attr *attr_of_string(struct cursor *c)
{
	struct mlir_attr *a = new_attr(c->r, MLIR_STRING);
	const struct bytes s = cursor_string(c);

	if (a) {
		a->text = (const char *)s.p;
		a->size = s.size;
	}
	return a;
}

/* Numbers: what StableHLO calls them, XLA's type, and how many bits they have */
static const struct number {
	const char *name;
	enum hlo_type type;
	unsigned int bits;
} numbers[] = {
	{ "i1", HLO_PRED, 1 },
	{ "i2", HLO_S2, 2 },
	{ "i4", HLO_S4, 4 },
	{ "i8", HLO_S8, 8 },
	{ "i16", HLO_S16, 16 },
	{ "i32", HLO_S32, 32 },
	{ "i64", HLO_S64, 64 },
	{ "ui2", HLO_U2, 2 },
	{ "ui4", HLO_U4, 4 },
	{ "ui8", HLO_U8, 8 },
	{ "ui16", HLO_U16, 16 },
	{ "ui32", HLO_U32, 32 },
	{ "ui64", HLO_U64, 64 },
	{ "bf16", HLO_BF16, 16 },
	{ "f16", HLO_F16, 16 },
	{ "f32", HLO_F32, 32 },
	{ "f64", HLO_F64, 64 },
	{ "complex<f32>", HLO_C64, 64 },
	{ "complex<f64>", HLO_C128, 128 },
	{ "f8E4M3FN", HLO_F8E4M3FN, 8 },
	{ "f8E5M2", HLO_F8E5M2, 8 },
	{ "f8E4M3FNUZ", HLO_F8E4M3FNUZ, 8 },
	{ "f8E5M2FNUZ", HLO_F8E5M2FNUZ, 8 },
	{ "f8E4M3B11FNUZ", HLO_F8E4M3B11FNUZ, 8 },
	{ "f8E4M3", HLO_F8E4M3, 8 },
	{ "f8E3M4", HLO_F8E3M4, 8 },
	{ "f4E2M1FN", HLO_F4E2M1FN, 4 },
	{ "f6E2M3FN", HLO_F6E2M3FN, 6 },
	{ "f6E3M2FN", HLO_F6E3M2FN, 6 },
	{ "f8E8M0FNU", HLO_F8E8M0FNU, 8 },
	{ "index", 0, 64 },
};

static const struct number *number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(numbers[i].name, name))
			return &numbers[i];
	return NULL;
}

const struct mlir_type *type_of_number(struct reader *r, const char *name)
{
	const struct number *n = number_of(name);
	struct mlir_type *t = new_type(r, n ? MLIR_NUMBER : MLIR_OTHER, name);

	if (t && n)
		t->number = (int)n->type;
	return t;
}

const struct mlir_type *type_of_quant(struct reader *r, const struct mlir_quant *q,
				      const char *name)
{
	struct mlir_quant *copy = reader_alloc(r, 1, sizeof(*copy));
	struct mlir_type *t = new_type(r, MLIR_NUMBER, name);

	if (!copy || !t)
		return NULL;
	*copy = *q;
	t->quant = copy;
	t->number = q->storage->number;
	return t;
}

const struct mlir_type *type_of_complex(struct cursor *c)
{
	const struct mlir_type *t = cursor_type(c);

	if (!t)
		return NULL;
	return type_of_number(c->r, !strcmp(t->name, "f32")   ? "complex<f32>"
				    : !strcmp(t->name, "f64") ? "complex<f64>"
							      : "complex<>");
}

const struct mlir_attr *attr_of_integer(struct cursor *c)
{
	const struct mlir_type *t = cursor_type(c);
	const struct number *n = t ? number_of(t->name) : NULL;
	const uint8_t *at = c->p;
	struct mlir_attr *a = new_attr(c->r, MLIR_INTEGER);
	uint64_t v;

	if (!a || !t)
		return NULL;
	if (!n || t->kind != MLIR_NUMBER) {
		reader_bad(c->r, at, "an integer whose type is none");
		return NULL;
	}
	v = cursor_integer(c, n->bits);
	if (n->bits < 64)
		v &= (1ull << n->bits) - 1;
	if (n->bits > 1 && n->bits < 64 && t->name[0] == 'i' && v >> (n->bits - 1))
		v |= ~0ull << n->bits;
	a->type = t;
	a->integer = (int64_t)v;
	return a;
}

static double real_of(const char *type, uint64_t bits)
{
	const uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (!strcmp(type, "f64")) {
		memcpy(&d, &bits, sizeof(d));
		return d;
	}
	memcpy(&f, &low, sizeof(f));
	return !strcmp(type, "f32") ? f : __builtin_nan("");
}

/* Attributes of f32 and f64 have a value here, others none: nothing that is read has them. */
const struct mlir_attr *attr_of_float(struct cursor *c)
{
	const struct mlir_type *t = cursor_type(c);
	const struct number *n = t ? number_of(t->name) : NULL;
	const uint8_t *at = c->p;
	struct mlir_attr *a = new_attr(c->r, MLIR_FLOAT);

	if (!a || !t)
		return NULL;
	if (!n || t->kind != MLIR_NUMBER || n->bits > 64) {
		reader_bad(c->r, at, "a float whose type is none");
		return NULL;
	}
	a->type = t;
	a->real = real_of(t->name, cursor_integer(c, n->bits));
	return a;
}

const struct mlir_attr *attr_of_array(struct cursor *c)
{
	const size_t n = cursor_count(c);
	struct mlir_attr *a = new_attr(c->r, MLIR_ARRAY);

	if (!a)
		return NULL;
	a->n = n;
	a->list = reader_alloc(c->r, n + 1, sizeof(*a->list));
	for (size_t i = 0; i < n && !cursor_bad(c); i++)
		a->list[i] = cursor_attr(c);
	return cursor_bad(c) ? NULL : a;
}

const struct mlir_attr *attr_of_dictionary(struct cursor *c)
{
	const uint8_t *at = c->p;
	const size_t n = cursor_count(c);
	struct mlir_attr *a = new_attr(c->r, MLIR_DICTIONARY);

	if (!a)
		return NULL;
	if (n > MOST_ENTRIES) {
		reader_bad(c->r, at, "a dictionary of more entries than are looked through");
		return NULL;
	}
	a->n = n;
	a->text = "";
	a->names = reader_alloc(c->r, n + 1, sizeof(*a->names));
	a->list = reader_alloc(c->r, n + 1, sizeof(*a->list));
	for (size_t i = 0; i < n && !cursor_bad(c); i++) {
		const struct mlir_attr *name = cursor_attr(c);

		if (name && name->kind != MLIR_STRING)
			reader_bad(c->r, c->p, "a name that is no string");
		if (!name || cursor_bad(c))
			break;
		a->names[i] = name->text;
		a->list[i] = cursor_attr(c);
	}
	return cursor_bad(c) ? NULL : a;
}

const struct mlir_attr *attr_of_type(struct cursor *c)
{
	struct mlir_attr *a = new_attr(c->r, MLIR_TYPE);

	if (a)
		a->type = cursor_type(c);
	return cursor_bad(c) ? NULL : a;
}

/* Eight to a byte, the first one lowest; or one for all of them */
static int unpack_bits(struct cursor *c, struct mlir_attr *a, int64_t n)
{
	uint8_t *bits = reader_alloc(c->r, (size_t)n, 1);

	for (int64_t i = 0; bits && i < n; i++)
		bits[i] = a->data[i / 8] >> i % 8 & 1;
	a->data = bits;
	a->size = (size_t)n;
	return bits ? 0 : c->r->rc;
}

static int check_dense(struct cursor *c, struct mlir_attr *a, const uint8_t *at)
{
	const struct mlir_type *t = a->type;
	const struct number *number = number_of(t->name);
	const int64_t n = mlir_elems(t);
	size_t each;

	if (!number || n < 0)
		return reader_bad(c->r, at, "a tensor without a type that says its size");
	each = (number->bits + 7) / 8;
	if (number->type == HLO_PRED && a->size == 1 && n > 8) {
		static const uint8_t both[] = { 0, 1 };

		a->data = &both[a->data[0] & 1];
		a->one = true;
		return 0;
	}
	if (number->type == HLO_PRED && n && a->size == (size_t)(n / 8 + (n % 8 != 0)))
		return unpack_bits(c, a, n);
	a->one = a->size == each && n != 1;
	if (!a->one && (a->size % each || a->size / each != (size_t)n))
		return reader_bad(c->r, at, "a tensor of another size than its type says");
	return 0;
}

const struct mlir_attr *attr_of_dense(struct cursor *c)
{
	const uint8_t *at = c->p;
	const struct mlir_type *t = cursor_type(c);
	const struct bytes b = cursor_blob(c);
	struct mlir_attr *a = new_attr(c->r, MLIR_DENSE);

	if (!a || !t)
		return NULL;
	a->type = t;
	a->data = b.p;
	a->size = b.size;
	if (t->kind != MLIR_TENSOR) {
		reader_bad(c->r, at, "a tensor whose type is none");
		return NULL;
	}
	return check_dense(c, a, at) ? NULL : a;
}

static const struct mlir_type *type_of_numbers(struct reader *r, int64_t n)
{
	struct mlir_type *t = new_type(r, MLIR_TENSOR, "i64");
	int64_t *dim = reader_alloc(r, 1, sizeof(*dim));

	if (!t || !dim)
		return NULL;
	*dim = n;
	t->number = HLO_S64;
	t->ndim = 1;
	t->dim = dim;
	return t;
}

const struct mlir_attr *attr_of_signed(struct cursor *c)
{
	const size_t n = cursor_count(c);
	struct mlir_attr *a = new_attr(c->r, MLIR_DENSE);
	int64_t *v = reader_alloc(c->r, n + 1, sizeof(*v));

	if (!a || !v)
		return NULL;
	for (size_t i = 0; i < n; i++)
		v[i] = cursor_signed(c);
	a->type = type_of_numbers(c->r, (int64_t)n);
	a->data = (const uint8_t *)v;
	a->size = n * sizeof(*v);
	return cursor_bad(c) ? NULL : a;
}

const struct mlir_attr *attr_of_fields(struct reader *r, const char *kind, const char *const *names,
				       const struct mlir_attr *const *values)
{
	struct mlir_attr *a = new_attr(r, MLIR_DICTIONARY);
	size_t n = 0, have = 0;

	while (names[n])
		n++;
	if (!a)
		return NULL;
	a->text = kind;
	a->size = strlen(kind);
	a->names = reader_alloc(r, n + 1, sizeof(*a->names));
	a->list = reader_alloc(r, n + 1, sizeof(*a->list));
	for (size_t i = 0; i < n && !r->rc; i++) {
		if (!values[i])
			continue;
		a->names[have] = names[i];
		a->list[have++] = values[i];
	}
	a->n = have;
	return r->rc ? NULL : a;
}

const struct mlir_type *type_of_tensor(struct cursor *c, const struct mlir_attr *encoding)
{
	const size_t n = cursor_count(c);
	struct mlir_type *t = new_type(c->r, MLIR_TENSOR, "");
	int64_t *dim = reader_alloc(c->r, n + 1, sizeof(*dim));
	const struct mlir_type *element;

	for (size_t i = 0; dim && i < n; i++)
		dim[i] = cursor_signed(c);
	element = cursor_type(c);
	if (!t || !element || cursor_bad(c))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (dim[i] < 0 && dim[i] != MLIR_DYNAMIC) {
			reader_bad(c->r, c->p, "a negative size");
			return NULL;
		}
	t->ndim = (unsigned int)n;
	t->dim = dim;
	t->name = element->name;
	t->number = element->number;
	t->quant = element->quant;
	if (encoding && encoding->kind == MLIR_DENSE && mlir_elems(encoding->type) == (int64_t)n) {
		int64_t *bound = reader_alloc(c->r, n + 1, sizeof(*bound));

		for (size_t i = 0; bound && i < n; i++)
			bound[i] = mlir_int(encoding, (int64_t)i);
		t->bound = bound;
	}
	return cursor_bad(c) ? NULL : t;
}

const struct mlir_type *type_of_list(struct cursor *c, enum mlir_kind kind)
{
	struct mlir_type *t =
		new_type(c->r, kind, kind == MLIR_TUPLE ? "tuple" : "a function's type");

	for (unsigned int k = 0; t && k < (kind == MLIR_TUPLE ? 1 : 2); k++) {
		const size_t n = cursor_count(c);
		const struct mlir_type **list = reader_alloc(c->r, n + 1, sizeof(*list));

		for (size_t i = 0; i < n && !cursor_bad(c); i++)
			list[i] = cursor_type(c);
		*(k ? &t->out : &t->in) = list;
		*(k ? &t->nout : &t->nin) = (unsigned int)n;
	}
	return cursor_bad(c) ? NULL : t;
}
