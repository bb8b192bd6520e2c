// SPDX-License-Identifier: MIT
/*
 * Compilation in this process, by the thread that asks. What is compiled is kept on disk (cache.c).
 * A program that only hands on its arguments is not compiled at all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache.h"
#include "digest.h"
#include "executable.h"

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* All that cannot be imported, a line each: more than the first reason helps who wrote the program.
 */
struct obstacles {
	char text[4096];
	size_t n;
};

static void obstacle(void *opaque, const char *line)
{
	struct obstacles *o = opaque;
	int n = snprintf(o->text + o->n, sizeof(o->text) - o->n, "\n  %s", line);

	if (n > 0 && (size_t)n < sizeof(o->text) - o->n)
		o->n += (size_t)n;
	else
		o->text[o->n] = 0;
}

static struct ncc_options compiler_options(const PJRT_Executable *x, struct obstacles *o)
{
	struct ncc_options opt = {
		.framework = NCC_XLA,
		.target = x->topology->target,
		.auto_cast = x->options.cast,
		.auto_cast_type = x->options.cast_type,
		.level = x->options.level,
		.lnc = x->options.lnc,
		.compress_constants = x->options.compress,
		.hardware_rng = x->options.hardware_rng,
		.structured_sparsity = x->options.sparsity,
		.narrow_64bit = x->options.narrow_64bit,
		.obstacle = obstacle,
		.opaque = o,
	};

	/* the NEFF's: the same program has the same one, whoever compiles it */
	for (unsigned int i = 0; i < sizeof(opt.uuid); i++)
		sscanf(x->fingerprint + 2 * i, "%2hhx", &opt.uuid[i]);
	return opt;
}

static int attempt(PJRT_Executable *x, bool narrow, struct obstacles *o, struct ncc_error *err)
{
	struct ncc_options opt = compiler_options(x, o);

	opt.narrow_64bit = opt.narrow_64bit || narrow;
	o->n = 0;
	o->text[0] = 0;
	return ncc_compile(x->code.data, x->code.size, &opt, &x->neff.data, &x->neff.size, err);
}

PJRT_Error *npj_compile(PJRT_Executable *x, bool anew)
{
	struct obstacles o;
	struct ncc_error err;
	PJRT_Error *e, *more;
	int64_t start = now_ms();
	int r;

	x->cached = false;
	if (npj_executable_trivial(x))
		return NULL;
	if (!anew && npj_cache_read(x, &x->neff)) {
		x->cached = true;
		return NULL;
	}
	r = attempt(x, false, &o, &err);
	/* 64-bit numbers inside of a program whose ends are not cannot be told to stay in 32 */
	if (r == -ENOTSUP && !x->options.narrow_64bit) {
		struct obstacles again;
		struct ncc_error why;
		int second = attempt(x, true, &again, &why);

		if (!second)
			r = 0;
	}
	if (!r) {
		npj_cache_write(x, now_ms() - start);
		return NULL;
	}
	e = npj_compiler_error(r, &err);
	/* the first obstacle is what the error says; more of them follow it */
	if (!strchr(o.text + (o.n ? 1 : 0), '\n'))
		return e;
	more = npj_error(e->code, "%s: cannot be compiled for %s%s", x->program->name,
			 x->topology->arch, o.text);
	npj_error_free(e);
	return more;
}

/* The program and the options of a caller as an executable that is compiled */
static PJRT_Error *compile(PJRT_TopologyDescription *t, bool narrow_64bit, const PJRT_Program *p,
			   struct npj_blob options, PJRT_Executable **result)
{
	struct npj_options o;
	struct npj_blob code;
	PJRT_Error *e = npj_program_check(p, &code);

	if (!e)
		e = npj_options_read(t, options.data, options.size, &o);
	if (e)
		return e;
	o.narrow_64bit = o.narrow_64bit || narrow_64bit;
	e = npj_executable_new(t, narrow_64bit, code, options, &o, result);
	if (e)
		return e;
	e = npj_compile(*result, false);
	if (e)
		npj_executable_unref(*result);
	return e;
}

PJRT_Error *npj_Client_Compile(PJRT_Client_Compile_Args *a)
{
	PJRT_Executable *x;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	e = npj_client_open(a->client);
	if (!e)
		e = compile(a->client->topology, a->client->narrow_64bit, a->program,
			    npj_blob(a->compile_options, a->compile_options_size), &x);
	return e ? e : npj_load(a->client, x, &a->executable);
}

PJRT_Error *npj_Compile(PJRT_Compile_Args *a)
{
	PJRT_TopologyDescription *t = a->topology;

	if (!t && a->client)
		t = a->client->topology;
	NPJ_NEED(t, "topology");
	return compile(t, a->client && a->client->narrow_64bit, a->program,
		       npj_blob(a->compile_options, a->compile_options_size), &a->executable);
}

PJRT_Error *npj_Client_Load(PJRT_Client_Load_Args *a)
{
	NPJ_NEED(a->client, "client");
	NPJ_NEED(a->executable, "executable");
	return npj_load(a->client, npj_executable_ref(a->executable), &a->loaded_executable);
}
