// SPDX-License-Identifier: MIT
/*
 * The cache of NEFFs: what is found is what has the same SHA-256, of all its bits; what goes is the
 * oldest of the user who has the most, and nothing that is in use. Entries are numbers here, and
 * freeing them is written down.
 */
#include <check.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "cache.h"

static unsigned int gone[8], ngone;

void __wrap_rtd_neff_free(struct nrtx_neff *neff);
void __wrap_rtd_neff_free(struct nrtx_neff *neff)
{
	gone[ngone++ % 8] = (unsigned int)(uintptr_t)neff;
}

static const struct rtd_peer users[] = { { .local = true, .uid = 1 }, { .local = true, .uid = 2 } };

static void key_of(unsigned int number, uint8_t key[RTD_CACHE_KEY])
{
	memset(key, 0, RTD_CACHE_KEY);
	key[number % RTD_CACHE_KEY] = 0x80;
}

static void add(struct rtd_cache *cache, unsigned int number, unsigned int user, uint64_t bytes)
{
	uint8_t key[RTD_CACHE_KEY];
	struct rtd_cached *cached;

	key_of(number, key);
	cached = rtd_cache_add(cache, key, (struct nrtx_neff *)(uintptr_t)number, bytes,
			       &users[user]);
	ck_assert_ptr_nonnull(cached);
	ck_assert_uint_eq((uintptr_t)rtd_cached_neff(cached), number);
	rtd_cache_put(cache, cached);
}

static bool found(struct rtd_cache *cache, const uint8_t key[RTD_CACHE_KEY])
{
	struct rtd_cached *cached = rtd_cache_find(cache, key);

	if (cached)
		rtd_cache_put(cache, cached);
	return cached;
}

/* A key that differs in any one bit is another NEFF's, and finds nothing. */
START_TEST(every_bit)
{
	struct rtd_cache *cache = rtd_cache_new(8, 1000);
	uint8_t key[RTD_CACHE_KEY];

	add(cache, 3, 0, 10);
	key_of(3, key);
	ck_assert(found(cache, key));
	for (unsigned int bit = 0; bit < 8 * RTD_CACHE_KEY; bit++) {
		key[bit / 8] ^= 1u << bit % 8;
		ck_assert(!found(cache, key));
		key[bit / 8] ^= 1u << bit % 8;
	}
	rtd_cache_free(cache);
	ck_assert_uint_eq(ngone, 1);
}
END_TEST

/* The victim is the oldest entry of the user who has most: user 1 has 1 and 2, user 2 has 3. */
START_TEST(victims)
{
	struct rtd_cache *cache = rtd_cache_new(8, 40);
	uint8_t key[RTD_CACHE_KEY];

	add(cache, 1, 0, 10);
	add(cache, 2, 0, 10);
	add(cache, 3, 1, 15);
	add(cache, 4, 1, 10); /* user 2 has 25 of 45 */
	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq(gone[0], 3);
	key_of(1, key);
	ck_assert(found(cache, key)); /* 2 is the oldest of user 1 now */
	add(cache, 5, 0, 15);
	ck_assert_uint_eq(ngone, 2);
	ck_assert_uint_eq(gone[1], 2);
	ck_assert(found(cache, key));
	key_of(4, key); /* older than what is left of user 1, who has more */
	ck_assert(found(cache, key));
	rtd_cache_free(cache);
	ck_assert_uint_eq(ngone, 5);
}
END_TEST

static struct rtd_cached *hold(struct rtd_cache *cache, unsigned int number, uintptr_t neff)
{
	uint8_t key[RTD_CACHE_KEY];

	key_of(number, key);
	return rtd_cache_add(cache, key, (struct nrtx_neff *)neff, 10, &users[0]);
}

/*
 * The cache holds so many entries and bytes and no more; an entry larger than all of it evicts
 * none.
 */
START_TEST(bounds)
{
	struct rtd_cache *cache = rtd_cache_new(2, 40);
	uint8_t key[RTD_CACHE_KEY];

	add(cache, 1, 0, 10);
	add(cache, 2, 0, 10);
	add(cache, 3, 0, 10);
	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq(gone[0], 1);
	add(cache, 4, 0, 41);
	ck_assert_uint_eq(ngone, 2);
	ck_assert_uint_eq(gone[1], 4);
	key_of(2, key);
	ck_assert(found(cache, key));
	rtd_cache_free(cache);
	ck_assert_uint_eq(ngone, 4);
}
END_TEST

/*
 * An entry in use stays until it is given back; a second user of the NEFF gets what the first one
 * read.
 */
START_TEST(held)
{
	struct rtd_cache *cache = rtd_cache_new(1, 40);
	struct rtd_cached *first = hold(cache, 1, 1), *second = hold(cache, 1, 9);

	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq(gone[0], 9);
	ck_assert_uint_eq((uintptr_t)rtd_cached_neff(second), 1);
	rtd_cache_put(cache, second);
	add(cache, 2, 0, 10); /* puts it out */
	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq((uintptr_t)rtd_cached_neff(first), 1);
	rtd_cache_put(cache, first);
	ck_assert_uint_eq(ngone, 2);
	ck_assert_uint_eq(gone[1], 1);
	rtd_cache_free(cache);
}
END_TEST

struct asked {
	unsigned int n, until;
};

static bool cancelled(void *arg)
{
	struct asked *a = arg;

	return ++a->n == a->until;
}

/* The key is SHA-256 of the whole, in pieces or not; it is asked for each 4 MiB */
START_TEST(keys)
{
	const size_t size = (9u << 20) + 1;
	uint8_t *neff = malloc(size), key[RTD_CACHE_KEY], right[RTD_CACHE_KEY];
	struct asked asked = { 0 };
	const struct rtd_account account = { .cancelled = cancelled, .arg = &asked };
	size_t n;

	for (size_t i = 0; i < size; i++)
		neff[i] = (uint8_t)(i * 2654435761u >> 24);
	ck_assert_int_eq(rtd_cache_key(neff, size, key, &account), 0);
	ck_assert_int_eq(EVP_Q_digest(NULL, "SHA256", NULL, neff, size, right, &n), 1);
	ck_assert_mem_eq(key, right, RTD_CACHE_KEY);
	ck_assert_uint_eq(asked.n, 3);
	asked = (struct asked){ .until = 2 };
	ck_assert_int_lt(rtd_cache_key(neff, size, key, &account), 0);
	ck_assert_uint_eq(asked.n, 2);
	free(neff);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-cache");
	TCase *t = tcase_create("all");

	tcase_add_test(t, every_bit);
	tcase_add_test(t, victims);
	tcase_add_test(t, bounds);
	tcase_add_test(t, held);
	tcase_add_test(t, keys);
	suite_add_tcase(s, t);
	return check_run(s);
}
