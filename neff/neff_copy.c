/* SPDX-License-Identifier: MIT */
/*
 * A model that a program has made in memory, as a reader would have it of the file that neff_write
 * makes of it: what the file does not say is left out, and the same checks decide.
 */
#include "neff_priv.h"
#include "neff_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies n bytes; NULL stays NULL, and *ok says whether there was memory. */
static void *bytes_of(const void *from, size_t n, bool *ok)
{
	void *to = from ? malloc(n ? n : 1) : NULL;

	if (to && n)
		memcpy(to, from, n);
	*ok = *ok && (to || !from);
	return to;
}

static char *text_of(const char *from, bool *ok)
{
	return bytes_of(from, from ? strlen(from) + 1 : 0, ok);
}

static void var_copy(const struct neff_var *from, struct neff_var *to, bool *ok)
{
	const bool io = from->type == NEFF_VAR_INPUT || from->type == NEFF_VAR_OUTPUT;
	const bool constant = from->type == NEFF_VAR_FILE;

	*to = (struct neff_var){ .type = from->type,
				 .var_id = from->var_id,
				 .size = from->size,
				 .alignment = from->alignment };
	to->name = text_of(from->name, ok);
	if (from->type == NEFF_VAR_VIRTUAL)
		to->backing_off = from->backing_off;
	if (constant) {
		to->file_name = text_of(from->file_name, ok);
		to->shared = from->shared;
		to->of_graph = from->shared ? from->of_graph : 0;
		to->of_var = from->shared ? from->of_var : 0;
	}
	if (constant && !from->shared)
		to->data = bytes_of(from->data, from->size, ok);
	if (io) {
		to->dtype = from->dtype;
		to->ndim = from->ndim;
		memcpy(to->shape, from->shape, sizeof(to->shape));
		to->source = neff_source_ok(from->source) ? text_of(from->source, ok) : NULL;
	}
}

static void dma_copy(const struct neff_dma *from, struct neff_dma *to, bool *ok)
{
	*to = *from;
	to->desc = bytes_of(from->desc, from->ndesc * sizeof(*from->desc), ok);
	if (!to->desc)
		to->ndesc = 0;
	for (unsigned int i = 0; i < to->ndesc; i++)
		to->desc[i].more = bytes_of(from->desc[i].more,
					    from->desc[i].nmore * sizeof(*from->desc[i].more), ok);
}

static void engine_copy(const struct neff_engine *from, struct neff_engine *to, bool *ok)
{
	to->instr = bytes_of(from->instr, from->instr_size, ok);
	to->instr_size = from->instr_size;
	if (!from->instr)
		return;
	to->dma = calloc(from->ndma + 1, sizeof(*to->dma));
	*ok = *ok && to->dma;
	for (; to->dma && to->ndma < from->ndma; to->ndma++)
		dma_copy(&from->dma[to->ndma], &to->dma[to->ndma], ok);
}

static void subgraph_copy(const struct neff_subgraph *from, struct neff_subgraph *to, bool *ok)
{
	to->name = text_of(from->name, ok);
	to->vars = calloc(from->nvars + 1, sizeof(*to->vars));
	to->queues = calloc(from->nqueues + 1, sizeof(*to->queues));
	to->custom = calloc(from->ncustom + 1, sizeof(*to->custom));
	*ok = *ok && to->vars && to->queues && to->custom;
	for (; *ok && to->nvars < from->nvars; to->nvars++)
		var_copy(&from->vars[to->nvars], &to->vars[to->nvars], ok);
	for (; *ok && to->nqueues < from->nqueues; to->nqueues++) {
		to->queues[to->nqueues] = from->queues[to->nqueues];
		to->queues[to->nqueues].name = text_of(from->queues[to->nqueues].name, ok);
	}
	for (; *ok && to->ncustom < from->ncustom; to->ncustom++) {
		const struct neff_custom *c = &from->custom[to->ncustom];

		to->custom[to->ncustom].nargs = c->nargs;
		to->custom[to->ncustom].arg = bytes_of(c->arg, c->nargs * sizeof(*c->arg), ok);
	}
	for (unsigned int e = 0; *ok && e < NEURON_ENGINES_MAX; e++)
		engine_copy(&from->engine[e], &to->engine[e], ok);
}

static void loops_copy(const struct neff_model *from, struct neff_model *to, bool *ok)
{
	to->loops = calloc(from->nloops + 1, sizeof(*to->loops));
	*ok = *ok && to->loops;
	for (; *ok && to->nloops < from->nloops; to->nloops++) {
		to->loops[to->nloops] = from->loops[to->nloops];
		to->loops[to->nloops].condition = text_of(from->loops[to->nloops].condition, ok);
	}
}

static void calls_copy(const struct neff_model *from, struct neff_model *to, bool *ok)
{
	to->calls = calloc(from->ncalls + 1, sizeof(*to->calls));
	*ok = *ok && to->calls;
	for (; *ok && to->ncalls < from->ncalls; to->ncalls++) {
		const struct neff_call *c = &from->calls[to->ncalls];
		struct neff_call *t = &to->calls[to->ncalls];

		*t = *c;
		t->target = text_of(c->target, ok);
		t->array = bytes_of(c->array, (c->nin + c->nout) * sizeof(*c->array), ok);
	}
}

static void collectives_copy(const struct neff_model *from, struct neff_model *to, bool *ok)
{
	to->ranks = from->ranks;
	to->partitions = from->partitions;
	to->collectives = calloc(from->ncollectives + 1, sizeof(*to->collectives));
	*ok = *ok && to->collectives;
	for (; *ok && to->ncollectives < from->ncollectives; to->ncollectives++) {
		const struct neff_collective *c = &from->collectives[to->ncollectives];
		struct neff_collective *t = &to->collectives[to->ncollectives];

		*t = *c;
		t->from = text_of(c->from, ok);
		t->to = text_of(c->to, ok);
		t->rank = bytes_of(c->rank, c->nranks * sizeof(*c->rank), ok);
	}
}

static int library_copy(const struct neff_library *from, struct neff_model *to,
			struct neff_error *err)
{
	bool ok = true;
	void *elf = from ? bytes_of(from->elf, from->size, &ok) : NULL;
	int ret;

	if (!from)
		return 0;
	ret = elf ? neff_library_read(elf, from->size, &to->library, err) : neff_nomem(err);
	if (ret) {
		free(elf);
		return ret;
	}
	to->library->elf = elf;
	to->library->size = from->size;
	return 0;
}

static int model_copy(const struct neff_model *from, struct neff_model *to, struct neff_error *err)
{
	bool ok = true;

	to->header = from->header;
	to->header.header_size = NEFF_HEADER_SIZE;
	to->info_json = text_of(from->info_json, &ok);
	to->subgraphs = calloc(from->nsubgraphs + 1, sizeof(*to->subgraphs));
	ok = ok && to->subgraphs;
	for (; ok && to->nsubgraphs < from->nsubgraphs; to->nsubgraphs++)
		subgraph_copy(&from->subgraphs[to->nsubgraphs], &to->subgraphs[to->nsubgraphs],
			      &ok);
	loops_copy(from, to, &ok);
	calls_copy(from, to, &ok);
	collectives_copy(from, to, &ok);
	return ok ? library_copy(from->library, to, err) : neff_nomem(err);
}

/* What the copy takes, about: all that there is much of */
static uint64_t memory_of(const struct neff_model *model)
{
	uint64_t n = sizeof(*model) + model->nsubgraphs * sizeof(*model->subgraphs);

	for (unsigned int k = 0; k < model->nsubgraphs; k++) {
		const struct neff_subgraph *sg = &model->subgraphs[k];

		n += sg->nvars * sizeof(*sg->vars);
		for (unsigned int i = 0; i < sg->nvars; i++)
			n += sg->vars[i].data && !sg->vars[i].shared ? sg->vars[i].size : 0;
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
			const struct neff_engine *eng = &sg->engine[e];

			n += eng->instr_size + eng->ndma * sizeof(*eng->dma);
			for (unsigned int i = 0; i < eng->ndma; i++)
				n += eng->dma[i].ndesc * sizeof(*eng->dma[i].desc);
		}
	}
	return n;
}

int neff_copy(const struct neff_model *model, const struct neff_limits *limits,
	      struct neff_model **copy, struct neff_error *err)
{
	struct neff_reader r = { .err = err };
	struct neff_model *m;
	int ret;

	memset(err, 0, sizeof(*err));
	*copy = NULL;
	neff_limits_set(&r.limits, limits, 0);
	if (strcmp(model->target->name, r.limits.target->name))
		return neff_fail(err, "a program for %s, expected one for %s", model->target->name,
				 r.limits.target->name);
	ret = neff_take(&r, memory_of(model));
	if (ret)
		return ret;
	m = calloc(1, sizeof(*m));
	ret = m ? 0 : neff_nomem(err);
	if (!ret) {
		m->target = r.limits.target;
		ret = model_copy(model, m, err);
	}
	if (!ret && !r.limits.checked)
		ret = neff_check_model(m, &r.limits, err);
	ret = ret ? ret : neff_collectives_place(m, err);
	if (ret) {
		neff_give(&r, r.taken);
		neff_free(m);
		return ret;
	}
	*copy = m;
	return 0;
}
