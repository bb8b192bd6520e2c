/* SPDX-License-Identifier: MIT */
/*
 * Private to the cutting of modules (loops.h): what is found out of one (loops_find.c), by which
 * the parts are made (loops.c)
 */
#ifndef NCC_LOOPS_FIND_H
#define NCC_LOOPS_FIND_H

#include "loops.h"
#include "subsets.h"

#define NOWHERE NCC_NOWHERE
#define OUTSIDE (-1) /* outside of every loop */

/*
 * A loop; a call of the host, which is one of no part; or transfers, of one level, none of which
 * needs another one, as a loop without a body. What the latter two give is there in the part behind
 * them.
 */
struct loop {
	struct ncc_op *op, *end; /* NULL: transfers */
	unsigned int depth; /* of transfers: how many, one behind the other, are before them */
	ncc_subset outer; /* the loops around it */
	ncc_subset after; /* the loops whose results it needs, or which it comes after */
	ncc_subset needs; /* of a call: the calls whose results it needs */
	unsigned int nouter;
	int parent;
	int inner, next; /* the first loop in it, and the one behind it; -1: there is none */
	/* parts; the one after last, and after that before a call, has its results */
	unsigned int before, first, last;
	unsigned int order; /* among the program's calls */
	int64_t condition;
};

struct cut {
	struct ncc_module *m;
	unsigned int n; /* operations */
	struct ncc_op **line;
	struct ncc_subsets sets;
	ncc_subset *in; /* by id: the loops on whose state the operation depends */
	ncc_subset *after; /* by id: the loops and transfers whose results it needs, or after which
			   it comes */
	ncc_subset *needs; /* by id: the calls of the host whose results it needs */
	int *level; /* by id: the innermost loop that it is in */
	unsigned int *part;
	unsigned int *of_part; /* ids by their parts; those of part p begin at begin[p] */
	unsigned int *begin;
	int64_t *number;
	int64_t *given; /* by id: of a transfer's operand */
	/* by id: which of loop[] a transfer belongs to, and a loop or a call of the host is */
	unsigned int *stage;
	uint8_t *depth; /* of views; 0: a value */
	const int64_t **bounds; /* by id: of states that count iterations */
	struct ncc_op **clone; /* by id: its clone in the current part */
	unsigned int *cloned; /* the ids that have one */
	unsigned int ncloned;
	struct ncc_op **transfer; /* in the module's order */
	unsigned int nloops, ntransfers, nparts, norder;
	struct loop *loop;
	int first; /* the first loop outside of every other */
	int64_t nnumbers;
	uint64_t *place; /* by number, in the shared scratchpad */
	uint64_t bytes;
	struct ncc_error *err;
};

static inline bool is_call(const struct loop *l)
{
	return l->op && l->op->kind == NCC_HOST_CALL;
}

/* Is it a loop, which neither calls nor transfers are? */
static inline bool has_condition(const struct loop *l)
{
	return l->end && !is_call(l);
}

/* Does its value come from somewhere else than a part's program? */
static inline bool is_given(const struct ncc_op *op)
{
	return op->kind == NCC_TRANSFER || op->kind == NCC_RANK;
}

static inline bool is_of_loop(const struct ncc_op *op)
{
	return op->kind >= NCC_LOOP && op->kind <= NCC_HOST_RESULT;
}

/* The loop that an operation of one of its kinds belongs to */
unsigned int ncc_cut_loop_of(const struct cut *c, const struct ncc_op *op);
/* Finds the loops, and in which of them each operation is. The caller calls ncc_cut_release(). */
int ncc_cut_analyze(struct cut *c);
void ncc_cut_release(struct cut *c);
/* Gives loops and operations their parts. 0 or -ENOMEM */
int ncc_cut_number(struct cut *c);

#endif
