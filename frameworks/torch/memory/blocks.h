/* SPDX-License-Identifier: MIT */
/* Blocks of device memory (blocks.c) */
#ifndef NEURON_TORCH_BLOCKS_H
#define NEURON_TORCH_BLOCKS_H

#include "neuron_torch.h"
#include "nrt/nrt.h"

#define NT_DEVICES 256 /* more than any instance has cores */

struct nt_block {
	struct nt_block *next;
	nrt_tensor_t *tensor;
	void *base; /* its mapping */
	uint64_t size;
	int32_t device; /* or NT_HOST */
};

/* A block of at least so many bytes; NRT_CLOSED: in a child of the process that has the chips */
NRT_STATUS nt_block_get(int32_t device, uint64_t bytes, struct nt_block **block);
void nt_block_put(struct nt_block *block);
/* The tensor of a block in use; NULL: there is none at this address */
nrt_tensor_t *nt_block_at(const void *base);

#endif
