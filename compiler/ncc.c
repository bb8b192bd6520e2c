// SPDX-License-Identifier: MIT
/* The compiler from end to end: read, passes, generate, schedule, check, write. */
#include "ncc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "report.h"

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

/* FNV-1a: names the source in info.json, protects nothing */
static uint64_t hash_of(const void *buf, size_t size)
{
	const uint8_t *p = buf;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static int write_neff(const struct ncc_output *o, void **out, size_t *out_size,
		      struct ncc_error *err)
{
	struct neff_model *model;
	struct neff_error ne;
	int rc = ncc_out_model(o, &model, err);

	if (rc)
		return rc;
	rc = ncc_check_model(model, err);
	if (!rc) {
		rc = neff_write(model, out, out_size, &ne);
		if (rc)
			ncc_fail(err, rc, "cannot write the NEFF: %.200s", ne.text);
	}
	ncc_out_free(model);
	return rc;
}

static int report(const struct ncc_gen *g, unsigned int nread, const struct ncc_stream *stream)
{
	struct ncc_report r = { .m = g->m,
				.nread = nread,
				.prog = &g->prog,
				.stream = stream,
				.sbuf_peak = g->sbuf_peak };

	if (!g->opt->report || !ncc_report(&r, g->opt->report))
		return 0;
	return ncc_fail(g->err, -ENOMEM, "out of memory");
}

static int back_end(struct ncc_module *m, unsigned int nread, const struct ncc_options *opt,
		    uint64_t source_hash, void **out, size_t *out_size, struct ncc_error *err)
{
	struct ncc_gen g = { .m = m, .opt = opt, .err = err };
	struct ncc_stream stream[NEURON_ENG_COUNT] = { 0 };
	struct ncc_output o = { .prog = &g.prog,
				.stream = stream,
				.module = m,
				.uuid = opt->uuid,
				.source_hash = source_hash };
	int rc;

	ncc_prog_init(&g.prog);
	rc = ncc_generate(&g);
	if (!rc) {
		say(opt,
		    "generated %u instructions and DMAs, %u descriptor patterns, SBUF %llu of %d "
		    "bytes a partition",
		    g.prog.nnodes, g.prog.ndesc, (unsigned long long)g.sbuf_peak,
		    NEURON_V1_SBUF_PART_SIZE);
		rc = ncc_schedule(&g.prog, stream, err);
	}
	if (!rc) {
		say(opt, "scheduled: pe %u, act %u, pool %u, sp %u instructions", stream[0].n,
		    stream[1].n, stream[2].n, stream[3].n);
		rc = write_neff(&o, out, out_size, err);
	}
	if (!rc)
		say(opt, "wrote %zu bytes", *out_size);
	if (!rc)
		rc = report(&g, nread, stream);
	if (rc < 0 && *out) {
		free(*out);
		*out = NULL;
	}
	for (unsigned int e = 0; e < NEURON_ENG_COUNT; e++)
		free(stream[e].insn);
	ncc_prog_free(&g.prog);
	return rc;
}

int ncc_compile(const void *model, size_t size, const struct ncc_options *opt, void **out,
		size_t *out_size, struct ncc_error *err)
{
	struct ncc_module *m;
	unsigned int nread;
	int rc;

	err->text[0] = 0;
	*out = NULL;
	rc = opt->framework == NCC_IR	  ? ncc_import_ir(model, size, &m, err)
	     : opt->framework == NCC_ONNX ? ncc_import_onnx(model, size, opt, &m, err)
					  : ncc_import_hlo_opt(model, size, opt, &m, err);
	if (rc)
		return rc;
	nread = m->nops;
	say(opt, "read module '%.100s': %u operations, %u parameters, %u results", m->name, m->nops,
	    m->nparams, m->nouts);
	rc = ncc_run_passes(m, opt, err);
	if (!rc) {
		say(opt, "%u operations after the passes", m->nops);
		if (opt->print_ir)
			ncc_print(m, opt->print_elements, opt->print_ir);
		rc = back_end(m, nread, opt, hash_of(model, size), out, out_size, err);
	}
	ncc_module_free(m);
	return rc;
}
