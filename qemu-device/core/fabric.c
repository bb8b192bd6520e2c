/* SPDX-License-Identifier: MIT */
/*
 * The links between chips: a topology, and a table of weak pointers to what sits in the slots.
 * Whoever reaches into a neighbour holds the lock for reading while it does; attaching and
 * detaching write. Chips keep the table alive, not each other.
 */
#include "fabric.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define FABRIC_SLOTS_MAX 256

struct ncore_fabric {
	pthread_rwlock_t lock;
	enum neuron_topology topology;
	_Atomic unsigned int refs;
	unsigned int slots;
	unsigned int ports; /* of each slot */
	struct ncore_end *end[];
};

int ncore_fabric_new(enum neuron_topology topology, unsigned int slots, struct ncore_fabric **out)
{
	pthread_rwlockattr_t attr;
	struct ncore_fabric *f;

	if (!slots || slots > FABRIC_SLOTS_MAX || !neuron_topology_ports(topology, slots))
		return -EINVAL;
	f = calloc(1, sizeof(*f) + slots * sizeof(f->end[0]));
	if (!f)
		return -ENOMEM;
	/* Resets and detaches must not starve behind chips that copy to each other all the time. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&f->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	f->topology = topology;
	f->slots = slots;
	f->ports = neuron_topology_ports(topology, slots);
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

bool ncore_fabric_link(const struct ncore_fabric *f, unsigned int slot, unsigned int port,
		       unsigned int *other, unsigned int *other_port)
{
	return neuron_topology_link(f->topology, f->slots, slot, port, other, other_port);
}

/* The caller holds the lock. A link is broken when either of its ends says so. */
struct ncore_end *ncore_fabric_peer(struct ncore_fabric *f, struct ncore_end *end,
				    unsigned int port)
{
	unsigned int slot, other_port;
	struct ncore_end *other;

	if (!ncore_fabric_link(f, end->slot, port, &slot, &other_port))
		return NULL;
	other = f->end[slot];
	if (!other || !other->ops->up(other) || !end->ops->port_up(end, port) ||
	    !other->ops->port_up(other, other_port))
		return NULL;
	return other;
}

/* The caller holds the lock for writing. */
static void update_one(struct ncore_fabric *f, struct ncore_end *end)
{
	unsigned int port;
	uint32_t up = 0;

	for (port = 0; port < f->ports; port++)
		if (ncore_fabric_peer(f, end, port))
			up |= 1u << port;
	end->ops->links(end, up);
}

static void update(struct ncore_fabric *f, struct ncore_end *end)
{
	unsigned int port, slot, other_port;

	for (port = 0; port < f->ports; port++)
		if (ncore_fabric_link(f, end->slot, port, &slot, &other_port) && f->end[slot])
			update_one(f, f->end[slot]);
	if (f->end[end->slot] == end)
		update_one(f, end);
}

int ncore_fabric_attach(struct ncore_fabric *f, struct ncore_end *end)
{
	int ret = 0;

	if (end->slot >= f->slots || end->ports < f->ports)
		return -EINVAL;
	pthread_rwlock_wrlock(&f->lock);
	if (f->end[end->slot]) {
		ret = -EBUSY;
	} else {
		f->end[end->slot] = end;
		atomic_fetch_add(&f->refs, 1);
		update(f, end);
	}
	pthread_rwlock_unlock(&f->lock);
	return ret;
}

bool ncore_fabric_detach(struct ncore_fabric *f, struct ncore_end *end)
{
	bool was;

	pthread_rwlock_wrlock(&f->lock);
	was = f->end[end->slot] == end;
	if (was) {
		f->end[end->slot] = NULL;
		update(f, end);
	}
	pthread_rwlock_unlock(&f->lock);
	if (was)
		ncore_fabric_free(f);
	return was;
}

void ncore_fabric_sync(struct ncore_fabric *f, struct ncore_end *end)
{
	pthread_rwlock_wrlock(&f->lock);
	update(f, end);
	pthread_rwlock_unlock(&f->lock);
}

void ncore_fabric_lock(struct ncore_fabric *f)
{
	pthread_rwlock_rdlock(&f->lock);
}

void ncore_fabric_unlock(struct ncore_fabric *f)
{
	pthread_rwlock_unlock(&f->lock);
}
