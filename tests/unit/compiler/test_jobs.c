// SPDX-License-Identifier: MIT
/*
 * Compilations at the same time, and parts of one on several threads: the bytes are those of one
 * thread, whoever does what; the first part that fails is the one that is told; the caller's
 * functions are called by its own thread, and say when nobody wants the result.
 */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "files.h"
#include "jobs.h"

#define THREADS 8
#define MAX_FILES 512

/* The golden programs, and what each is compiled to by one thread */
static struct file {
	char *name;
	void *model, *neff;
	size_t size, neff_size;
} file[MAX_FILES];
static unsigned int nfiles;

static struct ncc_options for_trn1(unsigned int jobs)
{
	return (struct ncc_options){ .framework = NCC_XLA,
				     .target = neuron_target_of_name("trn1"),
				     .jobs = jobs };
}

static void add_files(const char *pattern)
{
	glob_t g;

	ck_assert(!glob(pattern, 0, NULL, &g));
	for (size_t i = 0; i < g.gl_pathc && nfiles < MAX_FILES; i++) {
		const struct ncc_options opt = for_trn1(1);
		struct file *f = &file[nfiles];
		struct ncc_error err;

		f->name = strdup(g.gl_pathv[i] + strlen(TEST_DATA "/"));
		f->model = read_data(f->name, &f->size);
		if (!ncc_compile(f->model, f->size, &opt, &f->neff, &f->neff_size, &err)) {
			nfiles++;
			continue;
		}
		free(f->model); /* one that is there to be refused */
		free(f->name);
	}
	globfree(&g);
}

START_TEST(find_files)
{
	add_files(TEST_DATA "/stablehlo/*.mlirbc");
	add_files(TEST_DATA "/hlo_ops/while_*/module.hlo.pb");
	add_files(TEST_DATA "/hlo_ops/*scan*/module.hlo.pb");
	ck_assert_uint_gt(nfiles, 50);
}
END_TEST

static bool same_bytes(const struct file *f, unsigned int jobs)
{
	const struct ncc_options opt = for_trn1(jobs);
	struct ncc_error err;
	bool same;
	void *neff;
	size_t n;

	if (ncc_compile(f->model, f->size, &opt, &neff, &n, &err))
		return false;
	same = n == f->neff_size && !memcmp(neff, f->neff, n);
	free(neff);
	return same;
}

START_TEST(parts_on_several_threads)
{
	for (unsigned int i = 0; i < nfiles; i++)
		ck_assert_msg(same_bytes(&file[i], 4), "%s: other bytes", file[i].name);
}
END_TEST

/* A thread: compiles every third file, beginning at another one than the other threads */
static void *compile_all(void *arg)
{
	unsigned int first = nfiles * (unsigned int)(uintptr_t)arg / THREADS;

	for (unsigned int k = 0; k < nfiles; k += 3) {
		const struct file *f = &file[(first + k) % nfiles];

		if (!same_bytes(f, 1 + k % 2))
			return f->name;
	}
	return NULL;
}

START_TEST(programs_at_the_same_time)
{
	pthread_t thread[THREADS];
	void *name;

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&thread[i], NULL, compile_all, (void *)i));
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &name);
		ck_assert_msg(!name, "%s: other bytes", (const char *)name);
	}
}
END_TEST

/* ---- a follower ---- */

struct behind {
	pthread_t caller;
	uint32_t end, fails; /* told; from there on it fails */
	bool again, stranger;
};

static int come_behind(void *arg, uint32_t end)
{
	struct behind *b = arg;

	b->again |= end <= b->end;
	b->stranger |= !pthread_equal(pthread_self(), b->caller);
	b->end = end;
	return end >= b->fails ? -ENOMEM : 0;
}

/* It goes as far as it was told at last, on a thread of its own, and not twice as far. */
START_TEST(follower)
{
	for (uint32_t n = 0; n < 2000; n += 1 + n / 10) {
		struct behind b = { .caller = pthread_self(), .fails = UINT32_MAX };
		struct ncc_follower *f = ncc_follower_begin(come_behind, &b);

		ck_assert_ptr_nonnull(f);
		for (uint32_t i = 1; i <= n; i++)
			ncc_follower_tell(f, i);
		ck_assert_int_eq(ncc_follower_end(f), 0);
		ck_assert_uint_eq(b.end, n);
		ck_assert(!b.again && b.stranger == (n > 0));
	}
	ck_assert_int_eq(ncc_follower_end(NULL), 0);
}
END_TEST

/* One that failed does no more, and says why at the end. */
START_TEST(follower_fails)
{
	struct behind b = { .caller = pthread_self(), .fails = 3 };
	struct ncc_follower *f = ncc_follower_begin(come_behind, &b);

	ck_assert_ptr_nonnull(f);
	for (uint32_t i = 1; i <= 1000; i++)
		ncc_follower_tell(f, i);
	ck_assert_int_eq(ncc_follower_end(f), -ENOMEM);
	ck_assert_uint_ge(b.end, 3);
}
END_TEST

/* ---- parts that are the test's own ---- */

struct parts {
	unsigned int together; /* who have to be there at once */
	unsigned int fails; /* from this one on each fails with its number */
	bool endless; /* until nobody wants it */
	pthread_t caller;
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned int there, ended, done[16];
	bool stranger, others; /* called the test's functions; did a part */
};

static void parts_init(struct parts *p)
{
	*p = (struct parts){ .fails = 16, .caller = pthread_self() };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->change, NULL);
}

static int part(void *arg, unsigned int i, const struct ncc_options *opt, struct ncc_error *err)
{
	struct parts *p = arg;

	pthread_mutex_lock(&p->lock);
	p->there++;
	p->stranger |= opt->progress && opt->jobs == 1;
	p->others |= !pthread_equal(pthread_self(), p->caller);
	pthread_cond_broadcast(&p->change);
	while (p->there < p->together) /* for ever, if they come one after the other */
		pthread_cond_wait(&p->change, &p->lock);
	/* the next one fails before it */
	while (i == p->fails && p->others && p->ended <= i)
		pthread_cond_wait(&p->change, &p->lock);
	p->done[i]++;
	pthread_mutex_unlock(&p->lock);
	while (p->endless)
		if (opt->cancelled(opt->opaque))
			return -ECANCELED;
	if (i < p->fails)
		return 0;
	snprintf(err->text, sizeof(err->text), "part %u", i);
	return -(int)i;
}

static void told(void *opaque, const char *phase, unsigned int done, unsigned int total)
{
	struct parts *p = opaque;

	ck_assert_str_eq(phase, "parts");
	ck_assert_uint_eq(total, 16);
	pthread_mutex_lock(&p->lock);
	p->ended = done;
	pthread_cond_broadcast(&p->change);
	pthread_mutex_unlock(&p->lock);
	p->stranger |= !pthread_equal(pthread_self(), p->caller);
}

/* Nobody wants it any more once three are there */
static bool unwanted(void *opaque)
{
	struct parts *p = opaque;
	bool enough;

	p->stranger |= !pthread_equal(pthread_self(), p->caller);
	pthread_mutex_lock(&p->lock);
	enough = p->endless && p->there >= 3;
	pthread_mutex_unlock(&p->lock);
	return enough;
}

static int run_parts(struct parts *p, unsigned int jobs, struct ncc_error *err)
{
	const struct ncc_options opt = {
		.jobs = jobs, .progress = told, .cancelled = unwanted, .opaque = p
	};

	return ncc_jobs_run(16, part, p, &opt, err);
}

START_TEST(each_once_and_together)
{
	struct ncc_error err;
	struct parts p;

	parts_init(&p);
	p.together = 4;
	ck_assert_int_eq(run_parts(&p, 4, &err), 0);
	for (unsigned int i = 0; i < 16; i++)
		ck_assert_uint_eq(p.done[i], 1);
	ck_assert(p.others && !p.stranger);
}
END_TEST

START_TEST(the_first_that_fails)
{
	struct ncc_error err;
	struct parts p;

	for (unsigned int jobs = 1; jobs <= 8; jobs++) {
		parts_init(&p);
		p.fails = 5;
		ck_assert_int_eq(run_parts(&p, jobs, &err), -5);
		ck_assert_str_eq(err.text, "part 5");
		for (unsigned int i = 0; i < 5; i++)
			ck_assert_uint_eq(p.done[i], 1);
	}
}
END_TEST

START_TEST(nobody_wants_it)
{
	struct ncc_error err;
	struct parts p;

	parts_init(&p);
	p.endless = true;
	ck_assert_int_eq(run_parts(&p, 3, &err), -ECANCELED);
	ck_assert(!p.stranger);
	ck_assert_uint_eq(p.there, 3);
}
END_TEST

/* A log has the order of the work. */
static void log_line(void *opaque, const char *line)
{
}

START_TEST(a_log_is_in_order)
{
	struct parts p;
	const struct ncc_options opt = { .jobs = 4, .log = log_line, .opaque = &p };
	struct ncc_error err;

	parts_init(&p);
	p.fails = 1;
	ck_assert_int_eq(ncc_jobs_run(16, part, &p, &opt, &err), -1);
	ck_assert_uint_eq(p.there, 2);
	ck_assert(!p.others);
}
END_TEST

static void free_files(void)
{
	for (unsigned int i = 0; i < nfiles; i++) {
		free(file[i].name);
		free(file[i].model);
		free(file[i].neff);
	}
}

int main(void)
{
	Suite *suite = suite_create("ncc jobs");
	TCase *tc = tcase_create("jobs");
	int failed;

	tcase_add_test(tc, find_files);
	tcase_add_test(tc, each_once_and_together);
	tcase_add_test(tc, the_first_that_fails);
	tcase_add_test(tc, nobody_wants_it);
	tcase_add_test(tc, a_log_is_in_order);
	tcase_add_test(tc, follower);
	tcase_add_test(tc, follower_fails);
	tcase_add_test(tc, parts_on_several_threads);
	tcase_add_test(tc, programs_at_the_same_time);
	suite_add_tcase(suite, tc);
	failed = check_run_here(suite);
	free_files();
	return failed;
}
