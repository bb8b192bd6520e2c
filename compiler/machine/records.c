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
	uint32_t c = *cap ? *cap * 2 : 64;

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
	for (unsigned int i = 0; i < NCC_RECORD_LISTS; i++)
		free(r->list[i].i);
	free(r->rec);
	free(r->idle);
}

static bool list_add(struct ncc_record_list *l, uint32_t i)
{
	if (!grow(&l->i, l->n, &l->cap, sizeof(*l->i)))
		return false;
	l->i[l->n++] = i;
	return true;
}

int ncc_records_add(struct ncc_records *r, const struct ncc_access *a, uint32_t who, uint32_t when)
{
	uint32_t first, end, i;

	if (r->nidle) {
		i = r->idle[--r->nidle];
	} else {
		if (!grow(&r->rec, r->n, &r->cap, sizeof(*r->rec)))
			return -ENOMEM;
		i = r->n++;
	}
	lists_of(a, &first, &end);
	r->rec[i] = (struct ncc_record){ *a, who, when, 0, false };
	for (uint32_t l = first; l < end; l++) {
		if (!list_add(&r->list[l], i))
			return -ENOMEM;
		r->rec[i].lists++;
	}
	return 0;
}

/*
 * Drops a list's reference to a record. The last one makes it idle, or lost when memory is short.
 */
static void drop(struct ncc_records *r, uint32_t i)
{
	if (--r->rec[i].lists)
		return;
	if (grow(&r->idle, r->nidle, &r->idle_cap, sizeof(*r->idle)))
		r->idle[r->nidle++] = i;
}

void ncc_records_visit(struct ncc_records *r, const struct ncc_access *a, ncc_record_fn fn,
		       void *ctx)
{
	uint32_t first, end;

	lists_of(a, &first, &end);
	for (uint32_t l = first; l < end; l++) {
		struct ncc_record_list *list = &r->list[l];
		uint32_t kept = 0;

		for (uint32_t k = 0; k < list->n; k++) {
			struct ncc_record *rec = &r->rec[list->i[k]];

			if (!rec->gone)
				rec->gone = fn(ctx, rec);
			if (rec->gone)
				drop(r, list->i[k]);
			else
				list->i[kept++] = list->i[k];
		}
		list->n = kept;
	}
}
