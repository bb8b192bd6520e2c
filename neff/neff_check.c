/* SPDX-License-Identifier: MIT */
/*
 * Checks that the pieces of a model fit each other and the hardware: names, variables, every
 * instruction, triggers against DMAs; transfers are neff_transfers.c's. The reader and the writer
 * both go through here (docs/neff.md, Rules a program keeps).
 */
#include "neff_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff_check.h"
#include "neff_custom.h"
#include "neuron/hw/gen.h"
#include "neuron/isa/check.h"
#include "neuron/isa/codec.h"

#define MAX_INSTR_SIZE (1ull << 30)
#define STOP_BYTES (1u << 20) /* of a program: after so many it is asked whether to go on */

/* Variables */

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of one namespace are present, well formed and different. Consumes the array. */
static int names_unique(struct ctx *c, const char **names, unsigned int n, const char *kind)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < n; i++)
		if (!neff_name_ok(names[i]))
			ret = neff_fail(c->err, "%s/def.json: %s %u has no good name", c->sg->name,
					kind, i);
	if (!ret)
		qsort(names, n, sizeof(*names), name_order);
	for (unsigned int i = 1; !ret && i < n; i++)
		if (!strcmp(names[i], names[i - 1]))
			ret = neff_fail(c->err, "%s/def.json: two %ss '%.64s'", c->sg->name, kind,
					names[i]);
	free(names);
	return ret;
}

static int names_check(struct ctx *c)
{
	const struct neff_subgraph *sg = c->sg;
	const char **vars = malloc((sg->nvars + 1) * sizeof(*vars));
	const char **queues = malloc((sg->nqueues + 1) * sizeof(*queues));
	int ret;

	if (!vars || !queues) {
		free(vars);
		free(queues);
		return neff_nomem(c->err);
	}
	for (unsigned int i = 0; i < sg->nvars; i++)
		vars[i] = sg->vars[i].name;
	for (unsigned int i = 0; i < sg->nqueues; i++)
		queues[i] = sg->queues[i].name;
	ret = names_unique(c, vars, sg->nvars, "variable");
	if (ret) {
		free(queues);
		return ret;
	}
	return names_unique(c, queues, sg->nqueues, "queue set");
}

static int io_check(struct ctx *c, const struct neff_var *v)
{
	uint64_t size = neff_tensor_size(v->dtype, v->ndim, v->shape);

	if (!neff_dtype_size(v->dtype) || !size)
		return neff_fail(c->err, "%s/def.json: var '%.64s': no type or shape", c->sg->name,
				 v->name);
	if (size != v->size)
		return neff_fail(c->err, "%s/def.json: var '%.64s': size %llu, expected %llu",
				 c->sg->name, v->name, (unsigned long long)v->size,
				 (unsigned long long)size);
	return 0;
}

/* Programs that share constants have one memory: parts of one with loops, a logical core's */
static int shared_check(const struct ctx *c, const struct neff_var *v)
{
	const struct neff_subgraph *of = &c->model->subgraphs[v->of_graph];

	if (!c->part)
		return neff_fail(c->err,
				 "%s/def.json: var '%.64s': a constant of another graph, which "
				 "parts of a program with loops and a logical core's programs have",
				 c->sg->name, v->name);
	if (of >= c->sg || v->of_var >= of->nvars || of->vars[v->of_var].type != NEFF_VAR_FILE ||
	    of->vars[v->of_var].shared || of->vars[v->of_var].size != v->size)
		return neff_fail(c->err,
				 "%s/def.json: var '%.64s': "
				 "the other graph has no constant of %llu bytes there",
				 c->sg->name, v->name, (unsigned long long)v->size);
	return 0;
}

static int var_check(struct ctx *c, const struct neff_var *v, unsigned int i)
{
	if (!neff_var_type_name(v->type) || v->var_id != i)
		return neff_fail(c->err, "%s/def.json: var '%.64s': var_id %u at place %u",
				 c->sg->name, v->name, v->var_id, i);

	if (v->alignment & (v->alignment - 1))
		return neff_fail(c->err, "%s/def.json: var '%.64s': alignment %u", c->sg->name,
				 v->name, v->alignment);
	if (!v->size && v->type != NEFF_VAR_STATE_BUFFER)
		return neff_fail(c->err, "%s/def.json: var '%.64s': size 0", c->sg->name, v->name);

	switch (v->type) {
	case NEFF_VAR_INPUT:
	case NEFF_VAR_OUTPUT:
		return io_check(c, v);
	case NEFF_VAR_FILE:
		if (v->shared)
			return shared_check(c, v);
		if (!neff_file_name_ok(v->file_name) || !v->data)
			return neff_fail(c->err, "%s/def.json: var '%.64s': no file", c->sg->name,
					 v->name);
		return 0;
	case NEFF_VAR_VIRTUAL:
		if (v->backing_off > INT64_MAX - v->size)
			return neff_fail(c->err,
					 "%s/def.json: var '%.64s': backing_variable_off %llu",
					 c->sg->name, v->name, (unsigned long long)v->backing_off);
		return 0;
	default:
		return 0;
	}
}

static int vars_check(struct ctx *c)
{
	unsigned int outputs = 0, windows = 0;
	int ret;

	if (!c->sg->nvars || c->sg->nvars > NEFF_MAX_VARS || c->sg->nqueues > NEFF_MAX_QUEUES)
		return neff_fail(c->err, "%s/def.json: %u variables, %u queue sets", c->sg->name,
				 c->sg->nvars, c->sg->nqueues);

	ret = names_check(c);
	for (unsigned int i = 0; !ret && i < c->sg->nvars; i++) {
		ret = var_check(c, &c->sg->vars[i], i);
		outputs += c->sg->vars[i].type == NEFF_VAR_OUTPUT;
		windows += c->sg->vars[i].type == NEFF_VAR_STATE_BUFFER;
	}

	if (!ret && ((!outputs && !c->part) || windows > 1))
		return neff_fail(c->err,
				 "%s/def.json: %u outputs and %u state buffers, "
				 "expected at least 1 and at most 1",
				 c->sg->name, outputs, windows);

	for (unsigned int i = 0; !ret && i < c->sg->nqueues; i++)
		if (c->sg->queues[i].owner >= c->target->engines ||
		    !neff_queue_type_name(c->sg->queues[i].type))
			return neff_fail(c->err,
					 "%s/def.json: dma_queue '%.64s': bad owner or type",
					 c->sg->name, c->sg->queues[i].name);
	return ret;
}

/* Programs */

struct program {
	unsigned int eng;
	size_t offset; /* bytes */
	unsigned int triggers, customs;
	struct neuron_isa_array array;
	uint8_t *begins; /* of each word: an instruction begins there */
	bool jumps; /* then what was executed before an instruction is not known */
};

static int insn_fail(struct ctx *c, const struct program *p, const char *text)
{
	return neff_fail(c->err, "%s/%s.bin: instruction at %zu: %s", c->sg->name,
			 c->target->engine[p->eng].name, p->offset, text);
}

static bool uses_runtime_semaphore(const struct ctx *c, const struct neuron_insn *insn)
{
	const unsigned int n = neff_program_semaphores(c->model);
	bool wait = insn->wait >= NEURON_WAIT_SEM_EQ && insn->wait <= NEURON_WAIT_SEM_LE;
	bool update = insn->update >= NEURON_UPD_SEM_INC && insn->update <= NEURON_UPD_SEM_WR_IMM;

	return (wait && insn->wait_index >= n) || (update && insn->update_index >= n) ||
	       (insn->opcode == NEURON_OP_SEM_RANGE_CLEAR && insn->last >= n);
}

static int trigger_check(struct ctx *c, struct program *p, const struct neuron_insn *insn)
{
	const struct neff_engine *e = &c->sg->engine[p->eng];

	if (p->triggers >= e->ndma)
		return insn_fail(c, p, "a trigger without a DMA");
	if (e->dma[p->triggers].id != insn->id)
		return neff_fail(c->err,
				 "%s/%s.bin: instruction at %zu: trigger of id %u, dma[%u] has %u",
				 c->sg->name, c->target->engine[p->eng].name, p->offset, insn->id,
				 p->triggers, e->dma[p->triggers].id);
	p->triggers++;
	return 0;
}

static int custom_check(struct ctx *c, struct program *p, const struct neuron_insn *insn)
{
	const char *reason = neff_custom_check(c->sg, c->library, insn, p->customs++);

	return reason ? insn_fail(c, p, reason) : 0;
}

static int semaphore_fail(struct ctx *c, const struct program *p)
{
	char text[64];

	snprintf(text, sizeof(text), "semaphores %u to %u are the runtime's",
		 neff_program_semaphores(c->model), c->target->semaphores - 1);
	return insn_fail(c, p, text);
}

static int barrier_check(struct ctx *c, const struct program *p, const struct neuron_insn *insn)
{
	if (!c->logical)
		return insn_fail(c, p, "a barrier in a program for one core");
	return insn->id < neff_program_semaphores(c->model) ? 0 : semaphore_fail(c, p);
}

static int branch_check(struct ctx *c, const struct program *p, const struct neuron_insn *insn)
{
	int64_t target = (int64_t)p->offset + insn->target;

	if (target < 0 || target >= (int64_t)c->sg->engine[p->eng].instr_size)
		return insn_fail(c, p, "a jump out of the program");
	return p->begins[target / NEURON_INSN_WORD]
		       ? 0
		       : insn_fail(c, p, "a jump into the middle of an instruction");
}

static int insn_check(struct ctx *c, struct program *p, const struct neuron_insn *insn)
{
	struct neuron_isa_fault fault;

	if (neuron_isa_check(insn, p->eng, c->target, &fault) ||
	    (!p->jumps &&
	     neuron_isa_check_weights(insn, c->target, neuron_isa_weights_for(&p->array, insn),
				      &fault)))
		return insn_fail(c, p, fault.reason);

	neuron_isa_load_weights(&p->array, insn);
	if ((insn->opcode == NEURON_OP_PROGRAM_START) != !p->offset)
		return insn_fail(c, p, "program_start is the first instruction and no other");

	if (uses_runtime_semaphore(c, insn))
		return semaphore_fail(c, p);

	switch (insn->opcode) {
	case NEURON_OP_PROGRAM_START:
		if (neuron_target_executes(c->target, insn->isa_version))
			return 0;
		c->err->version = true;
		neff_fail(c->err, "%s/%s.bin: ISA version %u, supported %u", c->sg->name,
			  c->target->engine[p->eng].name, insn->isa_version,
			  c->target->isa_version);
		return -ENOTSUP;
	case NEURON_OP_SET_ROUNDING:
		return insn_fail(c, p, "only the runtime says how results are rounded");
	case NEURON_OP_WRITE:
	case NEURON_OP_NOTIFY:
	case NEURON_OP_FETCH:
	case NEURON_OP_FETCH_END:
		return insn_fail(c, p, "only the runtime writes registers, notifies and fetches");
	case NEURON_OP_COMPARE_BRANCH:
		return branch_check(c, p, insn);
	case NEURON_OP_TENSOR_LOAD:
	case NEURON_OP_TENSOR_STORE:
		return insn->device ? insn_fail(c, p, "device addresses are the runtime's") : 0;
	case NEURON_OP_DMA:
		return insn_fail(c, p, "device addresses are the runtime's");
	case NEURON_OP_PSEUDO_DMA_TRIGGER:
		return trigger_check(c, p, insn);
	case NEURON_OP_PSEUDO_CORE_BARRIER:
		return barrier_check(c, p, insn);
	case NEURON_OP_CUSTOM_OP:
		return custom_check(c, p, insn);
	default:
		return 0;
	}
}

static int decode(struct ctx *c, const struct program *p, struct neuron_insn *insn)
{
	const struct neff_engine *e = &c->sg->engine[p->eng];
	int words = neuron_isa_decode_for((const uint8_t *)e->instr + p->offset,
					  (e->instr_size - p->offset) / NEURON_INSN_WORD,
					  c->target->core, insn);

	if (words == -EAGAIN)
		return insn_fail(c, p, "cut off");
	return words < 0 ? insn_fail(c, p, "illegal instruction") : words;
}

/* The beginnings of instructions, for jumps: 0 or an error. Before NeuronCore-v2: none */
static int begins(struct ctx *c, struct program *p)
{
	const struct neff_engine *e = &c->sg->engine[p->eng];
	struct program scan = *p;
	struct neuron_insn insn;
	int words;

	if (c->target->core < 2)
		return 0;
	p->begins = calloc(e->instr_size / NEURON_INSN_WORD, 1);
	if (!p->begins)
		return neff_nomem(c->err);
	for (; scan.offset < e->instr_size; scan.offset += (size_t)words * NEURON_INSN_WORD) {
		words = scan.offset % STOP_BYTES ? 0 : neff_stop(c->limits, c->err);
		words = words ? words : decode(c, &scan, &insn);
		if (words < 0)
			return words;
		p->begins[scan.offset / NEURON_INSN_WORD] = 1;
		p->jumps |= insn.opcode == NEURON_OP_COMPARE_BRANCH;
	}
	c->jumps |= p->jumps;
	return 0;
}

static int program_check(struct ctx *c, unsigned int eng)
{
	const struct neff_engine *e = &c->sg->engine[eng];
	struct program p = { .eng = eng };
	struct neuron_insn insn;
	int ret = 0, words;

	if (!e->instr)
		return e->ndma ? neff_fail(c->err, "%s/%s.json: DMAs without a program",
					   c->sg->name, c->target->engine[eng].name)
			       : 0;

	if (!e->instr_size || e->instr_size % NEURON_INSN_WORD || e->instr_size > MAX_INSTR_SIZE)
		return neff_fail(c->err, "%s/%s.bin: size %zu is not a multiple of %d", c->sg->name,
				 c->target->engine[eng].name, e->instr_size, NEURON_INSN_WORD);

	ret = begins(c, &p);
	for (; !ret && p.offset < e->instr_size; p.offset += (size_t)words * NEURON_INSN_WORD) {
		words = p.offset % STOP_BYTES ? 0 : neff_stop(c->limits, c->err);
		words = words ? words : decode(c, &p, &insn);
		ret = words < 0 ? words : insn_check(c, &p, &insn);
		if (!ret && neff_rest_insn(c->rest, eng, &insn, p.offset))
			ret = neff_nomem(c->err);
	}

	free(p.begins);
	if (!ret && eng == NEURON_ENG_GPSIMD && p.customs != c->sg->ncustom)
		return neff_fail(c->err, "%s/%s.json: custom[%u] is never executed", c->sg->name,
				 c->target->engine[eng].name, p.customs);
	if (!ret && p.triggers != e->ndma)
		return neff_fail(c->err, "%s/%s.json: dma[%u] is never triggered", c->sg->name,
				 c->target->engine[eng].name, p.triggers);
	return ret;
}

/* The number of times that barriers of the logical core's other program raise each semaphore */
static void count_barriers(const struct neff_model *model, const struct neff_subgraph *sg,
			   uint32_t raised[NEURON_SEMAPHORES_MAX])
{
	const unsigned int half = neff_programs(model), k = (unsigned int)(sg - model->subgraphs);
	const struct neff_subgraph *other = &model->subgraphs[k < half ? k + half : k - half];
	struct neuron_insn insn;

	memset(raised, 0, NEURON_SEMAPHORES_MAX * sizeof(*raised));
	for (unsigned int e = 0; model->header.lnc_size > 1 && e < model->target->engines; e++) {
		const struct neff_engine *eng = &other->engine[e];
		size_t n = eng->instr ? eng->instr_size / NEURON_INSN_WORD : 0;
		int words;

		/* what does not decode is refused when its own program is checked */
		for (size_t at = 0; at < n; at += (size_t)words) {
			words = neuron_isa_decode_for((const uint8_t *)eng->instr +
							      at * NEURON_INSN_WORD,
						      n - at, model->target->core, &insn);
			if (words < 0)
				break;
			if (insn.opcode == NEURON_OP_PSEUDO_CORE_BARRIER &&
			    insn.id < NEURON_SEMAPHORES_MAX)
				raised[insn.id]++;
		}
	}
}

/* *runs: pieces that the subgraphs before have left it, which it takes its own from */
static int subgraph_check(const struct neff_subgraph *sg, const struct neff_model *model,
			  const struct neff_limits *limits, uint64_t *runs, struct neff_error *err)
{
	const struct neuron_target *target = model->target;
	uint32_t raised[NEURON_SEMAPHORES_MAX];
	struct ctx c = { .model = model,
			 .sg = sg,
			 .target = target,
			 .library = model->library,
			 .part = neff_in_parts(model) ||
				 (model->header.lnc_size > 1 && sg != model->subgraphs),
			 .logical = model->header.lnc_size > 1,
			 .limits = limits,
			 .most_runs = *runs < NEFF_MAX_RUNS ? *runs : NEFF_MAX_RUNS,
			 .err = err };
	int ret;

	if (!neff_file_name_ok(sg->name))
		return neff_fail(err, "kelf-0.json: bad subgraph name");
	ret = vars_check(&c);
	if (ret)
		return ret;

	count_barriers(model, sg, raised);
	c.rest = neff_rest_new(sg, target, raised);
	if (!c.rest)
		return neff_nomem(err);

	for (unsigned int e = 0; !ret && e < target->engines; e++) {
		for (unsigned int i = 0; !ret && i < sg->engine[e].ndma; i++)
			ret = neff_dma_check(&c, e, i);
		if (!ret)
			ret = neff_gathers_check(&c, e);
		if (!ret)
			ret = program_check(&c, e);
	}

	if (!ret && !sg->engine[NEURON_ENG_SP].instr)
		ret = neff_fail(err, "%s/def.json: no program for sp, which ends the execution",
				sg->name);
	if (!ret && !c.jumps) /* how often what is executed, only an execution shows */
		ret = neff_rest_check(c.rest, err);
	neff_rest_free(c.rest);
	*runs -= c.runs;
	return ret;
}

/* A model for logical cores of two has as many programs for each of the two; older files say 0 */
static int logical_check(const struct neff_model *model, struct neff_error *err)
{
	const uint32_t n = model->header.lnc_size, most = model->target->gen->logical_cores;

	if (n < 2)
		return 0;
	if (n > most)
		return neff_fail(err, "header: lnc_size %u, a logical core of %s has up to %u", n,
				 model->target->name, most ? most : 1);
	if (neff_in_parts(model) ? model->nsubgraphs % n : model->nsubgraphs != n)
		return neff_fail(err,
				 "kelf-0.json: %u subgraphs and %u loops, "
				 "lnc_size %u has %u, or with loops a multiple of it",
				 model->nsubgraphs, model->nloops, n, n);
	return 0;
}

int neff_check(const struct neff_model *model, struct neff_error *err)
{
	memset(err, 0, sizeof(*err));
	return neff_check_model(model, NULL, err);
}

int neff_check_model(const struct neff_model *model, const struct neff_limits *limits,
		     struct neff_error *err)
{
	uint64_t runs = NEFF_MAX_MODEL_RUNS;
	int ret = logical_check(model, err);

	if (ret)
		return ret;

	if (!model->nsubgraphs)
		return neff_fail(err, "kelf-0.json: no subgraphs");
	if (!model->library != !(model->header.feature_bits & NEFF_FEATURE_CUSTOM_OPS))
		return neff_fail(err,
				 "header: the feature of custom operators and the member %s "
				 "come together",
				 NEFF_LIBRARY_MEMBER);
	for (unsigned int i = 0; !ret && i < model->nsubgraphs; i++)
		ret = subgraph_check(&model->subgraphs[i], model, limits, &runs, err);
	return ret || (model->nsubgraphs == 1 && !neff_in_parts(model))
		       ? ret
		       : neff_check_stages(model, err);
}
