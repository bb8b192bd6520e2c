// SPDX-License-Identifier: MIT
/*
 * --report: what a compiled module consists of and an estimate of how busy engines and queues are.
 * The estimate runs the streams through the costs by which the chip keeps its virtual time (the
 * target's table), in picoseconds, with the semaphores' waits. What an execution of the model waits
 * for besides, what queues share, and what a core waits for the other one of a logical core, is not
 * in it.
 */
#include "ir/sparse.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/isa/check.h"
#include "neuron/timing.h"
#include "neuron/isa/table.h"
#include "neuron_version.h"

#define SEMAPHORES (NCC_PROCS - 1)

static const char *const queue_names[] = { "in", "data", "out", "gather" };

struct signals { /* the times at which a semaphore reached 1, 2, ... */
	uint64_t *at;
	uint32_t n, cap;
};

struct sim {
	const struct ncc_prog *p;
	const struct ncc_stream *stream;
	unsigned int pos[NEURON_ENGINES_MAX];
	uint64_t now[NCC_PROCS], busy[NCC_PROCS];
	struct signals sem[SEMAPHORES];
	struct neuron_isa_array array; /* weights loaded last */
	bool failed;
};

static uint64_t dma_pieces(const struct neff_desc *d)
{
	uint64_t a = neff_runs(&d->from), b = neff_runs(&d->to);

	if (neff_indexed(d))
		return neff_row_count(d);
	return a > b ? a : b;
}

/* runtime/nrt/model/gather.c makes the descriptors of rows. */
uint64_t ncc_desc_time(const struct neuron_costs *cost, const struct neff_desc *d)
{
	const struct neff_pattern *moved = d->op == NEFF_COPY ? &d->to : neff_rows(d);

	if (d->op == NEFF_DECOMPRESS)
		return neuron_dma_stream_time(cost, d->from.size[0], ncc_pattern_bytes(&d->to));
	return (neff_indexed(d) ? neuron_dma_rows_time : neuron_dma_time)(cost, dma_pieces(d),
									  ncc_pattern_bytes(moved));
}

static void signal(struct sim *s, unsigned int sem, uint64_t at)
{
	struct signals *g = &s->sem[sem];

	if (g->n == g->cap) {
		uint32_t cap = g->cap ? g->cap * 2 : 256;
		uint64_t *p = realloc(g->at, cap * sizeof(*p));

		if (!p) {
			s->failed = true;
			return;
		}
		g->at = p;
		g->cap = cap;
	}
	g->at[g->n++] = at;
}

static void transfer(struct sim *s, const struct neff_dma *dma, uint64_t start)
{
	unsigned int q = NCC_PROC_QUEUE(dma->queue);
	uint64_t time = 0;

	for (unsigned int i = 0; i < dma->ndesc; i++)
		time += ncc_desc_time(&s->p->target->cost, &dma->desc[i]);
	if (s->now[q] < start)
		s->now[q] = start;
	s->now[q] += time;
	s->busy[q] += time;
	if (dma->semaphore >= 0 && dma->semaphore < (int)SEMAPHORES)
		signal(s, (unsigned int)dma->semaphore, s->now[q]);
}

/* Executes one instruction; false: it waits for something that has not happened yet. */
static bool step(struct sim *s, unsigned int e)
{
	const struct neuron_target *target = s->p->target;
	struct neuron_insn insn;
	const struct neuron_insn *i = &insn;
	uint64_t time;

	ncc_slot_insn(s->p, &s->stream[e].slot[s->pos[e]], &insn);
	if (i->wait == NEURON_WAIT_SEM_GE && i->wait_index < SEMAPHORES && i->wait_value &&
	    i->wait_index != ncc_semaphore_of(target, NCC_PROC_SIBLING)) {
		const struct signals *g = &s->sem[i->wait_index];

		if (g->n < i->wait_value)
			return false;
		if (s->now[e] < g->at[i->wait_value - 1])
			s->now[e] = g->at[i->wait_value - 1];
	}

	neuron_isa_load_weights(&s->array, i);
	time = neuron_insn_cost(i, e, target, neuron_isa_weights_for(&s->array, i)->columns) *
	       target->engine[e].cycle;
	s->now[e] += time;
	s->busy[e] += time;
	s->pos[e]++;
	if (i->update == NEURON_UPD_SEM_INC && i->update_index < SEMAPHORES)
		signal(s, i->update_index,
		       s->now[e] + neuron_insn_latency(i, target) * target->engine[e].cycle);
	if (i->opcode == NEURON_OP_PSEUDO_DMA_TRIGGER)
		transfer(s, &s->p->dma[i->id], s->now[e]);
	return true;
}

static void simulate(struct sim *s)
{
	bool moved = true;

	while (moved && !s->failed) {
		moved = false;
		for (unsigned int e = 0; e < s->p->target->engines; e++)
			while (!s->failed && s->pos[e] < s->stream[e].n && step(s, e))
				moved = true;
	}
	for (unsigned int i = 0; i < SEMAPHORES; i++)
		free(s->sem[i].at);
}

static void print_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == '"' || c == '\\' || c >= 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void print_kinds(const struct ncc_report *r, FILE *f)
{
	const char *sep = "";

	fprintf(f, " \"operations\": {\"read\": %u, \"compiled\": %u, \"kinds\": {", r->nread,
		r->m->nops);
	for (unsigned int k = 0; k < NCC_KINDS; k++) {
		unsigned int n = 0;

		for (const struct ncc_op *op = r->m->first; op; op = op->next)
			n += op->kind == k;
		if (n) {
			fprintf(f, "%s\"%s\": %u", sep, ncc_kind_name(k), n);
			sep = ", ";
		}
	}
	fprintf(f, "}},\n");
}

static void print_opcodes(const struct ncc_prog *p, const struct ncc_stream *st, FILE *f)
{
	unsigned int count[256] = { 0 };
	const char *sep = "";

	for (unsigned int i = 0; i < st->n; i++) {
		struct neuron_insn insn;

		ncc_slot_insn(p, &st->slot[i], &insn);
		count[insn.opcode]++;
	}
	for (unsigned int i = 0; i < 256; i++) {
		if (!count[i])
			continue;
		fprintf(f, "%s\"%s\": %u", sep, neuron_isa_ops[i].name, count[i]);
		sep = ", ";
	}
}

/* A time in cycles of an engine's clock, or of the first engine's for what has no clock */
static unsigned long long cycles(const struct sim *s, unsigned int e, uint64_t time)
{
	return time / s->p->target->engine[e].cycle;
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void print_engines(const struct ncc_report *r, const struct sim *s, uint64_t all, FILE *f)
{
	const unsigned int engines = r->prog->target->engines;

	fprintf(f, " \"engines\": {\n");
	for (unsigned int e = 0; e < engines; e++) {
		fprintf(f,
			"  \"%s\": {\"instructions\": %u, \"cycles\": %llu, \"occupancy\": %.4f,\n",
			r->prog->target->engine[e].name, r->stream[e].n, cycles(s, e, s->busy[e]),
			share(s->busy[e], all));
		fprintf(f, "   \"opcodes\": {");
		print_opcodes(r->prog, &r->stream[e], f);
		fprintf(f, "}}%s\n", e + 1 < engines ? "," : "");
	}
	fprintf(f, " },\n");
}

static void print_queues(const struct ncc_report *r, const struct sim *s, uint64_t all, FILE *f)
{
	fprintf(f, " \"queues\": {\n");
	for (unsigned int q = 0; q < NCC_QUEUES; q++) {
		uint64_t n = 0, bytes = 0, transfers = 0;

		for (unsigned int i = 0; i < r->prog->ndma; i++) {
			const struct neff_dma *d = &r->prog->dma[i];

			if (d->queue != q)
				continue;
			transfers++;
			for (unsigned int k = 0; k < d->ndesc; k++) {
				n += dma_pieces(&d->desc[k]);
				bytes += ncc_pattern_bytes(&d->desc[k].to);
			}
		}
		fprintf(f,
			"  \"%s\": {\"transfers\": %llu, \"pieces\": %llu, \"bytes\": %llu, "
			"\"cycles\": %llu, \"occupancy\": %.4f}%s\n",
			queue_names[q], (unsigned long long)transfers, (unsigned long long)n,
			(unsigned long long)bytes, cycles(s, 0, s->busy[NCC_PROC_QUEUE(q)]),
			share(s->busy[NCC_PROC_QUEUE(q)], all), q + 1 < NCC_QUEUES ? "," : "");
	}
	fprintf(f, " },\n");
}

static double ratio(const struct ncc_before_after *x)
{
	return (double)x->after / (double)x->before;
}

static void print_memory(const struct ncc_report *r, FILE *f)
{
	static const struct {
		const char *name;
		enum neff_var_type type;
	} classes[] = { { "inputs", NEFF_VAR_INPUT },
			{ "outputs", NEFF_VAR_OUTPUT },
			{ "constants", NEFF_VAR_FILE },
			{ "scratch", NEFF_VAR_TMP_BUF } };
	uint64_t total = 0;

	fprintf(f,
		" \"sbuf\": {\"high_water\": %llu, \"size\": %u, \"unit\": \"bytes a "
		"partition\"},\n",
		(unsigned long long)r->sbuf_peak, r->prog->target->sbuf_part_size);
	fprintf(f, " \"dram\": {");
	for (unsigned int c = 0; c < sizeof(classes) / sizeof(classes[0]); c++) {
		uint64_t n = 0;

		for (unsigned int i = 0; i < r->prog->nvars; i++)
			if (r->prog->var[i].type == classes[c].type)
				n += r->prog->var[i].size;
		fprintf(f, "\"%s\": %llu, ", classes[c].name, (unsigned long long)n);
		total += n;
	}
	fprintf(f, "\"total\": %llu}", (unsigned long long)total);
	if (r->prog->compressed.constants)
		fprintf(f,
			",\n \"compressed\": {\"constants\": %u, \"from\": %llu, \"to\": %llu, "
			"\"ratio\": %.3f, \"chip\": %.3f, \"host\": %.3f}",
			r->prog->compressed.constants,
			(unsigned long long)r->prog->compressed.bytes.before,
			(unsigned long long)r->prog->compressed.bytes.after,
			ratio(&r->prog->compressed.bytes), ratio(&r->prog->compressed.chip),
			ratio(&r->prog->compressed.host));
	fprintf(f, "\n");
}

static void print_sparse(const struct ncc_sparse *s, const struct sim *sim, FILE *f)
{
	fprintf(f, " \"sparse\": [\n");
	for (unsigned int i = 0; i < s->n; i++) {
		const struct ncc_sparse_product *q = &s->product[i];

		fprintf(f, "  {\"product\": ");
		print_string(f, q->name);
		fprintf(f,
			", \"rows\": %lld, \"columns\": %lld, \"pattern\": \"%u:%u\", \"taken\": "
			"%s, "
			"\"sparse\": %llu, \"dense\": %llu}%s\n",
			(long long)q->rows, (long long)q->columns, q->neighbours, q->of,
			q->taken ? "true" : "false", cycles(sim, 0, q->sparse),
			cycles(sim, 0, q->as_dense), i + 1 < s->n ? "," : "");
	}
	fprintf(f, " ],\n");
}

static int run(struct sim *s, uint64_t *all)
{
	*all = 0;
	simulate(s);
	for (unsigned int i = 0; i < NCC_PROCS; i++)
		*all = s->now[i] > *all ? s->now[i] : *all;
	return s->failed ? -1 : 0;
}

int ncc_program_time(const struct ncc_report *r, uint64_t *ps)
{
	struct sim s = { .p = r->prog, .stream = r->stream };

	return run(&s, ps);
}

int ncc_report(const struct ncc_report *r, FILE *f)
{
	struct sim s = { .p = r->prog, .stream = r->stream };
	uint64_t all;

	if (run(&s, &all))
		return -1;
	fprintf(f, "{\n \"compiler\": \"%s\",\n \"module\": ", NEURON_EMULATOR_VERSION);
	print_string(f, r->m->name);
	fprintf(f, ",\n");
	print_kinds(r, f);
	fprintf(f, " \"estimate\": {\"cycles\": %llu, \"seconds\": %.9f},\n", cycles(&s, 0, all),
		(double)all * 1e-12);
	if (r->sparse)
		print_sparse(r->sparse, &s, f);
	print_engines(r, &s, all, f);
	print_queues(r, &s, all, f);
	print_memory(r, f);
	fprintf(f, "}\n");
	return 0;
}
