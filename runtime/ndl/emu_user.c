/* SPDX-License-Identifier: MIT */
/*
 * Users of chips that a server hosts: who there is, which cores are whose, and what the chips'
 * guard lets them reach. The guard's table needs no change as users come and go: a user's number is
 * its domain, and an arena's place among host addresses is one user's for ever. So each user has
 * one leaf, every byte of which is its number, and one directory whose entries all lead there.
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>

#define PAGES_OF_USER 2 /* a leaf, a directory */
#define ROOTS_OF_USER (EMU_USER_SPACE >> NEURON_GUARD_ROOT_SHIFT)

static void core_set(struct emu_chip *chip, unsigned int nc, uint8_t user)
{
	if (chip->machine->guard_root)
		emu_ext_write(chip, chip->gen->ext.guard_core + 4 * nc, user);
}

void emu_guard_queue(struct emu_chip *chip, uint32_t eng, uint32_t qid, uint8_t user)
{
	if (chip->machine->guard_root)
		emu_ext_write(chip,
			      chip->gen->ext.guard_queue +
				      4 * (NEURON_DMA_QUEUES_PER_ENG * eng + qid),
			      user);
}

/* The lock of the chip is held; who sleeps for the core's vector is its owner. */
static void bell_set(struct emu_chip *chip, unsigned int nc, uint8_t user)
{
	struct emu_bell *bells = chip->machine->user[user].bells;

	pthread_mutex_lock(&chip->irq.lock);
	chip->irq.bell[nc] = bells ? &bells[chip->index * NEURON_CORES_MAX + (int)nc] : NULL;
	pthread_mutex_unlock(&chip->irq.lock);
}

int emu_claim(struct emu_chip *chip, uint8_t user, unsigned int nc)
{
	if (chip->nc[nc].owner == user)
		return 0;
	if (chip->nc[nc].owner != EMU_NOBODY)
		return -EACCES;
	chip->nc[nc].owner = user;
	core_set(chip, nc, user);
	bell_set(chip, nc, user);
	return 0;
}

void emu_unclaim(struct emu_chip *chip, unsigned int nc)
{
	chip->nc[nc].owner = EMU_NOBODY;
	core_set(chip, nc, EMU_NOBODY);
	bell_set(chip, nc, EMU_NOBODY);
}

/* SBUF and PSUM lie in front of a core's registers. */
#define CORE_MEMORY (NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE)

int emu_reg_check(struct emu_chip *chip, uint8_t user, const uint64_t *addr, unsigned int n)
{
	unsigned int nc;
	int ret = 0;

	if (user == EMU_OWN)
		return 0;
	pthread_mutex_lock(&chip->lock);
	for (unsigned int i = 0; !ret && i < n; i++)
		if (!nhal_addr_to_core(chip->gen, addr[i], 1, &nc) &&
		    addr[i] - nhal_core_addr(chip->gen, nc) < CORE_MEMORY)
			ret = emu_claim(chip, user, nc);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

static void guard_on(struct emu_chip *chip, uint64_t root)
{
	const struct neuron_gen *gen = chip->gen;

	for (unsigned int nc = 0; nc < gen->cores; nc++)
		emu_guard_queue(chip, gen->copy[nc].engine, gen->copy[nc].queue, NEURON_GUARD_HOST);
	emu_ext_write(chip, NEURON_EXT_GUARD_ROOT_LO, (uint32_t)root);
	emu_ext_write(chip, NEURON_EXT_GUARD_ROOT_HI, (uint32_t)(root >> 32));
	emu_ext_write(chip, NEURON_EXT_GUARD_CTRL, 1);
}

int emu_users_start(struct emu_machine *m)
{
	uint64_t addr;
	int ret = emu_host_alloc(&m->host, EMU_OWN, NEURON_GUARD_ROOT_ENTRIES * sizeof(uint64_t),
				 &addr, (void **)&m->guard_root);

	if (ret)
		return ret;
	for (int i = 0; i < m->nchips; i++)
		guard_on(&m->chip[i], addr);
	return 0;
}

/*
 * Writes the user's part of the table, once. The chips' numbers are little-endian, as the host's.
 */
static int table_write(struct emu_machine *m, uint8_t user)
{
	uint64_t *root = &m->guard_root[emu_host_base(user) >> NEURON_GUARD_ROOT_SHIFT];
	uint64_t addr, *directory;
	uint8_t *leaf;
	int ret;

	if (*root)
		return 0;
	ret = emu_host_alloc(&m->host, EMU_OWN, PAGES_OF_USER * EMU_PAGE, &addr, (void **)&leaf);
	if (ret)
		return ret;
	memset(leaf, user, EMU_PAGE);
	directory = (uint64_t *)(void *)(leaf + EMU_PAGE);
	for (unsigned int i = 0; i < NEURON_GUARD_MID_ENTRIES; i++)
		directory[i] = addr;
	for (unsigned int i = 0; i < ROOTS_OF_USER; i++)
		__atomic_store_n(&root[i], addr + EMU_PAGE, __ATOMIC_RELEASE);
	return 0;
}

/* The longest run of free cores from i on, up to end */
static uint32_t run_at(const struct emu_machine *m, uint32_t i, uint32_t end)
{
	uint32_t n = 0;

	while (i + n <= end && !m->mark[i + n])
		n++;
	return n;
}

int emu_mark(struct emu_machine *m, uint8_t user, uint32_t count, uint32_t start, uint32_t end,
	     uint32_t *first, uint32_t *available)
{
	uint32_t total = (uint32_t)m->nchips * m->gen->cores, n, best = 0;
	int ret = -EBUSY;

	if (!count || start > end || end >= total)
		return -EINVAL;
	pthread_mutex_lock(&m->mark_lock);
	for (uint32_t i = start; ret && i <= end; i++) {
		n = run_at(m, i, end);
		if (n < count) {
			best = n > best ? n : best;
			continue;
		}
		memset(&m->mark[i], user, count);
		*first = i;
		ret = 0;
	}
	pthread_mutex_unlock(&m->mark_lock);
	*available = best;
	return ret;
}

/* Marks of other users are left alone, without an error. */
int emu_unmark(struct emu_machine *m, uint8_t user, uint32_t first, uint32_t count)
{
	uint32_t total = (uint32_t)m->nchips * m->gen->cores;

	if (!ndlx_range_ok(first, count, total))
		return -EINVAL;
	pthread_mutex_lock(&m->mark_lock);
	for (uint32_t i = first; i < first + count; i++)
		if (m->mark[i] == user)
			m->mark[i] = EMU_NOBODY;
	pthread_mutex_unlock(&m->mark_lock);
	return 0;
}

static uint8_t number_free(const struct emu_machine *m)
{
	for (unsigned int i = 1; i < EMU_OWN; i++)
		if (!m->user[i].used)
			return (uint8_t)i;
	return EMU_NOBODY;
}

int emu_user_new(struct emu_machine *m, const struct emu_user_config *config, uint8_t *user)
{
	uint8_t u;
	int ret;

	pthread_mutex_lock(&m->users_lock);
	u = number_free(m);
	ret = u ? table_write(m, u) : -EBUSY;
	if (!ret)
		ret = emu_host_lend(&m->host, u, config->fd, config->size, config->reserved);
	if (!ret) {
		void *bells = m->host.arena[u].base + config->bells;

		m->user[u] = (struct emu_user){ .used = true, .pid = config->pid, .bells = bells };
	}
	pthread_mutex_unlock(&m->users_lock);
	*user = u;
	return ret;
}

void emu_user_interrupt(struct emu_machine *m, uint8_t user)
{
	__atomic_store_n(&m->user[user].ending, true, __ATOMIC_RELAXED);
}

void emu_user_end(struct emu_machine *m, uint8_t user)
{
	emu_unmark(m, user, 0, (uint32_t)m->nchips * m->gen->cores);
	/*
	 * the chips' queues and cores are nobody's by now: what they were granted has been fenced
	 */
	emu_host_unlend(&m->host, user);
	pthread_mutex_lock(&m->users_lock);
	m->user[user] = (struct emu_user){ 0 };
	pthread_mutex_unlock(&m->users_lock);
}
