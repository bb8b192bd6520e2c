/* SPDX-License-Identifier: MIT */
/*
 * What clients may hold of the daemon, by kind: an account for each user and one for all. A user is
 * a uid; all clients over TCP are one user more. Whoever takes gives back the same amount in the
 * same user's name. Any thread; one lock, a leaf.
 */
#ifndef RTD_QUOTA_H
#define RTD_QUOTA_H

#include <stdint.h>

#include "error.h"
#include "peer.h"

enum rtd_quota_kind {
	RTD_QUOTA_MEMORY, /* bytes: NEFFs, loads under way, messages, tensors of inferences */
	RTD_QUOTA_MODELS, /* loaded, or being loaded */
	RTD_QUOTA_SESSIONS, /* open */
	RTD_QUOTA_REGIONS, /* of shared memory: a descriptor each */
	RTD_QUOTA_CALLS, /* under way */
	RTD_QUOTA_KINDS,
};

struct rtd_quota;

struct rtd_quota *rtd_quota_new(void); /* with the limits by default (quota.c); NULL: no memory */
void rtd_quota_free(struct rtd_quota *quota);

/* Bytes that clients may hold by default: half of the machine's memory */
uint64_t rtd_quota_default_memory(void);
/* A user's share of a limit for all when nothing else is said: three quarters, others have the rest
 */
uint64_t rtd_quota_share(uint64_t total);
/* Change a kind's limits, before its first use */
void rtd_quota_limit(struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t user,
		     uint64_t total);

/* A kind's limits, of a user and of all */
void rtd_quota_limits(const struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t *user,
		      uint64_t *total);

/* 0, -EDQUOT: more than this user's share, or -ENOSPC: more than there is for all. 0 is always 0. */
int rtd_quota_take(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		   uint64_t amount);
void rtd_quota_give(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount);
/* The same with what take refused in words: NERR_OK, or NERR_RESOURCE in err; what: "an upload" */
int rtd_quota_claim(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount, const char *what, struct rtd_err *err);
/* A user's account, or with peer NULL that of all */
uint64_t rtd_quota_used(struct rtd_quota *quota, const struct rtd_peer *peer,
			enum rtd_quota_kind kind);

#endif
