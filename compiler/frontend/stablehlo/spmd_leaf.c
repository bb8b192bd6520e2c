// SPDX-License-Identifier: MIT
/* Helpers of all parts of the partitioner: errors, memory, types, attributes. See spmd.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frontend/hlo/hlo.h"
#include "ir/ir.h"
#include "spmd.h"

#define ROOM 16 /* of a list, at first */

int spmd_fail(struct spmd *p, int code, const char *fmt, ...)
{
	const struct mlir_op *op = p->at;
	char text[300], place[120] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!op)
		return ncc_fail(p->err, code, "%s", text);
	if (op->file)
		snprintf(place, sizeof(place), " (%.100s:%u)", op->file, op->line);
	return ncc_fail(p->err, code, "%s%.80s%s: %s", strchr(op->name, '.') ? "" : "stablehlo.",
			op->name, place, text);
}

void *spmd_alloc(struct spmd *p, size_t n, size_t size)
{
	void *a = arena_alloc(&p->m->arena, n, size);

	if (!a)
		ncc_no_memory(p->err);
	return a;
}

unsigned int spmd_rank(const struct mlir_type *t)
{
	if (!t || t->kind != MLIR_TENSOR || t->ndim > SPMD_MOST_RANK)
		return 0;
	for (unsigned int d = 0; d < t->ndim; d++)
		if (t->dim[d] == MLIR_DYNAMIC)
			return 0;
	return t->ndim;
}

struct mlir_type *spmd_tensor(struct spmd *p, const struct mlir_type *like, unsigned int ndim)
{
	struct mlir_type *t = spmd_alloc(p, 1, sizeof(*t));
	int64_t *dim = spmd_alloc(p, ndim + 1, sizeof(*dim));

	if (!t || !dim)
		return NULL;
	*t = (struct mlir_type){ .kind = MLIR_TENSOR,
				 .name = like->name,
				 .number = like->number,
				 .ndim = ndim,
				 .dim = dim };
	for (unsigned int d = 0; d < ndim && d < like->ndim; d++)
		dim[d] = like->dim[d];
	return t;
}

const struct mlir_attr *spmd_int_attr(struct spmd *p, int64_t v)
{
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));

	if (a) {
		a->kind = MLIR_INTEGER;
		a->integer = v;
	}
	return a;
}

const struct mlir_attr *spmd_numbers(struct spmd *p, const int64_t *v, size_t n)
{
	static const struct mlir_type like = { .name = "i64", .number = HLO_S64 };
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));
	struct mlir_type *t = spmd_tensor(p, &like, 1);
	int64_t *data = spmd_alloc(p, n + 1, sizeof(*data));

	if (!a || !t || !data)
		return NULL;
	*(int64_t *)(uintptr_t)t->dim = (int64_t)n;
	if (n)
		memcpy(data, v, n * sizeof(*data));
	*a = (struct mlir_attr){ .kind = MLIR_DENSE,
				 .type = t,
				 .data = (const uint8_t *)data,
				 .size = n * sizeof(*data) };
	return a;
}

unsigned int spmd_list_of(const struct mlir_op *op, const char *name, int64_t *v, unsigned int max)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);
	const int64_t n = a && a->kind == MLIR_DENSE ? mlir_elems(a->type) : 0;

	if (n <= 0 || n > (int64_t)max)
		return 0;
	for (int64_t i = 0; i < n; i++)
		v[i] = mlir_int(a, i);
	return (unsigned int)n;
}

int64_t spmd_int_of(const struct mlir_op *op, const char *name, int64_t absent)
{
	const struct mlir_attr *a = mlir_attr_of(op, name);

	return a && (a->kind == MLIR_INTEGER || a->kind == MLIR_BOOL) ? a->integer : absent;
}

struct mlir_op *spmd_add(struct spmd *p, struct spmd_list *l)
{
	struct mlir_op *more;

	if (++p->made > NCC_MAX_OPS) {
		spmd_fail(p, -EFBIG, "the program for each device has more than %d operations",
			  NCC_MAX_OPS);
		return NULL;
	}
	if (l->n == l->room) {
		more = spmd_alloc(p, l->room ? 2 * l->room : ROOM, sizeof(*more));
		if (!more)
			return NULL;
		if (l->n)
			memcpy(more, l->op, l->n * sizeof(*more));
		l->op = more;
		l->room = l->room ? 2 * l->room : ROOM;
	}
	return &l->op[l->n++];
}

int spmd_set_attrs(struct spmd *p, struct mlir_op *op, size_t n, const char *const *names,
		   const struct mlir_attr *const *attrs)
{
	const char **to = spmd_alloc(p, n + 1, sizeof(*to));
	const struct mlir_attr **list = spmd_alloc(p, n + 1, sizeof(*list));

	if (!to || !list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		to[i] = names[i];
		list[i] = attrs[i];
		if (!attrs[i])
			return -ENOMEM;
	}
	op->names = to;
	op->attrs = list;
	op->nattrs = n;
	return 0;
}

unsigned int spmd_bytes(const struct mlir_type *t)
{
	static const struct {
		const char *name;
		unsigned int bytes;
	} types[] = {
		{ "i1", 1 },  { "i8", 1 },   { "ui8", 1 }, { "i16", 2 },	  { "ui16", 2 },
		{ "i32", 4 }, { "ui32", 4 }, { "i64", 8 }, { "ui64", 8 },	  { "bf16", 2 },
		{ "f16", 2 }, { "f32", 4 },  { "f64", 8 }, { "complex<f32>", 8 },
	};

	for (size_t i = 0; t->name && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, t->name))
			return types[i].bytes;
	return 0;
}
