/* SPDX-License-Identifier: MIT */
/*
 * A chip that is saved, and loaded into a new one, again and again in the middle of its work. A
 * gate in the host's memory ensures the middle: after a number of accesses the strand stops inside
 * one until the gate opens, so a pause that is requested meanwhile comes before the work's end,
 * however fast the work is. One fixture at a time.
 */
#ifndef MOVING_H
#define MOVING_H

#include "chip_fixture.h"

/* For fixture.ops.dma_rw, before the chip is made */
int gated_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write);
/* Sets the number of accesses until the gate shuts; below 0 it stays open. */
void gate_set(long left);
/*
 * Moves the chip at every closed gate until it has nothing left to do, with at most `most` accesses
 * from one gate to the next. Of its memories the first MiB of DRAM and of core 0 move with it.
 * Returns how often it had work left.
 */
unsigned int move_to_the_end(struct fixture *f, unsigned int most);

#endif
