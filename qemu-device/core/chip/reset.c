/* SPDX-License-Identifier: MIT */
/*
 * Resets of cores, of queues, of the whole chip. Called by the firmware (firmware.c), the host
 * (ncore.h) and before a state is loaded (state.c). chip->lock is held in all but the host's.
 */
#include "reset.h"

#include "event.h"
#include "guard.h"
#include "link.h"
#include "misc.h"
#include "notify.h"

static void reset_core(struct ncore_chip *chip, unsigned int core)
{
	struct ncore_core *c = &chip->core[core];

	tpb_reset(c->tpb);
	ncore_strand_reset(&chip->strand[core]);
	ncore_mem_reset(chip, &c->sbuf);
	ncore_mem_reset(chip, &c->psum);
}

/*
 * Work that a core's program queued: on its strand, feeding it, or rung on its own engines, whose
 * descriptors may be about to feed it. Not the driver's copies, which may be anybody's.
 */
static bool belongs_to(const struct neuron_gen *gen, const struct ncore_queue *q, unsigned int core)
{
	if ((q->state != NCORE_Q_IDLE && q->strand == core) || q->home == core)
		return true;
	return neuron_gen_queue_core(gen, q->engine, q->index) == core &&
	       !neuron_gen_is_copy_queue(gen, q->engine, q->index);
}

static void rest_queues(struct ncore_chip *chip, unsigned int core)
{
	unsigned int e, i;

	for (e = 0; e < chip->gen->dma_engines; e++)
		for (i = 0; i < NCORE_QUEUES && chip->udma[e].used; i++) {
			struct ncore_queue *q = &chip->udma[e].queue[i];

			if (belongs_to(chip->gen, q, core))
				ncore_queue_rest(chip, q);
		}
}

void ncore_reset_cores(struct ncore_chip *chip, unsigned int map)
{
	const unsigned int all = (1u << chip->gen->cores) - 1;
	unsigned int i;

	if (!map)
		map = neuron_gen_reset_map(chip->gen, all);
	ncore_strands_stop(chip);
	for (i = 0; i < chip->gen->cores; i++) {
		if (!(map >> i & 1))
			continue;
		rest_queues(chip, i);
		reset_core(chip, i);
	}
	for (i = 0; i < chip->topsps; i++)
		if (neuron_gen_resets_topsp(chip->gen, map, i))
			ncore_topsp_reset(chip, i);
	ncore_misc_reset(chip, false);
	ncore_strands_start(chip);
}

/* Guard, strands, cores' engines and notification queues: what every reset of the chip clears */
static void reset_execution(struct ncore_chip *chip)
{
	unsigned int i;

	ncore_guard_reset(chip);
	for (i = 0; i < chip->kepts; i++)
		ncore_store(&chip->kept[i], 0);
	for (i = 0; i < chip->strands; i++)
		ncore_strand_reset(&chip->strand[i]);
	for (i = 0; i < chip->gen->cores; i++) {
		tpb_reset(chip->core[i].tpb);
		ncore_nq_reset(chip, i);
		atomic_store(&chip->core[i].dma_bytes, 0);
		atomic_store(&chip->core[i].dma_descs, 0);
		for (unsigned int k = 0; k < NEURON_PERF_STREAMS; k++)
			atomic_store(&chip->core[i].streams[k], 0);
	}
	for (i = 0; i < chip->topsps; i++) {
		ncore_topsp_reset(chip, i);
		ncore_nq_reset(chip, chip->gen->cores + i);
	}
}

/* Cores, engines and notification queues, not the memories */
void ncore_reset_queues(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->dma_engines; i++)
		ncore_udma_reset(chip, i);
	reset_execution(chip);
}

/* The firmware's device reset. The DMA engines come to rest and keep their configuration. */
static void rest_all(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->dma_engines; i++)
		ncore_udma_rest(chip, i);
	reset_execution(chip);
}

static void reset_all(struct ncore_chip *chip, bool power)
{
	unsigned int i;

	ncore_strands_stop(chip); /* This may drop the lock; nothing after it does. */
	ncore_misc_up(chip, false);
	ncore_link_sync(chip);
	if (power)
		ncore_reset_queues(chip);
	else
		rest_all(chip);
	for (i = 0; i < chip->gen->cores; i++) {
		ncore_mem_reset(chip, &chip->core[i].sbuf);
		ncore_mem_reset(chip, &chip->core[i].psum);
	}
	ncore_misc_reset(chip, power);
	if (power) {
		ncore_irq_reset(chip);
		ncore_mem_clear(chip, &chip->dram);
		for (i = 0; i < NCORE_GE_COUNT; i++)
			atomic_store(&chip->guest_errors[i], 0);
	}
	ncore_misc_up(chip, true);
	ncore_link_sync(chip);
	ncore_strands_start(chip);
}

void ncore_reset_device(struct ncore_chip *chip)
{
	reset_all(chip, false);
}

void ncore_chip_reset(struct ncore_chip *chip, enum ncore_reset kind)
{
	pthread_mutex_lock(&chip->lock);
	reset_all(chip, true);
	pthread_mutex_unlock(&chip->lock);
	ncore_event(chip, NCORE_EV_RESET, 0, kind, 0, 0);
}
