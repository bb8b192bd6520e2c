// SPDX-License-Identifier: MIT
/*
 * Constants that several programs of one memory read, the parts of a program with loops and those
 * of a logical core's cores, are there once: in the first of them, of which the others' variables
 * are second names (docs/neff.md).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prog.h"

struct constant {
	uint64_t hash;
	uint32_t graph, var;
};

static uint64_t hash_of(const struct neff_var *v)
{
	const uint8_t *p = v->data;
	uint64_t h = v->size, word;
	size_t n = v->size;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	for (; n; n--)
		h = (h ^ *p++) * 0x9e3779b97f4a7c15ull;
	return h;
}

/* Orders constants by hash; of equal ones the first program's comes first. */
static int order(const void *a, const void *b)
{
	const struct constant *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->graph != y->graph)
		return x->graph < y->graph ? -1 : 1;
	return x->var < y->var ? -1 : x->var > y->var;
}

static struct neff_var *var_of(struct neff_model *m, const struct constant *c)
{
	return &m->subgraphs[c->graph].vars[c->var];
}

/* Makes a constant one of an earlier program's, if there is one of the same bytes. */
static int share(struct neff_model *m, const struct constant *first, const struct constant *c)
{
	struct neff_var *v = var_of(m, c);

	for (; first->graph < c->graph; first++) {
		const struct neff_var *of = var_of(m, first);
		char *name;

		if (of->shared || of->size != v->size || of->alignment != v->alignment ||
		    memcmp(of->data, v->data, v->size))
			continue;
		name = strdup(of->file_name);
		if (!name)
			return -ENOMEM;
		free(v->file_name);
		v->file_name = name;
		v->shared = true;
		v->of_graph = first->graph;
		v->of_var = first->var;
		return 0;
	}
	return 0;
}

int ncc_share_constants(struct neff_model *m)
{
	struct constant *list;
	size_t n = 0, first = 0;
	int rc = 0;

	for (unsigned int k = 0; k < m->nsubgraphs; k++)
		n += m->subgraphs[k].nvars;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	for (unsigned int k = 0; k < m->nsubgraphs; k++)
		for (unsigned int i = 0; i < m->subgraphs[k].nvars; i++)
			if (m->subgraphs[k].vars[i].type == NEFF_VAR_FILE)
				list[n++] = (struct constant){ hash_of(&m->subgraphs[k].vars[i]), k,
							       i };
	qsort(list, n, sizeof(*list), order);
	for (size_t i = 0; i < n && !rc; i++) {
		first = list[i].hash == list[first].hash ? first : i;
		rc = share(m, &list[first], &list[i]);
	}
	free(list);
	return rc;
}
