/* SPDX-License-Identifier: MIT */
/* DMA engines and queues of an in-process chip, as a process uses them with rings of its own */
#include "emu.h"

#include <errno.h>

#define DUMMY_LEN NEURON_UDMA_RING_MIN

static int queue_check(const struct emu_chip *chip, uint32_t eng, uint32_t qid)
{
	return eng >= chip->gen->dma_engines || qid >= NEURON_DMA_QUEUES_PER_ENG ? -EINVAL : 0;
}

int emu_eng_set_state(ndl_device_t *dev, uint32_t eng, uint32_t state)
{
	static const uint32_t hw[] = { [0] = NEURON_UDMA_STATE_DISABLE,
				       [2] = NEURON_UDMA_STATE_NORMAL,
				       [3] = NEURON_UDMA_STATE_ABORT };

	if (eng >= dev->gen->dma_engines || state > 3 || !hw[state])
		return -EINVAL;
	nhal_engine_state_set(&emu_chip(dev)->hal, eng, hw[state]);
	return 0;
}

int emu_eng_get_state(ndl_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	uint64_t base = neuron_gen_address(dev->gen, NEURON_BLOCK_UDMA, eng), addr[2];
	uint32_t v[2];
	int ret;

	if (eng >= dev->gen->dma_engines)
		return -EINVAL;
	addr[0] = base + NEURON_UDMA_M2S_STATE;
	addr[1] = base + NEURON_UDMA_S2M_STATE;
	ret = emu_reg_read(emu_chip(dev), addr, v, 2);
	if (ret)
		return ret;
	/* state 1 is idle, 2 is running */
	*state = (struct neuron_dma_eng_state){ 4, NEURON_DMA_QUEUES_PER_ENG,
						NEURON_DMA_QUEUES_PER_ENG, v[0] ? 2 : 1,
						v[1] ? 2 : 1 };
	return 0;
}

/* Checks the chunk of a ring; handle 0 is no ring. */
static int ring_check(struct emu_chip *chip, uint64_t handle, uint32_t count)
{
	struct emu_chunk *c;

	if (!handle)
		return 0;
	c = emu_chunk_get(chip, handle);
	if (!c || !nhal_ring_valid(c->addr, count) ||
	    (uint64_t)count * NEURON_UDMA_DESC_SIZE > c->size)
		return -EINVAL;
	return 0;
}

static uint64_t ring_addr(struct emu_chip *chip, uint64_t handle)
{
	struct emu_chunk *c = emu_chunk_get(chip, handle);

	return c ? c->addr : 0;
}

/* The lock is held. */
static void queue_program(struct emu_chip *chip, const struct ndl_queue_params *p)
{
	struct emu_queue *q = &chip->queue[p->eng][p->qid];

	struct emu_queue old = *q;

	*q = (struct emu_queue){ p->tx_handle, p->rx_handle, p->tx_count, p->rx_count };
	emu_chunk_hold(chip, q->tx_handle, true);
	emu_chunk_hold(chip, q->rx_handle, true);
	nhal_queue_init(&chip->hal, p->eng, p->qid, ring_addr(chip, p->tx_handle),
			p->tx_handle ? p->tx_count : DUMMY_LEN, ring_addr(chip, p->rx_handle),
			p->rx_handle ? p->rx_count : DUMMY_LEN);
	/* the chip has the new rings now */
	emu_chunk_hold(chip, old.tx_handle, false);
	emu_chunk_hold(chip, old.rx_handle, false);
}

int emu_queue_init(ndl_device_t *dev, const struct ndl_queue_params *p, uint32_t count)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = 0;

	pthread_mutex_lock(&chip->lock);
	for (uint32_t i = 0; !ret && i < count; i++) {
		ret = queue_check(chip, p[i].eng, p[i].qid);
		if (!ret && neuron_gen_is_copy_queue(chip->gen, p[i].eng, p[i].qid))
			ret = -EACCES;
		if (!ret)
			ret = ring_check(chip, p[i].tx_handle, p[i].tx_count);
		if (!ret)
			ret = ring_check(chip, p[i].rx_handle, p[i].rx_count);
		if (!ret)
			queue_program(chip, &p[i]);
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_queue_release(ndl_device_t *dev, uint32_t eng, uint32_t qid)
{
	struct ndl_queue_params p = { .eng = eng, .qid = qid };

	return emu_queue_init(dev, &p, 1);
}

void emu_queues_stop(struct emu_chip *chip)
{
	struct ndl_queue_params p = { 0 };

	pthread_mutex_lock(&chip->lock);
	for (p.eng = 0; p.eng < chip->gen->dma_engines; p.eng++)
		for (p.qid = 0; p.qid < NEURON_DMA_QUEUES_PER_ENG; p.qid++)
			if (chip->queue[p.eng][p.qid].tx_handle ||
			    chip->queue[p.eng][p.qid].rx_handle)
				queue_program(chip, &p);
	pthread_mutex_unlock(&chip->lock);
}

int emu_queue_start(ndl_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx, uint32_t rx)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_chunk *rx_ring;
	int ret = queue_check(chip, eng, qid);

	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	rx_ring = emu_chunk_get(chip, chip->queue[eng][qid].rx_handle);
	if (neuron_gen_is_copy_queue(chip->gen, eng, qid) || !rx_ring)
		ret = -EINVAL;
	else if (rx_ring->feeds_pe)
		chip->nc[neuron_gen_queue_core(chip->gen, eng, qid)].started++;
	pthread_mutex_unlock(&chip->lock);
	if (!ret)
		nhal_queue_start(&chip->hal, eng, qid, tx, rx);
	return ret;
}

static int half_state(struct emu_chip *chip, uint32_t eng, uint32_t qid, enum nhal_half half,
		      struct neuron_dma_queue_state *s)
{
	uint64_t addr[NHAL_QUEUE_REGS];
	uint32_t v[NHAL_QUEUE_REGS];
	int ret;

	nhal_queue_regs(chip->gen, eng, half, qid, addr);
	ret = emu_reg_read(chip, addr, v, NHAL_QUEUE_REGS);
	if (ret)
		return ret;
	memset(s, 0, sizeof(*s));
	s->hw_status = v[0];
	s->sw_status = v[3] ? 2 : 0;
	s->base_addr = (uint64_t)v[2] << 32 | v[1];
	s->length = v[3];
	s->head_pointer = v[4];
	s->tail_pointer = v[5];
	return 0;
}

int emu_queue_state(ndl_device_t *dev, uint32_t eng, uint32_t qid,
		    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	int ret = queue_check(emu_chip(dev), eng, qid);

	if (!ret)
		ret = half_state(emu_chip(dev), eng, qid, NHAL_M2S, tx);
	return ret ? ret : half_state(emu_chip(dev), eng, qid, NHAL_S2M, rx);
}

/* Checks that descriptors name memory of this process, and notes whether the ring feeds PE. */
static int descs_check(struct emu_chip *chip, const uint8_t *d, uint32_t count, bool *feeds_pe)
{
	*feeds_pe = false;
	for (uint32_t i = 0; i < count; i++, d += NEURON_UDMA_DESC_SIZE) {
		uint64_t addr = nhal_desc_addr(d);
		unsigned int nc;

		if (nhal_addr_is_host(chip->gen, addr) &&
		    !emu_host_valid(&chip->machine->host, nhal_host_physical(chip->gen, addr),
				    nhal_desc_len(d)))
			return -EINVAL;
		if (!nhal_addr_to_core(chip->gen, addr, 1, &nc) &&
		    nhal_addr_is_fifo(chip->gen, addr, nc, NEURON_ENG_PE))
			*feeds_pe = true;
	}
	return 0;
}

int emu_copy_descs(ndl_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
		   uint32_t count, enum neuron_dma_queue_type type)
{
	struct emu_chip *chip = emu_chip(dev);
	uint64_t size = (uint64_t)count * NEURON_UDMA_DESC_SIZE;
	struct emu_chunk *c;
	bool feeds_pe;
	int ret = descs_check(chip, descs, count, &feeds_pe);

	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	c = emu_chunk_get(chip, handle);
	if (!c || !ndl_range_ok(offset, size, c->size))
		ret = -EINVAL;
	else if (feeds_pe && type == NEURON_DMA_QUEUE_RX)
		c->feeds_pe = true;
	pthread_mutex_unlock(&chip->lock);
	return ret ? ret
		   : emu_buf_copy(dev, handle, (void *)(uintptr_t)descs, offset, size, true, false);
}

int emu_descs_out(ndl_device_t *dev, uint32_t eng, uint32_t qid, enum neuron_dma_queue_type type,
		  uint32_t start, uint32_t count, void *descs)
{
	struct emu_chip *chip = emu_chip(dev);
	const struct emu_queue *q;
	uint64_t handle;
	uint32_t len;
	int ret = queue_check(chip, eng, qid);

	if (ret || !count || type == NEURON_DMA_QUEUE_COMPLETION)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	q = &chip->queue[eng][qid];
	handle = type == NEURON_DMA_QUEUE_TX ? q->tx_handle : q->rx_handle;
	len = type == NEURON_DMA_QUEUE_TX ? q->tx_count : q->rx_count;
	pthread_mutex_unlock(&chip->lock);
	if (!ndl_range_ok(start, count, len))
		return -EFBIG;
	return emu_buf_copy(dev, handle, descs, (uint64_t)start * NEURON_UDMA_DESC_SIZE,
			    (uint64_t)count * NEURON_UDMA_DESC_SIZE, false, false);
}
