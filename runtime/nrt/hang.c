/* SPDX-License-Identifier: MIT */
/*
 * A hang on collectives (docs/nrt.md): the time is over, and a core of a logical one waits for a
 * semaphore that a barrier of the other one was to raise. The chip says what each engine waits for
 * (docs/hardware.md, Our registers), the program who was to raise it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt_exec.h"
#include "rt_log.h"

/* The subgraph of the logical core's other core, or NULL */
static const struct rt_subgraph *other_of(const struct rt_subgraph *sg)
{
	const struct nrt_model *model = sg->model;
	const unsigned int half = model->nsubgraphs / 2;
	const unsigned int k = (unsigned int)(sg - model->subgraph);

	if (!model->kind->mates)
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

/* The first of the engines that waits for the other core, in words behind the text; or none does */
static bool waits(const struct rt_subgraph *sg, const struct rt_subgraph *other,
		  char text[RT_HANG_TEXT])
{
	const size_t n = strlen(text);
	const struct rt_core *core = sg->core;
	struct ndl_core_perf perf;

	if (ndl_core_perf(core->dev, core->nc, &perf))
		return false;
	for (unsigned int e = 0; e < sg->target->engines; e++) {
		const uint64_t what = perf.engine[e].stands;
		const unsigned int semaphore = what & NEURON_STANDS_INDEX;

		if ((what & NEURON_STANDS_KIND) != NEURON_STANDS_SEM(0) ||
		    semaphore >= sg->target->semaphores || !raises(other, semaphore))
			continue;
		snprintf(text + n, RT_HANG_TEXT - n,
			 "%s nc%u waits for nc%u (%s at byte %llu of its program, semaphore %u)",
			 n ? "," : ":", core->nc, other->core->nc, sg->target->engine[e].name,
			 (unsigned long long)perf.engine[e].stands_at, semaphore);
		return true;
	}
	return false;
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
	ndl_printk(core->dev, line);
}

void rt_hang_tell(const struct rt_subgraph *sg, char text[RT_HANG_TEXT])
{
	const struct rt_subgraph *other = other_of(sg), *first;
	bool mine, its;

	text[0] = '\0';
	if (!other)
		return;
	first = sg < other ? sg : other;
	other = first == sg ? other : sg;
	mine = waits(first, other, text);
	its = waits(other, first, text);
	if (!mine && !its)
		return;
	rt_log(RT_LOG_ERROR, "hang on collectives%s", text);
	say(mine ? first->core : other->core);
}
