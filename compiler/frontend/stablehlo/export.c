// SPDX-License-Identifier: MIT
/*
 * The envelope of jax.export: a FlatBuffer whose table has the artifact as a vector of bytes (JAX's
 * _src/export/serialization.fbs is the public record; fields keep their numbers). Called by
 * stablehlo.c.
 */
#include "export.h"

#include "mlir.h"

#define MLIR_MODULE 13 /* mlir_module_serialized, of the table Exported */

struct file {
	const uint8_t *p;
	size_t size;
};

/* Little-endian; 0 where the file ends */
static uint64_t number(const struct file *f, uint64_t at, unsigned int n)
{
	uint64_t v = 0;

	if (at > f->size || n > f->size - at)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		v |= (uint64_t)f->p[at + i] << 8 * i;
	return v;
}

bool export_find(const void *buf, size_t size, const void **artifact, size_t *artifact_size)
{
	const struct file f = { buf, size };
	const uint64_t table = number(&f, 0, 4),
		       vtable = table - (uint64_t)(int32_t)number(&f, table, 4);
	const uint64_t slot = 4 + 2 * MLIR_MODULE;
	uint64_t at, n;

	if (!table || vtable >= size || number(&f, vtable, 2) < slot + 2)
		return false;
	at = number(&f, vtable + slot, 2);
	at = at ? table + at : size;
	at += number(&f, at, 4);
	n = number(&f, at, 4);
	if (at > size || size - at < 4 || n > size - at - 4 ||
	    !mlir_is_bytecode(f.p + at + 4, (size_t)n))
		return false;
	*artifact = f.p + at + 4;
	*artifact_size = (size_t)n;
	return true;
}
