/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: a chip's memories, which the host allocates (memory.c).
 */
#ifndef NCORE_MEMORY_H
#define NCORE_MEMORY_H

#include "ncore.h"
#include "neuron/hw/target.h"
#include "tpb.h"

/* after each partition: neighbours fall into different cache sets */
#define NCORE_MEM_PAD TPB_SLACK

struct ncore_mem {
	char name[8];
	uint8_t *ptr;
	uint64_t size;
	int fd;
};

int ncore_mem_alloc(struct ncore_chip *chip, const char *name, uint64_t size,
		    struct ncore_mem *mem);
void ncore_mem_free(struct ncore_chip *chip, struct ncore_mem *mem);
void ncore_mem_clear(struct ncore_chip *chip, struct ncore_mem *mem);
/* A core's memory as a reset leaves it: zero, or NaN where the chip's configuration says so */
void ncore_mem_reset(struct ncore_chip *chip, struct ncore_mem *mem);
/* Into memory of a chip, from anywhere: zeros leave what was never touched as it is */
void ncore_mem_copy(void *dst, const void *src, uint64_t len);
void ncore_mem_dirty(struct ncore_chip *chip, const struct ncore_mem *mem, const void *ptr,
		     uint64_t len);

#endif
