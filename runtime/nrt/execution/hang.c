/* SPDX-License-Identifier: MIT */
/*
 * A hang on collectives (docs/nrt.md): the time is over, and a core of a logical one waits for a
 * semaphore that a barrier of the other one was to raise, or a rank for one that all ranks raise.
 * The chip says what each engine waits for
 * (docs/hardware.md, Our registers), the program who was to raise it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt_exec.h"
#include "rt_log.h"
#include "rt_ranks.h"

#define LOOK_AGAIN_NS 250000000 /* much longer than an iteration of a loop takes */

/* The subgraph of the logical core's other core, or NULL */
static const struct rt_subgraph *other_of(const struct rt_subgraph *sg)
{
	const struct nrt_model *model = sg->model;
	const unsigned int half = model->nsubgraphs / 2;
	const unsigned int k = (unsigned int)(sg - model->subgraph);

	if (!model->kind->siblings)
		return NULL;
	return &model->subgraph[k < half ? k + half : k - half];
}

/* Does a barrier of a program, whichever part of it, raise the semaphore? */
static bool raises(const struct rt_subgraph *sg, unsigned int semaphore)
{
	for (unsigned int i = 0; i < sg->nparts; i++)
		if (sg[i].raises[semaphore / 64] >> semaphore % 64 & 1)
			return true;
	return false;
}

/* The instruction of a core's first engine that waits for the other core */
struct stand {
	unsigned int engine, semaphore;
	uint64_t at, insns; /* its byte, and how many the engine has executed */
};

/* False: none does */
static bool waits(const struct rt_subgraph *sg, const struct rt_subgraph *other, struct stand *st)
{
	const struct rt_core *core = sg->core;
	struct ndlx_core_perf perf;

	if (ndlx_core_perf(core->dev, core->nc, &perf))
		return false;
	for (unsigned int e = 0; e < sg->target->engines; e++) {
		const uint64_t what = perf.engine[e].stands;
		const unsigned int semaphore = what & NEURON_STANDS_INDEX;

		if ((what & NEURON_STANDS_KIND) != NEURON_STANDS_SEM(0) ||
		    semaphore >= sg->target->semaphores || !raises(other, semaphore))
			continue;
		*st = (struct stand){ e, semaphore, perf.engine[e].stands_at,
				      perf.engine[e].insns };
		return true;
	}
	return false;
}

/* Does it still? A loop of both cores that goes on waits in each iteration, and then no more. */
static bool still_waits(const struct rt_subgraph *sg, const struct rt_subgraph *other,
			const struct stand *then, char text[RT_HANG_TEXT])
{
	const size_t n = strlen(text);
	struct stand now;

	if (!waits(sg, other, &now) || now.engine != then->engine ||
	    now.semaphore != then->semaphore || now.at != then->at || now.insns != then->insns)
		return false;
	snprintf(text + n, RT_HANG_TEXT - n,
		 "%s nc%u waits for nc%u (%s at byte %llu of its program, semaphore %u)",
		 n ? "," : ":", sg->core->nc, other->core->nc, sg->target->engine[now.engine].name,
		 (unsigned long long)now.at, now.semaphore);
	return true;
}

/* A line of a file that the kernel writes, without blanks */
static const char *word_of(const char *path, char *word, size_t size)
{
	FILE *file = fopen(path, "re");
	char format[16];

	snprintf(format, sizeof(format), "%%%zus", size - 1);
	if (!file || fscanf(file, format, word) != 1)
		snprintf(word, size, "unknown");
	if (file)
		fclose(file);
	return word;
}

/*
 * The line for those who watch over machines, as every runtime writes it (docs/driver.md, Hardware
 * errors in the kernel log); in process there is no kernel log
 */
static void say(const struct rt_core *core)
{
	char instance[64], serial[32], host[65] = "", path[80], line[NEURON_PRINTK_MAX];

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	word_of("/sys/devices/virtual/dmi/id/board_asset_tag", instance, sizeof(instance));
	snprintf(path, sizeof(path),
		 "/sys/devices/virtual/neuron_device/neuron%u/info/serial_number", core->device);
	word_of(path, serial, sizeof(serial));
	snprintf(line, sizeof(line),
		 "NRT: NEURON_HW_ERR=HANG_ON_COLLECTIVES instance-id=%s hostname=%s nd-id=%u "
		 "nc-id=%u serial-num=%s action=TERMINATE_INSTANCE",
		 instance, host, core->device, core->nc, serial);
	ndlx_printk(core->dev, line);
}

/* Does SP wait for other ranks? */
static bool awaits_ranks(const struct rt_subgraph *sg, struct stand *st)
{
	const struct rt_pass_semaphores semaphore = rt_pass_semaphores(sg);
	const struct rt_core *core = sg->core;
	struct ndlx_core_perf perf;
	uint64_t what;

	if (ndlx_core_perf(core->dev, core->nc, &perf))
		return false;
	what = perf.engine[NEURON_ENG_SP].stands;
	*st = (struct stand){ NEURON_ENG_SP, what & NEURON_STANDS_INDEX,
			      perf.engine[NEURON_ENG_SP].stands_at,
			      perf.engine[NEURON_ENG_SP].insns };
	return (what & NEURON_STANDS_KIND) == NEURON_STANDS_SEM(0) &&
	       (st->semaphore == semaphore.ready || st->semaphore == semaphore.given);
}

static void tell_rank(const struct rt_subgraph *sg, char text[RT_HANG_TEXT])
{
	struct stand then, now;

	if (!awaits_ranks(sg, &then))
		return;
	nanosleep(&(struct timespec){ .tv_nsec = LOOK_AGAIN_NS }, NULL);
	if (!awaits_ranks(sg, &now) || now.at != then.at || now.insns != then.insns)
		return;
	snprintf(text, RT_HANG_TEXT,
		 ": rank %u of %u waits for others (sp at byte %llu of its program, semaphore %u)",
		 sg->model->rank, sg->model->nranks, (unsigned long long)now.at, now.semaphore);
	rt_log(RT_LOG_ERROR, "hang on collectives%s", text);
	say(sg->core);
}

void rt_hang_tell(const struct rt_subgraph *sg, char text[RT_HANG_TEXT])
{
	const struct rt_subgraph *other = other_of(sg), *first;
	struct stand of_first, of_other;
	bool mine, its;

	text[0] = '\0';
	if (!other && sg->model->group)
		tell_rank(sg, text);
	if (!other)
		return;
	first = sg < other ? sg : other;
	other = first == sg ? other : sg;
	mine = waits(first, other, &of_first);
	its = waits(other, first, &of_other);
	if (!mine && !its)
		return;
	nanosleep(&(struct timespec){ .tv_nsec = LOOK_AGAIN_NS }, NULL);
	mine = mine && still_waits(first, other, &of_first, text);
	its = its && still_waits(other, first, &of_other, text);
	if (!mine && !its)
		return;
	rt_log(RT_LOG_ERROR, "hang on collectives%s", text);
	say(mine ? first->core : other->core);
}
