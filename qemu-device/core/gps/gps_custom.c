/* SPDX-License-Identifier: MIT */
/*
 * CUSTOM_OP (docs/isa.md, Custom operators): a library of the user's on the GpSimd engine's
 * processors. It takes many slices, between which other engines run: each is that
 * of one processor, and after a round of all the engine's time is later by the longest slice. The
 * instruction stays at the head until the last processor has ended, so that what is saved in
 * between goes on. Called by tpb.c.
 */
#include "exec/exec.h"
#include "gps.h"

#include <errno.h>

bool gps_custom_running(const struct tpb *t)
{
	return t->gps && t->gps->running;
}

static int read_dram(struct tpb *t, uint64_t addr, void *buf, uint64_t n)
{
	return t->cfg.ops->dram ? t->cfg.ops->dram(t->cfg.opaque, addr, buf, n, false) : -EACCES;
}

static int refuse(struct gps *g, enum neuron_gps_cause cause, uint32_t data)
{
	g->cause = (uint8_t)cause;
	g->culprit = 0;
	g->fault_data = data;
	return -EINVAL;
}

/* Takes the library as it is now; one that is still the last is not decoded again */
static int take_library(struct tpb *t, const struct neuron_custom *custom)
{
	struct gps *g = t->gps;
	uint32_t bytes = custom->bytes;

	if (read_dram(t, custom->library, g->fresh, bytes))
		return refuse(g, NEURON_GPS_LIBRARY, (uint32_t)custom->library);
	if (bytes == g->lib_bytes && !memcmp(g->lib, g->fresh, bytes))
		return 0;
	memcpy(g->lib, g->fresh, bytes);
	g->lib_bytes = bytes;
	gps_library_decode(g);
	return 0;
}

static bool ring_ok(struct tpb *t, const struct neuron_gps_block *block)
{
	if (!block->ring)
		return !block->ring_bytes;
	return block->ring_bytes && block->ring_bytes <= NEURON_GPS_RING_MAX &&
	       !(block->ring_bytes & (block->ring_bytes - 1)) &&
	       !t->cfg.ops->dram(t->cfg.opaque, block->ring, NULL,
				 NEURON_GPS_RING_HEAD + block->ring_bytes, true);
}

static int take_args(struct tpb *t, uint64_t addr)
{
	struct gps *g = t->gps;
	struct neuron_gps_block block;

	if (read_dram(t, addr, &block, sizeof(block)) || block.magic != NEURON_GPS_MAGIC ||
	    block.count > NEURON_GPS_ARGS || block.zero[0] | block.zero[1] | block.zero[2] ||
	    !ring_ok(t, &block))
		return refuse(g, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS);
	g->ring = block.ring;
	g->ring_bytes = block.ring_bytes;
	g->args = 0;
	for (uint32_t i = 0; i < block.count; i++) {
		struct gps_arg *arg = &g->arg[i];
		uint64_t at = addr + sizeof(block) + i * sizeof(arg->raw);

		memset(arg, 0, sizeof(*arg));
		if (read_dram(t, at, &arg->raw, sizeof(arg->raw)) || gps_arg_check(t, arg, true))
			return refuse(g, NEURON_GPS_ARGUMENT, i);
	}
	g->args = block.count;
	return 0;
}

int gps_custom_start(struct tpb *t, const struct neuron_insn *insn)
{
	const struct neuron_custom *custom = &insn->custom;
	int rc = take_library(t, custom);

	if (!rc)
		rc = take_args(t, custom->args);
	if (rc)
		return rc;
	t->gps->limit = (uint64_t)custom->limit * NEURON_GPS_SLICE;
	gps_start(t->gps, custom->mask, custom->entry, custom->function);
	return 0;
}

/* The next processor that takes part and has not ended, from next on; NEURON_GPS_CORES: none */
static unsigned int next_core(const struct gps *g)
{
	unsigned int i = g->next;

	while (i < NEURON_GPS_CORES && !g->core[i].live)
		i++;
	return i;
}

enum gps_custom_slice gps_custom_slice(struct tpb *t, uint64_t *cycles)
{
	struct gps *g = t->gps;
	unsigned int core = next_core(g);
	struct gps_core *c = &g->core[core];
	uint64_t before = c->retired;
	enum gps_stop stop = gps_run(t, g, core, NEURON_GPS_SLICE);
	uint32_t took = (uint32_t)(c->retired - before);

	*cycles = 0;
	if (stop == GPS_RAN && g->limit && c->retired >= g->limit) {
		refuse(g, NEURON_GPS_LIMIT, (uint32_t)(c->retired / NEURON_GPS_SLICE));
		g->culprit = (uint8_t)core;
		stop = GPS_FAULT;
	}
	if (stop == GPS_FAULT) {
		gps_reset(g);
		return GPS_CUSTOM_FAULT;
	}
	g->round = took > g->round ? took : g->round;
	g->next = (uint8_t)(core + 1);
	if (next_core(g) < NEURON_GPS_CORES)
		return GPS_CUSTOM_MORE;
	*cycles = g->round;
	g->next = 0;
	g->round = 0;
	if (next_core(g) < NEURON_GPS_CORES)
		return GPS_CUSTOM_MORE;
	g->running = false;
	return GPS_CUSTOM_DONE;
}

/* Bits 31:0 the processor's pc, 39:32 its number, 47:40 the cause */
uint64_t gps_custom_fault(const struct tpb *t, uint32_t *data2)
{
	const struct gps *g = t->gps;
	bool ran = g->cause < NEURON_GPS_LIBRARY;

	*data2 = g->fault_data;
	return (ran ? g->core[g->culprit].pc : 0) | (uint64_t)g->culprit << 32 |
	       (uint64_t)g->cause << 40;
}
