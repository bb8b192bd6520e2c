/* SPDX-License-Identifier: MIT */
/*
 * The links between chips: a topology, and a table of weak pointers to what sits in the slots.
 * Whoever reaches into a neighbour holds the lock for reading while it does; attaching and
 * detaching write. Chips keep the table alive, not each other.
 *
 * Beside it there is a table of ways: from each slot to each other one by as few links as those
 * that are up allow. Writers make it anew whenever a link came or went.
 */
#include "fabric.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC_SLOTS_MAX 256
#define FAR 0xffff /* as links: there is no way */

struct way {
	uint16_t links;
	uint16_t port; /* the first one's */
};

struct ncore_fabric {
	pthread_rwlock_t lock;
	enum neuron_topology topology;
	_Atomic unsigned int refs;
	unsigned int slots;
	unsigned int ports; /* of each slot */
	struct way *way; /* to a slot from each slot, for one after another */
	uint16_t *queue; /* a writer's: slots that the search comes to, in this order */
	struct ncore_end *end[];
};

static void table_free(struct ncore_fabric *f)
{
	free(f->way);
	free(f->queue);
	free(f);
}

int ncore_fabric_new(enum neuron_topology topology, unsigned int slots, struct ncore_fabric **out)
{
	pthread_rwlockattr_t attr;
	struct ncore_fabric *f;

	if (!slots || slots > FABRIC_SLOTS_MAX || !neuron_topology_ports(topology, slots))
		return -EINVAL;
	f = calloc(1, sizeof(*f) + slots * sizeof(f->end[0]));
	if (!f)
		return -ENOMEM;
	f->way = malloc(sizeof(*f->way) * slots * slots);
	f->queue = malloc(sizeof(*f->queue) * slots);
	if (!f->way || !f->queue) {
		table_free(f);
		return -ENOMEM;
	}
	memset(f->way, 0xff, sizeof(*f->way) * slots * slots);
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
	table_free(f);
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

static struct way *way_to(struct ncore_fabric *f, unsigned int to, unsigned int from)
{
	return &f->way[to * f->slots + from];
}

/* The slot whose port leads to this one through a link that is up; false: no such slot */
static bool comes_from(struct ncore_fabric *f, unsigned int slot, unsigned int port,
		       unsigned int *from, unsigned int *from_port)
{
	return ncore_fabric_link(f, slot, port, from, from_port) && f->end[*from] &&
	       ncore_fabric_peer(f, f->end[*from], *from_port);
}

/* The ways to one slot, from the nearest on. The caller holds the lock for writing. */
static void find_ways_to(struct ncore_fabric *f, unsigned int to)
{
	unsigned int first = 0, n = 0, port, from, from_port;
	struct way *way;

	memset(way_to(f, to, 0), 0xff, sizeof(*way) * f->slots);
	way_to(f, to, to)->links = 0;
	for (f->queue[n++] = (uint16_t)to; first < n; first++) {
		const unsigned int links = way_to(f, to, f->queue[first])->links + 1;

		for (port = 0; port < f->ports; port++) {
			if (!comes_from(f, f->queue[first], port, &from, &from_port))
				continue;
			way = way_to(f, to, from);
			if (way->links == FAR)
				f->queue[n++] = (uint16_t)from;
			if (way->links == FAR || (way->links == links && way->port > from_port))
				*way = (struct way){ (uint16_t)links, (uint16_t)from_port };
		}
	}
}

static void update(struct ncore_fabric *f, struct ncore_end *end)
{
	unsigned int port, slot, other_port;

	for (port = 0; port < f->ports; port++)
		if (ncore_fabric_link(f, end->slot, port, &slot, &other_port) && f->end[slot])
			update_one(f, f->end[slot]);
	if (f->end[end->slot] == end)
		update_one(f, end);
	for (slot = 0; slot < f->slots; slot++)
		find_ways_to(f, slot);
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

unsigned int ncore_fabric_slots(const struct ncore_fabric *f)
{
	return f->slots;
}

struct ncore_end *ncore_fabric_far(struct ncore_fabric *f, struct ncore_end *end, unsigned int slot,
				   unsigned int links_max, unsigned int *port, unsigned int *links)
{
	const struct way *way;

	if (slot >= f->slots || slot == end->slot || !f->end[slot])
		return NULL;
	way = way_to(f, slot, end->slot);
	if (way->links > links_max)
		return NULL;
	*port = way->port;
	*links = way->links;
	return f->end[slot];
}
