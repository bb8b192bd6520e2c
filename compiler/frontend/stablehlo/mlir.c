// SPDX-License-Identifier: MIT
/* The conversion's questions about a program in memory: see mlir.h. */
#include "mlir.h"

#include <string.h>

void mlir_free(struct mlir *m)
{
	arena_free(&m->arena);
	m->module = NULL;
}

const struct mlir_attr *mlir_entry_of(const struct mlir_attr *dictionary, const char *name)
{
	if (!dictionary || dictionary->kind != MLIR_DICTIONARY)
		return NULL;
	for (size_t i = 0; i < dictionary->n; i++)
		if (!strcmp(dictionary->names[i], name))
			return dictionary->list[i];
	return NULL;
}

const struct mlir_attr *mlir_attr_of(const struct mlir_op *op, const char *name)
{
	for (size_t i = 0; i < op->nattrs; i++)
		if (!strcmp(op->names[i], name))
			return op->attrs[i];
	return op->others ? mlir_entry_of(op->others, name) : NULL;
}

int64_t mlir_elems(const struct mlir_type *type)
{
	int64_t n = 1;

	if (!type || type->kind != MLIR_TENSOR)
		return -1;
	for (unsigned int i = 0; i < type->ndim; i++)
		if (!type->dim[i])
			return 0;
	for (unsigned int i = 0; i < type->ndim; i++)
		if (type->dim[i] < 0 || __builtin_mul_overflow(n, type->dim[i], &n))
			return -1;
	return n;
}

int64_t mlir_int(const struct mlir_attr *dense, int64_t i)
{
	const int64_t n = mlir_elems(dense->type);
	const size_t size = n > 0 ? dense->size / (dense->one ? 1 : (size_t)n) : 0;
	const uint8_t *p = dense->data + (dense->one ? 0 : (size_t)i * size);
	uint64_t v = 0;

	if (!size || size > 8)
		return 0;
	for (size_t k = 0; k < size; k++)
		v |= (uint64_t)p[k] << 8 * k;
	if (dense->type->name[0] == 'i' && size < 8 && strcmp(dense->type->name, "i1") &&
	    v >> (8 * size - 1))
		v |= ~0ull << 8 * size;
	return (int64_t)v;
}

unsigned int quant_bits(const struct mlir_quant *q)
{
	const char *name = q->storage->name;
	unsigned int v = 0;

	name += name[0] == 'u';
	if (*name++ != 'i')
		return 0;
	while (*name >= '0' && *name <= '9' && v < 64)
		v = 10 * v + (unsigned int)(*name++ - '0');
	return *name || v > 63 ? 0 : v;
}

void quant_bounds(struct mlir_quant *q)
{
	const bool positive = q->storage->name[0] == 'u';
	const unsigned int bits = quant_bits(q);

	q->most = bits ? (int64_t)((1ull << (bits - !positive)) - 1) : 0;
	q->least = positive ? 0 : -q->most - 1;
}

const char *quant_unsigned(const char *name)
{
	static const char *const names[] = { "ui2", "ui4", "ui8", "ui16", "ui32" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i] + 1, name))
			return names[i];
	return name;
}

bool quant_same(const struct mlir_quant *a, const struct mlir_quant *b)
{
	if (!a || !b)
		return a == b;
	return !strcmp(a->storage->name, b->storage->name) &&
	       !strcmp(a->expressed->name, b->expressed->name) && a->least == b->least &&
	       a->most == b->most && a->axis == b->axis && a->n == b->n &&
	       !memcmp(a->scale, b->scale, a->n * sizeof(*a->scale)) &&
	       !memcmp(a->zero, b->zero, a->n * sizeof(*a->zero));
}
