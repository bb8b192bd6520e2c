/* SPDX-License-Identifier: MIT */
/* Room in SBUF for a view, at the cost of what is needed later. */
#ifndef NCC_GEN_ROOM_H
#define NCC_GEN_ROOM_H

#include "buffer.h"

/* a new SBUF buffer for the shape, pdim along the partitions, the rest row-major */
int gen_sbuf_view(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
/*
 * Make room for size bytes of every partition by moving a live buffer within SBUF, or the
 * one that is needed last to DRAM; views stay valid. 0: try again, -ENOSPC when there is none, or
 * -errno
 */
int gen_make_room(struct ncc_gen *g, uint64_t size);
int gen_spill_buf(struct ncc_gen *g, struct ncc_buf *b); /* this one */

#endif
