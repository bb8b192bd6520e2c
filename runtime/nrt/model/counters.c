/* SPDX-License-Identifier: MIT */
/* The counters of nrtx.h: the chip's own, read through the mailbox, and this process's. */
#include <string.h>

#include "rt_model.h"

static void fill_perf(const struct neuron_target *target, const struct ndlx_core_perf *perf,
		      struct nrtx_core_counters *counters)
{
	counters->engines = target->engines;
	for (unsigned int e = 0; e < target->engines; e++)
		counters->engine[e] = (struct nrtx_engine_counters){
			.name = target->engine[e].name,
			.insns = perf->engine[e].insns,
			.busy_cycles = perf->engine[e].busy_cycles,
			.idle_cycles = perf->engine[e].idle_cycles,
			.wait_cycles = perf->engine[e].wait_cycles,
			.matmul_insns = perf->engine[e].matmul_insns,
			.matmul_wait_cycles = perf->engine[e].matmul_wait_cycles,
		};
	counters->macs = perf->macs;
}

EXPORT NRT_STATUS nrtx_core_counters(uint32_t vnc, struct nrtx_core_counters *counters)
{
	RT_ENTER(status);
	struct ndlx_core_perf perf;
	struct rt_core *core;
	int err;

	if (status)
		return status;
	core = rt_core(vnc);
	if (!core || !counters)
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, rt.ncores);
	err = ndlx_core_perf(core->dev, core->nc, &perf);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", core->device,
			       rt_errno_text(err));
	*counters = core->counters;
	fill_perf(core->dev->gen->target, &perf, counters);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_model_counters(const nrt_model_t *model,
				      struct nrtx_model_counters *counters)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!model || !counters)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	*counters = model->counters;
	return NRT_SUCCESS;
}
