// SPDX-License-Identifier: MIT
/*
 * Who takes events from the completion queue, which here is the test's own: one thread, others in
 * its place while it is held up, all for many clients. An event that waits for a later one would,
 * with one thread, wait for ever. The watchdog's ticks, the processors and the clients are the
 * test's.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "poller.h"

#define THREADS 4

/* An event, by its tag */
struct happening {
	bool hold; /* its thread says that it is held up */
	sem_t *wait, *post; /* or NULL */
	atomic_bool over;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct happening *queue[1024];
static unsigned int head, tail, waiting;
static bool is_shut;
static struct rtd_pollers *pollers;
static bool no_ticks; /* the watchdog never looks */
static atomic_uint ticks;
static atomic_uint callers; /* in each tick */
static long processors = 1;

grpc_event grpc_completion_queue_next(grpc_completion_queue *cq, gpr_timespec deadline,
				      void *reserved)
{
	grpc_event event = { .type = GRPC_QUEUE_SHUTDOWN };

	pthread_mutex_lock(&lock);
	waiting++;
	while (head == tail && !is_shut)
		pthread_cond_wait(&more, &lock);
	waiting--;
	if (head != tail) {
		event.type = GRPC_OP_COMPLETE;
		event.tag = queue[tail++ % 1024];
	}
	pthread_mutex_unlock(&lock);
	return event;
}

gpr_timespec gpr_inf_future(gpr_clock_type type)
{
	return (gpr_timespec){ .tv_sec = 0 };
}

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	ticks++;
	return no_ticks ? pthread_cond_wait(cond, mutex)
			: __real_pthread_cond_timedwait(cond, mutex, until);
}

long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN ? processors : __real_sysconf(name);
}

static void handle(void *arg, const grpc_event *event)
{
	struct happening *h = event->tag;

	ck_assert_ptr_eq(arg, queue);
	if (h->hold)
		rtd_pollers_hold(pollers);
	if (h->post)
		sem_post(h->post);
	if (h->wait)
		sem_wait(h->wait);
	h->over = true;
}

static unsigned int count_callers(void *arg)
{
	ck_assert_ptr_eq(arg, queue);
	return callers;
}

static void happen(struct happening *h)
{
	h->over = false;
	pthread_mutex_lock(&lock);
	queue[head++ % 1024] = h;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static void await(const struct happening *h)
{
	while (!h->over)
		sched_yield();
}

static unsigned int now_waiting(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = waiting;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Until so many threads wait for an event */
static void await_waiting(unsigned int n)
{
	while (now_waiting() != n)
		sched_yield();
}

static void start(void)
{
	head = tail = 0;
	is_shut = false;
	ck_assert_int_eq(rtd_pollers_new(NULL, THREADS, handle, count_callers, queue, &pollers), 0);
}

static void stop(void)
{
	pthread_mutex_lock(&lock);
	is_shut = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	rtd_pollers_free(pollers);
	ck_assert_uint_eq(waiting, 0);
}

START_TEST(one_waits)
{
	static struct happening plain;

	start();
	for (int i = 0; i < 1000; i++) {
		happen(&plain);
		await(&plain);
	}
	await_waiting(1);
	stop();
}
END_TEST

/* Holds up n threads, which say so or not, until the event behind theirs was handled */
static void check_held(unsigned int n, bool hold)
{
	static struct happening held[THREADS], plain;
	sem_t go, begun;

	sem_init(&go, 0, 0);
	sem_init(&begun, 0, 0);
	for (unsigned int i = 0; i < n; i++) {
		held[i] = (struct happening){ .hold = hold, .wait = &go, .post = &begun };
		happen(&held[i]);
		sem_wait(&begun);
	}
	happen(&plain);
	await(&plain);
	for (unsigned int i = 0; i < n; i++)
		sem_post(&go);
	for (unsigned int i = 0; i < n; i++)
		await(&held[i]);
	/* those that come back find their place taken */
	for (int i = 0; i < 4 * THREADS; i++) {
		happen(&plain);
		await(&plain);
	}
	await_waiting(1);
}

START_TEST(others_take_its_place)
{
	no_ticks = true;
	start();
	for (unsigned int i = 0; i < 50; i++)
		check_held(1 + i % (THREADS - 1), true);
	stop();
}
END_TEST

START_TEST(the_watchdog_sees_who_is_held_up)
{
	start();
	for (unsigned int i = 0; i < 10; i++)
		check_held(1 + i % (THREADS - 1), false);
	stop();
}
END_TEST

/* When all threads are held up, further events are handled once the first ones end. */
START_TEST(more_than_there_are)
{
	static struct happening held[3 * THREADS], plain;
	sem_t go;

	start();
	sem_init(&go, 0, 0);
	for (unsigned int i = 0; i < 3 * THREADS; i++) {
		held[i] = (struct happening){ .hold = i % 2, .wait = &go };
		happen(&held[i]);
	}
	happen(&plain);
	for (unsigned int i = 0; i < 3 * THREADS; i++)
		sem_post(&go);
	for (unsigned int i = 0; i < 3 * THREADS; i++)
		await(&held[i]);
	await(&plain);
	stop();
}
END_TEST

/* Events until so many threads wait for them */
static void happen_until(unsigned int n)
{
	static struct happening plain;

	while (now_waiting() != n) {
		happen(&plain);
		await(&plain);
	}
}

/* Events for so many ticks, for which not more threads wait than this */
static void happen_for(unsigned int n, unsigned int most)
{
	static struct happening plain;

	for (unsigned int then = ticks; ticks - then < n;) {
		happen(&plain);
		await(&plain);
		ck_assert_uint_le(now_waiting(), most);
	}
}

START_TEST(all_wait_for_many_clients)
{
	static const struct {
		long processors;
		unsigned int callers, waiting;
	} machines[] = { { 1, 64, 1 }, { 2, 4, 1 }, { 2, 5, THREADS }, { 64, 64, THREADS } };

	processors = machines[_i].processors;
	start();
	for (int i = 0; i < 3; i++) {
		callers = machines[_i].callers;
		happen_until(machines[_i].waiting);
		happen_for(4, machines[_i].waiting);
		callers = 1;
		happen_until(1);
	}
	stop();
}
END_TEST

START_TEST(ends_at_once)
{
	start();
	stop();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rtd-poller");
	TCase *tc = tcase_create("poller");

	tcase_add_test(tc, one_waits);
	tcase_add_test(tc, others_take_its_place);
	tcase_add_test(tc, the_watchdog_sees_who_is_held_up);
	tcase_add_test(tc, more_than_there_are);
	tcase_add_loop_test(tc, all_wait_for_many_clients, 0, 4);
	tcase_add_test(tc, ends_at_once);
	suite_add_tcase(s, tc);
	return check_run(s);
}
