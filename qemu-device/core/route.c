/* SPDX-License-Identifier: MIT */
/*
 * Device addresses: what lies behind one, and copies between two. Every address here came from a
 * guest; a hole is -EFAULT. Called by dma.c for descriptors, by the mailbox for reads and by
 * notify.c.
 */
#include "chip.h"

#include <errno.h>
#include <string.h>

#define BOUNCE 4096

static int route_tpb(struct ncore_chip *chip, uint64_t off, struct ncore_ep *ep)
{
	struct ncore_core *core = &chip->core[off / NEURON_V1_TPB_SIZE];
	uint64_t part, in;

	ep->core = (unsigned int)(off / NEURON_V1_TPB_SIZE);
	off %= NEURON_V1_TPB_SIZE;
	if (off < (uint64_t)NEURON_PARTITIONS * NEURON_SBUF_PART_STRIDE) {
		part = off / NEURON_SBUF_PART_STRIDE;
		in = off % NEURON_SBUF_PART_STRIDE;
		if (in >= NEURON_V1_SBUF_PART_SIZE)
			return -EFAULT;
		ep->kind = NCORE_EP_MEM;
		ep->mem = &core->sbuf;
		ep->ptr = core->sbuf.ptr + part * NCORE_SBUF_STRIDE + in;
		ep->len = NEURON_V1_SBUF_PART_SIZE - in;
		return 0;
	}
	if (off - NEURON_PSUM_OFFSET < (uint64_t)NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE) {
		off -= NEURON_PSUM_OFFSET;
		part = off / NEURON_PSUM_PART_STRIDE;
		in = off % NEURON_PSUM_PART_STRIDE;
		ep->kind = NCORE_EP_MEM;
		ep->mem = &core->psum;
		ep->ptr = core->psum.ptr + part * NCORE_PSUM_STRIDE + in;
		ep->len = NEURON_PSUM_PART_SIZE - in;
		return 0;
	}
	if (off >= NEURON_V1_TPB_FIFO(0) && off < NEURON_V1_TPB_FIFO(NEURON_ENG_COUNT)) {
		off -= NEURON_V1_TPB_FIFO(0);
		ep->kind = NCORE_EP_FIFO;
		ep->engine = (unsigned int)(off / NEURON_V1_TPB_FIFO_SIZE);
		/* writes append whatever their offset: only the window's end ends a run */
		ep->len = NEURON_V1_TPB_FIFO_SIZE - off % NEURON_V1_TPB_FIFO_SIZE;
		return 0;
	}
	ep->kind = NCORE_EP_WORD;
	if (off >= NEURON_V1_TPB_EVENTS && off < NEURON_V1_TPB_EVENTS + 4 * NEURON_V1_EVENTS)
		ep->len = NEURON_V1_TPB_EVENTS + 4 * NEURON_V1_EVENTS - off;
	else if (off >= NEURON_V1_TPB_SEM_READ && off < NEURON_V1_TPB_SEM_READ + 0x400 &&
		 off % 0x100 < NEURON_V1_TPB_SEM_APERTURE)
		ep->len = NEURON_V1_TPB_SEM_APERTURE - off % 0x100;
	else
		return -EFAULT;
	return 0;
}

int ncore_route_local(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	uint64_t a = addr & ~NEURON_V1_AXI_PORT1;
	unsigned int ch;

	ep->chip = chip;
	ep->addr = a;
	for (ch = 0; ch < NEURON_V1_DRAM_CHANNELS; ch++) {
		uint64_t off = a - (ch ? NEURON_V1_DRAM1_BASE : NEURON_V1_DRAM0_BASE);

		if (off >= NEURON_V1_DRAM_CHANNEL_SIZE)
			continue;
		ep->kind = NCORE_EP_MEM;
		ep->mem = &chip->dram;
		ep->ptr = chip->dram.ptr + ch * NEURON_V1_DRAM_CHANNEL_SIZE + off;
		ep->len = NEURON_V1_DRAM_CHANNEL_SIZE - off;
		return 0;
	}
	if (a - NEURON_V1_TPB_BASE < NCORE_CORES * NEURON_V1_TPB_SIZE)
		return route_tpb(chip, a - NEURON_V1_TPB_BASE, ep);
	if (a - NEURON_V1_APB_BASE < NEURON_V1_BAR0_SIZE) {
		ep->kind = NCORE_EP_WORD;
		ep->len = NEURON_V1_BAR0_SIZE - (a - NEURON_V1_APB_BASE);
		return 0;
	}
	return -EFAULT;
}

/* The whole 64-bit space; fabric->lock is held for reading when addr names a neighbour's window */
static int route(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	uint64_t window = addr & NEURON_V1_WINDOW_MASK;
	uint64_t low = addr & ((1ull << NEURON_V1_WINDOW_SHIFT) - 1);

	if (addr >> (NEURON_V1_WINDOW_SHIFT + 2))
		return -EFAULT;
	if (window == NEURON_V1_WINDOW_LOCAL)
		return ncore_route_local(chip, low, ep);
	if (window == NEURON_V1_WINDOW_HOST) {
		ep->kind = NCORE_EP_HOST;
		ep->chip = chip;
		ep->addr = low;
		ep->len = (1ull << NEURON_V1_WINDOW_SHIFT) - low;
		return 0;
	}
	chip = ncore_fabric_peer(chip, window == NEURON_V1_WINDOW_WEST);
	return chip ? ncore_route_local(chip, low, ep) : -EFAULT;
}

static bool is_remote(uint64_t addr)
{
	return (addr & NEURON_V1_WINDOW_MASK) >= NEURON_V1_WINDOW_EAST;
}

int ncore_route_own(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	return is_remote(addr) ? -EFAULT : route(chip, addr, ep);
}

int ncore_ep_rw(struct ncore_chip *chip, const struct ncore_ep *ep, void *buf, uint64_t len,
		bool write)
{
	if (len > ep->len)
		return -EFAULT;
	if (ep->kind == NCORE_EP_HOST)
		return chip->ops->dma_rw(chip->cfg.opaque, ep->addr, buf, len, write) ? -EFAULT : 0;
	if (ep->kind != NCORE_EP_MEM)
		return -EFAULT;
	if (write) {
		memmove(ep->ptr, buf, len);
		ncore_mem_dirty(ep->chip, ep->mem, ep->ptr, len);
	} else {
		memmove(buf, ep->ptr, len);
	}
	return 0;
}

/* Words: registers, semaphores and events, by local device address */

uint32_t ncore_word_read(struct ncore_chip *chip, uint64_t local)
{
	struct tpb *tpb;
	uint64_t off;

	if (local >= NEURON_V1_APB_BASE)
		return ncore_apb_read(chip, local - NEURON_V1_APB_BASE);
	off = local - NEURON_V1_TPB_BASE;
	tpb = chip->core[off / NEURON_V1_TPB_SIZE].tpb;
	off %= NEURON_V1_TPB_SIZE;
	if (off < NEURON_V1_TPB_SEM_READ)
		return tpb_event_read(tpb, (unsigned int)(off - NEURON_V1_TPB_EVENTS) / 4);
	if (off < NEURON_V1_TPB_SEM_SET)
		return tpb_sem_read(tpb, (unsigned int)(off - NEURON_V1_TPB_SEM_READ) / 4);
	return 0;
}

int ncore_core_word(uint64_t local)
{
	uint64_t off = local - NEURON_V1_TPB_BASE;
	unsigned int core = (unsigned int)(off / NEURON_V1_TPB_SIZE);

	if (local < NEURON_V1_TPB_BASE || off >= NCORE_CORES * NEURON_V1_TPB_SIZE || local & 3)
		return -1;
	off %= NEURON_V1_TPB_SIZE;
	if (off >= NEURON_V1_TPB_EVENTS && off < NEURON_V1_TPB_EVENTS + 4 * NEURON_V1_EVENTS)
		return (int)core;
	if (off >= NEURON_V1_TPB_SEM_SET && off < NEURON_V1_TPB_SEM_DEC + 0x100 &&
	    off % 0x100 < NEURON_V1_TPB_SEM_APERTURE)
		return (int)core;
	return -1;
}

void ncore_core_word_write(struct ncore_lane *lane, uint64_t local, uint32_t value, uint64_t time)
{
	uint64_t off = (local - NEURON_V1_TPB_BASE) % NEURON_V1_TPB_SIZE;
	unsigned int index;
	enum tpb_sem_op op;
	uint32_t old;

	if (off < NEURON_V1_TPB_SEM_READ) {
		index = (unsigned int)(off - NEURON_V1_TPB_EVENTS) / 4;
		tpb_event_write(lane->tpb, index, value, time);
		return;
	}
	index = (unsigned int)(off % 0x100) / 4;
	old = tpb_sem_read(lane->tpb, index);
	op = off < NEURON_V1_TPB_SEM_INC   ? TPB_SEM_SET
	     : off < NEURON_V1_TPB_SEM_DEC ? TPB_SEM_INC
					   : TPB_SEM_DEC;
	tpb_sem_write(lane->tpb, op, index, value, time);
	ncore_event(lane->chip, NCORE_EV_SEMAPHORE, lane->index, index, old,
		    tpb_sem_read(lane->tpb, index));
}

int ncore_device_read32(struct ncore_chip *chip, uint64_t addr, uint32_t *value)
{
	struct ncore_ep ep;
	uint8_t word[4];
	int ret;

	if (addr & 3)
		return -EFAULT;
	if (is_remote(addr))
		ncore_fabric_lock(chip);
	ret = route(chip, addr, &ep);
	if (!ret && ep.kind == NCORE_EP_WORD) {
		*value = ncore_word_read(ep.chip, ep.addr);
	} else if (!ret && ep.kind == NCORE_EP_FIFO) {
		*value = 0;
	} else if (!ret) {
		ret = ncore_ep_rw(chip, &ep, word, sizeof(word), false);
		*value = ret ? 0 : ncore_get32(word);
	}
	if (is_remote(addr))
		ncore_fabric_unlock(chip);
	return ret;
}

/* Copies */

static int fail(struct ncore_copy *c, uint64_t addr)
{
	c->bad = addr;
	return -EFAULT;
}

static int wait_for(struct ncore_copy *c, enum ncore_step why)
{
	c->why = why;
	return -EAGAIN;
}

/* Memory-like source and destination: never through a buffer but from host to host */
static int copy_bulk(struct ncore_chip *chip, struct ncore_ep *src, struct ncore_ep *dst,
		     struct ncore_copy *c, uint64_t len)
{
	uint8_t bounce[BOUNCE];

	if (src->kind == NCORE_EP_MEM) {
		if (ncore_ep_rw(chip, dst, src->ptr, len, true))
			return fail(c, c->dst);
	} else if (dst->kind == NCORE_EP_MEM) {
		if (ncore_ep_rw(chip, src, dst->ptr, len, false))
			return fail(c, c->src);
		ncore_mem_dirty(dst->chip, dst->mem, dst->ptr, len);
	} else {
		if (len > BOUNCE)
			len = BOUNCE;
		if (ncore_ep_rw(chip, src, bounce, len, false))
			return fail(c, c->src);
		if (ncore_ep_rw(chip, dst, bounce, len, true))
			return fail(c, c->dst);
	}
	c->done = len;
	return 0;
}

static int read_words(struct ncore_chip *chip, struct ncore_ep *src, struct ncore_copy *c,
		      uint8_t *buf, uint64_t len)
{
	uint64_t i;

	if (src->kind == NCORE_EP_MEM || src->kind == NCORE_EP_HOST)
		return ncore_ep_rw(chip, src, buf, len, false) ? fail(c, c->src) : 0;
	if (src->kind != NCORE_EP_WORD || (src->addr | len) & 3)
		return fail(c, c->src);
	for (i = 0; i < len; i += 4)
		ncore_put32(buf + i, ncore_word_read(src->chip, src->addr + i));
	return 0;
}

static int write_word(struct ncore_lane *lane, struct ncore_ep *dst, uint64_t local, uint32_t value,
		      uint64_t time)
{
	int core = ncore_core_word(local);
	struct ncore_post post = { .addr = local, .value = value, .time = time };

	if (core < 0) {
		if (local < NEURON_V1_APB_BASE || dst->chip != lane->chip)
			return -EACCES;
		return ncore_apb_post(lane->chip, lane, local - NEURON_V1_APB_BASE, value, time);
	}
	if (dst->chip == lane->chip && (unsigned int)core == lane->index) {
		ncore_core_word_write(lane, local, value, time);
		return 0;
	}
	return ncore_lane_post(&dst->chip->lane[core], &post);
}

static int copy_to_words(struct ncore_lane *lane, struct ncore_ep *dst, struct ncore_copy *c,
			 const uint8_t *buf, uint64_t len)
{
	uint64_t i;
	int ret;

	if ((dst->addr | len) & 3)
		return fail(c, c->dst);
	for (i = 0; i < len; i += 4) {
		if (!ncore_guard_word(dst->chip, c->domain, dst->addr + i))
			return fail(c, c->dst + i);
		ret = write_word(lane, dst, dst->addr + i, ncore_get32(buf + i), c->time);
		if (ret == -EAGAIN)
			return i ? 0 : wait_for(c, NCORE_STEP_RETRY);
		if (ret)
			return fail(c, c->dst + i);
		c->done += 4;
	}
	return 0;
}

static int fifo_ready(struct ncore_lane *lane, struct ncore_ep *dst, struct ncore_copy *c,
		      uint64_t *len)
{
	uint64_t space;

	if (dst->chip != lane->chip)
		return fail(c, c->dst);
	if (dst->core != lane->index) {
		c->move = dst->core;
		return wait_for(c, NCORE_STEP_MOVE);
	}
	space = (uint64_t)tpb_fifo_space(lane->tpb, dst->engine) * NEURON_INSN_WORD;
	if (!space) {
		c->stall_engine = dst->engine;
		return wait_for(c, NCORE_STEP_STALLED);
	}
	if (*len > space)
		*len = space;
	*len -= *len % NEURON_INSN_WORD;
	if (!*len) {
		ncore_notify(lane->chip, lane->index, NEURON_NQ_ERROR, dst->engine,
			     NEURON_NERR_FIFO_WRITE, 0, c->dst, (uint32_t)c->len, c->time);
		return fail(c, c->dst);
	}
	return 0;
}

static int copy_special(struct ncore_lane *lane, struct ncore_ep *src, struct ncore_ep *dst,
			struct ncore_copy *c, uint64_t len)
{
	uint8_t buf[BOUNCE];
	int ret;

	if (len > BOUNCE)
		len = BOUNCE;
	if (dst->kind == NCORE_EP_FIFO) {
		ret = fifo_ready(lane, dst, c, &len);
		if (ret)
			return ret;
	}
	ret = read_words(lane->chip, src, c, buf, len);
	if (ret)
		return ret;
	switch (dst->kind) {
	case NCORE_EP_FIFO:
		tpb_fifo_push(lane->tpb, dst->engine, buf, (unsigned int)(len / NEURON_INSN_WORD),
			      c->time);
		c->done = len;
		return 0;
	case NCORE_EP_WORD:
		return copy_to_words(lane, dst, c, buf, len);
	default:
		if (ncore_ep_rw(lane->chip, dst, buf, len, true))
			return fail(c, c->dst);
		c->done = len;
		return 0;
	}
}

static bool bulk(const struct ncore_ep *ep)
{
	return ep->kind == NCORE_EP_MEM || ep->kind == NCORE_EP_HOST;
}

static int copy_run(struct ncore_lane *lane, struct ncore_copy *c)
{
	struct ncore_ep src, dst;
	uint64_t len = c->len;

	if (route(lane->chip, c->src, &src) || src.kind == NCORE_EP_FIFO)
		return fail(c, c->src);
	if (route(lane->chip, c->dst, &dst))
		return fail(c, c->dst);
	/* a doorbell takes chip->lock, which must not be waited for with the fabric's held */
	if (is_remote(c->src) && dst.kind == NCORE_EP_WORD && dst.addr >= NEURON_V1_APB_BASE)
		return fail(c, c->dst);
	if (len > src.len)
		len = src.len;
	if (len > dst.len)
		len = dst.len;
	if (ncore_guard_ep(lane->chip, c->domain, c->src_hit, &src, &len))
		return fail(c, c->src);
	if (ncore_guard_ep(lane->chip, c->domain, c->dst_hit, &dst, &len))
		return fail(c, c->dst);
	if (bulk(&src) && bulk(&dst))
		return copy_bulk(lane->chip, &src, &dst, c, len);
	return copy_special(lane, &src, &dst, c, len);
}

int ncore_copy(struct ncore_lane *lane, struct ncore_copy *c)
{
	bool remote = is_remote(c->src) || is_remote(c->dst);
	int ret;

	c->done = 0;
	if (remote)
		ncore_fabric_lock(lane->chip);
	ret = copy_run(lane, c);
	if (remote)
		ncore_fabric_unlock(lane->chip);
	return ret;
}
