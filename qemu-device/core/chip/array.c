/* SPDX-License-Identifier: MIT */
/*
 * Counters of what the tensor engine's array did (struct neuron_array_map): cycles, for each group
 * of rows, as drivers read them. A group works on products and weights that have rows in it, and
 * rests in all other cycles of the engine. Called by mmio.c.
 */
#include "chip.h"

/* The last of several sets of counters that tell of weights counts what LDWEIGHTS loads. */
static bool tells_of_weights(const struct neuron_array_map *map, unsigned int set)
{
	return map->weights >> set == 1;
}

static uint64_t cycles(struct ncore_chip *chip, unsigned int nc, unsigned int rows,
		       unsigned int set, unsigned int what)
{
	const struct neuron_array_map *map = chip->gen->array;
	struct tpb_perf perf;

	tpb_perf(chip->core[nc].tpb, &perf);
	if (set == map->products && what == NEURON_ARRAY_PRODUCTS)
		return perf.products[rows];
	if (what == NEURON_ARRAY_WEIGHTS && tells_of_weights(map, set))
		return perf.weights[rows];
	if (set == map->idle && what == NEURON_ARRAY_IDLE)
		return perf.eng[NEURON_ENG_PE].busy + perf.eng[NEURON_ENG_PE].idle +
		       perf.eng[NEURON_ENG_PE].wait - perf.products[rows] - perf.weights[rows];
	return 0;
}

uint32_t ncore_array_read(struct ncore_chip *chip, unsigned int nc, uint32_t rel)
{
	const struct neuron_array_map *map = chip->gen->array;
	unsigned int set = rel / map->size;

	return (uint32_t)(cycles(chip, nc, set / map->sets, set % map->sets,
				 rel % map->size & ~7u) >>
			  8 * (rel & 4));
}
