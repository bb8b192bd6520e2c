/* SPDX-License-Identifier: MIT */
/*
 * The machine program: instructions and DMAs in one order that respects every dependence, with the
 * memory that each one accesses. The code generator appends to it, sched.c turns it into engine
 * streams with semaphores, out.c writes streams and DMAs into a NEFF, check.c proves the result.
 */
#ifndef NCC_PROG_H
#define NCC_PROG_H

#include "ir/ir.h"
#include "passes/loops.h"
#include "neff.h"
#include "neuron/hw/ext.h"
#include "neuron/isa/check.h"

/*
 * The processors that execute nodes: the engines, as the target numbers them, then the DMA queues
 */
enum ncc_queue { NCC_Q_IN, NCC_Q_DATA, NCC_Q_OUT, NCC_Q_GATHER, NCC_QUEUES };
#define NCC_PROC_QUEUE(q) (NEURON_ENGINES_MAX + (q))
/* The logical core's other core, whose barriers are past */
#define NCC_PROC_SIBLING (NEURON_ENGINES_MAX + NCC_QUEUES)
#define NCC_PROCS (NCC_PROC_SIBLING + 1)

#define NCC_MAX_NODES (1 << 20)
#define NCC_MAX_DESCS (1 << 20)

/*
 * A box of memory: bytes [lo, hi) of partitions [p0, p1); in DRAM of variable var, p is unused.
 * Elsewhere var is 0.
 */
enum ncc_space { NCC_SBUF, NCC_PSUM, NCC_DRAM };
struct ncc_access {
	uint8_t space;
	bool write;
	uint32_t var;
	uint16_t p0, p1;
	uint64_t lo, hi;
};
#define NCC_MAX_ACCESS 8
_Static_assert(NCC_MAX_ACCESS >= NEURON_ISA_MAX_ACCESS, "any instruction's");

struct ncc_node {
	uint8_t proc; /* an engine, NCC_PROC_QUEUE(), or NCC_PROC_SIBLING: the other core's barrier */
	uint8_t nacc;
	bool signals; /* adds 1 to its proc's semaphore when complete */
	bool fence; /* comes after all before it, and all behind it after it */
	int32_t dma; /* index in dmas; -1: an engine's instruction */
	/* sched.c: its proc's semaphore once this node is complete, and each producer's last node,
	 * + 1, that is known to be complete then */
	uint32_t count, known[NCC_PROCS];
	const struct ncc_access *acc;
	uint32_t second; /* the number of the instruction's second word, + 1; 0: it has one word */
	uint8_t word[NEURON_INSN_WORD];
};

/* Nodes lie in blocks, of which each has twice as many as the one before: they stay where they are.
 */
#define NCC_FIRST_BLOCK 64 /* nodes */
#define NCC_BLOCKS 15
_Static_assert(NCC_FIRST_BLOCK *((1 << NCC_BLOCKS) - 1) >= NCC_MAX_NODES, "room for all nodes");

struct ncc_before_after {
	uint64_t before, after;
};

struct ncc_prog {
	const struct neuron_target *target;
	struct ncc_node *block[NCC_BLOCKS];
	unsigned int nnodes;
	struct ncc_accesses { /* the nodes', which stay where they are */
		struct ncc_accesses *before;
		unsigned int n, cap;
		struct ncc_access acc[];
	} * accesses;
	uint8_t (*second)[NEURON_INSN_WORD]; /* of instructions */
	unsigned int nsecond, second_cap;
	struct neff_dma *dma; /* ids are indices; semaphore and queue set by sched.c and out.c */
	unsigned int ndma, dma_cap;
	struct neff_custom *custom; /* of CUSTOM_OPs, by the number in args */
	unsigned int ncustom, custom_cap;
	struct neff_var *var; /* 0: the state buffer */
	unsigned int nvars, var_cap;
	bool *lent; /* for each variable: its data belong to the module */
	unsigned int lent_cap;
	unsigned int ndesc, nbarriers;
	/* ends with a barrier: the other core's may go on meanwhile with what comes behind it */
	bool ends_at_fence;
	struct neuron_isa_array array; /* the weights that were loaded last */
	struct {
		unsigned int constants;
		/* their bytes; picoseconds of DMA engines, and of the emulator's host by estimate */
		struct ncc_before_after bytes, chip, host;
	} compressed;
};

/* The block of a node */
static inline unsigned int ncc_block_of(uint32_t i)
{
	return 31 - (unsigned int)__builtin_clz(i / NCC_FIRST_BLOCK + 1);
}

static inline struct ncc_node *ncc_prog_node(const struct ncc_prog *p, uint32_t i)
{
	const unsigned int block = ncc_block_of(i);

	return &p->block[block][i - NCC_FIRST_BLOCK * ((1u << block) - 1)];
}

/* The words of a node's instruction, which it has; returns how many bytes they are. */
unsigned int ncc_node_words(const struct ncc_prog *p, const struct ncc_node *n, void *words);

/* The semaphore of a producer: first the engines but SP, then the queues, then the other core */
unsigned int ncc_semaphore_of(const struct neuron_target *target, unsigned int proc);
void ncc_prog_init(struct ncc_prog *p, const struct neuron_target *target);
void ncc_prog_free(struct ncc_prog *p);
/* 0, -ENOMEM, -EFBIG, or -EINVAL when the engine would refuse the instruction */
int ncc_prog_insn(struct ncc_prog *p, unsigned int engine, const struct neuron_insn *insn,
		  struct ncc_error *err);
/* desc is owned by the program from here on, also on failure. */
int ncc_prog_dma(struct ncc_prog *p, enum ncc_queue queue, struct neff_desc *desc,
		 unsigned int ndesc, struct ncc_error *err);
/*
 * A core barrier, as many as the other core has: what was written of one variable is the other
 * core's from here on, and what that has written of another one is there.
 */
int ncc_prog_barrier(struct ncc_prog *p, uint32_t given, uint32_t taken, struct ncc_error *err);
/*
 * A core barrier, as many as the other core has, at which all that each has done is past for both
 */
int ncc_prog_fence(struct ncc_prog *p, struct ncc_error *err);
/* A CUSTOM_OP on GpSimd; args, of which arg is the program's from here on, also on failure */
int ncc_prog_custom(struct ncc_prog *p, const struct neuron_insn *insn, struct neff_custom *args,
		    struct ncc_error *err);
/* A mark, and dropping the instructions and DMAs after one; variables stay. */
struct ncc_prog_mark {
	unsigned int nnodes, ndma, ndesc, ncustom;
};
struct ncc_prog_mark ncc_prog_mark(const struct ncc_prog *p);
void ncc_prog_rewind(struct ncc_prog *p, const struct ncc_prog_mark *mark);
/* Adds a variable, of which the name is copied. Returns its index or -ENOMEM. */
int ncc_prog_var(struct ncc_prog *p, enum neff_var_type type, const char *name, uint64_t size);

uint64_t ncc_pattern_bytes(const struct neff_pattern *p); /* access.c: all that it visits */
/* access.c: what an instruction or a DMA accesses; columns: of the weights that are loaded */
unsigned int ncc_insn_access(const struct neuron_insn *insn, const struct neuron_target *target,
			     unsigned int columns, struct ncc_access *acc);
/* The tensors that a CUSTOM_OP works on, NCC_MAX_ACCESS of them at most; returns how many. */
unsigned int ncc_custom_access(const struct neff_custom *custom, struct ncc_access *acc);
void ncc_pattern_access(const struct neff_pattern *p, bool state_buffer, bool write,
			struct ncc_access *acc);
/* The boxes of one descriptor, NCC_DESC_ACCESS of them at most; returns how many. */
#define NCC_DESC_ACCESS 3
unsigned int ncc_desc_access(const struct neff_desc *d, struct ncc_access *acc);
/* The indices that a gather or a scatter reads, which lie one after the other */
struct neff_pattern ncc_index_of(const struct neff_desc *d);
static inline bool ncc_access_overlap(const struct ncc_access *a, const struct ncc_access *b)
{
	return a->space == b->space && a->var == b->var && a->lo < b->hi && b->lo < a->hi &&
	       (a->space == NCC_DRAM || (a->p0 < b->p1 && b->p0 < a->p1));
}

/*
 * nan.c: has the instructions that write what outputs are copied from look for NaN. sibling: the
 * program of a logical core's other core, or NULL
 */
void ncc_check_outputs_for_nan(struct ncc_prog *p, struct ncc_prog *sibling);

/* compress.c: constants that are only copied from, and where it pays; what instructions do stays */
int ncc_compress_constants(struct ncc_prog *p, enum ncc_compress when, struct ncc_error *err);
/* report.c: what an engine takes for a descriptor, in picoseconds of virtual time */
uint64_t ncc_desc_time(const struct neuron_costs *cost, const struct neff_desc *d);

/* Descriptors of a queue: of what it reads and writes; rows that an index chooses */
struct ncc_descs {
	uint64_t tx, rx, rows;
};
/* A row that an index chooses has a descriptor on both sides of three queues of the loader's. */
#define NCC_ROW_DESCS 6
/* Adds those of a DMA. -E2BIG: there are more than a queue has room for */
int ncc_count_descs(const struct neuron_target *target, const struct neff_dma *dma,
		    struct ncc_descs *d);
/* Are they so few that no loader refuses them? A quick answer, whose no may be wrong */
bool ncc_few_descs(const struct ncc_prog *p);
/* DMAs for which the queue of data has no room go to another one. Have any? */
bool ncc_spread_queues(struct ncc_prog *p);
/* -E2BIG: what it moves is in so many small pieces that no loader has room for their descriptors */
int ncc_check_descs(const struct ncc_prog *p, struct ncc_error *err);

/*
 * sched.c: the streams, with waits and updates; every semaphore is 0 at the end and SP is last.
 * A slot of a stream is a node's instruction, or one of the scheduler's own, and what it waits for.
 */
enum { NCC_SLOT_NOP = UINT32_MAX - 3, NCC_SLOT_START, NCC_SLOT_TAKE_BACK, NCC_SLOT_CLEAR };
struct ncc_slot {
	uint32_t node; /* or NCC_SLOT_* */
	uint32_t wait; /* the node that it waits for, + 1; 0: none */
};
struct ncc_stream {
	struct ncc_slot *slot;
	unsigned int n, cap;
};
/*
 * The words of what a slot executes, once all is scheduled: room for NEURON_ISA_MAX_WORDS. Returns
 * how many bytes they are.
 */
unsigned int ncc_slot_words(const struct ncc_prog *p, const struct ncc_slot *slot, void *words);
/* The same, as they are decoded */
void ncc_slot_insn(const struct ncc_prog *p, const struct ncc_slot *slot, struct neuron_insn *insn);

struct ncc_sched;
int ncc_sched_begin(struct ncc_sched **s, struct ncc_prog *p); /* 0 or -ENOMEM */
/*
 * Finds what the nodes before end wait for, if it is not found yet: by another thread than the one
 * that appends nodes, if those before end stay as they are. 0 or -ENOMEM
 */
int ncc_sched_to(struct ncc_sched *s, uint32_t end);
/* Once all nodes are there: ncc_spread_queues, and what was found is forgotten if it moves any */
void ncc_sched_spread(struct ncc_sched *s);
/* The streams, once all nodes are there. 0 or -ENOMEM */
int ncc_sched_end(struct ncc_sched *s, struct ncc_stream stream[NEURON_ENGINES_MAX]);
void ncc_sched_free(struct ncc_sched *s);

/*
 * share.c: constants of the same bytes in programs that have one memory become one. 0 or -ENOMEM
 */
int ncc_share_constants(struct neff_model *model);

/*
 * out.c: writes everything into a NEFF: one subgraph for each stage of a pipeline or each part of a
 * module with loops. The caller frees *buf.
 */
struct ncc_subgraph {
	const struct ncc_prog *prog;
	struct ncc_stream stream[NEURON_ENGINES_MAX];
};
struct ncc_output {
	const struct neuron_target *target;
	unsigned int
		lnc; /* 2: the first half of the subgraphs is the first core's of a logical one */
	const struct ncc_subgraph *subgraph;
	unsigned int nsubgraphs, requested; /* cores asked for */
	const struct ncc_part_loop *loop; /* then the subgraphs are parts of a core's program */
	unsigned int nloops;
	const struct ncc_parts *parts; /* the same, and what is done between them; NULL: no parts */
	/* the devices that execute it together, 0: no others */
	unsigned int ranks, partitions, ntransfers;
	const struct ncc_part_transfer *transfer; /* what passes among them */
	unsigned int nread; /* number of operations before the passes */
	const struct neff_library *library; /* of custom operators, or NULL */
	const char *name;
	const uint8_t *uuid;
	uint64_t source_hash;
	uint64_t *time; /* picoseconds of all subgraphs, in place of the NEFF; NULL: the NEFF */
	void *file; /* the NEFF */
	size_t size;
};
int ncc_out_model(const struct ncc_output *o, struct neff_model **model, struct ncc_error *err);
/* calls.c: the calls of the host between parts, which ncc_out_free frees. 0 or -errno */
int ncc_out_calls(const struct ncc_parts *parts, struct neff_model *m, struct ncc_error *err);
void ncc_out_free(struct neff_model *model);
/* Gives the inputs their own names where the NEFF's would be the same in another order. */
int ncc_name_inputs(struct neff_model *model, struct ncc_error *err);

/*
 * check.c: proves that the emitted model ends, leaves the semaphores at 0, and orders every two
 * accesses that clash.
 */
int ncc_check_model(const struct neff_model *model, struct ncc_error *err);

#endif
