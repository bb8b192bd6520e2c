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

#include "neuron/isa/codec.h"

struct ncc_sched {
	struct ncc_prog *p;
	struct ncc_records rec; /* who: its producer, when: its node */
	uint32_t n; /* nodes whose waits are found */
	/* what an engine knows: of each producer, the last node, + 1, that is complete */
	uint32_t now[NEURON_ENGINES_MAX][NCC_PROCS];
	uint32_t last[NCC_PROCS]; /* each producer's last node, + 1 */
	uint32_t fence; /* the last node that all behind it come after, + 1 */
	struct wait {
		uint32_t node; /* the node that waits */
		uint32_t on;
	} * wait;
	unsigned int nwait, wait_cap;
};

static unsigned int issuer(const struct ncc_node *n)
{
	return n->proc < NCC_PROC_QUEUE(0) ? n->proc : NEURON_ENG_SP;
}

/*
 * Finds in need[proc], plus 1, the latest node of each producer that must be complete before this
 * one and is not known to be.
 */
static void find_needs(struct ncc_sched *s, uint32_t index, uint32_t need[NCC_PROCS])
{
	const struct ncc_node *n = ncc_prog_node(s->p, index);

	memset(need, 0, NCC_PROCS * sizeof(*need));
	need[NCC_PROC_SIBLING] = s->fence;
	if (n->fence)
		memcpy(need, s->last, sizeof(s->last));
	for (unsigned int i = 0; i < n->nacc; i++)
		ncc_records_clash(&s->rec, &n->acc[i], s->now[issuer(n)], need);
	if (n->proc < NCC_PROC_QUEUE(0)) /* an engine executes its own instructions in order */
		need[n->proc] = 0;
}

static int add_wait(struct ncc_sched *s, uint32_t node, uint32_t on)
{
	if (s->nwait == s->wait_cap) {
		unsigned int cap = s->wait_cap ? s->wait_cap * 2 : 256;
		struct wait *w = realloc(s->wait, cap * sizeof(*w));

		if (!w)
			return -ENOMEM;
		s->wait = w;
		s->wait_cap = cap;
	}
	s->wait[s->nwait++] = (struct wait){ node, on };
	ncc_prog_node(s->p, on)->signals = true;
	return 0;
}

static void merge(uint32_t to[NCC_PROCS], const uint32_t from[NCC_PROCS])
{
	for (unsigned int i = 0; i < NCC_PROCS; i++)
		to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* Waits for the latest node first: what that one knows may make the others needless. */
static int wait_for_needs(struct ncc_sched *s, uint32_t now[NCC_PROCS], uint32_t index,
			  uint32_t need[NCC_PROCS])
{
	for (;;) {
		unsigned int best = NCC_PROCS;
		int rc;

		for (unsigned int i = 0; i < NCC_PROCS; i++)
			if (need[i] > now[i] && (best == NCC_PROCS || need[i] > need[best]))
				best = i;
		if (best == NCC_PROCS)
			return 0;
		rc = add_wait(s, index, need[best] - 1);
		if (rc)
			return rc;
		merge(now, ncc_prog_node(s->p, need[best] - 1)->known);
	}
}

/*
 * What a write covers may stay: whoever waits for the write knows all that it waited for. The other
 * core's barrier has waited for nothing here, so what it covers is forgotten.
 */
static int record(struct ncc_sched *s, uint32_t index)
{
	const struct ncc_node *n = ncc_prog_node(s->p, index);

	for (unsigned int i = 0; i < n->nacc && n->proc == NCC_PROC_SIBLING; i++)
		ncc_records_drop(&s->rec, &n->acc[i], n->proc);
	for (unsigned int i = 0; i < n->nacc; i++)
		if (ncc_records_add(&s->rec, &n->acc[i], n->proc, index))
			return -ENOMEM;
	return 0;
}

/* Finds the waits after the last node, when SP waits for the last node of every producer. */
static int find_last_waits(struct ncc_sched *s)
{
	uint32_t need[NCC_PROCS];

	memcpy(need, s->last, sizeof(need));
	return wait_for_needs(s, s->now[NEURON_ENG_SP], s->p->nnodes, need);
}

int ncc_sched_to(struct ncc_sched *s, uint32_t end)
{
	for (; s->n < end; s->n++) {
		struct ncc_node *n = ncc_prog_node(s->p, s->n);
		const uint32_t i = s->n;
		uint32_t need[NCC_PROCS];
		int rc = 0;

		n->signals = false;
		memset(n->known, 0, sizeof(n->known));
		if (n->proc != NCC_PROC_SIBLING) {
			find_needs(s, i, need);
			rc = wait_for_needs(s, s->now[issuer(n)], i, need);
			memcpy(n->known, s->now[issuer(n)], sizeof(n->known));
		}
		if (rc)
			return rc;
		n->known[n->proc] = s->last[n->proc] = i + 1;
		if (n->fence && n->proc == NCC_PROC_SIBLING)
			s->fence = i + 1;
		if (n->proc < NCC_PROC_QUEUE(0))
			s->now[n->proc][n->proc] = i + 1;
		rc = record(s, i);
		if (rc)
			return rc;
	}
	return 0;
}

static int push(struct ncc_stream *st, uint32_t node, uint32_t wait)
{
	if (st->n == st->cap) {
		unsigned int cap = st->cap ? st->cap * 2 : 256;
		struct ncc_slot *p = realloc(st->slot, cap * sizeof(*p));

		if (!p)
			return -ENOMEM;
		st->slot = p;
		st->cap = cap;
	}
	st->slot[st->n++] = (struct ncc_slot){ node, wait };
	return 0;
}

/* Numbers the signals; every DMA gives one. */
static void count_signals(struct ncc_prog *p)
{
	uint32_t count[NCC_PROCS] = { 0 };

	for (uint32_t i = 0; i < p->nnodes; i++) {
		struct ncc_node *n = ncc_prog_node(p, i);

		n->signals = n->signals || n->dma >= 0 || n->proc == NCC_PROC_SIBLING;
		count[n->proc] += n->signals;
		n->count = count[n->proc];
		if (n->dma >= 0)
			p->dma[n->dma].semaphore = (int)ncc_semaphore_of(p->target, n->proc);
	}
}

/* Appends a node's or an own instruction with its waits; all but one of them need a NOP. */
static int push_waiting(const struct ncc_sched *s, unsigned int first, unsigned int end,
			uint32_t node, struct ncc_stream *st)
{
	for (; first + 1 < end; first++)
		if (push(st, NCC_SLOT_NOP, s->wait[first].on + 1))
			return -ENOMEM;
	return push(st, node, first < end ? s->wait[first].on + 1 : 0);
}

static int emit_all(const struct ncc_sched *s, struct ncc_stream *stream)
{
	unsigned int w = 0;
	int rc = 0;

	count_signals(s->p);
	for (unsigned int e = 0; !rc && e < s->p->target->engines; e++)
		rc = push(&stream[e], NCC_SLOT_START, 0);
	for (uint32_t i = 0; !rc && i < s->p->nnodes; i++) {
		const struct ncc_node *n = ncc_prog_node(s->p, i);
		unsigned int first = w;

		while (w < s->nwait && s->wait[w].node == i)
			w++;
		if (n->proc != NCC_PROC_SIBLING)
			rc = push_waiting(s, first, w, i, &stream[issuer(n)]);
	}
	if (!rc && s->p->ends_at_fence) {
		rc = push_waiting(s, w, s->nwait, NCC_SLOT_TAKE_BACK, &stream[NEURON_ENG_SP]);
		w = s->nwait;
	}
	return rc ? rc : push_waiting(s, w, s->nwait, NCC_SLOT_CLEAR, &stream[NEURON_ENG_SP]);
}

static void own_insn(const struct ncc_prog *p, uint32_t which, struct neuron_insn *insn)
{
	const bool cleared = p->nbarriers && !p->ends_at_fence;

	*insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP };
	if (which == NCC_SLOT_START) {
		insn->opcode = NEURON_OP_PROGRAM_START;
		insn->isa_version = p->target->isa_version;
	} else if (which == NCC_SLOT_TAKE_BACK) {
		insn->update = NEURON_UPD_SEM_SUB_IMM;
		insn->update_index = (uint8_t)ncc_semaphore_of(p->target, NCC_PROC_SIBLING);
		insn->update_value = p->nbarriers;
	} else if (which == NCC_SLOT_CLEAR) {
		insn->opcode = NEURON_OP_SEM_RANGE_CLEAR;
		insn->last = (uint8_t)ncc_semaphore_of(p->target, cleared ? NCC_PROC_SIBLING
									  : NCC_PROC_SIBLING - 1);
	}
}

/* Of an instruction of one word, which has an encoding */
static unsigned int encode(const struct neuron_insn *insn, void *words)
{
	return (unsigned int)neuron_isa_encode(insn, words) * NEURON_INSN_WORD;
}

unsigned int ncc_slot_words(const struct ncc_prog *p, const struct ncc_slot *slot, void *words)
{
	const struct ncc_node *n = slot->node < NCC_SLOT_NOP ? ncc_prog_node(p, slot->node) : NULL;
	struct neuron_insn insn;
	unsigned int size;

	if (!n) {
		own_insn(p, slot->node, &insn);
		size = encode(&insn, words);
	} else if (n->dma >= 0) {
		insn = (struct neuron_insn){ .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER,
					     .id = (uint32_t)n->dma };
		size = encode(&insn, words);
	} else {
		insn.trigger = insn.wait = insn.wait_index = insn.update = insn.update_index = 0;
		insn.wait_value = insn.update_value = 0;
		size = ncc_node_words(p, n, words);
	}
	if (n && n->dma < 0 && n->signals) {
		insn.update = NEURON_UPD_SEM_INC;
		insn.update_index = (uint8_t)ncc_semaphore_of(p->target, n->proc);
	}
	if (slot->wait) {
		const struct ncc_node *on = ncc_prog_node(p, slot->wait - 1);

		insn.wait = NEURON_WAIT_SEM_GE;
		insn.wait_index = (uint8_t)ncc_semaphore_of(p->target, on->proc);
		insn.wait_value = on->count;
	}
	neuron_isa_put_head(&insn, NEURON_FB(SYNC), words);
	return size;
}

void ncc_slot_insn(const struct ncc_prog *p, const struct ncc_slot *slot, struct neuron_insn *insn)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	unsigned int size = ncc_slot_words(p, slot, words);

	(void)neuron_isa_decode(words, size / NEURON_INSN_WORD, insn);
}

static void release(struct ncc_sched *s)
{
	ncc_records_free(&s->rec);
	free(s->wait);
}

int ncc_sched_begin(struct ncc_sched **s, struct ncc_prog *p)
{
	*s = calloc(1, sizeof(**s));
	if (!*s)
		return -ENOMEM;
	(*s)->p = p;
	return 0;
}

void ncc_sched_spread(struct ncc_sched *s)
{
	struct ncc_prog *p = s->p;

	if (!ncc_spread_queues(p))
		return;
	release(s);
	*s = (struct ncc_sched){ .p = p };
}

int ncc_sched_end(struct ncc_sched *s, struct ncc_stream stream[NEURON_ENGINES_MAX])
{
	int rc = ncc_sched_to(s, s->p->nnodes);

	rc = rc ? rc : find_last_waits(s);
	return rc ? rc : emit_all(s, stream);
}

void ncc_sched_free(struct ncc_sched *s)
{
	if (s)
		release(s);
	free(s);
}
