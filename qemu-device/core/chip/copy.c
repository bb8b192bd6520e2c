/* SPDX-License-Identifier: MIT */
/*
 * Copies between two device addresses, and reads and writes of one. Called by dma.c and what
 * computes for it, and by the mailbox.
 */
#include "copy.h"

#include "guard.h"
#include "link.h"
#include "notify.h"
#include "route.h"
#include "topsp.h"
#include "word.h"

#include <errno.h>
#include <string.h>

#define BOUNCE 4096

/* Is the endpoint memory, and not words whose access has an effect? */
static bool bulk(const struct ncore_ep *ep)
{
	return ep->kind == NCORE_EP_MEM || ep->kind == NCORE_EP_HOST || ep->kind == NCORE_EP_REMOTE;
}

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
		ncore_mem_dirty(ncore_chip_of(dst->end), dst->mem, dst->ptr, len);
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

/*
 * The value of a word at the copy's time, which only semaphores of the strand's core and of its
 * TOP_SPs remember; of any other word the last value
 */
static uint32_t read_word(struct ncore_strand *strand, const struct ncore_ep *src, uint64_t addr,
			  uint64_t time)
{
	struct neuron_place at;
	unsigned int index;
	uint64_t left;

	uint32_t value;

	if (src->end == &strand->chip->end && src->core == strand->index &&
	    ncore_find(strand->chip, addr, &at) &&
	    ncore_word_kind(strand->chip->gen, &at, &index, &left) == NCORE_WORD_SEM_READ)
		return at.kind == NEURON_BLOCK_CORE
			       ? tpb_sem_at(strand->tpb, index, time)
			       : ncore_topsp_sem_at(strand->chip, at.index, index, time);
	value = src->end->ops->word_read(src->end, addr);
	if (src->end == &strand->chip->end && !strand->tpb)
		ncore_word_seen(strand->chip, addr);
	return value;
}

static int read_words(struct ncore_strand *strand, struct ncore_ep *src, struct ncore_copy *c,
		      uint8_t *buf, uint64_t len)
{
	uint64_t i;

	if (bulk(src))
		return ncore_ep_rw(strand->chip, src, buf, len, false) ? fail(c, c->src) : 0;
	if (src->kind != NCORE_EP_WORD || (src->addr | len) & 3)
		return fail(c, c->src);
	for (i = 0; i < len; i += 4)
		ncore_put32(buf + i, read_word(strand, src, src->addr + i, c->time));
	return 0;
}

static int write_word(struct ncore_strand *strand, struct ncore_ep *dst, uint64_t local,
		      uint32_t value, const struct ncore_copy *c)
{
	const enum ncore_writer by = c->shares ? NCORE_BY_STRAND : NCORE_BY_OTHERS;
	struct ncore_chip *chip = strand->chip;
	uint64_t time = c->time;
	int core;

	if (dst->end != &chip->end)
		return dst->end->ops->word_write(dst->end, local, value, time);
	core = ncore_core_word(chip, local);
	if (core < 0)
		return dst->core != NCORE_EP_NO_CORE
			       ? ncore_topsp_word_write(chip, local, value, time, by)
			       : ncore_reg_post(chip, strand, local, value, time);
	if ((unsigned int)core != strand->index)
		return ncore_core_word_post(chip, local, value, time);
	ncore_core_word_write(strand, local, value, time, by);
	return 0;
}

static int copy_to_words(struct ncore_strand *strand, struct ncore_ep *dst, struct ncore_copy *c,
			 const uint8_t *buf, uint64_t len)
{
	uint64_t i;
	int ret;

	if ((dst->addr | len) & 3)
		return fail(c, c->dst);
	for (i = 0; i < len; i += 4) {
		if (!dst->end->ops->word_granted(dst->end, c->domain, dst->addr + i))
			return fail(c, c->dst + i);
		ret = write_word(strand, dst, dst->addr + i, ncore_get32(buf + i), c);
		if (ret == -EAGAIN)
			return i ? 0 : wait_for(c, NCORE_STEP_RETRY);
		if (ret)
			return fail(c, c->dst + i);
		c->done += 4;
	}
	return 0;
}

static int fifo_ready(struct ncore_strand *strand, struct ncore_ep *dst, struct ncore_copy *c,
		      uint64_t *len)
{
	uint64_t space;

	if (dst->end != &strand->chip->end)
		return fail(c, c->dst);
	if (dst->core != strand->index) {
		c->move = dst->core;
		return wait_for(c, NCORE_STEP_MOVE);
	}
	space = (uint64_t)tpb_fifo_space(strand->tpb, dst->engine) * NEURON_INSN_WORD;
	if (!space) {
		c->stall_engine = dst->engine;
		return wait_for(c, NCORE_STEP_STALLED);
	}
	if (*len > space)
		*len = space;
	*len -= *len % NEURON_INSN_WORD;
	if (!*len) {
		ncore_notify(strand->chip, strand->index, NEURON_NQ_ERROR, dst->engine,
			     NEURON_NERR_FIFO_WRITE, 0, c->dst, (uint32_t)c->len, c->time);
		return fail(c, c->dst);
	}
	return 0;
}

static int copy_special(struct ncore_strand *strand, struct ncore_ep *src, struct ncore_ep *dst,
			struct ncore_copy *c, uint64_t len)
{
	uint8_t buf[BOUNCE];
	int ret;

	if (len > BOUNCE)
		len = BOUNCE;
	if (dst->kind == NCORE_EP_FIFO) {
		ret = fifo_ready(strand, dst, c, &len);
		if (ret)
			return ret;
	}
	ret = read_words(strand, src, c, buf, len);
	if (ret)
		return ret;
	switch (dst->kind) {
	case NCORE_EP_FIFO:
		tpb_fifo_push(strand->tpb, dst->engine, buf, (unsigned int)(len / NEURON_INSN_WORD),
			      c->time);
		c->done = len;
		return 0;
	case NCORE_EP_WORD:
		return copy_to_words(strand, dst, c, buf, len);
	default:
		if (ncore_ep_rw(strand->chip, dst, buf, len, true))
			return fail(c, c->dst);
		c->done = len;
		return 0;
	}
}

static int copy_run(struct ncore_strand *strand, struct ncore_copy *c)
{
	struct ncore_ep src, dst;
	uint64_t len = c->len;

	if (ncore_route(strand->chip, c->src, &src) || src.kind == NCORE_EP_FIFO)
		return fail(c, c->src);
	if (ncore_route(strand->chip, c->dst, &dst))
		return fail(c, c->dst);
	/* a doorbell takes chip->lock, which must not be waited for with the fabric's held */
	if (ncore_is_remote(strand->chip, c->src) && dst.kind == NCORE_EP_WORD &&
	    dst.core == NCORE_EP_NO_CORE)
		return fail(c, c->dst);
	c->from = src.way;
	c->to = dst.way;
	c->beyond = (unsigned int)src.beyond + dst.beyond;
	if (len > src.len)
		len = src.len;
	if (len > dst.len)
		len = dst.len;
	if (ncore_guard_ep(strand->chip, c->domain, c->src_hit, &src, &len))
		return fail(c, c->src);
	if (ncore_guard_ep(strand->chip, c->domain, c->dst_hit, &dst, &len))
		return fail(c, c->dst);
	if (bulk(&src) && bulk(&dst))
		return copy_bulk(strand->chip, &src, &dst, c, len);
	return copy_special(strand, &src, &dst, c, len);
}

/* Reads or writes the bytes from addr on that have no border in them: how many; 0: refused */
static uint64_t access_run(struct ncore_strand *strand, struct ncore_copy *c, uint64_t addr,
			   void *buf, uint64_t len, bool write)
{
	struct ncore_ep ep;

	if (ncore_route(strand->chip, addr, &ep) || !bulk(&ep))
		return 0;
	if (len > ep.len)
		len = ep.len;
	if (ncore_guard_ep(strand->chip, c->domain, write ? c->dst_hit : c->src_hit, &ep, &len) ||
	    ncore_ep_rw(strand->chip, &ep, buf, len, write))
		return 0;
	*(write ? &c->to : &c->from) = ep.way;
	if (ep.beyond > c->beyond)
		c->beyond = ep.beyond;
	return len;
}

int ncore_access(struct ncore_strand *strand, struct ncore_copy *c, uint64_t addr, void *buf,
		 uint64_t len, bool write)
{
	bool remote = ncore_is_remote(strand->chip, addr);
	uint8_t *p = buf;
	int ret = 0;

	if (remote)
		ncore_link_lock(strand->chip);
	while (len && !ret) {
		uint64_t n = access_run(strand, c, addr, p, len, write);

		if (!n)
			ret = fail(c, addr);
		addr += n;
		p += n;
		len -= n;
	}
	if (remote)
		ncore_link_unlock(strand->chip);
	return ret;
}

int ncore_copy(struct ncore_strand *strand, struct ncore_copy *c)
{
	bool remote =
		ncore_is_remote(strand->chip, c->src) || ncore_is_remote(strand->chip, c->dst);
	int ret;

	c->done = 0;
	if (remote)
		ncore_link_lock(strand->chip);
	ret = copy_run(strand, c);
	if (remote)
		ncore_link_unlock(strand->chip);
	return ret;
}

int ncore_device_read32(struct ncore_chip *chip, uint64_t addr, uint32_t *value)
{
	bool remote = ncore_is_remote(chip, addr);
	struct ncore_ep ep;
	uint8_t word[4];
	int ret;

	if (addr & 3)
		return -EFAULT;
	if (remote)
		ncore_link_lock(chip);
	ret = ncore_route(chip, addr, &ep);
	if (!ret && ep.kind == NCORE_EP_WORD) {
		*value = ep.end->ops->word_read(ep.end, ep.addr);
		if (!remote)
			ncore_word_seen(chip, ep.addr);
	} else if (!ret && ep.kind == NCORE_EP_FIFO) {
		*value = 0;
	} else if (!ret) {
		ret = ncore_ep_rw(chip, &ep, word, sizeof(word), false);
		*value = ret ? 0 : ncore_get32(word);
	}
	if (remote)
		ncore_link_unlock(chip);
	return ret;
}
