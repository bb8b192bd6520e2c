/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: copies between two device addresses, and reads and writes of one
 * (copy.c).
 */
#ifndef NCORE_COPY_H
#define NCORE_COPY_H

#include "chip.h"

int ncore_device_read32(struct ncore_chip *chip, uint64_t addr, uint32_t *value); /* 0 or -EFAULT */
/*
 * Copy up to len bytes as far as they lie together: *done. 0, -EFAULT with *bad the address,
 * -EAGAIN (stall: *why says which).
 */
struct ncore_copy {
	uint64_t src, dst, len;
	uint64_t time;
	uint8_t domain;
	bool shares; /* the copy takes its part of what other copies use */
	struct ncore_guard_hit *src_hit, *dst_hit;
	uint64_t done;
	uint8_t from, to; /* NCORE_WAY_*: what the bytes went through */
	unsigned int beyond; /* links behind those, one after another */
	uint64_t bad;
	enum ncore_step why;
	unsigned int move, stall_engine;
};
int ncore_copy(struct ncore_strand *strand, struct ncore_copy *copy);
/*
 * len bytes of memory, the chip's, a neighbour's or the host's, across whatever borders lie in it.
 * Sets copy->from or, of a write, copy->to to what they went through; -EFAULT: copy->bad is
 * refused.
 */
int ncore_access(struct ncore_strand *strand, struct ncore_copy *copy, uint64_t addr, void *buf,
		 uint64_t len, bool write);

#endif
