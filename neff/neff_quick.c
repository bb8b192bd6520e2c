/* SPDX-License-Identifier: MIT */
/*
 * An engine's JSON as neff_engine.c writes it, which is most of a NEFF's text, read without a tree
 * of values. Anything else that JSON may be, and anything that is wrong, is left to the reader for
 * all: this one has no errors but a lack of memory.
 */
#include "neff_engine.h"
#include "neff_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 18 /* of numbers that fit an int64_t whatever they are */

/* A list that grows is there three times, as the old and the new one; each item has a text. */
#define SHORTEST                                                                \
	"{\"from\":\"a\",\"from_off\":0,\"from_steps\":[1],\"from_sizes\":[1]," \
	"\"to\":\"a\",\"to_off\":0,\"to_steps\":[1],\"to_sizes\":[1]},"
_Static_assert(3 * sizeof(struct neff_desc) <= NEFF_TEXT_FACTOR * (sizeof(SHORTEST) - 1),
	       "what a text is accounted with");

struct quick {
	const char *p, *end;
	const struct neuron_target *target;
	struct neff_subgraph *sg;
	uint32_t *slot; /* 1 + a variable's number, at a place that its name says; 0: none */
	uint32_t mask;
	struct neff_desc *desc; /* those of a DMA that is being read */
	size_t ndesc, capacity;
};

/* Is that what comes next? Then it is past. */
static bool is(struct quick *q, const char *text, size_t n)
{
	if ((size_t)(q->end - q->p) < n || memcmp(q->p, text, n))
		return false;
	q->p += n;
	return true;
}

#define IS(q, literal) is(q, literal, sizeof(literal) - 1)

/* A number without a zero in front */
static bool number(struct quick *q, int64_t *value)
{
	const bool minus = IS(q, "-");
	const char *first = q->p;
	int64_t v = 0;

	for (; q->p < q->end && *q->p >= '0' && *q->p <= '9'; q->p++) {
		if (q->p - first == DIGITS)
			return false;
		v = 10 * v + (*q->p - '0');
	}
	*value = minus ? -v : v;
	return q->p > first && (*first != '0' || (q->p == first + 1 && !minus));
}

static bool number_to(struct quick *q, int64_t most, int64_t *value)
{
	return number(q, value) && *value >= 0 && *value <= most;
}

/* A string of printable ASCII without escapes, to its closing quote */
static bool string(struct quick *q, const char **s, size_t *n)
{
	if (!IS(q, "\""))
		return false;
	for (*s = q->p; q->p < q->end && *q->p != '"'; q->p++)
		if (*q->p < ' ' || *q->p > '~' || *q->p == '\\')
			return false;
	*n = (size_t)(q->p - *s);
	return IS(q, "\"");
}

static bool same(const char *name, const char *s, size_t n)
{
	return !strncmp(name, s, n) && !name[n];
}

/* FNV-1a */
static uint32_t place_of(const struct quick *q, const char *s, size_t n)
{
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x01000193;
	return h & q->mask;
}

static bool make_slots(struct quick *q)
{
	q->mask = 15;
	while (q->mask < 2 * q->sg->nvars)
		q->mask = 2 * q->mask + 1;
	q->slot = calloc(q->mask + 1, sizeof(*q->slot));
	for (unsigned int i = 0; q->slot && i < q->sg->nvars; i++) {
		const char *name = q->sg->vars[i].name;
		uint32_t at = place_of(q, name, strlen(name));

		while (q->slot[at])
			at = (at + 1) & q->mask;
		q->slot[at] = i + 1;
	}
	return q->slot;
}

static bool variable(struct quick *q, uint32_t *var)
{
	const char *s;
	size_t n;

	if (!string(q, &s, &n))
		return false;
	for (uint32_t at = place_of(q, s, n); q->slot[at]; at = (at + 1) & q->mask) {
		*var = q->slot[at] - 1;
		if (same(q->sg->vars[*var].name, s, n))
			return true;
	}
	return false;
}

static bool queue(struct quick *q, uint32_t *number)
{
	const char *s;
	size_t n;

	if (!string(q, &s, &n))
		return false;
	for (*number = 0; *number < q->sg->nqueues; ++*number)
		if (same(q->sg->queues[*number].name, s, n))
			return true;
	return false;
}

/* A list of one to four numbers */
static bool list(struct quick *q, int64_t value[4], unsigned int *n)
{
	if (!IS(q, "["))
		return false;
	for (*n = 0; *n < 4 && (!*n || IS(q, ",")); ++*n)
		if (!number(q, &value[*n]))
			return false;
	return IS(q, "]");
}

/* A key that is a side's name with an end */
static bool key(struct quick *q, const char *side, const char *end, size_t n)
{
	return IS(q, "\"") && is(q, side, strlen(side)) && is(q, end, n) && IS(q, "\":");
}

#define KEY(q, side, end) key(q, side, end, sizeof(end) - 1)

static bool pattern(struct quick *q, const char *side, struct neff_pattern *p)
{
	int64_t offset, size[4];
	unsigned int n;

	if (!KEY(q, side, "") || !variable(q, &p->var) || !IS(q, ",") || !KEY(q, side, "_off") ||
	    !number_to(q, INT64_MAX, &offset) || !IS(q, ",") || !KEY(q, side, "_steps") ||
	    !list(q, p->step, &p->ndim) || !IS(q, ",") || !KEY(q, side, "_sizes") ||
	    !list(q, size, &n) || n != p->ndim)
		return false;
	p->offset = (uint64_t)offset;
	for (unsigned int d = 0; d < n; d++) {
		if (size[d] <= 0)
			return false;
		p->size[d] = (uint64_t)size[d];
	}
	return true;
}

static bool dtype(struct quick *q, uint8_t *type)
{
	char name[16] = "";
	const char *s;
	size_t n;

	if (!string(q, &s, &n) || n >= sizeof(name))
		return false;
	memcpy(name, s, n);
	*type = neff_dtype_from_name(name);
	return *type;
}

/* Reads the operation behind the two sides of a transfer that is no copy; a sum has another form */
static bool operation(struct quick *q, struct neff_desc *d)
{
	char name[16] = "";
	int64_t offset;
	const char *s;
	size_t n;

	if (!IS(q, "\"op\":") || !string(q, &s, &n) || n >= sizeof(name))
		return false;
	memcpy(name, s, n);
	if (!neff_op_from_name(name, &d->op) || neff_has_list(d) || d->op == NEFF_TRANSPOSE)
		return false;
	if (neff_computes(d))
		return IS(q, ",\"from_dtype\":") && dtype(q, &d->from_dtype) &&
		       IS(q, ",\"to_dtype\":") && dtype(q, &d->to_dtype);
	if (!neff_indexed(d) || !IS(q, ",\"index\":") || !variable(q, &d->index) ||
	    !IS(q, ",\"index_off\":") || !number_to(q, INT64_MAX, &offset))
		return false;
	d->index_off = (uint64_t)offset;
	return true;
}

static bool desc(struct quick *q, struct neff_desc *d)
{
	*d = (struct neff_desc){ .op = NEFF_COPY };
	if (!IS(q, "{") || !pattern(q, "from", &d->from) || !IS(q, ",") ||
	    !pattern(q, "to", &d->to))
		return false;
	return (!IS(q, ",") || operation(q, d)) && IS(q, "}");
}

static bool grow_descs(struct quick *q)
{
	size_t capacity = q->capacity ? 2 * q->capacity : 16;
	struct neff_desc *d;

	if (q->ndesc < q->capacity)
		return true;
	d = realloc(q->desc, capacity * sizeof(*d));
	if (!d)
		return false;
	q->desc = d;
	q->capacity = capacity;
	return true;
}

static bool dma(struct quick *q, struct neff_dma *to)
{
	const unsigned int semaphores = neuron_target_program_semaphores(q->target);
	int64_t id, semaphore = -1;

	if (!IS(q, "{\"id\":") || !number_to(q, UINT32_MAX, &id) || !IS(q, ",\"queue\":") ||
	    !queue(q, &to->queue))
		return false;
	if (IS(q, ",\"semaphore\":") && !number_to(q, (int64_t)semaphores - 1, &semaphore))
		return false;
	if (!IS(q, ",\"desc\":["))
		return false;
	q->ndesc = 0;
	do {
		if (q->ndesc == NEFF_MAX_RUNS || !grow_descs(q) || !desc(q, &q->desc[q->ndesc]))
			return false;
		q->ndesc++;
	} while (IS(q, ","));
	to->id = (uint32_t)id;
	to->semaphore = (int)semaphore;
	to->desc = malloc(q->ndesc * sizeof(*to->desc));
	if (!to->desc)
		return false;
	to->ndesc = (unsigned int)q->ndesc;
	memcpy(to->desc, q->desc, q->ndesc * sizeof(*to->desc));
	return IS(q, "]}");
}

static bool dmas(struct quick *q, struct neff_engine *e)
{
	uint32_t capacity = 0;

	if (!IS(q, "{\"dma\":["))
		return false;
	while (!e->ndma || IS(q, ",")) {
		if (!e->ndma && IS(q, "],\"instr\":[]}"))
			return q->p == q->end;
		if (e->ndma == capacity) {
			struct neff_dma *list = e->dma;

			capacity = capacity ? 2 * capacity : 16;
			list = capacity > NEFF_MAX_DMAS ? NULL
							: realloc(list, capacity * sizeof(*list));
			if (!list)
				return false;
			e->dma = list;
		}
		e->dma[e->ndma] = (struct neff_dma){ .semaphore = -1 };
		if (!dma(q, &e->dma[e->ndma++]))
			return false;
	}
	return IS(q, "],\"instr\":[]}") && q->p == q->end;
}

bool neff_engine_quick(const char *text, size_t size, const struct neuron_target *target,
		       struct neff_subgraph *sg, unsigned int eng)
{
	struct quick q = { .p = text, .end = text + size, .target = target, .sg = sg };
	struct neff_engine e = { 0 };
	const bool ok = make_slots(&q) && dmas(&q, &e) && (e.dma || (e.dma = calloc(1, 1)));

	free(q.slot);
	free(q.desc);
	if (ok) {
		sg->engine[eng].dma = e.dma;
		sg->engine[eng].ndma = e.ndma;
		return true;
	}
	for (unsigned int i = 0; i < e.ndma; i++)
		free(e.dma[i].desc);
	free(e.dma);
	return false;
}
