/* SPDX-License-Identifier: MIT */
/* DMA engines and queues of an in-process chip, as a process uses them with rings of its own */
#include "emu.h"

#include <errno.h>

#define DUMMY_LEN NEURON_UDMA_RING_MIN

/* The copies of everybody go through some engines, which a served user leaves running. */
static int engine_set(struct emu_chip *chip, uint8_t user, uint32_t eng, uint32_t state)
{
	int ret;

	if (user != EMU_OWN && neuron_gen_is_copy_engine(chip->gen, eng) &&
	    state != NEURON_UDMA_STATE_NORMAL)
		return -EACCES;
	pthread_mutex_lock(&chip->lock);
	ret = emu_claim(chip, user, neuron_gen_dma_core(chip->gen, eng));
	if (!ret)
		nhal_engine_state_set(&chip->hal, eng, state);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_eng_set_state(ndlx_device_t *dev, uint32_t eng, uint32_t state)
{
	uint32_t hw;
	int ret = nhal_engine_asked(dev->gen, eng, state, &hw);

	return ret ? ret : engine_set(emu_chip(dev), emu_user(dev), eng, hw);
}

int emu_eng_get_state(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	uint64_t addr[2];
	uint32_t v[2];
	int ret;

	if (eng >= dev->gen->dma_engines)
		return -EINVAL;
	nhal_engine_regs(dev->gen, eng, addr);
	ret = emu_reg_read(emu_chip(dev), addr, v, 2);
	if (!ret)
		nhal_engine_answer(v, state);
	return ret;
}

/* Checks the chunk of a ring; handle 0 is no ring. */
static int ring_check(struct emu_chip *chip, uint8_t user, uint64_t handle, uint32_t count)
{
	struct emu_chunk *c;
	int ret;

	if (!handle)
		return 0;
	c = emu_chunk_find(chip, user, handle, &ret);
	if (c &&
	    (!nhal_ring_valid(c->addr, count) || (uint64_t)count * NEURON_UDMA_DESC_SIZE > c->size))
		ret = -EINVAL;
	return ret;
}

static uint64_t ring_addr(struct emu_chip *chip, uint64_t handle)
{
	struct emu_chunk *c = emu_chunk_get(chip, handle);

	return c ? c->addr : 0;
}

/* The lock is held. */
static void queue_program(struct emu_chip *chip, uint8_t user, const struct ndlx_queue_params *p)
{
	struct emu_queue *q = &chip->queue[p->eng][p->qid];

	struct emu_queue old = *q;

	*q = (struct emu_queue){ user, p->tx_handle, p->rx_handle, p->tx_count, p->rx_count };
	if (old.user != user && user != EMU_NOBODY)
		emu_guard_queue(chip, p->eng, p->qid, user);
	emu_chunk_hold(chip, q->tx_handle, true);
	emu_chunk_hold(chip, q->rx_handle, true);
	nhal_queue_init(&chip->hal, p->eng, p->qid, ring_addr(chip, p->tx_handle),
			p->tx_handle ? p->tx_count : DUMMY_LEN, ring_addr(chip, p->rx_handle),
			p->rx_handle ? p->rx_count : DUMMY_LEN);
	if (old.user != user && user == EMU_NOBODY)
		emu_guard_queue(chip, p->eng, p->qid, user);
	/* the chip has the new rings now */
	emu_chunk_hold(chip, old.tx_handle, false);
	emu_chunk_hold(chip, old.rx_handle, false);
}

static int queue_take(struct emu_chip *chip, uint8_t user, const struct ndlx_queue_params *p)
{
	int ret = nhal_queue_check(chip->gen, p->eng, p->qid);

	if (!ret && neuron_gen_is_copy_queue(chip->gen, p->eng, p->qid))
		ret = -EACCES;
	if (!ret)
		ret = ring_check(chip, user, p->tx_handle, p->tx_count);
	if (!ret)
		ret = ring_check(chip, user, p->rx_handle, p->rx_count);
	/* a user gives its queues back before its cores: who has the core has its queues */
	if (!ret)
		ret = emu_claim(chip, user, neuron_gen_queue_core(chip->gen, p->eng, p->qid));
	if (!ret)
		queue_program(chip, user, p);
	return ret;
}

int emu_queue_init(ndlx_device_t *dev, const struct ndlx_queue_params *p, uint32_t count)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = 0;

	pthread_mutex_lock(&chip->lock);
	for (uint32_t i = 0; !ret && i < count; i++)
		ret = queue_take(chip, emu_user(dev), &p[i]);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/* Is the queue the user's? 0, -EINVAL (it is nobody's) or -EACCES */
static int queue_own(struct emu_chip *chip, uint8_t user, uint32_t eng, uint32_t qid)
{
	const struct emu_queue *q = &chip->queue[eng][qid];

	if (neuron_gen_is_copy_queue(chip->gen, eng, qid) || q->user == EMU_NOBODY)
		return -EINVAL;
	return q->user == user ? 0 : -EACCES;
}

int emu_queue_release(ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	const struct ndlx_queue_params p = { .eng = eng, .qid = qid };
	struct emu_chip *chip = emu_chip(dev);
	int ret = nhal_queue_check(chip->gen, eng, qid);

	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	ret = queue_own(chip, emu_user(dev), eng, qid);
	if (!ret)
		queue_program(chip, EMU_NOBODY, &p);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

void emu_queues_stop(struct emu_chip *chip, uint8_t user)
{
	struct ndlx_queue_params p = { 0 };

	pthread_mutex_lock(&chip->lock);
	for (p.eng = 0; p.eng < chip->gen->dma_engines; p.eng++)
		for (p.qid = 0; p.qid < NEURON_DMA_QUEUES_PER_ENG; p.qid++)
			if (chip->queue[p.eng][p.qid].user == user)
				queue_program(chip, EMU_NOBODY, &p);
	pthread_mutex_unlock(&chip->lock);
}

/* The lock is held: counts the models that a start of the ring starts. */
static void models_count(struct emu_chip *chip, const struct emu_chunk *rx)
{
	for (unsigned int nc = 0; rx && nc < chip->gen->cores; nc++)
		chip->nc[nc].started += rx->models >> nc & 1;
}

int emu_queue_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx, uint32_t rx)
{
	struct emu_chip *chip = emu_chip(dev);
	const struct emu_queue *q;
	int ret = nhal_queue_check(chip->gen, eng, qid);

	if (ret)
		return ret;
	q = &chip->queue[eng][qid];
	pthread_mutex_lock(&chip->lock);
	ret = queue_own(chip, emu_user(dev), eng, qid);
	if (!ret)
		ret = nhal_start_check(&(struct nhal_rings){ q->tx_handle ? q->tx_count : 0,
							     q->rx_handle ? q->rx_count : 0 },
				       tx, rx);
	if (!ret)
		models_count(chip, emu_chunk_get(chip, q->rx_handle));
	pthread_mutex_unlock(&chip->lock);
	if (!ret)
		nhal_queue_start(&chip->hal, eng, qid, tx, rx);
	return ret;
}

/* Has somebody initialised it? */
static bool queue_enabled(struct emu_chip *chip, uint32_t eng, uint32_t qid)
{
	bool used;

	pthread_mutex_lock(&chip->lock);
	used = chip->queue[eng][qid].user != EMU_NOBODY;
	pthread_mutex_unlock(&chip->lock);
	return used || neuron_gen_is_copy_queue(chip->gen, eng, qid);
}

static int half_state(struct emu_chip *chip, uint32_t eng, uint32_t qid, enum nhal_half half,
		      struct neuron_dma_queue_state *s)
{
	uint64_t addr[NHAL_QUEUE_REGS];
	uint32_t v[NHAL_QUEUE_REGS];
	int ret;

	nhal_queue_regs(chip->gen, eng, half, qid, addr);
	ret = emu_reg_read(chip, addr, v, NHAL_QUEUE_REGS);
	if (!ret)
		nhal_queue_answer(v, queue_enabled(chip, eng, qid), s);
	return ret;
}

int emu_queue_state(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
		    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	int ret = nhal_queue_check(dev->gen, eng, qid);

	if (!ret)
		ret = half_state(emu_chip(dev), eng, qid, NHAL_M2S, tx);
	return ret ? ret : half_state(emu_chip(dev), eng, qid, NHAL_S2M, rx);
}

struct user_of {
	struct emu_chip *chip;
	uint8_t user;
};

static bool host_owned(void *opaque, uint64_t addr, uint32_t len)
{
	const struct user_of *of = opaque;

	return emu_host_valid(&of->chip->machine->host, of->user,
			      nhal_host_physical(of->chip->gen, addr), len);
}

int emu_copy_descs(ndlx_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
		   uint32_t count, enum neuron_dma_queue_type type)
{
	struct emu_chip *chip = emu_chip(dev);
	uint64_t size = (uint64_t)count * NEURON_UDMA_DESC_SIZE;
	struct emu_chunk *c;
	struct user_of of = { chip, emu_user(dev) };
	const struct nhal_owner owner = { host_owned, &of };
	uint32_t models;
	int ret =
		nhal_descs_check(chip->gen,
				 &(struct nhal_descs){ descs, count, type == NEURON_DMA_QUEUE_RX },
				 &owner, &models);

	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_find(chip, emu_user(dev), handle, &ret);
	if (c && !ndlx_range_ok(offset, size, c->size))
		ret = -EINVAL;
	if (!ret)
		c->models |= models;
	pthread_mutex_unlock(&chip->lock);
	return ret ? ret
		   : emu_buf_copy(dev, handle, (void *)(uintptr_t)descs, offset, size, true, false);
}

int emu_descs_out(ndlx_device_t *dev, uint32_t eng, uint32_t qid, enum neuron_dma_queue_type type,
		  uint32_t start, uint32_t count, void *descs)
{
	struct emu_chip *chip = emu_chip(dev);
	const struct emu_queue *q;
	uint64_t handle;
	uint32_t len;
	int ret = nhal_queue_check(chip->gen, eng, qid);

	if (ret || !count || type == NEURON_DMA_QUEUE_COMPLETION)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	q = &chip->queue[eng][qid];
	handle = type == NEURON_DMA_QUEUE_TX ? q->tx_handle : q->rx_handle;
	len = type == NEURON_DMA_QUEUE_TX ? q->tx_count : q->rx_count;
	pthread_mutex_unlock(&chip->lock);
	if (!ndlx_range_ok(start, count, len))
		return -EFBIG;
	return emu_buf_copy(dev, handle, descs, (uint64_t)start * NEURON_UDMA_DESC_SIZE,
			    (uint64_t)count * NEURON_UDMA_DESC_SIZE, false, false);
}
