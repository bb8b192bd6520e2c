/* SPDX-License-Identifier: MIT */
/*
 * The guard's registers (docs/hardware.md, The guard). A write stops all strands and makes void
 * what they were granted.
 */
#include "guard.h"

#include "chip.h"

/* The strands are stopped, so that no grant is remembered and no entry is being written. */
static void forget(struct ncore_chip *chip)
{
	atomic_fetch_add(&chip->guard.generation, 1);
	pthread_mutex_lock(&chip->nq_lock);
	pthread_mutex_unlock(&chip->nq_lock);
}

void ncore_guard_reset(struct ncore_chip *chip)
{
	unsigned int i, k;

	atomic_store(&chip->guard.on, false);
	ncore_store(&chip->guard.root[0], 0);
	ncore_store(&chip->guard.root[1], 0);
	for (i = 0; i < chip->gen->cores; i++)
		ncore_store(&chip->guard.core[i], 0);
	for (i = 0; i < chip->gen->dma_engines; i++)
		for (k = 0; k < NCORE_QUEUES && chip->udma[i].used; k++)
			atomic_store(&chip->udma[i].queue[k].domain, 0);
	forget(chip);
}

static struct ncore_queue *queue_reg(struct ncore_chip *chip, uint32_t rel)
{
	rel -= chip->gen->ext.guard_queue;
	return rel < chip->gen->dma_engines * NCORE_QUEUES * 4u
		       ? &chip->udma[rel / 4 / NCORE_QUEUES].queue[rel / 4 % NCORE_QUEUES]
		       : NULL;
}

static ncore_reg *core_reg(struct ncore_chip *chip, uint32_t rel)
{
	rel -= chip->gen->ext.guard_core;
	return rel < chip->gen->cores * 4u ? &chip->guard.core[rel / 4] : NULL;
}

bool ncore_guard_read(struct ncore_chip *chip, uint32_t rel, uint32_t *value)
{
	struct ncore_queue *q = queue_reg(chip, rel);
	ncore_reg *core = core_reg(chip, rel);

	*value = 0;
	if (q)
		*value = atomic_load(&q->domain);
	else if (core)
		*value = ncore_load(core);
	else if (rel == NEURON_EXT_GUARD_CTRL)
		*value = atomic_load(&chip->guard.on);
	else if (rel == NEURON_EXT_GUARD_ROOT_LO || rel == NEURON_EXT_GUARD_ROOT_HI)
		*value = ncore_load(&chip->guard.root[rel == NEURON_EXT_GUARD_ROOT_HI]);
	else
		return false;
	return true;
}

static bool set(struct ncore_chip *chip, uint32_t rel, uint32_t value)
{
	struct ncore_queue *q = queue_reg(chip, rel);
	ncore_reg *core = core_reg(chip, rel);

	if (q) {
		ncore_udma_use(chip, (rel - chip->gen->ext.guard_queue) / 4 / NCORE_QUEUES);
		atomic_store(&q->domain, (uint8_t)value);
	} else if (core) {
		ncore_store(core, value & 0xff);
	} else if (rel == NEURON_EXT_GUARD_CTRL) {
		atomic_store(&chip->guard.on, value & 1);
	} else if (rel == NEURON_EXT_GUARD_ROOT_LO) {
		ncore_store(&chip->guard.root[0], value & ~((1u << NEURON_GUARD_PAGE_SHIFT) - 1));
	} else if (rel == NEURON_EXT_GUARD_ROOT_HI) {
		ncore_store(&chip->guard.root[1], value & 0x3fff);
	} else {
		return rel == NEURON_EXT_GUARD_FENCE;
	}
	return true;
}

bool ncore_guard_write(struct ncore_chip *chip, uint32_t rel, uint32_t value)
{
	unsigned int i;
	bool known;

	ncore_strands_stop(chip);
	known = set(chip, rel, value);
	forget(chip);
	for (i = 0; i < chip->gen->cores; i++)
		tpb_windows_again(chip->core[i].tpb);
	ncore_strands_start(chip);
	return known;
}
