// SPDX-License-Identifier: MIT
/* The cache of NEFFs (cache.h): a list, the entry used last at its end. */
#include "cache.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define PIECE (4u << 20) /* of a NEFF; after that it is asked whether to go on */

struct rtd_cached {
	TAILQ_ENTRY(rtd_cached) link;
	uint8_t key[RTD_CACHE_KEY];
	struct nrtx_neff *neff;
	uint64_t bytes;
	struct rtd_peer peer; /* who read it; without its groups */
	unsigned int refs; /* the list's one, and one for each load in progress */
};

TAILQ_HEAD(cached_list, rtd_cached);

struct rtd_cache {
	pthread_mutex_t lock;
	unsigned int count, max_count;
	uint64_t bytes, max_bytes;
	struct cached_list list;
};

struct rtd_cache *rtd_cache_new(uint64_t count, uint64_t bytes)
{
	struct rtd_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	pthread_mutex_init(&cache->lock, NULL);
	cache->max_count = count < RTD_CACHE_MOST ? count : RTD_CACHE_MOST;
	cache->max_bytes = bytes;
	TAILQ_INIT(&cache->list);
	return cache;
}

static void cached_free(struct rtd_cached *cached)
{
	rtd_neff_free(cached->neff);
	free(cached);
}

void rtd_cache_free(struct rtd_cache *cache)
{
	struct rtd_cached *cached;

	if (!cache)
		return;
	while ((cached = TAILQ_FIRST(&cache->list))) {
		TAILQ_REMOVE(&cache->list, cached, link);
		cached_free(cached);
	}
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

int rtd_cache_key(const void *neff, size_t size, uint8_t key[RTD_CACHE_KEY],
		  const struct rtd_account *account)
{
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	const uint8_t *bytes = neff;
	bool good = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1;
	bool wanted = true;

	for (size_t at = 0, n; good && wanted && at < size; at += n) {
		n = size - at < PIECE ? size - at : PIECE;
		wanted = !account->cancelled(account->arg);
		good = EVP_DigestUpdate(digest, bytes + at, n) == 1;
	}
	good = good && EVP_DigestFinal_ex(digest, key, NULL) == 1;
	EVP_MD_CTX_free(digest);
	if (!wanted)
		return -ECANCELED;
	return good ? 0 : -EIO;
}

/* With the lock held */
static struct rtd_cached *find(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY])
{
	struct rtd_cached *cached;

	TAILQ_FOREACH(cached, &cache->list, link) {
		if (memcmp(cached->key, key, RTD_CACHE_KEY) != 0)
			continue;
		TAILQ_REMOVE(&cache->list, cached, link);
		TAILQ_INSERT_TAIL(&cache->list, cached, link);
		cached->refs++;
		return cached;
	}
	return NULL;
}

struct rtd_cached *rtd_cache_find(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY])
{
	struct rtd_cached *cached;

	pthread_mutex_lock(&cache->lock);
	cached = find(cache, key);
	pthread_mutex_unlock(&cache->lock);
	return cached;
}

static uint64_t bytes_of(const struct rtd_cache *cache, const struct rtd_peer *peer)
{
	const struct rtd_cached *cached;
	uint64_t bytes = 0;

	TAILQ_FOREACH(cached, &cache->list, link)
		if (rtd_peer_same(&cached->peer, peer))
			bytes += cached->bytes;
	return bytes;
}

/* With the lock held: the oldest entry of the user who has the most; the list is not empty. */
static struct rtd_cached *victim(const struct rtd_cache *cache)
{
	struct rtd_cached *cached, *best = NULL;
	uint64_t most = 0, bytes;

	TAILQ_FOREACH(cached, &cache->list, link) {
		bytes = bytes_of(cache, &cached->peer);
		if (best && bytes <= most)
			continue;
		most = bytes;
		best = cached;
	}
	return best;
}

/* With the lock held: takes out what does not fit, and moves to gone what nobody uses. */
static void trim(struct rtd_cache *cache, struct cached_list *gone)
{
	while (cache->count > cache->max_count || cache->bytes > cache->max_bytes) {
		struct rtd_cached *cached = victim(cache);

		TAILQ_REMOVE(&cache->list, cached, link);
		cache->count--;
		cache->bytes -= cached->bytes;
		if (!--cached->refs)
			TAILQ_INSERT_TAIL(gone, cached, link);
	}
}

struct rtd_cached *rtd_cache_add(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY],
				 struct nrtx_neff *neff, uint64_t bytes,
				 const struct rtd_peer *peer)
{
	struct cached_list gone = TAILQ_HEAD_INITIALIZER(gone);
	struct rtd_cached *cached = calloc(1, sizeof(*cached)), *there;

	if (!cached) {
		rtd_neff_free(neff);
		return NULL;
	}
	memcpy(cached->key, key, RTD_CACHE_KEY);
	cached->neff = neff;
	cached->bytes = bytes;
	cached->peer.local = peer->local;
	cached->peer.uid = peer->uid;
	cached->refs = 1;

	pthread_mutex_lock(&cache->lock);
	there = find(cache, key); /* another load read it meanwhile */
	/* one that does not fit at all must not empty the cache */
	if (!there && bytes <= cache->max_bytes) {
		cached->refs++;
		cache->count++;
		cache->bytes += bytes;
		TAILQ_INSERT_TAIL(&cache->list, cached, link);
		trim(cache, &gone);
	}
	pthread_mutex_unlock(&cache->lock);

	while (!TAILQ_EMPTY(&gone)) {
		struct rtd_cached *old = TAILQ_FIRST(&gone);

		TAILQ_REMOVE(&gone, old, link);
		cached_free(old);
	}
	if (!there)
		return cached;
	cached_free(cached);
	return there;
}

void rtd_cache_put(struct rtd_cache *cache, struct rtd_cached *cached)
{
	bool last;

	pthread_mutex_lock(&cache->lock);
	last = !--cached->refs;
	pthread_mutex_unlock(&cache->lock);
	if (last)
		cached_free(cached);
}

struct nrtx_neff *rtd_cached_neff(const struct rtd_cached *cached)
{
	return cached->neff;
}
