/* SPDX-License-Identifier: MIT */
/*
 * The instruction streams of a core that does not fetch: DMA triggers become writes of two
 * doorbells, and SP's stream ends with the notification that the execution is over. Streams lie in
 * device memory; a queue of the core copies them into the engine's FIFO window.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/check.h"
#include "neuron/isa/codec.h"
#include "neuron/timing.h"
#include "rt_context.h"
#include "rt_model.h"
#include "rt_subgraph.h"
#include "rt_custom.h"

#define WANTED_WORDS 16384 /* after so many it is asked whether to go on */

void rt_trigger_insn(struct neuron_insn *insn, const struct rt_subgraph *sg,
		     const struct rt_trigger *trigger)
{
	const struct rt_ring *ring = &sg->queues[trigger->queue];

	insn->opcode = NEURON_OP_WRITE;
	insn->id = 0;
	insn->write[0].addr =
		ndlx_doorbell_address(sg->core->dev, ring->eng, ring->qid, NEURON_DMA_QUEUE_RX);
	insn->write[0].value = trigger->nrx;
	insn->write[1].addr =
		ndlx_doorbell_address(sg->core->dev, ring->eng, ring->qid, NEURON_DMA_QUEUE_TX);
	insn->write[1].value = trigger->ntx;
}

/* A barrier raises a semaphore of the logical core's other core, whichever of the two this is */
static void set_barrier(struct neuron_insn *insn, struct rt_subgraph *sg)
{
	const uint32_t sibling = sg->core->sibling ? sg->core->nc + 1 : sg->core->nc - 1;
	const uint32_t semaphore = insn->id;

	sg->raises[semaphore / 64] |= 1ull << semaphore % 64;
	insn->opcode = NEURON_OP_WRITE;
	insn->id = 0;
	insn->write[0].addr = ndlx_semaphore_address(sg->core->dev, sibling, semaphore);
	insn->write[0].value = 1;
}

static NRT_STATUS patch(struct rt_subgraph *sg, unsigned int e)
{
	struct rt_engine *engine = &sg->engine[e];
	size_t words = engine->size / NEURON_INSN_WORD, at = 0, asked = 0;
	unsigned int next = 0; /* triggers come in the order of the DMAs: libneff checked it */
	struct neuron_isa_array array = { 0 };

	while (at < words) {
		uint8_t *p = engine->stream + at * NEURON_INSN_WORD;
		const struct neuron_isa_weights *weights;
		struct neuron_insn insn;
		int n = neuron_isa_decode(p, words - at, &insn);

		if (n <= 0)
			return rt_fail(NRT_INVALID, "TDRV",
				       "engine %u: bad instruction at word %zu", e, at);
		if (at >= asked) {
			NRT_STATUS status = rt_load_wanted(sg->model);

			if (status)
				return status;
			asked = at + WANTED_WORDS;
		}
		at += (size_t)n;
		neuron_isa_load_weights(&array, &insn);
		weights = neuron_isa_weights_for(&array, &insn);
		sg->macs += neuron_isa_macs(&insn, weights);
		sg->busy += neuron_insn_cost(&insn, e, sg->target, weights->columns) *
			    sg->target->engine[e].cycle;
		if (insn.opcode == NEURON_OP_CUSTOM_OP) {
			rt_custom_patch(sg, &insn);
			neuron_isa_encode(&insn, p);
		}
		if (insn.opcode == NEURON_OP_PSEUDO_CORE_BARRIER) {
			set_barrier(&insn, sg);
			neuron_isa_encode(&insn, p);
		}
		sg->jumps |= insn.opcode == NEURON_OP_COMPARE_BRANCH;
		if (insn.opcode != NEURON_OP_PSEUDO_DMA_TRIGGER)
			continue;
		if (next == engine->ntriggers || engine->triggers[next].id != insn.id)
			return rt_fail(NRT_INVALID, "TDRV", "engine %u: no DMA %u", e, insn.id);
		rt_trigger_insn(&insn, sg, &engine->triggers[next++]);
		if (neuron_isa_encode(&insn, p) != n)
			return rt_fail(NRT_FAILURE, "TDRV", "engine %u: DMA %u", e, insn.id);
	}
	return NRT_SUCCESS;
}

static NRT_STATUS append(struct rt_engine *engine, const struct neuron_insn *insn)
{
	int n = neuron_isa_encode(insn, engine->stream + engine->size);

	if (n <= 0)
		return rt_fail(NRT_FAILURE, "TDRV", "opcode %u", insn->opcode);
	engine->size += (size_t)n * NEURON_INSN_WORD;
	return NRT_SUCCESS;
}

/* Has the engine nothing to do but to begin? */
static bool is_idle(const struct neff_engine *neff, const struct neuron_insn *start)
{
	uint8_t word[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int n = neuron_isa_encode(start, word);

	return !neff->instr || (n == 1 && neff->instr_size == NEURON_INSN_WORD &&
				!memcmp(neff->instr, word, NEURON_INSN_WORD));
}

/*
 * Makes a stream from the NEFF's words. SP always has one, because it reports the end; another
 * engine without work is not fed.
 */
static NRT_STATUS make_stream(struct rt_subgraph *sg, unsigned int e)
{
	const struct neff_engine *neff = &sg->neff->engine[e];
	const struct neuron_insn start = {
		.opcode = NEURON_OP_PROGRAM_START,
		.isa_version = sg->target->isa_version,
	};
	struct rt_engine *engine = &sg->engine[e];

	if (e != NEURON_ENG_SP && is_idle(neff, &start))
		return NRT_SUCCESS;
	engine->stream = malloc(neff->instr_size + 2 * NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD);
	if (!engine->stream)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	if (!neff->instr)
		return append(engine, &start);
	memcpy(engine->stream, neff->instr, neff->instr_size);
	engine->size = neff->instr_size;
	return patch(sg, e);
}

NRT_STATUS rt_make_streams(struct rt_subgraph *sg)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX && !status; e++)
		status = make_stream(sg, e);
	return status;
}

NRT_STATUS rt_feed_add(struct rt_subgraph *sg, struct rt_ring *ring, unsigned int e, uint64_t pa,
		       size_t size)
{
	uint64_t window = ndlx_fifo_address(sg->core->dev, sg->core->nc, e);
	/* a descriptor stays inside one FIFO window */
	uint32_t most = sg->core->dev->gen->core.fifo_stride;
	int err = 0;

	for (size_t at = 0; at < size && !err; at += most) {
		size_t left = size - at;
		uint32_t n = left < most ? (uint32_t)left : most;

		err = rt_ring_add_tx(ring, pa + at, n,
				     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		if (!err)
			err = rt_ring_add_rx(ring, window, n);
	}
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "engine %u: %s", e,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_feed_commit(struct rt_subgraph *sg, unsigned int e)
{
	struct rt_ring *ring = &sg->engine[e].ring;

	rt_queue_number(sg->core, e, &ring->eng, &ring->qid);
	sg->nfed++;
	return rt_ring_commit(sg->core, ring);
}

static NRT_STATUS load_stream(struct rt_subgraph *sg, unsigned int e, uint64_t offset)
{
	struct rt_engine *engine = &sg->engine[e];
	int err = ndlx_memory_buf_copyin(sg->core->dev, sg->code.handle, engine->stream, offset,
					 engine->size);

	NRT_STATUS status;

	free(engine->stream);
	engine->stream = NULL;
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "engine %u: %s", e,
			       rt_errno_text(err));
	status = rt_feed_add(sg, &engine->ring, e, sg->code.pa + offset, engine->size);
	return status ? status : rt_feed_commit(sg, e);
}

NRT_STATUS rt_load_streams(struct rt_subgraph *sg)
{
	const struct neuron_insn end = { .opcode = NEURON_OP_NOTIFY, .id = 1 };
	NRT_STATUS status = append(&sg->engine[NEURON_ENG_SP], &end);
	uint64_t size = 0;

	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		size += sg->engine[e].size;
	if (!status)
		status = rt_chunk_alloc(sg->core, size, 0, NEURON_MEMALLOC_TYPE_CODE_DEVICE,
					&sg->code);
	size = 0;
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX && !status; e++) {
		if (!sg->engine[e].stream)
			continue;
		status = load_stream(sg, e, size);
		size += sg->engine[e].size;
	}
	return status;
}
