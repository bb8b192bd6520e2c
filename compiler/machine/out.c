// SPDX-License-Identifier: MIT
/*
 * Makes the model that libneff writes from streams and DMAs. The model borrows the program's
 * variables and descriptors; ncc_out_free frees only what is made here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"
#include "neuron_version.h"
#include "prog.h"

static const struct {
	const char *name;
	enum neff_queue_type type;
} queues[NCC_QUEUES] = {
	[NCC_Q_IN] = { "qSpIn", NEFF_QUEUE_IN },
	[NCC_Q_DATA] = { "qSpData", NEFF_QUEUE_DATA },
	[NCC_Q_OUT] = { "qSpOut", NEFF_QUEUE_OUT },
	[NCC_Q_GATHER] = { "qSpGather", NEFF_QUEUE_DATA },
};

static int encode_stream(const struct ncc_prog *prog, const struct ncc_stream *st,
			 struct neff_engine *e, struct ncc_error *err)
{
	char *p = malloc((size_t)st->n * NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD + 1);

	if (!p)
		return ncc_no_memory(err);
	e->instr = p;
	for (unsigned int i = 0; i < st->n; i++)
		e->instr_size += ncc_slot_words(prog, &st->slot[i], p + e->instr_size);
	return 0;
}

/*
 * Queues that are not used are left out, so a queue's index is the number of used ones before it.
 */
static unsigned int queue_index(const bool *used, unsigned int q)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < q; i++)
		n += used[i];
	return n;
}

static int make_queues(const struct ncc_prog *p, struct neff_subgraph *sg, bool *used)
{
	for (unsigned int i = 0; i < p->ndma; i++)
		used[p->dma[i].queue] = true;
	sg->queues = calloc(NCC_QUEUES, sizeof(*sg->queues));
	if (!sg->queues)
		return -ENOMEM;
	for (unsigned int q = 0; q < NCC_QUEUES; q++) {
		if (!used[q])
			continue;
		sg->queues[sg->nqueues++] = (struct neff_queue){ .name = (char *)queues[q].name,
								 .type = queues[q].type,
								 .owner = NEURON_ENG_SP };
	}
	return 0;
}

/* The program's DMAs and SP's triggers are both in program order. */
static int make_dmas(const struct ncc_prog *p, struct neff_engine *sp, const bool *used)
{
	sp->dma = calloc(p->ndma + 1, sizeof(*sp->dma));
	if (!sp->dma)
		return -ENOMEM;
	sp->ndma = p->ndma;
	for (unsigned int i = 0; i < p->ndma; i++) {
		sp->dma[i] = p->dma[i];
		sp->dma[i].queue = queue_index(used, p->dma[i].queue);
	}
	return 0;
}

static char *info_json(const struct ncc_output *o)
{
	char *s = NULL;

	if (asprintf(&s,
		     "{\"compiler\": \"neuronx-cc\", \"version\": \"%s\", \"source_hash\": "
		     "\"%016llx\"}\n",
		     NEURON_EMULATOR_VERSION, (unsigned long long)o->source_hash) < 0)
		return NULL;
	return s;
}

static void fill_header(const struct ncc_output *o, struct neff_header *h)
{
	h->pkg_version = 2;
	h->header_size = NEFF_HEADER_SIZE;
	h->version_major = 1;
	h->version_minor = 0;
	snprintf(h->build_version, sizeof(h->build_version), "%s+neuron-emulator",
		 NEURON_EMULATOR_VERSION);
	h->num_tpb = o->parts || o->lnc > 1 ? 1 : o->nsubgraphs; /* logical cores */
	h->requested_tpb_count = o->requested;
	for (unsigned int i = 0; i < h->num_tpb; i++)
		h->tpb_per_node[i] = 1;
	h->feature_bits = NEFF_FEATURE_EMU | (o->library ? NEFF_FEATURE_CUSTOM_OPS : 0);
	h->lnc_size = o->lnc;
	memcpy(h->uuid, o->uuid, sizeof(h->uuid));
	snprintf(h->name, sizeof(h->name), "%.200s", o->name);
}

static int out_subgraph(const struct ncc_subgraph *from, unsigned int i, struct neff_subgraph *sg,
			struct ncc_error *err)
{
	const struct neuron_target *target = from->prog->target;
	bool used[NCC_QUEUES] = { false };
	int rc = 0;

	if (asprintf(&sg->name, "sg%02u", i) < 0)
		sg->name = NULL;
	sg->vars = from->prog->var;
	sg->nvars = from->prog->nvars;
	sg->custom = from->prog->custom;
	sg->ncustom = from->prog->ncustom;
	if (!sg->name || make_queues(from->prog, sg, used) ||
	    make_dmas(from->prog, &sg->engine[NEURON_ENG_SP], used))
		return ncc_no_memory(err);
	for (unsigned int e = 0; !rc && e < target->engines; e++)
		rc = encode_stream(from->prog, &from->stream[e], &sg->engine[e], err);
	return rc;
}

static int out_loops(const struct ncc_output *o, struct neff_model *m, struct ncc_error *err)
{
	char name[NCC_KEPT_NAME];

	m->loops = calloc(o->nloops + 1, sizeof(*m->loops));
	if (!m->loops)
		return ncc_no_memory(err);
	for (; m->nloops < o->nloops; m->nloops++) {
		const struct ncc_part_loop *l = &o->loop[m->nloops];
		struct neff_loop *to = &m->loops[m->nloops];

		ncc_kept_name(l->condition, name);
		*to = (struct neff_loop){ l->first, l->last, strdup(name), 0 };
		if (l->iterations <= (int64_t)NEFF_MAX_ITERATIONS)
			to->iterations = (uint64_t)l->iterations;
		if (!to->condition)
			return ncc_no_memory(err);
	}
	return 0;
}

static char *kept_name(int64_t number)
{
	char name[NCC_KEPT_NAME];

	ncc_kept_name(number, name);
	return strdup(name);
}

static int out_transfers(const struct ncc_output *o, struct neff_model *m, struct ncc_error *err)
{
	static const enum neff_transfer ops[] = { [NCC_ALL_GATHER] = NEFF_ALL_GATHER,
						  [NCC_ALL_TO_ALL] = NEFF_ALL_TO_ALL,
						  [NCC_PERMUTE] = NEFF_PERMUTE };

	m->ranks = o->ranks;
	m->partitions = o->partitions;
	m->collectives = calloc(o->ntransfers + 1, sizeof(*m->collectives));
	if (!m->collectives)
		return ncc_no_memory(err);
	for (; m->ncollectives < o->ntransfers; m->ncollectives++) {
		const struct ncc_part_transfer *t = &o->transfer[m->ncollectives];
		struct neff_collective *to = &m->collectives[m->ncollectives];

		to->to = kept_name(t->to);
		to->op = t->replica ? NEFF_REPLICA_ID : NEFF_PARTITION_ID;
		if (t->transfer) {
			to->op = ops[t->transfer->kind];
			to->behind = t->behind;
			to->from = kept_name(t->from);
			to->bytes = t->bytes;
			if (to->op == NEFF_ALL_TO_ALL)
				to->bytes /= t->transfer->members;
			to->members = t->transfer->members;
			to->nranks = t->transfer->n;
			to->rank = t->transfer->rank;
		}
		if (!to->to || (t->transfer && !to->from)) {
			m->ncollectives++;
			return ncc_no_memory(err);
		}
	}
	return 0;
}

int ncc_out_model(const struct ncc_output *o, struct neff_model **model, struct ncc_error *err)
{
	struct neff_model *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (m)
		m->subgraphs = calloc(o->nsubgraphs, sizeof(*m->subgraphs));
	if (m)
		m->info_json = info_json(o);
	if (!m || !m->subgraphs || !m->info_json) {
		ncc_out_free(m);
		return ncc_no_memory(err);
	}

	m->target = o->target;
	m->library = (struct neff_library *)o->library;
	fill_header(o, &m->header);
	rc = out_loops(o, m, err);
	if (!rc && o->parts)
		rc = ncc_out_calls(o->parts, m, err);
	rc = rc || !o->ranks ? rc : out_transfers(o, m, err);
	for (unsigned int i = 0; !rc && i < o->nsubgraphs; i++) {
		m->nsubgraphs++;
		rc = out_subgraph(&o->subgraph[i], i, &m->subgraphs[i], err);
	}
	if (!rc && (o->parts || o->lnc > 1) && ncc_share_constants(m))
		rc = ncc_no_memory(err);
	if (rc)
		ncc_out_free(m);
	else
		*model = m;
	return rc;
}

void ncc_out_free(struct neff_model *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < m->nsubgraphs; i++) {
		struct neff_subgraph *sg = &m->subgraphs[i];

		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
			free(sg->engine[e].instr);
		free(sg->engine[NEURON_ENG_SP].dma);
		free(sg->queues);
		free(sg->name);
	}
	for (unsigned int i = 0; i < m->nloops; i++)
		free(m->loops[i].condition);
	free(m->loops);
	for (unsigned int i = 0; i < m->ncalls; i++) {
		free(m->calls[i].target);
		free(m->calls[i].array);
	}
	free(m->calls);
	for (unsigned int i = 0; i < m->ncollectives; i++) {
		free(m->collectives[i].from);
		free(m->collectives[i].to);
	}
	free(m->collectives);
	free(m->subgraphs);
	free(m->info_json);
	free(m);
}
