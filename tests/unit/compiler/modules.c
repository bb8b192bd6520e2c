// SPDX-License-Identifier: MIT
/* See modules.h. */
#include "modules.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

Ncc__Hlo__Module *unpack(const char *path)
{
	size_t size;
	void *hlo = read_data(path, &size);
	Ncc__Hlo__Module *m = ncc__hlo__module__unpack(NULL, size, hlo);

	ck_assert_ptr_nonnull(m);
	free(hlo);
	return m;
}

Ncc__Hlo__Computation *entry(const Ncc__Hlo__Module *m)
{
	for (size_t i = 0; i < m->n_computations; i++)
		if (m->computations[i]->id == m->entry_computation_id)
			return m->computations[i];
	ck_abort_msg("no entry");
	return NULL;
}

Ncc__Hlo__Instruction *find(const Ncc__Hlo__Module *m, const char *opcode)
{
	Ncc__Hlo__Computation *c = entry(m);

	for (size_t i = 0; i < c->n_instructions; i++)
		if (!strcmp(c->instructions[i]->opcode, opcode))
			return c->instructions[i];
	ck_abort_msg("no '%s'", opcode);
	return NULL;
}

void expect_refused_bytes(const void *hlo, size_t size, const char *text)
{
	const struct ncc_options opt = { .auto_cast = NCC_CAST_MATMULT };

	compile_refused(hlo, size, &opt, text);
}

void expect_refused(Ncc__Hlo__Module *m, const char *text)
{
	size_t size = ncc__hlo__module__get_packed_size(m);
	uint8_t *buf = malloc(size + 1);

	ck_assert_ptr_nonnull(buf);
	ncc__hlo__module__pack(m, buf);
	expect_refused_bytes(buf, size, text);
	free(buf);
	ncc__hlo__module__free_unpacked(m, NULL);
}

void set_text(char **s, const char *text)
{
	free(*s);
	*s = strdup(text);
}
