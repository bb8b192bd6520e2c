/* SPDX-License-Identifier: MIT */
/* Room for the streams of a strand's DMA: dma_stream.c's, which strand.c makes */
#ifndef NCORE_STREAM_H
#define NCORE_STREAM_H

#include "neuron/isa/compress.h"

/* Buffers of DMA engines that compress and decompress: of no meaning between transfers */
struct ncore_streams {
	uint8_t stream[NEURON_STREAM_RAW_MAX + NEURON_STREAM_OVERHEAD];
	uint8_t raw[NEURON_STREAM_RAW_MAX];
	struct neuron_stream_work work;
};

#endif
