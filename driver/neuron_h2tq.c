// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of a core's engine of copies that processes ask for: copy queues, which are rings of the
 * module's as the core's own is, and service queues, which are set aside for the process to set up
 * itself (neuron_queue.c). Both are its until it frees them or goes, or the core is reset. Owns the
 * `asked` part of nd->queues (nd->lock).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_h2tq.h"
#include "neuron_level.h"

struct neuron_ring {
	struct neuron_h2t h2t;
	struct kref ref; /* its queue has one, and each copy that goes through it */
	bool going; /* freed, but not off the queue yet */
};

static struct neuron_ring *ring_of(struct neuron_h2t *h2t)
{
	return container_of(h2t, struct neuron_ring, h2t);
}

static void ring_release(struct kref *ref)
{
	struct neuron_ring *ring = container_of(ref, struct neuron_ring, ref);

	neuron_h2t_destroy(&ring->h2t);
	kfree(ring);
}

static struct neuron_ring *ring_create(struct neuron_device *nd, unsigned int nc)
{
	struct neuron_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return NULL;
	kref_init(&ring->ref);
	if (!neuron_h2t_create(nd, &ring->h2t, nc, false))
		return ring;
	kfree(ring);
	return NULL;
}

void neuron_h2tq_put(struct neuron_h2t *h2t)
{
	if (h2t != &h2t->nd->h2t[h2t->nc])
		kref_put(&ring_of(h2t)->ref, ring_release);
}

static struct neuron_queue *queue_at(struct neuron_device *nd, unsigned int nc, unsigned int qid)
{
	return &nd->queues[nd->gen->copy[nc].engine][qid];
}

/* A queue of the engine that nobody has; nd->lock held */
static int queue_find(struct neuron_device *nd, unsigned int nc)
{
	unsigned int eng = nd->gen->copy[nc].engine, qid;

	for (qid = 0; qid < QUEUE_COUNT; qid++)
		if (!neuron_gen_is_copy_queue(nd->gen, eng, qid) && !nd->queues[eng][qid].used &&
		    !nd->queues[eng][qid].asked.by)
			return qid;
	return neuron_level_errno(-EPERM, -EBUSY);
}

/* nd->lock held; ring: NULL for a service queue */
static int queue_give(struct neuron_device *nd, unsigned int nc, struct neuron_ring *ring, u32 *map)
{
	int qid = queue_find(nd, nc);

	if (qid < 0)
		return qid;
	queue_at(nd, nc, qid)->asked = (struct neuron_asked){
		.by = current->tgid,
		.nc = nc,
		.ring = ring,
	};
	*map |= BIT(qid);
	if (ring) {
		ring->h2t.qid = qid;
		neuron_guard_queue(nd, nd->gen->copy[nc].engine, qid, NEURON_GUARD_HOST);
		neuron_h2t_start(&ring->h2t);
	}
	return 0;
}

/* Takes a ring off the chip; who calls has made sure that nobody else does */
static void ring_take(struct neuron_device *nd, unsigned int eng, unsigned int qid)
{
	struct neuron_ring *ring = nd->queues[eng][qid].asked.ring;

	/* a copy of another thread's comes to its end */
	mutex_lock(&ring->h2t.op_lock);
	neuron_h2t_park(&ring->h2t);
	mutex_unlock(&ring->h2t.op_lock);
	mutex_lock(&nd->lock);
	neuron_guard_queue(nd, eng, qid, NEURON_GUARD_NONE);
	nd->queues[eng][qid].asked = (struct neuron_asked){};
	mutex_unlock(&nd->lock);
	neuron_h2tq_put(&ring->h2t);
}

/* nd->lock held; result: whether a ring is to be taken */
static int queue_free(struct neuron_queue *q, unsigned int nc)
{
	if (!q->asked.by || q->asked.nc != nc || (q->asked.ring && q->asked.ring->going))
		return -ENXIO;
	if (q->asked.by != current->tgid)
		return -EACCES;
	if (q->asked.ring)
		q->asked.ring->going = true;
	else
		q->asked = (struct neuron_asked){};
	return q->asked.ring ? 1 : 0;
}

/* Frees what it can; a core's own queue may be named and stays. The last error, as public */
int neuron_h2tq_free(struct neuron_device *nd, unsigned int nc, u32 map)
{
	unsigned int eng = nd->gen->copy[nc].engine, qid;
	int ret = 0, err;

	for (qid = 0; qid < QUEUE_COUNT; qid++) {
		if (!(map & BIT(qid)) || neuron_gen_is_copy_queue(nd->gen, eng, qid))
			continue;
		mutex_lock(&nd->lock);
		err = queue_free(&nd->queues[eng][qid], nc);
		mutex_unlock(&nd->lock);
		if (err < 0)
			ret = err;
		else if (err)
			ring_take(nd, eng, qid);
	}
	return ret;
}

static int queues_give(struct neuron_device *nd, unsigned int nc, struct neuron_ring **rings,
		       unsigned int services, struct neuron_h2tq_maps *maps)
{
	unsigned int i;
	int ret;

	mutex_lock(&nd->lock);
	/* the engine feeds the core, and with it goes who has the core */
	ret = neuron_core_claim(nd, nc);
	for (i = 0; rings[i] && !ret; i++) {
		ret = queue_give(nd, nc, rings[i], &maps->copy);
		rings[i] = ret ? rings[i] : NULL;
	}
	for (i = 0; i < services && !ret; i++)
		ret = queue_give(nd, nc, NULL, &maps->service);
	mutex_unlock(&nd->lock);
	return ret;
}

/*
 * Gives all the queues or none. -EPERM or -EBUSY: there are not as many, -EACCES: the core is
 * another process's. reset_sem is held
 */
int neuron_h2tq_ask(struct neuron_device *nd, unsigned int nc, unsigned int copies,
		    unsigned int services, struct neuron_h2tq_maps *maps)
{
	struct neuron_ring *rings[QUEUE_COUNT + 1] = {};
	unsigned int i;
	int ret = 0;

	*maps = (struct neuron_h2tq_maps){};
	for (i = 0; i < copies && !ret; i++) {
		rings[i] = ring_create(nd, nc);
		ret = rings[i] ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = queues_give(nd, nc, rings, services, maps);
	if (ret)
		neuron_h2tq_free(nd, nc, maps->copy | maps->service);
	for (i = 0; i < copies; i++)
		if (rings[i])
			neuron_h2tq_put(&rings[i]->h2t);
	return ret;
}

/*
 * Finds the copy queue that a program names for a core's memory, the core's own among them;
 * neuron_h2tq_put() gives it back
 */
struct neuron_h2t *neuron_h2tq_get(struct neuron_device *nd, unsigned int nc, int qid)
{
	struct neuron_h2t *own = &nd->h2t[nc];
	struct neuron_asked *asked;
	int ret = 0;

	if (qid == NEURON_H2T_QUEUE_DEFAULT || qid == nd->gen->copy[nc].queue)
		return own;
	if (qid < 0 || qid >= QUEUE_COUNT)
		return ERR_PTR(-ENOENT);
	asked = &nd->queues[nd->gen->copy[nc].engine][qid].asked;
	mutex_lock(&nd->lock);
	if (!asked->ring || asked->nc != nc || asked->ring->going)
		ret = -ENOENT;
	else if (asked->by != current->tgid)
		ret = -EACCES;
	else
		kref_get(&asked->ring->ref);
	own = ret ? ERR_PTR(ret) : &asked->ring->h2t;
	mutex_unlock(&nd->lock);
	return own;
}

/*
 * Takes back the queues of a process, or with owner 0 those of the cores in the map. Nobody copies:
 * reset_sem is held for writing, or nobody enters any more
 */
void neuron_h2tq_stop(struct neuron_device *nd, pid_t owner, u32 nc_map)
{
	struct neuron_asked *asked;
	unsigned int nc, eng, qid;
	bool ring, hit;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		eng = nd->gen->copy[nc].engine;
		for (qid = 0; qid < QUEUE_COUNT; qid++) {
			asked = &nd->queues[eng][qid].asked;
			mutex_lock(&nd->lock);
			hit = asked->by && asked->nc == nc &&
			      (owner ? asked->by == owner : nc_map & BIT(nc));
			ring = hit && asked->ring;
			if (hit && !ring)
				*asked = (struct neuron_asked){};
			mutex_unlock(&nd->lock);
			if (ring)
				ring_take(nd, eng, qid);
		}
	}
}
