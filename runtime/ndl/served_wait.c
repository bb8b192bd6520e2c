/* SPDX-License-Identifier: MIT */
/*
 * Waiting on a served chip: the core's bell lies in the file, and the server rings it when the core
 * has entries that the waiter had not seen. A bell may ring for another waiter of the same core,
 * too.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "served.h"

#define WORKS_MAX 10 /* looks at a core that is at work, before it is slept for: some 100 us */

static struct emu_bell *bell_of(const ndlx_device_t *dev, uint32_t nc)
{
	struct emu_bell *bells = (void *)(served_device(dev)->m->base + WIRE_BELLS);

	return &bells[dev->device_index * NEURON_CORES_MAX + nc];
}

int served_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	struct wire_call *c = CALL(dev, .op = WIRE_ENTRIES, .arg = { waiter->nc });
	int ret;

	atomic_store(&waiter->woken, false);
	ret = served_call(served_device(dev)->m, c, NULL);
	waiter->seen = (uint32_t)c->arg[0];
	return ret;
}

int served_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	return served_wait_look(dev, waiter);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t deadline(uint64_t timeout_us)
{
	uint64_t now = now_ns();

	return timeout_us < (UINT64_MAX - now) / 1000 ? now + timeout_us * 1000 : UINT64_MAX;
}

static int sleep_on(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint32_t rings, uint64_t end)
{
	struct emu_bell *bell = bell_of(dev, waiter->nc);
	struct timespec left;
	uint64_t now;

	for (;;) {
		if (atomic_load(&served_device(dev)->m->dead))
			return -ENODEV;
		if (atomic_load(&waiter->woken) ||
		    __atomic_load_n(&bell->rings, __ATOMIC_ACQUIRE) != rings)
			return 0;
		now = now_ns();
		if (now >= end)
			return -ETIMEDOUT;
		left = (struct timespec){ (time_t)((end - now) / 1000000000),
					  (long)((end - now) % 1000000000) };
		emu_word_wait(&bell->rings, rings, &left);
	}
}

int served_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us)
{
	struct emu_bell *bell = bell_of(dev, waiter->nc);
	uint64_t end = deadline(timeout_us);
	uint32_t rings;
	int ret;

	__atomic_fetch_add(&bell->sleepers, 1, __ATOMIC_SEQ_CST);
	rings = __atomic_load_n(&bell->rings, __ATOMIC_SEQ_CST);
	ret = served_post(served_device(dev)->m,
			  CALL(dev, .op = WIRE_ARM, .arg = { waiter->nc, waiter->seen }));
	served_flush(served_device(dev)->m);
	if (!ret)
		ret = sleep_on(dev, waiter, rings, end);
	__atomic_fetch_sub(&bell->sleepers, 1, __ATOMIC_SEQ_CST);
	return ret;
}

void served_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	struct emu_bell *bell = bell_of(dev, waiter->nc);

	atomic_store(&waiter->woken, true);
	__atomic_fetch_add(&bell->rings, 1, __ATOMIC_SEQ_CST);
	emu_word_wake(&bell->rings);
}

/* The thread of the server that has this thread's channel executes the core. */
void served_wait_lend(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	struct served *m = served_device(dev)->m;

	waiter->works = 0;
	served_cork(m);
	served_post(m, CALL(dev, .op = WIRE_LEND, .arg = { waiter->nc }));
}

bool served_wait_work(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	if (waiter->works == WORKS_MAX)
		return false;
	waiter->works++;
	return served_works(served_device(dev)->m);
}

void served_wait_leave(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	served_post(served_device(dev)->m, CALL(dev, .op = WIRE_LEAVE));
	served_flush(served_device(dev)->m);
}

void served_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
}
