/* SPDX-License-Identifier: MIT */
/* The entries of a core's error queue: texts, statuses, counters */
#include <stdio.h>

#include "rt_custom.h"
#include "rt_exec.h"

#define MODEL NRT_EXEC_COMPLETED_WITH_ERR, NDS_NC_COUNTER_ERR_MODEL
#define EVENT NRT_EXEC_COMPLETED_WITH_ERR, NDS_EXT_NC_COUNTER_ERR_SW_EVENT_ERROR
#define SEMAPHORE NRT_EXEC_COMPLETED_WITH_ERR, NDS_EXT_NC_COUNTER_ERR_SW_SEMAPHORE_ERROR

/* clang-format off */
static const struct error {
	const char *text;
	NRT_STATUS status; /* of an execution that saw it */
	unsigned int counter;
} errors[] = {
	[NEURON_NERR_ILLEGAL_INSN]     = { "illegal instruction", MODEL },
	[NEURON_NERR_ILLEGAL_OPERAND]  = { "illegal operand", MODEL },
	[NEURON_NERR_ISA_VERSION]      = { "unknown instruction set version", MODEL },
	[NEURON_NERR_SEM_OVERFLOW]     = { "semaphore overflow", SEMAPHORE },
	[NEURON_NERR_EVT_DOUBLE_SET]   = { "event set twice", EVENT },
	[NEURON_NERR_EVT_DOUBLE_CLEAR] = { "event cleared twice", EVENT },
	[NEURON_NERR_FIFO_WRITE]       = { "bad write to an instruction FIFO", MODEL },
	[NEURON_NERR_WRITE_REFUSED]    = { "register write refused", MODEL },
	[NEURON_NERR_DMA_ABORT]        = { "DMA abort",
		NRT_EXEC_HW_ERR_DMA_ABORT, NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT },
	[NEURON_NERR_DMA_DESC]         = { "bad DMA descriptor", MODEL },
	[NEURON_NERR_NUMERICAL]        = { "numerical error",
		NRT_EXEC_COMPLETED_WITH_NUM_ERR, NDS_NC_COUNTER_ERR_NUMERICAL },
	[NEURON_NERR_NQ_OVERFLOW]      = { "notification queue overflow",
		NRT_EXEC_SW_NQ_OVERFLOW, NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW },
	[NEURON_NERR_DRAM_UE]          = { "uncorrectable error in device memory",
		NRT_EXEC_HW_ERR_HBM_UE, NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE },
	[NEURON_NERR_CUSTOM_OP]        = { "custom operator", MODEL },
	[NEURON_NERR_SRAM_UE]          = { "uncorrectable error in SBUF or PSUM",
		NRT_EXEC_HW_ERR_NC_UE, NDS_EXT_NC_COUNTER_HW_ERR_NC_UE },
	[NEURON_NERR_PC]               = { "jump out of the program", MODEL },
	[NEURON_NERR_FETCH_REFUSED]    = { "instructions in memory of others", MODEL },
	[NEURON_NERR_DMA_REFUSED]      = { "transfer into no queue of the core's", MODEL },
	[NEURON_NERR_DMA_STREAM]       = { "bad compressed stream", MODEL },
	[NEURON_NERR_DMA_OOB]          = { "transfer beyond its bounds", MODEL },
	[NEURON_NERR_ELEMENT_REFUSED]  = { "register's element in no memory of the core's", MODEL },
};
/* clang-format on */

static const struct error *error_of(uint16_t code)
{
	static const struct error unknown = { "unknown error", MODEL };

	return code < sizeof(errors) / sizeof(errors[0]) && errors[code].text ? &errors[code]
									      : &unknown;
}

/* The part of a program whose queue it is */
static const char *queue_part(const struct rt_subgraph *sg, unsigned int eng, unsigned int queue)
{
	for (unsigned int i = 0; i < sg->nparts; i++)
		for (unsigned int q = 0; q < sg[i].nqueues; q++)
			if (sg[i].queues[q].eng == eng && sg[i].queues[q].qid == queue)
				return sg[i].neff->name;
	return sg->neff->name;
}

/*
 * The member whose program caused the error; a DMA's entry names no engine, an engine's no part of
 * a program that has several
 */
static const char *culprit(const struct rt_subgraph *sg, const struct rt_notification *e, char *buf,
			   size_t size)
{
	const struct neuron_target *target = sg->target;
	unsigned int eng = e->id >> 8 & 0xff, queue = e->id & 0xff;
	bool dma = e->code == NEURON_NERR_DMA_ABORT || e->code == NEURON_NERR_DMA_DESC ||
		   e->code == NEURON_NERR_DMA_STREAM ||
		   (e->engine >= target->engines &&
		    (e->code == NEURON_NERR_DRAM_UE || e->code == NEURON_NERR_SRAM_UE));

	if (dma && neuron_gen_is_copy_queue(sg->core->dev->gen, eng, queue))
		snprintf(buf, size, "copy");
	else if (dma)
		snprintf(buf, size, "%s dma engine %u queue %u", queue_part(sg, eng, queue), eng,
			 queue);
	else if (e->engine < target->engines && sg->nparts > 1)
		snprintf(buf, size, "%s to %s/%s.bin", sg->neff->name,
			 sg[sg->nparts - 1].neff->name, target->engine[e->engine].name);
	else if (e->engine < target->engines)
		snprintf(buf, size, "%s/%s.bin", sg->neff->name, target->engine[e->engine].name);
	else
		snprintf(buf, size, "%s", sg->neff->name);
	return buf;
}

NRT_STATUS rt_errors_collect(const struct rt_subgraph *sg, NRT_STATUS status)
{
	struct rt_core *core = sg->core;
	struct rt_notification e;
	char where[128], text[512];
	unsigned int n;

	for (n = 0; n < RT_NQ_ENTRIES && rt_nq_next(&core->error, &e); n++) {
		const struct error *error = error_of(e.code);

		if (e.code == NEURON_NERR_NUMERICAL && !sg->model->numerical)
			continue;

		rt_nds_add(core, error->counter, 1);
		if (!status || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
			status = error->status;
		if (e.code == NEURON_NERR_CUSTOM_OP)
			rt_custom_describe((struct rt_subgraph *)sg, &e, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "%s", error->text);
		rt_fail(error->status, "TDRV", "nd%u nc%u %s: %s (code %u id %#x data %#llx)",
			core->device, core->nc, culprit(sg, &e, where, sizeof(where)), text, e.code,
			e.id, (unsigned long long)e.data);
	}
	if (n)
		rt_core_errors_read(core);
	return status;
}
