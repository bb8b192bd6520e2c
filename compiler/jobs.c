/* SPDX-License-Identifier: MIT */
/*
 * Parts of a compilation that do not need each other, on several threads. The caller's functions
 * are called by the thread that compiles alone: it looks whether anybody wants the result while the
 * others work, who see its answer. A text in the order of the work (a log, the IR) is written by
 * one thread only. The result does not depend on who did what.
 */
#include "jobs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "ir/ir.h"

#define MAX_THREADS 16
#define LOOK_NS 20000000 /* between two looks whether the result is wanted */

struct jobs {
	ncc_job_t *run;
	void *arg;
	const struct ncc_options *opt; /* the caller's */
	unsigned int n;
	atomic_bool unwanted;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t change;
	unsigned int next, under_way, ended;
	unsigned int failed; /* the first one that did; n: none */
	int rc;
	struct ncc_error err;
};

static bool is_unwanted(void *opaque)
{
	return atomic_load(&((struct jobs *)opaque)->unwanted);
}

/* A text with an order of its own is not written from several threads. */
static unsigned int threads_for(unsigned int n, const struct ncc_options *opt)
{
	unsigned int most = opt->jobs;
	cpu_set_t set;

	if (opt->log || opt->print_ir || opt->print_plan || opt->dump || opt->sparse)
		return 1;
	if (!most && !sched_getaffinity(0, sizeof(set), &set))
		most = (unsigned int)CPU_COUNT(&set);
	most = most < n ? most : n;
	return most < MAX_THREADS ? most : MAX_THREADS;
}

bool ncc_jobs_several(const struct ncc_options *opt)
{
	return threads_for(2, opt) > 1;
}

/* Does one part; false: there is none, or those before it have failed. With the lock */
static bool do_one(struct jobs *j)
{
	struct ncc_options opt = *j->opt;
	struct ncc_error err = { "" };
	unsigned int i = j->next;
	int rc;

	if (i >= j->failed)
		return false;
	j->next++;
	j->under_way++;
	pthread_mutex_unlock(&j->lock);
	opt.progress = NULL;
	opt.warn = NULL;
	opt.obstacle = NULL;
	opt.cancelled = is_unwanted;
	opt.opaque = j;
	opt.jobs = 1;
	rc = j->run(j->arg, i, &opt, &err);
	pthread_mutex_lock(&j->lock);
	j->under_way--;
	j->ended++;
	if (rc && i < j->failed) {
		j->failed = i;
		j->rc = rc;
		j->err = err;
	}
	pthread_cond_signal(&j->change);
	return true;
}

static void *work(void *arg)
{
	struct jobs *j = arg;

	pthread_mutex_lock(&j->lock);
	while (do_one(j))
		;
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += LOOK_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Until all have ended; whoever compiles is told and asked meanwhile. With the lock */
static void watch(struct jobs *j)
{
	const struct ncc_options *opt = j->opt;

	while (j->next < j->failed || j->under_way) {
		struct timespec until = soon();
		unsigned int ended = j->ended;

		pthread_mutex_unlock(&j->lock);
		if (opt->progress)
			opt->progress(opt->opaque, "parts", ended, j->n);
		if (opt->cancelled && opt->cancelled(opt->opaque))
			atomic_store(&j->unwanted, true);
		pthread_mutex_lock(&j->lock);
		if (ended == j->ended)
			pthread_cond_clockwait(&j->change, &j->lock, CLOCK_MONOTONIC, &until);
	}
}

static int in_order(struct jobs *j, struct ncc_error *err)
{
	int rc = 0;

	for (unsigned int i = 0; i < j->n && !rc; i++)
		rc = j->run(j->arg, i, j->opt, err);
	return rc;
}

int ncc_jobs_run(unsigned int n, ncc_job_t *run, void *arg, const struct ncc_options *opt,
		 struct ncc_error *err)
{
	struct jobs j = { .run = run, .arg = arg, .opt = opt, .n = n, .failed = n };
	const unsigned int want = threads_for(n, opt);
	pthread_t thread[MAX_THREADS];
	unsigned int there = 0;

	if (want < 2)
		return in_order(&j, err);
	pthread_mutex_init(&j.lock, NULL);
	pthread_cond_init(&j.change, NULL);
	while (there < want && !pthread_create(&thread[there], NULL, work, &j))
		there++;
	pthread_mutex_lock(&j.lock);
	while (!there && do_one(&j)) /* a host without another thread */
		;
	watch(&j);
	pthread_mutex_unlock(&j.lock);
	for (unsigned int i = 0; i < there; i++)
		pthread_join(thread[i], NULL);
	pthread_cond_destroy(&j.change);
	pthread_mutex_destroy(&j.lock);
	if (j.rc)
		*err = j.err;
	return j.rc;
}

struct ncc_follower {
	ncc_follow_t *follow;
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t change;
	uint32_t end; /* it may go as far */
	bool all; /* and no farther */
	int rc;
};

static void *follow(void *arg)
{
	struct ncc_follower *f = arg;
	uint32_t done = 0;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	while (!rc && (!f->all || done < f->end)) {
		if (done == f->end) {
			pthread_cond_wait(&f->change, &f->lock);
			continue;
		}
		done = f->end;
		pthread_mutex_unlock(&f->lock);
		rc = f->follow(f->arg, done);
		pthread_mutex_lock(&f->lock);
	}
	f->rc = rc;
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

struct ncc_follower *ncc_follower_begin(ncc_follow_t *what, void *arg)
{
	struct ncc_follower *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->follow = what;
	f->arg = arg;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->change, NULL);
	if (!pthread_create(&f->thread, NULL, follow, f))
		return f;
	pthread_cond_destroy(&f->change);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return NULL;
}

void ncc_follower_tell(struct ncc_follower *f, uint32_t end)
{
	pthread_mutex_lock(&f->lock);
	f->end = end;
	pthread_cond_signal(&f->change);
	pthread_mutex_unlock(&f->lock);
}

int ncc_follower_end(struct ncc_follower *f)
{
	int rc;

	if (!f)
		return 0;
	pthread_mutex_lock(&f->lock);
	f->all = true;
	pthread_cond_signal(&f->change);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	rc = f->rc;
	pthread_cond_destroy(&f->change);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return rc;
}
