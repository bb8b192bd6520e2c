/* SPDX-License-Identifier: MIT */
/*
 * TOP_SPs: semaphores and events of their own, in windows as cores have them. Nothing executes
 * there, so none has a strand: who writes holds chip->topsp_lock, and is one of many: each comes
 * after what the word shows when it comes, as at a core's word who is not its strand. Reached
 * through word.c.
 */
#include "event.h"
#include "map.h"

void ncore_topsp_init(struct ncore_chip *chip)
{
	const struct neuron_gen *gen = chip->gen;
	unsigned int i;

	for (i = 0; i < chip->topsps; i++) {
		chip->topsp[i].words = &chip->topsp_words[i];
		chip->topsp[i].nqs = (struct ncore_nqs){
			.reg = ncore_kept(chip, gen->kept_topsp + i),
			.first = gen->nq_slot.regs,
			.words = gen->nq_slot.count * gen->nq_slot.stride / 4,
			.core = neuron_gen_topsp_core(gen, i),
		};
	}
}

void ncore_topsp_reset(struct ncore_chip *chip, unsigned int topsp)
{
	struct ncore_topsp *t = &chip->topsp[topsp];

	pthread_mutex_lock(&chip->topsp_lock);
	if (t->used) /* else its pages stay untouched */
		tpb_words_reset(t->words, chip->gen->target);
	t->used = false;
	pthread_mutex_unlock(&chip->topsp_lock);
}

uint32_t ncore_topsp_sem_at(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			    uint64_t time)
{
	uint32_t value;

	pthread_mutex_lock(&chip->topsp_lock);
	value = tpb_past_at(&chip->topsp[topsp].words->sem_past[index], time);
	pthread_mutex_unlock(&chip->topsp_lock);
	return value;
}

static void error(struct ncore_chip *chip, unsigned int topsp, uint16_t code, unsigned int index,
		  uint32_t data, uint32_t data2, uint64_t time)
{
	ncore_notify(chip, chip->gen->cores + topsp, NEURON_NQ_ERROR, chip->gen->target->no_engine,
		     code, index, data, data2, time);
}

uint64_t ncore_topsp_update(struct ncore_chip *chip, unsigned int topsp, enum tpb_sem_op op,
			    unsigned int index, uint32_t value, uint64_t time)
{
	struct ncore_topsp *t = &chip->topsp[topsp];
	enum tpb_change change;
	uint32_t old, now;

	pthread_mutex_lock(&chip->topsp_lock);
	t->used = true;
	time = tpb_words_sem_when(t->words, op, index, value, time);
	old = tpb_words_sem(t->words, index);
	change = tpb_words_update(t->words, op, index, value, time);
	now = tpb_words_sem(t->words, index);
	pthread_mutex_unlock(&chip->topsp_lock);
	if (change == TPB_REFUSED)
		error(chip, topsp, NEURON_NERR_SEM_OVERFLOW, index, old, value, time);
	ncore_event(chip, NCORE_EV_SEMAPHORE, chip->gen->cores + topsp, index, old, now);
	return time;
}

uint64_t ncore_topsp_put(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			 uint32_t value, uint64_t time)
{
	struct ncore_topsp *t = &chip->topsp[topsp];
	enum tpb_change change;

	pthread_mutex_lock(&chip->topsp_lock);
	t->used = true;
	time = tpb_words_event_when(t->words, index, time);
	change = tpb_words_put(t->words, index, value, time);
	pthread_mutex_unlock(&chip->topsp_lock);
	if (change == TPB_REFUSED)
		error(chip, topsp,
		      value ? NEURON_NERR_EVT_DOUBLE_SET : NEURON_NERR_EVT_DOUBLE_CLEAR, index, 0,
		      0, time);
	return time;
}
