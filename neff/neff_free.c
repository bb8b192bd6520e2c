/* SPDX-License-Identifier: MIT */
/* Frees a model, whether the reader made it whole or not. */
#include "neff_calls.h"
#include "neff_custom.h"
#include "neff_priv.h"

#include <stdlib.h>

void neff_desc_free(struct neff_desc *d)
{
	free(d->more);
	d->more = NULL;
}

static void engine_free(struct neff_engine *e)
{
	for (unsigned int i = 0; i < e->ndma; i++) {
		for (unsigned int k = 0; k < e->dma[i].ndesc; k++)
			neff_desc_free(&e->dma[i].desc[k]);
		free(e->dma[i].desc);
	}
	free(e->dma);
	free(e->instr);
}

static void subgraph_free(struct neff_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nvars; i++) {
		free(sg->vars[i].name);
		free(sg->vars[i].file_name);
		free(sg->vars[i].source);
		free(sg->vars[i].data);
	}
	free(sg->vars);
	for (unsigned int i = 0; i < sg->nqueues; i++)
		free(sg->queues[i].name);
	free(sg->queues);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		engine_free(&sg->engine[e]);
	neff_custom_free(sg);
	free(sg->name);
}

void neff_free(struct neff_model *model)
{
	if (!model)
		return;
	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		subgraph_free(&model->subgraphs[i]);
	free(model->subgraphs);
	for (unsigned int i = 0; i < model->nloops; i++)
		free(model->loops[i].condition);
	free(model->loops);
	neff_calls_free(model);
	neff_collectives_free(model);
	free(model->info_json);
	neff_library_free(model->library);
	free(model);
}
