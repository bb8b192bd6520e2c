// SPDX-License-Identifier: MIT
/*
 * The generations' tables as lines of words, from which maps.py draws: what a chip has, what its
 * cores have, and where everything lies in the device's own addresses.
 */
#include <inttypes.h>
#include <stdio.h>

#include "neuron/hw/ext.h"
#include "neuron/hw/gen.h"

static const struct neuron_gen *const generations[] = {
	&neuron_gen_inferentia, &neuron_gen_inferentia2, &neuron_gen_trainium,
	&neuron_gen_trainium2,	&neuron_gen_trainium3,
};

static const char *const kinds[] = {
	[NEURON_BLOCK_CORE] = "core",	[NEURON_BLOCK_TOPSP] = "topsp",
	[NEURON_BLOCK_UDMA] = "udma",	[NEURON_BLOCK_TDMA] = "tdma",
	[NEURON_BLOCK_NQ] = "nq",	[NEURON_BLOCK_MISC] = "misc",
	[NEURON_BLOCK_ARRAY] = "array", [NEURON_BLOCK_EXT] = "ext",
	[NEURON_BLOCK_KEPT] = "kept",	[NEURON_BLOCK_REGS] = "regs",
};

static void print_core(const struct neuron_target *t)
{
	printf("core %u sbuf %u psum %u partitions %u semaphores %u events %u\n", t->core,
	       t->sbuf_part_size, t->psum_part_size, NEURON_PARTITIONS, t->semaphores, t->events);
	for (unsigned int i = 0; i < t->engines; i++)
		printf("engine %s cycle %u\n", t->engine[i].name, t->engine[i].cycle);
}

static void print_places(const struct neuron_gen *gen)
{
	for (unsigned int i = 0; i < gen->memories; i++)
		printf("memory %#" PRIx64 " %#" PRIx64 "\n", gen->memory[i].address,
		       gen->memory[i].size);
	for (unsigned int i = 0; i < gen->blocks; i++) {
		const struct neuron_block *b = &gen->block[i];

		printf("block %s bar %u count %u at %#" PRIx64 " stride %#" PRIx64 " size %#" PRIx64
		       "\n",
		       kinds[b->kind], b->bar, b->count, b->address, b->stride, b->size);
	}
	printf("host %#" PRIx64 "\n", gen->window.host);
	for (unsigned int i = 0; i < gen->window.ports; i++)
		printf("port %#" PRIx64 "\n", gen->window.port[i]);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		const struct neuron_gen *gen = generations[i];

		printf("generation %s cores %u dma %u topsps %u\n", gen->product, gen->cores,
		       gen->dma_engines, neuron_gen_topsps(gen));
		print_core(gen->target);
		print_places(gen);
	}
	return 0;
}
