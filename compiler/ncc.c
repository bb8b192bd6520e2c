// SPDX-License-Identifier: MIT
/* The compiler from end to end: read, passes, generate, schedule, check, write. */
#include "ncc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/gen.h"
#include "ir/sparse.h"
#include "jobs.h"
#include "machine/report.h"
#include "neuron/hw/gen.h"
#include "passes/cores.h"
#include "passes/loops.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "read.h"
#include "scheduling.h"
#include "write.h"

static void say(const struct ncc_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const struct ncc_options *opt, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (!opt->log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	opt->log(opt->opaque, line);
}

/* FNV-1a: it identifies the source in info.json and protects nothing. */
static uint64_t hash_of(const void *buf, size_t size)
{
	const uint8_t *p = buf;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

/* One core's program */
struct program {
	struct ncc_gen g;
	struct ncc_subgraph out;
	struct ncc_scheduling scheduling;
};

/* Reports which parts are executed again. */
static void report_loops(const struct ncc_output *o, FILE *f)
{
	for (unsigned int i = 0; i < o->nloops; i++)
		fprintf(f, "%s{\"first\": %u, \"last\": %u}", i ? ", " : "], \"loops\": [",
			o->loop[i].first, o->loop[i].last);
}

static struct ncc_report report_of(const struct program *p, const struct ncc_output *o)
{
	return (struct ncc_report){ .m = p->g.m,
				    .nread = o->nread,
				    .prog = &p->g.prog,
				    .stream = p->out.stream,
				    .sbuf_peak = p->g.sbuf_peak };
}

static int add_times(const struct program *p, unsigned int n, const struct ncc_output *o)
{
	int rc = 0;

	*o->time = 0;
	for (unsigned int i = 0; !rc && i < n; i++) {
		const struct ncc_report r = report_of(&p[i], o);
		uint64_t ps;

		rc = ncc_program_time(&r, &ps);
		*o->time += ps;
	}
	return rc ? ncc_no_memory(p->g.err) : 0;
}

/* Reports what each program consists of: a list for a pipeline and for a program with loops. */
static int report(const struct program *p, const struct ncc_output *o, FILE *f)
{
	unsigned int n = o->nsubgraphs;
	int rc = 0;

	if (n > 1)
		fprintf(f, "{\"%s\": [\n", o->parts ? "parts" : o->lnc > 1 ? "cores" : "stages");
	for (unsigned int i = 0; !rc && i < n; i++) {
		struct ncc_report r = report_of(&p[i], o);

		r.sparse = i ? NULL : p->g.opt->sparse;
		if (i)
			fprintf(f, ",\n");
		rc = ncc_report(&r, f);
	}
	report_loops(o, f);
	if (n > 1)
		fprintf(f, "]}\n");
	return rc ? ncc_no_memory(p->g.err) : 0;
}

static int passes(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err)
{
	int rc = ncc_run_passes(m, opt, err);

	if (rc)
		return rc;
	say(opt, "%u operations after the passes", m->nops);
	if (opt->print_ir)
		ncc_print(m, opt->print_elements, opt->print_ir);
	return 0;
}

/* Logs how many instructions each engine got. */
static void say_streams(const struct ncc_options *opt, const struct ncc_prog *prog,
			const struct ncc_stream *stream)
{
	const struct neuron_target *target = prog->target;
	char line[128];
	size_t n = 0;

	for (unsigned int e = 0; e < target->engines; e++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %u", e ? ", " : "",
				      target->engine[e].name, stream[e].n);
	say(opt, "scheduled: %s instructions", line);
}

static void phase(const struct ncc_options *opt, const char *name)
{
	if (opt->progress)
		opt->progress(opt->opaque, name, 0, 0);
}

static int generate(struct program *p, struct ncc_module *m, const struct neuron_target *target,
		    bool both, const struct ncc_options *opt, struct ncc_error *err)
{
	int rc;

	p->g = (struct ncc_gen){ .m = m, .opt = opt, .err = err, .opaque = &p->scheduling };
	p->g.settled = both ? ncc_scheduling_settled : NULL;
	p->out.prog = &p->g.prog;
	ncc_prog_init(&p->g.prog, target);
	rc = ncc_scheduling_begin(&p->scheduling, &p->g.prog) ? ncc_no_memory(err) : 0;
	rc = rc ? rc : ncc_generate(&p->g);
	if (rc)
		return rc;
	say(opt,
	    "generated %u instructions and DMAs, %u descriptor patterns, SBUF %llu of %u bytes a "
	    "partition",
	    p->g.prog.nnodes, p->g.prog.ndesc, (unsigned long long)p->g.sbuf_peak,
	    target->sbuf_part_size);
	return 0;
}

static int schedule(struct program *p, const struct ncc_options *opt, struct ncc_error *err)
{
	struct ncc_stream *stream = p->out.stream;
	int rc;

	phase(opt, "scheduling");
	rc = ncc_scheduling_spread(&p->scheduling) ? ncc_no_memory(err) : 0;
	rc = rc ?: ncc_wanted(opt, err) ?: ncc_check_descs(&p->g.prog, err);
	if (!rc && ncc_scheduling_end(&p->scheduling, stream))
		rc = ncc_no_memory(err);
	ncc_scheduling_free(&p->scheduling);
	if (!rc)
		say_streams(opt, &p->g.prog, stream);
	if (!rc && opt->compress_constants && p->g.prog.target->core >= 2)
		rc = ncc_compress_constants(&p->g.prog, opt->compress_constants, err);
	if (!rc && p->g.prog.compressed.constants)
		say(opt, "compressed %u constants, %llu bytes to %llu",
		    p->g.prog.compressed.constants,
		    (unsigned long long)p->g.prog.compressed.bytes.before,
		    (unsigned long long)p->g.prog.compressed.bytes.after);
	return rc;
}

static void free_program(struct program *p)
{
	ncc_scheduling_free(&p->scheduling);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		free(p->out.stream[e].slot);
	ncc_prog_free(&p->g.prog);
}

/* The product of write_programs: of each of the cores all that it has, one core after the other */
struct writing {
	struct program *p;
	struct ncc_subgraph *sg;
	struct ncc_module **module;
	const struct neuron_target *target;
	unsigned int n, each; /* all; of a core */
	unsigned int now; /* the one that generate_one and schedule_one are for, of each core */
	bool both; /* is each generated and scheduled at the same time? */
};

static int generate_one(void *arg, unsigned int core, const struct ncc_options *opt,
			struct ncc_error *err)
{
	const struct writing *b = arg;
	const unsigned int i = core * b->each + b->now;

	return generate(&b->p[i], b->module[i], b->target, b->both, opt, err);
}

static int schedule_one(void *arg, unsigned int core, const struct ncc_options *opt,
			struct ncc_error *err)
{
	const struct writing *b = arg;
	const unsigned int i = core * b->each + b->now;
	int rc = schedule(&b->p[i], opt, err);

	b->sg[i] = b->p[i].out;
	return rc;
}

/* A program, with the other core's that runs at the same time */
static int make_program(void *arg, unsigned int k, const struct ncc_options *opt,
			struct ncc_error *err)
{
	struct writing b = *(struct writing *)arg;
	const unsigned int cores = b.n / b.each;
	int rc;

	b.now = k;
	rc = ncc_jobs_run(cores, generate_one, &b, opt, err);
	if (rc)
		return rc;
	ncc_check_outputs_for_nan(&b.p[k].g.prog, cores > 1 ? &b.p[b.each + k].g.prog : NULL);
	return ncc_jobs_run(cores, schedule_one, &b, opt, err);
}

#define WORTH_OPS 64 /* of the second largest part; a thread takes some 50 us to be there */

/* Few operations are compiled before another thread has begun. */
static struct ncc_options jobs_for(struct ncc_module **m, unsigned int n,
				   const struct ncc_options *given)
{
	struct ncc_options opt = *given;
	unsigned int large = 0;

	for (unsigned int i = 0; i < n; i++)
		large += m[i]->nops >= WORTH_OPS;
	if (!opt.jobs && large < 2)
		opt.jobs = 1;
	return opt;
}

/* Generates, schedules and writes n modules after their passes: a program each. */
static int write_programs(struct ncc_module **module, unsigned int n, const struct ncc_options *opt,
			  struct ncc_output *o, struct ncc_error *err)
{
	const struct ncc_options some = jobs_for(module, n, opt);
	struct program *p = calloc(n, sizeof(*p));
	struct ncc_subgraph *sg = calloc(n, sizeof(*sg));
	struct writing b = { p, sg, module, o->target, n, n / o->lnc, 0, false };
	int rc = p && sg ? 0 : ncc_no_memory(err);

	b.both = (n == 1 || some.jobs == 1) && o->lnc == 1 && ncc_jobs_several(opt);
	if (!rc)
		rc = ncc_jobs_run(b.each, make_program, &b, &some, err);
	for (unsigned int i = 0; p && i < n; i++) {
		p[i].g.opt = opt;
		p[i].g.err = err;
	}

	o->subgraph = sg;
	o->nsubgraphs = n;
	phase(opt, "writing");
	rc = rc ?: ncc_wanted(opt, err);
	if (!rc)
		rc = o->time ? add_times(p, n, o) : ncc_write_neff(o, opt, err);
	if (!rc)
		say(opt, "wrote %zu bytes", o->size);
	if (!rc && opt->report)
		rc = report(p, o, opt->report);
	for (unsigned int i = 0; p && i < n; i++)
		free_program(&p[i]);
	free(p);
	free(sg);
	return rc;
}

/*
 * Compiles modules, one or the parts of a program with loops, for both cores of a logical one: all
 * of the first core's come first.
 */
static int compile_for_logical_core(struct ncc_module **m, unsigned int n,
				    const struct ncc_options *opt, struct ncc_output *o,
				    struct ncc_error *err)
{
	struct ncc_module **core = calloc(NCC_CORES * (size_t)n, sizeof(struct ncc_module *));
	struct ncc_module *pair[NCC_CORES];
	int rc = core ? 0 : ncc_no_memory(err);

	for (unsigned int i = 0; i < n && !rc; i++) {
		rc = ncc_divide(m[i], opt->divide_from, pair, err);
		for (unsigned int c = 0; c < NCC_CORES; c++)
			core[c * n + i] = pair[c];
		if (!rc)
			say(opt, "two cores of a logical one: %u and %u operations", pair[0]->nops,
			    pair[1]->nops);
	}
	rc = rc ? rc : write_programs(core, NCC_CORES * n, opt, o, err);
	for (unsigned int i = 0; core && i < NCC_CORES * n; i++)
		if (core[i])
			ncc_module_free(core[i]);
	free(core);
	return rc;
}

static int part_passes(void *arg, unsigned int i, const struct ncc_options *opt,
		       struct ncc_error *err)
{
	return passes(((struct ncc_parts *)arg)->part[i], opt, err);
}

/*
 * Compiles the parts of a program with loops, for a core or a logical one; the runtime does the
 * loops.
 */
static int compile_parts(struct ncc_parts *parts, const struct ncc_options *opt,
			 struct ncc_output *o, struct ncc_error *err)
{
	struct ncc_options some;
	int rc;

	say(opt, "%u loops and %u calls of the host in %u parts", parts->nloops, parts->ncalls,
	    parts->n);
	if (parts->ntransfers)
		say(opt, "%u collectives of %u devices", parts->ntransfers, o->ranks);
	if (o->requested > 1)
		say(opt, "a program with loops is for one core, %u asked for", o->requested);
	some = jobs_for(parts->part, parts->n, opt);
	rc = ncc_jobs_run(parts->n, part_passes, parts, &some, err);
	o->loop = parts->loop;
	o->nloops = parts->nloops;
	o->parts = parts;
	o->transfer = parts->transfer;
	o->ntransfers = parts->ntransfers;
	if (!rc && o->lnc > 1)
		return compile_for_logical_core(parts->part, parts->n, opt, o, err);
	return rc ? rc : write_programs(parts->part, parts->n, opt, o, err);
}

/* Compiles for as many cores as were asked for, if there is enough to do for them. */
static int compile_whole(struct ncc_module *m, const struct ncc_options *opt, struct ncc_output *o,
			 struct ncc_error *err)
{
	struct ncc_module *stage[NCC_MAX_STAGES];
	unsigned int want = o->requested, n = 0;
	int rc;

	rc = passes(m, opt, err);
	if (!rc && o->lnc > 1)
		return compile_for_logical_core(&m, 1, opt, o, err);
	if (rc || want == 1)
		return rc ? rc : write_programs(&m, 1, opt, o, err);
	rc = ncc_split(m, want, stage, &n, err);
	if (!rc) {
		say(opt, "pipeline of %u cores, %u asked for", n, want);
		rc = write_programs(stage, n, opt, o, err);
	}
	for (unsigned int i = 0; i < n; i++)
		ncc_module_free(stage[i]);
	return rc;
}

static bool has(const struct ncc_module *m, enum ncc_kind kind)
{
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == kind)
			return true;
	return false;
}

static bool has_transfers(const struct ncc_module *m)
{
	return has(m, NCC_TRANSFER) || has(m, NCC_RANK);
}

/* Compiles the module as it was read. */
static int compile(struct ncc_module *m, const struct ncc_options *opt, struct ncc_output *o,
		   struct ncc_error *err)
{
	struct ncc_parts parts;
	int rc;

	o->requested = opt->pipeline_cores ? opt->pipeline_cores : 1;
	if (o->requested > NCC_MAX_STAGES)
		return ncc_fail(err, -EINVAL, "a pipeline of %u cores: 1 to %d are possible",
				o->requested, NCC_MAX_STAGES);
	o->lnc = opt->lnc ? opt->lnc : 1;
	if (o->lnc > 1 && o->lnc > o->target->gen->logical_cores)
		return ncc_fail(err, -EINVAL, "logical cores of %u: the target '%s' has none",
				o->lnc, o->target->name);
	if (o->lnc > 1 && o->requested > 1)
		return ncc_fail(err, -EINVAL,
				"a pipeline of %u cores: with logical cores of 2 it is one",
				o->requested);
	rc = ncc_widen_float8(m, opt, err);
	if (rc)
		return rc;
	o->name = m->name;
	if ((opt->hardware_rng || has(m, NCC_RANDOM)) && o->target->core < 2)
		return ncc_fail(err, -EINVAL,
				"random numbers cannot be the chip's own: the target '%s' has no "
				"generator",
				o->target->name);
	if (has(m, NCC_CUSTOM))
		o->library = opt->library;
	if (!ncc_has_parts(m))
		return compile_whole(m, opt, o, err);
	if (m->ranks && has_transfers(m)) {
		o->ranks = m->ranks;
		o->partitions = m->partitions;
	}
	ncc_dump_ir(m, opt, NCC_PASS_READ);
	rc = ncc_cut_loops(m, &parts, err);
	rc = rc ? rc : compile_parts(&parts, opt, o, err);
	ncc_free_parts(&parts);
	return rc;
}

static bool has_cast_type(const struct ncc_options *opt)
{
	switch (opt->auto_cast_type) {
	case 0:
	case NEURON_DT_BF16:
	case NEURON_DT_FP16:
		return true;
	case NEURON_DT_TF32:
	case NEURON_DT_FP8_E4:
		return ncc_target(opt)->pe_dtypes >> opt->auto_cast_type & 1;
	default:
		return false;
	}
}

/*
 * How many rows indices choose at once: any number, and if a core's queues have no room for so many
 * pieces, fewer in each iteration of a loop.
 */
static const int64_t most_rows[] = { 0, 1 << 17, 1 << 13 };
#define MOST_ROWS_LAST (sizeof(most_rows) / sizeof(most_rows[0]) - 1)

/* Is there something by many indices, which takes fewer pieces if it is read again? */
static bool chooses_many(const struct ncc_module *m)
{
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind >= NCC_GATHER && op->kind <= NCC_COMBINE &&
		    ncc_elems(&op->in[1]->shape) > most_rows[MOST_ROWS_LAST])
			return true;
	return false;
}

/*
 * Reads a model and compiles it. -E2BIG: it moves too many pieces at once; again says whether it
 * may be read again
 */
static int read_and_compile_with(const void *model, size_t size, const struct ncc_options *opt,
				 struct ncc_output *o, bool *again, struct ncc_error *err)
{
	struct ncc_module *m;
	int rc;

	phase(opt, "reading");
	rc = ncc_import(model, size, opt, &m, err);
	if (rc)
		return rc;
	*again = *again && chooses_many(m);
	if (opt->model_read && !*again)
		opt->model_read(opt->opaque);
	o->nread = m->nops;
	say(opt, "read module '%.100s': %u operations, %u parameters, %u results", m->name, m->nops,
	    m->nparams, m->nouts);
	rc = compile(m, opt, o, err);
	ncc_module_free(m);
	return rc;
}

static int read_and_compile(const void *model, size_t size, const struct ncc_options *opt,
			    struct ncc_output *o, struct ncc_error *err)
{
	const struct ncc_output before = *o;
	struct ncc_options some = *opt;
	bool again = true;
	int rc = -E2BIG;

	for (unsigned int i = 0; rc == -E2BIG && again; i++) {
		if (i)
			say(opt, "too many pieces: at most %lld rows that indices choose at once",
			    (long long)most_rows[i]);
		*o = before;
		some.most_rows = opt->most_rows ? opt->most_rows : most_rows[i];
		again = !opt->most_rows && i < MOST_ROWS_LAST;
		rc = read_and_compile_with(model, size, &some, o, &again, err);
	}
	return rc == -E2BIG ? -EFBIG : rc;
}

/* Options of a compilation of which only the time counts */
static struct ncc_options quietly(const struct ncc_options *opt)
{
	struct ncc_options quiet = *opt;

	quiet.log = quiet.warn = NULL;
	quiet.obstacle = NULL;
	quiet.progress = NULL;
	quiet.model_read = NULL;
	quiet.print_ir = quiet.print_plan = quiet.dump = quiet.report = NULL;
	return quiet;
}

/* The time of the program with the products of s->dense dense; *s says what there are. */
static int time_with(const void *model, size_t size, const struct ncc_options *opt,
		     struct ncc_sparse *s, uint64_t *ps, struct ncc_error *err)
{
	struct ncc_output o = { .target = ncc_target(opt), .uuid = opt->uuid, .time = ps };
	struct ncc_options quiet = quietly(opt);

	if (s->n && ncc_sparse_none(s)) {
		quiet.structured_sparsity = NCC_SPARSE_NEVER;
	} else {
		quiet.sparse = s;
		s->n = 0;
	}
	return read_and_compile(model, size, &quiet, &o, err);
}

/* ncc_sparse.alone: its operands have their types already */
static int time_of_product(struct ncc_module *m, const struct ncc_options *opt, bool sparse,
			   uint64_t *ps, struct ncc_error *err)
{
	struct ncc_output o = { .target = ncc_target(opt), .time = ps, .requested = 1, .lnc = 1 };
	struct ncc_options quiet = quietly(opt);

	quiet.sparse = NULL;
	quiet.structured_sparsity = sparse ? NCC_SPARSE_ALWAYS : NCC_SPARSE_NEVER;
	quiet.auto_cast = NCC_CAST_NONE;
	return compile_whole(m, &quiet, &o, err);
}

/*
 * Which products of sparse weights the program is fastest with, by its estimate: those that are
 * faster by themselves, all or none
 */
static int decide_sparse(const void *model, size_t size, const struct ncc_options *opt,
			 struct ncc_sparse *s, struct ncc_error *err)
{
	const uint64_t other[] = { 0, ~0ull };
	uint64_t least, time, chosen, best, all;
	int rc;

	s->alone = time_of_product;
	rc = time_with(model, size, opt, s, &least, err);
	s->alone = NULL;
	if (rc || !s->n)
		return rc;
	all = s->n == NCC_SPARSE_MAX ? ~0ull : (1ull << s->n) - 1;
	chosen = best = s->dense & all;
	if (chosen == all) /* convolutions were made products, as for none they are not */
		least = UINT64_MAX;
	for (unsigned int i = 0; !rc && i < 2; i++) {
		if (chosen != all && chosen == (other[i] & all))
			continue;
		s->dense = other[i];
		rc = time_with(model, size, opt, s, &time, err);
		if (!rc && time < least) {
			least = time;
			best = other[i];
		}
	}
	s->dense = best;
	for (unsigned int i = 0; i < s->n; i++)
		s->product[i].taken = !(s->dense >> i & 1);
	return rc;
}

int ncc_compile(const void *model, size_t size, const struct ncc_options *opt, void **out,
		size_t *out_size, struct ncc_error *err)
{
	struct ncc_output o = { .target = ncc_target(opt), .uuid = opt->uuid };
	struct ncc_options decided = *opt;
	struct ncc_sparse *sparse = NULL;
	int rc = 0;

	err->text[0] = 0;
	*out = NULL;
	if (!has_cast_type(opt))
		return ncc_fail(err, -EINVAL,
				"operands of products cannot be cast to %s: the target '%s' has no "
				"such products",
				ncc_dtype_name(&(struct ncc_shape){ .dtype = opt->auto_cast_type }),
				o.target->name);
	if (opt->compress_constants == NCC_COMPRESS_ALWAYS && o.target->core < 2)
		return ncc_fail(err, -EINVAL,
				"constants cannot be compressed: the target '%s' has no DMA "
				"engines "
				"that decompress",
				o.target->name);
	if (opt->structured_sparsity && o.target->core < 3)
		return ncc_fail(err, -EINVAL,
				"weights cannot be multiplied as sparse ones: the target '%s' has "
				"no "
				"such products",
				o.target->name);
	o.source_hash = hash_of(model, size);
	if (opt->structured_sparsity == NCC_SPARSE_AUTO) {
		sparse = calloc(1, sizeof(*sparse));
		rc = sparse ? decide_sparse(model, size, opt, sparse, err) : ncc_no_memory(err);
		decided.sparse = sparse && sparse->n ? sparse : NULL;
		if (!rc && sparse->n && ncc_sparse_none(sparse))
			decided.structured_sparsity = NCC_SPARSE_NEVER;
		else if (!rc)
			sparse->n = 0;
	}
	rc = rc ? rc : read_and_compile(model, size, &decided, &o, err);
	free(sparse);
	if (rc) {
		free(o.file);
		o.file = NULL;
	}
	*out = o.file;
	*out_size = o.size;
	return rc;
}
