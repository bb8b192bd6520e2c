// SPDX-License-Identifier: MIT
/* A process's datastore (neuron_nds.h), read from the mapping while its owner goes on writing. */
#include "process.h"
#include "telemetry.h"

#include <string.h>

static uint64_t word(const void *nds, size_t size, size_t offset)
{
	uint64_t value = 0;

	if (offset + sizeof(value) <= size)
		memcpy(&value, (const char *)nds + offset, sizeof(value));
	return value;
}

bool tm_read_datastore(const void *nds, size_t size, unsigned cores, struct tm_process *p,
		       struct tm_part *part)
{
	if (ls_process_version(nds, size, p->version, sizeof(p->version)))
		return false;
	for (unsigned i = 0; i < TM_HOST_COUNTERS; i++)
		part->host[i] =
			word(nds, size, NDS_ND_OFFSET(NDS_ND_COUNTER_MEM_USAGE_CODE_HOST + i));
	for (unsigned nc = 0; nc < cores && nc < NEURON_CORES_MAX; nc++)
		for (unsigned i = 0; i < TM_COUNTERS; i++)
			part->core[nc][i] = word(nds, size, NDS_NC_OFFSET(nc, i));
	return true;
}
