// SPDX-License-Identifier: MIT
/*
 * Which instructions are told to look for NaN (docs/isa.md, Errors): those that write last what the
 * program's outputs are copied from. A NaN that a later instruction replaces, as in a choice
 * between two results, is none of the output's.
 *
 * The program is walked from its end, with the boxes of memory whose contents reach an output and
 * whose writer has not been met. Both programs of a logical core are walked together, from barrier
 * to barrier: what one only passes on of the other's is looked at by that one.
 */
#include <string.h>

#include "neuron/isa/codec.h"
#include "prog.h"

/* Boxes that are followed at a time; beyond them the oldest is left out, and with it its check */
#define MAX_BOXES 256

struct box {
	struct ncc_access at;
	int64_t left; /* bytes that no writer has been met of */
};

struct nan_walk {
	struct ncc_prog *p;
	unsigned int next; /* how many nodes are still to be walked */
	struct box box[MAX_BOXES];
	unsigned int n;
};

static int64_t area(const struct ncc_access *a)
{
	return (int64_t)(a->hi - a->lo) * (a->space == NCC_DRAM ? 1 : a->p1 - a->p0);
}

static void add(struct nan_walk *w, const struct ncc_access *a)
{
	if (a->lo >= a->hi || (a->space != NCC_DRAM && a->p0 >= a->p1))
		return;
	if (w->n == MAX_BOXES)
		memmove(&w->box[0], &w->box[1], --w->n * sizeof(w->box[0]));
	w->box[w->n++] = (struct box){ *a, area(a) };
}

/* The rest of a box beside one that overlaps it: below, above, before and behind */
static void add_rest(struct nan_walk *w, const struct ncc_access *box, const struct ncc_access *cut)
{
	struct ncc_access rest = *box;

	if (box->space != NCC_DRAM) {
		rest.p1 = cut->p0;
		if (rest.p0 < rest.p1)
			add(w, &rest);
		rest = *box;
		rest.p0 = cut->p1;
		if (rest.p0 < rest.p1)
			add(w, &rest);
		rest = *box;
		rest.p0 = box->p0 > cut->p0 ? box->p0 : cut->p0;
		rest.p1 = box->p1 < cut->p1 ? box->p1 : cut->p1;
	}
	rest.hi = cut->lo;
	if (rest.lo < rest.hi)
		add(w, &rest);
	rest.hi = box->hi;
	rest.lo = cut->hi;
	if (rest.lo < rest.hi)
		add(w, &rest);
}

/*
 * Takes away what is written of the boxes; bytes is how many, fewer than the area if they have
 * gaps. Returns whether any box was touched.
 */
static bool take(struct nan_walk *w, const struct ncc_access *written, int64_t bytes)
{
	const bool dense = bytes >= area(written);
	bool any = false;

	for (unsigned int i = w->n; i-- > 0;) {
		struct box box;

		if (!ncc_access_overlap(&w->box[i].at, written))
			continue;
		box = w->box[i];
		any = true;
		box.left -= bytes;
		if (!dense && box.left > 0) {
			w->box[i].left = box.left;
			continue;
		}
		/* what takes its place, and what is added, was looked at or does not overlap */
		w->box[i] = w->box[--w->n];
		if (dense)
			add_rest(w, &box.at, written);
	}
	return any;
}

static bool touches(const struct nan_walk *w, const struct ncc_access *written)
{
	for (unsigned int i = 0; i < w->n; i++)
		if (ncc_access_overlap(&w->box[i].at, written))
			return true;
	return false;
}

static bool is_output(const struct ncc_prog *p, uint32_t var)
{
	return p->var[var].type == NEFF_VAR_OUTPUT && !neuron_isa_dtypes[p->var[var].dtype].integer;
}

static void walk_desc(struct nan_walk *w, const struct neff_desc *d)
{
	struct ncc_access acc[NCC_DESC_ACCESS];
	int64_t bytes = 1;

	ncc_desc_access(d, acc);
	for (unsigned int i = 0; i < d->to.ndim; i++)
		bytes *= (int64_t)d->to.size[i];
	if (d->op != NEFF_COPY) /* rows that the data choose */
		bytes = 0;
	if (take(w, &acc[1], bytes) || (acc[1].space == NCC_DRAM && is_output(w->p, acc[1].var)))
		add(w, &acc[0]);
}

/* Instructions that move bits, of whatever type */
static bool moves(const struct neuron_insn *insn)
{
	return insn->opcode == NEURON_OP_TENSOR_COPY || insn->opcode == NEURON_OP_TRANSPOSE;
}

static void walk_insn(struct nan_walk *w, struct ncc_node *n)
{
	static const struct neuron_insn looks = { .check = true };
	const struct ncc_access *dst = n->nacc ? &n->acc[n->nacc - 1] : NULL;
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	struct neuron_insn decoded, *insn = &decoded;
	int64_t bytes;

	if (!dst || !dst->write || !touches(w, dst))
		return;
	(void)neuron_isa_decode(words, ncc_node_words(w->p, n, words) / NEURON_INSN_WORD, insn);
	if (insn->opcode == NEURON_OP_CUSTOM_OP) { /* it does not look */
		take(w, dst, area(dst));
		return;
	}
	bytes = neuron_isa_dtypes[insn->dst.dtype].size * (dst->p1 - dst->p0);
	for (unsigned int d = 0; d < NEURON_AP_DIMS; d++)
		bytes *= insn->dst.num[d];
	if (!take(w, dst, bytes))
		return;
	/* blocks that are turned may be larger than what is in them: what lies beside it is
	 * anything */
	if (insn->opcode != NEURON_OP_TRANSPOSE && !neuron_isa_dtypes[insn->dst.dtype].integer)
		neuron_isa_put_head(&looks, NEURON_FB(CHECK), n->word);
	else if (moves(insn))
		add(w, &n->acc[0]);
}

/* Walks back to the barrier before, or to the begin; is there a barrier? */
static bool walk(struct nan_walk *w)
{
	struct ncc_prog *p = w->p;

	while (w->next) {
		struct ncc_node *n = ncc_prog_node(p, --w->next);

		if (n->proc == NCC_PROC_SIBLING)
			return true;
		if (n->dma < 0) {
			walk_insn(w, n);
			continue;
		}
		for (unsigned int d = p->dma[n->dma].ndesc; d-- > 0;)
			walk_desc(w, &p->dma[n->dma].desc[d]);
	}
	return false;
}

/* At a barrier of both cores: if outputs are made of what w receives there, the other core's walk
 * follows that. */
static void follow(struct nan_walk *w, struct nan_walk *sibling)
{
	const struct ncc_node *n = ncc_prog_node(w->p, w->next);
	const struct ncc_access *taken = &n->acc[0];

	if (n->nacc &&
	    take(w, taken, area(taken))) /* the barrier's instruction is before its node */
		add(sibling, &ncc_prog_node(sibling->p, sibling->next - 1)->acc[0]);
}

void ncc_check_outputs_for_nan(struct ncc_prog *p, struct ncc_prog *sibling)
{
	struct nan_walk w = { .p = p, .next = p->nnodes };
	struct nan_walk other = { .p = sibling, .next = sibling ? sibling->nnodes : 0 };

	for (;;) {
		const bool more = walk(&w);

		if (!sibling || !walk(&other) || !more)
			return;
		follow(&w, &other);
		follow(&other, &w);
	}
}
