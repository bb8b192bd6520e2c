/* SPDX-License-Identifier: MIT */
/*
 * The chip that a suite runs on, by names that do as constants: Inferentia, or, with SECOND_GEN,
 * the made-up chip of second.c. The same suites have to pass on both.
 */
#ifndef UNIT_GEN_NAMES_H
#define UNIT_GEN_NAMES_H

#include "neuron/hw/gen.h"
#include "neuron/hw/inferentia.h"
#include "neuron/hw/ext.h"

#ifdef SECOND_GEN
#include "second_chip.h"
#define GEN(name) SECOND_##name
#define GEN_CHIP neuron_gen_second
#else
#define GEN(name) NEURON_V1_##name
#define GEN_CHIP neuron_gen_inferentia
/* Names that Inferentia's header does not have */
#define NEURON_V1_ENGINES NEURON_ENG_COUNT
#define NEURON_V1_EXT NEURON_EXT_BAR0_OFFSET
#define NEURON_V1_EXT_SIZE NEURON_EXT_BAR0_SIZE
#define NEURON_V1_NQ_OVERFLOWS(nc) NEURON_EXT_NQ_OVERFLOWS(nc)
#define NEURON_V1_DMA_STOPPED(eng) NEURON_EXT_DMA_STOPPED(eng)
#define NEURON_V1_NQ_ENTRIES(nc) NEURON_EXT_NQ_ENTRIES(nc)
#define NEURON_V1_GUARD_CORE(nc) NEURON_EXT_GUARD_CORE(nc)
#define NEURON_V1_GUARD_QUEUE(eng, q) NEURON_EXT_GUARD_QUEUE(eng, q)
#define NEURON_V1_PERF(nc) NEURON_EXT_PERF(nc)
#define NEURON_V1_PERF_CORE NEURON_PERF_CORE
#define NEURON_V1_FIRMWARE 3
#define NEURON_V1_ISA 1
#define NEURON_V1_WINDOW_LIMIT (1ull << 48)
#endif

#define GEN_LAST_CORE (GEN(NC_PER_DEVICE) - 1)
/* The first DMA engine of a core */
#define GEN_ENGINE_OF(nc) ((nc)*GEN(DMA_ENG_PER_NC))

#endif
