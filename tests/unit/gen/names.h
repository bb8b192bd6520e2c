/* SPDX-License-Identifier: MIT */
/*
 * The chip that a suite runs on, by names that do as constants: Inferentia, or, with SECOND_GEN,
 * the made-up chip of second.c, or, with TRAINIUM_GEN and TRAINIUM2_GEN, Trainium and Trainium2,
 * or, with TRAINIUM3_GEN besides, Trainium3. The same suites have to pass on all of them.
 */
#ifndef UNIT_GEN_NAMES_H
#define UNIT_GEN_NAMES_H

#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/inferentia.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"

#ifdef SECOND_GEN
#include "second_chip.h"
#define GEN(name) SECOND_##name
#define GEN_CHIP neuron_gen_second
#elif defined(TRAINIUM2_GEN)
#include "trainium2_chip.h"
#define GEN(name) TRAINIUM2_##name
#ifdef TRAINIUM3_GEN
#define GEN_CHIP neuron_gen_trainium3
#else
#define GEN_CHIP neuron_gen_trainium2
#endif
#elif defined(TRAINIUM_GEN)
#include "trainium_chip.h"
#define GEN(name) TRAINIUM_##name
#define GEN_CHIP neuron_gen_trainium
#else
#define GEN(name) NEURON_V1_##name
#define GEN_CHIP neuron_gen_inferentia
/* Names that Inferentia's header does not have */
#define NEURON_V1_TPB(nc) (NEURON_V1_TPB_BASE + (nc)*NEURON_V1_TPB_SIZE)
#define NEURON_V1_TPB_BAR(nc) ((nc)*NEURON_V1_TPB_SIZE)
#define NEURON_V1_REG(offset) (NEURON_V1_APB_BASE + (offset))
#define NEURON_V1_LAST_REG (NEURON_V1_BAR0_SIZE - 4)
#define NEURON_V1_LAST_CORE_NAME "3"
#define NEURON_V1_NO_CORE_NAME "4"
#define NEURON_V1_BAR_CORES NEURON_BAR_AXI
#define NEURON_V1_BAR_EXT NEURON_BAR_APB
#define NEURON_V1_EXT NEURON_EXT_BAR0_OFFSET
#define NEURON_V1_EXT_ADDRESS (NEURON_V1_APB_BASE + NEURON_EXT_BAR0_OFFSET)
#define NEURON_V1_EXT_SIZE NEURON_EXT_BAR0_SIZE
#define NEURON_V1_NQ_OVERFLOWS(nc) NEURON_EXT_NQ_OVERFLOWS(nc)
#define NEURON_V1_DMA_STOPPED(eng) NEURON_EXT_DMA_STOPPED(eng)
#define NEURON_V1_NQ_ENTRIES(nc) NEURON_EXT_NQ_ENTRIES(nc)
#define NEURON_V1_GUARD_CORE(nc) NEURON_EXT_GUARD_CORE(nc)
#define NEURON_V1_GUARD_QUEUE(eng, q) NEURON_EXT_GUARD_QUEUE(eng, q)
#define NEURON_V1_PERF(nc) NEURON_EXT_PERF(nc)
#define NEURON_V1_PERF_CORE NEURON_PERF_CORE
#define NEURON_V1_FIRMWARE 3
#define NEURON_V1_READY_WORD NEURON_MISC_FW_STATUS
#define NEURON_V1_READY NEURON_MISC_FW_STATUS_READY
#define NEURON_V1_BUSY 0
#define NEURON_V1_LINKS 3 /* the ports that the word tells of */
#define NEURON_V1_APB_TDMA_COPY(nc) 0 /* it is one of the core's own */
#define NEURON_V1_HIGH_FIRST 0 /* a notification queue's base */
#define NEURON_V1_H2T_QUEUE_OF(nc) NEURON_V1_H2T_QUEUE
#define NEURON_V1_DRAM1_OFFSET NEURON_V1_DRAM_CHANNEL_SIZE /* in its BAR */
#define NEURON_V1_ROUTES \
	{                \
		0        \
	} /* of slots 0 to 3 */
#define NEURON_V1_ROUTED 0 /* the device id is the driver's */
#define NEURON_V1_ISA 1
#define NEURON_V1_TOPSPS 0
#define NEURON_V1_WINDOW_FAR(id) ((id)*0ull) /* there is none */
#define NEURON_V1_WINDOW_LIMIT (1ull << 48)
#endif

#define GEN_LAST_CORE (GEN(NC_PER_DEVICE) - 1)
/* The status word of a chip that is ready, with these links */
#define GEN_STATUS(links) (GEN(READY) | (GEN(LINKS) & (links)))
/* The first DMA engine of a core */
#define GEN_ENGINE_OF(nc) ((nc)*GEN(DMA_ENG_PER_NC))

/* Is there nothing between partitions of SBUF? Where nothing lies in a core, then or otherwise */
#define GEN_SBUF_DENSE (GEN(SBUF_PART_SIZE) == NEURON_SBUF_PART_STRIDE)
#define GEN_CORE_GAP                                                                             \
	(GEN(TPB)(0) + (GEN_SBUF_DENSE                                                           \
				? NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_SIZE \
				: GEN(SBUF_PART_SIZE)))

#endif
