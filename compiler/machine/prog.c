// SPDX-License-Identifier: MIT
/* The container of a machine program: growing arrays, and the check of every instruction */
#include "prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"

void ncc_prog_init(struct ncc_prog *p, const struct neuron_target *target)
{
	memset(p, 0, sizeof(*p));
	p->target = target;
}

void ncc_prog_free(struct ncc_prog *p)
{
	for (unsigned int i = 0; i < p->ndma; i++)
		free(p->dma[i].desc);
	for (unsigned int i = 0; i < p->nvars; i++) {
		free(p->var[i].name);
		free(p->var[i].file_name);
		free(p->var[i].source);
		if (!p->lent[i])
			free(p->var[i].data);
	}
	for (unsigned int i = 0; i < p->ncustom; i++)
		free(p->custom[i].arg);
	free(p->custom);
	free(p->lent);
	for (unsigned int i = 0; i < NCC_BLOCKS; i++)
		free(p->block[i]);
	for (struct ncc_accesses *a = p->accesses, *before; a; a = before) {
		before = a->before;
		free(a);
	}
	free(p->second);
	free(p->dma);
	free(p->var);
}

unsigned int ncc_semaphore_of(const struct neuron_target *target, unsigned int proc)
{
	if (proc >= NCC_PROC_QUEUE(0))
		return target->engines - 1 + proc - NCC_PROC_QUEUE(0);
	return proc < NEURON_ENG_SP ? proc : proc - 1;
}

/* Makes room for one more element; false: out of memory. */
static bool grow(void *array, unsigned int n, unsigned int *cap, size_t size)
{
	void **a = array, *q;
	unsigned int c;

	if (n < *cap)
		return true;
	c = *cap ? *cap * 2 : 64;
	q = realloc(*a, c * size);
	if (!q)
		return false;
	*a = q;
	*cap = c;
	return true;
}

/* Makes room for a node behind the last one; false: out of memory. */
static bool grow_nodes(struct ncc_prog *p)
{
	const unsigned int block = ncc_block_of(p->nnodes);

	if (!p->block[block])
		p->block[block] =
			malloc(((size_t)NCC_FIRST_BLOCK << block) * sizeof(struct ncc_node));
	return p->block[block];
}

/* Gives a node its accesses. */
static int set_accesses(struct ncc_prog *p, struct ncc_node *n, const struct ncc_access *acc,
			unsigned int nacc, struct ncc_error *err)
{
	struct ncc_accesses *a = p->accesses;

	if (!nacc)
		return 0;
	if (!a || a->n + nacc > a->cap) {
		const unsigned int twice = a ? 2 * a->cap : 128, cap = twice < 8192 ? twice : 8192;

		a = malloc(sizeof(*a) + cap * sizeof(*acc));
		if (!a)
			return ncc_no_memory(err);
		a->before = p->accesses;
		a->n = 0;
		a->cap = cap;
		p->accesses = a;
	}
	memcpy(&a->acc[a->n], acc, nacc * sizeof(*acc));
	n->acc = &a->acc[a->n];
	n->nacc = (uint8_t)nacc;
	a->n += nacc;
	return 0;
}

static int set_words(struct ncc_prog *p, struct ncc_node *n, const struct neuron_insn *insn,
		     struct ncc_error *err)
{
	uint8_t words[NEURON_ISA_MAX_WORDS][NEURON_INSN_WORD];
	int nwords = neuron_isa_encode(insn, words);

	if (nwords < 0)
		return ncc_fail(err, -EINVAL, "internal: %s has no encoding",
				neuron_isa_ops[insn->opcode].name);
	memcpy(n->word, words[0], sizeof(n->word));
	if (nwords == 1)
		return 0;
	if (!grow(&p->second, p->nsecond, &p->second_cap, sizeof(*p->second)))
		return ncc_no_memory(err);
	memcpy(p->second[p->nsecond++], words[1], sizeof(*p->second));
	n->second = p->nsecond;
	return 0;
}

unsigned int ncc_node_words(const struct ncc_prog *p, const struct ncc_node *n, void *words)
{
	memcpy(words, n->word, NEURON_INSN_WORD);
	if (!n->second)
		return NEURON_INSN_WORD;
	memcpy((uint8_t *)words + NEURON_INSN_WORD, p->second[n->second - 1], NEURON_INSN_WORD);
	return 2 * NEURON_INSN_WORD;
}

/* A node without accesses and words */
static struct ncc_node *node_new(struct ncc_prog *p, struct ncc_error *err, int *rc)
{
	struct ncc_node *n;

	*rc = 0;
	if (p->nnodes >= NCC_MAX_NODES) {
		*rc = ncc_fail(err, -EFBIG, "too large: the program exceeds %d instructions",
			       NCC_MAX_NODES);
		return NULL;
	}
	if (!grow_nodes(p)) {
		*rc = ncc_no_memory(err);
		return NULL;
	}
	n = ncc_prog_node(p, p->nnodes++);
	memset(n, 0, offsetof(struct ncc_node, word));
	n->dma = -1;
	return n;
}

int ncc_prog_insn(struct ncc_prog *p, unsigned int engine, const struct neuron_insn *insn,
		  struct ncc_error *err)
{
	struct ncc_access acc[NCC_MAX_ACCESS];
	struct neuron_isa_fault fault;
	struct ncc_node *n;
	int rc;

	if (neuron_isa_check(insn, engine, p->target, &fault))
		return ncc_fail(err, -EINVAL,
				"internal: %s refused by the instruction set: %s (operand %u)",
				neuron_isa_ops[insn->opcode].name, fault.reason, fault.operand);
	n = node_new(p, err, &rc);
	if (!n)
		return rc;
	neuron_isa_load_weights(&p->array, insn);
	n->proc = (uint8_t)engine;
	rc = set_words(p, n, insn, err);
	return rc ? rc
		  : set_accesses(p, n, acc,
				 ncc_insn_access(insn, p->target,
						 neuron_isa_weights_for(&p->array, insn)->columns,
						 acc),
				 err);
}

/* The smallest box around both */
static void access_union(struct ncc_access *a, const struct ncc_access *b)
{
	a->lo = a->lo < b->lo ? a->lo : b->lo;
	a->hi = a->hi > b->hi ? a->hi : b->hi;
	a->p0 = a->p0 < b->p0 ? a->p0 : b->p0;
	a->p1 = a->p1 > b->p1 ? a->p1 : b->p1;
}

int ncc_prog_dma(struct ncc_prog *p, enum ncc_queue queue, struct neff_desc *desc,
		 unsigned int ndesc, struct ncc_error *err)
{
	struct ncc_access all[NCC_DESC_ACCESS];
	unsigned int nacc = 0;
	struct ncc_node *n;
	int rc = 0;

	if (ndesc > NCC_MAX_DESCS - p->ndesc) {
		free(desc);
		return ncc_fail(err, -EFBIG, "too large: more than %d DMA descriptors",
				NCC_MAX_DESCS);
	}

	if (!grow(&p->dma, p->ndma, &p->dma_cap, sizeof(*p->dma))) {
		free(desc);
		return ncc_no_memory(err);
	}

	p->dma[p->ndma] = (struct neff_dma){
		.id = p->ndma, .queue = queue, .semaphore = -1, .ndesc = ndesc, .desc = desc
	};
	p->ndma++;
	p->ndesc += ndesc;
	n = node_new(p, err, &rc);
	if (!n)
		return rc;
	n->proc = (uint8_t)NCC_PROC_QUEUE(queue);

	n->dma = (int32_t)(p->ndma - 1);
	for (unsigned int i = 0; i < ndesc; i++) {
		struct ncc_access acc[NCC_DESC_ACCESS];

		nacc = ncc_desc_access(&desc[i], acc);
		for (unsigned int k = 0; k < nacc; k++) {
			if (i)
				access_union(&all[k], &acc[k]);
			else
				all[k] = acc[k];
		}
	}
	return set_accesses(p, n, all, nacc, err);
}

static int access_variable(struct ncc_prog *p, uint32_t node, uint32_t var, bool write,
			   struct ncc_error *err)
{
	const struct ncc_access acc = {
		.space = NCC_DRAM, .write = write, .var = var, .hi = p->var[var].size
	};

	return set_accesses(p, ncc_prog_node(p, node), &acc, 1, err);
}

/* A barrier's instruction, and behind it the node of the other core's */
static int add_barrier(struct ncc_prog *p, struct ncc_error *err)
{
	const struct neuron_insn insn = { .opcode = NEURON_OP_PSEUDO_CORE_BARRIER,
					  .id = ncc_semaphore_of(p->target, NCC_PROC_SIBLING) };
	int rc = ncc_prog_insn(p, NEURON_ENG_SP, &insn, err);
	struct ncc_node *n;

	if (rc)
		return rc;
	n = node_new(p, err, &rc);
	if (!n)
		return rc;
	n->proc = NCC_PROC_SIBLING;
	p->nbarriers++;
	return 0;
}

int ncc_prog_barrier(struct ncc_prog *p, uint32_t given, uint32_t taken, struct ncc_error *err)
{
	int rc = add_barrier(p, err);

	rc = rc ? rc : access_variable(p, p->nnodes - 2, given, false, err);
	return rc ? rc : access_variable(p, p->nnodes - 1, taken, true, err);
}

int ncc_prog_fence(struct ncc_prog *p, struct ncc_error *err)
{
	int rc = add_barrier(p, err);

	if (rc)
		return rc;
	ncc_prog_node(p, p->nnodes - 2)->fence = ncc_prog_node(p, p->nnodes - 1)->fence = true;
	p->ends_at_fence = true;
	return 0;
}

int ncc_prog_custom(struct ncc_prog *p, const struct neuron_insn *insn, struct neff_custom *args,
		    struct ncc_error *err)
{
	struct ncc_access acc[NCC_MAX_ACCESS];
	struct neuron_insn own = *insn;
	int rc;

	if (p->ncustom == NEFF_MAX_CUSTOM ||
	    !grow(&p->custom, p->ncustom, &p->custom_cap, sizeof(*p->custom))) {
		free(args->arg);
		return p->ncustom == NEFF_MAX_CUSTOM
			       ? ncc_fail(err, -EFBIG, "too large: more than %u custom operators",
					  NEFF_MAX_CUSTOM)
			       : ncc_no_memory(err);
	}
	own.custom.args = p->ncustom;
	p->custom[p->ncustom++] = *args;
	rc = ncc_prog_insn(p, NEURON_ENG_GPSIMD, &own, err);
	return rc ? rc
		  : set_accesses(p, ncc_prog_node(p, p->nnodes - 1), acc,
				 ncc_custom_access(args, acc), err);
}

struct ncc_prog_mark ncc_prog_mark(const struct ncc_prog *p)
{
	return (struct ncc_prog_mark){ p->nnodes, p->ndma, p->ndesc, p->ncustom };
}

void ncc_prog_rewind(struct ncc_prog *p, const struct ncc_prog_mark *mark)
{
	while (p->ndma > mark->ndma)
		free(p->dma[--p->ndma].desc);
	while (p->ncustom > mark->ncustom)
		free(p->custom[--p->ncustom].arg);
	p->nnodes = mark->nnodes;
	p->ndesc = mark->ndesc;
}

int ncc_prog_var(struct ncc_prog *p, enum neff_var_type type, const char *name, uint64_t size)
{
	struct neff_var *v;

	if (!grow(&p->lent, p->nvars, &p->lent_cap, sizeof(*p->lent)) ||
	    !grow(&p->var, p->nvars, &p->var_cap, sizeof(*p->var)))
		return -ENOMEM;
	p->lent[p->nvars] = false;
	v = &p->var[p->nvars];
	memset(v, 0, sizeof(*v));
	v->name = strdup(name);
	if (!v->name)
		return -ENOMEM;
	v->type = type;
	v->var_id = p->nvars;
	v->size = size;
	v->alignment = type == NEFF_VAR_STATE_BUFFER ? 0 : 64;
	return (int)p->nvars++;
}
