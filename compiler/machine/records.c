// SPDX-License-Identifier: MIT
/* Records of accesses in lists: by place in SBUF and PSUM partitions, by variable in DRAM */
#include "records.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Bytes of a partition that a list is of. What operations read and write of SBUF has tens of KiB:
 * of smaller places it would be in many lists, and each looked through again.
 */
#define SBUF_GRANULE 8192
#define PSUM_GRANULE 2048 /* a bank */
#define SBUF_LISTS 32 /* 256 KiB */
#define PSUM_LISTS 16
#define DRAM_FIRST (PSUM_LISTS + SBUF_LISTS)

static uint32_t list_of(enum ncc_space space, uint64_t byte)
{
	uint64_t n = byte / (space == NCC_PSUM ? PSUM_GRANULE : SBUF_GRANULE);
	uint32_t lists = space == NCC_PSUM ? PSUM_LISTS : SBUF_LISTS;
	uint32_t base = space == NCC_PSUM ? SBUF_LISTS : 0;

	return base + (uint32_t)(n < lists ? n : lists - 1);
}

/* The lists [first, end) of an access */
static void lists_of(const struct ncc_access *a, uint32_t *first, uint32_t *end)
{
	if (a->space == NCC_DRAM) {
		*first = DRAM_FIRST + a->var % (NCC_RECORD_LISTS - DRAM_FIRST);
		*end = *first + 1;
		return;
	}
	*first = list_of(a->space, a->lo);
	*end = list_of(a->space, a->hi > a->lo ? a->hi - 1 : a->lo) + 1;
}

static bool grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void **a = array, *p;
	uint32_t c = *cap ? *cap * 2 : 4;

	if (n < *cap)
		return true;
	p = realloc(*a, c * size);
	if (!p)
		return false;
	*a = p;
	*cap = c;
	return true;
}

void ncc_records_free(struct ncc_records *r)
{
	for (unsigned int i = 0; i < NCC_RECORD_LISTS; i++) {
		struct ncc_record_list *list = &r->list[i];

		for (uint32_t k = 0; k < list->n; k++)
			free(list->run[k].rec);
		free(list->run);
	}
}

/* The lists are each of one space. */
static struct ncc_record record_of(const struct ncc_access *a, uint32_t when)
{
	const bool dram = a->space == NCC_DRAM;

	return (struct ncc_record){ .lo = a->lo,
				    .hi = a->hi,
				    .var = dram ? a->var : 0,
				    .p0 = dram ? 0 : a->p0,
				    .p1 = dram ? 1 : a->p1,
				    .when = when };
}

static bool overlap(const struct ncc_record *a, const struct ncc_record *b)
{
	return a->lo < b->hi && b->lo < a->hi && a->p0 < b->p1 && b->p0 < a->p1 && a->var == b->var;
}

static bool covers(const struct ncc_record *a, const struct ncc_record *b)
{
	return a->lo <= b->lo && b->hi <= a->hi && a->p0 <= b->p0 && b->p1 <= a->p1 &&
	       a->var == b->var;
}

static struct ncc_record_run *run_of(struct ncc_record_list *list, uint32_t who, bool write)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->run[i].who == who && list->run[i].write == write)
			return &list->run[i];
	if (!grow(&list->run, list->n, &list->cap, sizeof(*list->run)))
		return NULL;
	list->run[list->n] = (struct ncc_record_run){ .who = who, .write = write };
	return &list->run[list->n++];
}

/* Whoever knows of a record knows of its producer's before: those that it covers add nothing. */
static int run_add(struct ncc_record_run *run, const struct ncc_record *rec)
{
	while (run->n && covers(rec, &run->rec[run->n - 1]))
		run->n--;
	if (!grow(&run->rec, run->n, &run->cap, sizeof(*run->rec)))
		return -ENOMEM;
	run->rec[run->n++] = *rec;
	return 0;
}

int ncc_records_add(struct ncc_records *r, const struct ncc_access *a, uint32_t who, uint32_t when)
{
	const struct ncc_record rec = record_of(a, when);
	uint32_t first, end;

	lists_of(a, &first, &end);
	for (uint32_t l = first; l < end; l++) {
		struct ncc_record_run *run = run_of(&r->list[l], who, a->write);

		if (!run || run_add(run, &rec))
			return -ENOMEM;
	}
	return 0;
}

static void run_drop(struct ncc_record_run *run, const struct ncc_record *by)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < run->n; i++)
		if (!covers(by, &run->rec[i]))
			run->rec[kept++] = run->rec[i];
	run->n = kept;
}

void ncc_records_drop(struct ncc_records *r, const struct ncc_access *a, uint32_t who)
{
	const struct ncc_record by = record_of(a, 0);
	uint32_t first, end;

	lists_of(a, &first, &end);
	for (uint32_t l = first; l < end; l++)
		for (uint32_t i = 0; i < r->list[l].n; i++) {
			struct ncc_record_run *run = &r->list[l].run[i];

			if (a->write || (!run->write && run->who == who))
				run_drop(run, &by);
		}
}

/* One more than when the last one was that overlaps, of those from a time on; 0: none did */
static uint32_t last_overlap(const struct ncc_record_run *run, const struct ncc_record *rec,
			     uint32_t from)
{
	for (uint32_t i = run->n; i-- > 0 && run->rec[i].when >= from;)
		if (overlap(&run->rec[i], rec))
			return run->rec[i].when + 1;
	return 0;
}

bool ncc_records_clash(const struct ncc_records *r, const struct ncc_access *a,
		       const uint32_t *known, uint32_t *need)
{
	const struct ncc_record rec = record_of(a, 0);
	uint32_t first, end;
	bool any = false;

	lists_of(a, &first, &end);
	for (uint32_t l = first; l < end; l++) {
		const struct ncc_record_list *list = &r->list[l];

		for (uint32_t i = 0; i < list->n; i++) {
			const struct ncc_record_run *run = &list->run[i];
			const uint32_t who = run->who;
			uint32_t from = known[who] > need[who] ? known[who] : need[who], last;

			if (!a->write && !run->write)
				continue;
			last = last_overlap(run, &rec, from);
			if (!last)
				continue;
			need[who] = last;
			any = true;
		}
	}
	return any;
}
