/* SPDX-License-Identifier: MIT */
/*
 * Waiting on an in-process chip: its vectors wake a condition variable, which stands for the kernel
 * module's interrupt handler. The count a waiter saw is handed to the chip, which raises the vector
 * when its own count differs, so no entry is lost between a look and the sleep.
 */
#include "emu.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

static uint32_t entries_reg(const struct emu_chip *chip, unsigned int nc)
{
	return chip->gen->ext.nq_entries + 4 * nc;
}

int emu_irq_init(struct emu_chip *chip)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&chip->irq.cond, &attr);
	pthread_condattr_destroy(&attr);
	return -pthread_mutex_init(&chip->irq.lock, NULL);
}

/* The bell is in memory of whom it is for, who may write anything there. */
static void ring(struct emu_bell *bell)
{
	__atomic_fetch_add(&bell->rings, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bell->sleepers, __ATOMIC_SEQ_CST))
		emu_word_wake(&bell->rings);
}

/* Called from any thread with the core library's locks held; no lock is taken under irq.lock. */
void emu_irq(void *opaque, unsigned int vector)
{
	struct emu_chip *chip = opaque;

	pthread_mutex_lock(&chip->irq.lock);
	chip->irq.raised[vector]++;
	pthread_cond_broadcast(&chip->irq.cond);
	if (chip->irq.bell[vector])
		ring(chip->irq.bell[vector]);
	pthread_mutex_unlock(&chip->irq.lock);
}

uint32_t emu_entries(struct emu_chip *chip, unsigned int nc)
{
	return emu_ext_read(chip, entries_reg(chip, nc));
}

void emu_arm(struct emu_chip *chip, unsigned int nc, uint32_t seen)
{
	emu_ext_write(chip, entries_reg(chip, nc), seen);
}

int emu_wait_look(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	struct emu_chip *chip = emu_chip(dev);

	atomic_store(&waiter->woken, false);
	waiter->seen = emu_entries(chip, waiter->nc);
	return device_gone(dev);
}

int emu_wait_open(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	return emu_wait_look(dev, waiter);
}

static struct timespec deadline(uint64_t timeout_us)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)(timeout_us / 1000000);
	ts.tv_nsec += (long)(timeout_us % 1000000) * 1000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return ts;
}

int emu_wait(ndlx_device_t *dev, struct ndlx_waiter *waiter, uint64_t timeout_us)
{
	struct emu_chip *chip = emu_chip(dev);
	struct timespec end = deadline(timeout_us);
	unsigned int before;
	int ret = 0;

	pthread_mutex_lock(&chip->irq.lock);
	before = chip->irq.raised[waiter->nc];
	pthread_mutex_unlock(&chip->irq.lock);
	emu_arm(chip, waiter->nc, waiter->seen);
	pthread_mutex_lock(&chip->irq.lock);
	while (chip->irq.raised[waiter->nc] == before && !atomic_load(&waiter->woken) && !ret &&
	       !device_gone(dev))
		ret = -pthread_cond_timedwait(&chip->irq.cond, &chip->irq.lock, &end);
	pthread_mutex_unlock(&chip->irq.lock);
	return device_gone(dev) ?: ret;
}

void emu_wait_wake(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	struct emu_chip *chip = emu_chip(dev);

	pthread_mutex_lock(&chip->irq.lock);
	atomic_store(&waiter->woken, true);
	pthread_cond_broadcast(&chip->irq.cond);
	pthread_mutex_unlock(&chip->irq.lock);
}

void emu_wait_lend(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	ncore_core_lend(emu_chip(dev)->core, waiter->nc);
}

bool emu_wait_work(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	return ncore_core_work(emu_chip(dev)->core, waiter->nc);
}

void emu_wait_leave(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
	ncore_core_leave(emu_chip(dev)->core, waiter->nc);
}

void emu_wait_close(ndlx_device_t *dev, struct ndlx_waiter *waiter)
{
}
