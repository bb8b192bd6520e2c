/* SPDX-License-Identifier: MIT */
/*
 * NEFFs that were read and checked before, by the SHA-256 of all their bytes: who loads one of them
 * again has it unpacked already. No name, uuid or path of a client's choice is part of the key, so
 * nobody can put in one NEFF for another. Bounded by count and bytes; what goes first is what was
 * not used for longest of the user who has the most in it. Any thread may call; one lock, under
 * which no other is taken.
 */
#ifndef RTD_CACHE_H
#define RTD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "peer.h"

#define RTD_CACHE_KEY 32
#define RTD_CACHE_MOST 256 /* entries: what goes is looked for among all of them */

struct rtd_cache;
struct rtd_cached;

/* A cache of `count` entries, RTD_CACHE_MOST at most, and so many bytes; NULL if memory is out */
struct rtd_cache *rtd_cache_new(uint64_t count, uint64_t bytes);
void rtd_cache_free(struct rtd_cache *cache); /* NULL: nothing; no entry is in use */
/* Returns 0, -EIO, or -ECANCELED when the account says that nobody wants it. */
int rtd_cache_key(const void *neff, size_t size, uint8_t key[RTD_CACHE_KEY],
		  const struct rtd_account *account);
/* An entry, to be given back after the load; NULL: there is none */
struct rtd_cached *rtd_cache_find(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY]);
/*
 * Adds what a user has read, which is the cache's from then on, even if it is not kept. bytes is
 * the memory it takes. The entry is to be given back; NULL if memory is out.
 */
struct rtd_cached *rtd_cache_add(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY],
				 struct nrtx_neff *neff, uint64_t bytes,
				 const struct rtd_peer *peer);
void rtd_cache_put(struct rtd_cache *cache, struct rtd_cached *cached);
struct nrtx_neff *rtd_cached_neff(const struct rtd_cached *cached);

#endif
