/* SPDX-License-Identifier: MIT */
/*
 * The program of a core that fetches its instructions. Streams lie in device memory, and an
 * execution feeds each engine with one instruction, `fetch`, and SP with another one behind it: the
 * notification that the execution is over. Each stream ends with `fetch_end`.
 *
 * A program with loops has several parts, each of which leaves the core at rest when SP is through
 * with it (docs/neff.md), and jumps between them. Behind each part SP lets the other engines go on:
 * it raises a semaphore of each one's, which that engine lowers. So none begins a part before all
 * have ended the one before. Where a condition decides what is next, SP reads it and leaves it in a
 * word of memory for the others; before it writes that word again, each has lowered its semaphore,
 * which it does when it has read the word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"
#include "rt_ranks.h"

#define CONDITION 0 /* register */

/* An engine's program being put together */
struct program {
	struct rt_subgraph *sg; /* the first part */
	unsigned int engine;
	uint64_t word; /* device address of what SP tells the others */
	uint8_t *bytes;
	size_t size, cap;
	size_t *part; /* where parts begin */
	unsigned int njumps;
	struct aimed *jump; /* room for one of each part */
};

struct aimed {
	size_t at;
	unsigned int to;
	bool if_zero;
};

static NRT_STATUS reserve(struct program *p, size_t n)
{
	size_t cap = p->cap ? p->cap : 4096;
	uint8_t *bytes;

	if (p->cap - p->size >= n)
		return NRT_SUCCESS;
	while (cap - p->size < n)
		cap *= 2;
	bytes = realloc(p->bytes, cap);
	if (!bytes)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	p->bytes = bytes;
	p->cap = cap;
	return NRT_SUCCESS;
}

static NRT_STATUS put(struct program *p, const struct neuron_insn *insn)
{
	NRT_STATUS status = reserve(p, NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD);
	int n = status ? 0 : neuron_isa_encode(insn, p->bytes + p->size);

	if (!status && n <= 0)
		return rt_fail(NRT_FAILURE, "TDRV", "opcode %u", insn->opcode);
	p->size += (size_t)n * NEURON_INSN_WORD;
	return status;
}

/* The engine's instructions of a part, without the beginning, which a program has once */
static NRT_STATUS put_part(struct program *p, unsigned int part)
{
	struct rt_engine *engine = &p->sg[part].engine[p->engine];
	size_t n = engine->size > NEURON_INSN_WORD ? engine->size - NEURON_INSN_WORD : 0;
	NRT_STATUS status = reserve(p, n + NEURON_INSN_WORD);

	p->part[part] = p->size;
	/* a jump to the beginning finds something that does nothing */
	if (!status && p->sg[part].jumps)
		status = put(p, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	if (status || !n)
		return status;
	memcpy(p->bytes + p->size, engine->stream + NEURON_INSN_WORD, n);
	p->size += n;
	return NRT_SUCCESS;
}

static bool is_fed(const struct rt_subgraph *sg, unsigned int e)
{
	for (unsigned int i = 0; i < sg->nparts; i++)
		if (sg[i].engine[e].stream)
			return true;
	return false;
}

/* The engine's semaphore: SP has one that it does not need */
static uint8_t semaphore_of(const struct rt_subgraph *sg, unsigned int e)
{
	return (uint8_t)(sg->target->semaphores - 1 - (e < NEURON_ENG_SP ? e : e - 1));
}

/* An instruction of SP's for each of the other engines */
static NRT_STATUS put_each(struct program *p, const struct neuron_insn *insn)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int e = 0; e < p->sg->target->engines && !status; e++) {
		struct neuron_insn each = *insn;

		if (e == NEURON_ENG_SP || !is_fed(p->sg, e))
			continue;
		if (each.wait)
			each.wait_index = semaphore_of(p->sg, e);
		if (each.update)
			each.update_index = semaphore_of(p->sg, e);
		status = put(p, &each);
	}
	return status;
}

/* Rings what passes to other ranks, and goes on when all have come so far. */
static NRT_STATUS put_ring(struct program *p, const struct rt_subgraph *sg,
			   const struct rt_trigger *trigger, uint8_t semaphore)
{
	const uint32_t n = sg->model->nranks;
	const struct neuron_insn all = { .opcode = NEURON_OP_NOP,
					 .wait = NEURON_WAIT_SEM_GE,
					 .wait_index = semaphore,
					 .wait_value = n,
					 .update = NEURON_UPD_SEM_SUB_IMM,
					 .update_index = semaphore,
					 .update_value = n };
	struct neuron_insn ring = { 0 };
	NRT_STATUS status;

	rt_trigger_insn(&ring, sg, trigger);
	status = put(p, &ring);
	return status ? status : put(p, &all);
}

/* The second core of a logical one waits for what the first one rings. */
static NRT_STATUS put_await(struct program *p, uint8_t semaphore)
{
	return put(p, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					     .wait = NEURON_WAIT_SEM_GE,
					     .wait_index = semaphore,
					     .wait_value = 1,
					     .update = NEURON_UPD_SEM_DEC,
					     .update_index = semaphore });
}

static NRT_STATUS put_tell(struct program *p, const struct rt_core *sibling, uint8_t semaphore)
{
	struct neuron_insn tell = { .opcode = NEURON_OP_WRITE };

	tell.write[0].addr = ndlx_semaphore_address(sibling->dev, sibling->nc, semaphore);
	tell.write[0].value = 1;
	return put(p, &tell);
}

/* SP behind a part behind which ranks pass something to each other */
static NRT_STATUS put_pass(struct program *p, unsigned int part)
{
	const struct rt_subgraph *sg = &p->sg[part];
	const struct rt_pass_semaphores semaphore = rt_pass_semaphores(sg);
	const bool siblings = sg->model->kind->siblings;
	NRT_STATUS status;

	if (sg->core != sg->model->core)
		return put_await(p, semaphore.given);
	status = put_ring(p, sg, &sg->pass.ready, semaphore.ready);
	if (!status)
		status = put_ring(p, sg, &sg->pass.given, semaphore.given);
	return status || !siblings ? status : put_tell(p, sg->core->sibling, semaphore.given);
}

/* SP behind a part: the condition is told, if there is one, and the others go on. */
static NRT_STATUS put_leave(struct program *p, const struct rt_jump *jump)
{
	const struct neuron_insn read = { .opcode = NEURON_OP_TENSOR_LOAD,
					  .rd = CONDITION,
					  .rtype = NEURON_DT_UINT8,
					  .device = true,
					  .address = jump ? jump->condition->pa : 0 };
	const struct neuron_insn wait = { .opcode = NEURON_OP_NOP, .wait = NEURON_WAIT_SEM_EQ };
	const struct neuron_insn tell = { .opcode = NEURON_OP_TENSOR_STORE,
					  .rb = CONDITION,
					  .rtype = NEURON_DT_UINT32,
					  .device = true,
					  .address = p->word };
	const struct neuron_insn go = { .opcode = NEURON_OP_NOP, .update = NEURON_UPD_SEM_INC };
	NRT_STATUS status = NRT_SUCCESS;

	if (jump) {
		status = put(p, &read);
		if (!status)
			status = put_each(p, &wait);
		if (!status)
			status = put(p, &tell);
	}
	return status ? status : put_each(p, &go);
}

/* The steps of another engine than SP behind a part: it waits for SP, and reads what SP told. */
static NRT_STATUS put_follow(struct program *p, const struct rt_jump *jump)
{
	struct neuron_insn insn = {
		.opcode = NEURON_OP_NOP,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = semaphore_of(p->sg, p->engine),
		.wait_value = 1,
		.update = NEURON_UPD_SEM_DEC,
		.update_index = semaphore_of(p->sg, p->engine),
	};

	if (jump) {
		insn.opcode = NEURON_OP_TENSOR_LOAD;
		insn.rd = CONDITION;
		insn.rtype = NEURON_DT_UINT32;
		insn.device = true;
		insn.address = p->word;
	}
	return put(p, &insn);
}

static struct neuron_insn jump_insn(bool if_zero)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_COMPARE_BRANCH,
				     .ra = CONDITION,
				     .immediate = true,
				     .rop = if_zero ? NEURON_REL_EQ : NEURON_REL_NE };
}

static NRT_STATUS put_jump(struct program *p, const struct rt_jump *jump)
{
	const struct neuron_insn insn = jump_insn(jump->if_zero);

	p->jump[p->njumps].at = p->size;
	p->jump[p->njumps].if_zero = jump->if_zero;
	p->jump[p->njumps++].to = jump->to;
	return put(p, &insn);
}

static NRT_STATUS put_behind(struct program *p, unsigned int part)
{
	const struct rt_jump *jump = p->sg[part].jump.condition ? &p->sg[part].jump : NULL;
	NRT_STATUS status = NRT_SUCCESS;

	if (p->engine == NEURON_ENG_SP && rt_passes(&p->sg[part]))
		status = put_pass(p, part);
	if (status)
		return status;
	status = p->engine == NEURON_ENG_SP ? put_leave(p, jump) : put_follow(p, jump);

	return status || !jump ? status : put_jump(p, jump);
}

/* The jumps, once it is known where the parts begin */
static NRT_STATUS aim(struct program *p)
{
	for (unsigned int i = 0; i < p->njumps; i++) {
		struct neuron_insn insn = jump_insn(p->jump[i].if_zero);

		insn.target = (int32_t)((int64_t)p->part[p->jump[i].to] - (int64_t)p->jump[i].at);
		if (neuron_isa_encode(&insn, p->bytes + p->jump[i].at) <= 0)
			return rt_fail(NRT_FAILURE, "TDRV", "opcode %u", insn.opcode);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS assemble(struct program *p)
{
	const struct neuron_insn start = { .opcode = NEURON_OP_PROGRAM_START,
					   .isa_version = p->sg->target->isa_version };
	const struct neuron_insn end = { .opcode = NEURON_OP_FETCH_END };
	NRT_STATUS status = put(p, &start);
	struct neuron_insn rounding;

	p->part = calloc(p->sg->nparts, sizeof(*p->part));
	p->jump = calloc(p->sg->nparts, sizeof(*p->jump));
	if (!p->part || !p->jump)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	if (!status && rt_rounding_insn(p->sg->target, p->engine, p->sg->seed, &rounding)) {
		p->sg->rounding[p->engine] = p->size;
		status = put(p, &rounding);
	}
	for (unsigned int i = 0; i < p->sg->nparts && !status; i++) {
		status = put_part(p, i);
		if (!status && i + 1 < p->sg->nparts)
			status = put_behind(p, i);
	}
	if (!status)
		status = aim(p);
	if (!status)
		status = put(p, &end);
	if (!status && p->size > INT32_MAX)
		return rt_fail(NRT_RESOURCE, "TDRV", "engine %u: a program of %zu bytes", p->engine,
			       p->size);
	return status;
}

/* Streams are not needed any more once they are in a program. */
static void drop_streams(struct rt_subgraph *sg)
{
	for (unsigned int i = 0; i < sg->nparts; i++) {
		for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
			free(sg[i].engine[e].stream);
			sg[i].engine[e].stream = NULL;
			sg[i].engine[e].size = 0;
		}
	}
}

static NRT_STATUS copy(const struct rt_subgraph *sg, const void *bytes, size_t at, size_t size)
{
	int err = ndlx_memory_buf_copyin(sg->core->dev, sg->code.handle, (void *)bytes, at, size);

	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "program: %s", rt_errno_text(err))
		   : NRT_SUCCESS;
}

#define FEED (2 * NEURON_INSN_WORD) /* room for what an engine is fed with */

/*
 * The program to the device, and in front of it what the engine is fed with: the instruction that
 * fetches it, and for SP the one that reports the end. That one comes from the FIFO, because
 * whoever sees the notification may free the program: no engine reads any of it then.
 */
static NRT_STATUS load(struct program *p, size_t at)
{
	struct rt_subgraph *sg = p->sg;
	const struct neuron_insn fetch = { .opcode = NEURON_OP_FETCH,
					   .address = sg->code.pa + at + FEED,
					   .length = (uint32_t)p->size };
	const struct neuron_insn notify = { .opcode = NEURON_OP_NOTIFY, .id = 1 };
	const size_t size = p->engine == NEURON_ENG_SP ? FEED : NEURON_INSN_WORD;
	uint8_t words[FEED];
	NRT_STATUS status;

	if (neuron_isa_encode(&fetch, words) != 1 ||
	    neuron_isa_encode(&notify, words + NEURON_INSN_WORD) != 1)
		return rt_fail(NRT_FAILURE, "TDRV", "opcode %u", fetch.opcode);
	status = copy(sg, words, at, size);
	if (!status)
		status = copy(sg, p->bytes, at + FEED, p->size);
	if (sg->rounding[p->engine])
		sg->rounding[p->engine] += at + FEED;
	return status ? status
		      : rt_feed_add(sg, &sg->engine[NEURON_ENG_SP].ring, p->engine,
				    sg->code.pa + at, size);
}

/* Sizes of a program: its words, the steps of SP and the others between parts, its ends */
static uint64_t program_size(const struct rt_subgraph *sg, unsigned int e)
{
	uint64_t size = 5 * NEURON_INSN_WORD;

	for (unsigned int i = 0; i < sg->nparts; i++)
		size += sg[i].engine[e].size +
			(2 * NEURON_ENGINES_MAX + 8) * (uint64_t)NEURON_INSN_WORD;
	return size;
}

NRT_STATUS rt_link_streams(struct rt_subgraph *sg)
{
	struct program p[NEURON_ENGINES_MAX] = { 0 };
	uint64_t size = NEURON_INSN_WORD, at = NEURON_INSN_WORD;
	NRT_STATUS status;

	for (unsigned int e = 0; e < sg->target->engines; e++)
		size += is_fed(sg, e) ? program_size(sg, e) : 0;
	sg->seed = atomic_load(&sg->model->seed);
	/* the word that SP tells the others comes first */
	status = rt_chunk_alloc(sg->core, size, 0, NEURON_MEMALLOC_TYPE_CODE_DEVICE, &sg->code);
	for (unsigned int e = 0; e < sg->target->engines && !status; e++) {
		p[e] = (struct program){ .sg = sg, .engine = e, .word = sg->code.pa };
		if (is_fed(sg, e))
			status = assemble(&p[e]);
	}
	drop_streams(sg);
	for (unsigned int e = 0; e < sg->target->engines && !status; e++) {
		if (!p[e].size)
			continue;
		status = load(&p[e], at);
		at += FEED + p[e].size;
	}
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		free(p[e].bytes);
		free(p[e].part);
		free(p[e].jump);
	}
	/* one queue feeds all engines, so one doorbell begins an execution */
	return status ? status : rt_feed_commit(sg, NEURON_ENG_SP);
}

NRT_STATUS rt_link_seed(struct rt_subgraph *sg)
{
	const uint64_t seed = atomic_load(&sg->model->seed);
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int e = 0; e < sg->target->engines && seed != sg->seed && !status; e++) {
		uint8_t word[NEURON_INSN_WORD];
		struct neuron_insn insn;

		if (sg->rounding[e] && rt_rounding_insn(sg->target, e, seed, &insn)) {
			neuron_isa_encode(&insn, word);
			status = copy(sg, word, sg->rounding[e], sizeof(word));
		}
	}
	if (!status)
		sg->seed = seed;
	return status;
}
