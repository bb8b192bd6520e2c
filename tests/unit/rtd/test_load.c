// SPDX-License-Identifier: MIT
/*
 * A load that nobody wants any more, because its client has gone, its session or the daemon ends:
 * it ends where it is, and nothing is left of it. What is counted is how often it still asks.
 */
#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "rtd.h"
#include "testmodel.h"

static struct rtd_config config = { .default_timeout_ms = 3600000,
				    .default_ninfer = 8,
				    .model_cache_count = 4,
				    .model_cache_size = 1u << 30 };
static const struct rtd_peer peer = { .local = true };
static struct rtd *rtd;
static void *neff;
static size_t size;

static void set_up(void)
{
	const unsigned int n = 512;
	uint16_t *w = calloc(128 * (size_t)n, sizeof(*w));
	struct testmodel t;

	setenv("NEURON_EMU", "inf1.xlarge", 1);
	rtd = rtd_new(&config);
	rtd_open_chips(rtd);
	ck_assert_ptr_nonnull(rtd->engine);
	testmodel_matmul(&t, 128, n, w);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	free(w);
}

static void tear_down(void)
{
	rtd_close(rtd);
	rtd_free(rtd);
	free(neff);
}

enum end { CLIENT, SESSION, DAEMON };

/* A load, and what happens when it asks for the until-th time */
struct loading {
	struct rtd_load load;
	struct rtd_session *session;
	enum end end;
	unsigned int asked, until, models; /* models: how many there were when it asked last */
	sem_t over;
	struct rtd_err err;
};

static void nothing(struct rtd_err *err, void *arg)
{
}

static bool gone(void *arg)
{
	struct loading *l = arg;

	l->asked++;
	pthread_mutex_lock(&rtd->lock);
	l->models = rtd->nmodels;
	pthread_mutex_unlock(&rtd->lock);
	ck_assert_msg(!l->until || l->asked <= l->until, "it went on");
	if (l->asked != l->until)
		return false;
	if (l->end == SESSION) {
		rtd_session_close(rtd, l->session, nothing, NULL);
	} else if (l->end == DAEMON) {
		pthread_mutex_lock(&rtd->lock);
		rtd->closing = true;
		pthread_mutex_unlock(&rtd->lock);
	}
	return l->end == CLIENT;
}

static void over(struct rtd_err *err, void *arg)
{
	struct loading *l = arg;

	l->err = *err;
	sem_post(&l->over);
}

static void begin(struct loading *l, enum end end, unsigned int until)
{
	struct rtd_err err = { 0 };

	*l = (struct loading){ .end = end, .until = until };
	sem_init(&l->over, 0, 0);
	l->session = rtd_session_open(rtd, &peer, &err);
	ck_assert_ptr_nonnull(l->session);
	l->load.owner = (struct rtd_owner){ .peer = peer, .session = l->session->id };
	l->load.neff = (struct rtd_neff){ .bytes = neff, .size = size };
	l->load.gone = gone;
	l->load.gone_arg = l;
	rtd_model_load(rtd, &l->load, over, l);
}

static void no_group(void)
{
	bool any = true;

	while (any) { /* that of the load goes on its own thread */
		pthread_mutex_lock(&rtd->lock);
		any = rtd->ngroups;
		if (any)
			pthread_cond_wait(&rtd->idle, &rtd->lock);
		pthread_mutex_unlock(&rtd->lock);
	}
	ck_assert_uint_eq(rtd->nmodels, 0);
}

/* Wherever it is: unpacking, checking, copying; at least once in each it asks, and when it is done */
START_TEST(ends_where_it_is)
{
	unsigned int until = 0, code;
	struct loading l;

	do {
		begin(&l, (enum end)_i, ++until);
		sem_wait(&l.over);
		code = (unsigned int)l.err.code;
		if (code)
			no_group();
		rtd->closing = false;
		if (_i != SESSION || l.asked < until)
			rtd_session_close(rtd, l.session, nothing, NULL);
		no_group();
	} while (code);
	ck_assert_uint_gt(until, 8);
	ck_assert_uint_eq(l.models, 1);
}
END_TEST

/* A load that is cancelled while it waits for others does not begin. */
START_TEST(does_not_begin)
{
	struct loading l[4];

	for (unsigned int i = 0; i < 4; i++)
		begin(&l[i], CLIENT, 1);
	for (unsigned int i = 0; i < 4; i++) {
		sem_wait(&l[i].over);
		ck_assert_uint_eq(l[i].asked, 1);
		ck_assert_int_eq(l[i].err.code, NERR_INFER_CANCELLED);
		ck_assert_msg(strstr(l[i].err.text, "the client is gone, or"), "%s", l[i].err.text);
		rtd_session_close(rtd, l[i].session, nothing, NULL);
	}
	no_group();
}
END_TEST

/*
 * Loading a NEFF that is in the cache asks whether it is still wanted only for the key and on the
 * device.
 */
START_TEST(asks_on_the_device)
{
	struct loading l[2];

	for (unsigned int i = 0; i < 2; i++) {
		begin(&l[i], CLIENT, 0);
		sem_wait(&l[i].over);
		ck_assert_int_eq(l[i].err.code, NERR_OK);
	}
	ck_assert_uint_ge(l[0].asked, l[1].asked + 4); /* it was read */
	ck_assert_uint_ge(l[1].asked, 5);
	for (unsigned int i = 0; i < 2; i++)
		rtd_session_close(rtd, l[i].session, nothing, NULL);
	no_group();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-load");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, ends_where_it_is, CLIENT, DAEMON + 1);
	tcase_add_test(t, does_not_begin);
	tcase_add_test(t, asks_on_the_device);
	suite_add_tcase(s, t);
	return check_run(s);
}
