/* SPDX-License-Identifier: MIT */
/*
 * What clients may hold of the daemon, by kind: an account for each user and one for all. A user is
 * a uid; all clients over TCP are one more user. An amount that was taken is given back in the name
 * of the same user. Any thread may call; one lock, under which no other is taken.
 */
#ifndef RTD_QUOTA_H
#define RTD_QUOTA_H

#include <stdint.h>

#include "error.h"
#include "peer.h"

enum rtd_quota_kind {
	RTD_QUOTA_MEMORY, /* bytes: NEFFs, loads in progress, messages, tensors of inferences */
	RTD_QUOTA_MODELS, /* loaded or being loaded */
	RTD_QUOTA_SESSIONS, /* open */
	RTD_QUOTA_FILES, /* open: regions of shared memory, NEFFs that are loaded by path */
	RTD_QUOTA_CALLS, /* in progress */
	RTD_QUOTA_KINDS,
};

struct rtd_quota;

/* Accounts with the default limits (quota.c); NULL if memory is out */
struct rtd_quota *rtd_quota_new(void);
void rtd_quota_free(struct rtd_quota *quota);

/* The bytes that clients may hold by default: half of the machine's memory */
uint64_t rtd_quota_default_memory(void);
/* A user's default share of a limit for all: three quarters, so that others have the rest */
uint64_t rtd_quota_share(uint64_t total);
/* Changes a kind's limits, before its first use. */
void rtd_quota_limit(struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t user,
		     uint64_t total);

/* The limits of a kind, of one user and of all */
void rtd_quota_limits(const struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t *user,
		      uint64_t *total);

/*
 * Returns 0, -EDQUOT (more than this user's share) or -ENOSPC (more than there is for all). An
 * amount of 0 is always accepted.
 */
int rtd_quota_take(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		   uint64_t amount);
void rtd_quota_give(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount);
/*
 * The same with a refusal in words: NERR_OK, or NERR_RESOURCE in err; what: for example "an upload"
 */
int rtd_quota_claim(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount, const char *what, struct rtd_err *err);
/* The sum of a user's account, or with peer NULL of all */
uint64_t rtd_quota_used(struct rtd_quota *quota, const struct rtd_peer *peer,
			enum rtd_quota_kind kind);

#endif
