/* SPDX-License-Identifier: MIT */
/* See moving.h. */
#include "moving.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../thread_state.h"

#define MOVED (1 << 20)

/* Memories are moved by the host; here those that programs use. */
static void move_memories(struct ncore_chip *from, struct ncore_chip *to)
{
	uint64_t size, word;

	for (unsigned int i = 0; i < MOVED; i += 8) {
		word = ncore_mmio_read(from, GEN(BAR_CORES), GEN(TPB_BAR)(0) + i, 8);
		if (word)
			ncore_mmio_write(to, GEN(BAR_CORES), GEN(TPB_BAR)(0) + i, 8, word);
	}
	memcpy(ncore_dram(to, &size, NULL), ncore_dram(from, NULL, NULL), MOVED);
}

static void move(struct fixture *f)
{
	const char *reason = NULL;
	size_t size, again_size;
	void *buf, *again;
	struct ncore_chip_config config;
	struct ncore_chip *next;

	ncore_chip_pause(f->chip);
	ck_assert_int_eq(ncore_chip_save(f->chip, &buf, &size), 0);
	fixture_config(f, &config);
	ck_assert_int_eq(ncore_chip_new(&config, &next), 0);
	ncore_chip_pause(next);
	ck_assert_int_eq(ncore_chip_load(next, buf, size, &reason), 0);
	/* a loaded state saves the same bytes */
	ck_assert_int_eq(ncore_chip_save(next, &again, &again_size), 0);
	ck_assert_uint_eq(size, again_size);
	ck_assert_int_eq(memcmp(buf, again, size), 0);
	free(again);
	free(buf);
	move_memories(f->chip, next);
	ncore_chip_free(f->chip);
	f->chip = next;
	ncore_chip_resume(f->chip);
}

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static long gate_left = -1; /* accesses until the gate shuts; below 0: it stays open */
static bool gate_blocks;

int gated_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	pthread_mutex_lock(&gate_lock);
	while (!gate_left) {
		gate_blocks = true;
		pthread_cond_broadcast(&gate_cond);
		pthread_cond_wait(&gate_cond, &gate_lock);
	}
	if (gate_left > 0)
		gate_left--;
	pthread_mutex_unlock(&gate_lock);
	return fixture_host_rw(opaque, addr, buf, len, write);
}

void gate_set(long left)
{
	pthread_mutex_lock(&gate_lock);
	gate_left = left;
	gate_blocks = false;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate_lock);
}

/* Waits until the strand stands at the gate; false if the chip has nothing left to do. */
static bool gate_wait(struct fixture *f)
{
	struct timespec end;
	bool blocks;

	do {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += 1000000;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		pthread_mutex_lock(&gate_lock);
		if (!gate_blocks)
			pthread_cond_timedwait(&gate_cond, &gate_lock, &end);
		blocks = gate_blocks;
		pthread_mutex_unlock(&gate_lock);
	} while (!blocks && !ncore_chip_idle(f->chip));
	return blocks;
}

struct pauser {
	struct ncore_chip *chip;
	_Atomic pid_t tid;
};

static void *pause_thread(void *arg)
{
	struct pauser *p = arg;

	p->tid = gettid();
	ncore_chip_pause(p->chip);
	return NULL;
}

/* Pauses while the strand stands at the gate; true if the strand did not finish before. */
static bool pause_at_gate(struct fixture *f)
{
	struct pauser p = { .chip = f->chip };
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, pause_thread, &p), 0);
	while (!p.tid || !thread_rests(p.tid))
		sched_yield();
	gate_set(-1);
	pthread_join(t, NULL);
	return !ncore_chip_idle(f->chip);
}

unsigned int move_to_the_end(struct fixture *f, unsigned int most)
{
	unsigned int moves = 0;
	uint64_t seed = 3;

	while (gate_wait(f)) {
		moves += pause_at_gate(f);
		gate_set((long)(1 + rnd(&seed) % most));
		move(f);
	}
	gate_set(-1);
	settle(f);
	return moves;
}
