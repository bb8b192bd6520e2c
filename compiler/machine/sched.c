// SPDX-License-Identifier: MIT
/*
 * Scheduling: the machine program's one order becomes a stream for each engine, with a wait
 * wherever an access clashes with one of another engine or queue.
 *
 * Each producer (PE, ACT, POOL, each DMA queue) has one semaphore that only counts up while the
 * program runs: instructions of an engine complete in order, and so do the DMAs of a queue, so
 * "at least n" means that its first n signals are past. A clock for each engine records what it has
 * waited for, directly or through the producers that it waited for, and a wait that adds nothing is
 * left out. Every wait names an earlier node of the one order, so the streams cannot deadlock. SP
 * triggers all DMAs and, last, waits for all others and clears the semaphores.
 *
 * The barriers of a logical core's other core are a producer too, of nodes without an instruction
 * here. Both cores' programs have the same barriers in the same order, and a core raises the other
 * one's semaphore for its n-th without having waited for more than n - 1, so neither waits for ever.
 * A program behind which both cores go on without the host ends with a barrier, and takes the other
 * core's barriers back by a subtraction: what they add meanwhile for the next program is not lost.
 */
#include "records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct clock {
	uint32_t seen[NCC_PROCS]; /* node index + 1 known to be complete */
};

struct sched {
	struct ncc_prog *p;
	struct ncc_records rec; /* who: its producer, when: its node */
	struct clock *at; /* what is known once a node is complete */
	struct clock now[NEURON_ENGINES_MAX]; /* what an engine knows */
	uint32_t last[NCC_PROCS]; /* each producer's last node, + 1 */
	uint32_t fence; /* the last node that all behind it come after, + 1 */
	struct wait {
		uint32_t node; /* the node that waits */
		uint32_t on;
	} * wait;
	unsigned int nwait, wait_cap;
	struct ncc_error *err;
};

static unsigned int issuer(const struct ncc_node *n)
{
	return n->proc < NCC_PROC_QUEUE(0) ? n->proc : NEURON_ENG_SP;
}

/*
 * Finds in need[proc], plus 1, the latest node of each producer that must be complete before this
 * one and is not known to be.
 */
static void find_needs(struct sched *s, uint32_t index, uint32_t need[NCC_PROCS])
{
	const struct ncc_node *n = &s->p->node[index];

	memset(need, 0, NCC_PROCS * sizeof(*need));
	need[NCC_PROC_SIBLING] = s->fence;
	if (n->fence)
		memcpy(need, s->last, sizeof(s->last));
	for (unsigned int i = 0; i < n->nacc; i++)
		ncc_records_clash(&s->rec, &n->acc[i], s->now[issuer(n)].seen, need);
	if (n->proc < NCC_PROC_QUEUE(0)) /* an engine executes its own instructions in order */
		need[n->proc] = 0;
}

static int add_wait(struct sched *s, uint32_t node, uint32_t on)
{
	if (s->nwait == s->wait_cap) {
		unsigned int cap = s->wait_cap ? s->wait_cap * 2 : 256;
		struct wait *w = realloc(s->wait, cap * sizeof(*w));

		if (!w)
			return ncc_no_memory(s->err);
		s->wait = w;
		s->wait_cap = cap;
	}
	s->wait[s->nwait++] = (struct wait){ node, on };
	s->p->node[on].signals = true;
	return 0;
}

static void merge(struct clock *to, const struct clock *from)
{
	for (unsigned int i = 0; i < NCC_PROCS; i++)
		if (from->seen[i] > to->seen[i])
			to->seen[i] = from->seen[i];
}

/* Waits for the latest node first: what that one knows may make the others needless. */
static int wait_for_needs(struct sched *s, struct clock *now, uint32_t index,
			  uint32_t need[NCC_PROCS])
{
	for (;;) {
		unsigned int best = NCC_PROCS;
		int rc;

		for (unsigned int i = 0; i < NCC_PROCS; i++)
			if (need[i] > now->seen[i] && (best == NCC_PROCS || need[i] > need[best]))
				best = i;
		if (best == NCC_PROCS)
			return 0;
		rc = add_wait(s, index, need[best] - 1);
		if (rc)
			return rc;
		merge(now, &s->at[need[best] - 1]);
	}
}

/*
 * What a write covers may stay: whoever waits for the write knows all that it waited for. The other
 * core's barrier has waited for nothing here, so what it covers is forgotten.
 */
static int record(struct sched *s, uint32_t index)
{
	const struct ncc_node *n = &s->p->node[index];

	for (unsigned int i = 0; i < n->nacc && n->proc == NCC_PROC_SIBLING; i++)
		ncc_records_drop(&s->rec, &n->acc[i], n->proc);
	for (unsigned int i = 0; i < n->nacc; i++)
		if (ncc_records_add(&s->rec, &n->acc[i], n->proc, index))
			return ncc_no_memory(s->err);
	return 0;
}

/* Finds the waits after the last node, when SP waits for the last node of every producer. */
static int find_last_waits(struct sched *s)
{
	uint32_t need[NCC_PROCS];

	memcpy(need, s->last, sizeof(need));
	return wait_for_needs(s, &s->now[NEURON_ENG_SP], s->p->nnodes, need);
}

static int find_waits(struct sched *s)
{
	for (uint32_t i = 0; i < s->p->nnodes; i++) {
		const struct ncc_node *n = &s->p->node[i];
		uint32_t need[NCC_PROCS];
		int rc = 0;

		if (n->proc != NCC_PROC_SIBLING) {
			find_needs(s, i, need);
			rc = wait_for_needs(s, &s->now[issuer(n)], i, need);
			s->at[i] = s->now[issuer(n)];
		}
		if (rc)
			return rc;
		s->at[i].seen[n->proc] = s->last[n->proc] = i + 1;
		if (n->fence && n->proc == NCC_PROC_SIBLING)
			s->fence = i + 1;
		if (n->proc < NCC_PROC_QUEUE(0))
			s->now[n->proc].seen[n->proc] = i + 1;
		rc = record(s, i);
		if (rc)
			return rc;
	}
	return find_last_waits(s);
}

static int push(struct ncc_stream *st, const struct neuron_insn *insn, struct ncc_error *err)
{
	if (st->n == st->cap) {
		unsigned int cap = st->cap ? st->cap * 2 : 256;
		struct neuron_insn *p = realloc(st->insn, cap * sizeof(*p));

		if (!p)
			return ncc_no_memory(err);
		st->insn = p;
		st->cap = cap;
	}
	st->insn[st->n++] = *insn;
	return 0;
}

/* Numbers the signals; every DMA gives one. */
static void count_signals(struct ncc_prog *p)
{
	uint32_t count[NCC_PROCS] = { 0 };

	for (uint32_t i = 0; i < p->nnodes; i++) {
		struct ncc_node *n = &p->node[i];

		n->signals = n->signals || n->dma >= 0 || n->proc == NCC_PROC_SIBLING;
		count[n->proc] += n->signals;
		n->count = count[n->proc];
		if (n->dma >= 0)
			p->dma[n->dma].semaphore = (int)ncc_semaphore_of(p->target, n->proc);
	}
}

static void set_wait(const struct sched *s, const struct wait *w, struct neuron_insn *insn)
{
	const struct ncc_node *on = &s->p->node[w->on];

	insn->wait = NEURON_WAIT_SEM_GE;
	insn->wait_index = (uint8_t)ncc_semaphore_of(s->p->target, on->proc);
	insn->wait_value = on->count;
}

/* Appends the instruction with its waits; all but one of them need a NOP. */
static int push_waiting(struct sched *s, unsigned int first, unsigned int end,
			struct neuron_insn *insn, struct ncc_stream *st)
{
	struct neuron_insn nop = { .opcode = NEURON_OP_NOP };

	for (unsigned int w = first; w < end; w++) {
		set_wait(s, &s->wait[w], w + 1 == end ? insn : &nop);
		if (w + 1 < end && push(st, &nop, s->err))
			return -ENOMEM;
	}
	return push(st, insn, s->err);
}

static int emit(struct sched *s, uint32_t index, unsigned int first, unsigned int end,
		struct ncc_stream *st)
{
	const struct ncc_node *n = &s->p->node[index];
	struct neuron_insn insn = n->insn;

	if (n->dma >= 0)
		insn = (struct neuron_insn){ .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER,
					     .id = (uint32_t)n->dma };
	if (n->signals && n->dma < 0) {
		insn.update = NEURON_UPD_SEM_INC;
		insn.update_index = (uint8_t)ncc_semaphore_of(s->p->target, n->proc);
	}
	return push_waiting(s, first, end, &insn, st);
}

static int emit_all(struct sched *s, struct ncc_stream *stream)
{
	const struct neuron_target *target = s->p->target;
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START,
					   .isa_version = target->isa_version };
	const bool cleared = s->p->nbarriers && !s->p->ends_at_fence;
	struct neuron_insn clear = { .opcode = NEURON_OP_SEM_RANGE_CLEAR,
				     .last = (uint8_t)ncc_semaphore_of(
					     target,
					     cleared ? NCC_PROC_SIBLING : NCC_PROC_SIBLING - 1) };
	unsigned int w = 0;
	struct neuron_insn take_back = { .opcode = NEURON_OP_NOP,
					 .update = NEURON_UPD_SEM_SUB_IMM,
					 .update_index = (uint8_t)ncc_semaphore_of(
						 target, NCC_PROC_SIBLING),
					 .update_value = s->p->nbarriers };
	int rc = 0;

	count_signals(s->p);
	for (unsigned int e = 0; !rc && e < target->engines; e++)
		rc = push(&stream[e], &start, s->err);
	for (uint32_t i = 0; !rc && i < s->p->nnodes; i++) {
		unsigned int first = w;

		while (w < s->nwait && s->wait[w].node == i)
			w++;
		if (s->p->node[i].proc == NCC_PROC_SIBLING)
			continue;
		rc = emit(s, i, first, w, &stream[issuer(&s->p->node[i])]);
	}
	if (!rc && s->p->ends_at_fence) {
		rc = push_waiting(s, w, s->nwait, &take_back, &stream[NEURON_ENG_SP]);
		w = s->nwait;
	}
	return rc ? rc : push_waiting(s, w, s->nwait, &clear, &stream[NEURON_ENG_SP]);
}

int ncc_schedule(struct ncc_prog *p, struct ncc_stream stream[NEURON_ENGINES_MAX],
		 struct ncc_error *err)
{
	struct sched s = { .p = p, .err = err };
	int rc;

	s.at = calloc(p->nnodes + 1, sizeof(*s.at));
	rc = s.at ? find_waits(&s) : ncc_no_memory(err);
	if (!rc)
		rc = emit_all(&s, stream);
	free(s.at);
	ncc_records_free(&s.rec);
	free(s.wait);
	return rc;
}
