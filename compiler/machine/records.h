/* SPDX-License-Identifier: MIT */
/*
 * Records of memory accesses that later ones may clash with, for the scheduler and the checker.
 * They lie in lists by place, so that the number looked at for an access does not grow with the
 * program.
 */
#ifndef NCC_RECORDS_H
#define NCC_RECORDS_H

#include "prog.h"

#define NCC_RECORD_LISTS 1024

struct ncc_record {
	struct ncc_access a;
	uint32_t who, when; /* the user's own */
	uint16_t lists; /* the number of lists that hold it */
	bool gone;
};

struct ncc_records {
	struct ncc_record *rec;
	uint32_t n, cap;
	uint32_t *idle; /* records that no list holds */
	uint32_t nidle, idle_cap;
	struct ncc_record_list {
		uint32_t *i;
		uint32_t n, cap;
	} list[NCC_RECORD_LISTS];
};

void ncc_records_free(struct ncc_records *r);
int ncc_records_add(struct ncc_records *r, const struct ncc_access *a, uint32_t who, uint32_t when);
/*
 * Visits every record that may overlap with the access, maybe twice; true: the record is dropped.
 */
typedef bool (*ncc_record_fn)(void *ctx, const struct ncc_record *rec);
void ncc_records_visit(struct ncc_records *r, const struct ncc_access *a, ncc_record_fn fn,
		       void *ctx);

#endif
