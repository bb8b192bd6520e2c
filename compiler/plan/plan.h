/* SPDX-License-Identifier: MIT */
/*
 * The plan: how each operation is done, decided from the IR and the target alone before the first
 * instruction is there. The code generator goes over it once and does what it says. What depends
 * on how full SBUF is at that point (whether a result has room there, what is spilled, which
 * operands stay) is no part of it; a plan says what is tried first. neuronx-cc --print-plan prints
 * it.
 */
#ifndef NCC_PLAN_H
#define NCC_PLAN_H

#include <stdio.h>

#include "ir/ir.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/target.h"

enum plan_how {
	/* A constant, or a broadcast of one: placed when a reader needs more than its value */
	PLAN_LAZY,
	PLAN_LATER, /* done with a later operation, plan_op.with */
	PLAN_INPUT,
	PLAN_VIEW, /* of its operand, or a copy where no view of it has that shape */
	PLAN_CAST, /* nothing is done if its operand has that type, or its user casts as it reads */
	PLAN_AROUND, /* a pad: its operand is computed in its result */
	PLAN_SCATTER,
	PLAN_CUSTOM,
	PLAN_KERNEL,
	PLAN_EXCHANGE,
	PLAN_GROUP, /* this and earlier ones, element by element, together and in pieces */
	PLAN_WHOLE, /* in SBUF at once; in pieces if that has no room for it */
	PLAN_PIECES, /* in pieces with the result in DRAM: SBUF could never hold it */
	PLAN_HOWS,
};

/* Who casts what a convert makes */
enum plan_cast {
	PLAN_CAST_SELF,
	PLAN_CAST_SAME, /* nobody: its operand has that type */
	PLAN_CAST_BEFORE, /* the operation before it, which writes that type */
	PLAN_CAST_FROM_DRAM, /* its user, if it reads from DRAM */
	PLAN_CAST_COPIED, /* its user, a copy, wherever it reads from */
};

/*
 * What an operation of a product's epilogue does: alu with a constant, with one number for each
 * partition or with a tensor; or a function of ACT. Of a reduction: its alu, and what that does
 * with the initial value, a constant or a scalar; NONE: nothing, it is neutral
 */
enum plan_step_form {
	PLAN_STEP_NONE,
	PLAN_STEP_CONSTANT,
	PLAN_STEP_SCALAR,
	PLAN_STEP_TENSOR,
	PLAN_STEP_FUNCTION,
};
struct plan_step {
	enum plan_step_form form;
	uint8_t alu, func;
	bool reverse; /* the other operand is the first one */
	uint8_t together; /* so many are one instruction, which begins here; 0: an earlier one's */
	double value;
	struct ncc_op *other; /* SCALAR, TENSOR */
};

#define PLAN_MAX_EPILOGUE 6 /* operations fused with a product */
#define PLAN_MAX_GROUP 128 /* members of a group */
#define PLAN_BOXES 4 /* of a product, in flight: half of PSUM's banks, so the next need not wait */
#define NCC_SBUF_ALIGN 64 /* bytes: of what lies in SBUF */

struct plan_operands {
	unsigned int n; /* the first so many */
	int8_t pdim, rest; /* along the partitions: of the first one, of the others */
};

struct plan_op {
	struct ncc_op *op;
	uint8_t how; /* enum plan_how */
	uint8_t cast; /* enum plan_cast, of a convert */
	uint8_t dtype; /* that its result is written in: its only user's, a convert, or its own */
	bool elementwise;
	bool unchanged; /* it lies in DRAM, where no instruction changes it, or is a view of that */
	bool kept; /* several read it, so that it may stay where the first one fetched it to */
	/* Of a product: the operand that stays in PE as the other one goes by, at once or in pieces
	 */
	uint8_t stationary, stationary_in_pieces;
	bool hits; /* a scatter, each of whose indices is the number of a row */
	bool turned; /* a convert whose users, several, all want it along other partitions */
	int8_t dram_pdim; /* the outermost dimension of a result in DRAM; -1: it is row-major */
	uint8_t takes[2]; /* operands from the one to before the other, whose place it may take */
	/* Operands that have places before it is computed, or before it is computed in pieces */
	struct plan_operands whole, pieces;
	bool is_number; /* a constant, the same throughout: number */
	double number;
	struct ncc_op *with; /* LATER: the operation in whose place it is done */
	/*
	 * What is done in this one's place, in this order: a group, which ends here, or a product
	 * and its epilogue. NULL: itself alone. next: the one behind it there
	 */
	struct ncc_op *first, *next;
	unsigned int n; /* of a group: its members; of a product: the length of its epilogue */
	unsigned int contracting; /* users that contract the dimension along its partitions */
	struct plan_step step; /* of a part of an epilogue, of a reduction */
	struct ncc_op *pad; /* its only user, in whose result it is computed */
	struct ncc_op *joined; /* its only user, a concatenation in whose result it is computed */
};

struct plan {
	const char *name; /* the module's */
	unsigned int n;
	struct plan_op *op; /* in the module's order; ncc_op.plan */
};

/*
 * Plans a module after its passes; fused: with epilogues and groups. The plan lives as long as the
 * module. 0 or -ENOMEM
 */
int ncc_plan(struct ncc_module *m, const struct neuron_target *target, bool fused,
	     struct plan *plan);
/* An operation a line (docs/compiler.md, "The plan") */
void ncc_print_plan(const struct plan *plan, FILE *f);

/* Is it a constant that is one number throughout? *v: which */
static inline bool plan_number(const struct ncc_op *op, double *v)
{
	*v = op->plan->number;
	return op->plan->is_number;
}

/* What is computed before its epilogue: the operation itself, or a product that it ends */
static inline struct ncc_op *plan_computed(const struct plan_op *p)
{
	return p->first ? p->first : p->op;
}

#define PLAN_MOST_PLACES (1 << 15) /* by which one instruction takes or combines */

/* ACT's function for it; 0: none */
uint8_t ncc_act_func(enum ncc_kind kind);
/*
 * The bytes of a partition that a chunk of 128 partitions of a value takes in SBUF; *chunks: how
 * many there are
 */
int64_t plan_chunk_bytes(const struct ncc_shape *s, int pdim, int64_t *chunks);
/* Do so many chunks of so many bytes have room in a partition? */
static inline bool plan_has_room(int64_t bytes, int64_t chunks, int64_t partition)
{
	return bytes <= partition && chunks <= partition / bytes;
}

#endif
