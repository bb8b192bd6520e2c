// SPDX-License-Identifier: MIT
/* Accounts by user. An account exists as long as something is on it. */
#include "quota.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#define BUCKETS 64
#define MAX_MODELS 1024
#define MAX_SESSIONS 1024
#define MAX_CALLS 32768 /* each takes some 10 KB in gRPC, and memory of its socket */

struct limit {
	const char *name, *unit;
	uint64_t user, total;
};

/*
 * The limits of RTD_QUOTA_MEMORY come from the machine or the configuration, those of
 * RTD_QUOTA_FILES from RLIMIT_NOFILE
 */
static const struct limit defaults[RTD_QUOTA_KINDS] = {
	[RTD_QUOTA_MEMORY] = { .name = "memory", .unit = "bytes" },
	[RTD_QUOTA_MODELS] = { "models", "models", MAX_MODELS / 4 * 3, MAX_MODELS },
	[RTD_QUOTA_SESSIONS] = { "sessions", "sessions", MAX_SESSIONS / 4, MAX_SESSIONS },
	[RTD_QUOTA_FILES] = { .name = "open files", .unit = "files" },
	[RTD_QUOTA_CALLS] = { "calls", "calls", MAX_CALLS / 4 * 3, MAX_CALLS },
};

struct account {
	LIST_ENTRY(account) link;
	bool local;
	uid_t uid;
	uint64_t used[RTD_QUOTA_KINDS];
};

struct rtd_quota {
	pthread_mutex_t lock; /* protects everything below but limit */
	struct limit limit[RTD_QUOTA_KINDS];
	uint64_t used[RTD_QUOTA_KINDS];
	LIST_HEAD(, account) accounts[BUCKETS];
};

uint64_t rtd_quota_default_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 1ull << 30;
}

uint64_t rtd_quota_share(uint64_t total)
{
	return total - total / 4;
}

struct rtd_quota *rtd_quota_new(void)
{
	struct rtd_quota *quota = calloc(1, sizeof(*quota));
	uint64_t memory = rtd_quota_default_memory();

	if (!quota)
		return NULL;
	pthread_mutex_init(&quota->lock, NULL);
	for (int i = 0; i < RTD_QUOTA_KINDS; i++)
		quota->limit[i] = defaults[i];
	for (int i = 0; i < BUCKETS; i++)
		LIST_INIT(&quota->accounts[i]);
	rtd_quota_limit(quota, RTD_QUOTA_MEMORY, rtd_quota_share(memory), memory);
	return quota;
}

void rtd_quota_free(struct rtd_quota *quota)
{
	struct account *a;

	if (!quota)
		return;
	for (int i = 0; i < BUCKETS; i++) {
		while ((a = LIST_FIRST(&quota->accounts[i]))) {
			LIST_REMOVE(a, link);
			free(a);
		}
	}
	pthread_mutex_destroy(&quota->lock);
	free(quota);
}

void rtd_quota_limit(struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t user,
		     uint64_t total)
{
	quota->limit[kind].user = user;
	quota->limit[kind].total = total;
}

void rtd_quota_limits(const struct rtd_quota *quota, enum rtd_quota_kind kind, uint64_t *user,
		      uint64_t *total)
{
	*user = quota->limit[kind].user;
	*total = quota->limit[kind].total;
}

/* Called with the lock held. */
static struct account *account_find(struct rtd_quota *quota, const struct rtd_peer *peer)
{
	uid_t uid = peer->local ? peer->uid : 0;
	struct account *a;

	LIST_FOREACH(a, &quota->accounts[uid % BUCKETS], link)
		if (a->local == peer->local && a->uid == uid)
			return a;
	return NULL;
}

/* Called with the lock held. */
static struct account *account_new(struct rtd_quota *quota, const struct rtd_peer *peer)
{
	struct account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->local = peer->local;
	a->uid = peer->local ? peer->uid : 0;
	LIST_INSERT_HEAD(&quota->accounts[a->uid % BUCKETS], a, link);
	return a;
}

/* Called with the lock held. */
static int take(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		uint64_t amount)
{
	const struct limit *limit = &quota->limit[kind];
	struct account *a = account_find(quota, peer);
	uint64_t used = a ? a->used[kind] : 0;

	if (used > limit->user || amount > limit->user - used)
		return -EDQUOT;
	if (quota->used[kind] > limit->total || amount > limit->total - quota->used[kind])
		return -ENOSPC;
	if (!a)
		a = account_new(quota, peer);
	if (!a)
		return -ENOSPC;
	a->used[kind] += amount;
	quota->used[kind] += amount;
	return 0;
}

int rtd_quota_take(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		   uint64_t amount)
{
	int ret;

	if (!amount)
		return 0;
	pthread_mutex_lock(&quota->lock);
	ret = take(quota, peer, kind, amount);
	pthread_mutex_unlock(&quota->lock);
	return ret;
}

void rtd_quota_give(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount)
{
	struct account *a;
	bool empty = true;

	if (!amount)
		return;
	pthread_mutex_lock(&quota->lock);
	a = account_find(quota, peer);
	assert(a && a->used[kind] >= amount);
	a->used[kind] -= amount;
	quota->used[kind] -= amount;
	for (int i = 0; i < RTD_QUOTA_KINDS; i++)
		empty = empty && !a->used[i];
	if (empty) {
		LIST_REMOVE(a, link);
		free(a);
	}
	pthread_mutex_unlock(&quota->lock);
}

int rtd_quota_claim(struct rtd_quota *quota, const struct rtd_peer *peer, enum rtd_quota_kind kind,
		    uint64_t amount, const char *what, struct rtd_err *err)
{
	const struct limit *limit = &quota->limit[kind];
	int ret = rtd_quota_take(quota, peer, kind, amount);

	if (!ret)
		return NERR_OK;
	return rtd_fail(
		err, NERR_RESOURCE, "NMGR", "%s: %llu %s more are over %s, %llu (%llu used)", what,
		(unsigned long long)amount, limit->unit,
		ret == -EDQUOT ? "this user's share" : "what there is for all users",
		(unsigned long long)(ret == -EDQUOT ? limit->user : limit->total),
		(unsigned long long)rtd_quota_used(quota, ret == -EDQUOT ? peer : NULL, kind));
}

uint64_t rtd_quota_used(struct rtd_quota *quota, const struct rtd_peer *peer,
			enum rtd_quota_kind kind)
{
	struct account *a;
	uint64_t used;

	pthread_mutex_lock(&quota->lock);
	a = peer ? account_find(quota, peer) : NULL;
	used = peer ? (a ? a->used[kind] : 0) : quota->used[kind];
	pthread_mutex_unlock(&quota->lock);
	return used;
}
