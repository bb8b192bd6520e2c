/* SPDX-License-Identifier: MIT */
/*
 * Records of memory accesses that later ones may clash with, for the scheduler and the checker.
 * They lie in lists by place, and there in runs: a producer's reads, and its writes, each in the
 * order of its time. What a producer does completes in that order, so who knows of one access knows
 * of all before it: a run is looked through from its end, and only as far as nobody is known to be.
 */
#ifndef NCC_RECORDS_H
#define NCC_RECORDS_H

#include "prog.h"

#define NCC_RECORD_LISTS 1024

struct ncc_record {
	uint64_t lo, hi;
	uint32_t var, when;
	uint16_t p0, p1;
};

struct ncc_records {
	struct ncc_record_list {
		struct ncc_record_run {
			struct ncc_record *rec;
			uint32_t n, cap;
			uint32_t who;
			bool write;
		} * run;
		uint32_t n, cap;
	} list[NCC_RECORD_LISTS];
};

void ncc_records_free(struct ncc_records *r);
/* who: a producer's number; when: not before its last one. 0 or -ENOMEM */
int ncc_records_add(struct ncc_records *r, const struct ncc_access *a, uint32_t who, uint32_t when);
/* Forgets what a write covers or, of a read, the same producer's reads that it covers. */
void ncc_records_drop(struct ncc_records *r, const struct ncc_access *a, uint32_t who);
/*
 * Do accesses clash with this one that are not known, those from known[who] on? Then need[who] is
 * raised to one more than the time of each producer's last one, if it is later than need[who] was.
 */
bool ncc_records_clash(const struct ncc_records *r, const struct ncc_access *a,
		       const uint32_t *known, uint32_t *need);

#endif
