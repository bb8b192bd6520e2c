// SPDX-License-Identifier: MIT
/*
 * libndl's notification queues on the node of chip 0, all of a core's set up: an error of the core
 * is in the ring of errors and in no other.
 */
#include <time.h>

#include "ndlx.h"
#include "tap.h"

#define RINGS_MAX 16

static const struct {
	uint32_t type;
	bool each; /* engine has one */
} queues[] = {
	{ NEURON_NQ_ERROR, false },
	{ NEURON_NQ_NOTIFY, true },
	{ NEURON_NQ_EVENT, false },
	{ NEURON_NQ_TRACE, true },
};

int main(void)
{
	const volatile uint8_t *ring[RINGS_MAX];
	unsigned int n = 0, others = 0, engines;
	ndlx_device_t *dev;
	void *va;

	if (!ok(!ndlx_machine_set("node") && !ndlx_open_device(0, NULL, &dev), "chip 0 by libndl"))
		return tap_done();
	engines = dev->gen->target->engines;
	for (unsigned int i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		for (uint32_t engine = 0; engine < (queues[i].each ? engines : 1); engine++) {
			struct ndlx_nq_params p = { .nc = 0,
						    .type = queues[i].type,
						    .engine = engine,
						    .size = 4096,
						    .fresh = true };

			if (is(ndlx_notification_init(dev, &p, &va), 0, "type %u, engine %u",
			       p.type, engine))
				ring[n++] = va;
		}
	is(ndlx_nc_semaphore_decrement(dev, 0, 9, 1), 0, "a semaphore goes below zero");
	for (int i = 0; i < 2000 && !ring[0][NEURON_NQ_ENTRY_PHASE]; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	is(ring[0][NEURON_NQ_ENTRY_PHASE], 1, "the ring of errors has an entry");
	is(ring[0][NEURON_NQ_ENTRY_CODE], NEURON_NERR_SEM_OVERFLOW, "which says so");
	for (unsigned int i = 1; i < n; i++)
		others += ring[i][NEURON_NQ_ENTRY_PHASE];
	is(others, 0, "no other ring has one");
	is(ndlx_notification_read(dev, 0, NEURON_NQ_ERROR, 0, 1), 0,
	   "libndl says how far it has read");
	return tap_done();
}
