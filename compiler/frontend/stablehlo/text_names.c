// SPDX-License-Identifier: MIT
/* Lists, and names that are found by a hash: see text.h */
#include <string.h>

#include "text.h"

#define FIRST_ROOM 4u

void *list_add(struct text *x, struct list *l, size_t size)
{
	if (l->n == l->room) {
		const size_t room = l->room ? 2 * l->room : FIRST_ROOM;
		void *p = reader_alloc(&x->r, room, size);

		if (!p)
			return NULL;
		if (l->n)
			memcpy(p, l->p, l->n * size);
		l->p = p;
		l->room = room;
	}
	return (char *)l->p + l->n++ * size;
}

static uint64_t hash_of(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 0x100000001b3ull;
	return h ^ h >> 29;
}

struct name *names_find(const struct names *m, const char *p, size_t n, size_t floor)
{
	const uint64_t hash = hash_of(p, n);

	if (!m->nbuckets)
		return NULL;
	for (uint32_t i = m->bucket[hash % m->nbuckets]; i; i = m->list[i - 1].next) {
		struct name *e = &m->list[i - 1];

		if (i - 1 < floor)
			break; /* those that follow are older still */
		if (e->hash == hash && e->n == n && !memcmp(e->p, p, n))
			return e;
	}
	return NULL;
}

static void chain(struct names *m, size_t i)
{
	uint32_t *head = &m->bucket[m->list[i].hash % m->nbuckets];

	m->list[i].next = *head;
	*head = (uint32_t)(i + 1);
}

static bool grow(struct text *x, struct names *m)
{
	struct list l = { m->list, m->n, m->room };

	if (m->n < m->room)
		return true;
	if (!list_add(x, &l, sizeof(*m->list)))
		return false;
	m->nbuckets = 2 * l.room;
	m->bucket = reader_alloc(&x->r, m->nbuckets, sizeof(*m->bucket));
	if (!m->bucket)
		return false;
	m->list = l.p;
	m->room = l.room;
	for (size_t i = 0; i < m->n; i++)
		chain(m, i);
	return true;
}

struct name *names_add(struct text *x, struct names *m, struct token t)
{
	if (!grow(x, m))
		return NULL;
	m->list[m->n] = (struct name){ .p = t.p, .n = t.n, .hash = hash_of(t.p, t.n) };
	chain(m, m->n);
	return &m->list[m->n++];
}

/* The last of a chain is its first, so that it can be taken off. */
void names_drop(struct names *m, size_t n)
{
	while (m->n > n) {
		const struct name *e = &m->list[--m->n];

		m->bucket[e->hash % m->nbuckets] = e->next;
	}
}
