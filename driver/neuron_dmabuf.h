/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunks as dma-bufs, neuron_dmabuf.c. */
#ifndef NEURON_DMABUF_H
#define NEURON_DMABUF_H

#include <linux/types.h>

struct dma_buf;

struct dma_buf *neuron_dmabuf_export(u64 va, u64 size);

#endif
