// SPDX-License-Identifier: MIT
/*
 * Chains: two members of a group that one instruction does, (a op s) op b, where s is an immediate
 * or one number for each partition. What lies between is fp32 either way, so no bit changes. A
 * depthwise convolution is such a chain for each element of its kernel. And what pieces of a group
 * take of SBUF at one time. Part of the code generator.
 */
#include "box.h"
#include "elem.h"
#include "group.h"

static bool is_scalar(const struct group *x, const struct form *f, unsigned int m, unsigned int i,
		      int pdim)
{
	int s = x->in[m][i];
	struct ncc_view v;

	if (s == NO_SLOT)
		return true;
	if (s < 0)
		return false;
	v = f->v[s];
	if (v.pdim >= 0 && v.pdim != pdim && v.dim[v.pdim] > 1)
		return false; /* its numbers are in partitions now, and not of theirs */
	v.pdim = pdim;
	return elem_per_partition(&v);
}

/* Is it one operation of an array and a scalar, of which only a later member takes the result? */
static bool can_begin(const struct group *x, const struct form *f, unsigned int m, int pdim)
{
	const struct ncc_op *op = x->op[m];

	if (x->out[m] != NO_SLOT || op->users != 1 || op->plan->dtype != NEURON_DT_FP32 ||
	    chain_begin(x, m) != NO_MEMBER)
		return false;
	if (op->kind == NCC_NEG)
		return true;
	return elem_can_chain(op->kind) &&
	       is_scalar(x, f, m, 0, pdim) != is_scalar(x, f, m, 1, pdim);
}

/* Operands of a chain's beginning are read where the chain ends. */
static void extend(struct group *x, unsigned int begin, unsigned int end)
{
	for (unsigned int i = 0; i < x->op[begin]->nin; i++) {
		unsigned int k = group_operand(x, begin, i);

		if (k != NO_MEMBER && x->last[k] < end)
			x->last[k] = end;
		else if (k == NO_MEMBER && x->in[begin][i] != NO_SLOT &&
			 x->slot[x->in[begin][i]].last < end)
			x->slot[x->in[begin][i]].last = end;
	}
}

void chain_find(struct group *x, const struct form *f, int pdim)
{
	for (unsigned int m = 0; m < x->n; m++)
		x->into[m] = NO_MEMBER;
	for (unsigned int m = 0; m < x->n; m++) {
		if (!elem_can_end_chain(x->op[m]->kind))
			continue;
		for (unsigned int i = 2; i-- > 0;) {
			unsigned int k = group_operand(x, m, i);

			if (k == NO_MEMBER || !can_begin(x, f, k, pdim))
				continue;
			x->into[k] = m;
			extend(x, k, m);
			break;
		}
	}
}

unsigned int chain_begin(const struct group *x, unsigned int m)
{
	for (unsigned int i = 0; i < x->op[m]->nin; i++) {
		unsigned int k = group_operand(x, m, i);

		if (k != NO_MEMBER && x->into[k] == m)
			return k;
	}
	return NO_MEMBER;
}

unsigned int chain_place(const struct group *x, unsigned int m)
{
	const struct ncc_op *op = x->op[m];

	if (x->out[m] != NO_SLOT || op->kind == NCC_CONVERT || op->kind == NCC_SELECT)
		return NO_MEMBER;
	for (unsigned int i = 0; i < op->nin; i++) {
		unsigned int k = group_operand(x, m, i);

		if (k != NO_MEMBER && x->into[k] == NO_MEMBER && x->last[k] == m &&
		    x->out[k] == NO_SLOT && x->op[k]->plan->dtype == op->plan->dtype)
			return k;
	}
	return NO_MEMBER;
}

/* Adds what the sources that a member reads take, for which nothing is taken yet. */
static int64_t take_sources(const struct group *x, const struct form *f, unsigned int m,
			    const int64_t *size, int pdim, bool *here)
{
	int64_t bytes = 0;

	for (unsigned int i = 0; i < x->op[m]->nin; i++) {
		int s = x->in[m][i];

		if (s == NO_SLOT || s < 0 || here[s])
			continue;
		here[s] = true;
		bytes += tile_bytes(&f->v[s], size, pdim, x->slot[s].dtype);
	}
	return bytes;
}

int64_t chain_live_bytes(const struct group *x, const struct form *f, const int64_t *size, int pdim)
{
	int64_t live = 0, most = 0, extra;
	struct ncc_view any = f->v[f->lead];
	bool here[GROUP_VIEWS] = { false }, gone[GROUP_MEMBERS] = { false };

	any.buf = NULL;
	for (unsigned int m = 0; m < x->n; m++) {
		unsigned int place = chain_place(x, m);

		live += take_sources(x, f, m, size, pdim, here);
		gone[m] = x->into[m] != NO_MEMBER;
		if (gone[m])
			continue;
		any.dtype = NEURON_DT_FP32;
		extra = x->op[m]->kind == NCC_DIV ? tile_bytes(&any, size, pdim, 0) : 0;
		any.dtype = x->op[m]->plan->dtype;
		if (place == NO_MEMBER)
			live += tile_bytes(&any, size, pdim, 0);
		else
			gone[place] = true;
		most = live + extra > most ? live + extra : most;
		for (unsigned int s = 0; s < x->nslots; s++)
			if (here[s] && x->slot[s].last == m)
				live -= tile_bytes(&f->v[s], size, pdim, x->slot[s].dtype);
		for (unsigned int k = 0; k <= m; k++) {
			any.dtype = x->op[k]->plan->dtype;
			if (x->last[k] == m && x->out[k] == NO_SLOT && !gone[k])
				live -= tile_bytes(&any, size, pdim, 0);
		}
	}
	return most;
}
