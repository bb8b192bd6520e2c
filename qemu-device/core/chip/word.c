/* SPDX-License-Identifier: MIT */
/* Words by local device address: what each is, who reads and who writes it (word.h). */
#include "event.h"
#include "map.h"
#include "word.h"

#include <errno.h>

/* The words of a core or TOP_SP that a place is of; NULL: it is a register */
static const struct tpb_words *words_at(const struct ncore_chip *chip,
					const struct neuron_place *at)
{
	if (at->kind == NEURON_BLOCK_CORE)
		return tpb_words(chip->core[at->index].tpb);
	return at->kind == NEURON_BLOCK_TOPSP ? chip->topsp[at->index].words : NULL;
}

uint32_t ncore_word_read(struct ncore_chip *chip, uint64_t local)
{
	const struct tpb_words *words;
	struct neuron_place at;
	unsigned int index;
	uint64_t left;

	if (!ncore_find(chip, local, &at))
		return 0;
	words = words_at(chip, &at);
	if (!words)
		return ncore_reg_read(chip, &at);
	switch (ncore_word_kind(chip->gen, &at, &index, &left)) {
	case NCORE_WORD_EVENT:
		return tpb_words_event(words, index);
	case NCORE_WORD_SEM_READ:
		return tpb_words_sem(words, index);
	default:
		return 0;
	}
}

/* The time up to which the host knows a core's state, and its TOP_SPs' */
static void host_knows(struct ncore_chip *chip, const struct neuron_place *at, uint64_t time)
{
	const unsigned int core = at->kind == NEURON_BLOCK_TOPSP
					  ? neuron_gen_topsp_core(chip->gen, at->index)
					  : at->index;

	ncore_told(chip, core, time);
}

void ncore_word_seen(struct ncore_chip *chip, uint64_t local)
{
	const struct tpb_words *words;
	struct neuron_place at;
	unsigned int index;
	uint64_t left;

	if (!ncore_find(chip, local, &at))
		return;
	words = words_at(chip, &at);
	if (!words)
		return;
	switch (ncore_word_kind(chip->gen, &at, &index, &left)) {
	case NCORE_WORD_EVENT:
		host_knows(chip, &at, tpb_words_event_since(words, index));
		break;
	case NCORE_WORD_SEM_READ:
		host_knows(chip, &at, tpb_words_sem_since(words, index));
		break;
	default:
		break;
	}
}

static enum tpb_sem_op sem_op(enum ncore_word what)
{
	return (enum tpb_sem_op)(TPB_SEM_SET + (what - NCORE_WORD_SEM_SET));
}

/* A write of the host's comes behind what it knows; a descriptor's has a time of its own as well */
static uint64_t written_at(struct ncore_chip *chip, unsigned int core, uint64_t time,
			   enum ncore_writer by)
{
	uint64_t told = by == NCORE_BY_HOST ? atomic_load(&chip->core[core].told) : 0;

	return time > told ? time : told;
}

int ncore_topsp_word_write(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time,
			   enum ncore_writer by)
{
	struct neuron_place at;
	unsigned int index;
	enum ncore_word what = ncore_word_written(chip, local, &at, &index);

	if (what == NCORE_WORD_NONE || at.kind != NEURON_BLOCK_TOPSP)
		return -EACCES;
	time = written_at(chip, neuron_gen_topsp_core(chip->gen, at.index), time, by);
	if (what == NCORE_WORD_EVENT)
		time = ncore_topsp_put(chip, at.index, index, value, time);
	else
		time = ncore_topsp_update(chip, at.index, sem_op(what), index, value, time);
	if (by == NCORE_BY_HOST)
		host_knows(chip, &at, time);
	return 0;
}

void ncore_core_word_write(struct ncore_strand *strand, uint64_t local, uint32_t value,
			   uint64_t time, enum ncore_writer by)
{
	const struct tpb_words *words = tpb_words(strand->tpb);
	struct neuron_place at;
	enum ncore_word what;
	unsigned int index;
	uint64_t left;
	uint32_t old;

	if (!ncore_find(strand->chip, local, &at))
		return;
	what = ncore_word_kind(strand->chip->gen, &at, &index, &left);
	time = written_at(strand->chip, strand->index, time, by);
	if (what == NCORE_WORD_EVENT) {
		if (by != NCORE_BY_STRAND)
			time = tpb_words_event_when(words, index, time);
		tpb_event_write(strand->tpb, index, value, time);
	} else {
		if (by != NCORE_BY_STRAND)
			time = tpb_words_sem_when(words, sem_op(what), index, value, time);
		old = tpb_sem_read(strand->tpb, index);
		tpb_sem_write(strand->tpb, sem_op(what), index, value, time);
		ncore_event(strand->chip, NCORE_EV_SEMAPHORE, strand->index, index, old,
			    tpb_sem_read(strand->tpb, index));
	}
	if (by == NCORE_BY_HOST)
		host_knows(strand->chip, &at, time);
}
