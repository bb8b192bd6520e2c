// SPDX-License-Identifier: MIT
/*
 * Compilation in this process, by the thread that asks. What is compiled is kept on disk (cache.c).
 * A program that only hands on its arguments is not compiled at all.
 *
 * A small program goes from the compiler to the runtime without a file between them, if none is
 * kept: to write one and to read it again takes as long as all else. Who asks for the NEFF later
 * has it of another compilation, whose bytes are the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache.h"
#include "digest.h"
#include "executable.h"
#include "profiler.h"
#include "progress.h"

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
	struct npj_progress *progress;
	const PJRT_Executable *x;
	npj_emitted_t *emitted; /* NULL: it is not to be loaded */
	PJRT_LoadedExecutable *loaded;
	int64_t start; /* ms */
};

static void tell(void *opaque, const char *phase, unsigned int done, unsigned int total)
{
	const struct obstacles *o = opaque;

	npj_progress_tell(o->progress, phase, done, total);
}

static bool cancelled(void *opaque)
{
	const struct obstacles *o = opaque;

	return npj_progress_cancelled(o->progress);
}

static void obstacle(void *opaque, const char *line)
{
	struct obstacles *o = opaque;
	int n = snprintf(o->text + o->n, sizeof(o->text) - o->n, "\n  %s", line);

	if (n > 0 && (size_t)n < sizeof(o->text) - o->n)
		o->n += (size_t)n;
	else
		o->text[o->n] = 0;
}

/* The program comes while it is checked: it is loaded, and written only if it is kept. */
static bool emitted(void *opaque, const struct neff_model *model)
{
	const struct obstacles *o = opaque;

	return o->emitted(o->loaded, model) && !npj_cache_wants(o->x, now_ms() - o->start);
}

/* What was read of the program is not needed behind its import: it may be as large again. */
static void model_read(void *opaque)
{
	const struct obstacles *o = opaque;

	ncc_program_forget(o->x->program);
}

/* A hexadecimal digit, as fingerprints have them */
static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
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
		.replicas = x->options.replicas,
		.compress_constants = x->options.compress,
		.hardware_rng = x->options.hardware_rng,
		.structured_sparsity = x->options.sparsity,
		.narrow_64bit = x->options.narrow_64bit,
		.obstacle = obstacle,
		.progress = tell,
		.cancelled = cancelled,
		.program = x->program,
		.verify_once = true,
		.model_read = model_read,
		.emitted = o->emitted ? emitted : NULL,
		.opaque = o,
	};

	/* the NEFF's: the same program has the same one, whoever compiles it */
	for (unsigned int i = 0; i < sizeof(opt.uuid); i++)
		opt.uuid[i] = (uint8_t)(digit(x->fingerprint[2 * i]) << 4 |
					digit(x->fingerprint[2 * i + 1]));
	return opt;
}

static int attempt(PJRT_Executable *x, struct obstacles *o, struct ncc_error *err)
{
	struct ncc_options opt = compiler_options(x, o);

	o->n = 0;
	o->text[0] = 0;
	return ncc_compile(x->code.data, x->code.size, &opt, &x->neff.data, &x->neff.size, err);
}

/* The obstacles to a compilation: the first one, or all of them if there are several */
static PJRT_Error *refusal(const PJRT_Executable *x, const struct obstacles *o, int r,
			   const struct ncc_error *err)
{
	PJRT_Error *first = npj_compiler_error(r, err), *e;
	const bool several = strchr(o->text + (o->n ? 1 : 0), '\n');
	/* the compiler's own option is not what a user of a framework has */
	const char *more =
		r == -ENOTSUP && strstr(o->text, "--narrow-64bit") ? "\n" NPJ_NO_64BIT : "";

	if (several)
		e = npj_error(first->code, "%s: cannot be compiled for %s%s%s", x->program->name,
			      x->topology->arch, o->text, more);
	else
		e = npj_error(first->code, "%s%s", first->message, more);
	npj_error_free(first);
	return e;
}

PJRT_Error *npj_compile(PJRT_Executable *x, bool anew, npj_emitted_t *emit,
			PJRT_LoadedExecutable *l)
{
	struct npj_progress progress;
	struct obstacles o = {
		.progress = &progress, .x = x, .emitted = emit, .loaded = l, .start = now_ms()
	};
	struct ncc_error err;
	int64_t began;
	int r;

	x->cached = false;
	if (x->trivial)
		return NULL;
	if (!anew && !x->program->ncalls && npj_cache_read(x, &x->neff)) {
		x->cached = true;
		return NULL;
	}
	began = npj_event_now();
	npj_progress_begin(&progress, x->program->name);
	r = attempt(x, &o, &err);
	npj_progress_end(&progress);
	npj_event_add("compile", x->program->name, began);
	if (!r && x->program->ncalls)
		return NULL; /* its functions have numbers of this process */
	if (!r) {
		npj_cache_write(x, now_ms() - o.start);
		return NULL;
	}
	return refusal(x, &o, r, &err);
}

PJRT_Error *npj_executable_neff(PJRT_Executable *x, struct npj_blob *neff)
{
	PJRT_Error *e = NULL;

	pthread_mutex_lock(&x->lock);
	if (!x->neff.size)
		e = npj_compile(x, true, NULL, NULL);
	*neff = x->neff;
	pthread_mutex_unlock(&x->lock);
	return e;
}
