/* SPDX-License-Identifier: MIT */
/*
 * Notification queues: base, size and head registers, entries (ext.h) in host or device
 * memory. nq_lock orders entries of a chip; writers are executing strands and register writes.
 */
#include "event.h"
#include "guard.h"
#include "route.h"

static struct ncore_nqs *nqs_of(struct ncore_chip *chip, unsigned int unit)
{
	return unit < chip->gen->cores ? &chip->core[unit].nqs
				       : &chip->topsp[unit - chip->gen->cores].nqs;
}

static ncore_reg *reg_at(struct ncore_chip *chip, struct ncore_nqs *q, unsigned int n, uint32_t off)
{
	return &q->reg[(chip->nq_regs[n] + off - q->first) / 4];
}

static uint32_t reg(struct ncore_chip *chip, struct ncore_nqs *q, unsigned int n, uint32_t off)
{
	return ncore_load(reg_at(chip, q, n, off));
}

void ncore_nq_reg_written(struct ncore_chip *chip, unsigned int unit, uint32_t rel)
{
	const uint32_t head = chip->gen->nq_reg.head, size = chip->gen->nq_reg.size;
	struct ncore_nqs *q = nqs_of(chip, unit);
	unsigned int n;

	for (n = 0; n < chip->nqs; n++) {
		uint32_t off = rel - chip->nq_regs[n];
		struct ncore_nq *nq = &q->nq[n];

		if (off > head)
			continue;
		pthread_mutex_lock(&chip->nq_lock);
		if (off == head) {
			nq->head = reg(chip, q, n, head);
			nq->head_known = true;
			nq->overflowed = false;
		} else if (off <= size) {
			*nq = (struct ncore_nq){ 0 };
			ncore_store(reg_at(chip, q, n, head), 0);
		}
		pthread_mutex_unlock(&chip->nq_lock);
		return;
	}
}

void ncore_nq_reset(struct ncore_chip *chip, unsigned int unit)
{
	struct ncore_nqs *q = nqs_of(chip, unit);
	unsigned int i;

	pthread_mutex_lock(&chip->nq_lock);
	for (i = 0; i < q->words; i++)
		ncore_store(&q->reg[i], 0);
	for (i = 0; i < chip->nqs; i++)
		q->nq[i] = (struct ncore_nq){ 0 };
	ncore_store(&chip->core[q->core].nq_overflows, 0);
	pthread_mutex_unlock(&chip->nq_lock);
}

/*
 * Interrupts. A host that saw n entries arms the core's vector with n: an entry it has not seen
 * raises the vector at once, else the next one does, and disarms it. So no entry is missed between
 * a look and the arming, and a host that does not wait is not interrupted.
 */
static void raise_irq(struct ncore_chip *chip, unsigned int core)
{
	if (chip->ops->irq)
		chip->ops->irq(chip->cfg.opaque, core);
}

void ncore_irq_arm(struct ncore_chip *chip, unsigned int core, uint32_t seen)
{
	struct ncore_core *c = &chip->core[core];

	pthread_mutex_lock(&chip->nq_lock);
	c->irq_armed = ncore_load(&c->nq_entries) == seen;
	if (!c->irq_armed)
		raise_irq(chip, core);
	pthread_mutex_unlock(&chip->nq_lock);
}

/* A host may wait, so neither count nor arming is reset with the chip, only with the function. */
void ncore_irq_reset(struct ncore_chip *chip)
{
	unsigned int i;

	pthread_mutex_lock(&chip->nq_lock);
	for (i = 0; i < chip->gen->cores; i++) {
		ncore_store(&chip->core[i].nq_entries, 0);
		chip->core[i].irq_armed = false;
	}
	pthread_mutex_unlock(&chip->nq_lock);
}

/* Entry without its last word first: who polls the phase sees a whole entry */
static int put_entry(struct ncore_chip *chip, struct ncore_nqs *q, uint64_t addr, uint8_t *entry)
{
	uint8_t domain = ncore_guard_core_domain(chip, q->core);
	struct ncore_ep ep;

	if (ncore_route_own(chip, addr, &ep) || ep.len < NEURON_NQ_ENTRY_SIZE)
		return -1;
	if (!ncore_guard_whole(chip, domain, &q->hit, &ep, NEURON_NQ_ENTRY_SIZE))
		return -1;
	if (ncore_ep_rw(chip, &ep, entry, NEURON_NQ_ENTRY_PHASE, true))
		return -1;
	atomic_thread_fence(memory_order_release);
	ep.addr += NEURON_NQ_ENTRY_PHASE;
	if (ep.kind == NCORE_EP_MEM)
		ep.ptr += NEURON_NQ_ENTRY_PHASE;
	return ncore_ep_rw(chip, &ep, entry + NEURON_NQ_ENTRY_PHASE, 4, true);
}

enum put { PUT_OK, PUT_OFF, PUT_FULL, PUT_FAULT };

static unsigned int error_queue(struct ncore_chip *chip)
{
	return (unsigned int)neuron_gen_nq(chip->gen, NEURON_NQ_ERROR, 0);
}

/* nq_lock is held. Drops an entry as if the queue were full. */
static bool overflow_fault(struct ncore_chip *chip, struct ncore_nqs *q, unsigned int n)
{
	return n != error_queue(chip) && ncore_fault_injected(chip, NCORE_FAULT_BIT(NQ_OVERFLOW)) &&
	       ncore_fault_occasion(chip, NCORE_FAULT_NQ_OVERFLOW, q->core, NCORE_FQ_ANY);
}

/* nq_lock is held */
static enum put put(struct ncore_chip *chip, struct ncore_nqs *q, unsigned int n, uint8_t *entry,
		    uint64_t *addr)
{
	const struct neuron_gen *gen = chip->gen;
	uint32_t size = reg(chip, q, n, gen->nq_reg.size), count = size / NEURON_NQ_ENTRY_SIZE;
	uint64_t base = (uint64_t)reg(chip, q, n, gen->nq_reg.base_hi) << 32 |
			reg(chip, q, n, gen->nq_reg.base_lo);
	struct ncore_core *c = &chip->core[q->core];
	struct ncore_nq *nq = &q->nq[n];
	uint32_t next;

	if (!size)
		return PUT_OFF;
	if (size & (size - 1) || count < 2 || base % 4) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, base, size);
		return PUT_OFF;
	}
	nq->index %= count; /* A loaded state may have another size. */
	next = nq->index + 1 == count ? 0 : nq->index + 1;
	if ((nq->head_known && next == nq->head % count) || overflow_fault(chip, q, n)) {
		ncore_store(&c->nq_overflows, ncore_load(&c->nq_overflows) + 1);
		return PUT_FULL;
	}
	*addr = base + (uint64_t)nq->index * NEURON_NQ_ENTRY_SIZE;
	ncore_put32(entry + NEURON_NQ_ENTRY_PHASE, NEURON_NQ_PHASE(nq->lap));
	if (put_entry(chip, q, *addr, entry)) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, *addr, size);
		return PUT_FAULT;
	}
	nq->index = next;
	if (!next)
		nq->lap++;
	ncore_store(&c->nq_entries, ncore_load(&c->nq_entries) + 1);
	return PUT_OK;
}

/* Reports, once each time a queue fills up, in the error queue. */
static void report_full(struct ncore_chip *chip, struct ncore_nqs *q, unsigned int n,
			const uint8_t *lost)
{
	uint8_t entry[NEURON_NQ_ENTRY_SIZE] = { 0 };
	uint64_t addr;

	if (n == error_queue(chip) || q->nq[n].overflowed)
		return;
	q->nq[n].overflowed = true;
	entry[NEURON_NQ_ENTRY_TYPE] = NEURON_NQ_ERROR;
	entry[NEURON_NQ_ENTRY_ENGINE] = lost[NEURON_NQ_ENTRY_ENGINE];
	entry[NEURON_NQ_ENTRY_CODE] = NEURON_NERR_NQ_OVERFLOW;
	ncore_put32(entry + NEURON_NQ_ENTRY_ID,
		    (uint32_t)lost[NEURON_NQ_ENTRY_TYPE] << 8 | lost[NEURON_NQ_ENTRY_ENGINE]);
	ncore_put64(entry + NEURON_NQ_ENTRY_TIME, ncore_get64(lost + NEURON_NQ_ENTRY_TIME));
	put(chip, q, error_queue(chip), entry, &addr);
}

void ncore_told(struct ncore_chip *chip, unsigned int core, uint64_t time)
{
	_Atomic uint64_t *told = &chip->core[core].told;
	uint64_t before = atomic_load(told);

	while (time > before && !atomic_compare_exchange_weak(told, &before, time))
		;
}

void ncore_notify(struct ncore_chip *chip, unsigned int unit, unsigned int type,
		  unsigned int engine, uint16_t code, uint32_t id, uint64_t data, uint32_t data2,
		  uint64_t time)
{
	uint8_t entry[NEURON_NQ_ENTRY_SIZE];
	int n = neuron_gen_nq(chip->gen, type, engine);
	struct ncore_nqs *q = nqs_of(chip, unit);
	struct ncore_core *c = &chip->core[q->core];
	enum put result = PUT_OFF;
	uint64_t addr = 0;
	uint32_t before;

	entry[NEURON_NQ_ENTRY_TYPE] = (uint8_t)type;
	entry[NEURON_NQ_ENTRY_ENGINE] = (uint8_t)engine;
	entry[NEURON_NQ_ENTRY_CODE] = (uint8_t)code;
	entry[NEURON_NQ_ENTRY_CODE + 1] = (uint8_t)(code >> 8);
	ncore_put32(entry + NEURON_NQ_ENTRY_ID, id);
	ncore_put64(entry + NEURON_NQ_ENTRY_TIME, time);
	ncore_put64(entry + NEURON_NQ_ENTRY_DATA, data);
	ncore_put32(entry + NEURON_NQ_ENTRY_DATA2, data2);

	if (type == NEURON_NQ_NOTIFY) /* before anyone can see it */
		ncore_told(chip, q->core, time);

	if (n >= 0) {
		pthread_mutex_lock(&chip->nq_lock);
		before = ncore_load(&c->nq_entries);
		result = put(chip, q, (unsigned int)n, entry, &addr);
		if (result == PUT_FULL)
			report_full(chip, q, (unsigned int)n, entry);
		if (c->irq_armed && ncore_load(&c->nq_entries) != before) {
			c->irq_armed = false;
			raise_irq(chip, q->core);
		}
		pthread_mutex_unlock(&chip->nq_lock);
	}

	if (type == NEURON_NQ_ERROR)
		ncore_event(chip, NCORE_EV_ENGINE_ERROR, unit, engine, code, data);
	ncore_event(chip, NCORE_EV_NOTIFY, unit, type, engine, addr);
}
