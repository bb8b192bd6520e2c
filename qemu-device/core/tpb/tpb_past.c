/* SPDX-License-Identifier: MIT */
/*
 * What a semaphore or event was, and when. An engine that ran ahead has changed it at a time that
 * others have not reached: they look at their own time (docs/isa.md, Order). The last TPB_PAST
 * changes are kept; what lies further back counts as the oldest of them. Called by tpb_words.c and
 * tpb.c.
 */
#include "exec/exec.h"

#define AT(p, i) (((p)->first + (i)) % TPB_PAST)

void tpb_past_reset(struct tpb_past *p)
{
	if (p->count || p->forgot) /* Pages that were never used stay untouched. */
		*p = (struct tpb_past){ 0 };
}

uint32_t tpb_past_last(const struct tpb_past *p)
{
	return p->count ? p->value[AT(p, p->count - 1)] : 0;
}

uint64_t tpb_past_since(const struct tpb_past *p)
{
	return p->count ? p->time[AT(p, p->count - 1)] : 0;
}

/* The number of changes up to a time; the oldest that is kept stands for all before it */
static unsigned int until(const struct tpb_past *p, uint64_t time)
{
	unsigned int n = p->count;

	while (n && p->time[AT(p, n - 1)] > time)
		n--;
	return !n && p->forgot ? 1 : n;
}

uint32_t tpb_past_at(const struct tpb_past *p, uint64_t time)
{
	unsigned int n = until(p, time);

	return n ? p->value[AT(p, n - 1)] : 0;
}

static void forget_oldest(struct tpb_past *p)
{
	p->first = AT(p, 1);
	p->count--;
	p->forgot = true;
}

/* Behind the first n changes, which are not later */
static void insert(struct tpb_past *p, unsigned int n, uint64_t time, uint32_t value)
{
	unsigned int i;

	if (n && p->time[AT(p, n - 1)] >= time) {
		p->value[AT(p, n - 1)] = value; /* Changes at the same time are one. */
		return;
	}
	if (p->count == TPB_PAST) {
		if (!n) { /* It is older than all that is kept. */
			p->forgot = true;
			return;
		}
		forget_oldest(p);
		n--;
	}
	for (i = p->count++; i > n; i--) {
		p->time[AT(p, i)] = p->time[AT(p, i - 1)];
		p->value[AT(p, i)] = p->value[AT(p, i - 1)];
	}
	p->time[AT(p, n)] = time;
	p->value[AT(p, n)] = value;
}

bool tpb_past_set(struct tpb_past *p, uint64_t time, uint32_t value)
{
	unsigned int n = until(p, time);

	if (n == p->count && tpb_past_last(p) == value)
		return false;
	p->count = (uint8_t)n;
	insert(p, n, time, value);
	return true;
}

static bool in_range(uint32_t value, int64_t by)
{
	return value + by >= 0 && value + by <= UINT32_MAX;
}

/* From the last of the first n changes on (n 0: from the beginning) every value can be added to */
static bool can_add(const struct tpb_past *p, unsigned int n, int64_t by)
{
	unsigned int i = n ? n - 1 : 0;

	if (!n && !in_range(0, by))
		return false;
	for (; i < p->count; i++)
		if (!in_range(p->value[AT(p, i)], by))
			return false;
	return true;
}

uint64_t tpb_past_first(const struct tpb_past *p, uint64_t time, int64_t by)
{
	unsigned int n = until(p, time), first = n;

	while (first < p->count && !can_add(p, first, by))
		first++;
	return first == n || !can_add(p, first, by) ? time : p->time[AT(p, first - 1)];
}

bool tpb_past_add(struct tpb_past *p, uint64_t time, int64_t by)
{
	unsigned int n = until(p, time), i;
	uint32_t before = n ? p->value[AT(p, n - 1)] : 0;

	if (!can_add(p, n, by))
		return false;
	for (i = n; i < p->count; i++)
		p->value[AT(p, i)] += (uint32_t)by;
	insert(p, n, time, before + (uint32_t)by);
	return true;
}

bool tpb_wait_holds(const struct neuron_insn *insn, uint32_t value)
{
	switch (insn->wait) {
	case NEURON_WAIT_SEM_EQ:
		return value == insn->wait_value;
	case NEURON_WAIT_SEM_GE:
		return value >= insn->wait_value;
	case NEURON_WAIT_SEM_LE:
		return value <= insn->wait_value;
	case NEURON_WAIT_EVT_SET:
		return value;
	case NEURON_WAIT_EVT_CLR:
		return !value;
	default:
		return true;
	}
}

uint64_t tpb_past_when(const struct tpb_past *p, const struct neuron_insn *insn, uint64_t from)
{
	uint64_t when = TPB_NEVER;
	unsigned int i = p->count;

	while (i--) {
		uint64_t time = p->time[AT(p, i)];

		if (tpb_wait_holds(insn, p->value[AT(p, i)]))
			when = time > from ? time : from;
		if (time <= from)
			return when;
	}
	return !p->forgot && tpb_wait_holds(insn, 0) ? from : when;
}
