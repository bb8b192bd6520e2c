// SPDX-License-Identifier: MIT
/*
 * --report: what a compiled module consists of and, estimated, how busy engines and queues are. The
 * estimate runs the streams through the costs of docs/isa.md 10 and docs/hardware.md (DMA rings)
 * with the semaphores' waits; what an execution of the model waits for besides is not in it.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"
#include "neuron_version.h"

#define LEAST_CYCLES 64
#define LATENCY 60 /* from the end of issue to the update */
#define SEMAPHORES (NCC_PROCS - 1)

static const char *const queue_names[] = { "in", "data", "out", "gather" };

struct signals { /* of one semaphore: when it reached 1, 2, ... */
	uint64_t *at;
	uint32_t n, cap;
};

struct sim {
	const struct ncc_prog *p;
	const struct ncc_stream *stream;
	unsigned int pos[NEURON_ENGINES_MAX];
	uint64_t now[NCC_PROCS], busy[NCC_PROCS];
	struct signals sem[SEMAPHORES];
	uint64_t fs; /* columns of the weights loaded last */
	bool failed;
};

static uint64_t elements(const struct neuron_ap *ap)
{
	return (uint64_t)ap->num[0] * ap->num[1] * ap->num[2] * ap->num[3];
}

static uint64_t two_operands(const struct neuron_insn *i, uint64_t n)
{
	bool psum = i->src0.offset >= NEURON_PSUM_OFFSET || i->src1.offset >= NEURON_PSUM_OFFSET;

	return psum ? n : 2 * n;
}

/* docs/isa.md 10.2; what depends on the finer points of operands takes the dearer case */
static uint64_t issue_cycles(struct sim *s, const struct neuron_insn *i)
{
	uint64_t n = elements(&i->dst), columns = s->p->target->pe_columns;

	switch (i->opcode) {
	case NEURON_OP_LDWEIGHTS:
		s->fs = n = elements(&i->src0);
		break;
	case NEURON_OP_MATMUL:
		n = elements(&i->src0) * ((s->fs + columns - 1) / columns);
		break;
	case NEURON_OP_TENSOR_REDUCE:
	case NEURON_OP_TRANSPOSE:
		n = elements(&i->src0);
		break;
	case NEURON_OP_TENSOR_TENSOR:
	case NEURON_OP_COPY_PREDICATED:
		n = two_operands(i, n);
		break;
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		n *= 2;
		break;
	case NEURON_OP_RECIPROCAL:
		n *= 8;
		break;
	case NEURON_OP_ACTIVATE:
	case NEURON_OP_ACT_READ_ACC:
	case NEURON_OP_TENSOR_COPY:
	case NEURON_OP_TENSOR_SCALAR:
	case NEURON_OP_MEMSET:
		break;
	default:
		n = 0;
	}
	return n < LEAST_CYCLES ? LEAST_CYCLES : n;
}

/* Contiguous pieces of a pattern */
static uint64_t pieces(const struct neff_pattern *p)
{
	uint64_t n = 1;

	for (unsigned int i = 1; i < p->ndim; i++)
		n *= p->size[i];
	return n;
}

static uint64_t pattern_bytes(const struct neff_pattern *p)
{
	return p->size[0] * pieces(p);
}

static uint64_t dma_pieces(const struct neff_desc *d)
{
	uint64_t a = d->gather ? 0 : pieces(&d->from), b = pieces(&d->to);

	return a > b ? a : b;
}

/* A row takes a descriptor in each of three queues: index, address, bytes (runtime/nrt/gather.c) */
static uint64_t dma_cycles(const struct neff_desc *d)
{
	return (d->gather ? 3 : 1) * 64 * dma_pieces(d) + pattern_bytes(&d->to) / 4;
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
	uint64_t cycles = 0;

	for (unsigned int i = 0; i < dma->ndesc; i++)
		cycles += dma_cycles(&dma->desc[i]);
	if (s->now[q] < start)
		s->now[q] = start;
	s->now[q] += cycles;
	s->busy[q] += cycles;
	if (dma->semaphore >= 0 && dma->semaphore < (int)SEMAPHORES)
		signal(s, (unsigned int)dma->semaphore, s->now[q]);
}

/* One instruction; false: it waits for what has not happened yet */
static bool step(struct sim *s, unsigned int e)
{
	const struct neuron_insn *i = &s->stream[e].insn[s->pos[e]];
	uint64_t cycles;

	if (i->wait == NEURON_WAIT_SEM_GE && i->wait_index < SEMAPHORES && i->wait_value) {
		const struct signals *g = &s->sem[i->wait_index];

		if (g->n < i->wait_value)
			return false;
		if (s->now[e] < g->at[i->wait_value - 1])
			s->now[e] = g->at[i->wait_value - 1];
	}
	cycles = issue_cycles(s, i);
	s->now[e] += cycles;
	s->busy[e] += cycles;
	s->pos[e]++;
	if (i->update == NEURON_UPD_SEM_INC && i->update_index < SEMAPHORES)
		signal(s, i->update_index, s->now[e] + LATENCY);
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

static void print_opcodes(const struct ncc_stream *st, FILE *f)
{
	unsigned int count[256] = { 0 };
	const char *sep = "";

	for (unsigned int i = 0; i < st->n; i++)
		count[st->insn[i].opcode]++;
	for (unsigned int i = 0; i < 256; i++) {
		if (!count[i])
			continue;
		fprintf(f, "%s\"%s\": %u", sep, neuron_isa_ops[i].name, count[i]);
		sep = ", ";
	}
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
			r->prog->target->engine[e].name, r->stream[e].n,
			(unsigned long long)s->busy[e], share(s->busy[e], all));
		fprintf(f, "   \"opcodes\": {");
		print_opcodes(&r->stream[e], f);
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
				bytes += pattern_bytes(&d->desc[k].to);
			}
		}
		fprintf(f,
			"  \"%s\": {\"transfers\": %llu, \"pieces\": %llu, \"bytes\": %llu, "
			"\"cycles\": %llu, \"occupancy\": %.4f}%s\n",
			queue_names[q], (unsigned long long)transfers, (unsigned long long)n,
			(unsigned long long)bytes, (unsigned long long)s->busy[NCC_PROC_QUEUE(q)],
			share(s->busy[NCC_PROC_QUEUE(q)], all), q + 1 < NCC_QUEUES ? "," : "");
	}
	fprintf(f, " },\n");
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
	fprintf(f, "\"total\": %llu}\n", (unsigned long long)total);
}

int ncc_report(const struct ncc_report *r, FILE *f)
{
	struct sim s = { .p = r->prog, .stream = r->stream };
	uint64_t all = 0;

	simulate(&s);
	if (s.failed)
		return -1;
	for (unsigned int i = 0; i < NCC_PROCS; i++)
		all = s.now[i] > all ? s.now[i] : all;
	fprintf(f, "{\n \"compiler\": \"%s\",\n \"module\": ", NEURON_EMULATOR_VERSION);
	print_string(f, r->m->name);
	fprintf(f, ",\n");
	print_kinds(r, f);
	fprintf(f, " \"estimate\": {\"cycles\": %llu, \"seconds\": %.9f},\n",
		(unsigned long long)all, (double)all * 1e-9);
	print_engines(r, &s, all, f);
	print_queues(r, &s, all, f);
	print_memory(r, f);
	fprintf(f, "}\n");
	return 0;
}
