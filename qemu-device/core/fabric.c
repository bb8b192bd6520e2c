/* SPDX-License-Identifier: MIT */
/*
 * The links between chips: a table of weak pointers. Whoever reaches into a neighbour holds the
 * lock for reading while it does; attaching and detaching write. Chips keep the table alive, not
 * each other.
 */
#include "chip.h"

#include <errno.h>
#include <stdlib.h>

#define FABRIC_SLOTS_MAX 256

struct ncore_fabric {
	pthread_rwlock_t lock;
	enum ncore_topology topology;
	_Atomic unsigned int refs;
	unsigned int slots;
	struct ncore_chip *chip[];
};

int ncore_fabric_new(enum ncore_topology topology, unsigned int slots, struct ncore_fabric **out)
{
	pthread_rwlockattr_t attr;
	struct ncore_fabric *f;

	if (!slots || slots > FABRIC_SLOTS_MAX ||
	    (topology != NCORE_TOPOLOGY_LINE && topology != NCORE_TOPOLOGY_RING))
		return -EINVAL;
	f = calloc(1, sizeof(*f) + slots * sizeof(f->chip[0]));
	if (!f)
		return -ENOMEM;
	/* resets and detaches must not starve behind chips that copy to each other all the time */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&f->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	f->topology = topology;
	f->slots = slots;
	f->refs = 1;
	*out = f;
	return 0;
}

void ncore_fabric_free(struct ncore_fabric *f)
{
	if (!f || atomic_fetch_sub(&f->refs, 1) != 1)
		return;
	pthread_rwlock_destroy(&f->lock);
	free(f);
}

/* the lock is held; NULL: the line ends here, or nobody sits there */
static struct ncore_chip *neighbour(struct ncore_fabric *f, unsigned int slot, unsigned int side)
{
	unsigned int other;

	if (f->topology == NCORE_TOPOLOGY_RING)
		other = (slot + (side ? f->slots - 1 : 1)) % f->slots;
	else if (side)
		other = slot - 1; /* wraps to a number past the last slot */
	else
		other = slot + 1;
	return other < f->slots && other != slot ? f->chip[other] : NULL;
}

/* The lock is held; a link is down when the chip at either end says so */
static bool link_up(struct ncore_chip *chip, struct ncore_chip *other, unsigned int side)
{
	static const uint32_t down[] = { NCORE_FAULT_BIT(LINK_EAST_DOWN),
					 NCORE_FAULT_BIT(LINK_WEST_DOWN) };

	return atomic_load(&other->up) && !ncore_fault_armed(chip, down[side]) &&
	       !ncore_fault_armed(other, down[!side]);
}

/* The lock is held for writing: what the chip's status word says about its links */
static void update_one(struct ncore_fabric *f, struct ncore_chip *chip)
{
	static const uint32_t bit[] = { NEURON_MISC_FW_STATUS_EAST, NEURON_MISC_FW_STATUS_WEST };
	uint32_t old = ncore_load(&chip->links), new = 0;
	struct ncore_chip *other;
	unsigned int side;

	for (side = 0; side < 2; side++) {
		other = neighbour(f, chip->cfg.slot, side);
		if (other && link_up(chip, other, side))
			new |= bit[side];
	}
	ncore_store(&chip->links, new);
	for (side = 0; side < 2; side++)
		if ((old ^ new) & bit[side])
			ncore_event(chip, NCORE_EV_LINK, chip->cfg.slot, side, !!(new &bit[side]),
				    0);
}

static void update(struct ncore_fabric *f, struct ncore_chip *chip)
{
	unsigned int side;

	for (side = 0; side < 2; side++) {
		struct ncore_chip *other = neighbour(f, chip->cfg.slot, side);

		if (other)
			update_one(f, other);
	}
	if (f->chip[chip->cfg.slot] == chip)
		update_one(f, chip);
}

int ncore_fabric_attach(struct ncore_chip *chip)
{
	struct ncore_fabric *f = chip->cfg.fabric;
	int ret = 0;

	if (!f)
		return 0;
	if (chip->cfg.slot >= f->slots)
		return -EINVAL;
	pthread_rwlock_wrlock(&f->lock);
	if (f->chip[chip->cfg.slot]) {
		ret = -EBUSY;
	} else {
		f->chip[chip->cfg.slot] = chip;
		atomic_fetch_add(&f->refs, 1);
		update(f, chip);
	}
	pthread_rwlock_unlock(&f->lock);
	return ret;
}

void ncore_fabric_detach(struct ncore_chip *chip)
{
	struct ncore_fabric *f = chip->cfg.fabric;
	bool was;

	if (!f)
		return;
	pthread_rwlock_wrlock(&f->lock);
	was = f->chip[chip->cfg.slot] == chip;
	if (was) {
		f->chip[chip->cfg.slot] = NULL;
		update(f, chip);
	}
	pthread_rwlock_unlock(&f->lock);
	if (was)
		ncore_fabric_free(f);
}

void ncore_fabric_sync(struct ncore_chip *chip)
{
	struct ncore_fabric *f = chip->cfg.fabric;

	if (!f)
		return;
	pthread_rwlock_wrlock(&f->lock);
	update(f, chip);
	pthread_rwlock_unlock(&f->lock);
}

void ncore_fabric_lock(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		pthread_rwlock_rdlock(&chip->cfg.fabric->lock);
}

void ncore_fabric_unlock(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		pthread_rwlock_unlock(&chip->cfg.fabric->lock);
}

struct ncore_chip *ncore_fabric_peer(struct ncore_chip *chip, unsigned int side)
{
	struct ncore_chip *other;

	if (!chip->cfg.fabric)
		return NULL;
	other = neighbour(chip->cfg.fabric, chip->cfg.slot, side);
	return other && link_up(chip, other, side) ? other : NULL;
}
