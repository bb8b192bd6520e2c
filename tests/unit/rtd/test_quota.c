// SPDX-License-Identifier: MIT
/*
 * Accounts by user and for all: limits are exact, and everything is given back, the accounts
 * themselves too. The linker replaces this program's allocations and locks by the functions below.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "../check_main.h"
#include "quota.h"

#define USER 75
#define TOTAL 100

static const struct rtd_peer alice = { .local = true, .uid = 1000 };
static const struct rtd_peer alice_again = { .local = true, .uid = 1000, .pid = 7 };
static const struct rtd_peer bob = { .local = true, .uid = 1064 }; /* of the same bucket */
static const struct rtd_peer root = { .local = true };
static const struct rtd_peer tcp = { .uid = 1000 };
static struct rtd_quota *quota;

static void start(void)
{
	quota = rtd_quota_new();
	rtd_quota_limit(quota, RTD_QUOTA_MEMORY, USER, TOTAL);
}

static void stop(void)
{
	rtd_quota_free(quota);
}

static int take(const struct rtd_peer *peer, uint64_t amount)
{
	return rtd_quota_take(quota, peer, RTD_QUOTA_MEMORY, amount);
}

static void give(const struct rtd_peer *peer, uint64_t amount)
{
	rtd_quota_give(quota, peer, RTD_QUOTA_MEMORY, amount);
}

START_TEST(a_user_has_a_share)
{
	ck_assert_int_eq(take(&alice, USER - 1), 0);
	ck_assert_int_eq(take(&alice_again, 2), -EDQUOT);
	ck_assert_int_eq(take(&alice_again, 1), 0);
	ck_assert_int_eq(take(&alice, 1), -EDQUOT);
	ck_assert_int_eq(take(&alice, UINT64_MAX), -EDQUOT);
	ck_assert_int_eq(take(&alice, 0), 0);
	ck_assert_uint_eq(rtd_quota_used(quota, &alice, RTD_QUOTA_MEMORY), USER);
	give(&alice, 1);
	ck_assert_int_eq(take(&alice, 1), 0);
}
END_TEST

START_TEST(the_rest_is_for_others)
{
	ck_assert_int_eq(take(&alice, USER), 0);
	ck_assert_int_eq(take(&bob, TOTAL - USER + 1), -ENOSPC);
	ck_assert_int_eq(take(&bob, TOTAL - USER), 0);
	ck_assert_int_eq(take(&tcp, 1), -ENOSPC);
	ck_assert_int_eq(take(&root, 1), -ENOSPC);
	ck_assert_uint_eq(rtd_quota_used(quota, NULL, RTD_QUOTA_MEMORY), TOTAL);
	give(&alice, USER);
	ck_assert_uint_eq(rtd_quota_used(quota, &alice, RTD_QUOTA_MEMORY), 0);
	ck_assert_int_eq(take(&tcp, USER), 0);
	ck_assert_uint_eq(rtd_quota_used(quota, &bob, RTD_QUOTA_MEMORY), TOTAL - USER);
}
END_TEST

/* Clients over TCP have an account of their own, which is not root's */
START_TEST(tcp_is_no_user)
{
	ck_assert_int_eq(take(&root, 1), 0);
	ck_assert_uint_eq(rtd_quota_used(quota, &tcp, RTD_QUOTA_MEMORY), 0);
	ck_assert_int_eq(take(&tcp, 2), 0);
	ck_assert_uint_eq(rtd_quota_used(quota, &root, RTD_QUOTA_MEMORY), 1);
	ck_assert_uint_eq(rtd_quota_used(quota, &tcp, RTD_QUOTA_MEMORY), 2);
}
END_TEST

START_TEST(kinds_are_apart)
{
	ck_assert_int_eq(take(&alice, USER), 0);
	ck_assert_int_eq(rtd_quota_take(quota, &alice, RTD_QUOTA_MODELS, 1), 0);
	give(&alice, USER);
	ck_assert_uint_eq(rtd_quota_used(quota, &alice, RTD_QUOTA_MODELS), 1);
}
END_TEST

START_TEST(a_refusal_says_why)
{
	struct rtd_err err = { 0 };

	ck_assert_int_eq(rtd_quota_claim(quota, &alice, RTD_QUOTA_MEMORY, 70, "x", &err), 0);
	ck_assert_int_eq(rtd_quota_claim(quota, &alice, RTD_QUOTA_MEMORY, 6, "an upload", &err),
			 NERR_RESOURCE);
	ck_assert_str_eq(err.text, "[NMGR:quota_claim] an upload: "
				   "6 bytes more are over this user's share, 75 (70 used)");
	err = (struct rtd_err){ 0 };
	ck_assert_int_eq(rtd_quota_claim(quota, &bob, RTD_QUOTA_MEMORY, 31, "an upload", &err),
			 NERR_RESOURCE);
	ck_assert_str_eq(err.text, "[NMGR:quota_claim] an upload: 31 bytes more are over what "
				   "there is for all users, 100 (70 used)");
}
END_TEST

static void *hammer(void *arg)
{
	for (int i = 0; i < 20000; i++)
		if (!take(arg, 30))
			give(arg, 30);
	return NULL;
}

START_TEST(threads_lose_nothing)
{
	const struct rtd_peer *peers[] = { &alice, &bob, &tcp, &alice_again };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)peers[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(rtd_quota_used(quota, NULL, RTD_QUOTA_MEMORY), 0);
	ck_assert_uint_eq(rtd_quota_used(quota, &alice, RTD_QUOTA_MEMORY), 0);
}
END_TEST

/* One thread watches what it allocates and locks */
static _Thread_local struct {
	bool on;
	int locked, blocks, unlocked;
} watch;

void *__real_calloc(size_t n, size_t size);
void __real_free(void *p);
int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
void *__wrap_calloc(size_t n, size_t size);
void __wrap_free(void *p);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

static void watch_block(int n)
{
	if (!watch.on)
		return;
	watch.blocks += n;
	watch.unlocked += !watch.locked;
}

void *__wrap_calloc(size_t n, size_t size)
{
	watch_block(1);
	return __real_calloc(n, size);
}

void __wrap_free(void *p)
{
	watch_block(-1);
	__real_free(p);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	int ret = __real_pthread_mutex_lock(lock);

	watch.locked += watch.on;
	return ret;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	watch.locked -= watch.on;
	return __real_pthread_mutex_unlock(lock);
}

/* However many users come and go, an account is made and freed under the lock. */
START_TEST(accounts_end)
{
	struct rtd_peer peer = { .local = true };
	int made = 0, refused = 0;

	watch.on = true;
	for (peer.uid = 1; peer.uid <= 1000; peer.uid++) {
		refused += !!take(&peer, 1);
		made += watch.blocks;
		give(&peer, 1);
	}
	watch.on = false;
	ck_assert_int_eq(refused, 0);
	ck_assert_int_eq(made, 1000);
	ck_assert_int_eq(watch.blocks, 0);
	ck_assert_int_eq(watch.unlocked, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-quota");
	TCase *tc = tcase_create("quota");

	tcase_add_checked_fixture(tc, start, stop);
	tcase_add_test(tc, a_user_has_a_share);
	tcase_add_test(tc, the_rest_is_for_others);
	tcase_add_test(tc, tcp_is_no_user);
	tcase_add_test(tc, kinds_are_apart);
	tcase_add_test(tc, a_refusal_says_why);
	tcase_add_test(tc, threads_lose_nothing);
	tcase_add_test(tc, accounts_end);
	suite_add_tcase(s, tc);
	return check_run(s);
}
