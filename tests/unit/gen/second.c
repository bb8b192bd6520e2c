// SPDX-License-Identifier: MIT
/* The tables of the tests' own generation */
#include "second_chip.h"

#include <assert.h>

#include "neuron/hw/ext.h"
#include "neuron/hw/dtype.h"

static const struct neuron_engine engines[] = {
	[NEURON_ENG_PE] = { "pe", NEURON_ISA_ANY | NEURON_ISA_PE, 400 },
	[NEURON_ENG_ACT] = { "act", NEURON_ISA_ANY | NEURON_ISA_ACT, 700 },
	[NEURON_ENG_POOL] = { "pool", NEURON_ISA_ANY | NEURON_ISA_POOL, 1000 },
	[NEURON_ENG_SP] = { "sp", NEURON_ISA_ANY, 700 },
	[SECOND_ENG_GP] = { "gp", NEURON_ISA_ANY | NEURON_ISA_POOL, 800 },
};
static_assert(sizeof(engines) / sizeof(engines[0]) <= NEURON_ENGINES_MAX, "no more engines");

const struct neuron_target neuron_target_second = {
	.name = "second",
	.core = 1,
	.isa_version = 2,
	.engines = sizeof(engines) / sizeof(engines[0]),
	.engine = engines,
	.no_engine = 0xff,
	.semaphores = 256,
	.events = 128,
	.runtime_semaphores = 6,
	.packet_max = 64,
	.sbuf_part_size = 0x30000,
	.psum_part_size = 0x2000,
	.pe_columns = 128,
	.dtypes = NEURON_DTB(INT8) | NEURON_DTB(INT16) | NEURON_DTB(INT32) | NEURON_DTB(BF16) |
		  NEURON_DTB(FP16) | NEURON_DTB(FP32),
	.pe_dtypes = NEURON_DTB(INT8) | NEURON_DTB(BF16) | NEURON_DTB(FP16),
	.gen = &neuron_gen_second,
	.cost = {
		.least = 64,
		.startup = 60,
		.transpose = 64,
		.int8_columns = 2,
		.weights = 1,
		.bf16_reduced = 2,
		.two_operands = 2,
		.reciprocal = 8,
		.indexed = 4,
		.sorted = 4,
		.quickest = 1,
		.quick = 1,
		.descriptor = 50000,
		.dma_kib = 64000,
		.port_kib = 40000,
		.dram_kib = 20480,
		.link_kib = 40960,
	},
};
