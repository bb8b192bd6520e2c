// SPDX-License-Identifier: MIT
/*
 * Differences of two snapshots, and sums of one. A datastore is written by the process that it is
 * about, so any number may be in it: sums stop at the largest, and what falls has not risen.
 */
#include "telemetry.h"

#include <unistd.h>

const struct tm_process *tm_find(const struct tm_snapshot *s, const struct tm_process *p)
{
	for (unsigned i = 0; s && i < s->processes; i++)
		if (s->process[i].pid == p->pid && s->process[i].started == p->started)
			return &s->process[i];
	return NULL;
}

const struct tm_part *tm_find_part(const struct tm_process *p, unsigned device)
{
	for (unsigned i = 0; p && i < p->parts; i++)
		if (p->part[i].device == device)
			return &p->part[i];
	return NULL;
}

uint64_t tm_rise(const struct tm_part *before, const struct tm_part *now, unsigned nc,
		 unsigned counter)
{
	uint64_t old = before ? before->core[nc][counter] : 0;

	return now->core[nc][counter] > old ? now->core[nc][counter] - old : 0;
}

uint64_t tm_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

bool tm_core_used(const struct tm_part *part, unsigned nc)
{
	for (unsigned i = 0; i < TM_COUNTERS; i++)
		if (part->core[nc][i])
			return true;
	return false;
}

double tm_utilization(const struct tm_part *before, const struct tm_part *now, unsigned nc,
		      double seconds)
{
	double busy = (double)tm_rise(before, now, nc, NDS_NC_COUNTER_TIME_IN_USE) * 1e-6;

	if (seconds <= 0)
		return 0;
	return busy >= seconds ? 100 : 100 * busy / seconds;
}

void tm_core_memory(const struct tm_part *part, unsigned nc, struct tm_core_memory *m)
{
	const uint64_t *counter = part->core[nc];

	m->constants = counter[NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE];
	m->model_code = counter[NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE];
	m->model_shared_scratchpad = counter[NDS_NC_COUNTER_MEM_USAGE_SCRATCHPAD_DEVICE];
	m->runtime_memory = counter[NDS_NC_COUNTER_MEM_USAGE_MISC_DEVICE];
	m->tensors = counter[NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE];
}

static uint64_t host_counter(const struct tm_process *p, unsigned counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->parts; i++)
		sum = tm_sum(sum, p->part[i].host[counter - NDS_ND_COUNTER_MEM_USAGE_CODE_HOST]);
	return sum;
}

void tm_host_memory(const struct tm_process *p, struct tm_host_memory *m)
{
	m->application = p->resident;
	m->constants = host_counter(p, NDS_ND_COUNTER_MEM_USAGE_CONSTANTS_HOST);
	m->tensors = host_counter(p, NDS_ND_COUNTER_MEM_USAGE_TENSORS_HOST);
	m->dma_buffers = host_counter(p, NDS_ND_COUNTER_MEM_USAGE_CODE_HOST);
	m->dma_buffers =
		tm_sum(m->dma_buffers, host_counter(p, NDS_ND_COUNTER_MEM_USAGE_SCRATCHPAD_HOST));
	m->dma_buffers =
		tm_sum(m->dma_buffers, host_counter(p, NDS_ND_COUNTER_MEM_USAGE_MISC_HOST));
}

uint64_t tm_core_memory_sum(const struct tm_core_memory *m)
{
	uint64_t sum = tm_sum(m->constants, m->model_code);

	return tm_sum(tm_sum(sum, m->model_shared_scratchpad),
		      tm_sum(m->runtime_memory, m->tensors));
}

uint64_t tm_host_memory_sum(const struct tm_host_memory *m)
{
	return tm_sum(tm_sum(m->application, m->constants), tm_sum(m->dma_buffers, m->tensors));
}

uint64_t tm_ticks(const struct tm_snapshot *before, const struct tm_snapshot *now)
{
	uint64_t counted = now->cpus.row[0].all - before->cpus.row[0].all;
	double passed = (now->time - before->time) * now->cpus.n * (double)sysconf(_SC_CLK_TCK);

	return passed > (double)counted ? (uint64_t)passed : counted;
}
