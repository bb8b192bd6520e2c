// SPDX-License-Identifier: MIT
/*
 * A group's threads: the cores go on while a result is sent. A waiter here blocks until a later
 * inference's waiter has been told; with one thread for both that would be for ever.
 */
#include <check.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "../check_main.h"
#include "rtd.h"
#include "testmodel.h"

#define COLS 16
#define N (128 * COLS)

static struct rtd_config config = { .default_timeout_ms = 3600000, .default_ninfer = 8 };
static const struct rtd_peer peer = { .local = true }, other = { .local = true, .uid = 1 };
static const struct rtd_peer *poster = &peer;
static struct rtd *rtd;
static uint32_t model;
static float a[N], b[N];

struct told {
	sem_t *wait, *post; /* or NULL */
	sem_t over;
	int code;
	float c[N];
};

/* A control operation that is waited for */
struct control {
	sem_t over;
	struct rtd_err err;
};

static void control_done(struct rtd_err *err, void *arg)
{
	struct control *c = arg;

	c->err = *err;
	sem_post(&c->over);
}

static void control_good(struct control *c)
{
	sem_wait(&c->over);
	ck_assert_msg(!c->err.code, "%s", c->err.text);
}

/* Opens the chips and starts a model. */
static void start_model(void (*make)(struct testmodel *t))
{
	struct rtd_load load = { .ninfer = 0 };
	struct control c = { 0 };
	struct testmodel t;
	void *neff;

	setenv("NEURON_EMU", "inf1.xlarge", 1);
	rtd = rtd_new(&config);
	rtd_open_chips(rtd);
	make(&t);
	neff = testmodel_write(&t, &load.neff.size);
	testmodel_free(&t);
	load.neff.bytes = neff;
	sem_init(&c.over, 0, 0);
	rtd_model_load(rtd, &load, control_done, &c);
	control_good(&c);
	model = load.id;
	/* its memory is given back */
	ck_assert_uint_eq(rtd_quota_used(rtd->quota, NULL, RTD_QUOTA_MEMORY), 0);
	rtd_model_start(rtd, model, control_done, &c);
	control_good(&c);
	free(neff);
	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 7) / 8;
	}
}

static void make_add(struct testmodel *t)
{
	testmodel_add(t, COLS);
}

static void start(void)
{
	start_model(make_add);
}

static void stop(void)
{
	rtd_close(rtd);
	rtd_free(rtd);
}

static void done(struct rtd_infer *infer, void *arg)
{
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(infer->model->program, &tensors);
	struct told *told = arg;

	if (told->post)
		sem_post(told->post);
	if (told->wait)
		sem_wait(told->wait);
	told->code = infer->err.code;
	for (unsigned int i = 0; infer->slot && i < n; i++)
		if (tensors[i].output)
			memcpy(told->c, rtd_slot_buffer(infer->slot->slot, i), sizeof(told->c));
	rtd_infer_free(rtd, infer);
	sem_post(&told->over);
}

static void post(struct told *told)
{
	const struct rtd_io inputs[] = { { .name = "a", .buf = a, .len = sizeof(a) },
					 { .name = "b", .buf = b, .len = sizeof(b) } };
	const struct rtd_post post = { .model = model,
				       .peer = poster,
				       .inputs = inputs,
				       .ninputs = 2,
				       .done = done,
				       .done_arg = told };
	struct rtd_err err = { 0 };
	uint64_t cookie;

	sem_init(&told->over, 0, 0);
	ck_assert_msg(!rtd_infer_post(rtd, &post, &cookie, &err), "%s", err.text);
}

static void check_sum(struct told *told)
{
	sem_wait(&told->over);
	ck_assert_int_eq(told->code, NERR_OK);
	for (int i = 0; i < N; i++)
		ck_assert_msg(told->c[i] == a[i] + b[i], "element %d: %g", i, told->c[i]);
}

/* The first waiter waits for the second one, again and again. */
START_TEST(goes_on_while_it_tells)
{
	static struct told first, second;
	sem_t sem;

	start();
	sem_init(&sem, 0, 0);
	for (int i = 0; i < 20; i++) {
		first.wait = &sem;
		second.post = &sem;
		post(&first);
		post(&second);
		check_sum(&second);
		check_sum(&first);
	}
	stop();
}
END_TEST

/*
 * A model lives until the last of its waiters has been told, because its buffers hold the result.
 */
START_TEST(stays_until_all_are_told)
{
	static struct told told;
	struct control gone = { 0 };
	sem_t begun, go;

	start();
	sem_init(&begun, 0, 0);
	sem_init(&go, 0, 0);
	sem_init(&gone.over, 0, 0);
	told.post = &begun;
	told.wait = &go;
	post(&told);
	sem_wait(&begun);
	rtd_model_unload(rtd, model, control_done, &gone);
	for (bool dead = false; !dead;) { /* unloading has come as far as it can */
		struct rtd_model *m;

		pthread_mutex_lock(&rtd->lock);
		m = TAILQ_FIRST(&rtd->models);
		dead = !m || m->dead;
		pthread_mutex_unlock(&rtd->lock);
	}
	ck_assert_int_ne(sem_trywait(&gone.over), 0);
	sem_post(&go);
	check_sum(&told);
	control_good(&gone);
	stop();
}
END_TEST

/*
 * An inference that never ends is stopped while it waits, while a thread has taken it, and while it
 * executes; three stops at once, and the start behind them succeeds.
 */
START_TEST(a_stop_waits_for_nobody)
{
	static struct told told[4];
	static struct control c[5];

	start_model(testmodel_hang);
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 4; k++)
			post(&told[k]);
		for (int k = 0; k < 5; k++)
			sem_init(&c[k].over, 0, 0);
		if (i % 2)
			sched_yield();
		for (int k = 0; k < 3; k++)
			rtd_model_stop(rtd, model, control_done, &c[k]);
		rtd_model_start(rtd, model, control_done, &c[3]);
		for (int k = 0; k < 4; k++)
			control_good(&c[k]);
		for (int k = 0; k < 4; k++) {
			sem_wait(&told[k].over);
			ck_assert_int_eq(told[k].code, NERR_INFER_CANCELLED);
		}
	}
	post(&told[0]);
	stop(); /* and so is this one */
	sem_wait(&told[0].over);
	ck_assert_int_eq(told[0].code, NERR_INFER_CANCELLED);
}
END_TEST

/* An idle buffer is on the account of the last user who used it, and of nobody else. */
START_TEST(idle_buffers_change_hands)
{
	static struct told told;

	start();
	post(&told);
	check_sum(&told);
	ck_assert_uint_gt(rtd_quota_used(rtd->quota, &peer, RTD_QUOTA_MEMORY), 0);
	poster = &other;
	post(&told);
	check_sum(&told);
	ck_assert_uint_eq(rtd_quota_used(rtd->quota, &peer, RTD_QUOTA_MEMORY), 0);
	ck_assert_uint_gt(rtd_quota_used(rtd->quota, &other, RTD_QUOTA_MEMORY), 0);
	stop();
}
END_TEST

static sem_t hold;

static void hold_run(struct rtd *rtd, struct rtd_eg *eg, struct rtd_control *c)
{
	sem_wait(&hold);
}

static bool no_eg(const struct rtd_eg *eg, const void *who)
{
	return false;
}

static bool every_model(const struct rtd_model *m, const void *who)
{
	return true;
}

/*
 * An operation of the group that comes first, such as a load, delays the answer of a stop, or of
 * the end of a session, but not their effect.
 */
START_TEST(a_stop_overtakes_its_group)
{
	const struct rtd_sweep all = { .eg = no_eg, .model = every_model };
	struct rtd_swept swept;
	static struct control held, stopped;
	static struct told told;

	start_model(testmodel_hang);
	sem_init(&hold, 0, 0);
	sem_init(&held.over, 0, 0);
	sem_init(&stopped.over, 0, 0);
	rtd_control_eg(rtd, TAILQ_FIRST(&rtd->egs)->id,
		       rtd_control_new(hold_run, 0, control_done, &held));
	post(&told);
	if (_i)
		rtd_sweep(rtd, &all, &swept, control_done, &stopped);
	else
		rtd_model_stop(rtd, model, control_done, &stopped);
	sem_wait(&told.over);
	ck_assert_int_eq(told.code, NERR_INFER_CANCELLED);
	ck_assert_int_ne(sem_trywait(&stopped.over), 0);
	sem_post(&hold);
	control_good(&held);
	control_good(&stopped);
	stop();
}
END_TEST

/*
 * A session ends before its model is loaded: the model must not stay, because nobody would ever
 * unload it.
 */
START_TEST(a_load_ends_with_its_session)
{
	const struct rtd_owner nobody = { .peer = peer };
	static struct control held, loaded, ended;
	struct rtd_load load = { .has_eg = true };
	struct rtd_session *session;
	struct rtd_err err = { 0 };
	struct testmodel t;
	struct rtd_eg *eg;
	void *neff;

	start();
	sem_init(&hold, 0, 0);
	sem_init(&held.over, 0, 0);
	sem_init(&loaded.over, 0, 0);
	sem_init(&ended.over, 0, 0);
	session = rtd_session_open(rtd, &peer, &err);
	ck_assert_ptr_nonnull(session);
	ck_assert_int_eq(rtd_eg_create(rtd, 1, &nobody, false, &eg, &err), 0);
	load.eg = eg->id;
	rtd_eg_put(rtd, eg);
	make_add(&t);
	neff = testmodel_write(&t, &load.neff.size);
	testmodel_free(&t);
	load.neff.bytes = neff;
	load.owner = (struct rtd_owner){ .peer = peer, .session = session->id };
	rtd_control_eg(rtd, load.eg, rtd_control_new(hold_run, 0, control_done, &held));
	rtd_model_load(rtd, &load, control_done, &loaded);
	rtd_session_close(rtd, session, control_done, &ended);
	control_good(&ended);
	sem_post(&hold);
	control_good(&held);
	sem_wait(&loaded.over);
	ck_assert_int_eq(loaded.err.code, NERR_INVALID_HANDLE);
	ck_assert_int_eq(rtd->nmodels, 1); /* start()'s */
	free(neff);
	stop();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-worker");
	TCase *tc = tcase_create("worker");

	tcase_add_test(tc, goes_on_while_it_tells);
	tcase_add_test(tc, stays_until_all_are_told);
	tcase_add_test(tc, a_stop_waits_for_nobody);
	tcase_add_loop_test(tc, a_stop_overtakes_its_group, 0, 2);
	tcase_add_test(tc, idle_buffers_change_hands);
	tcase_add_test(tc, a_load_ends_with_its_session);
	suite_add_tcase(s, tc);
	return check_run(s);
}
